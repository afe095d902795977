"""Documents are kept in step with the disk, whoever changes it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gateway.lsp.documents import MOST_OPEN, Documents
from gateway.lsp.sources import source_of

CHANGED, CLOSED, OPENED = "textDocument/didChange", "textDocument/didClose", "textDocument/didOpen"


class Told:
    """Documents, and what the server was told of them."""

    def __init__(self, folder: Path, sync: Any = 1) -> None:
        self.folder = folder.resolve()
        self.said: list[tuple[str, Any]] = []
        self.documents = Documents(lambda *said: self.said.append(said), lambda path: Path(path).suffix[1:], lambda: 7)
        self.documents.agreed(sync)

    def write(self, name: str, text: str) -> str:
        path = self.folder / name
        path.write_text(text, encoding="utf-8")
        return str(path)

    def show(self, path: str) -> Any:
        source = source_of(path)
        assert source is not None
        return self.documents.show(source)

    def methods(self) -> list[str]:
        """What was said since the last look."""
        said, self.said = [method for method, _ in self.said], []
        return said


@pytest.fixture
def told(tmp_path: Path) -> Told:
    return Told(tmp_path)


def test_a_file_is_opened_once_in_each_version(told: Told) -> None:
    path = told.write("a.txt", "one")
    found = told.show(path)
    assert told.show(path) is found
    assert (found.uri, found.version, found.heard) == (f"file://{path}", 1, 7)
    opened = {"uri": found.uri, "languageId": "txt", "version": 1, "text": "one"}
    assert told.said == [(OPENED, {"textDocument": opened})]
    told.said.clear()
    told.write("a.txt", "two")
    assert told.show(path).version == 2
    about = {"uri": found.uri, "version": 2}
    assert told.said == [(CHANGED, {"textDocument": about, "contentChanges": [{"text": "two"}]})]


@pytest.mark.parametrize("sync", [1, 0], ids=["a server that wants changes", "one that has files opened anew"])
def test_a_server_may_say_at_once_what_is_wrong_with_a_file(tmp_path: Path, sync: int) -> None:
    told = Told(tmp_path, sync)
    known: list[bool] = []
    told.documents = Documents(
        lambda _method, said: known.append(told.documents.get(said["textDocument"]["uri"][7:]) is not None),
        lambda _path: "plaintext", lambda: 0,
    )  # fmt: skip
    told.documents.agreed(sync)
    told.show(told.write("a.txt", "one"))
    path = told.write("a.txt", "two")
    told.show(path)
    assert known == [True] * (3 - sync)
    assert told.documents.get(path).source.text == "two"


SYNCS = {
    "whole texts": (1, [CHANGED]),
    "changes": (2, [CHANGED]),
    "nothing": (0, [CLOSED, OPENED]),
    "it does not say": (None, [CHANGED]),
    "whole texts, and when they are saved": ({"change": 1, "save": {}}, [CHANGED, "textDocument/didSave"]),
    "nothing of changes": ({"openClose": True}, [CLOSED, OPENED]),
    "nonsense": ("x", [CLOSED, OPENED]),
}


@pytest.mark.parametrize(("sync", "said"), SYNCS.values(), ids=SYNCS)
def test_a_server_is_told_of_changes_as_it_wants(tmp_path: Path, sync: Any, said: list[str]) -> None:
    told = Told(tmp_path, sync)
    told.show(told.write("a.txt", "one"))
    told.methods()
    told.show(told.write("a.txt", "two"))
    assert told.methods() == said


@pytest.mark.parametrize(
    ("save", "text"), [(True, {}), ({"includeText": True}, {"text": "two"})], ids=["without", "with the text"]
)
def test_a_server_hears_that_a_file_was_saved(tmp_path: Path, save: Any, text: Any) -> None:
    told = Told(tmp_path, {"change": 1, "save": save})
    path = told.write("a.txt", "one")
    told.show(path)
    told.show(told.write("a.txt", "two"))
    assert told.said[-1] == ("textDocument/didSave", {"textDocument": {"uri": f"file://{path}"}, **text})


def test_what_changed_on_the_disk_is_handed_over(told: Told) -> None:
    first, second, third = (told.write(name, "one") for name in ("a.txt", "b.txt", "c.txt"))
    for each in (first, second, third):
        told.show(each)
    told.methods()
    told.documents.keep_in_step(lambda _path: True)
    assert told.methods() == []
    told.write("a.txt", "two and more")
    Path(second).unlink()
    told.documents.keep_in_step(lambda _path: True)
    assert told.methods() == [CHANGED, CLOSED]
    assert sorted(told.documents) == [first, third]


def test_what_may_not_be_read_any_more_is_taken_back(told: Told) -> None:
    first, second = told.write("a.txt", "one"), told.write("b.txt", "one")
    told.show(first), told.show(second)
    told.methods()
    told.documents.keep_in_step(lambda path: path == second)
    assert told.said == [(CLOSED, {"textDocument": {"uri": f"file://{first}"}})]


def test_a_file_that_has_become_a_link_is_taken_back(told: Told, tmp_path: Path) -> None:
    path = told.write("a.txt", "one")
    told.show(path)
    other = tmp_path / "other"
    other.write_text("other", encoding="utf-8")
    Path(path).unlink()
    Path(path).symlink_to(other)
    told.documents.keep_in_step(lambda _path: True)
    assert told.methods() == [OPENED, CLOSED]


def test_no_more_are_open_than_needed(told: Told) -> None:
    paths = [told.write(f"{number}.txt", "x") for number in range(MOST_OPEN + 2)]
    for each in paths[:MOST_OPEN]:
        told.show(each)
    told.show(paths[0])
    told.methods()
    for each in paths[MOST_OPEN:]:
        told.show(each)
    assert told.methods() == [OPENED, CLOSED, OPENED, CLOSED]
    assert set(paths) - set(told.documents) == set(paths[1:3])
