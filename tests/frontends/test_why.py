"""`gateway why`: what people and programs are told of the last refusal, right after it."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest
from hooking import SHELLS, World, before

from gateway.audit.refusals import Refusal
from gateway.audit.store import Store
from gateway.frontends.pasting import shell_word
from gateway.frontends.rejudging import Again
from gateway.frontends.why_text import as_data, as_text
from gateway.render.style import Style

if TYPE_CHECKING:
    from pathlib import Path

POLICY = """\
rules:
  - id: no-curl
    deny: Bash(curl *)
    because: downloads go through WebFetch
    instead: use WebFetch
  - id: look-at-docs
    ask: Edit(docs/**)
"""


class Seat:
    """A person in one terminal, an agent in another."""

    def __init__(self, folder: Path, in_process: Any) -> None:
        self.world = World(folder, POLICY)
        self._in_process = in_process

    def agent(self, tool: str, given: dict[str, Any], agent: str = "claude", **more: Any) -> None:
        """The agent is about to make a call."""
        said = {**before(agent, str(self.world.project), tool, given), **more}
        assert self.world.run(agent, said)[2] == 0

    def bash(self, command: str, agent: str = "claude", **more: Any) -> None:
        self.agent("Bash", {"command": command}, agent, **more)

    def run(self, *words: str, cwd: Path | None = None) -> subprocess.CompletedProcess[bytes]:
        environment = {**self.world.environment(), "XDG_CACHE_HOME": None}
        done: subprocess.CompletedProcess[bytes] = self._in_process(
            *words, cwd=cwd or self.world.project, **environment
        )
        return done

    def why(self, *words: str, cwd: Path | None = None) -> str:
        """What is shown, with places and moments as they would be anywhere."""
        done = self.run("why", *words, cwd=cwd)
        assert (done.returncode, done.stderr) == (0, b"")
        text = done.stdout.decode().replace(str(self.world.home), "~")
        return re.sub(r"\d+ seconds? ago \(.{19} UTC\)", "NOW", text)

    def told(self, *words: str) -> str:
        """The same without blanks: where lines break depends on how long the names of the test's folders are."""
        done = self.run("why", *words)
        assert (done.returncode, done.stderr) == (0, b"")
        text = squeezed(done.stdout.decode()).replace(str(self.world.home), "~")
        return re.sub(r"\d+seconds?ago\(.{18}UTC\)", "NOW", text)

    def data(self, *words: str) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.run("why", "--json", *words).stdout)
        return found

    def record(self, *lines: dict[str, Any]) -> None:
        """Lines as they would have been written."""
        store = Store(str(self.world.state / "audit"))
        for line in lines:
            store.append(json.dumps(line))


@pytest.fixture
def seat(tmp_path: Path, in_process: Any) -> Seat:
    return Seat(tmp_path, in_process)


def squeezed(text: str) -> str:
    return "".join(text.split())


def test_right_after_a_refusal_it_says_what_refused_it_and_what_to_do(seat: Seat) -> None:
    seat.bash("cd sub && curl -O https://example.com/x")
    assert seat.why().startswith(
        "DENIED  #1, NOW\n\n"
        "  Bash  cd sub && curl -O https://example.com/x\n"
        "                  ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^\n\n"
        "  by          `no-curl` (user,"
    )
    assert seat.told() == squeezed(
        "DENIED #1, NOW Bash cd sub && curl -O https://example.com/x ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^"
        "by `no-curl` (user, ~/.config/gateway/policy.yaml:3) "
        "rule deny Bash(curl *) "
        "it runs `curl -O https://example.com/x` "
        "because downloads go through WebFetch "
        "asked by hook:claude, session 00000000-0000-4000-8000-000000000000 "
        "from ~/project, mode default, not confined "
        "what to do "
        "now policy still would deny it (policy has not changed since) "
        "change rule `no-curl` (~/.config/gateway/policy.yaml:3) would need an `except:` that holds for it "
        "instead use WebFetch "
        "more gateway audit show 1 "
        "gateway check --unconfined 'Bash(cd sub && curl -O https://example.com/x)'"
    )


def test_what_the_agent_was_told_to_ask_counts_until_it_has_run(seat: Seat) -> None:
    seat.bash("npm install left-pad")
    text = seat.told()
    assert text.startswith(squeezed("ASKED #1, NOW Bash npm install left-pad"))
    how = "how the agent was told to ask, and nothing is known of an end: it was not agreed to, or it still runs"
    assert squeezed(how) in text
    assert squeezed("change allowed with `allow: Bash(npm install left-pad)` in your own policy") in text
    after = {"hook_event_name": "PostToolUse", "tool_response": {"stdout": ""}}
    seat.bash("npm install left-pad", **after)
    assert seat.why() == "no refused call from ~/project is in the record in ~/.local/state/gateway/audit\n"


def test_what_an_agent_refuses_because_nobody_can_be_asked_says_so(seat: Seat) -> None:
    seat.bash("npm install left-pad", "codex")
    text = seat.told()
    assert text.startswith(squeezed("REFUSED #1, NOW"))
    assert (
        squeezed("how policy asks about it, and nobody could be asked by `mode:default`: no rule speaks of the effect")
        in text
    )


def test_the_narrowest_rule_that_would_let_it_run_is_shown(seat: Seat) -> None:
    seat.agent("Write", {"file_path": "a.txt", "content": "hunter2"})
    found = seat.data()
    assert found["always"] == 'allow: {effect: write, path: "./*.txt"}'
    assert (found["now"]["decision"], found["now"]["unknown"]) == ("ask", ["content"])
    text = seat.told()
    assert squeezed("now policy still would ask about it, whatever stands in content") in text
    policy = seat.world.policy
    policy.write_text(f"{policy.read_text()}  - {found['always']}\n")
    assert seat.data()["now"]["decision"] == "allow"


def test_a_rule_that_asks_has_no_rule_that_would_answer_it_for_good(seat: Seat) -> None:
    seat.agent("Write", {"file_path": "docs/a.md", "content": ""})
    found = seat.data()
    assert (found["rule"]["id"], found["always"]) == ("look-at-docs", None)
    assert "a person's agreement" in found["change"]


def test_where_policy_would_decide_otherwise_by_now_that_is_said(seat: Seat) -> None:
    seat.bash("curl https://example.com/")
    seat.world.policy.write_text('version: 1\nallow: ["Bash(curl *)"]\n')
    text = seat.told()
    assert (
        squeezed("by `no-curl` (user, ~/.config/gateway/policy.yaml:3), which is not in the policy that holds now")
        in text
    )
    assert squeezed("now policy would allow it now, by `allow-") in text
    assert squeezed("the agent can try again (policy has changed since)") in text
    assert seat.data()["change"] is None


def test_a_rule_that_moved_is_shown_where_it_stands_now(seat: Seat) -> None:
    seat.bash("curl https://example.com/")
    seat.world.policy.write_text("# one line more\n" + seat.world.policy.read_text())
    assert seat.data()["rule"]["now_at"] == f"{seat.world.policy}:4"


SECRET = "sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789"


@pytest.mark.parametrize(("word", "is_hidden"), [(SECRET, True), ("a-word", False)], ids=["a secret", "none"])
def test_what_the_record_left_out_is_not_guessed_and_never_printed(seat: Seat, word: str, is_hidden: bool) -> None:
    seat.bash(f"curl -H 'X-Trace: {word}' https://example.com/")
    found, text = seat.run("why", "--json").stdout, seat.told()
    if is_hidden:
        assert squeezed("now a secret was left out of the record, or a text was cut") in text
        assert json.loads(found)["now"]["decision"] is None
        assert word.encode() not in found
        assert word not in text
        assert json.loads(found)["rule"]["because"] == "downloads go through WebFetch"
    assert (json.loads(found)["now"]["problem"] is not None, "gatewaycheck" in text) == (is_hidden, not is_hidden)


def test_a_text_that_was_cut_is_not_judged_as_if_that_were_all(seat: Seat) -> None:
    seat.bash("curl https://example.com/" + " x" * 9_000)
    assert seat.data()["now"]["problem"].startswith("a secret was left out of the record, or a text was cut")


def test_only_this_project_counts_unless_all_is_asked_for(seat: Seat) -> None:
    other = seat.world.home / "other"
    (other / ".git").mkdir(parents=True)
    seat.bash("curl https://example.com/")
    assert seat.why("--all", cwd=other).startswith("DENIED  #1, NOW\n")
    assert seat.why(cwd=other) == (
        "no refused call from ~/other is in the record in ~/.local/state/gateway/audit\n"
        "the last one of another folder is #1, from ~/project:\n  gateway why --all\n"
    )
    assert seat.why(cwd=seat.world.project / "sub").startswith("DENIED  #1, NOW\n")
    assert "gateway check --unconfined --cwd ~/project 'Bash(curl" in seat.why("--all", cwd=other)


def test_a_record_can_be_named_and_one_that_was_not_refused_says_so(seat: Seat) -> None:
    seat.bash("curl https://example.com/")
    seat.bash("ls")
    assert seat.why("1") == seat.why("#1") == seat.why()
    assert seat.told("2").startswith(squeezed("NOT REFUSED #2, NOW Bash ls allowed by `mode:default`"))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["9"], b"gateway: id must be that of one call (got `9`)\n"),
        (["--all", "1"], b"gateway: either an id or --all must be given, not both\n"),
        (["--folder", "/nonexistent"], b"gateway: --folder must be a folder that exists (got `/nonexistent`)\n"),
    ],
)
def test_wrong_usage_is_told(seat: Seat, words: list[str], said: bytes) -> None:
    done = seat.run("why", *words)
    assert (done.returncode, done.stdout, done.stderr.startswith(said)) == (2, b"", True)


def test_without_a_record_nothing_is_shown_and_nothing_made(seat: Seat) -> None:
    assert seat.why() == "no refused call from ~/project is in the record in ~/.local/state/gateway/audit\n"
    assert not (seat.world.state / "audit").exists()
    assert seat.data() == {
        "refused": None, "record": None, "within": str(seat.world.project), "elsewhere": None, "whole": True,
        "problem": None,
    }  # fmt: skip


def test_a_policy_that_cannot_be_read_is_named_because_it_refuses_everything(seat: Seat) -> None:
    broken = "every call is refused"
    place = "~/.config/gateway/policy.yaml:2:1: policy must have known keys only (did you mean `rules`?)"
    seat.bash("curl https://example.com/")
    seat.world.policy.write_text("version: 1\nrulez: []\n")
    text = seat.told()
    assert squeezed(f"now the policy cannot be read now, so {broken}: {place}") in text
    (seat.world.state / "audit").rename(seat.world.state / "elsewhere")
    assert squeezed(f"but: {broken} now, as the policy cannot be read: {place}") in seat.told()


def decision(**more: Any) -> dict[str, Any]:
    return {
        "kind": "decision", "id": "a-1", "at": datetime.now(UTC).isoformat(), "front": "exec", "tool": "Bash",
        "decision": "allow", "reason": "rule", "rule": ["mine", "user", "/p.yaml", 3], "call": "0" * 32,
        "cwd": "/nonexistent/project", "mode": "default", "policy": "1" * 48, "input": {"command": "bash build.sh"},
        "effects": [], **more,
    }  # fmt: skip


def test_what_the_sandbox_stopped_is_told_with_what_to_do_instead(seat: Seat) -> None:
    seat.record(
        decision(cwd=str(seat.world.project)),
        {
            "kind": "outcome", "id": "a-1", "at": "2026-01-31T10:00:02Z", "ended": "exited", "status": 1,
            "violations": [["net", "example.org:443", "", "proxy", 3], ["write", "/usr/x", "mine", "output", 1]],
            "hints": ["ask for the host", "show the change instead"],
        },
    )  # fmt: skip
    text = seat.told()
    assert text.startswith(
        squeezed("STOPPED #1, NOW Bash bash build.sh how it ran, and the sandbox refused it something")
    )
    assert (
        squeezed(
            "blocked net example.org:443 (3 times): ask for the host "
            "blocked write /usr/x, rule `mine`, as what it printed suggests: show the change instead"
        )
        in text
    )
    assert [each["certain"] for each in seat.data()["blocked"]] == [True, False]


def test_a_hooks_refusal_is_not_taken_for_that_of_policy(seat: Seat) -> None:
    seat.bash("ls")
    audit = seat.world.state / "audit" / "000001.jsonl"
    line = json.loads(audit.read_bytes())
    line |= {"decision": "deny", "rule": ["hook:mine", "user", "/p.yaml", 3], "because": "it says so", "id": "x"}
    seat.record({name: value for name, value in line.items() if name not in ("n", "prev")})
    text = seat.told()
    assert squeezed("how a hook refused it by `hook:mine` (user, /p.yaml:3) because it says so") in text
    assert squeezed("now policy itself would allow it, which is not what refused it") in text


@pytest.mark.parametrize(
    ("agent", "tool", "given", "recorded", "decision"),
    [
        *((agent, tool, {"command": "curl https://example.com/"}, "Bash", "deny") for agent, tool in SHELLS.items()),
        ("claude", "Nope", {"cmd": "curl x"}, "claude:Nope", "deny"),
        ("claude", "mcp__there__get", {"path": "x"}, "mcp__there__get", "ask"),
        ("claude", "WebFetch", {"url": "https://example.org/", "prompt": "?"}, "WebFetch", "ask"),
    ],
)
def test_a_call_of_any_agent_is_judged_anew_as_that_agents(
    seat: Seat, agent: str, tool: str, given: dict[str, Any], recorded: str, decision: str
) -> None:
    said = before(agent, str(seat.world.project), tool, given)
    seat.world.run(agent, said)
    found = seat.data()
    was = found["record"]["decision"]
    assert (was["tool"], was["decision"]) == (recorded, decision)
    now = found["now"]
    assert (now["decision"], now["rule"], now["problem"], now["policy_changed"]) == (
        decision, was["rule"][0], None, False,
    )  # fmt: skip


def test_no_call_that_is_none_is_judged(seat: Seat) -> None:
    assert seat.run("run", "--tool", "Read", "--input", '{"file_path": 5}').returncode == 126
    found = seat.data()
    assert (found["refused"], found["now"]["decision"], found["rule"]["because"]) == (
        "invalid", None, "$.file_path: must be a string (got `5`)",
    )  # fmt: skip
    assert found["commands"] == ["gateway audit show 1", "gateway tools show Read"]


def test_the_line_that_is_shown_judges_the_same_call(seat: Seat) -> None:
    for command in ("curl 'a b' $X", 'echo "it\'s\n\tx" | curl -d @- https://example.com/', "curl \x1b[31m é"):
        seat.bash(command)
        line = seat.data()["commands"][1]
        assert line.isprintable()
        done = subprocess.run(
            ["bash", "-c", 'printf "%s\\0" ' + line], capture_output=True, check=True, env=seat.world.environment()
        )
        words = done.stdout.decode().split("\0")[1:-1]
        assert words[-1] == f"Bash({command})"
        assert seat.run(*words).returncode == 4


def test_every_text_is_pasted_as_itself() -> None:
    texts = [
        "",
        "a b",
        "it's",
        "\\",
        "\n\t\\n'",
        "$HOME `x` $(x)",
        "\x1b[31m\x7f",
        "é\u202e漢\U0001f600",
        "!x",
        "-n",
        "\u00851",
    ]
    line = "printf '%s\\0' " + " ".join(map(shell_word, texts))
    assert line.isprintable()
    done = subprocess.run(["bash", "-c", line], capture_output=True, check=True, env={"LC_ALL": "C.UTF-8"})
    assert done.stdout.decode().split("\0")[:-1] == texts
    assert shlex.split(shell_word("a 'b'")) == ["a 'b'"]
    line = f"printf %s {shell_word(os.fsdecode(bytes(range(0x80, 0x100)) + b'7'))}"
    done = subprocess.run(["bash", "-c", line], capture_output=True, check=True, env={"LC_ALL": "C.UTF-8"})
    assert done.stdout == bytes(range(0x80, 0x100)) + b"7"


@pytest.mark.parametrize("tool", ["x; touch /tmp/y", "it's", "$(id)", "a\x1bb", "-n"])
def test_the_line_on_an_unknown_tool_is_pasted_as_itself(tool: str) -> None:
    found = Refusal("invalid", decision(tool=tool, decision="deny", rule=["invalid-call", "builtin", "", 0]), None)
    line = as_data(found, Again(problem="no call"))["commands"][-1]
    echo = line.replace("gateway tools show", "printf %s", 1)
    assert line.isprintable()
    done = subprocess.run(["bash", "-c", echo.replace("%s", "'%s\\0'")], capture_output=True, check=True)
    assert done.stdout.decode() == f"{tool}\0"


def test_where_daily_holds_for_want_of_a_policy_the_first_rule_is_said_to_need_it(
    tmp_path: Path, in_process: Any
) -> None:
    seat = Seat(tmp_path, in_process)
    seat.agent("Write", {"file_path": "a.txt", "content": "x"})
    assert "extends" not in seat.data()["text"]["always"]
    seat.world.policy.unlink()
    assert "which then has to begin with `extends: [daily]`" in seat.data()["text"]["always"]


@pytest.mark.parametrize("colour", [False, True])
def test_nothing_that_was_recorded_plays_tricks_on_the_terminal(colour: bool) -> None:
    nasty = "x\x1b[2J\r\u202e\x07"
    made = decision(
        tool=nasty, front=nasty, session=nasty, agent=nasty, cwd=f"/{nasty}", mode=nasty, reason=nasty, n=1,
        rule=[nasty, nasty, nasty, 3], input={"command": nasty}, because=nasty, at=nasty, decision="deny",
    )  # fmt: skip
    outcome = {"ended": "exited", "violations": [[nasty, nasty, nasty, nasty, 1]], "hints": [nasty], "reason": nasty}
    found = Refusal("stopped", made, outcome)
    again = Again(problem=nasty)
    text = as_text(found, as_data(found, again), again, datetime.now(UTC), Style(80, colour))
    plain = re.sub(r"\x1b\[[0-9;]+m", "", text)
    assert (all(line.isprintable() for line in plain.splitlines()), plain != text) == (True, colour)


@pytest.mark.parametrize("value", [None, 5, "x", [], {}])
def test_a_line_that_holds_anything_at_all_can_be_shown(value: object) -> None:
    made = {**dict.fromkeys(decision(), value), "n": 1}
    for kind in ("", "denied", "unanswered", "stopped", "invalid", "hook"):
        found = Refusal(kind, made, {"violations": value, "hints": value, "reason": value})
        again = Again(problem="it cannot be judged")
        assert as_text(found, as_data(found, again), again, datetime.now(UTC), Style())
