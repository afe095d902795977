"""`gateway explain`: the commands, words, effects and classes that the analysis finds in a shell text, and the plan of
the sandbox that would hold it."""

from __future__ import annotations

import sys
from bisect import bisect_right

from gateway.core.errors import ConfigError, Problem
from gateway.frontends.jsontext import MAX_BYTES, dumps, pretty
from gateway.frontends.output import write
from gateway.frontends.session import change, enforced, open_judge, read_input
from gateway.model.call import RawCall
from gateway.policy.explain import explain as explained
from gateway.policy.wording import quote, shortened, visible
from gateway.render.explanation import explain
from gateway.render.plan import plan_text
from gateway.render.style import Style, is_terminal, style_for
from gateway.render.text import effect_lines

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from gateway.frontends.arguments import Request
    from gateway.judge.judge import Judge


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
    if request.short and request.json:
        raise ConfigError(Problem("--short must be given without --json", remedy="see `gateway explain --help`"))
    guard = open_judge(request)
    if request.short:
        write(_short(guard, text))
        return 0
    found = explain(text, guard=guard)
    if request.json:
        write((pretty(found) if is_terminal(sys.stdout) else dumps(found)) + "\n")
    else:
        style = style_for(sys.stdout)
        plan = found["plan"]
        write(tree_text(found, style) + ("\n" + plan_text(plan, style) if plan else ""))
    return 0


def _short(guard: Judge, text: str) -> str:
    """What `gateway check --short` says of the text as a call of Bash."""
    from gateway.render.short import short_text

    verdict = guard.check(RawCall("Bash", {"command": text}))
    found = explained(verdict, enforced=enforced(guard), change=change(guard, verdict))
    return short_text(verdict, found, style_for(sys.stdout), cut=is_terminal(sys.stdout))


def tree_text(found: Mapping[str, Any], style: Style) -> str:
    """The tree of commands with what becomes of each effect. Places in a text of several lines are lines."""
    classes = f" [{', '.join(found['classes'])}]" if found["classes"] else ""
    head = style.paint(found["decision"].upper(), found["decision"])
    text = found["text"]
    first, newline, _rest = text.strip("\n").partition("\n")
    starts = _starts(text) if newline else []
    shown = f"{len(starts)} lines: {first} …" if newline else text
    lines = [f"{head}  {visible(shortened(shown, style.width - 12))}{classes}"]
    branches = [("command", each) for each in found["commands"]]
    by_place: dict[str, list[Any]] = {}
    for effect in found["effects"]:
        by_place.setdefault(_place(effect["span"], starts) if starts else "", []).append(effect)
    branches += [("shell", {"effects": effects, "place": place}) for place, effects in by_place.items()]
    if found["tokens"]:
        branches.append(("tokens", found["tokens"]))
    for number, (kind, branch) in enumerate(branches):
        last = number == len(branches) - 1
        lines += _branch(kind, branch, "", last, style, starts)
    return "\n".join(lines) + "\n"


def _starts(text: str) -> list[int]:
    """Where each line of a text starts."""
    found = [0]
    while (at := text.find("\n", found[-1])) >= 0 and at + 1 < len(text):
        found.append(at + 1)
    return found


def _place(span: Sequence[int] | None, starts: list[int]) -> str:
    """Where something stands: its line or lines, in a text of one line its code points."""
    if span is None:
        return ""
    start, end = span
    if not starts:
        return f"{start}-{end}"
    first, last = bisect_right(starts, start), bisect_right(starts, max(start, end - 1))
    return f"line {first}" if first == last else f"lines {first}-{last}"


def _branch(kind: str, branch: Any, indent: str, last: bool, style: Style, starts: list[int]) -> list[str]:
    fork, trunk = ("└─ ", "   ") if last else ("├─ ", "│  ")
    below = indent + trunk
    room = style.width - len(below)
    if kind == "tokens":
        words = " ".join(map(quote, branch))
        return [f"{indent}{fork}words of what cannot be parsed: {shortened(words, room - 36)}"]
    if kind == "shell":
        place = f"  {style.paint(branch['place'], 'dim')}" if branch["place"] else ""
        lines = [f"{indent}{fork}the shell itself{place}"]
        return lines + [below + line for line in effect_lines(branch["effects"], style, room)]
    name = style.paint(_name(branch), "strong")
    classes = f"  [{', '.join(branch['classes'])}]" if branch["classes"] else ""
    lines = [f"{indent}{fork}{name}{classes}  {style.paint(_place(branch['span'], starts), 'dim')}"]
    lines += [
        f"{below}{style.paint(f'{label:<9}', 'dim')}{shortened(text, room - 9)}" for label, text in _words(branch)
    ]
    lines += [below + line for line in effect_lines(branch["effects"], style, room)]
    if not branch["effects"]:
        lines.append(below + style.paint("no effects of its own" if branch["commands"] else "no effects here", "dim"))
    for number, child in enumerate(branch["commands"]):
        lines += _branch("command", child, below, number == len(branch["commands"]) - 1, style, starts)
    return lines


def _name(command: dict[str, Any]) -> str:
    words = [command["program"] or "a program whose name is not known", *command["subcommands"]]
    via = f" (run by {' '.join(command['via'])})" if command["via"] else ""
    return visible(" ".join(words)) + via


def _words(command: dict[str, Any]) -> list[tuple[str, str]]:
    found = [("words", " ".join(map(_word, command["argv"])))]
    if command["options"]:
        found.append(("options", " ".join(map(visible, command["options"]))))
    if command["operands"] and command["operands"] != command["argv"][1:]:
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
