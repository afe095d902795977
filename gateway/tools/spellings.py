"""Names and values that other agents' models send for those of ours; pure.

A tool declares them (`spellings:` in tools.yaml) by the name that is sent: the field of ours that is meant, values of
it that are spelled otherwise, or that it says nothing here. What is given by our own name counts before any of them.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

IGNORE = "ignore"


def respelled(values: dict[str, Any], spellings: Mapping[str, Mapping[str, Any]]) -> None:
    """Brings the names and values of a call to those of the tool's own fields, in place. Where two say the same thing,
    the one that is not ours stays, and is a complaint: nobody can tell which was meant."""
    for theirs, spelling in spellings.items():
        if theirs not in values:
            continue
        ours = spelling["field"]
        if spelling[IGNORE]:
            del values[theirs]
        elif ours == theirs:
            values[ours] = _value(values[ours], spelling["values"])
        elif ours not in values:
            values[ours] = _value(values.pop(theirs), spelling["values"])


def _value(value: Any, spelled: Mapping[str, Any]) -> Any:
    if value.__class__ is bool:
        key = "true" if value else "false"
    elif value.__class__ in (str, int):
        key = str(value)
    else:
        return value
    return spelled.get(key, value)
