"""A proposal made anew from its call, as policy is now: what stands in its file is believed of nothing else."""

from __future__ import annotations

from gateway.approval.proposing import proposed
from gateway.config.load import Options
from gateway.core.errors import CallError, ConfigError
from gateway.core.value import Value
from gateway.frontends.rejudging import on_one_line, recorded_context, recorded_tool
from gateway.judge.judge import Judge
from gateway.model.call import RawCall
from gateway.model.decision import Decision
from gateway.policy.wording import shortened, visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gateway.approval.proposals import Kept
    from gateway.approval.proposing import Proposal
    from gateway.model.verdict import Verdict


class Anew(Value):
    """`proposal`: the rule that the call would need now, with calls that it opens; None where it is none, and `problem`
    says why. `shown`: the call; `who`: its program or tool; `revision`: of the policy that said so."""

    shown: str
    proposal: Proposal | None = None
    problem: str = ""
    verdict: Verdict | None = None
    revision: str = ""

    @property
    def who(self) -> str:
        """How calls of the same kind begin: the first word of a command, else anything."""
        parts = () if self.verdict is None else self.verdict.analysis.parts
        return parts[0].argv[0] if parts and parts[0].argv else ""


def anew(kept: Kept, root: str) -> Anew:
    """Judges the call of a proposal again, in the project that it was kept for."""
    shown = visible(shortened(f"{kept.tool} {' '.join(map(str, kept.input.values()))}", 300))
    try:
        judge = Judge(Options(cwd=kept.cwd, root=root, binding=True), confined=kept.confined)
        decision = kept.as_dict()
        tool, shell = recorded_tool(judge, decision, dict(kept.input))
        raw = RawCall(tool.name, dict(kept.input), server=kept.server)
        verdict = judge.check(raw, recorded_context(judge, decision), foreign=tool, shell=shell)
        revision = judge.loaded_for(verdict).policy.revision
        shown = visible(shortened(f"{verdict.call.tool}({verdict.call.shown})", 300)) if verdict.call.shown else shown
    except CallError as error:
        return Anew(shown, problem=f"it is no valid call: {on_one_line(error)}")
    except (ConfigError, OSError, ValueError) as error:
        said = on_one_line(error) if isinstance(error, ConfigError) else str(error)
        return Anew(shown, problem=f"it cannot be judged now: {visible(said)}")
    found = Anew(shown, verdict=verdict, revision=revision)
    if verdict.decision is Decision.ALLOW:
        return found.replace(problem="its call is allowed by now")
    proposal = proposed(judge, verdict, tool, calls=tool.name in judge.registry)
    if proposal is None:
        return found.replace(problem="no rule would let its call run by now")
    if proposal.rule != kept.rule:
        return found.replace(problem="its call would need another rule by now: have it called again")
    return found.replace(proposal=proposal)
