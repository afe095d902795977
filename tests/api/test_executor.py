"""The library: judged, then run confined; what was judged is what runs, and the whole of it has ended afterwards."""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from typing import TYPE_CHECKING

import pytest
from descriptors import open_descriptors
from fuzzing import THOROUGH
from warmed import warm

from gateway.api.executor import Executor, Session
from gateway.api.gateway import Gateway
from gateway.approval.base import Answer, Question
from gateway.audit.log import Log
from gateway.audit.reading import Moment
from gateway.config.load import Options
from gateway.core.cancel import Cancel
from gateway.model.decision import Decision
from gateway.model.grant import ONCE
from gateway.sandbox.backends.spaces import Spaces
from gateway.sandbox.run import Ways

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


POLICY = """\
version: 1
extends: [guard]
settings:
  sandbox: {write: ["./**"], env: [KEPT]}
  limits: {seconds: 60, output_mb: 1}
rules:
  - {id: everything, allow: "Bash(*)"}
  - {id: never, deny: "Bash(forbidden *)", because: nobody may}
  - {id: sometimes, ask: "Bash(asked *)"}
"""


class Person:
    """Answers every question at once, and keeps them."""

    name = "console"

    def __init__(self, *, answer: bool) -> None:
        self.answer = answer
        self.asked: list[Question] = []

    def ask(self, question: Question) -> Answer:
        self.asked.append(question)
        return Answer(self.answer, ONCE, "somebody")


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    home = tmp_path / "home"
    made = tmp_path / "a project"
    for folder in (home, made, made / "sub", tmp_path / "policies"):
        folder.mkdir()
    (tmp_path / "policies" / "user.yaml").write_text(POLICY, encoding="utf-8")
    monkeypatch.setenv("HOME", str(home))
    warm(home / ".cache" / "gateway")
    for name in ("XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    return made


@pytest.fixture
def gateway(project: Path) -> Gateway:
    return Gateway(Options(str(project), str(project.parent / "policies"), root=str(project), binding=True))


@pytest.fixture
def executor(gateway: Gateway) -> Iterator[Executor]:
    if not (probe := Spaces().probe()).works:
        pytest.skip(f"namespaces do not hold here: {probe.reason}")
    with Executor(gateway) as made:
        yield made


@pytest.mark.parametrize(
    ("text", "status", "stdout", "stderr"),
    [
        ("echo out; echo err >&2; exit 3", 3, b"out\n", b"err\n"),
        ("printf 'a\\0\\377'", 0, b"a\0\xff", b""),
        ("kill -TERM $$", 143, b"", b""),
        ("(exit 255)", 255, b"", b""),
        ("true", 0, b"", b""),
        ("no-such-program", 127, b"", b"/bin/bash: line 1: no-such-program: command not found\n"),
    ],
    ids=["a number", "bytes", "a signal", "the largest number", "nothing", "no program"],
)
def test_the_status_and_the_streams_are_the_commands_own(
    executor: Executor, text: str, status: int, stdout: bytes, stderr: bytes
) -> None:
    done = executor.run(text)
    result = done.result
    assert (done.verdict.decision, result.ended) == (Decision.ALLOW, "signalled" if status == 143 else "exited")
    assert (result.status, result.stdout, result.stderr, result.truncated) == (status, stdout, stderr, (0, 0))
    assert (result.reason, result.violations, result.backend, result.degraded) == ("", (), "namespaces", ())
    assert done.plan is not None


def test_what_policy_denies_does_not_run_and_says_why(gateway: Gateway) -> None:
    with Executor(gateway, approver=Person(answer=True)) as executor:
        done = executor.run("forbidden x")
    assert (done.verdict.decision, done.plan) == (Decision.DENY, None)
    assert (done.result.ended, done.result.status) == ("refused", 126)
    assert "nobody may" in done.result.reason


@pytest.mark.parametrize("answer", [True, False, None], ids=["yes", "no", "nobody"])
def test_what_policy_asks_about_runs_only_when_it_is_approved(
    executor: Executor, gateway: Gateway, answer: bool | None
) -> None:
    del executor
    person = Person(answer=bool(answer))
    with Executor(gateway, approver=() if answer is None else person) as made:
        done = made.run("asked x")
    assert done.verdict.decision is Decision.ASK
    assert [each.plan for each in person.asked] == ([] if answer is None else [done.plan])
    if answer:
        assert (done.result.ended, done.result.status) == ("exited", 127)
    else:
        assert (done.result.ended, done.result.status) == ("refused", 126)


def test_what_the_command_reads_is_what_it_is_given(executor: Executor) -> None:
    data = os.urandom(300_000)
    assert executor.run("cat", ways=Ways(data)).result.stdout == data
    assert executor.run("head -c 3", ways=Ways(data)).result.stdout == data[:3]
    assert executor.run("cat").result.stdout == b""


def test_its_output_goes_where_the_caller_says(executor: Executor, project: Path) -> None:
    with open(project / "out", "wb") as out:
        result = executor.run("echo x; echo y >&2", ways=Ways(stdout=out.fileno())).result
    assert ((project / "out").read_bytes(), result.stdout, result.stderr) == (b"x\n", b"", b"y\n")


def test_a_flood_keeps_its_beginning_and_its_end(executor: Executor) -> None:
    result = executor.run("echo first; head -c 3000000 /dev/zero; echo last").result
    assert (len(result.stdout), result.truncated) == (1 << 20, (3_000_011 - (1 << 20), 0))
    assert (result.stdout[:6], result.stdout[-5:]) == (b"first\n", b"last\n")


@pytest.mark.parametrize("text", ["sleep 1000", "sleep 1000 & wait", "while :; do :; done", "trap '' TERM; sleep 1000"])
def test_it_ends_when_its_time_is_up(executor: Executor, text: str) -> None:
    result = executor.run(text, seconds=0.2).result
    assert (result.ended, result.status, result.reason) == ("timeout", 137, "it ran for more than 0.2 s")


def test_a_caller_cannot_ask_for_more_time_than_policy_gives(executor: Executor) -> None:
    plan = executor.run("true", seconds=1000).plan
    assert plan is not None
    assert plan.limits.seconds == 60


def test_it_ends_when_somebody_cancels(executor: Executor) -> None:
    cancel = Cancel()
    result = executor.run("sleep 1000", cancel=cancel, started=lambda _running: cancel.set()).result
    assert (result.ended, result.status) == ("cancelled", 137)
    again = executor.run("sleep 1000", cancel=cancel).result
    assert again.ended == "cancelled"
    cancel.close()


def test_output_is_heard_as_it_comes(executor: Executor) -> None:
    heard: list[tuple[int, bytes]] = []
    ready, go = os.pipe()

    def listen(stream: int, data: bytes) -> None:
        heard.append((stream, data))
        if len(heard) == 1:
            os.close(go)  # only then does it go on

    result = executor.run("echo one; cat; echo two >&2", ways=Ways(stdin=ready), listener=listen).result
    os.close(ready)
    assert heard == [(1, b"one\n"), (2, b"two\n")]
    assert (result.stdout, result.stderr) == (b"one\n", b"two\n")


def test_the_loop_goes_on_meanwhile(executor: Executor) -> None:
    async def both() -> tuple[bytes, bytes, str]:
        one, two = await asyncio.gather(executor.run_async("echo a"), executor.run_async("echo b"))
        return one.result.stdout, two.result.stdout, one.result.ended

    assert asyncio.run(both()) == (b"a\n", b"b\n", "exited")


def test_a_cancelled_task_leaves_nothing_running(executor: Executor) -> None:
    ready, held = os.pipe()

    async def cancelled() -> None:
        started = asyncio.Event()
        work = asyncio.ensure_future(
            executor.run_async("echo; sleep 1000", ways=Ways(stderr=held), listener=lambda *_heard: started.set())
        )
        await started.wait()
        for _ in range(3):  # however often
            work.cancel()
            await asyncio.sleep(0)
        with pytest.raises(asyncio.CancelledError):
            await work

    asyncio.run(cancelled())
    os.close(held)
    assert os.read(ready, 1) == b""
    os.close(ready)


def test_output_comes_as_a_stream(executor: Executor) -> None:
    async def collected() -> list[object]:
        return [each async for each in executor.stream("echo one; echo two >&2; exit 4")]

    *chunks, done = asyncio.run(collected())
    assert sorted(chunks) == [(1, b"one\n"), (2, b"two\n")]  # type: ignore[type-var]
    assert done.result.status == 4  # type: ignore[attr-defined]


def test_a_stream_that_nobody_reads_to_its_end_ends_the_command(executor: Executor) -> None:
    ready, held = os.pipe()

    async def first() -> object:
        stream = executor.stream("echo one; sleep 1000", ways=Ways(stderr=held))
        async for each in stream:
            await stream.aclose()
            return each
        return None

    assert asyncio.run(first()) == (1, b"one\n")
    os.close(held)
    assert os.read(ready, 1) == b""
    os.close(ready)


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("cd sub", "sub"),
        ("cd sub && exit 3", "sub"),
        ("cd sub; false", "sub"),
        ("(cd sub)", "."),
        ("cd sub; trap 'echo mine' EXIT", "."),
        ("cd sub; pwd() { echo /etc; }", "sub"),
        ("cd no-such", "."),
        ("mkdir gone && cd gone && rmdir ../gone", "."),
        ("cd /tmp", "/tmp"),
        ("cd sub; kill -9 $$", "."),
        ("cd sub; builtin() { echo /no/such; }", "."),
        ("cd sub; builtin() { printf '%s/../sub\\n' $PWD; }", "."),
        ("mkdir 'a\nb' && cd 'a\nb'", "a\nb"),
    ],
    ids=[
        "changed",
        "an exit in the middle",
        "a failure",
        "in a subshell",
        "a trap of its own",
        "a function of its own",
        "not there",
        "removed",
        "a folder of its own",
        "killed",
        "a lie",
        "a lie that is no plain path",
        "two lines",
    ],
)
def test_a_session_follows_its_shell(executor: Executor, project: Path, text: str, where: str) -> None:
    session = Session(executor)
    session.run(text)
    assert session.cwd == os.path.normpath(project / where)
    assert session.run("pwd -P").result.stdout == os.fsencode(session.cwd) + b"\n"


def test_a_session_is_judged_anew_from_where_it_is(executor: Executor, project: Path) -> None:
    session = Session(executor)
    session.run("cd sub")
    assert session.run("mkdir here").result.status == 0
    assert (project / "sub" / "here").is_dir()
    assert asyncio.run(session.run_async("ls")).result.stdout == b"here\n"


LOADED = {
    "a start-up file": {"BASH_ENV": "{file}", "ENV": "{file}"},
    "a function": {"BASH_FUNC_ls%%": "() { echo loaded; }"},
    "a folder before the usual ones": {"PATH": "{folder}:/usr/bin:/bin"},
    "the folder itself": {"PATH": ".:/usr/bin:/bin"},
    "an option of the shell": {"SHELLOPTS": "xtrace", "BASHOPTS": "expand_aliases", "PS4": "loaded"},
    "a library": {"LD_PRELOAD": "{file}", "LD_LIBRARY_PATH": "{folder}"},
    "a prompt": {"PROMPT_COMMAND": "echo loaded"},
    "a divider of words": {"IFS": "s"},
}


@pytest.mark.parametrize("variables", LOADED.values(), ids=LOADED)
def test_the_environment_does_not_change_what_runs(
    executor: Executor, project: Path, variables: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (project / "file").write_text("ls() { echo loaded; }; alias ls='echo loaded'; echo loaded\n", encoding="utf-8")
    for folder in (project, project / "sub"):
        (folder / "ls").write_text("#!/bin/sh\necho loaded\n", encoding="utf-8")
        (folder / "ls").chmod(0o755)
    where = {"file": str(project / "file"), "folder": str(project / "sub")}
    for name, value in variables.items():
        monkeypatch.setenv(name, value.replace("{file}", where["file"]).replace("{folder}", where["folder"]))
    result = executor.run("ls -d sub", environment=dict(os.environ)).result
    assert (result.status, result.stdout, result.stderr) == (0, b"sub\n", b""), result


def test_no_secret_of_the_environment_is_passed_on(executor: Executor, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_SECRET_ACCESS_KEY", "GITHUB_TOKEN", "MY_PASSWORD", "SOMETHING", "KEPT", "LD_AUDIT"):
        monkeypatch.setenv(name, "value")
    seen = executor.run("env", environment=dict(os.environ)).result.stdout.decode().splitlines()
    assert [line for line in seen if "value" in line] == ["KEPT=value"]


def test_no_descriptor_is_left_behind(executor: Executor) -> None:
    def count() -> int:
        return len(open_descriptors())

    for _ in range(3):
        executor.run("echo x; no-such", ways=Ways(b"data"), report=True)
    before = count()
    for number in range(50 if THOROUGH else 15):
        executor.run(
            "echo x; sleep 0 & no-such", ways=Ways(b"data"), report=True, seconds=0.001 if number % 5 == 0 else 9
        )
    assert count() == before


MANY = range(100 if THOROUGH else 30)


def test_many_run_at_once_from_any_thread(executor: Executor) -> None:
    found: dict[int, bytes] = {}
    work = [
        threading.Thread(target=lambda n=number: found.__setitem__(n, executor.run(f"echo {n}").result.stdout))
        for number in MANY
    ]
    for each in work:
        each.start()
    for each in work:
        each.join()
    assert found == {number: b"%d\n" % number for number in MANY}


def test_nothing_runs_where_no_sandbox_holds(gateway: Gateway, project: Path) -> None:
    from gateway.sandbox.base import Probe
    from gateway.sandbox.run import Runner

    class Broken:
        name = "namespaces"
        whole = True

        def probe(self) -> Probe:
            return Probe(False, "it does not hold", "mend it")

    with Executor(gateway, runner=Runner(str(project / "q"), (Broken(),))) as executor:  # type: ignore[arg-type]
        done = executor.run("touch ran")
    assert (done.result.ended, done.result.status) == ("failed", 126)
    assert "it does not hold" in done.result.reason
    assert done.result.reason.endswith("mend it")
    assert not (project / "ran").exists()


@pytest.mark.skipif(sys.platform != "linux", reason="it looks into /proc")
def test_a_fork_of_the_process_can_go_on(executor: Executor) -> None:
    executor.run("true")
    pid = os.fork()
    if pid == 0:
        try:
            os._exit(executor.run("exit 7").result.status)
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 7
    assert executor.run("exit 8").result.status == 8


def test_a_protected_file_that_appears_is_taken_away_and_told(executor: Executor, project: Path) -> None:
    text = "echo {} > .mcp.json; mkdir .vscode; echo {} > .vscode/tasks.json; echo x > plain\n"
    (project / "script").write_text(text, encoding="utf-8")
    result = executor.run("sh script").result
    assert sorted((each.kind, os.path.relpath(each.target, project)) for each in result.violations) == [
        ("protected", ".mcp.json"),
        ("protected", ".vscode/tasks.json"),
    ]
    assert not (project / ".mcp.json").exists()
    assert (project / "plain").read_text("utf-8") == "x\n"


def records(gateway: Gateway) -> list[dict[str, object]]:
    with Moment(os.path.join(gateway.places.state, "audit")) as moment:
        return moment.last(100)


def test_what_ran_is_recorded_before_and_after(gateway: Gateway, executor: Executor) -> None:
    seen: list[list[dict[str, object]]] = []
    done = executor.run("echo x", started=lambda _running: seen.append(records(gateway)))
    decision, outcome = records(gateway)
    assert seen == [[decision]]
    assert (decision["decision"], decision["front"], decision["network"]) == ("allow", "library", "off")
    assert (decision["policy"], decision["rule"][0]) == (gateway.loaded.policy.revision, "everything")  # type: ignore[index]
    assert (outcome["id"], outcome["ended"], outcome["output"]) == (decision["id"], "exited", [2, 0])
    assert outcome["seconds"] == round(done.result.seconds, 6)


def test_what_is_refused_is_recorded_as_what_it_was(gateway: Gateway) -> None:
    with Executor(gateway) as executor:
        executor.run("forbidden x")
        executor.run("asked x")
    found = [(each["kind"], each.get("decision", each.get("ended"))) for each in records(gateway)]
    assert found == [("decision", "deny"), ("decision", "ask"), ("outcome", "refused")]


def test_an_answer_is_recorded_with_who_gave_it(gateway: Gateway, executor: Executor) -> None:
    with Executor(gateway, approver=Person(answer=True)) as asking:
        asking.run("asked x")
    decision, outcome = records(gateway)
    assert (decision["decision"], outcome["ended"]) == ("ask", "exited")
    assert decision["grant"] == {"allow": True, "scope": "once", "by": "somebody"}
    assert executor is not None


def test_the_calls_of_a_session_are_recorded_under_one_name(gateway: Gateway, executor: Executor) -> None:
    session = Session(executor)
    session.run("cd sub")
    session.run("true")
    executor.run("true")
    names = [each.get("session", "") for each in records(gateway) if each["kind"] == "decision"]
    assert names[0] == names[1] != ""
    assert names[2] == ""


@pytest.fixture
def unwritable(project: Path) -> Log:
    """A record that has no place: a file stands where its folder should be."""
    (project.parent / "file").write_text("", encoding="utf-8")
    return Log(str(project.parent / "file" / "audit"))


def test_what_has_effects_does_not_run_without_a_record(
    gateway: Gateway, project: Path, unwritable: Log, executor: Executor
) -> None:
    with Executor(gateway, log=unwritable) as unrecorded:
        done = unrecorded.run("touch made")
    assert (done.verdict.decision, done.result.ended, done.result.status) == (Decision.ALLOW, "refused", 126)
    assert done.result.reason.startswith("It is refused, because it would not be recorded: the record in ")
    assert not (project / "made").exists()
    assert executor.run("touch made").result.status == 0
    assert (project / "made").exists()


def test_what_has_none_runs_and_says_that_it_is_not_recorded(
    gateway: Gateway, unwritable: Log, executor: Executor
) -> None:
    assert executor is not None
    with Executor(gateway, log=unwritable) as unrecorded:
        done = unrecorded.run("cat /dev/null; echo x")
    assert (done.result.status, done.result.stdout) == (0, b"x\n")
    assert done.result.reason.startswith("This call is not recorded: the record in ")


def test_a_policy_may_demand_a_record_of_everything(gateway: Gateway, unwritable: Log) -> None:
    unwritable.required = "all"
    with Executor(gateway, log=unwritable) as unrecorded:
        done = unrecorded.run("echo x")
    assert (done.result.ended, done.result.status) == ("refused", 126)
