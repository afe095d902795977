"""What is said where the server cannot serve."""

from __future__ import annotations

import importlib.util

import pytest

from gateway.core.errors import ConfigError
from gateway.frontends.cli import policy_lsp


def test_without_the_extra_it_names_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _name: None)
    with pytest.raises(ConfigError) as caught:
        policy_lsp.lsp()
    assert str(caught.value) == (
        "the language server needs pygls\n  help: install `agent-gateway[editor]`, in a checkout `.[editor]`"
    )


def test_at_a_terminal_it_says_that_an_editor_starts_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(policy_lsp, "is_terminal", lambda _stream: True)
    with pytest.raises(ConfigError) as caught:
        policy_lsp.lsp()
    assert str(caught.value) == (
        "the language server talks to an editor (got a terminal)\n"
        "  help: tell your editor to start it: docs/policies.md"
    )
