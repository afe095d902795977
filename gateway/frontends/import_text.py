"""What became of agents' rules, for people and as JSON."""

from __future__ import annotations

import os

from gateway.install.translation.clients import CLIENTS
from gateway.install.translation.comparing import EXACT, LOST, NARROWER, WIDER
from gateway.policy.wording import shortened, visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from gateway.install.translation.auditing import Wrong
    from gateway.install.translation.comparing import Loss
    from gateway.install.translation.importing import Imported
    from gateway.render.style import Style

_LONGEST = 100
_GRADES = (EXACT, NARROWER, WIDER, LOST)
_MEANING = {
    NARROWER: "ours say less", WIDER: "ours say more", LOST: "left to what decides where there is no rule",
}  # fmt: skip


def import_text(made: Sequence[Imported], home: str, style: Style) -> str:
    """The loss report: how many rules of each agent came over exactly, and for each other one a call that shows it."""
    lines: list[str] = []
    for each in made:
        found = each.found
        if not found.files and not each.problems:
            continue
        counts = {grade: sum(loss.grade == grade for loss in each.translated.losses) for grade in _GRADES}
        shown = ", ".join(f"{number} {grade}" for grade, number in counts.items() if number) or "none"
        files = ", ".join(_file(file, home) for file in found.files) or "no file"
        head = f"{CLIENTS[found.agent].TITLE}: {number_of(len(found.rules), 'rule')} in {files}"
        lines += [style.paint(head, "strong"), f"  {shown}; {number_of(each.translated.tried, 'call')} tried on both"]
        lines += [f"  cannot be read: {problem.file}: {problem.message}" for problem in each.problems]
        for grade in _GRADES[1:]:
            for loss in each.translated.losses:
                if loss.grade == grade:
                    lines += _loss(loss, home, style)
        for remark in found.remarks:
            place = f"{_file(remark.file, home)}:{remark.line}"
            lines.append(f"  not taken  {place}  {_cut(remark.text)}: {remark.why}")
        lines.append("")
    return "\n".join(lines)


def _loss(loss: Loss, home: str, style: Style) -> list[str]:
    rule = loss.rule
    lines = [
        f"  {loss.grade:9}  {style.paint(rule.lane, rule.lane)} {_cut(rule.text)}  {_file(rule.file, home)}:{rule.line}"
    ]
    if loss.witness:
        theirs = {"nothing": "no rule"}.get(loss.theirs, loss.theirs)
        lines.append(f"             {_cut(loss.witness)}: theirs {theirs}, ours {loss.ours}")
    if loss.why:
        lines.append(f"             {visible(loss.why)}")
    return lines


def audit_text(wrong: Sequence[Wrong], rules: int, home: str, style: Style) -> str:
    """What is wrong with agents' rules, each with a call that shows it."""
    if not rules and not wrong:
        return "there are no rules of agents here\n"
    if not wrong:
        return f"nothing was found that is wrong with your {number_of(rules, 'rule')}\n"
    what = "does not do what it says" if len(wrong) == 1 else "do not do what they say"
    lines = [style.paint(f"{len(wrong)} of your {number_of(rules, 'rule')} {what}", "strong")]
    for each in wrong:
        lines += ["", f"{each.kind}  {_cut(each.text)}  {_file(each.file, home)}:{each.line}"]
        lines += [f"  {_cut(each.witness)}"] if each.witness else []
        lines.append(f"  {visible(each.why)}")
    return "\n".join(lines) + "\n"


def import_data(made: Sequence[Imported]) -> list[dict[str, Any]]:
    """The loss report as JSON."""
    return [
        {
            "agent": each.found.agent,
            "files": list(each.found.files),
            "tried": each.translated.tried,
            "problems": [str(problem) for problem in each.problems],
            "rules": [
                {
                    "file": loss.rule.file, "line": loss.rule.line, "text": loss.rule.text, "lane": loss.rule.lane,
                    "grade": loss.grade, "why": loss.why, "witness": loss.witness, "theirs": loss.theirs,
                    "ours": loss.ours, "id": loss.written,
                }
                for loss in each.translated.losses
            ],
            "not_taken": [
                {"file": remark.file, "line": remark.line, "text": remark.text, "why": remark.why}
                for remark in each.found.remarks
            ],
        }
        for each in made
    ]  # fmt: skip


def audit_data(wrong: Sequence[Wrong]) -> list[dict[str, Any]]:
    """What is wrong, as JSON."""
    return [
        {
            "kind": each.kind, "agent": each.agent, "file": each.file, "line": each.line, "text": each.text,
            "why": each.why, "witness": each.witness,
        }
        for each in wrong
    ]  # fmt: skip


def number_of(number: int, what: str) -> str:
    """A number of things in words: `1 rule`, `2,000 rules`."""
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def _cut(text: str) -> str:
    return shortened(visible(text), _LONGEST)


def _file(path: str, home: str) -> str:
    return visible("~" + path[len(home) :] if path.startswith(home + os.sep) else path)
