"""Reading texts in one fixed place, and short ways to say what was found."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from gateway.shell.reading import read
from gateway.shell.script import Script

CWD = "/p"
HOME = "/home/dev"

Reader = Callable[..., Script]


@pytest.fixture(name="read")
def read_fixture() -> Reader:
    """`read` for a text in /p, with the home folder /home/dev."""

    def reader(text: str, **changes: object) -> Script:
        options: dict[str, object] = {"cwds": (CWD,), "home": HOME, "variables": {"PWD": CWD}}
        return read(text, **{**options, **changes})  # type: ignore[arg-type]

    return reader


@pytest.fixture
def argvs(read: Reader) -> Callable[[str], list[list[str]]]:
    """The words of every command of a text, `?` for unknown parts, `*` behind words that may be several."""

    def shown(text: str) -> list[list[str]]:
        return [
            [word.text.replace("\0", "?") + ("*" if word.splits else "") for word in command.words]
            for command in read(text).commands
        ]

    return shown
