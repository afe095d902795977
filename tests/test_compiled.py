"""What a wheel carries as machine code can be that: there is no bound on how deep its calls nest but their own.

That it decides the same is shown by `scripts/compiled`, which runs all tests with it.
"""

from __future__ import annotations

import ast
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
COMPILED: list[str] = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["gateway"]["compiled"]

# What may come back to itself inside of one module, and what ends that. By way of others come back texts that commands
# hand on: `MAX_DEPTH` shells inside each other (`commands.analyse`), what an alias stands for among them.
BOUNDED = {
    # `MAX_NESTED` substitutions inside each other.
    "commands.pipes": {
        "_collect", "_from_file", "_merged", "_one", "_printed_by", "_resolved", "content", "given", "printed",
        "resolved",
    },
    # One method calls another object's of the same name.
    "host.machine": {"read"},
    # `_DEEPEST` repositories inside each other.
    "host.repository": {"_keeps_quiet"},
    "policy.hosts": {"build"},
    # A predicate's entry calls the function that it names for its form.
    "policy.predicates": {"prepare"},
    "policy.paths": {"build", "lookup", "lookup_possible"},
    "policy.resolve": {"_by_mode"},
    # `MAX_SEGMENTS` of a pattern.
    "policy.trie": {"_bucket", "_globset", "_keyed", "_mark_quiet", "finish", "leading", "scan", "walk"},
    # It calls `walk.read`, another function of its name.
    "shell.reading": {"read"},
    # `MAX_DEPTH` of what an input holds.
    "tools.canonical": {"_formed"},
}  # fmt: skip


def calls(function: ast.AST) -> set[str]:
    """The names that a function calls by."""
    found = (node.func for node in ast.walk(function) if isinstance(node, ast.Call))
    return {f.id if isinstance(f, ast.Name) else f.attr for f in found if isinstance(f, ast.Name | ast.Attribute)}


def recursive(source: str) -> set[str]:
    """The functions from which calls by name lead back to themselves, constructors aside."""
    functions: dict[str, set[str]] = {}
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name != "__init__":
            functions.setdefault(node.name, set()).update(calls(node))

    def reached(name: str) -> set[str]:
        seen: set[str] = set()
        pending = [name]
        while pending:
            for called in functions[pending.pop()] & functions.keys() - seen:
                seen.add(called)
                pending.append(called)
        return seen

    return {name for name in functions if name in reached(name)}


@pytest.mark.parametrize("name", COMPILED)
def test_no_function_calls_itself_without_a_bound(name: str) -> None:
    source = (ROOT / "gateway" / f"{name.replace('.', '/')}.py").read_text("utf-8")
    assert recursive(source) == BOUNDED.get(name, set())


def test_only_what_is_compiled_is_given_a_bound() -> None:
    assert set(BOUNDED) <= set(COMPILED)
    assert sorted(set(COMPILED)) == COMPILED


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("def f():\n    g()\ndef g():\n    pass\n", set()),
        ("def f():\n    f()\n", {"f"}),
        ("def f():\n    g()\ndef g():\n    return [x.f() for x in y]\n", {"f", "g"}),
    ],
    ids=["none", "at once", "by another"],
)
def test_a_function_that_calls_itself_is_found(source: str, found: set[str]) -> None:
    assert recursive(source) == found
