"""`docs/tutorial.md` and `docs/why-it-asks.md`: every command in them is run, and prints what stands below it."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from replaying import ROOT, World, check, commands_of, things_here

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

DOCS = ROOT / "docs"
HEAD, *SECTIONS = re.split(r"^(?=## )", (DOCS / "why-it-asks.md").read_text(encoding="utf-8"), flags=re.MULTILINE)
CAUSES = 20


def title(section: str) -> str:
    return section.partition("\n")[0].removeprefix("## ")


@pytest.fixture(scope="module")
def replayed() -> Iterator[Callable[[str], None]]:
    """Runs all of a page, at a home of its own in the same place for each, from the folder of the checkout."""

    def run(page: str) -> None:
        commands = [each for each in commands_of(page) if not each.needs - things_here()]
        check(commands, World("elsewhere", Path(top)).look(commands, ROOT))
        shutil.rmtree(top)
        os.mkdir(top, 0o700)

    with tempfile.TemporaryDirectory(dir="/tmp") as top:  # long paths would break lines elsewhere
        yield run


@pytest.mark.parametrize("section", SECTIONS, ids=title)
def test_each_cause_asks_and_gets_the_answer_that_the_page_promises(replayed, section: str) -> None:
    replayed(HEAD + section)


def test_the_page_of_causes_has_as_many_as_it_says_in_their_order() -> None:
    assert [title(each).partition(".")[0] for each in SECTIONS] == [str(each) for each in range(1, CAUSES + 1)]
    assert [title(each) for each in SECTIONS if "$ gateway check" not in each] == []


def test_the_tutorial_shows_what_its_commands_print(replayed) -> None:
    replayed((DOCS / "tutorial.md").read_text(encoding="utf-8"))
