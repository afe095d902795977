"""The person at the terminal decides what becomes of what a call has changed: kept, in part or whole, or discarded.

Silence and the end of input are no answer: then nothing is kept and nothing is lost.
"""

from __future__ import annotations

import termios
from time import monotonic

from gateway.approval.base import Decided
from gateway.approval.terminal import PASTED, forget_input, typed_line, write

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from gateway.approval.base import Review

    # The text for an output on that descriptor, with the differences of the files or without.
    ShowReview = Callable[[Review, int, bool], str]

_TRIES = 10
_LONGEST = 4_000
_FOR_REAL = (("f", "discard it and run the call once more, on your files; `gateway undo` takes that back"),)


def ask(review: Review, show: ShowReview, reading: int, writing: int, seconds: float, by: str) -> Decided | None:
    """What they decide, None where they do not."""
    try:
        return _dialog(review, show, reading, writing, seconds, by)
    except (OSError, termios.error):
        return None  # the terminal is gone


def _dialog(review: Review, show: ShowReview, reading: int, writing: int, seconds: float, by: str) -> Decided | None:
    text = show(review, writing, False) + _choices(review)
    end = monotonic() + seconds
    for _ in range(_TRIES):
        forget_input(reading)
        write(writing, text)
        line = typed_line(reading, end - monotonic(), review.cancelled, _LONGEST)
        if line is None:
            write(writing, "\n")
            return None
        if line == "d":
            text = show(review, writing, True) + _prompt(review)
            continue
        found = _understood(line, review, by)
        if isinstance(found, Decided):
            return found
        text = f"{found} {_prompt(review)}"
    return None


def _understood(line: str, review: Review, by: str) -> Decided | str:
    """What a line decides, or what is wrong with it."""
    word, _, more = line.partition(" ")
    if word in ("n", "no"):
        return Decided(False, by, note=more.strip())
    if line in ("y", "yes") and not _in_conflict(review):
        return Decided(True, by)
    if line == "s" and review.session and not _in_conflict(review):
        return Decided(True, by, session=True)
    if line == "r" and _in_conflict(review):
        return Decided(True, by, rest=True)
    if line == "f" and review.real:
        return Decided(False, by, real=True)
    if word == "k" and more.strip():
        names = tuple(more.split())
        known = {change.path for change in review.found.changes}
        lost = [name for name in names if not any(f"{each}/".startswith(f"{name.rstrip('/')}/") for each in known)]
        if lost:
            return (
                f"Nothing of the kind of `{lost[0]}` was changed; write names as they are shown, with blanks between."
            )
        return Decided(True, by, only=tuple(name.rstrip("/") for name in names), rest=True)
    return "That is none of the answers, and nothing is kept yet." if line not in ("", PASTED) else ""


def _in_conflict(review: Review) -> bool:
    return bool(review.found.missed)


def _offered(review: Review) -> list[tuple[str, str]]:
    conflict = _in_conflict(review)
    keep = [("r", "keep the rest; what is named above stays as it is")] if conflict else [("y", "keep all of it")]
    if not review.found.changes:
        return [
            *(_FOR_REAL if review.real else ()),
            ("n", "leave it at that; what you write behind it is told to the model"),
        ]
    has_session = review.session and not conflict
    session = [("s", "keep it, and for this session what the same call changes in these files")] if has_session else []
    return [
        ("d", "show the differences"),
        *keep,
        ("k", "keep some: `k NAME ...`, files or folders as they are shown"),
        *session,
        *(_FOR_REAL if review.real else ()),
        ("n", "discard it; what you write behind it is told to the model"),
    ]


def _prompt(review: Review) -> str:
    return f"Keep it? [{'/'.join(key for key, _ in _offered(review))}] "


def _choices(review: Review) -> str:
    return "\n" + "".join(f"  {key}  {what}\n" for key, what in _offered(review)) + _prompt(review)
