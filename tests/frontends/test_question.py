"""What a person is shown before they answer, whole."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.approval.always_rule import later, offered
from gateway.approval.base import Question
from gateway.frontends.question import question_text
from gateway.model.call import RawCall
from gateway.model.limits import Limits
from gateway.model.plan import Endpoint, Mount, Network, SandboxPlan
from gateway.policy.wording import visible
from gateway.render.style import Style

PLAN = SandboxPlan(
    (Mount("/home/dev/project", "read"), Mount("/home/dev/project/build", "write"), Mount("/usr", "read")),
    (),
    ("/tmp",),
    "/home/dev/project",
    (("HOME", "/home/dev"), ("TOKEN", "secret")),
    Network("listed", (Endpoint("x.org", 443, "mode:default"),)),
    Limits(),
    withheld=(("read /srv/\u202ex", "rule `r` hides it"),),
)
FILE = "/home/dev/.local/state/gateway/projects/0/policy.d/approved.yaml"
LINK = {"user": [{"id": "look", "ask": {"effect": "write", "path": "src/**"}, "because": "it is generated"}]}
SHOWN: dict[str, tuple[Any, Any]] = {
    "always": ("rm -rf build", None),
    "code": ("python3 src/a.py --fast", {"user": {"settings": {"sandbox": {"write": ["./build/**"]}}}}),
    "rule": ("touch src/gen/to-a", LINK),
    "confusable": ("mkdir \u0441url; touch na\u00efve", None),
    "lines": ("mkdir one &&\n  mkdir two   # both\nrm three", None),
    "many": ("mkdir " + " ".join(f"a/very/long/path/to/a/folder/number/{n}" for n in range(15)), None),
    "edit": (
        RawCall(
            "Edit",
            {"file_path": "src/a.py", "old_string": "one\ntwo\nthree", "new_string": "one\n2\u202e\nthree\nfour"},
        ),
        None,
    ),
    "edits": (
        RawCall(
            "Edit",
            {
                "file_path": "src/a.py",
                "edits": [
                    {"old_string": "a", "new_string": "b", "replace_all": True},
                    {"old_string": "c\nd", "new_string": "d"},
                ],
            },
        ),
        None,
    ),
    "server": (RawCall("mcp__notes__add", {"title": "x", "tags": [1, "1"]}), None),
    "fields": (RawCall("Write", {"file_path": "notes/p\u0430ss.txt", "content": "one\ntwo\u202e"}), None),
}


@pytest.mark.parametrize("name", SHOWN)
def test_the_text_of_a_question(guard, golden, name: str) -> None:
    call, layers = SHOWN[name]
    gateway = guard(layers)
    verdict = gateway.check(call if isinstance(call, RawCall) else RawCall("Bash", {"command": call}))
    rule = offered(gateway, verdict)
    may = ("once", "session", "always") if rule else ("once", "session")
    text = question_text(Question(verdict, PLAN, may, rule, FILE, later(gateway, verdict)), Style(100))
    golden(f"question-{name}.txt", text)


TRICKS = {
    **SHOWN,
    "the order of writing": ("mkdir a\u202eb; rm '\u2066c'", None),
    "nothing to see": ("rm '\u200bc' '\u3164' '\ufe0f' '\U000e0041'", None),
    "the cursor": ("echo 'a\x1b[2K\r\x9b2Jb\x08' > x", None),
    "lines": ("echo a\u2028b\x85c > x", None),
}


@pytest.mark.parametrize("name", TRICKS)
def test_nothing_in_it_is_invisible_or_moves_the_cursor(guard, name: str) -> None:
    call, layers = TRICKS[name]
    verdict = guard(layers).check(call if isinstance(call, RawCall) else RawCall("Bash", {"command": call}))
    text = question_text(Question(verdict, PLAN), Style(100))
    assert [character for character in text if visible(character) != character and character != "\n"] == []
    assert "secret" not in text


def test_every_effect_that_is_asked_about_stands_there_in_full(guard) -> None:
    paths = [f"{'deep/' * 30}{number}" for number in range(40)]
    verdict = guard().check(RawCall("Bash", {"command": "touch " + " ".join(paths)}))
    text = question_text(Question(verdict, None), Style(60)).replace("\n  ", "").replace("\n", "")
    assert [path for path in paths if f":/home/dev/project/{path}[mode" not in text.replace(" ", "")] == []


def test_a_call_that_runs_without_the_sandbox_says_so(guard) -> None:
    verdict = guard(confined=False).check(RawCall("Bash", {"command": "make a"}))
    assert question_text(Question(verdict, None), Style(100)).endswith("runs\n  without the sandbox\n")


def test_a_tool_that_runs_no_command_says_nothing_of_the_sandbox(guard) -> None:
    verdict = guard().check(RawCall("Write", {"file_path": "x", "content": "1"}))
    assert "without the sandbox" not in question_text(Question(verdict, None), Style(100))


def test_what_code_has_changed_and_the_call_hands_on_is_named(guard) -> None:
    verdict = guard().check(RawCall("Bash", {"command": "git commit"}))
    text = question_text(
        Question(verdict, PLAN, by_code=("Makefile (builds and tests run it; changes 1: ./x)",)), Style()
    )
    title = "changed by code, and run later"
    assert f"{title}\n  Makefile (builds and tests run it; changes 1: ./x)\n" in text
    assert title not in question_text(Question(verdict, PLAN), Style())


def test_a_daemon_that_the_call_is_shown_is_named_by_its_socket(guard) -> None:
    daemon = Endpoint("docker.invalid", 0, "", "read", socket="/run/docker.sock", told="DOCKER_HOST")
    plan = PLAN.replace(network=Network("listed", (daemon,)))
    text = question_text(Question(guard().check(RawCall("Bash", {"command": "docker inspect web"})), plan), Style())
    assert "/run/docker.sock (its daemon, by DOCKER_HOST) (only to read)" in text


def test_what_is_fetched_before_the_call_runs_is_said(guard) -> None:
    fetching = Network("listed", (Endpoint("pypi.org", 0, "sandbox", "read"),))
    verdict = guard(None).check(RawCall("Bash", {"command": "python3 src/a.py"}))
    said = [question_text(Question(verdict, PLAN.replace(fetching=each)), Style()) for each in (fetching, Network())]
    assert ["pypi.org (only to read)" in each for each in said] == [True, False]
    assert "inside the sandbox" in said[1]
