"""A record in a folder of the test's own, and ways to look at and to damage it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from gateway.audit import chain
from gateway.audit.store import Store

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


class Place:
    """A folder with a record. Bodies are JSON objects that say who wrote them and how often."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.path = str(folder)
        self._open: list[Store] = []

    def store(self, **how: object) -> Store:
        made = Store(self.path, **how)  # type: ignore[arg-type]
        self._open.append(made)
        return made

    def close(self) -> None:
        """Gives the files of all of them back."""
        for each in self._open:
            each.close()

    def fill(self, count: int, **how: object) -> None:
        """Writes this many records and closes the files."""
        store = self.store(**how)
        for number in range(count):
            store.append(body(number))
        store.close()

    @property
    def files(self) -> list[Path]:
        return sorted(self.folder.glob("*.jsonl"))

    def lines(self) -> list[dict[str, object]]:
        """Every line of every file that is JSON."""
        found = []
        for file in self.files:
            for line in file.read_bytes().splitlines():
                try:
                    found.append(json.loads(line))
                except ValueError:
                    continue
        return found

    def said(self) -> list[object]:
        """What the records say, marks by their name."""
        return [line.get("said", line.get("mark")) for line in self.lines()]

    def seal(self) -> bytes:
        return (self.folder / "seal").read_bytes()


def body(said: object, **more: object) -> str:
    return json.dumps({"kind": "test", "said": said, **more})


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    made = Place(tmp_path / "state" / "audit")
    yield made
    made.close()


@pytest.fixture
def write():
    return body


@pytest.fixture
def start() -> str:
    return chain.START
