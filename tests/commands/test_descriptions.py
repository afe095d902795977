"""Every shipped description compiles, holds plain data, names known hooks, and its examples are right."""

from __future__ import annotations

import json
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import gateway.commands
from gateway.commands.examples import failures
from gateway.commands.special import HOOKS, MODULES
from gateway.errors import ConfigError
from gateway.spec.commands import EFFECTS, KINDS, compile_description

FILES = sorted(Path(gateway.commands.__file__).parent.glob("*.yaml"))


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_examples_of_a_description_are_right(file: Path, descriptions: dict[str, Any]) -> None:
    description = compile_description(file.read_bytes(), file.name)
    assert description["examples"], "a description needs examples"
    assert failures(description, descriptions.get) == []


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_compiled_description_survives_json_and_names_known_hooks(file: Path) -> None:
    description = compile_description(file.read_bytes(), file.name)
    assert json.loads(json.dumps(description)) == description

    def hooks(spec: dict[str, Any]) -> set[str]:
        own = set(spec.get("special", ()))
        return own.union(*(hooks(child) for child in spec.get("nested", ())))

    assert hooks(description) <= set(HOOKS)


@pytest.mark.parametrize("module", MODULES)
def test_a_module_of_hooks_has_those_that_are_looked_for_in_it(module: str) -> None:
    assert set(import_module(f"gateway.commands.special.{module}").HOOKS) == set(MODULES[module].split())


def test_a_false_example_is_reported_with_its_line() -> None:
    description = compile_description(
        'names: [cat]\noperands: [{kind: path, does: read, rest: true}]\nexamples:\n  "cat a": [read b]\n', "cat.yaml"
    )
    assert failures(description, {"cat": description}.get) == [
        "line 4: example must do what it says (`cat a` says [read b], does [read a])"
    ]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("flags: -a", "x.yaml:1:1: description must have the key `names`"),
        (
            "names: [x]\nflag: -a",
            "x.yaml:2:1: description must have known keys only\n  help: did you mean `flags`?",
        ),
        (
            "names: [x]\ndialect: bsd",
            "x.yaml:2:10: dialect must be one of gnu, posix, dash, keys, none (got `bsd`)",
        ),
        (
            "names: [x]\noperands: [{kind: file}]",
            f"x.yaml:2:19: kind must be one of {', '.join(KINDS)} (got `file`)",
        ),
        (
            "names: [x]\neffects: [explode now]",
            f"x.yaml:2:11: effect must be one of {', '.join(EFFECTS)} (got `explode`)",
        ),
        (
            "names: [x]\nuse: nothing",
            "x.yaml:2:6: group must be one of this file's groups (got `nothing`)",
        ),
        (
            "names: [x]\nsubcommands: {a: {}, b|a: {}}",
            "x.yaml:2:22: subcommand must be unique (got `a` again)",
        ),
        (
            "names: [x]\nbare: y\nsubcommands: {a: {}}",
            "x.yaml:2:7: bare must be one of the subcommands (got `y`)",
        ),
    ],
)
def test_a_mistake_in_a_description_is_an_error_with_its_place(text: str, problem: str) -> None:
    with pytest.raises(ConfigError) as raised:
        compile_description(text, "x.yaml")
    assert str(raised.value) == problem
