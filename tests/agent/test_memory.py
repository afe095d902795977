"""What people have written down: which files are told in which layer, after whose consent, and what never is."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import pytest

from gateway.agent import memory
from gateway.agent.events import Noticed
from gateway.agent.loop import Agent
from gateway.agent.memory import UNTRUSTED, Memory, as_text, digest_of
from gateway.agent.prompt import Surroundings
from gateway.config.trust import TrustStore
from gateway.core.places import places
from gateway.frontends.main import run
from gateway.llm.script import parse
from gateway.llm.scripted import Scripted

if TYPE_CHECKING:
    from pathlib import Path

HIDDEN = "policy does not let it be read unasked (`secret-files`)"
OUTSIDE = "it lies outside of the project"


def written(top: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = top / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def accepted(ground: Any, *names: str) -> tuple[str, ...]:
    """The digests of files of the project as they are."""
    return tuple(digest_of(name, (ground.project / name).read_text()) for name in names)


def opening(ground: Any, *, cwd: str = "", **how: Any) -> list[tuple[str, str, str]]:
    """What is known from the start: file below the test's folder, layer, and the text or why it is not told."""
    gateway = ground.open(**how)
    context = gateway.context.replace(cwd=str(ground.project / cwd)) if cwd else gateway.context
    return shortly(ground, Memory(gateway).opening(context))


def shortly(ground: Any, found: Any) -> list[tuple[str, str, str]]:
    return [(os.path.relpath(each.file, ground.top), each.layer, each.reason or each.text) for each in found]


def test_the_person_is_heard_then_the_project_from_its_top_down_then_what_is_said_of_it_alone(ground) -> None:
    written(ground.home, {".config/gateway/memory.md": "user", ".claude/CLAUDE.md": "claude"})
    written(
        ground.project,
        {
            "CLAUDE.local.md": "local file",
            "CLAUDE.md": "claude's",
            "AGENTS.md": "all agents'",
            ".gateway/memory.md": "ours",
            ".claude/CLAUDE.md": "in the folder",
            "sub/AGENTS.md": "below",
            "other/AGENTS.md": "elsewhere",
        },
    )
    own = memory.local_folder(places(), str(ground.project))
    os.makedirs(own)
    written(ground.top, {os.path.relpath(os.path.join(own, "memory.md"), ground.top): "of this project"})
    names = (".gateway/memory.md", "AGENTS.md", "CLAUDE.md", "CLAUDE.local.md", ".claude/CLAUDE.md", "sub/AGENTS.md")
    assert [(layer, text) for _, layer, text in opening(ground, cwd="sub", trust=accepted(ground, *names))] == [
        ("user", "user"),
        ("user", "claude"),
        ("project", "ours"),
        ("project", "all agents'"),
        ("project", "claude's"),
        ("project", "local file"),
        ("project", "in the folder"),
        ("project", "below"),
        ("local", "of this project"),
    ]


def test_the_project_is_not_heard_before_a_person_has_accepted_exactly_that(ground) -> None:
    written(ground.project, {"AGENTS.md": "one @b.md", "b.md": "two"})
    assert opening(ground) == [("project/AGENTS.md", "project", UNTRUSTED)]
    trust = accepted(ground, "AGENTS.md", "b.md")
    assert [text for *_, text in opening(ground, trust=trust)] == ["one @b.md", "two"]
    written(ground.project, {"b.md": "other"})
    assert [text for *_, text in opening(ground, trust=trust)] == ["one @b.md", UNTRUSTED]
    written(ground.project, {"AGENTS.md": "other"})
    assert [text for *_, text in opening(ground, trust=trust)] == [UNTRUSTED]


def test_a_file_that_was_accepted_in_one_place_is_not_in_another(ground) -> None:
    written(ground.project, {"AGENTS.md": "one", "sub/AGENTS.md": "one"})
    found = opening(ground, cwd="sub", trust=accepted(ground, "AGENTS.md"))
    assert [text for *_, text in found] == ["one", UNTRUSTED]


def test_accepting_words_accepts_no_rules(ground) -> None:
    written(ground.project, {"AGENTS.md": "words"})
    ground.says({"rules": [{"allow": "Bash(rm -rf x)"}]}, layer="project")
    gateway = ground.open(trust=accepted(ground, "AGENTS.md"))
    assert not gateway.loaded.project_trusted
    policy = gateway.loaded.project_digest
    assert [text for *_, text in opening(ground, trust=(policy,))] == [UNTRUSTED]


ESCAPES = {
    "a file that policy hides": ("@.env", {"project/.env": "SECRET"}, HIDDEN),
    "one that policy hides in the home": ("@~/.ssh/id", {"home/.ssh/id": "KEY"}, OUTSIDE),
    "one outside": ("@../x.md", {"x.md": "out"}, OUTSIDE),
    "one by its whole path": ("@{top}/x.md", {"x.md": "out"}, OUTSIDE),
    "a device": ("@/dev/zero", {}, None),
}


@pytest.mark.parametrize(("text", "files", "why"), ESCAPES.values(), ids=ESCAPES)
def test_a_project_brings_in_nothing_but_its_own(ground, text: str, files: dict[str, str], why: str | None) -> None:
    written(ground.top, files)
    written(ground.project, {"AGENTS.md": text.format(top=ground.top), "b.md": "@c.md"})
    trust = (*accepted(ground, "AGENTS.md"), *(digest_of(f"../{name}", said) for name, said in files.items()))
    trust += tuple(digest_of(os.path.basename(name), said) for name, said in files.items())
    assert [text for *_, text in opening(ground, trust=trust)][1:] == ([why] if why else [])


def test_links_lead_nowhere_else(ground) -> None:
    written(ground.top, {"x.md": "out", "y.md": "out", "project/.env": "SECRET", "project/real.md": "@via/x.md"})
    (ground.project / "AGENTS.md").symlink_to("real.md")
    (ground.project / "CLAUDE.md").symlink_to("real.md")  # the same file is told once
    (ground.project / "via").symlink_to("..")
    (ground.project / "CLAUDE.local.md").symlink_to(".env")
    (ground.project / "sub").mkdir()
    (ground.project / "sub" / "AGENTS.md").symlink_to("../../y.md")
    trust = (
        digest_of("AGENTS.md", "@via/x.md"),
        digest_of("CLAUDE.local.md", "SECRET"),
        digest_of("sub/AGENTS.md", "out"),
    )
    assert [(os.path.basename(file), text) for file, _, text in opening(ground, cwd="sub", trust=trust)] == [
        ("AGENTS.md", "@via/x.md"),
        ("x.md", OUTSIDE),
        ("CLAUDE.local.md", HIDDEN),
        ("AGENTS.md", OUTSIDE),
    ]


def test_what_is_no_readable_text_is_told_as_such(ground) -> None:
    os.mkfifo(ground.project / "AGENTS.md")
    (ground.project / "CLAUDE.md").write_bytes(b"a\0b")
    (ground.project / "CLAUDE.local.md").write_bytes(b"x" * (memory.MOST_BYTES + 1))
    (ground.project / "sub").mkdir()
    (ground.project / "sub" / "AGENTS.md").symlink_to("nothing")
    assert [text for *_, text in opening(ground, cwd="sub")] == [
        "a file of memory must be a regular file",
        "it is no text",
        "a file of memory must have at most 262,144 bytes",
        "cannot be read: No such file or directory",
    ]


def test_bytes_that_are_no_text_are_marked(ground) -> None:
    (ground.project / "AGENTS.md").write_bytes(b"caf\xe9")
    assert [text for *_, text in opening(ground, trust=(digest_of("AGENTS.md", "caf\ufffd"),))] == ["caf\ufffd"]


def test_files_that_bring_each_other_in_are_told_once_and_five_deep(ground) -> None:
    written(ground.project, {"AGENTS.md": "@1.md", **{f"{n}.md": f"@{n + 1}.md @AGENTS.md" for n in range(1, 9)}})
    trust = accepted(ground, "AGENTS.md", *(f"{n}.md" for n in range(1, 9)))
    found = opening(ground, trust=trust)
    assert [os.path.basename(file) for file, *_ in found] == ["AGENTS.md", *(f"{n}.md" for n in range(1, 7))]
    assert found[-1][2] == "it is brought in more than 5 files deep"


def test_the_person_may_bring_in_what_agents_would_be_asked_about_and_nothing_that_a_rule_holds_back(ground) -> None:
    written(ground.home, {".ssh/id": "KEY", "notes/a.md": "note"})
    written(ground.project, {"shared.md": "the project's words"})
    written(
        ground.home,
        {".config/gateway/memory.md": f"@~/notes/a.md @~/.ssh/id @{ground.project}/shared.md", "notes/b.md": "@a.md"},
    )
    found = opening(ground)
    assert [(os.path.basename(file), layer, text) for file, layer, text in found][1:] == [
        ("a.md", "user", "note"),
        ("id", "user", HIDDEN),
        ("shared.md", "project", UNTRUSTED),
    ]


def test_what_agents_may_write_unasked_is_not_the_persons_word(ground) -> None:
    written(ground.home, {"notes/a.md": "note", ".config/gateway/memory.md": "@~/notes/a.md"})
    ground.says({"extends": ["daily"], "rules": [{"allow": "Edit(~/notes/**)"}]})
    assert [text for *_, text in opening(ground)][1:] == ["agents may write it unasked"]


def test_a_link_of_the_persons_into_the_project_counts_as_the_projects(ground) -> None:
    written(ground.project, {"x.md": "words"})
    (ground.home / ".claude").mkdir()
    (ground.home / ".claude" / "CLAUDE.md").symlink_to(ground.project / "x.md")
    assert [(layer, text) for _, layer, text in opening(ground)] == [("project", UNTRUSTED)]


def test_no_more_is_told_than_there_is_room_for(ground) -> None:
    written(ground.home, {f".config/gateway/{name}": "line\n" * 20_000 for name in ("memory.md", "AGENTS.md")})
    written(ground.home, {".claude/CLAUDE.md": "line\n" * 20_000})
    gateway = ground.open()
    told = as_text(Memory(gateway).opening(gateway.context))
    assert told.count("more characters are left out") == 3
    assert memory.MOST_TOLD < len(told) < memory.MOST_TOLD + 1_000


def test_folders_are_heard_of_when_files_there_are_used(ground) -> None:
    written(ground.project, {"sub/AGENTS.md": "how to work here", "sub/deep/f.txt": "x", "g.txt": "x"})
    trust = accepted(ground, "sub/AGENTS.md")
    turns = [
        {"calls": [{"Read": {"file_path": "g.txt"}}]},
        {"calls": [{"Read": {"file_path": "sub/deep/f.txt"}}], "expect": ["x"]},
        {"calls": [{"Read": {"file_path": "sub/deep/f.txt"}}], "expect": ["how to work here"]},
        {"say": "Done."},
    ]
    gateway = ground.open(trust=trust)
    with gateway.session() as session:
        model = Scripted(parse(json.dumps({"version": 1, "turns": turns}).encode(), "s.yaml"))
        agent = Agent(gateway, model, session)
        assert agent.run("go").why == "done"
        assert sum("how to work here" in json.dumps(each) for each in agent.messages) == 1


def test_people_are_told_once_what_the_model_is_not(ground) -> None:
    written(ground.project, {"AGENTS.md": "words", "sub/AGENTS.md": "words", "sub/f.txt": "x"})
    read = {"calls": [{"Read": {"file_path": "sub/f.txt"}}]}
    said: list[str] = []
    gateway = ground.open()
    with gateway.session() as session:
        model = Scripted(parse(json.dumps({"version": 1, "turns": [read, read, {"say": "x"}]}).encode(), "s.yaml"))
        hear = lambda what: said.append(what.text) if isinstance(what, Noticed) else None  # noqa: E731
        agent = Agent(gateway, model, session, listener=hear)
        agent.run("go")
    assert said == [
        f"{ground.project}/{name} is not told to the model: {UNTRUSTED}" for name in ("AGENTS.md", "sub/AGENTS.md")
    ]
    assert "words" not in json.dumps(agent.messages)


def test_the_prompt_says_the_day_and_what_is_remembered(ground, monkeypatch) -> None:
    monkeypatch.setattr("gateway.agent.prompt._today", lambda: "2026-01-02, Friday")
    written(ground.home, {".config/gateway/memory.md": "Use tabs."})
    gateway = ground.open()
    with gateway.session() as session:
        here = Surroundings(gateway, session)
        assert here.news() == []
        prompt = here.prompt()
        assert "Date: 2026-01-02, Friday" in prompt
        assert f'<memory file="{ground.home}/.config/gateway/memory.md" layer="user">\nUse tabs.\n</memory>' in prompt
        written(ground.home, {".config/gateway/memory.md": "Use blanks."})
        assert here.prompt() == prompt
        monkeypatch.setattr("gateway.agent.prompt._today", lambda: "2026-01-03, Saturday")
        assert here.news() == ["The date is 2026-01-03, Saturday now."]
        here.forget()
        assert "Use blanks." in here.prompt()


def test_show_prompt_asks_no_model_and_says_what_is_left_out(ground, capsys, monkeypatch) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    written(ground.project, {"AGENTS.md": "words"})
    monkeypatch.chdir(ground.project)
    assert run(["agent", "--show-prompt"]) == 0
    said = capsys.readouterr()
    assert f"Working folder: {ground.project}" in said.out
    assert "words" not in said.out
    assert said.err == f"gateway: {ground.project}/AGENTS.md is not told to the model: {UNTRUSTED}\n"


def test_memory_is_accepted_by_what_was_shown(ground, capsys, monkeypatch) -> None:
    written(ground.project, {"AGENTS.md": "one @b.md @.env", "b.md": "two", "sub/CLAUDE.md": "three", ".env": "SECRET"})
    written(ground.project, {"node_modules/x/AGENTS.md": "others' words"})
    monkeypatch.chdir(ground.project)
    assert run(["policy", "trust", "--memory"]) == 2  # nobody is there to be asked
    shown = capsys.readouterr().out
    assert all(word in shown for word in ("one @b.md", "two", "three", "never told"))
    assert "SECRET" not in shown
    assert "others' words" not in shown
    whole = shown.rpartition("digest ")[2].strip()
    written(ground.project, {"b.md": "changed"})
    assert run(["policy", "trust", "--memory", "--yes", whole]) == 2
    assert TrustStore(places().state).projects() == {}
    written(ground.project, {"b.md": "two"})
    assert run(["policy", "trust", "--memory", "--yes", whole]) == 0
    assert capsys.readouterr().out == f"trusted 3 files of {ground.project}\n"
    assert [text for *_, text in opening(ground)] == ["one @b.md @.env", "two", HIDDEN]
    assert [text for *_, text in opening(ground, cwd="sub")][-1] == "three"
    assert not ground.open().loaded.project_trusted
