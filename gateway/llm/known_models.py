"""What is known of models by their names: what they can take, and what they cost.

Prices are the provider's list prices in US dollars for a million tokens. The setting `models` says what is not known
here, or has changed.
"""

from __future__ import annotations

from gateway.core.value import Value
from gateway.llm.model import Limits

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

_MILLION = 1_000_000
_CENTS = 100
WINDOW = 200_000
REPLY = 32_000


class Price(Value):
    """Dollars for a million tokens: read, said, read from the cache, written to it."""

    read: float
    said: float
    cached: float
    kept: float

    def of(self, usage: Mapping[str, int]) -> float:
        """What a reply has cost, in dollars."""
        return (
            usage.get("input_tokens", 0) * self.read
            + usage.get("output_tokens", 0) * self.said
            + usage.get("cache_read_input_tokens", 0) * self.cached
            + usage.get("cache_creation_input_tokens", 0) * self.kept
        ) / _MILLION


def _price(read: float, said: float) -> Price:
    return Price(read, said, read / 10, read * 1.25)


class Known(Value):
    """One family of models. `price`: None where nobody knows."""

    limits: Limits
    price: Price | None


# By how names begin; the first that fits.
FAMILIES: tuple[tuple[str, Known], ...] = (
    ("claude-3-haiku", Known(Limits(WINDOW, 4_096), _price(0.25, 1.25))),
    ("claude-3-5-haiku", Known(Limits(WINDOW, 8_192), _price(0.8, 4))),
    ("claude-3-5-sonnet", Known(Limits(WINDOW, 8_192), _price(3, 15))),
    ("claude-3-7-sonnet", Known(Limits(WINDOW, 64_000), _price(3, 15))),
    ("claude-opus-4-5", Known(Limits(WINDOW, 64_000), _price(5, 25))),
    ("claude-opus-4-1", Known(Limits(WINDOW, 32_000), _price(15, 75))),
    ("claude-opus-4-2", Known(Limits(WINDOW, 32_000), _price(15, 75))),  # dated, such as claude-opus-4-20250514
    ("claude-sonnet-4", Known(Limits(WINDOW, 64_000), _price(3, 15))),
    ("claude-haiku-4", Known(Limits(WINDOW, 64_000), _price(1, 5))),
)
# Words of other agents for models of theirs.
SHORT = ("sonnet", "opus", "haiku")
UNKNOWN = Known(Limits(WINDOW, REPLY), None)


def known(name: str) -> Known:
    """What is known of a model; of one that is not in the list, what holds for any of the API, without a price."""
    return next((each for begins, each in FAMILIES if name.startswith(begins)), UNKNOWN)


class Models:
    """What names of models stand for, and what is known of each: the setting `models` before what is known here."""

    def __init__(self, setting: Callable[[], Mapping[str, Mapping[str, Any]]] = dict) -> None:
        """`setting`: what the setting says now."""
        self._setting = setting

    def named(self, name: str) -> str:
        """The model that a name stands for, "" for a word of other agents that nobody has given a meaning."""
        found = str(self._setting().get(name, {}).get("name", name))
        return "" if found in SHORT else found

    def known(self, name: str) -> Known:
        """What is known of a model, by its name or a short one."""
        name = self.named(name)
        said, found = self._setting().get(name, {}), known(name)
        limits = found.limits.replace(**{key: said[key] for key in ("window", "reply") if key in said})
        price = said.get("price")
        return Known(limits, found.price if price is None else _set_price(price))

    def price(self, name: str) -> Price | None:
        """What a model costs, None where nobody knows."""
        return self.known(name).price


def _set_price(given: Mapping[str, int]) -> Price:
    usual = _price(given["read"] / _CENTS, given["said"] / _CENTS)
    said = {key: given[key] / _CENTS for key in ("cached", "kept") if key in given}
    return usual.replace(**said)
