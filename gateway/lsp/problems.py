"""What servers say is wrong with a file, and what of it is new. Pure."""

from __future__ import annotations

from collections import Counter

from gateway.core.value import Value
from gateway.lsp.positions import Counted, place

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Any

ERROR, WARNING, INFORMATION, HINT = 1, 2, 3, 4
NAMES = {ERROR: "error", WARNING: "warning", INFORMATION: "information", HINT: "hint"}
MOST_KEPT = 1_000
MOST_MESSAGE = 2_000
# Characters of all that is kept of one file, and of the line that a problem stands on.
MOST_CHARACTERS, MOST_LINE = 1 << 20, 2_000
_MOST_NAMED = 80
_MOST_RELATED = 5
_MOST_ADDRESS = 4_096


class Problem(Value):
    """One problem. `line`, `character`: where it begins, from 1, 0 where the server names no place in the file; `text`:
    that line, or of a very long one its beginning; `related`: what it points to, as the server says it."""

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
    counted = Counted(encoding)
    found = [_problem(each, lines, counted) for each in items[:MOST_KEPT]] if isinstance(items, list) else []
    return tuple(sorted((each for each in found if each is not None), key=lambda each: (each.line, each.character)))


def kept_of(items: Any, hidden: Callable[[str], str]) -> list[dict[str, Any]]:
    """What is kept of what a server published until somebody asks: of each problem what `problems_of` reads, and of all
    of them together so much that a file never costs more than that. `hidden`: takes secrets out of a text, which
    happens before it is cut."""
    found: list[dict[str, Any]] = []
    left = MOST_CHARACTERS
    for each in items[:MOST_KEPT] if isinstance(items, list) else ():
        if isinstance(each, dict) and isinstance(each.get("message"), str):
            kept, size = _kept(each, hidden)
            left -= size
            if left < 0:
                break
            found.append(kept)
    return found


def _kept(item: dict[str, Any], hidden: Callable[[str], str]) -> tuple[dict[str, Any], int]:
    """A problem without what nobody reads of it, and how many characters it has."""
    source, code, severity = item.get("source"), item.get("code"), item.get("severity")
    found: dict[str, Any] = {
        "message": hidden(item["message"])[:MOST_MESSAGE],
        "range": _beginning(item.get("range")),
        "source": hidden(source)[:_MOST_NAMED] if isinstance(source, str) else "",
        "severity": severity if type(severity) is int and severity in NAMES else ERROR,
    }
    if isinstance(code, (str, int)) and not isinstance(code, bool):
        found["code"] = hidden(str(code))[:_MOST_NAMED]
    related = item.get("relatedInformation")
    pointing = [_pointing(each, hidden) for each in related[:_MOST_RELATED]] if isinstance(related, list) else []
    found["relatedInformation"] = [each for each in pointing if each is not None]
    texts = [found["message"], found["source"], found.get("code", "")]
    for each in found["relatedInformation"]:
        texts += [each["message"], each["location"]["uri"]]
    return found, sum(map(len, texts))


def _beginning(span: Any) -> dict[str, Any] | None:
    at = place(span.get("start")) if isinstance(span, dict) else None
    return None if at is None else {"start": {"line": at[0], "character": at[1]}}


def _pointing(item: Any, hidden: Callable[[str], str]) -> dict[str, Any] | None:
    """What a problem points to; None for what names no place, or one that no file has."""
    location, message = (item.get("location"), item.get("message")) if isinstance(item, dict) else (None, None)
    uri = location.get("uri") if isinstance(location, dict) else None
    if location is None or not isinstance(uri, str) or len(uri) > _MOST_ADDRESS or not isinstance(message, str):
        return None
    at = _beginning(location.get("range"))
    return {"location": {"uri": hidden(uri), "range": at}, "message": hidden(message)[:MOST_MESSAGE]}


def _problem(item: Any, lines: Sequence[str], counted: Counted) -> Problem | None:
    if not isinstance(item, dict) or not isinstance(item.get("message"), str):
        return None
    span = item.get("range")
    at = place(span.get("start")) if isinstance(span, dict) else None
    line = column = 0
    text = ""
    if at is not None and at[0] < len(lines):
        line, column = at[0] + 1, counted.character(lines[at[0]], at[1]) + 1
        text = lines[at[0]][:MOST_LINE]
    severity, source, code = item.get("severity"), item.get("source"), item.get("code")
    related = item.get("relatedInformation")
    return Problem(
        line, column,
        severity=severity if type(severity) is int and severity in NAMES else ERROR,
        source=source[:_MOST_NAMED] if isinstance(source, str) else "",
        code=str(code)[:_MOST_NAMED] if isinstance(code, (str, int)) and not isinstance(code, bool) else "",
        message=item["message"][:MOST_MESSAGE],
        text=text,
        related=tuple(related[:_MOST_RELATED]) if isinstance(related, list) else (),
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
