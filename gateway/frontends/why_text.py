"""The last refusal as people and programs read it: what was refused and why, and what to do about it."""

from __future__ import annotations

import os
from datetime import UTC, datetime

from gateway.audit import refusals
from gateway.core.places import packaged
from gateway.frontends.audit_text import violations_of
from gateway.frontends.jsontext import dumps
from gateway.frontends.pasting import shell_word
from gateway.model.decision import Decision
from gateway.model.record import said_of
from gateway.policy.explain import REASONS, matched, said_by_rule
from gateway.policy.wording import phrase, visible
from gateway.render.origins import layer_name
from gateway.render.style import clipped, excerpt, wrapped

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from gateway.audit.refusals import Refusal
    from gateway.frontends.rejudging import Again
    from gateway.render.style import Style

_LABEL = 12
_LISTED = 12
_HEADS = {
    "": ("NOT REFUSED", ""),
    refusals.DENIED: ("DENIED", ""),
    refusals.NOBODY: ("REFUSED", "policy asks about it, and nobody could be asked"),
    refusals.REFUSED: ("REFUSED", "it was not agreed to"),
    refusals.UNANSWERED: (
        "ASKED",
        "the agent was told to ask, and nothing is known of an end: it was not agreed to, or it still runs",
    ),
    refusals.INVALID_CALL: ("REFUSED", "it is no valid call"),
    refusals.BY_A_HOOK: ("REFUSED", "a hook refused it"),
    refusals.FAULT: ("REFUSED", "it met an error of the gateway itself"),
    refusals.UNCONFINED: ("NOT RUN", "it could not be confined"),
    refusals.STOPPED: ("STOPPED", "it ran, and the sandbox refused it something"),
}
_COLOURS = {"": "allow", refusals.UNANSWERED: "ask", refusals.STOPPED: "ask"}
_AFTER = {
    "": "",
    refusals.STOPPED: "; what it is granted when it runs shows `gateway check --plan`",
    refusals.UNCONFINED: "; what keeps the sandbox from being built shows `gateway doctor`",
}
_RULE_LINES = 2
_WOULD = {"allow": "allow it", "ask": "ask about it", "deny": "deny it"}
_SPANS = ((86_400, "day"), (3_600, "hour"), (60, "minute"))


def head_of(kind: str) -> str:
    """How a call was refused, in words; "" for one that was not, and where the decision says it all."""
    return _HEADS[kind][1]


def as_data(found: Refusal, again: Again) -> dict[str, Any]:
    """All there is to know, for programs."""
    decision, outcome = found.decision, found.outcome
    data: dict[str, Any] = {
        "refused": found.kind or None,
        "record": {"decision": decision, "outcome": outcome},
        "rule": _rule(decision, again),
        "blocked": _blocked(outcome),
        "now": {
            "decision": again.verdict.decision.word if again.verdict is not None else None,
            "rule": again.verdict.reason.rule.id if again.verdict is not None else None,
            "problem": again.problem or None,
            "unknown": list(again.unknown),
            "policy_changed": not again.is_same_policy,
        },
        "matched": _part(found, again),
        "change": _change(found, again) or None,
        "always": again.always or None,
        "commands": _commands(found, again),
    }
    data["text"] = dict(_advice(found, data, again))
    return data


def _rule(decision: Mapping[str, Any], again: Again) -> dict[str, Any]:
    """The rule that decided, as the record has it, with what it says now."""
    recorded = decision.get("rule")
    name, layer, file, line = recorded if isinstance(recorded, list) and len(recorded) == 4 else ("?", "", "", 0)
    own = _text(decision, "because")
    rule = again.rule
    now = "" if rule is None else str(rule.source)
    because, instead = (rule.because, rule.instead) if rule is not None else ("", "")
    if again.verdict is not None and again.verdict.reason.rule == rule:
        because, instead = said_by_rule(again.verdict)
    return {
        "id": str(name),
        "layer": str(layer),
        "file": str(file) or None,
        "line": line or None,
        "text": rule.text if rule is not None else None,
        "because": own or because or None,
        "instead": instead or None,
        "now_at": now if now and file and now != f"{file}:{line}" else None,
        "is_gone": bool(file) and rule is None and again.gateway is not None and not str(name).startswith("hook:"),
    }


def _blocked(outcome: Mapping[str, Any] | None) -> list[dict[str, Any]]:
    """What the sandbox refused, each with what to do instead."""
    if outcome is None:
        return []
    hints = outcome.get("hints")
    hints = hints if isinstance(hints, list) else []
    found = []
    for number, (kind, target, rule, source, count) in enumerate(violations_of(outcome)):
        hint = hints[number] if number < len(hints) and isinstance(hints[number], str) else ""
        found.append(
            {"kind": str(kind), "target": str(target), "rule": rule or None, "count": count, "hint": hint or None,
             "certain": source != "output"}
        )  # fmt: skip
    return found


def _is_same(found: Refusal, again: Again) -> bool:
    """Whether the policy of now decides what the record says, by the same rule."""
    verdict, rule = again.verdict, found.decision.get("rule")
    if verdict is None or not isinstance(rule, list):
        return False
    return verdict.decision.word == found.decision.get("decision") and verdict.reason.rule.id == rule[0]


def _part(found: Refusal, again: Again) -> dict[str, Any] | None:
    """The part of the call that the decision is about, where that is known."""
    if again.verdict is None or not _is_same(found, again) or again.verdict.decision is Decision.ALLOW:
        return None
    first = matched(again.verdict)[0]
    return None if first["span"] is None else {"segment": first["segment"], "span": first["span"]}


def _change(found: Refusal, again: Again) -> str:
    """The smallest change that would let it run, where policy stands in the way."""
    is_in_the_way = again.verdict is not None and again.verdict.decision is not Decision.ALLOW
    return again.change if is_in_the_way and found.kind not in (refusals.STOPPED, refusals.UNCONFINED) else ""


def _commands(found: Refusal, again: Again) -> list[str]:
    number = found.decision.get("n")
    first = [f"gateway audit show {number}"] if isinstance(number, int) else []
    more = {
        refusals.INVALID_CALL: f"gateway tools show {shell_word(_text(found.decision, 'tool'))}",
        refusals.UNCONFINED: "gateway doctor",
        refusals.FAULT: "gateway doctor",
    }.get(found.kind, "")
    if found.kind == refusals.STOPPED and again.line:
        return [*first, again.line.replace("gateway check", "gateway check --plan", 1)]
    return [*first, *([again.line] if again.line else []), *([more] if more else [])]


def _advice(found: Refusal, data: Mapping[str, Any], again: Again) -> Iterable[tuple[str, str]]:
    """What to do, each under its label."""
    yield "now", _now(found, again)
    if data["change"]:
        yield "change", data["change"]
    if again.always:
        is_hook = _text(found.decision, "front").startswith("hook:")
        said = f"the answer `always` would save `{visible(again.always)}` for this project"
        if is_hook and again.gateway is not None:  # whose question has no such answer
            own = os.path.join(again.gateway.places.config, "policy.yaml")
            said = f"the narrowest rule that lets it run: `- {visible(again.always)}` under `rules:` in {own}"
            if ("user", packaged("policies/daily.yaml")) in again.gateway.loaded.files:
                said += ", which then has to begin with `extends: [daily]`: that holds while you have no policy"
        yield "always", said
    if data["rule"]["instead"]:
        yield "instead", data["rule"]["instead"]


def _now(found: Refusal, again: Again) -> str:
    """What policy says of the call now, held against what was decided."""
    verdict = again.verdict
    if verdict is None:
        return again.problem
    would = _WOULD[verdict.decision.word]
    unknown = f", whatever stands in {', '.join(map(visible, again.unknown))}" if again.unknown else ""
    rule = verdict.reason.rule
    by = f", by {_place(rule.id, rule.source.layer, str(rule.source) if rule.source.file else '')}"
    if found.kind in _AFTER:
        return f"policy would {would}{unknown}{_AFTER[found.kind]}"
    if found.kind in (refusals.BY_A_HOOK, refusals.FAULT) or not _is_policys(found.decision):
        return f"policy itself would {would}{unknown}, which is not what refused it"
    if found.kind == refusals.INVALID_CALL:
        return f"it is a valid call by now: policy would {would}{by}{unknown}"
    since = "policy has not changed since" if again.is_same_policy else "policy has changed since"
    if _is_same(found, again):
        return f"policy still would {would}{unknown} ({since})"
    if verdict.decision.word == found.decision.get("decision"):
        return f"policy still would {would}, but{by[1:]}{unknown} ({since})"
    if verdict.decision is Decision.ALLOW:
        return f"policy would allow it now{by}{unknown}: the agent can try again ({since})"
    return f"policy would {would} now{by}{unknown} ({since})"


def _is_policys(decision: Mapping[str, Any]) -> bool:
    """Whether a rule of a file, or the mode, decided; not one of the gateway's own reasons to refuse."""
    rule = decision.get("rule")
    if not isinstance(rule, list) or len(rule) != 4:
        return False
    return bool(rule[2]) or str(rule[0]).startswith(("mode:", "level:"))


def _place(name: str, layer: str, place: str) -> str:
    return f"`{visible(name)}`" + (
        f" ({layer_name(layer, place.rpartition(':')[0])}, {visible(place)})" if place else ""
    )


def as_text(found: Refusal, data: Mapping[str, Any], again: Again, now: datetime, style: Style) -> str:
    """The same for people, in the columns of the style."""
    decision, outcome = found.decision, found.outcome
    head, about = _HEADS[found.kind]
    number = f"#{decision.get('n')}"
    lines = [f"{style.paint(head, _COLOURS.get(found.kind, 'deny'))}  {number}, {_when(decision, now)}", ""]
    lines += [*_call(found, data, again, style), ""]
    lines += _labelled("how", about, style)
    lines += _labelled("allowed by" if decision.get("decision") == "allow" else "by", _by(decision, data), style)
    rule = data["rule"]
    if rule["file"]:
        lines += _labelled("rule", rule["text"] or "", style, _RULE_LINES)
    if data["matched"] is not None and again.verdict is not None:
        lines += _labelled("it", phrase(again.verdict.analysis.items[again.verdict.reason.item].effect), style)
    lines += _labelled("because", " ".join((rule["because"] or "").split()), style)
    reason = _text(outcome or {}, "reason")
    if found.kind in (refusals.REFUSED, refusals.UNCONFINED, refusals.STOPPED):
        lines += _labelled("said", reason, style)
    blocked = data["blocked"]
    for each in blocked[:_LISTED]:
        times = f" ({each['count']} times)" if each["count"] != 1 else ""
        seen = "" if each["certain"] else ", as what it printed suggests"
        by = f", rule `{each['rule']}`" if each["rule"] else ""
        hint = f": {each['hint']}" if each["hint"] else ""
        lines += _labelled("blocked", f"{each['kind']} {each['target']}{times}{by}{seen}{hint}", style)
    lines += _labelled("", f"… and {len(blocked) - _LISTED} more, see --json" if len(blocked) > _LISTED else "", style)
    lines += _labelled("asked by", _who(decision), style)
    confined = ", not confined" if decision.get("confined") is False else ""
    lines += _labelled("from", f"{_text(decision, 'cwd')}, mode {_text(decision, 'mode')}{confined}", style)
    lines += ["", style.paint("what to do", "strong")]
    for label, text in data["text"].items():
        lines += _labelled(label, text, style)
    for count, command in enumerate(data["commands"]):  # whole, however long: to be copied
        lines.append(f"  {style.paint(('' if count else 'more').ljust(_LABEL), 'dim')}{command}")
    return "\n".join(lines) + "\n"


def nothing_text(found: refusals.Looked, root: str, folder: str, problem: str) -> str:
    """That there is nothing to show, and where there may be."""
    where = f"from {visible(root)}" if root else "of any project"
    lines = [f"no refused call {where} is in the record in {visible(folder)}"]
    if not found.is_whole:
        lines[0] = f"no refused call {where} is among the last records in {visible(folder)}"
        lines.append("older ones: `gateway audit grep --decision deny`")
    if found.elsewhere is not None:
        other = found.elsewhere.decision
        lines.append(f"the last one of another folder is #{other.get('n')}, from {visible(_text(other, 'cwd'))}:")
        lines.append("  gateway why --all")
    lines += [f"but: {line}" for line in problem.split("\n") if problem]
    return "\n".join(lines) + "\n"


def _call(found: Refusal, data: Mapping[str, Any], again: Again, style: Style) -> list[str]:
    """The call on one line, with the part that the decision is about underlined."""
    tool = visible(_text(found.decision, "tool"))
    room = max(style.width - len(tool) - 4, 20)
    part = data["matched"]
    if part is None or again.verdict is None:
        said = said_of(found.decision) or dumps(found.decision.get("input") or {})
        return [f"  {style.paint(tool, 'strong')}  {clipped(visible(said), room)}"]
    window = excerpt(again.verdict.call.shown, tuple(part["span"]), room)
    lines = [f"  {style.paint(tool, 'strong')}  {window.line}"]
    if window.marked:
        lines.append(" " * (4 + len(tool) + window.before) + style.paint("^" * window.marked, "deny"))
    return lines


def _by(decision: Mapping[str, Any], data: Mapping[str, Any]) -> str:
    rule = data["rule"]
    if not rule["file"]:
        said = REASONS.get(_text(decision, "reason"), "") if _is_policys(decision) else ""
        return f"`{visible(rule['id'])}`" + (f": {said}" if said else "")
    place = f"{rule['file']}:{rule['line']}" if rule["line"] else rule["file"]
    text = _place(rule["id"], rule["layer"], place)
    if rule["now_at"]:
        return f"{text}, which is at {visible(rule['now_at'])} by now"
    return f"{text}, which is not in the policy that holds now" if rule["is_gone"] else text


def _who(decision: Mapping[str, Any]) -> str:
    front, session, agent = (_text(decision, name) for name in ("front", "session", "agent"))
    said = [front, f"its agent {agent}" if agent else "", f"session {session}" if session else ""]
    return ", ".join(filter(None, said))


def _when(decision: Mapping[str, Any], now: datetime) -> str:
    """The moment of a decision, and how long ago that is."""
    at = _text(decision, "at")
    try:
        then = datetime.fromisoformat(at)
        seconds = int((now - then.replace(tzinfo=then.tzinfo or UTC)).total_seconds())
    except (ValueError, OverflowError):
        return visible(at[:40])
    count, unit = next(
        ((seconds // each, name) for each, name in _SPANS if seconds >= each), (max(seconds, 0), "second")
    )
    return f"{count} {unit}{'' if count == 1 else 's'} ago ({visible(at[:19].replace('T', ' '))} UTC)"


def _labelled(label: str, text: str, style: Style, most: int = 0) -> list[str]:
    """A text beside its label, wrapped, in at most `most` lines if that is not 0; nothing for no text."""
    if not text:
        return []
    room = max(style.width - _LABEL - 2, 20)
    first, *rest = wrapped(visible(text), room)
    if most and len(rest) >= most:
        rest = [*rest[: most - 2], clipped(f"{rest[most - 2]} {rest[most - 1]}", room)]
    return [f"  {style.paint(label.ljust(_LABEL), 'dim')}{first}", *(" " * (_LABEL + 2) + line for line in rest)]


def _text(record: Mapping[str, Any], name: str) -> str:
    value = record.get(name)
    return value if isinstance(value, str) else ""
