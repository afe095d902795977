"""What a declared tool says of one call: whether it only reads, destroys, may run beside others.

A trait is a constant of the declaration or a named function of the call's effects. Unknown effects count as the
worst: a call with an opaque part is not read-only, is destructive, and runs alone.
"""

from __future__ import annotations

from _collections_abc import Mapping  # what `collections.abc` is another name of

from gateway.model.effect import PATH_KINDS, Exec, Push, Touch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from gateway.model.call import RawCall
    from gateway.model.effect import Item
    from gateway.model.facts import Facts
    from gateway.tools.tool import Tool

_READING = frozenset({"use", "exec", "list", "read", "session"})
_MOVING = ("cd", "pushd", "popd")
_HARMLESS = _READING | {"write", "connect", "credential", "env"}


def in_background(raw: RawCall) -> bool:
    """Whether a call goes on when its tool has returned, so that nobody can be asked about what it has changed."""
    return isinstance(raw.input, Mapping) and raw.input.get("run_in_background") is True


def is_read_only(tool: Tool, items: Iterable[Item], facts: Facts) -> bool:
    """Whether the call changes nothing and contacts nobody."""
    return _trait(tool.entry["read_only"], _only_reads, items, facts)


def is_destructive(tool: Tool, items: Iterable[Item], facts: Facts) -> bool:
    """Whether the call may lose what was there before."""
    return _trait(tool.entry["destructive"], _destroys, items, facts)


def is_concurrency_safe(tool: Tool, items: Iterable[Item], facts: Facts) -> bool:
    """Whether the call may run beside its neighbours of a batch: it changes nothing, the session included."""
    return _trait(tool.entry["concurrency_safe"], _stays, items, facts)


def _trait(
    declared: bool | str, by_effects: Callable[[Iterable[Item], Facts], bool], items: Iterable[Item], facts: Facts
) -> bool:
    if isinstance(declared, bool):
        return declared
    return by_effects(items, facts) if declared == "by_effects" else _overwrites(items, facts)


def _only_reads(items: Iterable[Item], _facts: Facts) -> bool:
    return all(item.effect.kind in _READING for item in items)


def _stays(items: Iterable[Item], facts: Facts) -> bool:
    """Whether the call only reads, and its shell ends where it started."""
    items = tuple(items)
    moves = any(isinstance(item.effect, Exec) and item.effect.program in _MOVING for item in items)
    return not moves and _only_reads(items, facts)


def _destroys(items: Iterable[Item], facts: Facts) -> bool:
    for item in items:
        effect = item.effect
        if isinstance(effect, Push):
            if effect.force:
                return True
        elif effect.kind not in _HARMLESS:
            return True
    return _overwrites(items, facts)


def _overwrites(items: Iterable[Item], facts: Facts) -> bool:
    """Whether anything is written that is not known to be missing, or deleted."""
    for item in items:
        effect = item.effect
        if not isinstance(effect, Touch) or effect.kind not in PATH_KINDS:
            continue
        if effect.kind == "delete":
            return True
        if effect.kind == "write":
            fact = facts.paths.get(effect.path)
            if fact is None or fact.kind != "missing" or effect.tree:
                return True
    return False
