"""The way out of one confined call: by its plan, and where somebody can be asked while it runs, for what that does not
speak of."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Protocol

    from gateway.model.plan import Endpoint, SandboxPlan
    from gateway.model.result import Violation
    from gateway.sandbox.base import Running
    from gateway.sandbox.egress.held_connection import Asks
    from gateway.sandbox.egress.service import Egress
    from gateway.sandbox.egress.session import Session
    from gateway.sandbox.egress.surroundings import Place

    class Asking(Protocol):
        """Whether somebody can be asked about connections of a call that runs. `denied`: where it must not go, whoever
        says so."""

        denied: tuple[Endpoint, ...]

        def of(self, running: Running) -> Asks:
            """Who says it, for the call as it runs."""


# Backends with a network for each call or room alone, which tells of what is dialled.
TELLING = ("namespaces", "bubblewrap")


class WayOut:
    """One use: `prepared`, `attach`, `close`; then what happened."""

    def __init__(self, egress: Callable[[], Egress], plan: SandboxPlan, asking: Asking | None) -> None:
        self._egress = egress
        self._asking = asking
        self._network, self._place = plan.network, None if asking is None else _place(plan)
        self._session: Session | None = None
        if asking is not None and plan.network.mode == "off":
            self._network = plan.network.replace(mode="listed", deny=asking.denied)

    def prepared(self, plan: SandboxPlan) -> SandboxPlan:
        """The plan with all that its programs need to find the way. One without a network gets no variables: what runs
        behaves as where nobody can be asked. Raises SandboxError."""
        if self._network.mode == "off":
            return plan
        egress = self._egress()
        if self._asking is not None:
            egress.start()  # beside what is still to be done
        environment = dict(plan.environment) | dict(egress.environment(plan.network))
        files = (*plan.files, *egress.files(self._network, self._place))
        return plan.replace(environment=tuple(sorted(environment.items())), files=files)

    def attach(self, running: Running) -> None:
        """Opens it in the network of the call, which waits. Raises SandboxError."""
        if self._network.mode != "off":
            asks = self._asking.of(running) if self._asking is not None else None
            # Violations are counted by the session and read when the call has ended.
            self._session = self._egress().attach(
                running.root, self._network, lambda _violation: None, self._place, asks
            )

    def close(self) -> None:
        """Ends it, with every connection and question."""
        if self._session is not None:
            self._session.close()

    def asked_seconds(self) -> float:
        """How long the call has waited for answers so far."""
        return self._session.asked_seconds() if self._session is not None else 0.0

    def violations(self) -> tuple[Violation, ...]:
        """What was refused."""
        return self._session.violations() if self._session is not None else ()

    def said(self) -> tuple[tuple[str, int, int], ...]:
        """As `Result.said` has it."""
        return self._session.said() if self._session is not None else ()

    def dialled(self) -> tuple[tuple[str, str, str, str], ...]:
        """As `Result.dialled` has it."""
        told = self._session.told() if self._session is not None else ()
        return tuple([(each.where, each.program, each.answer, each.by) for each in told])


def _place(plan: SandboxPlan) -> Place | None:
    """Where the call's listeners are; None in a network of its own."""
    if not plan.loopback or plan.network.mode != "off":
        return None
    from gateway.sandbox.egress.surroundings import beside_others  # lazy: few calls need it

    return beside_others()
