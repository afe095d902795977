"""A question to whoever may approve a call, and the answer. What is not a clear yes is a no."""

from __future__ import annotations

from contextlib import nullcontext

from gateway.core.value import Value
from gateway.model.decision import Decision
from gateway.model.grant import ALWAYS, ONCE, SCOPES, SESSION

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from contextlib import AbstractContextManager
    from typing import Any, Protocol

    from gateway.model.plan import SandboxPlan
    from gateway.model.verdict import Verdict
    from gateway.sandbox.changes.listing import Listed


class Answer(Value):
    """`scope`: once, session or always. `by`: who answered. `rule`: the exact rule that was saved, "" for none.

    `uses` and `until` limit an answer for the session: how often it may be used, this time included, 0 without limit;
    and until when, in seconds since the epoch, 0 without limit. `until` also ends a saved rule. `note`: what whoever
    asked for the call should know of a refusal.
    """

    allow: bool
    scope: str
    by: str
    rule: str = ""
    uses: int = 0
    until: float = 0.0
    note: str = ""


class Question(Value):
    """What is asked: the verdict that asks and the plan that the call would run inside.

    `may`: the scopes that an answer may have. `always`: the rule that "always" would save, tried to let this call run,
    "" where there is none; `file`: where it would be saved; `later`: what code that it covers would run inside from
    then on, in words, which may be more than `plan`: the sandbox profile comes on top. `cancelled` says whether the
    answer is of use no longer. `reviewed`: a reviewer is to look at it also where a rule asks. `by_code`: files that
    run later and that code has changed, where the call would hand them on. `seconds`: how long whoever is asked waits,
    0 for as long as they usually do. `people`: how many different people must say yes; `not_by`: the account that asks,
    where its own person must not be among them.
    """

    verdict: Verdict
    plan: SandboxPlan | None
    may: tuple[str, ...] = (ONCE,)
    always: str = ""
    file: str = ""
    later: str = ""
    cancelled: Callable[[], bool] = lambda: False
    reviewed: bool = False
    by_code: tuple[str, ...] = ()
    seconds: float = 0.0
    people: int = 1
    not_by: str = ""

    @property
    def needs_others(self) -> bool:
        """Whether a yes of the person whose account asks is not enough."""
        return self.people > 1 or bool(self.not_by)


class Review(Value):
    """What a call has changed in layers of its own: to be kept or discarded. `found`: the changes, with their texts and
    with what is not kept without a word of the person's; `status`: the command's exit status; `problem`: why it could
    not be kept as it was last answered; `session`: whether there is one that can remember an answer; `real`: whether
    the call can be run once more, without a layer."""

    verdict: Verdict
    found: Listed
    status: int = 0
    problem: str = ""
    session: bool = False
    real: bool = False
    cancelled: Callable[[], bool] = lambda: False


class Decided(Value):
    """What becomes of it. `only`: names from the project's root, with all that lies in them; () for everything. `rest`:
    what is in conflict with what somebody else has changed stays as it is, and the rest is kept. `session`: what the
    same call changes in the same files is kept from now on, as long as the session lasts. `note`: what whoever made the
    call should know of a no; `real`: nothing is kept, and the call is run once more without a layer."""

    keep: bool
    by: str
    only: tuple[str, ...] = ()
    rest: bool = False
    session: bool = False
    note: str = ""
    real: bool = False


class Dialled(Value):
    """A connection of a call that runs, which nobody predicted, and which is held meanwhile. `verdict`: on that
    connection as one more effect of the call; `program`: who dialled, by the kernel's name and by its own words, ""
    where nobody can tell. `reads`: what the call could read until now, so what it may send; `secrets`: files among that
    which look like secrets. `cancelled`: nobody waits any more; `still`: for as long as its block runs, the call stands
    still, so that it can neither write over what a person reads nor read what they type; False where it cannot be had.
    `session`: whether there is one that can remember a no."""

    verdict: Verdict
    host: str
    port: int
    program: str = ""
    reads: tuple[str, ...] = ()
    secrets: tuple[str, ...] = ()
    cancelled: Callable[[], bool] = lambda: False
    still: Callable[[], AbstractContextManager[bool]] = lambda: nullcontext(True)
    session: bool = False

    @property
    def where(self) -> str:
        """`host:port`, an IPv6 address in brackets."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


if TYPE_CHECKING:

    class Attendant(Protocol):
        """An approver that can also be asked while a call runs."""

        @property
        def name(self) -> str: ...

        def dialled(self, question: Dialled) -> Answer | None:
            """Whether a call may connect, this once; None where nobody is there to say."""

    class Reviewer(Protocol):
        """An approver that can also be asked when a call has ended."""

        @property
        def name(self) -> str: ...

        def review(self, review: Review) -> Decided | None:
            """What becomes of what a call has changed; None where nobody is there to say."""

    class Approver(Protocol):
        """Somebody who may be asked. `name`: one of the setting `approvers`."""

        @property
        def name(self) -> str: ...

        def ask(self, question: Question) -> Answer | None:
            """The answer; None where nobody is there to give one, so that the next approver may be asked."""


def wants_others(wanted: Mapping[str, Any]) -> bool:
    """Whether the setting `remote` wants others than the person whose account asks to agree."""
    found: bool = wanted.get("people", 1) > 1 or wanted.get("requester", True) is False
    return found


def no(by: str, note: str = "", scope: str = ONCE) -> Answer:
    """A refusal."""
    return Answer(False, scope, by, note=note)


def scopes_of(verdict: Verdict, *, session: bool, always: bool) -> tuple[str, ...]:
    """What an ask may be answered with: a locked one once; a rule's once or for the session; the mode's for good too.

    `session`: whether there is a session that remembers; `always`: whether there is a rule to save.
    """
    asking = [outcome.reason.rule for outcome in verdict.outcomes if outcome.decision is Decision.ASK]
    if verdict.decision is not Decision.ASK or not asking:
        return ()
    if any(rule.lock for rule in asking):
        return (ONCE,)
    by_mode = all(rule.lane == "mode" for rule in asking)
    held = {ONCE: True, SESSION: session, ALWAYS: always and by_mode}
    return tuple(scope for scope in SCOPES if held[scope])


def checked(answer: object, question: Question) -> Answer:
    """The answer if it is one to this question; a refusal for anything else."""
    if not isinstance(answer, Answer):
        return no("nobody", "the answer was none")
    if answer.allow is False:
        return answer if answer.scope in (ONCE, SESSION) else answer.replace(scope=ONCE)
    if answer.allow is not True or answer.scope not in question.may:
        return no(answer.by, "the answer was not among those that this question has")
    limits = (answer.uses, answer.until)
    if any(type(each) not in (int, float) or not each >= 0 for each in limits) or answer.uses != int(answer.uses):
        return no(answer.by, "the limits of the answer cannot be read")
    if answer.scope == ALWAYS and (answer.rule not in ("", question.always) or not question.always or answer.uses):
        return no(answer.by, "the rule in the answer is not the one that was shown")
    return answer


def checked_dial(answer: object, question: Dialled) -> Answer:
    """The answer if it is a clear one to this question; a refusal for anything else. A yes is for this once."""
    if not isinstance(answer, Answer):
        return no("nobody", "the answer was none")
    if answer.allow is True and answer.scope == ONCE and not answer.rule and not answer.uses and not answer.until:
        return answer
    if answer.allow is not False:
        return no(answer.by, "the answer was not among those that this question has")
    return answer if answer.scope == SESSION and question.session else answer.replace(scope=ONCE)
