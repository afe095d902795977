"""Whether calls can be decided and confined here, and whether agents' hooks answer: the doctor's view."""

from __future__ import annotations

from gateway.frontends.console.nodes import PATH, h
from gateway.frontends.console.pages.parts import Page, page_head
from gateway.policy.wording import visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from gateway.frontends.console.nodes import Node
    from gateway.frontends.console.sources import Looked

_STATES = {"ok": ("✓", "ok"), "could be better": ("!", "could be better"), "broken": ("✕", "broken")}
_ORDER = ("broken", "could be better", "ok")


def agents(found: Sequence[Looked]) -> Page:
    """What the doctor found, the worst first."""
    again = h("a", {"href": "/agents?again=1", "class": "more"}, "look again")
    counts = [(name, sum(each.state == name for each in found)) for name in _ORDER]
    numbers = h("ul", {"class": "numbers"}, [h("li", h("strong", count), f" {name}") for name, count in counts])
    rows = [_one(each) for name in _ORDER for each in found if each.state == name]
    head = page_head(
        "Agents", "What ", h("code", "gateway doctor"), " says of this machine and of the agents on it. ", again
    )
    return Page("Agents", (head, numbers, h("ul", {"class": "looked"}, rows)))


def _one(each: Looked) -> Node:
    sign, word = _STATES.get(each.state, ("·", each.state))
    details = [h("li", {"class": PATH}, visible(line)) for line in each.details]
    return h(
        "li",
        {"class": f"look l-{word.split()[0]}"},
        h("span", {"class": "sign"}, h("b", {"aria-hidden": "true"}, sign), " ", visible(word)),
        h(
            "div",
            h("strong", visible(each.name)),
            " ",
            h("span", {"class": PATH}, visible(each.text)),
            h("p", {"class": "remedy"}, "→ ", visible(each.remedy)) if each.remedy else None,
            h("details", h("summary", f"{len(details)} more"), h("ul", details)) if details else None,
        ),
    )
