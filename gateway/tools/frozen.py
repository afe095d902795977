"""JSON-like data that cannot change: what a judged call holds."""

from __future__ import annotations

from gateway.core.errors import CallError, Problem

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, NoReturn

    _Base = dict[str, Any]
else:
    _Base = dict

MAX_DEPTH = 100
SCALARS = frozenset({str, int, float, bool, type(None)})


class FrozenDict(_Base):
    """A `dict` that refuses every change. Equal to a `dict` of the same content; hashable when its values are."""

    __slots__ = ()

    def _refuse(self, *_args: Any, **_named: Any) -> NoReturn:
        raise TypeError("a judged call cannot be changed: canonicalise a new one")

    __setitem__ = __delitem__ = __ior__ = _refuse
    clear = pop = popitem = setdefault = update = _refuse

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(frozenset(self.items()))

    def __copy__(self) -> FrozenDict:
        return self

    def __deepcopy__(self, _memo: object) -> FrozenDict:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return (FrozenDict, (dict(self),))


def is_number(value: float) -> bool:
    """Whether JSON can say it: neither infinite nor no number at all."""
    return value - value == 0.0


def freeze(value: Any, depth: int = 0) -> Any:
    """The same data with every mapping a `FrozenDict` and every list a tuple, at any depth.

    Raises `CallError` for what JSON cannot hold and for data nested deeper than `MAX_DEPTH` (cycles included).
    """
    kind = type(value)
    if kind in SCALARS:
        if kind is float and not is_number(value):
            raise CallError(Problem(f"input must hold nothing but JSON values (got the number `{value}`)", path="$"))
        return value
    if depth >= MAX_DEPTH:
        raise CallError(Problem(f"input must be nested at most {MAX_DEPTH} levels deep", path="$"))
    if isinstance(value, dict):
        for name in value:
            if type(name) is not str:
                raise CallError(Problem(f"field names must be text (got `{name!r:.40}`)", path="$"))
        return FrozenDict({name: freeze(item, depth + 1) for name, item in value.items()})
    if isinstance(value, (list, tuple)):
        return tuple([freeze(item, depth + 1) for item in value])
    raise CallError(Problem(f"input must hold nothing but JSON values (got a `{kind.__name__}`)", path="$"))


def readable(given: Any) -> Mapping[str, Any]:
    """What can be told of an input that may be none: fields that no call can hold are told as text."""
    try:
        fields = dict(given)
    except (TypeError, ValueError):
        return FrozenDict()
    found = {}
    for name, value in fields.items():
        try:
            told = freeze(value, 1)
        except CallError:
            told = str(value) if value.__class__ is float else f"({type(value).__name__})"
        found[str(name) if name.__class__ in SCALARS else f"({type(name).__name__})"] = told
    return FrozenDict(found)


def thaw(value: Any) -> Any:
    """The same data as plain dicts and lists, which may be changed and be handed to libraries."""
    if isinstance(value, dict):
        return {name: thaw(each) for name, each in value.items()}
    return [thaw(each) for each in value] if isinstance(value, (list, tuple)) else value
