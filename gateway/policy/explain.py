"""A verdict as plain data: the JSON of `gateway check`, of batches, hooks and servers.

Everything here is said once and shown by many. Spans are in code points of the call's match field; a null span is
something that the match field does not tell. `reason` is one of `REASONS`; `message` is for the model.
"""

from __future__ import annotations

from gateway.model.changes import ASK, DISCARD, KEEP
from gateway.model.decision import Decision
from gateway.model.effect import HOLE, PATH_KINDS
from gateway.policy.modes import CEILINGS
from gateway.policy.wording import UNKNOWN, phrase, quote, shortened, target, visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Protocol

    from gateway.model.effect import Item
    from gateway.model.rule import Rule
    from gateway.model.verdict import Outcome, Reason, Verdict
    from gateway.policy.confine import Enforced

    class Proposes(Protocol):
        """A rule that would let a call run, as `gateway.approval.proposing` makes it."""

        @property
        def as_json(self) -> dict[str, Any]: ...


INJECTION = "command_injection_detected"
REASONS = {
    "rule": "a rule says so",
    "mode": "no rule speaks of the effect, and the mode decides",
    "level": "the call has no effect, and its tool's level decides",
    "ceiling": "the mode refuses this whatever allows it",
    "nobody_to_ask": "it would be asked about, and the mode asks nobody",
    "requirement": "a `require` rule's demand is not met",
    "unknown_target": "a rule may match, depending on what is not known before the run",
    "below": "something protected lies, or may lie, below the folder",
    "unparsed": "a rule matches words of a text that cannot be parsed",
    INJECTION: "a hidden or chained command that no rule covers",
}
MAX_SEGMENT = 400
CONTAINED = {
    KEEP: "Contained: runs, changes kept, can be undone",
    ASK: "Contained: runs, changes kept once a person has seen them",
    DISCARD: "Contained: runs, changes thrown away",
}


def explain(
    verdict: Verdict,
    *,
    enforced: Enforced | None = None,
    change: str | None = None,
    propose: Proposes | None = None,
    elapsed_us: int = 0,
) -> dict[str, Any]:
    """The verdict with everything that led to it, ready for `json.dumps`.

    `enforced` says what of the policy would hold during the call, as far as that is known; `change` is the smallest
    change that would alter the verdict, `propose` the narrowest rule that would let the call run, where somebody worked
    them out.
    """
    from gateway.policy.confine import NOTHING_KNOWN, confinement  # lazy: a hook says why, and nothing of these
    from gateway.policy.normalised import normalised

    call, analysis, context = verdict.call, verdict.analysis, verdict.context
    found = {
        "tool": call.tool,
        "input": call.input,
        "decision": verdict.decision.word,
        "reason": reason_of(verdict),
        "message": message(verdict),
        "rule": rule_of(verdict.reason.rule),
        "matched": matched(verdict),
        "effects": _effects(verdict),
        "classes": classes(verdict),
        "confinement": confinement(verdict, enforced or NOTHING_KNOWN).as_json(),
        "changes": verdict.changes,
        "elapsed_us": elapsed_us,
        "normalised": normalised(call.shown, analysis, MAX_SEGMENT),
        "noted": [_entry(verdict, reason, {}) for reason in verdict.noted],
        "cwd": context.cwd,
        "mode": context.mode,
    }
    if verdict.unfetched:
        found["unfetched"] = verdict.unfetched
    if change is not None:
        found["change"] = change
    if propose is not None:
        found["propose"] = propose.as_json
    return found


def reason_of(verdict: Verdict) -> str:
    """Why, as one of `REASONS`."""
    reason, mode = verdict.reason, verdict.context.mode
    lane, decision = reason.rule.lane, verdict.decision
    if lane == "mode":
        if reason.rule.id.startswith("level:"):
            return "level"
        if decision is Decision.ALLOW:
            return "mode"
        if decision is Decision.DENY and mode in CEILINGS:
            return "ceiling"
        if _is_hidden(verdict, verdict.analysis.items[reason.item]):
            return INJECTION
        return "nobody_to_ask" if mode == "dont_ask" else "mode"
    if lane == "require":
        return "requirement"
    if lane == "ask" and decision is Decision.DENY:
        return "nobody_to_ask"
    if not reason.certain:
        return "unknown_target" if _is_unknown(verdict) else "below"
    if verdict.analysis.tokens and "words" in reason.note:
        return "unparsed"
    return "rule"


def _is_unknown(verdict: Verdict) -> bool:
    """Whether the deciding rule may or may not speak of the call, depending on what is not known before the run."""
    reason = verdict.reason
    effect: Any = verdict.analysis.items[reason.item].effect
    known_tree = effect.kind in PATH_KINDS and effect.tree and HOLE not in effect.path
    return not reason.certain and not known_tree


def said_by_rule(verdict: Verdict) -> tuple[str, str]:
    """Why the deciding rule says what it does, and what it advises instead. Nothing of a rule that only may speak of
    the call: what it says is of other targets than this one, as far as is known."""
    rule = verdict.reason.rule
    if verdict.decision is not Decision.ALLOW and _is_unknown(verdict):
        return "", ""
    return rule.because, rule.instead


def _is_hidden(verdict: Verdict, item: Item) -> bool:
    """Whether what nobody can see into is a command hidden in the line or chained to others."""
    if item.effect.kind not in ("code", "opaque"):
        return False
    parts = verdict.analysis.parts
    if item.part >= 0:
        return item.part > 0 or not parts[0].direct
    return bool(parts) and 0 < item.end - item.start < len(verdict.call.shown)


def message(verdict: Verdict) -> str:
    """For the model: what was refused or asked about, because of what, and what to do instead."""
    rule, kind = verdict.reason.rule, reason_of(verdict)
    item = verdict.analysis.items[verdict.reason.item]
    does = phrase(item.effect)
    if verdict.decision is Decision.ALLOW:
        if verdict.contained:
            contained = CONTAINED.get(verdict.changes, CONTAINED[KEEP])
            return f"{contained} (rule `{rule.id}`)." if rule.lane == "allow" else f"{contained}."
        if rule.lane == "mode":
            return f"Allowed: {_mode_or_level(rule)} lets it run without a question."
        return f"Allowed by rule `{rule.id}`."
    what = _subject(verdict, item)
    denied = verdict.decision is Decision.DENY
    verb = "was refused" if denied else "needs a person's approval"
    if kind == INJECTION:
        hidden = f"{what} is hidden in or chained to this command and no rule covers it"
        return f"{INJECTION}: {hidden}, so it {verb}. It {does}."
    if kind == "ceiling":
        return f"{what} was refused: it {does}, which mode `{verdict.context.mode}` never allows."
    if kind == "level":
        return f"{what} {verb}: no rule covers calls of this tool."
    if kind == "nobody_to_ask" and rule.lane == "mode":
        return (
            f"{what} was refused: it {does}, no rule covers that, and nobody is asked in mode `{verdict.context.mode}`."
        )
    if kind == "mode":
        unfetched = f" It does not run by itself: {visible(verdict.unfetched)}." if verdict.unfetched else ""
        return f"{what} {verb}: it {does}, and no rule covers that.{unfetched}"
    text = f"{what} {verb} by rule `{rule.id}`"
    because, instead = map(visible, said_by_rule(verdict))
    note = verdict.reason.note
    if kind == "unknown_target":
        return f"{what} {verb}: it {does}, of which rule `{rule.id}` may speak."
    if note:
        text += f": {because}; {visible(note)}" if because else f": {visible(note)}"
    else:
        text += f": {because}" if because else f", {quote(rule.text)}: it {does}"
    return text + "." + (f" Instead: {instead}." if instead else "")


def _mode_or_level(rule: Rule) -> str:
    kind, _, name = rule.id.partition(":")
    return f"{kind} `{name}`"


def _subject(verdict: Verdict, item: Item) -> str:
    """The part of the call that the sentence is about."""
    call = verdict.call
    text = call.shown[item.start : item.end]
    if verdict.analysis.parts or verdict.analysis.tokens:
        return quote(text or call.shown)
    return quote(f"{call.tool}({text or call.shown})" if call.shown else call.tool)


def rule_of(rule: Rule) -> dict[str, Any]:
    """A rule with its origin; what the engine itself says has neither file nor line."""
    source = rule.source
    return {
        "id": rule.id,
        "layer": source.layer,
        "file": source.file or None,
        "line": source.line or None,
        "text": rule.text,
    }


def matched(verdict: Verdict) -> list[dict[str, Any]]:
    """Every rule that matched: the deciding one first, then the others with why they lost.

    What the mode says of an effect stands with the effect; it is here only when it decides.
    """
    entries: dict[Any, dict[str, Any]] = {}
    deciding = verdict.reason
    _entry(verdict, deciding, entries)
    for outcome in verdict.outcomes:
        reason = outcome.reason
        if reason is not deciding and reason.rule.lane != "mode":
            lost = _weaker(reason.decision, verdict.decision, deciding.rule)
            _entry(verdict, reason, entries, None if _same(reason, deciding) else lost)
    for reason in verdict.lost:
        note = reason.note if reason.certain else ""
        lost = note or _weaker(reason.decision, verdict.decision, deciding.rule)
        _entry(verdict, reason, entries, lost)
    return list(entries.values())


def _same(reason: Reason, other: Reason) -> bool:
    return reason.rule == other.rule and reason.decision is other.decision


def _weaker(decision: Decision, winner: Decision, rule: Rule) -> str:
    """Why a rule did not decide."""
    if decision is winner:
        return f"as strict as `{rule.id}`, which is named"
    return f"{decision.word} is weaker than {winner.word}, by `{rule.id}`"


def _entry(
    verdict: Verdict, reason: Reason, entries: dict[Any, dict[str, Any]], lost: str | None = None
) -> dict[str, Any]:
    """What one rule said, once for every place of the text that it said it of."""
    item = verdict.analysis.items[reason.item]
    start, end = item.start, item.end
    key = (reason.rule.id, reason.rule.source, reason.decision, start, end, reason.note, lost)
    found = entries.get(key)
    if found is not None:
        if reason.item not in found["effects"]:
            found["effects"].append(reason.item)
        return found
    found = rule_of(reason.rule)
    found["decision"] = reason.decision.word
    if start < end:
        segment = verdict.call.shown[start:end]
        found["segment"] = segment if len(segment) <= MAX_SEGMENT else shortened(segment, MAX_SEGMENT)
        found["span"] = [start, end]
    else:
        found["segment"] = found["span"] = None
    found["note"] = reason.note
    found["lost"] = lost
    found["effects"] = [reason.item]
    entries[key] = found
    return found


def by_item(verdict: Verdict) -> dict[int, Outcome]:
    """The strictest outcome of each effect, by its index."""
    found: dict[int, Outcome] = {}
    for outcome in verdict.outcomes:
        number = outcome.reason.item
        known = found.get(number)
        if known is None or outcome.decision > known.decision:
            found[number] = outcome
    return found


def _effects(verdict: Verdict) -> list[dict[str, Any]]:
    """Every predicted effect, in the order of the analysis, with what became of it."""
    decided = by_item(verdict)
    return [effect_of(item, decided.get(number)) for number, item in enumerate(verdict.analysis.items)]


def effect_of(item: Item, decided: Outcome | None) -> dict[str, Any]:
    """One effect as plain data. `known` is false where a part of its target is not known before the run."""
    effect: Any = item.effect
    kind = effect.kind
    found: dict[str, Any] = {
        "kind": kind,
        "target": target(effect),
        "span": [item.start, item.end] if item.start < item.end else None,
    }
    if kind in PATH_KINDS:
        found["known"] = HOLE not in effect.path
        if effect.real:
            found["real"] = effect.real
    elif kind == "connect":
        found["known"] = HOLE not in effect.host
        found["direction"] = effect.direction
        if effect.known_by:
            found["known_by"] = effect.known_by
        if effect.sends:
            found["sends"] = [path.replace(HOLE, UNKNOWN) for path in effect.sends]
    elif kind in ("code", "opaque"):
        found["why"] = effect.why
    elif kind == "env":
        found["access"] = effect.access
    if decided is not None:
        found["decision"] = decided.decision.word
        found["rule"] = decided.reason.rule.id
    return found


def classes(verdict: Verdict) -> list[str]:
    """The classes that all commands of the line agree on."""
    parts = verdict.analysis.parts
    if not parts:
        return []
    first, *rest = [part.classes for part in parts]
    return [name for name in first if all(name in others for others in rest)]
