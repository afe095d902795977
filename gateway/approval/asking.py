"""From a verdict that asks to a grant: remembered answers, the question, and what happened meanwhile.

What runs is what was shown. After the answer the call is judged and planned once more, with the policy files as they
are by then; if anything is another than it was shown, it is asked about again, a few times at most.
"""

from __future__ import annotations

import time

from gateway.approval.base import Question, checked, no, scopes_of
from gateway.approval.digests import identity
from gateway.approval.unreviewed_files import changed_by_code
from gateway.core.errors import GatewayError
from gateway.core.value import Value
from gateway.model.decision import REVIEWS, Decision
from gateway.model.grant import ALWAYS, SESSION
from gateway.policy.wording import shortened, visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from gateway.approval.base import Answer, Approver
    from gateway.approval.grants import Grants
    from gateway.approval.saved_rules import SavedRules
    from gateway.config.layers import Setting
    from gateway.judge.judge import Judge
    from gateway.model.grant import Grant
    from gateway.model.plan import SandboxPlan
    from gateway.model.verdict import Verdict

MAX_ROUNDS = 3
HERE = "console"


class Judgement(Value):
    """A call as it is judged at some moment: by whom, how, and what it would run inside."""

    judge: Judge
    verdict: Verdict
    plan: SandboxPlan | None

    def identity(self) -> Grant:
        """What a question about it is about, with what the files that it runs say at this moment."""
        return identity(self.verdict, self.judge.loaded_for(self.verdict).policy.revision)


class Approval(Value):
    """What became of asking: the judgement that was answered, and the grant. `grant`: None when nothing was answered;
    `refusal`: why the call does not run, "" if it may; `unanswered`: that is because nobody has answered."""

    judgement: Judgement
    grant: Grant | None
    refusal: str
    unanswered: bool = False


class Asking:
    """Asks for one session. Safe to use from several threads, if the approvers are."""

    def __init__(self, approvers: Sequence[Approver], grants: Grants | None = None) -> None:
        """`approvers`: who can be asked; the setting of that name says who is, and in which order. `grants`: where
        answers for the session are kept; None: there is no session, and none is offered."""
        self._approvers = tuple(approvers)
        self._grants = grants

    def approve(
        self,
        first: Judgement,
        again: Callable[[], Judgement],
        cancelled: Callable[[], bool] = lambda: False,
    ) -> Approval:
        """Whether a call that policy asks about may run. `again` judges the same call anew, as of now."""
        judgement = first
        for _ in range(MAX_ROUNDS):
            asked = judgement.identity()
            known = self._grants.use(asked, time.time()) if self._grants is not None else None
            if known is not None:
                return Approval(judgement, known, "" if known.allow else "It was refused before, for this session.")
            question = self._question(judgement, cancelled)
            answer, name = self._answer(question, judgement)
            if not answer.allow:
                return self._refused(judgement, asked, answer, name)
            now = again()
            if now.verdict.decision is Decision.ALLOW:
                return Approval(now, None, "")
            if now.verdict.decision is Decision.DENY:
                return Approval(now, None, "It was approved, but policy refuses it by now.")
            if asked == now.identity() and judgement.plan == now.plan:
                return self._granted(judgement, question, asked, answer)
            judgement = now
        return Approval(judgement, None, "What it would do was another each time that it was asked about.")

    def _question(self, judgement: Judgement, cancelled: Callable[[], bool]) -> Question:
        from gateway.approval.always_rule import later, offered

        judge, verdict = judgement.judge, judgement.verdict
        possible = scopes_of(verdict, session=True, always=True)
        rule = offered(judge, verdict) if ALWAYS in possible else ""
        may = scopes_of(verdict, session=self._grants is not None, always=bool(rule))
        loaded = judge.loaded_for(verdict)
        question = with_people(
            Question(
                verdict,
                judgement.plan,
                may=may,
                cancelled=cancelled,
                reviewed=loaded.policy.review in REVIEWS[1:],
                by_code=changed_by_code(judge, verdict),
            ),
            loaded.settings.get("remote"),
        )
        if ALWAYS not in question.may:
            return question
        return question.replace(always=rule, file=_saved(judge).path, later=later(judge, verdict))

    def _answer(self, question: Question, judgement: Judgement) -> tuple[Answer, str]:
        """The first answer of those who may be asked, and who gave it; a refusal and "" where nobody did."""
        setting = judgement.judge.loaded_for(judgement.verdict).settings.get("approvers")
        chosen = chosen_of(self._approvers, setting)
        if question.needs_others:
            chosen = [each for each in chosen if getattr(each, "counts_people", False)]
        for approver in together(chosen):
            found = approver.ask(question)
            if found is not None:
                return checked(found, question), approver.name
        if question.needs_others:
            return no("policy", "policy wants others to agree, and none of them can be asked from here"), ""
        if setting is not None and len(chosen) < len(self._approvers):
            there = ", and there is nobody" if chosen else ""
            return no("policy", f"policy lets only {', '.join(_names(setting.value))} be asked{there}"), ""
        return no("nobody"), ""

    def _refused(self, judgement: Judgement, asked: Grant, answer: Answer, name: str) -> Approval:
        grant = asked.replace(allow=False, scope=answer.scope, by=answer.by)
        if answer.scope == SESSION and self._grants is not None:
            self._grants.add(grant)
        said = "It was not approved" if name else "There is nobody to ask, so it is refused"
        refusal = said + (f": {visible(answer.note).rstrip('.')}." if answer.note else ".")
        return Approval(judgement, grant, refusal, unanswered=not name)

    def _granted(self, judgement: Judgement, question: Question, asked: Grant, answer: Answer) -> Approval:
        now = time.time()
        if 0 < answer.until <= now:
            return Approval(judgement, None, "It was approved for a time that is over.")
        grant = asked.replace(allow=True, scope=answer.scope, by=answer.by, until=answer.until)
        if answer.scope == SESSION and self._grants is not None:
            left = int(answer.uses) - 1 if answer.uses else -1
            self._grants.add(grant.replace(uses=left))
        if answer.scope == ALWAYS:
            from gateway.approval.saved_rules import entry_of, rule_id

            call = judgement.verdict.call
            shown = visible(shortened(f"{call.tool}({call.shown})" if call.shown else call.tool, 200))
            entry = entry_of(question.always, shown=shown, by=answer.by, now=now, until=answer.until)
            try:
                _saved(judgement.judge).save(rule_id(question.always, answer.until), entry)
            except GatewayError as error:
                problem = visible(str(error).split("\n", 1)[0])
                return Approval(judgement, None, f"It was approved for good, but that cannot be kept: {problem}.")
            grant = grant.replace(saved=question.always)
        return Approval(judgement, grant, "")


def chosen_of(approvers: Sequence[Approver], setting: Setting | None) -> Sequence[Approver]:
    """Those who may be asked, in the order of the setting `approvers`; all where it says nothing."""
    return approvers if setting is None else _in_order(approvers, setting.value)


def together(chosen: Sequence[Approver]) -> list[Approver]:
    """Those who are asked one after the other; who is here and who is elsewhere, where they follow each other, at the
    same time."""
    found: list[Approver] = []
    for each in chosen:
        before = found[-1] if found else None
        for elsewhere, here in ((each, before), (before, each)):
            beside = getattr(elsewhere, "beside", None)
            if beside is not None and here is not None and here.name == HERE:
                found[-1] = beside(here)
                break
        else:
            found.append(each)
    return found


def with_people(question: Question, setting: Setting | None) -> Question:
    """The question as policy wants it answered from elsewhere: by how many people, of whom, and how soon."""
    if setting is None:
        return question
    from gateway.approval.terminal import user
    from gateway.spec.remote import SECONDS

    wanted = setting.value
    asked = question.replace(
        seconds=float(wanted.get("seconds", SECONDS)),
        people=wanted.get("people", 1),
        not_by=user() if wanted.get("requester", True) is False else "",
    )
    return asked.replace(may=asked.may[:1]) if asked.needs_others else asked


def _in_order(approvers: Sequence[Approver], setting: object) -> list[Approver]:
    """Those that the setting names before `refuse`, in its order."""
    names = _names(setting)
    before = names[: names.index("refuse")] if "refuse" in names else names
    return [approver for name in before for approver in approvers if approver.name == name]


def _names(setting: object) -> list[str]:
    return list(setting) if isinstance(setting, (list, tuple)) else [str(setting)]


def _saved(judge: Judge) -> SavedRules:
    from gateway.approval.saved_rules import SavedRules
    from gateway.config.load import tool_names

    return SavedRules(judge.places, judge.options.root, tool_names(judge.registry))
