"""What a skill says that it uses forbids everything else, and allows nothing."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.model.call import RawCall
from gateway.skills.narrowing import rule

POLICY = {"allow": ["Bash(git *)", "Bash(ls *)", "Edit(./**)", "Read(./**)", "WebFetch(domain:example.com)"]}
READ = ("Read", {"file_path": "src/a.py"})
EDIT = ("Edit", {"file_path": "src/a.py", "old_string": "x", "new_string": "y"})
WRITE = ("Write", {"file_path": "docs/a.md", "content": ""})
FETCH = ("WebFetch", {"url": "https://example.com/", "prompt": "?"})


def bash(command: str) -> tuple[str, dict[str, Any]]:
    return "Bash", {"command": command}


CASES = {
    "whole tools": (["Read", "Edit"], {READ[0]: READ, EDIT[0]: EDIT}, [WRITE, bash("git status"), FETCH]),
    "commands": (
        ["Bash(git status:*)", "Bash(ls *)"],
        {"one": bash("git status -s"), "both": bash("git status && ls src")},
        [bash("git log"), bash("git status && git log"), bash("ls $(git log)"), bash("ls > src/x"), READ],
    ),
    "paths": (
        ["Edit(src/**)", "Read"],
        {"edit": EDIT, "read": READ},
        [WRITE, ("Write", {"file_path": "src/../b", "content": ""}), bash("git status")],
    ),
    "paths to read": (["Read(src/**)"], {"read": READ}, [("Read", {"file_path": "README.md"}), EDIT]),
    "hosts": (["WebFetch(domain:example.com)"], {"fetch": FETCH}, [READ, bash("ls src")]),
    "an old name": (["MultiEdit"], {"edit": EDIT}, [READ]),
    "what nobody knows": (["Teleport", "Read"], {"read": READ}, [EDIT]),
    "nothing": ([], {}, [READ, EDIT, bash("ls src")]),
}


@pytest.mark.parametrize(("tools", "stays", "goes"), CASES.values(), ids=CASES)
def test_only_what_it_says_it_uses_stays(guard: Any, tools: list[str], stays: dict[str, Any], goes: list[Any]) -> None:
    gateway = guard({"user": POLICY})
    known = {name: gateway.registry.canonical_name(name) for name in gateway.registry.names()}
    text = rule("s", tools, ["TodoWrite"], known)
    import json

    narrowed = guard({"user": {**POLICY, "rules": json.loads(text)["rules"]}})

    def said(which: Any, call: tuple[str, dict[str, Any]]) -> str:
        return str(which.check(RawCall(*call)).decision.word)

    assert {name: said(narrowed, call) for name, call in stays.items()} == {
        name: said(gateway, call) for name, call in stays.items()
    }
    assert [said(narrowed, call) for call in goes] == ["deny"] * len(goes)
    assert said(narrowed, ("TodoWrite", {"todos": []})) == "allow"
    for call in (bash("rm -r src"), ("Read", {"file_path": "/home/dev/.ssh/id_rsa"})):  # and nothing becomes looser
        assert narrowed.check(RawCall(*call)).decision >= gateway.check(RawCall(*call)).decision
