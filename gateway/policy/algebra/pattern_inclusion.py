"""Whether all that some patterns match is matched by others. What cannot be decided counts as no."""

from __future__ import annotations

from gateway.policy.algebra import dimensions
from gateway.policy.algebra.languages import UndecidedError, shortest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


def paths_within(narrow: Sequence[str], wide: Sequence[str]) -> bool:
    """Of normalised path patterns."""
    among = dimensions.everything("path").among
    try:
        return shortest((dimensions.paths(narrow), among), (dimensions.paths(wide),)) is None
    except UndecidedError:
        return False


def hosts_within(narrow: Sequence[str], wide: Sequence[str]) -> bool:
    """Of patterns of hosts. Raises ValueError for what is none."""
    try:
        left = dimensions.hosts(narrow, grow=True).without(dimensions.hosts(wide, grow=False))
        return all(each.sample() is None for each in left)
    except UndecidedError:
        return False
