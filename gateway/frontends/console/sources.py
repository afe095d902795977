"""What pages show that only the front ends find out: `frontends/console_sources.py` is the one real source."""

from __future__ import annotations

from gateway.core.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any, Protocol

    from gateway.approval.proposals import Kept
    from gateway.judge.judge import Judge
    from gateway.judge.policy_tables import Report
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


class Editable(Value):
    """A policy file of the person's own. `text`: what it says, or what it would begin with; `digest`: of what is
    there, "" where there is none."""

    path: str
    text: str
    digest: str


class Proposed(Value):
    """A change of a policy that is not made yet. `kind`: `rule`, one more in the project's local layer as the answer
    "always" saves it, or `user`, the person's own file; `text`: the rule, or the whole file; `root`: the project.
    `path`, `before`: the file, and the digest of what it says now, "" for none; `layer`, `name`, `content`: what the
    change makes of which file of which layer; `noted`: what is wrong with it, or worth knowing."""

    kind: str
    text: str
    root: str
    path: str
    before: str
    layer: str
    name: str
    content: str
    noted: tuple[Linted, ...] = ()

    @property
    def is_broken(self) -> bool:
        """Whether it may not be saved."""
        return any(each.severity == "error" for each in self.noted)


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

        def is_recent(self, name: str) -> bool:
            """Whether the call of a number stands at the end of the record, where no index is needed to find it."""
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

        @property
        def working(self) -> Sequence[str]:
            """The words that start a process which works for a page; the kind of work is added to them."""
            ...

        def editable(self) -> Editable:
            """The person's own policy file."""
            ...

        def proposed(self, kind: str, text: str) -> Proposed:
            """A change, looked over. Raises ConfigError for one that is none."""
            ...

        def save(self, proposed: Proposed) -> str:
            """Makes a change, if the file still says what it said; what was done, in words. Raises ConfigError where it
            is not made; then nothing has changed."""
            ...

        @property
        def root(self) -> str:
            """The project that is shown."""
            ...

        def proposals(self) -> Sequence[Kept]:
            """What refused calls of the project proposed."""
            ...

        def accept(self, name: str, bound: str) -> str:
            """Saves the rule of a proposal, if it and policy still are what was shown; what was done, in words. Raises
            ConfigError where it is not saved; then nothing has changed."""
            ...

        def reject(self, name: str) -> str:
            """Takes a proposal away for good; what was done, in words. Raises GatewayError."""
            ...

        def coverage(self) -> Report:
            """Which rules are exercised, by the examples and tables beside them."""
            ...
