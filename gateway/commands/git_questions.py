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
    fact = facts.git.get(question.target)
    if fact is None or not fact.own:
        add_code(items, parts, question, "git runs configuration of a repository that is not the project's")


def made_repositories(items: list[Item], parts: tuple[Part, ...], started: list[Pending], facts: Facts) -> None:
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
            add_code(items, parts, question, "what git takes for a repository is written in the same text")


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
        place = remote_of(url)
        if place is None:
            items.append(template.replace(effect=Touch("read" if direction == "fetch" else "write", url, True)))
        elif place[0] == "file":
            path = "/" + url.split("://", 1)[1].lstrip("/")
            items.append(template.replace(effect=Touch("read" if direction == "fetch" else "write", path, True)))
        elif place[0] == "helper":
            add_code(items, parts, question, f"{url} runs a helper program")
        else:
            items.append(template.replace(effect=Connect(place[1], place[2], direction)))
            own = context.home + "/.ssh" if place[0] == "ssh" and context.home else ""
            items.append(template.replace(effect=Credential("git", own)))


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
