"""What interrupts most: questions a day by what asks them, the calls that ask most, and the rule that ends each."""

from __future__ import annotations

from collections import Counter

from gateway.core.value import Value
from gateway.frontends.console.nodes import PATH, h
from gateway.frontends.console.pages.parts import KINDS, Page, cell, empty, kind, moment, page_head, table, texts
from gateway.frontends.console.pages.proposal import box
from gateway.model.record import said_of
from gateway.policy.wording import shortened, visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from gateway.frontends.console.nodes import Node

CAUSES = ("a rule asks", "no rule speaks of it", "not known what it does")
_SHOWN = 20
_NOBODY = ("nobody", "policy")
_HEAVY = [name for name in KINDS if name not in ("use", "exec")]


class Shape(Value):
    """Calls that are alike: the tool or program with its subcommand, what weighs most of what it does, and where.
    `last`: the decision of the last one."""

    what: str
    does: str
    where: str
    count: int
    answered: int
    agreed: int
    last: Mapping[str, Any]


def cause_of(decision: Mapping[str, Any]) -> str:
    """What asks: a rule, the mode for want of one, or the mode because nobody knows what it does."""
    rule = decision.get("rule")
    name = rule[0] if isinstance(rule, list) and rule and isinstance(rule[0], str) else ""
    if not name.startswith(("mode:", "level:")):
        return CAUSES[0]
    return CAUSES[2] if _does(decision) in ("code", "opaque") else CAUSES[1]


def shapes_of(asks: Sequence[Mapping[str, Any]]) -> list[Shape]:
    """The calls that ask, those alike as one, the most frequent first."""
    counts: Counter[tuple[str, str, str]] = Counter()
    answered: Counter[tuple[str, str, str]] = Counter()
    agreed: Counter[tuple[str, str, str]] = Counter()
    last: dict[tuple[str, str, str], Mapping[str, Any]] = {}
    for each in asks:
        key = _what(each), _does(each), _where(each)
        counts[key] += 1
        last[key] = each
        grant = each.get("grant")
        if isinstance(grant, dict) and grant.get("by") not in _NOBODY:
            answered[key] += 1
            agreed[key] += grant.get("allow") is True
    return [
        Shape(*key, count=count, answered=answered[key], agreed=agreed[key], last=last[key])
        for key, count in counts.most_common()
    ]


def _effects(decision: Mapping[str, Any]) -> list[tuple[str, str]]:
    rows = decision.get("effects")
    return [
        (row[0], row[1])
        for row in (rows if isinstance(rows, list) else [])
        if isinstance(row, list) and len(row) == 2 and isinstance(row[0], str) and isinstance(row[1], str)
    ]


def _what(decision: Mapping[str, Any]) -> str:
    started = [target for name, target in _effects(decision) if name in ("exec", "code")]
    words = started[0].split() if started else []
    if not words:
        return texts(decision, "tool")
    program = words[0].rpartition("/")[2]
    second = words[1] if len(words) > 1 else ""
    return f"{program} {second}" if second.replace("-", "").isalpha() and not second.startswith("-") else program


def _does(decision: Mapping[str, Any]) -> str:
    names = {name for name, _ in _effects(decision)}
    return next((name for name in _HEAVY if name in names), "use")


def _where(decision: Mapping[str, Any]) -> str:
    does = _does(decision)
    target = next((target for name, target in _effects(decision) if name == does), "")
    if does == "connect":
        return target
    if does in ("read", "write", "delete", "list"):
        return target.rpartition("/")[0] + "/"
    return ""


def interruptions(
    asks: Sequence[Mapping[str, Any]],
    shapes: Sequence[Shape],
    rules: Sequence[str],
    days: Sequence[str],
    *,
    is_all: bool,
    more: Node | None = None,
) -> Page:
    """`days`: those that are shown, the last one today. `is_all`: whether `asks` are all of them. `rules`: for the
    first shapes the narrowest rule that lets the last such call run, "" where there is none. `more`: what stands before
    those."""
    head = page_head("Interruptions", f"What policy asked about in the last {len(days)} days, and what would end it.")
    if not asks:
        nothing = empty("Nothing was asked about.", "What policy asks about is counted here, day by day.")
        return Page("Interruptions", (head, nothing))
    per_day = {day: Counter(cause_of(each) for each in asks if texts(each, "at")[:10] == day) for day in days}
    note = None if is_all else h("p", {"class": "hint"}, f"Of the last {len(asks):,} questions.")
    main = [
        head,
        note,
        h("section", h("h2", "Questions a day"), _chart(per_day), _days(per_day)),
        more,
        _shapes(shapes, rules),
    ]
    return Page("Interruptions", tuple(each for each in main if each is not None))


def _chart(per_day: Mapping[str, Counter[str]]) -> Node:
    """Stacked bars. The table below it says the same in numbers."""
    top: float = max((sum(each.values()) for each in per_day.values()), default=0) or 1
    width, height, gap = 40, 160, 8
    bars: list[Node] = []
    for place, (day, counts) in enumerate(per_day.items()):
        at = float(height)
        left = place * (width + gap)
        for number, cause in enumerate(CAUSES):
            size = round(counts[cause] * height / top, 1)
            at -= size
            if size:
                bars.append(
                    h(
                        "rect",
                        {
                            "class": f"c{number}",
                            "x": left,
                            "y": round(at + 18, 1),
                            "width": width,
                            "height": size,
                            "rx": 2,
                        },
                        h("title", f"{day}: {counts[cause]}, {cause}"),
                    )
                )
        total = sum(counts.values())
        bars.append(
            h(
                "text",
                {"x": left + width / 2, "y": round(at + 13, 1), "text-anchor": "middle", "class": "value"},
                total or "",
            )
        )
        bars.append(
            h(
                "text",
                {"x": left + width / 2, "y": height + 34, "text-anchor": "middle"},
                day[8:] + "." + day[5:7] + ".",
            )
        )
    box = f"0 0 {len(per_day) * (width + gap) - gap} {height + 40}"
    legend = h(
        "ul",
        {"class": "legend"},
        [h("li", h("span", {"class": f"swatch c{number}"}, ""), cause) for number, cause in enumerate(CAUSES)],
    )
    return h(
        "figure",
        h(
            "div",
            {"class": "chart-box", "tabindex": "0", "role": "region", "aria-label": "questions a day, as bars"},
            h("svg", {"viewBox": box, "aria-hidden": "true", "focusable": "false", "class": "chart"}, bars),
        ),
        h("figcaption", legend),
    )


def _days(per_day: Mapping[str, Counter[str]]) -> Node:
    rows = [
        [h("time", {"datetime": day}, day), *(counts[cause] for cause in CAUSES), sum(counts.values())]
        for day, counts in reversed([*per_day.items()])
        if counts
    ]
    found = table("Questions a day", ("day", *CAUSES, "together"), rows, numbers=(1, 2, 3, 4))
    return h("details", h("summary", "The numbers"), found)


def _shapes(shapes: Sequence[Shape], rules: Sequence[str]) -> Node:
    rows = [
        [
            each.count,
            [
                h("strong", visible(each.what)),
                " ",
                kind(each.does),
                h("div", {"class": f"dim {PATH}"}, visible(each.where)),
            ],
            f"{each.agreed} of {each.answered}" if each.answered else "not here",
            [_link(each), h("div", cell(shortened(said_of(each.last), 100)))],
            _rule(each, rules[at] if at < len(rules) else ""),
        ]
        for at, each in enumerate(shapes[:_SHOWN])
    ]
    return h(
        "section",
        h("h2", "What asks most"),
        table(
            "Calls that ask most",
            ("times", "call", "agreed to", "the last one", "the narrowest rule that ends it"),
            rows,
            numbers=(0,),
            stacks=True,
        ),
        h(
            "p",
            {"class": "hint"},
            "A rule is saved for this project, as “always” saves it. For all of your projects it goes under ",
            h("code", "rules:"),
            " in your own policy, under ",
            h("a", {"href": "/policy"}, "Policy"),
            ".",
        ),
    )


def _rule(each: Shape, rule: str) -> list[Node]:
    """The rule, and a way to try it: with it on top of what ships, on the last such call."""
    if not rule:
        return [h("span", {"class": "dim"}, "none that is safe")]
    from urllib.parse import urlencode

    text = f"version: 1\nextends: [daily]\nrules:\n  - id: less-asking\n    {rule}\n"
    shell = texts(each.last, "tool") == "Bash"
    query = urlencode({"call": said_of(each.last) if shell else "", "policy": text}, errors="replace")
    return [
        h("code", {"class": "line"}, visible(rule)),
        box("rule", rule, "What would it end?"),
        h("a", {"href": f"/policy?{query}", "class": "more"}, "try it on the last one"),
    ]


def _link(each: Shape) -> Node:
    number = each.last.get("n")
    said = moment(texts(each.last, "at"), date=True)
    return h("a", {"href": f"/why/{number}"}, said) if isinstance(number, int) else said
