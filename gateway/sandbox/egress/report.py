"""What was refused during one call: each thing once, counted."""

from __future__ import annotations

import contextlib

from gateway.model.result import Violation

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

MAX_DISTINCT = 100
MAX_TARGET = 300


class Report:
    """Only used in the loop's thread, but for `all`."""

    def __init__(self, told: Callable[[Violation], None]) -> None:
        self._told = told
        self._found: dict[tuple[str, str, str, str], Violation] = {}

    def add(self, kind: str, target: str, rule: str, source: str, hint: str) -> None:
        """Counts a refusal; whoever listens is told of the first of its kind only."""
        target = printable(target)[:MAX_TARGET]
        key = (kind, target, rule, source)
        known = self._found.get(key)
        if known is None and len(self._found) >= MAX_DISTINCT:
            key = (kind, "…", "", source)
            target, rule, hint = "…", "", "There were too many different refusals to list them all."
            known = self._found.get(key)
        if known is not None:
            self._found[key] = known.replace(count=known.count + 1)
            return
        made = Violation(kind, target, rule=rule, source=source, hint=printable(hint))
        self._found[key] = made
        with contextlib.suppress(RuntimeError):  # the listener's own loop may have ended
            self._told(made)

    def refused(self, kind: str, target: str, rule: str, source: str, reason: str, remedy: str = "") -> None:
        """A refusal by policy, with the one sentence on what to do about it."""
        self.add(kind, target, rule, source, what_to_do(target, rule, reason, remedy))

    def all(self) -> tuple[Violation, ...]:
        """Everything so far, with counts, in the order of first appearance."""
        return tuple(self._found.values())


def printable(text: str) -> str:
    """Text that a terminal shows as it is."""
    return "".join(each if each.isprintable() else f"\\x{ord(each):02x}" for each in text)


def helping(dialled: str) -> str:
    """What lets calls reach a host, of which no rule speaks."""
    from gateway.policy.fetching import gets_from  # lazy: few calls fail so

    host = dialled.removesuffix(":443").removesuffix(":80")
    if gets := gets_from(host):
        return f"run {gets} first, which gets what is missing from there: this call finds it afterwards"
    return f"ask for a rule that allows the command, with `settings: {{sandbox: {{hosts: [{host}]}}}}`"


def what_to_do(dialled: str, rule: str, reason: str, remedy: str = "") -> str:
    """One sentence for a model as for a person."""
    if not remedy:
        remedy = "have that rule changed" if rule else helping(dialled)
    return f"{dialled}: {reason}; do without it, or {remedy}."
