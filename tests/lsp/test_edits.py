"""Language servers hear of what calls change, and what is newly wrong is told with the result."""

from __future__ import annotations

import json
from typing import Any

import pytest

NEW = "New problems in a.txt, says language server `text`:\n"


@pytest.fixture
def editing(scripted: Any) -> Any:
    """A server that runs, and a file that was read."""
    scripted.says(publishes="plain")
    scripted.ask("symbols")
    scripted.call("Read", file_path="a.txt")
    return scripted


def last(done: Any) -> str:
    assert not done.output.is_error, done.text
    return done.output.blocks[-1].text


def test_what_is_newly_wrong_is_told_after_an_edit(editing: Any) -> None:
    done = editing.call("Edit", file_path="a.txt", old_string="two", new_string="BAD")
    assert last(done) == NEW + "  1:5 error: BAD word (scripted)"
    done = editing.call("Edit", file_path="a.txt", old_string="three", new_string="POOR")
    assert last(done) == NEW + "  2:1 warning: POOR word (scripted)"
    done = editing.call("Edit", file_path="a.txt", old_string="one", new_string="\none")
    assert len(done.output.blocks) == 2  # it has only moved


def test_what_is_newly_wrong_is_told_after_a_write(editing: Any) -> None:
    done = editing.call("Write", file_path="a.txt", content="BAD\nBAD\n")
    assert last(done) == NEW + "  1:1 error: BAD word (scripted)\n  2:1 error: BAD word (scripted)"
    made = editing.call("Write", file_path="new.txt", content="POOR\n")
    assert last(made).splitlines()[1:] == ["  1:1 warning: POOR word (scripted)"]


def test_much_that_is_wrong_is_cut(editing: Any) -> None:
    done = editing.call("Write", file_path="a.txt", content="BAD\n" * 25)
    assert last(done).splitlines()[-1] == "  … and 5 more"
    assert len(last(done).splitlines()) == 22


def test_a_file_that_the_server_has_not_seen_is_compared_with_what_it_was(editing: Any) -> None:
    editing.file("b.txt", "BAD old\nx\n")
    editing.call("Read", file_path="b.txt")
    done = editing.call("Edit", file_path="b.txt", old_string="x", new_string="POOR")
    assert last(done) == "New problems in b.txt, says language server `text`:\n  2:1 warning: POOR word (scripted)"


def test_problems_that_the_server_is_asked_for_are_compared_as_well(scripted: Any) -> None:
    scripted.says(capabilities={**scripted.ALL, "diagnosticProvider": {}})
    problem = {"range": {"start": {"line": 0, "character": 0}}, "message": "old"}
    scripted.does("textDocument/diagnostic", result={"kind": "full", "items": [problem]})
    scripted.ask("symbols")
    scripted.call("Read", file_path="a.txt")
    done = scripted.call("Edit", file_path="a.txt", old_string="two", new_string="2")
    assert (done.output.is_error, len(done.output.blocks)) == (False, 2)
    scripted.does("textDocument/diagnostic", result={"kind": "full", "items": [problem, {**problem, "message": "new"}]})
    # What it is asked for before the next edit is what was wrong then.
    done = scripted.call("Edit", file_path="a.txt", old_string="2", new_string="two")
    assert (done.output.is_error, len(done.output.blocks)) == (False, 2)


def test_a_server_that_says_nothing_does_not_hold_up_an_edit(scripted: Any) -> None:
    scripted.declared["after_edit"] = 1
    scripted.ask("symbols")
    scripted.call("Read", file_path="a.txt")
    done = scripted.call("Edit", file_path="a.txt", old_string="two", new_string="BAD")
    assert (done.output.is_error, len(done.output.blocks), done.reports) == (False, 2, ())


def test_where_policy_says_so_nobody_waits_and_servers_hear_all_the_same(scripted: Any) -> None:
    scripted.declared["after_edit"] = 0
    scripted.says(publishes="plain")
    scripted.ask("symbols")
    scripted.call("Read", file_path="a.txt")
    assert len(scripted.call("Edit", file_path="a.txt", old_string="two", new_string="BAD").output.blocks) == 2
    (change,) = scripted.heard("textDocument/didChange")
    assert change["contentChanges"] == [{"text": "one BAD\nthree\n"}]


def test_without_a_running_server_an_edit_starts_none(scripted: Any) -> None:
    scripted.open()
    scripted.call("Read", file_path="a.txt")
    done = scripted.call("Edit", file_path="a.txt", old_string="two", new_string="BAD")
    assert (len(done.output.blocks), [each["tool"] for each in scripted.ground.records() if "tool" in each]) == (
        2, ["Read", "Edit"],
    )  # fmt: skip


def test_a_file_of_no_server_is_edited_as_ever(editing: Any) -> None:
    done = editing.call("Write", file_path="a.other", content="BAD\n")
    assert (len(done.output.blocks), done.reports) == (1, ())


def test_a_server_that_ends_meanwhile_fails_no_edit(editing: Any) -> None:
    editing.server()._child.close()
    done = editing.call("Edit", file_path="a.txt", old_string="two", new_string="BAD")
    assert (done.output.is_error, (editing.project / "a.txt").read_text()) == (False, "one BAD\nthree\n")


def test_a_server_that_does_not_say_what_was_wrong_hears_of_the_change(scripted: Any) -> None:
    scripted.says(capabilities={**scripted.ALL, "diagnosticProvider": {}})
    scripted.does("textDocument/diagnostic", error={"code": -32603, "message": "broken"})
    scripted.ask("symbols")
    scripted.call("Read", file_path="a.txt")
    done = scripted.call("Edit", file_path="a.txt", old_string="two", new_string="2")
    assert (done.output.is_error, len(done.output.blocks), len(done.reports)) == (False, 2, 1)
    assert "answered with an error: broken" in done.reports[0]
    told = scripted.heard("workspace/didChangeWatchedFiles")
    assert [each["changes"][0]["uri"] for each in told] == [f"file://{scripted.project}/a.txt"]


def test_a_fault_of_ours_fails_no_edit(editing: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_given: Any) -> None:
        raise ZeroDivisionError("of ours")

    monkeypatch.setattr("gateway.lsp.edits.new_ones", fails)
    done = editing.call("Edit", file_path="a.txt", old_string="two", new_string="BAD")
    assert (done.output.is_error, len(done.output.blocks)) == (False, 2)
    assert done.reports == ("what language servers say of the change is not known (ZeroDivisionError: of ours)",)


def test_a_server_hears_of_every_file_that_a_command_changes(scripted: Any) -> None:
    scripted.rules.append({"id": "shell", "allow": "Bash"})
    scripted.file("old.txt", "x")
    scripted.ask("symbols")
    done = scripted.call("Bash", command="echo POOR >> a.txt; echo x > made.txt; rm old.txt")
    assert not done.output.is_error, done.text
    (told,) = scripted.heard("workspace/didChangeWatchedFiles")
    root = f"file://{scripted.project}"
    changes = sorted((each["uri"].removeprefix(root), each["type"]) for each in told["changes"])
    assert changes == [("/a.txt", 2), ("/made.txt", 2), ("/old.txt", 3)]
    (change,) = scripted.heard("textDocument/didChange")
    assert change["contentChanges"] == [{"text": "one two\nthree\nPOOR\n"}]


def test_a_server_hears_of_a_notebook_that_was_changed(scripted: Any) -> None:
    cell = {"cell_type": "code", "id": "c", "metadata": {}, "source": "1", "outputs": [], "execution_count": None}
    notebook = {"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": [cell]}
    scripted.file("n.ipynb", json.dumps(notebook))
    scripted.declared["extensions"] = {".txt": "plaintext", ".ipynb": "json"}
    scripted.says(publishes="plain")
    scripted.ask("symbols", file_path="n.ipynb")
    scripted.call("Read", file_path="n.ipynb")
    done = scripted.call("NotebookEdit", notebook_path="n.ipynb", cell_id="c", new_source="BAD")
    assert last(done).splitlines()[0] == "New problems in n.ipynb, says language server `text`:"


def test_a_file_that_may_not_be_read_is_not_handed_to_a_server_when_it_is_written(scripted: Any) -> None:
    scripted.rules.append({"id": "hidden", "deny": {"effect": "read", "path": ["hidden.txt"]}})
    scripted.says(publishes="plain")
    scripted.ask("symbols")
    done = scripted.call("Write", file_path="hidden.txt", content="BAD\n")
    assert (done.output.is_error, len(done.output.blocks)) == (False, 1)
    opened = [each["textDocument"]["uri"] for each in scripted.heard("textDocument/didOpen")]
    assert opened == [f"file://{scripted.project}/a.txt"]


def test_a_file_that_a_person_let_be_edited_once_is_not_handed_to_a_server(scripted: Any) -> None:
    from gateway.approval.callback import Callback

    outside = scripted.ground.top / "outside.txt"
    outside.write_text("two\n", encoding="utf-8")
    scripted.says(publishes="plain")
    scripted.open(approver=Callback(lambda _question: True))
    scripted.ask("symbols")
    scripted.call("Read", file_path=str(outside))
    done = scripted.call("Edit", file_path=str(outside), old_string="two", new_string="BAD")
    assert (done.output.is_error, len(done.output.blocks), outside.read_text(encoding="utf-8")) == (False, 2, "BAD\n")
    opened = [each["textDocument"]["uri"] for each in scripted.heard("textDocument/didOpen")]
    assert opened == [f"file://{scripted.project}/a.txt"]
