"""No command shows what stands in a file that it was given and that is none of ours; and what a call of it opens is
known before it runs. Both are asked of every parameter that the command line has."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import starting
from fuzzing import THOROUGH, share
from inprocess import called
from patience import patience
from warmed import warm

from gateway.commands.analyse import Start, analyse
from gateway.config.shipped import load_descriptions
from gateway.core.places import COMMANDS, places
from gateway.frontends.parameters import BEGIN, END, NO_FILE, Parameter, commands, described
from gateway.model.effect import Touch
from gateway.spec.commandformat import format_description

if TYPE_CHECKING:
    from gateway.frontends.parameter_files import Opens

CANARY = "zq7canaryzq7"
ALL = tuple(commands())
MARKED = [(words, each) for words, parameters in ALL for each in parameters if each.opens is not None]

# What stands in files that are none of ours, in forms that a reader of ours may take for one of its own.
FOREIGN = {
    "variables": f"TOKEN={CANARY}\n",
    "yaml": f"password: {CANARY}\n{CANARY}: x\n",
    "yaml with our version": f"version: 1\nsecret: {CANARY}\n{CANARY}: x\n",
    "yaml of another version": f"version: {CANARY}\nrules: []\n",
    "anchors": f"a: &{CANARY} x\nb: *{CANARY}\nc: !{CANARY} x\nd: !{CANARY}!x y\n",
    "key twice": f"{CANARY}: x\n{CANARY}: y\n",
    "broken yaml": f"version: 1\nrules: [{CANARY}\n",
    "names": f"names: [{CANARY}]\npassword: {CANARY}\n",
    "list": f"- {CANARY}\n",
    "json": json.dumps({"id": CANARY, "password": CANARY, CANARY: 1, "mode": CANARY, "cwd": CANARY}) + "\n",
    "json schema": json.dumps({"type": CANARY, "properties": {CANARY: {"type": CANARY}}}) + "\n",
    "json line": json.dumps({"type": CANARY, "version": CANARY}) + "\n",
    "session": json.dumps({"type": "start", "version": CANARY}) + "\n",
    "key": f"-----BEGIN OPENSSH PRIVATE KEY-----\n{CANARY}\n-----END OPENSSH PRIVATE KEY-----\n",
    "binary": f"\xff\x00{CANARY}\n",
    "front matter": f"---\nname: [{CANARY}\ndescription: {CANARY}\n---\n{CANARY}\n",
}
# Names under which commands look for files in a folder that they were given.
INSIDE = (
    "enterprise.yaml", "user.yaml", "project.yaml", "local.yaml", "tools.yaml", "commands/x.yaml", "agents/x.yaml",
    "agents/y.md", ".gateway/policy.yaml", ".gateway/tools.yaml", ".gateway/commands/x.yaml", ".gateway/agents/x.yaml",
    ".claude/settings.json", ".claude/agents/x.md", ".claude/skills/x/SKILL.md", "1.jsonl", "seal", "policy.yaml",
)  # fmt: skip
# What commands need besides, so that they come to the file and then end.
BESIDES = {
    ("cron", "run"): ["--once"], ("init",): ["--dry-run"], ("new", "command"): [], ("run",): [],
    ("exec",): ["--", "true"], ("agent",): ["--max-turns", "1"],
    ("console",): ["--port", "65536"],
}  # fmt: skip
# Of `exec` the words stand behind `--`.
ARGUMENTS = {"CALL": "Read(x)", "TEXT": "ls", "AGENT": "claude", "TASK": "x", "[TEXT]": "x"}


def named(value: object) -> str:
    if isinstance(value, Parameter):
        return "|".join(value.names) or value.metavar
    return " ".join(value) if isinstance(value, tuple) else str(value)


def line(words: tuple[str, ...], wanted: Parameter, path: str) -> list[str]:
    """A call of a command that gives a path to one of its parameters."""
    found = list(words)
    for each in dict(ALL)[words]:
        if each == wanted:
            found += [each.names[-1], path] if each.names else [path]
        elif not each.names and (each.required or (each.metavar in ARGUMENTS and "--batch" not in wanted.names)):
            found.append(ARGUMENTS.get(each.metavar, "x"))
    return found + BESIDES.get(words, [])


def test_every_parameter_says_which_file_it_opens_or_that_it_opens_none():
    forgotten = [
        (words, each)
        for words, parameters in ALL
        for each in parameters
        if not each.is_flag and (each.opens is None) != (each.metavar in NO_FILE)
    ]
    assert forgotten == []


def test_the_description_of_gateway_says_what_its_parameters_say(request: pytest.FixtureRequest):
    path = Path(COMMANDS, "gateway.yaml")
    text = path.read_text("utf-8")
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    wanted = format_description(before + BEGIN + described() + END + after, path.name)
    if request.config.getoption("--update-golden"):
        path.write_text(wanted, "utf-8")
    else:
        assert text == wanted, "`pytest --update-golden` writes it anew"


CALLS = [
    (words, parameter, start, form)
    for words, parameter in MARKED
    for start in ("gateway", "python -m gateway", "python3 -Im gateway")
    for form in ("separate", "glued")
]


@pytest.mark.parametrize(("words", "parameter", "start", "form"), share(CALLS, 5), ids=named)
def test_what_a_parameter_opens_is_an_effect_of_the_call(words, parameter, start, form):
    given = line(words, parameter, "some/file.yaml")
    text = f"{start} {' '.join(f'{chr(39)}{each}{chr(39)}' for each in given)}"
    if form == "glued" and parameter.names:
        text = text.replace("' 'some/file", "=some/file")
    found = analyse(text, Start("/p", "/h"), load_descriptions(places())).items
    touched = {
        (item.effect.kind, item.effect.tree)
        for item in found
        if isinstance(item.effect, Touch) and item.effect.path == "/p/some/file.yaml"
    }
    opens: Opens = parameter.opens
    assert {(does, opens.tree and does != "list") for does in opens.does} <= touched, text


# These go on, or end at once, as processes do.
PROCESSES = ("console", "exec", "hook", "mcp", "run")


def outputs(lines: list[list[str]], cwd: Path, home: Path) -> list[tuple[int, str]]:
    """What command lines end with and write, in a folder and with a home."""
    environment = {
        "HOME": str(home), "PATH": os.environ["PATH"], "GATEWAY_HOOK_CLIENT": "0", "XDG_RUNTIME_DIR": str(home / "run")
    }  # fmt: skip
    found = []
    for words in lines:
        if words[0] in PROCESSES:
            how: dict[str, Any] = {"cwd": cwd, "env": environment, "stdin": subprocess.DEVNULL, "capture_output": True}
            done = starting.run([*starting.GATEWAY, *words], **how, timeout=patience(60))
        else:
            done = called(words, cwd, environment)
        found.append((done.returncode, (done.stdout + done.stderr).decode("utf-8", "replace")))
    return found


@pytest.fixture
def home(tmp_path):
    (tmp_path / "home/run").mkdir(parents=True)
    (tmp_path / "project/.git").mkdir(parents=True)
    warm(tmp_path / "home/.cache/gateway")
    return tmp_path / "home"


def kept(home: Path) -> list[str]:
    """The files of the gateway's own folders in which the canary stands."""
    files = (each for each in home.rglob("*") if each.is_file() and os.access(each, os.R_OK))  # masks are nobody's
    return [str(each) for each in files if CANARY.encode() in each.read_bytes()]


@pytest.mark.parametrize(("words", "parameter"), MARKED, ids=named)
def test_no_command_shows_a_file_that_is_none_of_ours(words, parameter, home, tmp_path):
    project = tmp_path / "project"
    cases = {}
    for number, (what, content) in enumerate(share(FOREIGN.items(), 16, MARKED.index((words, parameter)))):
        data = content.encode("latin-1")
        if parameter.opens.tree or parameter.metavar == "DIR":
            path = tmp_path / f"folder{number}"
            for name in INSIDE:
                (path / name).parent.mkdir(parents=True, exist_ok=True)
                (path / name).write_bytes(data)
            paths = [path]
        else:
            path = tmp_path / f"file{number}"
            path.write_bytes(data)
            (link := tmp_path / f"link{number}.yaml").symlink_to(path)
            paths = [path, link] if THOROUGH else [(path, link)[(number + MARKED.index((words, parameter))) % 2]]
        for each in paths:
            cases[what, each.name] = line(words, parameter, str(each))
    found = dict(zip(cases, outputs(list(cases.values()), project, home), strict=True))
    shown = {case: text for case, (_status, text) in found.items() if CANARY in text.casefold()}
    assert shown == {}
    assert kept(home) == []
    assert {case: said for case, said in found.items() if said[0] == 1 and "internal error" in said[1]} == {}


LEGAL = {
    ("check", "--batch"): (json.dumps({"id": CANARY, "call": "Bash(ls)"}) + "\n", 0),
    ("policy test", "FILE"): (f"version: 1\nrules: [{{id: {CANARY}, deny: 'Bash({CANARY} *)', matches: [ls]}}]\n", 1),
    ("policy lint", "FILE"): (f"version: 1\nrules: [{{id: {CANARY}, deny: {CANARY}(x)}}]\n", 2),
    ("commands test", "FILE"): (f"names: [x]\noperands: []\nexamples: {{x {CANARY}: []}}\n", 1),
    ("agent", "--script"): (f"version: 1\nturns: [{{say: {CANARY}}}]\n", 0),
}


@pytest.mark.parametrize(("words", "name"), list(LEGAL))
def test_what_a_file_of_ours_holds_is_shown(words, name, home, tmp_path):
    content, status = LEGAL[words, name]
    path = tmp_path / "ours.yaml"
    path.write_text(content)
    parameter = next(each for found, each in MARKED if " ".join(found) == words and named(each) == name)
    said = outputs([line(tuple(words.split()), parameter, str(path))], tmp_path / "project", home)
    assert (said[0][0], CANARY in said[0][1]) == (status, True), said


# Files of a project, and what stands in them, so that the gateway would come to the secret file {0}.
REFERENCES = {
    "a file outside": {".gateway/policy.yaml": "version: 1\nextends: [{{file: {0}}}]\n"},
    "a file outside by way of home": {".gateway/policy.yaml": "version: 1\nextends: [{{file: '~/secret'}}]\n"},
    "a file outside, step by step": {".gateway/policy.yaml": "version: 1\nextends: [{{file: ../../home/secret}}]\n"},
    "through a file of the project": {
        ".gateway/policy.yaml": "version: 1\nextends: [{{file: more.yaml}}]\n",
        ".gateway/more.yaml": "version: 1\nextends: [{{file: {0}}}]\n",
    },
    "a secret of the project": {".gateway/policy.yaml": "version: 1\nextends: [{{file: ../.env}}]\n"},
    "a link": {".gateway/policy.yaml": None},
    "a link that is extended": {
        ".gateway/policy.yaml": "version: 1\nextends: [{{file: more.yaml}}]\n",
        ".gateway/more.yaml": None,
    },
    "a drop-in that is a link": {".gateway/policy.d/x.yaml": None},
    "tools that are a link": {".gateway/tools.yaml": None},
    "a description that is a link": {".gateway/commands/x.yaml": None},
    "a table of tests": {"y.yaml": "version: 1\n", "y.tests.yaml": None},
    "a given file": {"y.yaml": "version: 1\nextends: [{{file: {0}}}]\n"},
    "a given file that is a link": {"y.yaml": None},
    "a type of agent": {".gateway/agents/x.yaml": None, ".claude/agents/y.md": None},
    "a skill": {".claude/skills/x/SKILL.md": None, ".gateway/skills/y/SKILL.md": None},
}  # fmt: skip
LINES = [
    ["check", "Bash(ls)"], ["check", "--json", "Bash(ls)"], ["explain", "ls"], ["policy", "show"], ["policy", "lint"],
    ["policy", "show", "--json"], ["policy", "test"], ["commands", "test"], ["policy", "test", "y.yaml"],
    ["policy", "lint", "y.yaml"], ["why"], ["tools", "list"], ["tools", "show", "Skill"],
    ["policy", "trust", "--yes", "x"],
    ["exec", "--", "true"], ["run", "Read(x)"], ["mcp", "serve"], ["agent", "--script", "s.yaml", "x"],
    ["hook", "claude"], ["init", "claude", "--dry-run", "--project"], ["grants", "list"], ["cron", "list"],
]  # fmt: skip


@pytest.mark.parametrize(
    ("reference", "secret"),
    [
        (reference, secret)
        for number, reference in enumerate(REFERENCES)
        for secret in share(["variables", "front matter"], 2, number)
    ],
)
def test_no_file_shows_another_one_by_naming_it(reference, secret, home, tmp_path):
    project = tmp_path / "project"
    (home / "secret").write_text(FOREIGN[secret])
    (project / ".env").write_text(FOREIGN[secret])
    (project / "s.yaml").write_text("version: 1\nturns: [{say: done}]\n")
    for name, content in REFERENCES[reference].items():
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        if content is None:
            (project / name).symlink_to(home / "secret")
        else:
            (project / name).write_text(content.format(home / "secret"))
    # Each reference meets some of the lines, and each line some of the references; all of them in a thorough run.
    found = outputs(share(LINES, 8, list(REFERENCES).index(reference)), project, home)
    assert [text for _status, text in found if CANARY in text.casefold()] == []
    (home / "secret").unlink()
    assert kept(home) == []


@pytest.mark.parametrize(
    ("where", "holds"), [(".gateway/more.yaml", True), ("house/more.yaml", True), ("../more.yaml", False)]
)
def test_a_project_extends_what_lies_in_it_and_nothing_else(where, holds, home, tmp_path):
    project = tmp_path / "project"
    (project / ".gateway").mkdir()
    (project / where).parent.mkdir(exist_ok=True)
    (project / where).write_text("version: 1\ndeny: ['Bash(sometool *)']\n")
    (project / ".gateway/policy.yaml").write_text(f"version: 1\nextends: [{{file: {project / where}}}]\n")
    ((status, said),) = outputs([["check", "Bash(sometool x)"]], project, home)
    assert (status, "must lie in the project" in said) == ((4, False) if holds else (2, True)), said
