"""Here-documents: their marks, and the lines up to the one that closes them."""

from __future__ import annotations

from gateway.core.value import Value
from gateway.shell.folded_text import META
from gateway.shell.guards import Refused

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gateway.shell.folded_text import FoldedText


class Mark(Value):
    """`<<WORD` at `start..end`. `word`: what the closing line says; `quoted`: nothing in the body is expanded; `strip`:
    tabs at the beginning of lines do not count (`<<-`)."""

    start: int
    end: int
    word: str
    quoted: bool
    strip: bool


def read_mark(source: FoldedText, at: int) -> Mark:
    """The mark that begins there. Raises `Refused` for what bash may read as another one."""
    start = at
    at += 2
    strip = source.peek(at) == "-"
    if strip:
        at += 1
    while (blank := source.peek(at)) and blank in " \t":
        at += 1
    word: list[str] = []
    quoted = False
    begin = at
    while (letter := source.peek(at)) and letter not in META:
        if letter == "\\":
            word.append(source.text[at + 1 : at + 2])
            quoted = True
            at += 2
        elif letter in "'\"":
            end = source.text.find(letter, at + 1)
            inside = source.text[at + 1 : end]
            if end < 0 or "\n" in inside or (letter == '"' and any(c in inside for c in "\\`$")):
                raise Refused("a here-document's mark can't be read", start, at)
            word.append(inside)
            quoted = True
            at = end + 1
        elif letter == "`" or (letter == "$" and source.peek(at + 1) in ("(", "{", "[", "'", '"')):
            raise Refused("a here-document's mark can't be read", start, at)
        else:
            word.append(letter)
            at += 1
    if at == begin:
        raise Refused("a here-document without a mark", start, at)
    return Mark(start, at, word="".join(word), quoted=quoted, strip=strip)


def read_body(source: FoldedText, at: int, mark: Mark) -> tuple[int, int, int]:
    """Where the body begins, where it ends, and where the line behind the closing one begins. `at`: where the body
    begins. Raises `Refused` where nothing closes it."""
    begin = at
    while True:
        line = at
        if at >= len(source.text):
            raise Refused("a here-document is not closed", mark.start, mark.end)
        end = source.line_end(at, not mark.quoted)
        content = source.text[line:end]
        at = min(end + 1, len(source.text))
        if (content.lstrip("\t") if mark.strip else content) == mark.word:
            return begin, line, at
