"""The READMEs of the package and of `examples/`: every command in them is run, and prints what stands below it.
Those of examples are followed from the top of a checkout, as they say.

`replaying` says how they are read. Beside what it knows, blocks may need the real client: `console claude`.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from pathlib import Path

import ownetc
import pytest
from realclients import program
from realmodel import Model
from replaying import ROOT, Command, World, check, commands_of, things_here

EXAMPLES = ROOT / "examples"
# Those of the agent loop and of policies alone are replayed by tests of their own, and `shop` is what the guides show.
NAMES = ("anthropic-sdk", "ci", "claude-code", "codex-managed", "mcp-proxy", "web-service")
README = {name: (EXAMPLES / name / "README.md").read_text(encoding="utf-8") for name in NAMES}
OWN = "project"  # what the README of the package itself speaks of
REAL = ("claude", "codex")
# What the model calls, in each client's own words.
STEPS = {
    "claude-code": [[("Bash", {"command": "make test", "description": "x"})], [("Bash", {"command": "make deploy"})]],
    "codex-managed": [[("exec_command", {"cmd": "cat ~/.ssh/id_rsa"})]],
}
REPLIES = [
    [("Read", {"file_path": "notes.txt"}), ("Read", {"file_path": ".env"})],
    ["It is port 8080. I may not read .env."],
]


class Example(World):
    """A home of its own, into which the first command of an example's README makes a copy of the example."""

    def __init__(self, name: str, top: Path) -> None:
        super().__init__("elsewhere", top)
        self.name = name

    @property
    def copy(self) -> Path:
        """What the first command makes, and goes into."""
        return self.home / self.name

    def follow(self, commands: list[Command], wrapper: list[str], **env: str) -> list[str]:
        """What each command prints, the first one run in the checkout, the others in the copy."""
        if not wrapper and not env:
            return [*self.look(commands[:1], ROOT), *self.look(commands[1:], self.copy)]
        return [
            *self.run(commands[:1], wrapper, cwd=ROOT, **env),
            *self.run(commands[1:], wrapper, cwd=self.copy, **env),
        ]


@pytest.fixture
def example(request: pytest.FixtureRequest, tmp_path: Path) -> Example:
    return Example(request.param, tmp_path)


@pytest.mark.parametrize("example", README, indirect=True)
def test_the_commands_of_a_readme_print_what_stands_below_them(example: Example) -> None:
    commands = [each for each in commands_of(README[example.name]) if not each.needs - things_here()]
    if not commands[1:]:  # the first one makes a copy
        pytest.skip("this machine has nothing of what the example needs")
    wrapper = ownetc.namespace() if any("managed" in each.needs for each in commands) else []
    if not any("model" in each.needs for each in commands):
        check(commands, example.follow(commands, wrapper))
        return
    from fakemessages import FakeMessages

    said = example.run(commands[:1], wrapper, cwd=ROOT)
    (example.copy / ".env").write_text("KEY=hunter2\n", encoding="utf-8")
    model = FakeMessages([*REPLIES, *REPLIES])
    try:
        env = {"ANTHROPIC_BASE_URL": model.url, "ANTHROPIC_API_KEY": "none"}
        said += example.run(commands[1:], wrapper, cwd=example.copy, **env)
    finally:
        model.close()
    check(commands, said)
    assert "hunter2" not in str(model.asked)


@pytest.mark.parametrize("example", STEPS, indirect=True)
def test_the_same_with_the_real_client(example: Example, request: pytest.FixtureRequest) -> None:
    folder = request.config.getoption("--real-clients")
    name = example.name
    agent = name.partition("-")[0]
    if not folder or shutil.which("node") is None:
        pytest.skip("real agent clients run with --real-clients DIR alone, and need node")
    commands = commands_of(README[name])
    missing = {need for each in commands for need in each.needs} - things_here() - {agent}
    if missing:
        pytest.skip(f"this machine has not what the example needs: {', '.join(sorted(missing))}")
    wrapper = ownetc.namespace() if any("managed" in each.needs for each in commands) else []
    (example.home / ".ssh").mkdir()
    (example.home / ".ssh" / "id_rsa").write_text("precious\n", encoding="utf-8")
    path = f"{program(Path(folder).absolute(), agent).parent}:{example.environment['PATH']}"
    node = str(Path(os.path.realpath(shutil.which("node") or "")).parent)
    with Model(STEPS[name]) as model:
        if agent == "codex":
            _configure_codex(example, model.url)
        said = example.follow(
            commands, wrapper, PATH=f"{path}:{node}", ANTHROPIC_BASE_URL=model.url, ANTHROPIC_API_KEY="sk-none",
            FAKE_KEY="none", IS_SANDBOX="1", CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC="1", DISABLE_AUTOUPDATER="1",
        )  # fmt: skip
        results = model.results()
    check(commands, said)
    assert [("refused by rule" in each, "precious" in each) for each in results[-1:]] == [(True, False)], results


def _configure_codex(example: Example, url: str) -> None:
    folder = example.home / ".codex"
    folder.mkdir()
    (folder / "config.toml").write_text(
        'model = "gpt-fake"\nmodel_provider = "fake"\napproval_policy = "never"\nsandbox_mode = "danger-full-access"\n'
        f'check_for_update_on_startup = false\n[model_providers.fake]\nname = "fake"\nbase_url = "{url}/v1"\n'
        'wire_api = "responses"\nenv_key = "FAKE_KEY"\nrequest_max_retries = 0\nstream_max_retries = 0\n'
        "[features]\nenable_request_compression = false\n",
        encoding="utf-8",
    )


def test_every_readme_has_commands_and_says_what_they_print() -> None:
    assert [name for name in NAMES if not commands_of(README[name])] == []
    assert [each for name in NAMES for each in commands_of(README[name])[1:] if not each.expected] == []


@pytest.mark.parametrize("name", NAMES)
def test_every_readme_begins_with_a_copy_that_is_a_project_of_its_own(name: str) -> None:
    copied = f"cp -r examples/{name} ~/{name} && cd ~/{name} && git init -q -b "
    first = commands_of(README[name])[0]
    assert (first.text.startswith(copied), first.needs) == (True, frozenset())


@pytest.mark.parametrize("example", [path.parent.name for path in EXAMPLES.glob("*/calls.jsonl")], indirect=True)
def test_calls_get_the_answers_that_stand_beside_them_where_the_readme_has_them_judged(example: Example) -> None:
    commands = commands_of(README[example.name])
    said = dict(zip([each.text for each in commands], example.follow(commands, []), strict=True))
    [text] = [text for command, text in said.items() if command.endswith("--batch calls.jsonl")]
    answers = {}
    for each in map(json.loads, text.splitlines()):
        file, line = each["rule"]["file"], each["rule"]["line"]
        answers[each["id"]] = [each["decision"], f"{os.path.basename(file)}:{line}" if file else each["rule"]["id"]]
    expected = json.loads((EXAMPLES / example.name / "expected.json").read_text(encoding="utf-8"))
    assert {name: [said, place if expected[name][1] else ""] for name, (said, place) in answers.items()} == expected


def test_the_readme_shows_what_its_commands_print() -> None:
    commands = commands_of((ROOT / "README.md").read_text(encoding="utf-8"))
    assert len(commands) > 4
    known = [each for each in commands if not each.needs - things_here()]
    with tempfile.TemporaryDirectory(dir="/tmp") as top:  # long paths would break lines elsewhere
        check(known, World(OWN, Path(top)).run(known, []))
