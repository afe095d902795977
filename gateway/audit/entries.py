"""Lines' content: from a verdict, a plan and a result to the text of a JSON object, and from a line back to a value."""

from __future__ import annotations

from _blake2 import blake2b

from gateway.audit.secrets import MARK as MARKED
from gateway.audit.secrets import pieces
from gateway.core.plainjson import encoder
from gateway.core.plainjson import quoted as _text
from gateway.model.changes import NONE
from gateway.model.decision import Decision
from gateway.model.effect import HOLE
from gateway.model.record import DECISION, MARK, OUTCOME, DecisionRecord, MarkRecord, OutcomeRecord
from gateway.policy.explain import reason_of
from gateway.policy.wording import UNKNOWN, shortened

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from gateway.audit.redact import Redactor
    from gateway.model.call import Call
    from gateway.model.plan import SandboxPlan
    from gateway.model.record import Rewritten
    from gateway.model.result import Result
    from gateway.model.rule import Rule
    from gateway.model.verdict import Verdict

    Record = DecisionRecord | OutcomeRecord | MarkRecord

MOST_EFFECTS = 64
MOST_TARGET = 512
MOST_VIOLATIONS = 64
_PLAIN = 8_192  # longer ones are looked at piece by piece
_WORDS = tuple(each.word for each in sorted(Decision))
_exactly = encoder(allow_nan=False)


def _encode(value: Any) -> str:
    """As JSON. Numbers that it does not have are told as text: no line is lost for what stands in it."""
    try:
        return _exactly(value)
    except ValueError:
        return _exactly(_sayable(value))


def _sayable(value: Any) -> Any:
    if isinstance(value, float):
        return value if value - value == 0.0 else str(value)
    if isinstance(value, (list, tuple)):
        return [_sayable(each) for each in value]
    if isinstance(value, dict):
        return {_sayable(name): _sayable(each) for name, each in value.items()}
    return value


def decision(
    verdict: Verdict,
    *,
    key: bytes,
    redactor: Redactor,
    id: str,  # noqa: A002 - as the line has it
    at: str,
    front: str,
    session: str = "",
    plan: SandboxPlan | None = None,
    grant: Mapping[str, Any] | None = None,
    policy: str = "",
    rewritten: Rewritten | None = None,
    seen: str = "",
) -> str:
    """The text of a decision. Whatever of the call is in it has been through the redactor. `seen`: as
    `gateway.audit.decision_inputs` says it, "" where nothing is kept of it."""
    call, context, rule, items = verdict.call, verdict.context, verdict.reason.rule, verdict.analysis.items
    given = _encode(call.input)
    call_digest = _call(call, given, key)
    shown: list[tuple[str, str]] = []
    for item in items[:MOST_EFFECTS]:
        effect = item.effect
        shown.append((effect.kind, effect.target))
    redacted = 0
    known = verdict.analysis.secrets
    if known or not _is_plain(call.input, shown, redactor) or redactor.private(call.tool):
        kept, replaced = redactor.input(call.tool, call.input, lambda data: keyed(data, key), known)
        given, redacted = _encode(kept), len(replaced)
        secret = pieces(replaced)
        shown = [(kind, _target(target, redactor, secret)) for kind, target in shown]
    source = rule.source
    who = f'"session":{_text(session)},' if session else ""
    if context.agent or context.depth:
        who += f'"agent":{_text(context.agent)},"depth":{context.depth},'
    if seen:
        who += f'"seen":{seen},'
    found = (
        f'{{"kind":"{DECISION}","id":"{id}","at":"{at}","front":"{front}","tool":{_text(call.tool)},'
        f'"decision":"{_WORDS[verdict.decision]}","reason":"{reason_of(verdict)}",'
        f'"rule":[{_text(rule.id)},"{source.layer}",{_text(source.file)},{source.line}],"call":"{call_digest}",'
        f'"cwd":{_text(context.cwd)},"mode":"{context.mode}","policy":"{policy}",'
        f'{who}"input":{given},"effects":{_encode(shown)}'
    )
    more: dict[str, Any] = {}
    if len(items) > MOST_EFFECTS:
        more["more"] = len(items) - MOST_EFFECTS
    if not context.confined:
        more["confined"] = False
    if verdict.changes != NONE:
        more["contained"], more["changes"] = verdict.contained, verdict.changes
    if plan is not None:
        more["plan"], more["network"] = keyed(repr(plan).encode("utf-8", "surrogatepass"), key), plan.network.mode
    if grant is not None:
        more["grant"] = redactor.input("", grant, lambda data: keyed(data, key))[0]
    if redacted:
        more["redacted"] = redacted
    if rule.lane == "deny" and _is_own_reason(rule):
        more["because"] = redactor.text(rule.because, MOST_TARGET)[0]
    if rewritten is not None:
        before = rewritten.call
        more["hooks"], more["original"] = rewritten.hooks, _call(before, _encode(before.input), key)
    return f"{found},{_encode(more)[1:]}" if more else found + "}"


def _is_own_reason(rule: Rule) -> bool:
    from gateway.policy.unjudged import is_own_reason  # lazy: what is allowed needs none of it

    return is_own_reason(rule)


def call_digest(tool: str, given: Mapping[str, Any], key: bytes) -> str:
    """What the record of a call with this whole input has as `call`."""
    return keyed(f"{tool} {_encode(given)}".encode(), key)


def _call(call: Call, given: str, key: bytes) -> str:
    """What equal calls have in common."""
    return keyed(f"{call.tool} {given}".encode(), key)


def _is_plain(given: Mapping[str, Any], effects: list[tuple[str, str]], redactor: Redactor) -> bool:
    """Whether both can be written as they are."""
    if redactor.has_secret_names(tuple(given)):
        return False
    texts = [target for _kind, target in effects]
    for value in given.values():
        if value.__class__ is str:
            texts.append(value)
        elif value.__class__ is not int and value.__class__ is not bool and value is not None:
            return False
    text = "\n".join(texts)
    return len(text) <= _PLAIN and HOLE not in text and redactor.is_clean(text)


def _target(target: str, redactor: Redactor, secret: list[str]) -> str:
    """A target without what was a secret in the input, where an effect has it in another form: a path, a word."""
    for each in secret:
        if each in target:
            target = target.replace(each, f"{MARKED}value]")
    text, _found = redactor.text(target.replace(HOLE, UNKNOWN))
    return shortened(text, MOST_TARGET)


def outcome(result: Result, *, redactor: Redactor, id: str, at: str) -> str:  # noqa: A002 - as the line has it
    """The text of an outcome. Of what the command printed only the size is kept."""

    def clean(text: str) -> str:
        return text if redactor.is_clean(text) and len(text) <= MOST_TARGET else redactor.text(text, MOST_TARGET)[0]

    lost, lost_errors = result.truncated
    found = (
        f'{{"kind":"{OUTCOME}","id":"{id}","at":"{at}","ended":"{result.ended}","status":{result.status},'
        f'"seconds":{result.seconds:.6f},"output":[{len(result.stdout) + lost},{len(result.stderr) + lost_errors}],'
        f'"backend":{_text(result.backend)}'
    )
    more: dict[str, Any] = {}
    if result.reason:
        more["reason"] = clean(result.reason)
    if result.violations:
        more["violations"] = [
            (each.kind, clean(each.target), each.rule, each.source, each.count)
            for each in result.violations[:MOST_VIOLATIONS]
        ]
        more["hints"] = [clean(each.hint) for each in result.violations[:MOST_VIOLATIONS]]
    if result.degraded:
        more["degraded"] = result.degraded
    if result.drafted:
        more["drafted"] = result.drafted
    if result.dialled:
        more["dialled"] = [
            (where, clean(program), answer, clean(by))
            for where, program, answer, by in result.dialled[:MOST_VIOLATIONS]
        ]
    if result.said:
        more["said"] = result.said[:MOST_VIOLATIONS]
    return f"{found},{_encode(more)[1:]}" if more else found + "}"


def keyed(data: bytes, key: bytes) -> str:
    """A digest that tells equal things apart from others, and tells nobody without the key what they are."""
    return blake2b(data, key=key, digest_size=16).hexdigest()


def value_of(line: Mapping[str, Any]) -> Record:
    """A line as its value. Raises ValueError for one that is none; fields that are not known are left out."""
    values = {name: _frozen(each) for name, each in line.items() if name not in ("n", "prev", "kind")}
    kinds: dict[str, Any] = {DECISION: DecisionRecord, OUTCOME: OutcomeRecord, MARK: MarkRecord}
    kind = kinds.get(line.get("kind", ""))
    if kind is None:
        raise ValueError(f"a record must be a decision, an outcome or a mark (got `{line.get('kind')}`)")
    try:
        found: Record = kind(number=line["n"], **{name: each for name, each in values.items() if name in kind._fields})
        return found
    except (TypeError, KeyError) as error:
        raise ValueError(f"a record must have all its fields ({error})") from error


def _frozen(value: Any) -> Any:
    return tuple(map(_frozen, value)) if isinstance(value, list) else value
