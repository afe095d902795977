"""A server as a command of ours: judged, asked about, recorded and confined like one of Bash, its input and output two
pipes. It ends with whoever started it."""

from __future__ import annotations

import os
import threading

from gateway.calls.output import Failure
from gateway.core.cancel import Cancel
from gateway.core.errors import ConfigError
from gateway.core.secret_masking import hidden_bytes, hidden_in
from gateway.mcp.circumstances import context_of
from gateway.model.call import RawCall
from gateway.model.decision import Decision
from gateway.policy.explain import message
from gateway.sandbox.base import SandboxError
from gateway.sandbox.call_descriptors import Ways
from gateway.sandbox.run import Command, Protection
from gateway.sandbox.shell import quoted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from gateway.audit.calls import Recorded
    from gateway.calls.planner import Planner
    from gateway.calls.ports import Starts
    from gateway.calls.session import Session
    from gateway.model.context import Context
    from gateway.model.plan import SandboxPlan
    from gateway.model.result import Result
    from gateway.model.verdict import Verdict

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
        # How it was let start, and by whom what it does meanwhile is judged.
        self._let: tuple[Planner, Verdict, SandboxPlan] | None = None

    def start(self, services: Starts, session: Session, cancel: Cancel, context: Context | None = None) -> None:
        """Judges, confines, records and starts it. `context`: the circumstances that it is judged in, by default the
        session's (`gateway.mcp.circumstances`). Raises Failure, GatewayError where the session has ended."""
        session.scratch()  # commands see nothing of it, so it must be there before one is planned
        planner, verdict, plan, grant = self._judged(services, session, cancel, context)
        self._let = planner, verdict, plan
        recorded = services.recorded(planner, session.name, verdict, plan, grant)
        if not recorded.may_run:
            raise Failure(f"{self._title} does not start, because it would not be recorded.")
        reads, writes = os.pipe(), os.pipe()  # what it reads from us, what it writes to us
        words = tuple(map(os.fsencode, self._declared["command"]))
        command = Command(lambda _number: words, Ways(reads[0], writes[1]))
        ends = (reads[0], writes[1])
        self.out, self.into = reads[1], writes[0]
        serve = self._server(services, verdict, plan, recorded, command, ends)
        self._thread = threading.Thread(target=serve, name=f"gateway-server-{self.name}", daemon=True)
        self._thread.start()

    def _server(
        self,
        services: Starts,
        verdict: Verdict,
        plan: SandboxPlan,
        recorded: Recorded,
        command: Command,
        ends: tuple[int, int],
    ) -> Callable[[], None]:
        def serve() -> None:
            try:
                self._result = services.runner.run(
                    plan, command, self._protection(), cancel=self._cancel, listener=self._listener()
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

    def _protection(self) -> Protection:
        """What it may not change by name, by the policy as it was when it was last judged."""

        def now() -> Protection:
            assert self._let is not None
            planner, verdict, _plan = self._let
            return planner.protection(verdict)

        return Protection(
            lambda path: now().classify(path), lambda folder, bounded: now().look(folder, bounded), now().changes
        )

    def is_fit(self, services: Starts, session: Session, mode: str = "") -> bool:
        """Whether it would be started now as it was: let, unasked or after no other question than the one that was
        answered, and with the very same plan. If so, what it does from now on is judged by the policy of now. `mode`:
        the session's by default. Raises ConfigError where the policy is broken."""
        planner, let = services.planner, self._let
        if let is None:
            return False
        context = context_of(session, planner.judge)
        try:
            verdict = planner.judge.check(self._raw(), context.replace(mode=mode) if mode else context)
            if verdict.decision is Decision.DENY or not verdict.context.confined:
                return False
            plan, _secrets = self._planned(planner, verdict)
        except ConfigError:
            raise
        except Exception:
            return False  # what cannot be judged, or confined, is started anew or not at all
        if plan != let[2] or not _asking(verdict) <= _asking(let[1]):
            return False
        self._let = planner, verdict, plan
        return True

    def _raw(self) -> RawCall:
        return RawCall("Bash", {"command": quoted(self._declared["command"])})

    def _planned(self, planner: Planner, verdict: Verdict) -> tuple[SandboxPlan, tuple[str, ...]]:
        """The plan of its command, and what it is given that nobody else has. Raises SandboxError, Failure."""
        plan = planner.plan(verdict, None)
        if plan.fetching.mode != "off":  # it would start without what it needs, and without a network
            raise Failure(
                f"{self._title} does not start: what its command installs is fetched for calls alone.",
                "Have a call install that, and start the server without installing.",
            )
        if plan.drafted:  # it serves for as long as the session lasts, so that nobody would decide about it
            from gateway.sandbox.drafts import only_reading

            plan = only_reading(plan)
        if self._narrows is not None:
            plan = self._narrows(plan)
        own = self._environment(planner.judge.environment)
        known = frozenset(value for _, value in plan.environment)  # every command has them
        secrets = tuple(
            value for name, value in own.items() if self._declared["env"][name] != value and value not in known
        )
        environment = dict(plan.environment) | own
        limits = plan.limits.replace(seconds=0.0, cpu_seconds=0.0)
        return plan.replace(environment=tuple(sorted(environment.items())), limits=limits), secrets

    def _judged(
        self, services: Starts, session: Session, cancel: Cancel, context: Context | None
    ) -> tuple[Planner, Verdict, SandboxPlan, Any]:
        planner = services.planner
        context = context or context_of(session, planner.judge)
        raw = self._raw()
        verdict, grant = planner.judge.check(raw, context), None

        def planned(planner: Planner, verdict: Verdict) -> SandboxPlan:
            plan, self._secrets = self._planned(planner, verdict)
            return plan

        if verdict.decision is Decision.DENY or not verdict.context.confined:
            raise Failure(f"{self._title} does not start: {message(verdict)}")
        try:
            plan = planned(planner, verdict)
            if verdict.decision is Decision.ASK:
                planner, approval = services.approved(
                    planner, verdict, plan, raw, context, session.grants, planned, lambda: cancel.is_set
                )
                verdict, grant = approval.judgement.verdict, approval.grant
                if approval.refusal or approval.judgement.plan is None:
                    told = f"{message(verdict)} {approval.refusal}"
                    raise Failure(f"{self._title} does not start: {told}")
                plan = approval.judgement.plan
        except SandboxError as error:
            raise Failure(f"{self._title} cannot be confined: {error.reason}.", error.remedy) from error
        return planner, verdict, plan, grant

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


def _asking(verdict: Verdict) -> frozenset[tuple[object, ...]]:
    """What asks, by what a person was shown of it."""
    return frozenset(
        (rule.id, rule.lane, rule.source.layer, rule.text, rule.lock)
        for rule in (each.reason.rule for each in verdict.outcomes if each.decision is Decision.ASK)
    )
