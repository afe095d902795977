"""Which hooks are told of a call, in which order, and what becomes of the call by what they answer.

A hook that guards and fails, is slow or answers nonsense refuses the call. One that only watches changes nothing, and
its troubles are reported to people.
"""

from __future__ import annotations

from gateway.calls.hooks.answer import HookError, Nonsense, checked, read, told
from gateway.core.errors import CallError
from gateway.core.value import Value
from gateway.model.call import RawCall
from gateway.policy.unjudged import by_hook
from gateway.policy.wording import visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from gateway.calls.hooks.answer import Said
    from gateway.calls.ports import InProgress
    from gateway.model.call import Call
    from gateway.model.rule import Rule

    Hook = dict[str, Any]

# How often hooks may change a call before it counts as one that never comes to rest.
MAX_ROUNDS = 4
MOST_SHOWN = 20_000


class Answers(Value):
    """What all hooks of one event said together. `refusal`: why the call does not run, "" if it may, and `rule`: what
    stands in the record for the hook that refused. `raw`: the call as they left it. `notes` are for the model,
    `reports` for people. `changed`: ids of the hooks that changed it."""

    raw: RawCall
    refusal: str = ""
    notes: tuple[str, ...] = ()
    reports: tuple[str, ...] = ()
    rule: Rule | None = None
    changed: tuple[str, ...] = ()


def ask_before(found: Sequence[Hook], call: Call, life: InProgress, reread: Callable[[RawCall], Call]) -> Answers:
    """Tells them of a call that has not been judged. After a change all of them are told again of the call as it is
    by then, so that none is passed by with what it has never seen."""
    notes: dict[str, None] = {}
    reports: dict[str, None] = {}
    changes: dict[str, None] = {}
    raw = life.raw

    def answers(refused_by: Hook | None = None, why: str = "", refusal: str = "") -> Answers:
        rule = None if refused_by is None else by_hook(refused_by, why)
        told = f"{life.raw.tool} was refused{refusal or f': {why}'}" if rule else ""
        return Answers(raw, told, notes=tuple(notes), reports=tuple(reports), rule=rule, changed=tuple(changes))

    last = None
    for _ in range(MAX_ROUNDS):
        changed = False
        for hook in found:
            name = f"hook `{hook['id']}`"
            try:
                said = _ask(hook, told("before_call", call, life.context, life.session.name), life)
            except HookError as error:
                if hook["guards"]:
                    return answers(hook, f"{name} {error}.")
                reports[f"{name} {error}"] = None
                continue
            if said.note:
                notes[said.note] = None
            if not hook["guards"]:
                if said.refuse or said.input is not None:
                    reports[f"{name} only watches: what it says of the call is not done"] = None
                continue
            if said.refuse:
                why = visible(said.refuse)
                return answers(hook, why, f" by {name}: {why}")
            if said.input is None:
                continue
            raw = RawCall(
                life.raw.tool, said.input, partial=False, server=life.raw.server, annotations=life.raw.annotations
            )
            try:
                there = reread(raw)
            except CallError as error:
                return answers(hook, f"{name} changed it to a call that is none: {error}")
            if there != call:
                call, changed, last = there, True, hook
                changes[hook["id"]] = None
                reports[f"{name} changed the call"] = None
        if not changed:
            return answers()
    return answers(last, "its hooks change it each time they see it.")


def tell_after(found: Sequence[Hook], event: str, life: InProgress) -> Answers:
    """Tells them of what became of a call. They may add notes, and nothing else."""
    notes, reports = [], []
    assert life.verdict is not None
    given = told(event, life.verdict.call, life.context, life.session.name) | _became(life)
    for hook in found:
        name = f"hook `{hook['id']}`"
        try:
            said = _ask(hook, given, life)
        except HookError as error:
            reports.append(f"{name} {error}")
            continue
        if said.note:
            notes.append(said.note)
        if said.refuse or said.input is not None:
            reports.append(f"{name} answered too late: the call has run")
    return Answers(life.raw, "", tuple(notes), tuple(reports))


def _ask(hook: Hook, given: dict[str, Any], life: InProgress) -> Said:
    """Its answer. Raises HookError for whatever is none; what it says can be shown."""
    from gateway.calls.hooks.transport import (
        asked_by_http,
        asked_confined,
        asked_program,
        asked_python,
    )  # few calls have any

    try:
        if "python" in hook:
            return checked(asked_python(hook, given))
        if "http" in hook:
            return read(asked_by_http(hook, given, life))
        asked = asked_confined if hook["layer"] == "project" else asked_program
        return read(asked(hook, given, life))
    except Nonsense as error:
        raise HookError(visible(str(error))) from error
    except HookError as error:
        raise HookError(visible(str(error))) from error
    except Exception as error:  # a fault of ours or of the hook's own Python
        raise HookError(visible(f"failed ({type(error).__name__}: {str(error)[:200]})")) from error


def _became(life: InProgress) -> dict[str, Any]:
    output, result = life.output, life.result
    texts = "\n".join(block.text for block in output.blocks if hasattr(block, "text"))
    return {
        "result": {
            "text": texts[:MOST_SHOWN],
            "is_error": output.is_error,
            "changed": list(output.changed),
            "status": None if result is None else result.status,
            "ended": "" if result is None else result.ended,
        }
    }
