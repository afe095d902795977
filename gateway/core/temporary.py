"""Where folders of the gateway's own are made among the system's temporary files."""

from __future__ import annotations

import os
from functools import lru_cache

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

DIGITS = 24
_USUAL = ("/tmp", "/var/tmp")


def reserved(prefix: str, outside: Iterable[str]) -> str:
    """A path that nobody can foresee: in the system's temporary folder, or, where that lies in a tree of `outside`,
    which commands may write, in another one."""
    trees = tuple(each.rstrip("/") + "/" for each in outside)
    usable = _places(os.environ.get("TMPDIR", ""))
    place = next((each for each in usable if not (each + "/").startswith(trees)), usable[-1])
    return os.path.join(place, prefix + os.urandom(DIGITS // 2).hex())


@lru_cache(maxsize=4)
def _places(wanted: str) -> tuple[str, ...]:
    """Temporary folders that are there, the one that is wanted first."""
    found = (os.path.realpath(each) for each in (wanted, *_USUAL) if each.startswith("/"))
    return tuple(each for each in found if os.path.isdir(each)) or _USUAL[:1]
