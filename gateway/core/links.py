"""The way of a path, name by name, as the kernel goes it: for all who must look at each link on it, not only at where
it ends."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    # A name on the way, where it leads if it is a link ("" if it is none), whether it is the last one, and whether `..`
    # follows somewhere behind it.
    Step = tuple[str, str, bool, bool]

MOST_LINKS = 40  # as Linux has it


def target(path: str) -> str:
    """What a link of this machine says, "" where a name is none."""
    try:
        return os.readlink(path)
    except (OSError, ValueError):
        return ""


def way(path: str, leads: Callable[[str], str] = target) -> tuple[str, list[Step]]:
    """Where an absolute path ends, "" where more links follow each other than the kernel would, and every name on the
    way to there, each as an absolute path in which nothing above the name is a link. `leads`: what a link says, "" for
    what is none; whatever it raises comes out. What is not there leads on by its name."""
    pending = path.split("/")[::-1]
    place = ""
    steps: list[Step] = []
    links = 0
    while pending:
        name = pending.pop()
        if name in ("", "."):
            continue
        if name == "..":
            place = place[: max(place.rfind("/"), 0)]
            continue
        here = f"{place}/{name}"
        text = leads(here)
        steps.append((here, text, not any(each not in ("", ".") for each in pending), ".." in pending))
        if not text:
            place = here
            continue
        links += 1
        if links > MOST_LINKS:
            return "", steps
        if text[:1] == "/":
            place = ""
        pending += text.split("/")[::-1]
    return place or "/", steps
