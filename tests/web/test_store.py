"""Pages that were fetched lately: this user's own, whole, not too old, and not too many."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from gateway.web import store
from gateway.web.fetch import Step
from gateway.web.page import Page
from gateway.web.store import MOST_ENTRIES, SECONDS, Store

NOW = 1_700_000_000.0
URL = "https://good.example/a"
PAGE = Page(
    URL, f"{URL}/b", 200, "text/html", "A title", "The text, é", 123,
    (Step(URL, ("93.184.216.34",)), Step(f"{URL}/b", ("93.184.216.34", "::1"))), NOW,
    hidden=2, cut=True, notes=("a note",),
)  # fmt: skip


@pytest.fixture
def kept(tmp_path: Path) -> Store:
    return Store(str(tmp_path / "cache" / "web"))


@pytest.fixture(autouse=True)
def above(tmp_path: Path) -> None:
    (tmp_path / "cache").mkdir()


def test_a_page_is_found_as_it_was_kept(kept: Store) -> None:
    assert kept.keep(PAGE, ())
    assert kept.find(URL, (), NOW + 60) == PAGE.replace(cached=True)


def test_a_redirect_is_kept_too(kept: Store) -> None:
    page = PAGE.replace(elsewhere="https://other.example/", text="")
    kept.keep(page, ())
    assert kept.find(URL, (), NOW) == page.replace(cached=True)


@pytest.mark.parametrize(
    ("later", "found"), [(0.0, True), (SECONDS - 1, True), (SECONDS, False), (SECONDS * 99, False), (-1.0, False)]
)
def test_a_page_is_kept_for_a_quarter_of_an_hour(kept: Store, later: float, found: bool) -> None:
    kept.keep(PAGE, ())
    assert (kept.find(URL, (), NOW + later) is not None) is found


def test_what_matters_is_part_of_the_key(kept: Store) -> None:
    kept.keep(PAGE, ("inside.example",))
    assert kept.find(URL, ("inside.example",), NOW) is not None
    assert kept.find(URL, (), NOW) is None
    assert kept.find(f"{URL}?x", ("inside.example",), NOW) is None


def test_what_must_not_be_kept_is_not(kept: Store) -> None:
    assert not kept.keep(PAGE.replace(passing=True), ())
    assert not kept.keep(PAGE.replace(text="x" * (store.MOST_OF_ONE + 1)), ())
    assert kept.find(URL, (), NOW) is None
    assert kept.keep(PAGE.replace(text="x" * store.MOST_OF_ONE), ())


def entries(kept: Store) -> list[Path]:
    return sorted(Path(kept.folder).glob("*.json"))


def flipped(data: bytes) -> bytes:
    return data[:-20] + bytes([data[-20] ^ 1]) + data[-19:]


@pytest.mark.parametrize(
    "damage",
    [lambda _data: b"", lambda data: data[:-1], lambda data: data[:30], flipped, lambda data: data + b"x",
     lambda _data: b"{}"],
    ids=["empty", "cut by a byte", "cut", "a bit", "longer", "something else"],
)  # fmt: skip
def test_an_entry_that_is_not_whole_is_not_there(kept: Store, damage) -> None:
    kept.keep(PAGE, ())
    (path,) = entries(kept)
    data = path.read_bytes()
    path.write_bytes(damage(data))
    assert kept.find(URL, (), NOW) is None
    path.write_bytes(data)
    assert kept.find(URL, (), NOW) is not None
    path.write_bytes(damage(data))
    assert kept.keep(PAGE, ())  # and is made anew
    assert kept.find(URL, (), NOW) is not None


def test_an_entry_under_another_name_is_not_there(kept: Store) -> None:
    kept.keep(PAGE, ())
    (path,) = entries(kept)
    other = PAGE.replace(asked="https://other.example/", final="https://other.example/")
    kept.keep(other, ())
    of_other = next(each for each in entries(kept) if each != path)
    of_other.write_bytes(path.read_bytes())
    assert kept.find("https://other.example/", (), NOW) is None


@pytest.mark.parametrize("field", ["steps", "text", "fetched", "asked", "notes"])
def test_an_entry_of_another_form_is_not_there(kept: Store, field: str, monkeypatch: pytest.MonkeyPatch) -> None:
    written = kept._cache.write

    def without(key: str, value: dict) -> bool:
        return written(key, {name: each for name, each in value.items() if name != field})

    monkeypatch.setattr(kept._cache, "write", without)
    kept.keep(PAGE, ())
    assert len(entries(kept)) == 1
    assert kept.find(URL, (), NOW) is None


def test_only_this_user_can_read_and_write_it(kept: Store) -> None:
    kept.keep(PAGE, ())
    assert os.stat(kept.folder).st_mode & 0o777 == 0o700
    assert [os.stat(path).st_mode & 0o777 for path in entries(kept)] == [0o600]


@pytest.mark.parametrize("open_to_others", ["folder", "file"])
def test_what_others_can_write_is_not_believed(kept: Store, open_to_others: str) -> None:
    kept.keep(PAGE, ())
    (path,) = entries(kept)
    Path(kept.folder if open_to_others == "folder" else path).chmod(0o777)
    assert Store(kept.folder).find(URL, (), NOW) is None


def test_a_link_is_not_followed(kept: Store, tmp_path: Path) -> None:
    kept.keep(PAGE, ())
    (path,) = entries(kept)
    path.rename(tmp_path / "elsewhere")
    path.symlink_to(tmp_path / "elsewhere")
    assert kept.find(URL, (), NOW) is None


def test_entries_are_bounded_in_number(kept: Store) -> None:
    for number in range(MOST_ENTRIES + 5):
        kept.keep(PAGE.replace(asked=f"{URL}/{number}"), ())
    assert len(entries(kept)) == MOST_ENTRIES


def test_entries_are_bounded_in_size_the_oldest_going_first(kept: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "MOST_BYTES", 25_000)
    for number in range(5):
        kept.keep(PAGE.replace(asked=f"{URL}/{number}", text="x" * 10_000), ())
        for path in entries(kept):  # a clock whose steps may be coarse
            os.utime(path, (path.stat().st_atime, path.stat().st_mtime - 10))
    assert len(entries(kept)) == 2
    assert kept.find(f"{URL}/4", (), NOW) is not None
    assert kept.find(f"{URL}/0", (), NOW) is None


def test_what_is_too_old_is_swept_up(kept: Store) -> None:
    kept.keep(PAGE, ())
    (path,) = entries(kept)
    left = Path(f"{path}.123.abcd")
    left.write_bytes(b"half")
    os.utime(path, (NOW, NOW))
    os.utime(left, (NOW, NOW))
    kept.keep(PAGE.replace(asked=f"{URL}/later"), ())
    assert (path.exists(), left.exists(), len(entries(kept))) == (False, False, 1)


def test_a_folder_that_cannot_be_written_costs_time_only(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    kept = Store(str(tmp_path / "file" / "web" / "x"))
    assert not kept.keep(PAGE, ())
    assert kept.find(URL, (), NOW) is None


PROGRAM = """
import sys
from gateway.web.store import Store
from gateway.web.fetch import Step
from gateway.web.page import Page
folder, name = sys.argv[1:]
kept = Store(folder)
for number in range(40):
    url = f"https://good.example/{number}"
    text = f"{name} {number} " * 2000
    kept.keep(Page(url, url, 200, "text/plain", "", text, 1, (Step(url, ()),), 1_700_000_000.0), ())
    for each in range(number + 1):
        found = kept.find(f"https://good.example/{each}", (), 1_700_000_000.0)
        if found is not None and found.text not in (f"a {each} " * 2000, f"b {each} " * 2000):
            sys.exit(f"half a page: {found.text[:60]}")
"""


def test_several_processes_use_it_at_once(kept: Store) -> None:
    kept.keep(PAGE, ())
    running = [
        subprocess.Popen([sys.executable, "-c", PROGRAM, kept.folder, name], stderr=subprocess.PIPE) for name in "ab"
    ]
    assert [(each.communicate()[1], each.returncode) for each in running] == [(b"", 0), (b"", 0)]
    found = [kept.find(f"https://good.example/{number}", (), NOW) for number in range(40)]
    assert sum(page is not None for page in found) == 40
