"""What a ticket allows to run: exactly the command, folder, effects and policy that a hook judged, or nothing."""

from __future__ import annotations

import os

from gateway.agents.tickets import TicketError, Tickets
from gateway.approval.digests import identity
from gateway.approval.grants import Grants
from gateway.calls.containing import cannot_contain
from gateway.config.load import Options
from gateway.core.errors import ConfigError, Problem
from gateway.core.places import places
from gateway.core.value import Value
from gateway.judge.judge import Judge
from gateway.model.call import RawCall
from gateway.model.decision import Decision
from gateway.model.grant import SESSION

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gateway.agents.tickets import Ticket
    from gateway.frontends.arguments import Request
    from gateway.model.context import Context
    from gateway.model.verdict import Verdict

# What a hook was told, and what the ticket therefore says.
_SETTLED = ("policies", "mode", "cwd", "trust_project", "timeout")


class Admitted(Value):
    """A command that a ticket lets run: who judges it, in which circumstances, and what was answered about it."""

    gateway: Judge
    context: Context
    grants: Grants
    session: str
    front: str


def admitted(request: Request, text: str) -> Admitted:
    """Uses the ticket up. Raises TicketError for one that does not let this text run here and now, ConfigError for
    wrong usage and for a broken policy."""
    said = [name for name in _SETTLED if getattr(request, name)]
    if said:
        option = "--" + said[0].replace("_", "-")
        raise ConfigError(Problem(f"{option} must not be given with --ticket", remedy="the ticket says it"))
    where = places()
    ticket = Tickets(where.state).take(request.ticket or "")
    if not ticket.is_of(text):
        raise TicketError("the ticket is for another command")
    context = ticket.context
    if context.home != where.home:
        raise TicketError("the ticket is for another home folder")
    if os.path.realpath(os.getcwd()) != context.cwd:
        raise TicketError("the ticket is for another folder")
    options = Options(
        context.cwd, ticket.policies, context.mode, ticket.trust, root=context.root, binding=True
    )  # the real enterprise layer holds in any case
    gateway = Judge(options, where=where, contains=cannot_contain)
    verdict = gateway.check(RawCall("Bash", {"command": text}), context)
    grants = Grants()
    front = f"exec:{ticket.agent}"
    _compare(ticket, gateway, verdict, grants)
    return Admitted(gateway, context, grants=grants, session=ticket.session, front=front)


def _compare(ticket: Ticket, gateway: Judge, verdict: Verdict, grants: Grants) -> None:
    """Holds what is judged now to what was judged by the hook. Raises TicketError."""
    judged = ticket.judged
    now = identity(verdict, gateway.loaded_for(verdict).policy.revision)
    if now.revision != judged.revision:
        raise TicketError("the policy has changed since the command was let run; try it once more")
    same = (now.call, now.effects, now.rules) == (judged.call, judged.effects, judged.rules)
    if not same or now.content != judged.content:
        raise TicketError("what the command would do has changed since it was let run; try it once more")
    if not verdict.context.confined:
        raise TicketError("the command is not to run confined")
    if verdict.decision is Decision.ALLOW:
        return
    if verdict.decision is not Decision.ASK or not judged.allow:
        raise TicketError("the command was not let run")
    # The agent asked its person, showing this command, and started it after the answer.
    grants.add(now.replace(allow=True, scope=SESSION, by=ticket.agent, uses=1))
