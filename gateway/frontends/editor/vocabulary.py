"""What may stand at a place of a policy, and what it means: the JSON Schema's keys and values, the names of tools and
of described programs, and the reference."""

from __future__ import annotations

import functools

from gateway.core.value import Value
from gateway.policy.predicates import PREDICATES
from gateway.spec.reference.page import lookup
from gateway.spec.schema import policy_schema

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

    from gateway.frontends.editor.cursor import Place

KEY, VALUE, TOOL, PROGRAM, PRESET = "key", "value", "tool", "program", "preset"
MOST = 200  # what editors are sent at once; typing narrows it
_ANY = ("anyOf", "oneOf", "allOf")


class Names(Value):
    """What is declared and described where a file holds."""

    tools: tuple[str, ...] = ()
    shells: tuple[str, ...] = ()
    programs: tuple[str, ...] = ()
    presets: tuple[str, ...] = ()


class Offer(Value):
    """A word that may stand at a place. `text`: what is written for it; `about`: what it means."""

    word: str
    kind: str
    text: str
    about: str = ""


def offers(place: Place, names: Names) -> list[Offer]:
    """What may stand at a place and begins with the word before the cursor: at most `MOST`, in the order of the
    schema."""
    found = [*_keys(place), *_values(place), *_names(place, names)]
    typed = place.word.casefold()
    unique = {each.word: each for each in reversed(found) if each.word.casefold().startswith(typed)}
    return list(reversed(unique.values()))[:MOST]


def meaning(place: Place) -> str:
    """What `gateway policy help` says of a whole word at a place, or the schema; "" for a word that is the author's."""
    if place.before:
        return ""
    for each in _at(place.path) if place.is_key else ():
        about = each.get("properties", {}).get(place.word)
        if about is not None:
            return lookup(place.word) or str(about.get("description", ""))
    if not place.is_key or place.starts:
        nodes = list(_at(place.path))
        if place.word in _written(nodes) or any(_is_short(each) for each in nodes):
            return lookup(place.word)
    return ""


def _keys(place: Place) -> Iterator[Offer]:
    if not place.is_key or place.before:
        return
    for each in _at(place.path):
        for key, node in each.get("properties", {}).items():
            if key not in place.siblings:
                yield Offer(key, KEY, f"{key}: ", node.get("description", ""))


def _values(place: Place) -> Iterator[Offer]:
    if (place.is_key and not place.starts) or place.before:
        return
    for word in _written(_at(place.path)):
        yield Offer(word, VALUE, word)


def _names(place: Place, names: Names) -> Iterator[Offer]:
    if place.is_key and not place.starts:
        return
    nodes = list(_at(place.path))
    key = next((each for each in reversed(place.path) if each is not None), "")
    predicate = PREDICATES.get(key)
    form = predicate.form.name if predicate is not None and not any(map(_is_short, nodes)) else ""
    if any(map(_is_short, nodes)):
        if not place.before:
            yield from (Offer(each, TOOL, each) for each in names.tools)
        elif place.before in {f"{each}(" for each in names.shells}:
            yield from (Offer(each, PROGRAM, each) for each in names.programs)
    if place.before:
        return
    if form == "tools":
        yield from (Offer(each, TOOL, each) for each in names.tools)
    elif form in ("commands", "exec"):
        yield from (Offer(each, PROGRAM, each) for each in names.programs)
    elif place.path[:1] == ("extends",) and key in ("extends", "preset"):
        yield from (Offer(each, PRESET, each) for each in names.presets)


def _written(nodes: Iterable[dict[str, Any]]) -> dict[str, None]:
    """The values that a schema lists, as YAML writes them."""
    found: dict[str, None] = {}
    for each in nodes:
        listed = [*each.get("enum", ()), *([each["const"]] if "const" in each else ())]
        listed += [True, False] if each.get("type") == "boolean" else []
        found.update(dict.fromkeys(str(value).lower() if isinstance(value, bool) else str(value) for value in listed))
    return found


def _is_short(node: dict[str, Any]) -> bool:
    return node is _schema()["$defs"]["short"]


@functools.cache
def _schema() -> dict[str, Any]:
    return policy_schema()


def _at(path: tuple[str | None, ...]) -> Iterator[dict[str, Any]]:
    """Every form that a value at a path may have."""
    nodes = list(_forms(_schema()))
    for step in path:
        nodes = [form for node in nodes for inner in _inside(node, step) for form in _forms(inner)]
    return iter(nodes)


def _inside(node: dict[str, Any], step: str | None) -> Iterator[dict[str, Any]]:
    if step is None:
        inner = node.get("items")
    else:
        inner = node.get("properties", {}).get(step, node.get("additionalProperties"))
    if isinstance(inner, dict):
        yield inner


def _forms(node: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """A schema, what it refers to, and its alternatives."""
    if "$ref" in node:
        yield from _forms(_schema()["$defs"][node["$ref"].rpartition("/")[2]])
    yield node
    for name in _ANY:
        for each in node.get(name, ()):
            yield from _forms(each)
