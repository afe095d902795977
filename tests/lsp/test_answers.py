"""What servers are told when they ask."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.lsp.answers import UnansweredError, answer

CONFIGURATION = {"python": {"analysis": {"mode": "strict"}}, "plain": 1}
FOLDERS = [{"uri": "file:///p", "name": "p"}]
ASKED = {
    "its configuration": (
        "workspace/configuration",
        {"items": [*({"section": name} for name in ("python.analysis", "plain", "plain.x", "z")), {}, 3]},
        [{"mode": "strict"}, 1, None, None, CONFIGURATION, CONFIGURATION],
    ),
    "a configuration of nothing": ("workspace/configuration", {"items": None}, []),
    "the folders": ("workspace/workspaceFolders", {}, FOLDERS),
    "to change files": (
        "workspace/applyEdit", {"edit": {}},
        {"applied": False, "failureReason": "language servers change nothing here"},
    ),
    "to open something": ("window/showDocument", {"uri": "https://example.com"}, {"success": False}),
    "to choose": ("window/showMessageRequest", {"message": "Yes?", "actions": [{"title": "Yes"}]}, None),
    "to note a capability": ("client/registerCapability", {"registrations": []}, None),
    "for progress": ("window/workDoneProgress/create", {"token": 1}, None),
}  # fmt: skip


@pytest.mark.parametrize(("method", "params", "expected"), ASKED.values(), ids=ASKED)
def test_a_server_that_asks_is_answered(method: str, params: Any, expected: Any) -> None:
    assert answer(method, params, CONFIGURATION, FOLDERS) == expected


def test_a_server_that_asks_for_its_configuration_over_and_over_is_not_answered() -> None:
    sections = [{"section": "plain"}] * 1_000
    assert answer("workspace/configuration", {"items": sections}, CONFIGURATION, []) == [1] * 1_000
    with pytest.raises(UnansweredError, match="no more than 1,000 sections are told at once"):
        answer("workspace/configuration", {"items": [*sections, {}]}, CONFIGURATION, [])


def test_what_nobody_knows_is_not_answered() -> None:
    with pytest.raises(UnansweredError, match="`workspace/executeCommand` is not answered here"):
        answer("workspace/executeCommand", {}, {}, [])
