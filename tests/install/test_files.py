"""Settings files on the disk: all changes or none, where links lead, with the rights that they had."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from gateway.core.errors import ConfigError
from gateway.install import files
from gateway.install.files import Change, read, remove_empty, write

if TYPE_CHECKING:
    from pathlib import Path

needs_user = pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")


def change(path: Path, after: str | None) -> Change:
    real, before = read(str(path))
    return Change(str(path), real, before, after)


def test_a_file_is_replaced_whole_and_keeps_its_rights(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text("old")
    path.chmod(0o640)
    write([change(path, "new")])
    assert (path.read_text(), path.stat().st_mode & 0o777) == ("new", 0o640)
    assert [each.name for each in tmp_path.iterdir()] == ["a.json"]


def test_a_new_file_is_made_with_its_folders_and_written_by_nobody_else(tmp_path: Path) -> None:
    path = tmp_path / "b" / "c" / "a.json"
    write([change(path, "new")])
    assert (path.read_text(), path.stat().st_mode & 0o022) == ("new", 0)
    write([change(path, None)])
    remove_empty([str(tmp_path / "b"), str(tmp_path / "b" / "c")])
    assert list(tmp_path.iterdir()) == []


def test_a_link_stays_and_what_it_leads_to_is_changed(tmp_path: Path) -> None:
    real, link = tmp_path / "dotfiles" / "s.json", tmp_path / "s.json"
    real.parent.mkdir()
    real.write_text("old")
    link.symlink_to(real)
    write([change(link, "new")])
    assert (link.is_symlink(), real.read_text(), read(str(link))[0]) == (True, "new", str(real))


def test_a_link_to_a_file_that_is_not_there_yet_makes_that_file(tmp_path: Path) -> None:
    link = tmp_path / "s.json"
    link.symlink_to("t.json")
    write([change(link, "new")])
    assert (tmp_path / "t.json").read_text() == "new"


def test_a_link_into_nowhere_is_refused(tmp_path: Path) -> None:
    (tmp_path / "s.json").symlink_to("gone/t.json")
    with pytest.raises(ConfigError, match="is a link to"):
        read(str(tmp_path / "s.json"))


def test_what_is_not_text_is_refused_with_its_place(tmp_path: Path) -> None:
    path = tmp_path / "s.json"
    path.write_bytes(b'{\n  "a": "\xff"}')
    with pytest.raises(ConfigError, match=r"s\.json:2:9: must be UTF-8"):
        read(str(path))
    assert path.read_bytes() == b'{\n  "a": "\xff"}'


@pytest.mark.parametrize("kind", ["folder", "pipe"])
def test_what_is_no_file_is_refused(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "s.json"
    path.mkdir() if kind == "folder" else os.mkfifo(path)
    with pytest.raises(ConfigError, match="must be a file"):
        read(str(path))


def test_a_file_that_others_changed_meanwhile_is_not_touched(tmp_path: Path) -> None:
    path = tmp_path / "s.json"
    path.write_text("old")
    planned = change(path, "new")
    path.write_text("theirs")
    with pytest.raises(ConfigError, match="must not change while it is looked at"):
        write([planned])
    assert path.read_text() == "theirs"


def test_where_one_cannot_be_written_none_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one, other, new = tmp_path / "one", tmp_path / "other", tmp_path / "x" / "new"
    one.write_text("1")
    other.write_text("2")
    planned = [change(one, "a"), change(new, "b"), change(other, "c")]
    replace = files.replace_whole

    def full(path: str, data: bytes) -> None:
        if path == str(other):
            raise OSError(28, "No space left on device")
        replace(path, data)

    monkeypatch.setattr(files, "replace_whole", full)
    with pytest.raises(ConfigError, match="No space left"):
        write(planned)
    assert (one.read_text(), other.read_text(), new.exists(), new.parent.exists()) == ("1", "2", False, False)


@needs_user
def test_a_folder_that_may_not_be_written_is_told_before_anything_is_touched(tmp_path: Path) -> None:
    one, closed = tmp_path / "one", tmp_path / "closed"
    one.write_text("1")
    closed.mkdir(mode=0o500)
    planned = [change(one, "a"), change(closed / "new", "b")]
    with pytest.raises(ConfigError, match="is read-only for you"):
        write(planned)
    assert one.read_text() == "1"


def test_what_stands_in_the_place_of_a_folder_is_told(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("")
    with pytest.raises(ConfigError):
        write([Change(str(tmp_path / "x/new"), str(tmp_path / "x/new"), None, "a")])
    assert (tmp_path / "x").read_text() == ""
