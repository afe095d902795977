"""The setting `language_servers`: what it takes, and what it says of everything else."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from gateway.core.errors import ConfigError
from gateway.spec.language_servers import LANGUAGE_SERVER, LANGUAGES
from gateway.spec.policy import parse_policy
from gateway.spec.schema import policy_schema

PLAIN: dict[str, Any] = {
    "command": ["x"], "extensions": {".py": "python", ".pyi": "python", ".pyw": "python"}, "env": {},
    "initialization": None, "configuration": {}, "seconds": 30, "start_seconds": 60, "after_edit": 2,
}  # fmt: skip
TAKEN = {
    "the least": ("{command: x, languages: python}", PLAIN),
    "everything": (
        """{command: [x, --stdio], languages: [go], extensions: {.g: golike, Gofile: go}, env: {A: b, C: 'env:D'},
        initialization: {a: [1, true]}, configuration: {gopls: {b: c}}, seconds: 5, start_seconds: 6, after_edit: 0}""",
        {
            "command": ["x", "--stdio"], "extensions": {".go": "go", ".g": "golike", "Gofile": "go"},
            "env": {"A": "b", "C": "env:D"}, "initialization": {"a": [1, True]}, "configuration": {"gopls": {"b": "c"}},
            "seconds": 5, "start_seconds": 6, "after_edit": 0,
        },
    ),
    "an ending for another language": (
        "{command: x, languages: python, extensions: {.pyi: stub}}",
        {**PLAIN, "extensions": {".py": "python", ".pyi": "stub", ".pyw": "python"}},
    ),
    "data that is no mapping": (
        "{command: x, languages: python, initialization: [1]}", {**PLAIN, "initialization": [1]},
    ),
}  # fmt: skip
REFUSED = {
    "no program": ("{languages: python}", "language server `a` must have a `command`"),
    "no files": ("{command: x}", "language server `a` must have `languages` or `extensions`"),
    "an unknown language": ("{command: x, languages: pyton}", "`languages` must be a known word (got `pyton`)"),
    "an ending with a slash": ("{command: x, extensions: {a/b: c}}", "`extensions` must hold endings such as `.py`"),
    "a dot for an ending": ("{command: x, extensions: {.: c}}", "`extensions` must hold endings such as `.py`"),
    "no endings": (
        "{command: x, extensions: {}}",
        "p.yaml:4:33: `extensions` must not be empty\n  help: write the endings that it serves, such as `.py: python`",
    ),
    "no endings beside languages": (
        "{command: x, languages: python, extensions: {}}", "`extensions` must not be empty",
    ),
    "no language for an ending": ("{command: x, extensions: {.a: ''}}", "`.a` must not be empty"),
    "another key": ("{command: x, languages: python, url: y}", "language server `a` must not have the key `url`"),
    "a variable of the sandbox": (
        "{command: x, languages: python, env: {HOME: y}}", "`env` must not hold `HOME`",
    ),
    "a configuration without sections": (
        "{command: x, languages: python, configuration: 5}", "`configuration` must be a mapping",
    ),
    "no time": ("{command: x, languages: python, seconds: 0}", "`seconds` must be an integer from 1 to 600"),
    "much time after an edit": (
        "{command: x, languages: python, after_edit: 61}", "`after_edit` must be an integer from 0 to 60",
    ),
    "no mapping": ("x", "language server `a` must be a mapping"),
}  # fmt: skip


def text_of(server: str, name: str = "a") -> str:
    return f"version: 1\nsettings:\n  language_servers:\n    {name}: {server}\n"


@pytest.mark.parametrize(("server", "found"), TAKEN.values(), ids=TAKEN)
def test_a_server_is_taken(tools: Any, schema: Any, server: str, found: Any) -> None:
    text = text_of(server)
    assert parse_policy(text, "p.yaml", tools)["settings"]["language_servers"] == {"a": found}
    schema.validate(yaml.safe_load(text))


@pytest.mark.parametrize(("server", "message"), REFUSED.values(), ids=REFUSED)
def test_a_mistake_is_told(tools: Any, server: str, message: str) -> None:
    with pytest.raises(ConfigError) as raised:
        parse_policy(text_of(server), "p.yaml", tools)
    assert message in str(raised.value)


@pytest.mark.parametrize("extensions", ["{}", "{.py: python}"], ids=["none", "the twin, one"])
def test_editors_say_of_endings_what_the_gateway_does(tools: Any, schema: Any, extensions: str) -> None:
    text = text_of(f"{{command: x, extensions: {extensions}}}")
    is_valid = schema.is_valid(yaml.safe_load(text))
    try:
        parse_policy(text, "p.yaml", tools)
    except ConfigError:
        assert not is_valid
    else:
        assert is_valid
    assert is_valid is (extensions != "{}")


def test_a_name_is_one_word(tools: Any) -> None:
    with pytest.raises(ConfigError, match="a language server's name must be letters"):
        parse_policy(text_of("{command: x, languages: python}", "a b"), "p.yaml", tools)


def test_an_ending_is_one_of_a_single_language() -> None:
    endings = [ending for each in LANGUAGES.values() for ending in each.split()]
    assert len(endings) == len(set(endings))


def test_the_keys_for_editors_are_those_that_are_read() -> None:
    settings = policy_schema()["$defs"]["settings"]["properties"]
    server = settings["language_servers"]["additionalProperties"]
    assert (list(server["properties"]), server["additionalProperties"]) == (list(LANGUAGE_SERVER), False)
