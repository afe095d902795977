"""Real clients in a real network namespace. Nothing outside it can be reached but through the listeners."""

from __future__ import annotations

import os
import shlex
import shutil
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

import pytest
from networks import egress_of
from patience import patience

from gateway.model.plan import Endpoint, Injection, Network
from gateway.sandbox.egress import authority
from gateway.sandbox.egress.authority import Authority

from .conftest import PUBLIC, Sandbox

if TYPE_CHECKING:
    from pathlib import Path

    from gateway.sandbox.egress.service import Egress

pytestmark = pytest.mark.usefixtures("can_confine")
GOOD = Network(
    "listed",
    (
        Endpoint("good.example", 0, "good"),
        Endpoint("*.below.example", 0, "below"),
        Endpoint("good.example", 9418, "git"),
    ),
    (Endpoint("bad.below.example", 0, "no-bad"),),
)
PYTHON = os.path.realpath(sys.executable)
NO_PROXY = {name: "" for each in ("http_proxy", "https_proxy", "all_proxy") for name in (each, each.upper())}
Make = Callable[[Network], Sandbox]


def needs(program: str) -> pytest.MarkDecorator:
    return pytest.mark.skipif(shutil.which(program) is None, reason=f"{program} is not installed")


def python(box: Sandbox, code: str, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return box.run(PYTHON, "-I", "-c", code, *arguments, **environment)


FETCH = "import sys, urllib.request as u; print(u.urlopen(sys.argv[1], timeout=10).read().decode())"
CONNECT = """
import socket, sys
try:
    socket.create_connection((sys.argv[1], int(sys.argv[2])), 5).close()
    print("connected")
except OSError as error:
    print(type(error).__name__, error.errno)
"""


def test_without_listeners_nothing_is_reached(sandbox: Make, web) -> None:
    place = web()
    box = sandbox(Network("off"))
    for address in (place[0], "192.0.2.1"):
        found = python(box, CONNECT, address, str(place[1]))
        assert found.stdout.startswith(("ConnectionRefusedError", "OSError")), found
    with socket.create_connection(place, 5):
        pass  # from here it is there


@pytest.mark.parametrize("environment", [{}, NO_PROXY], ids=["by proxy", "knows no proxy"])
def test_python_fetches_what_is_allowed_and_is_told_what_is_not(sandbox: Make, outside, web, environment) -> None:
    outside.serve("good.example", 80, web("the page"))
    box = sandbox(GOOD)
    assert python(box, FETCH, "http://good.example/", **environment).stdout == "the page\n"
    assert box.violations == ()
    found = python(box, FETCH, "http://bad.below.example/", **environment)
    assert found.returncode == 1
    assert [(each.rule, each.count) for each in box.violations] == [("no-bad", 1)]
    assert box.told == list(box.violations)
    assert box.violations[0].target == ("bad.below.example" if environment else "bad.below.example:80")


NODE = "node -e 'fetch(\"{}://good.example/\").then(r => r.text()).then(console.log)'"
REQUEST = "GET / HTTP/1.1\\r\\nHost: good.example\\r\\n\\r\\n"
CLIENTS = [
    pytest.param("curl -sS http://good.example/", id="curl", marks=needs("curl")),
    pytest.param("curl -sS -x socks5h://127.0.0.1:808 http://good.example/", id="curl SOCKS", marks=needs("curl")),
    pytest.param("curl -sS --proxytunnel http://good.example/", id="curl CONNECT", marks=needs("curl")),
    pytest.param("curl -sS --noproxy '*' http://good.example/", id="curl direct", marks=needs("curl")),
    pytest.param("wget -qO- http://good.example/", id="wget", marks=needs("wget")),
    pytest.param("wget -qO- --no-proxy http://good.example/", id="wget direct", marks=needs("wget")),
    pytest.param(NODE.format("http"), id="node", marks=needs("node")),
    pytest.param("busybox wget -qO- http://good.example/", id="busybox", marks=needs("busybox")),
    pytest.param(f"printf '{REQUEST}' | nc -N good.example 80", id="nc", marks=needs("nc")),
]  # fmt: skip


@pytest.mark.parametrize("command", CLIENTS)
def test_ordinary_clients_reach_what_is_allowed(sandbox: Make, outside, web, command: str) -> None:
    outside.serve("good.example", 80, web("the page"))
    box = sandbox(GOOD)
    found = box.run("sh", "-c", command)
    assert "the page" in found.stdout, found
    assert box.violations == ()
    refused = box.run("sh", "-c", command.replace("good.example", "evil.example"))
    assert "the page" not in refused.stdout
    assert [each.target.partition(":")[0] for each in box.violations] == ["evil.example"]


@needs("getent")
def test_names_are_looked_up_as_policy_says(sandbox: Make, outside) -> None:
    outside.names |= {"good.example": [PUBLIC], "in.below.example": ["10.0.0.1"]}
    box = sandbox(GOOD)
    script = "for n in good.example GOOD.example. absent.below.example evil.example in.below.example localhost; do"
    found = box.run("sh", "-c", f"{script} echo $n $(getent ahostsv4 $n | head -n 1 | cut -d ' ' -f 1); done")
    assert found.stdout == (
        "good.example 127.1.0.1\nGOOD.example. 127.1.0.1\nabsent.below.example\nevil.example\nin.below.example\n"
        "localhost 127.0.0.1\n"
    )
    assert [(each.kind, each.target, each.source) for each in box.violations] == [
        ("dns", "evil.example", "dns"),
        ("dns", "in.below.example", "dns"),
    ]
    assert set(outside.asked) == {"good.example", "absent.below.example", "in.below.example"}


@needs("getent")
def test_a_sandbox_knows_itself_without_asking_policy(sandbox: Make) -> None:
    box = sandbox(GOOD)
    found = box.run("sh", "-c", "getent hosts sandbox $(uname -n) | cut -d ' ' -f 1")
    assert found.stdout == "127.0.1.1\n127.0.1.1\n", found
    assert box.violations == ()


def test_a_family_counts_as_configured(sandbox: Make, outside) -> None:
    outside.names["good.example"] = [PUBLIC]
    code = "import socket as s; print(s.getaddrinfo('good.example', 80, s.AF_INET, 1, 0, s.AI_ADDRCONFIG)[0][4])"
    assert python(sandbox(GOOD), code).stdout == "('127.1.0.1', 80)\n"


@pytest.mark.parametrize("port", [22, 2222], ids=["below 1024", "above"])
def test_a_server_that_speaks_first_is_reached_without_a_proxy(sandbox: Make, outside, port: int) -> None:
    listener = socket.create_server(("127.0.0.1", 0))
    listener.settimeout(patience(30))
    outside.serve("good.example", port, listener.getsockname())

    def server() -> None:
        with listener.accept()[0] as connection:
            connection.sendall(b"SSH-2.0-x\r\n")

    thread = threading.Thread(target=server, daemon=True)
    thread.start()
    code = "import socket, sys; print(socket.create_connection((sys.argv[1], int(sys.argv[2])), 5).recv(99))"
    box = sandbox(Network("listed", (Endpoint("good.example", port, "ssh"),)))
    assert python(box, code, "good.example", str(port)).stdout == "b'SSH-2.0-x\\r\\n'\n"
    thread.join(30)
    listener.close()
    refused = python(box, code, "evil.example", str(port))
    assert (refused.returncode, [each.target for each in box.violations]) == (1, ["evil.example"])


QUERY = """
import socket, sys
query = bytes.fromhex(sys.argv[1])
if sys.argv[2] == "tcp":
    s = socket.create_connection(("127.0.0.1", 53), 5)
    s.sendall(len(query).to_bytes(2, "big") + query)
    print(s.recv(1000)[2:].hex())
else:
    s = socket.socket(type=socket.SOCK_DGRAM)
    s.settimeout(5)
    s.sendto(query, ("127.0.0.1", 53))
    print(s.recv(1000).hex())
"""


@pytest.mark.parametrize("way", ["udp", "tcp"])
def test_dns_is_answered_over_both_transports(sandbox: Make, outside, way: str) -> None:
    outside.names["good.example"] = [PUBLIC]
    question = b"\4good\7example\0\0\1\0\1"
    query = b"\x12\x34\1\0\0\1\0\0\0\0\0\0" + question
    found = python(sandbox(GOOD), QUERY, query.hex(), way)
    answer = b"\x12\x34\x81\x80\0\1\0\1\0\0\0\0" + question + b"\xc0\x0c\0\1\0\1\0\0\0\x3c\0\4\x7f\1\0\1"
    assert found.stdout.strip() == answer.hex(), found


def test_servers_of_the_sandbox_itself_work_and_are_not_ours(sandbox: Make, outside, web) -> None:
    outside.serve("good.example", 8080, web("outside"))
    script = """
import http.server, threading, urllib.request as u, socket
class H(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200); self.end_headers(); self.wfile.write(b"inside")
    def log_message(self, *a): pass
s = http.server.HTTPServer(("127.0.0.1", 8080), H)
threading.Thread(target=s.serve_forever, daemon=True).start()
print(u.urlopen("http://good.example:8080/").read(), u.urlopen("http://127.0.0.1:8080/").read(), u.urlopen("http://localhost:8080/").read())
u.install_opener(u.build_opener(u.ProxyHandler({})))
print(u.urlopen("http://good.example:8080/").read(), u.urlopen("http://127.0.0.1:8080/").read())
"""
    box = sandbox(Network("listed", (Endpoint("good.example", 8080, "r"),)))
    found = python(box, script)
    assert found.stdout == "b'outside' b'inside' b'inside'\nb'outside' b'inside'\n", found
    assert box.violations == ()


def test_an_address_that_policy_names_is_reached_without_a_proxy(sandbox: Make, outside, web) -> None:
    outside.places["192.0.2.7", 8080] = web("there")
    box = sandbox(Network("listed", (Endpoint("192.0.2.7", 8080, "r"),)))
    assert python(box, FETCH, "http://192.0.2.7:8080/", **NO_PROXY).stdout == "there\n"
    assert python(box, CONNECT, "192.0.2.8", "8080").stdout.startswith("OSError")


def test_open_reaches_any_public_host_but_nothing_inside(sandbox: Make, outside, web) -> None:
    outside.serve("any.example", 8123, web("public"))
    place = web("mine")
    box = sandbox(Network("open"))
    assert python(box, FETCH, "http://any.example:8123/").stdout == "public\n"
    assert python(box, FETCH, f"http://127.0.0.1:{place[1]}/", no_proxy="").returncode == 1
    assert [each.target for each in box.violations] == [f"127.0.0.1:{place[1]}"]


@pytest.fixture
def secure(tmp_path: Path, outside) -> Iterator[tuple[Egress, Authority, Path]]:
    """An egress that trusts servers of ours."""
    if not authority.available():
        pytest.skip("the package cryptography is not installed")
    made = Authority()
    path = tmp_path / "trusted.pem"
    path.write_bytes(made.certificate())
    with egress_of(outside.resolve, outside.route, str(path)) as egress:
        yield egress, made, path
    made.close()


SECURE_CLIENTS = [
    pytest.param("curl -sS https://good.example/", id="curl", marks=needs("curl")),
    pytest.param("curl -sS --noproxy '*' https://good.example/", id="curl direct", marks=needs("curl")),
    pytest.param(f"{PYTHON} -c '{FETCH}' https://good.example/", id="python"),
    pytest.param(NODE.format("https"), id="node", marks=needs("node")),
    pytest.param("git ls-remote https://good.example/x; :", id="git", marks=needs("git")),
]  # fmt: skip


@pytest.mark.parametrize("command", SECURE_CLIENTS)
def test_clients_trust_what_adding_a_header_takes(secure, outside, web, tmp_path, monkeypatch, command: str) -> None:
    egress, made, _path = secure
    monkeypatch.setenv("GATEWAY_TEST_SECRET", "s3cret")
    seen: list[dict[str, str]] = []
    outside.serve("good.example", 443, web("the page", made.context("good.example"), seen))
    network = GOOD.replace(inject=(Injection("good.example", "Authorization", "env:GATEWAY_TEST_SECRET", "Bearer {}"),))
    box = Sandbox(egress, network, tmp_path)
    found = box.run("sh", "-c", command)
    assert {each["Authorization"] for each in seen} == {"Bearer s3cret"}, found
    assert box.violations == ()


READS = Network("listed", (Endpoint("good.example", 0, "reads", "read"),))
READERS = [
    SECURE_CLIENTS[1],
    SECURE_CLIENTS[3],
    pytest.param("curl -sS -d secret https://good.example/", id="curl sends", marks=needs("curl")),
    pytest.param("curl -sS -T /etc/hostname https://good.example/", id="curl uploads", marks=needs("curl")),
    pytest.param("wget -qO- --post-data=secret https://good.example/", id="wget sends", marks=needs("wget")),
]


@pytest.mark.parametrize("command", READERS)
def test_clients_read_from_a_host_that_may_only_be_read_from(
    secure, outside, web, tmp_path, request: pytest.FixtureRequest, command: str
) -> None:
    egress, made, _path = secure
    seen: list[dict[str, str]] = []
    outside.serve("good.example", 443, web("the page", made.context("good.example"), seen))
    sends = request.node.callspec.id.endswith(("sends", "uploads"))
    box = Sandbox(egress, READS, tmp_path)
    found = box.run("sh", "-c", command)
    assert ("the page" in found.stdout, len(seen)) == ((False, 0) if sends else (True, 1)), found
    assert [each.rule for each in box.violations] == (["reads"] if sends else [])
    assert {each["user-agent"] for each in seen} <= {"gateway"}
    full = Sandbox(egress, GOOD, tmp_path)
    told = full.run("sh", "-c", f"cat > /tmp/ca.pem <<'END'\n{made.certificate().decode()}END\n"
                    "export SSL_CERT_FILE=/tmp/ca.pem CURL_CA_BUNDLE=/tmp/ca.pem NODE_EXTRA_CA_CERTS=/tmp/ca.pem\n"
                    + command.replace("wget ", "wget --ca-certificate=/tmp/ca.pem "))  # fmt: skip
    assert ("the page" in told.stdout, full.violations) == (True, ()), told


JAVA = """
import java.net.*;
public class Main {
    public static void main(String[] words) throws Exception {
        URLConnection made = new URL("https://good.example/").openConnection(Proxy.NO_PROXY);
        System.out.println(new String(made.getInputStream().readAllBytes()));
    }
}
"""


@needs("java")
def test_a_program_in_java_reads_by_the_jvms_own_store(secure, outside, web, tmp_path) -> None:
    egress, made, _path = secure
    outside.serve("good.example", 443, web("the page", made.context("good.example")))
    script = f"cat > /tmp/Main.java <<'END'\n{JAVA}END\njava -XX:TieredStopAtLevel=1 /tmp/Main.java"
    box = Sandbox(egress, READS, tmp_path)
    found = box.run("sh", "-c", script, seconds=60)
    assert ("the page" in found.stdout, box.violations) == (True, ()), found


@needs("git")
def test_git_fetches_from_a_host_that_may_only_be_read_from_and_cannot_push(secure, outside, tmp_path: Path) -> None:
    egress, made, _path = secure
    environment = {"HOME": str(tmp_path), "PATH": os.environ["PATH"], "GIT_CONFIG_GLOBAL": "/dev/null"}
    said: list[str] = []

    def git(*words: str) -> str:
        done = subprocess.run(
            ["git", "-c", "user.name=a", "-c", "user.email=a@b", *words], cwd=tmp_path, env=environment, check=True,
            capture_output=True, text=True,
        )  # fmt: skip
        return done.stdout

    git("init", "-q", "-b", "main", "work")
    git("-C", "work", "commit", "-q", "--allow-empty", "-m", "first")
    git("clone", "-q", "--bare", "work", "repo.git")
    git("-C", "repo.git", "config", "http.receivepack", "true")

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            said.append(self.requestline + " " + self.headers.get("User-Agent", ""))
            path, _, query = self.path.partition("?")
            given = {
                **environment, "GIT_PROJECT_ROOT": str(tmp_path), "GIT_HTTP_EXPORT_ALL": "1", "PATH_INFO": path,
                "QUERY_STRING": query, "REQUEST_METHOD": self.command, "REMOTE_ADDR": "x", "REMOTE_USER": "x",
                "CONTENT_TYPE": self.headers.get("Content-Type", ""),
                "CONTENT_LENGTH": self.headers.get("Content-Length", ""),
                "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""),
                "GIT_PROTOCOL": self.headers.get("Git-Protocol", ""),
            }  # fmt: skip
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            done = subprocess.run(["git", "http-backend"], input=body, env=given, capture_output=True, check=False)
            head, _, answer = done.stdout.partition(b"\r\n\r\n")
            fields = dict(line.split(": ", 1) for line in head.decode().split("\r\n") if line)
            self.send_response(int(fields.pop("Status", "200").split(" ")[0]))
            for name, value in fields.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        do_POST = do_GET  # noqa: N815

        def log_message(self, *_arguments: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.socket = made.context("good.example").wrap_socket(
        server.socket, server_side=True, do_handshake_on_connect=False
    )
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
    try:
        outside.serve("good.example", 443, server.server_address[:2])
        script = (
            "git clone -q https://good.example/repo.git x && git -C x log --format=%s && cd x && "
            "git -c user.name=a -c user.email=a@b commit -q --allow-empty -m secret && git push -q origin main"
        )
        box = Sandbox(egress, READS, tmp_path)
        found = box.run("sh", "-c", script)
        assert (found.stdout, found.returncode != 0) == ("first\n", True), found
        assert [each.rule for each in box.violations] == ["reads"]
        assert [line.split(" ")[0] for line in said] == ["GET", "POST", "POST"]
        assert {line.rpartition(" ")[2] for line in said} == {"gateway"}
        assert git("-C", "repo.git", "log", "--format=%s") == "first\n"
        full = Sandbox(egress, GOOD, tmp_path)
        script = (
            f"cat > /tmp/ca.pem <<'END'\n{made.certificate().decode()}END\nexport GIT_SSL_CAINFO=/tmp/ca.pem\n" + script
        )
        assert full.run("sh", "-c", script).returncode == 0
        assert git("-C", "repo.git", "log", "--format=%s") == "secret\nfirst\n"
    finally:
        server.shutdown()
        server.server_close()


@needs("curl")
def test_tls_goes_through_untouched_where_no_header_is_added(secure, outside, web, tmp_path) -> None:
    egress, made, path = secure
    outside.serve("good.example", 443, web("the page", made.context("good.example")))
    box = Sandbox(egress, GOOD, tmp_path)
    trusted = path.read_text()
    command = "cat > /tmp/ca.pem && curl -sS --cacert /tmp/ca.pem https://good.example/"
    found = box.run("sh", "-c", f'printf %s "$CA" | ({command})', CA=trusted)
    assert found.stdout == "the page", found


@needs("git")
def test_git_fetches_from_an_allowed_server(sandbox: Make, outside, tmp_path: Path) -> None:
    """Over its own protocol, which knows no proxy."""
    served = tmp_path / "served"
    served.mkdir()
    environment = {"HOME": str(tmp_path), "PATH": os.environ["PATH"], "GIT_CONFIG_GLOBAL": "/dev/null"}
    for command in (
        ["git", "init", "-q", "work"],
        [
            "git",
            "-C",
            "work",
            "-c",
            "user.name=a",
            "-c",
            "user.email=a@b",
            "commit",
            "-q",
            "--allow-empty",
            "-m",
            "first",
        ],
        ["git", "clone", "-q", "--bare", "work", "repo.git"],
    ):
        subprocess.run(command, cwd=served, env=environment, check=True)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        place = probe.getsockname()
    daemon = subprocess.Popen(
        [
            "git", "daemon", "--reuseaddr", "--export-all", f"--base-path={served}",
            "--listen=127.0.0.1", f"--port={place[1]}",
        ],
        env=environment, stderr=subprocess.DEVNULL, start_new_session=True,
    )  # fmt: skip
    try:
        for _ in range(500):
            try:
                socket.create_connection(place, 1).close()
                break
            except ConnectionRefusedError:
                threading.Event().wait(0.01)
        outside.serve("good.example", 9418, place)
        box = sandbox(GOOD)
        found = box.run("sh", "-c", "git clone -q git://good.example/repo.git x && git -C x log --format=%s")
        assert found.stdout == "first\n", found
        assert box.run("git", "clone", "-q", "git://evil.example/repo.git", "x").returncode != 0
        assert [each.target for each in box.violations] == ["evil.example"]
    finally:
        os.killpg(daemon.pid, 15)
        daemon.wait()


@needs("npm")
def test_npm_asks_an_allowed_registry(sandbox: Make, outside, web) -> None:
    seen: list[dict[str, str]] = []
    outside.serve(
        "good.example",
        80,
        web('{"name": "x", "dist-tags": {"latest": "1.2.3"}, "versions": {"1.2.3": {"version": "1.2.3"}}}', seen=seen),
    )
    box = sandbox(GOOD)
    found = box.run("npm", "view", "--registry=http://good.example/", "x", "version", seconds=60)
    assert found.stdout == "1.2.3\n", found
    assert box.violations == ()


def test_pip_installs_from_an_allowed_index(sandbox: Make, outside, tmp_path: Path) -> None:
    import http.server
    import zipfile

    pip = subprocess.run([sys.executable, "-m", "pip", "--version"], capture_output=True, check=False)
    if pip.returncode:
        pytest.skip("pip is not installed")
    folder = tmp_path / "simple" / "tiny"
    folder.mkdir(parents=True)
    with zipfile.ZipFile(folder / "tiny-1.0-py3-none-any.whl", "w") as wheel:
        wheel.writestr("tiny.py", "VALUE = 7\n")
        wheel.writestr("tiny-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: tiny\nVersion: 1.0\n")
        wheel.writestr(
            "tiny-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nGenerator: x\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        wheel.writestr("tiny-1.0.dist-info/RECORD", "")

    class Handler(http.server.SimpleHTTPRequestHandler):
        def __init__(self, *arguments: object) -> None:
            super().__init__(*arguments, directory=str(tmp_path))  # type: ignore[arg-type]

        def log_message(self, *_arguments: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
    try:
        outside.serve("good.example", 80, server.server_address[:2])
        command = f"{shlex.quote(sys.executable)} -m pip --isolated --no-cache-dir install -q"
        command += " --disable-pip-version-check --trusted-host good.example -i http://good.example/simple/"
        command += " --target /tmp/t tiny"
        box = sandbox(GOOD)
        found = box.run("sh", "-c", f"{command} && cat /tmp/t/tiny.py", seconds=60)
        assert found.stdout == "VALUE = 7\n", found
        assert box.violations == ()
    finally:
        server.shutdown()
        server.server_close()


def test_the_files_tell_programs_where_names_are_looked_up(egress: Egress) -> None:
    assert egress.files(Network("off")) == ()
    files = dict(egress.files(GOOD))
    assert all(os.path.realpath(path) == path and os.path.isfile(path) for path in files)
    resolver = files.get(os.path.realpath("/etc/resolv.conf"))
    assert resolver in (None, b"nameserver 127.0.0.1\noptions timeout:25 attempts:1\n")
    assert files[os.path.realpath("/etc/hosts")].startswith(b"127.0.0.1 localhost\n::1 localhost ")
    switch = files.get(os.path.realpath("/etc/nsswitch.conf"))
    assert switch is None or [each for each in switch.splitlines() if b"hosts:" in each] == [b"hosts: files dns"]


def test_the_variables_are_constant_and_name_the_proxy_in_both_spellings(egress: Egress) -> None:
    proxy, own = "http://127.0.0.1:808", "localhost,127.0.0.1,127.0.0.0/8,::1,.localhost"
    assert egress.environment(Network("off")) == ()
    assert egress.environment(GOOD) == (
        ("ALL_PROXY", proxy), ("HTTPS_PROXY", proxy), ("HTTP_PROXY", proxy), ("NO_PROXY", own),
        ("all_proxy", proxy), ("http_proxy", proxy), ("https_proxy", proxy), ("no_proxy", own),
    )  # fmt: skip
