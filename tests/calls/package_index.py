"""A registry of packages made in a test, under the names of the real one, and calls that install from it."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from http.server import ThreadingHTTPServer
from typing import TYPE_CHECKING

from networks import egress_of
from sandbox.egress.conftest import Outside
from warmed import warm

from gateway.api.executor import Executor
from gateway.api.gateway import Gateway
from gateway.config.load import Options
from gateway.core.places import Places
from gateway.model.call import RawCall
from gateway.sandbox.egress.authority import Authority
from gateway.sandbox.run import Runner

if TYPE_CHECKING:
    from collections.abc import Iterator
    from http.server import BaseHTTPRequestHandler
    from pathlib import Path

    from gateway.api.executor import Execution
    from gateway.approval.callback import Callback
    from gateway.model.verdict import Verdict
    from gateway.sandbox.egress.service import Egress


@contextmanager
def served(folder: Path, hosts: tuple[str, ...], handler: type[BaseHTTPRequestHandler]) -> Iterator[Egress]:
    """The way out of calls, where these hosts are a server here with a certificate that it trusts."""
    made = Authority()
    trusted = folder / "trusted.pem"
    trusted.write_bytes(made.certificate())
    outside, servers = Outside(), []
    for number, host in enumerate(hosts):
        server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        server.daemon_threads = True
        server.socket = made.context(host).wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        outside.serve(host, 443, server.server_address[:2], address=f"93.184.216.{number + 1}")
        servers.append(server)
    with egress_of(outside.resolve, outside.route, str(trusted)) as egress:
        yield egress
    for server in servers:
        server.shutdown()
        server.server_close()
    made.close()


def gateway_of(place: Path, environment: dict[str, str] | None = None) -> Gateway:
    where = Places(
        str(place / "etc"), str(place / "config"), state=str(place / "state"), cache=warm(place / "cache"),
        home=str(place / "home"),
    )  # fmt: skip
    work = str(place / "workspace")
    options = Options(work, str(place / "policies"), root=work, binding=True)
    return Gateway(options, where=where, environment=environment)


def run(
    place: Path,
    egress: Egress,
    text: str,
    approver: Callback | tuple[()] = (),
    environment: dict[str, str] | None = None,
) -> Execution:
    runner = Runner(str(place / "state/quarantine"), egress=egress)
    with Executor(gateway_of(place, environment), runner=runner, approver=approver) as executor:
        return executor.run(text)


def check(place: Path, text: str, environment: dict[str, str] | None = None) -> Verdict:
    """What the dry run says."""
    return gateway_of(place, environment).check(RawCall("Bash", {"command": text}))
