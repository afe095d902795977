"""An installed wheel: the code and `gateway/data`, without the checkout, and with nowhere to keep anything."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from fuzzing import share
from hooking import before

from gateway.config.wheel import build
from gateway.core.places import PACKAGE

CALLS = [
    "Read(src/main.py)",
    "Bash(git log -3 | head)",
    "Bash(rm -rf ~)",
    "Write(x)",
    "WebFetch(http://169.254.169.254/)",
]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder to import from, with the package as a wheel holds it."""
    folder = tmp_path_factory.mktemp("site")
    shutil.copytree(PACKAGE, folder / "gateway", ignore=shutil.ignore_patterns("data"))
    build(str(folder / "gateway" / "data"))
    return folder


def check(command, site: Path, call: str, **env: str | None):
    program = (
        "import sys\n"
        "from gateway.frontends.main import run\n"
        f"status = run(['check', '--json', {call!r}])\n"
        "slow = {'yaml', 'jsonschema', 'typer', 'gateway.spec'} & set(sys.modules)\n"
        "print(status, sorted(slow), file=sys.stderr)\n"
    )
    arguments = command(PYTHONPATH=None, **env)
    arguments["args"] = [
        sys.executable,
        "-S",
        "-c",
        f"import sys; sys.path[:0] = {[str(site), *sys.path]!r}\n{program}",
    ]
    done = subprocess.run(**arguments, capture_output=True, text=True, timeout=60, check=True)
    found = json.loads(done.stdout)
    del found["elapsed_us"]
    return found, done.stderr.strip()


def test_a_wheel_carries_the_files_for_people_and_the_compiled_ones(site: Path) -> None:
    data = site / "gateway" / "data"
    found = {str(path.relative_to(data)) for path in data.rglob("*") if path.is_file()}
    policies = {
        f"policies/{name}.yaml" for name in ("builtin", "ci", "daily", "enterprise", "guard", "project.example")
    }
    assert found >= policies | {"tools.yaml", "tools.packed", "policies.json", "commands.packed", "foreign.packed"}
    assert (data / "tools.yaml").read_bytes() == Path(PACKAGE, "..", "tools.yaml").read_bytes()


@pytest.mark.parametrize("call", share(CALLS, 2))
def test_without_a_cache_it_says_what_a_checkout_says_and_reads_no_yaml(command, site: Path, call: str) -> None:
    nowhere = {"HOME": "/proc", "XDG_CACHE_HOME": "/proc/nowhere"}
    installed, said = check(command, site, call, **nowhere)
    checkout, _ = check(command, Path(PACKAGE).parent, call, HOME="/proc")  # which has a cache, and says no less
    text = json.dumps(installed).replace(str(site / "gateway" / "data"), str(Path(PACKAGE).parent))
    assert (json.loads(text), said.split(" ", 1)[1]) == (checkout, "[]")


@pytest.mark.parametrize(("agent", "word"), [("claude", b'"deny"'), ("gemini", b'"deny"'), ("codex", b'"deny"')])
def test_a_hook_reads_no_yaml_either(site: Path, tmp_path: Path, agent: str, word: bytes) -> None:
    """The tools of foreign agents come compiled as well."""
    said = json.dumps(before(agent, str(tmp_path), "", {"command": "rm -rf /"})).encode()
    program = (
        f"import os, sys; sys.path[:0] = {[str(site), *sys.path]!r}\n"
        "from gateway.frontends.hook_process import decide\n"
        f"print(decide([{agent!r}], {said!r}, os.environ).stdout.decode())\n"
        "assert not {'yaml', 'jsonschema', 'typer', 'gateway.spec'} & set(sys.modules)\n"
    )
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-S", "-c", program],
        capture_output=True,
        timeout=60,
        cwd=tmp_path,
        env=environment,
        check=True,
    )
    assert word in done.stdout


def test_the_first_check_keeps_the_policy_and_the_next_one_uses_it(command, site: Path, tmp_path: Path) -> None:
    env = {"XDG_CACHE_HOME": str(tmp_path)}
    first, _ = check(command, site, "Write(x)", **env)
    kept = {name: os.stat(tmp_path / "gateway" / name).st_mtime_ns for name in os.listdir(tmp_path / "gateway")}
    again, _ = check(command, site, "Write(x)", **env)
    assert again == first
    assert kept == {name: os.stat(tmp_path / "gateway" / name).st_mtime_ns for name in os.listdir(tmp_path / "gateway")}
    assert sorted(name.partition("-")[0] for name in kept) == ["policy", "seal"]


def test_a_changed_policy_of_the_user_is_read_from_its_yaml(command, site: Path, tmp_path: Path) -> None:
    folder = tmp_path / "gateway"
    folder.mkdir()
    (folder / "policy.yaml").write_text("version: 1\ndeny: [Read(src/**)]\n", encoding="utf-8")
    found, _ = check(
        command, site, "Read(src/main.py)", XDG_CONFIG_HOME=str(tmp_path), XDG_CACHE_HOME=str(tmp_path / "c")
    )
    assert (found["decision"], found["rule"]["file"]) == ("deny", str(folder / "policy.yaml"))
