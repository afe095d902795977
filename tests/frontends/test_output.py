"""What is written to standard error, for people at a terminal and for programs."""

from __future__ import annotations

import os
import pty
import sys
from io import StringIO
from typing import TYPE_CHECKING

from gateway.frontends.output import tell

if TYPE_CHECKING:
    import pytest

TEXT = (
    "gateway: refused: one two three four five six seven eight nine ten\n"
    "  help: a b c d e f g h i j k l m n o p q r s t\n"
)


def test_on_a_terminal_no_word_of_ours_is_broken_at_the_edge(monkeypatch: pytest.MonkeyPatch) -> None:
    ours, theirs = pty.openpty()
    monkeypatch.setenv("COLUMNS", "40")
    with open(theirs, "w", encoding="utf-8") as terminal:
        monkeypatch.setattr(sys, "stderr", terminal)
        tell(TEXT)
        said = os.read(ours, 4096).decode().replace("\r\n", "\n")
    os.close(ours)
    assert said == (
        "gateway: refused: one two three four\n  five six seven eight nine ten\n"
        "  help: a b c d e f g h i j k l m n o\n    p q r s t\n"
    )


def test_in_a_pipe_a_line_stays_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    tell(TEXT)
    assert stream.getvalue() == TEXT
