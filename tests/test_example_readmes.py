"""The READMEs of the package and of `examples/`: every command in them is run, and prints what stands below it.

In what is expected a line `...` stands for any lines, and `...` at the end of a line for any rest of it. Blocks that
need more than this machine may have say what behind `console`: sandbox, mcp, model, managed, or the real client.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import ownetc
import pytest
from realclients import program
from realmodel import Model
from warmed import warm

from gateway.core.value import Value

ROOT = Path(__file__).parents[1]
EXAMPLES = ROOT / "examples"
# Those of the agent loop and of policies alone are replayed by tests of their own.
NAMES = ("anthropic-sdk", "ci", "claude-code", "codex-managed", "mcp-proxy")
README = {name: (EXAMPLES / name / "README.md").read_text(encoding="utf-8") for name in NAMES}
OWN = "project"  # what the README of the package itself speaks of
REAL = ("claude", "codex")
MARK = "@@ end of a command "
SECONDS = 170
# What the model calls, in each client's own words.
STEPS = {
    "claude-code": [[("Bash", {"command": "make test", "description": "x"})], [("Bash", {"command": "make deploy"})]],
    "codex-managed": [[("exec_command", {"cmd": "cat ~/.ssh/id_rsa"})]],
}
REPLIES = [
    [("Read", {"file_path": "notes.txt"}), ("Read", {"file_path": ".env"})],
    ["It is port 8080. I may not read .env."],
]


class Command(Value):
    """A command of a README, what has to be there for it, and what it prints."""

    text: str
    needs: frozenset[str]
    expected: tuple[str, ...]


def commands_of(readme: str) -> list[Command]:
    found = []
    for needs, block in re.findall(r"^```console *([^\n]*)\n(.*?)^```$", readme, re.MULTILINE | re.DOTALL):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            text, *expected = part.rstrip("\n").split("\n")
            found.append(Command(text, frozenset(needs.split()), tuple(expected)))
    return found


def prints(expected: tuple[str, ...]) -> re.Pattern[str]:
    """The outputs that fit."""
    lines = []
    for line in expected:
        if line == "...":
            lines.append(r"(?:.*\n)*?")
        elif line.endswith("..."):
            lines.append(re.escape(line.removesuffix("...")) + r".*\n")
        else:
            lines.append(re.escape(line) + r"\n")
    return re.compile("".join(lines))


class World:
    """An example in a home of its own."""

    def __init__(self, name: str, top: Path) -> None:
        self.home = Path(os.path.realpath(top)) / "home"
        self.project = self.home / name
        programs = top / "bin"
        programs.mkdir()
        for program_, words in {
            "gateway": f'{sys.executable} -m gateway "$@"',
            "gateway-shell": f'{sys.executable} -c "from gateway.frontends.shell import main; exit(main())" "$@"',
            "python": f'{sys.executable} "$@"',
        }.items():
            (programs / program_).write_text(f"#!/bin/sh\nexec {words}\n", encoding="utf-8")
            (programs / program_).chmod(0o755)
        if name == OWN:
            self.project.mkdir(parents=True)
            (self.project / "README.md").write_text("A project.\n", encoding="utf-8")
        else:
            shutil.copytree(EXAMPLES / name, self.project)
        (self.project / ".git").mkdir()
        (self.project / ".git" / "HEAD").write_text("ref: refs/heads/main\n", encoding="utf-8")
        warm(top / "cache" / "gateway")
        self.environment = {
            "HOME": str(self.home), "PATH": f"{programs}:/usr/local/bin:/usr/bin:/bin", "PYTHONPATH": str(ROOT),
            "LANG": "C.UTF-8", "NO_COLOR": "1", "TERM": "dumb", "COLUMNS": "250", "XDG_CACHE_HOME": str(top / "cache"),
        }  # fmt: skip

    def run(self, commands: list[Command], wrapper: list[str], **env: str) -> list[str]:
        """What each command prints, all run by one shell as at a terminal."""
        lines = [f"{each.text}\nprintf '\\n%s\\n' '{MARK}'" for each in commands]
        done = subprocess.run(
            [*wrapper, "bash", "-c", "exec 2>&1 < /dev/null\n" + "\n".join(lines)], cwd=self.project,
            env=self.environment | env, capture_output=True, timeout=SECONDS, check=False, start_new_session=True,
        )  # fmt: skip
        said = done.stdout.decode("utf-8", "replace").replace(str(self.home), "~")
        return [each.strip("\n") + "\n" if each.strip("\n") else "" for each in said.split(MARK)[:-1]]


@pytest.fixture(scope="module")
def holds() -> frozenset[str]:
    """What this machine has for the examples."""
    from gateway.frontends.cli.doctor import sandbox_findings
    from gateway.sandbox.backends.choose import BEST

    found = set()
    states = {each.name: each.state for each in sandbox_findings()}
    if any(states.get(name) == "ok" for name in BEST["linux"]):
        found.add("sandbox")
    if any(os.access(f"/{each}/python3", os.X_OK) for each in ("usr/local/bin", "usr/bin", "bin")):
        found.add("python3")
    for name, module in (("mcp", "mcp"), ("model", "anthropic")):
        try:
            __import__(module)
        except ImportError:
            continue
        found.add(name)
    if ownetc.holds():
        found.add("managed")
    return frozenset(found)


def check(commands: list[Command], said: list[str]) -> None:
    found = {each.text: text for each, text in zip(commands, said, strict=True)}
    assert [each.text for each in commands if not prints(each.expected).fullmatch(found[each.text])] == [], found


@pytest.fixture
def world(request: pytest.FixtureRequest, tmp_path: Path) -> World:
    return World(request.param, tmp_path)


@pytest.mark.parametrize("world", README, indirect=True)
def test_the_commands_of_a_readme_print_what_stands_below_them(world: World, holds: frozenset[str]) -> None:
    commands = [each for each in commands_of(README[world.project.name]) if not each.needs - holds]
    if not commands:
        pytest.skip("this machine has nothing of what the example needs")
    wrapper = ownetc.namespace() if any("managed" in each.needs for each in commands) else []
    env = {}
    model = None
    if any("model" in each.needs for each in commands):
        from fakemessages import FakeMessages

        (world.project / ".env").write_text("KEY=hunter2\n", encoding="utf-8")
        model = FakeMessages([*REPLIES, *REPLIES])
        env = {"ANTHROPIC_BASE_URL": model.url, "ANTHROPIC_API_KEY": "none"}
    try:
        said = world.run(commands, wrapper, **env)
    finally:
        if model is not None:
            model.close()
    check(commands, said)
    if model is not None:
        assert "hunter2" not in str(model.asked)


@pytest.mark.parametrize("world", STEPS, indirect=True)
def test_the_same_with_the_real_client(world: World, holds: frozenset[str], request: pytest.FixtureRequest) -> None:
    folder = request.config.getoption("--real-clients")
    name = world.project.name
    agent = name.partition("-")[0]
    if not folder or shutil.which("node") is None:
        pytest.skip("real agent clients run with --real-clients DIR alone, and need node")
    commands = commands_of(README[name])
    missing = {need for each in commands for need in each.needs} - holds - {agent}
    if missing:
        pytest.skip(f"this machine has not what the example needs: {', '.join(sorted(missing))}")
    wrapper = ownetc.namespace() if any("managed" in each.needs for each in commands) else []
    (world.home / ".ssh").mkdir()
    (world.home / ".ssh" / "id_rsa").write_text("precious\n", encoding="utf-8")
    path = f"{program(Path(folder).absolute(), agent).parent}:{world.environment['PATH']}"
    node = str(Path(os.path.realpath(shutil.which("node") or "")).parent)
    with Model(STEPS[name]) as model:
        if agent == "codex":
            _configure_codex(world, model.url)
        said = world.run(
            commands, wrapper, PATH=f"{path}:{node}", ANTHROPIC_BASE_URL=model.url, ANTHROPIC_API_KEY="sk-none",
            FAKE_KEY="none", IS_SANDBOX="1", CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC="1", DISABLE_AUTOUPDATER="1",
        )  # fmt: skip
        results = model.results()
    check(commands, said)
    assert [("refused by rule" in each, "precious" in each) for each in results[-1:]] == [(True, False)], results


def _configure_codex(world: World, url: str) -> None:
    folder = world.home / ".codex"
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
    assert [each for name in NAMES for each in commands_of(README[name]) if not each.expected] == []


def test_a_wrong_output_is_noticed() -> None:
    expected = ("a", "...", "wrote ...", "z")
    assert prints(expected).fullmatch("a\nwrote x\nz\n")
    assert prints(expected).fullmatch("a\nb\nc\nwrote x\nz\n")
    assert not prints(expected).fullmatch("a\nz\n")
    assert not prints(expected).fullmatch("b\nwrote x\nz\n")


def test_the_readme_shows_what_its_commands_print(holds: frozenset[str]) -> None:
    commands = commands_of((ROOT / "README.md").read_text(encoding="utf-8"))
    assert len(commands) > 4
    known = [each for each in commands if not each.needs - holds]
    with tempfile.TemporaryDirectory(dir="/tmp") as top:  # long paths would break lines elsewhere
        check(known, World(OWN, Path(top)).run(known, []))
