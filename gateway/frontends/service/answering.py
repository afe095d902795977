"""What the service answers: with the very functions that a process of its own answers with."""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from contextlib import suppress

from gateway.config.load import Options, project_root
from gateway.core.errors import ConfigError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gateway.audit.log import Log
    from gateway.frontends.arguments import Request
    from gateway.frontends.hook_record import Pending
    from gateway.frontends.service.keeper import Keeper
    from gateway.judge.judge import Judge

_LOGS = 16


class Answers:
    """Answers requests from gateways that are kept. Safe to use from several threads."""

    def __init__(self, keeper: Keeper) -> None:
        self.keeper = keeper
        self._logs: OrderedDict[tuple[object, ...], Log] = OrderedDict()
        self._lock = threading.Lock()

    def warm(self) -> None:
        """Loads what answers need, so that no request pays for it."""
        from importlib import import_module

        from gateway.agents import AGENTS, dialect_of
        from gateway.shell.reading import read

        for name in (
            "approval.digests", "audit.calls", "commands.analyse", "frontends.cli.check", "frontends.hook_process",
            "frontends.hook", "frontends.hook_record", "frontends.jsontext", "policy.change", "render.text",
        ):  # fmt: skip
            import_module(f"gateway.{name}")
        for agent in AGENTS:
            with suppress(ImportError):  # what cannot be loaded is refused when it is needed
                dialect_of(agent)
        read("true | { cat; }", cwds=("/",), home="/", variables={})

    def __call__(
        self, words: Sequence[str], environment: Mapping[str, str], folder: str, given: bytes
    ) -> tuple[bytes, bytes, int] | None:
        """Standard output, standard error and status; None for what is left to the cold path."""
        if words[:1] == ["hook"]:
            return self._hook(words[1:], environment, folder, given)
        if words[:1] == ["check"]:
            return self._check(words[1:], environment, folder)
        return None

    def _hook(
        self, words: Sequence[str], environment: Mapping[str, str], folder: str, given: bytes
    ) -> tuple[bytes, bytes, int] | None:
        from gateway.frontends.arguments import HOOK, parse
        from gateway.frontends.hook import Asked, NotHere, answer
        from gateway.frontends.hook_process import misuse

        request = parse(HOOK, words)
        if request is None or not _is_placed(request) or misuse(request):
            return None
        asked = Asked(
            request.event or "", request.unattended or "", request.server, os.path.abspath(request.cwd or folder)
        )
        try:
            reply = answer(request.argument or "", given, environment, gateways=_Gateways(self, request), asked=asked)
        except NotHere:
            return None
        return reply.stdout, reply.stderr, reply.status

    def _check(
        self, words: Sequence[str], environment: Mapping[str, str], folder: str
    ) -> tuple[bytes, bytes, int] | None:
        """A dry run of one call. Whatever goes wrong is left to the cold path, which says so in its own words."""
        from gateway.frontends.arguments import CHECK, parse
        from gateway.frontends.cli.check import answer, misuse

        request = parse(CHECK, words)
        if request is None or misuse(request) or not _is_simple(request):
            return None
        try:
            options = _options(request, environment, folder)
            gateway = self.keeper.gateway(options, environment, confined=not request.unconfined)
            text, status = answer(gateway, request)
        except Exception:
            return None
        return text.encode("utf-8", "surrogatepass"), b"", status

    def log(self, gateway: Judge) -> Log:
        """The record that belongs to a gateway's policy and environment, kept open."""
        from gateway.frontends.hook_record import log_for

        key = (gateway.loaded.policy.revision, gateway.options.replace(cwd=""), tuple(gateway.environment.items()))
        with self._lock:
            found = self._logs.get(key)
            if found is None:
                found = self._logs[key] = log_for(gateway)
                if len(self._logs) > _LOGS:
                    self._logs.popitem(last=False)  # whoever still writes to it may
            self._logs.move_to_end(key)
        return found


class _Gateways:
    """Who judges and records for one request (`gateway.frontends.hook.Gateways`)."""

    def __init__(self, answers: Answers, request: Request) -> None:
        self._answers = answers
        self._request = request

    def gateway(self, *, root: str, cwd: str, environment: Mapping[str, str]) -> Judge:
        """As `gateway.frontends.hook_process.Cold` has it. Raises GatewayError."""
        request = self._request
        options = Options(
            cwd, request.policies or "", request.mode or "", request.trust_project, root=root, binding=True
        )
        return self._answers.keeper.gateway(options, environment, confined=False)

    def person_until(self) -> float:
        """No answer waits for a person here, where others wait for theirs. Raises NotHere."""
        from gateway.frontends.hook import NotHere

        if self._request.waits:
            raise NotHere
        return 0.0

    def log(self, gateway: Judge) -> Log:
        """One that is kept open."""
        return self._answers.log(gateway)

    def pending(self, gateway: Judge) -> Pending:
        """Those of the user's state folder."""
        from gateway.frontends.hook_record import Pending

        return Pending(gateway.places.state)


def _is_placed(request: Request) -> bool:
    """Whether its folders are the same from wherever one looks."""
    return all(path is None or os.path.isabs(path) for path in (request.policies, request.cwd))


def _is_simple(request: Request) -> bool:
    """Whether a dry run is of one call, all of which stands on the command line, and looks at no sandbox."""
    return request.batch is None and request.input != "-" and not request.plan


def _options(request: Request, environment: Mapping[str, str], folder: str) -> Options:
    """As `gateway.frontends.session.open_gateway`, for another folder and environment than the process's own."""
    from gateway.frontends.session import check_mode

    if request.mode is not None:
        check_mode(request.mode)
    cwd = os.path.realpath(os.path.join(folder, request.cwd or ""))
    policies = "" if request.policies is None else os.path.abspath(os.path.join(folder, request.policies))
    if not os.path.isdir(cwd) or (policies and not os.path.isdir(policies)):
        raise ConfigError("a folder that exists must be given")
    return Options(cwd, policies, request.mode or "", request.trust_project, root=project_root(cwd, environment))
