"""Which of one's own rules anything exercises."""

from __future__ import annotations

from gateway.console.nodes import h
from gateway.console.pages.parts import Page, empty, page_head, place, table
from gateway.policy.wording import visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gateway.judge.policy_tests import Report


def coverage(found: Report) -> Page:
    """The examples and tables of one's own policies, and the rules that none of them hits."""
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
    missing = [[h("code", visible(each.rule)), place(each.file, each.line)] for each in found.unexercised]
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
    if missing:
        parts.append(
            h(
                "section",
                h("h2", "Never exercised"),
                table("Rules that nothing exercises", ("rule", "stands in"), missing),
            )
        )
    elif not failed:
        parts.append(empty("Every rule is exercised, and every example holds."))
    return Page("Coverage", tuple(parts))
