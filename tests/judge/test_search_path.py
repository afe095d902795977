"""A search path with folders that depend on where one stands."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from gateway.model.call import RawCall

if TYPE_CHECKING:
    from pathlib import Path

    from running import Ground

CASES = {
    "ls": ("ALLOW", "ALLOW"),
    "cd src && ls": ("ASK", "ALLOW"),
    "(cd src; cat a)": ("ASK", "ALLOW"),
    "cd src && tool": ("ASK", "ASK"),
    "cd src": ("ALLOW", "ALLOW"),
}


@pytest.mark.parametrize("command", CASES)
@pytest.mark.parametrize("stands", ["project", "elsewhere"])
def test_a_program_that_is_looked_up_elsewhere_than_where_the_call_begins_may_be_another(
    ground: Ground, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stands: str, command: str
) -> None:
    (ground.project / "src").mkdir()
    monkeypatch.chdir(ground.project if stands == "project" else tmp_path)
    found = []
    for search_path in ("bin:/usr/bin:/bin", "/usr/bin:/bin"):
        opened = ground.open(mode="accept_edits", confined=False, environment={"PATH": search_path})
        found.append(opened.check(RawCall("Bash", {"command": command})).decision.name)
    assert tuple(found) == CASES[command]
