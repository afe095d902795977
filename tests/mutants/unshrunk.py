"""A plugin of pytest: properties try the same examples for each mutant, and one that fails is not made smaller."""

from __future__ import annotations

from hypothesis import HealthCheck, Phase, settings

settings.register_profile(
    "mutants",
    derandomize=True,
    database=None,
    deadline=None,
    phases=(Phase.explicit, Phase.generate),
    suppress_health_check=tuple(HealthCheck),
)
settings.load_profile("mutants")
