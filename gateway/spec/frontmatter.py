"""Markdown files with front matter, as people have them for today's agents: fields above, text below.

    ---
    name: review
    description: Review a change: what to look at
    allowed-tools: Read, Grep, Bash(git diff:*)
    ---
    Look at …

The fields are YAML, read strictly. Many files that are around are no YAML (`argument-hint: [a] [b]`, a colon in a
sentence): then each line `key: text` is taken as it stands, which no field that forbids anything may rely on.
"""

from __future__ import annotations

from gateway.core.errors import ConfigError, Problem
from gateway.core.value import Value
from gateway.spec.yamltext import load

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

FENCE = "---"
MOST_BYTES = 256_000


class Document(Value):
    """`fields`: as written; `body`: the text below; `strict`: whether the fields are YAML."""

    fields: Mapping[str, Any]
    body: str
    strict: bool = True

    def text(self, name: str) -> str:
        """A field as one line, "" if it is missing. Raises ConfigError where it holds something else."""
        value = self.fields.get(name)
        if value is None:
            return ""
        if isinstance(value, (str, int, float)):
            return " ".join((str(value).lower() if isinstance(value, bool) else str(value)).split())
        if isinstance(value, list) and all(isinstance(each, str) for each in value):
            return " ".join(f"[{each}]" for each in value)
        raise ConfigError(Problem(f"`{name}` must be a text"))

    def flag(self, name: str) -> bool:
        """A field that is true or false; false if it is missing. Raises ConfigError for anything else."""
        value = self.fields.get(name, False)
        said = str(value).lower()
        if said not in ("true", "false"):
            raise ConfigError(Problem(f"`{name}` must be true or false"))
        return said == "true"

    def names(self, name: str) -> tuple[str, ...] | None:
        """A field that lists names such as `Bash(git *)`: as a list, or as a text with commas or blanks outside of
        parentheses. None if it is missing. Raises ConfigError where it is neither."""
        value = self.fields.get(name)
        if value is None:
            return None
        if isinstance(value, str):
            return _listed(value, name)
        if isinstance(value, list) and all(isinstance(each, str) for each in value):
            return tuple(each.strip() for each in value if each.strip())
        raise ConfigError(Problem(f"`{name}` must be a list of names"))


def document(content: bytes, file: str) -> Document:
    """What a file says. Raises ConfigError for one that is no text."""
    front, body = parted(content, file)
    if front is None or not front.strip():
        return Document({}, body)
    try:
        found = load(front, file).plain()
    except ConfigError:
        return Document(_by_lines(front.split("\n")), body, strict=False)
    return Document(found if isinstance(found, dict) else {}, body)


def parted(content: bytes, file: str) -> tuple[str | None, str]:
    """The front matter, None where there is none, and the text below. Its lines count as those of the file. Raises
    ConfigError for a file that is no text."""
    try:
        text = content.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        raise ConfigError(Problem("must be text in UTF-8", file=file)) from error
    lines = text.split("\n")
    end = next((number for number, line in enumerate(lines[1:], 1) if line.rstrip() == FENCE), 0)
    if lines[0].rstrip() != FENCE or not end:
        return None, text
    return "\n".join(["", *lines[1:end], ""]), "\n".join(lines[end + 1 :]).lstrip("\n")


def _by_lines(lines: list[str]) -> dict[str, str]:
    """`key: text` for `key: text`; the lines below that belong to it are joined to it."""
    found: dict[str, str] = {}
    key = ""
    for line in lines:
        name, colon, value = line.partition(":")
        if colon and name and name == name.strip() and name.replace("-", "").replace("_", "").isalnum():
            key = name
            found[key] = value.strip().strip("\"'")
        elif key and line.strip():
            found[key] = f"{found[key]} {line.strip()}".strip()
    return found


def _listed(text: str, name: str) -> tuple[str, ...]:
    found: list[str] = []
    depth, word = 0, ""
    for character in text:
        depth += (character == "(") - (character == ")")
        if depth < 0:
            break
        if depth == 0 and character in ", \t":
            found.append(word)
            word = ""
        else:
            word += character
    if depth:
        raise ConfigError(Problem(f"`{name}` must have matching parentheses"))
    return tuple(each for each in (*found, word) if each)
