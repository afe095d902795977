"""What `gateway new tool` writes: a tool that works as it is, for somebody to fill in, in a file of its own or behind
those that are there."""

from __future__ import annotations

from gateway.core.errors import ConfigError, Problem
from gateway.frontends.new_command import as_yaml
from gateway.spec.tools import compile_tools

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_INDENT = 2
_HEAD = """\
# Tools of your own. Reference: docs/running.md; editors know the keys through `gateway policy schema tools`.
version: 1
tools:
"""
_ENTRY = """\
  {name}:
    # One line for people: `gateway tools list` shows it.
    summary: Count the lines of a file.

    # What a model reads: what it is for, and what comes back.
    description: Counts the lines of a file and prints their number.

    # What a call may hold, as JSON Schema. A call that holds anything else is none.
    input:
      properties:
        file: {{type: string, minLength: 1, description: 'The file, absolute or from the working directory.'}}
      required: [file]

    # The field that a call is about, as in `{name}(notes.txt)`. A `path` is made absolute. Other kinds: text, url.
    match: {{field: file, kind: path}}

    # What runs: a program and its words. `{{file}}` stands for that field, as one word and never through a shell. It
    # runs in the sandbox, and is judged like the same words of Bash: rules for commands, files and hosts hold.
    handler: {{command: [wc, -l, --, '{{file}}']}}

    # What calls come to in the folder /home/dev/project. They are tried whenever this file is loaded; while one of them
    # does not hold, nothing is decided. Add one for each field, and one for each call that must be none.
    examples:
      - {{call: {{file: notes.txt}}, effects: [shell wc -l -- /home/dev/project/notes.txt]}}
      - {{call: {{}}, complaint: [$.file]}}
"""


def entry(name: str, indent: int = _INDENT) -> str:
    """The lines of the tool under `tools:`, indented by so much."""
    text = _ENTRY.format(name=as_yaml(name))
    return "".join(f"{' ' * indent}{line[_INDENT:]}" if line.strip() else line for line in text.splitlines(True))


def whole(name: str) -> str:
    """A file with this tool alone."""
    return _HEAD + entry(name)


def behind(name: str, content: bytes, file: str, layer: str) -> bytes:
    """The lines that put the tool behind those of a file, whose bytes stay as they are. Raises ConfigError for a file
    that is broken, and for one in which no lines at the end could do that."""
    before = compile_tools(content, file, layer)
    if name in before["tools"] or name in before["aliases"]:
        message = f"NAME must be the name of no tool yet (got `{name}`)"
        raise ConfigError(Problem(message, file=file, remedy="give it another name, or edit the one that is there"))
    text = content.decode("utf-8-sig")
    lines = text.splitlines()
    places = [lines[tool["line"] - 1] for tool in before["tools"].values()]
    indent = len(places[-1]) - len(places[-1].lstrip(" ")) if places else _INDENT
    ending = "\r\n" if "\r\n" in text else "\n"
    start = ("" if text.endswith("\n") else "\n") + "\n"
    added = (start + entry(name, indent)).replace("\n", ending).encode()
    if not _adds(before, content + added, name, file, layer):
        remedy = "put it in by hand: `gateway new tool NAME --into DIR` writes it to a file of its own"
        raise ConfigError(Problem("must end with the tools, one below the other", file=file, remedy=remedy))
    return added


def _adds(before: dict[str, Any], content: bytes, name: str, file: str, layer: str) -> bool:
    """Whether the new content says what the old one says, and the tool."""
    try:
        after = compile_tools(content, file, layer)
    except ConfigError:
        return False
    others = {each: tool for each, tool in after["tools"].items() if each != name}
    return others == before["tools"] and after["aliases"] == before["aliases"] and name in after["tools"]
