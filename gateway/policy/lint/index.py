"""Clauses found by what a narrower one would share with them: its path, its host, its program, its tool."""

from __future__ import annotations

from gateway.model.effect import PATH_KINDS
from gateway.policy import commandpattern, hosts, paths
from gateway.policy.addresses import text_of
from gateway.policy.algebra.dimensions import ITSELF
from gateway.policy.algebra.sets import LONE
from gateway.policy.candidates import ANY_NAME
from gateway.policy.lint.witness import example_host, example_path, example_words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from gateway.policy.algebra.regions import Point
    from gateway.policy.lint.clauses import Clause

_MAX_CANDIDATES = 400


class Index:
    """Clauses by what a narrower one would share with them."""

    def __init__(self, clauses: Sequence[Clause]) -> None:
        self.clauses = clauses
        self.by_program: dict[str, list[int]] = {}
        self.by_tool: dict[str, list[int]] = {}
        self.rest: list[int] = []
        path_rows: list[tuple[str, int]] = []
        host_rows: list[tuple[str, int]] = []
        for number, clause in enumerate(clauses):
            when = clause.when
            if "path" in when:
                path_rows += [(pattern, number) for pattern in when["path"]]
            elif "host" in when:
                host_rows += [(pattern, number) for pattern in when["host"]]
            elif "command" in when or "exec" in when:
                for program in _programs(when):
                    self.by_program.setdefault(program, []).append(number)
            elif "tool" in when and "effect" not in when and "*" not in "".join(when["tool"]):
                for tool in when["tool"]:
                    self.by_tool.setdefault(tool, []).append(number)
            else:
                self.rest.append(number)
        self.paths = paths.build(path_rows)
        self.hosts = hosts.build(host_rows)

    def near(self, narrow: Clause) -> list[Clause]:
        """Other clauses that may hold for an example of this one, at most a few hundred. What this does not find
        holds for none of it, but where its first path is one that it leaves out."""
        when = narrow.when
        path = example_path(when["path"][0]) if "path" in when else ""
        host = example_host(when["host"][0]) if "host" in when else ""
        found = self._of(self._at(narrow, path, host), narrow)
        words = self._example(narrow)
        return [wide for wide in found if not words or _may_speak_of(wide, words)]

    def at(self, point: Point, narrow: Clause) -> list[Clause]:
        """Those that may hold for a point of it."""
        path = point.given("path")
        if path is not None and point.given("shape") not in (None, ITSELF):
            path = f"{path}/{ANY_NAME}"
        host = point.given("host")
        if isinstance(host, tuple):
            host = "x" if host == LONE else text_of(*host)
        return self._of(self._at(narrow, "" if path is None else path or "/", host or ""), narrow)

    def _at(self, narrow: Clause, path: str, host: str) -> set[int]:
        when = narrow.when
        found = set(self.rest[:_MAX_CANDIDATES])
        if path and set(narrow.kinds) <= set(PATH_KINDS):
            found.update(paths.lookup(self.paths, path))
        if host:
            found.update(hosts.lookup(self.hosts, host))
        for program in _programs(when):
            found.update(self.by_program.get(program, ()))
        if "command" in when or "exec" in when:
            found.update(self.by_program.get("*", ()))
        for tool in when.get("tool", ()):
            found.update(self.by_tool.get(tool, ()))
        return found

    def _of(self, found: set[int], narrow: Clause) -> list[Clause]:
        each = [self.clauses[number] for number in sorted(found)[:_MAX_CANDIDATES]]
        return [clause for clause in each if clause is not narrow]

    def _example(self, narrow: Clause) -> list[str]:
        """A command of a clause that speaks of one pattern, [] where the words alone do not tell what speaks of it."""
        if "command" not in narrow.when:
            return []
        found = example_words(narrow.when["command"][0])
        return [] if any(word.startswith("-") for word in found) else found


def _may_speak_of(wide: Clause, words: list[str]) -> bool:
    """Whether a clause may hold for a command without options."""
    patterns = map(commandpattern.compile_once, wide.when.get("command", ()))
    if "command" not in wide.when:
        return True
    if wide.lane == "allow":
        return any(commandpattern.matches_allow(each, words) for each in patterns)
    return any(commandpattern.matches_plain(each, words) for each in patterns)


def _programs(when: dict[str, Any]) -> list[str]:
    """First words of a clause's commands; `*` where a glob stands for them."""
    words = [pattern.split(" ", 1)[0] for pattern in when.get("command", ())]
    words += when["exec"][0] if "exec" in when else ()
    return ["*" if "*" in word or "?" in word else word for word in dict.fromkeys(words)]
