"""`gateway check --batch`: a call on each line in, a verdict on each line out, in the same order.

A line that cannot be judged is answered with an error and `deny`, and the next one is judged as if nothing had
happened. Lines are JSON objects: `{"id", "tool", "input"}` or `{"id", "call": "Bash(…)"}`, both with optional
`cwd` and `mode`. Policies are read once, when the batch starts.
"""

from __future__ import annotations

import os
import stat
import sys
from time import monotonic, perf_counter_ns

from gateway.config.load import project_root
from gateway.core.errors import (
    EXIT_ALLOW,
    EXIT_ASK,
    EXIT_DENY,
    EXIT_INTERNAL,
    EXIT_USAGE,
    CallError,
    ConfigError,
    GatewayError,
    Problem,
)
from gateway.frontends.jsontext import MAX_BYTES, dumps, read_json
from gateway.frontends.output import complain, failure, write
from gateway.frontends.session import check_mode, enforced, folder, upgraded
from gateway.frontends.workers import Workers, chunks, workers_for
from gateway.judge.judge import Judge
from gateway.model.call import RawCall
from gateway.policy.condensed import condensed
from gateway.policy.explain import explain
from gateway.tools.text import parse_call_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any, BinaryIO

    from gateway.model.context import Context
    from gateway.policy.confine import Enforced

KEYS = frozenset({"id", "tool", "input", "call", "cwd", "mode"})
MAX_GATEWAYS = 16
MAX_CONTEXTS = 256
_CHUNK = 1 << 16
_STATUS = {"allow": EXIT_ALLOW, "ask": EXIT_ASK, "deny": EXIT_DENY}
_SEVERITY = (EXIT_ALLOW, EXIT_ASK, EXIT_DENY, EXIT_USAGE, EXIT_INTERNAL)


def run_batch(gateway: Judge, path: str, *, full: bool = False) -> int:
    """Judges every line of a file, or of standard input for `-`. The exit status is that of the strictest answer;
    2 if any line could not be judged, 1 if any failed for a fault of ours. `full`: nothing is left out of answers."""
    lines = Lines(gateway, full=full)
    with _opened(path) as file:
        about = os.fstat(file.fileno())
        if path == "-" or not stat.S_ISREG(about.st_mode):
            for line in lines_of(file):
                if answer := lines.answer(line):
                    write(answer + "\n")
            return lines.status
        progress = Progress(sys.stderr is not None and sys.stderr.isatty())
        for text in _answers(lines, path, file, workers_for(about.st_size)):
            write(text)
            progress.show(lines.judged)
        progress.clear()
    return lines.status


def _answers(lines: Lines, path: str, file: BinaryIO, count: int) -> Iterator[str]:
    """The answers to the lines of a file, some at a time, in order."""
    if count == 1:
        for chunk in chunks(lines_of(file)):
            yield lines.chunk(chunk)[0]
        return
    from gateway.core.gc_pause import keep

    keep()  # what is loaded stays; looking through it for garbage would also copy it for every process

    def opened() -> Iterator[list[bytes | None]]:
        with open(path, "rb") as again:
            yield from chunks(lines_of(again))

    workers = Workers(count, opened, Lines(lines.gateway, full=lines.full).chunk)
    try:
        for index, chunk in enumerate(chunks(lines_of(file))):
            found = workers.answer(index)
            if found is None:
                yield lines.chunk(chunk)[0]
                continue
            text, judged, status = found
            lines.count(judged, status)
            yield text
    finally:
        workers.close()


def _opened(path: str) -> BinaryIO:
    try:
        if path == "-":
            if sys.stdin is None:
                raise ConfigError("--batch must be on standard input (got a closed one)")
            return open(sys.stdin.fileno(), "rb", closefd=False)
        return open(path, "rb")
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ConfigError(Problem(f"--batch must be a file that can be read: {reason} (got `{path}`)")) from error


def lines_of(file: BinaryIO) -> Iterator[bytes | None]:
    """The lines of a file as they come; None for one that is too long, of which no more than the bound is kept."""
    readline = file.readline
    while line := readline(MAX_BYTES):
        if len(line) < MAX_BYTES or line.endswith(b"\n"):
            yield line
            continue
        while (rest := readline(_CHUNK)) and not rest.endswith(b"\n"):
            pass
        yield None


class Lines:
    """Answers lines; remembers the gateways and contexts of the folders and modes that lines named."""

    def __init__(self, gateway: Judge, *, full: bool = False) -> None:
        self.gateway = gateway
        self.full = full
        self.judged = 0
        self.status = EXIT_ALLOW
        self._here: tuple[Judge, Context, Enforced] = (gateway, gateway.context, enforced(gateway))
        self._gateways: dict[tuple[str, str], tuple[Judge, Enforced]] = {}
        self._contexts: dict[tuple[str | None, str | None], tuple[Judge, Context, Enforced]] = {}

    def answer(self, line: bytes | None) -> str | None:
        """The answer to one line, None for a blank one. Never raises for what the line holds."""
        name: Any = None
        try:
            if line is None:
                raise CallError(Problem(f"line must be at most {MAX_BYTES:,} bytes"))
            if line.isspace():
                return None
            started = perf_counter_ns()
            given = read_json(line, "line")
            if given.__class__ is not dict:
                raise CallError(Problem("line must be a JSON object"))
            name = given["id"] if given.get("id").__class__ is int else None
            _check_keys(given)
            name = given.get("id")
            _check_call(given)
            gateway, context, holds = self._place(given) if "cwd" in given or "mode" in given else self._here
            raw = _raw_call(gateway, given)
            verdict = gateway.check(raw, context)
            found = explain(verdict, enforced=holds)
            found["normalised"] += upgraded(raw, verdict)
            found["elapsed_us"] = (perf_counter_ns() - started) // 1000
            text = dumps({"id": name, **(found if self.full else condensed(found))})
        except Exception as error:  # whatever it is, this line is refused and the next one judged
            self._worsen(EXIT_USAGE if isinstance(error, GatewayError) else EXIT_INTERNAL)
            return dumps({"id": name, **failure(error)})
        self.judged += 1
        self._worsen(_STATUS[found["decision"]])
        return text

    def chunk(self, lines: list[bytes | None]) -> tuple[str, int, int]:
        """The answers to some lines, how many of them were judged, and the status of all so far."""
        before = self.judged
        answers = [answer for line in lines if (answer := self.answer(line)) is not None]
        return "\n".join([*answers, ""]), self.judged - before, self.status

    def count(self, judged: int, status: int) -> None:
        """Takes over what another judge has done."""
        self.judged += judged
        self._worsen(status)

    def _worsen(self, status: int) -> None:
        if _SEVERITY.index(status) > _SEVERITY.index(self.status):
            self.status = status

    def _place(self, given: dict[str, Any]) -> tuple[Judge, Context, Enforced]:
        """The gateway and context for a line's own folder and mode."""
        cwd, mode = given.get("cwd"), given.get("mode")
        for key, value in (("cwd", cwd), ("mode", mode)):
            if key in given and value.__class__ is not str:
                raise CallError(Problem(f"`{key}` must be a text"))
        found = self._contexts.get((cwd, mode))
        if found is None:
            if len(self._contexts) >= MAX_CONTEXTS:
                self._contexts.clear()
            found = self._contexts[cwd, mode] = self._new_place(cwd, mode)
        return found

    def _new_place(self, cwd: str | None, mode: str | None) -> tuple[Judge, Context, Enforced]:
        if mode is not None:
            check_mode(mode)
        options = self.gateway.options
        here = options.cwd if cwd is None else os.path.realpath(folder(os.path.join(options.cwd, cwd), "`cwd`"))
        root = options.root if cwd is None else project_root(here)
        key = (root, mode or options.mode)
        found = self._gateways.get(key)
        if found is None:
            if len(self._gateways) >= MAX_GATEWAYS:
                self._gateways.clear()
            gateway = Judge(
                options.replace(cwd=here, root=root, mode=key[1]),
                where=self.gateway.places,
                confined=self.gateway.context.confined,
                host=self.gateway.host,
                environment=self.gateway.environment,
                contains=self.gateway.contains,
            )
            found = self._gateways[key] = (gateway, enforced(gateway))
        return found[0], found[0].context.replace(cwd=here), found[1]


def _check_keys(given: dict[str, Any]) -> None:
    """Raises CallError for what is no line of ours; nothing of it is told, and no `id` but a number: the file may be
    any."""
    if not KEYS.issuperset(given):
        raise CallError(Problem(f"line must have no key but {', '.join(sorted(KEYS))}"))


def _check_call(given: dict[str, Any]) -> None:
    if "call" not in given and "tool" not in given:
        raise CallError(Problem("line must have a text as `tool` and an object as `input`, or a `call`"))


def _raw_call(gateway: Judge, given: dict[str, Any]) -> RawCall:
    """The call that a line holds. Raises CallError."""
    if "call" in given:
        text = given["call"]
        if text.__class__ is not str or "tool" in given or "input" in given:
            raise CallError(Problem("line must have a text as `call`, or `tool` and `input`, but not both"))
        return parse_call_text(gateway.registry, text)
    tool, fields = given.get("tool"), given.get("input")
    if tool.__class__ is not str or fields.__class__ is not dict:
        raise CallError(Problem("line must have a text as `tool` and an object as `input`, or a `call`"))
    return RawCall(tool, fields)


class Progress:
    """How many calls were judged, on standard error, for a person who waits for more than a moment."""

    def __init__(self, wanted: bool) -> None:
        self.wanted = wanted
        self.next = monotonic() + 2.0
        self.shown = False

    def show(self, count: int) -> None:
        """Says how many there are, at most twice a second, and not before two seconds have gone."""
        if self.wanted and monotonic() >= self.next:
            self.next = monotonic() + 0.5
            self.shown = True
            complain(f"\r{count:,} calls judged")

    def clear(self) -> None:
        """Takes the line away, if one was shown."""
        if self.shown:
            complain("\r\x1b[K")
