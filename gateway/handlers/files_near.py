"""Suggestions for a missing file: similar names beside it that Read may see."""

from __future__ import annotations

import os

from gateway.calls.output import Failure
from gateway.files.opening import way_to
from gateway.policy.wording import visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from gateway.files.opening import Place

MOST_NAMES = 2_000
MOST_SHOWN = 3


def near(place: Place, may_read: Callable[[str], bool]) -> str:
    """A sentence that names them, "" if there are none. Never raises."""
    from difflib import get_close_matches

    folder, _, name = place.real.rpartition("/")
    try:
        with way_to(place) as way:
            listed = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=way.folder)
            try:
                names = sorted(os.listdir(listed)[:MOST_NAMES])
            finally:
                os.close(listed)
    except (OSError, Failure):
        return ""
    folded = {each.casefold(): each for each in names}
    alike = [folded[each] for each in get_close_matches(name.casefold(), folded, n=MOST_SHOWN, cutoff=0.75)]
    found = [visible(path) for each in alike if may_read(path := f"{folder}/{each}")]
    return f"Did you mean {' or '.join(found)}?" if found else ""
