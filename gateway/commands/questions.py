"""The questions that an analysis leaves open, answered with the facts that one look at the host gave. Pure.

Each kind of question has one function in `_SETTLERS`. A fact that is missing never makes anything milder.
"""

from __future__ import annotations

from gateway.commands.clients import client
from gateway.commands.git_questions import branch, git, made_repositories, own_stores, remote, source
from gateway.commands.incoming_files import is_brought
from gateway.commands.parts import add_code
from gateway.commands.places import MAX_MATCHES, absolute, literal_folder
from gateway.model.effect import HOLE, Connect, Credential, Item, Touch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gateway.model.analysis import Pending
    from gateway.model.command import Part
    from gateway.model.context import Context
    from gateway.model.effect import Effect
    from gateway.model.facts import Facts


def answer(
    items: list[Item], parts: tuple[Part, ...], pending: tuple[Pending, ...], facts: Facts, context: Context
) -> None:
    """Answers all of them, in their order, by what is added to, taken from or changed in `items`."""
    started: list[Pending] = []
    hooked: list[Pending] = []
    written: _Written | None = None
    for question in pending:
        if question.kind == "into":
            if written is None:
                written = _Written(items)
            _into(items, written, question, facts)
            continue
        written = None
        if question.kind == "hooks":
            hooked.append(question)
            continue
        _SETTLERS[question.kind](items, parts, question, facts, context)
        if question.kind == "git":
            started.append(question)
    if started:
        made_repositories(items, parts, started, facts)
        if facts.nests:
            from gateway.commands.nested import look_into  # lazy: few texts add to the index and then look

            look_into(items, parts, started, facts, context)
        own_stores(items, parts, started, facts)
    if hooked:
        from gateway.commands.git_hooks import quiet  # lazy: few commands have hooks

        quiet(items, parts, hooked, facts)


def _glob(items: list[Item], parts: tuple[Part, ...], question: Pending, facts: Facts, _: Context) -> None:
    pattern = question.target
    matches = facts.globs.get(pattern)
    if matches is None or len(matches) > MAX_MATCHES:
        add_code(items, parts, question, "a file's name could be read as an option")
        return
    folder = len(literal_folder(pattern).rstrip("/")) + 1
    for path in matches:
        if path[folder : folder + 1] == "-":
            add_code(items, parts, question, f"the file name {path[folder:]} would be read as an option")
            return
    if _makes_option(items, pattern, question.part):
        add_code(items, parts, question, "a file that is made on the same line could be read as an option")


def _makes_option(items: list[Item], pattern: str, part: int) -> bool:
    """Whether another command of the text may make a name for the pattern to match that begins with a dash."""
    folder = literal_folder(pattern).rstrip("/")
    for item in items:
        effect = item.effect
        if isinstance(effect, Touch) and effect.kind == "write" and item.part != part:
            path = effect.real or effect.path
            if HOLE in path or path.startswith(folder + "/-"):
                return True
            around = (path + "/").startswith(folder + "/") or (folder + "/").startswith(path + "/")
            if effect.tree and effect.skips != "rest" and around:
                return True
    return False


class _Written:
    """What the items of a call write, for as long as only `_into` adds to them: many files may go into one folder."""

    def __init__(self, items: list[Item]) -> None:
        self.by_place: dict[tuple[int, str], tuple[Item, bool]] = {}  # with whether it is a tree
        self.parts: set[int] = set()
        for item in items:
            effect = item.effect
            if effect.kind in ("write", "code", "opaque"):
                self.parts.add(item.part)
            if isinstance(effect, Touch) and effect.kind == "write":
                self.by_place.setdefault((item.part, effect.path), (item, effect.tree))

    def may_make_folders(self, part: int) -> bool:
        """Whether something else on the line could turn a missing path into a folder."""
        return len(self.parts) > (part in self.parts)


def _into(items: list[Item], written: _Written, question: Pending, facts: Facts) -> None:
    """A destination that is a folder receives the source's name; one that isn't, or will not be, does not."""
    folder, name = question.target, question.extra
    fact = facts.paths.get(folder)
    if fact is not None and fact.kind in ("file", "other"):
        return
    if fact is not None and fact.kind == "missing" and not written.may_make_folders(question.part):
        return
    destination = written.by_place.get((question.part, folder))
    if destination is None:
        return
    item, tree = destination
    base = fact.real if fact is not None and fact.real else folder
    path = f"{folder.rstrip('/')}/{name}"
    real = f"{base.rstrip('/')}/{name}" if base != folder else ""
    found = facts.paths.get(path)
    if found is not None and found.real != path:
        real = found.real
    inside = item.replace(effect=Touch("write", path, tree, False, real))
    items.append(inside)
    written.by_place.setdefault((question.part, path), (inside, tree))


def _top(items: list[Item], parts: tuple[Part, ...], question: Pending, facts: Facts, context: Context) -> None:
    """What git names from the top of the repository, and not from the folder it starts in."""
    del parts, context
    fact = facts.git.get(question.target)
    kinds, _, name = question.extra.partition(" ")
    kind, _, tree = kinds.partition("/")
    if fact is not None and fact.top and (fact.top != question.target or (tree and name)):
        path = absolute(name or ".", fact.top)
        items.append(Item(Touch(kind, path, bool(tree)), question.start, question.end, question.part))


def _modules(items: list[Item], parts: tuple[Part, ...], question: Pending, facts: Facts, _: Context) -> None:
    """A Python program that starts in a folder loads modules from there first."""
    from gateway.commands.special.python.folder import shadowed

    why = shadowed(question.target, question.extra, facts, items)
    if why:
        add_code(items, parts, question, why)


def _settings(items: list[Item], parts: tuple[Part, ...], question: Pending, facts: Facts, _: Context) -> None:
    """A program that obeys files of the project does what they tell; one that the same line writes says nobody what."""
    import gateway.commands.steering.programs as steering  # lazy: few calls start a program that obeys such files

    program, names = steering.files_of(question.extra)
    why = steering.objection(program, facts.settings.get((question.target, names)))
    if not why and any(_brings(item, question, names) for item in items):
        why = f"what tells {program} what to do is written before"
    if why:
        add_code(items, parts, question, why)


def _brings(item: Item, question: Pending, names: tuple[str, ...]) -> bool:
    """Whether a file of these names may be written where a program looks for it from a folder: by its name, or with a
    tree that is copied or unpacked there."""
    effect, folder = item.effect, question.target
    if not isinstance(effect, Touch) or effect.kind != "write":
        return False
    if effect.path.endswith(names):
        return True
    return is_brought(effect) and item.part != question.part and f"{folder}/".startswith(f"{effect.path.rstrip('/')}/")


def _dash(items: list[Item], parts: tuple[Part, ...], question: Pending, facts: Facts, _: Context) -> None:
    """Names that stand bare: one that begins with a dash is an option."""
    matches = facts.globs.get(question.target)
    made = _makes_option(items, question.target, question.part)
    if matches is None or made or any("/-" in path[path.rfind("/") :] for path in matches):
        add_code(items, parts, question, "a file's name could be read as an option")


_DIVIDING = frozenset(" \t\n*?[\\")


def _blanks(items: list[Item], parts: tuple[Part, ...], question: Pending, facts: Facts, _: Context) -> None:
    """An unquoted variable that holds a match of a glob is split and matched again."""
    matches = facts.globs.get(question.target)
    folder = len(literal_folder(question.target).rstrip("/"))
    if matches is None or any(not _DIVIDING.isdisjoint(path[folder:]) for path in matches):
        add_code(items, parts, question, "a file's name would be taken apart")


def _names(items: list[Item], parts: tuple[Part, ...], question: Pending, facts: Facts, context: Context) -> None:
    """What a listing names, read as words again. In the sandbox nothing is opened that was not predicted."""
    if not context.confined and not facts.names.get(question.target):
        add_code(items, parts, question, f"a file's name below {question.target} may be taken apart")


def _parts(items: list[Item], parts: tuple[Part, ...], question: Pending, facts: Facts, context: Context) -> None:
    del facts
    if not context.confined:
        add_code(items, parts, question, "a line that is read may be a part of a name")


def _views(items: list[Item], parts: tuple[Part, ...], question: Pending, facts: Facts, context: Context) -> None:
    """Views of a database read the files and addresses that they name; the sandbox has none that were not predicted."""
    del facts
    if not context.confined:
        add_code(items, parts, question, f"a view of {question.target}'s database may read other files")


MAX_SENT = 64


def _sends(items: list[Item], parts: tuple[Part, ...], question: Pending, facts: Facts, context: Context) -> None:
    """Notes on a connection which files' content may leave with it. What goes out in an address is sent, too."""
    del parts, facts, context
    before, own, places = question.extra.split(";")
    sources = {int(part) for part in before.split(",") if part}
    readers = sources | {int(part) for part in own.split(",") if part}
    spans = {(int(start), int(end)) for start, _, end in [each.partition("-") for each in places.split(",") if each]}
    sent: list[str] = []
    for item in items:
        effect = item.effect
        if item.part not in readers and not (item.part < 0 and (item.start, item.end) in spans):
            continue
        if isinstance(effect, Touch):
            if effect.kind == "read":
                end = "/**" if effect.tree else ""
                sent += [path + end for path in (effect.path, effect.real) if path]
        elif effect.kind in ("code", "opaque") and item.part in sources:
            sent.append(HOLE)
    if not sent:
        return
    kept = tuple(dict.fromkeys(sent))
    if len(kept) > MAX_SENT:
        kept = (*kept[:MAX_SENT], HOLE)
    for at, item in enumerate(items):
        effect = item.effect
        same = item.part == question.part and item.start == question.start and item.end == question.end
        if same and isinstance(effect, Connect) and effect.target == question.target:
            direction = "send" if effect.direction == "fetch" else effect.direction
            items[at] = item.replace(effect=effect.replace(direction=direction, sends=kept))


def _through(items: list[Item], parts: tuple[Part, ...], question: Pending, facts: Facts, context: Context) -> None:
    """What is reached through the copy of a link."""
    del parts, context
    kind, _, before = question.extra.partition("\0")
    fact = facts.paths.get(before)
    if fact is None or fact.real != before:
        real = HOLE if fact is None else fact.real
        touch = Touch(kind.partition(" ")[0], question.target, kind.endswith(" tree"), False, real)
        items.append(Item(touch, question.start, question.end, question.part))


def _made(items: list[Item], parts: tuple[Part, ...], question: Pending, facts: Facts, context: Context) -> None:
    """A file that is opened for reading, but made where it is missing."""
    del parts, context
    fact = facts.paths.get(question.target)
    if fact is None or fact.kind not in ("file", "other"):
        items.append(Item(Touch("write", question.target), question.start, question.end, question.part))


def _there(items: list[Item], parts: tuple[Part, ...], question: Pending, facts: Facts, context: Context) -> None:
    """What the code of a program loads by itself, which the sandbox hides where policy forbids it: nothing becomes of
    it where it is not there, nor made by the same text. Unconfined it is part of what code may do."""
    del parts
    path, fact = question.target, facts.paths.get(question.target)
    is_missing = fact is not None and fact.kind == "missing" and not any(_makes(item, path) for item in items)
    if context.confined and not is_missing:
        real = fact.real if fact is not None and fact.real != path else ""
        items.append(Item(if_there(question, real), question.start, question.end, question.part))


def _there_each(items: list[Item], parts: tuple[Part, ...], question: Pending, facts: Facts, context: Context) -> None:
    """The same of all names that a pattern matches; of the folder where nobody can tell."""
    matches = facts.globs.get(question.target)
    if matches is None:
        matches = (literal_folder(question.target),)
    for path in matches:
        _there(items, parts, question.replace(target=path), facts, context)


def if_there(question: Pending, real: str = "") -> Effect:
    """What a question of the kind "there" asks about. `real`: where the path leads, "" where it is the same."""
    kind, _, program = question.extra.partition(" ")
    if kind in ("credential", "changed"):
        return Credential(program, question.target, kind == "changed")
    return Touch(kind, question.target, real=real)


def _makes(item: Item, path: str) -> bool:
    """Whether a name comes to be by what is written: itself, or with a tree that is copied or unpacked above it."""
    effect = item.effect
    if not isinstance(effect, Touch) or effect.kind != "write":
        return False
    return effect.path == path or (is_brought(effect) and f"{path}/".startswith(f"{effect.path.rstrip('/')}/"))


def _file(items: list[Item], parts: tuple[Part, ...], question: Pending, facts: Facts, _: Context) -> None:
    """What is a file is read; where there is none, a program of a similar name would be run."""
    fact = facts.paths.get(question.target)
    if fact is None or fact.kind != "file":
        add_code(items, parts, question, f"{question.target} may stand for a program")


def _installed(items: list[Item], parts: tuple[Part, ...], question: Pending, facts: Facts, _: Context) -> None:
    """What is installed already needs no registry."""
    del parts
    if any((fact := facts.paths.get(path)) and fact.kind in ("file", "other") for path in question.extra.split("\0")):
        items[:] = [
            item
            for item in items
            if not (
                item.part == question.part
                and isinstance(item.effect, Connect)
                and item.effect.host == question.target
                and item.effect.direction == "fetch"
            )
        ]


_SETTLERS = {
    "glob": _glob,
    "top": _top,
    "git": git,
    "remote": remote,
    "source": source,
    "branch": branch,
    "dash": _dash,
    "blanks": _blanks,
    "names": _names,
    "parts": _parts,
    "sends": _sends,
    "modules": _modules,
    "settings": _settings,
    "made": _made,
    "through": _through,
    "views": _views,
    "there": _there,
    "there each": _there_each,
    "file": _file,
    "installed": _installed,
    "client": client,
}
