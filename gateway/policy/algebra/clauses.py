"""Clauses as regions: what one holds for at least, to be taken away from others, and what it holds for at most, to be
held against others.

Predicates of one clause are of the same effect, but an effect on a path has two ends where there is a link, and
commands have several readings. What limits the one need not limit the other; so `path` and `path_not` are dimensions
of their own, and what is known of the second from the first is said only where it holds of both ends.
"""

from __future__ import annotations

from gateway.model.effect import KINDS, LEAVE
from gateway.policy import globs
from gateway.policy.algebra import dimensions
from gateway.policy.algebra.dimensions import (
    CHANGED_WHOLE,
    FALSE,
    FORMS,
    ITSELF,
    LISTED,
    READ_WHOLE,
    TRUE,
    everything,
)
from gateway.policy.algebra.languages import UndecidedError
from gateway.policy.algebra.regions import overlap, sample, without
from gateway.policy.algebra.sets import Some, Texts
from gateway.policy.predicates import PREDICATES, kinds_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from gateway.policy.algebra.languages import Language
    from gateway.policy.algebra.regions import Region

    When = dict[str, Any]

MOST_ALTERNATIVES = 64
_NAMES_PROGRAM = ("command", "exec", "program")
_SHAPES = {
    ITSELF: {"read", "write", "delete"},
    LISTED: {"list"},
    READ_WHOLE: {"read", "list"},
    CHANGED_WHOLE: {"write", "delete"},
}
_LETTING_OUT = ("enterprise", "user")
_STAYING = Some(frozenset((LEAVE,)), negated=True)


def limits(when: When, *, allow: bool) -> list[Region]:
    """What the predicates of one alternative say, each by itself. Path patterns are absolute. Raises UndecidedError,
    and ValueError for a pattern that is none."""
    found: list[Region] = [{}]
    for name, value in when.items():
        if name == "effect":
            continue
        each = FORMS[PREDICATES[name].form.name](name, value, allow)
        found = [overlap(one, other) for one in found for other in each]
        if len(found) > MOST_ALTERNATIVES:
            raise UndecidedError("a rule has too many alternatives to be compared")
    kinds = kinds_of(when)
    if len(kinds) < len(KINDS):
        found = [{"kind": Some(frozenset(kinds)), **each} for each in found]
    return found


def at_least(
    when: When, lane: str, layer: str, exceptions: Sequence[When] = (), *, shells: bool = True
) -> list[Region]:
    """What a clause certainly holds for, exceptions left out; without `shells`: of calls of tools that are none."""
    allow = lane == "allow"
    found = limits(when, allow=allow)
    if _is_found_by_command(when):  # then its predicates are asked of a folder itself
        found = [each for each in found if not allow or _is_known(each, "path")]
    elif "path" in when and not {"path_not", "effect"} <= set(when):
        found = [shaped for each in found for shaped in _shaped(each, when, allow=allow)]
    if allow:
        found = [covering for each in found for covering in _covering(each, when, layer, surely=shells)]
    for each in exceptions:
        for excepted in limits(each, allow=True):
            found = [left for region in found for left in without(region, excepted, everything)]
            if len(found) > MOST_ALTERNATIVES:
                raise UndecidedError("a rule has too many exceptions to be compared")
    return found


def _covering(region: Region, when: When, layer: str, *, surely: bool) -> list[Region]:
    """What an allow rule can cover of what it speaks of, as `Resolution._may_cover` says; `surely`: of any tool."""
    if when.get("contained") is True:
        return [region]
    kinds = region["kind"].values if "kind" in region else frozenset(KINDS)
    if "tool" in when:  # a bare shell covers what its commands do, not redirects
        region = {**region, "redirect": FALSE}
    if "system" in kinds and not ("action" in when and layer in _LETTING_OUT):
        region = overlap(region, {"action": _STAYING})
    if not kinds & {"code", "opaque"}:
        return [region]
    named = any(name in when for name in _NAMES_PROGRAM)
    apart = frozenset(("opaque",) if named else ("code", "opaque"))
    found = [{**region, "kind": Some(kinds - apart)}] if kinds - apart else []
    confined = overlap(region, {"confined": TRUE})
    if "code" in kinds and not named:
        found.append({**confined, "kind": Some(frozenset(("code",)))})
    if "opaque" in kinds and "tool" in when:
        found.append({**(confined if surely else region), "kind": Some(frozenset(("opaque",)))})
    return found


def at_most(when: When, lane: str, layer: str) -> list[Region]:
    """All that a clause may hold for, with what else is known of it then."""
    allow = lane == "allow"
    found = limits(when, allow=allow)
    if allow:
        found = [covering for each in found for covering in _covering(each, when, layer, surely=False)]
    if "path" in when:
        if not _is_found_by_command(when):
            found = [shaped for each in found for shaped in _shaped(each, when, allow=allow)]
        shapes = frozenset(shape for shape, of in _SHAPES.items() if of & set(kinds_of(when)))
        found = [overlap({"shape": Some(shapes)}, each) for each in found]
        left_out = (dimensions.paths(when["path_not"]),) if "path_not" in when else ()
        if allow or not left_out:  # the one end of a link that the rule names, or both, are none that it leaves out
            found = [_one_path(each, left_out) if "path" in each else each for each in found]
    if "host" in when or "host_not" in when:
        reached = dimensions.hosts(when["host"], grow=True) if "host" in when else everything("host")
        others = dimensions.hosts_but(when["host_not"], grow=True) if "host_not" in when else reached
        if allow:
            reached = others = reached.both(others)
        found = [{**each, "host": reached, "host_not": others} if _is_known(each, "host") else each for each in found]
    if "command" in when and allow:
        read = [limits for pattern in when["command"] for limits in dimensions.read_to_forbid(pattern)]
        named = _program(when["command"])
        found = [{**overlap(one, other), **named} for one in found for other in read]
    elif "exec" in when and "command" not in when:
        found = [overlap(each, dimensions.begun_by(when["exec"][0])) for each in found]
    return found


def _is_known(region: Region, field: str) -> bool:
    return f"known:{field}" not in region or bool(region[f"known:{field}"].holds(True))


def _one_path(region: Region, left_out: tuple[Language, ...]) -> Region:
    named = Texts(region["path"].among, region["path"].inside, left_out)
    return {**region, "path": named, "path_not": named}


def _is_found_by_command(when: When) -> bool:
    return any(PREDICATES[name].scope == "part" for name in when)


def _shaped(region: Region, when: When, *, allow: bool) -> list[Region]:
    """The regions of the shapes in which paths are touched, where the index of paths finds the clause."""
    if "path" not in region or not dimensions.tells_folders(when["path"]):
        return [region]
    found: dict[Language, list[str]] = {}
    kinds = region["kind"].values
    for shape, of in _SHAPES.items():
        if kinds & of:
            itself = shape == ITSELF
            language = region["path"].inside[0] if itself else dimensions.folders(when["path"], shape, allow=allow)
            found.setdefault(language, []).append(shape)
    return [
        {**region, "shape": Some(frozenset(shapes)), "path": Texts(region["path"].among, (language,))}
        for language, shapes in found.items()
    ]


def _program(patterns: Sequence[str]) -> Region:
    """The program of commands that patterns allow, by its own name, where each names one."""
    first = [pattern.split(" ", 1)[0] for pattern in patterns]
    if not all(map(globs.is_literal, first)) or any(set(word) & set("'\":") for word in first):
        return {}
    names = [word[word.rfind("/") + 1 :] for word in first]
    return FORMS["exec"]("exec", [names], True)[0]


def overlaps(one: When, other: When) -> bool:
    """Whether two sets of predicates, of exceptions or allow rules, may hold for the same. Raises UndecidedError."""
    return any(
        sample(overlap(mine, theirs), everything) is not None
        for mine in limits(one, allow=True)
        for theirs in limits(other, allow=True)
    )
