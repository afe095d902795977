"""In which circumstances a session's servers are judged, and what tells that they have become others."""

from __future__ import annotations

from gateway.errors import ConfigError, GatewayError
from gateway.model.call import RawCall
from gateway.model.decision import Decision
from gateway.offer import going

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gateway.engine import Gateway
    from gateway.model.context import Context
    from gateway.model.verdict import Verdict
    from gateway.session import Session


def context_of(session: Session, gateway: Gateway) -> Context:
    """Those of the session, with its rules, agent, depth and mode, in the folder that the gateway was opened in: the
    working folder is the calls' own. What a skill narrows until the next task is which tools are called, and each call
    is judged by that: a tool that it leaves needs its server as it is."""
    return session.context.replace(cwd=gateway.context.cwd, rules=session.lasting_rules)


def circumstances(session: Session, gateway: Gateway, mode: str = "") -> tuple[object, ...]:
    """What a server of the session is judged by, beside itself: as long as it is the same, so is the judgement of its
    start. A gateway is another one as soon as a policy file says something else. `mode`: the session's by default."""
    context = context_of(session, gateway)
    return gateway, mode or context.mode, context.agent, context.depth, context.root, context.rules


def asking(gateway: Gateway, server: str, context: Context) -> tuple[Decision, Verdict]:
    """What policy says of going to a server elsewhere, with the verdict that says so. What its tools do is judged with
    each call. Raises GatewayError."""
    verdict = gateway.check(RawCall(f"mcp__{server}__tools.list", {}, server=server), context)
    return (verdict.decision if verdict.decision is Decision.DENY else going(verdict)), verdict


def may_ask(gateway: Gateway, server: str, context: Context) -> Decision:
    """The same without the verdict; what cannot be judged is denied. Raises ConfigError where the policy is broken."""
    try:
        return asking(gateway, server, context)[0]
    except ConfigError:
        raise
    except GatewayError:
        return Decision.DENY
