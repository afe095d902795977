"""What linting and testing policies found, for programs that review code: SARIF, and annotations of GitHub."""

from __future__ import annotations

import os
import re

from gateway.frontends.sarif import Result, RuleText, sarif

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from gateway.judge.policy_tables import Report
    from gateway.policy.lint.clauses import Finding

_LEVELS = {"error": "error", "warning": "warning", "info": "note"}
# Of another place that a finding names: it moves, and the finding stays what it is.
_LINE = re.compile(r"(?<=\.yaml):[0-9]+")
_FAILING = "failing-test"


def lint_results(findings: Iterable[Finding], root: str) -> list[Result]:
    """One for each finding. `root`: what files are told relative to."""
    return [
        Result(
            rule=each.id,
            level=_LEVELS[each.severity],
            message=_message(each),
            file=_relative(each.file, root),
            line=each.line,
            same=f"{each.rule}\0{_LINE.sub('', each.message)}",
        )
        for each in findings
    ]


def _message(found: Finding) -> str:
    parts = [f"rule `{found.rule}`: {found.message}" if found.rule else found.message]
    parts += [f"Shown by: {found.shown}"] if found.witness else []
    parts += [f"Help: {found.remedy}"] if found.remedy else []
    return "\n".join(parts)


def test_results(report: Report, root: str) -> list[Result]:
    """One for each example and test that failed."""
    return [
        Result(
            rule=_FAILING,
            level="error",
            message=f"{f'rule `{each.rule}` ' if each.rule else ''}{each.kind} {each.call}: {each.problem}",
            file=_relative(each.file, root),
            line=each.line,
            same=f"{each.rule}\0{each.kind}\0{each.call}",
        )
        for each in report.failures
    ]


def as_sarif(results: Sequence[Result]) -> str:
    """A run of SARIF. Where two findings say the same of the same place, they are told apart by their order."""
    names = sorted({each.rule for each in results})
    return sarif([RuleText(name, name.replace("-", " ")) for name in names], results)


def as_github(results: Iterable[Result]) -> str:
    """A workflow command a line: what GitHub shows beside the lines of a request."""
    lines = []
    for each in results:
        word = "notice" if each.level == "note" else each.level
        place = f"file={_property(each.file)},line={max(each.line, 1)}," if each.file else ""
        lines.append(f"::{word} {place}title={_property(each.rule)}::{_data(each.message)}\n")
    return "".join(lines)


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def _relative(file: str, root: str) -> str:
    return os.path.relpath(file, root) if file.startswith(root.rstrip("/") + "/") else file
