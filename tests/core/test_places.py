"""Where a user's folders lie, and that rules on them hold wherever that is."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from gateway.api.gateway import Gateway
from gateway.config.load import Options
from gateway.core.places import places
from gateway.model.call import RawCall

if TYPE_CHECKING:
    from pathlib import Path

BASES = {
    "XDG_CONFIG_HOME": "~/.config",
    "XDG_STATE_HOME": "~/.local/state",
    "XDG_CACHE_HOME": "~/.cache",
    "XDG_DATA_HOME": "~/.local/share",
}


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in (*BASES, *AGENTS):
        monkeypatch.delenv(name, raising=False)
    folder = tmp_path.resolve() / "home"
    folder.mkdir()
    monkeypatch.setenv("HOME", str(folder))
    return folder


def test_the_usual_folders_are_moved_nowhere(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert places().moved() == ()
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home / ".config"))
    monkeypatch.setenv("XDG_STATE_HOME", "not/absolute")  # the standard says to ignore it
    assert places().moved() == ()


@pytest.mark.parametrize("name", BASES)
def test_a_folder_kept_elsewhere_is_moved(name: str, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, str(home / "own"))
    assert places().moved() == ((BASES[name], str(home / "own")),)


AGENTS = {
    "CLAUDE_CONFIG_DIR": ("~/.claude", "settings.json"),
    "CODEX_HOME": ("~/.codex", "hooks.json"),
    "GEMINI_CLI_HOME": ("~/.gemini", "settings.json"),
    "COPILOT_HOME": ("~/.copilot", "settings.json"),
    "OPENCODE_CONFIG_DIR": ("~/.config/opencode", "plugin/gateway.js"),
    "XDG_RUNTIME_DIR": ("//run/user/*", "gateway/service.sock"),
}


@pytest.mark.parametrize("name", AGENTS)
def test_the_settings_of_agents_are_protected_where_a_variable_moves_them(
    name: str, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usual, file = AGENTS[name]
    project = home / "project"
    project.mkdir()

    def decided() -> str:
        call = RawCall("Write", {"file_path": str(project / "own" / file), "content": ""})
        return Gateway(Options(cwd=str(project), root=str(project)), where=places()).check(call).decision.word

    assert decided() != "deny"
    monkeypatch.setenv(name, str(project / "own"))
    assert (places().moved(), decided()) == (((usual, str(project / "own")),), "deny")


@pytest.mark.parametrize("base", ["cfg", "c*g [x]"])
@pytest.mark.parametrize(
    ("tool", "path", "rule"),
    [
        ("Read", "gh/hosts.yml", "secret-files"),
        ("Read", "gcloud/credentials.db", "secret-files"),
        ("Write", "gateway/policy.yaml", "gateway-and-agent-wiring"),
    ],
)
def test_what_is_forbidden_below_config_is_forbidden_where_it_is_kept(
    base: str, tool: str, path: str, rule: str, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = home / "project"
    file = project / base / path
    project.mkdir()
    call = RawCall(tool, {"file_path": str(file)} | ({"content": ""} if tool == "Write" else {}))

    def decided() -> tuple[str, str]:
        verdict = Gateway(Options(cwd=str(project), root=str(project)), where=places()).check(call)
        return verdict.decision.word, verdict.reason.rule.id

    assert decided()[0] != "deny"  # it is like any other folder
    monkeypatch.setenv("XDG_CONFIG_HOME", str(project / base))
    assert decided() == ("deny", rule)


def test_what_is_allowed_below_config_is_not_allowed_elsewhere(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (home / ".config/gateway").mkdir(parents=True)
    project, own = home / "project", home / "own"
    project.mkdir()
    rules = "version: 1\nallow: ['Edit(~/.config/tool/**)']\n"
    (own / "gateway").mkdir(parents=True)
    (own / "gateway/policy.yaml").write_text(rules)
    (home / ".config/gateway/policy.yaml").write_text(rules)

    def decided(path: Path) -> str:
        call = RawCall("Write", {"file_path": str(path), "content": ""})
        guard = Gateway(Options(cwd=str(project), root=str(project)), where=places())
        return guard.check(call).decision.word

    assert decided(home / ".config/tool/x") == "allow"
    monkeypatch.setenv("XDG_CONFIG_HOME", str(own))
    assert (decided(home / ".config/tool/x"), decided(own / "tool/x")) == ("allow", "ask")
