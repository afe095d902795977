"""The answer, and everything that led to it."""

from __future__ import annotations

from gateway.core.value import Value
from gateway.model.changes import ASK, DISCARD, NONE
from gateway.model.decision import Decision

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gateway.model.analysis import Analysis
    from gateway.model.call import Call
    from gateway.model.context import Context
    from gateway.model.facts import Facts, Seen
    from gateway.model.rule import Rule
    from gateway.model.verdict_message import Said


class Reason(Value):
    """One rule's say on one effect of the call.

    `item`: index into the analysis' items. `certain`: False when it holds only if an unknown part takes the
    right value. `note`: what the rule adds beyond its text ("would match if ...", the ceiling of a mode, ...).
    `named`: the rule names the path, of a write in a temporary folder.
    """

    rule: Rule
    decision: Decision
    item: int
    certain: bool = True
    note: str = ""
    named: bool = False


class Outcome(Value):
    """What became of one effect: the decision and the reason that decided it."""

    decision: Decision
    reason: Reason


class Verdict(Value):
    """The decision on a call.

    `reason` decided. `outcomes`: one per item that needed cover or was hit by a rule, in item order. `lost`:
    rules that matched and did not decide. `noted`: matches of `warn` and `observe` rules. `changes`
    (`gateway.model.changes`): what becomes of what a contained call changes; "ask" of one that is asked about before it
    runs where it could be contained, but nobody can be asked when it has ended. `seen`: what the call was judged with
    besides, so that it can be judged again; None where policy was not asked. `unfetched`: why what a call installs
    cannot be fetched before it runs, where that makes it ask.
    """

    decision: Decision
    reason: Reason
    outcomes: tuple[Outcome, ...]
    lost: tuple[Reason, ...]
    noted: tuple[Reason, ...]
    call: Call
    analysis: Analysis
    context: Context
    facts: Facts
    demands: tuple[tuple[str, object], ...] = ()
    changes: str = NONE
    seen: Seen | None = None
    unfetched: str = ""

    @property
    def contained(self) -> bool:
        """Whether the call runs by exactly the contained plan."""
        return self.context.contained

    @property
    def said(self) -> Said:
        """What to tell a model and a person of it (`gateway.render.verdict_message`): `said.model`, `said.person`."""
        from importlib import import_module  # words are made where all others are, and only for who wants them

        found: Said = import_module("gateway.render.verdict_message").said(self)
        return found

    @property
    def drafts(self) -> bool:
        """Whether what the call changes lies in layers of its own until its end, or until a person has decided."""
        return self.decision is Decision.ALLOW and self.changes in (ASK, DISCARD)
