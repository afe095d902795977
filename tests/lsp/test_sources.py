"""Files as servers get them."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from gateway.lsp.sources import MOST_SOURCE, Sources, source_of

if TYPE_CHECKING:
    from pathlib import Path

TEXTS = {
    "UTF-8": ("a😀\r\nb".encode(), "a😀\r\nb"),
    "UTF-8 with a mark": (b"\xef\xbb\xbfa", "a"),
    "UTF-16": ("\ufeffaé".encode("utf-16-le"), "aé"),
    "Latin-1": (b"caf\xe9 caf\xe9", "café café"),
    "UTF-8 with a broken byte": ("é→ü ".encode() + b"\xff", "é→ü \ufffd"),
    "nothing": (b"", ""),
}


@pytest.mark.parametrize(("data", "text"), TEXTS.values(), ids=TEXTS)
def test_a_text_is_read_in_its_encoding(tmp_path: Path, data: bytes, text: str) -> None:
    path = tmp_path.resolve() / "a"
    path.write_bytes(data)
    found = source_of(str(path))
    assert found is not None
    assert (found.text, found.real) == (text, str(path))


def test_what_is_no_plain_text_file_is_none(tmp_path: Path) -> None:
    top = tmp_path.resolve()
    (top / "binary").write_bytes(b"\0\1\2" * 100)
    (top / "large").write_bytes(b"x" * (MOST_SOURCE + 1))
    (top / "text").write_bytes(b"x")
    (top / "link").symlink_to(top / "text")
    (top / "folder").mkdir()
    (top / "way").symlink_to(top / "folder")
    (top / "folder" / "text").write_bytes(b"x")
    os.mkfifo(top / "fifo")
    names = ("binary", "large", "link", "folder", "fifo", "missing", "way/text")
    assert [source_of(str(top / name)) for name in names] == [None] * len(names)


def test_what_may_not_be_read_is_not_looked_at(tmp_path: Path) -> None:
    top = tmp_path.resolve()
    (top / "secret").write_text("x", encoding="utf-8")
    (top / "link").symlink_to("secret")
    (top / "open").write_text("x", encoding="utf-8")
    sources = Sources(lambda path: not path.endswith("secret"))
    found = {name: sources.of(str(top / name)) for name in ("secret", "link", "open", "missing", "folder/../secret")}
    assert [name for name, source in found.items() if source is not None] == ["open"]
    names = ("secret", "link", "open", "missing")
    assert [name for name in names if sources.is_refused(str(top / name))] == ["secret", "link"]


def test_files_are_read_until_it_is_enough(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("a", "b", "c"):
        (tmp_path / name).write_text("x" * 10, encoding="utf-8")
    paths = [str(tmp_path.resolve() / name) for name in ("a", "b", "c", "a")]
    monkeypatch.setattr("gateway.lsp.sources.MOST_CHARACTERS", 15)
    sources = Sources(lambda _path: True)
    assert [sources.of(each) is not None for each in paths] == [True, True, False, True]
