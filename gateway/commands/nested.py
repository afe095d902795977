"""Repositories inside of the project's own: git looks into those that its index names, and obeys their settings.

What the index names when a text is judged was looked at; what the text itself puts there was not.
"""

from __future__ import annotations

from gateway.model.effect import HOLE, Code, Item, Touch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from gateway.model.analysis import Pending
    from gateway.model.command import Part
    from gateway.model.context import Context
    from gateway.model.facts import Facts

# Subcommands by which the index may get the name of a repository.
_LINKING = frozenset(
    ("add", "am", "apply", "bisect", "checkout", "cherry-pick", "commit", "merge", "mv", "pull", "read-tree", "rebase",
     "reset", "restore", "revert", "stash", "stage", "submodule", "switch", "update-index")
)  # fmt: skip
# Those that look for changes in the repositories that the index names.
_LOOKING = frozenset(
    ("am", "bisect", "checkout", "cherry-pick", "commit", "describe", "diff", "diff-files", "diff-index", "merge",
     "pull", "rebase", "revert", "stash", "status", "submodule", "switch")
)  # fmt: skip
_FROM_THE_INDEX = frozenset(("--cached", "--staged"))


def may_link(part: Part) -> bool:
    """Whether one run of git may both name repositories in the index and look into them: a commit names none that the
    index did not have."""
    first = part.subcommands[0] if part.subcommands else ""
    return first in _LINKING and first in _LOOKING and first != "commit"


def links(parts: Sequence[Part]) -> bool:
    """Whether one run of git may name repositories in the index that another one then looks into."""
    linking, looking = _both(parts)
    return bool(linking and looking) and not (linking == looking and len(linking) == 1)


def _both(parts: Sequence[Part]) -> tuple[set[int], set[int]]:
    runs = [(at, part) for at, part in enumerate(parts) if part is not None and part.program == "git"]
    linking = {at for at, part in runs if part.subcommands and part.subcommands[0] in _LINKING}
    return linking, {at for at, part in runs if _looks(part)}


def _looks(part: Part) -> bool:
    first = part.subcommands[0] if part.subcommands else ""
    return first in _LOOKING and not (first == "diff" and not _FROM_THE_INDEX.isdisjoint(part.options))


def look_into(
    items: list[Item], parts: tuple[Part, ...], started: list[Pending], facts: Facts, context: Context
) -> None:
    """Notes on runs of git that may look into repositories which the text itself puts into the index. One pass for all
    of them."""
    linking, looking = _both(parts)
    brought: dict[str, bool] = {}
    doubted: set[int] = set()
    for question in started:
        at = question.part
        fact = facts.git.get(question.target)
        if at in doubted or at not in looking or linking <= {at} or fact is None or not fact.own:
            continue
        found = facts.nests.get(question.target, True)
        if fact.top not in brought:
            brought[fact.top] = _brought(items, parts, fact.top)
        if found or (found is None and not context.confined) or brought[fact.top]:
            doubted.add(at)
            why = "git may look into a repository that the text itself makes known to it, and obey its settings"
            items.append(Item(Code(parts[at].program, parts[at].argv, why), question.start, question.end, at))


def _brought(items: list[Item], parts: tuple[Part, ...], top: str) -> bool:
    """Whether something else of the text brings whole folders into the work tree from elsewhere."""
    bringing: set[int] = set()
    outside: set[int] = set()
    for item in items:
        effect = item.effect
        if isinstance(effect, Touch) and effect.tree and item.part >= 0 and parts[item.part].program != "git":
            inside = HOLE not in effect.path and f"{effect.path}/".startswith(f"{top.rstrip('/')}/")
            if effect.kind == "write":
                bringing.add(item.part)
            elif effect.kind != "list" and not inside:
                outside.add(item.part)
    return not bringing.isdisjoint(outside)
