"""Filters at a terminal that people bind keys to: `fzf --bind 'ctrl-a:select-all'`."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from gateway.commands.findings import Findings
    from gateway.commands.invocation import Invocation

# Actions of fzf that move, choose and edit within it. Every other one may start a program.
_PLAIN = frozenset((
    "abort", "accept", "accept-non-empty", "accept-or-print-query", "backward-char", "backward-delete-char",
    "backward-kill-word", "backward-word", "beginning-of-line", "cancel", "clear-query", "clear-screen",
    "clear-selection", "close", "delete-char", "deselect", "deselect-all", "down", "end-of-line", "first",
    "forward-char", "forward-word", "half-page-down", "half-page-up", "ignore", "jump", "jump-accept", "kill-line",
    "kill-word", "last", "next-history", "next-selected", "page-down", "page-up", "prev-history", "prev-selected",
    "print-query", "replace-query", "select", "select-all", "toggle", "toggle-all", "toggle+down", "toggle-down",
    "toggle-in", "toggle-out", "toggle-search", "toggle-sort", "toggle-track", "toggle+up", "toggle-up", "top", "up",
    "unix-line-discard", "unix-word-rubout", "yank",
))  # fmt: skip


def _bound(findings: Findings, run: Invocation) -> None:  # noqa: ARG001
    """`--bind KEY:ACTION[+ACTION],…`: plain actions do nothing to anything else."""
    for option, values in run.values:
        if "--bind" not in option["names"] or not values:
            continue
        for binding in values[0].text.split(","):
            actions = binding.partition(":")[2].split("+")
            if not values[0].literal or not actions or not _PLAIN.issuperset(actions):
                run.doubts.append("a key is bound to what may start programs")


HOOKS: dict[str, Callable[[Findings, Invocation], None]] = {"finder": _bound}
