"""One confined call from beginning to end: its way out, its bounds and what it leaves behind."""

from __future__ import annotations

import os
import socket
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from descriptors import open_descriptors
from fuzzing import THOROUGH, thorough
from networks import egress_of

from gateway.core.cancel import NEVER, Cancel
from gateway.model.limits import Limits
from gateway.model.plan import FIXED, WRITE, Endpoint, Mount, Network, SandboxPlan
from gateway.model.result import Violation
from gateway.sandbox.backends.spaces import Spaces
from gateway.sandbox.base import Names, Probe, SandboxError
from gateway.sandbox.call_descriptors import CAPTURED, Ways
from gateway.sandbox.run import NOT_RUN, Command, Protection, Runner

from .egress.conftest import PUBLIC, Outside
from .world import PATH, system

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gateway.model.result import Result

NOTHING = Protection(lambda _path: "")
GOOD = Network("listed", (Endpoint("good.example", 0, "good"),), (Endpoint("bad.example", 0, "no-bad"),))


@pytest.fixture
def outside() -> Outside:
    return Outside()


@pytest.fixture
def runner(tmp_path: Path, outside: Outside) -> Iterator[Runner]:
    backend = Spaces()
    if not (probe := backend.probe()).works:
        pytest.skip(f"namespaces do not hold here: {probe.reason}")
    with Runner(str(tmp_path / "quarantine"), (backend,), egress_of(outside.resolve, outside.route)) as made:
        yield made


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    made = tmp_path / "ws"
    made.mkdir()
    return made


def plan(workspace: Path, *more: Mount, network: Network = Network(), **changes: object) -> SandboxPlan:  # noqa: B008
    mounts, links = system()
    made = SandboxPlan(
        tuple(sorted((*mounts, Mount(str(workspace), WRITE), *more), key=lambda mount: mount.path)),
        links,
        ("/tmp",),
        str(workspace),
        (("PATH", PATH),),
        network,
        Limits(seconds=60),
    )
    return made.replace(**changes)


def sh(text: str, ways: Ways = CAPTURED) -> Command:
    return Command(lambda _report: (b"/bin/sh", b"-c", text.encode()), ways)


@pytest.fixture
def web() -> Iterator[tuple[str, int]]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"the page")

        def log_message(self, *_words: object) -> None:
            return

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        yield "127.0.0.1", server.server_port
        server.shutdown()


FETCH = "python3 -I -c 'import urllib.request as u; print(u.urlopen(\"http://{}/\", timeout=10).read().decode())'"
ADDRESS = "python3 -I -c 'import socket; print(socket.getaddrinfo(\"{}\", 80, 2)[0][4][0])'"


def test_what_is_granted_is_reached_and_nothing_else(runner: Runner, workspace: Path, outside: Outside, web) -> None:
    outside.serve("good.example", 80, web)
    outside.serve("bad.example", 80, web)
    granted = plan(workspace, network=GOOD)
    good = runner.run(granted, sh(FETCH.format("good.example")), NOTHING)
    assert (good.status, good.stdout, good.violations) == (0, b"the page\n", ()), good
    bad = runner.run(granted, sh(FETCH.format("bad.example")), NOTHING)
    assert bad.status == 1
    assert [(each.kind, each.rule, each.source) for each in bad.violations if each.certain] == [
        ("net", "no-bad", "proxy")
    ]
    off = runner.run(plan(workspace), sh(FETCH.format("good.example")), NOTHING)
    assert off.status == 1


def test_names_are_looked_up_without_a_proxy_too(runner: Runner, workspace: Path, outside: Outside) -> None:
    outside.names["good.example"] = [PUBLIC]
    done = runner.run(plan(workspace, network=GOOD), sh(ADDRESS.format("good.example")), NOTHING)
    assert (done.status, done.stdout) == (0, b"127.1.0.1\n"), done
    evil = runner.run(plan(workspace, network=GOOD), sh(ADDRESS.format("leak.evil.example")), NOTHING)
    assert evil.status == 1
    assert "leak.evil.example" not in outside.asked
    assert ("dns", "leak.evil.example") in {(each.kind, each.target) for each in evil.violations}


def test_files_have_the_content_that_is_planned_and_cannot_be_changed(runner: Runner, workspace: Path) -> None:
    given = plan(workspace).replace(files=(("/etc/hosts", b"127.0.0.9 here\n"), ("/run/made/up", b"x\n")))
    done = runner.run(given, sh("cat /etc/hosts /run/made/up; echo y >> /etc/hosts"), NOTHING)
    assert done.stdout == b"127.0.0.9 here\nx\n", done
    assert done.status != 0
    with open("/etc/hosts", "rb") as file:
        assert file.read() != b"127.0.0.9 here\n"


@pytest.mark.parametrize(
    ("bounds", "text", "ended", "target"),
    [
        (
            Limits(memory=64 << 20),
            "python3 -c 'b = bytearray(500 << 20); b[::4096] = bytes(len(b) // 4096); input()'",
            "limit",
            "memory",
        ),
        (Limits(processes=20), "for n in $(seq 60); do sleep 100 & done; wait", "", "processes"),
        (Limits(cpu_seconds=0.3), "while :; do :; done", "", "cpu_seconds"),
        # The kernel's own bound, in whole seconds: what it is, and what is told of it, is in test_limits and after/.
        pytest.param(Limits(cpu_seconds=1), "while :; do :; done", "", "cpu_seconds", marks=thorough),
        (Limits(file_size=1 << 20), "head -c 5000000 /dev/zero > big", "", "file_size"),
    ],
    ids=["memory", "processes", "processor", "processor by the second", "a file"],
)
def test_a_bound_that_is_broken_is_told(
    runner: Runner, workspace: Path, bounds: Limits, text: str, ended: str, target: str
) -> None:
    ready, held = os.pipe()
    done = runner.run(plan(workspace, limits=bounds.replace(seconds=60)), sh(text, Ways(ready)), NOTHING)
    os.close(ready)
    os.close(held)
    assert done.status != 0
    if ended:
        assert done.ended == ended
    assert target in {each.target for each in done.violations if each.kind == "limit"}, done


def test_a_protected_name_that_appears_is_taken_away(runner: Runner, workspace: Path, tmp_path: Path) -> None:
    def look(folder: str, _bounded: bool) -> Names:
        return Names({str(each): "no-hooks" for each in Path(folder).rglob(".envrc")})

    protection = Protection(lambda _path: "no-hooks", look)
    done = runner.run(
        plan(workspace, watched=(str(workspace),)), sh("mkdir a; echo x > a/.envrc; echo y > kept"), protection
    )
    assert [(each.kind, each.target, each.rule, each.source) for each in done.violations] == [
        ("protected", f"{workspace}/a/.envrc", "no-hooks", "sweep")
    ]
    assert sorted(os.listdir(workspace)) == ["a", "kept"]
    assert os.listdir(workspace / "a") == []
    assert (tmp_path / "quarantine").is_dir()


def test_a_protected_link_stays(runner: Runner, workspace: Path) -> None:
    (workspace / "config").symlink_to("original")
    path = f"{workspace}/config"
    protection = Protection(lambda each: "no-config" if each == path else "")
    done = runner.run(plan(workspace, held=(path,)), sh("ln -sfn /etc/passwd config"), protection)
    hint = "it is a link that is protected, so it cannot be moved or removed"
    assert done.violations == (Violation("write", path, rule="", source="output", hint=hint, certain=False),)
    assert (done.status, os.readlink(path)) == (1, "original")


def test_a_link_that_was_planted_after_planning_stops_the_start(
    runner: Runner, workspace: Path, tmp_path: Path
) -> None:
    outside = tmp_path / "elsewhere"
    (outside / "hooks").mkdir(parents=True)
    (workspace / "git").symlink_to(outside)
    for mount in (Mount(f"{workspace}/git/hooks", FIXED), Mount(f"{workspace}/git", WRITE)):
        done = runner.run(plan(workspace, mount), sh("touch ran"), NOTHING)
        assert (done.ended, done.status) == ("failed", NOT_RUN), done
    assert sorted(os.listdir(workspace)) == ["git"]
    assert sorted(os.listdir(outside)) == ["hooks"]


@pytest.mark.parametrize("is_closed", [False, True], ids=["with its descriptors", "without them"])
def test_what_was_cancelled_before_it_began_does_not_run_on(runner: Runner, workspace: Path, is_closed: bool) -> None:
    cancel = Cancel()
    cancel.set()
    if is_closed:
        cancel.close()
    done = runner.run(plan(workspace), sh("sleep 1000"), NOTHING, cancel=cancel)
    cancel.close()
    assert (done.ended, done.status) == ("cancelled", 137)


def test_a_cancel_that_is_set_without_descriptors_is_set_unless_it_is_the_one_that_nobody_can_set() -> None:
    cancel = Cancel()
    cancel.close()
    cancel.set()
    NEVER.set()
    assert (cancel.is_set, NEVER.is_set) == (True, False)


def test_what_the_caller_raises_ends_the_call(runner: Runner, workspace: Path) -> None:
    ready, held = os.pipe()

    def listen(_stream: int, _data: bytes) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        runner.run(plan(workspace), sh("echo; sleep 1000", Ways(stderr=held)), NOTHING, listener=listen)
    os.close(held)
    assert os.read(ready, 1) == b""
    os.close(ready)


class Failing:
    """A backend that holds, and cannot start anything."""

    name = "namespaces"
    whole = True

    def probe(self) -> Probe:
        return Probe(True, "")

    def missing(self, _plan: SandboxPlan) -> tuple[str, ...]:
        return ()

    def start(self, *_how: object) -> None:
        raise SandboxError("it cannot be built", "build it")


def test_a_sandbox_that_cannot_be_built_is_a_result_and_leaks_nothing(workspace: Path, tmp_path: Path) -> None:
    def run() -> Result:
        with Runner(str(tmp_path / "q"), (Failing(),)) as made:  # type: ignore[arg-type]
            return made.run(plan(workspace), sh("true", Ways(b"data")), NOTHING)

    run()
    before = len(open_descriptors())
    done = [run() for _ in range(20)][-1]
    assert len(open_descriptors()) == before
    assert (done.ended, done.status, done.reason) == ("failed", NOT_RUN, "it cannot be built; build it")


def test_descriptors_of_an_online_call_are_given_back(runner: Runner, workspace: Path) -> None:
    for _ in range(3):
        runner.run(plan(workspace, network=GOOD), sh("true"), NOTHING)
    before = len(open_descriptors())
    for _ in range(50 if THOROUGH else 12):
        runner.run(plan(workspace, network=GOOD), sh("true"), NOTHING)
    assert len(open_descriptors()) == before


def test_few_descriptors_are_a_refusal_and_not_a_hang(runner: Runner, workspace: Path) -> None:
    import resource

    runner.run(plan(workspace), sh("true"), NOTHING)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    there = sorted(map(int, open_descriptors()))
    found = set()
    try:
        for most in range(4, there[-1] + 60, 1 if THOROUGH else 3):
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
            done = runner.run(plan(workspace), sh("true", Ways(b"data")), NOTHING)
            found.add((done.ended, done.status))
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert found == {("failed", NOT_RUN), ("exited", 0)}
    assert sorted(map(int, open_descriptors())) == there


def test_the_machine_is_not_reached_under_an_open_network(runner: Runner, workspace: Path, outside: Outside) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(0.01)
        port = listener.getsockname()[1]
        outside.names["rebound.example"] = ["127.0.0.1"]
        outside.places["127.0.0.1", port] = listener.getsockname()
        network = Network("open", ports=(port,))
        text = "; ".join(FETCH.format(f"{host}:{port}") for host in ("127.0.0.1", "rebound.example", "2130706433"))
        done = runner.run(plan(workspace, network=network), sh(text), NOTHING)
        assert done.status == 1
        with pytest.raises(TimeoutError):
            listener.accept()


def test_the_folder_for_what_is_taken_away_can_be_hidden_from_the_first_call_on(tmp_path: Path) -> None:
    with Runner(str(tmp_path / "state" / "quarantine")):
        found = (tmp_path / "state").stat().st_mode & 0o777, os.listdir(tmp_path / "state")
    assert found == (0o700, [])
