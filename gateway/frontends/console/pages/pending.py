"""What waits for an answer: each question whole, with the answers that the terminal would take."""

from __future__ import annotations

from gateway.approval.page_wire import ELSEWHERE, PAGE
from gateway.frontends.console.nodes import PATH, h
from gateway.frontends.console.pages.parts import Page, block, empty, facts, kind, marked, page_head, path, place
from gateway.policy.wording import visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from gateway.frontends.console.nodes import Node
    from gateway.frontends.console.question_queue import Waiting

WORDS = {
    "once": "Allow once",
    "session": "Allow for this session",
    "always": "Always allow",
    "real": "Run it without a layer",
    "no": "Refuse",
    "no-session": "Refuse for this session",
}
REFUSE = "no"


def pending(waiting: Sequence[Waiting], now: float, *, may_answer: bool) -> Page:
    """`now`: of the clock that the questions' times are of. `may_answer`: whether who reads this may answer."""
    main: list[Node] = [
        page_head(
            "Pending",
            "Calls that wait for you. A terminal that asks waits beside this page: the first answer counts.",
        ),
    ]
    if waiting:
        main += [card(each, now, _answers_here(each, may_answer)) for each in waiting]
    else:
        main.append(
            empty(
                "Nothing waits for an answer.",
                "Where policy says ask of a call that the gateway runs, the question stands here and at the terminal.",
                ["Try it: ", h("code", "gateway exec -- touch hello"), "."],
                [
                    "What agents such as Claude Code and Codex would ask stands here first with ",
                    h("code", "settings: {agents: {page: 60}}"),
                    " in your own ",
                    h("a", {"href": "/policy"}, "policy"),
                    ".",
                ],
            )
        )
    return Page(f"Pending ({len(waiting)})" if waiting else "Pending", tuple(main))


def elsewhere(waiting: Sequence[Waiting], now: float, name: str, agreed: Mapping[str, Sequence[str]]) -> Page:
    """The same for somebody elsewhere. `name`: who that is; `agreed`: who has said yes so far, by question."""
    main: list[Node] = [page_head("Pending", "Calls that wait for you. The first answer counts.")]
    main += [
        card(each, now, _answers_of(each, name, agreed.get(each.id, ())), where=ELSEWHERE) for each in waiting
    ] or [empty("Nothing waits for an answer.", "What comes stands here by itself.")]
    return Page(f"Pending ({len(waiting)})" if waiting else "Pending", tuple(main))


def _answers_of(each: Waiting, name: str, agreed: Sequence[str]) -> Node:
    people = each.shown["people"]
    if name == each.shown["not_by"]:
        return _answers(each, (REFUSE,), "Policy wants others than you to agree: you can only refuse.")
    if name in agreed:
        return _answers(each, (REFUSE,), f"You have agreed. {people - len(agreed)} more must.")
    return _answers(each, each.choices(), f"{people - len(agreed)} people must agree." if people > 1 else "")


def card(each: Waiting, now: float, answers: Node, where: str = PAGE) -> Node:
    """One question. `answers`: what stands at its end; `where`: where this is shown."""
    shown = each.shown
    left = max(int(each.until - now), 0)
    title = f"q-{each.id}"
    marks = [(mark[0], mark[1], mark[2]) for mark in shown["marks"] if _is_mark(mark)]
    return h(
        "article",
        {"class": "card", "aria-labelledby": title, "data-question": each.id, "data-digest": each.digest},
        h(
            "header",
            h("h2", {"id": title, "class": PATH}, visible(shown["head"])),
            h(
                "p",
                {"class": "hint"},
                ["process ", each.pid, " · "] if where == PAGE else None,
                path(shown["cwd"]),
                " · ",
                h("span", {"class": "left", "data-left": left}, f"{left} s left"),
            ),
        ),
        marked(shown["call"], marks),
        _asked(shown["asked"]),
        facts(
            [
                (visible(str(label)), [h("div", visible(str(line))) for line in lines])
                for label, lines in filter(_is_row, shown["plan"])
            ]
        ),
        _always(shown) if "always" in each.choices() else None,
        h(
            "details",
            h("summary", "As the terminal shows it"),
            block(shown["text"], "the question as the terminal shows it"),
        ),
        answers,
    )


def _words(each: Waiting) -> dict[str, str]:
    """What stands on the buttons: of a call, or of what the question is about instead."""
    own = each.shown.get("answers")
    found = own if isinstance(own, dict) else {}
    return WORDS | {name: text for name, text in found.items() if name in WORDS and isinstance(text, str) and text}


def _answers_here(each: Waiting, may_answer: bool) -> Node:
    if not each.at(PAGE):
        return h("p", {"class": "hint"}, "Policy wants this to be answered by others, from elsewhere.")
    if may_answer:
        return _answers(each, each.choices())
    return h("p", {"class": "hint"}, "This token only reads: answer at the terminal, or on a page.")


def _is_mark(mark: Any) -> bool:
    return (
        isinstance(mark, list)
        and len(mark) == 3
        and isinstance(mark[0], int)
        and isinstance(mark[1], int)
        and isinstance(mark[2], str)
    )


def _is_row(row: Any) -> bool:
    return isinstance(row, list) and len(row) == 2 and isinstance(row[1], list)


def _asked(asked: Sequence[Any]) -> Node | None:
    rows = [
        h(
            "li",
            kind(str(each.get("kind", ""))),
            " it ",
            h("span", {"class": PATH}, visible(str(each.get("does", "")))),
            " ",
            h("span", {"class": "rule"}, visible(str(each.get("rule", "")))),
            " ",
            place(str(each.get("file") or "") or None, each.get("line") if isinstance(each.get("line"), int) else None),
        )
        for each in asked
        if isinstance(each, dict)
    ]
    return h("div", h("h3", "Asked about"), h("ul", {"class": "effects"}, rows)) if rows else None


def _always(shown: dict[str, Any]) -> Node:
    return h(
        "div",
        {"class": "note"},
        h("p", "“Always” saves this rule in ", path(shown["file"]), ":"),
        h("pre", {"class": "text", "tabindex": "0", "aria-label": "the rule"}, visible(shown["always"])),
        h("p", "From then on, without a question, inside: ", visible(shown["later"])) if shown["later"] else None,
    )


def _answers(each: Waiting, choices: Sequence[str], said: str = "") -> Node:
    note = f"note-{each.id}"
    buttons = [
        h(
            "button",
            {"type": "button", "class": "no" if name.startswith("no") else "yes", "data-answer": name},
            visible(_words(each)[name]),
        )
        for name in choices
    ]
    return h(
        "div",
        {"class": "answers"},
        h("p", said) if said else None,
        h("label", {"for": note}, "With a refusal, tell the model"),
        h("input", {"id": note, "type": "text", "autocomplete": "off", "placeholder": "use the other file"}),
        h("div", {"class": "buttons", "role": "group", "aria-label": "answers"}, buttons),
        h("p", {"role": "status", "class": "hint"}, ""),
    )
