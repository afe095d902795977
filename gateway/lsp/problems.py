"""What servers say is wrong with a file, and what of it is new. Pure."""

from __future__ import annotations

from collections import Counter

from gateway.lsp.positions import character, place
from gateway.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

ERROR, WARNING, INFORMATION, HINT = 1, 2, 3, 4
NAMES = {ERROR: "error", WARNING: "warning", INFORMATION: "information", HINT: "hint"}
MOST_KEPT = 1_000
MOST_MESSAGE = 2_000


class Problem(Value):
    """One problem. `line`, `character`: where it begins, from 1, 0 where the server names no place in the file; `text`:
    that line; `related`: what it points to, as the server says it."""

    line: int
    character: int
    severity: int
    source: str
    code: str
    message: str
    text: str = ""
    related: tuple[Any, ...] = ()


def problems_of(items: Any, lines: Sequence[str], encoding: str) -> tuple[Problem, ...]:
    """What a server published, in order of place; what is no problem is left out."""
    found = [_problem(each, lines, encoding) for each in items[:MOST_KEPT]] if isinstance(items, list) else []
    return tuple(sorted((each for each in found if each is not None), key=lambda each: (each.line, each.character)))


def _problem(item: Any, lines: Sequence[str], encoding: str) -> Problem | None:
    if not isinstance(item, dict) or not isinstance(item.get("message"), str):
        return None
    span = item.get("range")
    at = place(span.get("start")) if isinstance(span, dict) else None
    line = column = 0
    text = ""
    if at is not None and at[0] < len(lines):
        text = lines[at[0]]
        line, column = at[0] + 1, character(text, at[1], encoding) + 1
    severity, source, code = item.get("severity"), item.get("source"), item.get("code")
    related = item.get("relatedInformation")
    return Problem(
        line, column,
        severity if type(severity) is int and severity in NAMES else ERROR,
        source[:80] if isinstance(source, str) else "",
        str(code)[:80] if isinstance(code, (str, int)) and not isinstance(code, bool) else "",
        item["message"][:MOST_MESSAGE],
        text,
        tuple(related[:5]) if isinstance(related, list) else (),
    )  # fmt: skip


def new_ones(before: Iterable[Problem], after: Iterable[Problem]) -> tuple[Problem, ...]:
    """Errors and warnings that were not there before, wherever in the file they stood: an edit moves lines. Of equal
    ones, those count as old first that stand on an equal line."""
    old = list(before)
    exact = Counter(_key(each, each.text.strip()) for each in old)
    pending = []
    for each in after:
        if each.severity > WARNING:
            continue
        key = _key(each, each.text.strip())
        if exact[key]:
            exact[key] -= 1
        else:
            pending.append(each)
    loose: Counter[Any] = Counter()
    for key, count in exact.items():
        loose[key[:-1]] += count
    found = []
    for each in pending:
        key = _key(each)
        if loose[key]:
            loose[key] -= 1
        else:
            found.append(each)
    return tuple(found)


def _key(problem: Problem, *more: str) -> tuple[Any, ...]:
    return (problem.severity, problem.source, problem.code, problem.message, *more)
