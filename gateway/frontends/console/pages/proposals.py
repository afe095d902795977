"""Rules that refused calls would have needed: each with who proposed it, what it would open, and yes or no to it."""

from __future__ import annotations

from datetime import UTC, datetime

from gateway.core.quantities import counted
from gateway.frontends.console.nodes import h
from gateway.frontends.console.pages.parts import Page, badge, cell, empty, moment, page_head, path, place
from gateway.frontends.console.pages.proposal import box
from gateway.policy.wording import shortened, visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from gateway.approval.proposals import Kept
    from gateway.frontends.console.nodes import Node

KIND = "proposal"  # of what a page asks to be worked out
_LONGEST = 400


def proposals(found: Sequence[Kept], root: str) -> Page:
    """`found`: what is kept for a project, those with a reason first."""
    under = ["What calls would have needed that were refused in ", path(root), " because nobody could be asked."]
    head = page_head("Proposals", under)
    if not found:
        nothing = empty(
            "Nothing was proposed.",
            "Where a call is refused because nobody is there, the narrowest rule that lets it run stands here.",
        )
        return Page("Proposals", (head, nothing))
    return Page("Proposals", (head, h("ul", {"class": "plain"}, [_one(each) for each in found])))


def _one(each: Kept) -> Node:
    when = datetime.fromtimestamp(each.last, UTC).strftime("%Y-%m-%dT%H:%M:%S.000000Z")
    who = [visible(shortened(each.front, 40)), *([", ", visible(shortened(each.agent, 40))] if each.agent else [])]
    because = [h("p", h("strong", "It says: "), cell(shortened(each.because, _LONGEST)))] if each.because else []
    return h(
        "li",
        {"class": "card"},
        h("h2", h("code", visible(each.id))),
        *because,
        h(
            "p",
            {"class": "hint"},
            f"{counted(each.count, 'call')}, the last one ",
            moment(when, date=True),
            " by ",
            *who,
        ),
        h("p", h("code", {"class": "line"}, visible(each.rule))),
        box(KIND, each.id, "What would it open?"),
        h(
            "div",
            {"class": "answers", "data-reject": each.id},
            h(
                "div",
                {"class": "buttons"},
                h("button", {"type": "button", "class": "no", "data-sure": "Never propose it again"}, "Reject"),
            ),
            h("p", {"role": "status", "class": "hint"}, ""),
        ),
    )


def opened(found: Mapping[str, Any], name: str) -> tuple[Node, ...]:
    """What a proposal would open, and the button that accepts it. `found`: what came out
    (`gateway.frontends.proposal_answers.Looked`, as data); `name`: by which it is accepted."""
    propose, opens = found["propose"], found["opening"]
    where = f"mode {visible(found['mode'])}, in {visible(found['cwd'])}"
    call = h("div", h("h3", "The call"), _list([found["call"]]), h("p", {"class": "hint"}, where))
    if propose is None or opens is None:
        return (call, empty("It cannot be accepted.", visible(found["problem"])))
    parts: list[Node | None] = [
        call,
        _part("What it lets happen, and nothing else", propose["opens"]),
        _part("Calls that show it", propose["calls"]),
        _part("Calls by which your policy would differ, asked of it before and after", opens["calls"]),
        *(_otherwise(each, opens["decisions"]) for each in opens["otherwise"]),
        _part("Calls of the same program that are still not allowed", opens["near"]),
    ]
    if not opens["otherwise"]:
        parts.append(
            h("p", f"None of {opens['decisions']:,} recorded decisions of this project would have come out otherwise.")
        )
    if opens["objections"]:
        against = _part("What speaks against it", opens["objections"])
        parts += [against, empty("It is not accepted here.", "Write the rule by hand where you want it all the same.")]
    else:
        parts.append(_yes(name))
    return tuple(each for each in parts if each is not None)


def _otherwise(each: Mapping[str, Any], of: int) -> Node:
    no = f", {each['refused']:,} of them refused by somebody" if each["refused"] else ""
    return h(
        "div",
        h("p", f"{each['count']:,} of {of:,} recorded decisions would be allowed{no}. They were ", badge(each["was"])),
        h("p", {"class": "hint"}, "by ", place(each["rule"], None)),
        _list(each["calls"]),
    )


def _part(head: str, lines: Sequence[str]) -> Node | None:
    return h("div", h("h3", head), _list(lines)) if lines else None


def _list(lines: Sequence[str]) -> Node:
    return h("ul", {"class": "plain"}, [h("li", h("code", {"class": "line"}, visible(each))) for each in lines])


def _yes(name: str) -> Node:
    return h(
        "div",
        {"class": "answers", "data-save": name},
        h("p", {"class": "hint"}, "It is saved for this project, as “always” saves a rule."),
        h(
            "div",
            {"class": "buttons"},
            h("button", {"type": "button", "class": "yes", "data-sure": "Really accept it"}, "Accept it"),
        ),
        h("p", {"role": "status", "class": "hint"}, ""),
    )
