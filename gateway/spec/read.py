"""Typed values out of nodes: each function gives what was asked for, or complains and gives a harmless stand-in.

`what` names the thing in the complaint, in backticks where it is a key: "`lock` must be true or false (got `no`)".
"""

from __future__ import annotations

from gateway.spec.suggest import did_you_mean, one_of
from gateway.spec.yamltext import clip

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection
    from typing import Any

    from gateway.spec.yamltext import Complaints, Node

_TRUE = ("y", "yes", "on", "true")
_MAX_LISTED = 12


def text(node: Node, what: str, complaints: Complaints, *, empty: bool = False) -> str:
    """A text, not empty unless `empty`. A text that other readers take for something else is text all the same."""
    value = node.value
    if value.__class__ is str and (value or empty):
        return value
    if value == "" or (value is None and not empty):
        complaints.at(node, f"{what} must not be empty")
    elif node.kind in ("integer", "boolean"):
        complaints.at(node, f"{what} must be text (got {node.shown})", "put it in quotes")
    else:
        complaints.at(node, f"{what} must be text (got {node.shown})")
    return ""


def texts(node: Node, what: str, complaints: Complaints, *, empty: bool = False) -> list[str]:
    """A text or a list of texts, as a list; without entries only if `empty`."""
    value = node.value
    if value.__class__ is str and value:
        return [value]
    if value.__class__ is list:
        if not value and not empty:
            complaints.at(node, f"{what} must not be empty")
        found = [item.value for item in value]
        if all(item.__class__ is str and item for item in found):
            return found
        return [each for item in value if (each := text(item, f"each entry of {what}", complaints))]
    if value.__class__ is dict:
        complaints.at(node, f"{what} must be text or a list of texts (got {node.shown})")
        return []
    text(node, what, complaints)
    return []


def boolean(node: Node, what: str, complaints: Complaints) -> bool:
    """Exactly `true` or `false`."""
    if node.value.__class__ is bool:
        return bool(node.value)
    remedy = ""
    if node.value.__class__ is str and (node.trap == "a boolean" or node.value in ("true", "false")):
        remedy = f"write `{'true' if node.value.lower() in _TRUE else 'false'}`, without quotes"
    complaints.at(node, f"{what} must be true or false (got {node.shown})", remedy)
    return False


def integer(node: Node, what: str, complaints: Complaints, least: int, most: int | None = None) -> int:
    """An integer between the bounds, both included."""
    value = node.value
    if value.__class__ is int and value >= least and (most is None or value <= most):
        return int(value)
    rule = f"an integer of at least {least}" if most is None else f"an integer from {least} to {most}"
    remedy = ""
    if value.__class__ is str and (node.trap == "a number" or value.isdecimal()):
        remedy = "write it in plain decimal digits, without quotes"
    complaints.at(node, f"{what} must be {rule} (got {node.shown})", remedy)
    return least


def choice(node: Node, what: str, known: Collection[str], complaints: Complaints) -> str:
    """One word of a closed vocabulary; "" after a complaint."""
    if node.value.__class__ is str and node.value in known:
        return node.value
    remedy = did_you_mean(node.value, known) if node.value.__class__ is str else ""
    if not remedy and len(known) > _MAX_LISTED:
        complaints.at(node, f"{what} must be a known word (got {node.shown})", f"known are {one_of(known)}")
    else:
        rule = one_of(known) if len(known) <= _MAX_LISTED else "a known word"
        complaints.at(node, f"{what} must be {rule} (got {node.shown})", remedy)
    return ""


def choices(node: Node, what: str, known: Collection[str], complaints: Complaints) -> list[str]:
    """One word or a list of words of a closed vocabulary, as a list without repetitions."""
    if node.value.__class__ is list and not node.value:
        complaints.at(node, f"{what} must not be empty")
    found = []
    for item in node:
        word = choice(item, what, known, complaints)
        if word and word not in found:
            found.append(word)
    return found


def mapping(node: Node, what: str, complaints: Complaints) -> dict[str, Node]:
    """The entries of a mapping."""
    if node.value.__class__ is dict:
        return node.value
    complaints.at(node, f"{what} must be a mapping (got {node.shown})")
    return {}


def sequence(node: Node, what: str, complaints: Complaints) -> list[Node]:
    """The items of a list."""
    if node.value.__class__ is list:
        return node.value
    complaints.at(node, f"{what} must be a list (got {node.shown})")
    return []


def unknown_key(name: str, node: Node, what: str, known: Collection[str], complaints: Complaints) -> None:
    """Complains about a key that nobody reads. `what` is what has the key: "rule", "`settings`"."""
    remedy = did_you_mean(name, known, f"known are {one_of(known)}")
    complaints.at_key(node, f"{what} must not have the key `{clip(name)}`", remedy)


def known_keys(node: Node, what: str, known: Collection[str], complaints: Complaints) -> dict[str, Node]:
    """The entries of a mapping whose keys are all among `known`; complains about the others and leaves them out."""
    found = mapping(node, what, complaints)
    if all(name in known for name in found):
        return found
    for name, value in found.items():
        if name not in known:
            unknown_key(name, value, what, known, complaints)
    return {name: value for name, value in found.items() if name in known}


def ours(
    root: Node, what: str, known: Collection[str], complaints: Complaints, *, needs: str, version: int = 0
) -> dict[str, Node]:
    """The entries of a whole file of the format that `what` names: all of its keys are `known`, one that it `needs` is
    there, and it says its `version`. Raises ConfigError for any other file, whose content is nobody's to see: the error
    has places, and no word that stands in the file. Only afterwards may complaints quote it."""
    entries = root.value
    if entries.__class__ is not dict:
        got = _SHAPES.get(root.kind, root.kind)
        complaints.at(root, f"{what} must be a mapping (got {got})", _begin(needs, version))
        complaints.raise_any()
    for name, node in entries.items():
        if name not in known:
            remedy = did_you_mean(name, known, f"known are {one_of(known)}")
            complaints.at_key(node, f"{what} must have known keys only", remedy)
    node = entries.get(needs)
    if node is None:
        complaints.at(root, f"{what} must have the key `{needs}`", _begin(needs, version))
    elif version and (node.value.__class__ is not int or node.value != version):
        remedy = f"a number, without quotes: `{needs}: {version}`" if node.value.__class__ is str else ""
        complaints.at(node, f"`{needs}` must be {version}", remedy)
    complaints.raise_any()
    found: dict[str, Node] = entries
    return found


_SHAPES = {"list": "a list", "integer": "an integer", "boolean": "a boolean"}


def _begin(needs: str, version: int) -> str:
    return f"begin the file with `{needs}: {version}`" if version else ""


def data(node: Node, what: str, complaints: Complaints) -> Any:
    """Any JSON-able value. Where the type is open, a text that others read as something else must say what it is."""
    value = node.value
    if value.__class__ is dict:
        return {name: data(item, what, complaints) for name, item in value.items()}
    if value.__class__ is list:
        return [data(item, what, complaints) for item in value]
    if node.bare and value.__class__ is str and (trap := node.trap) and trap != "a date":
        complaints.at(node, f"{what} must be unmistakable (got {node.shown})", _spelled(node, trap))
    return value


def _spelled(node: Node, trap: str) -> str:
    if trap == "a boolean":
        plain = f"`{'true' if node.value.lower() in _TRUE else 'false'}` for a boolean"
    elif trap == "nothing":
        plain = "`null` for nothing"
    else:
        plain = "plain decimal digits for an integer"
    return f"write {plain}, quotes around it for a text"
