"""A call of the record, judged once more as it stands there: by the policy as it is now, by the code of `check`.

What the record does not hold is not guessed. A call of which a secret was left out, or whose text was cut, is not
judged; of one whose declared fields are kept as size and digest only, those fields are unknown.
"""

from __future__ import annotations

import os

from gateway.agents import AGENTS
from gateway.agents.base import shell_of
from gateway.audit.entries import call_digest
from gateway.audit.redact import is_withheld
from gateway.calls.containing import cannot_contain
from gateway.config.load import Options, project_root
from gateway.core.errors import CallError, ConfigError, GatewayError
from gateway.core.value import Value
from gateway.frontends.pasting import shell_word
from gateway.judge.judge import Judge
from gateway.judge.pipeline import TEMP
from gateway.model.call import RawCall
from gateway.model.decision import MODES
from gateway.policy.table import ID, judged_as
from gateway.tools.foreign import undescribed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from gateway.model.context import Context
    from gateway.model.rule import Rule
    from gateway.model.verdict import Verdict
    from gateway.policy.table import Policy
    from gateway.tools.tool import Tool

_CUT = " characters]"
_LONGEST_LINE = 600
HIDDEN = "a secret was left out of the record, or a text was cut: what it would be now cannot be told from there"


class Again(Value):
    """What holds of a recorded call now. `gateway`: None where the policy cannot be read; `problem`: why there is no
    verdict, "" where there is one. `unknown`: fields whose content the record does not keep. `is_same_policy`: nothing
    that policy is read from has changed since. `rule`: the rule that had decided, where it still stands. `change`,
    `always`: the smallest change, and the rule that the answer "always" would save, "" where there is none. `line`: the
    command that judges it, "" where none can say it."""

    gateway: Judge | None = None
    verdict: Verdict | None = None
    problem: str = ""
    unknown: tuple[str, ...] = ()
    is_same_policy: bool = False
    rule: Rule | None = None
    change: str = ""
    always: str = ""
    line: str = ""


def judged_again(decision: Mapping[str, Any], key: bytes | None, here: str) -> Again:
    """`key`: that of the record; `here`: the current folder, whose project the call may have come from. Never raises
    for what the record or the policy holds."""
    cwd = _text(decision, "cwd")
    if not cwd.startswith("/"):
        return Again(problem="the record does not say where it came from")
    try:
        gateway = Judge(
            Options(cwd=cwd, root=_root(cwd, here), binding=True),
            confined=decision.get("confined") is not False,
            contains=cannot_contain,
        )
    except ConfigError as error:
        return Again(problem=f"the policy cannot be read now, so every call is refused: {on_one_line(error)}")
    same = _text(decision, "policy") == gateway.loaded.policy.revision
    found = Again(gateway, is_same_policy=same, rule=_rule_of(gateway.loaded.policy, decision))
    given = decision.get("input")
    if not isinstance(given, dict):
        return found.replace(problem="the record does not hold its input")
    unknown = tuple(name for name, value in given.items() if is_withheld(value))
    if not _is_whole(decision, given, unknown, key):
        return found.replace(problem=HIDDEN)
    known = {name: value for name, value in given.items() if name not in unknown}
    try:
        tool, shell = recorded_tool(gateway, decision, known)
        raw = RawCall(tool.name, known, partial=bool(unknown))
        context = recorded_context(gateway, decision)
        verdict = gateway.check(raw, context, foreign=tool, shell=shell)
        found = found.replace(verdict=verdict, unknown=unknown)
        return _with_advice(found, gateway, tool, raw, context, recorded=_text(decision, "policy"), here=here)
    except CallError as error:
        return found.replace(problem=f"it is no valid call: {on_one_line(error)}")
    except ConfigError as error:
        return found.replace(problem=f"the policy cannot be read now, so it would be refused: {on_one_line(error)}")


def _root(cwd: str, here: str) -> str:
    """The project that a call came from, which the record does not say: where its folder is in no repository, the
    current one if that holds it."""
    own, current = project_root(os.path.realpath(cwd)), project_root(os.path.realpath(here))
    is_told = own != os.path.realpath(cwd) or os.path.lexists(f"{own}/.git")
    return own if is_told or not (cwd + "/").startswith(current.rstrip("/") + "/") else current


def _with_advice(
    found: Again, gateway: Judge, tool: Tool, raw: RawCall, context: Context, *, recorded: str, here: str
) -> Again:
    from gateway.approval.always_rule import offered
    from gateway.policy.change import smallest_change
    from gateway.render.origins import is_of_preset

    verdict = found.verdict
    assert verdict is not None
    policy = gateway.loaded_for(verdict).policy
    judged = judged_as(tool)
    change = smallest_change(verdict, judged, policy, is_of_preset) or ""
    is_ours = tool.name in gateway.registry or tool.name.startswith("mcp__")
    return found.replace(
        is_same_policy=recorded == policy.revision,
        change=change,
        always=offered(gateway, verdict) if is_ours else "",
        line=_line(gateway, verdict, raw, context, here) if is_ours else "",
    )


def recorded_tool(gateway: Judge, decision: Mapping[str, Any], given: Mapping[str, Any]) -> tuple[Tool, str]:
    """What was called, as the front that recorded it takes it, and the shell that reads its text."""
    name, front = _text(decision, "tool"), _text(decision, "front")
    agent = front.removeprefix("hook:").partition(" ")[0] if front.startswith("hook:") else ""
    if agent not in AGENTS:
        return gateway.registry.tool(name), "bash"
    found = gateway.foreign.recorded_as(agent, name)
    if found is None and name.startswith("mcp__"):
        found = gateway.foreign.of_server(gateway.registry, name, given)
    if found is None:
        found = undescribed(name, given)
    return found, found.entry.get("shell") or shell_of(agent, gateway.environment)


def recorded_context(gateway: Judge, decision: Mapping[str, Any]) -> Context:
    """Where, by whom and in which mode it was called."""
    confined = decision.get("confined") is not False
    mode, depth = _text(decision, "mode"), decision.get("depth")
    return gateway.context.replace(
        mode=mode if mode in MODES else gateway.context.mode,
        agent=_text(decision, "agent"),
        depth=depth if isinstance(depth, int) else 0,
        confined=confined,
        temp=TEMP if confined else (),
    )


def _is_whole(decision: Mapping[str, Any], given: dict[str, Any], unknown: tuple[str, ...], key: bytes | None) -> bool:
    """Whether all of its input is known, but for those fields: what the digest of the whole input tells, where there is
    no such field."""
    if decision.get("redacted"):
        return False
    if not unknown:
        return key is not None and call_digest(_text(decision, "tool"), given, key) == decision.get("call")
    return not any(isinstance(value, str) and value.endswith(_CUT) for value in given.values())


def _rule_of(policy: Policy, decision: Mapping[str, Any]) -> Rule | None:
    """The rule that decided, as it stands in the policy now; None where there is none of that id in that layer."""
    recorded = decision.get("rule")
    if not isinstance(recorded, list) or len(recorded) != 4:
        return None
    for number in range(len(policy.rules)):
        if policy.rules[number][ID] == recorded[0]:
            found = policy.rule(number)
            if found.source.layer == recorded[1]:
                return found
    return None


def _line(gateway: Judge, verdict: Verdict, raw: RawCall, context: Context, here: str) -> str:
    """The command that comes to the same verdict: in the short form where that does."""
    from gateway.frontends.jsontext import dumps
    from gateway.tools.text import parse_call_text

    options = [
        *([] if context.confined else ["--unconfined"]),
        *([] if context.mode == gateway.loaded.mode else ["--mode", context.mode]),
        *([] if context.cwd == here else ["--cwd", context.cwd]),
    ]
    text = verdict.call.input.get(gateway.registry.tool(raw.tool).match)
    short = f"{raw.tool}({text})" if isinstance(text, str) else raw.tool
    ways = [[short]]
    if not raw.partial:
        ways.append(["--tool", raw.tool, "--input", dumps(raw.input)])
    for words in ways:
        if any("\0" in word for word in (*options, *words)):
            continue  # no command line can hold it
        line = " ".join(["gateway check", *(map(shell_word, [*options, *words]))])
        given = parse_call_text(gateway.registry, short) if len(words) == 1 else raw
        try:
            anew = gateway.check(given, context)
        except CallError:
            continue
        is_same = anew.decision is verdict.decision and anew.reason.rule == verdict.reason.rule
        if is_same and len(line) <= _LONGEST_LINE and line.isprintable():
            return line
    return ""


def on_one_line(error: GatewayError) -> str:
    """What an error says, remedies in parentheses."""
    problems = getattr(error, "problems", ()) or (error,)
    said = [str(each).partition("\n  help: ") for each in problems]
    return "; ".join(f"{what} ({remedy})" if remedy else what for what, _help, remedy in said)


def _text(record: Mapping[str, Any], name: str) -> str:
    value = record.get(name)
    return value if isinstance(value, str) else ""
