"""Pages as trees of elements: one builder, two forms. Text is text in both; nothing is ever read as markup.

    h("p", {"class": "hint"}, "read ", h("code", "gateway why"))

Only the elements and attributes below can be made, here and in `static/elements.js`, which has the same lists: there is
no element and no attribute that runs anything.
"""

from __future__ import annotations

from html import escape

from gateway.core.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

TAGS = frozenset((
    "a", "abbr", "article", "aside", "b", "button", "caption", "code", "col", "colgroup", "dd", "del", "details",
    "div", "dl", "dt", "em", "fieldset", "figcaption", "figure", "footer", "form", "h1", "h2", "h3", "header", "hr",
    "input", "ins", "kbd", "label", "legend", "li", "main", "mark", "nav", "ol", "option", "output", "p", "pre",
    "progress", "section", "select", "small", "span", "strong", "sub", "summary", "sup", "table", "tbody", "td",
    "textarea", "tfoot", "th", "thead", "time", "tr", "ul",
))  # fmt: skip
DRAWING = frozenset((
    "svg", "g", "rect", "line", "path", "circle", "text", "title", "desc",
))  # fmt: skip
_VOID = frozenset(("col", "hr", "input"))
ATTRIBUTES = frozenset((
    "aria-busy", "aria-controls", "aria-current", "aria-describedby", "aria-expanded", "aria-hidden", "aria-label",
    "aria-labelledby", "aria-live", "autocomplete", "checked", "class", "colspan", "datetime", "disabled", "for",
    "height", "href", "id", "max", "maxlength", "name", "open", "placeholder", "required", "role", "rows", "scope",
    "spellcheck", "tabindex", "title", "type", "value", "width", "d", "fill", "viewBox", "x", "x1", "x2", "y", "y1",
    "y2", "cx", "cy", "r", "rx", "text-anchor", "preserveAspectRatio", "focusable",
))  # fmt: skip
DATA = "data-"


class Node(Value):
    """An element: its tag, attributes in order, and what it holds: nodes and texts."""

    tag: str
    attributes: tuple[tuple[str, str], ...]
    children: tuple[Node | str, ...]


def h(tag: str, *parts: Any) -> Node:
    """An element. A dictionary among the parts holds attributes: True for one without value, None and False for one
    that is not there. Lists are taken apart, None is left out, numbers are text. Raises ValueError for an element, an
    attribute or an address that pages do not have."""
    if tag not in TAGS and tag not in DRAWING:
        raise ValueError(f"no element of pages: {tag}")
    attributes: list[tuple[str, str]] = []
    children: list[Node | str] = []
    for part in parts:
        if isinstance(part, dict):
            attributes += [
                (name, "" if value is True else str(value))
                for name, value in part.items()
                if value is not None and value is not False
            ]
        else:
            children += _flat(part)
    for name, value in attributes:
        if name not in ATTRIBUTES and not name.startswith(DATA):
            raise ValueError(f"no attribute of pages: {name}")
        if name == "href" and (not value.startswith(("/", "#")) or value.startswith("//")):
            raise ValueError(f"pages lead nowhere else: {value}")
    return Node(tag, tuple(attributes), tuple(children))


def _flat(part: Any) -> Iterable[Node | str]:
    if part is None:
        return
    if isinstance(part, (str, int, float)):
        yield str(part)
    elif isinstance(part, Node):
        yield part
    else:
        for each in part:
            yield from _flat(each)


PATH = "path"  # of a class: what holds it names files, where the folder of a person may be a `~`


def at_home(node: Node | str, home: str) -> Node | str:
    """The same with `~` for the folder of a person, in what names files; texts of calls stay as they are."""
    if isinstance(node, str):
        return node
    if PATH in dict(node.attributes).get("class", "").split():
        return _short(node, home.rstrip("/"))
    return node.replace(children=tuple([at_home(each, home) for each in node.children]))


def _short(node: Node, home: str) -> Node:
    children = [
        _short(each, home) if isinstance(each, Node) else each.replace(f"{home}/", "~/") if home else each
        for each in node.children
    ]
    return node.replace(children=tuple(children))


def html(node: Node | str) -> str:
    """As HTML, every text and value escaped."""
    if isinstance(node, str):
        return escape(node, quote=False)
    attributes = "".join(f' {name}="{escape(value)}"' if value else f" {name}" for name, value in node.attributes)
    if node.tag in _VOID:
        return f"<{node.tag}{attributes}>"
    # The parser of HTML drops a line break that begins one of these.
    first = "\n" if node.tag in ("pre", "textarea") else ""
    return f"<{node.tag}{attributes}>{first}{''.join(map(html, node.children))}</{node.tag}>"


def data(node: Node | str) -> Any:
    """As JSON: a text, or tag, attributes and children."""
    if isinstance(node, str):
        return node
    return [node.tag, dict(node.attributes), [data(each) for each in node.children]]


def text(node: Node | str) -> str:
    """The text alone, as somebody hears or copies it."""
    return node if isinstance(node, str) else "".join(map(text, node.children))
