"""A person with a home, a project and a policy, and a server that is every host outside."""

from __future__ import annotations

import os
import threading
from contextlib import contextmanager
from http.server import ThreadingHTTPServer
from typing import TYPE_CHECKING

from networks import egress_of
from warmed import warm

from gateway.api.gateway import Gateway
from gateway.approval.callback import Callback
from gateway.config.load import Options
from gateway.core.places import Places
from gateway.model.call import RawCall
from gateway.sandbox.run import Runner

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable, Iterator
    from http.server import BaseHTTPRequestHandler
    from pathlib import Path

    from gateway.calls.output import Done

SYSTEM_PATH = "/usr/local/bin:/usr/bin:/bin"
HOME = os.path.realpath(os.path.expanduser("~"))
PUBLIC = "93.184.216.34"


@contextmanager
def opened(
    top: Path,
    handler: type[BaseHTTPRequestHandler],
    context: ssl.SSLContext,
    resolve: Callable[[str], list[str]] = lambda _name: [PUBLIC],
    **environment: str,
) -> Iterator[Gateway]:
    """The gateway of a person with `home`, `work` and `policies` below a folder; nobody agrees to anything."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    home, work = str(top / "home"), str(top / "work")
    where = Places(
        str(top / "etc"), str(top / "config"), state=str(top / "state"), cache=warm(top / "cache"), home=home
    )
    egress = egress_of(resolve, lambda _address, _port: ("127.0.0.1", server.server_address[1]))
    options = Options(work, str(top / "policies"), root=work, binding=True)
    runner = Runner(str(top / "state/quarantine"), egress=egress)
    variables = {"PATH": SYSTEM_PATH, "HOME": home, **environment}
    approver = Callback(lambda _question: False)
    try:
        with Gateway(options, where=where, approver=approver, runner=runner, environment=variables) as gateway:
            yield gateway
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def run(gateway: Gateway, text: str) -> Done:
    """What became of a command."""
    return gateway.calls.call(RawCall("Bash", {"command": text}), None, None)


def said(done: Done) -> tuple[str, str]:
    """The decision, and what was printed."""
    return done.verdict.decision.word, done.result.stdout.decode()
