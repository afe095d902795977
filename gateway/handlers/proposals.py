"""ProposeRule: asks a person for the rule that a refused call would have needed. Nobody but a person accepts one, or
policy itself where the enterprise layer has said within which bounds, for this session."""

from __future__ import annotations

from gateway.approval.always_rule import bound_of, parsed
from gateway.approval.proposals import Proposals
from gateway.approval.proposing import clauses_of_bound, opens_only, proposed
from gateway.approval.saved_rules import rule_id
from gateway.calls.output import Failure, Output, Text
from gateway.calls.refusal import exited
from gateway.core.errors import GatewayError
from gateway.model.call import RawCall
from gateway.model.decision import Decision
from gateway.policy.change import normal_form
from gateway.policy.compile import Bound

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gateway.approval.proposals import Kept
    from gateway.calls.work import Work
    from gateway.model.call import Call

SETTING = "proposals"
_LAYER = "enterprise"


def propose(call: Call, work: Work) -> Output:
    """Files a proposal with a reason; it holds at once, until the session ends, where policy wants that."""
    name = call.input["proposal"]
    try:
        kept = Proposals(work.judge.places.state, work.context.root).file(name, call.input["because"])
    except GatewayError as error:
        raise Failure("It cannot be filed.", str(error)) from error
    if kept is None:
        raise Failure(f"There is no proposal `{name}` in this project.", "What refused a call says its id.")
    if not _holds_by_itself(kept, work):
        return Output(
            (Text(f"It is filed. A person may look at it with `gateway proposals show {name}` and accept it."),)
        )
    text = f"version: 1\nrules:\n  - id: proposed-{kept.id}\n    {kept.rule}\n"
    reason = work.judge.refuses_rules((*work.context.rules, text))
    if reason:
        raise Failure(f"It is filed, but cannot hold by itself: {reason}.")
    work.session.opens((text,))
    said = f"policy accepted `{kept.rule}` for this session"
    result = exited(0, 0.0).replace(reason=said)
    return Output((Text(f"It is filed, and {said}: make the call again."),), rules=(text,), result=result)


def _holds_by_itself(kept: Kept, work: Work) -> bool:
    """Whether the rule of a proposal, made anew from its call, opens nothing outside of what the enterprise layer lets
    be opened so. What cannot be decided is no."""
    setting = work.judge.loaded_for(work.verdict).settings.get(SETTING)
    if setting is None or setting.layer != _LAYER or kept.tool not in work.judge.registry:
        return False
    try:
        raw = RawCall(kept.tool, dict(kept.input), server=kept.server)
        verdict = work.judge.check(raw, work.context)
        found = proposed(work.judge, verdict, work.judge.registry.tool(kept.tool))
    except GatewayError:
        return False
    if verdict.decision is Decision.ALLOW or found is None or found.rule != kept.rule or found.id != kept.id:
        return False
    root, home = work.context.root, work.context.home
    rules = [{**normal_form({"any": setting.value["within"]}, "allow"), "id": rule_id("within")}]
    wide = Bound(_LAYER, setting.file, rules=rules, base=root, layer_root=work.judge.places.enterprise)
    narrow = bound_of(parsed(work.judge, found.rule), root)
    registry = work.judge.registry
    return opens_only(
        clauses_of_bound(narrow, home),
        clauses_of_bound(wide, home),
        lambda name: registry.tool(name).match_kind == "shell",
    )
