"""The preset `remote-reading` with the real clients: what they read is read as without the gateway, unasked, at the
hosts that the person's settings name, and at no other."""

from __future__ import annotations

import base64
import json
import shutil
import sqlite3
import ssl
import subprocess
import tempfile
import threading
from contextlib import closing, contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from socketserver import ThreadingMixIn, UnixStreamServer
from typing import TYPE_CHECKING, Any, ClassVar

import pytest

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
]


def needs(program: str) -> Any:
    found = shutil.which(program, path=SYSTEM_PATH)
    return pytest.mark.skipif(found is None, reason=f"{program} is not installed")


PODS = {
    "kind": "PodList", "apiVersion": "v1", "metadata": {},
    "items": [{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web-1", "namespace": "web"}}],
}  # fmt: skip
KUBERNETES = {
    "/version": {"major": "1", "minor": "32", "gitVersion": "v1.32.0"},
    "/api": {"kind": "APIVersions", "versions": ["v1"]},
    "/apis": {"kind": "APIGroupList", "apiVersion": "v1", "groups": []},
    "/api/v1": {
        "kind": "APIResourceList", "groupVersion": "v1",
        "resources": [{"name": "pods", "singularName": "pod", "namespaced": True, "kind": "Pod", "verbs": ["list"]}],
    },
    "/api/v1/namespaces/web/pods": PODS,
}  # fmt: skip
TRUST = ("GIT_SSL_CAINFO", "CLOUDSDK_CORE_CUSTOM_CA_CERTS_FILE", "REQUESTS_CA_BUNDLE")
GOOGLE: dict[str, Any] = {
    "/token": {"access_token": "short", "expires_in": 3600, "token_type": "Bearer"},
    "/apis/serving.knative.dev/v1/namespaces/p/services": {"items": [], "kind": "ServiceList", "metadata": {}},
    "/v1/projects": {"projects": [{"projectId": "p", "name": "P", "projectNumber": "1", "lifecycleState": "ACTIVE"}]},
}
TENANT, ACCOUNT = "11111111-1111-1111-1111-111111111111", "22222222-2222-2222-2222-222222222222"
ISSUER = f"https://login.microsoftonline.com/{TENANT}"
AZURE: dict[str, Any] = {
    f"/{TENANT}/v2.0/.well-known/openid-configuration": {
        "authorization_endpoint": f"{ISSUER}/oauth2/v2.0/authorize", "token_endpoint": f"{ISSUER}/oauth2/v2.0/token",
        "issuer": f"{ISSUER}/v2.0",
    },
    f"/{TENANT}/oauth2/v2.0/token": {"access_token": "short", "expires_in": 3600, "token_type": "Bearer"},
    f"/subscriptions/{ACCOUNT}/resourcegroups": {"value": [{"id": "/g", "name": "web", "location": "westeurope"}]},
}  # fmt: skip
HOSTS = {"googleapis.com": GOOGLE, "azure.com": AZURE, "microsoftonline.com": AZURE}


class World:
    """A person's home and project, and one server that is every host outside."""

    def __init__(self, top: Path) -> None:
        self.top, self.home, self.work = top, top / "home", top / "work"
        self.seen: list[tuple[str, str, str]] = []  # method, host and login of each request
        self.resolved: list[str] = []
        self.authority = Authority()
        for name in ("home/.kube", "work", "policies", "served/a"):
            (top / name).mkdir(parents=True)
        authority = self.authority.certificate()
        (self.work / "ca.pem").write_bytes(authority)
        (top / "policies/user.yaml").write_text(
            "version: 1\nextends: [daily, remote-reading]\n"
            f"settings: {{sandbox: {{set: {{{', '.join(f'{name}: {self.work}/ca.pem' for name in TRUST)}}}}}}}\n"
        )
        trust = {"certificate-authority-data": base64.b64encode(authority).decode()}
        config = {
            "current-context": "web",
            "clusters": [{"name": "c", "cluster": {"server": "https://cluster.example.com:6443", **trust}}],
            "users": [{"name": "ann", "user": {"token": "ann"}}, {"name": "run", "user": {"exec": {"command": "id"}}}],
            "contexts": [
                {"name": "web", "context": {"cluster": "c", "user": "ann", "namespace": "web"}},
                {"name": "run", "context": {"cluster": "c", "user": "run"}},
            ],
        }  # fmt: skip
        (self.home / ".kube/config").write_text(json.dumps(config))

    def repository(self) -> None:
        def git(*words: object) -> None:
            settings = ("-c", "user.name=t", "-c", "user.email=t@t", "-c", "init.defaultBranch=main")
            environment = {"PATH": SYSTEM_PATH, "HOME": str(self.home)}
            subprocess.run(["git", *settings, *map(str, words)], check=True, capture_output=True, env=environment)

        source = self.top / "source"
        git("init", source)
        git("-C", source, "commit", "--allow-empty", "-m", "from there")
        git("clone", "--bare", source, self.top / "served/a/b.git")
        git("init", self.work)
        git("-C", self.work, "remote", "add", "origin", "https://github.com/a/b.git")

    def google(self) -> Path:
        """The folder of a person's login at Google."""
        folder = self.home / ".config/gcloud"
        (folder / "configurations").mkdir(parents=True)
        (folder / "active_config").write_text("default")
        (folder / "configurations/config_default").write_text("[core]\naccount = ann@example.com\nproject = p\n")
        login = {"type": "authorized_user", "client_id": "c", "client_secret": "s", "refresh_token": "r"}
        with closing(sqlite3.connect(folder / "credentials.db")) as store:
            store.execute('CREATE TABLE "credentials" (account_id TEXT PRIMARY KEY, value BLOB)')
            store.execute("INSERT INTO credentials VALUES (?, ?)", ("ann@example.com", json.dumps(login)))
            store.commit()
        return folder

    def azure(self) -> Path:
        """The folder of a person's login at Azure."""
        folder = self.home / ".azure"
        folder.mkdir()
        account = {
            "id": ACCOUNT, "name": "a", "state": "Enabled", "user": {"name": "app", "type": "servicePrincipal"},
            "isDefault": True, "tenantId": TENANT, "environmentName": "AzureCloud", "homeTenantId": TENANT,
        }  # fmt: skip
        login = {"client_id": "app", "tenant": TENANT, "client_secret": "long"}
        (folder / "azureProfile.json").write_text(json.dumps({"subscriptions": [account]}))
        (folder / "service_principal_entries.json").write_text(json.dumps([login]))
        (folder / "config").write_text("[core]\nencrypt_token_cache = false\n")
        return folder

    def add(self, policy: str) -> None:
        with (self.top / "policies/user.yaml").open("a") as file:
            file.write(policy)

    @contextmanager
    def opened(self, **variables: str) -> Iterator[Gateway]:
        world = self

        class Hosts(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                host = self.headers["Host"].partition(":")[0]
                world.seen.append((self.command, host, self.headers.get("Authorization", "")))
                path, _, query = self.path.partition("?")
                if host == "github.com":
                    status, kind, answer = world.git(self, path, query, body)
                else:
                    found = HOSTS.get(host.partition(".")[2], KUBERNETES).get(path)
                    status, kind, answer = 200 if found else 404, "application/json", json.dumps(found).encode()
                self.send_response(status)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def do_POST(self) -> None:
                self.do_GET()

            def log_message(self, *_said: object) -> None:
                pass

        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.sni_callback = lambda connection, name, _: setattr(
            connection, "context", self.authority.context(str(name))
        )
        with opened(self.top, Hosts, context, self.resolve, **variables) as gateway:
            yield gateway

    def resolve(self, name: str) -> list[str]:
        self.resolved.append(name)
        return ["93.184.216.34"]

    def git(self, request: BaseHTTPRequestHandler, path: str, query: str, body: bytes) -> tuple[int, str, bytes]:
        environment = {
            "GIT_PROJECT_ROOT": str(self.top / "served"), "GIT_HTTP_EXPORT_ALL": "1", "PATH_INFO": path,
            "QUERY_STRING": query, "REQUEST_METHOD": request.command, "PATH": SYSTEM_PATH,
            "CONTENT_TYPE": request.headers.get("Content-Type", ""), "HOME": str(self.home),
            "GIT_PROTOCOL": request.headers.get("Git-Protocol", ""),
            "HTTP_CONTENT_ENCODING": request.headers.get("Content-Encoding", ""),
        }  # fmt: skip
        done = subprocess.run(["git", "http-backend"], input=body, env=environment, capture_output=True, check=True)
        head, _, answer = done.stdout.partition(b"\r\n\r\n")
        fields = dict(line.split(": ", 1) for line in head.decode().splitlines())
        return int(fields.get("Status", "200").split()[0]), fields.get("Content-Type", "text/plain"), answer


@pytest.fixture
def world() -> Iterator[World]:
    top = Path(tempfile.mkdtemp(prefix="remote-reading-", dir=HOME))
    try:
        yield World(top)
    finally:
        shutil.rmtree(top)


@needs("kubectl")
def test_kubectl_reads_the_cluster_of_the_kubeconfig_unasked_and_changes_nothing_there(world: World) -> None:
    with world.opened() as gateway:
        assert said(run(gateway, "kubectl get pods -o name")) == ("allow", "pod/web-1\n")
        assert {(method, host) for method, host, _login in world.seen} == {("GET", "cluster.example.com")}
        assert "Bearer ann" in {login for _method, _host, login in world.seen}
        world.seen.clear()
        for text in ("kubectl get secret/x", "kubectl delete pod web-1", "kubectl --context run get pods"):
            assert run(gateway, text).verdict.decision.word == "ask", text
        # What the analysis did not predict has neither the login nor the host.
        assert said(run(gateway, "cat ~/.kube/config"))[1] == ""
        assert world.seen == []
        assert set(world.resolved) == {"cluster.example.com"}


@needs("git")
def test_git_fetches_from_the_projects_remote_unasked(world: World) -> None:
    world.repository()
    with world.opened() as gateway:
        assert said(run(gateway, "git fetch -q && git log --format=%s origin/main")) == ("allow", "from there\n")
        assert said(run(gateway, "git ls-remote -q --heads"))[1].split()[1:] == ["refs/heads/main"]
        for text in ("git fetch https://elsewhere.example/a.git", "git fetch origin main:main", "git push"):
            assert run(gateway, text).verdict.decision.word == "ask", text
        assert {host for _method, host, _login in world.seen} == set(world.resolved) == {"github.com"}


class Docker(BaseHTTPRequestHandler):
    """Docker's daemon, with one container and its password."""

    protocol_version = "HTTP/1.1"
    asked: list[tuple[str, str]]
    told: ClassVar[dict[str, Any]] = {
        "version": {"Version": "28.2", "ApiVersion": "1.47"}, "info": {"ID": "d", "Name": "there"},
        "containers/json": [{"Id": "6f", "Names": ["/web"], "Image": "i", "State": "running", "Status": "Up"}],
        "containers/web/json": {"Id": "6f", "Config": {"Tty": True, "Env": ["PASSWORD=hunter2"]}, "State": {}},
        "containers/6f/logs": "it has begun", "networks": [{"Name": "bridge", "Id": "n"}],
        "images/json": [{"Id": "sha256:1", "RepoTags": ["i:1"], "Containers": -1}],
        "volumes": {"Volumes": [{"Name": "data"}]},
    }  # fmt: skip

    def do_GET(self) -> None:
        path = self.path.partition("?")[0].removeprefix("/v1.47/")
        if path != "/_ping":
            self.asked.append((self.command, path))
        found = self.told.get(path)
        body = found.encode() if isinstance(found, str) else json.dumps(found).encode()
        self.send_response(200)
        self.send_header("Api-Version", "1.47")
        self.send_header("Content-Type", "text/plain" if isinstance(found, str) else "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body if self.command != "HEAD" else b"")

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_POST(self) -> None:
        self.do_GET()

    def do_DELETE(self) -> None:
        self.do_GET()

    def address_string(self) -> str:
        return "a client"

    def log_message(self, *_said: object) -> None:
        pass


class SocketServer(ThreadingMixIn, UnixStreamServer):
    daemon_threads = True


@needs("docker")
def test_docker_shows_what_its_daemon_tells_unasked_and_can_do_nothing_else(world: World) -> None:
    path, asked = str(world.top / "docker.sock"), []
    server = SocketServer(path, type("Asked", (Docker,), {"asked": asked}))
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        with world.opened(DOCKER_HOST=f"unix://{path}") as gateway:
            for text, shown in (
                ("docker ps --format '{{.Names}}'", "web\n"), ("docker logs web", "it has begun"),
                ("docker images --format '{{.Repository}}'", "i\n"), ("docker network ls -q", "n\n"),
                ("docker volume ls -q", "data\n"), ("docker info -f '{{.Name}}'", "there\n"),
                ("docker version -f '{{.Server.Version}}'", "28.2\n"), ("docker inspect -f '{{.Id}}' web", "6f\n"),
            ):  # fmt: skip
                done = run(gateway, text)
                assert said(done) == ("allow", shown), (text, done.result.stderr)
            assert {method for method, _path in asked} == {"GET"}
            asked.clear()
            for text in ("docker inspect web", "docker stop web", "docker run i", "docker exec web ls"):
                assert run(gateway, text).verdict.decision.word == "ask", text
            assert said(run(gateway, f"ls {path}"))[1] == ""
            assert asked == []
        world.add("rules: [{id: all, allow: {command: docker *}}]\n")
        with world.opened(DOCKER_HOST=f"unix://{path}") as gateway:
            assert "PASSWORD=hunter2" in said(run(gateway, "docker inspect web"))[1]
            asked.clear()
            for text in (
                "docker stop web",
                "docker rm web",
                "docker export web | wc -c",
                "docker image save i | wc -c",
            ):
                run(gateway, text)
            assert asked == []
        subprocess.run(
            ["docker", "stop", "web"], env={"PATH": SYSTEM_PATH, "DOCKER_HOST": f"unix://{path}"}, check=True
        )
        assert asked == [("POST", "containers/web/stop")]
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@needs("gcloud")
def test_gcloud_reads_the_persons_project_unasked_and_what_it_writes_beside_the_login_is_gone(world: World) -> None:
    folder = world.google()
    before = {path: path.stat().st_mtime_ns for path in folder.rglob("*")}
    with world.opened() as gateway:
        done = run(gateway, "gcloud projects list --format='value(projectId)'")
        assert said(done) == ("allow", "p\n"), done.result.stderr
        assert [(method, host) for method, host, _login in world.seen] == [
            ("POST", "oauth2.googleapis.com"), ("GET", "cloudresourcemanager.googleapis.com"),
        ]  # fmt: skip
        assert world.seen[-1][2] == "Bearer short"
        assert {path: path.stat().st_mtime_ns for path in folder.rglob("*")} == before
        assert said(run(gateway, "gcloud config get-value project")) == ("allow", "p\n")
        world.seen.clear()
        done = run(gateway, "gcloud run services list --region europe-west1")
        assert (*said(done), done.result.status) == ("allow", "", 0), done.result.stderr
        assert {host for _method, host, _login in world.seen} == {
            "oauth2.googleapis.com", "europe-west1-run.googleapis.com",
        }  # fmt: skip
        asked = len(world.seen)
        for text in ("gcloud projects describe evil", "gcloud auth print-access-token", "gcloud projects delete p"):
            assert run(gateway, text).verdict.decision.word != "allow", text
        assert len(world.seen) == asked


@needs("az")
def test_az_reads_the_persons_account_unasked_and_what_it_writes_beside_the_login_is_gone(world: World) -> None:
    folder = world.azure()
    before = {path: path.stat().st_mtime_ns for path in folder.rglob("*")}
    with world.opened() as gateway:
        done = run(gateway, "az group list --query '[].name' -o tsv")
        assert said(done) == ("allow", "web\n"), done.result.stderr
        assert {host for _method, host, _login in world.seen} == {
            "login.microsoftonline.com", "management.azure.com",
        }  # fmt: skip
        assert world.seen[-1] == ("GET", "management.azure.com", "Bearer short")
        assert {path: path.stat().st_mtime_ns for path in folder.rglob("*")} == before
        asked = len(world.seen)
        for text in ("az group delete -n web -y", "az account get-access-token", "az rest --url https://evil.example/"):
            assert run(gateway, text).verdict.decision.word == "ask", text
        assert len(world.seen) == asked
