"""A server as a command of ours: judged, asked about, recorded and confined like one of Bash, its input and output two
pipes. It ends with whoever started it."""

from __future__ import annotations

import os
import threading

from gateway.hiding import hidden_bytes, hidden_in
from gateway.model.call import RawCall
from gateway.model.decision import Decision
from gateway.policy.explain import message
from gateway.sandbox.base import SandboxError
from gateway.sandbox.run import Cancel, Command, Ways
from gateway.sandbox.shell import quoted
from gateway.tools.handling import Failure

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from gateway.audit.calls import Recorded
    from gateway.model.context import Context
    from gateway.model.plan import SandboxPlan
    from gateway.model.result import Result
    from gateway.model.verdict import Verdict
    from gateway.serving import Guard, Services
    from gateway.session import Session

_END_SECONDS = 10.0
_LONGEST_SAID = 64 << 10


class Child:
    """One process of a server. `out`: where it is written to, `into`: where it is read from; whoever takes these
    descriptors owns them."""

    def __init__(
        self,
        name: str,
        declared: Mapping[str, Any],
        *,
        says: Callable[[bytes], None] | None = None,
        title: str = "MCP server",
        narrows: Callable[[SandboxPlan], SandboxPlan] | None = None,
    ) -> None:
        """`says`: gets what it writes to standard error, without the secrets that it was given, whole lines. `title`:
        what it is, for sentences. `narrows`: takes away of the plan of its command what such a server has no use for,
        before anybody is asked."""
        self.name = name
        self._title = f"{title} `{name}`"
        self._narrows = narrows
        self.out = self.into = -1
        self._declared = declared
        self._says = says
        self._said = b""
        self._cancel = Cancel()
        self._problem = ""
        self._result: Result | None = None
        self._thread: threading.Thread | None = None
        # What it was given that nobody else has: it is never shown or recorded.
        self._secrets: tuple[str, ...] = ()

    def start(self, services: Services, session: Session, cancel: Cancel, context: Context | None = None) -> None:
        """Judges, confines, records and starts it. `context`: the circumstances that it is judged in, by default those
        of the gateway in the session's mode. Raises Failure."""
        guard, verdict, plan, grant = self._judged(services, session, cancel, context)
        recorded = services.recorded(guard, session.name, verdict, plan, grant)
        if not recorded.may_run:
            raise Failure(f"{self._title} does not start, because it would not be recorded.")
        reads, writes = os.pipe(), os.pipe()  # what it reads from us, what it writes to us
        words = tuple(map(os.fsencode, self._declared["command"]))
        command = Command(lambda _number: words, Ways(reads[0], writes[1]))
        ends = (reads[0], writes[1])
        self.out, self.into = reads[1], writes[0]
        serve = self._server(services, guard, verdict, plan, recorded, command, ends)
        self._thread = threading.Thread(target=serve, name=f"gateway-server-{self.name}", daemon=True)
        self._thread.start()

    def _server(
        self,
        services: Services,
        guard: Guard,
        verdict: Verdict,
        plan: SandboxPlan,
        recorded: Recorded,
        command: Command,
        ends: tuple[int, int],
    ) -> Callable[[], None]:
        def serve() -> None:
            try:
                self._result = services.runner.run(
                    plan, command, guard.protection(verdict), cancel=self._cancel, listener=self._listener()
                )
                services.ended(recorded, verdict, self._shown(self._result))
            except Exception as error:
                self._problem = self.hidden(f"{type(error).__name__}: {error}")
            finally:
                for descriptor in ends:
                    os.close(descriptor)

        return serve

    def _listener(self) -> Callable[[int, bytes], None] | None:
        if self._says is None:
            return None
        told = self._says

        def listen(_stream: int, data: bytes) -> None:
            *lines, self._said = (self._said + data).split(b"\n")
            for line in lines:
                told(hidden_bytes(line, self._secrets) + b"\n")
            if len(self._said) > _LONGEST_SAID:
                told(hidden_bytes(self._said, self._secrets) + b"\n")
                self._said = b""

        return listen

    def _judged(
        self, services: Services, session: Session, cancel: Cancel, context: Context | None
    ) -> tuple[Guard, Verdict, SandboxPlan, Any]:
        guard = services.guard
        context = context or guard.gateway.context.replace(mode=session.context.mode)
        raw = RawCall("Bash", {"command": quoted(self._declared["command"])})
        verdict, grant = guard.gateway.check(raw, context), None

        def planned(guard: Guard, verdict: Verdict) -> SandboxPlan:
            plan = guard.plan(verdict, None)
            if self._narrows is not None:
                plan = self._narrows(plan)
            own = self._environment(guard.gateway.environment)
            known = frozenset(value for _, value in plan.environment)  # every command has them
            self._secrets = tuple(
                value for name, value in own.items() if self._declared["env"][name] != value and value not in known
            )
            environment = dict(plan.environment) | own
            limits = plan.limits.replace(seconds=0.0, cpu_seconds=0.0)
            return plan.replace(environment=tuple(sorted(environment.items())), limits=limits)

        if verdict.decision is Decision.DENY or not verdict.context.confined:
            raise Failure(f"{self._title} does not start: {message(verdict)}")
        try:
            plan = planned(guard, verdict)
            if verdict.decision is Decision.ASK:
                guard, approval = services.approved(
                    guard, verdict, plan, raw, context, session.grants, planned, lambda: cancel.is_set
                )
                verdict, grant = approval.judgement.verdict, approval.grant
                if approval.refusal or approval.judgement.plan is None:
                    told = f"{message(verdict)} {approval.refusal}"
                    raise Failure(f"{self._title} does not start: {told}")
                plan = approval.judgement.plan
        except SandboxError as error:
            raise Failure(f"{self._title} cannot be confined: {error.reason}.", error.remedy) from error
        return guard, verdict, plan, grant

    def _environment(self, environment: Mapping[str, str]) -> dict[str, str]:
        found = {}
        for name, value in self._declared["env"].items():
            if not value.startswith("env:"):
                found[name] = value
            elif value[4:] in environment:
                found[name] = environment[value[4:]]
            else:
                raise Failure(f"{self._title} needs the variable {value[4:]}, which is not set.")
        return found

    @property
    def is_alive(self) -> bool:
        """Whether it runs."""
        return self._thread is not None and self._thread.is_alive()

    def why(self) -> str:
        """Why it ended, in words; "" while it runs."""
        result = self._result
        if result is None:
            return self._problem
        said = self.hidden(result.stderr.decode("utf-8", "replace")).strip().rpartition("\n")[2][:300]
        return self.hidden(result.reason) or f"it ended with status {result.status}" + (f" ({said})" if said else "")

    @property
    def secrets(self) -> tuple[str, ...]:
        """What it was given that must not be said back."""
        return self._secrets

    def hidden(self, data: Any) -> Any:
        """What it says, as text or data, without the secrets that it was given."""
        return hidden_in(data, self._secrets)

    def _shown(self, result: Result) -> Result:
        violations = tuple(each.replace(target=self.hidden(each.target)) for each in result.violations)
        return result.replace(reason=self.hidden(result.reason), violations=violations)

    def ended(self, seconds: float) -> bool:
        """Waits for its end."""
        if self._thread is not None:
            self._thread.join(seconds)
        return not self.is_alive

    def stop(self) -> None:
        """Has it end with all its processes; returns at once."""
        self._cancel.set()

    def close(self) -> None:
        """Ends it with all its processes. It may be closed again."""
        self._cancel.set()
        if self.ended(_END_SECONDS):
            self._cancel.close()
