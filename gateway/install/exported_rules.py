"""A second net: what of a policy's deny rules agents' own rules can say. Pure.

Agents match first words and paths; they see neither options in another order nor what a text expands to. So this is
less than the policy, and never more: what they cannot say exactly enough is left to the hook, and named.
"""

from __future__ import annotations

import itertools

from gateway.core.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any

_MOST_PREFIXES = 400
_WILD = frozenset("*?[")


class Prefix(Value):
    """A command that begins with these words. `because`: what the rule says of it."""

    words: tuple[str, ...]
    rule: str
    because: str


class Second(Value):
    """What can be said: commands, paths that must not be read or written, as policy writes them (`~/x`, `//x`, `**/x`),
    hosts, and tools of MCP servers as (server, tool), "*" for all. `left`: rules with what of them cannot be said."""

    prefixes: tuple[Prefix, ...] = ()
    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    tools: tuple[tuple[str, str], ...] = ()
    left: tuple[tuple[str, str], ...] = ()


def second_net(rules: Iterable[Mapping[str, Any]]) -> Second:
    """What agents' own rules can say of these rules, which are in normal form and hold."""
    found = _Found()
    for rule in rules:
        if rule["lane"] != "deny":
            continue
        when = rule["when"]
        for each in when.get("any", [when]):
            reason = found.add(rule, each)
            if reason:
                found.left.append((rule["id"], reason))
    return Second(
        tuple(found.prefixes),
        _once(found.reads),
        writes=_once(found.writes),
        hosts=_once(found.hosts),
        tools=_once(found.tools),
        left=_once(found.left),
    )


class _Found:
    def __init__(self) -> None:
        self.prefixes: list[Prefix] = []
        self.reads: list[str] = []
        self.writes: list[str] = []
        self.hosts: list[str] = []
        self.tools: list[tuple[str, str]] = []
        self.left: list[tuple[str, str]] = []

    def add(self, rule: Mapping[str, Any], when: Mapping[str, Any]) -> str:
        """Takes one alternative of a rule in, or says why it cannot be said."""
        keys = set(when)
        if keys == {"effect", "path"}:
            return self._paths(when, rule["except"])
        if rule["except"]:
            return "has exceptions"
        if keys == {"exec"}:
            return self._programs(when["exec"], rule)
        if keys == {"command"}:
            return self._commands(when["command"], rule)
        if keys == {"effect", "host"} and when["effect"] == ["connect"]:
            named = [host for host in when["host"] if "." in host.strip("*.")]
            self.hosts += named
            return "" if len(named) == len(when["host"]) else "names kinds of addresses"
        if keys == {"tool"}:
            return self._servers(when["tool"])
        return f"tests {', '.join(sorted(keys - {'exec', 'command', 'path', 'tool'})) or 'several things at once'}"

    def _programs(self, entries: Sequence[Sequence[str]], rule: Mapping[str, Any]) -> str:
        if any(_WILD & set(word) for words in entries for word in words):
            return "has patterns in its words"
        made = list(itertools.product(*entries))
        if len(self.prefixes) + len(made) > _MOST_PREFIXES:
            return "names too many commands"
        self.prefixes += [Prefix(words, rule["id"], rule["because"]) for words in made]
        return ""

    def _commands(self, patterns: Sequence[str], rule: Mapping[str, Any]) -> str:
        plain = [each.removesuffix(" *") for each in patterns if each.endswith(" *") and not _WILD & set(each[:-2])]
        self.prefixes += [Prefix(tuple(each.split()), rule["id"], rule["because"]) for each in plain]
        return "" if len(plain) == len(patterns) else "has patterns inside of commands"

    def _paths(self, when: Mapping[str, Any], excepted: Sequence[Mapping[str, Any]]) -> str:
        if any(set(each) != {"path"} for each in excepted):
            return "has exceptions"
        spared = [pattern for each in excepted for pattern in each["path"]]
        kinds = set(when["effect"])
        if not kinds & {"read", "write"}:
            return "is about deleting alone"
        unsaid = False
        for pattern in when["path"]:
            path = pattern
            if any(_may_meet(pattern, each) for each in spared):
                path = pattern.removesuffix("*")  # the plain name without what may be excepted
                if path == pattern or _WILD & set(path.rpartition("/")[2]) or path.endswith("/") or path in spared:
                    unsaid = True
                    continue
                unsaid = True
            if not path.startswith(("~/", "//", "**/")):
                unsaid = True
                continue
            self.reads += [path] if "read" in kinds else []
            self.writes += [path] if "write" in kinds else []
        return "has paths that need their exceptions" if unsaid else ""

    def _servers(self, names: Sequence[str]) -> str:
        left = False
        for name in names:
            mark, _, rest = name.partition("__")
            server, _, tool = rest.partition("__")
            if mark != "mcp" or not server or _WILD & set(server) or (_WILD & set(tool) and tool != "*"):
                left = True
            else:
                self.tools.append((server, tool or "*"))
        return "names tools that agents call otherwise" if left else ""


def _may_meet(pattern: str, excepted: str) -> bool:
    """Whether both may match one path, as far as their last names tell."""
    from fnmatch import fnmatchcase

    one, other = pattern.rstrip("/").rpartition("/")[2], excepted.rstrip("/").rpartition("/")[2]
    return fnmatchcase(other, one) or fnmatchcase(one, other)


def _once(items: list[Any]) -> tuple[Any, ...]:
    return tuple(dict.fromkeys(items))
