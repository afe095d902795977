"""Sessions, the thread and the helper: what starts, what ends, and that nothing is left behind."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import subprocess
import sys
import threading
import warnings
from typing import TYPE_CHECKING

import pytest

from gateway.model.plan import Endpoint, Network
from gateway.sandbox.base import SandboxError
from gateway.sandbox.egress import session as sessions
from gateway.sandbox.egress.service import Egress

from .conftest import BWRAP, descriptors, eventually

if TYPE_CHECKING:
    from collections.abc import Iterator

GOOD = Network("listed", (Endpoint("good.example", 0, "good"), Endpoint("good.example", 9000, "raw")))


class Inside:
    """A process that waits in a network namespace of its own, and does there what it is told: one Python line each."""

    def __init__(self) -> None:
        assert BWRAP is not None
        script = "import socket, sys\nfor line in sys.stdin: exec(line); print(flush=True)"
        self.process = subprocess.Popen(
            [
                BWRAP, "--unshare-user", "--unshare-net", "--ro-bind", "/", "/", "--",
                sys.executable, "-I", "-S", "-c", script,
            ],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True,
        )  # fmt: skip
        self.do("pass")
        with open(f"/proc/{self.process.pid}/task/{self.process.pid}/children") as children:
            named = children.read().split()
        self.pid = int(named[0]) if named else self.process.pid

    def do(self, line: str) -> str:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        return self.process.stdout.readline()

    def close(self) -> None:
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.communicate()


@pytest.fixture
def inside(can_confine: None) -> Iterator[Inside]:  # noqa: ARG001
    made = Inside()
    yield made
    made.close()


REFUSED = (
    "s = socket.create_connection(('127.0.0.1', 808), 5); s.sendall(b'GET http://x.example/ HTTP/1.0\\r\\n\\r\\n'); "
)
REFUSED += "d = b''.join(iter(lambda: s.recv(999), b'')); s.close(); sys.stdout.write(d.decode().split(chr(13))[0])"


HALF = "s = socket.create_connection(('127.0.0.1', 808), 5); s.sendall(b'GET '); "


def test_nothing_is_left_after_a_session_and_after_all(inside: Inside, outside) -> None:
    before, threads = descriptors(), set(threading.enumerate())
    with Egress(outside.resolve, outside.route) as egress:
        egress.start()
        first = egress.attach(inside.pid, GOOD, lambda _violation: None)
        assert inside.do(REFUSED).startswith("HTTP/1.1 403 ")
        inside.do("held = [socket.create_connection(('127.0.0.1', 808), 5) for _ in range(20)]")
        assert eventually(lambda: len(first._tasks) == 20)
        first.close()
        assert (first._tasks, first._clients) == (set(), set())
        running = egress._loop.running
        assert running is not None
        assert asyncio.all_tasks(running) == set()
        between = descriptors()
        inside.do("held.clear()")
        for _ in range(5):  # the ports are free again at once
            session = egress.attach(inside.pid, GOOD, lambda _violation: None)
            assert inside.do(REFUSED).startswith("HTTP/1.1 403 ")
            session.close()
            session.close()
        assert descriptors() == between
        assert [each.target for each in first.violations()] == ["x.example:80"]
    assert descriptors() == before
    assert set(threading.enumerate()) == threads


def test_a_session_that_is_still_open_ends_with_all(inside: Inside, outside) -> None:
    before = descriptors()
    with Egress(outside.resolve, outside.route) as egress:
        egress.attach(inside.pid, GOOD, lambda _violation: None)
        inside.do("held = socket.create_connection(('127.0.0.1', 808), 5); held.sendall(b'GET ')")
    assert descriptors() == before
    assert inside.do("sys.stdout.write(repr(held.recv(10)))").strip() in ("b''", "")


def test_a_command_that_never_uses_the_network_does_not_load_asyncio(inside: Inside) -> None:
    script = (
        "import sys\nfrom gateway.model.plan import Network\nfrom gateway.sandbox.egress.service import Egress\n"
        "with Egress() as egress:\n    egress.attach(int(sys.argv[1]), Network('open'), print).close()\n"
        "print('asyncio' in sys.modules, 'ssl' in sys.modules, 'logging' in sys.modules)"
    )
    found = subprocess.run([sys.executable, "-c", script, str(inside.pid)], capture_output=True, text=True, timeout=60)
    assert (found.stdout, found.stderr) == ("False False False\n", "")


def test_it_can_be_used_again_after_it_was_closed(inside: Inside, outside) -> None:
    egress = Egress(outside.resolve, outside.route)
    for _ in range(2):
        egress.attach(inside.pid, GOOD, lambda _violation: None)
        assert inside.do(REFUSED).startswith("HTTP/1.1 403 ")
        egress.close()


def test_our_own_network_is_never_entered(outside) -> None:
    before = descriptors()
    with Egress(outside.resolve, outside.route) as egress:
        with pytest.raises(SandboxError, match="the gateway's own network"):
            egress.attach(os.getpid(), GOOD, lambda _violation: None)
        with pytest.raises(SandboxError, match="cannot be entered"):
            egress.attach(2**22 + 1, GOOD, lambda _violation: None)
        with pytest.raises(SandboxError, match="not clear"):
            egress.attach(os.getpid(), Network("wide"), lambda _violation: None)
    assert descriptors() == before


def test_ports_that_are_taken_are_an_error_that_leaves_nothing(inside: Inside, outside) -> None:
    with Egress(outside.resolve, outside.route) as egress, Egress(outside.resolve, outside.route) as other:
        egress.attach(inside.pid, GOOD, lambda _violation: None)
        other.start()
        before = descriptors()
        with pytest.raises(SandboxError, match="taken"):
            other.attach(inside.pid, GOOD, lambda _violation: None)
        assert descriptors() == before


def test_a_helper_that_died_is_started_again(inside: Inside, outside) -> None:
    with Egress(outside.resolve, outside.route) as egress:
        egress.attach(inside.pid, GOOD, lambda _violation: None).close()
        helper = egress._namespaces._process
        assert helper is not None
        os.killpg(helper.pid, signal.SIGKILL)  # it may be asked before, while, or after it ends
        egress.attach(inside.pid, GOOD, lambda _violation: None)
        assert inside.do(REFUSED).startswith("HTTP/1.1 403 ")


def test_the_helper_ends_when_the_gateway_is_killed(inside: Inside) -> None:
    script = (
        "import sys\nfrom gateway.model.plan import Network\nfrom gateway.sandbox.egress.service import Egress\n"
        "egress = Egress()\negress.attach(int(sys.argv[1]), Network('open'), print)\n"
        "print(egress._namespaces._process.pid, flush=True)\nsys.stdin.read()"
    )
    gateway = subprocess.Popen(
        [sys.executable, "-c", script, str(inside.pid)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    with gateway:
        assert gateway.stdout is not None
        helper = int(gateway.stdout.readline())
        assert os.path.exists(f"/proc/{helper}/exe")
        gateway.kill()
        assert eventually(lambda: not os.path.exists(f"/proc/{helper}/exe"))


def test_a_fork_of_the_gateway_begins_anew_and_leaves_the_parent_alone(inside: Inside, outside) -> None:
    other = Inside()
    try:
        with Egress(outside.resolve, outside.route) as egress:
            egress.attach(inside.pid, GOOD, lambda _violation: None)
            assert inside.do(REFUSED).startswith("HTTP/1.1 403 ")  # the loop runs
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DeprecationWarning)  # newer interpreters warn of forks with threads
                child = os.fork()
            if child == 0:
                status = 1
                try:
                    session = egress.attach(other.pid, GOOD, lambda _violation: None)
                    answered = other.do(REFUSED).startswith("HTTP/1.1 403 ")
                    session.close()
                    egress.close()
                    status = 0 if answered and session.violations() else 2
                finally:
                    os._exit(status)
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
            assert inside.do(REFUSED).startswith("HTTP/1.1 403 ")
            with pytest.raises(SandboxError, match="taken"):
                egress.attach(inside.pid, GOOD, lambda _violation: None)
    finally:
        other.close()


def test_many_threads_attach_at_once(can_confine: None, outside) -> None:  # noqa: ARG001
    insides = [Inside() for _ in range(4)]
    failed: list[str] = []

    def use(each: Inside, egress: Egress) -> None:
        for _ in range(10):
            session = egress.attach(each.pid, GOOD, lambda _violation: None)
            if not each.do(REFUSED).startswith("HTTP/1.1 403 "):
                failed.append("no answer")
            session.close()
            if [one.count for one in session.violations()] != [1]:
                failed.append(str(session.violations()))

    try:
        with Egress(outside.resolve, outside.route) as egress:
            threads = [threading.Thread(target=use, args=(each, egress)) for each in insides]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
    finally:
        for each in insides:
            each.close()
    assert failed == []


def test_more_connections_than_are_served_wait_their_turn(inside: Inside, outside, monkeypatch) -> None:
    monkeypatch.setattr(sessions, "MAX_CONNECTIONS", 5)
    with Egress(outside.resolve, outside.route) as egress:
        session = egress.attach(inside.pid, GOOD, lambda _violation: None)
        inside.do("held = [socket.create_connection(('127.0.0.1', 808), 5) for _ in range(12)]")
        assert eventually(lambda: len(session._tasks) == 5 and bool(session._paused))
        inside.do("[each.close() for each in held]")
        assert inside.do(REFUSED).startswith("HTTP/1.1 403 ")


def test_a_slow_client_is_cut(inside: Inside, outside, monkeypatch) -> None:
    monkeypatch.setattr("gateway.sandbox.egress.forward.HEAD_SECONDS", 0.5)
    with Egress(outside.resolve, outside.route) as egress:
        session = egress.attach(inside.pid, GOOD, lambda _violation: None)
        inside.do("silent = socket.create_connection(('127.0.0.1', 808), 5)")
        assert eventually(lambda: len(session._tasks) == 1)
        assert eventually(lambda: not session._tasks)
        line = HALF + "sys.stdout.write(s.recv(99).decode()[:12])"
        assert inside.do(line) == "HTTP/1.1 408\n"


def test_a_fault_of_our_own_closes_the_connection_and_is_shown(inside: Inside, outside, monkeypatch, caplog) -> None:
    def broken(_client: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr("gateway.sandbox.egress.forward.read_request", broken)
    with Egress(outside.resolve, outside.route) as egress, caplog.at_level(logging.ERROR):
        session = egress.attach(inside.pid, GOOD, lambda _violation: None)
        line = HALF + "sys.stdout.write(repr(s.recv(99)))"
        assert inside.do(line) == "b''\n"
        assert eventually(lambda: bool(session.violations()))
        hint = "The gateway's proxy failed by itself (ZeroDivisionError), so the connection was closed."
        assert [each.hint for each in session.violations()] == [hint]
    assert "ZeroDivisionError" in caplog.text


def test_a_listener_for_refusals_that_fails_breaks_nothing(inside: Inside, outside, caplog) -> None:
    def told(_violation: object) -> None:
        raise ValueError("mine")

    with Egress(outside.resolve, outside.route) as egress, caplog.at_level(logging.ERROR):
        session = egress.attach(inside.pid, GOOD, told)
        inside.do(HALF + "s.sendall(b'http://x.example/ HTTP/1.0\\r\\n\\r\\n')")
        assert eventually(lambda: "mine" in caplog.text)
        assert session.violations()[0].target == "x.example:80"
