"""Code that is there only where git starts something by itself: hooks, filters, drivers, signers. Pure.

The facts were found before the text runs: what the text itself may make is as good as there.
"""

from __future__ import annotations

from gateway.commands.nested import may_link
from gateway.commands.places import stream
from gateway.model.effect import HOLE, Code, Touch
from gateway.model.facts import TEMPORARY

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from gateway.model.analysis import Pending
    from gateway.model.command import Part
    from gateway.model.effect import Item
    from gateway.model.facts import Facts

_TEMPORARY = tuple([f"{folder}/" for folder in TEMPORARY])
# Effects by which no hook and no setting comes to be, but for what they write.
_PLAIN = frozenset(("list", "read", "write", "delete", "exec", "connect", "credential", "push", "use"))
# Runs of git that give a repository settings or hooks.
_SETTING = frozenset(("config", "init", "remote", "submodule"))


def wanted_of(pending: Sequence[Pending], parts: Sequence[Part]) -> tuple[tuple[str, bool], ...]:
    """The folders that such questions are about, as `Wanted.hooks` has them: each once."""
    found: dict[str, bool] = {}
    for question in pending:
        if question.kind == "hooks" and question.target:
            links = may_link(parts[question.part])
            for folder in question.target.split("\0"):
                found[folder] = found.get(folder, False) or links
    return tuple(found.items())


def quiet(items: list[Item], parts: tuple[Part, ...], asked: list[Pending], facts: Facts) -> None:
    """Takes away what git would run where nothing is there to run, nor comes to be there by the text: nothing else in
    it is code, sets variables for a program, or writes what git obeys. One pass for all runs of git."""
    answered = {(each.part, each.extra) for each in asked if _is_quiet(each, facts)}
    if not answered:
        return
    asking = {folder for each in asked for folder in each.target.split("\0") if folder}
    tops = tuple([f"{fact.top.rstrip('/').lower()}/" for folder, fact in facts.git.items() if folder in asking])
    left: list[Item] = []
    for item in items:
        effect = item.effect
        if isinstance(effect, Code) and (item.part, effect.why) in answered:
            continue
        if effect.kind not in _PLAIN or (isinstance(effect, Touch) and _may_bring(item, parts, tops)):
            return
        left.append(item)
    items[:] = left


def _is_quiet(question: Pending, facts: Facts) -> bool:
    if not question.target:
        return False
    found = [facts.git.get(folder) for folder in question.target.split("\0")]
    return all(fact is not None and fact.own and fact.quiet for fact in found)


def _may_bring(item: Item, parts: tuple[Part, ...], tops: tuple[str, ...]) -> bool:
    """Whether what a text writes or takes away may be a hook, or settings of git: all but what lies in a work tree
    outside of its repository, what git keeps there itself, and what lies in temporary folders."""
    effect = item.effect
    if not isinstance(effect, Touch) or effect.kind not in ("write", "delete"):
        return False
    run = parts[item.part] if item.part >= 0 else None
    by_git = run.subcommands[0] if run is not None and run.program == "git" and run.subcommands else ""
    if by_git in _SETTING:
        return True
    return any(
        not _is_apart(path, effect.tree, by_git, tops)
        for path in ((effect.path, effect.real) if effect.real else (effect.path,))
    )


def _is_apart(path: str, tree: bool, by_git: str, tops: tuple[str, ...]) -> bool:
    """Whether git obeys nothing that is written there. `by_git`: the subcommand of git that writes it."""
    if HOLE in path:
        return False
    whole = f"{path.rstrip('/').lower()}/"
    at = whole.find("/.git/")
    if at >= 0:
        return whole[at:].startswith("/.git/refs/") or (bool(by_git) and tree and whole.endswith("/.git/"))
    if any(top.startswith(whole) for top in tops):
        return bool(by_git)  # what git takes out of a repository has no other one in it
    return by_git == "worktree" or stream(path) or whole.startswith((*tops, *_TEMPORARY))
