"""Hooks that a person has put aside for a while: until when, and for which project.

During a pause foreign agents' calls are held to the organisation's layer and to `builtin` alone, which protects the
system, secrets and the gate itself; what those say nothing of is left to the agent's own rules. It is kept in the
user's state folder, which no call may write; a file that somebody else could have written pauses nothing.
"""

from __future__ import annotations

import json
import os

from gateway.core.cache import read_owned, replace_whole
from gateway.core.errors import ConfigError, Problem
from gateway.core.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from gateway.config.layers import Setting

FILE = "pause.json"
LONGEST = 24 * 3600.0  # seconds


class Pause(Value):
    """`since`, `until`: seconds since 1970. `root`: the project that it is for, "" for every one."""

    since: float
    until: float
    root: str = ""

    def holds(self, root: str, now: float) -> bool:
        """Whether hooks of this project are paused. Never before it began: the clock may have been put back."""
        return self.since <= now < min(self.until, self.since + LONGEST) and self.root in ("", root)


def is_open(settings: Mapping[str, Setting]) -> bool:
    """Whether policy lets a person pause at all."""
    setting = settings.get("pause")
    return setting is None or setting.value is True


def known(state: str) -> tuple[Pause, ...]:
    """Every pause that is kept, also those that are over; none where the file cannot be trusted."""
    data = read_owned(os.path.join(state, FILE))
    if data is None:
        return ()
    try:
        found = tuple(Pause(float(each["since"]), float(each["until"]), each["root"]) for each in json.loads(data))
    except (ValueError, TypeError, KeyError):
        return ()
    return found if all(each.root.__class__ is str for each in found) else ()


def pause_of(state: str, root: str, settings: Mapping[str, Setting], now: float) -> Pause | None:
    """The pause that holds for a project by now, None where there is none or policy does not let it be."""
    holding = [each for each in known(state) if each.holds(root, now)] if is_open(settings) else []
    return max(holding, key=lambda each: each.until, default=None)


def begin(state: str, pause: Pause) -> None:
    """Keeps it, in place of an earlier one for the same project. Raises ConfigError where that cannot be."""
    _write(state, [each for each in known(state) if each.until > pause.since and each.root != pause.root], pause)


def end(state: str, root: str | None) -> tuple[Pause, ...]:
    """Ends those that hold for this project, None for all there are. Gives those. Raises ConfigError where that cannot
    be."""
    found = known(state)
    ended = tuple(each for each in found if root is None or each.root in ("", root))
    if ended:
        _write(state, [each for each in found if each not in ended])
    return ended


def _write(state: str, kept: list[Pause], *more: Pause) -> None:
    path = os.path.join(state, FILE)
    data = json.dumps([each.as_dict() for each in (*kept, *more)], indent=1).encode() + b"\n"
    try:
        os.makedirs(state, mode=0o700, exist_ok=True)
        replace_whole(path, data)
    except OSError as error:
        raise ConfigError(
            Problem(f"the pause cannot be kept: {error.strerror}", file=path, remedy="make the folder writable")
        ) from error
    if read_owned(path) is None:
        raise ConfigError(
            Problem("the pause must be kept where nobody else can write", file=path, remedy=f"run `chmod 700 {state}`")
        )
