"""Commands by a regular expression. Pure."""

from __future__ import annotations

import json
import re
import warnings

from gateway.core.value import Value
from gateway.install.translation.common_call import SHELL, Asked
from gateway.install.translation.expressions import texts_of
from gateway.install.translation.matching import STAR, Command
from gateway.spec.argtests import regex_problem

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gateway.install.translation.matching import Clause


class Expression(Value):
    """A command by a regular expression over its text, as JavaScript reads it. `start`: it begins where the text does.
    `folds`: letters in either case are the same. `quoted`: it sees the text as JSON writes it."""

    source: str
    start: bool = False
    folds: bool = False
    quoted: bool = False
    kind: str = SHELL

    def _compiled(self) -> re.Pattern[str] | None:
        return compiled(self.source, folds=self.folds)

    def holds(self, asked: Asked) -> bool:
        """As every test."""
        pattern = self._compiled()
        if pattern is None or asked.kind != SHELL:
            return False
        text = asked.text
        if self.quoted:
            text = json.dumps(text, ensure_ascii=False)[1:] + "}"
        return (pattern.match(text) if self.start else pattern.search(text)) is not None

    def _texts(self) -> tuple[Command, ...]:
        anchored = self.source if self.start or self.source.startswith("^") else ""
        found = texts_of(anchored.removeprefix("^")) if anchored and not self.folds else ()
        if self.quoted and any(set("".join(pieces)) & set('"\\') for pieces, _more in found):
            return ()
        # What JSON puts behind a text keeps `$` from ever holding there.
        kept = (each for each in found if not self.quoted or each[1] or each[0][-1] == STAR)
        return tuple(Command(pieces, more) for pieces, more in kept)

    def spans(self) -> bool:
        """Whether it may hold for a whole text, and for none of the commands that it is made of."""
        found = self._texts()
        return not found or any(STAR in each.pieces for each in found)

    def narrow(self) -> tuple[Clause, ...]:
        """As every test."""
        return tuple(clause for each in self._texts() for clause in each.narrow())

    def wide(self) -> tuple[Clause, ...]:
        """As every test."""
        found = self._texts()
        if found:  # what an expression leaves open behind its last word may be glued to it
            glued = (Command((*each.pieces, STAR)) if each.more else each for each in found)
            return tuple(clause for each in glued for clause in each.wide())
        raw = self.source.removeprefix("^").replace(r"\b", "").removesuffix("$")
        raw = re.sub(r"\(\?<([A-Za-z])", r"(?P<\1", raw)
        fits = (
            raw and "^" not in raw.replace("[^", "") and "$" not in raw and not (self.quoted and set(raw) & set('"\\'))
        )
        if fits and not regex_problem(raw) and not self.folds:
            return ({"tool": ["Bash"], "args": {"command": {"regex": raw}}},)
        return ({"tool": ["Bash"]},)

    def tried(self) -> tuple[Asked, ...]:
        """As every test."""
        found = [edge for each in self._texts()[:6] for edge in each.tried()]
        return tuple(dict.fromkeys((*found, *(Asked(SHELL, text) for text in ("git status", "git push", "rm -rf x")))))


def compiled(source: str, *, folds: bool = False) -> re.Pattern[str] | None:
    """An expression of JavaScript's as ours, None for one that cannot be read."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return re.compile(re.sub(r"\(\?<([A-Za-z])", r"(?P<\1", source), re.IGNORECASE if folds else 0)
    except (re.error, RecursionError, OverflowError):
        return None
