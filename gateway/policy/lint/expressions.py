"""Patterns that read like regular expressions, which patterns here are not: words with `*`, and paths with globs."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from gateway.policy.lint.clauses import Clause, Finding


def expressions(clause: Clause) -> Iterator[Finding]:
    """At most one finding for each such pattern."""
    for pattern in clause.written.get("command", ()):
        found = _command(pattern)
        if found:
            yield _finding(clause, pattern, *found)
    for name in ("path", "host"):
        for pattern in clause.written.get(name, ()):
            sign = _anchor(pattern)
            if sign:
                yield _finding(
                    clause, pattern, f"`{sign}` stands for itself", "leave it out: a pattern is matched as a whole"
                )


def _finding(clause: Clause, pattern: str, means: str, remedy: str) -> Finding:
    message = f"`{pattern}` reads like a regular expression, but {means}"
    return clause.finding("looks-like-an-expression", "warning", message, remedy)


def _command(pattern: str) -> tuple[str, str] | None:
    """What the pattern of a command means instead, and what to write."""
    program, *words = pattern.split()
    others = _alternatives(program, words)
    if others:
        return "`|` is a part of a word", f"write a pattern for each: {' and '.join(f'`{each}`' for each in others)}"
    if len(pattern) > 2 and pattern.startswith("/") and pattern.endswith("/"):
        inside = pattern[1:-1].replace(".*", "*")
        return "it is a program of that path", f"write words, with `*` for any others: `{inside}`"
    sign = _anchor(pattern)
    if sign:
        plain = pattern.removeprefix("^").removesuffix("$")
        return f"`{sign}` stands for itself", f"leave it out, a pattern is matched as a whole: `{plain}`, `{plain} *`"
    return None


def _alternatives(program: str, words: list[str]) -> list[str]:
    """The commands between which `|` seems to choose: programs, or lines that begin with the same program. Elsewhere
    `|` may well stand in a word, such as what `grep` looks for."""
    if "|" in program.strip("|"):
        return [" ".join([each, *words]) for each in program.split("|")]
    if any(word.endswith(f"|{program}") for word in words):
        return [each.strip() for each in " ".join([program, *words]).split("|")]
    return []


def _anchor(pattern: str) -> str:
    if pattern.startswith("^"):
        return "^"
    return "$" if len(pattern) > 1 and pattern.endswith("$") and pattern[-2] not in " /\\" else ""
