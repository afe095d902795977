"""What a shell that a program started with these words would run: its text, a script, or standard input."""

from __future__ import annotations

import os

from gateway.core.errors import ConfigError, Problem
from gateway.frontends.shellwords import started

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

_MOST = 4 << 20  # bytes of a script


def text_of(words: Sequence[str]) -> tuple[str, str]:
    """The text that a shell which was started with these words would run, and the script that it was read from, "" if
    there is none. Raises ConfigError."""
    scripts: list[str] = []

    def read(path: str) -> str | None:
        scripts.append(os.path.abspath(path))
        return _script(path)

    found = started(words, read)
    if found.text is not None:
        return found.text, "".join(scripts)
    if _is_terminal():
        remedy = "give it a text with -c, or a script; for people there is `bash`"
        raise ConfigError(Problem("gateway-shell is started by programs and is not interactive", remedy=remedy))
    text = _read(0)
    if text is None:
        raise ConfigError(Problem(f"a script on standard input must be UTF-8 text of at most {_MOST:,} bytes"))
    return found.before + text, ""


def without_itself() -> None:
    """Inside of the sandbox a shell is a shell: what asks for SHELL there gets bash."""
    from gateway.sandbox.shell import find_bash

    if "SHELL" in os.environ:
        os.environ["SHELL"] = find_bash()


def _script(path: str) -> str | None:
    """A script's text; None where it cannot be read as such, so that bash itself says why."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except (OSError, ValueError):
        return None
    try:
        return _read(descriptor)
    finally:
        os.close(descriptor)


def _read(descriptor: int) -> str | None:
    found, size = [], 0
    try:
        while size <= _MOST and (chunk := os.read(descriptor, 1 << 20)):
            found.append(chunk)
            size += len(chunk)
        return None if size > _MOST else b"".join(found).decode("utf-8")
    except (OSError, UnicodeDecodeError):
        return None


def _is_terminal() -> bool:
    try:
        return os.isatty(0)
    except OSError:
        return False
