"""What several pages are made of: decisions, effects, moments, texts of calls with their parts marked."""

from __future__ import annotations

from itertools import pairwise

from gateway.core.value import Value
from gateway.frontends.console.nodes import PATH, h
from gateway.policy.wording import visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any

    from gateway.frontends.console.nodes import Node

# What is shown of a text before "show all".
LONG = 4_000
_ONE_RULE = 160
_MARKS = {"allow": "✓", "ask": "?", "deny": "✕"}
# Each kind of effect: its letter and its word, so that colour is never all there is. What weighs most stands first.
KINDS = {
    "system": ("S", "system"),
    "push": ("P", "push"),
    "delete": ("D", "delete"),
    "credential": ("K", "login"),
    "process": ("!", "processes"),
    "code": ("C", "code"),
    "opaque": ("U", "unknown"),
    "connect": ("N", "network"),
    "write": ("W", "write"),
    "env": ("V", "variable"),
    "read": ("R", "read"),
    "list": ("L", "list"),
    "session": ("T", "session"),
    "exec": ("X", "start"),
    "use": ("·", "call"),
}
_WEIGHT = {kind: place for place, kind in enumerate(KINDS)}


class Page(Value):
    """A page: its title, what stands in `main`, and the status it is answered with."""

    title: str
    main: tuple[Node, ...]
    status: int = 200


def badge(decision: str) -> Node:
    """A decision as a word with a sign."""
    known = decision if decision in _MARKS else "other"
    sign = h("span", {"aria-hidden": "true"}, _MARKS.get(decision, "·"))
    return h("span", {"class": f"badge {known}"}, sign, visible(decision or "?"))


def kind(name: str) -> Node:
    """A kind of effect as letter and word."""
    letter, word = KINDS.get(name, ("·", name))
    return h("span", {"class": f"kind k-{_known(name)}"}, h("b", letter), " ", visible(word))


def _known(name: str) -> str:
    return name if name in KINDS else "use"


def marked(text: str, marks: Iterable[tuple[int, int, str]]) -> Node:
    """The text of a call, line by line, with its parts marked by what they do. `marks`: where each begins and ends, in
    code points, and the kind of its effect; where several lie on each other the one that weighs most shows."""
    spans = [(start, end, name) for start, end, name in marks if 0 <= start < end <= len(text) and name in KINDS]
    edges = sorted({0, len(text), *(at for start, end, _ in spans for at in (start, end))})
    pieces: list[tuple[str, str]] = []
    for start, end in pairwise(edges):
        over = [name for low, high, name in spans if low <= start and end <= high]
        name = min(over, key=_WEIGHT.__getitem__) if over else ""
        if pieces and pieces[-1][1] == name:
            pieces[-1] = (pieces[-1][0] + text[start:end], name)
        else:
            pieces.append((text[start:end], name))
    return h("pre", {"class": "call", "tabindex": "0", "aria-label": "the call"}, [_piece(*each) for each in pieces])


def _piece(text: str, name: str) -> Node | list[str]:
    shown = "\n".join(map(visible, text.split("\n")))
    if not name or not shown.strip():
        return [shown]
    letter, word = KINDS[name]
    return h("mark", {"class": f"k-{name}", "title": word}, shown, h("sup", letter))


def block(text: str, label: str) -> Node:
    """A text of a call or of a program, whole: what is long can be unfolded."""
    lines = "\n".join(map(visible, text.split("\n")))
    if len(lines) <= LONG:
        return h("pre", {"class": "text", "tabindex": "0", "aria-label": label}, lines)
    return h(
        "div",
        h("pre", {"class": "text", "tabindex": "0", "aria-label": label}, lines[:LONG], "…"),
        h(
            "details",
            h("summary", f"show all {len(lines):,} characters"),
            h("pre", {"class": "text", "tabindex": "0", "aria-label": f"{label}, whole"}, lines),
        ),
    )


def moment(at: str, *, date: bool = False) -> Node:
    """A moment of the record, in UTC; pages show it as the clock on the wall has it."""
    shown = visible(at[:19].replace("T", " ") if date else at[11:19])
    return h("time", {"datetime": visible(at[:40]), "data-form": "long" if date else "clock"}, shown)


def empty(title: str, *said: Any) -> Node:
    """What stands where there is nothing: what that means, and what to do."""
    return h("div", {"class": "empty"}, h("p", {"class": "lead"}, title), [h("p", each) for each in said])


def facts(rows: Iterable[tuple[str, Any]]) -> Node | None:
    """Labels with what they are of; None for none. A row without anything is left out."""
    kept = [h("div", h("dt", label), h("dd", value)) for label, value in rows if value not in (None, "", [], ())]
    return h("dl", {"class": "facts"}, kept) if kept else None


def table(
    caption: str,
    heads: Sequence[str],
    rows: Iterable[Sequence[Any]],
    *,
    numbers: Sequence[int] = (),
    stacks: bool = False,
) -> Node:
    """A table that scrolls by itself. `numbers`: the columns that hold numbers. `stacks`: on a narrow screen a row's
    cells stand below each other instead, each under its head."""
    # A table whose cells are laid out as blocks is none any more for whoever hears it, unless each says what it is.
    table_, row_, head_, cell_ = (
        {"role": role if stacks else None} for role in ("table", "row", "columnheader", "cell")
    )
    return h(
        "div",
        {"class": "scroll stacks" if stacks else "scroll", "tabindex": "0", "role": "region", "aria-label": caption},
        h(
            "table",
            table_,
            h("caption", caption),
            h(
                "thead",
                h(
                    "tr",
                    row_,
                    [
                        h("th", head_ | {"scope": "col", "class": _of(at, numbers)}, name)
                        for at, name in enumerate(heads)
                    ],
                ),
            ),
            h(
                "tbody",
                [
                    h(
                        "tr",
                        row_,
                        [
                            h(
                                "td",
                                cell_ | {"class": _of(at, numbers), "data-head": heads[at] if stacks else None},
                                each,
                            )
                            for at, each in enumerate(row)
                        ],
                    )
                    for row in rows
                ],
            ),
        ),
    )


def _of(column: int, numbers: Sequence[int]) -> str | None:
    return "number" if column in numbers else None


def place(file: str | None, line: int | None) -> Node | None:
    """Where a rule stands."""
    return None if not file else h("code", {"class": f"place {PATH}"}, visible(f"{file}:{line}" if line else file))


def path(name: str) -> Node:
    """A file or folder."""
    return h("code", {"class": PATH}, visible(name))


def long_code(text: str | None) -> Node | None:
    """A rule's text: what is long is unfolded by whoever wants it."""
    if not text:
        return None
    shown = visible(text)
    if len(shown) <= _ONE_RULE:
        return h("code", shown)
    return h("details", {"class": "inline"}, h("summary", h("code", shown[: _ONE_RULE - 1], "…")), h("code", shown))


def cell(text: str) -> Node:
    """A text of a call on one line."""
    return h("code", visible(text))


def texts(record: Mapping[str, Any], name: str) -> str:
    """A field of a record if it is text: whoever could write a line could write anything."""
    value = record.get(name)
    return value if isinstance(value, str) else ""


def page_head(title: str, *under: Any) -> Node:
    """The head of a page: its only `h1`, and one line on what it is for."""
    return h("header", {"class": "page-head"}, h("h1", title), h("p", {"class": "hint"}, under) if under else None)
