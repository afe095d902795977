"""Arithmetic: which of it is only numbers.

Bash evaluates names in arithmetic, then the text they hold, then names in that text; a subscript in it may run a
command. So only numbers, operators and names that the text itself gave numbers are understood.
"""

from __future__ import annotations

import re

from gateway.shell.state import NUMBER, numeric

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Protocol

    from gateway.shell.regions import Region
    from gateway.shell.state import State

    class Host(Protocol):
        text: str
        state: State

        def region(self, region: Region) -> tuple[str, bool]: ...
        def read_variable(self, name: str, start: int, end: int) -> None: ...
        def set_variable(self, name: str, value: str | int, start: int, end: int) -> None: ...


_TOKEN = re.compile(
    r"""[ \t\n]+ | (?P<number> 0[xX][0-9a-fA-F]+ | [0-9]+\#[0-9A-Za-z@_]+ | [0-9]+ )
      | (?P<name> \$?[A-Za-z_][A-Za-z0-9_]* ) | (?P<special> \$[\#?$!] )
      | (?P<step> \+\+ | -- ) | (?P<set> (?: [*/%+\-&|^] | << | >> )?=(?!=) )
      | (?P<other> == | != | <= | >= | && | \|\| | << | >> | \*\* | [-+*/%<>&|^!~?:(),] )""",
    re.VERBOSE,
)
_NUMBER = re.compile(r"[0-9]+\Z")
_PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_OPERAND = r"(?:0|[1-9][0-9]*|\$?[A-Za-z_][A-Za-z0-9_]*|\$\#)"
_PLAIN = re.compile(
    rf"""\s*(?: (?:[A-Za-z_][A-Za-z0-9_]*\s*[-+*]?=(?!=)\s*)? {_OPERAND}
          (?:\s*(?:<=|>=|==|!=|&&|\|\||[-+*<>])\s*{_OPERAND})*
      | [A-Za-z_][A-Za-z0-9_]*(?:\+\+|--) | (?:\+\+|--)[A-Za-z_][A-Za-z0-9_]* )?\s*""",
    re.VERBOSE,
)


def evaluate(host: Host, start: int, end: int, regions: Mapping[int, Region]) -> str:
    """Read one expression; "" if it is only numbers, else what is wrong with it. Substitutions in it are walked, names
    that it sets become numbers."""
    text = host.text
    problem = ""
    at = start
    previous = ""  # a name that an assignment or a step may follow
    stepped = False
    while at < end:
        region = regions.get(at)
        if region is not None:
            problem = _region(host, region) or problem
            previous = ""
            at = region.end
            continue
        found = _TOKEN.match(text, at, end)
        if not found:
            problem = problem or "arithmetic on text that is not known to be a number"
            at += 1
            continue
        kind, token = found.lastgroup, found[0]
        if kind == "name":
            name = token.lstrip("$")
            plain_set = _sets(text, found.end(), end) if token[0] != "$" else ""
            if plain_set != "=":
                host.read_variable(name, at, found.end())
                if not numeric(host.state, name):
                    problem = problem or f"arithmetic evaluates `{name}`, whose value is not known to be a number"
            if plain_set or stepped:
                host.set_variable(name, NUMBER, at, found.end())
            previous = name if token[0] != "$" else ""
            stepped = False
        elif kind == "step":
            if previous:
                host.set_variable(previous, NUMBER, at, found.end())
            else:
                stepped = True
        elif kind is not None:
            previous = ""
            stepped = False
        at = found.end()
    return problem


def _sets(text: str, at: int, end: int) -> str:
    while at < end and text[at] in " \t\n":
        at += 1
    found = _TOKEN.match(text, at, end)
    return found[0] if found and found.lastgroup == "set" else ""


def _region(host: Host, region: Region) -> str:
    if region.kind == "parameter":
        inside = host.text[region.inner : region.stop]
        host.region(region)
        if inside.isidentifier() and inside.isascii():
            if not numeric(host.state, inside):
                return f"arithmetic evaluates `{inside}`, whose value is not known to be a number"
            return ""
        if inside[:1] == "#" and len(inside) > 1:
            return ""
        return "arithmetic evaluates an expansion"
    host.region(region)
    return "" if region.kind == "arithmetic" else "arithmetic evaluates the output of a command"


def surely_computes(expression: str, state: State) -> bool:
    """Whether bash surely gets a value: no division, no digit beyond its base, nothing that is no expression."""
    if not _PLAIN.fullmatch(expression):
        return False
    for found in _PLAIN_NAME.finditer(expression):
        value = state.values.get(found[0])
        if isinstance(value, str) and len(value.lstrip("+-")) > 1 and value.lstrip("+-")[0] == "0":
            return False
    return True


def plain_subscript(host: Host, start: int, end: int, regions: Mapping[int, Region]) -> str:
    """As `evaluate`, for what stands in `[…]`: everything, the last or a numbered element are fine."""
    inside = host.text[start:end]
    if inside in ("@", "*") or _NUMBER.match(inside):
        return ""
    return evaluate(host, start, end, regions)
