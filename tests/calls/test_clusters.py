"""Clusters of Kubernetes with the real kubectl: read with the person's own authority and login, of which nothing is in
the sandbox, and nothing but reads arrives."""

from __future__ import annotations

import base64
import datetime
import gzip
import json
import os
import shutil
import ssl
import tempfile
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from gateway.calls.containing import cannot_contain
from gateway.model.facts import TEMPORARY
from gateway.sandbox.egress.authority import Authority

from .person import HOME, SYSTEM_PATH, opened, run, said

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gateway.api.gateway import Gateway


pytestmark = [
    pytest.mark.skipif(bool(cannot_contain()), reason="namespaces do not hold here"),
    pytest.mark.skipif(f"{HOME}/".startswith(tuple(f"{each}/" for each in TEMPORARY)), reason="HOME is anybody's"),
    pytest.mark.skipif(shutil.which("kubectl", path=SYSTEM_PATH) is None, reason="kubectl is not installed"),
]
HOST, PORT = "cluster.example.com", 6443
HELM = shutil.which("helm")


def _kind(name: str, kind: str) -> dict[str, Any]:
    verbs = ["get", "list", "watch", "delete", "create"]
    return {"name": name, "singularName": kind.lower(), "namespaced": True, "kind": kind, "verbs": verbs}


def _listed(kind: str, *names: str) -> dict[str, Any]:
    items = [{"apiVersion": "v1", "kind": kind, "metadata": {"name": each, "namespace": "web"}} for each in names]
    return {"kind": f"{kind}List", "apiVersion": "v1", "metadata": {}, "items": items}


ANSWERS: dict[str, Any] = {
    "/version": {"major": "1", "minor": "32", "gitVersion": "v1.32.0"},
    "/api": {"kind": "APIVersions", "versions": ["v1"]},
    "/apis": {"kind": "APIGroupList", "apiVersion": "v1", "groups": []},
    "/api/v1": {
        "kind": "APIResourceList", "groupVersion": "v1", "resources": [_kind("pods", "Pod"), _kind("secrets", "Secret")]
    },
    "/api/v1/namespaces/web/pods": _listed("Pod", "web-1"),
    "/api/v1/namespaces/web/pods/web-1": _listed("Pod",
    "web-1")["items"][0] | {"spec": {"containers": [{"name": "c"}]}},
    "/api/v1/namespaces/web/pods/web-1/log": "started\n",
    "/api/v1/namespaces/web/secrets": _listed("Secret", "the-secret"),
    "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews": {
        "kind": "SelfSubjectAccessReview", "apiVersion": "authorization.k8s.io/v1", "status": {"allowed": True}
    },
}  # fmt: skip


def _release() -> dict[str, Any]:
    """What helm keeps of a release."""
    said = {
        "name": "shop", "namespace": "web", "version": 1, "info": {"status": "deployed"}, "config": {"key": "hidden"},
        "chart": {"metadata": {"name": "shop", "version": "1.0.0", "apiVersion": "v2"}},
    }  # fmt: skip
    packed = base64.b64encode(gzip.compress(json.dumps(said).encode()))
    found: dict[str, Any] = _listed("Secret", "sh.helm.release.v1.shop.v1")
    found["items"][0]["data"] = {"release": base64.b64encode(packed).decode()}
    found["items"][0]["metadata"]["labels"] = {"owner": "helm", "name": "shop", "status": "deployed", "version": "1"}
    return found


def certified(name: str) -> tuple[bytes, bytes]:
    """A certificate that vouches for itself, and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
    now = datetime.datetime.now(datetime.UTC)
    builder = x509.CertificateBuilder(subject, subject, key.public_key(), 1, now, now + datetime.timedelta(days=1))
    made = builder.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)
    form, plain = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    return made, key.private_bytes(serialization.Encoding.PEM, form, plain)


def data(found: bytes) -> str:
    return base64.b64encode(found).decode()


class World:
    """A person's home and project, and a server that is the cluster."""

    def __init__(self, top: Path) -> None:
        self.top, self.home, self.work = top, top / "home", top / "work"
        self.seen: list[tuple[str, str]] = []  # method and target of each request
        self.logins: set[tuple[str, str, str]] = set()  # by header, by certificate, for whom
        self.authority = Authority()
        for name in ("home/.kube/pki", "work", "policies"):
            (top / name).mkdir(parents=True)
        self.certificate, key = certified("cert-person")
        pki = self.home / ".kube/pki"
        (pki / "ca.pem").write_bytes(self.authority.certificate())
        (pki / "me.pem").write_bytes(self.certificate)
        (pki / "me.key").write_bytes(key)
        (pki / "token").write_text("from-a-file\n")
        users = {
            "tok": {"token": "in-the-file"},
            "file": {"tokenFile": "pki/token"},
            "basic": {"username": "me", "password": "pass"},
            "cert": {"client-certificate": "pki/me.pem", "client-key": "pki/me.key"},
            "inline": {"client-certificate-data": data(self.certificate), "client-key-data": data(key)},
            "for": {"token": "in-the-file", "as": "dev", "as-groups": ["a", "b"]},
            "run": {"exec": {"command": "id", "apiVersion": "client.authentication.k8s.io/v1"}},
        }
        server = f"https://{HOST}:{PORT}"
        clusters = {
            "c": {"server": server, "certificate-authority": "pki/ca.pem"},
            "named": {
                "server": "https://10.1.2.3:6443", "certificate-authority-data": data(self.authority.certificate()),
                "tls-server-name": HOST,
            },
            "foreign": {"server": "https://foreign.example.com", "certificate-authority-data": data(self.certificate)},
            "trusting": {"server": server, "insecure-skip-tls-verify": True},
            # As of `kind`, at a port of this machine
            "near": {
                "server": "https://127.0.0.1:34567", "tls-server-name": HOST,
                "certificate-authority-data": data(self.authority.certificate()),
            },
        }  # fmt: skip
        contexts = {name: {"cluster": "c", "user": name, "namespace": "web"} for name in users}
        contexts |= {
            name: {"cluster": name, "user": "tok", "namespace": "web"}
            for name in ("named", "foreign", "trusting", "near")
        }
        self.write(current="tok", clusters=clusters, users=users, contexts=contexts)
        self.says("extends: [daily, remote-reading]")

    def write(self, current: str, **lists: dict[str, dict[str, Any]]) -> None:
        whole: dict[str, Any] = {"current-context": current}
        for plural, named in lists.items():
            whole[plural] = [{"name": name, plural[:-1]: said} for name, said in named.items()]
        (self.home / ".kube/config").write_text(json.dumps(whole))

    def says(self, text: str) -> None:
        (self.top / "policies/user.yaml").write_text(f"version: 1\n{text}\n")

    @contextmanager
    def opened(self) -> Iterator[Gateway]:
        world = self

        class Cluster(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                self.rfile.read(int(self.headers.get("Content-Length") or 0))
                world.seen.append((self.command, self.path))
                connection: Any = self.connection
                subject = dict(each[0] for each in (connection.getpeercert() or {}).get("subject", ()))
                who = ",".join(
                    self.headers.get_all("Impersonate-User", []) + self.headers.get_all("Impersonate-Group", [])
                )
                world.logins.add((self.headers.get("Authorization", ""), subject.get("commonName", ""), who))
                found = ANSWERS.get(self.path.partition("?")[0])
                answer = found.encode() if isinstance(found, str) else json.dumps(found).encode()
                self.send_response(200 if found else 404)
                self.send_header("Content-Type", "text/plain" if isinstance(found, str) else "application/json")
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            do_POST = do_PUT = do_PATCH = do_DELETE = do_GET  # noqa: N815

            def log_message(self, *_said: object) -> None:
                pass

        context = self.authority.context(HOST)
        context.verify_mode = ssl.CERT_OPTIONAL
        context.load_verify_locations(cadata=self.certificate.decode())
        more = {"PATH": f"{SYSTEM_PATH}:{os.path.dirname(HELM)}"} if HELM else {}
        with opened(self.top, Cluster, context, **more) as gateway:
            yield gateway


@pytest.fixture
def world() -> Iterator[World]:
    top = Path(tempfile.mkdtemp(prefix="clusters-", dir=HOME))
    try:
        yield World(top)
    finally:
        shutil.rmtree(top)


BASIC = "Basic " + data(b"me:pass")
LOGINS = {
    "tok": ("Bearer in-the-file", "", ""),
    "file": ("Bearer from-a-file", "", ""),
    "basic": (BASIC, "", ""),
    "cert": ("", "cert-person", ""),
    "inline": ("", "cert-person", ""),
    "for": ("Bearer in-the-file", "", "dev,a,b"),
    "named": ("Bearer in-the-file", "", ""),
    "near": ("Bearer in-the-file", "", ""),
}


def test_kubectl_reads_with_every_kind_of_login_and_the_call_sees_none(world: World) -> None:
    with world.opened() as gateway:
        for context, login in LOGINS.items():
            world.logins.clear()
            done = run(gateway, f"kubectl --context {context} get pods -l app=x --chunk-size 5 -o name")
            assert said(done) == ("allow", "pod/web-1\n"), (context, done.result.stderr, done.result.violations)
            assert world.logins == {login}, context
            assert world.seen[-1] == ("GET", "/api/v1/namespaces/web/pods?labelSelector=app%3Dx&limit=5")
        for text, shown in (
            ("kubectl logs web-1 --tail=5", "started\n"),
            ("kubectl auth can-i get pods", "yes\n"),
            ("kubectl describe pod web-1 | head -1", "Name:         web-1\n"),
            ("kubectl api-resources -o name", "pods\nsecrets\n"),
        ):
            assert said(run(gateway, text)) == ("allow", shown), text
        world.seen.clear()
        done = run(gateway, "kubectl --context foreign get pods")
        assert (said(done), done.result.status, world.seen) == (("allow", ""), 1, [])
        for text in ("kubectl get secrets", "kubectl --context run get pods", "kubectl --context trusting get pods"):
            assert run(gateway, text).verdict.decision.word == "ask", text
        assert world.seen == []


TRIED = {
    "kubectl get pods -o name": "pod/web-1",
    "NO_PROXY=* HTTPS_PROXY= kubectl get pods -o name": "pod/web-1",
    "kubectl get secrets -o name": "`secrets` hold what is kept as a secret",
    "kubectl get --raw /api/v1/watch/secrets": "leads on to anything",
    "kubectl delete pod web-1": "DELETE is no way to read",
    "kubectl exec web-1 -- id": "it asks to change to another protocol",
    "kubectl --as root get pods": "it would act for another",
    "kubectl --token mine get pods": "it does not log in by the kubeconfig",
    "kubectl --context run get pods": "which may run a program",
    "kubectl -s https://other.example.com:6443 --request-timeout 5 get pods": "Refused by gateway: other.example.com",
    "kubectl --kubeconfig mine get pods": "it does not log in by the kubeconfig",
    "cat $KUBECONFIG ~/.kube/config": "/run/gateway-certificates.pem",
    "ls ~/.kube/pki": "No such file",
}


def test_code_that_reads_a_cluster_of_the_settings_can_do_no_more(world: World) -> None:
    whole = json.loads((world.home / ".kube/config").read_text())
    whole["users"] = [{"name": "tok", "user": {"token": "of-the-calls-own"}}]
    whole["clusters"][0]["cluster"] = {"server": f"https://{HOST}:{PORT}"}
    (world.work / "mine").write_text(json.dumps(whole))
    # As with many a person the file itself lies elsewhere; what it names lies beside its name.
    (world.home / "dotfiles").mkdir()
    (world.home / ".kube/config").rename(world.home / "dotfiles/kube")
    (world.home / ".kube/config").symlink_to("../dotfiles/kube")
    lines = [f"echo '== {number}'; {text} 2>&1" for number, text in enumerate(TRIED)]
    (world.work / "tries.sh").write_text("\n".join(lines) + "\n")
    host = f"{{host: {HOST}, access: read, also: kubernetes}}"
    world.says(f"rules: [{{id: tries, allow: {{command: bash tries.sh}}}}]\nsettings: {{sandbox: {{hosts: [{host}]}}}}")
    with world.opened() as gateway:
        word, shown = said(run(gateway, "bash tries.sh"))
    answers = [each.partition("\n")[2] for each in shown.split("== ")[1:]]
    assert (word, len(answers)) == ("allow", len(TRIED))
    for (text, expected), answer in zip(TRIED.items(), answers, strict=True):
        assert expected in answer, (text, answer)
    assert not [each for each in ("in-the-file", "pass", "the-secret") if each in shown.replace("passes", "")]
    assert {method for method, _target in world.seen} == {"GET"}
    assert world.logins == {("Bearer in-the-file", "", "")}


@pytest.mark.skipif(HELM is None, reason="helm is not installed")
def test_helm_reads_its_releases_the_same_way(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(ANSWERS, "/api/v1/namespaces/web/secrets", _release())
    monkeypatch.setitem(ANSWERS, "/api/v1/namespaces/web/secrets/sh.helm.release.v1.shop.v1", _release()["items"][0])
    with world.opened() as gateway:
        for text in (
            "helm list -q",
            "helm history shop --max 5 -o json | grep -o shop-1.0.0",
            "helm status shop | head -1",
        ):
            done = run(gateway, text)
            assert done.verdict.decision.word == "allow", text
            assert "shop" in done.result.stdout.decode(), (text, done.result.stderr, done.result.violations, world.seen)
        assert world.logins == {("Bearer in-the-file", "", "")}
        assert {method for method, _target in world.seen} == {"GET"}
        assert run(gateway, "helm get values shop").verdict.decision.word == "ask"
