"""What an LSP call needs before any server is asked; what servers answer is in `tests/lsp`."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.model.call import RawCall

AT = {"line": 1, "character": 1}
REFUSED = {
    "no place": (
        {"operation": "hover"}, ("$.line: must be given for `hover`", "$.character: must be given for `hover`"),
    ),
    "half a place": ({"operation": "definition", "line": 1}, ("$.character: must be given for `definition`",)),
    "a name that nobody looks for": (
        {"operation": "symbols", "query": "x"}, ("$.query: is for `workspace_symbols` only\n  help: leave it out",),
    ),
}  # fmt: skip


@pytest.fixture
def gateway(ground: Any) -> Any:
    server = {"command": ["./never"], "extensions": {".txt": "plaintext"}}
    ground.says({"settings": {"language_servers": {"text": server}}, "rules": [{"id": "all", "allow": "Bash"}]})
    (ground.project / "a.txt").write_text("x\n", encoding="utf-8")
    return ground.open()


def call(gateway: Any, **given: Any) -> Any:
    return gateway.call(RawCall("LSP", {"file_path": "a.txt", **given}))


@pytest.mark.parametrize(("given", "problems"), REFUSED.values(), ids=REFUSED)
def test_a_call_without_what_its_operation_needs_is_refused(gateway: Any, given: Any, problems: Any) -> None:
    done = call(gateway, **given)
    assert not done.ran
    assert tuple(str(each) for each in done.error.problems) == problems


@pytest.mark.parametrize("operation", ["symbols", "diagnostics", "workspace_symbols"])
def test_an_operation_on_a_whole_file_needs_no_place(gateway: Any, operation: str) -> None:
    assert call(gateway, operation=operation).ran


FILES = {
    "one that is not there": ("missing.txt", "/missing.txt does not exist."),
    "a folder": ("sub.txt", "/sub.txt is a folder. Glob shows what it holds."),
    "one that is no text": (
        "binary.txt", "/binary.txt is no plain text file of at most 8.0 MiB. Use Read to look at it.",
    ),
    "one that no server serves": (
        "a.other", "No language server serves `*.other`. Configured are: text (.txt).",
    ),
    "one without an ending": ("other", "No language server serves `other`. Configured are: text (.txt)."),
}  # fmt: skip


@pytest.mark.parametrize(("name", "said"), FILES.values(), ids=FILES)
def test_a_file_that_cannot_be_asked_about_starts_no_server(gateway: Any, ground: Any, name: str, said: str) -> None:
    (ground.project / "sub.txt").mkdir()
    (ground.project / "binary.txt").write_bytes(b"\0\1" * 99)
    for each in ("a.other", "other"):
        (ground.project / each).write_text("x\n", encoding="utf-8")
    done = call(gateway, operation="symbols", file_path=name)
    assert done.output.is_error
    assert done.text.replace(str(ground.project), "") == said
    assert [each["tool"] for each in ground.records() if "tool" in each] == ["LSP"]


def test_a_file_that_would_be_asked_about_is_refused_where_nobody_is(gateway: Any, ground: Any) -> None:
    outside = ground.top / "outside.txt"
    outside.write_text("x\n", encoding="utf-8")
    done = call(gateway, operation="hover", file_path=str(outside), **AT)
    assert not done.ran
    assert "There is nobody to ask" in done.text
