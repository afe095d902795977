"""Programs that policy denies by name alone, where PATH and the usual places have them: contained calls do not see
them, so that code cannot start by itself what a command may not. A copy of one, or a library, is none of these."""

from __future__ import annotations

from gateway.policy.table import ID
from gateway.sandbox.marks import Mark
from gateway.sandbox.shell import find_bash
from gateway.sandbox.system_view import stamp

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from gateway.host.base import Host
    from gateway.policy.table import Policy

USUAL = ("/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin")
_MOST = 16


def denied_by(policy: Policy) -> dict[str, str]:
    """Names of programs that a rule denies by name alone, each with the rule's id. Rules that end do not count."""
    found: dict[str, str] = {}
    for number in policy.denying_commands:
        rule, _tests, (test,) = policy.clauses[number]
        rule_id: str = policy.rules[rule][ID]
        found.update(dict.fromkeys(_named(*test), rule_id))
    return found


def _named(predicate: str, argument: Any) -> list[str]:
    if predicate == "exec" and len(argument) == 1 and not argument[0][1]:
        return list(argument[0][0])
    names = [pattern.removesuffix(" *") for pattern in argument] if predicate == "command" else []
    return [name for name in names if name and not any(sign in name for sign in " *?[/\\")]


def _is_called(file: str, name: str) -> bool:
    """Whether a file is that program, in one version of several: `gcc`, `gcc-12`, `x86_64-linux-gnu-gcc-12`."""
    after = file.removeprefix(name)[:1] if file.startswith(name) else "?"
    return after in "0123456789" or name in file.replace(".", "-").split("-")


class DeniedPrograms:
    """Looks for them; remembered while the folders say that nothing came or went. Used by one thread at a time."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._known: dict[tuple[object, ...], dict[str, tuple[str, Mark]]] = {}

    def look(self, policy: Policy, search_path: tuple[str, ...], started: set[str]) -> tuple[Mark, ...]:
        """Marks that hide them, by where they really lie. A file that has another name as well, as those of busybox do,
        is left: what policy does not deny is it, too. So is the shell that reads commands. `started`: programs that the
        call itself starts: one that it may start, because a rule excepts just that, is left to it."""
        folders = tuple(dict.fromkeys((*search_path, *USUAL)))
        key = (policy.revision, folders, *[stamp(each, self._host) for each in folders])
        found = self._known.get(key)
        if found is None:
            if len(self._known) >= _MOST:
                self._known.clear()
            found = self._known[key] = self._found(denied_by(policy), folders)
        return tuple(mark for name, mark in found.values() if name not in started)

    def _found(self, names: dict[str, str], folders: tuple[str, ...]) -> dict[str, tuple[str, Mark]]:
        marks: dict[str, tuple[str, Mark]] = {}
        shell = self._host.path(find_bash() or "/bin/bash")
        places = {fact.real: None for folder in folders if (fact := self._host.path(folder)) is not None}
        for folder in places:
            for name, rule in names.items():
                if self._host.is_missing(f"{folder}/{name}"):
                    continue
                fact = self._host.path(f"{folder}/{name}")
                if fact is None or fact.kind != "file" or (shell is not None and fact.real == shell.real):
                    continue
                if _is_called(fact.real.rpartition("/")[2], name):
                    marks.setdefault(fact.real, (name, Mark(fact.real, "file", hidden=rule)))
        return marks
