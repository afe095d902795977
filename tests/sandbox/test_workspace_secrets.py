"""Secrets in the workspace, hidden from what could carry them away."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.audit import secrets
from gateway.host.frozen import FrozenHost
from gateway.policy import paths
from gateway.sandbox import workspace_secrets
from gateway.sandbox.survey_results import Found
from gateway.sandbox.workspace_secrets import WorkspaceSecrets

ROOT = "/home/dev/project"
TOKEN = "npm_" + "aB3dE5fG7hI9jK1lM3nO5pQ7rS9tU1vW3xY5"
CONTENTS = {
    ".gitignore": "*.log\nlocal/\n/notes.txt\n!kept.log\n",
    "web/.gitignore": "settings.js\n",
    ".npmrc": f"//registry.example.com/:_authToken={TOKEN}\n",
    "web/.npmrc": "fund=false\n",
    ".git/config": f'[remote "origin"]\n\turl = https://dev:{TOKEN}@git.example.com/x.git\n',
    "run.log": f"token={TOKEN}\n",
    "kept.log": f"token={TOKEN}\n",
    "plain.log": "nothing here\n",
    "local/a/key.txt": f"export API_TOKEN={TOKEN}\n",
    "notes.txt": f"token={TOKEN}\n",
    "sub/notes.txt": f"token={TOKEN}\n",  # not ignored: that is the one at the top
    "web/settings.js": f"const token = '{TOKEN}'\n",
    "src/config.py": f"TOKEN = '{TOKEN}'\n",  # kept by git: everybody who has the repository sees it
    "node_modules/x/.npmrc": f"_authToken={TOKEN}\n",
}
NAMED = [
    "tls/server.pem", "tls/SERVER.KEY", "prod.tfvars", "prod.auto.tfvars.json", ".envrc", "config/secrets.yml",
    "config/secrets.yaml", "kubeconfig", "ops/prod.kubeconfig", "appsettings.Production.json",
]  # fmt: skip
FREE = [
    "appsettings.json", "secrets.py", "docs/pem.md", "keys.txt", "main.tf", "node_modules/y/test.key",
    ".venv/lib/site-packages/certifi/cacert.pem",
]  # fmt: skip


def host(files: list[str], contents: dict[str, str]) -> FrozenHost:
    inside = {f"{ROOT}/{name}": text for name, text in contents.items()}
    return FrozenHost({"home": "/home/dev", "root": ROOT, "files": [*files, *contents], "contents": inside})


def look(files: list[str], contents: dict[str, str], shown: Any = None) -> Found:
    return WorkspaceSecrets(host(files, contents), secrets.holds).look([ROOT], shown)


@pytest.mark.parametrize("name", NAMED)
def test_names_that_say_it_are_secrets(name: str) -> None:
    assert look([name], {}) == Found((f"{ROOT}/{name}",))


@pytest.mark.parametrize("name", FREE)
def test_other_names_and_installed_packages_are_none(name: str) -> None:
    assert look([name], {}) == Found()


def test_what_git_ignores_and_settings_of_packagers_are_looked_into() -> None:
    expected = [".git/config", ".npmrc", "local/a/key.txt", "notes.txt", "run.log", "web/settings.js"]
    assert look([], CONTENTS) == Found(tuple(f"{ROOT}/{name}" for name in expected))


def test_what_is_shown_is_none() -> None:
    shown = paths.build([(f"{ROOT}/tls/**", 0), (f"{ROOT}/**/run.log", 0)])
    found = look(["tls/server.pem", "x.pem"], {name: CONTENTS[name] for name in (".gitignore", "run.log")}, shown)
    assert found == Found((f"{ROOT}/x.pem",))


@pytest.mark.parametrize("bound", ["MAX_FOLDERS", "MAX_FILES"])
def test_a_look_that_ends_at_a_bound_says_so(monkeypatch: pytest.MonkeyPatch, bound: str) -> None:
    monkeypatch.setattr(workspace_secrets, bound, 1)
    assert look([], CONTENTS).whole is False


def test_a_file_that_is_no_text_or_too_long_is_not_looked_into() -> None:
    long = {".gitignore": "*.log\n", "a.log": f"token={TOKEN}\n" + "x" * 70_000, "b.log": f"\0token={TOKEN}\n"}
    assert look([], long) == Found()


def test_a_gitignore_that_cannot_be_read_as_patterns_leaves_the_others() -> None:
    odd = {".gitignore": "../x\n[\n\n# no\n*.log\n", "a.log": f"token={TOKEN}\n"}
    assert look([], odd) == Found((f"{ROOT}/a.log",))
