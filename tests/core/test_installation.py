"""No call writes the gateway that judges it, wherever that lies: also in the very project that it guards."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import venv
from pathlib import Path
from typing import Any

import pytest
from warmed import warm

from gateway.core import installation
from gateway.core.installation import environment_of, holds, names

CHECKOUT = Path(__file__).parents[2]
RULE = "gateway-installation"
# Where the environment's Python is a link to the system's.
SYSTEM = "critical-system"


class Project:
    """A project with an environment in it that the gateway runs from, as `pip install -e` in a project makes it."""

    def __init__(self, top: Path) -> None:
        self.home, self.root = top / "home", top / "home" / "project"
        (self.root / ".git").mkdir(parents=True)
        (self.root / ".git/HEAD").write_text("ref: refs/heads/main\n")
        (self.root / "src").mkdir()
        (self.root / "src/a.py").write_text("a = 1\n")
        self.python = self.root / ".venv/bin/python"
        warm(self.home / ".cache/gateway")
        venv.create(self.root / ".venv", symlinks=True)
        site = self.root / ".venv" / f"lib/python{sys.version_info[0]}.{sys.version_info[1]}" / "site-packages"
        others = next(each for each in sys.path if each.endswith("site-packages"))
        (site / "gateway.pth").write_text(f"{CHECKOUT}\n{others}\n")
        for name in ("gateway", "gateway-shell"):
            (self.root / ".venv/bin" / name).write_text(f"#!{self.python}\nfrom gateway.frontends.main import main\n")

    def run(self, *words: str, python: str = "", **env: str) -> subprocess.CompletedProcess[bytes]:
        found = {"HOME": str(self.home), "PATH": "/usr/bin:/bin", "NO_COLOR": "1", **env}
        argv = [python or str(self.python), "-m", "gateway", *words]
        return subprocess.run(
            argv, cwd=self.root, env=found, capture_output=True, check=False, stdin=subprocess.DEVNULL
        )

    def judged(self, calls: list[str], *words: str, python: str = "") -> dict[str, tuple[str, str]]:
        """What is said of calls, and by which rule."""
        batch = self.home / "calls"
        batch.write_text("".join(json.dumps({"tool": "Bash", "input": {"command": each}}) + "\n" for each in calls))
        done = self.run("check", "--batch", str(batch), "--json", "--unconfined", *words, python=python)
        lines = [json.loads(line) for line in done.stdout.splitlines()]
        assert len(lines) >= len(calls), done.stderr
        return {call: (_word(line), _rule(line)) for call, line in zip(calls, lines, strict=False)}


def _word(line: dict[str, Any]) -> str:
    return str(line["decision"])


def _rule(line: dict[str, Any]) -> str:
    return str(line["rule"]["id"])


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    return Project(tmp_path_factory.mktemp("installed").resolve())


# Each changes, removes, moves or replaces what the gateway runs from.
DENIED = [
    "rm -rf .venv",
    ".venv/bin/pip install -U typer",
    ".venv/bin/python -m pip uninstall -y pyyaml",
    "uv pip install -U typer",
    "mv .venv .venv2",
    "sed -i s/a/b/ .venv/pyvenv.cfg",
    "echo x >> .venv/bin/gateway",
    "ln .venv/bin/gateway /tmp/hard; echo x > /tmp/hard",
    "python3 -m venv --clear .venv",
    "virtualenv .venv",
    "uv venv",
    "uv sync",
    "poetry install",
    "pip install --target .venv/lib/python3.11/site-packages x",
    "pip install --prefix .venv x",
    "uv pip install --target .venv/lib/python3.11/site-packages x",
    "echo import x > .venv/lib/python3.11/site-packages/a.pth",
    "cp x .venv/lib/python3.11/site-packages/yaml.py",
    "mkdir -p .venv/lib/python3.11/site-packages/typer",
    "rsync -a x/ .venv/",
    "cp -r x/. .venv",
    "tar xf x.tar -C .venv",
    "unzip -o x.zip -d .venv",
    "python3 -c 'import shutil; shutil.rmtree(\".venv\")'",
    "dd if=/dev/zero of=.venv/bin/gateway",
    "truncate -s 0 .venv/pyvenv.cfg",
    "install -m 755 x .venv/bin/python",
    "cd .venv && rm pyvenv.cfg",
    "V=.venv; rm -r $V/bin",
    f"sed -i s/a/b/ {CHECKOUT}/gateway/frontends/service/client.py",
    f"rm -rf {CHECKOUT}/gateway",
    f"cp x {CHECKOUT}/sitecustomize.py",
    f"echo x > {CHECKOUT}/policies/builtin.yaml",
]
# What holds more than that, or nobody can tell: never let run without a question.
NOT_ALLOWED = [
    "git clean -xfd",
    "tar xf x.tar",
    "unzip x.zip",
    "rm -rf .[a-z]*",
    "find .venv -name '*.py' -delete",
    "pip uninstall -y agent-gateway",
    "chmod -x .venv/bin/python3",
    "rm .venv/bin/python3",
    "rm -f .venv/bin/python && touch x",
    "ln -sfn /tmp/x .venv/bin/python",
    "mv ../project ../other",
]
FREE = ["cat .venv/pyvenv.cfg", "ls .venv/bin", "echo x > src/a.py", "grep -r x .venv"]


@pytest.mark.parametrize("mode", ["accept_edits", "bypass"])
def test_no_call_changes_an_environment_in_the_project_that_the_gateway_runs_from(project: Project, mode: str) -> None:
    found = project.judged([*DENIED, *NOT_ALLOWED, *FREE], "--mode", mode)
    assert {call: found[call] for call in DENIED if found[call] not in (("deny", RULE), ("deny", SYSTEM))} == {}
    assert [call for call in NOT_ALLOWED if found[call][0] == "allow"] == []
    assert [call for call in FREE if found[call][0] != "allow"] == []


def test_a_gateway_elsewhere_lets_the_same_environment_be_changed(project: Project) -> None:
    inside = [each for each in DENIED if str(CHECKOUT) not in each and "python" not in each]
    found = project.judged(inside, "--mode", "accept_edits", python=sys.executable)
    assert [call for call in inside if found[call][1] == RULE] == []
    assert found["sed -i s/a/b/ .venv/pyvenv.cfg"][0] == "allow"


def test_policies_that_are_given_take_nothing_of_it_away(project: Project) -> None:
    folder = project.home / "given"
    folder.mkdir(exist_ok=True)
    (folder / "user.yaml").write_text(
        "version: 1\nsettings: {sandbox: {write: ['./**']}}\nallow: ['Bash(*)', 'Edit(**)']\n"
    )
    found = project.judged(["rm -rf .venv", "rm -rf src"], "--policies", str(folder))
    assert found["rm -rf .venv"] == ("deny", RULE)
    assert found["rm -rf src"][0] == "allow"


@pytest.mark.parametrize("tool", ["Write", "Edit", "NotebookEdit"])
def test_no_tool_writes_it(project: Project, tool: str) -> None:
    path = str(project.root / ".venv/bin/gateway")
    given = {
        "Write": {"file_path": path, "content": "x"},
        "Edit": {"file_path": path, "old_string": "a", "new_string": "b"},
        "NotebookEdit": {"notebook_path": path + ".ipynb", "new_source": "x"},
    }[tool]
    batch = project.home / "call"
    batch.write_text(json.dumps({"tool": tool, "input": given}) + "\n")
    done = project.run("check", "--batch", str(batch), "--json", "--mode", "bypass")
    line = json.loads(done.stdout.splitlines()[0])
    assert (_word(line), _rule(line)) == ("deny", RULE)


ATTEMPTS = [
    "rm -rf .venv", "mv .venv v2", "echo x >> .venv/pyvenv.cfg", "rm .venv/bin/python3",
    "chmod -x .venv/bin/gateway", "ln -sfn /tmp .venv/bin/python3", "ln .venv/bin/gateway hard && echo x > hard",
    "touch .venv/bin/new", "mv ../project ../other",
]  # fmt: skip


def test_a_confined_program_cannot_change_it_either(project: Project) -> None:
    """The texts are in a file, so nobody can foresee what they do."""
    tried = "".join(f"( {each} ) && worked='{each}'\n" for each in ATTEMPTS)
    (project.root / "attempt.sh").write_text(f'worked=\n{tried}test "$worked" || exit 7\necho "$worked"\n')
    folder = project.home / "all"
    folder.mkdir(exist_ok=True)
    (folder / "user.yaml").write_text(
        "version: 1\nsettings: {sandbox: {write: ['./**']}}\nallow: ['Bash(*)', 'Edit(**)']\n"
    )
    before = _state(project.root / ".venv")
    done = project.run("exec", "--mode", "accept_edits", "--policies", str(folder), "--", "bash", "attempt.sh")
    assert (done.returncode, done.stdout) == (7, b""), done  # none of them
    assert _state(project.root / ".venv") == before
    # The twin: by a gateway that lies elsewhere, an environment is a folder like others.
    (project.root / "src/x").write_text("")
    (project.root / "attempt.sh").write_text("echo y >> src/x\n")
    assert (
        project.run("exec", "--mode", "accept_edits", "--policies", str(folder), "--", "bash", "attempt.sh").returncode
        == 0
    )
    assert (project.root / "src/x").read_text() == "y\n"


def _state(folder: Path) -> list[tuple[str, int, str]]:
    return sorted(
        (str(each.relative_to(folder)), each.lstat().st_mode, os.readlink(each) if each.is_symlink() else "")
        for each in folder.rglob("*")
        if "__pycache__" not in each.parts
    )


def test_the_gateways_keys_are_not_read(project: Project) -> None:
    state, cache = ".local/state/gateway", ".cache/gateway"
    calls = [f"cat ~/{cache}/seal", f"ls ~/{state}/tickets", f"head ~/{state}/audit/seal", f"cp ~/{state}/pause.json x"]
    found = project.judged(calls, "--mode", "bypass")
    assert {found[call][0] for call in found} == {"deny"}


def test_doctor_calls_a_gateway_in_the_project_broken_and_init_refuses_it(project: Project) -> None:
    done = json.loads(project.run("doctor", "--json").stdout)
    (found,) = [each for each in done["findings"] if each["name"] == "installation" and each["state"] == "broken"]
    assert "in the project" in found["text"]
    for words in (["claude"], ["claude", "--project"], ["cursor"]):
        refused = project.run("init", *words, "--yes")
        assert refused.returncode == 2
        assert b"lies in it, where agents work" in refused.stderr
        assert b"uv tool install agent-gateway" in refused.stderr
    assert not (project.home / ".claude").exists()
    assert not (project.root / ".claude").exists()


def test_doctor_is_content_with_one_that_lies_apart(project: Project) -> None:
    done = json.loads(project.run("doctor", "--json", python=sys.executable).stdout)
    assert [each["state"] for each in done["findings"] if each["name"] == "installation"] != ["broken"]


def test_what_the_hooks_of_a_user_start_is_kept_too(tmp_path: Path) -> None:
    client = tmp_path / "other/lib/site-packages/gateway/frontends/service/client.py"
    client.parent.mkdir(parents=True)
    client.write_text("")
    folder = tmp_path / "state/init"
    folder.mkdir(parents=True, mode=0o700)
    (folder / "a.json").write_text(json.dumps({"starts": [str(tmp_path / "other/bin/python"), str(client)]}))
    (folder / "b.json").write_text("broken")
    found = names(str(tmp_path / "state"), "/nowhere")
    assert holds(found, str(client))
    assert holds(found, str(tmp_path / "other/bin/python"))
    assert not holds(names("", "/nowhere"), str(client))


def test_every_link_on_the_way_is_named(tmp_path: Path) -> None:
    (tmp_path / "real/bin").mkdir(parents=True)
    (tmp_path / "real/bin/python3.x").write_text("")
    (tmp_path / "real/bin/python").symlink_to("python3.x")
    (tmp_path / "env").symlink_to("real")
    top = str(tmp_path.resolve())
    found = set(installation.with_links(f"{top}/env/bin/python"))
    assert found == {f"{top}/env", f"{top}/real/bin/python", f"{top}/real/bin/python3.x"}


def test_it_is_known_without_site_too() -> None:
    """Hooks start Python with `-S`, which does not look for an environment."""
    told = (
        "import sys; sys.path.append(sys.argv[1]); from gateway.core.installation import names; print(names('', '/h'))"
    )
    flags = ("-I", "-S")
    done = subprocess.run([sys.executable, *flags, "-c", told, str(CHECKOUT)], capture_output=True, check=True)
    assert holds(eval(done.stdout), environment_of(sys.executable) or sys.prefix)
