"""Which values each dimension of a region may have at all, and what predicates say of them, by the form of argument.

Whether a value is known is a dimension of its own (`known:path`): what is unknown is matched for certain by few
patterns, so that several which together match every value do not match all that there is.
A predicate gives alternatives: for each the sets of the dimensions that it limits. Most give one.
"""

from __future__ import annotations

import functools

from gateway.model.decision import MODES
from gateway.model.effect import KINDS
from gateway.policy import commandpattern, globs
from gateway.policy.addresses import network
from gateway.policy.algebra import patterns
from gateway.policy.algebra.argument_values import every_text, glob, numbers, of_args
from gateway.policy.algebra.languages import UndecidedError, union
from gateway.policy.algebra.sets import ALL_NUMBERS, LONE, NO_NUMBERS, NOTHING, Bits, Hosts, Some, Spans, Texts
from gateway.policy.candidates import ANY_NAME
from gateway.policy.hosts import GROUPS
from gateway.policy.paths import parsed
from gateway.policy.predicates import PREDICATES
from gateway.policy.trie import BELOW

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Any

    from gateway.policy.algebra.languages import Language

    # The sets of the dimensions that one alternative limits.
    Limits = dict[str, Any]
    _Reader = Callable[[str, Any, bool], list[Limits]]

BOTH = Some(frozenset((True, False)))
TRUE, FALSE = Some(frozenset((True,))), Some(frozenset((False,)))
PART: Limits = {"known:part": TRUE}  # what is tested is a command
_ALWAYS_KNOWN = ("tool", "agent")
WRITTEN, BARE = "written", "bare"
# How a path is touched: by itself, listed, or with all that lies below it.
SHAPES = ITSELF, LISTED, READ_WHOLE, CHANGED_WHOLE = "itself", "listed", "read whole", "changed whole"
_NATURAL = Spans(((0, True, float("inf"), True),), whole=True)
_DAY = 24 * 60
_WEEK = (1 << 7 * _DAY) - 1
_DAYS = PREDICATES["time"].choices
_LONGEST_EXAMPLE = 400
_all_words = functools.cache(patterns.all_words)
_all_wrapped = functools.cache(patterns.all_wrapped)
_all_paths = functools.cache(patterns.all_paths)
_all_hosts = functools.cache(patterns.all_hosts)
_lone_names = functools.cache(patterns.lone_names)
_EVERYTHING: dict[str, Callable[[], Any]] = {
    "kind": lambda: Some(frozenset(KINDS)),
    "mode": lambda: Some(frozenset(MODES)),
    "view": lambda: Some(frozenset((WRITTEN, BARE))),
    "shape": lambda: Some(frozenset(SHAPES)),
    "depth": lambda: _NATURAL,
    "words": lambda: _NATURAL,
    "time": lambda: Bits(_WEEK),
    "port": lambda: Some(frozenset(), negated=True),
    "action": lambda: Some(frozenset(), negated=True),
    "annotations": lambda: Some(frozenset(), negated=True),
    "number": lambda: ALL_NUMBERS,
    "holds": lambda: Some(frozenset(), negated=True),  # most paths are none of them
    "command": lambda: Texts(_all_words()),
    WRITTEN: lambda: Texts(_all_wrapped()),
    BARE: lambda: Texts(_all_wrapped()),
}
_PATHS = ("path", "path_not", "unknown path", "cwd", "sends", "sends inside")
_TEXTS = (
    "tool", "server", "agent", "branch", "remote", "ref", "name", "what", "program", "exec", "args",
)  # fmt: skip


@functools.cache
def everything(dimension: str) -> Any:
    """All values that a dimension may have. What stands behind a colon tells dimensions of one kind apart."""
    kind = dimension.partition(":")[0]
    if kind in _EVERYTHING:
        return _EVERYTHING[kind]()
    if kind in _PATHS:
        return Texts(_all_paths())
    if kind in _TEXTS:
        return Texts(every_text())
    if kind in ("host", "host_not"):
        return Hosts(Texts(_all_hosts()), _addresses(4), _addresses(6), Some(frozenset((LONE,))))
    choices = PREDICATES[kind].choices if kind in PREDICATES else ()
    return Some(frozenset(choices)) if choices else BOTH


def _addresses(version: int) -> Spans:
    return Spans(((0, True, (1 << (32 if version == 4 else 128)) - 1, True),), whole=True)


def hosts(written: Iterable[str], *, grow: bool) -> Hosts:
    """What host patterns match. Addresses that match by how they are written are left out, or, with `grow`, all are
    taken in. Raises UndecidedError for names that cannot be written in letters of ASCII."""
    names: list[Language] = []
    spans: dict[int, list[Any]] = {4: [], 6: []}
    lone = False
    for pattern in written:
        lone = lone or pattern in ("private", "*", "**")
        for each in GROUPS.get(pattern.lower(), (pattern,)):
            text = each.lower().removesuffix(".")
            found = network(text)
            if found is not None:
                version, value, bits = found
                size = 1 << ((32 if version == 4 else 128) - bits)
                spans[version].append((value, True, value + size - 1, True))
                continue
            if text in ("*", "**"):
                spans = {version: [*_addresses(version).runs] for version in (4, 6)}
            elif "*" in text.partition(".")[2] and grow:
                spans[4] = [*_addresses(4).runs]
            names.append(_host(text))
    return Hosts(
        Texts(_all_hosts(), (union(names),)) if names else None,
        Spans(tuple(sorted(set(spans[4]))), whole=True),
        Spans(tuple(sorted(set(spans[6]))), whole=True),
        Some(frozenset((LONE,))) if lone else NOTHING,
    )


@functools.lru_cache(4096)
def _host(text: str) -> Language:
    if not text.isascii():
        try:
            text = text.encode("idna").decode("ascii").lower()
        except UnicodeError as error:
            raise UndecidedError(f"`{text}` has no form of ASCII") from error
    return patterns.host(text)


def hosts_but(written: Sequence[str], *, grow: bool = False) -> Hosts:
    """What none of the patterns match; `grow`: and what only may not match any."""
    found, all_hosts = hosts(written, grow=not grow), everything("host")
    left_out = () if found.names is None else found.names.inside
    lone = all_hosts.lone
    if not grow:  # a name without a dot may be any that a pattern without one names, and one of a private network
        lone = NOTHING if any("." not in each for each in written) else lone
        left_out += (_lone_names(),) if "private" in written else ()
    names = Texts(_all_hosts(), outside=left_out)
    spans = [
        next(iter(everyone.without(given)), NO_NUMBERS)
        for everyone, given in ((all_hosts.version_4, found.version_4), (all_hosts.version_6, found.version_6))
    ]
    return Hosts(names, spans[0], spans[1], next(iter(lone.without(found.lone)), NOTHING))


@functools.lru_cache(16384)
def path(pattern: str, inside: bool = False) -> Language:
    """The language of one normalised path pattern."""
    return patterns.path(pattern, inside=inside)


def paths(written: Sequence[str], *, inside: bool = False) -> Language:
    """What any of several normalised path patterns matches."""
    return _paths(tuple(written), inside)


@functools.lru_cache(4096)
def _paths(written: tuple[str, ...], inside: bool) -> Language:
    return union([path(each, inside) for each in written])


def folders(written: Sequence[str], shape: str, *, allow: bool) -> Language:
    """The folders of a shape that an index of path patterns finds, to allow or to forbid them. They are found by what
    lies in them. The same for shapes that are found alike."""
    if not allow or shape == LISTED:
        return _holding(tuple(written))
    return paths(written, inside=shape == READ_WHOLE)


@functools.lru_cache(4096)
def _holding(written: tuple[str, ...]) -> Language:
    return _paths(written, False).before(f"/{ANY_NAME}")


def tells_folders(written: Sequence[str]) -> bool:
    """Whether what lies in a folder may be matched where the folder is not."""
    return any(end == BELOW or not segments or _matches_any(segments[-1]) for segments, end in map(parsed, written))


def _matches_any(segment: str) -> bool:
    return globs.matches(globs.compile_segment(segment), ANY_NAME)


def _of_globs(name: str, value: Any, _allow: bool) -> list[Limits]:
    found = union([glob(each) for each in value])
    known = {} if name in _ALWAYS_KNOWN else {f"known:{name}": TRUE}
    return [{name: Texts(every_text(), (found,)), **known}]


def _of_words(name: str, value: Any, _allow: bool) -> list[Limits]:
    return [{name: Some(frozenset(value))}]


def _of_boolean(name: str, value: Any, _allow: bool) -> list[Limits]:
    return [{name: TRUE if value else FALSE}]


def _of_paths(name: str, value: Any, _allow: bool) -> list[Limits]:
    if PREDICATES[name].negated:
        return [{name: Texts(_all_paths(), outside=(paths(value),)), "known:path": TRUE}]
    limits = {name: Texts(_all_paths(), (paths(value),)), f"known:{name}": TRUE}
    if name == "sends":
        limits["sends inside"] = Texts(_all_paths(), (paths(value, inside=True),))
    floating = [each for each in value if each.startswith("/**/") or each in ("/", "/*", "/**")]
    if name != "path" or not floating:
        return [limits]
    # These match for certain what an unknown part stands before: see `paths.lookup_possible`.
    return [limits, {"unknown path": Texts(_all_paths(), (paths(floating),)), "known:path": FALSE}]


def _of_hosts(name: str, value: Any, _allow: bool) -> list[Limits]:
    found = hosts_but(value) if PREDICATES[name].negated else hosts(value, grow=False)
    limits: Limits = {name: found, "known:host": TRUE}
    if name != "host" or not {"*", "**"} & set(value):
        return [limits]
    return [limits, {"known:host": FALSE}]


def _of_commands(_name: str, value: Any, allow: bool) -> list[Limits]:
    if allow:
        return [
            {"command": Texts(_all_words(), (union([_words(each) for each in value]),)), "known:words": TRUE, **PART}
        ]
    return [limits for each in value for limits in read_to_forbid(each)]


@functools.lru_cache(4096)
def _words(pattern: str) -> Language:
    return patterns.words(pattern)


def read_to_forbid(pattern: str) -> list[Limits]:
    """The ways in which a command pattern matches where it forbids: the words as written, or those without options
    while its options and their values are there."""
    written, bare, options = _forbidding(pattern)
    found: list[Limits] = [{"view": Some(frozenset((WRITTEN,))), WRITTEN: Texts(_all_wrapped(), (written,)), **PART}]
    for language, values in bare:
        limits = {"view": Some(frozenset((BARE,))), BARE: Texts(_all_wrapped(), (language,)), **PART}
        limits.update({f"pattern option:{each}": TRUE for each in options})
        limits.update({f"pattern value:{each}": TRUE for each in values})
        found.append(limits)
    return found


@functools.lru_cache(4096)
def _forbidding(pattern: str) -> tuple[Language, list[tuple[Language, list[str]]], list[str]]:
    compiled = commandpattern.compile_once(pattern)
    bare = [(patterns.text(glob), [repr(each) for each in values]) for glob, values in compiled["bare"]]
    return patterns.text(compiled["written"]), bare, [repr(each) for each in compiled["options"]]


def begun_by(names: Sequence[str]) -> Limits:
    """What is known of the words of a command whose program has one of these names."""
    found = _begun_by(tuple(names))
    return {"view": Some(frozenset((BARE,))), BARE: Texts(_all_wrapped(), (found,))} if found is not None else {}


@functools.lru_cache(4096)
def _begun_by(names: tuple[str, ...]) -> Language | None:
    return patterns.begun_by(names)


def _of_exec(_name: str, value: Any, _allow: bool) -> list[Limits]:
    limits: Limits = {"words": Spans(((len(value), True, float("inf"), True),), whole=True), **PART}
    for place, choices in enumerate(value):
        found = union([glob(each) for each in choices])
        limits[f"exec:{place}"] = Texts(every_text(), (found,))
    return [limits]


def _of_options(name: str, value: Any, _allow: bool) -> list[Limits]:
    if PREDICATES[name].negated:
        return [{f"{name}:{each}": FALSE for each in value} | PART]
    return [{f"{name}:{each}": TRUE} | PART for each in value]


def _of_annotations(_name: str, value: Any, _allow: bool) -> list[Limits]:
    return [{f"annotations:{each}": Some(frozenset((wanted,))) for each, wanted in value.items()}]


def _of_depth(_name: str, value: Any, _allow: bool) -> list[Limits]:
    return [{"depth": numbers(value, whole=True)}]


def _of_time(_name: str, value: Any, allow: bool) -> list[Limits]:
    edges = {}
    for edge in ("from", "to"):
        if edge in value:
            hours, minutes = str(value[edge]).split(":")
            edges[edge] = int(hours) * 60 + int(minutes)
    start, end = edges.get("from", 0), edges.get("to", _DAY)
    wanted = value.get("days", _DAYS)
    bits = 0
    for day in range(7):
        here, before = _DAYS[day] in wanted, _DAYS[day - 1] in wanted
        late = _minutes(start, min(end, _DAY) if start <= end else _DAY) if here else 0
        early = (here and before) if allow else (here or before)
        bits |= (late | (_minutes(0, end) if start > end and early else 0)) << day * _DAY
    return [{"time": Bits(bits)}]


def _minutes(start: int, end: int) -> int:
    return ((1 << end) - 1) & ~((1 << start) - 1) if end > start else 0


# By the form of the argument: the alternatives in which it limits dimensions, where it allows and where it forbids.
FORMS: dict[str, _Reader] = {
    "tools": _of_globs,
    "globs": _of_globs,
    "texts": _of_words,
    "choices": _of_words,
    "boolean": _of_boolean,
    "paths": _of_paths,
    "hosts": _of_hosts,
    "ports": _of_words,
    "commands": _of_commands,
    "exec": _of_exec,
    "options": _of_options,
    "args": of_args,
    "depth": _of_depth,
    "time": _of_time,
    "annotations": _of_annotations,
}
