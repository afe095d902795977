"""What is decided right now: one line a call, the newest first."""

from __future__ import annotations

from gateway.frontends.console.nodes import h
from gateway.frontends.console.pages.parts import Page, badge, empty, moment, page_head, texts
from gateway.model.record import CANARY, DECISION, OUTCOME, STARTED, said_of
from gateway.policy.wording import shortened, visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from gateway.frontends.console.nodes import Node

SHOWN = 100
LONGEST = 600
FILTERS = ("decision", "tool", "rule", "path", "host", "session", "text")


def live(calls: Sequence[tuple[Mapping[str, Any], Mapping[str, Any] | None]], filters: Mapping[str, str]) -> Page:
    """`calls`: decision and outcome of each, the newest first; `filters`: what was asked for, "" for anything."""
    chosen = {name: value for name, value in filters.items() if value}
    main: list[Node | None] = [
        page_head("Live", "What agents do, as it is decided. Choose a call to see why."),
        _form(filters),
        h("p", {"class": "hint", "role": "status", "id": "news"}, ""),
    ]
    if calls:
        rows = [row(decision, outcome) for decision, outcome in calls]
        main.append(h("ol", {"class": "calls", "id": "calls", "data-live": "" if chosen else "yes"}, rows))
        main.append(_older(calls, chosen))
    elif chosen:
        main.append(
            empty("No call matches.", "Widen the filter, or ", h("a", {"href": "/live"}, "show all calls"), ".")
        )
    else:
        main.append(_nothing())
        main.append(h("ol", {"class": "calls", "id": "calls", "data-live": "yes"}))
    return Page("Live", tuple(each for each in main if each is not None))


def _nothing() -> Node:
    return h(
        "div",
        {"id": "nothing"},
        empty(
            "Nothing is recorded yet.",
            ["Let an agent ask the gateway: ", h("code", "gateway init claude"), ", and its next call stands here."],
            ["Or run something yourself: ", h("code", "gateway exec -- ls"), "."],
        ),
    )


def row(decision: Mapping[str, Any], outcome: Mapping[str, Any] | None) -> Node:
    """One call on one line."""
    number = decision.get("n")
    rule = decision.get("rule")
    name = rule[0] if isinstance(rule, list) and rule and isinstance(rule[0], str) else "?"
    word = texts(decision, "decision")
    return h(
        "li",
        {"class": f"row {word if word in ('allow', 'ask', 'deny') else 'other'}", "data-call": texts(decision, "id")},
        h(
            "a",
            {"href": f"/why/{number}" if isinstance(number, int) else "/live"},
            moment(texts(decision, "at")),
            badge(word),
            h("span", {"class": "tool"}, visible(texts(decision, "tool"))),
            h("code", {"class": "said"}, visible(shortened(said_of(decision), LONGEST))),
            h("span", {"class": "rule"}, visible(name)),
            h("span", {"class": "end"}, end_of(decision, outcome) or _agreed(decision)),
        ),
    )


def _agreed(decision: Mapping[str, Any]) -> str:
    grant = decision.get("grant")
    return "agreed to" if isinstance(grant, dict) and grant.get("allow") is True else ""


def end_of(decision: Mapping[str, Any], outcome: Mapping[str, Any] | None) -> str:
    """What became of a call, in a few words."""
    if outcome is None:
        return ""
    ended, status = texts(outcome, "ended"), outcome.get("status")
    blocked = outcome.get("violations")
    stopped = f", {len(blocked)} blocked" if isinstance(blocked, list) and blocked else ""
    if ended == STARTED:
        return "runs on"
    if ended == "exited":
        return f"exit {status}{stopped}" if isinstance(status, int) else f"ended{stopped}"
    if ended == "refused" and texts(decision, "decision") == "ask":
        return "not agreed to"
    return visible(ended)[:40] + stopped


def joined(records: Sequence[Mapping[str, Any]]) -> list[tuple[Mapping[str, Any], Mapping[str, Any] | None]]:
    """Decisions with their outcomes, from lines in the order of the record: the newest first. Calls that only try
    whether a hook answers are left out."""
    outcomes = {each.get("id"): each for each in records if each.get("kind") == OUTCOME}
    return [
        (each, outcomes.get(each.get("id")))
        for each in reversed(records)
        if each.get("kind") == DECISION and each.get("session") != CANARY
    ]


def _form(filters: Mapping[str, str]) -> Node:
    decision = filters.get("decision", "")
    names = {"": "any", "allow": "allow", "ask": "ask", "deny": "deny"}
    chips = [
        h(
            "a",
            {
                "href": f"/live?decision={name}" if name else "/live",
                "class": "chip",
                "aria-current": "true" if decision == name else None,
            },
            word,
        )
        for name, word in names.items()
    ]
    fields = [
        h(
            "label",
            word,
            h(
                "input",
                {
                    "name": name,
                    "value": filters.get(name, ""),
                    "placeholder": sample,
                    "autocomplete": "off",
                    "spellcheck": "false",
                },
            ),
        )
        for name, word, sample in (
            ("text", "text", "npm install"),
            ("tool", "tool", "Bash"),
            ("rule", "rule", "secret-*"),
            ("path", "path", "~/project/*"),
            ("host", "host", "*.example.org"),
            ("session", "session", ""),
        )
    ]
    is_open = any(filters.get(name) for name in FILTERS if name != "decision")
    return h(
        "div",
        {"class": "filters"},
        h("nav", {"class": "chips", "aria-label": "decision"}, chips),
        h(
            "details",
            {"open": is_open},
            h("summary", "Filter"),
            h("form", {"data-go": "/live", "class": "grid"}, fields, h("button", {"type": "submit"}, "Show")),
        ),
    )


def _older(calls: Sequence[tuple[Mapping[str, Any], Any]], chosen: Mapping[str, str]) -> Node | None:
    if len(calls) < SHOWN:
        return None
    from urllib.parse import urlencode

    query = urlencode({**chosen, "until": texts(calls[-1][0], "at")})
    return h("p", h("a", {"href": f"/live?{query}", "class": "more"}, "older calls"))
