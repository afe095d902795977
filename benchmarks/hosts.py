"""What a host that may only be read from costs, over a blind tunnel to the same server.

    python benchmarks/hosts.py [--rounds 5] [--megabytes 200]

A client in a sandbox reads from a server on this machine, by turns through a tunnel that nobody looks into and a
proxy that answers TLS and judges each request. Ratios of one run are worth comparing, also on a busy machine; each row
names the bound that it is held against.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import socket
import ssl
import statistics
import tempfile
import threading
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from confine import ADDRESS, BACKENDS, HOST, confined, plan_for, project

from gateway.model.plan import Endpoint, Network
from gateway.sandbox.egress.authority import Authority
from gateway.sandbox.egress.service import Egress

if TYPE_CHECKING:
    from collections.abc import Iterator

BOUNDS = {"new": 1.3, "kept": 2.0, "large": 1.6, "thousand": 2.0}
ROWS = {
    "new": "a new connection and one small request, 100 times",
    "kept": "one more small request on it, 500 times",
    "large": "one large file",
    "thousand": "1,000 small requests on one connection",
}
CLIENT = r"""
import json, socket, ssl, sys, time
host, trust, blocks, told = sys.argv[1:]
context = ssl.create_default_context(cafile=trust)
def connected():
    plain = socket.create_connection(("127.0.0.1", 808))
    plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    plain.sendall(f"CONNECT {host}:443 HTTP/1.1\r\nHost: {host}:443\r\n\r\n".encode())
    answer = b""
    while b"\r\n\r\n" not in answer:
        answer += plain.recv(4096)
    assert b" 200 " in answer, answer
    return context.wrap_socket(plain, server_hostname=host)
def read(connection, path):
    connection.sendall(f"GET {path} HTTP/1.1\r\nHost: {host}\r\nAccept: */*\r\n\r\n".encode())
    said = b""
    while b"\r\n\r\n" not in said:
        said += connection.recv(65536)
    head, _, rest = said.partition(b"\r\n\r\n")
    assert b" 200 " in head, head
    left = int(head.lower().partition(b"content-length: ")[2].split(b"\r\n")[0]) - len(rest)
    while left:
        left -= len(connection.recv(min(left, 1 << 18)))
found = {}
start = time.perf_counter()
for _ in range(100):
    with connected() as one:
        read(one, "/a")
found["new"] = (time.perf_counter() - start) / 100
with connected() as one:
    read(one, "/a")
    start = time.perf_counter()
    for _ in range(500):
        read(one, "/a")
    found["kept"] = (time.perf_counter() - start) / 500
    start = time.perf_counter()
    read(one, "/big/" + blocks)
    found["large"] = time.perf_counter() - start
start = time.perf_counter()
with connected() as one:
    for number in range(1000):
        read(one, f"/{number}")
found["thousand"] = time.perf_counter() - start
with open(told, "w") as file:
    json.dump(found, file)
"""


def served(plain: socket.socket, context: ssl.SSLContext) -> None:
    """Answers the requests of one connection: so many MiB for `/big/N`, else a page."""
    block = bytes(1 << 20)
    with suppress(OSError), context.wrap_socket(plain, server_side=True) as client:
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        said = b""
        while True:
            while b"\r\n\r\n" not in said:
                more = client.recv(65536)
                if not more:
                    return
                said += more
            head, _, said = said.partition(b"\r\n\r\n")
            path = head.split(b" ")[1]
            blocks = int(path[5:]) if path.startswith(b"/big/") else 0
            head = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % (blocks << 20 if blocks else 512)
            client.sendall(head + (b"" if blocks else block[:512]))
            for _ in range(blocks):
                client.sendall(block)


@contextmanager
def server(context: ssl.SSLContext) -> Iterator[int]:
    """A server in a process of its own; its port."""
    listener = socket.create_server(("127.0.0.1", 0), backlog=100)
    process = os.fork()
    if not process:
        while True:
            client, _ = listener.accept()
            threading.Thread(target=served, args=(client, context), daemon=True).start()
    with listener:
        try:
            yield listener.getsockname()[1]
        finally:
            os.kill(process, signal.SIGKILL)
            os.waitpid(process, 0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--megabytes", type=int, default=200)
    parser.add_argument("--backend", choices=BACKENDS, default="namespaces")
    options = parser.parse_args()
    nowhere = os.open(os.devnull, os.O_RDWR)
    found: dict[str, dict[str, list[float]]] = {"blind": {}, "read": {}}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        root = project(folder)
        (root / "client.py").write_text(CLIENT)
        made = Authority()
        trusted = root / "trusted.pem"
        trusted.write_bytes(made.certificate())
        with server(made.context(HOST)) as port:

            def route(_address: object, _port: int) -> tuple[str, int]:
                return "127.0.0.1", port

            with Egress(lambda _name: [ADDRESS], route, str(trusted)) as way_out:
                backend = BACKENDS[options.backend]()
                for number in range(options.rounds + 1):
                    for way, access in (("blind", ""), ("read", "read")):
                        network = Network("listed", (Endpoint(HOST, 0, "bench", access),))
                        plan = plan_for(root).replace(
                            network=network, environment=(*way_out.environment(network), ("PATH", "/usr/bin")),
                            files=way_out.files(network),
                        )  # fmt: skip
                        bundle = dict(plan.environment).get("SSL_CERT_FILE", str(trusted))
                        told = root / "told.json"
                        words = ["/usr/bin/python3", "-I", f"{root}/client.py", HOST, bundle]
                        status = confined(backend, plan, [*words, str(options.megabytes), str(told)], nowhere, way_out)
                        if status:
                            raise SystemExit(f"the client ended with {status} ({way})")
                        for row, seconds in json.loads(told.read_text()).items() if number else ():
                            found[way].setdefault(row, []).append(seconds)
    print(
        f"{'median of ' + str(options.rounds) + ' rounds, ms':50} {'tunnel':>10} {'read only':>10} {'ratio':>6} bound"
    )
    for row, what in ROWS.items():
        blind, read = (statistics.median(found[way][row]) * 1000 for way in ("blind", "read"))
        print(f"{what:50} {blind:10.2f} {read:10.2f} {read / blind:6.2f} {BOUNDS[row]}")


if __name__ == "__main__":
    main()
