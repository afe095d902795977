"""One text after the other through cage and engine."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, NamedTuple

from oracle.analyst import Analyst
from oracle.cage import SECONDS, Cage
from oracle.compare import Compared, compare, paths_of
from oracle.place import HOME, ROOT, TEMP
from oracle.tracer import Event, events

CACHE = Path(__file__).parents[2] / ".pytest_cache" / "oracle"
_CHANGING = ("write", "mkdir", "delete")


class Outcome(NamedTuple):
    """What came of one text: `programs` counts those that were started, the shell not among them."""

    compared: Compared
    decision: str
    programs: int
    late: bool


class Judge:
    """A cage and an engine over the same world. Not for several threads at a time."""

    def __init__(self) -> None:
        self._cage = Cage()
        self._analyst: Analyst | None = None

    def __enter__(self) -> Judge:
        self._cage.__enter__()
        self._analyst = Analyst(self._cage.template, str(CACHE))
        return self

    def __exit__(self, *_: object) -> None:
        if self._analyst is not None:
            self._analyst.__exit__()
        self._cage.__exit__()

    def __call__(self, text: str, cwd: str = ROOT, seconds: float = SECONDS) -> Outcome:
        """Runs a text and holds what it did against what is predicted."""
        ran = self._cage.run(text, cwd, seconds)
        done = events(ran.trace, cwd)
        if ran.late or any(each.kind in _CHANGING and each.path.startswith((HOME, TEMP)) for each in done):
            self._cage.spoil()
        predicted = self.predict(text, cwd, done)
        programs = sum(each.kind == "exec" for each in done)
        return Outcome(compare(done, predicted), predicted["decision"], programs, ran.late)

    def predict(self, text: str, cwd: str, done: list[Event]) -> dict[str, Any]:
        """What the engine says of a text, with all that is needed to hold what was done against it."""
        assert self._analyst is not None
        return self._analyst.ask(text, cwd, paths_of(done))


def workers() -> int:
    return max(1, min(8, os.cpu_count() or 1))
