"""How a shell text is started: exactly the text that was analysed, by bash, without start-up files.

A session learns the folder its shell ended in through a descriptor of its own, never through the command's output.
"""

from __future__ import annotations

import os

from gateway.core.programs import Untrusted, trusted_program

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

_SAFE = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789@%+:,./-_")
_KEYWORDS = frozenset((
    "if", "then", "else", "elif", "fi", "case", "esac", "for", "select", "while", "until", "do", "done", "in",
    "function", "time", "coproc",
))  # fmt: skip
MAX_FOLDER = 4096
# Between the folder and the variables.
_MARK = b"\0"
_DECLARED = b"declare -x "
_WAITING = (
    'gateway_is=$?; builtin pwd -P >&REPORT; if [ -n "$(builtin jobs -rp)" ]; then '
    'builtin printf "\\0%d\\n" "$gateway_is" >&REPORT; builtin exec REPORT>&-; builtin wait; fi; '
    'builtin exit "$gateway_is"'
)


def find_bash() -> str:
    """The system's bash, "" when there is none."""
    try:
        return trusted_program("bash")
    except Untrusted:
        return ""


def quoted(words: Sequence[str]) -> str:
    """The shell text that is exactly these words: no assignment, keyword, expansion or glob among them."""
    return " ".join(word if _is_plain(word, first=not at) else _quoted(word) for at, word in enumerate(words))


def _is_plain(word: str, *, first: bool) -> bool:
    return bool(word) and _SAFE.issuperset(word) and not (first and word in _KEYWORDS)


def _quoted(word: str) -> str:
    return "'" + word.replace("'", "'\\''") + "'"


def arguments(
    bash: str, text: str, report: int = -1, *, exported: bool = False, waits: bool = False
) -> tuple[bytes, ...]:
    """The words that start bash with this text. `report`: a descriptor that the folder it ends in is written to, and
    if `exported` its exported variables. `waits`: where jobs of the shell still run when it ends, it also reports its
    status, and stays until they have ended.

    The text stands on lines of its own, so that nothing of ours changes how it is read. A trap of its own for the end
    of the shell takes the place of ours: then both stay unknown.
    """
    variables = f'; builtin printf "\\0" >&{report}; builtin export -p >&{report}' if exported else ""
    before = f"trap 'builtin pwd -P >&{report}{variables}' EXIT\n" if report >= 0 else ""
    if waits and report >= 0:
        before = "trap '" + _WAITING.replace("REPORT", str(report)) + "' EXIT\n"
    return (os.fsencode(bash), b"--noprofile", b"--norc", b"-c", b"--", os.fsencode(before + text))


def folder_said(data: bytes) -> str:
    """The folder that a shell reported, "" unless it is one absolute path and nothing else but variables behind it."""
    data, mark, _ = data.partition(_MARK)
    if mark and not data.endswith(b"\n"):
        return ""
    if not data.startswith(b"/") or not data.endswith(b"\n") or len(data) > MAX_FOLDER:
        return ""
    path = data[:-1]
    return "" if b"\0" in path else os.fsdecode(path)


def status_said(data: bytes) -> int:
    """The status that a shell reported which waits for its jobs; -1 unless it did."""
    _, mark, status = data.partition(_MARK)
    return int(status) if mark and status.endswith(b"\n") and status[:-1].isdigit() and len(status) < 5 else -1


def variables_said(data: bytes) -> dict[str, str] | None:
    """The exported variables that a shell reported, None unless it came to its end with that. One whose value bash has
    to spell with escapes for control characters is left out."""
    _, mark, said = data.partition(_MARK)
    if not mark:
        return None
    found: dict[str, str] = {}
    while said:
        if not said.startswith(_DECLARED):
            return None
        said = said[len(_DECLARED) :]
        end = min(at for at in (said.find(b"="), said.find(b"\n"), len(said)) if at >= 0)
        name, said = said[:end], said[end:]
        if said.startswith(b'="'):
            value, said = _double_quoted(said[2:])
            if value is None:
                return None
            found[os.fsdecode(name)] = os.fsdecode(value)
        elif said.startswith(b"=$'"):
            said = _after_escapes(said[3:])
        if not said.startswith(b"\n"):
            return None
        said = said[1:]
    return found


def _double_quoted(text: bytes) -> tuple[bytes | None, bytes]:
    """A value up to its closing quote, and what follows; None where there is no such quote."""
    value = bytearray()
    at = 0
    while at < len(text):
        char = text[at : at + 1]
        if char == b'"':
            return bytes(value), text[at + 1 :]
        if char == b"\\" and text[at + 1 : at + 2] in (b'"', b"\\", b"$", b"`"):
            at += 1
            char = text[at : at + 1]
        value += char
        at += 1
    return None, b""


def _after_escapes(text: bytes) -> bytes:
    """What follows the closing quote of a value with escapes."""
    at = 0
    while at < len(text):
        if text[at : at + 1] == b"'":
            return text[at + 1 :]
        at += 2 if text[at : at + 1] == b"\\" else 1
    return b""
