"""JSON in and out of the command line. What two readers could read differently is refused."""

from __future__ import annotations

from gateway.core.errors import CallError, Problem
from gateway.core.plainjson import dumps as dumps  # for those that write here
from gateway.core.plainjson import unambiguous

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

MAX_BYTES = 16 << 20


def pretty(value: Any) -> str:
    """For people who look at it: one key a line."""
    import json

    return json.dumps(value, indent=2)


def read_json(data: bytes | str, what: str) -> Any:
    """The value of a JSON text. Raises `CallError` for what is not UTF-8, not JSON, nested too deep, holds a key twice
    or a number that is none."""
    if len(data) > MAX_BYTES:
        raise CallError(Problem(f"{what} must be at most {MAX_BYTES:,} bytes (got {len(data):,})"))
    try:
        return unambiguous(data)
    except UnicodeDecodeError as error:
        raise CallError(
            Problem(f"{what} must be UTF-8 (got byte {data[error.start]:#04x} at {error.start})")
        ) from error
    except RecursionError as error:
        raise CallError(Problem(f"{what} must be nested less deep")) from error
    except ValueError as error:
        reason = str(error)
        raise CallError(Problem(f"{what} must be JSON ({reason[:1].lower()}{reason[1:]})")) from error
