"""`gateway hook AGENT`: a hook as a process, which refuses whatever happens to it.

Most agents take a hook that fails for consent. So the process that they see does nothing but wait: a child decides, and
whatever becomes of it, the parent answers: with what the child wrote whole, or with the refusal that all agents obey.
A fault, a signal, the end of memory or of time, a killed child: each ends there. The answer is written once, at last.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # `signal` would load `enum`, which waiting needs not
import os

from gateway.agents.refusal import refusal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import NoReturn

    from gateway.agents.base import Reply
    from gateway.audit.log import Log
    from gateway.engine import Gateway
    from gateway.frontends.arguments import Request
    from gateway.frontends.hook_record import Pending

DEADLINE = 10.0
MOST_SECONDS = 3600.0
MOST_BYTES = 16 << 20
_WHOLE = b"gateway-hook-answer\n"
_HEAD = 17  # status, and the lengths of both outputs
_SIGNALS = tuple(
    getattr(_signal, name)
    for name in ("SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT", "SIGALRM", "SIGUSR1", "SIGUSR2", "SIGXCPU", "SIGVTALRM")
    if hasattr(_signal, name)
)


def run(words: Sequence[str], given: bytes | None = None) -> NoReturn:
    """Answers and ends the process. `words`: what stands behind `hook`; `given`: what came on standard input, if it was
    read already."""
    try:
        _Parent(words, given).run()
    except BaseException as error:
        refuse(f"gateway refused this call because of an internal error ({type(error).__name__}).")


def refuse(reason: str) -> NoReturn:
    """Writes the refusal that all agents obey, and ends the process."""
    write(*refusal(reason))


def write(out: bytes, err: bytes, status: int) -> NoReturn:
    """Writes an answer whole and ends the process with its status; with a refusal's where it cannot be written."""
    for number in _SIGNALS:
        _signal.signal(number, _signal.SIG_IGN)
    if not _put(1, out) and status == 0:
        err, status = b"gateway refused this call: its answer cannot be written.\n", 2
    _put(2, err)
    os._exit(status)


def _put(descriptor: int, data: bytes) -> bool:
    try:
        os.set_blocking(descriptor, True)
        while data:
            data = data[os.write(descriptor, data) :]
    except OSError:
        return False
    return True


class _Parent:
    """Waits for the child that decides."""

    def __init__(self, words: Sequence[str], given: bytes | None) -> None:
        self.words = words
        self.given = given
        self.seconds = _deadline(words)
        self.child = 0

    def run(self) -> NoReturn:
        for number in _SIGNALS:
            _signal.signal(number, self._ended)
        _signal.signal(_signal.SIGPIPE, _signal.SIG_IGN)
        _signal.setitimer(_signal.ITIMER_REAL, self.seconds)
        reading, writing = os.pipe()
        blocked = _signal.pthread_sigmask(_signal.SIG_BLOCK, _SIGNALS)
        try:
            self.child = os.fork()
        except OSError:  # no process is left for us: decided here, with signals and the time still held
            _signal.pthread_sigmask(_signal.SIG_SETMASK, blocked)
            write(*_decided(self.words, self.given))
        if not self.child:
            self._be_child(reading, writing, blocked)
        _signal.pthread_sigmask(_signal.SIG_SETMASK, blocked)
        os.close(writing)
        found = _read_all(reading)
        reply = _unpacked(found)
        if reply is None:
            self._kill()
            refuse("gateway refused this call: the process that decides ended without an answer.")
        write(*reply)

    def _be_child(self, reading: int, writing: int, blocked: object) -> NoReturn:
        status = 1
        try:
            for number in _SIGNALS:
                _signal.signal(number, _signal.SIG_DFL)
            _signal.setitimer(_signal.ITIMER_REAL, self.seconds + 1)  # should nobody be left to end it
            _signal.pthread_sigmask(_signal.SIG_SETMASK, blocked)
            os.close(reading)
            nowhere = os.open(os.devnull, os.O_WRONLY)
            for stream in (1, 2):  # only the parent answers
                os.dup2(nowhere, stream)
            out, err, code = _decided(self.words, self.given)
            head = bytes((code,)) + len(out).to_bytes(8, "big") + len(err).to_bytes(8, "big")
            if _put(writing, head + out + err + _WHOLE):
                status = 0
        finally:
            os._exit(status)

    def _ended(self, number: int, _frame: object) -> NoReturn:
        self._kill()
        if number == _signal.SIGALRM:
            refuse(f"gateway refused this call: it could not be decided in {self.seconds:g} seconds.")
        refuse(f"gateway refused this call: it was ended by signal {number} before it could decide.")

    def _kill(self) -> None:
        if self.child > 0:
            try:
                os.kill(self.child, _signal.SIGKILL)
            except OSError:
                self.child = 0  # it has ended by itself


def _read_all(descriptor: int) -> bytes:
    found = []
    while chunk := os.read(descriptor, 1 << 16):
        found.append(chunk)
    return b"".join(found)


def _unpacked(found: bytes) -> tuple[bytes, bytes, int] | None:
    """The child's answer; None if it is not whole."""
    if len(found) < _HEAD + len(_WHOLE) or not found.endswith(_WHOLE):
        return None
    out, err = int.from_bytes(found[1:9], "big"), int.from_bytes(found[9:_HEAD], "big")
    if len(found) != _HEAD + out + err + len(_WHOLE):
        return None
    return found[_HEAD : _HEAD + out], found[_HEAD + out : _HEAD + out + err], found[0]


def _deadline(words: Sequence[str]) -> float:
    """The seconds that `--deadline` gives; whether it is well said is looked at later."""
    for at, word in enumerate(words):
        name, equals, value = word.partition("=")
        if name == "--deadline":
            text = value if equals else (words[at + 1] if at + 1 < len(words) else "")
            try:
                seconds = float(text)
            except ValueError:
                return DEADLINE
            return seconds if 0 < seconds <= MOST_SECONDS else DEADLINE
    return DEADLINE


def _decided(words: Sequence[str], given: bytes | None) -> tuple[bytes, bytes, int]:
    """What is answered. Never raises."""
    try:
        reply = decide(words, given, os.environ)
        return reply.stdout, reply.stderr, reply.status
    except BaseException as error:
        return refusal(f"gateway refused this call because of an internal error ({type(error).__name__}).")


# ---------------------------------------------------------------------------------------------- the child's part


def decide(words: Sequence[str], given: bytes | None, environment: Mapping[str, str]) -> Reply:
    """The answer to one event, decided by this process alone."""
    from gateway.agents.base import universal_refusal
    from gateway.frontends.arguments import HOOK, parse

    request = parse(HOOK, words)
    complaint = "its hook must be `gateway hook AGENT`, with options that it knows" if request is None else ""
    if request is not None:
        complaint = misuse(request)
    if complaint or request is None:
        return universal_refusal(f"gateway refused this call: {complaint}.")
    if given is None:
        given = _standard_input()
    if given is None or len(given) > MOST_BYTES:
        what = "what came cannot be read" if given is None else f"what came is more than {MOST_BYTES:,} bytes"
        return universal_refusal(f"gateway refused this call: {what}.")
    from gateway.frontends.hook import answer

    return answer(request.argument or "", given, environment, gateways=Cold(request), asked=asked(request))


def misuse(request: Request) -> str:
    """What is wrong with the options, "" if nothing is."""
    from gateway.agents import AGENTS
    from gateway.agents.base import WISHES
    from gateway.model.decision import MODES

    if request.argument not in AGENTS:
        return f"the agent must be one of {', '.join(AGENTS)} (got `{(request.argument or '')[:80]}`)"
    if request.unattended is not None and request.unattended not in WISHES:
        return f"--unattended must be one of {', '.join(WISHES)}"
    if request.mode is not None and request.mode not in MODES:
        return f"--mode must be one of {', '.join(MODES)}"
    if request.deadline is not None:
        try:
            seconds = float(request.deadline)
        except ValueError:
            seconds = 0.0
        if not 0 < seconds <= MOST_SECONDS:
            return "--deadline must be a number of seconds above 0"
    for name, path in (("--policies", request.policies), ("--cwd", request.cwd)):
        if path is not None and not os.path.isdir(path):
            return f"{name} must be a folder that exists"
    return ""


def asked(request: Request):  # type: ignore[no-untyped-def]  # its type would be imported by everybody
    """How the hook was started."""
    from gateway.frontends.hook import Asked

    return Asked(
        request.event or "", request.unattended or "", request.server, os.path.abspath(request.cwd or os.getcwd())
    )


def _standard_input() -> bytes | None:
    """All of standard input, up to a little more than is taken; None if there is none."""
    found, size = [], 0
    try:
        while size <= MOST_BYTES and (chunk := os.read(0, 1 << 20)):
            found.append(chunk)
            size += len(chunk)
    except OSError:
        return None
    return b"".join(found)


class Cold:
    """Who judges and records for one event (`gateway.frontends.hook.Gateways`)."""

    def __init__(self, request: Request) -> None:
        self.request = request

    def gateway(self, *, root: str, cwd: str, environment: Mapping[str, str]) -> Gateway:
        """As the options of the command line say. Raises GatewayError."""
        from gateway.engine import Gateway
        from gateway.errors import ConfigError, Problem
        from gateway.load import Options

        if not os.path.expanduser("~").startswith("/"):
            raise ConfigError(Problem("HOME must be set to an absolute path", remedy="run with HOME=/your/home"))
        request = self.request
        options = Options(
            cwd=cwd,
            policies="" if request.policies is None else os.path.abspath(request.policies),
            mode=request.mode or "",
            trust=request.trust_project,
            root=root,
            binding=True,
        )
        return Gateway(options, confined=False, environment=environment)

    def log(self, gateway: Gateway) -> Log:
        """The record in the user's state folder."""
        from gateway.frontends.hook_record import log_for

        return log_for(gateway)

    def pending(self, gateway: Gateway) -> Pending:
        """Those of the user's state folder."""
        from gateway.frontends.hook_record import Pending

        return Pending(gateway.places.state)
