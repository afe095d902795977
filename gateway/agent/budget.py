"""What a task has used of what it may use, by all its agents together: replies, tokens and dollars."""

from __future__ import annotations

import threading

from gateway.core.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from gateway.llm.known_models import Price

TURNS = 200
_CENTS = 100
# Why a run ended.
OUT_OF_TURNS, OUT_OF_TOKENS, OUT_OF_MONEY = "turns", "tokens", "cost"


class Budget(Value):
    """What a task may use, with all the agents that it starts. `turns`: replies; `tokens`: read and said together, 0
    for any number; `cost`: dollars, 0 for any; `reply`: tokens of one reply, 0 for as many as the model can make;
    `again`: how often it is asked again for an answer that must be data; `longer`: how often it goes on with a text
    that was cut off at its greatest length."""

    turns: int = TURNS
    tokens: int = 0
    reply: int = 0
    again: int = 3
    cost: float = 0.0
    longer: int = 3


def bounded(wanted: Budget, limits: Mapping[str, int]) -> Budget:
    """What a task may use of what was wished for, within the setting `limits`."""

    def least(given: float, name: str, factor: float = 1) -> float:
        bound = limits.get(name, 0) / factor
        return min(given or bound, bound) if bound else given

    return wanted.replace(
        turns=int(least(wanted.turns, "task_turns")),
        tokens=int(least(wanted.tokens, "task_tokens")),
        cost=least(wanted.cost, "task_cents", _CENTS),
    )


class Spent(Value):
    """What was used. `by_model`: tokens by kind, by model; `cost`: dollars, None where the price of a model that was
    asked is not known."""

    turns: int = 0
    tokens: int = 0
    by_model: Mapping[str, Mapping[str, int]] = {}
    cost: float | None = 0.0


def tokens_in(usage: Mapping[str, int]) -> int:
    """All tokens of a reply: read, kept, said."""
    return sum(count for name, count in usage.items() if name.endswith("_tokens"))


def _less(usage: Mapping[str, int], before: Mapping[str, int]) -> dict[str, int]:
    return {name: count - before.get(name, 0) for name, count in usage.items()}


class Purse:
    """Of one session, with all agents below it. Safe to use from several threads: each may be past the end by the one
    reply that it had begun before."""

    def __init__(self, budget: Budget, price: Callable[[str], Price | None] = lambda _name: None) -> None:
        """`budget`: of each task; `price` of the model of a name, None where it is not known."""
        self.budget = budget
        self._price = price
        self._lock = threading.Lock()
        self._turns = 0
        self._tokens = 0
        self._by_model: dict[str, dict[str, int]] = {}
        self._before = Spent()

    def begin(self) -> None:
        """A new task begins: what was used before is no part of it."""
        with self._lock:
            self._before = self._spent()

    def add(self, model: str, usage: Mapping[str, int]) -> None:
        """A reply was made."""
        with self._lock:
            self._turns += 1
            self._tokens += tokens_in(usage)
            mine = self._by_model.setdefault(model, {})
            for name, count in usage.items():
                mine[name] = mine.get(name, 0) + count

    def spent(self) -> Spent:
        """What the whole session has used."""
        with self._lock:
            return self._spent()

    def of_task(self) -> Spent:
        """What the task has used since it began."""
        with self._lock:
            now, before = self._spent(), self._before
        by_model = {name: _less(usage, before.by_model.get(name, {})) for name, usage in now.by_model.items()}
        cost = None if now.cost is None or before.cost is None else now.cost - before.cost
        return Spent(
            now.turns - before.turns,
            now.tokens - before.tokens,
            {name: usage for name, usage in by_model.items() if any(usage.values())},
            cost,
        )

    def price_of(self, model: str, usage: Mapping[str, int]) -> float | None:
        """What a model's use has cost in dollars, None where nobody knows."""
        price = self._price(model)
        return None if price is None else price.of(usage)

    def _spent(self) -> Spent:
        cost: float | None = 0.0
        for name, usage in self._by_model.items():
            price = self._price(name)
            cost = None if cost is None or price is None else cost + price.of(usage)
        by_model = {name: dict(usage) for name, usage in self._by_model.items()}
        return Spent(self._turns, self._tokens, by_model, cost)

    def is_out(self, model: str) -> tuple[str, str]:
        """Why the task may go on no longer, and in words, ("", "") while it may. `model`: who would be asked next."""
        with self._lock:
            now, before, budget = self._spent(), self._before, self.budget
        turns, tokens = now.turns - before.turns, now.tokens - before.tokens
        if turns >= budget.turns:
            return OUT_OF_TURNS, f"it has taken {turns} turns, which is all it may"
        if budget.tokens and tokens >= budget.tokens:
            return OUT_OF_TOKENS, f"it has used {tokens:,} tokens of {budget.tokens:,}"
        if not budget.cost:
            return "", ""
        if now.cost is None or before.cost is None or self._price(model) is None:
            return OUT_OF_MONEY, f"the price of `{model}` is not known, so nobody can keep to {budget.cost:g} dollars"
        cost = now.cost - before.cost
        if cost >= budget.cost:
            return OUT_OF_MONEY, f"it has cost {cost:.2f} dollars of {budget.cost:g}"
        return "", ""

    def left(self) -> int:
        """Tokens that the task may still use, 0 for any number."""
        with self._lock:
            budget = self.budget.tokens
            return max(1, budget - (self._tokens - self._before.tokens)) if budget else 0
