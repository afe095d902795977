"""How a shell text is started: exactly the text that was analysed, by bash, without start-up files.

A session learns the folder its shell ended in through a descriptor of its own, never through the command's output.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

# Where systems keep it, in the order of preference; nothing that an agent could have put on PATH.
BASHES = (
    "/bin/bash",
    "/usr/bin/bash",
    "/usr/local/bin/bash",
    "/opt/homebrew/bin/bash",
    "/run/current-system/sw/bin/bash",
)
_SAFE = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789@%+:,./-_")
_KEYWORDS = frozenset((
    "if", "then", "else", "elif", "fi", "case", "esac", "for", "select", "while", "until", "do", "done", "in",
    "function", "time", "coproc",
))  # fmt: skip
MAX_FOLDER = 4096


def find_bash() -> str:
    """The system's bash, "" when there is none."""
    return next((path for path in BASHES if os.access(path, os.X_OK)), "")


def quoted(words: Sequence[str]) -> str:
    """The shell text that is exactly these words: no assignment, keyword, expansion or glob among them."""
    return " ".join(word if _is_plain(word, first=not at) else _quoted(word) for at, word in enumerate(words))


def _is_plain(word: str, *, first: bool) -> bool:
    return bool(word) and _SAFE.issuperset(word) and not (first and word in _KEYWORDS)


def _quoted(word: str) -> str:
    return "'" + word.replace("'", "'\\''") + "'"


def arguments(bash: str, text: str, report: int = -1) -> tuple[bytes, ...]:
    """The words that start bash with this text. `report`: a descriptor that the folder it ends in is written to.

    The text stands on lines of its own, so that nothing of ours changes how it is read. A trap of its own for the end
    of the shell takes the place of ours: then the folder stays unknown.
    """
    before = f"trap 'builtin pwd -P >&{report}' EXIT\n" if report >= 0 else ""
    return (os.fsencode(bash), b"--noprofile", b"--norc", b"-c", b"--", os.fsencode(before + text))


def folder_said(data: bytes) -> str:
    """The folder that a shell reported, "" unless it is one absolute path and nothing else."""
    if not data.startswith(b"/") or not data.endswith(b"\n") or len(data) > MAX_FOLDER:
        return ""
    path = data[:-1]
    return "" if b"\0" in path else os.fsdecode(path)
