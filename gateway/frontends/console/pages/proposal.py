"""A change of a policy before it is made: what is wrong with it, what it would have decided otherwise, and the button
that makes it."""

from __future__ import annotations

from gateway.frontends.console.nodes import h
from gateway.frontends.console.pages.parts import badge, empty, path, place, table
from gateway.policy.wording import visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from gateway.frontends.console.nodes import Node
    from gateway.frontends.console.sources import Proposed

_MOST_ROWS = 40


def box(kind: str, text: str, label: str) -> Node:
    """A change whose text is already known, with the way to look at what it does."""
    return h(
        "div",
        {"class": "change", "data-change": kind, "data-text": text},
        h("div", {"class": "buttons"}, h("button", {"type": "button", "data-look": "yes"}, label)),
        h("div", {"class": "changed", "aria-live": "polite"}, ""),
    )


def progress(done: int, of: int, said: str) -> Node:
    """How far something is that takes long."""
    share = 100 * done // of if of else 0
    return h(
        "div",
        {"class": "progress"},
        h("progress", {"max": 100, "value": share, "aria-label": said}, ""),
        h("p", {"class": "hint"}, f"{said}: {share} %"),
    )


def previewed(
    proposed: Proposed, found: Mapping[str, Any], asked: int | None, days: int, name: str
) -> tuple[Node, ...]:
    """What a change does. `found`: what two policies make of the record (`gateway.replay.tally.Comparison`, as data);
    `asked`: how many questions there were in those days, None where nobody counted; `name`: by which it is saved."""
    groups = found["groups"]
    counts = {
        pair: sum(each["decisions"] for each in groups if (each["before"], each["after"]) == pair) for pair in _SAID
    }
    fewer = counts["ask", "allow"]
    of = f" of {asked:,}" if asked is not None else ""
    said: list[Any] = [f"No question of the last {days} days would have been spared."]
    if fewer:
        said = [h("strong", f"{fewer:,}{of}"), f" questions of the last {days} days would not have been asked."]
    others = [
        h("li", f"{count:,} {_SAID[pair]}") for pair, count in counts.items() if count and pair != ("ask", "allow")
    ]
    untold = sum(each["decisions"] for each in found["untold"])
    rows = [
        [
            [badge(each["before"]), " → ", badge(each["after"])],
            [h("code", visible(each["rule"][0])), " ", place(each["rule"][2], each["rule"][3])],
            each["decisions"],
            [h("div", h("code", visible(one["shown"]))) for one in each["examples"]],
        ]
        for each in groups[:_MOST_ROWS]
    ]
    return (
        h("p", said),
        h("ul", {"class": "plain"}, others) if others else h("p", {"class": "hint"}, "No other decision changes."),
        h("p", {"class": "hint"}, f"{untold:,} more could not be judged again.") if untold else h("p", ""),
        h(
            "details",
            {"open": bool(others)},
            h("summary", "The calls"),
            table(
                "Decisions that come out otherwise", ("decision", "rule", "times", "for example"), rows, numbers=(2,)
            ),
        )
        if rows
        else h("p", ""),
        saving(proposed, name),
    )


_SAID = {
    ("ask", "allow"): "questions fewer",
    ("deny", "allow"): "that were refused would run",
    ("deny", "ask"): "that were refused would ask",
    ("allow", "ask"): "that ran would ask",
    ("allow", "deny"): "that ran would be refused",
    ("ask", "deny"): "that asked would be refused",
}


def saving(proposed: Proposed, name: str) -> Node:
    """The button that makes the change, and where it is made."""
    if proposed.is_broken:
        return empty("It is not saved while it is broken.")
    return h(
        "div",
        {"class": "answers", "data-save": name},
        h("p", {"class": "hint"}, "It is saved in ", path(proposed.path), "."),
        h(
            "div",
            {"class": "buttons"},
            h("button", {"type": "button", "class": "yes", "data-sure": "Really save it"}, "Save it"),
        ),
        h("p", {"role": "status", "class": "hint"}, ""),
    )
