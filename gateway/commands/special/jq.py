"""jq's programs: they filter, but may show the environment and load modules."""

from __future__ import annotations

from gateway.commands.variables import secret
from gateway.model.effect import HOLE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from gateway.commands.findings import Findings
    from gateway.commands.invocation import Invocation

_NAME = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789")
_LOADING = frozenset(("import", "include", "modulemeta", "get_search_list"))


def names(program: str) -> list[tuple[str, str]]:
    """The names in a program that are no fields, each with the text behind it. Text inside strings counts where a
    string may hold a program or where a comment makes it doubtful what is one."""
    found: list[tuple[str, str]] = []
    at = 0
    size = len(program)
    doubtful = False
    while at < size:
        sign = program[at]
        if sign == '"':
            at += 1
            while at < size and program[at] != '"':
                doubtful = doubtful or program[at : at + 2] == "\\("
                at += 2 if program[at] == "\\" else 1
            at += 1
        elif sign in _NAME:
            end = at
            while end < size and program[end] in _NAME:
                end += 1
            if at == 0 or program[at - 1] != ".":
                sign = "$" if at and program[at - 1] == "$" else ""
                found.append((sign + program[at:end], program[end : end + 64]))
            at = end
        else:
            doubtful = doubtful or sign == "#"
            at += 1
    if doubtful:
        found += names(program.replace('"', " ").replace("#", " "))
    return found


def _field(behind: str) -> str:
    """The one variable that is taken out of the environment; "*" if more may be, "" where the name is a key."""
    text = behind.lstrip()
    if text[:1] == ":" and text[1:2] != ":":
        return ""
    if text[:2] == '["':
        name, quote, rest = text[2:].partition('"')
        return name if quote and rest[:1] == "]" and "\\" not in name else "*"
    end = 1
    while end < len(text) and text[end] in _NAME:
        end += 1
    return text[1:end] if text[:1] == "." and 1 < end < 60 else "*"


def _jq(findings: Findings, run: Invocation) -> None:
    if "-f" in run.options or not run.operands:
        return
    word = run.operands[0]
    if HOLE in word.text or word.splits:
        findings.env("*", "read", word.start, word.end, run.part)
        run.doubts.append("jq's program is not known before the run")
        return
    for name, behind in names(word.text):
        if name in ("env", "ENV", "$ENV"):
            variable = _field(behind)
            if variable == "*" or secret(variable):
                findings.env(variable, "read", word.start, word.end, run.part)
        elif name in _LOADING:
            run.doubts.append("jq's program loads modules")


HOOKS: dict[str, Callable[[Findings, Invocation], None]] = {"jq": _jq}
