"""A question to a person, as the terminal shows it: the verdict, everything that would run and what it would do, the
plan in short, and what "always" would save. Nothing that matters is cut, and nothing in it is invisible."""

from __future__ import annotations

import os

from gateway.approval.confusable import findings, with_escapes
from gateway.audit.redact import Redactor
from gateway.core.quantities import counted
from gateway.frontends.dialled import dialled_rows, dialled_text
from gateway.frontends.jsontext import pretty
from gateway.model.decision import Decision
from gateway.model.effect import CARRIERS
from gateway.model.grant import ALWAYS
from gateway.policy.explain import explain
from gateway.policy.wording import phrase, visible
from gateway.render.changes import difference_text, review_text
from gateway.render.plan import summary_rows, summary_text
from gateway.render.style import Style, columns_of, wrapped
from gateway.render.text import MAX_LISTED, headline, verdict_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from gateway.approval.base import Dialled, Question, Review
    from gateway.model.effect import Effect
    from gateway.model.verdict import Verdict


def question_text(question: Question, style: Style) -> str:
    """All that a person needs to answer."""
    verdict = question.verdict
    said = verdict_text(verdict, explain(verdict), style)
    sections = [said, _call(verdict, style), _asked(verdict, said, style), _look_again(verdict, style)]
    sections.append(_titled("changed by code, and run later", question.by_code, style))
    if question.plan is not None:
        sections.append(summary_text(question.plan, style))
    elif verdict.analysis.parts or verdict.analysis.tokens:  # else no command runs, and there is nothing to confine
        sections.append(_titled("runs", ["without the sandbox"], style))
    if ALWAYS in question.may:
        file = visible(question.file)
        home = verdict.context.home
        file = "~" + file[len(home) :] if file.startswith(home + "/") else file
        lines = [f"would save in {file}:", with_escapes(visible(question.always))]
        if question.later:
            lines.append(f"from then on, without a question, inside: {visible(question.later)}")
        lines.append("`gateway grants revoke` takes it back")
        sections.append(_titled("always", lines, style))
    return "\n".join(section for section in sections if section)


def question_shown(question: Question) -> dict[str, Any]:
    """The same for a page: the call with its parts by effect, what is asked about with the rules that ask, what it
    could change and reach, and the text as a terminal shows it."""
    verdict = question.verdict
    call = verdict.call
    is_shell = bool(verdict.analysis.parts or verdict.analysis.tokens)
    asked: dict[tuple[str, str], dict[str, Any]] = {}
    for outcome in verdict.outcomes:
        if outcome.decision is Decision.ASK:
            effect, rule = verdict.analysis.items[outcome.reason.item].effect, outcome.reason.rule
            does = _full(effect)
            asked[does, rule.id] = {
                "kind": effect.kind,
                "does": does,
                "rule": rule.id,
                "file": rule.source.file,
                "line": rule.source.line,
            }
    look = _look_again(verdict, Style()).split("\n")[1:]
    plan: list[Any] = [] if question.plan is None else [*summary_rows(question.plan)]
    if question.plan is None and is_shell:
        plan = [["runs", ["without the sandbox"]]]
    return {
        "head": headline(verdict, explain(verdict)),
        "tool": call.tool,
        "brief": _brief(verdict, is_shell, [each["does"] for each in asked.values()]),
        "call": call.shown
        if is_shell
        else "\n".join(f"{mark} {line}" for mark, line in _change(verdict)) or pretty(call.input),
        "marks": [
            [item.start, item.end, item.effect.kind]
            for item in verdict.analysis.items
            if is_shell and item.start < item.end and item.effect.kind not in CARRIERS
        ],
        "asked": list(asked.values()),
        "plan": [
            *([["look again", [line.strip() for line in look if line.strip()]]] if look else []),
            *([["changed by code, and run later", list(question.by_code)]] if question.by_code else []),
            *plan,
        ],
        "cwd": verdict.context.cwd,
        "file": question.file,
        "later": question.later,
        "text": question_text(question, Style()),
    }


def dialled_shown(question: Dialled) -> dict[str, Any]:
    """A connection of a call that runs, for a page."""
    verdict = question.verdict
    rows = dialled_rows(question)
    return {
        "head": f"A command that runs wants to connect to {question.where}, and waits",
        "tool": verdict.call.tool,
        "brief": _brief(verdict, False, [f"connects to {question.where}"]),
        "call": verdict.call.shown,
        "marks": [],
        "asked": [],
        "plan": [[label, lines] for label, lines in rows],
        "cwd": verdict.context.cwd,
        "file": "",
        "later": "",
        "text": dialled_text(question, Style()),
    }


def review_shown(review: Review) -> dict[str, Any]:
    """What a call has changed in layers of its own, for a page."""
    verdict, found = review.verdict, review.found
    said = review_text(found, review.status, review.problem)
    return {
        "head": f"A call has run, and wants to change {counted(len(found.changes), 'name')}",
        "tool": verdict.call.tool,
        "brief": _brief(verdict, True, []),
        "call": verdict.call.shown,
        "marks": [],
        "asked": [],
        "plan": [["changes", said.rstrip("\n").split("\n")[1:]]],
        "cwd": verdict.context.cwd,
        "file": "",
        "later": "",
        "text": said + "\n" + difference_text(found),
        "answers": {
            "once": "Keep what is not in conflict" if found.missed else "Keep it",
            "session": "Keep it, and the like in this session",
            "real": "Discard it, and run the command on the files themselves",
            "no": "Discard it" if found.changes else "Leave it at that",
        },
    }


def _brief(verdict: Verdict, is_shell: bool, does: list[str]) -> str:
    """What may be told of the call by a service of others: as the record would keep it, without secrets, and of a call
    that is no command only what is asked about."""
    text = verdict.call.shown if is_shell else "; ".join(f"it {each}" for each in does)
    redactor = Redactor(environment=os.environ)
    kept, _found = redactor.input("", {"text": text}, lambda _data: "", verdict.analysis.secrets)
    return str(kept["text"])


def _titled(title: str, lines: Iterable[str], style: Style) -> str:
    shown = [part for line in lines for part in wrapped(line, style.width - 2)]
    return "\n".join([style.paint(title, "strong"), *(f"  {line}" for line in shown)]) + "\n" if shown else ""


def _call(verdict: Verdict, style: Style) -> str:
    """The whole call, line by line, where the verdict does not show it as it is: what it says is what runs."""
    call = verdict.call
    if verdict.analysis.parts or verdict.analysis.tokens:
        lines = call.shown.split("\n")
        if call.input.get("run_in_background"):
            lines.append("in the background")
        elif len(lines) == 1 and columns_of(visible(lines[0])) <= style.width - 2 and not findings(call.shown):
            return ""
        marked = [("|", line) for line in lines]
    else:
        marked = _change(verdict) or [("|", line) for line in pretty(call.input).split("\n")]
    shown = [style.paint("the whole call", "strong")]
    for mark, line in marked:  # each with a mark, so that no line of a call looks like one of ours
        paint = {"-": "deny", "+": "allow"}.get(mark)
        for at, part in enumerate(_indented(with_escapes(visible(line)), style.width - 4)):
            text = f"{mark if not at else ':'} {part}"
            shown.append(f"  {style.paint(text, paint) if paint else text}")
    return "\n".join(shown) + "\n"


def _indented(line: str, width: int) -> list[str]:
    """A line in as many as it takes, each as far from the margin as the line is."""
    words = line.lstrip(" ")
    margin = " " * min(len(line) - len(words), width // 2)
    return [margin + part for part in wrapped(words, width - len(margin))]


def _change(verdict: Verdict) -> list[tuple[str, str]]:
    """The text that the tools Write and Edit are to write, as people read changes: the file, and each line with `-`
    for what goes, `+` for what comes and `|` for what stays. Nothing for other calls, and for a change that lines do
    not show."""
    given = verdict.call.input
    if verdict.call.tool == "Write":
        return [("|", _to_be_written(verdict)), *(("+", line) for line in given["content"].split("\n"))]
    if verdict.call.tool != "Edit":
        return []
    edits = given.get("edits") or (given,)
    found = [("|", given["file_path"])]
    for each in edits:
        lines = _difference(each["old_string"], each["new_string"])
        if not lines:
            return []
        times = "wherever it stands" if each.get("replace_all") else "once"
        found += [("|", f"{times}:"), *lines]
    return found


def _to_be_written(verdict: Verdict) -> str:
    path: str = verdict.call.input["file_path"]
    fact = verdict.facts.paths.get(path)
    return f"{path}, in the place of the file that is there:" if fact is not None and fact.kind == "file" else path


def _difference(old: str, new: str) -> list[tuple[str, str]]:
    from difflib import SequenceMatcher

    before, after = old.split("\n"), new.split("\n")
    found: list[tuple[str, str]] = []
    for what, begin, end, start, stop in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if what == "equal":
            found += [("|", line) for line in before[begin:end]]
        else:
            found += [*(("-", line) for line in before[begin:end]), *(("+", line) for line in after[start:stop])]
    return found if any(mark != "|" for mark, _ in found) else []


def _asked(verdict: Verdict, said: str, style: Style) -> str:
    """What is asked about, each effect in full and once, with where links lead and the rule that asks; nothing where
    the verdict says all of it."""
    lines: dict[str, None] = {}
    whole = True
    for outcome in verdict.outcomes:
        if outcome.decision is Decision.ASK:
            effect: Any = verdict.analysis.items[outcome.reason.item].effect
            lines[f"it {_full(effect)} [{visible(outcome.reason.rule.id)}]"] = None
            targets = [effect.target, getattr(effect, "real", ""), *getattr(effect, "sends", ())]
            whole = whole and all(visible(target) in said for target in targets)
    return "" if whole and len(lines) <= MAX_LISTED else _titled("asked about", lines, style)


def _full(effect: Effect) -> str:
    """What an effect does, with its target in full."""
    said = phrase(effect)
    target = visible(effect.target)
    return with_escapes(said if "…" not in said or target in said else f"{said}: {target}")


def _look_again(verdict: Verdict, style: Style) -> str:
    """Words that may be taken for others, wherever in the call they stand."""
    call = verdict.call
    texts = [call.shown, *_texts(call.input), *(item.effect.target for item in verdict.analysis.items)]
    found = {finding: None for text in texts for finding in findings(text)}
    lines = []
    for each in found:
        seems = f"is not `{visible(each.seems)}`: " if each.seems else "may not be what it seems: "
        lines.append(f"`{with_escapes(visible(each.word))}` {seems}{visible(each.why)}")
    return _titled("look again", lines, style)


def _texts(value: Any) -> list[str]:
    """Every text in an input, at any depth."""
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        return [text for name, item in value.items() for text in (name, *_texts(item))]
    return [text for item in value for text in _texts(item)] if isinstance(value, (list, tuple)) else []
