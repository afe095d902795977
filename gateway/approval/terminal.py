"""A terminal at which a person is asked: one question at a time, and nobody answers what was not shown."""

from __future__ import annotations

import os
import select
import termios
import threading
from contextlib import contextmanager, suppress
from time import monotonic

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator
    from typing import TypeVar

    T = TypeVar("T")

TERMINAL = "/dev/tty"
SECONDS = 300.0
MOST_TYPED = 256
PASTED = "?"
_LOOK_EVERY = 0.5
# Seconds before a key by itself is an answer, and in which nothing may follow it.
SETTLED, ALONE = 0.5, 0.2
# The end of input as a key; and as it is read where it was pressed before keys were read one by one.
_ENDS, _BACK = (b"", b"\x04", b"\0"), b"\x08\x7f"

# One question at a time on a terminal, whoever asks.
_one_at_a_time = threading.Lock()


def at_terminal(does: Callable[[int, int], T], streams: tuple[int, int] | None = None) -> T | None:
    """What comes of a dialog over the controlling terminal, whatever standard input and output are, or over the
    descriptors given; None where nobody can be asked. `does` gets where to read and where to write."""
    with _one_at_a_time:
        if streams is not None:
            return does(*streams)
        try:
            terminal = os.open(TERMINAL, os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC)
        except OSError:
            return None
        try:
            # In the background, reading would stop the process, and nobody would know why.
            if os.tcgetpgrp(terminal) != os.getpgrp():
                return None
            return does(terminal, terminal)
        except OSError:
            return None
        finally:
            os.close(terminal)


def between_questions(does: Callable[[], T], seconds: float) -> T | None:
    """What comes of something that reads at the terminal and must not take the answer to a question; None where
    questions stood there for so long."""
    if not _one_at_a_time.acquire(timeout=seconds):
        return None
    try:
        return does()
    finally:
        _one_at_a_time.release()


def pressed_or_typed(
    reading: int, writing: int, seconds: float, cancelled: Callable[[], bool], keys: Collection[str]
) -> str | None:
    """One of `keys`, pressed by itself, or else what is typed up to the end of the line, as `typed_line` gives it.

    A key alone counts only half a second after the question stood there, and if nothing follows it at once: whoever was
    typing something else, or pastes a text, has not answered."""
    if not os.isatty(reading):
        return typed_line(reading, seconds, cancelled)
    begin = monotonic()
    end = begin + seconds
    typed, is_alone = b"", False
    with _single_keys(reading):
        while not typed:
            left = end - monotonic()
            if left <= 0 or cancelled():
                return None
            if select.select([reading], [], [], min(left, _LOOK_EVERY))[0]:
                data = os.read(reading, MOST_TYPED)
                if data[:1] in _ENDS:
                    return None
                typed = data.lstrip(_BACK)
        if typed.decode("utf-8", "replace") in keys and monotonic() - begin >= SETTLED:
            is_alone = not select.select([reading], [], [], ALONE)[0]
        while len(typed) <= MOST_TYPED and select.select([reading], [], [], 0)[0]:
            more = os.read(reading, MOST_TYPED)
            if not more:
                break
            typed += more
    text = typed.decode("utf-8", "replace")
    write(writing, "".join(each for each in text.partition("\n")[0] if each.isprintable()))
    if is_alone or "\n" in text:
        write(writing, "\n")
    return text if is_alone else typed_line(reading, end - monotonic(), cancelled, begun=typed)


@contextmanager
def _single_keys(reading: int) -> Iterator[None]:
    """While it lasts, keys are read one by one and not shown. Ctrl-C means what it did."""
    before = termios.tcgetattr(reading)
    now = termios.tcgetattr(reading)
    now[3] &= ~(termios.ICANON | termios.ECHO)
    termios.tcsetattr(reading, termios.TCSADRAIN, now)
    try:
        yield
    finally:
        termios.tcsetattr(reading, termios.TCSADRAIN, before)


def typed_line(
    reading: int, seconds: float, cancelled: Callable[[], bool], most: int = MOST_TYPED, *, begun: bytes = b""
) -> str | None:
    """What is typed up to the end of the line; None for silence and for the end of input, `PASTED` for a text that
    was pasted, whose first line may look like an answer. `begun`: what was read of it already."""
    end = monotonic() + seconds
    typed = begun
    while b"\n" not in typed:
        left = end - monotonic()
        if len(typed) > most:
            forget_input(reading)  # the rest of it is no line for whoever reads here next, such as a shell
            return None
        if left <= 0 or cancelled():
            return None
        if not select.select([reading], [], [], min(left, _LOOK_EVERY))[0]:
            continue
        data = os.read(reading, most)
        if not data:
            return None
        typed += data
    line, _, more = typed.partition(b"\n")
    if more or select.select([reading], [], [], 0)[0]:
        forget_input(reading)
        return PASTED
    return line.decode("utf-8", "replace").strip()


# Whatever a program was in the midst of telling the terminal ends here, a text for its title say, and nothing of how it
# had it look holds: colours, and those that stand for them, other signs for letters, a part of the screen only.
_AS_USUAL = "\x18\x1b\\\x1b[!p\x1b[0m\x1b(B\x0f\x1b[r\x1b]104\x1b\\\x1b]110\x1b\\\x1b]111\x1b\\\x1b[999;1H\n"


@contextmanager
def as_usual(reading: int, writing: int) -> Iterator[None]:
    """A terminal that a program has used until now shows what is written, and gives what is typed line by line, as long
    as the block runs. What is typed is read as the program had it afterwards."""
    before = termios.tcgetattr(reading) if os.isatty(reading) else None
    if before is not None:
        now = [*before]
        now[0] |= termios.ICRNL
        now[1] |= termios.OPOST | termios.ONLCR
        now[3] |= termios.ICANON | termios.ECHO | termios.ISIG
        termios.tcsetattr(reading, termios.TCSANOW, now)
    try:
        if os.isatty(writing) and os.environ.get("TERM") != "dumb":
            write(writing, _AS_USUAL)
        yield
    finally:
        if before is not None:
            with suppress(termios.error):  # it may be gone
                termios.tcsetattr(reading, termios.TCSANOW, before)


def forget_input(descriptor: int) -> None:
    """Throws away what was typed and not read yet."""
    if os.isatty(descriptor):
        termios.tcflush(descriptor, termios.TCIFLUSH)


def write(descriptor: int, text: str) -> None:
    """Writes all of it, what the terminal cannot show as escapes."""
    data = text.encode("utf-8", "backslashreplace")
    while data:
        data = data[os.write(descriptor, data) :]


def user() -> str:
    """Who runs this process."""
    import pwd

    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        return f"user {os.geteuid()}"
