"""Types of agents: what a file says, and what layers make of one name."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest

from gateway.agent.types import KINDS, AgentType, agent_types, read_type, rules_of, stricter
from gateway.config.layers import STRICTER
from gateway.core.errors import ConfigError
from gateway.core.places import places

if TYPE_CHECKING:
    from pathlib import Path

HEAD = "---\nname: reviewer\ndescription: Reads.\n"


def of(head: str, prompt: str = "") -> AgentType:
    return read_type(f"---\nname: x\ndescription: y\n{head}---\n{prompt}".encode(), "x.md").replace(file="")


def kind(**more: Any) -> AgentType:
    return AgentType("x", "y", more.pop("prompt", ""), **more)


@pytest.mark.parametrize(
    ("head", "expected"),
    [
        ("", kind()),
        ("tools: [Read, Grep]\n", kind(tools=frozenset({"Read", "Grep"}))),
        ("tools: Read, Grep,Bash(git *)\n", kind(tools=frozenset({"Read", "Grep", "Bash"}))),
        ("tools: '*'\n", kind()),
        ("without: [Write]\n", kind(without=frozenset({"Write"}))),
        ("disallowedTools: Write, Edit\n", kind(without=frozenset({"Write", "Edit"}))),
        ("mode: plan\nmodel: claude-x\nmax_turns: 3\n", kind(mode="plan", model="claude-x", max_turns=3)),
        ("permissionMode: acceptEdits\nmodel: sonnet\ncolor: red\n", kind(mode="accept_edits")),
        ("deny: 'Bash(rm *)'\nfloor: ['Edit(./a)']\n", kind(deny=("Bash(rm *)",), floor=("Edit(./a)",))),
        ("prompt: You are.\n", kind(prompt="You are.")),
    ],
)
def test_a_head_says_what_it_is(head: str, expected: AgentType) -> None:
    assert of(head) == expected


def test_what_stands_below_the_head_is_its_prompt() -> None:
    assert of("", "\nYou are\n---\none.\n\n") == kind(prompt="You are\n---\none.")


def test_a_type_may_be_yaml_alone() -> None:
    assert read_type(b"name: x\ndescription: y\nprompt: You are.\n", "x.yaml") == kind(prompt="You are.", file="x.yaml")


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("You are.", "x.md:1: a type of agent must have front matter"),
        ("---\nname: x\n", "x.md:1: a type of agent must have front matter"),
        ("---\nname: x\n---\n", "x.md:2:1: type of agent must have the key `description`"),
        ("---\nname: x\ndescription: y\ntool: Read\n---\n", "x.md:4:1: type of agent must have known keys only"),
        ("---\nname: x\ndescription: y\nmode: careless\n---\n", "x.md:4:7: `mode` must be one of"),
        ("---\nname: x\ndescription: y\nmax_turns: 0\n---\n", "x.md:4:12: `max_turns` must be"),
        ("---\nname: x\ndescription: y\nprompt: a\n---\nb", "x.md:4:1: `prompt` must not stand beside"),
        ("---\n- x\n---\n", "x.md:2:1: type of agent must be a mapping"),
    ],
)
def test_a_mistake_is_an_error_with_its_place(text: str, complaint: str) -> None:
    with pytest.raises(ConfigError) as caught:
        read_type(text.encode(), "x.md")
    assert complaint in str(caught.value)


def test_a_file_that_is_no_text_is_an_error() -> None:
    with pytest.raises(ConfigError, match="must be text in UTF-8"):
        read_type(b"---\nname: \xff\n---\n", "x.md")


def test_what_ships_is_read(ground) -> None:
    found, broken = agent_types(places(), str(ground.project))
    assert broken == ()
    assert sorted(found) == ["Explore", "Plan", "general-purpose", "verification"]
    assert sorted(os.path.basename(each.file) for each in found.values()) == sorted(os.listdir(KINDS))
    assert {name: found[name].mode for name in found if found[name].mode} == {"Explore": "read_only", "Plan": "plan"}
    assert not any(found["Explore"].allows(tool) for tool in ("Write", "Edit", "NotebookEdit", "Agent"))


def written(folder: Path, text: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "reviewer.md").write_text(f"{HEAD}{text}")


@pytest.mark.parametrize("where", [".claude/agents", ".config/gateway/agents"])
def test_a_users_type_stands_in_the_place_of_what_ships(ground, where: str) -> None:
    (ground.home / where).mkdir(parents=True)
    (ground.home / where / "e.md").write_text("---\nname: Explore\ndescription: mine\n---\nMine.")
    found = agent_types(places(), str(ground.project))[0]["Explore"]
    assert (found.prompt, found.tools) == ("Mine.", None)


@pytest.mark.parametrize("where", [".claude/agents", ".gateway/agents"])
def test_a_project_narrows_a_type_and_never_widens_it(ground, where: str) -> None:
    written(ground.config / "agents", "tools: [Read, Bash]\nmode: plan\nmax_turns: 5\n---\nUser's.")
    loose = "tools: [Read, Write]\nmode: bypass\nmax_turns: 50\nwithout: [Grep]\nfloor: ['Edit(./a)']\n---\nProject's."
    written(ground.project / where, loose)
    found = agent_types(places(), str(ground.project))[0]["reviewer"]
    assert found == AgentType(
        "reviewer", "Reads.", "User's.", frozenset({"Read"}), frozenset({"Grep"}), "plan", "", 5, (), ("Edit(./a)",),
        str(ground.config / "agents" / "reviewer.md"),
    )  # fmt: skip


def test_a_projects_own_type_is_there(ground) -> None:
    written(ground.project / ".gateway" / "agents", "---\nProject's.")
    assert agent_types(places(), str(ground.project))[0]["reviewer"].prompt == "Project's."


def test_every_broken_file_is_told_and_takes_its_name_away(ground) -> None:
    written(ground.config / "agents", "---\nUser's.")
    for where in (ground.project / ".claude" / "agents", ground.project / ".gateway" / "agents"):
        written(where, "tool: x\n---\n")
    found, broken = agent_types(places(), str(ground.project))
    assert "reviewer" not in found
    assert [problem.message for problem in broken] == ["type of agent must have known keys only"] * 2
    assert "Explore" in found


@pytest.mark.parametrize("parent", STRICTER)
@pytest.mark.parametrize("wanted", ["", *STRICTER])
def test_a_mode_is_never_laxer_than_the_parents(parent: str, wanted: str) -> None:
    found = stricter(parent, wanted)
    assert found == parent or found in STRICTER[parent]
    assert found in (parent, wanted)


def test_rules_are_the_text_of_a_policy() -> None:
    assert rules_of(()) == ()
    assert rules_of(["Bash(rm *)"]) == ('{"version": 1, "rules": [{"deny": "Bash(rm *)"}]}',)
