"""`command:` tools, declared in YAML alone: judged by their words, run in the sandbox without any shell."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.calls.output import Progress
from gateway.model.call import RawCall
from gateway.sandbox.backends.spaces import Spaces

TOOLS = """\
version: 1
tools:
  Show:
    summary: Show words.
    description: Shows words as they are.
    input:
      properties:
        words: {type: array, items: {type: string}}
        status: {type: integer, minimum: 0, default: 0}
      required: [words]
    level: read
    concurrency_safe: by_effects
    handler: {command: [printf, --, '%s|', '{words}']}
    examples: [{call: {words: [a]}, effects: ["shell printf -- '%s|' a"]}]
  Fail:
    summary: Fail.
    description: Fails.
    input: {properties: {file: {type: string}}, required: [file]}
    handler: {command: [cat, --, '{file}']}
    examples: [{call: {file: a}, effects: [shell cat -- a]}]
  Remove:
    summary: Remove a file.
    description: Removes a file.
    input: {properties: {file: {type: string}}, required: [file]}
    match: {field: file, kind: path}
    handler: {command: [rm, --, '{file}']}
    examples: [{call: {file: a}, effects: [shell rm -- /home/dev/project/a]}]
"""


@pytest.fixture
def place(ground) -> Any:
    if not (probe := Spaces().probe()).works:
        pytest.skip(f"namespaces do not hold here: {probe.reason}")
    ground.says(TOOLS, name="tools.yaml")
    return ground


@pytest.mark.parametrize(
    ("unit", "text"), [("lines", "2"), ("words", "3"), ("bytes", "9")], ids=["lines", "words", "bytes"]
)
def test_the_shipped_word_count_counts(place, unit: str, text: str) -> None:
    (place.project / "a b.txt").write_text("x yy\nzzz\n", encoding="utf-8")
    done = place.open().call(RawCall("WordCount", {"file": "a b.txt", "unit": unit}))
    assert (done.text, done.output.is_error) == (f"{text} {place.project}/a b.txt", False)
    assert done.output.data == {"stdout": done.text + "\n", "stderr": "", "exit_code": 0}
    assert done.plan is not None
    assert (done.result.backend, done.plan.network.mode) == ("namespaces", "off")


TRICKY = ["$(touch ran)", "`touch ran`", "a; touch ran", "a\nb", "*", "~", "$HOME", "'", '"', "\\", "-e", "--help", ""]


def test_each_word_stays_one_word_whatever_is_in_it(place) -> None:
    done = place.open().call(RawCall("Show", {"words": TRICKY}))
    assert done.text == "".join(f"{word}|" for word in TRICKY)
    assert not (place.project / "ran").exists()


def test_a_status_other_than_0_is_an_error_that_shows_what_was_said(place) -> None:
    done = place.open().call(RawCall("Fail", {"file": "no-such"}))
    assert (done.output.is_error, done.result.status) == (True, 1)
    assert "No such file" in done.text
    assert done.text.endswith("It ended with status 1.")
    (place.project / "no-such").write_text("now\n", encoding="utf-8")
    again = place.open().call(RawCall("Fail", {"file": "no-such"}))
    assert (again.text, again.output.is_error) == ("now", False)


def test_what_it_does_is_judged_like_a_command(place) -> None:
    (place.project / ".env").write_text("KEY=1\n", encoding="utf-8")
    (place.project / "a").write_text("", encoding="utf-8")
    gateway = place.open()
    for raw, rule in (
        (RawCall("WordCount", {"file": ".env"}), "secret-files"),
        (RawCall("Fail", {"file": ".env"}), "secret-files"),
        (RawCall("Remove", {"file": "a"}), "mode:default"),
    ):
        done = gateway.call(raw)
        assert (done.ran, done.verdict.reason.rule.id) == (False, rule)
    place.says({"rules": [{"id": "clean", "allow": {"tool": "Remove", "exec": ["rm"]}}]})
    assert place.open().call(RawCall("Remove", {"file": "a"})).ran
    assert not (place.project / "a").exists()


def test_its_output_is_told_as_it_comes(place) -> None:
    heard: list[Progress] = []
    place.open().call(RawCall("Show", {"words": ["a"]}), progress=heard.append)
    assert heard == [Progress("stdout", "a|")]


def test_a_program_in_a_folder_of_the_agents_own_is_not_the_one_that_runs(place) -> None:
    folder = place.project / "bin"
    folder.mkdir()
    for name in ("printf", "wc"):
        (folder / name).write_text("#!/bin/sh\necho mine\n", encoding="utf-8")
        (folder / name).chmod(0o755)
    place.says({"rules": [{"id": "all", "allow": {"tool": "Show"}}]})
    gateway = place.open(environment={"PATH": f"{folder}:/usr/bin:/bin"})
    assert gateway.call(RawCall("Show", {"words": ["a"]})).text == "a|"


def test_a_new_tool_is_everywhere_at_once(place) -> None:
    gateway = place.open()
    offered = {each["name"]: each for each in gateway.tools("mcp")}
    assert offered["Show"]["inputSchema"]["required"] == ["words"]
    assert gateway.calls.is_safe(RawCall("Show", {"words": ["a"]}), gateway.calls._own(None))
    place.says({"rules": [{"id": "not-this", "deny": "Show"}]})
    assert "Show" not in {each["name"] for each in place.open().tools()}
