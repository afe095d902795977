"""The few rules that would have ended most questions that people said yes to, as `gateway policy suggest` has them."""

from __future__ import annotations

from gateway.core.quantities import counted
from gateway.frontends.console.nodes import h
from gateway.frontends.console.pages.parts import empty
from gateway.frontends.console.pages.proposal import box
from gateway.policy.wording import visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from gateway.frontends.console.nodes import Node

KIND = "suggest"  # of what a page asks to be worked out


def asking(days: int) -> Node:
    """The section of a page that has them looked for, by the answers of so many days."""
    return h(
        "section",
        h("h2", "Rules from your answers"),
        h(
            "p",
            {"class": "hint"},
            f"The few rules that would have ended most of what was agreed to in {days} days. They are tried on the "
            "record: none allows what was ever refused, what is known to do harm, or what a test of your policy speaks "
            "against.",
        ),
        box(KIND, "", "Look for rules"),
    )


def suggested(found: Mapping[str, Any]) -> tuple[Node, ...]:
    """`found`: what came out (`gateway.replay.suggesting.Suggested`, as data). Each rule with what speaks for and
    against it, and with the way to see what it changes and to save it."""
    rules = found["rules"]
    presets = [_preset(each) for each in found["presets"]]
    if not rules and not presets:
        said = "There is no such rule." if found["agreed"] else "Nothing that policy asks about was agreed to here."
        more = "It takes more than one yes to calls that are alike."
        return (empty(said, more), *_notes(found))
    told = h(
        "p",
        h("strong", f"{counted(len(rules), 'rule')} would have ended {found['ended']:,} of {found['agreed']:,}"),
        " questions that people said yes to.",
    )
    return (told, h("ol", {"class": "plain suggested"}, [_rule(each) for each in rules], presets), *_notes(found))


def _preset(each: Mapping[str, Any]) -> Node:
    asked = counted(each["questions"], "question")
    return h(
        "li",
        {"class": "card"},
        h("p", "The preset ", h("code", visible(each["name"])), f" would have ended {asked}.", _calls(each["ends"])),
        h("p", {"class": "hint"}, "It goes under ", h("code", "extends:"), " in your own policy, under ",
          h("a", {"href": "/policy"}, "Policy"), "."),
    )  # fmt: skip


def _rule(each: Mapping[str, Any]) -> Node:
    span = [counted(each[name], name[:-1]) for name in ("sessions", "days") if each[name]]
    asked = counted(each["questions"], "question")
    return h(
        "li",
        {"class": "card"},
        h("code", {"class": "line"}, visible(each["text"])),
        h("p", f"It would have ended {asked} ({', '.join(span)}).", _calls(each["ends"])),
        _noted(f"It would also have allowed {counted(each['others_count'], 'call')} not agreed to:", each["others"]),
        _noted("Still asked about or refused:", each["asks"]),
        _noted("It allows besides, for example:", each["opens"]),
        box("rule", each["text"], "What would it change?"),
    )


def _noted(said: str, calls: Sequence[str]) -> Node | None:
    return h("p", said, _calls(calls)) if calls else None


def _calls(calls: Sequence[str]) -> Node | None:
    return h("ul", {"class": "plain"}, [h("li", h("code", visible(each))) for each in calls]) if calls else None


def _notes(found: Mapping[str, Any]) -> tuple[Node, ...]:
    notes = []
    if found["doubtful"]:
        said = "because a sandbox had to stop something soon after"
        notes.append(f"Not counted: {counted(found['doubtful'], 'answer')}, {said}.")
    if found["elsewhere"]:
        notes.append(f"Not counted: {counted(found['elsewhere'], 'question')} whose answer the record does not have.")
    if found["unjudged"]:
        notes.append(f"Not tried: {counted(found['unjudged'], 'decision')} that cannot be judged again.")
    notes += [f"Dropped: {counted(count, 'candidate')}, because it {visible(why)}." for why, count in found["vetoed"]]
    return tuple(h("p", {"class": "hint"}, each) for each in notes)
