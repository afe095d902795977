"""Who may import whom, and what stays pure. `docs/architecture.md` explains it; this holds it."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from importgraph import MODULES, circles, entry, graph, imports, lines
from sources import source
from warmed import warm

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[1] / "gateway"
FILES = sorted(ROOT.rglob("*.py"))

# Who may import whom: a package imports those that stand before it, and itself. Annotations count.
ORDER = (
    "core", "model", "shell", "policy", "commands", "host", "tools", "spec", "config", "judge", "sandbox",
    "audit", "approval", "calls", "files", "llm", "web", "skills", "mcp", "lsp", "tasks", "agent",
    "handlers", "agents", "install", "replay", "render", "api", "frontends", "adapters",
)  # fmt: skip
PLACE = {package: place for place, package in enumerate(ORDER)}
# What hands on names of other packages, and is imported by none of them.
OUTSIDE = {"", "__main__", "anthropic", "hooks"}

PURE = {"model", "shell", "commands", "policy"}
# Pure files in a package that is not: from a verdict to a plan.
PURE_FILES = {
    "agents/base.py",
    "agents/claude.py",
    "agents/codex.py",
    "agents/copilot.py",
    "agents/cursor.py",
    "agents/gemini.py",
    "agents/opencode.py",
    "agents/refusal.py",
    "approval/base.py",
    "approval/confusable.py",
    "approval/digests.py",
    "approval/person.py",
    "audit/chain.py",
    "audit/entries.py",
    "audit/recovery.py",
    "audit/redact.py",
    "audit/secrets.py",
    "calls/hooks/answer.py",
    "frontends/console/nodes.py",
    "frontends/console/pages/agents.py",
    "frontends/console/pages/coverage.py",
    "frontends/console/pages/frame.py",
    "frontends/console/pages/interruptions.py",
    "frontends/console/pages/live.py",
    "frontends/console/pages/parts.py",
    "frontends/console/pages/pending.py",
    "frontends/console/pages/policy.py",
    "frontends/console/pages/why.py",
    "core/backtracking.py",
    "core/secret_masking.py",
    "handlers/branches.py",
    "lsp/answers.py",
    "lsp/capabilities.py",
    "lsp/file_types.py",
    "lsp/frames.py",
    "lsp/positions.py",
    "lsp/problems.py",
    "lsp/uris.py",
    "mcp/elicitation.py",
    "mcp/protocol_eras.py",
    "mcp/sanitised.py",
    "mcp/server_tools.py",
    "sandbox/backends/landlock_filter.py",
    "sandbox/backends/landlock_rules.py",
    "sandbox/bound_record.py",
    "sandbox/bpf.py",
    "sandbox/contract.py",
    "sandbox/egress/addresses.py",
    "sandbox/egress/decide.py",
    "sandbox/egress/dns.py",
    "sandbox/egress/http.py",
    "sandbox/egress/socks.py",
    "sandbox/egress/tls.py",
    "sandbox/mounts.py",
    "sandbox/network.py",
    "sandbox/plan.py",
    "sandbox/profile.py",
    "sandbox/seccomp.py",
    "sandbox/syscalls.py",
    "skills/expanding.py",
    "skills/narrowing.py",
    "tasks/states.py",
    "tasks/timetable.py",
    "tools/foreign_effects.py",
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
    "datetime",
    "zoneinfo",
    "locale",
}
IMPURE_CALLS = {"open", "print", "exec", "eval", "input"}
# The one module that loads the parser's extension modules from disk, once, under a lock.
ALLOWED = {("shell/parse.py", "threading"), ("shell/parse.py", "os"), ("shell/parse.py", "os.path")}
# Dates that a file writes, and the zone that a timetable names: neither asks what the time or the zone is here.
ALLOWED |= {("policy/compile.py", "datetime"), ("tasks/timetable.py", "datetime"), ("tasks/timetable.py", "zoneinfo")}

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
HOOK_FILES = {"frontends/main.py", "frontends/hook_process.py", "frontends/hook.py", "frontends/hook_record.py"}
# What a decision may load. Of `core` and `config` not all is on its way.
DECISION_PACKAGES = {
    "agents", "config", "core", "commands", "host", "judge", "model", "policy", "shell", "tools",
}  # fmt: skip
OFF_THE_PATH |= {
    "core/async_threads.py",
    "core/cancel.py",
    "config/wheel.py",
    "judge/policy_tests.py",
    "judge/effective_policy.py",
}


def imported(path: Path, *, at_top: bool = False) -> list[tuple[int, str]]:
    """Lines and modules of what a file imports, without what only type checkers see."""
    return [
        (each.line, each.module) for each in source(path).imports if not each.annotation and (each.at_top or not at_top)
    ]


def test_a_package_imports_only_packages_that_stand_before_it() -> None:
    wrong = [
        f"{module} line {each.line}: {entry(module)} may not import {entry(each.target)}"
        for module, path in MODULES.items()
        if entry(module) not in OUTSIDE
        for each in imports(path)
        if entry(each.target) != entry(module) and not PLACE.get(entry(each.target), len(ORDER)) < PLACE[entry(module)]
    ]
    assert wrong == []


# Who loads modules by names that no import statement shows: each from a table of its own, or a package's own modules.
# A verdict's words are made above it, and loaded only for whoever reads them.
LOADED_BY_NAME = {
    "__init__.py", "agents/__init__.py", "calls/handlers.py", "calls/hooks/transport.py",
    "commands/special/__init__.py", "frontends/cli/app.py",
    "frontends/service/answering.py", "install/agents.py", "model/verdict.py",
    "replay/columns.py", "replay/on_ray.py", "sandbox/backends/choose.py",
}  # fmt: skip


def test_few_load_modules_by_name() -> None:
    found = {
        str(path.relative_to(ROOT))
        for path in FILES
        for each in source(path).calls
        if each.name in {"import_module", "__import__"}
    }
    assert found == LOADED_BY_NAME


def test_no_file_leads_back_to_itself() -> None:
    """Neither at run time nor for whoever reads: annotations count."""
    assert circles(graph(annotations=True)) == []


def test_the_list_names_exactly_the_packages_there_are() -> None:
    assert {entry(module) for module in MODULES} == {*ORDER, *OUTSIDE}


def test_the_documentation_has_the_same_list() -> None:
    page = (ROOT.parent / "docs" / "architecture.md").read_text(encoding="utf-8")
    assert tuple(re.findall(r"^\| \d+ \| `(\w+)/` \|", page, re.MULTILINE)) == ORDER


# Longer than this is more than a reader can hold: it is split by what it does.
MOST_LINES = 400


# Where values are made for each word, redirect, question or effect, and a name for each part would be paid for
# in every decision.
HOT = {
    "commands/additions.py", "commands/crossing.py", "commands/findings.py", "commands/git_questions.py",
    "commands/inputs.py", "commands/printed.py", "commands/questions.py", "commands/settle.py",
    "commands/simple_command.py", "commands/special/python/programs.py", "policy/contain.py",
    "policy/resolve.py", "shell/fields.py", "shell/flow.py", "shell/redirects.py", "shell/simple.py",
    "shell/variables.py", "shell/walk.py", "shell/walk_state.py",
}  # fmt: skip
MOST_UNNAMED = 4  # of a frozen value
MOST_UNNAMED_OF_OTHERS = 6


def _classes() -> dict[str, dict[str, int]]:
    """The classes of each module, and how many parts may be given to each without a name."""
    bases: dict[str, set[str]] = {}  # of all classes of a name
    for path in FILES:
        for each in source(path).definitions:
            bases.setdefault(each.name, set()).update(each.bases)

    def is_value(above: set[str], below: frozenset[str] = frozenset()) -> bool:
        return not above.isdisjoint({"Value", "NamedTuple"}) or any(
            is_value(bases.get(each, set()), below | {each}) for each in above - below
        )

    return {
        module: {
            each.name: MOST_UNNAMED if is_value({*each.bases}) else MOST_UNNAMED_OF_OTHERS
            for each in source(path).definitions
            if each.is_class
        }
        for module, path in MODULES.items()
    }


def test_what_is_made_of_many_parts_is_made_by_name() -> None:
    classes = _classes()
    found: dict[str, list[str]] = {}
    for module, path in MODULES.items():
        known = {("", name): most for name, most in classes[module].items()}
        for each in source(path).imports:
            names = zip(each.names, each.renamed, strict=False) if each.names else [("", each.renamed[0])]
            for name, here in names:
                place = each.module.partition(".")[2]
                if name in classes.get(place, {}):
                    known["", here] = classes[place][name]
                inner = classes.get(".".join(filter(None, (place, name))), {})  # of a module under a name of its own
                known |= {(here, one): most for one, most in inner.items()}
        for call in source(path).calls:
            if call.unnamed > known.get((call.of, call.name), call.unnamed):
                found.setdefault(str(path.relative_to(ROOT)), []).append(f"line {call.line}: {call.name}")
    assert {file: made for file, made in found.items() if file not in HOT} == {}
    assert set(found) == HOT, "these need no exception any more"


# What an agent's settings are asked for, said once in `install/base.py`.
AGENTS_SETTINGS = {"folder", "hooks", "server", "remarks"}
# What bases of other people's say: asyncio's.
SAID_BY_OTHERS = {
    "connection_made", "connection_lost", "data_received", "eof_received", "pause_writing", "resume_writing",
}  # fmt: skip


def test_every_public_name_says_what_it_is() -> None:
    """What stands in a base with the same name is said there."""
    bases: dict[str, set[str]] = {}  # of all classes of a name
    said: set[str] = set()
    for path in FILES:
        for each in source(path).definitions:
            bases.setdefault(each.name, set()).update(each.bases)
            if each.documented:
                said.add(each.name)

    def is_said(owner: str, name: str, below: frozenset[str] = frozenset()) -> bool:
        above, below = bases.get(owner, set()), below | {owner}
        return f"{owner}.{name}" in said or any(is_said(base, name, below) for base in above - below)

    found: dict[str, list[str]] = {}
    for path in FILES:
        inside = str(path.relative_to(ROOT))
        for each in source(path).definitions:
            owner, _, name = each.name.rpartition(".")
            elsewhere = (
                is_said(owner, name) or "overload" in each.decorators or "setter" in each.decorators
                or name in SAID_BY_OTHERS or (inside.startswith("install/") and each.name in AGENTS_SETTINGS)
            )  # fmt: skip
            if each.is_public and not each.documented and not elsewhere:
                found.setdefault(inside, []).append(each.name)
    assert found == {}


def test_no_file_grows_beyond_four_hundred_lines() -> None:
    assert {str(path.relative_to(ROOT)) for path in FILES if lines(path) > MOST_LINES} == set()


def test_the_middle_is_pure() -> None:
    problems = []
    for path in FILES:
        name = str(path.relative_to(ROOT))
        if path.relative_to(ROOT).parts[0] in PURE or name in PURE_FILES:
            problems += [
                f"{name}:{line} imports {module}"
                for line, module in imported(path)
                if module.split(".")[0] in IMPURE_MODULES and (name, module) not in ALLOWED
            ]
            problems += [
                f"{name}:{each.line} calls {each.name}()"
                for each in source(path).calls
                if not each.of and each.name in IMPURE_CALLS
            ]
    assert problems == []


def test_the_decision_path_imports_nothing_slow() -> None:
    slow = []
    for path in FILES:
        name = str(path.relative_to(ROOT))
        is_on_it = path.relative_to(ROOT).parts[0] in DECISION_PACKAGES and name not in OFF_THE_PATH
        if is_on_it or name in HOOK_FILES:
            slow += [
                f"{name}:{line} imports {module}"
                for line, module in imported(path, at_top=True)
                if module.split(".")[0] in SLOW_MODULES
            ]
    assert slow == []


# Names by which a program learns the folder that its own process stands in, or takes a path from there.
_OWN_FOLDER = {"getcwd", "getcwdb", "abspath", "relpath", "curdir", "chdir", "fchdir", "cwd", "absolute"}
# Where nobody says where a call begins, it begins here; the others compare two paths that are absolute.
_MAY_ASK = {("judge/judge.py", "getcwd"), ("config/binding.py", "relpath")}


def test_no_look_depends_on_the_folder_of_the_process() -> None:
    """A process that lives long stands somewhere else than its calls begin."""
    found = {
        (str(path.relative_to(ROOT)), name)
        for path in FILES
        if path.relative_to(ROOT).parts[0] in {"host", "judge", "config", "commands"}
        for base, name in source(path).attributes
        if name in _OWN_FOLDER and base in {"os", "path", "Path", "posixpath"}
    }
    assert found == _MAY_ASK


def test_nothing_imports_the_front_ends_but_front_ends() -> None:
    offenders = [
        str(path.relative_to(ROOT))
        for path in FILES
        if path.relative_to(ROOT).parts[0] not in {"frontends", "adapters", "hooks.py", "__main__.py"}
        for _line, module in imported(path)
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
        f"import os, sys; from gateway.frontends.hook_process import decide; os.chdir({str(project)!r}); "
        f"print(decide(['claude'], {json.dumps(said).encode()!r}, os.environ).stdout.decode().strip(), *sys.modules)"
    )
    warm(tmp_path / ".cache" / "gateway")
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
MOST_MODULES = 160


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
        f"import os, sys; sys.path.append({str(ROOT.parent)!r}); from gateway.frontends.hook_process import decide; "
        f"print(decide(['claude'], {json.dumps(said).encode()!r}, os.environ).stdout.decode().strip(), *sys.modules)"
    )
    warm(short_path / ".cache" / "gateway")
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


# What a command that runs unasked needs not, of Python's library and of ours.
NOT_RUN_WITH = (
    "asyncio", "json", "re", "enum", "signal", "fnmatch", "shutil", "tempfile", "random", "socket", "struct", "array",
    "gateway.render", "gateway.approval.asking", "gateway.approval.base", "gateway.calls.dialling",
    "gateway.calls.drafts", "gateway.calls.fetching", "gateway.calls.hooks.run", "gateway.policy.fetching",
    "gateway.sandbox.attempts", "gateway.sandbox.backends.bubblewrap_probe", "gateway.sandbox.backends.landlock_rules",
    "gateway.sandbox.drafts", "gateway.sandbox.egress.asked_connections", "gateway.sandbox.layers",
    "gateway.sandbox.rooms", "gateway.sandbox.workspace_secrets", "gateway.spec",
)  # fmt: skip
MOST_MODULES_RUN = 290


@pytest.mark.skipif(sys.platform != "linux", reason="it runs confined, as on Linux")
def test_a_command_that_runs_unasked_loads_little(short_path: Path) -> None:
    """As the console script starts it, once everything is compiled and the sandbox is known to hold."""
    project = short_path / "project"
    project.mkdir()
    program = (
        f"import sys; sys.path.append({str(ROOT.parent)!r}); from gateway.frontends.main import run; "
        "print(run(['exec', '--', 'true']), *sys.modules)"
    )
    warm(short_path / ".cache" / "gateway")
    environment = {**os.environ, "HOME": str(short_path)}
    for options in ([], ["-I", "-S"]):
        done = subprocess.run(
            [sys.executable, *options, "-c", program], capture_output=True, text=True, cwd=project, check=True,
            env=environment,
        )  # fmt: skip
    status, *loaded = done.stdout.split()
    if "gateway.sandbox.backends.bubblewrap" in loaded or status != "0":
        pytest.skip("namespaces do not hold here")
    assert [name for name in loaded if any(name == each or name.startswith(f"{each}.") for each in NOT_RUN_WITH)] == []
    assert len(loaded) <= MOST_MODULES_RUN


def test_only_one_module_knows_the_parser_library() -> None:
    knowing = {str(path.relative_to(ROOT)) for path in FILES if "tree_sitter" in path.read_text(encoding="utf-8")}
    assert knowing == {"shell/parse.py"}
