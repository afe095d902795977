"""Strict YAML with positions: the only place where YAML text is read.

`load` gives a tree of `Node`s that know their line and column, or a `ConfigError` with every problem found.
The accepted language is the part of YAML that every reader reads alike:

- one document in UTF-8 of at most 8 MB, at most 64 levels deep;
- no anchors, aliases, tags, merge keys, directives, tab characters, control characters or duplicate keys;
- keys are text;
- a plain `true` or `false` is a boolean, a plain integer in canonical decimal form is an integer, a plain
  `null` or nothing at all is null. Every other scalar is text, exactly as written: `no`, `on`, `022`, `1:30`,
  `2024-01-01`, `1e3`, `~` are texts. Such a text tells in `Node.trap` what other readers would make of it, so
  that whoever wants a boolean or a number can say so.

Time and memory are linear in the size of the text. No error holds anything of the text: which file was named, and who
may read it, is not known here.
"""

from __future__ import annotations

import gc
import re

from yaml import YAMLError
from yaml.events import (
    AliasEvent,
    DocumentEndEvent,
    DocumentStartEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
    StreamEndEvent,
)

from gateway.spec.node import MAX_PROBLEMS, Complaints, Node, clip

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

__all__ = ["MAX_BYTES", "MAX_DEPTH", "MAX_PROBLEMS", "Complaints", "Node", "clip", "events", "load", "tokens"]

MAX_BYTES = 8_000_000
MAX_DEPTH = 64
_TOO_DEEP = f"nesting must be at most {MAX_DEPTH} levels deep"

_WORDS = {"true": True, "false": False, "null": None, "": None}
_NUMERIC_START = frozenset("-0123456789")
_INTEGER_CHARACTERS = 18  # what every reader holds exactly; a longer number is text

# Everything that a person reading the file could not see, or that readers of YAML disagree about.
_UNSEEN = re.compile(
    "[\x00-\x09\x0b\x0c\x0e-\x1f\x7f-\x9f\xad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f"
    "\ud800-\udfff\ufeff\ufff9-\ufffb\ufffe\uffff\U000e0000-\U000e007f]|\r(?!\n)"
)


def load(text: str | bytes, file: str, *, pure: bool = False) -> Node:
    """Reads one document. `file` is the name that errors carry; `pure` avoids the parser written in C."""
    complaints = Complaints(file)
    decoded = _decoded(text, complaints)
    _check_characters(decoded, complaints)
    complaints.raise_any()
    collecting = gc.isenabled()
    gc.disable()  # nothing here is cyclic, and walking a growing tree again and again would double the time
    try:
        return _Builder(decoded, complaints).build(_parser(decoded, pure))
    except YAMLError as error:
        _explain(error, decoded, complaints)
        complaints.raise_any()
        raise AssertionError("unreachable: the parser's error was recorded") from error
    finally:
        if collecting:
            gc.enable()


def tokens(text: str) -> Iterator[Any]:
    """The parser's tokens of a text that `load` takes."""
    scanner = _parser(text, pure=False)
    while scanner.check_token():
        yield scanner.get_token()


def events(text: str) -> Iterator[Any]:
    """The parser's events of a text that is being written, up to where it is no YAML."""
    try:
        parser = _parser(text, pure=False)
        while parser.check_event():
            yield parser.get_event()
    except YAMLError:
        return


def _parser(text: str, pure: bool) -> Any:
    if not pure:
        try:
            from yaml.cyaml import CParser  # type: ignore[attr-defined]  # the stubs do not export it
        except ImportError:
            pass  # a PyYAML built without libyaml: same language, slower
        else:
            return CParser(text)
    from yaml.parser import Parser
    from yaml.reader import Reader
    from yaml.scanner import Scanner

    class PureParser(Reader, Scanner, Parser):
        def __init__(self, stream: str) -> None:
            Reader.__init__(self, stream)
            Scanner.__init__(self)
            Parser.__init__(self)

    return PureParser(text)


def _decoded(text: str | bytes, complaints: Complaints) -> str:
    """The text without a byte order mark; complains if it is too long or not UTF-8."""
    size = len(text) if isinstance(text, bytes) or text.isascii() else len(text.encode("utf-8", "surrogatepass"))
    if size > MAX_BYTES:
        complaints.place(
            0, 0, f"file must be at most {MAX_BYTES:,} bytes (got {size:,})", "split it into several files"
        )
        complaints.raise_any()
    decoded = ""
    if isinstance(text, str):
        decoded = text
    else:
        try:
            decoded = text.decode("utf-8")
        except UnicodeDecodeError as error:
            before = error.object[: error.start]
            line = before.count(b"\n") + 1
            column = len(before[before.rfind(b"\n") + 1 :].decode("utf-8")) + 1
            got = f"byte 0x{error.object[error.start]:02x} at offset {error.start}"
            complaints.place(line, column, f"file must be UTF-8 (got {got})", "save it as UTF-8")
            complaints.raise_any()
    return decoded.removeprefix("\ufeff")


def _check_characters(text: str, complaints: Complaints) -> None:
    """Complains about what cannot be seen, at most once a line."""
    line, start = 1, 0
    found = _UNSEEN.search(text)
    while found and len(complaints.problems) <= MAX_PROBLEMS:
        at = found.start()
        line += text.count("\n", start, at)
        got = f"U+{ord(found[0]):04X}"
        remedy = "remove it"
        if found[0] == "\t":
            message = "file must not contain tab characters"
            remedy = "indent with blanks; inside double quotes write `\\t`"
        elif "\ud800" <= found[0] <= "\udfff":
            message = f"file must be UTF-8 (got {got})"
            remedy = "save it as UTF-8"
        else:
            message = f"file must not contain control or invisible characters (got {got})"
            if found[0] == "\r":
                remedy = "end lines with a line feed"
            elif found[0] != "\0":
                escape = f"\\u{ord(found[0]):04x}" if found[0] <= "\uffff" else f"\\U{ord(found[0]):08x}"
                remedy = f"remove it; inside double quotes write `{escape}`"
        complaints.place(line, at - text.rfind("\n", 0, at), message, remedy)
        end = text.find("\n", at)
        if end < 0:
            return
        line, start = line + 1, end + 1
        found = _UNSEEN.search(text, start)


class _Builder:
    """Makes nodes of a parser's events, without recursion."""

    def __init__(self, text: str, complaints: Complaints) -> None:
        self.complaints = complaints
        self.text = text
        # `! x` is a tag that the parser in C does not report for scalars.
        self.bare_tags = "! " in text or "!\n" in text or "!\r" in text

    def build(self, parser: Any) -> Node:
        get = parser.get_event
        get()  # the stream's start
        event = get()
        if event.__class__ is StreamEndEvent:
            return Node(None, event.start_mark, None, True)
        self._document_start(event)
        root: list[Node] = []
        stack: list[tuple[Any, bool, str | None, Any]] = []
        # The collection being filled, and the key that waits for its value (in a mapping).
        items: Any = root
        mapping = False
        key: str | None = None
        key_mark: Any = None
        depth = 0
        problem = self._problem
        words = _WORDS
        numeric_start = _NUMERIC_START
        while True:
            event = get()
            kind = event.__class__
            if kind is ScalarEvent:
                value = event.value
                style = event.style
                mark = event.start_mark
                bare = not style
                if event.anchor is not None or event.tag is not None or self.bare_tags:
                    self._properties(event)
                if bare:
                    if value in words:
                        value = words[value]
                    elif value[0] in numeric_start:
                        value = _number(value)
                elif style == '"':
                    self._check_escapes(value, mark)
                if not mapping:
                    items.append(Node(value, mark, None, bare))
                elif key is None:
                    key = self._key(value, mark, bare, items) if value.__class__ is not str or bare else value
                    if key in items:
                        key = self._duplicate(key, mark, items)
                    key_mark = mark
                else:
                    items[key] = Node(value, mark, key_mark, bare)
                    key = None
            elif kind is MappingStartEvent or kind is SequenceStartEvent:
                mark = event.start_mark
                if event.anchor is not None or event.tag is not None:
                    self._properties(event)
                if depth >= MAX_DEPTH:
                    problem(mark, _TOO_DEEP)
                    self.complaints.raise_any()
                if mapping and key is None:
                    problem(mark, "key must be text (got a list or a mapping)", "put the key in quotes")
                    self.complaints.raise_any()
                depth += 1
                opens_mapping = kind is MappingStartEvent
                inner: Any = {} if opens_mapping else []
                node = Node(inner, mark, key_mark if mapping else None)
                if mapping:
                    items[key] = node
                else:
                    items.append(node)
                stack.append((items, mapping, None, None))
                items, mapping, key = inner, opens_mapping, None
            elif kind is MappingEndEvent or kind is SequenceEndEvent:
                depth -= 1
                items, mapping, key, key_mark = stack.pop()
            elif kind is AliasEvent:
                remedy = "write the value out, or put it in quotes if it is a text that begins with `*`"
                problem(event.start_mark, "aliases must not be used", remedy)
                if mapping and key is None:
                    key, key_mark = f"\0{len(items)}", event.start_mark
                else:
                    node = Node(None, event.start_mark, key_mark)
                    if mapping:
                        items[key] = node
                        key = None
                    else:
                        items.append(node)
            elif kind is DocumentEndEvent:
                break
            if len(self.complaints.problems) > MAX_PROBLEMS:
                self.complaints.raise_any()
        event = get()
        if event.__class__ is not StreamEndEvent:
            problem(event.start_mark, "file must hold one document (got another `---`)", "split it into two files")
        self.complaints.raise_any()
        return root[0]

    def _problem(self, mark: Any, message: str, remedy: str = "") -> None:
        self.complaints.place(mark.line + 1, mark.column + 1, message, remedy)

    def _document_start(self, event: Any) -> None:
        if event.__class__ is DocumentStartEvent and (event.version or event.tags):
            self._problem(event.start_mark, "directives must not be used (got `%`)", "remove the line")

    def _properties(self, event: Any) -> None:
        """Complains about an anchor or a tag."""
        mark = event.start_mark
        if event.anchor is not None:
            remedy = "remove it, or put the value in quotes if it is a text that begins with `&`"
            self._problem(mark, "anchors must not be used", remedy)
        elif event.tag is not None or self.text.startswith("!", mark.index):
            remedy = "remove it, or put the value in quotes if it is a text that begins with `!`"
            self._problem(mark, "tags must not be used", remedy)

    def _key(self, value: Any, mark: Any, bare: bool, items: dict[str, Node]) -> str:
        """A plain scalar as a key; complains and makes one up if it is not text."""
        if value == "<<" and bare:
            self._problem(mark, "merge keys must not be used (got `<<`)", "write the keys out")
        elif value.__class__ is str:
            return str(value)
        else:
            got = "nothing" if value is None else "a boolean" if value.__class__ is bool else "an integer"
            remedy = "" if value is None else "put it in quotes"
            self._problem(mark, f"key must be text (got {got})", remedy)
        return f"\0{len(items)}"  # no text can contain it

    def _duplicate(self, key: str, mark: Any, items: dict[str, Node]) -> str:
        first = items[key].key_line
        message = f"key must be unique in its mapping (got it again, first on line {first})"
        self._problem(mark, message, "remove one of them, or merge them")
        return f"\0{len(items)}"

    def _check_escapes(self, value: str, mark: Any) -> None:
        """A double-quoted text can name what the file may not contain; NUL and half characters stay forbidden."""
        if "\0" in value:
            self._problem(mark, "text must not contain U+0000")
        elif not value.isascii() and any("\ud800" <= c <= "\udfff" for c in value):
            self._problem(mark, "text must be valid Unicode (got half of a surrogate pair)")


def _number(text: str) -> str | int:
    """An integer if that is how the text spells it canonically, else the text."""
    digits = text[1:] if text[0] == "-" else text
    if not digits.isdecimal() or not digits.isascii() or len(digits) > _INTEGER_CHARACTERS:
        return text
    if digits[0] == "0" and text != "0":
        return text
    return int(text)


def _explain(error: YAMLError, text: str, complaints: Complaints) -> None:
    """Turns the parser's error into a problem, with a remedy where the cause is evident."""
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    what = getattr(error, "problem", None) or getattr(error, "reason", None) or str(error)
    if "tag handle" in what:  # the only message with more of the text than one character
        what = what[: what.index("tag handle") + len("tag handle")]
    context = getattr(error, "context", None)
    line, column, at = (mark.line + 1, mark.column + 1, mark.index) if mark is not None else (0, 0, -1)
    message = f"file must be valid YAML ({what}{f' {context}' if context else ''})"
    if "maximum nesting depth" in what:  # libyaml's own bound, met where it looks far ahead
        complaints.place(line, column, _TOO_DEEP)
        return
    start = getattr(error, "context_mark", None)
    first = text[at : at + 1] if at >= 0 else ""
    if first in ("@", "`", "%"):
        remedy = f"put a text that begins with `{first}` in quotes"
    elif context and "alias" in context:
        remedy = "put a text that begins with `*` in quotes"
    elif context and "anchor" in context:
        remedy = "put a text that begins with `&` in quotes"
    elif context and "tag" in context:
        remedy = "put a text that begins with `!` in quotes"
    elif "mapping values" in what:
        remedy = "put a text that contains `: ` in quotes"
    elif context and "quoted scalar" in context and start is not None:
        remedy = f"close the quote that is opened on line {start.line + 1}"
    elif context and "flow" in context and start is not None:
        # Where a value is missing, the parser names the place that it is missing at.
        opened = "before it" if "flow node" in context else f"on line {start.line + 1}"
        remedy = f"close the bracket that is opened {opened}; put a text with `[ ] {{ }} ,` in quotes"
    elif context and ("block" in context or "simple key" in context):
        remedy = "check the indentation of this line and of those before it"
    else:
        remedy = ""
    complaints.place(line, column, message, remedy)
