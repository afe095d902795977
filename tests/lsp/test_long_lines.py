"""A server that names places in one very long line: however many, little of the line is gone through for each."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from gateway.lsp.positions import UTF8, UTF16
from gateway.lsp.problems import problems_of
from gateway.lsp.visible import Places

LENGTH, NAMED = 500_000, 1_000
# The line once, and for each place what lies between two characters that are counted to, and what is kept.
MOST = LENGTH + NAMED * 16_000


class Line(str):
    """A line that knows how many characters of it were taken out."""

    __slots__ = ("taken",)

    def __getitem__(self, which: Any) -> str:
        found = super().__getitem__(which)
        self.taken = getattr(self, "taken", 0) + len(found)
        return found


def named() -> list[Any]:
    ends = [{"line": 0, "character": LENGTH - number} for number in range(NAMED)]
    return [{"start": each, "end": each} for each in ends]


@pytest.mark.parametrize("encoding", [UTF8, UTF16])
def test_places_in_a_long_line_cost_little_each(encoding: str) -> None:
    line = Line("é" * LENGTH)
    source = SimpleNamespace(real="/a", lines=(line,))
    sources: Any = SimpleNamespace(of=lambda _path: source)
    places = Places(sources, encoding, "/")
    found = list(places.spots([{"uri": "file:///a", "range": span} for span in named()]))
    step = 2 if encoding == UTF8 else 1  # a unit of UTF-8 is half of such a character
    assert {each.character for each in found} == {(LENGTH - number - 1) // step + 2 for number in range(NAMED)}
    assert line.taken < MOST
    assert max(len(each.text) for each in found) <= 10_000


@pytest.mark.parametrize("encoding", [UTF8, UTF16])
def test_problems_in_a_long_line_cost_little_each(encoding: str) -> None:
    line = Line("é" * LENGTH)
    found = problems_of([{"message": "m", "range": span} for span in named()], (line,), encoding)
    assert len(found) == NAMED
    assert line.taken < MOST
    assert max(len(each.text) for each in found) <= 2_000
