"""Whatever happens to a hook, the agent that started it does not let the call run, and is told why.

Each failure happens to the hook of every agent, as a process; its twin is the same call without it, which runs.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from fuzzing import share
from hooking import SHELLS, World, before, lets_run, reason_in
from patience import patience

from gateway.agents import AGENTS
from gateway.frontends.hook_process import too_late

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

ROOT = Path(__file__).parents[2]
POLICY = "rules:\n  - allow: Bash(touch made)\n"
Started = tuple[str, "subprocess.Popen[bytes]", bytes]


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    """One in which `touch made` runs."""
    found = World(tmp_path_factory.mktemp("world"), POLICY)
    assert found.run("claude", before("claude", str(found.project)))[2] == 0  # what is compiled once is compiled now
    return found


def event(world: World, agent: str) -> dict[str, Any]:
    """A call with an effect that policy allows."""
    return before(agent, str(world.project), given={"command": "touch made"})


def finish(found: list[Started]) -> dict[str, tuple[bytes, bytes, int]]:
    """The answers of hooks that run at the same time."""
    answers = {}
    for agent, process, data in found:
        try:
            out, err = process.communicate(data, patience(60))
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            raise
        answers[agent] = (out or b"", err or b"", process.returncode)
    return answers


def start_all(
    world: World, said: Callable[[str], bytes], *options: str, agents: Sequence[str] = AGENTS, **how: Any
) -> list[Started]:
    return [(agent, world.start(world.line(agent, *options), **how), said(agent)) for agent in agents]


def some(failure: str) -> list[str]:
    """The agents to whose hooks a failure happens: all in a thorough run, else two, others for another failure."""
    return share(AGENTS, 3, failure)


def refused(answers: dict[str, tuple[bytes, bytes, int]]) -> None:
    """No agent lets the call run, and each is given a reason."""
    assert answers
    assert {agent: lets_run(agent, *answer) for agent, answer in answers.items()} == dict.fromkeys(answers, False)
    assert {agent: "gateway" in reason_in(*answer[:2]) for agent, answer in answers.items()} == dict.fromkeys(
        answers, True
    )


def encoded(world: World) -> Callable[[str], bytes]:
    return lambda agent: json.dumps(event(world, agent)).encode()


def test_without_a_failure_every_agent_lets_the_call_run(world: World) -> None:
    answers = finish(start_all(world, encoded(world)))
    assert {agent: lets_run(agent, *answer) for agent, answer in answers.items()} == dict.fromkeys(AGENTS, True)


def test_a_call_that_policy_denies_runs_nowhere(world: World) -> None:
    def said(agent: str) -> bytes:
        return json.dumps(before(agent, str(world.project), given={"command": "rm -rf /"})).encode()

    answers = finish(start_all(world, said))
    assert {agent: lets_run(agent, *answer) for agent, answer in answers.items()} == dict.fromkeys(AGENTS, False)
    assert all("critical-root" in reason_in(*answer[:2]) for answer in answers.values())


def doubled(given: dict[str, Any]) -> bytes:
    text = json.dumps(given)
    return f"{text[:-1]}, {text[1:]}".encode()


GIVEN: dict[str, Callable[[dict[str, Any]], bytes]] = {
    "nothing comes": lambda _given: b"",
    "what comes is no JSON": lambda given: b"{" + json.dumps(given).encode(),
    "what comes is cut short": lambda given: json.dumps(given).encode()[:-3],
    "what comes is no object": lambda given: json.dumps([given]).encode(),
    "what comes is no UTF-8": lambda given: json.dumps(given).encode()[:-1] + b', "\xff": 1}',
    "every key comes twice": doubled,
    "what comes is nested too deep": lambda given: json.dumps({**given, "x": 0}).encode()[:-2] + b"[" * 200_000,
    "a number comes that JSON does not have": lambda given: json.dumps({**given, "x": float("inf")}).encode(),
    "what comes is too big": lambda given: json.dumps({**given, "x": "x" * (17 << 20)}).encode(),
    "something comes behind it": lambda given: json.dumps(given).encode() + b"\n{}",
    "an event that nobody knows": lambda given: renamed_event(given),
    "a call without its tool": lambda given: json.dumps(
        {name: value for name, value in given.items() if name not in ("tool_name", "toolName", "tool")}
    ).encode(),
    "a call without its input": lambda given: json.dumps(
        {name: value for name, value in given.items() if name not in ("tool_input", "toolArgs", "args")}
    ).encode(),
    "an input that is no object": lambda given: json.dumps(
        {name: "touch made" if name in ("tool_input", "toolArgs", "args") else each for name, each in given.items()}
    ).encode(),
    "a folder that is not absolute": lambda given: json.dumps(
        {name: "sub" if name in ("cwd", "directory") else each for name, each in given.items()}
    ).encode(),
    "a command that is none": lambda given: json.dumps(given).replace('"touch made"', '["touch", "made"]').encode(),
    "a command with NUL in it": lambda given: json.dumps(given).replace("touch made", "touch made\\u0000").encode(),
    "a command of half a character": lambda given: json.dumps(given).replace("touch made", "touch \\ud800").encode(),
}  # fmt: skip


def renamed_event(given: dict[str, Any]) -> bytes:
    """A name that is no event's; Copilot's own form has none, so it is given one."""
    name = next((each for each in ("hook_event_name", "event") if each in given), "hookName")
    return json.dumps({**given, name: "BeforeEverything"}).encode()


@pytest.mark.parametrize("failure", GIVEN)
def test_what_cannot_be_read_is_refused(world: World, failure: str) -> None:
    refused(finish(start_all(world, lambda agent: GIVEN[failure](event(world, agent)), agents=some(failure))))


# Each caller calls its own hook, and one that is another's; all others' in a thorough run.
CALLERS = [(caller, agent) for number, caller in enumerate(AGENTS) for agent in share(AGENTS, 3, number)]


@pytest.mark.parametrize(("caller", "agent"), CALLERS)
def test_a_caller_that_speaks_another_dialect_is_refused(world: World, agent: str, caller: str) -> None:
    given = before(caller, str(world.project), SHELLS[agent], {"command": "touch made"})
    answer = world.run(agent, given)
    assert lets_run(caller, *answer) is (agent == caller)


OPTIONS = {
    "an option that nobody knows": ("--no-such-option",),
    "an option without its value": ("--policies",),
    "a second agent": ("claude",),
    "a mode that nobody knows": ("--mode", "careless"),
    "a folder of policies that is not there": ("--policies", "/nonexistent/policies"),
    "a deadline that is none": ("--deadline", "soon"),
    "an answer that nobody knows": ("--unattended", "allow"),
    "another event than the one that comes": ("--event", "Stop"),
}


@pytest.mark.parametrize("failure", OPTIONS)
def test_a_hook_that_is_wrongly_set_up_refuses(world: World, failure: str) -> None:
    refused(finish(start_all(world, encoded(world), *OPTIONS[failure], agents=some(failure))))


@pytest.mark.parametrize(
    "words", [(), ("nobody",), ("Claude",), ("../agents/claude",)], ids=["none", "x", "case", "path"]
)
def test_a_hook_for_no_known_agent_refuses_in_the_form_that_all_obey(world: World, words: tuple[str, ...]) -> None:
    line = [sys.executable, "-m", "gateway", "hook", *words]
    answers = finish([(agent, world.start(line), encoded(world)(agent)) for agent in some("".join(words))])
    refused(answers)


SIGNALS = ["SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT", "SIGALRM", "SIGUSR1", "SIGUSR2", "SIGXCPU"]


@pytest.mark.parametrize("name", SIGNALS)
def test_a_signal_is_a_refusal(world: World, name: str) -> None:
    found = start_all(world, lambda _agent: b"", agents=some(name))
    for _agent, process, _data in found:
        until_ready(process, getattr(signal, name))
        process.send_signal(getattr(signal, name))
    refused(finish(found))


def until_ready(process: subprocess.Popen[bytes], number: int) -> None:
    """Waits until the hook has taken over a signal, and its time runs."""
    status = Path(f"/proc/{process.pid}/status")
    if not status.exists():
        pytest.skip("this system does not tell which signals a process has taken over")
    wanted = 1 << (number - 1) | 1 << (signal.SIGXCPU - 1) | 1 << (signal.SIGVTALRM - 1)
    while process.poll() is None:
        caught = next((line for line in status.read_text().splitlines() if line.startswith("SigCgt:")), "SigCgt: 0")
        if int(caught.split()[1], 16) & wanted == wanted:
            return
        time.sleep(0.002)


def until_it_decides(process: subprocess.Popen[bytes]) -> int:
    """The child that decides, once there is one."""
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    if not children.exists():
        pytest.skip("this system does not tell the children of a process")
    while True:
        assert process.poll() is None
        found = children.read_text().split()
        if found:
            return int(found[0])
        time.sleep(0.002)


@pytest.mark.parametrize("name", ["SIGKILL", "SIGSEGV", "SIGTERM", "SIGSTOP"])
def test_the_end_of_the_process_that_decides_is_a_refusal(world: World, tmp_path: Path, name: str) -> None:
    (tmp_path / "sitecustomize.py").write_text(f"FAULT = 'import signal; signal.pause()'\n{AT}")
    environment = world.environment(PYTHONPATH=f"{tmp_path}{os.pathsep}{ROOT}")
    found = start_all(world, encoded(world), "--deadline", str(patience(3)), agents=some(name), environment=environment)
    for _agent, process, data in found:
        assert process.stdin is not None
        process.stdin.write(data)
        process.stdin.close()
        process.stdin = None
        os.kill(until_it_decides(process), getattr(signal, name))
    refused(finish([(agent, process, b"") for agent, process, _data in found]))


def test_what_cannot_be_decided_in_time_is_refused_in_the_agents_own_words(world: World, tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(WAITING_FOR_POLICY)
    environment = world.environment(PYTHONPATH=f"{tmp_path}{os.pathsep}{ROOT}")
    said = encoded(world)
    found = start_all(world, said, "--deadline", str(patience(6)), environment=environment)
    for _agent, process, data in found:  # all of them at once: the time runs from the start
        assert process.stdin is not None
        process.stdin.write(data)
        process.stdin.close()
        process.stdin = None
    answers = finish([(agent, process, b"") for agent, process, _data in found])
    refused(answers)
    assert answers == {agent: too_late([agent], said(agent)) for agent in AGENTS}
    assert {agent for agent, (out, _err, _status) in answers.items() if b"hookSpecificOutput" not in out} == {
        "gemini", "copilot", "cursor", "opencode",
    }  # fmt: skip


def test_an_agent_that_never_stops_writing_is_refused_in_time(world: World) -> None:
    found = start_all(world, encoded(world), "--deadline", "1")
    for _agent, process, data in found:
        assert process.stdin is not None
        process.stdin.write(data)
        process.stdin.flush()  # and stays open
    answers = {}
    for agent, process, _data in found:
        process.wait(patience(60))
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdin is not None
        answers[agent] = (process.stdout.read(), process.stderr.read(), process.returncode)
        for stream in (process.stdin, process.stdout, process.stderr):
            stream.close()
    refused(answers)


def test_a_closed_standard_input_is_a_refusal(world: World) -> None:
    refused(finish([(a, world.start(closing("<&-", world.line(a)), stdin=None), b"") for a in AGENTS]))


def closing(what: str, line: list[str]) -> list[str]:
    return ["/bin/sh", "-c", f'exec "$@" {what}', "sh", *line]


OUTPUTS = {
    "closed": ">&-",
    "full": ">/dev/full",
    "closed, and standard error too": ">&- 2>&-",
}


@pytest.mark.parametrize("failure", OUTPUTS)
def test_an_answer_that_cannot_be_written_is_a_refusal(world: World, failure: str) -> None:
    """To Codex an allow is silence, which a broken output cannot change."""
    if "full" in failure and not Path("/dev/full").exists():
        pytest.skip("this system has no /dev/full")
    agents = [agent for agent in AGENTS if agent != "codex"]
    found = [(a, world.start(closing(OUTPUTS[failure], world.line(a))), encoded(world)(a)) for a in agents]
    answers = finish(found)
    # Where neither output can be written, only the status is left: Gemini CLI reads none without a text.
    left = [agent for agent in agents if not (agent == "gemini" and "error" in failure)]
    assert {agent: lets_run(agent, *answers[agent]) for agent in left} == dict.fromkeys(left, False)
    assert {answer[2] for answer in answers.values()} == {2}


def test_an_answer_that_nobody_reads_is_a_refusal(world: World) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    try:
        agents = [agent for agent in AGENTS if agent != "codex"]
        answers = finish([(a, world.start(world.line(a), stdout=writing), encoded(world)(a)) for a in agents])
    finally:
        os.close(writing)
    assert {answer[2] for answer in answers.values()} == {2}
    assert all(b"cannot be written" in answer[1] for answer in answers.values())


# What happens where the process that decides imports `_blake2`, which all of them do, and nothing before them.
WAITING_FOR_POLICY = """
import signal, sys

def look(event, told):
    while event == "open" and str(told[0]).endswith("policy.yaml"):
        signal.pause()

sys.addaudithook(look)
"""
AT = """
import sys

class Fault:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name == "_blake2":
            exec(FAULT, {})

sys.meta_path.insert(0, Fault)
"""
FAULTS = {
    "a fault of ours": "raise RuntimeError('planned')",
    "a library that cannot be loaded": "raise ImportError('planned')",
    "the end of memory": "raise MemoryError",
    "the end of the stack": "raise RecursionError",
    "an end that looks like success": "raise SystemExit(0)",
    "an end from within": "import os\nos._exit(0)",
    "an interruption": "raise KeyboardInterrupt",
    "a crash": "import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)",
    "an answer on the side": "import os\nos.write(1, b'{}')\nraise SystemExit(0)",
    "work without end": "while True: pass",
    "a wait without end": (
        "import signal, time\nsignal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())\ntime.sleep(600)"
    ),
}


@pytest.mark.parametrize("failure", FAULTS)
def test_a_fault_of_the_process_that_decides_is_a_refusal(world: World, tmp_path: Path, failure: str) -> None:
    (tmp_path / "sitecustomize.py").write_text(f"FAULT = {FAULTS[failure]!r}\n{AT}")
    environment = world.environment(PYTHONPATH=f"{tmp_path}{os.pathsep}{ROOT}")
    agents = some(failure)
    found = start_all(world, encoded(world), "--deadline", str(patience(2)), agents=agents, environment=environment)
    refused(finish(found))


BROKEN_MODULES = [
    "frontends/hook_process.py",
    "agents/refusal.py",
    "frontends/hook.py",
    "agents/base.py",
    "judge/judge.py",
]


@pytest.fixture(scope="module")
def installation(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the package. Machine code would stand in for a source, so it has none."""
    folder = tmp_path_factory.mktemp("installation")
    left_out = shutil.ignore_patterns("__pycache__", "data", "*.pyc", "*.so")
    shutil.copytree(ROOT / "gateway", folder / "gateway", ignore=left_out)
    for name in ("tools.yaml", "policies"):
        (folder / name).symlink_to(ROOT / name)
    return folder


@pytest.mark.parametrize("module", BROKEN_MODULES)
def test_a_broken_installation_is_a_refusal(world: World, installation: Path, module: str) -> None:
    broken = installation / "gateway" / module
    whole = broken.read_bytes()
    broken.write_text("this is no Python\n")
    try:
        environment = world.environment(PYTHONPATH=str(installation), PYTHONDONTWRITEBYTECODE="1")
        refused(finish(start_all(world, encoded(world), agents=some(module), environment=environment)))
    finally:
        broken.write_bytes(whole)


POLICIES = {
    "a policy that is no YAML": "version: 1\nrules: [",
    "a policy with a key that nobody knows": "version: 1\nrulez: []\n",
    "a policy that is no UTF-8": "version: 1\n# \udcff\n",
    "a rule whose example fails": "version: 1\nrules:\n  - {deny: 'Bash(rm *)', matches: [ls]}\n",
}


@pytest.mark.parametrize("failure", POLICIES)
def test_a_broken_policy_is_a_refusal(tmp_path: Path, failure: str) -> None:
    world = World(tmp_path, POLICY)
    assert lets_run("claude", *world.run("claude", event(world, "claude")))
    world.policy.write_bytes(POLICIES[failure].encode("utf-8", "surrogateescape"))
    answers = finish(start_all(world, encoded(world), agents=some(failure)))
    refused(answers)
    assert all("policy.yaml" in reason_in(*answer[:2]) for answer in answers.values())


def test_a_policy_that_is_a_folder_is_a_refusal(tmp_path: Path) -> None:
    world = World(tmp_path, POLICY)
    world.policy.unlink()
    world.policy.mkdir()
    refused(finish(start_all(world, encoded(world))))


def test_a_home_that_is_none_is_a_refusal(world: World) -> None:
    refused(finish(start_all(world, encoded(world), environment=world.environment(HOME="home"))))


def test_a_record_that_cannot_be_written_is_a_refusal(tmp_path: Path) -> None:
    world = World(tmp_path, POLICY)
    world.state.parent.mkdir(parents=True)
    world.state.write_text("no folder")
    answers = finish(start_all(world, encoded(world)))
    refused(answers)
    assert all("recorded" in reason_in(*answer[:2]) for answer in answers.values())


def test_a_cache_that_is_broken_or_cannot_be_written_changes_no_answer(tmp_path: Path) -> None:
    world = World(tmp_path, POLICY)

    def answers() -> list[dict[str, tuple[bytes, bytes, int]]]:
        """Of two agents, one after the other: without a cache each compiles everything."""
        found = []
        for agent in AGENTS[:2]:
            line = world.line(agent, "--deadline", str(patience(60)))
            found.append(finish([(agent, world.start(line), encoded(world)(agent))]))
        return found

    first = answers()
    cache = world.home / ".cache" / "gateway"
    kept = [path for path in cache.rglob("*") if path.is_file()]
    assert kept
    for path in kept:
        path.write_bytes(b"garbage")
    assert answers() == first
    shutil.rmtree(cache)
    cache.write_text("no folder")
    assert answers() == first


def test_a_folder_that_is_gone_is_a_refusal(world: World) -> None:
    line = ["/bin/sh", "-c", 'mkdir "gone-$$" && cd "gone-$$" && rmdir "../gone-$$" && exec "$@"', "sh"]
    refused(finish([(agent, world.start([*line, *world.line(agent)]), encoded(world)(agent)) for agent in AGENTS]))
