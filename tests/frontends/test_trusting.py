"""What a person is asked about is what is kept: a policy that changes meanwhile is not."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.config.load import Options, tool_files
from gateway.config.shipped import load_tools
from gateway.config.trust import TrustStore
from gateway.core.errors import ConfigError
from gateway.core.places import places
from gateway.frontends import trusting
from gateway.judge.effective_policy import Effective, effective

MILD, WILD = {"rules": [{"id": "yes", "allow": "Bash(ls x)"}]}, {"rules": [{"id": "yes", "allow": "Bash(rm *)"}]}


@pytest.mark.parametrize("shown", [MILD, WILD], ids=["the same", "another one"])
def test_what_is_shown_is_what_is_kept(
    ground, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], shown: dict[str, Any]
) -> None:
    """The file is another one for the look that is shown, and as before for those around it."""
    where, store = places(), TrustStore(places().state)
    options, project = Options(str(ground.project), root=str(ground.project)), str(ground.project)
    monkeypatch.setattr(trusting, "agreed", lambda *_asked: True)

    def look(asked: Options) -> tuple[Effective, Any, Any]:
        ground.says(shown if asked.trust else MILD, layer="project")
        brought = tool_files(where, asked)
        registry = load_tools(where, brought)
        return effective(where, asked, registry, brought), where, registry

    if shown is MILD:
        assert trusting.accept(store, options, project, None, look) == 0
        assert "allow Bash(ls x)" in capsys.readouterr().out
        assert len(store.digests(project)) == 1
        return
    with pytest.raises(ConfigError, match="must not change while it is looked at"):
        trusting.accept(store, options, project, None, look)
    assert store.digests(project) == frozenset()
