"""What a grant is bound to: digests of a call, of what it does, and of who asked."""

from __future__ import annotations

from gateway.approval.content import content_digest
from gateway.core.cache import digest
from gateway.core.value import Value
from gateway.model.decision import Decision
from gateway.model.effect import HOLE, PATH_KINDS
from gateway.model.grant import ONCE, Grant

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from gateway.model.verdict import Verdict

# Effects that say all there is to say by themselves: two calls with the same ones do the same to the same things.
_TELLING = {"use", "session", *PATH_KINDS}


def identity(verdict: Verdict, revision: str) -> Grant:
    """What a question about a verdict is about, as a grant that allows nothing."""
    asking = [outcome.reason.rule for outcome in verdict.outcomes if outcome.decision is Decision.ASK]
    rules = {(rule.id, rule.source.file, rule.source.line) for rule in asking}
    exact = any(rule.lane != "mode" for rule in asking)
    return Grant(
        call_digest(verdict),
        effects_digest(verdict),
        revision=revision,
        rules=tuple(sorted(rules)),
        exact=exact,
        allow=False,
        scope=ONCE,
        by="",
        content=content_digest(verdict) if asking else "",
    )


def call_digest(verdict: Verdict) -> str:
    """Of the canonical call and of where, how and for whom it would run."""
    call = verdict.call
    return _digest(["call", call.tool, call.input, call.server, call.annotations, *_circumstances(verdict)])


def effects_digest(verdict: Verdict) -> str:
    """Of all that the call would do. Where the effects do not say all of it (commands, code, what is sent, what only
    the run tells), of the whole input as well."""
    analysis = verdict.analysis
    effects = sorted({_text([effect.kind, effect]) for effect in [item.effect for item in analysis.items]})
    telling = not (analysis.parts or analysis.tokens) and all(_is_telling(item.effect) for item in analysis.items)
    whole = [] if telling else [call_digest(verdict)]
    context = verdict.context
    return _digest(["effects", verdict.call.tool, context.root, context.mode, context.confined, effects, *whole])


def _is_telling(effect: Any) -> bool:
    if effect.kind == "connect":
        return effect.direction == "fetch" and not effect.sends and HOLE not in effect.host
    return effect.kind in _TELLING and HOLE not in effect.target


def _circumstances(verdict: Verdict) -> list[Any]:
    context = verdict.context
    return [
        context.cwd, context.root, context.home, context.workspace, context.mode, context.confined, context.agent,
        context.depth, context.branch, context.env,
    ]  # fmt: skip


def _digest(parts: Iterable[Any]) -> str:
    return digest([_text(list(parts))])


def _text(value: Any) -> str:
    """Canonical JSON: the same text for equal values, whatever the order of keys."""
    import json

    return json.dumps(_plain(value), sort_keys=True, separators=(",", ":"), ensure_ascii=True)


def _plain(value: Any) -> Any:
    if isinstance(value, Value):
        return [type(value).__name__, *map(_plain, value.as_dict().values())]
    if isinstance(value, dict):
        return {str(name): _plain(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return value
