"""The policy that holds: its layers and rules, a box to try calls and texts in, and the person's own file to change."""

from __future__ import annotations

from itertools import groupby

from gateway.frontends.console.nodes import h
from gateway.frontends.console.pages.parts import Page, badge, empty, facts, kind, marked, page_head, place, table
from gateway.frontends.console.pages.why import marks_of
from gateway.policy.wording import visible
from gateway.render.text import headline

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from gateway.frontends.console.nodes import Node
    from gateway.frontends.console.sources import Editable, Linted, Tried
    from gateway.judge.effective_policy import Effective, ListedRule

_SAMPLE = """\
rules:
  - id: no-prod
    deny: {host: '*.prod.example.com'}
    because: production is touched by people alone
"""


def policy(found: Effective, home: str, mine: Editable, call: str = "", own: str = "") -> Page:
    """All layers, the box with a call and a policy text to begin with, and the person's own file to change."""
    rows = [
        [
            each.layer,
            h("code", visible(_short(each.path, home))),
            _state(each.state),
            each.rules or "",
            visible(each.note or (f"by {each.via}" if each.via else "")),
        ]
        for each in found.sources
    ]
    problems = [h("li", visible(str(each))) for each in found.problems]
    main: list[Node | None] = [
        page_head(
            "Policy",
            "What holds in ",
            h("code", visible(found.root)),
            ", mode ",
            h("strong", visible(found.mode)),
            ". Upper layers win where they deny.",
        ),
        h("section", {"class": "card bad"}, h("h2", "Every call is refused until this is mended"), h("ul", problems))
        if problems
        else None,
        _box(call, own),
        _own(mine, home),
        h(
            "section",
            h("h2", "Layers"),
            table("Where policy is read from", ("layer", "file", "state", "rules", "note"), rows, numbers=(3,)),
        ),
        h(
            "section",
            h("h2", "Rules"),
            [_group(key, [*group], home) for key, group in groupby(found.rules, lambda each: (each.layer, each.file))],
        ),
    ]
    return Page("Policy", tuple(each for each in main if each is not None))


def _short(path: str, home: str) -> str:
    return "~" + path[len(home) :] if path.startswith(home + "/") else path


def _state(state: str) -> Node:
    sign = {"loaded": "✓", "broken": "✕"}.get(state, "·")
    return h("span", {"class": f"state-{state}"}, h("span", {"aria-hidden": "true"}, sign), " ", visible(state))


def _group(key: tuple[str, str], rules: Sequence[ListedRule], home: str) -> Node:
    layer, file = key
    rows = [
        [
            h("code", visible(str(each.rule["id"]))),
            h("code", {"class": "line"}, visible(str(each.rule["text"]))),
            visible(str(each.rule.get("because") or "")) + ("" if each.state == "active" else f" ({each.state})"),
            each.rule.get("line", ""),
        ]
        for each in rules
    ]
    title = f"{len(rows)} of {visible(layer)}, {visible(_short(file, home))}"
    heads = ("id", "says", "because", "line")
    return h("details", h("summary", title), table(title, heads, rows, numbers=(3,)))


def _box(call: str, own: str) -> Node:
    return h(
        "section",
        {"class": "card"},
        h("h2", "Dry run"),
        h("p", {"class": "hint"}, "What would become of a call. Nothing runs, and nothing is recorded."),
        h(
            "form",
            {"data-try": "yes"},
            h("label", {"for": "try-call"}, "Call"),
            h(
                "textarea",
                {
                    "id": "try-call",
                    "name": "call",
                    "rows": 2,
                    "spellcheck": "false",
                    "autocomplete": "off",
                    "placeholder": "rm -rf build, or Read(.env)",
                },
                call,
            ),
            h(
                "label",
                {"class": "check"},
                h("input", {"type": "checkbox", "name": "unconfined"}),
                "as an agent's own shell would run it, without the sandbox",
            ),
            h(
                "details",
                {"open": bool(own)},
                h("summary", "Under a policy of its own"),
                h(
                    "p",
                    {"class": "hint"},
                    "With a text here, this text and the built-in rules decide, and nothing else. "
                    "It is checked while you type, and not saved.",
                ),
                h("label", {"for": "try-policy"}, "Policy"),
                h(
                    "textarea",
                    {
                        "id": "try-policy",
                        "name": "policy",
                        "rows": 8,
                        "spellcheck": "false",
                        "autocomplete": "off",
                        "placeholder": _SAMPLE,
                    },
                    own,
                ),
                h("div", {"id": "lint", "role": "status"}, ""),
            ),
            h("div", {"class": "buttons"}, h("button", {"type": "submit", "class": "yes"}, "Judge it")),
        ),
        h("div", {"id": "tried", "aria-live": "polite"}, ""),
    )


def _own(mine: Editable, home: str) -> Node:
    """The person's own file. What a change does is shown before it can be saved."""
    return h(
        "section",
        {"class": "card", "data-change": "user"},
        h("h2", "Your policy"),
        h(
            "p",
            {"class": "hint"},
            h("code", visible(_short(mine.path, home))),
            " holds in all of your projects. " if mine.digest else " is not there yet: this is what holds without it. ",
            "A change is judged by what was decided before, and saved when you have seen what it does.",
        ),
        h("label", {"for": "own-policy"}, "Your policy"),
        h(
            "textarea",
            {"id": "own-policy", "rows": 12, "spellcheck": "false", "autocomplete": "off", "data-draft": "yes"},
            mine.text,
        ),
        h(
            "div",
            {"class": "buttons"},
            h("button", {"type": "button", "data-look": "yes"}, "See what changes"),
        ),
        h("div", {"class": "changed", "aria-live": "polite"}, ""),
    )


def tried(found: Tried) -> tuple[Node, ...]:
    """What would become of a call."""
    verdict, told = found.verdict, found.found
    if verdict is None or told is None:
        return (empty("It was not judged.", visible(found.problem)),)
    rows: list[tuple[str, Any]] = [
        ("verdict", [badge(verdict.decision.word), " ", visible(headline(verdict, dict(told)).partition(" ")[2])]),
        ("rule", [h("code", visible(told["rule"]["id"])), " ", place(told["rule"]["file"], told["rule"]["line"])]),
        ("for the model", visible(told["message"])),
        ("smallest change", visible(str(told.get("change") or ""))),
        (
            "effects",
            [
                h(
                    "div",
                    kind(each["kind"]),
                    " ",
                    h("code", visible(each["target"] or each.get("why") or "")),
                    [" ", badge(each["decision"])] if "decision" in each else None,
                )
                for each in told["effects"]
                if each["kind"] != "use"
            ],
        ),
    ]
    return (marked(verdict.call.shown, marks_of(verdict)), facts(rows) or h("p", ""))


def linted(found: Sequence[Linted]) -> tuple[Node, ...]:
    """What is wrong with a policy's text, by line."""
    if not found:
        return (h("p", {"class": "good"}, "✓ nothing to say"),)
    rows = [
        h(
            "li",
            {"class": f"lint-{each.severity}"},
            h("strong", each.severity),
            f", line {each.line}: " if each.line else ": ",
            visible(each.text),
            h("div", {"class": "dim"}, visible(each.remedy)) if each.remedy else None,
        )
        for each in found
    ]
    return (h("ul", {"class": "plain lint"}, rows),)
