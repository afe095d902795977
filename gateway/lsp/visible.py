"""What servers answer, as a model is shown it: places in files that may be read, and texts that hide nothing."""

from __future__ import annotations

from gateway.core.value import Value
from gateway.lsp.positions import Counted, lines_of, place
from gateway.lsp.problems import NAMES
from gateway.lsp.sources import MOST_FILES
from gateway.lsp.uris import path_of
from gateway.policy.wording import visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

    from gateway.lsp.problems import Problem
    from gateway.lsp.sources import Sources

MOST_LINE = 200
MOST_KEPT = 10_000
MOST_NAME = 300
MOST_TEXT = 20_000
_MOST_LOOKED_AT = 20_000  # of what is to stand on one line
# Places of one answer that are looked at.
MOST_PLACES = 1_000
_KINDS = (
    "file module namespace package class method property field constructor enum interface function variable constant "
    "string number boolean array object key null enum-member struct event operator type-parameter"
)
_COMPLETIONS = (
    "text method function constructor field variable class interface module property unit value enum keyword snippet "
    "colour file reference folder enum-member constant struct event operator type-parameter"
)


class Spot(Value):
    """A place in a file that may be read: its path, line and character from 1, and the text of that line, or of a very
    long one its beginning."""

    path: str
    line: int
    character: int
    text: str

    def data(self) -> dict[str, Any]:
        """The same as a model's program reads it."""
        return {"file_path": self.path, "line": self.line, "character": self.character}


class Places:
    """Turns what a server says of places into what may be shown of them."""

    def __init__(self, sources: Sources, encoding: str, cwd: str) -> None:
        self._sources = sources
        self._counted = Counted(encoding)
        self._cwd = cwd

    def spot(self, uri: Any, span: Any) -> Spot | None:
        """Where a range begins; None where policy does not let the call see it, or there is no such place."""
        path = path_of(uri)
        at = place(span.get("start")) if isinstance(span, dict) else None
        source = self._sources.of(path) if path and at is not None else None
        if source is None or at is None or at[0] >= len(source.lines):
            return None
        text = source.lines[at[0]]
        return Spot(source.real, at[0] + 1, self._counted.character(text, at[1]) + 1, text[:MOST_KEPT])

    def spots(self, found: Any) -> Iterator[Spot]:
        """The places of an answer that is one or more `Location` or `LocationLink`, each once."""
        seen = set()
        for each in (found if isinstance(found, list) else [found])[:MOST_PLACES]:
            if not isinstance(each, dict):
                continue
            if "targetUri" in each:
                spot = self.spot(each["targetUri"], each.get("targetSelectionRange") or each.get("targetRange"))
            else:
                spot = self.spot(each.get("uri"), each.get("range"))
            if spot is not None and spot not in seen:
                seen.add(spot)
                yield spot

    def speaks_of_refused(self, found: Any) -> bool:
        """Whether an answer names a file that policy does not let the call see, or more than are looked at."""
        named = found if isinstance(found, list) else [found]
        if len(named) > MOST_FILES:
            return True
        for each in named:
            path = path_of(each.get("targetUri", each.get("uri"))) if isinstance(each, dict) else ""
            if path and self._sources.is_refused(path):
                return True
        return False

    def told(self, spot: Spot) -> str:
        """A place on one line: where, and what stands there."""
        text = spot.text.strip()[:MOST_LINE]
        return self.at(spot) + (f"  {visible(text)}" if text else "")

    def at(self, spot: Spot) -> str:
        """A place without what stands there."""
        return f"{named(spot.path, self._cwd)}:{spot.line}:{spot.character}"

    def related(self, problem: Problem) -> Iterator[str]:
        """What a problem points to, as far as it may be seen."""
        for each in problem.related:
            location = each.get("location") if isinstance(each, dict) else None
            spot = self.spot(location.get("uri"), location.get("range")) if isinstance(location, dict) else None
            if spot is not None and isinstance(each.get("message"), str):
                yield f"{self.at(spot)} {one_line(each['message'])}"


def named(path: str, cwd: str) -> str:
    """A path as a model may write it: from the working folder where it lies there, else absolute."""
    return visible(path.removeprefix(cwd.rstrip("/") + "/"))


def one_line(text: Any, most: int = MOST_NAME) -> str:
    """What a server says, on one line, "" for what is no text."""
    return visible(" ".join(text[:_MOST_LOOKED_AT].split())[:most]) if isinstance(text, str) else ""


def told_problem(problem: Problem) -> str:
    """A problem on one line."""
    about = " ".join(each for each in (problem.source, problem.code) if each)
    at = f"{problem.line}:{problem.character} " if problem.line else ""
    said = one_line(problem.message, 1_000)
    return f"{at}{NAMES[problem.severity]}: {said}" + (f" ({visible(about)})" if about else "")


def text_of(contents: Any) -> str:
    """The text of a hover or of documentation, in any of the forms that the protocol has."""
    parts: Iterable[Any] = contents if isinstance(contents, list) else [contents]
    found = []
    for each in parts:
        if isinstance(each, dict):
            value, language = each.get("value"), each.get("language")
            if isinstance(value, str):
                found.append(f"```{one_line(language)}\n{value}\n```" if isinstance(language, str) else value)
        elif isinstance(each, str):
            found.append(each)
    text = "\n\n".join(each.strip() for each in found if each.strip())
    cut = "\n… [cut]" if len(text) > MOST_TEXT else ""
    return "\n".join(visible(line.expandtabs(4)) for line in lines_of(text[:MOST_TEXT])) + cut


def symbol_kind(number: Any) -> str:
    """A kind of symbol in words."""
    return _word(_KINDS, number)


def completion_kind(number: Any) -> str:
    """A kind of completion in words."""
    return _word(_COMPLETIONS, number)


def _word(known: str, number: Any) -> str:
    words = known.split()
    return words[number - 1] if isinstance(number, int) and 0 < number <= len(words) else "symbol"
