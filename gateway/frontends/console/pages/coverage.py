"""Which of one's own rules anything exercises."""

from __future__ import annotations

from gateway.frontends.console.nodes import h
from gateway.frontends.console.pages.parts import Page, empty, page_head, place, table
from gateway.policy.wording import visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gateway.judge.effective_policy import ListedRule
    from gateway.judge.policy_tables import Report


def coverage(found: Report, own: Sequence[ListedRule], decided: Mapping[str, int], days: int) -> Page:
    """The examples and tables of one's own policies, and the rules that none of them hits. `own`: one's own rules;
    `decided`: how many decisions each rule has made in the last `days` days."""
    head = page_head("Coverage", "Which rules of your own policies an example or a test exercises.")
    if not found.rules:
        nothing = empty(
            "There are no rules of your own.",
            ["Begin with one: ", h("code", "gateway new rule no-prod"), "."],
            "Rules carry examples; what none of them exercises stands here.",
        )
        return Page("Coverage", (head, nothing))
    failed = [
        [place(case.file, case.line), h("code", visible(case.rule)), visible(case.problem)] for case in found.failures
    ]
    missing = found.unexercised
    hit = found.rules - len(found.unexercised)
    numbers = h(
        "ul",
        {"class": "numbers"},
        h("li", h("strong", f"{found.coverage:.0f} %"), f" {hit} of {found.rules} rules are exercised"),
        h("li", h("strong", len(found.cases) - len(found.failures)), " examples and tests hold"),
        h("li", h("strong", len(found.failures)), " fail"),
    )
    parts = [head, numbers]
    if failed:
        parts.append(
            h(
                "section",
                h("h2", "What fails"),
                table("Examples and tests that fail", ("where", "rule", "problem"), failed),
            )
        )
    if not missing and not failed:
        parts.append(h("p", {"class": "good"}, "✓ Every rule is exercised, and every example holds."))
    lazy = {(each.rule, each.file) for each in found.unexercised}
    rows = [
        [
            h("code", visible(str(each.rule["id"]))),
            place(each.file, each.rule.get("line")),
            "no" if (each.rule["id"], each.file) in lazy else "yes",
            decided.get(str(each.rule["id"]), 0) or h("span", {"class": "dim"}, "never"),
        ]
        for each in sorted(own, key=lambda each: (-decided.get(str(each.rule["id"]), 0), str(each.rule["id"])))
    ]
    if rows:
        parts.append(
            h(
                "section",
                h("h2", "Rule by rule"),
                h(
                    "p",
                    {"class": "hint"},
                    "What nothing exercises and nothing has used may be left out, or is wrong.",
                ),
                table(
                    f"Your rules, by what they decided in the last {days} days",
                    ("rule", "stands in", "exercised", "decisions"),
                    rows,
                    numbers=(3,),
                ),
            )
        )
    return Page("Coverage", tuple(parts))
