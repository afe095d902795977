"""A verdict as people read it: the decision first, then the rule, the place in the call, and everything else.

Most of it is taken from the data that becomes the JSON, so that neither can contradict the other.
"""

from __future__ import annotations

from gateway.model.changes import ASK, DISCARD
from gateway.policy.explain import said_by_rule
from gateway.policy.wording import phrase, quote, visible
from gateway.render.folding import folded
from gateway.render.origins import layer_name
from gateway.render.style import Style, clipped, columns_of, excerpt, wrapped

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from gateway.model.verdict import Verdict

MAX_LISTED = 12
_ALL = 1_000_000
MAX_CHANGE = 2_000
_LABEL = 12
_RULE_LINES = 2
_DRAFT = (
    "where somebody can be asked when it has ended it runs at once, on a layer over the workspace, and they are shown "
    "what it changed"
)
_THROWN_AWAY = "what it changes lies in a layer over the workspace, which is thrown away when it ends"
_WHY = {
    "mode": {
        "allow": "mode `{mode}` allows all of it without a rule",
        "ask": "no rule covers this, and mode `{mode}` asks",
    },
    "level": {
        "allow": "{what}",
        "ask": "no rule covers calls of this tool",
        "deny": "no rule covers calls of this tool",
    },
    "ceiling": {"deny": "mode `{mode}` never allows this"},
    "nobody_to_ask": {"deny": "no rule covers this, and mode `{mode}` asks nobody"},
    "command_injection_detected": {
        "ask": "no rule covers a command that is hidden in or chained to this line",
        "deny": "no rule covers a command that is hidden in or chained to this line",
    },
}


def verdict_text(verdict: Verdict, found: dict[str, Any], style: Style, *, full: bool = False) -> str:
    """The text of one verdict; `found` is what `explain` says of it. Long lists and texts are cut unless it is to be
    `full`."""
    rule, reason = verdict.reason.rule, verdict.reason
    most = _ALL if full else MAX_LISTED
    lines = [_headline(verdict, found, style), "", *_marked(found, verdict.call.shown, style), ""]
    if found["decision"] != "allow":
        lines += _labelled("it", phrase(verdict.analysis.items[reason.item].effect), style)
    because, instead = said_by_rule(verdict)
    lines += _labelled("because", visible(because), style)
    if found["reason"] != "unknown_target":
        lines += _labelled("note", visible(reason.note), style)
    lines += _labelled("install", visible(verdict.unfetched), style)
    lines += _labelled("instead", visible(instead), style)
    if rule.source.file:
        text = rule.text if full else folded(rule.text)
        lines += _labelled("rule", visible(text), style, 0 if full else _RULE_LINES)
    lines += _also(found, style, most)
    lines += _effects(found, style, most)
    lines += _labelled("classes", ", ".join(found["classes"]), style)
    for number, reading in enumerate(found["normalised"][:most]):
        lines += _labelled("" if number else "reading", reading, style)
    for number, entry in enumerate(found["noted"]):
        said = f"{_origin(entry)} would {entry['decision']} it, and only takes note"
        lines += _labelled("" if number else "noted", said, style)
    lines += _labelled("confinement", found["confinement"]["text"], style)
    if found["decision"] == "ask" and verdict.changes == ASK:
        lines += _labelled("draft", _DRAFT, style)
    elif verdict.changes == DISCARD:
        lines += _labelled("draft", _THROWN_AWAY, style)
    lines += _change(found.get("change") or "", style, full=full)
    return "\n".join(lines) + "\n"


def _change(text: str, style: Style, *, full: bool) -> list[str]:
    """The smallest change, whole where it fits a glance: a part of a rule would be another rule."""
    if len(text) > MAX_CHANGE and not full:
        text = f"one of {len(text):,} characters would do, see --full"
    return _labelled("change", text, style)


def headline(verdict: Verdict, found: dict[str, Any]) -> str:
    """The decision and who made it, on one line."""
    decision = found["decision"].upper()
    if found["reason"] == "unknown_target":
        return (
            f"{decision}: what it is about is not known before the run; rule {_origin(found['rule'])} may speak of it"
        )
    why = _WHY.get(found["reason"], {}).get(found["decision"])
    if why is None or found["rule"]["file"]:
        return f"{decision} by rule {_origin(found['rule'])}"
    what = "nothing that it does needs a rule" if verdict.analysis.parts else "calls of this tool need no rule"
    return f"{decision}: {why.format(mode=found['mode'], what=what)}"


def _headline(verdict: Verdict, found: dict[str, Any], style: Style) -> str:
    decision = found["decision"].upper()
    first, *rest = wrapped(headline(verdict, found), style.width)
    return "\n".join([style.paint(decision, found["decision"]) + first[len(decision) :], *rest])


def _origin(rule: dict[str, Any]) -> str:
    """`no-force-push` (user, guard.yaml:12)."""
    if not rule["file"]:
        return f"`{visible(rule['id'])}`"
    place = visible(rule["file"]) + (f":{rule['line']}" if rule["line"] else "")
    return f"`{visible(rule['id'])}` ({layer_name(rule['layer'], rule['file'])}, {place})"


def _marked(found: dict[str, Any], shown: str, style: Style) -> list[str]:
    """The call with the part that the decision is about underlined."""
    span = found["matched"][0]["span"]
    plain_mode = found["decision"] == "allow" and not found["rule"]["file"]
    opening, closing = _frame(found)
    room = style.width - 2 - len(opening) - len(closing)
    if not shown:
        return [f"  {visible(found['tool'])}"]
    window = excerpt(shown, None if plain_mode or span is None else tuple(span), room)
    first = f"  {opening}{window.line}{closing}"
    if not window.marked:
        return [first]
    mark = " " * (2 + len(opening) + window.before) + style.paint("^" * window.marked, found["decision"])
    return [first, mark]


def _frame(found: dict[str, Any]) -> tuple[str, str]:
    """A shell text stands by itself, another call's text within its tool's name."""
    shell = any(effect["kind"] in ("exec", "code", "opaque") and effect["span"] for effect in found["effects"])
    return ("", "") if shell else (f"{visible(found['tool'])}(", ")")


def _labelled(label: str, text: str, style: Style, most: int = 0) -> list[str]:
    """A text beside its label, wrapped, in at most `most` lines if that is not 0; nothing at all for no text."""
    if not text:
        return []
    first, *rest = wrapped(text, style.width - _LABEL - 2)
    if most and len(rest) >= most:
        rest = [*rest[: most - 2], clipped(rest[most - 2] + " " + rest[most - 1], style.width - _LABEL - 2)]
    head = style.paint(f"{label:<{_LABEL}}", "dim")
    return [f"  {head}{first}", *(" " * (_LABEL + 2) + line for line in rest)]


def _also(found: dict[str, Any], style: Style, most: int) -> list[str]:
    """The other rules that matched, and why they lost; each rule once, with its place if it is only one."""
    places: dict[Any, list[dict[str, Any]]] = {}
    for entry in found["matched"][1:]:
        if entry["lost"]:
            places.setdefault((entry["id"], entry["file"], entry["line"], entry["decision"]), []).append(entry)
    lines: list[str] = []
    for entry, *others in list(places.values())[:most]:
        what = f"{entry['decision']} {_origin(entry)}"
        if entry["segment"] and not others and entry["span"] != found["matched"][0]["span"]:
            what += f" on {quote(entry['segment'], 60)}"
        lines += _labelled("" if lines else "also", f"{what}: {visible(entry['lost'])}", style)
    if len(places) > most:
        lines += _labelled("", f"… and {len(places) - most} more, see --full", style)
    return lines


def _effects(found: dict[str, Any], style: Style, most: int) -> list[str]:
    """What the call does, each with what becomes of it. Carriers stand here only when a rule names them."""
    effects = [effect for effect in found["effects"] if "decision" in effect]
    lines: list[str] = []
    for text in effect_lines(effects[:most], style, style.width - _LABEL - 2):
        head = style.paint(f"{'effects' if not lines else '':<{_LABEL}}", "dim")
        lines.append(f"  {head}{text}")
    if len(effects) > most:
        lines += _labelled("", f"… and {len(effects) - most} more, see --full", style)
    return lines


def effect_lines(effects: list[dict[str, Any]], style: Style, room: int) -> list[str]:
    """`deny   push       origin main (force)     no-force-push`, one for each effect, in `room` columns.

    Effects that read the same stand once; where there is little room, rules are left out.
    """
    rules = [clipped(visible(effect.get("rule", "")), room // 3) if room >= _ROOMY else "" for effect in effects]
    left = room - _COLUMNS - max((columns_of(rule) + 2 for rule in rules if rule), default=0)
    targets = [excerpt(_target(effect), None, max(left, _LEAST)).line for effect in effects]
    widest = max(map(columns_of, targets), default=0)
    lines: dict[str, None] = {}
    for effect, target, rule in zip(effects, targets, rules, strict=True):
        decision = effect.get("decision", "")
        kind = effect["direction"] if effect["kind"] == "connect" else effect["kind"]
        tail = " " * (widest - columns_of(target) + 2) + rule if rule else ""
        start = style.paint(f"{decision:<6}", decision or "dim")
        lines[f"{start}{kind:<11}{target}{style.paint(tail, 'dim')}"] = None
    return list(lines)


_COLUMNS = 17
_LEAST = 8
_ROOMY = 44


def _target(effect: dict[str, Any]) -> str:
    if effect["kind"] == "code":
        return f"{effect['target']} ({effect['why']})"
    return f"{effect['target']} -> {effect['real']}" if effect.get("real") else str(effect["target"])
