"""What a task or a session has used, as people read it."""

from __future__ import annotations

from gateway.policy.wording import visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from gateway.agent.budget import Spent

_KINDS = (
    ("input_tokens", "read"),
    ("cache_creation_input_tokens", "read and kept"),
    ("cache_read_input_tokens", "read from the cache"),
    ("output_tokens", "said"),
)


def spent_line(spent: Spent) -> str:
    """In one line, "" for nothing."""
    if not spent.turns:
        return ""
    replies = "reply" if spent.turns == 1 else "replies"
    return f"{spent.turns} {replies}, {_short(spent.tokens)} tokens, {cost_said(spent.cost)}"


def spent_text(spent: Spent, price: Callable[[str, Mapping[str, int]], float | None]) -> str:
    """By model and kind of token. `price` of a model's use, in dollars, None where nobody knows."""
    if not spent.turns:
        return "no model has answered yet\n"
    lines = [spent_line(spent)]
    for name, usage in sorted(spent.by_model.items()):
        lines.append(f"  {visible(name)}: {cost_said(price(name, usage))}")
        lines += [f"    {usage[kind]:>12,} {said}" for kind, said in _KINDS if usage.get(kind)]
    if spent.cost is None:
        lines.append("  the setting `models` says prices that are not known: price: {read: CENTS, said: CENTS}")
    return "\n".join(lines) + "\n"


def cost_said(cost: float | None) -> str:
    """Dollars in words: cents where it is more than a few, else as exact as it takes."""
    if cost is None:
        return "cost not known"
    return f"${cost:.2f}" if cost >= 1 or not cost else f"${cost:.4f}"


def _short(count: int) -> str:
    return f"{count:,}" if count < 10_000 else f"{count / 1000:,.1f}k"
