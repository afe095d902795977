"""The skeleton of a text: as long as the text, with everything filled that the grammar must not interpret.

Operators, keywords, blanks and line ends stay where they are. Words lose their special characters to dots; quoted
texts, substitutions and expansions become dots, comments and here-document bodies blanks. A position in the skeleton
is a position in the text.
"""

from __future__ import annotations

import re

from gateway.shell.guards import MAX_TESTS, Refused

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from gateway.shell.regions import Region

_WORD = {ord(c): "." for c in "=$*?~%@+^,:"}
# Every alternative begins with its own letter and looks back from there, so that the search skips other letters fast.
_CONTEXTUAL = re.compile(
    r"""\\(?:.\#*|\Z)                           # an escaped character; a # behind it starts no comment
      | '[^']*'                                 # quoted texts; substitutions in them are filled already
      | "(?:[^"\\]|\\.)*"
      | \#(?<![^\s;&|()<>]\#)[^\n]*             # a comment
      | \[\[(?<![^\s;&|()!]\[\[)(?=\s)(?:[^'"\\\]]|'[^']*'|"(?:[^"\\]|\\.)*"|\\.|\](?!\])){0,4000}?\s\]\](?![^\s;&|)<>])
      | \[\[? | \]\]?                           # patterns; [ as a command is like any other
      | \{(?<![^\s;&|()<>]\{)[A-Za-z_][A-Za-z0-9_]*\}(?=[<>])  # a redirect's variable
      | \{(?=[^\s;&|()<>])                      # a brace that does not open a group
      | \}(?<=[^\s;&|()]\}) | \}(?=[^\s;&|()<>])  # or close one
      | <<< | <>
      """,
    re.VERBOSE | re.DOTALL,
)
_QUOTES = re.compile(r"""'[^']*'|"[^"]*\"""")
_ANSI = re.compile(r"""\\.\#*|\$'(?:[^'\\]|\\.)*'|'[^']*'|"(?:[^"\\]|\\.)*"|\#(?<![^\s;&|()<>]\#)[^\n]*""", re.DOTALL)
# The grammar reads declarations by rules of their own and then loses the line's end; here they are like any command.
_DECLARATION = re.compile(r"(?:declare|export|local|readonly|typeset|unset|unsetenv)(?![^\s;&|()<>])")
_NOT_ASCII = re.compile("[^\x00-\x7f]")


def skeleton(text: str, start: int, end: int, regions: Sequence[Region]) -> str:
    """The skeleton of `text[start:end]`, whose outermost regions are given; words keep letters that mean nothing to
    the structure."""
    result = text[start:end] if end - start != len(text) else text
    if regions:
        result = _filled(text, start, end, regions)
    if "\\" in result or "#" in result or "[" in result or "{" in result or "]" in result or "}" in result \
            or "<<<" in result or "<>" in result or "$'" in result:  # fmt: skip
        if "$'" in result:
            result = _ANSI.sub(_fill_ansi, result)
        if "[[" in result and result.count("[[") > MAX_TESTS:
            raise Refused("too many tests", start, end)
        return _CONTEXTUAL.sub(_fill, result)
    if "'" in result or '"' in result:
        return _QUOTES.sub(_fill, result)
    return result


def for_grammar(shape: str) -> str:
    """The skeleton with only plain words: the grammar has its own ideas about other letters, and about blanks outside
    ASCII, which bash takes for letters."""
    shape = _DECLARATION.sub(_dots, shape.translate(_WORD))
    return shape if shape.isascii() else _NOT_ASCII.sub(".", shape)


def _filled(text: str, start: int, end: int, regions: Sequence[Region]) -> str:
    parts: list[str] = []
    bodies: list[tuple[int, int]] = []
    at = start
    for region in regions:
        parts.append(text[at : region.start])
        size = region.end - region.start
        if region.kind == "heredoc":
            parts.append("<" + "." * (size - 1))
            bodies.append((region.inner - start, region.after - start))
        elif region.kind == "compute":
            before = text[start : region.start].rstrip()
            inside = size - 4
            if before.endswith("for") and inside > 1:
                parts.append("((;;" + " " * (inside - 2) + "))")
            else:
                parts.append("((" + ("1" * inside) + "))")
        else:
            parts.append("." * size)
        at = region.end
    parts.append(text[at:end])
    result = "".join(parts)
    for begin, stop in bodies:
        result = result[:begin] + " " * (stop - begin) + result[stop:]
    return result


def _dots(match: re.Match[str]) -> str:
    return "." * len(match[0])


def _fill_ansi(match: re.Match[str]) -> str:
    found = match[0]
    return "." * len(found) if found[0] == "$" else found


def _fill(match: re.Match[str]) -> str:
    found = match[0]
    first = found[0]
    if first == "#":
        return " " * len(found)
    if first == "{" and len(found) > 1:
        return " " * len(found)
    if first == "<":
        return "<  " if len(found) == 3 else "> "
    if first == "[" and len(found) > 6:
        return "[[ " + "." * (len(found) - 6) + " ]]"
    return "." * len(found)
