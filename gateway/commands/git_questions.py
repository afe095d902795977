"""Open questions about git: whose repository it is, its remotes and branches, what is written there. Pure."""

from __future__ import annotations

from gateway.commands.parts import add_code
from gateway.commands.places import remote as remote_of
from gateway.model.effect import HOLE, Connect, Credential, Item, Push, Touch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gateway.model.analysis import Pending
    from gateway.model.command import Part
    from gateway.model.context import Context
    from gateway.model.facts import Facts, GitFact


def git(items: list[Item], parts: tuple[Part, ...], question: Pending, facts: Facts, _: Context) -> None:
    """`there`: a program that starts git, and does without where there is no repository."""
    fact = facts.git.get(question.target)
    if question.extra == "there" and fact is not None and not fact.top:
        return
    if fact is None or not fact.own:
        why = fact.why if fact is not None else ""
        add_code(items, parts, question, why or "git runs configuration of a repository that is not the project's")


# By any of these names in a folder that it starts in git may take the folder for a repository.
_MARKS = frozenset(("head", "objects", "refs", "commondir"))
# Runs of git that make repositories as git makes them, with nothing in them that would run.
_CLEAN = frozenset(("clone", "init", "worktree"))


def made_repositories(items: list[Item], parts: tuple[Part, ...], started: list[Pending], facts: Facts) -> None:
    """What git takes for a repository may be written in the very text: what git will find there nobody saw. One pass
    for all runs of git."""
    written: dict[tuple[str, bool], None] = {}
    for item in items:
        effect = item.effect
        if isinstance(effect, Touch) and effect.kind == "write" and not _is_gits(parts, item.part, effect.path):
            written[effect.path, effect.tree or not _only_makes_folders(parts, item.part)] = None
    if not written:
        return
    known: dict[str, bool] = {}
    for question in started:
        fact = facts.git.get(question.target)
        if fact is None or not fact.own:
            continue
        found = known.get(question.target)
        if found is None:
            chain = _chain(question.target, fact.top)
            found = known[question.target] = any(_may_make(*each, chain, fact.top) for each in written)
        if found:
            add_code(items, parts, question, "what git takes for a repository is written in the same text")


def _is_gits(parts: tuple[Part, ...], part: int, path: str) -> bool:
    """Whether git itself writes it as a part of a repository: not what it takes out of one into a work tree."""
    run = parts[part] if part >= 0 else None
    if run is None or run.program != "git":
        return False
    return f"{path}/".find("/.git/") >= 0 or (bool(run.subcommands) and run.subcommands[0] in _CLEAN)


def _only_makes_folders(parts: tuple[Part, ...], part: int) -> bool:
    return part >= 0 and parts[part].program == "mkdir"


def _chain(folder: str, top: str) -> tuple[str, ...]:
    """A folder and those above it, as far as the work tree goes."""
    found = [folder]
    while folder != top and "/" in folder:
        folder = folder[: folder.rfind("/")]
        found.append(folder)
    return tuple(found)


def _may_make(path: str, content: bool, chain: tuple[str, ...], top: str) -> bool:
    """Whether writing a path may put a repository where git looks for one: under that name anywhere, in a folder of the
    chain, or with `content` as one of them. In `top` itself git has found one already."""
    if "/.git/" in f"{path.lower()}/":
        return True
    for folder in chain:
        if path.startswith(f"{folder}/"):  # the deepest of them that it lies in
            name = path[len(folder) + 1 :].partition("/")[0]
            if folder != top and name.lower() in _MARKS:
                return True
            if f"{folder}/{name}" not in chain:
                return False
    return content and len(chain) > 1 and any(each == path for each in chain)


def own_stores(items: list[Item], parts: tuple[Part, ...], started: list[Pending], facts: Facts) -> None:
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


OTHER = "git starts in another repository, and does what that one says"
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


def remote(items: list[Item], parts: tuple[Part, ...], question: Pending, facts: Facts, context: Context) -> None:
    """The host behind a remote's name, and the login that git lends it. An unknown host stays unknown, and may be lent
    one all the same."""
    direction, _, folder = question.extra.partition(" ")
    unknown = next((at for at, item in enumerate(items) if _unknown_host(item, question.part, direction)), -1)
    fact = facts.git.get(folder)
    if fact is None:
        _lend(items, unknown)
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
        _lend(items, unknown)
        return
    if unknown < 0:
        return
    template = items.pop(unknown)
    for url in chosen:
        place = remote_of(url)
        if place is None:
            _serve(items, parts, question, template, url, direction)
        elif place[0] == "file":
            _serve(items, parts, question, template, "/" + url.split("://", 1)[1].lstrip("/"), direction)
        elif place[0] == "helper":
            add_code(items, parts, question, f"{url} runs a helper program")
        else:
            known_by = "person" if fact.own and place[1] != HOLE else ""
            items.append(template.replace(effect=Connect(place[1], place[2], direction, (), known_by)))
            own = context.home + "/.ssh" if place[0] == "ssh" and context.home else ""
            items.append(template.replace(effect=Credential("git", own)))


def _lend(items: list[Item], at: int) -> None:
    """Beside the connection to an unknown host: whichever it is, git looks for a login for it."""
    if at >= 0 and (lent := items[at].replace(effect=Credential("git", ""))) not in items:
        items.append(lent)


def _serve(
    items: list[Item], parts: tuple[Part, ...], question: Pending, template: Item, path: str, direction: str
) -> None:
    """A remote on this machine, in whose repository git starts, too."""
    items.append(template.replace(effect=Touch("read" if direction == "fetch" else "write", path, True)))
    add_code(items, parts, question, OTHER)


def sources(path: str) -> list[str]:
    """By what names git looks for a repository, or a bundle of one, that is called by a path."""
    return [path, f"{path}.git", f"{path}.bundle"]


def source(items: list[Item], parts: tuple[Part, ...], question: Pending, facts: Facts, _: Context) -> None:
    """A repository on this machine that is fetched from: what it says is obeyed there, unless it is the project's own,
    or nothing is there, nor made by the same text."""
    path = question.target
    fact = facts.git.get(path)
    if fact is not None and fact.own and fact.top == path:
        return
    found = [facts.paths.get(each) for each in sources(path)]
    is_missing = all(each is not None and each.kind == "missing" for each in found)
    if not is_missing or any(_may_be_at(item, question.part, path) for item in items):
        add_code(items, parts, question, OTHER)


def _may_be_at(item: Item, own: int, path: str) -> bool:
    effect = item.effect
    if not isinstance(effect, Touch) or effect.kind != "write" or item.part == own:
        return False
    written = effect.real or effect.path
    return HOLE in written or written.startswith(path) or (effect.tree and f"{path}/".startswith(f"{written}/"))


def _unknown_host(item: Item, part: int, direction: str) -> bool:
    effect = item.effect
    return item.part == part and isinstance(effect, Connect) and effect.host == HOLE and effect.direction == direction


def branch(items: list[Item], parts: tuple[Part, ...], question: Pending, facts: Facts, context: Context) -> None:
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
