"""Which files a patch touches: at least those that whoever applies it touches."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.tools.patch import Touched, touched


def patch(*lines: str) -> str:
    return "\n".join(["*** Begin Patch", *lines, "*** End Patch", ""])


CASES = {
    "a new file": (patch("*** Add File: a", "+x"), (("write", "a"),)),
    "a changed file": (patch("*** Update File: a", "@@", "-x", "+y"), (("read", "a"), ("write", "a"))),
    "a file that goes": (patch("*** Delete File: a"), (("delete", "a"),)),
    "a moved file": (
        patch("*** Update File: a", "*** Move to: b", "@@", "-x", "+y"),
        (("read", "a"), ("write", "a"), ("delete", "a"), ("write", "b")),
    ),
    "several": (patch("*** Add File: a", "+x", "*** Delete File: b"), (("write", "a"), ("delete", "b"))),
    "one file twice": (patch("*** Delete File: a", "*** Add File: a", "+x"), (("delete", "a"), ("write", "a"))),
    "content that looks like a heading": (patch("*** Add File: a", "+*** Delete File: b"), (("write", "a"),)),
    "context that looks like a heading": (
        patch("*** Update File: a", " *** Delete File: b"),
        (("read", "a"), ("write", "a"), ("delete", "b")),
    ),
    "a heading behind blanks": (patch("\t *** Delete File:  a  "), (("delete", "a"),)),
    "other line ends": (patch("*** Delete File: a").replace("\n", "\r\n"), (("delete", "a"),)),
    "bare carriage returns": ("*** Begin Patch\r*** Delete File: a\r*** End Patch", (("delete", "a"),)),
    "the end of a file": (patch("*** Update File: a", "+x", "*** End of File"), (("read", "a"), ("write", "a"))),
}


@pytest.mark.parametrize("name", CASES)
def test_every_file_is_named(name: str) -> None:
    text, files = CASES[name]
    assert touched(text) == Touched(files)


DOUBTS = {
    "nothing": "",
    "no patch": "hello",
    "no file": patch(),
    "a heading that is not known": patch("*** Rename File: a", "+x"),
    "a heading without a file": patch("*** Delete File: "),
    "a move of nothing": patch("*** Move to: b"),
    "another environment": patch("*** Environment ID: 7", "*** Delete File: a"),
}


@pytest.mark.parametrize("name", DOUBTS)
def test_what_is_not_understood_is_a_doubt(name: str) -> None:
    assert touched(DOUBTS[name]).doubt


@given(st.text(alphabet="ab*+- \n\r", max_size=80), st.sampled_from(["Add", "Delete", "Update"]))
def test_no_other_text_hides_a_heading(text: str, what: str) -> None:
    found = touched(f"{text}\n*** {what} File: hidden\n{text}")
    assert "hidden" in {path for _kind, path in found.files}
