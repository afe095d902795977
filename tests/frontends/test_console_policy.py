"""Changes of a policy that the console makes: looked over, saved as they were looked at, and nothing else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gateway.core.errors import ConfigError
from gateway.frontends.console_policy import Policies


@pytest.fixture
def here(ground: Any) -> Policies:
    ground.says({"rules": [{"id": "mine", "deny": "Bash(rm *)"}]})
    return Policies(str(ground.project))


def test_a_rule_is_saved_as_always_saves_it_once(here: Policies):
    proposed = here.proposed("rule", "allow: {command: make test}")
    assert (proposed.layer, proposed.name, proposed.before, proposed.is_broken) == (
        "local", "policy.d/approved.yaml", "", False,
    )  # fmt: skip
    assert "gateway grants revoke always-" in here.save(proposed)
    assert "command: make test" in Path(proposed.path).read_text()
    with pytest.raises(ConfigError, match="something else by now"):
        here.save(proposed)


@pytest.mark.parametrize(
    "text",
    ["", "allow: {command: x}\n  - id: more\n    allow: Bash(*)", "allow: {command: \u202e}", "allow: [", "x: 1",
     "allow: Bash(x)\rdeny: x"],
)  # fmt: skip
def test_what_is_no_rule_on_one_line_is_not_saved(here: Policies, text: str):
    try:
        proposed = here.proposed("rule", text)
    except ConfigError:
        return
    assert proposed.is_broken
    with pytest.raises(ConfigError, match="broken"):
        here.save(proposed)


def test_ones_own_file_is_replaced_as_it_was_seen_and_what_it_said_is_kept(here: Policies):
    known = here.editable()
    proposed = here.proposed("user", "version: 1\nrules:\n  - id: other\n    deny: Bash(dd *)\n")
    said = here.save(proposed)
    assert Path(known.path).read_text() == proposed.text
    assert Path(said.split(" lies in ")[1][:-1]).read_text() == known.text
    with pytest.raises(ConfigError, match="something else by now"):
        here.save(proposed)


def test_a_broken_file_of_ones_own_is_not_saved(here: Policies):
    before = Path(here.editable().path).read_text()
    proposed = here.proposed("user", "version: 1\nrules: [{id: x, deny: {nothing: y}}]\n")
    assert [each.severity for each in proposed.noted] == ["error"]
    with pytest.raises(ConfigError, match="broken"):
        here.save(proposed)
    assert Path(here.editable().path).read_text() == before
