"""Suggested rules, and what allow rules were used for, for people."""

from __future__ import annotations

from gateway.policy.wording import visible
from gateway.render.style import wrapped
from gateway.replay.suggestions import as_policy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gateway.render.style import Style
    from gateway.replay.suggestions import Suggested, Suggestion
    from gateway.replay.tightening import Use


def suggested_text(found: Suggested, style: Style, own: str = "") -> str:
    """The rules with their support, those that end most questions first, and what the figures are of. `own`: the file
    that a person may put them into by hand, "" where they are for one project."""
    if not found.decisions:
        return "the record holds no decisions of this project from that time that can be judged again\n"
    answered = _many(found.agreed, "answered question")
    lines = [f"{_many(len(found.rules), 'rule')} would have ended {found.ended:,} of {answered}"]
    for each in found.rules:
        lines += ["", *_rule(each, style)]
    for preset in found.presets:
        said = f"would have ended {_many(preset.questions, 'question')}: put it under `extends:` in your own policy"
        lines += ["", style.paint(f"the preset {preset.name}", "strong"), f"  {said}"]
        lines += [f"    {call}" for call in preset.ends]
    if own and found.rules:
        lines += [
            "",
            f"under `rules:` in {visible(own)} they are",
            "",
            *map(visible, as_policy(found.rules).splitlines()),
        ]
    lines.append("")
    if found.doubtful:
        said = "because a sandbox had to stop something soon after"
        lines.append(f"not counted: {_many(found.doubtful, 'answer')}, {said}")
    if found.elsewhere:
        lines.append(f"not counted: {_many(found.elsewhere, 'question')} whose answer the record does not have")
    if found.unjudged:
        lines.append(f"not tried: {_many(found.unjudged, 'decision')} that cannot be judged again")
    lines += [f"dropped: {_many(count, 'candidate')}, because it {why}" for why, count in found.vetoed]
    return "\n".join(lines).rstrip("\n") + "\n"


def _rule(each: Suggestion, style: Style) -> Iterator[str]:
    first, *more = wrapped(visible(each.text), style.width - 2)
    yield style.paint(first, "strong")
    yield from (f"  {line}" for line in more)
    span = f"{_many(each.sessions, 'session')}, {_many(each.days, 'day')}" if each.sessions else _many(each.days, "day")
    yield f"  would have ended {_many(each.questions, 'question')} ({span})"
    yield from (f"    {call}" for call in each.ends)
    if each.others:
        yield f"  would also have allowed {_many(each.others_count, 'call')} that nobody said yes to"
        yield from (f"    {call}" for call in each.others)
    if each.asks:
        yield "  is still asked about or refused"
        yield from (f"    {call}" for call in each.asks)
    yield from (f"  allows besides, for example  {visible(call)}" for call in each.opens)


def uses_text(found: Sequence[Use], style: Style) -> str:
    """Rules that were not used, then those with a narrower form, then the others."""
    if not found:
        return "no layer of yours has an allow rule of which the record tells anything\n"
    lines = []
    for each in found:
        place = f"{visible(each.file)}:{each.line}"
        lines += [style.paint(f"{visible(each.id)} ({each.layer}, {place})", "strong")]
        if not each.decisions:
            lines += ["  was not used", ""]
            continue
        last = f", last {each.last[:10]}" if each.last else ", which cannot be judged again"
        lines.append(f"  was used for {_many(each.decisions, 'decision')}{last}")
        lines += [f"    {call}" for call in each.calls]
        if each.narrower:
            lines.append("  narrower, and enough for all of them:")
            lines += [f"    {line}" for line in wrapped(visible(each.narrower), style.width - 4)]
        lines.append("")
    return "\n".join(lines).rstrip("\n") + "\n"


def _many(count: int, what: str) -> str:
    return f"{count:,} {what}" if count == 1 else f"{count:,} {what}s"
