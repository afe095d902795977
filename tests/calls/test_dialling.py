"""Connections that nobody predicted: held while a person is asked, and nothing of them leaves before the answer."""

from __future__ import annotations

import json
import os
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest
from networks import egress_of
from patience import patience
from sandbox.egress.conftest import Outside
from warmed import warm

from gateway.agent.reviewer import Auto
from gateway.api.gateway import Gateway
from gateway.approval.base import Answer
from gateway.approval.callback import Callback
from gateway.audit.index import Found
from gateway.calls.containing import cannot_contain
from gateway.calls.dialling import Asked
from gateway.config.load import Options
from gateway.core.cancel import Cancel
from gateway.core.places import Places
from gateway.frontends.audit_text import call_text
from gateway.model.call import RawCall
from gateway.render.style import Style
from gateway.sandbox.egress import asked_connections
from gateway.sandbox.egress.held_connection import Answered
from gateway.sandbox.run import Runner
from gateway.sandbox.survey import Surveyor

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path
    from typing import Any

    from gateway.approval.base import Dialled
    from gateway.calls.output import Done

held = pytest.mark.skipif(bool(cannot_contain()), reason="namespaces do not hold here")

POLICY = """
version: 1
extends: [{preset: daily, without: [ask-send]}]
settings: {mode: accept_edits}
rules:
  - {id: never-there, deny: {effect: connect, host: never.acme.com}}
  - {id: always-there, allow: {effect: connect, host: always.acme.com}}
"""
# Each word is a URL to get, or a name to look up.
CLIENT = """
import socket, sys, urllib.request, urllib.error
for each in sys.argv[1:]:
    try:
        if "://" not in each:
            print(each, "is", socket.gethostbyname(each)[:4])
            continue
        print(each, urllib.request.urlopen(each).read().decode())
    except urllib.error.HTTPError as error:
        print(each, error.code, *[line for line in error.read().decode().splitlines() if line.startswith("reason")])
    except OSError as error:
        print(each, type(getattr(error, "reason", error)).__name__)
"""


class Answers(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", "5")
        self.end_headers()
        self.wfile.write(b"hello")

    def log_message(self, *_said: object) -> None:
        pass


class World:
    """A project, hosts outside of it, and a person who is asked while calls run."""

    def __init__(self, top: Path, port: int) -> None:
        self.top, self.outside = top, Outside()
        self.happened: list[str] = []  # in order: who was asked what, and what was resolved
        self.questions: list[Dialled] = []
        self.answer: Callable[[Dialled], Any] = lambda _question: True
        self.place = ("127.0.0.1", port)
        for name in ("workspace", "home", "policies"):
            (top / name).mkdir()
        (top / "policies/user.yaml").write_text(POLICY)
        (top / "workspace/x.py").write_text(CLIENT)

    def resolve(self, name: str) -> list[str]:
        self.happened.append(f"resolved {name}")
        return list(self.outside.names.get(name, ["93.184.216.34"]))

    def route(self, address: str, port: int) -> tuple[str, int]:
        self.happened.append(f"dialled {address}:{port}")
        return self.place

    def asked(self, question: Dialled) -> Any:
        self.happened.append(f"asked {question.where}")
        self.questions.append(question)
        return self.answer(question)

    @contextmanager
    def opened(self, *, mode: str = "", approver: Any = None) -> Iterator[Gateway]:
        top = self.top
        where = Places(
            str(top / "etc"), str(top / "config"), state=str(top / "state"), cache=warm(top / "cache"),
            home=str(top / "home"),
        )  # fmt: skip
        work = str(top / "workspace")
        options = Options(work, str(top / "policies"), root=work, binding=True)
        approver = approver or Callback(lambda _question: True, dialled=self.asked)
        runner = Runner(str(top / "state/quarantine"), egress=egress_of(self.resolve, self.route))
        with Gateway(options.replace(mode=mode), where=where, approver=approver, runner=runner) as gateway:
            yield gateway


@pytest.fixture(scope="module")
def served() -> Iterator[int]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Answers)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    yield server.server_address[1]
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def world(tmp_path: Path, served: int) -> World:
    return World(tmp_path, served)


def run(gateway: Gateway, *words: str, session: Any = None, cancel: Cancel | None = None, **more: object) -> Done:
    call = RawCall("Bash", {"command": f"python3 -S x.py {' '.join(words)}", **more})
    return gateway.calls.call(call, session, cancel)


def said(done: Done) -> list[str]:
    return done.result.stdout.decode().splitlines()


def refused(reason: str, url: str) -> str:
    return f"{url} 403 reason: {reason}"


@held
def test_a_yes_lets_one_call_reach_one_host_and_nothing_is_resolved_before(world: World) -> None:
    with world.opened() as gateway:
        done = run(gateway, "http://up.acme.com/", "http://up.acme.com/again")
        assert (done.verdict.contained, said(done)) == (
            True,
            ["http://up.acme.com/ hello", "http://up.acme.com/again hello"],
        )
        assert world.happened[:3] == ["asked up.acme.com:80", "resolved up.acme.com", "dialled 93.184.216.34:80"]
        question = world.questions[0]
        assert (question.host, question.port, "python3 -S x.py http://up" in question.program) == (
            "up.acme.com",
            80,
            True,
        )
        assert str(world.top / "workspace") in question.reads
        (where, program, answer, by) = done.result.dialled[0]
        assert (where, program, answer, by) == ("up.acme.com:80", question.program, "allowed", "callback")
        world.answer = lambda _question: Answer(False, "once", "ann", note="not today")
        assert said(run(gateway, "http://up.acme.com/")) == [
            refused("ann refused it when it was dialled: not today", "http://up.acme.com/")
        ]
        assert world.happened[-1] == "asked up.acme.com:80"  # the yes was for the other call


@held
def test_no_name_leaves_without_a_yes_whatever_is_looked_up(world: World) -> None:
    world.answer = lambda _question: False
    names = [f"c2VjcmV0{number}.acme.com" for number in range(40)]
    with world.opened() as gateway:
        done = run(gateway, *names, "a.internal", "b", "http://c2VjcmV01.acme.com/", "https://c2VjcmV01.acme.com/")
    assert world.happened == ["asked c2vjcmv01.acme.com:80", "asked c2vjcmv01.acme.com:443"]
    assert [line.rpartition(" ")[2] for line in said(done)[:42]] == ["127."] * 24 + ["gaierror"] * 18


@held
def test_few_questions_a_call_one_for_each_host_and_port(world: World) -> None:
    world.answer = lambda question: question.host == "one.acme.com"
    urls = [
        "one.acme.com/",
        "one.acme.com:8080/",
        "one.acme.com/2",
        "two.acme.com/",
        "two.acme.com/2",
        "four.acme.com/",
    ]
    with world.opened() as gateway:
        lines = said(run(gateway, *[f"http://{each}" for each in urls]))
    assert [each for each in world.happened if each.startswith("asked")] == [
        "asked one.acme.com:80", "asked one.acme.com:8080", "asked two.acme.com:80",
    ]  # fmt: skip
    no = "callback refused it when it was dialled"
    assert lines == [
        "http://one.acme.com/ hello", "http://one.acme.com:8080/ hello", "http://one.acme.com/2 hello",
        refused(no, "http://two.acme.com/"), refused(no, "http://two.acme.com/2"),
        refused(asked_connections._MOST_SAID, "http://four.acme.com/"),
    ]  # fmt: skip
    assert not [each for each in world.happened if "two" in each and each.startswith("resolved")]


@held
def test_what_policy_says_by_itself_is_asked_of_nobody(world: World) -> None:
    with world.opened() as gateway:
        lines = said(run(gateway, "http://never.acme.com/", "http://always.acme.com/", "http://10.1.2.3/"))
    assert lines == ["http://never.acme.com/ gaierror", "http://always.acme.com/ hello", "http://10.1.2.3/ OSError"]
    assert world.happened == ["resolved always.acme.com", "dialled 93.184.216.34:80"]


@pytest.mark.parametrize(
    ("address", "kind"), [("169.254.169.254", "metadata"), ("10.0.0.8", "private"), ("127.0.0.1", "loopback")]
)
@held
def test_a_yes_opens_no_address_that_is_not_public(world: World, address: str, kind: str) -> None:
    world.outside.names["up.acme.com"] = [address]
    with world.opened() as gateway:
        lines = said(run(gateway, "http://up.acme.com/"))
    assert lines[0].startswith("http://up.acme.com/ 403 ")
    assert kind in lines[0]
    assert world.happened == ["asked up.acme.com:80", "resolved up.acme.com"]


@held
def test_a_no_for_the_session_is_remembered_and_a_yes_never_is(world: World) -> None:
    answers = iter(
        [Answer(False, "session", "ann"), Answer(True, "session", "ann"), Answer(True, "always", "ann", "x")]
    )
    world.answer = lambda _question: next(answers)
    with world.opened() as gateway, gateway.session() as session:
        run(gateway, "http://up.acme.com/", session=session)
        done = run(gateway, "http://up.acme.com/", session=session)
        assert said(done) == [refused("it was refused before, for this session", "http://up.acme.com/")]
        lines = said(run(gateway, "http://b.acme.com/", "http://c.acme.com/", session=session))
    assert [each.split(" ")[1] for each in lines] == ["403", "403"]
    assert world.happened == ["asked up.acme.com:80", "asked b.acme.com:80", "asked c.acme.com:80"]


@held
def test_nobody_is_asked_in_the_background_nor_by_the_reviewer_nor_where_modes_ask_nobody(world: World) -> None:
    with world.opened() as gateway, gateway.session() as session:
        run(gateway, "http://up.acme.com/", "> told", session=session, run_in_background=True)
        session.close()
    for mode in ("plan", "dont_ask"):
        with world.opened(mode=mode) as gateway:
            run(gateway, "http://up.acme.com/")
    reviewer = Auto(None, lambda _name: ())  # type: ignore[arg-type]
    with world.opened(approver=(reviewer, Callback(lambda _question: True))) as gateway:
        done = run(gateway, "http://up.acme.com/")
        assert (done.verdict.contained, said(done)) == (True, ["http://up.acme.com/ gaierror"])
    assert world.happened == []


@held
def test_silence_is_no_and_takes_none_of_the_calls_time(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    limit = patience(4)
    monkeypatch.setattr(asked_connections, "SECONDS", limit + 0.5)  # longer than the call may run
    withdrawn = threading.Event()

    def silent(question: Dialled) -> None:
        while not question.cancelled():
            withdrawn.wait(0.05)
        withdrawn.set()

    world.answer = silent
    with world.opened() as gateway:
        done = run(gateway, "http://up.acme.com/", timeout=int(limit * 1000))
    assert (done.result.ended, [line[:50] for line in said(done)]) == (
        "exited", [refused("nobody has answered within", "http://up.acme.com/")[:50]],
    )  # fmt: skip
    assert withdrawn.wait(patience(5))
    assert (done.result.dialled[0][2:], world.happened) == (("refused", "nobody"), ["asked up.acme.com:80"])


@pytest.mark.parametrize("answer", ["raises", "yes", 1, Answer(True, "once", "ann", uses=3)])
@held
def test_what_is_no_clear_yes_is_a_no(world: World, answer: Any) -> None:
    def said_by(_question: Dialled) -> Any:
        if answer == "raises":
            raise KeyError("killed")
        return answer

    world.answer = said_by
    with world.opened() as gateway:
        assert " 403 " in said(run(gateway, "http://up.acme.com/"))[0]
    assert world.happened == ["asked up.acme.com:80"]


@held
def test_a_call_that_is_cancelled_withdraws_its_question(world: World) -> None:
    cancel = Cancel()
    seen: list[bool] = []

    def waits(question: Dialled) -> bool:
        cancel.set()
        while not question.cancelled():
            pass
        seen.append(True)
        return True  # too late

    world.answer = waits
    with world.opened() as gateway:
        done = run(gateway, "http://up.acme.com/", cancel=cancel)
    assert (done.result.ended, seen, world.happened) == ("cancelled", [True], ["asked up.acme.com:80"])


@held
def test_the_call_stands_still_while_somebody_reads(world: World) -> None:
    """Its counter goes on before and after, and not meanwhile."""
    (world.top / "workspace/x.py").write_text(
        "import os, socket, threading, time\n"
        "def count():\n    while True:\n        open('n', 'a').write('x'); time.sleep(0.001)\n"
        "threading.Thread(target=count, daemon=True).start()\n"
        "s = socket.create_connection(('up.acme.com', 80))\n"
        "s.send(b'GET / HTTP/1.0\\r\\nHost: up.acme.com\\r\\n\\r\\n')\n"
        "said = s.recv(12).decode()\n"
        "now = os.path.getsize('n')\n"
        "while os.path.getsize('n') == now: time.sleep(0.001)\n"
        "print(said)"
    )
    sizes: list[int] = []

    def reads(question: Dialled) -> bool:
        with question.still() as stands:
            assert stands
            for _ in range(2):
                sizes.append(os.stat(world.top / "workspace/n").st_size)
                threading.Event().wait(0.05)
        return True

    world.answer = reads
    with world.opened() as gateway:
        assert said(run(gateway)) == ["HTTP/1.0 200"]
    assert sizes[0] == sizes[1] < os.stat(world.top / "workspace/n").st_size


@held
def test_many_that_dial_the_same_wait_for_one_answer(world: World) -> None:
    (world.top / "workspace/x.py").write_text(
        "import concurrent.futures, urllib.request\n"
        "def get(number): return urllib.request.urlopen(f'http://up.acme.com/{number}').read()\n"
        "with concurrent.futures.ThreadPoolExecutor(30) as pool: print(len(set(pool.map(get, range(30)))))"
    )
    with world.opened() as gateway:
        assert said(run(gateway)) == ["1"]
    assert [each for each in world.happened if each.startswith("asked")] == ["asked up.acme.com:80"]


@held
def test_calls_of_a_session_meet_and_none_takes_the_way_out_of_another(world: World) -> None:
    """One call serves, tries every way out that it is told of, and gets none of it; the same words work for the call
    whose way it is."""
    work = world.top / "workspace"
    (work / "thief.py").write_text(
        "import os, socket, time\n"
        "serve = socket.create_server(('127.0.0.1', 8899)); open('up', 'w').close()\n"
        "while not os.path.exists('way'): time.sleep(0.01)\n"
        "import x2; said = x2.ask(open('way').read())\n"
        "while True:\n    c = serve.accept()[0]; c.send(said or b'nothing'); c.close()\n"
    )
    (work / "x2.py").write_text(
        "import socket\n"
        "def ask(way):\n"
        "    s = socket.create_connection((way, 808)); s.settimeout(30)\n"
        "    try:\n"
        "        s.sendall(b'GET http://up.acme.com/ HTTP/1.0\\r\\nHost: up.acme.com\\r\\n\\r\\n'); return s.recv(12)\n"
        "    except OSError: return b''\n"
    )
    (work / "x.py").write_text(
        "import os, socket, time, x2\n"
        "while not os.path.exists('up'): time.sleep(0.01)\n"
        "way = open('/etc/resolv.conf').read().split()[1]\n"
        "open('way.new', 'w').write(way); os.rename('way.new', 'way')\n"
        "c = socket.create_connection(('localhost', 8899)); print(c.recv(20).decode())\n"
        "print(x2.ask(way).decode())"
    )
    with world.opened() as gateway, gateway.session() as session:
        thief = RawCall("Bash", {"command": "python3 thief.py", "run_in_background": True})
        gateway.calls.call(thief, session)
        done = run(gateway, session=session)
        assert said(done) == ["nothing", "HTTP/1.0 200"]
        assert [(each.target, each.hint[:25]) for each in done.result.violations] == [
            ("proxy", "A program of another call")
        ]
    assert [each for each in world.happened if each.startswith("asked")] == ["asked up.acme.com:80"]


@held
def test_the_record_tells_what_was_dialled_and_who_let_it(world: World) -> None:
    with world.opened() as gateway:
        run(gateway, "http://up.acme.com/", "http://always.acme.com/")
    (file,) = (world.top / "state/audit").glob("*.jsonl")
    outcome = json.loads(file.read_text().splitlines()[-1])
    program = world.questions[0].program
    assert outcome["dialled"] == [
        ["up.acme.com:80", program, "allowed", "callback"], ["always.acme.com:80", "", "allowed", "always-there"],
    ]  # fmt: skip
    shown = call_text(Found(None, outcome | {"n": 2}), Style(1_000))
    assert f" up.acme.com:80: allowed by callback, for {program}\n" in shown


@held
def test_programs_that_ask_for_both_families_are_known_too(world: World) -> None:
    (world.top / "workspace/x.py").write_text(
        "import socket\ns = socket.socket(socket.AF_INET6)\n"
        "s.connect(('::ffff:' + socket.gethostbyname('up.acme.com'), 80))\n"
        "s.send(b'GET / HTTP/1.0\\r\\nHost: up.acme.com\\r\\n\\r\\n'); print(s.recv(12).decode())"
    )
    with world.opened() as gateway:
        assert said(run(gateway)) == ["HTTP/1.0 200"]
    assert "python3 -S x.py" in world.questions[0].program


UP = ("up.acme.com", 443)


def by(rule: str, reason: str = "") -> Answered:
    return Answered(False, rule=rule, reason=reason or f"rule `{rule}` denies it")


@pytest.mark.parametrize(
    ("layers", "where", "expected"),
    [
        pytest.param({}, UP, None, id="the mode asks"),
        pytest.param({"user": [{"id": "a", "ask": {"effect": "connect"}}]}, UP, None, id="a rule asks"),
        pytest.param(
            {"enterprise": [{"id": "a", "ask": {"effect": "connect"}, "lock": True}],
             "user": [{"id": "b", "allow": {"effect": "connect", "host": "*"}}]},
            UP, None, id="a locked ask stands above an allow",
        ),
        pytest.param({"user": [{"id": "b", "allow": {"effect": "connect", "host": "*"}}]}, UP,
                     Answered(True, rule="b"), id="a rule allows any call to send there"),
        pytest.param({"user": [{"id": "b", "allow": {"effect": "connect", "host": "*", "direction": "fetch"}}]}, UP,
                     None, id="a rule on fetching allows no sending"),
        pytest.param({"user": [{"id": "b", "allow": {"tool": "Bash"}}]}, UP, None, id="the bare tool allows none"),
        pytest.param({"user": [{"id": "b", "allow": {"command": "make"}}]}, UP, None, id="nor does the command"),
        pytest.param({"user": [{"id": "d", "deny": {"effect": "connect", "direction": "send"}}]}, UP, by("d"),
                     id="a deny of sending"),
        pytest.param({"enterprise": [{"id": "d", "deny": {"effect": "connect", "host_not": ["*.corp.com"]}}]}, UP,
                     by("d", "rule `d` refuses it"), id="a list of an upper layer"),
        pytest.param({"enterprise": [{"id": "d", "deny": {"effect": "connect", "host_not": ["*.acme.com"]}}]}, UP,
                     None, id="a host of that list"),
        pytest.param({"user": [{"id": "d", "deny": {"effect": "connect", "port": 8443}}]}, ("up.acme.com", 8443),
                     by("d"), id="a deny of a port"),
        pytest.param({"user": [{"id": "d", "deny": {"effect": "connect", "contained": True}}]}, UP, by("d"),
                     id="a deny of contained calls"),
    ],
)  # fmt: skip
def test_policy_is_asked_as_about_sending(
    guard, layers: Any, where: tuple[str, int], expected: Answered | None
) -> None:
    gateway = guard(layers)
    verdict = gateway.check(RawCall("Bash", {"command": "make"}))
    verdict = verdict.replace(context=verdict.context.replace(contained=True))
    surveyor = Surveyor(gateway, lambda _text: False)
    life = SimpleNamespace(
        planner=SimpleNamespace(judge=gateway, surveyor=surveyor), session=SimpleNamespace(refused_hosts=set())
    )
    _refused, only = surveyor.forbidden_hosts(verdict)
    made = Asked(life, verdict, plan=None, only=only, running=None)  # type: ignore[arg-type]
    assert made.judged(*where) == expected
    life.session.refused_hosts.add(where)
    again = Answered(False, "session", reason="it was refused before, for this session")
    assert made.judged(*where) == (again if expected is None else expected)
