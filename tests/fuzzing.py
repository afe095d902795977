"""How hard tests try: little in every run, much in `scripts/thorough`, for minutes and at random in `scripts/fuzz`."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, TypeVar
from zlib import crc32

import pytest
from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    from collections.abc import Iterable

# Whether time is no concern: `scripts/thorough` says so.
THOROUGH = os.environ.get("GATEWAY_THOROUGH", "") == "1"
# How many examples a long run tries of each property; "" in the suite.
LONG = os.environ.get("GATEWAY_FUZZ_EXAMPLES", "")
EXAMPLES = 500 if THOROUGH else 20

# The time that an example takes says more of what else the machine does than of the property.
settings.register_profile(
    "gateway",
    max_examples=EXAMPLES,
    deadline=None,
    derandomize=bool(os.environ.get("CI")),  # the same examples in every run there; other runs look for new ones
    suppress_health_check=(HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.function_scoped_fixture),
)
settings.load_profile("gateway")

# The settings of a property that tries the same examples in every run, and others in `scripts/fuzz` alone.
SEARCH = settings(max_examples=int(LONG), print_blob=True) if LONG else settings(derandomize=True, database=None)

Case = TypeVar("Case")


def share(cases: Iterable[Case], of: int, number: int | str = 0) -> list[Case]:
    """All cases in a thorough run, else each so many-th of them, beginning with another one for another number or name:
    so that where many things meet many others, each is tried in every run, and all pairs in a thorough one. A name
    stands for the same cases in every run."""
    start = crc32(number.encode()) if isinstance(number, str) else number
    return list(cases) if THOROUGH else list(cases)[start % of :: of]


# Marks a whole test that is a thorough run's alone, as what `share` leaves is: what it shows other tests show in every
# run, and the comment beside it says which.
thorough = pytest.mark.thorough


def left_out(item: pytest.Item) -> bool:
    """Whether this run leaves a test out for that mark."""
    return not THOROUGH and item.get_closest_marker("thorough") is not None
