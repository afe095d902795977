"""Mutants that no test can or should kill, in `survivors.txt`, each with the reason."""

from __future__ import annotations

from pathlib import Path

FILE = Path(__file__).with_name("survivors.txt")


def survivors(text: str) -> dict[tuple[str, str, str, str], str]:
    """The reason of each mutant, by its name. An entry is

        PATH: FUNCTION
        - the line as it is
        + the line as the mutant has it
        the reason, in one or more lines

    with an empty line after it; a line that begins with `#` is a comment. Raises ValueError for what is none, and
    for one without a reason.
    """
    found = {}
    lines = "\n".join(line for line in text.splitlines() if not line.startswith("#"))
    for entry in filter(None, (part.strip() for part in lines.split("\n\n"))):
        head, before, after, *reason = entry.splitlines()
        path, _, function = head.partition(":")
        if not (before.startswith("- ") and after.startswith("+ ") and reason):
            raise ValueError(f"not an entry: {entry}")
        found[path, function.strip(), before[2:], after[2:]] = " ".join(reason)
    return found


def known() -> dict[tuple[str, str, str, str], str]:
    return survivors(FILE.read_text(encoding="utf-8"))
