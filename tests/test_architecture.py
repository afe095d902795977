"""Who may import whom, and what stays pure. `docs/architecture.md` explains it; this holds it."""

from __future__ import annotations

import ast
import functools
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

ROOT = Path(__file__).parents[1] / "gateway"
FILES = sorted(ROOT.rglob("*.py"))

BASE = {"model", "errors", "plainjson"}
EVERYTHING = {path.relative_to(ROOT).parts[0].removesuffix(".py") for path in FILES} - {"frontends", "service"}
MAY_IMPORT: dict[str, set[str]] = {
    "errors": set(),
    "plainjson": set(),
    "modules": set(),
    "model": {"errors"},
    "shell": BASE,
    "backtracking": set(),
    "policy": BASE | {"backtracking"},
    "commands": BASE | {"backtracking", "shell"},
    "spec": BASE
    | {"backtracking", "policy", "tools", "shell", "commands", "foreign"},  # it turns text into what those compile
    "tools": BASE,
    "agents": BASE,
    "foreign": BASE | {"packed", "tools"},
    # What stands behind the tools: reached from the life of a call alone, never from a decision.
    "handlers": BASE
    | {"agent", "approval", "layers", "lsp", "skills", "tasks"}
    | {
        "tools",
        "policy",
        "sandbox",
        "observe",
        "places",
        "cache",
        "background",
        "hiding",
        "outgoing",
        "offer",
        "programs",
        "web",
    },
    "tasks": BASE,
    "frontmatter": BASE | {"spec"},
    "skills": BASE | {"frontmatter", "places"},
    "firing": EVERYTHING - {"spec"},
    "hiding": set(),
    "awaiting": BASE | {"sandbox"},
    "outgoing": BASE | {"sandbox", "tools"},
    "web": BASE | {"agent", "cache", "outgoing", "policy", "programs", "sandbox", "tools"},
    "offer": BASE | {"policy", "skills", "tools"},
    "background": BASE | {"sandbox", "policy", "tools"},
    "session": BASE | {"approval", "tools", "background", "scratch"},
    "scratch": BASE | {"tools"},
    "toolfiles": BASE | {"layers", "ownership", "places", "tools"},
    "servers": EVERYTHING - {"spec"},
    "joined": EVERYTHING - {"spec"},
    "theirs": BASE | {"mcp"},
    "tickets": BASE | {"cache"},
    "pausing": BASE | {"cache"},
    "guarded": BASE | {"approval", "sandbox", "service", "tickets"},
    "mcp": EVERYTHING - {"spec"},
    "lsp": BASE | {"mcp", "policy", "sandbox", "tools"},
    "agent": EVERYTHING,
    "install": BASE | {"agents", "cache", "installation", "places", "programs", "service"},
    "anthropic": EVERYTHING - {"spec"},
    "serving": EVERYTHING - {"spec"},
    "working": EVERYTHING - {"spec"},
    "calling": EVERYTHING - {"spec"},
    "life": EVERYTHING - {"spec"},
    "schedule": EVERYTHING - {"spec"},
    "hooks": BASE | {"hiding", "outgoing", "policy", "programs", "sandbox"},
    "gitconfig": set(),
    "repository": BASE | {"gitconfig"},
    "projectfiles": BASE,
    "observe": BASE | {"expanding", "repository", "projectfiles"},
    "expanding": {"observe"},
    "signalled": set(),
    "uncollected": set(),
    "cache": BASE | {"uncollected"},
    "packed": BASE,
    "places": BASE,
    "prebuilt": BASE | {"cache", "packed", "places"},
    "trust": BASE | {"cache"},
    "ownership": BASE,
    "layers": BASE | {"cache", "ownership", "places", "policy"},
    "descriptions": BASE | {"commands", "layers", "ownership", "packed", "places", "spec"},
    "nested": BASE | {"observe"},
    "world": BASE | {"observe"},
    "sandbox": BASE | {"policy", "observe", "places", "gitconfig", "programs", "signalled"},
    "installation": BASE | {"cache", "places"},
    "programs": BASE | {"installation"},
    "load": EVERYTHING - {"engine"},
    "wheel": EVERYTHING - {"engine"},
    "policytest": EVERYTHING,
    "effective": EVERYTHING,
    "audit": BASE | {"policy"},
    "approval": BASE | {"cache", "engine", "layers", "load", "places", "policy", "spec"},
    "engine": EVERYTHING - {"spec"},
    "execution": EVERYTHING - {"spec"},
    "frontends": EVERYTHING | {"frontends", "service"},
    "service": EVERYTHING | {"frontends", "service"},
}

PURE = {"model", "shell", "commands", "policy", "gitconfig", "agents"}
# Pure files in a package that is not: from a verdict to a plan.
PURE_FILES = {
    "audit/chain.py",
    "audit/entries.py",
    "audit/mend.py",
    "audit/redact.py",
    "audit/secrets.py",
    "backtracking.py",
    "hiding.py",
    "hooks/answer.py",
    "lsp/answers.py",
    "lsp/capabilities.py",
    "lsp/endings.py",
    "lsp/frames.py",
    "lsp/positions.py",
    "lsp/problems.py",
    "lsp/uris.py",
    "mcp/cleaned.py",
    "mcp/elicited.py",
    "theirs.py",
    "mcp/eras.py",
    "approval/base.py",
    "approval/confusable.py",
    "approval/digests.py",
    "approval/person.py",
    "skills/expanding.py",
    "skills/narrowing.py",
    "tasks/states.py",
    "tasks/timetable.py",
    "tools/handlers/branches.py",
    "sandbox/bpf.py",
    "sandbox/breach.py",
    "sandbox/contract.py",
    "sandbox/egress/addresses.py",
    "sandbox/egress/decide.py",
    "sandbox/egress/dns.py",
    "sandbox/egress/http.py",
    "sandbox/egress/socks.py",
    "sandbox/egress/tls.py",
    "sandbox/gitconfig.py",
    "sandbox/landlock_filter.py",
    "sandbox/landlock_rules.py",
    "sandbox/mounts.py",
    "sandbox/network.py",
    "sandbox/plan.py",
    "sandbox/profile.py",
    "sandbox/seccomp.py",
    "sandbox/syscalls.py",
    "tools/looks.py",
    "tools/patch.py",
    "web/body.py",
    "web/domains.py",
    "web/providers.py",
}
IMPURE_MODULES = {
    "os",
    "io",
    "subprocess",
    "socket",
    "shutil",
    "tempfile",
    "time",
    "random",
    "logging",
    "threading",
    "pathlib",
}
IMPURE_CALLS = {"open", "print", "exec", "eval", "input"}
# The one module that loads the parser's extension modules from disk, once, under a lock.
ALLOWED = {("shell/parse.py", "threading"), ("shell/parse.py", "os"), ("shell/parse.py", "os.path")}

SLOW_MODULES = {
    "typing",
    "dataclasses",
    "yaml",
    "jsonschema",
    "pathspec",
    "typer",
    "rich",
    "anthropic",
    "inspect",
    "logging",
}
# Only imported when somebody asks for a tool's signature.
OFF_THE_PATH = {"tools/signature.py"}
# The front end that agents wait for at every call.
HOOK_FILES = {"frontends/main.py", "frontends/cli_hook.py", "frontends/hook.py", "frontends/hook_record.py"}
DECISION_PATH = {
    "agents",
    "foreign",
    "model",
    "shell",
    "commands",
    "policy",
    "tools",
    "observe",
    "repository",
    "projectfiles",
    "gitconfig",
    "engine",
    "load",
    "cache",
    "uncollected",
    "descriptions",
    "packed",
    "places",
    "prebuilt",
    "layers",
    "ownership",
    "trust",
    "toolfiles",
    "errors",
    "plainjson",
    "modules",
}


class Source(NamedTuple):
    """What a module imports (line, module and names), without what only type checkers see; that at its top; and the
    plain names that it calls, with their lines."""

    imports: list[tuple[int, str, tuple[str, ...]]]
    at_top: list[tuple[int, str, tuple[str, ...]]]
    calls: list[tuple[int, str]]


@functools.cache
def source(path: Path) -> Source:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    nodes = list(ast.walk(tree))
    skipped = {
        id(inner)
        for node in nodes
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
        for child in node.body
        for inner in ast.walk(child)
    }
    calls = [
        (node.lineno, node.func.id) for node in nodes if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    ]
    return Source(_imports(nodes, skipped), _imports(tree.body, skipped), calls)


def _imports(nodes: Iterable[ast.AST], skipped: set[int]) -> list[tuple[int, str, tuple[str, ...]]]:
    found: list[tuple[int, str, tuple[str, ...]]] = []
    for node in nodes:
        if id(node) in skipped:
            continue
        if isinstance(node, ast.Import):
            found += [(node.lineno, alias.name, ()) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"line {node.lineno}: imports must be absolute"
            found.append((node.lineno, node.module or "", tuple(alias.name for alias in node.names)))
    return found


def home_of(path: Path) -> str:
    parts = path.relative_to(ROOT).parts
    return "handlers" if parts[:2] == ("tools", "handlers") else parts[0].removesuffix(".py")


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_module_imports_only_what_its_place_allows(path: Path) -> None:
    home = home_of(path)
    if home in {"__init__", "__main__"}:
        return
    assert home in MAY_IMPORT, f"`{home}` is new at the top of the package: give it a line in MAY_IMPORT"
    problems = []
    for line, module, names in source(path).imports:
        top, _, rest = module.partition(".")
        if top != "gateway":
            continue
        targets = {rest.split(".")[0]} if rest else set(names)
        problems += [
            f"line {line}: {home} may not import gateway.{target}" for target in targets - MAY_IMPORT[home] - {home}
        ]
    assert problems == []


@pytest.mark.parametrize(
    "path",
    [path for path in FILES if path.relative_to(ROOT).parts[0] in PURE or str(path.relative_to(ROOT)) in PURE_FILES],
    ids=lambda path: str(path.relative_to(ROOT)),
)
def test_the_middle_is_pure(path: Path) -> None:
    name = str(path.relative_to(ROOT))
    problems = [
        f"line {line}: imports {module}"
        for line, module, _names in source(path).imports
        if module.split(".")[0] in IMPURE_MODULES and (name, module) not in ALLOWED
    ]
    problems += [f"line {line}: calls {called}()" for line, called in source(path).calls if called in IMPURE_CALLS]
    assert problems == []


@pytest.mark.parametrize(
    "path",
    [
        path
        for path in FILES
        if (home_of(path) in DECISION_PATH and str(path.relative_to(ROOT)) not in OFF_THE_PATH)
        or str(path.relative_to(ROOT)) in HOOK_FILES
    ],
    ids=lambda path: str(path.relative_to(ROOT)),
)
def test_the_decision_path_imports_nothing_slow(path: Path) -> None:
    slow = [
        f"line {line}: imports {module}"
        for line, module, _names in source(path).at_top
        if module.split(".")[0] in SLOW_MODULES
    ]
    assert slow == []


def test_nothing_imports_the_front_ends_but_front_ends() -> None:
    offenders = [
        str(path.relative_to(ROOT))
        for path in FILES
        if path.relative_to(ROOT).parts[0] not in {"frontends", "service", "__main__.py"}
        for _line, module, _names in source(path).imports
        if module.startswith("gateway.frontends")
    ]
    assert offenders == []


def test_a_dry_run_knows_nothing_of_approvals_and_of_the_record() -> None:
    program = "import sys; from gateway.frontends.main import run; run(['check', 'Bash(rm x)']); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=ROOT.parent, check=True)
    loaded = done.stdout.split()
    assert "gateway.policy.resolve" in loaded
    assert [name for name in loaded if name.startswith(("gateway.approval", "gateway.audit"))] == []


def test_a_hook_loads_nothing_slow(tmp_path: Path) -> None:
    """Once everything is compiled. It loads what a dry run does, and the record."""
    project = tmp_path / "project"
    project.mkdir()
    said = {
        "session_id": "s", "transcript_path": "t", "cwd": str(project), "prompt_id": "p", "permission_mode": "default",
        "hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {"command": "ls | head -3"},
        "tool_use_id": "t1",
    }  # fmt: skip
    program = (
        f"import os, sys; from gateway.frontends.cli_hook import decide; os.chdir({str(project)!r}); "
        f"print(decide(['claude'], {json.dumps(said).encode()!r}, os.environ).stdout.decode().strip(), *sys.modules)"
    )
    environment = {**os.environ, "HOME": str(tmp_path)}
    for _compiled in (False, True):
        done = subprocess.run(
            [sys.executable, "-c", program], capture_output=True, text=True, cwd=ROOT.parent, check=True,
            env=environment,
        )  # fmt: skip
    answer, *loaded = done.stdout.split()
    assert "allow" in answer
    assert {"gateway.policy.resolve", "gateway.audit.log", "gateway.agents.claude"} <= set(loaded)
    slow = (*SLOW_MODULES, "gateway.spec", "gateway.approval", "gateway.sandbox", "subprocess", "threading", "socket")
    known = [sys.executable, "-c", "import sys; print(*sys.modules)"]
    before = subprocess.run(known, capture_output=True, text=True, check=True).stdout.split()
    assert [name for name in loaded if name.startswith(slow) and name not in before] == []


# What Python's own library has that a plain call needs not, and that takes longer to load than to judge it.
LEFT_OUT = ("json", "re", "enum", "functools", "collections", "contextlib", "types", "weakref", "fnmatch", "importlib")
MOST_MODULES = 170


@pytest.fixture
def short_path() -> Iterator[Path]:
    """A folder without a long word that holds a digit, which would be looked at for secrets."""
    with tempfile.TemporaryDirectory(dir="/tmp") as found:
        yield Path(os.path.realpath(found))


def test_a_hook_of_a_plain_call_loads_little(short_path: Path) -> None:
    """As the thin client starts it, once everything is compiled."""
    project = short_path / "project"
    project.mkdir()
    said = {
        "session_id": "s", "transcript_path": "t", "cwd": str(project), "prompt_id": "p", "permission_mode": "default",
        "hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {"command": "cat README.md"},
        "tool_use_id": "t1",
    }  # fmt: skip
    program = (
        f"import sys; sys.path.append({str(ROOT.parent)!r}); import os; from gateway.frontends.cli_hook import decide; "
        f"print(decide(['claude'], {json.dumps(said).encode()!r}, os.environ).stdout.decode().strip(), *sys.modules)"
    )
    environment = {**os.environ, "HOME": str(short_path)}
    for options in ([], ["-I", "-S"]):
        done = subprocess.run(
            [sys.executable, *options, "-c", program], capture_output=True, text=True, cwd=project, check=True,
            env=environment,
        )  # fmt: skip
    answer, *loaded = done.stdout.split()
    assert "allow" in answer
    assert [name for name in loaded if name.partition(".")[0] in LEFT_OUT] == []
    assert len(loaded) <= MOST_MODULES


def test_only_one_module_knows_the_parser_library() -> None:
    knowing = {str(path.relative_to(ROOT)) for path in FILES if "tree_sitter" in path.read_text(encoding="utf-8")}
    assert knowing == {"shell/parse.py"}
