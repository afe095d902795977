"""AskUserQuestion, EnterPlanMode and ExitPlanMode: questions to the person of the session, and the plan mode."""

from __future__ import annotations

from gateway.approval.person import Choice, Inquiry, replies
from gateway.calls.output import Failure, Output, Text
from gateway.calls.state_folders import setting
from gateway.policy.modes import CEILINGS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from gateway.approval.person import Reply
    from gateway.calls.work import Work
    from gateway.model.call import Call

PLAN, USUAL = "plan", "default"
ACCEPT = Choice("Accept", "go on and do it")
REVISE = Choice("Keep planning", "nothing is done yet")


def ask(call: Call, work: Work) -> Output:
    """Asks the person, and says what they chose."""
    inquiries = [_inquiry(each) for each in call.input["questions"]]
    asked = [each.question for each in inquiries]
    if len(set(asked)) != len(asked):
        raise Failure("Each question must be asked once.")
    if work.session.person is None:
        raise Failure("Nobody is there to be asked.", "Decide by what you know, and say what you assumed.")
    found = replies(work.session.person, inquiries, lambda: work.cancel.is_set)
    if found is None:
        raise Failure("No answer came.", "Decide by what you know, and say what you assumed.")
    lines = [f"{each.question} → {_said(reply)}" for each, reply in zip(inquiries, found, strict=True)]
    answers = {each.question: reply.as_dict() for each, reply in zip(inquiries, found, strict=True)}
    data = {"answers": {name: {**each, "chosen": list(each["chosen"])} for name, each in answers.items()}}
    return Output((Text("\n".join(lines)),), data)


def _inquiry(given: Any) -> Inquiry:
    choices = tuple(Choice(each["label"], each["description"]) for each in given["options"])
    labels = [each.label.casefold() for each in choices]
    if len(set(labels)) != len(labels):
        raise Failure(f"The options of a question must differ (got {', '.join(each.label for each in choices)}).")
    return Inquiry(given["question"], choices, given["header"], several=given["multiSelect"])


def _said(reply: Reply) -> str:
    return ", ".join((*reply.chosen, *((f"other: {reply.other}",) if reply.other else ())))


def enter_plan(call: Call, work: Work) -> Output:
    """From now on nothing is written, until a plan is accepted."""
    mode = work.context.mode
    if mode == PLAN:
        raise Failure("You are planning already.", "Show the plan with ExitPlanMode when it is ready.")
    reason = work.judge.refuses_mode(PLAN)
    if reason:
        raise Failure(f"Policy does not let a session plan: {reason}.")
    work.session.before_plan = mode
    about = f" Plan this: {call.input['prompt']}" if call.input.get("prompt") else ""
    text = f"You are planning now: look at whatever you need; nothing is written until the plan is accepted.{about}"
    return Output((Text(text),), mode=PLAN)


def exit_plan(call: Call, work: Work) -> Output:
    """Shows the plan. Accepted, it leads back to the mode before; otherwise planning goes on."""
    if work.context.mode != PLAN:
        raise Failure("No plan is being made.", "Do what is to be done; EnterPlanMode begins a plan.")
    back = _mode_after(work)
    inquiry = Inquiry("Is this plan accepted?", (ACCEPT, REVISE), "Plan", call.input["plan"])
    if work.session.person is None:
        if setting(work, "plan", "unattended", "refuse") != "accept":
            remedy = "Give the plan as your answer; a person can then let it be done."
            raise Failure("Nobody is there to accept the plan, and policy does not.", remedy)
        return _accepted("policy", back)
    found = replies(work.session.person, (inquiry,), lambda: work.cancel.is_set)
    if found is None:
        raise Failure("No answer came: the plan is not accepted, and you are still planning.")
    if found[0].chosen == (ACCEPT.label,):
        return _accepted("person", back)
    said = f" The person says: {found[0].other}" if found[0].other else ""
    text = f"The plan is not accepted, and you are still planning.{said}"
    return Output((Text(text),), {"accepted": False, "said": found[0].other}, is_error=True)


def _accepted(by: str, mode: str) -> Output:
    text = f"The plan is accepted{' by policy, for nobody is there' if by == 'policy' else ''}. Do what it says."
    return Output((Text(text),), {"accepted": True, "by": by}, mode=mode)


def _mode_after(work: Work) -> str:
    """Where an accepted plan leads. Raises Failure where policy, or whoever started this agent, leaves no way."""
    if work.session.before_plan:
        wanted = [work.session.before_plan]
    elif work.context.depth:
        raise Failure("You were started to plan only.", "Give the plan as your answer.")
    else:
        said = work.judge.loaded.settings.get("mode")
        wanted = ["" if said is None else said.value, USUAL, *work.judge.loaded.modes]
        wanted = [mode for mode in wanted if mode and mode not in CEILINGS]
    for mode in wanted:
        if not work.judge.refuses_mode(mode):
            return mode
    raise Failure("Policy leaves open no mode in which a plan could be carried out.", "Give the plan as your answer.")
