"""perl's one-line programs: a small part of the language that filters and prints; everything else is code."""

from __future__ import annotations

from gateway.commands.special.perl.words import NAME, Words
from gateway.commands.special.wordlists import words
from gateway.model.command import Word
from gateway.model.effect import HOLE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from gateway.commands.findings import Findings
    from gateway.commands.invocation import Invocation

_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_")
_DIGITS = frozenset("0123456789")
_WORDS = words(
    "print say printf length substr index rindex uc lc ucfirst lcfirst join split map grep sort reverse keys "
    "values exists defined delete push pop shift unshift splice scalar sprintf int abs sqrt ord chr hex oct "
    "chomp chop next last if unless else elsif for foreach while until my local and or not xor eq ne lt gt le "
    "ge x cmp BEGIN END exit eof time localtime gmtime wantarray each pos quotemeta undef die warn return "
    "redo log exp sin cos atan2 rand srand sum sum0 max min maxstr minstr uniq first any all none floor ceil "
    "strftime  lc STDOUT STDERR"
)
# Behind these words an operand follows, so that a slash starts an expression.
_BEFORE_OPERAND = words("if unless while until and or not xor split grep map print say return join push x eq ne")
# Words that stand for a value by themselves, so that a sign behind them may be an operator.
_ALONE = words("time wantarray shift pop eof localtime gmtime STDOUT STDERR rand exit")
_SPECIAL = frozenset("_.,/\\&|!@;0123456789+")
_FORBIDDEN = frozenset(("ENV", "INC", "ARGV", "ARGVOUT", "SIG", "STDIN", "DATA", "ISA", "EXPORT"))
_DELIMITERS = frozenset("/|!,#:{")
_FLAGS = frozenset("gimsxorluancd")
_PLAIN_SIGNS = frozenset("+-*/%=<>!~.,;:?&|()[]{}\\^ \t\n")


class PerlError(Exception):
    """The program is not understood."""


class _Reader:
    """Goes through a program, and raises where it leaves what is understood."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.variables: list[str] = []
        self.previous = ""

    def read(self) -> None:
        text = self.text
        if not text.isascii() or "`" in text or "::" in text or "__" in text or "\n=" in text or text[:1] == "=":
            raise PerlError
        while self.at < len(text):
            sign = text[self.at]
            if sign in " \t\n":
                self.at += 1
            elif sign == "#":
                end = text.find("\n", self.at)
                self.at = len(text) if end < 0 else end
            elif sign == "$" or (sign in "@%" and self._operand()):
                self._variable(sign)
            elif sign in _DIGITS:
                self._number()
            elif sign in _LETTERS:
                self._word()
            elif sign == "'":
                self._single()
            elif sign == '"':
                self._interpolated(self._until('"'))
                self.previous = "value"
            elif sign == "/" and self._operand():
                self._expression("/")
            else:
                self._sign(sign)

    def _operand(self) -> bool:
        """Whether an operand may start here; where it depends on more than the last token, nobody should choose."""
        last = self.previous
        if last in _BEFORE_OPERAND:
            return True
        if last in ("value", ")"):
            return False
        if last == "}" and self.text[self.at] in "%@":
            raise PerlError
        if last == "}" or last in _ALONE or (last in _WORDS and self.text[self.at] == "/"):
            if self.text[self.at] == "@" and last not in _ALONE:
                return True
            raise PerlError
        return True

    def _until(self, delimiter: str) -> str:
        """The text up to a delimiter; the place moves behind it."""
        text, at = self.text, self.at + 1
        closing = "}" if delimiter == "{" else delimiter
        depth = 1
        start = at
        while at < len(text):
            sign = text[at]
            if sign == "\\":
                at += 2
                continue
            if sign == closing:
                depth -= 1
                if not depth:
                    self.at = at + 1
                    return text[start:at]
            elif sign == delimiter:
                depth += 1
            at += 1
        raise PerlError

    def _single(self) -> None:
        self._until("'")
        self.previous = "value"

    def _interpolated(self, text: str) -> None:
        """Text in which variables are filled in: nothing but plain ones with plain places in them."""
        at = 0
        while at < len(text):
            sign = text[at]
            if sign == "\\":
                at += 2
                continue
            at += 1
            if sign not in "$@":
                continue
            end = at
            while end < len(text) and text[end] in NAME:
                end += 1
            name, following = text[at:end], text[end : end + 1]
            if not name:
                if following in ("{", "$", "^", "[", "(") and not (
                    sign == "$" and following == "(" and not text[end + 1 :]
                ):
                    raise PerlError
                continue
            self._named(name, text[end:], sign)
            if following == "'" and text[end + 1 : end + 2] in _LETTERS:
                raise PerlError  # the old sign between a package and a name
            if following in ("[", "{"):
                closing = text.find("]" if following == "[" else "}", end)
                inside = text[end + 1 : closing] if closing > 0 else "("
                if sign == "@" or not set(inside.lstrip("-$")) <= NAME or not inside:
                    raise PerlError
                end = closing + 1
                if text[end : end + 1] in ("[", "{"):
                    raise PerlError
            if text[end : end + 2] == "->":
                raise PerlError
            at = end

    def _named(self, name: str, behind: str, sign: str) -> None:
        if name == "ENV" and sign == "$" and behind[:1] == "{":
            self.variables.append(behind[1:].partition("}")[0].strip("'\""))
        elif name == "ENV":
            self.variables.append("*")
        elif name in _FORBIDDEN and not (
            name == "ARGV" and sign == "$" and behind.lstrip()[:1] not in ("[", "=", "{", ".")
        ):
            raise PerlError

    def _variable(self, sign: str) -> None:
        text, at = self.text, self.at + 1
        if text[at : at + 1] == "#" and text[at + 1 : at + 2] in _LETTERS:
            at += 1
        end = at
        while end < len(text) and text[end] in NAME:
            end += 1
        name = text[at:end]
        if not name:
            if sign != "$" or text[at : at + 1] not in _SPECIAL:
                raise PerlError
            end = at + 1
        else:
            self._named(name, text[end:], sign)
        if text[end : end + 1] == "'" or (sign == "$" and self.previous == "sort"):
            raise PerlError  # a quote here divides a package from a name; what `sort` calls may have any name
        self.at = end
        self.previous = "value"

    def _number(self) -> None:
        end = self.at
        while end < len(self.text) and self.text[end] in NAME:
            end += 1
        self.at = end
        self.previous = "value"

    def _word(self) -> None:
        text, end = self.text, self.at
        while end < len(text) and text[end] in NAME:
            end += 1
        word = text[self.at : end]
        if text[end : end + 1] == "'":
            raise PerlError
        behind = text[end:].lstrip()
        before = text[: self.at].rstrip()[-1:]
        if behind[:2] == "=>" or (before == "{" and behind[:1] == "}" and self.previous == "key"):
            self.at, self.previous = end, "value"
        elif (
            word in ("s", "y", "tr", "m", "qw")
            and text[end : end + 1] in _DELIMITERS
            and behind[:2] not in ("=>", ",,")
        ):
            self.at = end
            self._quoting(word, text[end])
        elif word in _WORDS:
            self.at, self.previous = end, word
        else:
            raise PerlError

    def _quoting(self, word: str, delimiter: str) -> None:
        if word == "qw":
            self._until(delimiter)
            self.previous = "value"
        elif word == "m":
            self._expression(delimiter)
        else:
            first = self._until(delimiter)
            if word == "s":
                self._pattern(first)
            if delimiter == "{":
                if self.text[self.at : self.at + 1] != "{":
                    raise PerlError
            else:
                self.at -= 1
            second = self._until(delimiter)
            if word == "s":
                self._interpolated(second)
            self._flags()

    def _expression(self, delimiter: str) -> None:
        self._pattern(self._until(delimiter))
        self._flags()

    def _pattern(self, text: str) -> None:
        if "?{" in text or "?p{" in text or "(*{" in text or "\\N{" in text:
            raise PerlError
        # A dollar before a bracket or bar, or at the end, is the end of a line.
        self._interpolated(text.replace("$)", ")").replace("$|", "|").removesuffix("$"))

    def _flags(self) -> None:
        while self.at < len(self.text) and self.text[self.at] in NAME:
            if self.text[self.at] not in _FLAGS:
                raise PerlError
            self.at += 1
        self.previous = "value"

    def _sign(self, sign: str) -> None:
        text, at = self.text, self.at
        if sign not in _PLAIN_SIGNS:
            raise PerlError
        two = text[at : at + 2]
        if sign == "<":
            if two == "<<" or (text[at : at + 2] != "<=" and text[at + 1 : at + 2] != " "):
                raise PerlError
        elif (
            (sign == "&" and two != "&&")
            # What is no reference is taken as the name of a variable, whatever its name.
            or two == "->"
            or (sign in "[{(" and self._subscripted(at))
            or (sign in "*%" and self._operand())
            or (sign == "\\" and text[at + 1 : at + 2] not in "$@%")
            or (sign == "-" and self.previous not in ("value", ")") and text[at + 1 : at + 2] in _LETTERS)
        ):
            raise PerlError
        self.at += (
            2 if two in ("**", "&&", "||", "->", "=~", "!~", "<=", ">=", "==", "!=", "..", "++", "--", "//") else 1
        )
        if sign == "{":
            self.previous = "key" if self.previous == "value" or text[at - 1 : at] == ">" else "sign"
        else:
            self.previous = {")": ")", "]": "value", "}": "}"}.get(sign, "value" if two in ("++", "--") else "sign")
            if sign == "}" and self._closes_key(at):
                self.previous = "value"

    def _subscripted(self, at: int) -> bool:
        """Whether a bracket follows one that ends a subscript, which is an arrow left out."""
        before = self.text[:at].rstrip()
        return before[-1:] in ("]", "}") and self.previous == "value"

    def _closes_key(self, at: int) -> bool:
        """Whether a brace ends `$h{…}` rather than a block."""
        opening = self.text.rfind("{", 0, at)
        before = self.text[:opening]
        end = len(before)
        while end and before[end - 1] in NAME:
            end -= 1
        return 0 < end < len(before) and before[end - 1] == "$"


def scan(program: str) -> list[str]:
    """The variables of the environment that a program shows ("*" for any). PerlError if it is not understood."""
    reader = _Reader(program)
    reader.read()
    return reader.variables


def _perl(findings: Findings, run: Invocation) -> None:
    words = Words(run.words)
    run.doubts[:] = []
    del run.option_globs[:]
    if words.shown and words.known and not words.programs:
        return
    if not words.programs:
        if words.operands:
            findings.touch("read", words.operands[0], run.cwds, run.part)
        findings.code(run, "runs a Perl program")
        return
    if not words.known:
        run.doubts.append("perl's options are not understood")
    for word in words.programs:
        if not word.literal:
            run.doubts.append("the Perl program is not known before the run")
    text = "\n".join([word.text for word in words.programs])
    first = words.programs[0]
    try:
        variables = scan(text)
    except PerlError:
        run.doubts.append("the Perl program is not understood")
    else:
        for name in variables:
            findings.env(name if set(name) <= NAME else "*", "read", first.start, first.end, run.part)
    if words.loops:
        _files(findings, run, words)


def _files(findings: Findings, run: Invocation, words: Words) -> None:
    """The operands are opened the old way, in which some signs start a program or name a file to write."""
    for word in words.operands:
        text = word.pattern if word.pattern is not None else word.text
        if text == "-":
            continue
        if word.splits or text[:1] in "|<>+&-* \t?[" + HOLE or text[-1:] in "|&* \t?]" + HOLE:
            run.doubts.append(f"perl may run or write {word.text.replace(HOLE, '?')}")
        findings.touch("read", word, run.cwds, run.part)
        if words.edits is not None:
            findings.touch("write", word, run.cwds, run.part)
            if words.edits:
                backup = HOLE if "*" in words.edits or not word.literal else word.text + words.edits
                findings.touch("write", Word(backup, word.start, word.end), run.cwds, run.part)


HOOKS: dict[str, Callable[[Findings, Invocation], None]] = {"perl": _perl}
