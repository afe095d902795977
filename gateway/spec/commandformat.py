"""The one form in which descriptions of programs are written: text → text.

Lines end within 100 columns wherever YAML lets them be broken, the words of flags and of keys like it are sorted, and
what needs no quotes has none. A mapping or list that stood on one line stays there if it fits. Everything else stays as
its author ordered it. What a description means is the same before and after, its comments are kept in their order,
and a formatted text is formatted already.
"""

from __future__ import annotations

import functools
import re

from gateway.core.errors import ConfigError, Problem
from gateway.spec.commandcomments import Comment, comments_of
from gateway.spec.commandparts import documents
from gateway.spec.commands import check_is_description
from gateway.spec.yamltext import Node, load

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

WIDTH = 100
_LONGEST_KEY = 1000  # YAML takes no longer one before its colon
# Words of letters and dashes that begin as no number, truth or nothing does: plain without asking YAML.
_SURELY_PLAIN = re.compile(r"(?:--?[a-zA-Z]|[a-z]{6}|[a-z]+-[a-z])(?:[a-zA-Z -]*[a-zA-Z])?")
# What is a set of words, under these keys of a program or subcommand.
_WORDS = frozenset(("flags", "inert", "values", "optionals", "file_urls", "at_paths", "alone", "helps"))
# What a mapping is: a program or subcommand, names that each stand for one, examples, or anything else.
_SPEC, _NAMED, _CALLS, _OTHER = "spec", "named", "calls", "other"


def format_description(text: str | bytes, file: str) -> str:
    """The text in its one form. ConfigError for what is no description, and for a text that would lose something."""
    content = text.encode() if isinstance(text, str) else text
    return "---\n".join(_format(each, file).lstrip("\n") for each in documents(content))


def _format(text: bytes, file: str) -> str:
    root = load(text, file)
    check_is_description(root, file)
    source = text.decode("utf-8").removeprefix("\ufeff").replace("\r\n", "\n")
    if source.encode() != text:
        root = load(source, file)  # whose places are those of the lines below
    comments = comments_of(source)
    formatted = _Writer(source, comments).document(root)
    if formatted == source:
        return formatted
    if [each.text for each in comments_of(formatted)] != [each.text for each in comments]:
        raise ConfigError(Problem("formatting must keep its comments", file=file, remedy="put each on its own line"))
    if meaning(load(formatted, file)) != meaning(root):
        raise ConfigError(Problem("formatting must keep what it says", file=file))
    return formatted


def meaning(node: Node, kind: str = _SPEC) -> Any:
    """The data of a description, with the words sorted whose order means nothing."""
    value = node.value
    if value.__class__ is list:
        return [meaning(item, _OTHER) for item in value]
    if value.__class__ is not dict:
        return value
    return {
        key: _sorted_words(item) if kind == _SPEC and key in _WORDS else meaning(item, _below(kind, key))
        for key, item in value.items()
    }


def _below(kind: str, key: str) -> str:
    if kind == _NAMED:
        return _SPEC
    if kind != _SPEC:
        return _OTHER
    return _NAMED if key in ("subcommands", "groups") else _CALLS if key == "examples" else _OTHER


def _sorted_words(node: Node) -> list[str]:
    words = [word for item in node if item.value.__class__ in (str, int) for word in str(item.value).split()]
    return sorted(words, key=_order)


def _order(word: str) -> tuple[str, str]:
    """By letters; of those that differ in case or dashes alone, the short and the lower one first."""
    return word.partition("|")[0].replace("[no-]", "").lstrip("-").lower(), word.swapcase()


class _Writer:
    """Writes one document. `lines` gathers what is written; comments are taken from the front as their place comes."""

    def __init__(self, text: str, comments: list[Comment]) -> None:
        self.source = text.split("\n")
        self.comments = list(comments)
        self.lines: list[str] = []
        self.here = 0, 0  # where what is being written stood

    def document(self, root: Node) -> str:
        self._mapping(root, _SPEC, 0)
        self._comments_before((len(self.source) + 1, 0), 0)
        while self.lines and not self.lines[0]:
            self.lines.pop(0)
        return "\n".join(self.lines) + "\n"

    def _mapping(self, node: Node, kind: str, indent: int, prefix: str = "") -> None:
        """The entries of a mapping, each from its own line on; the first stands behind `prefix` if there is one."""
        entries = list(node.value.items())
        for number, (key, value) in enumerate(entries):
            place = value.key_line, value.key_column
            words = _sorted_words(value) if kind == _SPEC and key in _WORDS else None
            start = prefix if prefix and number == 0 else " " * indent
            self._above(place, indent, own_line=not start.strip())
            shown = _quoted(key) if kind == _CALLS else _scalar(key)
            folds = kind == _NAMED and " ".join(key.split()) == key and key.isprintable()
            if folds and len(start) + len(shown) >= WIDTH:
                self._begin(f"{start}? >-")
                self.lines += _filled(key.split(), indent + 2)
                start, shown = " " * indent, ""
            elif len(shown) > _LONGEST_KEY:
                self._begin(f"{start}? {shown}")
                start, shown = " " * indent, ""
            self._entry(f"{start}{shown}:", value, words, _below(kind, key), indent)

    def _list(self, node: Node, indent: int) -> None:
        for item in node.value:
            self._above((item.line, item.column), indent)
            line = f"{' ' * indent}- {_inline(item)}"
            if len(line) <= WIDTH or item.value.__class__ is not dict or not item.value:
                self._end(line)
            else:
                self._mapping(item, _OTHER, indent + 2, f"{' ' * indent}- ")

    def _entry(self, name: str, value: Node, words: list[str] | None, kind: str, indent: int) -> None:
        """What stands under a key. `name`: its line up to the colon; `words`: the value, if it is a set of them."""
        whole = " ".join(words) if words is not None else None
        # What stands on lines of its own need not be written on one to see whether it fits there.
        stays = whole or value.value.__class__ not in (dict, list) or not value.value or self._is_bracketed(value)
        inline = _scalar(whole) if whole else _inline(value, kind) if stays else ""
        if stays and self._stands(value, f"{name} {inline}", words is not None):
            self._end(f"{name} {inline}" if inline else name)
        elif words or self._folds(value):
            self._begin(f"{name} >-")
            self.lines += _filled(words or value.value.split(" "), indent + 2)
        elif value.value.__class__ is list and self._is_bracketed(value) and _is_short(value):
            self._end(name)
            self.lines += _bracketed([_scalar(item.value) for item in value], indent + 2)
        elif value.value.__class__ is list:
            self._end(name)
            self._list(value, indent + 2)
        else:
            self._end(name)
            self._mapping(value, kind, indent + 2)

    def _stands(self, value: Node, line: str, is_words: bool) -> bool:
        """Whether a value stays on the line of its key."""
        collection = value.value.__class__ in (dict, list) and value.value and not is_words
        if collection and not self._is_bracketed(value):
            return False
        return len(line) <= WIDTH or not (collection or is_words or self._folds(value))

    def _is_bracketed(self, value: Node) -> bool:
        return self.source[value.line - 1][value.column - 1] in "{["

    @staticmethod
    def _folds(value: Node) -> bool:
        text = value.value
        return text.__class__ is str and " " in text and text == " ".join(text.split()) and text.isprintable()

    def _above(self, place: tuple[int, int], indent: int, *, own_line: bool = True) -> None:
        """What stands above an entry: the comments before it, and a blank line if there was one."""
        self._comments_before(place, indent)
        if own_line:
            self._blank(place[0])
        self.here = place

    def _comments_before(self, place: tuple[int, int], indent: int) -> None:
        while self.comments and (self.comments[0].line, self.comments[0].column) < place:
            comment = self.comments.pop(0)
            if comment.alone:
                self._blank(comment.line)
            self.lines.append(" " * indent + comment.text)

    def _blank(self, line: int) -> None:
        """Keeps a blank line of the source."""
        if line > 1 and not self.source[line - 2].strip() and self.lines and self.lines[-1]:
            self.lines.append("")

    def _end(self, line: str) -> None:
        """A line, with the comment that stood beside what it says."""
        comment = self._beside()
        if comment and len(line) + 2 + len(comment) <= WIDTH:
            line = f"{line}  {comment}"
        elif comment:
            self.lines.append(" " * (len(line) - len(line.lstrip())) + comment)
        self.lines.append(line)

    def _beside(self) -> str:
        """Takes the comment that stands on the line of what is being written, "" for none."""
        first = self.comments[0] if self.comments else None
        if first is None or first.alone or first.line != self.here[0] or first.column < self.here[1]:
            return ""
        return self.comments.pop(0).text

    def _begin(self, line: str) -> None:
        """A line that cannot bear a comment: what stood beside it stands above."""
        comment = self._beside()
        if comment:
            self.lines.append(" " * (len(line) - len(line.lstrip())) + comment)
        self.lines.append(line)


def _filled(words: list[str], indent: int, width: int = WIDTH) -> list[str]:
    """Words on as few lines as they fit on."""
    lines = [" " * indent + words[0]]
    for word in words[1:]:
        if len(lines[-1]) + 1 + len(word) <= width:
            lines[-1] += f" {word}"
        else:
            lines.append(" " * indent + word)
    return lines


def _bracketed(items: list[str], indent: int) -> list[str]:
    """A list of short texts over several lines, in brackets."""
    filled = _filled([*(f"{item}," for item in items[:-1]), f"{items[-1]}]"], indent, WIDTH - 1)
    return [f"{' ' * indent}[{filled[0][indent:]}", *(f" {line}" for line in filled[1:])]


def _is_short(node: Node) -> bool:
    return all(item.value.__class__ is str and " " not in item.value for item in node)


def _inline(node: Node, kind: str = _OTHER) -> str:
    """A value as it stands on one line."""
    value = node.value
    if value.__class__ is dict:
        entries = (
            f"{_quoted(key) if kind == _CALLS else _scalar(key)}: {_inline(item, _below(kind, key))}"
            if kind != _SPEC or key not in _WORDS
            else f"{key}: {_scalar(' '.join(_sorted_words(item)))}"
            for key, item in value.items()
        )
        return f"{{{', '.join(entries)}}}"
    if value.__class__ is list:
        return f"[{', '.join(_inline(item) for item in value)}]"
    if value is None:
        return "null"
    return _scalar(value) if value.__class__ is str else str(value).lower()


@functools.cache
def _scalar(text: str) -> str:
    """A text as it reads as itself wherever it stands: plain if it can be."""
    if _SURELY_PLAIN.fullmatch(text) or _is_plain(text):
        return text
    return _quoted(text)


def _quoted(text: str) -> str:
    if text.isprintable() and "'" not in text and ('"' in text or "\\" in text):
        return f"'{text}'"
    return '"' + "".join(_escaped(character) for character in text) + '"'


def _escaped(character: str) -> str:
    if character in '"\\':
        return "\\" + character
    if character.isprintable():
        return character
    code = ord(character)
    return "\\n" if character == "\n" else f"\\x{code:02x}" if code < 256 else f"\\U{code:08x}"


def _is_plain(text: str) -> bool:
    if not text or text != text.strip() or not text.isprintable():
        return False
    try:
        read = load(f"{{{text}: [{text}, {text}]}}", "text").plain()
        node = load(f"a: {text}", "text").value["a"]
    except ConfigError:
        return False
    return bool(read == {text: [text, text]} and node.value == text and not node.trap)
