"""Rules that do not do what they say, each with a call that shows it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from gateway.install.base import Site
from gateway.install.translation.auditing import wrong
from gateway.install.translation.clients import CLIENTS
from gateway.install.translation.importing import imported

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any

    from gateway.install.translation.engine import Engine
    from gateway.policy.table import Policy

ROWS: list[tuple[dict[str, list[str]], list[tuple[str, str, str]]]] = [
    ({"deny": ["Bash(rm -rf:*)"]}, [("walked-around", "Bash(rm -rf:*)", "/usr/bin/rm -rf build")]),
    ({"deny": ["Read(./.env)"]}, [("walked-around", "Read(./.env)", "dd if=.env of=x")]),
    ({"allow": ["Bash(git *)"]}, [("opens-more", "Bash(git *)", "git push --force origin main")]),
    ({"allow": ["Bash(cat:*)"], "deny": ["Read(.env)"]}, [("walked-around", "Read(.env)", "dd if=.env of=x")]),
    (
        {"allow": ["Bash(rm -rf build)"], "deny": ["Bash(rm:*)"]},
        [
            ("overruled", "Bash(rm -rf build)", "rm -rf build"),
            ("walked-around", "Bash(rm:*)", "/usr/bin/rm build"),
        ],
    ),
    ({"allow": ["Write(src/**)"]}, [("never-asked", "Write(src/**)", "")]),
    ({"allow": ["Bash(npm run test:*)", "Read(~/notes/**)"]}, []),
]


@pytest.fixture(scope="module")
def shipped(engine: Engine) -> Policy:
    return engine.shipped()


@pytest.mark.parametrize(("permissions", "found"), ROWS)
def test_a_rule_that_does_not_do_what_it_says_is_shown_by_a_call(
    permissions: dict[str, Any], found: list[tuple[str, str, str]], engine: Engine, shipped: Policy, tmp_path: Path
) -> None:
    (tmp_path / ".claude").mkdir()
    (tmp_path / ".claude/settings.json").write_text(json.dumps({"permissions": permissions}))
    site = Site("user", str(tmp_path), str(tmp_path / "project"), {})
    (each,) = imported(["claude"], site, engine)
    assert [(one.kind, one.text, one.witness) for one in wrong(each, CLIENTS["claude"], engine, shipped)] == found
