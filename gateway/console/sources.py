"""What pages show that only the front ends find out: `frontends/console_sources.py` is the one real source."""

from __future__ import annotations

from gateway.core.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, Protocol

    from gateway.judge.judge import Judge
    from gateway.judge.policy_tests import Report
    from gateway.model.verdict import Verdict


class CallTold(Value):
    """All that is known of one recorded call. `head`: how it was refused, in words, "" for one that was not; `data`: as
    `gateway why --json` has it; `advice`: what to do, each under its label. `verdict`: as it is judged now, None where
    `problem` says why it is not. `plan`: what it would run inside now, as plain data."""

    head: str
    decision: Mapping[str, Any]
    outcome: Mapping[str, Any] | None
    data: Mapping[str, Any]
    advice: tuple[tuple[str, str], ...]
    problem: str = ""
    verdict: Verdict | None = None
    plan: Mapping[str, Any] | None = None


class Looked(Value):
    """One thing that the doctor looked at. `state`: ok, could be better, or broken."""

    name: str
    state: str
    text: str
    remedy: str = ""
    details: tuple[str, ...] = ()


class Linted(Value):
    """What is wrong with a policy text, or worth knowing. `severity`: error, warning or info."""

    severity: str
    line: int
    text: str
    remedy: str = ""


class Tried(Value):
    """A call that was judged on paper. `found`: as `gateway check --json` has it; `problem`: why there is none."""

    verdict: Verdict | None = None
    found: Mapping[str, Any] | None = None
    problem: str = ""


if TYPE_CHECKING:

    class Sources(Protocol):
        """Finds out. May be asked from several threads; raises GatewayError with a problem for the person."""

        @property
        def record(self) -> str:
            """The folder of the record."""
            ...

        @property
        def cwd(self) -> str:
            """The folder whose project is shown."""
            ...

        def judge(self) -> Judge:
            """Who judges there, by the policy as it is now. Raises ConfigError for a broken one."""
            ...

        def call(self, name: str, *, plans: bool) -> CallTold | None:
            """The call of a number or id; None where there is none. `plans`: with the sandbox that it would run inside,
            which takes a look at the project."""
            ...

        def always(self, decision: Mapping[str, Any]) -> str:
            """The narrowest rule that would let a recorded call run, "" where there is none."""
            ...

        def doctor(self) -> list[Looked]:
            """What `gateway doctor` says. Takes seconds."""
            ...

        def tried(self, text: str, *, confined: bool, policy: str) -> Tried:
            """A call judged on paper, with the text of a policy file on top where there is one."""
            ...

        def linted(self, policy: str) -> list[Linted]:
            """What is wrong with the text of a policy file."""
            ...

        def coverage(self) -> Report:
            """Which rules are exercised, by the examples and tables beside them."""
            ...
