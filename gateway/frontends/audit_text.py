"""The record as people read it: one on a line, everything of one call, numbers, and what is broken."""

from __future__ import annotations

import json

from gateway.audit.redact import is_withheld
from gateway.model.record import DECISION, MARK, OUTCOME, STARTED, said_of
from gateway.policy.wording import visible
from gateway.render.style import clipped, columns_of, wrapped

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from gateway.audit.index import Found
    from gateway.audit.verify import Verified
    from gateway.render.style import Style

_LABEL = 12


def record_line(record: Mapping[str, Any], style: Style) -> str:
    """One record on one line: number, moment, what was decided of what by which rule; or what became of it."""
    number = f"#{record['n']}"
    head = f"{style.paint(f'{number:>7}', 'dim')}  {_moment(_text(record, 'at'))}  "
    room = style.width - 7 - 2 - 19 - 2
    if record["kind"] == DECISION:
        decision = _text(record, "decision")
        said = f"{_text(record, 'tool')}  {said_of(record)}"
        rule = f"  [{_rule(record)}]"
        left = max(room - 7 - columns_of(rule), 20)
        painted = style.paint(f"{decision:<5}", decision if decision in ("allow", "ask", "deny") else "strong")
        return f"{head}{painted}  {clipped(visible(said), left)}{style.paint(visible(rule), 'dim')}"
    if record["kind"] == OUTCOME:
        return head + style.paint(clipped(visible(f"       {_outcome(record)}  ({_text(record, 'id')})"), room), "dim")
    if record["kind"] == MARK:
        mark = _text(record, "mark")
        return head + style.paint(f"mark   {visible(mark)}", "dim" if mark == "next" else "deny")
    return head + clipped(visible(f"a record of kind {record['kind']}, which is not known here"), room)


def call_text(found: Found, style: Style) -> str:
    """Everything that is kept of one call."""
    lines: list[str] = []
    decision, outcome = found.decision, found.outcome
    if decision is not None:
        word = _text(decision, "decision")
        painted = style.paint(word, word if word in ("allow", "ask", "deny") else "strong")
        lines += [f"{painted}  {style.paint(visible(_text(decision, 'tool')), 'strong')}", *_input(decision, style)]
        lines += _labelled("rule", [_rule(decision, True)], style)
        lines += _labelled("because", _text(decision, "because").split("\n"), style)
        hooks = _texts(decision, "hooks")
        if hooks:
            lines += _labelled("changed by", [f"{', '.join(hooks)}, from {_text(decision, 'original')}"], style)
        effects = [f"{row[0]} {row[1]}" for row in _rows(decision, "effects") if len(row) == 2 and row[0] != "use"]
        more = decision.get("more")
        lines += _labelled("effects", effects + ([f"and {more} more"] if more else []), style)
        lines += _labelled("from", [_text(decision, "cwd")], style)
        confined = "not confined" if decision.get("confined") is False else _joined(decision, "plan", "network")
        lines += _labelled("sandbox", [confined], style)
        who = _joined(decision, "front", "session", "agent", "depth", "mode")
        lines += _labelled("asked by", [who], style)
        if decision.get("grant"):
            lines += _labelled("grant", [json.dumps(decision["grant"], ensure_ascii=False)], style)
        if decision.get("redacted"):
            lines += _labelled("redacted", [f"{decision['redacted']} places"], style)
        lines += _labelled("call", [_text(decision, "call")], style)
        lines += _labelled("policy", [_text(decision, "policy")], style)
        lines += _labelled("decided", [f"{_text(decision, 'at')} (#{decision['n']}, {_text(decision, 'id')})"], style)
    if outcome is not None:
        lines += _labelled("outcome", [_outcome(outcome)], style)
        lines += _labelled("reason", [_text(outcome, "reason")], style)
        lines += _labelled("held by", [_text(outcome, "backend")], style)
        lines += _labelled("weaker", _texts(outcome, "degraded"), style)
        tried = [f"{row[0]} {row[1]}" + (f" ({row[4]} times)" if row[4] != 1 else "") for row in violations_of(outcome)]
        lines += _labelled("blocked", tried, style)
        lines += _labelled("dialled", dialled_texts(_rows(outcome, "dialled")), style)
        lines += _labelled("read from", said_texts(_rows(outcome, "said")), style)
        printed = outcome.get("output")
        if isinstance(printed, list) and len(printed) == 2 and any(printed):  # else it went past us
            lines += _labelled("printed", [f"{printed[0]:,} bytes, and {printed[1]:,} of errors"], style)
        runs_on = outcome.get("ended") == STARTED
        at = f"{_text(outcome, 'at')} (#{outcome['n']})"
        lines += _labelled("ended", ["" if runs_on else at], style)
        lines += _labelled("started", [at if runs_on else ""], style)
        lines += _labelled("end", ["none: it runs, or whoever ran it was killed"] if runs_on else [], style)
    elif decision is not None and decision.get("decision") != "deny":
        lines += _labelled("outcome", ["none: it runs, or whoever ran it was killed"], style)
    return "\n".join(lines) + "\n"


def stats_text(numbers: Mapping[str, Any], folder: str, style: Style) -> str:
    """The numbers of the record."""
    if not numbers["records"]:
        return f"nothing is recorded in {visible(folder)}\n"
    count, files = numbers["records"], numbers["files"]
    size = f"{count:,} in {files} file{'' if files == 1 else 's'}, {numbers['bytes'] / 1e6:,.1f} MB"
    lines = _labelled("records", [size, f"{numbers['since']} to {numbers['until']}", folder], style)
    for name in ("decisions", "outcomes", "tools", "fronts", "rules", "marks"):
        widest = max((len(f"{each:,}") for each in numbers[name].values()), default=0)
        lines += _labelled(name, [f"{each:>{widest},}  {what or '-'}" for what, each in numbers[name].items()], style)
    lines += _labelled("unfinished", [f"{numbers['without_outcome']:,}  calls that have no end"], style)
    lines += _labelled("blocked", [f"{numbers['violations']:,}  attempts"], style)
    return "\n".join(lines) + "\n"


def verified_text(found: Verified, folder: str, style: Style) -> str:
    """What verifying found."""
    broken = found.broken
    if broken is not None:
        place = f"{broken.file}:{broken.line}" if broken.line else broken.file or folder
        number = f"record {broken.number}: " if broken.number else ""
        lines = [f"{style.paint('broken', 'deny')}  {number}{visible(broken.why)}", f"  {visible(place)}"]
        lines += [f"  {found.records:,} records before it hold"] if found.records else []
    elif not found.records:
        lines = [f"nothing is recorded in {visible(folder)}"]
    else:
        said = f"{found.records:,} records in {found.files} file{'' if found.files == 1 else 's'}"
        lines = [f"{style.paint('whole', 'allow')}  {said}, {found.first} to {found.last}"]
        lines.append(f"  head {found.last}:{found.head}")
        lines.append("  kept elsewhere, this head shows with `--holds` that nothing up to here was made anew")
    lines += [f"  note: {visible(note)}" for note in found.notes]
    return "\n".join(lines) + "\n"


def _input(record: Mapping[str, Any], style: Style) -> list[str]:
    given = record.get("input")
    lines: list[str] = []
    for name, value in given.items() if isinstance(given, dict) else ():
        if value in (None, False):
            continue
        if is_withheld(value):
            value = f"{value['bytes']:,} bytes, {value['digest']}"
        lines += _labelled(name, [value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)], style)
    return lines


def _rule(record: Mapping[str, Any], whole: bool = False) -> str:
    rule = record.get("rule")
    if not isinstance(rule, list) or len(rule) != 4:
        return "?"
    name, layer, file, line = rule
    return f"{name} ({', '.join(filter(None, (layer, f'{file}:{line}' if file else '')))})" if whole else str(name)


def _outcome(record: Mapping[str, Any]) -> str:
    ended, status, seconds = (record.get(name) for name in ("ended", "status", "seconds"))
    said = f"{ended} {status}" if ended in ("exited", "signalled") else f"{ended}"
    if ended == STARTED:
        said += ", to run on"
    if isinstance(seconds, float) and seconds:
        said += f" after {seconds:,.3f} s"
    tried = len(violations_of(record))
    return said + (f", {tried} blocked" if tried else "")


def said_texts(rows: Sequence[Any]) -> list[str]:
    """What went to hosts that may only be read from: host, requests, and bytes of them that the call chose."""
    return [
        f"{row[0]}: {row[1]:,} request{'' if row[1] == 1 else 's'}, {row[2]:,} bytes of the call's own choice"
        for row in rows
        if len(row) == 3 and row[1].__class__ is row[2].__class__ is int
    ]


def dialled_texts(rows: Sequence[Any]) -> list[str]:
    """What became of connections that were not predicted: where to, whether it was let, by whom, and the program."""
    return [
        f"{row[0]}: {row[2]}{f' by {row[3]}' if row[3] else ''}{f', for {row[1]}' if row[1] else ''}"
        for row in rows
        if len(row) == 4 and all(each.__class__ is str for each in row)
    ]


def violations_of(record: Mapping[str, Any]) -> list[Any]:
    """What the sandbox kept a recorded call from, rows of five as the record has them; others are left out."""
    return [row for row in _rows(record, "violations") if len(row) == 5]


def _rows(record: Mapping[str, Any], name: str) -> list[Any]:
    rows = record.get(name)
    return [row for row in rows if isinstance(row, list)] if isinstance(rows, list) else []


def _text(record: Mapping[str, Any], name: str) -> str:
    value = record.get(name)
    return value if isinstance(value, str) else ""


def _texts(record: Mapping[str, Any], name: str) -> list[str]:
    value = record.get(name)
    return [each for each in value if isinstance(each, str)] if isinstance(value, list) else []


def _joined(record: Mapping[str, Any], *names: str) -> str:
    return ", ".join(f"{name} {record[name]}" for name in names if record.get(name))


def _moment(at: str) -> str:
    return visible(at[:19].replace("T", " ")).ljust(19)


def _labelled(label: str, texts: list[str], style: Style) -> list[str]:
    """Texts under a label, each wrapped; nothing for nothing."""
    lines = [part for text in texts if text for part in wrapped(visible(text), max(style.width - _LABEL - 2, 20))]
    heads = [clipped(visible(label), _LABEL - 1), *[""] * (len(lines) - 1)]
    return [
        f"  {style.paint(head.ljust(_LABEL), 'dim')}{line}".rstrip()
        for head, line in zip(heads[: len(lines)], lines, strict=True)
    ]
