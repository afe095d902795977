"""The shipped tools, and the circumstances that the tests call them in."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gateway.model.context import Context
from gateway.spec.tools import compile_tools
from gateway.tools.registry import Registry

TOOLS = Path(__file__).parents[2] / "tools.yaml"


@pytest.fixture(scope="session")
def registry() -> Registry:
    """As a process gets it that finds the compiled form in the cache."""
    return Registry(json.loads(json.dumps(compile_tools(TOOLS.read_bytes(), "tools.yaml"))))


@pytest.fixture(scope="session")
def context() -> Context:
    return Context(cwd="/home/dev/project", root="/home/dev/project", home="/home/dev")


@pytest.fixture(scope="session")
def declare():
    """Compiles one tool `T` from its keys, with an example that holds for every tool."""

    def declare(keys: str) -> Registry:
        keys = "\n".join("    " + line for line in keys.strip().splitlines())
        for key, default in (
            ("summary", "summary: A tool."),
            ("description", "description: A tool."),
            ("input", "input: {properties: {}}"),
            ("handler", "handler: {python: a.b}"),
            ("examples", "examples: [{call: {}, verdict: ask}]"),
        ):
            if f"\n    {key}:" not in "\n" + keys:
                keys += f"\n    {default}"
        text = f"version: 1\ntools:\n  T:\n{keys}\n"
        return Registry(json.loads(json.dumps(_without_examples(text))))

    return declare


def _without_examples(text: str):
    """The plain form of a file whose example says nothing that could be wrong."""
    from gateway.spec import tools as spec

    running, spec.require_examples = spec.require_examples, lambda _registry, _file: None
    try:
        return compile_tools(text, "t.yaml")
    finally:
        spec.require_examples = running
