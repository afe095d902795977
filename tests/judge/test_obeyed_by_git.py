"""What git takes hooks, settings and programs from in a project is protected like `.git/hooks`, by name and by tool."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest

from gateway.model.call import RawCall

if TYPE_CHECKING:
    from running import Ground

RULE = "protected-repository-files"
WAYS = {
    "Write": RawCall("Write", {"file_path": "scripts/hooks/pre-commit", "content": "x"}),
    "a redirect": RawCall("Bash", {"command": "echo x > scripts/hooks/pre-commit"}),
    "a copy": RawCall("Bash", {"command": "cp a scripts/hooks/post-checkout"}),
    "an edit in place": RawCall("Bash", {"command": "sed -i s/a/b/ scripts/hooks/pre-commit"}),
    "a file that is included": RawCall("Bash", {"command": "echo x >> git.inc"}),
}


def settle(ground: Ground, settings: str, *, of: str) -> None:
    subprocess.run(["git", "init", "-q", str(ground.project)], check=True)
    (ground.project / "scripts" / "hooks").mkdir(parents=True)
    (ground.project / "git.inc").touch()
    place = ground.home / ".gitconfig" if of == "person" else ground.project / ".git" / "config"
    with place.open("a", encoding="utf-8") as file:
        file.write(settings)


@pytest.mark.parametrize("of", ["person", "project"])
@pytest.mark.parametrize("way", WAYS)
def test_a_call_that_would_change_it_is_asked_about(ground: Ground, way: str, of: str) -> None:
    ground.says({"extends": ["daily"]})
    settle(ground, "", of=of)
    assert ground.open(mode="accept_edits").check(WAYS[way]).decision.name == "ALLOW", "the twin: nobody obeys it"
    settings = f"[core]\nhooksPath = scripts/hooks\n[include]\npath = {ground.project}/git.inc\n"
    settle_again = ground.home / ".gitconfig" if of == "person" else ground.project / ".git" / "config"
    with settle_again.open("a", encoding="utf-8") as file:
        file.write(settings)
    verdict = ground.open(mode="accept_edits").check(WAYS[way])
    assert (verdict.decision.name, verdict.reason.rule.id) == ("ASK", RULE)


def test_a_gateway_that_goes_on_takes_note_of_new_settings(ground: Ground) -> None:
    ground.says({"extends": ["daily"]})
    settle(ground, "", of="project")
    opened = ground.open(mode="accept_edits")
    assert opened.check(WAYS["Write"]).decision.name == "ALLOW"
    subprocess.run(["git", "config", "core.hooksPath", "scripts/hooks"], cwd=ground.project, check=True)
    assert opened.renewed().check(WAYS["Write"]).reason.rule.id == RULE
