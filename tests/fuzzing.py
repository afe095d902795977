"""How hard property tests search: little and always the same in the suite, much and at random in `scripts/fuzz`."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

# How many examples a long run tries of each property; "" in the suite.
LONG = os.environ.get("GATEWAY_FUZZ_EXAMPLES", "")


def search(examples: int) -> settings:
    """The settings of a property that tries so many examples in the suite."""
    slow = (HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.function_scoped_fixture)
    if LONG:
        return settings(max_examples=int(LONG), deadline=None, suppress_health_check=slow, print_blob=True)
    return settings(max_examples=examples, deadline=None, derandomize=True, database=None, suppress_health_check=slow)
