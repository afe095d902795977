"""Numbers and booleans that a model sends as text, and defaults, at any depth of the input.

`"5000"` becomes 5000 and `"true"` becomes true where the schema wants a number or a boolean and takes no text;
a whole number written `5.0` becomes 5 where an integer is wanted. Nothing else is ever changed.
"""

from __future__ import annotations

from gateway.tools.frozen import FrozenDict, freeze

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_COERCED = ("integer", "number", "boolean")
_BOOLEANS = {"true": True, "false": False}
_LONGEST_NUMBER = 40
_INFINITE = (float("inf"), float("-inf"))


def coercion(schema: dict[str, Any]) -> str:
    """What a text sent for a field of this schema is coerced to: integer, number, boolean, or "" for nothing."""
    kinds = schema.get("type", ())
    kinds = kinds if isinstance(kinds, list) else [kinds]
    return "" if "string" in kinds else next((kind for kind in _COERCED if kind in kinds), "")


def coercions(properties: dict[str, Any]) -> dict[str, str]:
    """The fields in which something is coerced, and to what."""
    return {name: kind for name, part in properties.items() if (kind := coercion(part))}


def coerced(value: Any, kind: str) -> Any:
    """`value`, or what its text says if that is exactly a JSON number or boolean of `kind`."""
    if type(value) is float:
        return int(value) if kind == "integer" and value.is_integer() else value
    if type(value) is not str:
        return value
    if kind == "boolean":
        return _BOOLEANS.get(value, value)
    digits = value[1:] if value[:1] == "-" else value
    if len(digits) > _LONGEST_NUMBER or not digits.isascii() or not digits[:1].isdigit():
        return value
    if digits.isdigit():
        return value if digits[0] == "0" and digits != "0" else int(value)
    return _fractional(value, digits) if kind == "number" else value


def _fractional(value: str, digits: str) -> Any:
    """A number with a fraction or an exponent, as JSON spells it; every other text stays what it is."""
    mantissa, mark, exponent = digits.lower().partition("e")
    whole, dot, fraction = mantissa.partition(".")
    if not whole.isdigit() or (len(whole) > 1 and whole[0] == "0") or (dot and not fraction.isdigit()):
        return value
    if mark and not exponent.removeprefix("-" if exponent[:1] == "-" else "+").isdigit():
        return value
    number = float(value)
    return value if number in _INFINITE else number


class Shape:
    """What is coerced and defaulted inside one field that holds objects or arrays."""

    __slots__ = ("coerce", "defaults", "fields", "item", "item_coerced")

    def __init__(self, schema: dict[str, Any]) -> None:
        parts = schema.get("properties", {})
        items = schema.get("items", {})
        self.coerce = coercions(parts)
        self.defaults = [(name, freeze(part["default"])) for name, part in parts.items() if "default" in part]
        self.fields = shapes(parts)
        self.item_coerced = coercion(items)
        self.item = _shape(items)

    def __bool__(self) -> bool:
        return bool(self.coerce or self.defaults or self.fields or self.item_coerced or self.item)

    def apply(self, value: Any) -> Any:
        """The frozen `value` with this shape's coercions and defaults."""
        if isinstance(value, FrozenDict):
            done = {}
            for name, item in value.items():
                kind = self.coerce.get(name)
                shape = self.fields.get(name)
                done[name] = coerced(item, kind) if kind else shape.apply(item) if shape else item
            for name, item in self.defaults:
                done.setdefault(name, item)
            return FrozenDict(done)
        if isinstance(value, tuple):
            if self.item_coerced:
                return tuple([coerced(item, self.item_coerced) for item in value])
            if self.item:
                return tuple([self.item.apply(item) for item in value])
        return value


def shapes(properties: dict[str, Any]) -> dict[str, Shape]:
    """The shapes of the fields in which anything is coerced or defaulted further down."""
    return {name: shape for name, part in properties.items() if (shape := _shape(part))}


def _shape(schema: dict[str, Any]) -> Shape | None:
    if "properties" not in schema and "items" not in schema:
        return None
    return Shape(schema) or None
