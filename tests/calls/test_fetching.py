"""What a call installs is fetched before it runs, by this machine's own program; what runs then has no network."""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import threading
import zipfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, ClassVar

import pytest
from networks import egress_of
from sandbox.egress.conftest import Outside
from warmed import warm

from gateway.api.executor import Executor
from gateway.api.gateway import Gateway
from gateway.approval.callback import Callback
from gateway.calls.containing import cannot_contain
from gateway.calls.output import Failure
from gateway.config.load import Options
from gateway.core.cancel import NEVER
from gateway.core.places import Places
from gateway.judge import lists
from gateway.mcp.child import Child
from gateway.model.call import RawCall
from gateway.model.decision import Decision
from gateway.sandbox.egress import authority
from gateway.sandbox.egress.authority import Authority
from gateway.sandbox.run import Runner

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from gateway.api.executor import Execution
    from gateway.model.verdict import Verdict
    from gateway.sandbox.egress.service import Egress


def _has_pip() -> bool:
    found = shutil.which("python3")
    return bool(found) and not subprocess.run([found, "-I", "-m", "pip", "--version"], capture_output=True).returncode


pytestmark = [
    pytest.mark.skipif(bool(cannot_contain()), reason="namespaces do not hold here"),
    pytest.mark.skipif(not authority.available(), reason="the package cryptography is not installed"),
    pytest.mark.skipif(not _has_pip(), reason="this machine's Python has no pip"),
]
INDEX, FILES = "pypi.org", "files.pythonhosted.org"
# A program that calls can have put there: it tells what it was given, and tries to get out.
PIP = """#!/bin/bash
echo "was told: $*"
ls "$PIP_FIND_LINKS" | grep whl
echo "no index: $PIP_NO_INDEX"
touch "$PIP_FIND_LINKS/x" 2>/dev/null || echo "it is read-only"
curl -sS -m 5 https://pypi.org/simple/secret/ >/dev/null 2>&1 || echo "no way out"
"""


class Index(BaseHTTPRequestHandler):
    """Both hosts: a page for each of two packages, one of which is a source alone, and their files."""

    protocol_version = "HTTP/1.1"
    asked: ClassVar[list[str]] = []
    pages: ClassVar[dict[str, str]] = {
        "/simple/plain/": f'<a href="https://{FILES}/a/plain-1.0-py3-none-any.whl">plain-1.0-py3-none-any.whl</a>',
        "/simple/source/": f'<a href="https://{FILES}/a/source-1.0.tar.gz">source-1.0.tar.gz</a>',
    }

    def do_GET(self) -> None:
        self.asked.append(f"{self.headers['Host']}{self.path}")
        page = self.pages.get(self.path)
        body = page.encode() if page else _wheel() if self.path.endswith(".whl") else b""
        self.send_response(200 if body else 404)
        self.send_header("Content-Type", "text/html" if page else "application/octet-stream")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_said: object) -> None:
        pass


def _wheel() -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        archive.writestr("plain.py", "print('it is there')\n")
        archive.writestr("plain-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: plain\nVersion: 1.0\n")
        archive.writestr("plain-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr("plain-1.0.dist-info/RECORD", "plain.py,,\nplain-1.0.dist-info/RECORD,,\n")
    return made.getvalue()


@pytest.fixture(scope="module")
def registry(tmp_path_factory) -> Iterator[Egress]:
    made = Authority()
    trusted = tmp_path_factory.mktemp("index") / "trusted.pem"
    trusted.write_bytes(made.certificate())
    outside, servers = Outside(), []
    for number, host in enumerate((INDEX, FILES)):
        server = ThreadingHTTPServer(("127.0.0.1", 0), Index)
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


@pytest.fixture
def place(tmp_path: Path) -> Path:
    for name in ("workspace/.venv/bin", "home", "policies"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "policies/user.yaml").write_text("version: 1\nextends: [daily]\nsettings: {mode: accept_edits}\n")
    program = tmp_path / "workspace/.venv/bin/pip"
    program.write_text(PIP)
    program.chmod(0o755)
    Index.asked.clear()
    return tmp_path


def gateway_of(place: Path, **how: Any) -> Gateway:
    where = Places(
        str(place / "etc"), str(place / "config"), state=str(place / "state"), cache=warm(place / "cache"),
        home=str(place / "home"),
    )  # fmt: skip
    work = str(place / "workspace")
    return Gateway(Options(work, str(place / "policies"), root=work, binding=True), where=where, **how)


def run(place: Path, egress: Egress, text: str, approver: Callback | tuple[()] = ()) -> Execution:
    runner = Runner(str(place / "state/quarantine"), egress=egress)
    with Executor(gateway_of(place), runner=runner, approver=approver) as executor:
        return executor.run(text)


def check(place: Path, text: str) -> Verdict:
    """What the dry run says."""
    return gateway_of(place).check(RawCall("Bash", {"command": text}))


def test_what_it_installs_is_there_and_what_runs_has_no_network(place: Path, registry: Egress) -> None:
    (place / "workspace/requirements.txt").write_text("plain>=1  # the one that is there\n")
    done = run(place, registry, ".venv/bin/pip install -r requirements.txt")
    assert (done.verdict.decision, done.verdict.contained, done.result.status) == (Decision.ALLOW, True, 0), done.result
    assert done.result.stdout.decode().splitlines() == [
        "was told: install -r requirements.txt", "plain-1.0-py3-none-any.whl", "no index: 1", "it is read-only",
        "no way out",
    ]  # fmt: skip
    assert Index.asked == [f"{INDEX}/simple/plain/", f"{FILES}/a/plain-1.0-py3-none-any.whl"]
    assert [host for host, _requests, _bytes in done.result.said] == [FILES, INDEX]
    assert list((place / "state/fetched").iterdir()) == []


SYSTEM = "/usr/bin:/bin"


def _has_user_site() -> bool:
    """Whether the system's own Python has pip, and lets its user have packages."""
    asks = "import pip, site, sys; sys.exit(not site.ENABLE_USER_SITE)"
    found = shutil.which("python3", path=SYSTEM)
    return bool(found) and not subprocess.run([found, "-c", asks], capture_output=True).returncode


@pytest.mark.skipif(not _has_user_site(), reason="the system's Python has no pip, or no packages of its user")
def test_what_the_machines_own_python_installs_is_there_for_later_calls(place, registry, monkeypatch) -> None:
    """Of the project, and for nobody else: it lies in no folder of the person's."""
    monkeypatch.setenv("PATH", SYSTEM)
    runner = Runner(str(place / "state/quarantine"), egress=registry)
    with Executor(gateway_of(place), runner=runner, approver=()) as executor:
        done = executor.run("python3 -m pip install --break-system-packages plain")
        assert (done.verdict.contained, done.result.status) == (True, 0), done.result.stderr
        used = executor.run("python3 -c 'import plain'")
        assert (used.verdict.contained, used.result.stdout) == (True, b"it is there\n"), used.result.stderr
        shown = executor.run("python3 -m pip list")
        assert (shown.verdict.contained, b"plain" in shown.result.stdout) == (False, True), shown.result.stderr
    assert {each.relative_to(place).parts[0] for each in place.rglob("plain.py")} == {"state"}
    assert subprocess.run(["python3", "-c", "import plain"], capture_output=True).returncode == 1


@pytest.mark.parametrize("name", ["source", "absent"])
def test_where_it_cannot_be_had_as_built_nothing_of_the_call_runs_and_a_person_is_asked(place, registry, name) -> None:
    """By the call itself, once it is known, and by the same one for a while before anything is tried."""
    text = f"touch ran; .venv/bin/pip install {name}"
    for asked in ([f"{INDEX}/simple/{name}/"], []):
        Index.asked.clear()
        done = run(place, registry, text)
        assert (done.verdict.decision, done.verdict.contained, done.result.ended) == (Decision.ASK, False, "refused")
        assert "could not be fetched as built packages" in done.verdict.unfetched
        assert f"No matching distribution found for {name}" in done.verdict.said.person
        assert not (place / "workspace/ran").exists()
        assert Index.asked == asked
    assert check(place, text).unfetched == done.verdict.unfetched
    assert check(place, ".venv/bin/pip install plain").decision is Decision.ALLOW


def test_in_the_background_nothing_of_it_runs_either_and_made_again_it_asks(place: Path, registry: Egress) -> None:
    """There nobody can be asked any more; what is looked at afterwards says why, and not a status that looks like the
    install's own."""
    text = "touch ran; .venv/bin/pip install source"
    raw = RawCall("Bash", {"command": text, "run_in_background": True})
    runner = Runner(str(place / "state/quarantine"), egress=registry)
    with gateway_of(place, runner=runner, approver=()) as gateway, gateway.session() as session:
        started = gateway.calls.call(raw, session, None)
        (shell,) = session.shells.all()
        shell.join(60)
        looked = gateway.calls.call(RawCall("BashOutput", {"bash_id": shell.id}), session, None)
        again = gateway.calls.call(raw, session, None)
    assert (started.verdict.decision, started.verdict.contained, shell.status) == (Decision.ALLOW, True, "failed")
    assert "it did not run: nothing of the call ran: what it installs could not be fetched" in looked.text
    assert "No matching distribution found for source" in looked.text
    assert (again.verdict.decision, again.result.ended) == (Decision.ASK, "refused")
    assert not (place / "workspace/ran").exists()


def test_a_server_whose_command_installs_does_not_start(place: Path, registry: Egress) -> None:
    """It would be without what it needs. Its twin, whose command does not, starts."""
    started = {}
    runner = Runner(str(place / "state/quarantine"), egress=registry)
    with gateway_of(place, runner=runner, approver=()) as gateway, gateway.session() as session:
        for text in ("install plain", "--version"):
            child = Child("docs", {"command": [".venv/bin/pip", *text.split()], "env": {}})
            try:
                child.start(gateway.calls.services, session, NEVER)
                started[text] = ""
            except Failure as failure:
                started[text] = failure.message
            finally:
                child.close()
    assert started == {
        "install plain": "MCP server `docs` does not start: what its command installs is fetched for calls alone.",
        "--version": "",
    }
    assert Index.asked == []


def test_a_person_who_lets_it_run_lets_it_run_with_hosts(place: Path, registry: Egress) -> None:
    asked = []
    yes = Callback(lambda question: asked.append(question) or True)
    done = run(place, registry, ".venv/bin/pip install source", yes)
    assert len(asked) == 1
    assert (done.verdict.contained, done.result.status) == (False, 0)
    assert [each.host for each in done.plan.network.allow] == [FILES, INDEX]


@pytest.mark.parametrize(
    ("text", "files"),
    [
        ("-r r.txt", {"r.txt": "https://evil.example/x.whl\n"}),
        ("-r a.txt", {"a.txt": "-r b.txt\n", "b.txt": "plain\n-e .\n"}),
        ("-r r.txt", {}),
        ("-r .env", {".env": "plain\n"}),
        ("-r ../outside.txt", {"../outside.txt": "plain\n"}),
        ("-e .", {"pyproject.toml": "[project]\nname='x'\ndynamic=['dependencies']\n"}),
    ],
)
def test_what_is_not_known_to_be_the_registrys_is_asked_about(place, registry, text, files) -> None:
    for name, content in files.items():
        (place / "workspace" / name).write_text(content)
    done = run(place, registry, f".venv/bin/pip install {text}")
    assert (done.verdict.decision, done.verdict.contained, done.result.ended) == (Decision.ASK, False, "refused")
    assert Index.asked == []
    dry = check(place, f".venv/bin/pip install {text}")
    assert (dry.decision, dry.reason.rule) == (Decision.ASK, done.verdict.reason.rule)
    assert dry.unfetched
    assert dry.unfetched == done.verdict.unfetched


@pytest.mark.parametrize("name", ["r.txt", "pyproject.toml", "nested.txt"])
def test_a_list_that_nobody_would_end_reading_is_asked_about_at_once(place, registry, name) -> None:
    (place / "workspace/outer.txt").write_text("-r nested.txt\n")
    os.mkfifo(place / "workspace" / name)
    text = {"r.txt": "-r r.txt", "pyproject.toml": "-e .", "nested.txt": "-r outer.txt"}[name]
    done = run(place, registry, f".venv/bin/pip install {text}")
    assert (done.verdict.decision, done.verdict.contained, done.result.ended) == (Decision.ASK, False, "refused")
    assert Index.asked == []


@pytest.mark.parametrize(
    ("lies", "is_taken"),
    [("machine", True), ("workspace", False), ("a link to the workspace", False), ("written", False)],
)
def test_what_fetches_is_a_program_that_no_call_can_have_changed(tmp_path: Path, lies: str, is_taken: bool) -> None:
    places = {name: tmp_path / name for name in ("machine", "workspace", "home/.tools", "first")}
    for place in places.values():
        place.mkdir(parents=True)
        (place / "python3").write_text("#!/bin/sh\n")
        (place / "python3").chmod(0o755)
    first = {"machine": "machine", "workspace": "workspace", "written": "home/.tools"}.get(lies, "first")
    if first == "first":
        (places[first] / "python3").unlink()
        (places[first] / "python3").symlink_to(places["workspace"] / "python3")
    context = SimpleNamespace(workspace=(str(places["workspace"]),), temp=("/tmp/none",), home=str(tmp_path / "home"))
    policy = SimpleNamespace(written=("~/.tools/**",))
    judge = SimpleNamespace(search_path=f"{places[first]}:/usr/bin", loaded=SimpleNamespace(policy=policy))
    assert (lists.program_of(judge, context, "python3") == str(places[first] / "python3")) is is_taken
