"""Shell commands that were rewritten: what runs is what was judged, once, confined, and the agent's shell follows."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
from typing import TYPE_CHECKING, Any

import pytest
from fuzzing import share
from hypothesis import given
from hypothesis import strategies as st

from gateway.agents import guarded
from gateway.agents.guarded import MOST_TEXT, command, recognised, rewritten
from gateway.agents.tickets import Tickets
from gateway.model.call import RawCall
from gateway.model.decision import Decision
from gateway.sandbox.backends.spaces import Spaces

if TYPE_CHECKING:
    from pathlib import Path

POLICY: dict[str, Any] = {
    "extends": ["guard"],
    "settings": {"guarded": True, "sandbox": {"write": ["./**"]}},
    "rules": [
        {"id": "much", "allow": "Bash(*)"},
        {"id": "files", "allow": "Edit(**)"},
        {"id": "no", "deny": "Bash(forbidden *)"},
        {"id": "question", "ask": "Bash(asked *)"},
    ],
}
TEXTS = [
    "ls",
    "cd sub",
    'echo "it\'s" $HOME',
    "cat <<'E'\na\nE",
    "printf '%s\\n' 'a'\\''b'",
    "true &",
    "# nothing",
    "a\nb",
]
NUMBER = "0123456789abcdef" * 2


@pytest.fixture
def here(ground: Any) -> Any:
    """A project whose policy wants commands rewritten."""
    (ground.project / "sub").mkdir()
    ground.says(POLICY)
    return ground


@pytest.fixture
def confining(here: Any) -> Any:
    if not (probe := Spaces().probe()).works:
        pytest.skip(f"namespaces do not hold here: {probe.reason}")
    return here


def rewrite(here: Any, text: str, *, cwd: str = "", **how: Any) -> str:
    """The confined form of a command as a hook makes it."""
    gateway = here.open()
    context = gateway.context.replace(cwd=cwd or str(here.project))
    verdict = gateway.check(RawCall("Bash", {"command": text}), context)
    found = rewritten(gateway, verdict, text, agent="claude", session="s1", **how)
    assert found is not None
    return found


def shell(here: Any, text: str, *, cwd: Path | None = None, bash: str = "bash", **how: Any) -> Any:
    """As an agent runs a command: evaluated in its own shell, which then tells where it is."""
    script = f'eval "$1" && pwd -P >| {here.top}/ended'
    environment = {name: value for name, value in os.environ.items() if name.startswith(("HOME", "XDG", "PATH"))}
    return subprocess.run(
        [bash, "-c", script, "agent", text], cwd=cwd or here.project, env=environment, capture_output=True, timeout=120,
        check=False, **how,
    )  # fmt: skip


def ended(here: Any) -> str:
    return (here.top / "ended").read_text().removesuffix("\n")


# ------------------------------------------------------------------------------------------------ the form


@pytest.mark.parametrize("follows", [True, False], ids=["follows", "stays"])
@pytest.mark.parametrize("text", TEXTS)
def test_the_rewritten_form_is_recognised(text: str, follows: bool) -> None:
    found = recognised(command(NUMBER, text, follows=follows))
    assert found is not None
    assert (found.number, found.text, found.ticket) == (NUMBER, text, None)


@given(st.text(st.characters(exclude_characters="\0", exclude_categories=("Cs",)), max_size=60), st.booleans())
def test_every_text_comes_back_as_it_was(text: str, follows: bool) -> None:
    found = recognised(command(NUMBER, text, follows=follows))
    assert found is not None
    assert found.text == text


@pytest.mark.parametrize("follows", [True, False], ids=["follows", "stays"])
@pytest.mark.parametrize(
    "forge",
    [
        lambda text: text + "; rm -rf x",
        lambda text: "rm -rf x; " + text,
        lambda text: text + " ",
        lambda text: text.replace("ls", "ls; rm -rf x"),
        lambda text: text.replace("exec --ticket", "exec  --ticket"),
        lambda text: text.replace(" -I -S ", " -I "),
        lambda text: text.replace("client.py", "other.py"),
        lambda text: text.replace(NUMBER, NUMBER[:-1] + "G"),
        lambda text: text.replace(NUMBER, NUMBER[:-1]),
        lambda text: text.replace("-c ", "--mode bypass -c "),
        lambda text: text.replace("ls", "'ls'\"$(rm x)\""),
        lambda text: text.replace("ls", "$(ls)"),
    ],
    ids=[
        "more behind", "more before", "a space", "more inside", "another space", "other options", "another program",
        "no number", "a short number", "an option", "quotes", "a substitution",
    ],
)  # fmt: skip
def test_what_only_looks_like_it_is_not_recognised(forge: Any, follows: bool) -> None:
    text = command(NUMBER, "ls", follows=follows)
    forged = forge(text)
    assert forged != text
    assert recognised(forged) is None


def test_a_command_without_a_ticket_of_its_own_has_none(here: Any) -> None:
    state = here.open().places.state
    real = rewrite(here, "ls")
    known = recognised(real, state)
    assert known is not None
    assert known.ticket is not None
    for forged in (command(NUMBER, "ls", follows=False), command(known.number, "rm -r x", follows=False)):
        found = recognised(forged, state)
        assert found is not None
        assert found.ticket is None


# ------------------------------------------------------------------------------------------- when it is made


@pytest.mark.parametrize(
    ("text", "how", "confined"),
    [
        ("forbidden x", {}, True),
        ("asked x", {}, True),
        ("ls", {}, False),
        ("echo " + "x" * MOST_TEXT, {}, True),
        (command(NUMBER, "ls", follows=False), {}, True),
        ("forbidden x", {"asked": True}, True),
    ],
    ids=["denied", "asked", "unconfined", "too long", "rewritten before", "denied, with a person"],
)
def test_what_may_not_run_confined_is_not_rewritten(here: Any, text: str, how: Any, confined: bool) -> None:
    gateway = here.open()
    context = gateway.context.replace(confined=confined, temp=())
    verdict = gateway.check(RawCall("Bash", {"command": text}), context)
    assert rewritten(gateway, verdict, text, agent="claude", **how) is None
    assert not os.path.exists(Tickets(gateway.places.state).folder)


def test_nothing_is_rewritten_unless_policy_wants_it(here: Any) -> None:
    here.says({**POLICY, "settings": {"guarded": False}})
    gateway = here.open()
    verdict = gateway.check(RawCall("Bash", {"command": "ls"}))
    assert verdict.decision is Decision.ALLOW
    assert rewritten(gateway, verdict, "ls", agent="claude") is None


def test_where_no_sandbox_works_that_is_said(here: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    gateway = here.open()
    monkeypatch.setattr("gateway.sandbox.backends.choose._known", {})
    monkeypatch.setattr("gateway.sandbox.backends.choose.sys.platform", "plan9")
    assert guarded.unavailable(gateway) == "this platform has no such sandbox"
    monkeypatch.setattr("gateway.sandbox.backends.choose._known", {})


@pytest.mark.parametrize(
    ("text", "follows"),
    [("ls", False), ("cd sub", True), ("true && cd sub", True), ("(cd sub)", True), ("npm test", False)],
)
def test_only_a_command_that_may_move_is_followed(here: Any, text: str, follows: bool) -> None:
    assert rewrite(here, text).startswith("{ ") is follows


@pytest.mark.parametrize(
    ("agent", "follows"),
    [("claude", True), ("copilot", True), ("cursor", True), ("codex", False), ("gemini", False), ("opencode", False)],
)
def test_only_an_agent_that_keeps_its_folder_follows(here: Any, agent: str, follows: bool) -> None:
    gateway = here.open()
    verdict = gateway.check(RawCall("Bash", {"command": "cd sub"}))
    found = rewritten(gateway, verdict, "cd sub", agent=agent)
    assert found is not None
    assert found.startswith("{ ") is follows


# --------------------------------------------------------------------------------------------- what runs


@pytest.mark.parametrize(
    ("text", "status", "out", "err", "folder"),
    [
        ("echo out; echo err >&2", 0, b"out\n", b"err\n", ""),
        ("exit 3", 3, b"", b"", None),
        ("cd sub && pwd", 0, b"{project}/sub\n", b"", "sub"),
        ("cd sub; false", 1, b"", b"", None),
        ("cd sub; echo it\\'s; printf '%s' 'a\"b'", 0, b"it's\na\"b", b"", "sub"),
        ("(cd sub; pwd)", 0, b"{project}/sub\n", b"", ""),
        ("cat", 0, b"given", b"", ""),
        ("cd sub; cat", 0, b"given", b"", "sub"),
        ("kill -TERM $$", 143, b"", b"", None),
    ],
    ids=[
        "streams", "status", "moved", "moved and failed", "quotes", "a subshell", "input", "input while moving",
        "a signal",
    ],
)  # fmt: skip
def test_output_status_input_and_folder_are_as_the_agent_expects(
    confining: Any, text: str, status: int, out: bytes, err: bytes, folder: str | None
) -> None:
    for bash in share(["bash", "sh"], 2, text):
        done = shell(confining, rewrite(confining, text), bash=bash, input=b"given")
        project = os.fsencode(confining.project)
        assert (done.returncode, done.stdout, done.stderr) == (status, out.replace(b"{project}", project), err)
    if folder is None:  # as without us: the agent asks only after success
        assert not (confining.top / "ended").exists()
    else:
        assert ended(confining) == os.path.join(confining.project, folder).rstrip("/")


def test_the_next_command_starts_where_the_last_one_ended(confining: Any) -> None:
    shell(confining, rewrite(confining, "cd sub"))
    done = shell(confining, rewrite(confining, "touch new && pwd", cwd=ended(confining)), cwd=ended(confining))
    assert (done.stdout, (confining.project / "sub" / "new").exists()) == (os.fsencode(ended(confining)) + b"\n", True)


@pytest.mark.parametrize("is_guarded", [True, False], ids=["rewritten", "its twin without"])
def test_what_was_not_predicted_is_held_by_the_sandbox(confining: Any, is_guarded: bool) -> None:
    outside = confining.top / "outside"
    (confining.project / "script").write_text(f"echo x > {outside}; echo done\n")
    text = "sh script"
    done = shell(confining, rewrite(confining, text) if is_guarded else text)
    assert (b"done\n" in done.stdout, outside.exists()) == (True, not is_guarded)


@pytest.mark.parametrize(
    "use",
    [
        lambda here, text: shell(here, text.replace("touch ran", "touch run")),
        lambda here, text: shell(here, text, cwd=here.project / "sub"),
        lambda here, text: [shell(here, text), (here.project / "ran").unlink(), shell(here, text)][-1],
        lambda here, text: [here.says({**POLICY, "deny": ["Bash(other)"]}), shell(here, text)][-1],
        lambda here, text: shell(here, text.replace("--ticket", "--mode bypass --ticket")),
    ],
    ids=["with other words", "from another folder", "a second time", "under another policy", "with more options"],
)
def test_a_ticket_is_for_this_command_here_once(confining: Any, use: Any) -> None:
    done = use(confining, rewrite(confining, "touch ran"))
    assert (done.returncode in (126, 2), done.stdout) == (True, b"")
    assert b"gateway: " in done.stderr
    assert not {"ran", "run"} & set(os.listdir(confining.project))


def test_of_many_at_once_one_runs(confining: Any) -> None:
    text = rewrite(confining, "mkdir ran && echo yes")
    started = [
        subprocess.Popen(["bash", "-c", text], cwd=confining.project, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        for _ in range(6)
    ]
    done = [(each.communicate(timeout=120)[0], each.returncode) for each in started]
    assert sorted(done) == [(b"", 126)] * 5 + [(b"yes\n", 0)]


def test_what_a_person_was_shown_and_agreed_to_runs_without_a_second_question(confining: Any) -> None:
    confining.says({**POLICY, "rules": [{"id": "q", "ask": "Bash(touch *)"}], "extends": ["daily"]})
    done = shell(confining, rewrite(confining, "touch ran", asked=True))
    assert (done.stderr, done.returncode, (confining.project / "ran").exists()) == (b"", 0, True)
    assert [each["grant"]["by"] for each in confining.records() if each.get("grant")] == ["claude"]


def test_a_command_that_is_stopped_ends_with_all_that_it_started(confining: Any) -> None:
    text = rewrite(confining, "echo ready; sleep 1000; echo end")
    process = subprocess.Popen(
        ["bash", "-c", text], cwd=confining.project, stdout=subprocess.PIPE, start_new_session=True
    )
    assert process.stdout is not None
    with process:
        assert process.stdout.readline() == b"ready\n"
        os.killpg(process.pid, signal.SIGKILL)
        assert process.stdout.read() == b""  # nobody holds it any more


def test_no_confined_command_can_read_tickets(confining: Any) -> None:
    folder = Tickets(confining.open().places.state).folder
    rewrite(confining, "ls")
    (confining.project / "script").write_text(f"ls {folder} && cat {folder}/*\n")
    done = shell(confining, rewrite(confining, "sh script"))
    assert (done.returncode != 0, done.stdout) == (True, b"")
    assert os.listdir(folder) != []


def test_the_record_says_through_what_it_came(confining: Any) -> None:
    shell(confining, rewrite(confining, "true"))
    assert [(each["front"], each["session"]) for each in confining.records() if "front" in each] == [
        ("exec:claude", "s1")
    ]


# ------------------------------------------------------------------------------------- jobs that are left behind


def run_to_files(here: Any, text: str) -> tuple[int, bytes]:
    """As Claude Code runs a command: its output goes to a file, and its end is that of the shell."""
    with open(here.top / "output", "w+b") as output:
        script = f'eval "$1" && pwd -P >| {here.top}/ended'
        done = subprocess.run(
            ["bash", "-c", script, "agent", text], cwd=here.project, stdin=subprocess.DEVNULL, stdout=output,
            stderr=output, timeout=120, check=False,
        )  # fmt: skip
        output.seek(0)
        return done.returncode, output.read()


@pytest.mark.parametrize("is_guarded", [True, False], ids=["rewritten", "its twin without"])
@pytest.mark.parametrize(
    ("text", "status", "folder"),
    [
        ("(read x < go; echo got-$x > came) & echo started", 0, ""),
        ("(read x < go; echo got-$x > came) & cd sub && echo started", 0, "sub"),
        ("(read x < go; echo got-$x > came) & echo started; exit 5", 5, None),
    ],
    ids=["a job", "a job, and a move", "a job, and a failure"],
)
def test_a_job_goes_on_when_its_shell_has_ended(
    confining: Any, text: str, status: int, folder: str | None, is_guarded: bool
) -> None:
    for name in ("go", "came"):
        os.mkfifo(confining.project / name)
    found = run_to_files(confining, rewrite(confining, text) if is_guarded else text)
    assert found == (status, b"started\n")
    if folder is not None:
        assert ended(confining) == os.path.join(confining.project, folder).rstrip("/")
    (confining.project / "go").write_text("x\n")  # the job is there to read it
    assert (confining.project / "came").read_text() == "got-x\n"


def test_a_job_ends_with_a_command_that_is_killed(confining: Any) -> None:
    os.mkfifo(confining.project / "go")
    text = rewrite(confining, "cat < go & echo ready; wait")
    process = subprocess.Popen(
        ["bash", "-c", text], cwd=confining.project, stdout=subprocess.PIPE, start_new_session=True
    )
    assert process.stdout is not None
    with process, open(confining.project / "go", "w", encoding="ascii"):
        assert process.stdout.readline() == b"ready\n"
        os.killpg(process.pid, signal.SIGKILL)
        assert process.stdout.read() == b""  # nobody holds it any more


def test_a_job_that_ends_first_leaves_nothing(confining: Any) -> None:
    assert run_to_files(confining, rewrite(confining, "true & wait; echo a && echo b")) == (0, b"a\nb\n")


def test_a_signal_reaches_a_command_with_jobs(confining: Any) -> None:
    os.mkfifo(confining.project / "go")
    text = rewrite(confining, "cat < go & trap 'echo told; kill $!; wait; exit 3' TERM; echo ready; wait")
    words = shlex.split(text)
    process = subprocess.Popen(words, cwd=confining.project, stdout=subprocess.PIPE)
    assert process.stdout is not None
    with process, open(confining.project / "go", "w", encoding="ascii"):
        assert process.stdout.readline() == b"ready\n"
        process.send_signal(signal.SIGTERM)
        assert process.stdout.read() == b"told\n"
    assert process.returncode == 3
