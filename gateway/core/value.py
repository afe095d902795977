"""Frozen values: the one mechanism behind every type of `gateway.model`.

A value is a tuple with named fields. It is immutable by construction, cheap to make (the decision path
makes dozens for one call), and costs nothing to import: `dataclasses` and `typing` alone would more than
double the start of a process that only has to answer one question.

    class Point(Value):
        x: int
        y: int = 0

Modules that define values need `from __future__ import annotations`: fields are read from the names of the
class's annotations, in order. Values compare equal only to values of the same class. A value class may
extend `Value` or a value class without fields; class attributes without annotation are ordinary ones.
"""

from __future__ import annotations

from _collections import _tuplegetter  # type: ignore[import-not-found]  # what namedtuple uses for its fields

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Self, dataclass_transform
else:

    def dataclass_transform(**_options):
        return lambda cls: cls


_new = tuple.__new__
_MISSING = object()  # stands for a field that was not given
_getters: list[Any] = []  # by place, the same for all classes


class _ValueType(type):
    """Turns annotations into fields of a tuple."""

    def __new__(mcs, name: str, bases: tuple[type, ...], namespace: dict[str, Any]) -> _ValueType:
        fields = tuple(f for f in namespace.get("__annotations__", ()) if not f.startswith("_"))
        inherited = next((found for base in bases if (found := getattr(base, "_fields", ()))), ())
        if fields and inherited:
            raise TypeError(f"{name}: a value with fields cannot be extended with more fields")
        if fields or not inherited:
            namespace["_fields"] = fields
            defaults = {f: namespace.pop(f) for f in fields if f in namespace}
            if tuple(defaults) != fields[len(fields) - len(defaults) :]:
                raise TypeError(f"{name}: fields with a default must come last")
            namespace["_size"] = len(fields)
            namespace["_places"] = {field: place for place, field in enumerate(fields)}
            namespace["_required"] = len(fields) - len(defaults)
            namespace["_unsaid"] = (_MISSING,) * (len(fields) - len(defaults)) + tuple(defaults.values())
            while len(_getters) < len(fields):
                _getters.append(_tuplegetter(len(_getters), f"field {len(_getters)}"))
            namespace.update(zip(fields, _getters, strict=False))
        namespace["__slots__"] = ()
        return super().__new__(mcs, name, bases, namespace)


if TYPE_CHECKING:

    @dataclass_transform(frozen_default=True, eq_default=True)
    class Value:
        """An immutable value with named fields."""

        _fields: tuple[str, ...]

        @classmethod
        def make(cls, fields: tuple[Any, ...]) -> Self: ...
        def replace(self, **changes: Any) -> Self: ...
        def as_dict(self) -> dict[str, Any]: ...
        def __hash__(self) -> int: ...

else:

    class Value(tuple, metaclass=_ValueType):
        """An immutable value with named fields."""

        def __new__(cls, *args, **named):
            if named:
                args = _complete(cls, args, named)
            elif len(args) != cls._size:
                if cls._required <= len(args) < cls._size:
                    args += cls._unsaid[len(args) :]
                else:
                    args = _complete(cls, args, named)
            return _new(cls, args)

        # All fields in order as one tuple, unchecked: twice as fast, for the few places where that counts.
        make = classmethod(_new)

        def __eq__(self, other):
            return self.__class__ is other.__class__ and tuple.__eq__(self, other)

        def __ne__(self, other):
            return not self == other

        __hash__ = tuple.__hash__

        def __repr__(self):
            shown = ", ".join(f"{f}={v!r}" for f, v in zip(self._fields, self, strict=True))
            return f"{self.__class__.__name__}({shown})"

        def __bool__(self):
            return True

        def __reduce__(self):
            return (self.__class__, tuple(self))

        def replace(self, **changes):
            """The same value with some fields changed."""
            values = list(self)
            places = self._places
            try:
                for name in changes:
                    values[places[name]] = changes[name]
            except KeyError as unknown:
                raise TypeError(f"{self.__class__.__name__} has no field `{unknown.args[0]}`") from None
            return _new(self.__class__, values)

        def as_dict(self):
            """The fields by name, one level deep."""
            return dict(zip(self._fields, self, strict=True))


def _complete(cls: Any, args: tuple[Any, ...], named: dict[str, Any]) -> list[Any]:
    """All fields in order, from what was given by position, by name and by default."""
    given = len(args)
    if given > cls._size:
        raise TypeError(f"{cls.__name__} takes {cls._size} fields (got {given})")
    values = [*args, *cls._unsaid[given:]]
    for name, value in named.items():
        place = cls._places.get(name, -1)
        if place < given:
            raise TypeError(f"{cls.__name__} has no field `{name}`, or it was given twice")
        values[place] = value
    for place in range(given, cls._required):
        if values[place] is _MISSING:
            missing = [field for field, value in zip(cls._fields, values, strict=True) if value is _MISSING]
            raise TypeError(f"{cls.__name__} needs {', '.join(missing)}")
    return values
