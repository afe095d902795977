"""`gateway grants`, and `gateway exec` where a person is asked: processes of their own, in a home of their own."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from attended import at_terminal
from warmed import warm

from gateway.approval.saved_rules import SavedRules, entry_of, rule_id, rule_text
from gateway.core.places import Places

if TYPE_CHECKING:
    from pathlib import Path

RULE = rule_text([{"command": "touch a", "effect": "write", "path": ["./a"]}])
NAME = rule_id(RULE)


@pytest.fixture
def person(tmp_path: Path, in_process, command):
    """A person with a project of their own: `run` runs `gateway` there, `at_terminal` does so at a terminal."""
    project = tmp_path / "home" / "project"
    (project / ".git").mkdir(parents=True)
    place = {"HOME": str(tmp_path / "home"), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    warm(tmp_path / "cache" / "gateway")
    state = str(tmp_path / "home" / ".local/state/gateway")

    class Person:
        saved = SavedRules(Places("", "", state, "", ""), str(project), {})

        @staticmethod
        def run(*words: str) -> Any:
            return in_process(*words, cwd=project, **place)

        @staticmethod
        def at_terminal(*words: str, types: str) -> tuple[int, str]:
            """Types a line at each question. Gives the exit status and what was on the screen."""
            return at_terminal(command(*words, cwd=project, **place), *types.splitlines(True), question=b"Run it?")

    (project / "src").mkdir()
    Person.project = project  # type: ignore[attr-defined]
    return Person


def save(person: Any, until: float = 0.0) -> None:
    person.saved.save(rule_id(RULE, until), entry_of(RULE, shown="Bash(touch a)", by="ann", now=1e9, until=until))


def test_with_nothing_saved_there_is_nothing_to_list(person) -> None:
    done = person.run("grants", "list")
    assert (done.returncode, done.stdout, done.stderr) == (0, b"nothing was allowed for good in this project\n", b"")


def test_saved_rules_are_listed_with_who_and_when(person) -> None:
    save(person)
    save(person, 2e9)
    done = person.run("grants", "list")
    expected = (
        f"{NAME}\n  allow {{command: touch a, effect: write, path: ./a}}\n"
        "  ann agreed to it for good on 2001-09-09T01:46:40Z\n\n"
        f"{rule_id(RULE, 2e9)}\n  allow {{command: touch a, effect: write, path: ./a}} expires 2033-05-18T03:33:20Z\n"
        "  ann agreed to it for good on 2001-09-09T01:46:40Z\n  until 2033-05-18T03:33:20Z\n\n"
        f"{person.saved.path}\n"
    )
    assert (done.returncode, done.stdout.decode(), done.stderr) == (0, expected, b"")


def test_the_list_as_json(person) -> None:
    save(person)
    done = person.run("grants", "list", "--json", "--cwd", str(person.project / "src"))
    assert json.loads(done.stdout) == {
        "file": person.saved.path,
        "grants": [
            {
                "id": NAME,
                "text": "allow {command: touch a, effect: write, path: ./a}",
                "because": "ann agreed to it for good on 2001-09-09T01:46:40Z",
                "expires": "",
                "line": 6,
            }
        ],
    }


def test_a_revoked_rule_is_gone_and_its_call_asks_again(person) -> None:
    before = person.run("check", "Bash(touch a)").returncode
    save(person)
    allowed = person.run("check", "Bash(touch a)").returncode
    done = person.run("grants", "revoke", NAME)
    after = person.run("check", "Bash(touch a)").returncode
    assert (before, allowed, done.stdout.decode(), after) == (3, 0, f"revoked {NAME}\n", 3)


def test_an_id_that_is_not_there_is_an_error_and_the_others_are_gone(person) -> None:
    save(person)
    done = person.run("grants", "revoke", "nothing", NAME)
    assert (done.returncode, done.stdout.decode()) == (2, f"revoked {NAME}\n")
    assert done.stderr.decode().startswith("gateway: id must be one of a saved rule (got `nothing`)\n")
    assert person.saved.list() == []


def test_a_saved_rule_has_nothing_for_the_linter_to_say(person) -> None:
    save(person)
    done = person.run("policy", "lint")
    assert (done.returncode, done.stdout) == (0, b"nothing to say\n")


@pytest.mark.parametrize(
    ("call", "status"),
    [
        ("gateway grants list", 0),
        ("gateway grants list --json", 0),
        ("gateway grants revoke always-1", 4),
        ("gateway grants revoke --cwd . always-1", 4),
        ("gateway grants", 0),
        ("python3 -m gateway grants revoke always-1", 4),
    ],
)
def test_an_agent_may_look_and_may_not_change(person, call: str, status: int) -> None:
    assert person.run("check", f"Bash({call})").returncode == status


@pytest.fixture(scope="module")
def sandboxed() -> dict[str, bytes]:
    """What is said where no sandbox holds, once it was tried."""
    return {}


@pytest.fixture
def holds(person, sandboxed: dict[str, bytes]) -> None:
    if "why" not in sandboxed:
        done = person.run("exec", "--", "true")
        sandboxed["why"] = done.stderr if done.returncode else b""
    if sandboxed["why"]:
        pytest.skip(f"no sandbox holds here: {sandboxed['why'].decode()}")
    # Questions before a call: contained ones are asked about afterwards.
    config = person.project.parent / ".config" / "gateway"
    config.mkdir(parents=True)
    (config / "policy.yaml").write_text("version: 1\nextends: [daily]\nsettings: {contained: 'off'}\n")


@pytest.mark.usefixtures("holds")
@pytest.mark.parametrize(
    ("types", "status"),
    [("y\n", 0), ("n\n", 126), ("\n", 126), ("\x04", 126), ("s\ns\ns\n", 126), ("s\ny\n", 0), ("\x03", 130)],
    ids=repr,
)
def test_a_command_runs_if_the_person_at_the_terminal_says_so(person, types: str, status: int) -> None:
    assert person.at_terminal("exec", "--", "touch", "a", types=types)[0] == status
    assert (person.project / "a").exists() is (status == 0)


@pytest.mark.usefixtures("holds")
def test_the_screen_shows_what_will_run_and_what_always_would_save(person) -> None:
    _status, screen = person.at_terminal("exec", "--", "touch", "a", types="n\n")
    rule = 'allow: {command: "touch a", effect: write, path: "./a", path_not: "./a/**"}'
    expected = ["touch a", f"{person.project}/a", "network", rule, "Run it? [y/a/n]", "was not approved"]
    flat = " ".join(screen.replace("\r\n", " ").split())
    assert [each for each in expected if each.replace("\n", " ") not in flat and each not in screen] == []


@pytest.mark.usefixtures("holds")
def test_always_is_saved_and_not_asked_about_again(person) -> None:
    status, _screen = person.at_terminal("exec", "--", "touch", "a", types="a\n")
    (rule,) = person.saved.list()
    again = person.run("exec", "--", "touch", "a")
    other = person.run("exec", "--", "touch", "b")
    assert (status, again.returncode, other.returncode) == (0, 0, 126)
    assert rule.text == "allow {command: touch a, effect: write, path: ./a, path_not: ./a/**}"


def test_where_nobody_is_the_command_is_refused(person) -> None:
    done = person.run("exec", "--", "touch", "a")
    assert (done.returncode, "There is nobody to ask, so it is refused.\n" in done.stderr.decode()) == (
        126,
        True,
    )


def test_policy_may_say_that_nobody_is_asked(person) -> None:
    folder = person.project.parent / ".config" / "gateway"
    folder.mkdir(parents=True)
    (folder / "policy.yaml").write_text("version: 1\nsettings: {approvers: [refuse]}\n", encoding="utf-8")
    status, screen = person.at_terminal("exec", "--", "touch", "a", types="y\n")
    assert (status, "Run it?" in screen, "policy lets only refuse be asked" in screen) == (126, False, True)
