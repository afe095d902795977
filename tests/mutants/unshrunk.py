"""A plugin of pytest: properties try the same examples for each mutant, and one that fails is not made smaller."""

from __future__ import annotations

import fuzzing as fuzzing  # loads the profile of all properties: once only, so that this one stays
from hypothesis import Phase, settings

settings.register_profile(
    "mutants", settings.get_profile("gateway"), derandomize=True, database=None, phases=(Phase.explicit, Phase.generate)
)
settings.load_profile("mutants")
