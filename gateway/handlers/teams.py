"""TeamCreate, TeamDelete and SendMessage: agents that work together, and what they tell each other."""

from __future__ import annotations

from gateway.calls.output import Failure, Output, Text
from gateway.calls.state_folders import caller, folder_of, told
from gateway.tasks.mail import Mail, Member

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gateway.calls.work import Work
    from gateway.model.call import Call

COORDINATOR = "coordinator"


def create(call: Call, work: Work) -> Output:
    """A new team. Whoever makes it is in it, as its coordinator unless another one is named."""
    team, me = call.input["team_name"], caller(work)
    members = [Member(each["name"], each["role"]) for each in call.input["members"]]
    if all(each.name != me for each in members):
        members.insert(0, Member(me, "worker" if any(each.role == COORDINATOR for each in members) else COORDINATOR))
    if sum(each.role == COORDINATOR for each in members) != 1:
        raise Failure("A team must have exactly one coordinator.", "Give the others the role worker or reviewer.")
    with told():
        Mail(folder_of(work)).create(team, members)
    said = ", ".join(f"{each.name} ({each.role})" for each in members)
    data = {"team": team, "members": [each.as_dict() for each in members]}
    return Output((Text(f"Team {team} is there: {said}."),), data)


def delete(call: Call, work: Work) -> Output:
    """Ends a team that the caller is in."""
    team = call.input["team_name"]
    with told():
        mail = Mail(folder_of(work))
        _check_member(mail, team, caller(work))
        left = mail.delete(team, unread=call.input["discard_unread"])
    lost = f" {left} unread messages are gone." if left else ""
    return Output((Text(f"Team {team} is no more.{lost}"),), {"team": team, "discarded": left})


def send(call: Call, work: Work) -> Output:
    """Puts a message into the mailbox of a member, or of everybody else in the team."""
    fields, me = call.input, caller(work)
    with told():
        mail = Mail(folder_of(work))
        team = fields.get("team_name") or _only_team(mail, me)
        _check_member(mail, team, me)
        key = work.key or None  # a message that is sent again after an unknown end is there once
        reached = mail.send(team, sender=me, recipient=fields["recipient"], text=fields["message"], key=key)
    return Output((Text(f"Sent to {', '.join(reached) or 'nobody'}."),), {"team": team, "recipients": list(reached)})


def _only_team(mail: Mail, me: str) -> str:
    mine = [team for team, members in mail.teams().items() if any(each.name == me for each in members)]
    if len(mine) != 1:
        known = f"You are in {', '.join(mine)}." if mine else "Make one with TeamCreate."
        raise Failure(f"You are in {len(mine)} teams, so `team_name` must say which is meant.", known)
    return mine[0]


def _check_member(mail: Mail, team: str, me: str) -> None:
    members = mail.teams().get(team, ())
    if members and all(each.name != me for each in members):
        raise Failure(f"You are not in team `{team}` (you are `{me}`).", "Only its members may do that.")
