"""Hooks around calls: they refuse, change (judged anew) and annotate; what guards and fails refuses, what watches and
fails is reported, and nobody's program runs whom nobody trusts."""

from __future__ import annotations

import json
import sys
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from types import ModuleType
from typing import Any

import pytest

from gateway.calls.output import Output, Text
from gateway.model.call import RawCall
from gateway.sandbox.backends.spaces import Spaces

READ = RawCall("Read", {"file_path": "a.txt"})


@pytest.fixture(autouse=True)
def seen(ground) -> list[dict[str, Any]]:
    """The inputs that the tool Read ran with."""
    found: list[dict[str, Any]] = []

    def does(call: Any, _work: Any) -> Output:
        found.append(dict(call.input))
        failed = call.input["file_path"].endswith("broken")
        return Output((Text("read"),), is_error=failed)

    ground.stands_for("files.read", does)
    return found


@pytest.fixture
def house(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """A module of Python hooks."""
    made = ModuleType("house_rules")
    monkeypatch.setitem(sys.modules, "house_rules", made)
    return made


def python(name: str = "look", **more: Any) -> dict[str, Any]:
    return {"id": name.replace("_", "-"), "event": "before_call", "python": f"house_rules:{name}", **more}


def command(text: str, name: str = "program", **more: Any) -> dict[str, Any]:
    return {"id": name, "event": "before_call", "command": [sys.executable, "-c", text], **more}


def test_a_hook_is_told_of_the_canonical_call(ground, seen: list[Any], house: Any) -> None:
    told: list[Any] = []
    house.look = told.append
    ground.says({"hooks": [python()]})
    gateway = ground.open()
    with gateway.session(name="s") as session:
        assert gateway.call(READ, session=session).ran
    path = str(ground.project / "a.txt")
    assert told == [
        {
            "event": "before_call", "tool": "Read", "input": {"file_path": path}, "shown": path, "server": "",
            "cwd": str(ground.project), "root": str(ground.project), "mode": "default", "agent": "", "session": "s",
        }
    ]  # fmt: skip
    assert len(seen) == 1


def test_a_hook_refuses_with_its_reason(ground, seen: list[Any], house: Any) -> None:
    house.look = lambda told: {"refuse": "not\ttoday"} if "secret" in told["shown"] else None
    ground.says({"hooks": [python()]})
    gateway = ground.open()
    done = gateway.call(RawCall("Read", {"file_path": "secret.txt"}))
    assert (done.ran, done.text) == (False, "Read was refused by hook `look`: not\\tday".replace("tday", "ttoday"))
    assert seen == []
    assert gateway.call(READ).ran


def test_what_a_hook_changes_is_judged_anew(ground, seen: list[Any], house: Any) -> None:
    house.look = lambda told: {"input": {"file_path": told["input"]["file_path"].replace("a.txt", target[0])}}
    ground.says({"hooks": [python()]})
    gateway, target = ground.open(), ["b.txt"]
    done = gateway.call(READ)
    assert (done.ran, seen) == (True, [{"file_path": str(ground.project / "b.txt")}])
    assert done.verdict.call.input == seen[0]
    assert done.reports == ("hook `look` changed the call",)
    target[0] = ".env"
    refused = gateway.call(READ)
    assert (refused.ran, refused.verdict.reason.rule.id, len(seen)) == (False, "secret-files", 1)


def test_a_hook_that_changes_a_call_to_none_refuses_it(ground, seen: list[Any], house: Any) -> None:
    house.look = lambda _told: {"input": {"path": "x"}}
    ground.says({"hooks": [python()]})
    done = ground.open().call(READ)
    assert (done.ran, seen) == (False, [])
    assert "hook `look` changed it to a call that is none" in done.text


def test_no_hook_is_passed_by_with_what_it_has_never_seen(ground, seen: list[Any], house: Any) -> None:
    house.first = lambda told: {"refuse": "not b"} if told["shown"].endswith("b.txt") else None
    house.second = lambda told: {"input": {"file_path": told["shown"].replace("a.txt", "b.txt")}}
    ground.says({"hooks": [python("first"), python("second")]})
    done = ground.open().call(READ)
    assert (done.ran, done.text, seen) == (False, "Read was refused by hook `first`: not b", [])
    ground.says({"hooks": [python("second")]})
    assert ground.open().call(READ).ran


def test_hooks_that_never_agree_refuse(ground, house: Any) -> None:
    house.look = lambda told: {"input": {"file_path": told["shown"] + "x"}}
    ground.says({"hooks": [python()]})
    done = ground.open().call(READ)
    assert (done.ran, done.text) == (False, "Read was refused: its hooks change it each time they see it.")


def raising(_told: Any) -> None:
    raise ValueError("a mistake")


def slow(_told: Any) -> None:
    threading.Event().wait(20)


TROUBLES = {
    "raises": (raising, "failed (ValueError: a mistake)"),
    "answers nonsense": (lambda _told: ["allow"], "answered with what is no object"),
    "misspells": (lambda _told: {"refused": "x"}, "answered with the key `refused`"),
    "is slow": (slow, "did not answer within 1 s"),
    "is not there": (None, "failed (AttributeError"),
}


@pytest.mark.parametrize(("does", "why"), TROUBLES.values(), ids=TROUBLES)
@pytest.mark.parametrize("guards", [True, False])
def test_one_that_guards_refuses_in_trouble_and_one_that_watches_is_reported(
    ground, seen: list[Any], house: Any, does: Any, why: str, guards: bool
) -> None:
    if does is not None:
        house.look = does
    ground.says({"hooks": [python(guards=guards, seconds=1)]})
    done = ground.open().call(READ)
    assert (done.ran, len(seen)) == (not guards, int(not guards))
    said = done.text if guards else "\n".join(done.reports)
    assert "hook `look` " in said
    assert why in said


def test_one_that_watches_changes_nothing(ground, house: Any) -> None:
    house.look = lambda _told: {"refuse": "no", "note": "I saw it"}
    ground.says({"hooks": [python(guards=False)]})
    done = ground.open().call(READ)
    assert (done.ran, done.output.notes) == (True, ("I saw it",))
    assert done.reports == ("hook `look` only watches: what it says of the call is not done",)


def test_after_hooks_are_told_of_success_and_of_failure(ground, house: Any) -> None:
    told: list[Any] = []
    house.worked = lambda each: told.append(("worked", each["result"])) or {"note": "well done"}
    house.failed = lambda each: told.append(("failed", each["result"]))
    ground.says({"hooks": [python("worked", event="after_call"), python("failed", event="after_failure")]})
    gateway = ground.open()
    assert gateway.call(READ).output.notes == ("well done",)
    gateway.call(RawCall("Read", {"file_path": "broken"}))
    result = {"text": "read", "is_error": False, "changed": [], "status": 0, "ended": "exited"}
    assert told == [("worked", result), ("failed", {**result, "is_error": True, "status": 1})]
    gateway.call(RawCall("Read", {"file_path": ".env"}))
    assert len(told) == 2  # what was refused has not failed


def test_an_after_hook_in_trouble_is_reported_and_takes_nothing(ground, house: Any) -> None:
    house.look = raising
    ground.says({"hooks": [python(event="after_call")]})
    done = ground.open().call(READ)
    assert (done.text, done.output.is_error) == ("read", False)
    assert done.reports == ("hook `look` failed (ValueError: a mistake)",)


def test_hooks_are_told_only_of_the_tools_they_name(ground, house: Any) -> None:
    told: list[str] = []
    house.look = lambda each: told.append(each["tool"])
    ground.says({"hooks": [python(tools=["R*", "mcp__*"])]})
    gateway = ground.open()
    gateway.call(READ)
    gateway.call(RawCall("Glob", {"pattern": "*"}))
    assert told == ["Read"]


PROGRAMS = {
    "refuses": ('print(\'{"refuse": "no"}\')', "refused by hook `program`: no"),
    "fails": ("raise SystemExit(3)", "hook `program` ended with status 3"),
    "answers nonsense": ("print('fine')", "answered with what is no JSON"),
    "is slow": ("import time; time.sleep(60)", "did not answer within 1 s"),
    "answers without end": ("while True: print('x' * 100_000)", "answered more than may be read"),
    "is not there": ("", "cannot be started"),
}


@pytest.mark.parametrize(("text", "why"), PROGRAMS.values(), ids=PROGRAMS)
def test_a_program_that_guards(ground, seen: list[Any], text: str, why: str) -> None:
    hook = command(text, seconds=1 if "sleep" in text else 20)
    if not text:
        hook["command"] = ["/no/such/program"]
    ground.says({"hooks": [hook]})
    done = ground.open().call(READ)
    assert (done.ran, seen) == (False, [])
    assert why in done.text


def test_a_program_gets_json_and_answers_with_it(ground) -> None:
    text = (
        "import json, sys; told = json.load(sys.stdin); print(json.dumps({'note': told['tool'] + ' ' + told['event']}))"
    )
    ground.says({"hooks": [command(text)]})
    done = ground.open().call(READ)
    assert (done.ran, done.output.notes) == (True, ("Read before_call",))


def test_a_program_that_does_not_read_what_it_is_told_is_heard_all_the_same(ground) -> None:
    ground.stands_for("search.grep", lambda _call, _work: Output())
    ground.says({"hooks": [command("import os; os.close(0); print('{}')")]})
    assert ground.open().call(RawCall("Grep", {"pattern": "x" * 900_000})).ran


def test_a_relative_program_starts_at_the_folder_of_its_policy(ground) -> None:
    ground.says({"hooks": [{"id": "own", "event": "before_call", "command": ["./look.sh"]}]})
    script = ground.config / "look.sh"
    script.write_text('#!/bin/sh\necho \'{"refuse": "by the script"}\'\n', encoding="utf-8")
    script.chmod(0o755)
    assert ground.open().call(READ).text == "Read was refused by hook `own`: by the script"


@pytest.mark.parametrize("layer", ["project"])
def test_python_is_named_only_by_the_user_and_above(ground, layer: str) -> None:
    path = ground.says({"hooks": [python()]}, layer=layer)
    with pytest.raises(Exception, match="must not be `python` in the project layer") as caught:
        ground.open(trust=(digest_of(ground),))
    assert str(path) in str(caught.value)


def digest_of(ground: Any) -> str:
    """What the project's policy is known by."""
    from gateway.config.binding import bind
    from gateway.config.layers import find_files
    from gateway.config.load import tool_names
    from gateway.config.shipped import load_tools
    from gateway.config.tool_files import find_tools
    from gateway.core.places import places
    from gateway.spec.policy import parse_policy

    root, here = str(ground.project), places()
    names = tool_names(load_tools(here))
    files = [file for file in find_files(here, root) if file.layer == "project"]
    brought = [file for file in find_tools(here, root) if file.layer == "project"]
    parse = lambda content, path: {**parse_policy(content, path, names), "hooks": []}  # noqa: E731
    found = bind(files, parse, root=root, trusted=lambda _digest: False, descriptions=brought)
    return found.project_digest


@pytest.mark.parametrize("trusted", [True, False])
def test_the_hooks_of_a_project_run_confined_and_only_when_it_is_trusted(
    ground, seen: list[Any], trusted: bool
) -> None:
    if not (probe := Spaces().probe()).works:
        pytest.skip(f"namespaces do not hold here: {probe.reason}")
    ground.says({"hooks": [{"id": "theirs", "event": "before_call", "command": ["./look.sh"]}]}, layer="project")
    script = ground.of_project / "look.sh"
    text = 'echo x > ran; echo y > "$HOME/ran"; echo \'{"refuse": "by the project"}\''
    script.write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
    script.chmod(0o755)
    gateway = ground.open(trust=(digest_of(ground),) if trusted else ())
    done = gateway.call(READ)
    assert (done.ran, bool(seen)) == (not trusted, not trusted)
    if trusted:
        assert done.text == "Read was refused by hook `theirs`: by the project"
    assert not (ground.project / "ran").exists()  # it reads and does not write
    assert not (ground.home / "ran").exists()
    waiting = [each for each in gateway.loaded.skipped if "hooks wait" in each]
    assert bool(waiting) is not trusted


class Server:
    """An address that answers as a test says, and keeps what it was sent."""

    def __init__(self, status: int = 200, body: bytes = b"{}") -> None:
        self.got: list[tuple[dict[str, str], Any]] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                data = self.rfile.read(int(self.headers["Content-Length"]))
                outer.got.append((dict(self.headers), json.loads(data)))
                self.send_response(status)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_any: object) -> None:
                """Quiet."""

        self.server = HTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/hook"
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True)
        self.thread.start()

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()


@pytest.mark.parametrize(
    ("status", "body", "ran", "text"),
    [
        (200, b"{}", True, "read"),
        (204, b"", True, "read"),
        (200, b'{"refuse": "no"}', False, "Read was refused by hook `web`: no"),
        (500, b"{}", False, "Read was refused: hook `web` answered with status 500."),
        (200, b"<html>", False, "Read was refused: hook `web` answered with what is no JSON"),
    ],
    ids=["nothing to say", "no content", "refuses", "breaks", "nonsense"],
)
def test_an_address_is_asked_and_its_secret_is_sent_and_never_shown(
    ground, status: int, body: bytes, ran: bool, text: str
) -> None:
    server = Server(status, body)
    http = {"url": server.url, "headers": {"Authorization": "Bearer {env:HOOK_TOKEN}"}}
    ground.says({"hooks": [{"id": "web", "event": "before_call", "http": http}]})
    done = ground.open(environment={"PATH": "/usr/bin", "HOOK_TOKEN": "s3cr3t-value"}).call(READ)
    server.close()
    assert (done.ran, done.text[: len(text)]) == (ran, text)
    ((headers, told),) = server.got
    assert (headers["Authorization"], told["tool"]) == ("Bearer s3cr3t-value", "Read")
    assert "s3cr3t-value" not in repr(done) + json.dumps(ground.records())


def test_an_address_whose_secret_is_not_there_is_not_asked(ground) -> None:
    server = Server()
    http = {"url": server.url, "headers": {"A": "{env:HOOK_TOKEN}"}}
    ground.says({"hooks": [{"id": "web", "event": "before_call", "http": http}]})
    done = ground.open(environment={"PATH": "/usr/bin"}).call(READ)
    server.close()
    assert (done.ran, server.got) == (False, [])
    assert "the variable HOOK_TOKEN is not set" in done.text
