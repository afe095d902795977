"""Turns an analysis into what will really happen here, with the facts that one look at the host gave.

Globs become the files they match, paths get the places their links lead to, names that are not the programs
they seem to be become `Code`, git's remotes become hosts. A fact that is missing never makes anything milder.
"""

from __future__ import annotations

from gateway.commands.crossing import COPIERS, UNPACKERS
from gateway.commands.places import absolute, remote, stream, unescaped
from gateway.commands.steering_files import files_of, steered
from gateway.model.analysis import Analysis
from gateway.model.effect import HOLE, Code, Connect, Credential, Item, Opaque, Push, Touch
from gateway.model.facts import CHOOSERS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gateway.model.analysis import Pending
    from gateway.model.command import Part
    from gateway.model.context import Context
    from gateway.model.facts import Facts, GitFact

MAX_MATCHES = 256  # of one glob
MAX_ITEMS = 2_000  # as many globs may stand in one line as there is room
_ANYTHING = frozenset("[]\\(){}+@!|")
# Programs that write trees of new files, rather than the files that are there.
_BRINGING = UNPACKERS.union(COPIERS)


def settle(analysis: Analysis, facts: Facts, context: Context) -> Analysis:
    """The analysis with every question answered. Pure; `facts` may lack any answer."""
    parts = analysis.parts
    items: list[Item] = []
    paths = facts.paths
    for item in analysis.items:
        effect = item.effect
        if not isinstance(effect, Touch):
            items.append(item)
            continue
        kind, path, tree = effect.kind, effect.path, effect.tree
        if effect.glob:
            _expand(items, item, kind, path, tree, facts, parts)
            continue
        fact = paths.get(path)
        if fact is not None:
            real = fact.real if fact.real != path else ""
            if tree and fact.kind == "file":
                tree = False
            elif not real:
                items.append(item)
                continue
            items.append(item.replace(effect=Touch(kind, path, tree, False, real, effect.skips if tree else "")))
        else:
            items.append(item)
    parts = _programs(parts, items, facts)
    started: list[Pending] = []
    written: _Written | None = None
    for question in analysis.pending:
        if question.kind == "into":
            if written is None:
                written = _Written(items)
            _into(items, written, question, facts)
            continue
        written = None
        _SETTLERS[question.kind](items, parts, question, facts, context)
        if question.kind == "git":
            started.append(question)
    if started:
        _made_repositories(items, parts, started, facts)
        if facts.nests:
            from gateway.commands.nested import look_into  # few texts add to the index and then look

            look_into(items, parts, started, facts, context)
        _own_stores(items, parts, started, facts)
    return Analysis.make((parts, tuple(items), analysis.tokens, analysis.wanted, ()))


def _expand(
    items: list[Item], item: Item, kind: str, pattern: str, tree: bool, facts: Facts, parts: tuple[Part, ...]
) -> None:
    """A glob: each file it matches; its own text if there is none; the whole folder if there are too many."""
    matches = facts.globs.get(pattern)
    own = not matches and item.part >= 0 and parts[item.part].program == "git"  # it expands what the shell leaves
    if matches is None or len(matches) > MAX_MATCHES or len(items) > MAX_ITEMS or own:
        skips = "" if tree or own else _only_names(pattern)
        items.append(item.replace(effect=Touch(kind, _literal_folder(pattern), True, False, "", skips)))
        return
    for path in matches or (unescaped(pattern),):
        if stream(path):
            continue
        fact = facts.paths.get(path)
        real = fact.real if fact is not None and fact.real != path else ""
        below = tree and not (fact is not None and fact.kind == "file")
        skips = item.effect.skips if below else ""  # type: ignore[attr-defined]
        items.append(item.replace(effect=Touch(kind, path, below, False, real, skips)))


def _only_names(pattern: str) -> str:
    """`Touch.skips` for files whose names match the end of a pattern, "" where every name does, or nobody can tell."""
    name = pattern[pattern.rfind("/") + 1 :]
    return "" if not _ANYTHING.isdisjoint(name) or not name.strip("*") else f"only\0{name}"


def _literal_folder(pattern: str) -> str:
    """The deepest folder that holds every match."""
    literal: list[str] = []
    for segment in pattern.split("/"):
        bare = unescaped(segment)
        if "*" in segment.replace("[*]", "") or "?" in segment.replace("[?]", "") or "[" in bare.replace("[[]", ""):
            break
        literal.append(bare)
    return "/".join(literal) or "/"


def _programs(parts: tuple[Part, ...], items: list[Item], facts: Facts) -> tuple[Part, ...]:
    """Names that mean another file than PATH's, or one that the agent could have written, are `Code`."""
    settled: list[Part] | None = None
    others: dict[int, Item] = {}
    untrusted = facts.untrusted_programs
    if facts.chosen and any(_chooses(item) for item in items):
        untrusted = untrusted | facts.chosen
    if facts.searched:
        untrusted = untrusted | _put_there(parts, items, facts.searched)
    for index, part in enumerate(parts):
        if not part.program or not part.described:
            if not part.described and part.trusted and part.program in untrusted:
                settled = settled or list(parts)
                settled[index] = part.replace(trusted=False)
            continue
        name = part.argv[0]
        base = name.rpartition("/")[2]
        if "/" in name:
            if facts.programs.get(base) == name and base not in untrusted:
                settled = settled or list(parts)
                settled[index] = part.replace(trusted=True)
                continue
            why = f"{name} may be another program than {base}"
        elif base in untrusted:
            settled = settled or list(parts)
            settled[index] = part.replace(trusted=False)
            why = f"{name} lies where it could have been replaced"
        else:
            continue
        others[index] = Item(Code(part.program, part.argv, why), part.start, part.end, index)
    if others:
        # Each before other code of its command: it is why a rule that names the program does not hold.
        before: list[Item] = []
        for item in items:
            if item.effect.kind == "code" and item.part in others:
                before.append(others.pop(item.part))
            before.append(item)
        items[:] = [*before, *others.values()]
    return parts if settled is None else tuple(settled)


def _put_there(parts: tuple[Part, ...], items: list[Item], searched: tuple[str, ...]) -> frozenset[str]:
    """The names that mean another program once the text has written into a folder of PATH."""
    found: set[str] = set()
    bringing: set[int] = set()
    for item in items:
        effect = item.effect
        if not isinstance(effect, Touch) or effect.kind != "write":
            continue
        program = parts[item.part].program if item.part >= 0 else ""
        for path in (effect.path, effect.real) if effect.real else (effect.path,):
            folder, _, name = path.rpartition("/")
            if folder in searched:
                found.add(name)
            if effect.tree and program in _BRINGING and any(f"{each}/".startswith(f"{path}/") for each in searched):
                bringing.add(item.part)
    if bringing:
        alone = bringing if len(bringing) == 1 else ()
        found.update(part.argv[0].rpartition("/")[2] for at, part in enumerate(parts) if at not in alone and part.argv)
    return frozenset(found)


def _chooses(item: Item) -> bool:
    """Whether a file is written by which a version manager chooses what it starts."""
    effect = item.effect
    if not isinstance(effect, Touch) or effect.kind != "write":
        return False
    return effect.path.endswith(CHOOSERS) or "/.config/mise/conf.d/" in effect.path


def _code(items: list[Item], parts: tuple[Part, ...], question: Pending, why: str) -> None:
    if question.part < 0:
        items.append(Item(Opaque(why), question.start, question.end))
        return
    part = parts[question.part]
    items.append(Item(Code(part.program, part.argv, why), question.start, question.end, question.part))


def _glob(items: list[Item], parts: tuple[Part, ...], question: Pending, facts: Facts, _: Context) -> None:
    pattern = question.target
    matches = facts.globs.get(pattern)
    if matches is None or len(matches) > MAX_MATCHES:
        _code(items, parts, question, "a file's name could be read as an option")
        return
    folder = len(_literal_folder(pattern).rstrip("/")) + 1
    for path in matches:
        if path[folder : folder + 1] == "-":
            _code(items, parts, question, f"the file name {path[folder:]} would be read as an option")
            return
    if _makes_option(items, pattern, question.part):
        _code(items, parts, question, "a file that is made on the same line could be read as an option")


def _makes_option(items: list[Item], pattern: str, part: int) -> bool:
    """Whether another command of the text may make a name for the pattern to match that begins with a dash."""
    folder = _literal_folder(pattern).rstrip("/")
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


def _git(items: list[Item], parts: tuple[Part, ...], question: Pending, facts: Facts, _: Context) -> None:
    fact = facts.git.get(question.target)
    if fact is None or not fact.own:
        _code(items, parts, question, "git runs configuration of a repository that is not the project's")


def _made_repositories(items: list[Item], parts: tuple[Part, ...], started: list[Pending], facts: Facts) -> None:
    """A file that git takes for a repository may be written in the very text: what git finds there nobody saw. One
    pass for all runs of git."""
    if not any(
        isinstance(item.effect, Touch)
        and item.effect.kind == "write"
        and item.effect.path.endswith("/.git")
        and (item.part < 0 or parts[item.part].program != "git")
        for item in items
    ):
        return
    for question in started:
        fact = facts.git.get(question.target)
        if fact is not None and fact.own:
            _code(items, parts, question, "what git takes for a repository is written in the same text")


def _own_stores(items: list[Item], parts: tuple[Part, ...], started: list[Pending], facts: Facts) -> None:
    """What the description says of `.git` holds for the repository's own folder, not for the one git starts in. One
    pass for all runs of git: a text may hold thousands."""
    stores: dict[int, list[tuple[str, str, bool]]] = {}
    for question in started:
        fact = facts.git.get(question.target)
        if fact is not None and fact.own:
            here = question.target.rstrip("/") + "/.git"
            there = (fact.top or question.target).rstrip("/") + "/.git"
            tracked = _reads_only_tracked(parts[question.part])
            stores.setdefault(question.part, []).append((here, there, tracked))
    for at, item in enumerate(items):
        for here, there, tracked in stores.get(item.part, ()):
            effect = items[at].effect
            if not isinstance(effect, Touch):
                break
            path = effect.path
            if path == here or path.startswith(here + "/"):
                skips = "rest" if effect.tree else ""
                items[at] = item.replace(effect=effect.replace(path=there + path[len(here) :], real="", skips=skips))
            elif effect.tree and tracked and effect.kind in ("list", "read"):
                items[at] = item.replace(effect=effect.replace(skips="untracked"))


_PUSHED = " (push)"
# Subcommands that look at no file of the work tree which git does not keep, and the options that change that.
_TRACKED = ("blame", "diff", "diff-files", "diff-index", "grep", "log", "show", "stash")
_UNTRACKED_TOO = frozenset(
    ("--no-index", "--untracked", "--no-exclude-standard", "--include-untracked", "--only-untracked")
)


def _reads_only_tracked(part: Part) -> bool:
    subcommand = part.subcommands[0] if part.subcommands else ""
    return part.described and subcommand in _TRACKED and not part.options & _UNTRACKED_TOO


def _default_remote(fact: GitFact, direction: str) -> str:
    if said := fact.defaults[direction == "send"]:
        return said
    names = [name for name, _ in fact.remotes if not name.endswith(_PUSHED)]
    return "origin" if "origin" in names or not names else names[0] if len(names) == 1 else ""


def _remote(items: list[Item], parts: tuple[Part, ...], question: Pending, facts: Facts, context: Context) -> None:
    """The host behind a remote's name. An unknown one stays unknown."""
    direction, _, folder = question.extra.partition(" ")
    fact = facts.git.get(folder)
    if fact is None:
        return
    urls = dict(fact.remotes)
    if question.target == "*":
        chosen = list(urls.values())
    else:
        name = question.target or _default_remote(fact, direction)
        pushed = urls.get(name + _PUSHED) if direction == "send" else None
        url = urls.get(name) if pushed is None else pushed
        chosen = [] if url is None else [url]
        if not question.target and name:
            for at, item in enumerate(items):
                effect = item.effect
                if item.part == question.part and isinstance(effect, Push) and effect.remote == HOLE:
                    items[at] = item.replace(effect=effect.replace(remote=name))
    if not all(chosen) or not chosen:
        return  # the host stays unknown
    at = next((i for i, item in enumerate(items) if _unknown_host(item, question.part, direction)), -1)
    if at < 0:
        return
    template = items.pop(at)
    for url in chosen:
        place = remote(url)
        if place is None:
            items.append(template.replace(effect=Touch("read" if direction == "fetch" else "write", url, True)))
        elif place[0] == "file":
            path = "/" + url.split("://", 1)[1].lstrip("/")
            items.append(template.replace(effect=Touch("read" if direction == "fetch" else "write", path, True)))
        elif place[0] == "helper":
            _code(items, parts, question, f"{url} runs a helper program")
        else:
            items.append(template.replace(effect=Connect(place[1], place[2], direction)))
            own = context.home + "/.ssh" if place[0] == "ssh" and context.home else ""
            items.append(template.replace(effect=Credential("git", own)))


def _unknown_host(item: Item, part: int, direction: str) -> bool:
    effect = item.effect
    return item.part == part and isinstance(effect, Connect) and effect.host == HOLE and effect.direction == direction


def _branch(items: list[Item], parts: tuple[Part, ...], question: Pending, facts: Facts, context: Context) -> None:
    """`git push` without a ref sends the branch that HEAD is on."""
    del parts, context
    fact = facts.git.get(question.extra)
    if fact is None or not (fact.branch or fact.pushes):
        return
    for at, item in enumerate(items):
        effect = item.effect
        same = item.part == question.part and item.start == question.start and item.end == question.end
        if same and isinstance(effect, Push) and effect.ref == HOLE:
            known = {"force": True} if fact.pushes == "force" else {} if fact.pushes else {"ref": fact.branch}
            items[at] = item.replace(effect=effect.replace(**known))


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
        _code(items, parts, question, why)


def _settings(items: list[Item], parts: tuple[Part, ...], question: Pending, facts: Facts, _: Context) -> None:
    """A program that obeys files of the project does what they tell; one that the same line writes says nobody what."""
    program, names = files_of(question.extra)
    why = steered(program, facts.settings.get((question.target, names)))
    if not why and any(
        isinstance(item.effect, Touch) and item.effect.kind == "write" and item.effect.path.endswith(names)
        for item in items
    ):
        why = f"what tells {program} what to do is written before"
    if why:
        _code(items, parts, question, why)


def _dash(items: list[Item], parts: tuple[Part, ...], question: Pending, facts: Facts, _: Context) -> None:
    """Names that stand bare: one that begins with a dash is an option."""
    matches = facts.globs.get(question.target)
    made = _makes_option(items, question.target, question.part)
    if matches is None or made or any("/-" in path[path.rfind("/") :] for path in matches):
        _code(items, parts, question, "a file's name could be read as an option")


_DIVIDING = frozenset(" \t\n*?[\\")


def _blanks(items: list[Item], parts: tuple[Part, ...], question: Pending, facts: Facts, _: Context) -> None:
    """An unquoted variable that holds a match of a glob is split and matched again."""
    matches = facts.globs.get(question.target)
    folder = len(_literal_folder(question.target).rstrip("/"))
    if matches is None or any(not _DIVIDING.isdisjoint(path[folder:]) for path in matches):
        _code(items, parts, question, "a file's name would be taken apart")


def _names(items: list[Item], parts: tuple[Part, ...], question: Pending, facts: Facts, context: Context) -> None:
    """What a listing names, read as words again. In the sandbox nothing is opened that was not predicted."""
    if not context.confined and not facts.names.get(question.target):
        _code(items, parts, question, f"a file's name below {question.target} may be taken apart")


def _parts(items: list[Item], parts: tuple[Part, ...], question: Pending, facts: Facts, context: Context) -> None:
    del facts
    if not context.confined:
        _code(items, parts, question, "a line that is read may be a part of a name")


def _views(items: list[Item], parts: tuple[Part, ...], question: Pending, facts: Facts, context: Context) -> None:
    """Views of a database read the files and addresses that they name; the sandbox has none that were not predicted."""
    del facts
    if not context.confined:
        _code(items, parts, question, f"a view of {question.target}'s database may read other files")


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


def _file(items: list[Item], parts: tuple[Part, ...], question: Pending, facts: Facts, _: Context) -> None:
    """What is a file is read; where there is none, a program of a similar name would be run."""
    fact = facts.paths.get(question.target)
    if fact is None or fact.kind != "file":
        _code(items, parts, question, f"{question.target} may stand for a program")


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
    "git": _git,
    "remote": _remote,
    "branch": _branch,
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
    "file": _file,
    "installed": _installed,
}
