"""An install's network ends before the first script runs: with the shell alone, and with the real installer."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import shutil
import tarfile
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

import pytest

from gateway.model.plan import Endpoint, Network
from gateway.policy.installs import INSTALLERS
from gateway.sandbox.egress.offline import SHELL, variables

from .conftest import Sandbox
from .test_inside import secure

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gateway.sandbox.egress.authority import Authority

__all__ = ["secure"]
pytestmark = pytest.mark.usefixtures("can_confine")
HOST = "registry.npmjs.org"
READS = Network("listed", (Endpoint(HOST, 0, "r", "read"),))
INSTALLS = READS.replace(installer="npm")
OVER = "the network of an install ends"
ENVIRONMENT = {"npm": {}, "": {"npm_config_audit": "false"}}


def test_each_installer_is_told_of_the_shell() -> None:
    assert [SHELL in variables(each).values() for each in INSTALLERS] == [True] * len(INSTALLERS)


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
def test_after_the_shell_nothing_is_let_out_any_more(secure, outside, web, tmp_path) -> None:
    egress, made, _path = secure
    outside.serve(HOST, 443, web("the page", made.context(HOST)))
    get = f"curl -sS -m 5 https://{HOST}/x"
    # One connection is kept open over the end, the other is new; then by name, without the proxy.
    script = f"""{get}
    coproc {{ exec curl -sS -K - ; }}
    printf 'url = https://{HOST}/1\\n' >&${{COPROC[1]}}
    {SHELL} -c '{get}; echo "inside $?"'
    {get}; echo "after $?"
    curl -sS -m 5 --noproxy '*' https://{HOST}/x; echo "by name $?"
    exec {{COPROC[1]}}>&-; wait"""
    box = Sandbox(egress, INSTALLS, tmp_path)
    found = box.run("bash", "-c", script)
    assert found.stdout.count("the page") == 1, found
    assert all(f"{when} 0" not in found.stdout for when in ("inside", "after", "by name")), found
    assert {OVER in each.hint for each in box.violations} == {True}
    # The twin: where no installer is named there is no such shell, and no request ends anything.
    other = Sandbox(egress, READS, tmp_path)
    ask = "curl -sS -x '' --request-target '*' -X OPTIONS -H 'Host: offline.gateway' http://127.0.0.1:808/; "
    found = other.run("bash", "-c", f"test -e {SHELL} || echo none; {ask} {get}")
    assert ("none" in found.stdout, "the page" in found.stdout) == (True, True), found


def test_where_the_network_cannot_be_ended_no_script_runs(secure, tmp_path) -> None:
    egress, _made, _path = secure
    box = Sandbox(egress, INSTALLS, tmp_path)
    script = f"sed s/808/809/ {SHELL} > /tmp/shell; chmod +x /tmp/shell; /tmp/shell -c 'echo ran'; echo $?"
    assert box.run("bash", "-c", script).stdout == "126\n"


def test_scripts_that_start_at_once_all_run(secure, outside, web, tmp_path) -> None:
    egress, made, _path = secure
    outside.serve(HOST, 443, web("the page", made.context(HOST)))
    box = Sandbox(egress, INSTALLS, tmp_path)
    script = f"for n in {{1..24}}; do {SHELL} -c 'echo ran >&2' & done; wait"
    assert box.run("bash", "-c", script).stderr.split() == ["ran"] * 24


class Registry:
    """What npm reads: two packages, one of which has scripts that reach for the registry."""

    def __init__(self, made: Authority) -> None:
        self.asked: list[str] = []
        reach = f"curl -sS -m 5 https://{HOST}/secret >/dev/null 2>&1; echo $? >> $INIT_CWD/log"
        self.files = {
            "plain": _packed({"name": "plain", "version": "1.0.0"}),
            "scripted": _packed({"name": "scripted", "version": "1.0.0", "scripts": {"postinstall": reach},
                                 "dependencies": {"plain": "1.0.0"}}),
        }  # fmt: skip
        registry = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                registry.asked.append(self.path)
                name = self.path.strip("/").partition("/")[0]
                known = registry.files.get(name)
                body = known[1] if known and "/-/" in self.path else json.dumps(known[0]).encode() if known else b"{}"
                self.send_response(200 if known else 404)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_arguments: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.server.socket = made.context(HOST).wrap_socket(
            self.server.socket, server_side=True, do_handshake_on_connect=False
        )
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()


def _packed(manifest: dict[str, object]) -> tuple[dict[str, object], bytes]:
    """The page of a package, and its file."""
    text, made = json.dumps(manifest).encode(), io.BytesIO()
    with tarfile.open(fileobj=made, mode="w:gz") as archive:
        entry = tarfile.TarInfo("package/package.json")
        entry.size = len(text)
        archive.addfile(entry, io.BytesIO(text))
    data, name = made.getvalue(), manifest["name"]
    integrity = "sha512-" + base64.b64encode(hashlib.sha512(data).digest()).decode()
    at = f"https://{HOST}/{name}/-/{name}-1.0.0.tgz"
    version = {**manifest, "dist": {"tarball": at, "integrity": integrity}, "hasInstallScript": "scripts" in manifest}
    return {"name": name, "dist-tags": {"latest": "1.0.0"}, "versions": {"1.0.0": version}}, data


@pytest.fixture
def registry(secure, outside) -> Iterator[Registry]:
    made = Registry(secure[1])
    outside.serve(HOST, 443, made.server.server_address[:2])
    yield made
    made.server.shutdown()
    made.server.server_close()


@pytest.mark.skipif(shutil.which("npm") is None, reason="npm is not installed")
@pytest.mark.parametrize("network", [INSTALLS, READS], ids=["an install", "the twin, another contained call"])
def test_npm_fetches_and_scripts_run_without_a_network(secure, registry, tmp_path, network: Network) -> None:
    egress, _made, _path = secure
    box = Sandbox(egress, network, tmp_path)
    manifest = json.dumps({"name": "x", "version": "1.0.0", "dependencies": {"scripted": "1.0.0"}})
    # What a project may say of npm's shell and its git counts nothing.
    lines = "script-shell=/bin/sh\\ngit=/bin/false\\n"
    script = f"cd /tmp; echo '{manifest}' > package.json; printf '{lines}' > .npmrc; npm install --no-fund"
    found = box.run(
        "bash", "-c", script, seconds=60, npm_config_update_notifier="false", **ENVIRONMENT[network.installer]
    )
    assert {"/scripted", "/plain", "/scripted/-/scripted-1.0.0.tgz"} <= set(registry.asked), found
    reached = "/secret" in registry.asked
    assert (reached, found.returncode) == (not network.installer, 0), found
    assert [OVER in each.hint for each in box.violations] == ([True] if network.installer else []), found
