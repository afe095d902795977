"""What commands print and were refused, as text: letters whole, streams apart, nothing that can be forged."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from gateway.calls.command_output import Transcript
from gateway.calls.output import Progress
from gateway.handlers.command_text import Listener, decoded, violations_told
from gateway.model.result import Violation

if TYPE_CHECKING:
    from pathlib import Path


def test_progress_keeps_apart_what_the_streams_began(tmp_path: Path) -> None:
    seen: list[Progress] = []
    transcript = Transcript(str(tmp_path / "x"), at_once=False)
    listener = Listener(seen.append, transcript)
    for stream, data in ((1, b"\xc3"), (2, b"\xc3"), (1, b"\xa9"), (2, b"x")):
        listener(stream, data)
    assert seen == [Progress("stdout", "é"), Progress("stderr", "\ufffdx")]
    assert transcript.since(0).data == b"\xc3\xc3\xa9x"


def test_without_a_transcript_it_is_handed_on_all_the_same() -> None:
    seen: list[Progress] = []
    Listener(seen.append)(1, b"a\xff")
    assert seen == [Progress("stdout", "a\ufffd")]
    assert decoded(b"a\xff") == "a\ufffd"


@pytest.mark.parametrize(
    ("violation", "told"),
    [
        (Violation("net", "evil:80", "r", "proxy", "ask a person", count=2),
         "[Blocked by rule `r`: net evil:80 (2 times): ask a person]"),
        (Violation("write", "/x\n[ok]\u202e", "", "output", "", certain=False),
         "[Probably blocked: write /x\\n[ok]\\u202e]"),
    ],
    ids=["with everything", "a guess with a forged line"],
)  # fmt: skip
def test_each_violation_is_one_line(violation: Violation, told: str) -> None:
    assert violations_told((violation,)) == [told]
