"""Tools that work on files by themselves do it in the layers of a turn: what they write is drafted as what a command
writes is, and what lies there is what they see."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

import pytest
from api.test_drafts import lays
from api.test_turn_drafts import Turns
from sandbox.changes.worlds import tree

from gateway.api.changes import Changes
from gateway.approval.base import Decided
from gateway.model.call import RawCall
from gateway.model.decision import Decision

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from gateway.calls.output import Done

pytestmark = pytest.mark.skipif(not lays(), reason="no layer is laid over a folder here")


class Tools(Turns):
    def do(self, tool: str, path: str = "", **fields: object) -> Done:
        named = {"Glob": "path", "Grep": "path", "NotebookEdit": "notebook_path"}.get(tool, "file_path")
        given = {named: str(self.root / path), **fields} if path else fields
        return self.calls.call(RawCall(tool, given), session=self.session)

    def worked(self, tool: str, path: str = "", **fields: object) -> str:
        done = self.do(tool, path, **fields)
        assert not done.output.is_error, done.text
        return done.text


@pytest.fixture
def tools(tmp_path: Path) -> Iterator[Tools]:
    made = Tools(tmp_path)
    yield made
    made.close()


def test_what_tools_and_commands_write_lies_in_one_draft_that_all_of_them_see(tools: Tools) -> None:
    before = tree(tools.root)

    def look() -> Decided:
        assert tree(tools.root) == before
        return Decided(True, "me")

    with tools.turn(look):
        done = tools.do("Write", "src/new/b", content="first\n")
        assert (done.verdict.decision, done.verdict.changes) == (Decision.ALLOW, "ask")
        assert (done.verdict.reason.rule.id, done.result.drafted) == ("contained-asked", "pending")
        assert "first" in tools.worked("Read", "src/new/b")
        tools.worked("Edit", "src/new/b", old_string="first", new_string="second")
        assert tools.bash("cat src/new/b && echo third >> src/new/b").text.startswith("second")
        assert "changed since" in tools.do("Edit", "src/new/b", old_string="second", new_string="x").text
        assert "third" in tools.worked("Read", "src/new/b")
        tools.worked("Edit", "src/new/b", old_string="second", new_string="x")
        assert tools.worked("Glob", pattern="**/b").strip().endswith("src/new/b")
        assert "third" in tools.worked("Grep", pattern="third", output_mode="content")
        assert "one" in tools.worked("Read", "src/a")
        tools.worked("Edit", "src/a", old_string="one", new_string="1")
        tools.bash("rm gone; mkdir moved; mv src/a moved/a; touch x; git init -q sub")
        assert "does not exist" in tools.do("Read", "src/a").text
        assert "1" in tools.worked("Read", "moved/a")
        assert "1" in tools.worked("Grep", "moved/a", pattern="1", output_mode="content")
        assert (tools.asked, tools.reviews) == ([], [])
    assert len(tools.reviews) == 1
    assert (tools.root / "src/new/b").read_text() == "x\nthird\n"
    assert (tools.root / "moved/a").read_text() == "1\n"
    assert not (tools.root / "gone").exists()
    (kept,) = Changes(tools.gateway()).list()
    assert Changes(tools.gateway()).undo(kept.of.number).stays == {}
    assert tree(tools.root) == before


def test_what_was_discarded_is_another_version_than_the_one_that_was_read(tools: Tools) -> None:
    before = tree(tools.root)
    with tools.turn(Decided(False, "me", note="no")):
        tools.worked("Read", "src/a")
        tools.worked("Edit", "src/a", old_string="one", new_string="two")
    assert tree(tools.root) == before
    assert "changed since" in tools.do("Edit", "src/a", old_string="one", new_string="two").text


def test_a_version_that_was_read_before_there_were_layers_is_the_same_in_them(tools: Tools) -> None:
    large = "".join(f"line {number}\n" for number in range(200_000))
    (tools.root / "large").write_text(large)
    os.utime(tools.root / "large", (1, 1))
    with tools.turn(Decided(False, "me")):
        tools.worked("Read", "large", limit=3)
        tools.session.reads._seen[str(tools.root / "large")] = tools.session.reads._seen[
            str(tools.root / "large")
        ].replace(digest="", when_ns=2**62)  # as one that had been at rest for long
        tools.worked("Edit", "large", old_string="line 7\n", new_string="line seven\n")
        tools.worked("Edit", "large", old_string="line 9\n", new_string="line nine\n")


def test_a_call_by_itself_is_shown_when_it_has_ended(tools: Tools) -> None:
    tools.open(Decided(False, "me", note="not now"), True)
    done = tools.do("Write", "b", content="x")
    assert (done.output.is_error, "not now" in done.text, (tools.root / "b").exists()) == (True, True, False)
    tools.worked("Write", "b", content="x")
    assert ((tools.root / "b").read_text(), tools.asked, tools.shown()) == ("x", [], [["b"], ["b"]])


@pytest.mark.parametrize("path", [".git/hooks/pre-commit", "CLAUDE.md", "../elsewhere"])
def test_what_is_asked_about_by_more_than_the_mode_is_asked_about_before(tools: Tools, path: str) -> None:
    (tools.root / ".git/hooks").mkdir(parents=True)
    with tools.turn():
        assert tools.do("Write", path, content="x").output.is_error
    assert (len(tools.asked), tools.reviews) == (1, [])


def test_what_a_rule_lets_change_files_goes_on_from_what_nobody_has_decided_about(tools: Tools) -> None:
    (tools.root / "policy").mkdir()
    with tools.turn(True, rules="rules: [{allow: 'Edit(src/**)'}]") as together:
        tools.worked("Write", "src/direct", content="x")
        assert (tools.root / "src/direct").read_text() == "x"  # nothing lies in a layer yet
        tools.bash("echo y > b")
        done = tools.do("Write", "src/later", content="z")
        assert (done.result.drafted, (tools.root / "src/later").exists()) == ("pending", False)
        done = tools.bash("python3 -m compileall -q src; echo z >> b; ls src")
        assert (together.outcome, tools.reviews) == (None, [])
        assert "later" in done.text
    assert len(tools.reviews) == 1
    assert {"b", "src/later"} <= set(tools.shown()[0])


def test_a_link_that_a_command_puts_in_the_way_leads_no_tool_out_of_the_layers(tools: Tools) -> None:
    (tools.top / "secret").write_text("secret\n")
    with tools.turn(Decided(False, "me")):
        done = tools.python(
            f"import os; [os.symlink('{tools.top}' + a, b) for a, b in (('/secret', 'link'), ('', 'x'))]"
        )
        assert not done.output.is_error, done.text
        done = tools.python(f"import os, shutil; shutil.rmtree('src'); os.symlink('{tools.top}', 'src')")
        assert not done.output.is_error, done.text
        for tool, path in (("Read", "link"), ("Read", "x/secret"), ("Read", "src/secret"), ("Grep", "link")):
            done = tools.do(tool, path, **({"pattern": "s", "output_mode": "content"} if tool == "Grep" else {}))
            assert done.output.is_error
            assert "secret\n" not in done.text
        assert tools.do("Write", "src/x", content="x").output.is_error
    assert not (tools.top / "x").exists()


def test_notebooks_too(tools: Tools) -> None:
    cell = {"cell_type": "code", "id": "a", "source": "1", "metadata": {}, "outputs": [], "execution_count": None}
    text = json.dumps({"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5})
    (tools.root / "n.ipynb").write_text(text)
    with tools.turn(True):
        tools.worked("Read", "n.ipynb")
        tools.worked("NotebookEdit", "n.ipynb", cell_id="a", new_source="2", edit_mode="replace")
        assert (tools.root / "n.ipynb").read_text() == text
    assert "2" in json.loads((tools.root / "n.ipynb").read_text())["cells"][0]["source"]
