"""What a foreign agent's hook asks on a page of the console: a real console, and the hook as the agent starts it."""

from __future__ import annotations

import http.client
import json
import os
import signal
import subprocess
import threading
import time
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from consoles import Running, until
from fuzzing import THOROUGH
from hooking import before
from patience import patience
from warmed import warm

from gateway.agents import AGENTS
from gateway.frontends.hook_process import decide
from gateway.install import canary
from gateway.install.hook_lines import hook_lines

if TYPE_CHECKING:
    from collections.abc import Iterator

SAYS = """version: 1
extends: [daily]
settings: {agents: {page: %s}%s}
rules:
  - {id: asks, ask: 'Bash(touch *)'}
  - {id: never, deny: 'Bash(touch never*)'}
"""


class Asking(Running):
    """A console with its page open, and hooks that ask there."""

    def says(self, page: int, more: str = "") -> None:
        """The person's policy."""
        (self.home / ".config" / "gateway" / "policy.yaml").write_text(SAYS % (page, more))

    @contextmanager
    def hook(self, agent: str, *, waits: str = "600") -> Iterator[subprocess.Popen[str]]:
        """The line that is put into an agent's settings, started as the agent does it, and told of a command."""
        line = hook_lines(agent)("" if agent == "opencode" else canary.BEFORE[agent])
        line[line.index("--waits") + 1] = waits
        if waits == "600":  # on a busy machine to decide takes longer than a person wants to wait
            line += ["--deadline", f"{patience(10):.0f}"]
        process = subprocess.Popen(
            line, env=self.environment, cwd=self.project, text=True, start_new_session=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
        assert process.stdin is not None
        process.stdin.write(json.dumps(before(agent, str(self.project), given={"command": "touch made"})))
        process.stdin.close()
        process.stdin = None
        try:
            yield process
        finally:
            with process:
                os.killpg(process.pid, signal.SIGKILL)

    def decides(self, answer: str, agent: str = "claude", command: str = "touch made", *, waits: float = 60.0) -> str:
        """The word of the hook's answer, decided in this process while a page answers; "" for silence there."""
        said: list[Any] = []
        told = json.dumps(before(agent, str(self.project), given={"command": command})).encode()
        words, end = (agent, "--waits", "600"), time.monotonic() + waits
        deciding = threading.Thread(
            target=lambda: said.append(decide(words, told, self.environment, lambda: end)), daemon=True
        )
        deciding.start()
        if answer:
            assert self.answers(answer) == 200
        deciding.join(patience(10))
        return word(said[0].stdout.decode())

    def answers(self, answer: str) -> int:
        """Answers what waits."""
        name, digest = self.question()
        given = {"id": name, "digest": digest, "answer": answer, "note": "not that"}
        return self.post("/api/answer", self.opened(), given if answer == "no" else {**given, "note": ""}).status


def word(said: str) -> str:
    """What an agent is told, in one word; "" for nothing at all, which is consent to Codex alone."""
    found = json.loads(said) if said.strip() else {}
    found = found.get("hookSpecificOutput") or found
    return str(found.get("permissionDecision") or found.get("decision") or found.get("permission") or "")


def ended(process: subprocess.Popen[str]) -> tuple[str, str]:
    """The word, and all that was said."""
    out, errors = process.communicate(timeout=patience(10))
    return word(out), out + errors


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Asking]:
    top = tmp_path_factory.mktemp("asking")
    (top / "home" / ".config" / "gateway").mkdir(parents=True)
    (top / "home").chmod(0o700)
    (top / "project" / ".git").mkdir(parents=True)
    warm(top / "home" / ".cache" / "gateway")
    found = Asking(top / "home", top / "project")
    connection = http.client.HTTPConnection("127.0.0.1", found.port, timeout=patience(60))
    connection.request("GET", "/api/events", headers={"Authorization": f"Bearer {found.opened()}"})
    with closing(connection), connection.getresponse() as answer:
        assert answer.readline() == b"event: waiting\n"  # its page listens from here on
        yield found
    found.close()


@pytest.fixture
def asking(shared: Asking, monkeypatch: pytest.MonkeyPatch) -> Asking:
    monkeypatch.setenv("HOME", str(shared.home))
    shared.says(500)
    return shared


@pytest.mark.parametrize("agent", AGENTS)
def test_what_is_said_on_the_page_is_what_the_agent_is_told_also_one_that_cannot_ask(asking: Asking, agent: str):
    with asking.hook(agent) as process:
        assert asking.answers("once") == 200
        said = ended(process)[0]
    assert said == ("" if agent == "codex" else "allow")  # silence is how Codex is told yes
    assert process.returncode == 0


@pytest.mark.parametrize("agent", ["claude", "codex"])
def test_a_no_is_told_with_its_words_and_recorded_with_who_said_it(asking: Asking, agent: str):
    with asking.hook(agent) as process:
        assert asking.answers("no") == 200
        said, text = ended(process)
    assert (said, "It was not approved: not that." in text, "Nobody can be asked" in text) == ("deny", True, False)
    written = max((asking.home / ".local/state/gateway/audit").glob("*.jsonl"), key=lambda each: each.stat().st_mtime)
    grants = [json.loads(line).get("grant") for line in written.read_text().splitlines()]
    told = [each for each in grants if each][-1]
    assert (told["allow"], told["scope"]) == (False, "once")
    assert told["by"].endswith("at the console's page")


def test_silence_leaves_it_to_the_agent_or_refuses_where_that_cannot_ask(asking: Asking):
    asking.says(1)
    assert [asking.decides("", each) for each in ("claude", "codex")] == ["ask", "deny"]


@pytest.mark.parametrize(
    ("page", "more", "command", "said"),
    [
        pytest.param(0, "", "touch made", "ask", id="a setting of none"),
        pytest.param(500, ", approvers: [mcp, refuse]", "touch made", "ask", id="others are asked by policy"),
        pytest.param(500, ", remote: {people: 2}", "touch made", "deny", id="two people are wanted, nobody is there"),
        pytest.param(500, "", "touch never", "deny", id="what policy denies"),
        pytest.param(500, "", "true", "allow", id="what policy allows"),
    ],
)
def test_nothing_stands_on_the_page(asking: Asking, page: int, more: str, command: str, said: str):
    asking.says(page, more)
    assert (asking.decides("", "claude", command), asking.questions()) == (said, [])


def test_an_old_line_without_the_time_its_agent_waits_asks_nobody(asking: Asking):
    told = json.dumps(before("claude", str(asking.project), given={"command": "touch made"})).encode()
    reply = decide(("claude",), told, asking.environment, lambda: time.monotonic() + 60)
    assert (word(reply.stdout.decode()), asking.questions()) == ("ask", [])


def test_a_policy_that_denies_by_the_time_of_the_answer_has_the_last_word(asking: Asking):
    said: list[str] = []
    waiting = threading.Thread(target=lambda: said.append(asking.decides("", "claude")), daemon=True)
    waiting.start()
    asking.question()
    path = asking.home / ".config" / "gateway" / "policy.yaml"
    path.write_text(path.read_text().replace("ask: 'Bash(touch *)'", "deny: 'Bash(touch *)'"))
    assert asking.answers("once") == 200
    waiting.join(patience(10))
    assert said == ["deny"]


def test_always_saves_the_rule_that_was_shown_and_the_next_call_asks_nobody(asking: Asking):
    (asking.project / "notes").mkdir(exist_ok=True)
    asking.says(500, ", mode: default")
    assert asking.decides("always", "claude", "mkdir notes/one") == "allow"
    assert (asking.decides("", "claude", "mkdir notes/one"), asking.questions()) == ("allow", [])
    asking.run("grants", "revoke", "--all")


def of(process: subprocess.Popen[str], depth: int) -> int:
    """A process below the shell that is a hook: at 1 the one that holds the answer, at 2 the one that decides."""
    found = process.pid
    for _ in range(depth):
        found = until(lambda above=found: _child(above))
    return found


def _child(pid: int) -> int:
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return int(children[0]) if children else 0


@pytest.mark.parametrize(
    ("depth", "number", "said"),
    [
        pytest.param(2, signal.SIGKILL, "deny", id="the process that decides"),
        pytest.param(1, signal.SIGKILL, "deny", id="the process that waits for it"),
        pytest.param(1, signal.SIGTERM, "deny", id="the same, asked to end"),
    ],
)
def test_a_hook_that_is_killed_while_it_asks_refuses_and_asks_no_longer(
    asking: Asking, depth: int, number: int, said: str
):
    with asking.hook("codex") as process:
        asking.question()
        os.kill(of(process, depth), number)
        assert ended(process)[0] == said
        until(lambda: not asking.questions())


@pytest.mark.parametrize("kept", [False, True], ids=["and its streams are gone", "and its streams are held by another"])
def test_an_agent_that_is_gone_takes_its_question_with_it(asking: Asking, kept: bool):
    """A killed agent's streams end with it; the shell that it has started is what they hold on to."""
    with asking.hook("claude") as process:
        asking.question()
        waits = of(process, 1)
        if kept:
            os.kill(process.pid, signal.SIGKILL)
        else:
            for stream in (process.stdout, process.stderr):
                assert stream is not None
                stream.close()
            process.stdout = process.stderr = None
        until(lambda: not asking.questions())
        until(lambda: not os.path.exists(f"/proc/{waits}/fd/0"))


def test_a_console_that_is_killed_leaves_it_to_the_agent(asking: Asking, tmp_path: Path):
    home = tmp_path / "home"
    (home / ".config" / "gateway").mkdir(parents=True)
    home.chmod(0o700)
    other = Asking(home, asking.project)
    other.says(500)
    connection = http.client.HTTPConnection("127.0.0.1", other.port, timeout=patience(60))
    connection.request("GET", "/api/events", headers={"Authorization": f"Bearer {other.opened()}"})
    with closing(connection), connection.getresponse() as answer:
        answer.readline()
        with other.hook("claude") as asks, other.hook("codex") as refuses:
            until(lambda: len(other.questions()) == 2)
            other.process.kill()
            assert [ended(each)[0] for each in (asks, refuses)] == ["ask", "deny"]
        other.process.communicate()


@pytest.mark.skipif(not THOROUGH, reason="half a minute of waiting: scripts/thorough")
@pytest.mark.parametrize("depth", [0, 2], ids=["the person", "the process that decides"])
def test_whatever_stands_still_the_hook_ends_before_its_agent_stops_waiting(asking: Asking, depth: int):
    """Its agent waits 36 s: the person has 6, then it is left to the agent; a decider that hangs is ended after 16."""
    began = time.monotonic()
    with asking.hook("codex", waits="36") as process:
        if depth:
            until(asking.questions)
            os.kill(of(process, depth), signal.SIGSTOP)
        said = process.communicate(timeout=36)[0]
    assert (word(said), time.monotonic() - began < 30) == ("deny", True)
