"""The extents of substitutions, expansions, arrays and here-documents, by bash's own lexical rules.

One pass over the text, left to right, with a frame for each quoting context. Line continuations are folded on the
way, for they may stand between any two characters of an operator; `Survey.removed` tells where. What bash and this
pass could read differently is refused, never guessed.
"""

from __future__ import annotations

import re

from gateway.core.value import Value
from gateway.shell.folded_text import META, FoldedText
from gateway.shell.guards import MAX_DEPTH, Refused, may_have_regions
from gateway.shell.heredocs import read_body, read_mark


class Region(Value):
    """One extent `start..end` of the text, with what is inside it at `inner..stop`.

    `kind`: command `$(…)`, backtick, input `<(…)`, output `>(…)`, parameter `${…}`, arithmetic (`$((…))`, `$[…]`),
    compute (`((…))` as a command or after `for`), array `=(…)`, or heredoc: then `start..end` is `<<MARK`,
    `inner..stop` the body and `after` the start of the line behind the closing mark. `quoted`: in double quotes, or a
    here-document whose mark is quoted.
    """

    kind: str
    start: int
    end: int
    inner: int
    stop: int
    quoted: bool = False
    children: tuple[Region, ...] = ()
    after: int = 0
    strip: bool = False


class Survey(Value):
    """`text` without line continuations, its outermost `regions` in order, and where a continuation was taken out
    (positions in `text`, ascending)."""

    text: str
    regions: tuple[Region, ...] = ()
    removed: tuple[int, ...] = ()


TYPE_CHECKING = False
if TYPE_CHECKING:
    from gateway.shell.heredocs import Mark

    # A here-document whose body is not read yet, and where its region goes then.
    _Waiting = tuple[Mark, list[Region]]

_COMMAND = re.compile(r"""[\\'"`$<>()#\n]|(?<![^\s;&|()<>`])(?:case|esac)(?![^\s;&|()<>])""")
_DOUBLE = re.compile(r'[\\"`$]')
_PARAMETER = re.compile(r"""[\\'"`$<>}]""")
_ARITHMETIC = re.compile(r"""[\\'"`$()\[\]]""")
_BACKTICK_END = re.compile(r"(?:[^`\\]|\\.)*`", re.DOTALL)
_ANSI_END = re.compile(r"(?:[^'\\]|\\.)*'", re.DOTALL)
_EMPTY_CASE = re.compile(r"(?:\A|[\s;&|(])case[ \t\n]+\S+[ \t\n]+in[ \t\n]+\Z")
_ARRAY_NAME = re.compile(r"[A-Za-z0-9_\]]\+?=\Z")
_OPENS_COMMAND = frozenset(("then", "do", "else", "elif", "if", "while", "until", "time", "-p", "!", "{"))
_FAR = 1 << 60


def _start(region: Region) -> int:
    return region.start


def survey(text: str) -> Survey:
    """Every region of a text. Raises `Refused` when an extent can't be told."""
    if not may_have_regions(text):
        return Survey(text)
    lexer = _Lexer(text)
    found: list[Region] = []
    pending: list[_Waiting] = []
    lexer.command(0, "", found, pending)
    if pending:
        raise Refused("here-document without a body", pending[0][0].start, pending[0][0].end)
    found.sort(key=_start)
    return Survey(lexer.text, tuple(found), tuple(lexer.removed))


class _Lexer(FoldedText):
    """What is read so far; one use."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.depth = 0

    def enter(self, at: int) -> None:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise Refused("nested too deeply", at, at + 1)

    # Each of these reads from just after an opening and returns the position of the closing character.

    def command(self, at: int, close: str, found: list[Region], pending: list[_Waiting], words: bool = False) -> int:
        begin = at
        glued = -1  # the end of a quoted or escaped text: a # there does not start a comment
        cases = 0
        while match := _COMMAND.search(self.text, at):
            token = match[0]
            at = match.start()
            if token == "\\":
                follower = self.text[at + 1 : at + 2]
                if follower == "\n":
                    self.fold(at)
                    least = max(begin, at - 4)
                    while at > least and self.text[at - 1].isalpha():  # a keyword may go on behind it
                        at -= 1
                elif follower:
                    at = glued = at + 2
                else:
                    raise Refused("ends in a backslash", at, at + 1)
            elif token == "'":
                at = glued = self.single(at)
            elif token == '"':
                at = glued = self.quotes(at, found, pending)
            elif token == "`":
                at = glued = self.backtick(at, False, found)
            elif token == "$":
                at = glued = self.dollar(at, False, found, pending)
            elif token in "<>":
                at = self.angle(at, found, pending)
            elif token == "(":
                at = self.parenthesis(at, begin, found, pending)
            elif token == ")":
                if cases:
                    at += 1
                elif close == ")":
                    return at
                else:
                    raise Refused("a parenthesis closes that was not opened", at, at + 1)
            elif token == "#":
                if at != glued and (at == begin or self.text[at - 1] in META):
                    at = self.text.find("\n", at)
                    if at < 0:
                        break
                else:
                    at += 1
            elif token == "\n":
                at = self.bodies(at + 1, pending) if pending else at + 1
            else:
                if token == "case":
                    cases += not words and self.in_command_position(at, begin)
                elif cases and (
                    self.in_command_position(at, begin) or _EMPTY_CASE.search(self.text, max(begin, at - 200), at)
                ):
                    cases -= 1
                at += 4
        if close:
            raise Refused("a parenthesis is not closed", begin - 1, len(self.text))
        return len(self.text)

    def double(self, at: int, end: int, heredoc: bool, found: list[Region]) -> int:
        while match := _DOUBLE.search(self.text, at, end):
            token = match[0]
            at = match.start()
            if token == "\\":
                if self.text.startswith("\n", at + 1):
                    self.fold(at)
                else:
                    at += 2
            elif token == '"':
                if not heredoc:
                    return at
                at += 1
            elif token == "`":
                at = self.backtick(at, True, found)
            else:
                at = self.dollar(at, True, found, [])
            if at > end:
                raise Refused("a substitution is not closed in its here-document", at, at)
        if heredoc:
            return end
        raise Refused("a double quote is not closed", at, len(self.text))

    def parameter(self, at: int, quoted: bool, found: list[Region]) -> int:
        begin = at
        while match := _PARAMETER.search(self.text, at):
            token = match[0]
            at = match.start()
            if token == "}":
                return at
            if token == "\\":
                if self.text.startswith("\n", at + 1):
                    self.fold(at)
                else:
                    at += 2
            elif token == "'":
                if quoted:  # whether it quotes depends on the operator
                    raise Refused("a single quote inside a quoted expansion", at, at + 1)
                at = self.single(at)
            elif token == '"':
                at = self.quotes(at, found, [])
            elif token == "`":
                at = self.backtick(at, quoted, found)
            elif token == "$":
                at = self.dollar(at, quoted, found, [])
            elif not quoted and self.peek(at + 1) == "(":
                at = self.process(at, found)
            else:
                at += 1
        raise Refused("a brace is not closed", begin - 2, len(self.text))

    def arithmetic(self, at: int, opened: str, found: list[Region]) -> int:
        """Up to the closing `)` of `((`'s outer parenthesis (`opened` "(") or the `]` of `$[`."""
        begin = at
        close = ")" if opened == "(" else "]"
        count = 2 if opened == "(" else 1
        while match := _ARITHMETIC.search(self.text, at):
            token = match[0]
            at = match.start()
            if token == opened:
                count += 1
                at += 1
                if count > MAX_DEPTH:
                    raise Refused("nested too deeply", at - 1, at)
            elif token == close:
                count -= 1
                if count == 0:
                    return at
                at += 1
                if count == 1 and opened == "(" and self.peek(at) != ")":
                    raise Refused("a double parenthesis that bash may read as a subshell", begin - 2, at)
            elif token == "\\":
                if not self.text.startswith("\n", at + 1):
                    raise Refused("a backslash in arithmetic", at, at + 1)
                self.fold(at)
            elif token == "'":
                raise Refused("a single quote in arithmetic", at, at + 1)
            elif token == '"':
                at = self.quotes(at, found, [])
            elif token == "`":
                at = self.backtick(at, True, found)
            elif token == "$":
                at = self.dollar(at, True, found, [])
            else:
                at += 1
        raise Refused("arithmetic is not closed", begin - 2, len(self.text))

    # Each of these reads a whole piece from its opening and returns the position behind it.

    def single(self, at: int) -> int:
        end = self.text.find("'", at + 1)
        if end < 0:
            raise Refused("a single quote is not closed", at, len(self.text))
        return end + 1

    def quotes(self, at: int, found: list[Region], pending: list[_Waiting]) -> int:
        self.enter(at)
        end = self.double(at + 1, _FAR, False, found)
        self.depth -= 1
        if pending and "\n" in self.text[at:end]:
            raise Refused("a here-document begins before a text of several lines", at, end)
        return end + 1

    def backtick(self, at: int, quoted: bool, found: list[Region]) -> int:
        match = _BACKTICK_END.match(self.text, at + 1)
        if not match:
            raise Refused("a backtick is not closed", at, len(self.text))
        found.append(Region("backtick", at, match.end(), inner=at + 1, stop=match.end() - 1, quoted=quoted))
        return match.end()

    def dollar(self, at: int, quoted: bool, found: list[Region], pending: list[_Waiting]) -> int:
        follower = self.peek(at + 1)
        if follower == "(":
            if self.peek(at + 2) == "(":
                return self.nested("arithmetic", at, at + 3, quoted, found)
            end = self.nested("command", at, at + 2, quoted, found)
        elif follower == "{":
            end = self.nested("parameter", at, at + 2, quoted, found)
        elif follower == "[":
            return self.nested("arithmetic", at, at + 2, quoted, found)
        elif follower == "'" and not quoted:
            match = _ANSI_END.match(self.text, at + 2)
            if not match:
                raise Refused("a single quote is not closed", at, len(self.text))
            return match.end()
        else:
            return at + 2 if follower and follower in "$!?#*@-0123456789" else at + 1
        if pending and "\n" in self.text[at:end]:
            raise Refused("a here-document begins before a text of several lines", at, end)
        return end

    def nested(self, kind: str, at: int, inner: int, quoted: bool, found: list[Region]) -> int:
        self.enter(at)
        children: list[Region] = []
        if kind == "parameter":
            stop = self.parameter(inner, quoted, children)
            end = stop + 1
        elif kind == "arithmetic" or kind == "compute":
            old = self.text[inner - 1] == "["
            end = self.arithmetic(inner, "[" if old else "(", children) + 1
            stop = end - 1 if old else end - 2
        else:
            pending: list[_Waiting] = []
            stop = self.command(inner, ")", children, pending)
            if pending:
                raise Refused("here-document without a body", pending[0][0].start, pending[0][0].end)
            end = stop + 1
        self.depth -= 1
        children.sort(key=_start)
        found.append(Region(kind, at, end, inner=inner, stop=stop, quoted=quoted, children=tuple(children)))
        return end

    def process(self, at: int, found: list[Region]) -> int:
        return self.nested("input" if self.text[at] == "<" else "output", at, at + 2, False, found)

    def angle(self, at: int, found: list[Region], pending: list[_Waiting]) -> int:
        follower = self.peek(at + 1)
        if follower == "(":
            end = self.process(at, found)
            if pending and "\n" in self.text[at:end]:
                raise Refused("a here-document begins before a text of several lines", at, end)
            return end
        if follower == "<" and self.text[at] == "<":
            if self.peek(at + 2) == "<":
                return at + 3
            mark = read_mark(self, at)
            pending.append((mark, found))
            return mark.end
        return at + 1

    def parenthesis(self, at: int, begin: int, found: list[Region], pending: list[_Waiting]) -> int:
        follower = self.peek(at + 1)
        if _ARRAY_NAME.search(self.text, max(begin, at - 3), at):
            self.enter(at)
            children: list[Region] = []
            stop = self.command(at + 1, ")", children, [], words=True)
            self.depth -= 1
            children.sort(key=_start)
            found.append(Region("array", at, stop + 1, inner=at + 1, stop=stop, quoted=False, children=tuple(children)))
            return stop + 1
        if follower == "(" and self.in_command_position(at, begin, "for"):
            return self.nested("compute", at, at + 2, False, found)
        self.enter(at)
        stop = self.command(at + 1, ")", found, pending)
        self.depth -= 1
        return stop + 1

    def in_command_position(self, at: int, begin: int, also: str = "") -> bool:
        """Whether a command may begin here, judged by what stands before."""
        text = self.text
        at -= 1
        while at >= begin and text[at] in " \t":
            at -= 1
        if at < begin or text[at] in ";&|(\n)":
            return True
        end = at + 1
        while at >= begin and text[at] not in META:
            at -= 1
        word = text[at + 1 : end]
        return word in _OPENS_COMMAND or (also != "" and word == also)

    def bodies(self, at: int, pending: list[_Waiting]) -> int:
        """Reads the bodies of all here-documents of a line; returns the start of the line behind them."""
        for mark, found in pending:
            begin, line, at = read_body(self, at, mark)
            children: list[Region] = []
            if not mark.quoted:
                self.enter(mark.start)
                self.double(begin, line, True, children)
                self.depth -= 1
                children.sort(key=_start)
            found.append(
                Region(
                    "heredoc",
                    mark.start,
                    mark.end,
                    inner=begin,
                    stop=line,
                    quoted=mark.quoted,
                    children=tuple(children),
                    after=at,
                    strip=mark.strip,
                )
            )
        pending.clear()
        return at
