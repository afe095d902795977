"""Clusters on the wire: whose login goes to which server, and what arrives there at all. What is refused arrives where
the same place may be reached in full."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import datetime
import json
import queue
import socket
import ssl
import threading
from typing import TYPE_CHECKING, Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from networks import egress_of
from patience import patience

from gateway.commands.steering.cluster_logins import stand_in
from gateway.model.plan import CLUSTER, Endpoint, Logins, Network
from gateway.sandbox.base import SandboxError
from gateway.sandbox.egress import serve as serving
from gateway.sandbox.egress.authority import Authority
from gateway.sandbox.egress.clusters import Clusters
from gateway.sandbox.egress.decide import Rules
from gateway.sandbox.egress.dial import Dialler
from gateway.sandbox.egress.outside import Outside as Shared
from gateway.sandbox.egress.report import Report
from gateway.sandbox.egress.surroundings import CERTIFICATES

from .conftest import Outside

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

HOST, PORT = "cluster.acme.com", 6443
READS = Network("listed", (Endpoint(HOST, PORT, "reads", "read", also=(CLUSTER,)),))
FULL = Network("listed", (Endpoint(HOST, PORT, "full"),))
PODS = "/api/v1/namespaces/web/pods"
ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


def certified(name: str, password: bytes = b"") -> tuple[str, str]:
    """A certificate that vouches for itself, and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
    now = datetime.datetime.now(datetime.UTC)
    builder = x509.CertificateBuilder(subject, subject, key.public_key(), 1, now, now + datetime.timedelta(days=1))
    made = builder.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)
    form = serialization.PrivateFormat.PKCS8
    closed = serialization.BestAvailableEncryption(password) if password else serialization.NoEncryption()
    return made.decode(), key.private_bytes(serialization.Encoding.PEM, form, closed).decode()


def data(found: str) -> str:
    return base64.b64encode(found.encode()).decode()


class Server:
    """A cluster that answers everything, and remembers what came: the login by certificate, and the bytes."""

    def __init__(self, context: ssl.SSLContext, trusted: str) -> None:
        context.verify_mode = ssl.CERT_OPTIONAL
        context.load_verify_locations(cadata=trusted)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.place = self._listener.getsockname()
        self._context = context
        self.got: list[tuple[str, bytes]] = []
        self._serving: queue.SimpleQueue[tuple[Any, threading.Thread]] = queue.SimpleQueue()
        self._accepting = threading.Thread(target=self._run)
        self._accepting.start()

    def _run(self) -> None:
        while True:
            try:
                connection, client = self._listener.accept()
            except OSError:
                return
            thread = threading.Thread(target=self._serve, args=(connection,))
            thread.start()
            self._serving.put((client, thread))

    def _serve(self, connection: socket.socket) -> None:
        with connection, contextlib.suppress(OSError):
            connection.settimeout(patience(5))
            with self._context.wrap_socket(connection, server_side=True) as stream:
                found: Any = stream.getpeercert() or {}
                who = dict(each[0] for each in found.get("subject", ())).get("commonName", "")
                while text := stream.recv(65536):
                    self.got.append((who, text))
                    stream.sendall(ANSWER)

    def taken(self) -> list[tuple[str, bytes]]:
        """What has come until now, of clients that have gone; it is not remembered any more."""
        with socket.create_connection(self.place) as last:  # whoever came before is accepted before
            own = last.getsockname()
        client = None
        while client != own:
            client, thread = self._serving.get(timeout=patience(5))
            thread.join(patience(5))
        found, self.got = self.got, []
        return found

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._accepting.join()
        while not self._serving.empty():
            self._serving.get()[1].join()


class Wire:
    """A person's kubeconfig, a cluster, and a call that speaks to the proxy between them."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.made = folder, Authority()
        self.authority = self.made.certificate().decode()
        self.certificates = {name: certified(name) for name in ("ann", "bob")}
        trusted = "".join(certificate for certificate, _key in self.certificates.values())
        self.server = Server(self.made.context(HOST), trusted)
        self.outside = Outside()
        self.outside.serve(HOST, PORT, self.server.place)
        self.egress = egress_of(self.outside.resolve, self.outside.route)

    def config(
        self, users: dict[str, Any], name: str = "config", server: str = f"https://{HOST}:{PORT}", **cluster: Any
    ) -> Logins:
        """A kubeconfig with one cluster, for which there is a context for each user."""
        trust = cluster or {"certificate-authority-data": data(self.authority)}
        whole = {
            "clusters": [{"name": "c", "cluster": {"server": server, **trust}}],
            "users": [{"name": name, "user": user} for name, user in users.items()],
            "contexts": [{"name": name, "context": {"cluster": "c", "user": name}} for name in users],
        }
        path = self.folder / name
        path.write_text(json.dumps(whole))
        return Logins((str(path),), tuple(("c", name) for name in users))

    def send(self, network: Network, *requests: bytes) -> tuple[list[tuple[str, bytes]], bytes, int]:
        """What the cluster got of the requests of one call, each over a connection of its own, what the last was
        answered, and how many bytes were counted as the client's own choice."""

        async def serve() -> tuple[bytes, int]:
            clusters = Clusters(network.logins, self.egress._fresh)
            shared = Shared(
                Rules(network), Dialler(self.outside.resolve, self.outside.route), Report(lambda _each: None),
                self.made, lambda: self.egress._fresh(self.authority), {}.get, clusters=clusters,
            )  # fmt: skip
            answer = b""
            async with asyncio.timeout(patience(20)):
                for text in requests:
                    ours, theirs = socket.socketpair()
                    with ours, theirs:
                        ours.sendall(text)
                        ours.shutdown(socket.SHUT_WR)
                        theirs.setblocking(False)
                        await serving.Connection(shared, theirs).run(None)
                        theirs.close()
                        ours.settimeout(patience(5))
                        answer = b""
                        while more := ours.recv(65536):
                            answer += more
            shared.spare.close()
            return answer, sum(size for _host, _requests, size in shared.said.counts())

        answer, said = asyncio.run(serve())
        return self.server.taken(), answer, said


@pytest.fixture(scope="module")
def wire(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Wire]:
    found = Wire(tmp_path_factory.mktemp("clusters"))
    yield found
    found.server.close()
    found.egress.close()
    found.made.close()


def request(
    target: str = PODS, user: str = "tok", fields: str = "", method: str = "GET", body: str = "", url: str = ""
) -> bytes:
    login = f"Authorization: Bearer {stand_in(user)}\r\n" if user else ""
    url = url or f"https://{HOST}:{PORT}"
    return f"{method} {url}{target} HTTP/1.1\r\nHost: {url.partition('://')[2]}\r\n{login}{fields}\r\n{body}".encode()


def logins(sent: Sequence[tuple[str, bytes]]) -> list[tuple[str, list[str]]]:
    """Of what arrived, each as who it was by certificate, and its fields that log in."""
    found = []
    for who, text in sent:
        lines = text.decode().split("\r\n")
        found.append((who, [line for line in lines if line.lower().startswith(("authorization", "impersonate"))]))
    return found


TOKEN = {"tok": {"token": "the-token"}}


@pytest.mark.parametrize(
    ("user", "expected"),
    [
        ({"token": "the-token"}, ["Authorization: Bearer the-token"]),
        ({"username": "me", "password": "pass"}, ["Authorization: Basic " + data("me:pass")]),
        ({"tokenFile": "token", "token": "old"}, ["Authorization: Bearer from-a-file"]),
        ({}, []),
        (
            {"token": "t", "as": "dev", "as-uid": "7", "as-groups": ["a", "b"], "as-user-extra": {"k/x": ["1"]}},
            [
                "Authorization: Bearer t", "Impersonate-User: dev", "Impersonate-Uid: 7", "Impersonate-Group: a",
                "Impersonate-Group: b", "Impersonate-Extra-k%2Fx: 1",
            ],
        ),
    ],
)  # fmt: skip
def test_a_request_goes_with_the_persons_login_in_the_place_of_the_word_for_it(
    wire: Wire, user: dict[str, Any], expected: list[str]
) -> None:
    (wire.folder / "token").write_text("from-a-file\n")
    network = READS.replace(logins=wire.config({"tok": user}))
    sent, answer, _said = wire.send(network, request())
    assert answer.endswith(b"ok"), answer
    assert logins(sent) == [("", expected)]
    assert stand_in("tok").encode() not in sent[0][1]


def test_a_connection_that_one_login_has_opened_carries_no_other(wire: Wire) -> None:
    users: dict[str, Any] = dict(TOKEN)
    for name, (certificate, key) in wire.certificates.items():
        users[name] = {"client-certificate-data": data(certificate), "client-key-data": data(key)}
    network = READS.replace(logins=wire.config(users))
    names = ("ann", "tok", "bob", "ann", "tok")
    sent, _answer, _said = wire.send(network, *[request(user=name) for name in names], request(user="ann"))
    token = ["Authorization: Bearer the-token"]
    assert logins(sent) == [("ann", []), ("", token), ("bob", []), ("ann", []), ("", token), ("ann", [])]


def test_certificates_and_authorities_are_found_beside_the_kubeconfig(wire: Wire) -> None:
    certificate, key = wire.certificates["ann"]
    for name, text in (("ca.pem", wire.authority), ("me.pem", certificate), ("me.key", key)):
        (wire.folder / name).write_text(text)
    users = {"tok": {"client-certificate": "me.pem", "client-key": "./x/../me.key"}}
    network = READS.replace(logins=wire.config(users, **{"certificate-authority": "ca.pem"}))
    assert logins(wire.send(network, request())[0]) == [("ann", [])]


OTHER = certified("other")
UNPROVEN = ("another authority", "no authority of its own", "another name")
UNUSABLE: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "another authority": ({"certificate-authority-data": data(OTHER[0])}, {"token": "x"}),
    "no authority of its own": ({"disable-compression": "true"}, {"token": "x"}),
    "another name": ({"tls-server-name": "other.example"}, {"token": "x"}),
    "it need not prove anything": ({"insecure-skip-tls-verify": True}, {"token": "x"}),
    "an authority that is none": ({"certificate-authority-data": data("nothing")}, {"token": "x"}),
    "an authority that is missing": ({"certificate-authority": "none.pem"}, {"token": "x"}),
    "by way of somebody else": ({"proxy-url": "http://evil.example"}, {"token": "x"}),
    "a program": ({}, {"exec": {"command": "id"}}),
    "a plugin": ({}, {"auth-provider": {"name": "gcp"}, "token": "x"}),
    "a token that is missing": ({}, {"tokenFile": "none"}),
    "a token of lines": ({}, {"token": "a\r\nX-Other: b"}),
    "a key that is encrypted": ({}, {"client-certificate-data": data(OTHER[0]),
    "client-key-data": data(certified("other", b"x")[1])}),
    "another's key": ({}, {"client-certificate-data": data(OTHER[0]), "client-key-data": data(certified("x")[1])}),
    "no base64": ({}, {"client-certificate-data": "-----"}),
    "groups that are none": ({}, {"token": "x", "as": "a", "as-groups": [{"a": "b"}]}),
}  # fmt: skip


@pytest.mark.parametrize("name", UNUSABLE)
def test_what_cannot_be_sent_safely_is_not_sent(wire: Wire, name: str) -> None:
    cluster, user = UNUSABLE[name]
    trust = {"certificate-authority-data": data(wire.authority)} | cluster if "tls-server-name" in cluster else cluster
    network = READS.replace(logins=wire.config({"tok": user}, **trust))
    sent, answer, _said = wire.send(network, request())
    assert (sent, answer[:12] in (b"HTTP/1.1 403", b"HTTP/1.1 502")) == ([], True), answer
    if name in UNPROVEN:
        assert b"could not log in to the cluster: it does not prove to be the one of the kubeconfig (" in answer
    # What was wrong is alone what stood in the way.
    assert wire.send(READS.replace(logins=wire.config(TOKEN)), request())[0]


HIDDEN = "Impersonate-User: root\r\n"
REFUSED: dict[str, bytes] = {
    "a secret": request("/api/v1/namespaces/web/secrets"),
    "watched": request("/api/v1/watch/secrets"),
    "a command": request(f"{PODS}/x/exec?command=id", fields="Connection: Upgrade\r\nUpgrade: websocket\r\n"),
    "a proxy": request("/api/v1/namespaces/web/services/x/proxy/"),
    "deleted": request(f"{PODS}/x", method="DELETE"),
    "made": request(method="POST", fields="Content-Type: application/json\r\nContent-Length: 2\r\n", body="{}"),
    "a body": request(fields="Content-Length: 2\r\n", body="{}"),
    "an encoded letter": request("/api/v1/%73ecrets"),
    "a path upwards": request(f"{PODS}/../secrets"),
    "in another's name": request(fields=HIDDEN),
    "spelled otherwise": request(fields=HIDDEN.replace("-", "_")),
    "in another group": request(fields="impersonate-group: system:masters\r\n"),
    "no login": request(user=""),
    "a login of its own": request(user="", fields="Authorization: Bearer mine\r\n"),
    "two logins": request(fields="Authorization: Bearer mine\r\n"),
    "an unknown login": request(user="nobody"),
    "tried only": request(f"{PODS}?dryRun=All"),
    "a word": request(f"{PODS}?word=s3cret"),
    "by TRACE": request(method="TRACE"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused_arrives_where_the_place_may_be_reached_in_full(wire: Wire, name: str) -> None:
    network = READS.replace(logins=wire.config(TOKEN))
    sent, answer, said = wire.send(network, REFUSED[name])
    assert (sent, answer[:12], said) == ([], b"HTTP/1.1 403", 0), answer
    assert b"may only be read from" in answer
    assert wire.send(FULL, REFUSED[name])[0]


def test_neither_another_port_nor_the_clear_reaches_a_cluster(wire: Wire) -> None:
    network = READS.replace(logins=wire.config(TOKEN))
    for url in (f"https://{HOST}", f"http://{HOST}", f"https://{HOST}:6444", "https://other.acme.com:6443"):
        sent, answer, _said = wire.send(network, request(url=url))
        assert (sent, answer[:12]) == ([], b"HTTP/1.1 403"), url
    # In the clear to the proxy is not in the clear to the cluster.
    assert logins(wire.send(network, request(url=f"http://{HOST}:{PORT}"))[0])[0][1]


def test_what_else_opens_the_host_does_not_open_the_login(wire: Wire) -> None:
    network = READS.replace(logins=wire.config(TOKEN), allow=(*READS.allow, *FULL.allow, Endpoint("*.acme.com", PORT)))
    assert wire.send(network, request("/api/v1/secrets"))[0] == []
    assert wire.send(network.replace(mode="open"), request("/api/v1/secrets"))[0] == []


def test_what_a_call_chooses_by_selectors_is_counted_and_bounded(wire: Wire) -> None:
    network = READS.replace(logins=wire.config(TOKEN), said=2048)
    target = f"{PODS}?labelSelector={'a' * 900}"
    sent, answer, said = wire.send(network, *[request(target)] * 3)
    assert (len(sent), answer[:12]) == (2, b"HTTP/1.1 403")
    assert 2 * len(target) <= said <= 2048


def test_a_kubeconfig_that_says_something_else_when_the_call_runs_sends_no_login(wire: Wire) -> None:
    network = READS.replace(logins=wire.config(TOKEN))
    changed: list[tuple[dict[str, Any], dict[str, Any]]] = [
        ({"tok": {"exec": {"command": "id"}}}, {}),
        ({"new": {"token": "x"}}, {}),
        (TOKEN, {"server": "https://elsewhere.acme.com:6443"}),
        (TOKEN, {"server": f"https://{HOST}:{PORT}/k8s/clusters/x"}),
    ]
    for users, cluster in changed:
        wire.config(users, **cluster)
        for user in users:
            assert wire.send(network, request(user=user))[0] == [], (users, cluster)
    for text in ("clusters: [", "- a", "a: \udc80"):
        (wire.folder / "config").write_bytes(text.encode("utf-8", "surrogateescape"))
        assert wire.send(network, request())[0] == []
    (wire.folder / "config").unlink()
    assert wire.send(network, request())[0] == []
    wire.config(TOKEN)
    assert wire.send(network, request())[0]


def test_clusters_below_paths_of_one_host_get_each_their_own_login(wire: Wire) -> None:
    base = f"https://{HOST}:{PORT}/k8s/clusters"
    trust = {"certificate-authority-data": data(wire.authority)}
    whole = {
        "clusters": [{"name": name, "cluster": {"server": f"{base}/{name}", **trust}} for name in ("a", "b")],
        "users": [{"name": name, "user": {"token": f"of-{name}"}} for name in ("a", "b")],
        "contexts": [{"name": name, "context": {"cluster": name, "user": name}} for name in ("a", "b")],
    }
    path = wire.folder / "several"
    path.write_text(json.dumps(whole))
    network = READS.replace(logins=Logins((str(path),), (("a", "a"), ("b", "b"))))
    here = "/k8s/clusters/a/api/v1/pods"
    assert logins(wire.send(network, request(here, "a"))[0]) == [("", ["Authorization: Bearer of-a"])]
    for target, user in (
        (here, "b"),
        ("/k8s/clusters/ab/api/v1/pods", "a"),
        (PODS, "a"),
        ("/k8s/clusters/a/v3/x", "a"),
    ):
        assert wire.send(network, request(target, user))[0] == [], (target, user)
    only = network.replace(logins=Logins((str(path),), (("a", "a"),)))
    assert wire.send(only, request("/k8s/clusters/b/api/v1/pods", "b"))[0] == []


def test_a_call_sees_a_kubeconfig_without_logins_and_finds_it(wire: Wire) -> None:
    network = READS.replace(logins=wire.config(TOKEN | {"me": {"username": "n", "password": "hidden", "as": "x"}}))
    path = network.logins.files[0]
    content = dict(wire.egress.files(network))[path]
    found = json.loads(content)
    assert found["clusters"] == [
        {"name": "c", "cluster": {"server": f"https://{HOST}:{PORT}", "certificate-authority": CERTIFICATES}}
    ]
    assert found["users"] == [{"name": name, "user": {"token": stand_in(name)}} for name in ("tok", "me")]
    assert b"the-token" not in content
    assert b"hidden" not in content
    assert dict(wire.egress.environment(network))["KUBECONFIG"] == path
    (wire.folder / "config").write_text("clusters: [")
    with pytest.raises(SandboxError, match="the login of a cluster cannot be sent for the call"):
        wire.egress.files(network)
