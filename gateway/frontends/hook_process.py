"""`gateway hook AGENT`: a hook as a process, which refuses whatever happens to it.

Most agents take a hook that fails for consent. So the process that they see does nothing but wait for a child that
decides (`gateway.frontends.service.thin`), and here is what that child does.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # `signal` would load `enum`, which this needs not
import os
import sys

from gateway.agents.refusal import refusal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import NoReturn

    from gateway.agents.base import Reply
    from gateway.audit.log import Log
    from gateway.frontends.arguments import Request
    from gateway.frontends.hook_record import Pending
    from gateway.judge.judge import Judge

MOST_SECONDS = 3600.0
MOST_BYTES = 16 << 20


def run(words: Sequence[str]) -> NoReturn:
    """Answers and ends the process. `words`: what stands behind `hook`."""
    try:
        from gateway.frontends.service.thin import answer_hook

        answer_hook(["hook", *words], refuse, decided, asks=False)
    except BaseException as error:
        refuse(f"gateway refused this call because of an internal error ({type(error).__name__}).")


def refuse(reason: str) -> NoReturn:
    """Writes the refusal that all agents obey, and ends the process."""
    out, err, status = refusal(reason)
    from gateway.frontends.service.thin import ended_with

    try:
        _signal.pthread_sigmask(_signal.SIG_BLOCK, _signal.valid_signals())
        _put(1, out)
        _put(2, err)
    finally:
        os._exit(ended_with(sys.argv, status))


def _put(descriptor: int, data: bytes) -> None:
    try:
        os.set_blocking(descriptor, True)
        while data:
            data = data[os.write(descriptor, data) :]
    except OSError:
        return  # the status is left


def decided(words: Sequence[str], given: bytes, is_late: bool, begins: Callable[[], float]) -> tuple[bytes, bytes, int]:
    """The same as `decide` in this process' own environment, as what is written: both streams and the status."""
    if is_late:
        return too_late(words, given)
    reply = decide(words, given, os.environ, begins)
    return reply.stdout, reply.stderr, reply.status


def nobody() -> float:
    """That no person's time begins."""
    return 0.0


def decide(
    words: Sequence[str], given: bytes, environment: Mapping[str, str], begins: Callable[[], float] = nobody
) -> Reply:
    """The answer to one event, decided by this process alone. `begins`: has a person's time begin, and says until when
    there has to be an answer, by the monotonic clock, 0 where there is none."""
    from gateway.agents.base import universal_refusal
    from gateway.frontends.arguments import HOOK, parse

    request = parse(HOOK, words)
    complaint = "its hook must be `gateway hook AGENT`, with options that it knows" if request is None else ""
    if request is not None:
        complaint = misuse(request)
    if complaint or request is None:
        return universal_refusal(f"gateway refused this call: {complaint}.")
    if len(given) > MOST_BYTES:
        return universal_refusal(f"gateway refused this call: what came is more than {MOST_BYTES:,} bytes.")
    from gateway.frontends.hook import answer

    return answer(request.argument or "", given, environment, gateways=Cold(request, begins), asked=asked(request))


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
    for name, text in (("--deadline", request.deadline), ("--waits", request.waits)):
        try:
            seconds = 1.0 if text is None else float(text)
        except ValueError:
            seconds = 0.0
        if not 0 < seconds <= MOST_SECONDS:
            return f"{name} must be a number of seconds above 0"
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


def too_late(words: Sequence[str], given: bytes) -> tuple[bytes, bytes, int]:
    """What an agent is answered where it could not be decided in time: a refusal in its own words. It is made of the
    event alone, whatever of the package is half loaded; where that cannot be, it is the one that all agents obey."""
    why = "gateway refused this call: it could not be decided in time."
    try:
        reply = _own_refusal(words, given, why)
    except Exception:
        return refusal(why)
    return reply.stdout, reply.stderr or why.encode() + b"\n", reply.status


def _own_refusal(words: Sequence[str], given: bytes, why: str) -> Reply:
    from gateway.agents import dialect_of
    from gateway.agents.base import DENY, Answer, universal_refusal
    from gateway.frontends.arguments import HOOK, parse
    from gateway.frontends.jsontext import read_json

    request = parse(HOOK, words)
    dialect = None if request is None else dialect_of(request.argument or "")
    if request is None or dialect is None:
        return universal_refusal(why)
    event = dialect.read(read_json(given, "the event"), os.environ, request.server)
    if request.event and request.event != event.name:
        return universal_refusal(why)
    return dialect.render(event, Answer(DENY, why))


def _cannot_contain(drafted: tuple[str, ...], state: str) -> str:
    from gateway.calls.containing import cannot_contain  # lazy: few calls need to know

    return cannot_contain(drafted, state)


class Cold:
    """Who judges and records for one event (`gateway.frontends.hook.Gateways`)."""

    def __init__(self, request: Request, begins: Callable[[], float] = nobody) -> None:
        self.request = request
        self._begins = begins

    def person_until(self) -> float:
        """As this process was given time for."""
        return self._begins() if self.request.waits else 0.0

    def gateway(self, *, root: str, cwd: str, environment: Mapping[str, str]) -> Judge:
        """As the options of the command line say. Raises GatewayError."""
        from gateway.config.load import Options
        from gateway.core.places import check_home
        from gateway.judge.judge import Judge

        check_home()
        request = self.request
        options = Options(
            cwd=cwd,
            policies="" if request.policies is None else os.path.abspath(request.policies),
            mode=request.mode or "",
            trust=request.trust_project,
            root=root,
            binding=True,
        )
        return Judge(options, confined=False, environment=environment, contains=_cannot_contain)

    def log(self, gateway: Judge) -> Log:
        """The record in the user's state folder."""
        from gateway.frontends.hook_record import log_for

        return log_for(gateway)

    def pending(self, gateway: Judge) -> Pending:
        """Those of the user's state folder."""
        from gateway.frontends.hook_record import Pending

        return Pending(gateway.places.state)
