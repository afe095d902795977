"""Which folders are a workspace, wherever they lie."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from warmed import warm

from gateway.config.load import Options
from gateway.core.places import Places
from gateway.judge.judge import Judge
from gateway.judge.pipeline import is_workspace
from gateway.model.call import RawCall

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("folder", "may_be"),
    [
        ("/opt/project", True), ("/usr/local/src/project", True), ("/srv/project", True), ("/home/dev/project", True),
        ("/", False), ("/opt", False), ("/usr/local", False), ("/usr", False), ("/etc", False), ("/home/dev", False),
        ("/home", False),
    ],
)  # fmt: skip
def test_what_lies_in_a_folder_of_the_system_may_be_one_and_such_a_folder_never(folder: str, may_be: bool) -> None:
    assert is_workspace(folder, "/home/dev") is may_be


@pytest.mark.parametrize("root", ["/opt/project", "/usr/local/project", "/srv/project"])
@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("echo hi > ROOT/x", "allow"), ("mkdir ROOT/d", "allow"), ("rm ROOT/x", "allow"),
        ("echo x > ROOT/.git/hooks/x", "ask"),
        ("echo x > /opt/other/x", "ask"), ("cp x /usr/local/bin/tool", "ask"), ("echo x > /usr/local/x", "ask"),
        ("rm -rf ROOT", "deny"),
    ],
)  # fmt: skip
def test_a_project_is_the_workspace_wherever_it_lies(tmp_path: Path, root: str, text: str, said: str) -> None:
    here = Places(*[str(tmp_path / name) for name in ("etc", "config", "state", "cache", "home")])
    warm(here.cache)
    judge = Judge(Options(root, root=root, mode="accept_edits"), where=here, contains=lambda *_: "")
    found = judge.check(RawCall("Bash", {"command": text.replace("ROOT", root)}))
    assert found.decision.word == said
