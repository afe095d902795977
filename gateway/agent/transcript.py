"""What was said and done in a session of the agent, as JSON Lines that it can be taken up from.

A line is written by one call of the kernel when it happens, so a process that is killed leaves all lines whole but at
most the last one, which then counts as not written. What is in it belongs to the user alone: file 0600, folder 0700.
"""

from __future__ import annotations

import json
import os
import time

from gateway.core.errors import ConfigError, Problem
from gateway.core.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

    from gateway.llm.model import Block, Message

VERSION = 1
MOST_BYTES = 1 << 30
START, USER, ASSISTANT, BEGUN, RESULT, SESSION, ENDED, AGAIN, CLEARED, SUMMARY = KINDS = (
    "start", "user", "assistant", "begun", "result", "session", "ended", "again", "cleared", "summary",
)  # fmt: skip
UNKNOWN = (
    "It is not known what became of this call: the session ended while it ran. Look at what is there before you do it "
    "again."
)
NOT_BEGUN = "This call did not run: the session ended before its turn came."
CLEARED_TEXT = "[gateway] This result was taken out to make room. Make the call again if you need what it said."


class Transcript:
    """The file of one session, written to. Safe to use from several threads: each line is written whole."""

    def __init__(self, path: str) -> None:
        """Goes on with the file, or begins it. Raises ConfigError when that cannot be."""
        self.path = path
        try:
            os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
            flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
            self._file = os.open(path, flags, 0o600)
        except OSError as error:
            remedy = "make its folder writable, or go on without a transcript (`--no-transcript`)"
            raise ConfigError(Problem(f"cannot be written: {error.strerror}", file=path, remedy=remedy)) from error
        self._lock()
        self._mend()

    def _lock(self) -> None:
        """One session is written by one process. Raises ConfigError where another one does."""
        import fcntl

        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(self._file)
            remedy = "wait until it has ended"
            message = "this session is going on in another process"
            raise ConfigError(Problem(message, file=self.path, remedy=remedy)) from error

    def _mend(self) -> None:
        """Takes away the part of a line that a killed process has left."""
        size = os.fstat(self._file).st_size
        at = size
        while at and os.pread(self._file, 1, at - 1) != b"\n":
            at -= 1
        if at != size:
            os.ftruncate(self._file, at)

    def write(self, kind: str, **what: Any) -> None:
        """Adds a line. Raises OSError when that cannot be: then the session must not go on as if it were kept."""
        line = json.dumps({"type": kind, "time": time.time(), **what}, ensure_ascii=True, separators=(",", ":"))
        data = line.encode() + b"\n"
        written = os.write(self._file, data)
        if written != len(data):
            os.ftruncate(self._file, os.fstat(self._file).st_size - written)
            raise OSError(28, "the line could not be written whole", self.path)

    def close(self) -> None:
        """Nothing is written any more."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1


class Past(Value):
    """A session as its transcript tells it. `messages`: the conversation, with every call answered; `unknown`: ids of
    calls of which nobody knows what became; `used`: tokens by kind; `cwd`, `mode`, `rules`: where it stood; `why`: how
    it ended, "" if it was cut off; `mail`: numbers of the messages that were taken in."""

    start: Mapping[str, Any]
    messages: tuple[Message, ...]
    unknown: tuple[str, ...]
    turns: int
    used: Mapping[str, int]
    cwd: str
    mode: str
    rules: tuple[str, ...]
    why: str
    mail: tuple[int, ...] = ()


def read(path: str) -> Past:
    """Raises ConfigError for a file that is missing, or no transcript, with the line that is wrong."""
    reader = _Reader()
    for _line in _taken(reader, path):
        pass
    return reader.past()


def lines(path: str) -> Iterator[Mapping[str, Any]]:
    """Each line of a transcript, as it was written. Raises ConfigError as `read` does."""
    return _taken(_Reader(), path)


def _taken(reader: _Reader, path: str) -> Iterator[Mapping[str, Any]]:
    """Each line, once the reader has found that it fits those before it."""
    try:
        with open(path, "rb") as file:
            if os.fstat(file.fileno()).st_size > MOST_BYTES:
                raise ConfigError(Problem(f"a transcript must have at most {MOST_BYTES >> 30} GiB", file=path))
            for number, line in enumerate(file, 1):
                if line.endswith(b"\n"):  # else it was cut off
                    yield _take(reader, line, number, path)
    except OSError as error:
        raise ConfigError(Problem(f"cannot be read: {error.strerror}", file=path)) from error
    if reader.start is None:
        raise ConfigError(Problem("the transcript does not begin with the start of a session", file=path))


def _take(reader: _Reader, line: bytes, number: int, path: str) -> Mapping[str, Any]:
    try:
        found: dict[str, Any] = json.loads(line)
        reader.take(found)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        remedy = "cut the file off before this line to take up the session from there"
        said = f": {error}" if isinstance(error, _WrongLine) else ""  # others' words may be the file's
        message = f"this is no line of a transcript{said}"
        raise ConfigError(Problem(message, file=path, line=number, remedy=remedy)) from error
    return found


class _WrongLine(ValueError):
    """A line that does not fit those before it; the message is ours alone."""


class _Reader:
    """Line by line; one use."""

    def __init__(self) -> None:
        self.start: dict[str, Any] | None = None
        self.messages: list[Message] = []
        self.waiting: tuple[str, ...] = ()
        self.results: dict[str, Block] = {}
        self.begun: set[str] = set()
        self.unknown: list[str] = []
        self.mail: list[int] = []
        self.turns = 0
        self.used: dict[str, int] = {}
        self.cwd = self.mode = self.why = ""
        self.rules: tuple[str, ...] = ()

    def take(self, line: dict[str, Any]) -> None:
        kind = line["type"]
        if (self.start is None) != (kind == START):
            raise _WrongLine("the start of a session must be its first line and no other")
        if kind == START:
            if line["version"] != VERSION:
                raise _WrongLine(f"version must be {VERSION}")
            self.start = line
            self._stands(line)
        elif kind == USER:
            self._answer()
            self._say("user", line["content"])
            if "mail" in line:
                self.mail.append(line["mail"])
        elif kind == ASSISTANT:
            self._answer()
            self.messages.append({"role": "assistant", "content": line["content"]})
            self.waiting = tuple(block["id"] for block in line["content"] if block["type"] == "tool_use")
            self.turns += 1
            self._count(line["usage"])
        elif kind == BEGUN:
            self.begun.add(line["id"])
        elif kind == RESULT:
            self.results[line["block"]["tool_use_id"]] = line["block"]
        elif kind == SESSION:
            self._stands(line)
        elif kind == CLEARED:
            self._answer()
            self.messages = without_results(self.messages, frozenset(line["ids"]))
        elif kind == SUMMARY:
            self._answer()
            self.messages = [{"role": "user", "content": line["content"]}]
            self._count(line["usage"])
        elif kind == ENDED:
            self.why = line["why"]
        elif kind != AGAIN:  # a reply that failed: nothing came of it
            raise _WrongLine("its type is not known")
        if kind != ENDED:
            self.why = ""

    def _count(self, usage: Mapping[str, int]) -> None:
        for name, count in usage.items():
            self.used[name] = self.used.get(name, 0) + int(count)

    def _stands(self, line: dict[str, Any]) -> None:
        self.cwd, self.mode, self.rules = line["cwd"], line["mode"], tuple(line["rules"])

    def _answer(self) -> None:
        """Every call must have its result before anything else is said."""
        if not self.waiting:
            return
        found = []
        for each in self.waiting:
            block = self.results.get(each)
            if block is None:
                has_begun = each in self.begun
                if has_begun:
                    self.unknown.append(each)
                block = told(each, UNKNOWN if has_begun else NOT_BEGUN)
            found.append(block)
        self._say("user", found)
        self.waiting, self.results = (), {}
        self.begun.clear()

    def _say(self, role: str, content: Sequence[Block]) -> None:
        """Neighbours of one role are one message, as the API wants them."""
        if self.messages and self.messages[-1]["role"] == role:
            content = [*self.messages.pop()["content"], *content]
        self.messages.append({"role": role, "content": list(content)})

    def past(self) -> Past:
        self._answer()
        assert self.start is not None
        return Past(
            self.start,
            tuple(self.messages),
            unknown=tuple(self.unknown),
            turns=self.turns,
            used=self.used,
            cwd=self.cwd,
            mode=self.mode,
            rules=self.rules,
            why=self.why,
            mail=tuple(self.mail),
        )


def without_results(messages: Sequence[Message], ids: frozenset[str]) -> list[Message]:
    """A conversation in which the results of some calls are taken out, each with a sentence in its place."""
    found: list[Message] = []
    for message in messages:
        content = message["content"]
        if message["role"] == "user" and not isinstance(content, str):
            blocks = [
                {**block, "content": CLEARED_TEXT} if block.get("tool_use_id") in ids else block for block in content
            ]
            message = {"role": "user", "content": blocks}
        found.append(message)
    return found


def told(use_id: str, text: str) -> Block:
    """The result of a call that did not work, with one sentence that says why."""
    return {"type": "tool_result", "tool_use_id": use_id, "content": text, "is_error": True}
