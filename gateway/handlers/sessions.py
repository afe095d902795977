"""Sleep, Config, StructuredOutput and RemoteTrigger: what concerns the session itself, and what is declared for it."""

from __future__ import annotations

import json

from gateway.approval.person import Choice, Inquiry, replies
from gateway.calls.output import Failure, Output, Text
from gateway.config.layers import STRICTER
from gateway.model.call import RawCall
from gateway.tools.words import suggestion

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from gateway.calls.work import Work
    from gateway.model.call import Call
    from gateway.tools.tool import Tool

YES, NO = Choice("Yes"), Choice("No")
# Settings of policy that an agent may see; it changes none of them.
_SEEN = ("limits", "tasks", "plan", "shell", "tools_in_full", "workspace", "approvers")
_RULES = ("deny", "ask")


def sleep(call: Call, work: Work) -> Output:
    """Waits; a cancelled call wakes at once."""
    seconds = call.input["duration"]
    if work.cancel.wait(seconds):
        raise Failure("The sleep was cancelled.")
    return Output((Text(f"{seconds:g} seconds have passed."),))


def config(call: Call, work: Work) -> Output:
    """Shows the session's settings, or changes one that policy leaves open."""
    key, value = call.input.get("key", ""), call.input.get("value")
    if not key:
        found = {name: show(work) for name, show in _SHOWN.items()}
        return Output((Text(_json(found)),), {"settings": found})
    if key not in _SHOWN:
        raise Failure(f"There is no setting `{key}`.", suggestion(key, tuple(_SHOWN)))
    if value is None:
        return Output((Text(f"{key}: {_json(_SHOWN[key](work))}"),), {"settings": {key: _SHOWN[key](work)}})
    change = _CHANGES.get(key)
    if change is None:
        raise Failure(
            f"`{key}` is what policy says, and no session changes it.", "Ask the person to change the policy."
        )
    return change(work, value)


def _mode(work: Work, value: str) -> Output:
    """A stricter mode at once; any other one only if the person agrees, and never for an agent that another one has
    started."""
    mode = work.context.mode
    reason = work.judge.refuses_mode(value)
    if reason:
        raise Failure(f"The mode stays {mode}: {reason}.")
    if value == mode:
        return Output((Text(f"The mode is {mode}."),))
    if value not in STRICTER[mode]:
        if mode == "plan":
            raise Failure("A plan ends with ExitPlanMode.")
        question = f"May the mode change from {mode} to {value}?"
        if work.context.depth or work.session.person is None:
            raise Failure(f"{value} is not stricter than {mode}, and nobody is there to agree.")
        found = replies(work.session.person, (Inquiry(question, (YES, NO), "Mode", free=False),),
                        lambda: work.cancel.is_set)  # fmt: skip
        if found is None or found[0].chosen != (YES.label,):
            raise Failure(f"The mode stays {mode}: the person does not agree.")
    if value == "plan":
        work.session.before_plan = mode  # where an accepted plan leads back to, and nowhere laxer
    return Output((Text(f"The mode is {value} from the next call on."),), {"settings": {"mode": value}}, mode=value)


def _rules(work: Work, value: str) -> Output:
    """More that is forbidden or asked about. Nothing is allowed so."""
    lane, _, rule = value.partition(" ")
    if lane not in _RULES or not rule.strip():
        raise Failure(f"A rule of a session must be `deny TOOL(…)` or `ask TOOL(…)` (got `{value}`).")
    text = json.dumps({"version": 1, lane: [rule.strip()]}, ensure_ascii=False)
    reason = work.judge.refuses_rules((*work.context.rules, text))
    if reason:
        raise Failure(f"The rule cannot hold: {reason}.")
    return Output((Text(f"`{value}` holds from the next call on, for this session."),), rules=(text,))


def _setting(name: str) -> Callable[[Work], Any]:
    def show(work: Work) -> Any:
        found = work.judge.loaded.settings.get(name)
        return None if found is None else found.value

    return show


_SHOWN: dict[str, Callable[[Work], Any]] = {
    "mode": lambda work: work.context.mode,
    "modes": lambda work: list(work.judge.loaded.modes),
    "cwd": lambda work: work.context.cwd,
    "rules": lambda work: list(work.context.rules),
    **{name: _setting(name) for name in _SEEN},
}
_CHANGES: dict[str, Callable[[Work, str], Output]] = {"mode": _mode, "rules": _rules}


def trigger(call: Call, work: Work) -> Output:
    """Calls a tool that a layer has declared as a request: judged, asked about and recorded as what it is."""
    name = call.input["trigger_id"]
    known = triggers(work)
    if name not in known:
        remedy = suggestion(name, tuple(known)) if known else "A trigger is an `http:` tool of your own tools.yaml."
        raise Failure(f"There is no trigger `{name}`.", remedy)
    may = work.session.may
    if may is not None and not may(name):
        raise Failure(f"There is no tool `{name}` for this agent.")
    assert work.call is not None
    done = work.call(RawCall(name, dict(call.input.get("payload") or {})))
    return Output(done.output.blocks, done.output.data, is_error=done.output.is_error or not done.ran)


def triggers(work: Work) -> dict[str, Tool]:
    """The requests that layers declare: an enterprise's and the user's, for a project may declare none."""
    registry = work.judge.registry
    return {
        name: registry[name]
        for name in registry
        if registry[name].entry.get("layer") in ("enterprise", "user")
        and registry[name].entry["handler"].get("kind") == "http"
    }


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=_plain)


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else str(value)
