"""What a call may ask of Docker's daemon: what shows something, and nothing that does more. Over the wire, with a
daemon that takes everything; the same bytes without that bound do it."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import ssl
import threading
from typing import TYPE_CHECKING

import pytest
from patience import patience

from gateway.model.plan import Endpoint, Network
from gateway.sandbox.egress import serve as serving
from gateway.sandbox.egress.decide import Rules
from gateway.sandbox.egress.dial import Dialler
from gateway.sandbox.egress.docker_requests import without_secrets
from gateway.sandbox.egress.outside import Outside
from gateway.sandbox.egress.report import Report

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

HOST = b"docker.invalid"
SECRET = b"hunter2"
ONE = {
    "Id": "6f", "Name": "/web", "Args": ["hunter2"], "Path": "hunter2", "State": {"Status": "running"},
    "HostConfig": {"Binds": ["hunter2"]}, "Mounts": [], "NetworkSettings": {"Ports": {}},
    "Config": {"Tty": False, "Env": ["PASSWORD=hunter2"], "Cmd": ["hunter2"], "Labels": {"a": "hunter2"}, "Image": "i"},
}  # fmt: skip
KEPT = {
    "Id": "6f", "Name": "/web", "State": {"Status": "running"}, "Mounts": [], "NetworkSettings": {"Ports": {}},
    "Config": {"Tty": False, "Image": "i"},
}  # fmt: skip


class Daemon:
    """Takes every request, and shows one container."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.got: list[bytes] = []
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(path)
        self._listener.listen()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        body = json.dumps(ONE).encode()
        head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
        while True:
            try:
                connection, _from = self._listener.accept()
            except OSError:
                return
            with connection, contextlib.suppress(OSError):
                connection.settimeout(patience(5))
                asked = b""
                while data := connection.recv(65536):
                    asked += data
                    if b"\r\n\r\n" in asked:
                        self.got.append(asked)
                        connection.sendall(head % len(body) + (b"" if asked.startswith(b"HEAD") else body))
                        asked = b""

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join()


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    folder: Path = tmp_path_factory.mktemp("daemon")
    found = Daemon(str(folder / "d.sock"))
    yield found
    found.close()


def send(daemon: Daemon, data: bytes, access: str = "read", also: tuple[str, ...] = ("docker",)) -> bytes:
    """What the client gets for it."""
    network = Network("listed", (Endpoint(HOST.decode(), 0, "looks", access, also=also, socket=daemon.path),))
    ours, theirs = socket.socketpair()

    async def serve() -> None:
        def no_address(name: str) -> list[str]:
            raise AssertionError(f"{name} was looked up")

        shared = Outside(
            Rules(network), Dialler(no_address), Report(lambda _each: None), None, ssl.create_default_context, {}.get
        )
        async with asyncio.timeout(patience(20)):
            await serving.Connection(shared, theirs).run(None)
        shared.spare.close()

    with ours, theirs:
        ours.sendall(data)
        ours.shutdown(socket.SHUT_WR)
        asyncio.run(serve())
        theirs.close()
        found = b""
        while more := ours.recv(65536):
            found += more
    return found


def request(target: bytes, *fields: bytes, method: bytes = b"GET", body: bytes = b"") -> bytes:
    length = [b"Content-Length: %d" % len(body)] if body else []
    lines = [method + b" http://" + HOST + target + b" HTTP/1.1", b"Host: " + HOST, *length, *fields]
    return b"\r\n".join(lines) + b"\r\n\r\n" + body


NAMES = b"%7B%22name%22%3A%7B%22web%22%3Atrue%7D%7D"
DIGEST = b"sha256:" + b"0" * 64


@pytest.mark.parametrize(
    "target",
    [
        b"/_ping", b"/version", b"/v1.47/version", b"/v1.24/info", b"/v1.47/containers/json",
        b"/v1.47/containers/json?all=1&limit=3&size=1&filters=" + NAMES, b"/v1.47/containers/web/json?size=1",
        b"/v1.47/containers/web/logs?stdout=1&stderr=1&tail=50&follow=1&since=10m&timestamps=1",
        b"/v1.47/containers/6f/stats?stream=0&one-shot=1", b"/containers/web/changes", b"/containers/web/top",
        b"/v1.47/images/json?manifests=1", b"/v1.47/images/localhost:5000/a/b:1.2/json", b"/images/alpine/history",
        b"/images/a@" + DIGEST + b"/json", b"/images/" + DIGEST + b"/json", b"/v1.47/networks", b"/networks/bridge",
        b"/v1.47/volumes", b"/volumes/data", b"/events?since=1&until=2&filters=" + NAMES, b"/system/df?type=image",
    ],
)  # fmt: skip
def test_what_shows_something_is_answered(daemon: Daemon, target: bytes) -> None:
    daemon.got.clear()
    answer = send(daemon, request(target, b"User-Agent: hunter2", b"X-Registry-Auth: hunter2", b"Cookie: hunter2"))
    assert answer.startswith(b"HTTP/1.1 200 OK\r\n")
    assert daemon.got == [b"GET " + target + b" HTTP/1.1\r\nHost: docker.invalid\r\nuser-agent: gateway\r\n\r\n"]


REFUSED = [
    # Changes, by every method
    request(b"/containers/create", method=b"POST", body=b"{}"), request(b"/containers/web/start", method=b"POST"),
    request(b"/containers/web/exec", method=b"POST", body=b"{}"), request(b"/exec/1/start", method=b"POST", body=b"{}"),
    request(b"/containers/web/attach?stream=1", b"Upgrade: tcp", b"Connection: Upgrade", method=b"POST"),
    request(b"/containers/web", method=b"DELETE"), request(b"/containers/web/archive?path=/", method=b"PUT", body=b"x"),
    request(b"/build", method=b"POST", body=b"x"), request(b"/images/create?fromImage=x", method=b"POST"),
    request(b"/grpc", b"Upgrade: h2c", b"Connection: Upgrade", method=b"POST"), request(b"/_ping", method=b"OPTIONS"),
    request(b"/session", b"Upgrade: h2c", b"Connection: Upgrade", method=b"POST"),
    request(b"/containers/web/wait", method=b"POST"), request(b"/containers/json", method=b"HEAD"),
    # GETs that do more than show
    request(b"/containers/web/attach/ws?stream=1", b"Upgrade: websocket", b"Connection: Upgrade"),
    request(b"/containers/web/json", b"Upgrade: tcp", b"Connection: Upgrade"),
    request(b"/containers/web/archive?path=/etc/shadow"), request(b"/containers/web/export"), request(b"/images/x/get"),
    request(b"/images/get?names=x"), request(b"/images/search?term=hunter2"), request(b"/distribution/evil/x/json"),
    request(b"/swarm"), request(b"/swarm/unlockkey"), request(b"/configs/x"), request(b"/secrets/x"),
    request(b"/plugins"),
    request(b"/services"), request(b"/tasks"), request(b"/nodes"), request(b"/exec/1/json"),
    request(b"/debug/pprof/heap"),
    request(b"/v1.47/plugins/x/json"), request(b"/metrics"), request(b"/containers/web/attach"),
    # Bodies, parameters, spellings
    request(b"/containers/json", body=b"{}"), request(b"/containers/json", b"Expect: 100-continue"),
    request(b"/containers/web/top?ps_args=e"), request(b"/containers/json?x=1"), request(b"/_ping?a"),
    request(b"/containers/json?all=1&all=1"), request(b"/containers/json?filters={}"),
    request(b"/events?since=1;until=2"),
    request(b"/containers/web%2fexport/json"), request(b"/containers/../images/x/get"), request(b"//containers/json"),
    request(b"/containers/json/"), request(b"/CONTAINERS/json"), request(b"/v2/containers/json"),
    request(b"/v1.47/v1.47/containers/json"), request(b"/v1.47"), request(b"/containers/web/v1.47/json"),
    request(b"/images/../x/json"),
    request(b"/images/a//b/json"), request(b"/containers/web/json%3fx"), request(b"/containers/w\xc3/json"),
    request(b"/containers/json?filters=" + b"a" * 1_100),
]  # fmt: skip


@pytest.mark.parametrize("data", REFUSED, ids=lambda data: data.split(b" HTTP")[0].decode("latin-1"))
def test_what_does_more_than_show_does_not_arrive(daemon: Daemon, data: bytes) -> None:
    daemon.got.clear()
    answer = send(daemon, data)
    assert daemon.got == []
    assert answer.startswith((b"HTTP/1.1 403 ", b"HTTP/1.1 400 "))


@pytest.mark.parametrize("data", REFUSED[:14], ids=lambda data: data.split(b" HTTP")[0].decode())
def test_without_the_bound_it_arrives(daemon: Daemon, data: bytes) -> None:
    daemon.got.clear()
    send(daemon, data, access="")
    assert [each.split(b" ")[0] for each in daemon.got] == [data.split(b" ")[0]]


def test_environments_are_shown_only_where_that_was_predicted(daemon: Daemon) -> None:
    shown = send(daemon, request(b"/v1.47/containers/web/json"))
    assert json.loads(shown.partition(b"\r\n\r\n")[2]) == KEPT
    assert SECRET not in shown
    whole = send(daemon, request(b"/v1.47/containers/web/json"), also=("docker", "docker-inspect"))
    assert json.loads(whole.partition(b"\r\n\r\n")[2]) == ONE


def test_what_ps_is_asked_for_passes_only_where_that_was_predicted(daemon: Daemon) -> None:
    daemon.got.clear()
    send(daemon, request(b"/containers/web/top?ps_args=-o+pid"), also=("docker", "docker-top"))
    assert len(daemon.got) == 1


@pytest.mark.parametrize("body", [b"", b"[]", b"x", b'{"Id": 1, "Id": 2}'])
def test_an_answer_that_is_not_read_is_not_given_on(body: bytes) -> None:
    with pytest.raises(ValueError, match="JSON"):
        without_secrets(body)


@pytest.mark.parametrize("port", [b"443", b"2375"])
def test_the_daemon_is_asked_at_one_port_and_by_no_tunnel(daemon: Daemon, port: bytes) -> None:
    daemon.got.clear()
    for data in (
        b"GET http://docker.invalid:" + port + b"/_ping HTTP/1.1\r\nHost: docker.invalid:" + port + b"\r\n\r\n",
        b"CONNECT docker.invalid:" + port + b" HTTP/1.1\r\nHost: docker.invalid:" + port + b"\r\n\r\n",
        b"CONNECT docker.invalid:80 HTTP/1.1\r\nHost: docker.invalid:80\r\n\r\n",
    ):
        assert not send(daemon, data).startswith(b"HTTP/1.1 200")
    assert daemon.got == []
