"""Signals by name: which patterns of `pkill` and `killall` find the programs that answer for agents.

A hook that is killed before it has answered is, to most agents, no refusal. So what would find it is told apart from
other signals, whatever the pattern looks like.
"""

from __future__ import annotations

import re

from gateway.core.backtracking import longest_text
from gateway.model.effect import HOLE, System

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gateway.commands.findings import Findings
    from gateway.commands.invocation import Invocation

_PLACES = tuple(
    f"{python} -I -S {packages}/gateway/{client}"
    for python, packages in (
        ("/usr/bin/python3", "/usr/lib/python3/site-packages"),
        ("/home/user/.venv/bin/python", "/home/user/.venv/lib/python3.11/site-packages"),
        ("/home/user/.local/pipx/bin/python3.12", "/home/user/.local/pipx/lib/site-packages"),
    )
    for client in ("frontends/service/client.py", "service/client.py")  # and where it lay before
)
_STARTS = (
    *(f"hook {name}" for name in ("claude", "codex", "gemini", "copilot", "cursor", "opencode")),
    "exec --ticket 0 -c x", "serve",
)  # fmt: skip
_LINES = (
    *(f"{place} {start}" for place in _PLACES for start in _STARTS),
    *(f"/usr/local/bin/gateway {start}" for start in ("hook claude", "mcp proxy x", "mcp serve")),
    "/usr/local/bin/gateway-shell -c x",
)
_NAMES = ("gateway", "gateway-shell")
# What they run in, and what asks them: a signal to all of that name ends them too.
_SHARED = ("python", "python3", "python3.11", "python3.12", "node", "claude", "codex", "gemini", "copilot", "opencode")
_LONGEST = 200  # a pattern beyond that is not tried out
_LONGEST_LINE = 10_000  # what bounds the work: one repetition whose end is open


def _pkill(findings: Findings, run: Invocation) -> None:
    """`pkill` and `skill` search, in the whole line with `-f`; `killall` takes a name, or an expression with `-r`."""
    if not run.options.isdisjoint(("-l", "--list", "-V", "--version", "--help", "-0")):
        return
    searches = run.name != "killall" or not run.options.isdisjoint(("-r", "--regexp"))
    whole = searches and not run.options.isdisjoint(("-f", "--full"))
    blind = not run.options.isdisjoint(("-i", "--ignore-case", "-I"))
    words = [*run.operands]
    if run.name == "killall":  # whose -r takes no value of its own
        words += [value for option, values in run.values for value in values if "-r" in option["names"]]
    for word in words:
        text = word.text
        if HOLE in text:  # nobody knows whom it finds
            findings.add(System("agents", "end"), word.start, word.end, run.part)
        elif _finds(text, _LINES if whole else _NAMES, searches, blind):
            findings.add(System("hook", "end"), word.start, word.end, run.part)
        elif not whole and _finds(text, _SHARED, searches, blind):
            findings.add(System("agents", "end"), word.start, word.end, run.part)


def _finds(pattern: str, texts: tuple[str, ...], searches: bool, blind: bool) -> bool:
    if not searches:
        return pattern.rpartition("/")[2] in texts
    if len(pattern) > _LONGEST:
        return True
    # Found apart from each other is at least what is found in a row, and quick.
    pieces = [pattern] if "(" in pattern or "|" in pattern else pattern.split(".*")
    try:
        found = [re.compile(_translated(piece), re.IGNORECASE if blind else 0) for piece in pieces if piece]
        if any(longest_text(each.pattern) < _LONGEST_LINE for each in found):
            return True
    except (ValueError, re.error, RecursionError, OverflowError):
        return True  # the system may read it otherwise
    return any(all(each.search(text) for each in found) for text in texts)


def _translated(pattern: str) -> str:
    """An extended regular expression as Python writes it."""
    for name, means in _CLASSES.items():
        pattern = pattern.replace(f"[:{name}:]", means)
    return pattern


_CLASSES = {
    "alpha": "a-zA-Z", "digit": "0-9", "alnum": "a-zA-Z0-9", "space": r"\s", "lower": "a-z", "upper": "A-Z",
    "punct": r"!-/:-@\[-`{-~", "print": " -~", "graph": "!-~", "blank": " \t", "xdigit": "0-9a-fA-F",
}  # fmt: skip


HOOKS = {"pkill": _pkill}
