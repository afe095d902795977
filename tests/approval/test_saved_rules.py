"""The file of rules saved for good: an ordinary policy, changed whole, by several processes at once."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from warmed import warm

from gateway.approval.saved_rules import SavedRule, SavedRules, entry_of, rule_id, rule_text
from gateway.config.layers import find_files, local_folder
from gateway.config.load import tool_names
from gateway.config.shipped import load_tools
from gateway.core.errors import ConfigError
from gateway.core.places import Places

RULE = rule_text([{"command": "make all", "effect": "code", "cwd": ["."], "confined": True}])
OTHER = rule_text([{"effect": "write", "path": ["a b.txt"]}, {"effect": "delete", "path": ["./c", "./d"]}])
NOW = 1_800_000_000.0


@pytest.fixture
def where(tmp_path: Path) -> Places:
    warm(tmp_path / "cache")
    return Places(*(str(tmp_path / name) for name in ("enterprise", "config", "state", "cache", "home")))


@pytest.fixture
def saved(where: Places, tmp_path: Path) -> SavedRules:
    return SavedRules(where, str(tmp_path), tool_names(load_tools(where)))


def save(saved: SavedRules, text: str, until: float = 0.0) -> str:
    name = rule_id(text, until)
    saved.save(name, entry_of(text, shown="Bash(make all)", by="ann", now=NOW, until=until))
    return name


def test_a_rule_is_written_so_that_a_person_can_read_it(saved: SavedRules) -> None:
    name = save(saved, RULE)
    assert Path(saved.path).read_text(encoding="utf-8") == (
        '# What was answered with "always" in this project. Each rule allows what it says and no more.\n'
        "# `gateway grants list` shows them, `gateway grants revoke ID` takes one back.\n"
        "version: 1\n"
        "rules:\n"
        "  # 2027-01-15T08:00:00Z, ann: Bash(make all)\n"
        f"  - id: {name}\n"
        '    allow: {command: "make all", effect: code, cwd: ".", confined: true}\n'
        '    because: "ann agreed to it for good on 2027-01-15T08:00:00Z"\n'
    )


def test_the_file_is_the_users_and_counts_in_the_local_layer(saved: SavedRules, where: Places, tmp_path: Path) -> None:
    save(saved, RULE)
    assert stat.S_IMODE(os.stat(saved.path).st_mode) == 0o600
    assert saved.folder == local_folder(where, str(tmp_path))
    files = find_files(where, str(tmp_path))
    assert [file.layer for file in files if file.path == saved.path] == ["local"]


def test_rules_are_listed_and_taken_back(saved: SavedRules) -> None:
    names = [save(saved, RULE), save(saved, OTHER), save(saved, RULE), save(saved, RULE, NOW + 60)]
    assert [rule.id for rule in saved.list()] == [names[0], names[1], names[3]]
    assert saved.list()[0] == SavedRule(
        names[0],
        "allow {command: make all, effect: code, cwd: ., confined: true}",
        "ann agreed to it for good on 2027-01-15T08:00:00Z",
        "",
        6,
    )
    assert saved.list()[2].expires == "2027-01-15T08:01:00Z"
    assert [saved.revoke(names[1]), saved.revoke(names[1]), saved.revoke("no-such-rule")] == [True, False, False]
    assert [rule.id for rule in saved.list()] == [names[0], names[3]]
    assert [saved.revoke(names[0]), saved.revoke(names[3]), saved.list()] == [True, True, []]
    assert not os.path.exists(saved.path)


BY_HAND = """\
# mine
version: 1
settings: {mode: plan}
deny: ["Read(secrets/**)"]
rules:
  - id: mine
    allow: {command: ls}

  # of the next
  - {id: always-0, allow: {command: make x}}
  # the last
  - id: last
    deny: {command: rm}
"""


def test_what_was_written_by_hand_stays(saved: SavedRules) -> None:
    name = save(saved, RULE)
    Path(saved.path).write_text(BY_HAND, encoding="utf-8")
    save(saved, RULE)
    assert Path(saved.path).read_text(encoding="utf-8").startswith(BY_HAND)
    assert [saved.revoke(name), saved.revoke("always-0")] == [True, True]
    expected = BY_HAND.replace("  # of the next\n  - {id: always-0, allow: {command: make x}}\n", "")
    assert Path(saved.path).read_text(encoding="utf-8") == expected


@pytest.mark.parametrize(
    "content",
    [
        "version: 1\nrules:\n- {id: a, allow: {command: x}}\ntests: []\n",
        "version: 1\nrules: [{id: a, allow: {command: x}}]\n",
        "version: 1\nallow: [Bash(x)]\n",
        "version: 2\n",
        "version: 1\nrules: [",
        "\xff",
    ],
    ids=["a section after the rules", "rules on one line", "no rules", "another version", "half a file", "no UTF-8"],
)
def test_a_file_that_cannot_be_added_to_stays_as_it_is(saved: SavedRules, content: str) -> None:
    os.makedirs(os.path.dirname(saved.path))
    Path(saved.path).write_bytes(content.encode("latin-1"))
    with pytest.raises(ConfigError):
        save(saved, RULE)
    assert Path(saved.path).read_bytes() == content.encode("latin-1")


def test_a_rule_that_cannot_be_written_is_an_error(saved: SavedRules, where: Places) -> None:
    Path(where.state).write_text("in the way", encoding="utf-8")
    with pytest.raises(ConfigError, match="cannot be written"):
        save(saved, RULE)


def test_a_lock_that_is_no_file_is_an_error(saved: SavedRules) -> None:
    os.makedirs(saved.folder)
    os.mkfifo(os.path.join(saved.folder, "approved.lock"))
    with pytest.raises(ConfigError, match="cannot be locked"):
        save(saved, RULE)


@pytest.mark.parametrize(
    "words",
    ["make 'a\"b'", "x: y", "- a", "a # b", "{a, b}", "*a", "&b", "\\", "caf\u00e9 \U0001f44d", "yes", "1.5", "a\\ b'"],
)
def test_every_text_comes_back_as_it_was(saved: SavedRules, words: str) -> None:
    text = rule_text([{"command": words, "effect": "write", "path": [words]}])
    save(saved, text)
    (rule,) = saved._parse(saved._read())["rules"]
    assert rule["when"] == {"command": [words], "effect": ["write"], "path": [words]}


WRITER = """
import json, sys
from gateway.approval.saved_rules import SavedRules, entry_of, rule_id, rule_text
from gateway.core.places import Places
places, root, number, rounds = json.loads(sys.argv[1])
saved = SavedRules(Places(*places), root, {})
print("ready", flush=True)
sys.stdin.readline()
for turn in range(rounds):
    kept, gone = [rule_text([{"command": f"make {number}-{turn}{end}"}]) for end in ("", "-gone")]
    for text in (kept, gone):
        saved.save(rule_id(text), entry_of(text, shown="x", by="ann", now=0.0))
    assert saved.revoke(rule_id(gone))
"""


def test_processes_that_save_and_revoke_at_once_lose_nothing(saved: SavedRules, where: Places, tmp_path: Path) -> None:
    rounds, writers = 12, 4
    running = []
    for number in range(writers):
        given = json.dumps([list(where), str(tmp_path), number, rounds])
        environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
        running.append(
            subprocess.Popen(
                [sys.executable, "-c", WRITER, given],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                env=environment,
                text=True,
            )
        )
    for process in running:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in running:  # all of them start now
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    for process in running:
        process.communicate(timeout=120)
    assert [process.returncode for process in running] == [0] * writers
    expected = {rule_id(rule_text([{"command": f"make {n}-{turn}"}])) for n in range(writers) for turn in range(rounds)}
    assert {rule.id for rule in saved.list()} == expected
    assert len(saved.list()) == len(expected)
    left = [name for name in os.listdir(os.path.dirname(saved.path)) if name != "approved.yaml"]
    assert left == []
