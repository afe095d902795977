"""Names of branches, checked as git checks them; pure."""

from __future__ import annotations

_NEVER = frozenset(" ~^:?*[\\\x7f") | frozenset(map(chr, range(0x20)))
MOST = 200


def problem(name: str) -> str:
    """What is wrong with a name for a new branch, "" for nothing."""
    if not name or len(name) > MOST:
        return f"it must have 1 to {MOST} characters"
    if name.startswith("-") or name in ("HEAD", "@"):
        return "it must not look like an option or like what git has another meaning for"
    wrong = sorted(_NEVER.intersection(name))
    if wrong:
        return f"it must not hold {wrong[0]!r}"
    if ".." in name or "@{" in name or name.endswith("."):
        return "it must not hold `..` or `@{`, nor end with a dot"
    parts = name.split("/")
    if not all(parts):
        return "it must not begin or end with a slash, nor hold two in a row"
    if any(part.startswith(".") or part.endswith(".lock") for part in parts):
        return "no part of it may begin with a dot or end with `.lock`"
    return ""
