"""In which circumstances a session's servers are judged, and what tells that they have become others."""

from __future__ import annotations

from gateway.core.errors import ConfigError, GatewayError
from gateway.model.call import RawCall
from gateway.model.decision import Decision

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gateway.calls.session import Session
    from gateway.judge.judge import Judge
    from gateway.model.context import Context
    from gateway.model.verdict import Verdict


def context_of(session: Session, judge: Judge) -> Context:
    """Those of the session, with its rules, agent, depth and mode, in the folder that the gateway was opened in: the
    working folder is the calls' own. What a skill narrows until the next task is which tools are called, and each call
    is judged by that: a tool that it leaves needs its server as it is."""
    return session.context.replace(cwd=judge.context.cwd, rules=session.lasting_rules)


def circumstances(session: Session, judge: Judge, mode: str = "") -> tuple[object, ...]:
    """What a server of the session is judged by, beside itself: as long as it is the same, so is the judgement of its
    start. A gateway is another one as soon as a policy file says something else. `mode`: the session's by default."""
    context = context_of(session, judge)
    return judge, mode or context.mode, context.agent, context.depth, context.root, context.rules


def asking(judge: Judge, server: str, context: Context) -> tuple[Decision, Verdict]:
    """What policy says of going to a server elsewhere, with the verdict that says so. What its tools do is judged with
    each call. Raises GatewayError."""
    verdict = judge.check(RawCall(f"mcp__{server}__tools.list", {}, server=server), context)
    return (verdict.decision if verdict.decision is Decision.DENY else going(verdict)), verdict


def may_ask(judge: Judge, server: str, context: Context) -> Decision:
    """The same without the verdict; what cannot be judged is denied. Raises ConfigError where the policy is broken."""
    try:
        return asking(judge, server, context)[0]
    except ConfigError:
        raise
    except GatewayError:
        return Decision.DENY


def going(verdict: Verdict) -> Decision:
    """What policy says of the connections alone that a call makes."""
    items = verdict.analysis.items
    found = [each.decision for each in verdict.outcomes if items[each.reason.item].effect.kind == "connect"]
    return max([*found, Decision.ALLOW])
