"""Tickets of the house. This runs in the gateway's process, so it may hold a client of yours; the policy has judged the
call by the effects that tools.yaml declares."""

from gateway import Call, Failure, Output, Text, Work

TICKETS = {7: ("Dates are not checked", "ann"), 8: ("The page is slow", "bob")}


def look_up(call: Call, _work: Work) -> Output | str:
    ticket = TICKETS.get(call.input["number"])
    if ticket is None:
        raise Failure(f"There is no ticket {call.input['number']}.", f"Known are {', '.join(map(str, TICKETS))}.")
    title, who = ticket
    return Output((Text(f"{title} ({who})"),), {"title": title, "assignee": who})
