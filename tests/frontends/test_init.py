"""`gateway init`: the change is shown and asked about, what was there stays, a second run changes nothing, and --undo
takes out exactly what was put in."""

from __future__ import annotations

import json
import os
import pty
import re
from typing import TYPE_CHECKING, Any

import pytest
import starting
from shebang import first_lines

from gateway.agents import AGENTS
from gateway.install.own_hooks import is_own

if TYPE_CHECKING:
    from pathlib import Path

needs_user = pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
BEFORE = {
    "claude": (".claude/settings.json", '{\n  "model": "x", // mine\n  "hooks": {"Stop": []}\n}\n'),
    "codex": (".codex/hooks.json", '{"hooks": {"Stop": []}}\n'),
    "gemini": (".gemini/settings.json", '{\n\t"general": {"vimMode": true}\n}\n'),
    "copilot": (".copilot/settings.json", '{"banner": "never"}\n'),
    "cursor": (".cursor/hooks.json", '{\n  "version": 1,\n  "hooks": {"stop": [{"command": "x"}]}\n}\n'),
    "opencode": (".config/opencode/opencode.jsonc", "{\n  // mine\n}\n"),
}
# Codex's hooks wait for trust where Codex is not there to be asked.
STATUS = {"codex": 3}


@pytest.fixture
def person(tmp_path: Path, in_process):
    """Runs `gateway` for a person with a home and a project of their own, without any agent on PATH."""
    home, project = tmp_path / "home", tmp_path / "project"
    home.mkdir()
    (project / ".git").mkdir(parents=True)
    (project / ".git" / "HEAD").write_text("ref: refs/heads/main\n", encoding="utf-8")

    class Person:
        def __init__(self) -> None:
            self.home, self.project = home, project

        def __call__(self, *words: str, **env: str) -> Any:
            found = {"HOME": str(home), "PATH": "/usr/bin:/bin", "NO_COLOR": "1", **env}
            return in_process(*words, cwd=project, **found)

        def files(self) -> dict[str, str]:
            return {
                str(path.relative_to(tmp_path)): path.read_text(encoding="utf-8")
                for top in (home, project) for path in sorted(top.rglob("*"))
                if path.is_file() and not {".cache", ".local", ".git"} & {*path.parts}
            }  # fmt: skip

    return Person()


def own_lines(value: Any) -> int:
    """How many hooks of ours stand in a file's data."""
    if isinstance(value, list):
        return sum(1 if is_own(each) else own_lines(each) for each in value)
    return sum(map(own_lines, value.values())) if isinstance(value, dict) else 0


@pytest.mark.parametrize("agent", AGENTS)
def test_it_is_put_in_once_and_taken_out_to_the_byte(agent: str, person) -> None:
    path, text = BEFORE[agent]
    (person.home / path).parent.mkdir(parents=True)
    (person.home / path).write_text(text, encoding="utf-8")
    before = person.files()
    done = person("init", agent, "--yes", "--mcp", "--native")
    assert (done.returncode, done.stderr) == (STATUS.get(agent, 0), b"")
    put_in = person.files()
    assert put_in != before
    again = person("init", agent, "--yes")
    assert again.returncode == STATUS.get(agent, 0)
    assert again.stdout.startswith(b"nothing to change")
    assert person.files() == put_in
    gone = person("init", agent, "--undo", "--yes")
    assert (gone.returncode, gone.stderr) == (0, b"")
    assert person.files() == before
    assert person("init", agent, "--undo", "--yes").stdout.startswith(b"nothing to take out")


@pytest.mark.parametrize("agent", AGENTS)
def test_a_project_gets_files_of_its_own_which_go_with_their_folders(agent: str, person) -> None:
    before = sorted(person.project.rglob("*"))
    assert person("init", agent, "--project", "--yes").returncode == STATUS.get(agent, 0)
    assert person.files()
    assert not (person.home / f".{agent}").exists()
    assert person("init", agent, "--project", "--undo", "--yes").returncode == 0
    assert sorted(person.project.rglob("*")) == before


def test_a_dry_run_shows_the_change_and_makes_none(person) -> None:
    done = person("init", "claude", "--dry-run")
    assert (done.returncode, person.files()) == (0, {})
    assert b"+++ " in done.stdout
    assert b'+    "PreToolUse": [' in done.stdout
    assert not (person.home / ".local" / "state" / "gateway" / "init").exists()


def test_without_a_person_at_a_terminal_nothing_is_changed(person) -> None:
    done = person("init", "claude")
    assert (done.returncode, person.files()) == (2, {})
    assert b"by a person at a terminal" in done.stderr


@pytest.mark.parametrize(("answer", "status", "changes"), [(b"y\n", 0, True), (b"n\n", 1, False), (b"\n", 1, False)])
def test_a_person_agrees_or_not(answer: bytes, status: int, changes: bool, person, command) -> None:
    arguments = command("init", "claude", cwd=person.project, HOME=str(person.home), TERM="dumb")
    ours, theirs = pty.openpty()
    with starting.Popen(**arguments, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True) as process:
        os.close(theirs)
        said = b""
        while b"make this change? [y/N] " not in said:
            said += os.read(ours, 4096)
        os.write(ours, answer)
        while True:
            try:
                data = os.read(ours, 4096)
            except OSError:  # it has ended
                break
            if not data:
                break
            said += data
        assert process.wait(30) == status
    os.close(ours)
    assert ((person.home / ".claude/settings.json").exists(), b"nothing was changed" in said) == (changes, not changes)


def test_hooks_of_others_stay_and_a_file_that_others_edited_since_loses_only_ours(person) -> None:
    path = person.home / ".claude/settings.json"
    path.parent.mkdir()
    other = {"matcher": "Bash", "hooks": [{"type": "command", "command": "lint"}]}
    path.write_text(json.dumps({"hooks": {"PreToolUse": [other]}}))
    person("init", "claude", "--yes", "--native")
    data = json.loads(path.read_text())
    data["hooks"]["PreToolUse"].reverse()
    data["permissions"]["deny"].append("Bash(theirs:*)")
    data["model"] = "new"
    path.write_text(json.dumps(data, indent=4))
    assert person("init", "claude", "--undo", "--yes").returncode == 0
    assert json.loads(path.read_text()) == {
        "hooks": {"PreToolUse": [other]}, "permissions": {"deny": ["Bash(theirs:*)"]}, "model": "new",
    }  # fmt: skip


def test_it_is_taken_out_without_a_receipt_too(person) -> None:
    path = person.home / ".claude/settings.json"
    person("init", "claude", "--yes")
    assert own_lines(json.loads(path.read_text())) == 6
    for each in (person.home / ".local/state/gateway/init").iterdir():
        each.unlink()
    assert person("init", "claude", "--undo", "--yes").returncode == 0
    assert json.loads(path.read_text()) == {}


def test_what_was_put_in_before_stays_until_undo(person) -> None:
    person("init", "claude", "--yes", "--native", "--mcp")
    before = person.files()
    assert person("init", "claude", "--yes").returncode == 0
    assert person.files() == before


def test_a_link_to_settings_elsewhere_stays_a_link(person, tmp_path: Path) -> None:
    real = tmp_path / "dotfiles" / "claude.json"
    real.parent.mkdir()
    real.write_text('{"a": 1}')
    (person.home / ".claude").mkdir()
    (person.home / ".claude/settings.json").symlink_to(real)
    done = person("init", "claude", "--yes")
    assert (done.returncode, (person.home / ".claude/settings.json").is_symlink()) == (0, True)
    assert (f"leads to {real}".encode() in done.stdout, own_lines(json.loads(real.read_text()))) == (True, 6)
    person("init", "claude", "--undo", "--yes")
    assert real.read_text() == '{"a": 1}'


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b'{"a": 1,,}', b"settings.json:1:9: a key in quotes must stand here"),
        (b'{"a": "\xff"}', b"settings.json:1:8: must be UTF-8"),
        (b"[]", b"settings.json:1:1: settings must be an object"),
        (b'{"hooks": "x"}', b"settings.json:1:11: `hooks` must be an object"),
    ],
    ids=["broken", "not-utf-8", "a-list", "something-else"],
)
def test_a_broken_file_is_refused_with_its_place_and_loses_nothing(content: bytes, says: bytes, person) -> None:
    path = person.home / ".claude/settings.json"
    path.parent.mkdir()
    path.write_bytes(content)
    done = person("init", "claude", "--yes")
    assert (done.returncode, says in done.stderr, b"help: " in done.stderr) == (2, True, True)
    assert path.read_bytes() == content


def test_what_is_made_without_a_question_is_told_in_a_line_for_each_file(person) -> None:
    real, path = person.home / "dotfiles" / "claude.json", person.home / ".claude" / "settings.json"
    real.parent.mkdir()
    real.write_text("{}\n", encoding="utf-8")
    path.parent.mkdir()
    path.symlink_to(real)
    told = person("init", "claude", "--yes").stdout.decode()
    assert re.fullmatch(
        rf"{path}, which leads to {real}: \d+ lines more, 1 less; --diff shows them", told.split("\n")[0]
    )
    assert (f"\nwrote {path}\n" in told, "@@" in told) == (True, False)


@pytest.mark.parametrize("words", [["--yes", "--diff"], ["--dry-run"], ["--dry-run", "--yes"]], ids=" ".join)
def test_each_line_is_shown_where_that_is_asked_for_and_before_nothing_is_made(words: list[str], person) -> None:
    assert '\n+  "hooks": {\n' in person("init", "claude", *words).stdout.decode()


@needs_user
def test_a_home_that_cannot_be_written_is_told(person) -> None:
    person.home.chmod(0o500)
    done = person("init", "claude", "--yes")
    person.home.chmod(0o700)
    assert (done.returncode, b"is read-only for you" in done.stderr, person.files()) == (2, True, {})


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["nobody"], b"agent must be one of claude, codex"),
        (["claude", "--project", "--managed"], b"must not be given together"),
        (["copilot", "--managed"], b"no hooks at the level `managed`"),
        (["claude", "--json"], b"--json must be given with"),
    ],
    ids=["unknown-agent", "two-levels", "no-such-level", "json-cannot-ask"],
)
def test_wrong_usage_is_told(words: list[str], says: bytes, person) -> None:
    done = person("init", *words)
    assert (done.returncode, says in done.stdout + done.stderr) == (2, True)


def test_json_tells_what_was_changed(person) -> None:
    found = json.loads(person("init", "gemini", "--yes", "--json").stdout)
    assert {name: found[name] for name in ("agent", "level", "status", "made")} == {
        "agent": "gemini", "level": "user", "status": 0, "made": True,
    }  # fmt: skip
    own = person.home / ".config" / "gateway" / "policy.yaml"
    assert [each["path"] for each in found["changes"]] == [str(person.home / ".gemini/settings.json"), str(own)]
    assert '"timeout": 600000' in found["changes"][0]["diff"]


def test_without_an_agent_those_found_here_are_listed(person) -> None:
    assert b"claude    not found\n" in person("init").stdout
    person("init", "cursor", "--yes")
    assert (
        f"cursor    settings in {person.home}/.cursor, gateway is in it for: user\n".encode() in person("init").stdout
    )
    found = json.loads(person("init", "--json").stdout)["agents"]
    assert [each["agent"] for each in found] == list(AGENTS)
    assert next(each for each in found if each["agent"] == "cursor")["levels"] == ["user"]


FAKE_CODEX = (
    first_lines("-IS")
    + """import hashlib, json, os, sys
home = os.environ["CODEX_HOME"]
def listed():
    config = open(home + "/config.toml").read() if os.path.exists(home + "/config.toml") else ""
    hooks = json.load(open(home + "/hooks.json"))["hooks"]
    for event, groups in hooks.items():
        for hook in groups[0]["hooks"]:
            digest = "sha256:" + hashlib.sha256(json.dumps(hook).encode()).hexdigest()
            trust = "trusted" if digest in config else "untrusted"
            yield {"key": f"{home}/hooks.json:{event}:0:0", "eventName": event, "command": hook["command"],
                   "sourcePath": home + "/hooks.json", "currentHash": digest, "trustStatus": trust}
if sys.argv[1:] == ["--version"]:
    print("codex-cli 0.169.0")
else:
    for line in sys.stdin:
        asked = json.loads(line)
        if asked.get("method") == "initialize":
            print(json.dumps({"id": asked["id"], "result": {}}), flush=True)
        elif asked.get("method") == "hooks/list":
            print("not json", flush=True)
            print(json.dumps({"id": asked["id"], "result": {"data": [{"hooks": list(listed())}]}}), flush=True)
"""
)


def test_codex_is_asked_for_the_hashes_which_are_recorded_and_go_again(person, tmp_path: Path) -> None:
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "codex").write_text(FAKE_CODEX)
    (programs / "codex").chmod(0o755)
    env = {"PATH": f"{programs}:{os.environ['PATH']}", "CODEX_HOME": str(person.home / "cx")}
    done = person("init", "codex", "--yes", **env)
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"Codex reports these hooks" in done.stdout
    config = (person.home / "cx/config.toml").read_text()
    assert config.count("trusted_hash = ") == 3
    assert person("init", "codex", "--yes", **env).stdout.startswith(b"nothing to change")
    assert json.loads(person("doctor", "--agent", "codex", "--json", **env).stdout)["works"] is True
    hooks = person.home / "cx/hooks.json"
    hooks.write_text(hooks.read_text().replace('"timeout": 600', '"timeout": 601'))
    told = json.loads(person("doctor", "--agent", "codex", "--json", **env).stdout)
    assert "Codex skips the hook, and runs calls unasked" in [each["text"] for each in told["findings"]]
    assert person("init", "codex", "--undo", "--yes", **env).returncode == 0
    assert not (person.home / "cx/config.toml").exists()


@pytest.mark.parametrize(
    "line",
    ["sh -c 'touch pwned' gateway hook codex", "{ours}; touch pwned", "{ours} $(touch pwned)", "touch pwned"],
    ids=["words of another program", "ours and another one", "another one in ours", "nothing of ours"],
)
def test_codex_is_told_to_trust_our_very_lines_and_no_others(person, tmp_path: Path, line: str) -> None:
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "codex").write_text(FAKE_CODEX)
    (programs / "codex").chmod(0o755)
    env = {"PATH": f"{programs}:{os.environ['PATH']}", "CODEX_HOME": str(person.home / "cx")}
    person("init", "codex", "--yes", **env)
    path = person.home / "cx/hooks.json"
    hooks = json.loads(path.read_text())
    ours = hooks["hooks"]["PreToolUse"][0]["hooks"][0]["command"]
    theirs = {"type": "command", "command": line.format(ours=ours), "timeout": 30}
    hooks["hooks"]["OfTheirs"] = [{"hooks": [theirs]}]
    path.write_text(json.dumps(hooks))
    done = person("init", "codex", "--yes", **env)
    assert done.returncode == 0
    assert b"pwned" not in done.stdout
    config = (person.home / "cx/config.toml").read_text()
    assert (config.count("trusted_hash = "), "OfTheirs" in config) == (3, False)


def test_a_file_of_ours_that_others_edited_is_kept_beside(person) -> None:
    person("init", "opencode", "--yes")
    path = person.home / ".config/opencode/plugin/gateway.js"
    path.write_text(path.read_text() + "// theirs\n")
    assert b"is kept as" in person("init", "opencode", "--undo", "--yes").stdout
    assert (path.exists(), path.with_name("gateway.js.edited").read_text().endswith("// theirs\n")) == (False, True)


def test_what_is_kept_beside_goes_through_no_link(person) -> None:
    person("init", "opencode", "--yes")
    path = person.home / ".config/opencode/plugin/gateway.js"
    path.write_text(path.read_text() + "// theirs\n")
    victim = person.home / ".profile"
    victim.write_text("of the person\n")
    path.with_name("gateway.js.edited").symlink_to(victim)
    done = person("init", "opencode", "--undo", "--yes")
    assert (done.returncode, b"must not be a link" in done.stderr) == (2, True)
    assert (path.exists(), victim.read_text()) == (True, "of the person\n")
    path.with_name("gateway.js.edited").unlink()
    assert person("init", "opencode", "--undo", "--yes").returncode == 0
    assert not path.exists()


@pytest.mark.parametrize(
    ("theirs", "status"), [("export const Mine = 1\n", 2), (None, 0)], ids=["anybody's file", "no file"]
)
def test_a_file_of_ours_takes_the_place_of_nobodys(theirs: str | None, status: int, person) -> None:
    path = person.home / ".config/opencode/plugin/gateway.js"
    path.parent.mkdir(parents=True)
    if theirs is not None:
        path.write_text(theirs, encoding="utf-8")
    done = person("init", "opencode", "--yes")
    assert (done.returncode, b"anybody else's" in done.stderr) == (status, bool(status))
    assert path.read_text(encoding="utf-8").startswith(theirs or "// Written by `gateway init")


def test_a_user_without_a_policy_gets_one_and_is_told_what_it_means(person) -> None:
    policy = person.home / ".config" / "gateway" / "policy.yaml"
    done = person("init", "claude", "--yes", "--edits", "accept", "--preset", "python")
    assert done.returncode == 0
    text = policy.read_text(encoding="utf-8")
    assert "extends: [daily, python]\nsettings:\n  guarded: " in text
    assert "mode: accept_edits" in text
    told = [line for line in done.stdout.decode().splitlines() if line.startswith("- ")]
    assert told
    assert len(told) < 12
    policy.write_text(text + "rules: []\n", encoding="utf-8")
    assert b"change no policy that you have" in person("init", "claude", "--yes", "--edits", "follow").stdout
    gone = person("init", "claude", "--undo", "--yes")
    assert (gone.returncode, policy.read_text(encoding="utf-8")) == (0, text + "rules: []\n")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--preset", "cobol"], "--preset must be one of python, node, systems (got `cobol`)"),
        (["--edits", "all"], "--edits must be one of accept, follow (got `all`)"),
        (["--edits", "accept", "--project"], "are for your own policy"),
        (["--preset", "node", "--undo"], "are for your own policy"),
    ],
)
def test_what_a_policy_cannot_be_asked_for_is_told(person, words: list[str], said: str) -> None:
    done = person("init", "claude", "--yes", *words)
    assert (done.returncode, person.files()) == (2, {})
    assert said in done.stderr.decode().replace("\n", " ")
