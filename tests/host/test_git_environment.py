"""Which settings of the person git reads where the environment that calls begin with says otherwise."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.host.frozen import world
from gateway.host.repository import git_fact, of_person
from gateway.model.context import Context

HOME, ROOT = "/home/dev", "/home/dev/project"
HOOKS = "[core]\n\thooksPath = /home/dev/project/scripts/hooks\n"
PLAIN = "[user]\n\tname = Dev\n"


def own(environment: dict[str, str], contents: dict[str, str]) -> tuple[bool, bool]:
    """Whether the project's repository is trusted there, and whether something is said against it."""
    described: dict[str, Any] = {
        "home": HOME, "root": ROOT, "branch": "main", "files": [".git/HEAD", "scripts/hooks/pre-commit"],
        "contents": {".git/config": "[core]\n\tbare = false\n", **contents}, "environment": environment,
    }  # fmt: skip
    fact = git_fact(ROOT, world(described).host, Context(ROOT, ROOT, HOME, (ROOT,)))
    return fact.own, bool(fact.why)


@pytest.mark.parametrize(
    ("environment", "contents"),
    [
        ({"XDG_CONFIG_HOME": "/home/dev/cfg"}, {"/home/dev/cfg/git/config": HOOKS}),
        ({"GIT_CONFIG_GLOBAL": "/home/dev/own.gitconfig"}, {"/home/dev/own.gitconfig": HOOKS}),
        ({"GIT_CONFIG_SYSTEM": "/opt/gitconfig"}, {"/opt/gitconfig": HOOKS}),
        ({}, {"/home/dev/.config/git/config": HOOKS}),
        ({}, {"/home/dev/.gitconfig": HOOKS}),
        *(({name: "/home/dev/other"}, {}) for name in ("GIT_DIR", "GIT_WORK_TREE", "GIT_COMMON_DIR", "GIT_CONFIG")),
        ({"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "core.pager", "GIT_CONFIG_VALUE_0": "x"}, {}),
        ({"GIT_CONFIG_PARAMETERS": "'core.pager=x'"}, {}),
    ],
)
def test_settings_that_run_what_calls_may_write_count_wherever_variables_put_them(
    environment: dict[str, str], contents: dict[str, str]
) -> None:
    assert own(environment, contents) == (False, True)


@pytest.mark.parametrize(
    ("environment", "contents"),
    [
        ({}, {}),
        ({"XDG_CONFIG_HOME": "/home/dev/cfg"}, {"/home/dev/cfg/git/config": PLAIN}),
        ({"XDG_CONFIG_HOME": "/home/dev/cfg"}, {"/home/dev/.config/git/config": HOOKS}),
        ({"GIT_CONFIG_GLOBAL": "/home/dev/own.gitconfig"}, {"/home/dev/.gitconfig": HOOKS}),
        ({"GIT_EDITOR": "vim"}, {}),
    ],
)
def test_settings_that_git_does_not_read_there_do_not_count(
    environment: dict[str, str], contents: dict[str, str]
) -> None:
    assert own(environment, contents) == (True, False)


def test_a_relative_folder_of_settings_is_none() -> None:
    described: dict[str, Any] = {"home": HOME, "root": ROOT, "environment": {"XDG_CONFIG_HOME": "cfg"}}
    assert of_person(HOME, world(described).host) == ("/home/dev/.gitconfig", "/etc/gitconfig")
