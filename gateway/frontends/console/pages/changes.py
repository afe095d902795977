"""What calls of the project changed, and taking it back."""

from __future__ import annotations

from datetime import UTC, datetime

from gateway.core.quantities import counted
from gateway.files.diff import unified
from gateway.frontends.console.nodes import h
from gateway.frontends.console.pages.parts import Page, empty, facts, moment, page_head, path, table
from gateway.policy.wording import shortened, visible
from gateway.sandbox.changes.listing import DELETED, MODE, NEW
from gateway.sandbox.changes.store import KEPT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from gateway.frontends.console.nodes import Node
    from gateway.sandbox.changes.listing import Change, Listed
    from gateway.sandbox.changes.undoing import Plan

_SIGNS = {NEW: ("+", "new"), DELETED: ("-", "deleted"), MODE: ("m", "mode")}
_CHANGED = ("~", "changed")
_MOST_NAMES = 200
_MOST_LINES = 2_000


def missing(number: int, reason: str) -> Page:
    """Where nothing is kept of a call."""
    back = [h("a", {"href": "/changes"}, "What is kept"), " stands under Changes."]
    return Page("No such change", (page_head(f"Changes {number}"), empty(visible(reason), back)), 404)


def listing(found: Sequence[Listed], root: str) -> Page:
    """Each call with what it changed, the latest first."""
    head = page_head("Changes", "What each call changed in ", path(root), ", kept for a week.")
    if not found:
        nothing = empty(
            "Nothing that calls changed in this project is kept.",
            "Confined commands and the tools that write files leave their changes here; each can be taken back.",
            ["Try it: ", h("code", "gateway exec -- touch hello"), "."],
        )
        return Page("Changes", (head, nothing))
    rows = [
        [
            h("a", {"href": f"/changes/{each.of.number}"}, each.of.number),
            _when(each),
            h("code", visible(shortened(f"{each.of.tool}({each.of.call})", 120))),
            _names(each),
            "" if each.of.state == KEPT else visible(each.of.state),
        ]
        for each in found
    ]
    heads = ("no.", "when", "call", "changed", "state")
    return Page("Changes", (head, table("Calls that changed files", heads, rows, stacks=True)))


def _names(each: Listed) -> Node:
    some = [h("li", _sign(change), " ", h("code", visible(change.path)), _later(change)) for change in each.changes[:4]]
    more = len(each.changes) - 4
    if more > 0:
        some.append(h("li", {"class": "dim"}, f"and {more:,} more"))
    if each.git:
        some.append(h("li", {"class": "dim"}, f"{counted(each.git, 'name')} in the repository's own folder"))
    return h("ul", {"class": "plain"}, some)


def _sign(change: Change) -> Node:
    sign, word = _SIGNS.get(change.what, _CHANGED)
    return h("span", {"class": f"sign s-{word}"}, h("b", {"aria-hidden": "true"}, sign), " ", word)


def _later(change: Change) -> Node | None:
    return h("span", {"class": "later"}, " runs later: ", visible(change.later)) if change.later else None


def _when(each: Listed) -> Node:
    return moment(datetime.fromtimestamp(each.of.time, UTC).strftime("%Y-%m-%dT%H:%M:%SZ"), date=True)


def one(found: Listed, root: str, plan: Plan | None, bound: str, problem: str) -> Page:
    """One call with the diff of each file, and what taking it back would do. `bound`: the digest of that."""
    number = found.of.number
    main: list[Node | None] = [
        h(
            "header",
            {"class": "page-head"},
            h("p", {"class": "crumb"}, h("a", {"href": "/changes"}, "Changes"), f" / {number}"),
            h("h1", f"{counted(len(found.changes), 'change')} by {visible(found.of.tool)}"),
            h("p", {"class": "hint"}, _when(found), " · ", h("code", visible(root))),
        ),
        h(
            "pre",
            {"class": "call", "tabindex": "0", "aria-label": "the call"},
            "\n".join(map(visible, found.of.call.split("\n"))),
        ),
        _undo(number, root, plan, bound, problem),
        h("section", h("h2", "Files"), _files(found)),
        _not_saved(found),
    ]
    return Page(f"Changes {number}", tuple(each for each in main if each is not None))


def _undo(number: int, root: str, plan: Plan | None, bound: str, problem: str) -> Node:
    if plan is None:
        return h("section", h("h2", "Taking it back"), h("p", visible(problem)))
    rows: list[tuple[str, Any]] = [
        (f"{word} {len(paths):,}", [h("code", {"class": "line"}, visible(_short(path, root))) for path in paths[:12]])
        for word, paths in (("restores", plan.restored), ("removes", plan.gone))
        if paths
    ]
    rows += [
        ("leaves", [h("div", h("code", visible(_short(path, root))), ": ", visible(why))])
        for path, why in plan.stays.items()
    ]
    nothing = not plan.restored and not plan.gone
    return h(
        "section",
        {"class": "card", "data-undo": number, "data-plan": bound},
        h("h2", "Taking it back"),
        facts(rows) or h("p", "There is nothing to take back."),
        h(
            "div",
            {"class": "buttons"},
            h("button", {"type": "button", "class": "no", "disabled": nothing}, "Take it back"),
        ),
        h("p", {"role": "status", "class": "hint"}, ""),
    )


def _short(path: str, root: str) -> str:
    return path[len(root) + 1 :] if path.startswith(f"{root}/") else path


def _files(found: Listed) -> list[Node]:
    left = _MOST_LINES
    shown = []
    for change in found.changes[:_MOST_NAMES]:
        lines = _diff(change)
        part, left = lines[: max(left, 0)], left - len(lines)
        body = (
            h("pre", {"class": "diff", "tabindex": "0", "aria-label": f"diff of {visible(change.path)}"}, part)
            if part
            else None
        )
        title = h("summary", _sign(change), " ", h("code", visible(change.path)), _later(change))
        shown.append(
            h(
                "details",
                {"open": body is not None and len(found.changes) <= 8},
                title,
                body or h("p", {"class": "dim"}, _why_not(change)),
            )
        )
    if len(found.changes) > _MOST_NAMES:
        shown.append(h("p", f"and {len(found.changes) - _MOST_NAMES:,} more: `gateway changes show {found.of.number}`"))
    return shown


def _why_not(change: Change) -> str:
    if change.what == MODE:
        return "its permissions"
    return f"{change.kind}, not shown as text"


def _diff(change: Change) -> list[Any]:
    if change.what == MODE or change.before is None or change.after is None:
        return []
    said = unified(change.before, change.after, visible(change.path), is_new=change.what == NEW)
    found = []
    for line in said.rstrip("\n").split("\n"):
        shown = "\t".join(map(visible, line.split("\t"))) + "\n"
        tag = {"+": "ins", "-": "del"}.get(line[:1], "span")
        found.append(h(tag, shown))
    return found


def _not_saved(found: Listed) -> Node | None:
    rows = [[h("code", visible(path) or "something"), visible(why)] for path, why in found.missed]
    return (
        h("section", h("h2", "Not saved"), table("What cannot be taken back", ("what", "why"), rows)) if rows else None
    )
