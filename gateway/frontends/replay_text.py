"""Comparisons of policies for people: in a terminal, and as Markdown for a request to change one."""

from __future__ import annotations

from gateway.frontends.output import safe_lines
from gateway.policy.wording import shortened, visible
from gateway.replay.symbolic import WIDER, Unlogged

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gateway.render.style import Style
    from gateway.replay.tally import Comparison, Example, Group, Rule

_LONGEST = 100
_MOST_GROUPS = 40


def comparison_text(found: Comparison, style: Style, *, is_replay: bool) -> str:
    """The comparison in lines, the widest changes first."""
    lines = [_headline(found, is_replay)]
    for group in found.groups[:_MOST_GROUPS]:
        word = style.paint(f"{group.before} -> {group.after}", group.after)
        lines += ["", f"{group.kind:8}  {word}  {_counts(group)}"]
        lines.append(f"  now by      {_rule(group.rule)}")
        lines.append(f"  before by   {_rule(group.was)}")
        lines += [f"  {_call(each)}" for each in group.examples]
        if group.calls > len(group.examples):
            lines.append(f"  and {_number(group.calls - len(group.examples), 'other call')}")
    if len(found.groups) > _MOST_GROUPS:
        lines += ["", f"and {_number(len(found.groups) - _MOST_GROUPS, 'other group')}; `--json` has all of them"]
    lines += ["", *_unlogged(found.unlogged, style)]
    lines += ["", *_tail(found)]
    return "\n".join(lines).rstrip("\n") + "\n"


def _unlogged(found: Unlogged, style: Style) -> list[str]:
    """What no record shows."""
    lines = ["by their rules alone:"] if found != Unlogged() else []
    for each in found.differences[:_MOST_GROUPS]:
        word = style.paint(f"{each.before} -> {each.after}", each.after)
        effect = f"{each.effect}  " if each.effect else ""
        lines.append(f"{each.kind:8}  {word}  {effect}{shortened(visible(each.call), _LONGEST)}")
        lines.append(f"  now by      {_rule(each.rule)}")
        lines.append(f"  before by   {_rule(each.was)}")
    if len(found.differences) > _MOST_GROUPS:
        more = _number(len(found.differences) - _MOST_GROUPS, "other difference")
        lines.append(f"and {more}; `--json` has all of them")
    return [*lines, *_beside(found)]


def _beside(found: Unlogged) -> list[str]:
    """What else is to be known of a comparison of rules."""
    lines = []
    if found.settings:
        lines.append(f"settings that differ: {', '.join(map(visible, found.settings))}")
    if found.refuted:
        lines.append(f"left out: {_number(found.refuted, 'changed rule')}, whose calls come out alike under both")
    if found.undecided:
        lines.append(f"not compared: {_number(found.undecided, 'changed rule')} with too many patterns")
    return lines


def _headline(found: Comparison, is_replay: bool) -> str:
    if not found.judged:
        return "nothing could be judged" if found.untold else "the record holds no decisions of that time"
    changed = found.judged - found.equal
    if is_replay:
        if not changed:
            return f"{_number(found.judged, 'decision')} judged anew: all came out as they were recorded"
        return f"{changed:,} of {_number(found.judged, 'decision')} came out otherwise than they were recorded"
    what = f"{visible(found.old)} and {visible(found.new)}"
    if not changed:
        return f"{what} decide alike on {_number(found.judged, 'recorded decision')}"
    return f"between {what} {changed:,} of {_number(found.judged, 'recorded decision')} change"


def _counts(group: Group) -> str:
    parts = [_number(group.decisions, "decision"), _number(group.sessions, "session") if group.sessions else ""]
    parts += [_number(group.agents, "agent"), f"last {group.last[:10]}"]
    return ", ".join(part for part in parts if part)


def _rule(rule: Rule) -> str:
    name, layer, file, line = rule
    place = f" ({layer}, {visible(file)}:{line})" if file else ""
    return f"`{visible(name)}`{place}"


def _call(example: Example) -> str:
    times = f"  ({example.count:,} times)" if example.count > 1 else ""
    return f"{visible(example.tool)}  {shortened(visible(example.shown), _LONGEST)}{times}"


def _tail(found: Comparison) -> list[str]:
    lines = []
    if found.elsewhere:
        lines.append(f"{_number(found.elsewhere, 'decision')} stayed what it was, by another rule")
    lines += [f"not judged: {count:,}, because {safe_lines(why)}" for why, count in found.untold]
    if found.other_code:
        lines.append(f"{_number(found.other_code, 'decision')} had been made by another version of the gateway")
    return lines


def _number(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def comparison_markdown(found: Comparison, *, is_replay: bool) -> str:
    """The same as Markdown."""
    lines = [f"### Policy: {_headline(found, is_replay)}", ""]
    if found.groups:
        lines += [
            "| | change | decisions | sessions | agents | now by | for example |",
            "|---|---|--:|--:|--:|---|---|",
        ]
    for group in found.groups[:_MOST_GROUPS]:
        mark = "**wider**" if group.kind == WIDER else "narrower"
        example = group.examples[0] if group.examples else None
        shown = "" if example is None else _code(f"{example.tool}: {shortened(example.shown, 60)}")
        cells = [
            mark, f"{group.before} → {group.after}", f"{group.decisions:,}", f"{group.sessions:,}",
            f"{group.agents:,}", _code(group.rule[0]), shown,
        ]  # fmt: skip
        lines.append(f"| {' | '.join(cells)} |")
    if found.unlogged.differences:
        lines += ["", "| | by their rules alone | | call | now by |", "|---|---|---|---|---|"]
    for each in found.unlogged.differences[:_MOST_GROUPS]:
        mark = "**wider**" if each.kind == WIDER else "narrower"
        call = _code(shortened(each.call, 80))
        lines.append(f"| {mark} | {each.before} → {each.after} | {each.effect} | {call} | {_code(each.rule[0])} |")
    lines += ["", *(f"- {each}" for each in (*_beside(found.unlogged), *_tail(found)))]
    return "\n".join(lines).rstrip("\n") + "\n"


def _code(text: str) -> str:
    """Text in a cell of a table, as code: no mark of Markdown's means anything in it."""
    plain = visible(text).replace("\n", " ").replace("|", "\\|")
    fence = "`" * (1 + max((len(run) for run in plain.replace("`", " ` ").split() if set(run) == {"`"}), default=0))
    return f"{fence} {plain} {fence}" if "`" in plain else f"`{plain}`"
