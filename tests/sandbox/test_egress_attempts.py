"""No trick on the proxy reaches what is not granted; where it is granted, the same words reach it."""

from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

import pytest
from networks import egress_of

from gateway.model.limits import Limits
from gateway.model.plan import Endpoint, Network, SandboxPlan
from gateway.sandbox.backends.bubblewrap import Bubblewrap
from gateway.sandbox.backends.spaces import Spaces
from gateway.sandbox.run import Command, Protection, Runner

from .attempts.egress import GOT, MALFORMED, TRICKS, Trick
from .egress.conftest import PUBLIC, Outside
from .world import PATH, system

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gateway.model.result import Result

OTHER = "198.51.100.7"
ALLOWED = (Endpoint("good.example", 0, "good"), Endpoint("*.below.example", 0, "below"))
BAD_NAMES = ("evil.example", "good.example.evil.example", "evilbelow.example", "in.below.example")


def _server(text: str) -> ThreadingHTTPServer:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, *_words: object) -> None:
            return

    made = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    made.daemon_threads = True
    threading.Thread(target=made.serve_forever, args=(0.02,), daemon=True).start()
    return made


@pytest.fixture(scope="module", params=[Spaces, Bubblewrap], ids=["namespaces", "bubblewrap"])
def runner(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Runner]:
    backend = request.param()
    if not (probe := backend.probe()).works:
        pytest.skip(f"{backend.name} does not hold here: {probe.reason}")
    good, evil = _server("the good page"), _server(GOT)
    outside = Outside()
    outside.serve("good.example", 80, good.server_address)  # type: ignore[arg-type]
    outside.places[PUBLIC, 8080] = evil.server_address  # type: ignore[assignment]
    for name in BAD_NAMES[:3]:
        outside.serve(name, 80, evil.server_address, OTHER)  # type: ignore[arg-type]
    outside.serve("in.below.example", 80, evil.server_address, "127.0.0.1")  # type: ignore[arg-type]
    with Runner(str(tmp_path_factory.mktemp("q")), (backend,), egress_of(outside.resolve, outside.route)) as made:
        yield made
    for server in (good, evil):
        server.shutdown()
        server.server_close()


def tried(runner: Runner, trick: Trick, *more: Endpoint) -> Result:
    mounts, links = system()
    network = Network("listed", (*ALLOWED, *more))
    plan = SandboxPlan(mounts, links, ("/tmp",), "/", (("PATH", PATH),), network, Limits(seconds=60))
    command = Command(lambda _report: (b"python3", b"-I", b"-S", b"-c", trick.text.encode()))
    return runner.run(plan, command, Protection(lambda _path: ""))


def granted(trick: Trick) -> Endpoint:
    host, _, port = trick.wants.partition(":")
    return Endpoint(host, int(port or 0), "twin")


@pytest.mark.parametrize("trick", [*TRICKS, *MALFORMED], ids=lambda trick: trick.name)
def test_the_other_server_is_not_reached(runner: Runner, trick: Trick) -> None:
    done = tried(runner, trick)
    assert GOT.encode() not in done.stdout, done
    assert [each for each in done.violations if each.certain], done


@pytest.mark.parametrize("trick", TRICKS, ids=lambda trick: trick.name)
def test_it_is_reached_where_that_is_granted(runner: Runner, trick: Trick) -> None:
    done = tried(runner, trick, granted(trick))
    assert GOT.encode() in done.stdout, done


@pytest.mark.parametrize("trick", MALFORMED, ids=lambda trick: trick.name)
def test_what_no_honest_client_says_is_refused_even_where_it_is_granted(runner: Runner, trick: Trick) -> None:
    done = tried(runner, trick, granted(trick))
    assert GOT.encode() not in done.stdout, done
