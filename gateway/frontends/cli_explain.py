"""`gateway explain`: the commands, words, effects and classes that the analysis finds in a shell text."""

from __future__ import annotations

import sys

from gateway.errors import ConfigError, Problem
from gateway.frontends.jsontext import MAX_BYTES, dumps, pretty
from gateway.frontends.output import write
from gateway.frontends.session import open_gateway, read_input
from gateway.frontends.style import Style, is_terminal, style_for
from gateway.frontends.text import effect_lines
from gateway.frontends.tree import tree_of
from gateway.model.call import RawCall
from gateway.policy.wording import quote, shortened, visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from gateway.frontends.arguments import Request


def run(request: Request) -> int:
    """Explains the text and gives the exit status. Raises GatewayError."""
    if request.argument is None:
        raise ConfigError(Problem("a shell text must be given", remedy="see `gateway explain --help`"))
    text = request.argument
    if text == "-":
        try:
            text = read_input(MAX_BYTES, "the text").decode("utf-8").removesuffix("\n")
        except UnicodeDecodeError as error:
            raise ConfigError(Problem(f"the text must be UTF-8 (got a wrong byte at {error.start})")) from error
    gateway = open_gateway(request)
    found = tree_of(gateway.check(RawCall("Bash", {"command": text})))
    if request.json:
        write((pretty(found) if is_terminal(sys.stdout) else dumps(found)) + "\n")
    else:
        write(tree_text(found, style_for(sys.stdout)))
    return 0


def tree_text(found: dict[str, Any], style: Style) -> str:
    """The tree of commands with what becomes of each effect."""
    classes = f" [{', '.join(found['classes'])}]" if found["classes"] else ""
    head = style.paint(found["decision"].upper(), found["decision"])
    lines = [f"{head}  {visible(shortened(found['text'], style.width - 12))}{classes}"]
    branches = [("command", each) for each in found["commands"]]
    if found["effects"]:
        branches.append(("shell", {"effects": found["effects"]}))
    if found["tokens"]:
        branches.append(("tokens", found["tokens"]))
    for number, (kind, branch) in enumerate(branches):
        last = number == len(branches) - 1
        lines += _branch(kind, branch, "", last, style)
    return "\n".join(lines) + "\n"


def _branch(kind: str, branch: Any, indent: str, last: bool, style: Style) -> list[str]:
    fork, trunk = ("└─ ", "   ") if last else ("├─ ", "│  ")
    below = indent + trunk
    room = style.width - len(below)
    if kind == "tokens":
        words = " ".join(map(quote, branch))
        return [f"{indent}{fork}words of what cannot be parsed: {shortened(words, room - 36)}"]
    if kind == "shell":
        lines = [f"{indent}{fork}the shell itself"]
        return lines + [below + line for line in effect_lines(branch["effects"], style, room)]
    name = style.paint(_name(branch), "strong")
    classes = f"  [{', '.join(branch['classes'])}]" if branch["classes"] else ""
    start, end = branch["span"]
    lines = [f"{indent}{fork}{name}{classes}  {style.paint(f'{start}-{end}', 'dim')}"]
    lines += [
        f"{below}{style.paint(f'{label:<9}', 'dim')}{shortened(text, room - 9)}" for label, text in _words(branch)
    ]
    lines += [below + line for line in effect_lines(branch["effects"], style, room)]
    for number, child in enumerate(branch["commands"]):
        lines += _branch("command", child, below, number == len(branch["commands"]) - 1, style)
    return lines


def _name(command: dict[str, Any]) -> str:
    words = [command["program"] or "a program whose name is not known", *command["subcommands"]]
    via = f" (run by {' '.join(command['via'])})" if command["via"] else ""
    return visible(" ".join(words)) + via


def _words(command: dict[str, Any]) -> list[tuple[str, str]]:
    found = [("words", " ".join(map(_word, command["argv"])))]
    if command["options"]:
        found.append(("options", " ".join(map(visible, command["options"]))))
    if command["operands"]:
        found.append(("operands", " ".join(map(_word, command["operands"]))))
    said = [
        text
        for field, wanted, text in (
            ("described", True, "nobody described it, or not all of its words"),
            ("trusted", True, "the name may mean another program"),
            ("literal", True, "some words are not known before the run"),
        )
        if command[field] is not wanted
    ]
    return found + ([("but", "; ".join(said))] if said else [])


def _word(word: str) -> str:
    return visible(word) if word and " " not in word else quote(word)
