"""Running ripgrep: found, started with nothing of the surroundings, bounded, and ended when nobody waits any more.

It reads no configuration, starts no other program and follows no link. Whatever a call says stands in one argument of
its own behind the name of its option, so that no pattern is ever read as an option.
"""

from __future__ import annotations

import os
import re
import select
import subprocess
from functools import lru_cache
from time import monotonic

from gateway.calls.output import Failure
from gateway.core import products
from gateway.core.programs import Untrusted, start, trusted_program
from gateway.core.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from gateway.core.cancel import Cancel

PROGRAM = "rg"
REMEDY = f"To have it, {products.REMEDY}."
# Whatever its defaults become: nothing of the user's or the project's says how it searches.
ALWAYS = ("--no-config", "--no-follow", "--no-search-zip", "--color=never", "--no-messages", "--no-mmap")
_CHUNK = 1 << 20
_MOST_SAID = 4_000
_NO_MATCH, _FAILED = 1, 2


class Ran(Value):
    """What ripgrep printed. `cut`: why that is not all of it, "" if it is. `incomplete`: something could not be
    read."""

    output: bytes
    cut: str = ""
    incomplete: bool = False


def run(
    arguments: Sequence[str],
    *,
    folder: int | None = None,
    keep: Iterable[int] = (),
    feed: bytes = b"",
    seconds: float,
    most: int,
    cancel: Cancel | None = None,
) -> Ran:
    """Runs it to its end, to `most` bytes of output, for so many seconds, or until it is cancelled: then it is ended,
    and what it printed so far counts. `folder`: a descriptor of the folder that it works in; `keep`: further ones that
    it can read from. Raises Failure with what it says where it cannot search, or where it is not installed."""
    program = find()
    try:
        process = start(
            PROGRAM,
            [*ALWAYS, *arguments],
            program=program,
            folder="/" if folder is None else _name_of(folder),
            stdin=subprocess.PIPE if feed else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            pass_fds=tuple(keep),
            start_new_session=True,
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise Failure(f"ripgrep cannot be started: {error}.", REMEDY) from error
    with process:
        try:
            output, said, cut = _Exchange(process, feed, most, cancel).until(monotonic() + seconds)
        finally:
            process.kill()
        if cut:
            return Ran(output, cut.format(seconds=seconds))
        status = process.wait()
    if status in (0, _NO_MATCH):
        return Ran(output)
    message = said.decode("utf-8", "replace").strip()
    if status == _FAILED and not message:
        return Ran(output, incomplete=True)  # files that nobody could read are left out
    raise Failure("ripgrep cannot search for that: " + (_told(message) or f"it ended with status {status}") + ".")


def _told(message: str) -> str:
    """What ripgrep complains of, without the sentences of advice that only its command line can follow."""
    lines = "\n".join(line.removeprefix("rg: ") for line in message.splitlines())
    first, *rest = [each.strip("\n") for each in re.split(r"\n[ \t]*\n", lines) if each.strip()] or [""]
    advice = [each for text in rest for each in re.split(r"(?<=\.)\s+", text.replace("\n", " "))]
    return "\n".join([first, *(each for each in advice if "--" not in each)]).rstrip(".")


class _Exchange:
    """Writing what it reads and reading what it prints, all at once."""

    def __init__(self, process: subprocess.Popen[bytes], feed: bytes, most: int, cancel: Cancel | None) -> None:
        assert process.stdout is not None
        assert process.stderr is not None
        self._sink = process.stdin
        self._feed = memoryview(feed)
        self._most = most
        self._cancelled = cancel.fileno() if cancel is not None else -1
        self._kept: dict[int, list[bytes]] = {process.stdout.fileno(): [], process.stderr.fileno(): []}
        self._stdout, self._stderr = self._kept
        self._poll = select.poll()
        for descriptor in (*self._kept, self._cancelled):
            if descriptor >= 0:
                self._poll.register(descriptor, select.POLLIN)
        if self._sink is not None:
            os.set_blocking(self._sink.fileno(), False)
            self._poll.register(self._sink.fileno(), select.POLLOUT)

    def until(self, deadline: float) -> tuple[bytes, bytes, str]:
        """Output, what it complained of, and why it was stopped, "" if it came to its end by itself."""
        sizes = dict.fromkeys(self._kept, 0)
        open_ones = set(self._kept)
        why = ""
        while open_ones and not why:
            left = deadline - monotonic()
            if left <= 0:
                why = "it took longer than {seconds:g} s"
                break
            for descriptor, _event in self._poll.poll(left * 1000 + 1):
                if descriptor == self._cancelled:
                    why = "it was cancelled"
                    break
                if descriptor not in self._kept:
                    self._write(descriptor)
                    continue
                data = os.read(descriptor, _CHUNK)
                if not data:
                    self._poll.unregister(descriptor)
                    open_ones.discard(descriptor)
                    continue
                sizes[descriptor] += len(data)
                if descriptor == self._stdout or sizes[descriptor] <= _MOST_SAID + _CHUNK:
                    self._kept[descriptor].append(data)
                if descriptor == self._stdout and sizes[descriptor] > self._most:
                    why = "there is too much of it"
        said = b"".join(self._kept[self._stderr])[:_MOST_SAID]
        return b"".join(self._kept[self._stdout])[: self._most], said, why

    def _write(self, descriptor: int) -> None:
        try:
            self._feed = self._feed[os.write(descriptor, self._feed[:_CHUNK]) :]
        except BlockingIOError:
            return
        except BrokenPipeError:  # it has read enough
            self._feed = self._feed[:0]
        if not self._feed:
            self._poll.unregister(descriptor)
            assert self._sink is not None
            self._sink.close()


def lines_with(pattern: str, lines: bytes) -> bytes:
    """The lines in which a regular expression of ripgrep's matches, in time linear in them. Raises Failure for one that
    is none."""
    if not lines:
        return lines
    # Bytes as they are: a mark at the beginning says nothing about the encoding of what a command prints.
    arguments = ("--no-line-number", "--text", "--encoding=none", f"--regexp={pattern}", "--", "-")
    return run(arguments, feed=lines, seconds=60, most=len(lines) + 1).output


def check(pattern: str) -> None:
    """Raises Failure for a regular expression that is none."""
    lines_with(pattern, b"\n")


@lru_cache(maxsize=1)
def find() -> str:
    """The program of the package that comes with the gateway, else the system's. Raises Failure without one."""
    try:
        return trusted_program(PROGRAM)
    except Untrusted as error:
        raise Failure(f"ripgrep is not installed, so nothing can be searched ({error}).", REMEDY) from error


def _name_of(descriptor: int) -> str:
    """A path of an open folder that leads to that very folder, whatever lies at its old place by now; where the system
    has none, the path that the folder has now."""
    import fcntl

    asks = getattr(fcntl, "F_GETPATH", None)
    if asks is None:
        return f"/proc/self/fd/{descriptor}"
    return os.fsdecode(fcntl.fcntl(descriptor, asks, bytes(1024)).rstrip(b"\0"))
