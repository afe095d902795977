"""JSON by the C functions that stand behind `json`, without `json` itself: that loads `re`, `enum`, `functools` and
`collections`, which cost a process that answers one question more than the answer does.

The same values, texts and errors: what is no JSON is told by `json.JSONDecodeError`, which is loaded then.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, NoReturn

make_scanner: Any
make_encoder: Any
quoted: Callable[[str], str]
"""A text as JSON, in ASCII."""
try:
    import _json

    make_scanner, make_encoder, quoted = _json.make_scanner, _json.make_encoder, _json.encode_basestring_ascii
except (AttributeError, ImportError):  # a Python without them has all of it in Python
    import json.encoder

    make_scanner = make_encoder = None
    quoted = json.encoder.encode_basestring_ascii
else:
    try:  # as they are called below; another Python may have them otherwise
        make_encoder(None, str, quoted, None, ":", ",", False, False, True)({}, 0)
        make_scanner(
            type("_Like", (), {
                "object_pairs_hook": None, "parse_constant": str, "parse_float": float, "strict": True,
                "object_hook": None, "parse_int": int,
            })
        )  # fmt: skip
    except (TypeError, AttributeError):
        make_scanner = make_encoder = None
if hasattr(sys, "gettotalrefcount"):  # builds for debugging end where others raise the SystemError below
    make_scanner = None

_SPACE = " \t\n\r"
_CONSTANTS = {"NaN": float("nan"), "Infinity": float("inf"), "-Infinity": float("-inf")}


def decoder(
    *,
    object_pairs_hook: Callable[[list[tuple[str, Any]]], Any] | None = None,
    parse_constant: Callable[[str], Any] = _CONSTANTS.__getitem__,
    parse_float: Callable[[str], Any] = float,
) -> Callable[[str], Any]:
    """A function that gives the value of a text, as `json.JSONDecoder(…).decode` does."""
    hooks = {
        "object_pairs_hook": object_pairs_hook, "parse_constant": parse_constant, "parse_float": parse_float
    }  # fmt: skip
    if make_scanner is None:
        import json

        return json.JSONDecoder(**hooks).decode  # type: ignore[arg-type]
    scan = make_scanner(type("_Reading", (), {**hooks, "strict": True, "object_hook": None, "parse_int": int}))

    def decode(text: str) -> Any:
        try:
            try:
                value, end = scan(text, len(text) - len(text.lstrip(_SPACE)))
            except SystemError:  # up to Python 3.11 it finds its own error only where `json` was loaded
                import json.decoder  # noqa: F401

                value, end = scan(text, len(text) - len(text.lstrip(_SPACE)))
        except StopIteration as stopped:
            _refuse("Expecting value", text, stopped.value)
        if end != len(text):
            end = len(text) - len(text[end:].lstrip(_SPACE))
            if end != len(text):
                _refuse("Extra data", text, end)
        return value

    return decode


def _refuse(why: str, text: str, at: int) -> NoReturn:
    from json import JSONDecodeError

    raise JSONDecodeError(why, text, at)


def encoder(
    *, between: str = ",", after_key: str = ":", sort_keys: bool = False, allow_nan: bool = True
) -> Callable[[Any], str]:
    """A function that gives the text of a value in ASCII, as `json.JSONEncoder(…).encode` does. A value that holds
    itself ends in RecursionError."""
    if make_encoder is None:
        import json

        return json.JSONEncoder(
            separators=(between, after_key), sort_keys=sort_keys, allow_nan=allow_nan, check_circular=False
        ).encode
    parts = make_encoder(None, _unknown, quoted, None, after_key, between, sort_keys, False, allow_nan)
    return lambda value: "".join(parts(value, 0))


def _unknown(value: Any) -> NoReturn:
    raise TypeError(f"Object of type {value.__class__.__name__} is not JSON serializable")


class AmbiguousError(ValueError):
    """A text that readers take for different values, or some for none; the message says why."""


def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """For `object_pairs_hook`: the object. Raises AmbiguousError for a key that is given twice."""
    found = dict(pairs)
    if len(found) != len(pairs):
        raise AmbiguousError("a key is given twice")
    return found


def no_constant(name: str) -> NoReturn:
    """For `parse_constant`: raises AmbiguousError for NaN and the infinities."""
    raise AmbiguousError(f"`{name}` is no JSON number")


def finite(text: str) -> float:
    """For `parse_float`: the number. Raises AmbiguousError for one that is infinite to who reads it as 64 bits."""
    number = float(text)
    if number - number != 0.0:
        raise AmbiguousError("a number is too large")
    return number


_decode = decoder()
_decode_unambiguous = decoder(object_pairs_hook=unique, parse_constant=no_constant, parse_float=finite)
dumps = encoder()
spaced = encoder(between=", ", after_key=": ")


def loads(text: bytes | str) -> Any:
    """The value of a text, which is UTF-8 as bytes. Raises ValueError for what is none."""
    return _decode(text if isinstance(text, str) else text.decode("utf-8", "surrogatepass"))


def unambiguous(text: bytes | str) -> Any:
    """The value of a text that every reader takes for the same, for what somebody else will read, too. Raises
    AmbiguousError where it holds a key twice or a number that is none or too large, another ValueError for what is no
    JSON in UTF-8, RecursionError."""
    return _decode_unambiguous(text if isinstance(text, str) else text.decode("utf-8"))
