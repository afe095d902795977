"""From an output to what models get: as declared, not too long, in the form of their API."""

from __future__ import annotations

import stat
from typing import TYPE_CHECKING, Any

import pytest

from gateway.calls.output import Failure, Image, Output, Text
from gateway.calls.results import limited, mcp_result, tool_result

if TYPE_CHECKING:
    from pathlib import Path


def entry(most: int | None = 100, **more: Any) -> dict[str, Any]:
    return {"name": "T", "max_result_chars": most, "output": None, **more}


@pytest.mark.parametrize(("length", "most"), [(100, 100), (0, 100), (10_000, None)])
def test_what_is_short_enough_stays_as_it_is(tmp_path: Path, length: int, most: int | None) -> None:
    output = Output((Text("x" * length),))
    assert limited(output, entry(most), lambda: str(tmp_path)) == output
    assert list(tmp_path.iterdir()) == []


def test_what_is_longer_lies_whole_in_a_file_of_the_users_own(tmp_path: Path) -> None:
    text = "é" * 3_000 + "\ud800\r\n" + "z" * 3_000
    found = limited(Output((Text(text), Image("image/png", b"x"))), entry(5_000), lambda: str(tmp_path))
    shown, image = found.blocks
    assert isinstance(shown, Text)
    (path,) = tmp_path.iterdir()
    assert str(path) in shown.text
    assert shown.text.startswith("The result is too long to show: 6,003 characters in 2 lines.")
    assert shown.text.endswith("z" * 1_000)
    assert (len(shown.text) < 5_000, image) == (True, Image("image/png", b"x"))
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert path.read_bytes().decode("utf-8") == text.replace("\ud800", "\\ud800")


def test_each_has_a_file_of_its_own_and_none_is_written_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "result-1.txt").symlink_to(tmp_path / "elsewhere")
    for _ in range(2):
        limited(Output((Text("x" * 200),)), entry(), lambda: str(tmp_path))
    assert sorted(each.name for each in tmp_path.iterdir()) == ["result-1.txt", "result-2.txt", "result-3.txt"]
    assert not (tmp_path / "elsewhere").exists()


def test_where_no_file_can_be_kept_the_beginning_is_shown_all_the_same(tmp_path: Path) -> None:
    found = limited(Output((Text("x" * 200),)), entry(), lambda: str(tmp_path / "no-such"))
    (block,) = found.blocks
    assert isinstance(block, Text)
    assert "It cannot be kept in a file" in block.text


SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}


def test_structured_data_is_held_to_the_declaration() -> None:
    declared = entry(output=SCHEMA)
    assert limited(Output(data={"n": 1}), declared, str).data == {"n": 1}
    assert limited(Output(is_error=True), declared, str).is_error
    for data in (None, {}, {"n": "1"}):
        with pytest.raises(Failure, match=r"(no structured result|a result that is not)"):
            limited(Output(data=data), declared, str)


def test_the_forms_of_the_apis() -> None:
    output = Output((Text("a\ud800"), Image("image/png", b"\0")), {"n": 1}, notes=("mind",))
    assert tool_result(output, "t1") == {
        "type": "tool_result",
        "tool_use_id": "t1",
        "content": [
            {"type": "text", "text": "a?"},
            {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AA=="}},
            {"type": "text", "text": "mind"},
        ],
    }
    assert tool_result(Output(is_error=True), "t2")["is_error"] is True
    assert mcp_result(output) == {
        "content": [
            {"type": "text", "text": "a?"},
            {"type": "image", "data": "AA==", "mimeType": "image/png"},
            {"type": "text", "text": "mind"},
        ],
        "isError": False,
        "structuredContent": {"n": 1},
    }
