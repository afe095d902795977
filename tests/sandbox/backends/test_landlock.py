"""The fallback in earnest: each attempt is made by a confined command, and by one that is not, where it succeeds."""

from __future__ import annotations

import os
import select
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from patience import patience

from gateway.model.limits import Limits
from gateway.model.plan import HIDDEN, READ, WRITE, Mount, Network, SandboxPlan
from gateway.sandbox.backends.landlock import Landlock
from gateway.sandbox.backends.launcher import Held, Launcher
from gateway.sandbox.base import SandboxError, Streams

if TYPE_CHECKING:
    from gateway.sandbox.backends.launcher import Held

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or Landlock().abi() < 6, reason="this kernel has no Landlock of version 6"
)

OUT, NOT = b"OUT\n", b""


@pytest.fixture(scope="module")
def backend() -> Landlock:
    return Landlock()


@pytest.fixture
def world(tmp_path: Path) -> Path:
    """A workspace `ws` that may be written, and `outside`."""
    for name in ("ws", "outside", "outside/folder"):
        (tmp_path / name).mkdir()
    (tmp_path / "outside" / "secret").write_text("secret\n")
    (tmp_path / "outside" / "file").write_text("kept\n")
    (tmp_path / "ws" / "link").symlink_to(tmp_path / "outside" / "secret")
    (tmp_path / "ws" / "to-outside").symlink_to(tmp_path / "outside")
    (tmp_path / "ws" / "mine").write_text("mine\n")
    return tmp_path


def system() -> list[Mount]:
    """What programs need: the system's folders, and those of the Python that runs the tests."""
    paths = {
        "/bin",
        "/lib",
        "/lib32",
        "/lib64",
        "/usr",
        "/etc",
        sys.prefix,
        sys.base_prefix,
        os.path.realpath(sys.prefix),
    }
    return [Mount(path, READ) for path in sorted({os.path.realpath(each) for each in paths if os.path.isdir(each)})]


def plan_for(world: Path, *mounts: Mount, **more: object) -> SandboxPlan:
    environment = {
        "PATH": os.environ.get("PATH", "/usr/bin:/bin"),
        "HOME": "/private-home",
        "WS": str(world / "ws"),
        "OUTSIDE": str(world / "outside"),
        "OUTSIDER": str(os.getpid()),
        "PYTHON": sys.executable,
        **dict(more.pop("variables", {})),  # type: ignore[call-overload]
    }
    return SandboxPlan(
        (*system(), Mount(str(world / "ws"), WRITE), *mounts),
        (),
        ("/private-home", "/tmp"),
        str(world / "ws"),
        tuple(sorted(environment.items())),
        Network(),
        Limits(),
        weaker=("landlock",),
    ).replace(**more)


def start(backend: Landlock, plan: SandboxPlan, argv: list[str], stdout: int, keep: tuple[int, ...] = ()) -> Held:
    nowhere = os.open(os.devnull, os.O_RDWR)
    try:
        return backend.start(plan, argv, Streams(nowhere, stdout, nowhere), keep)
    finally:
        os.close(nowhere)


def run(backend: Landlock, plan: SandboxPlan, argv: list[str], keep: tuple[int, ...] = ()) -> tuple[int, bytes]:
    """The status and output of a confined command."""
    ours, theirs = os.pipe()
    try:
        running = start(backend, plan, argv, theirs, keep)
        os.close(theirs)
        theirs = -1
        running.release()
        assert ended(running.exited)
        status = running.wait()
        running.close()
        with open(ours, "rb", closefd=False) as file:
            return status, file.read()
    finally:
        for each in (ours, theirs):
            if each >= 0:
                os.close(each)


def ended(descriptor: int) -> bool:
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    return bool(poll.poll(patience(20) * 1000))


def plainly(plan: SandboxPlan, argv: list[str], keep: tuple[int, ...] = ()) -> bytes:
    """The output of the same command without a sandbox."""
    done = subprocess.run(
        argv,
        env=dict(plan.environment),
        cwd=plan.cwd,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        pass_fds=keep,
        timeout=patience(30),
        check=False,
    )
    return done.stdout


def python(code: str) -> list[str]:
    used = [each for each in ("os", "socket", "ctypes", "resource") if f"{each}." in f"os.{code}"]
    head = f"import {', '.join(used)}\nws, outside = os.environ['WS'], os.environ['OUTSIDE']\n"
    return [sys.executable, "-I", "-S", "-c", f"{head}{code}\nprint('OUT')"]


ATTEMPTS = {
    "create-a-file-outside": "open(outside + '/new', 'w')",
    "append-to-a-file-outside": "open(outside + '/file', 'a').write('x')",
    "truncate-a-file-outside": "os.truncate(outside + '/file', 0)",
    "read-a-file-outside": "open(outside + '/secret').read()",
    "list-a-folder-outside": "os.listdir(outside)",
    "read-through-a-link": "open(ws + '/link').read()",
    "write-through-a-linked-folder": "open(ws + '/to-outside/new', 'w')",
    "write-through-dots": "open(ws + '/../outside/new', 'w')",
    "move-a-file-out": "os.rename(ws + '/mine', outside + '/mine')",
    "move-a-file-in": "os.rename(outside + '/file', ws + '/stolen')",
    "link-a-file-in": "os.link(outside + '/secret', ws + '/hard'); open(ws + '/hard').read()",
    "make-a-folder-outside": "os.mkdir(outside + '/made')",
    "remove-a-file-outside": "os.unlink(outside + '/file')",
    "remove-a-folder-outside": "os.rmdir(outside + '/folder')",
    "make-a-link-outside": "os.symlink('x', outside + '/l')",
    "make-a-pipe-outside": "os.mkfifo(outside + '/p')",
    "see-shared-temporary-files": "os.listdir('/tmp')",
    "read-by-way-of-another-process": "open('/proc/' + os.environ['OUTSIDER'] + '/root' + outside + '/secret').read()",
    "signal-a-process-outside": "os.kill(int(os.environ['OUTSIDER']), 0)",
    "read-the-environment-of-a-process-outside": "open('/proc/' + os.environ['OUTSIDER'] + '/environ').read()",
    "bound-a-process-outside": "resource.prlimit(int(os.environ['OUTSIDER']), resource.RLIMIT_CORE)",
    "slow-a-process-outside": "p = int(os.environ['OUTSIDER']); os.setpriority(0, p, os.getpriority(0, p))",
    "connect-over-the-loopback": "socket.create_connection(('127.0.0.1', int(os.environ['PORT'])), 5)",
    "make-a-datagram-socket": "socket.socket(socket.AF_INET, socket.SOCK_DGRAM)",
    "make-a-netlink-socket": "socket.socket(socket.AF_NETLINK, socket.SOCK_RAW)",
    "connect-to-a-local-socket": "socket.socket(socket.AF_UNIX).connect(outside + '/socket')",
    "connect-to-an-abstract-socket": "socket.socket(socket.AF_UNIX).connect('\\0' + os.environ['ABSTRACT'])",
    "point-a-pair-at-a-local-socket": (
        "a, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM); a.sendto(b'x', outside + '/datagrams')"
    ),
    "share-memory": (
        "libc = ctypes.CDLL(None); i = libc.shmget(0, 4096, 0o1600)\n"
        "assert i >= 0\nlibc.shmctl(i, 0, None)"
    ),
    "leave-a-set-id-file": "os.chmod(ws + '/mine', 0o4755)",
    "use-a-descriptor-of-the-gateway": "os.listdir(int(os.environ['DESCRIPTOR']))",
    "dump-core": "assert resource.getrlimit(resource.RLIMIT_CORE)[1] > 1",
    "gain-privileges-by-set-id-programs": (
        "assert 'NoNewPrivs:\\t0' in open('/proc/self/status').read()"
    ),
}  # fmt: skip


@pytest.fixture
def lures(world: Path):
    """Servers and descriptors outside, for attempts to find."""
    with (
        socket.create_server(("127.0.0.1", 0)) as tcp,
        socket.socket(socket.AF_UNIX) as local,
        socket.socket(socket.AF_UNIX) as abstract,
        socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as datagrams,
    ):
        folder = os.open(world / "outside", os.O_RDONLY)
        here = os.getcwd()
        os.chdir(world / "outside")  # the name of a socket is short
        try:
            local.bind("socket")
            datagrams.bind("datagrams")
        finally:
            os.chdir(here)
        local.listen()
        name = f"gateway-test-{os.getpid()}"
        abstract.bind(f"\0{name}")
        abstract.listen()
        port = str(tcp.getsockname()[1])
        yield {"PORT": port, "ABSTRACT": name, "DESCRIPTOR": str(folder)}, folder
        os.close(folder)


@pytest.mark.parametrize("attempt", ATTEMPTS.values(), ids=ATTEMPTS)
def test_an_attempt_fails_that_succeeds_without_the_sandbox(
    backend: Landlock, world: Path, lures, attempt: str
) -> None:
    variables, folder = lures
    plan = plan_for(world, variables=variables)
    argv = python(attempt)
    if "outside + '/" in attempt and "sock" in attempt:
        argv = python(f"os.chdir(outside)\n{attempt}".replace("outside + '/", "'"))  # the name of a socket is short
    _status, out = run(backend, plan, argv)
    assert out == NOT
    assert sorted(os.listdir(world / "outside")) == ["datagrams", "file", "folder", "secret", "socket"]
    assert (world / "outside" / "file").read_text() == "kept\n"
    bare = plainly(plan, argv, (folder,))
    if bare != OUT and "assert" in attempt:
        pytest.skip("the machine refuses this to everybody")
    assert bare == OUT


USES = {
    "write-and-read": "echo hello > a && read -r x < a && echo $x",
    "pipes-and-background-jobs": "(echo hello & wait) | while read -r x; do echo $x; done",
    "here-documents": "cat <<END\nhello\nEND",
    "a-temporary-file": "t=$(mktemp) && echo hello > $t && cat $t",
    "a-home-of-its-own": "mkdir -p ~/.cache/x && echo hello > ~/.cache/x/y && cat ~/.cache/x/y",
    "rename-within-the-workspace": "mkdir d && echo hello > f && mv f d/g && cat d/g",
    "links": "echo hello > f && ln f h && ln -s h s && cat s",
    "remove-a-tree": "mkdir -p d/e && rm -r d && echo hello",
    "make-a-program-and-run-it": "printf '#!/bin/sh\\necho hello\\n' > p && chmod +x p && ./p",
    "throw-output-away": "echo x > /dev/null && echo hello",
    "look-at-oneself": "read -r x < /proc/self/stat && echo hello",
    "signals-to-own-children": "sleep 100 & kill $! && wait $! 2>/dev/null; echo hello",
}


@pytest.mark.parametrize("script", USES.values(), ids=USES)
def test_ordinary_use_goes_on_working(backend: Landlock, world: Path, script: str) -> None:
    assert run(backend, plan_for(world), ["/bin/sh", "-c", script]) == (0, b"hello\n")


@pytest.mark.parametrize(
    ("argv", "status"),
    [
        (["/bin/sh", "-c", "exit 7"], 7),
        (["/bin/sh", "-c", "kill -TERM $$"], 143),
        (["no-such-program-anywhere"], 127),
        (["/etc/passwd"], 126),
    ],
    ids=["its-own", "after-a-signal", "not-found", "no-program"],
)
def test_the_status_is_the_commands_own(backend: Landlock, world: Path, argv: list[str], status: int) -> None:
    assert run(backend, plan_for(world), argv)[0] == status


def test_a_program_is_found_where_nothing_of_the_launcher_may_be_read(backend: Landlock, world: Path) -> None:
    few = [mount for mount in system() if mount.path.startswith(("/usr", "/lib", "/bin"))]
    plan = plan_for(world).replace(mounts=(*few, Mount(str(world / "ws"), WRITE)))
    assert run(backend, plan, ["sh", "-c", "echo hello"]) == (0, b"hello\n")


def test_why_a_command_did_not_start_is_told(backend: Landlock, world: Path) -> None:
    running = start(backend, plan_for(world), ["no-such-program-anywhere"], 1)
    running.release()
    assert (running.wait(), running.failure) == (127, "no-such-program-anywhere is not found")
    running.close()


def test_the_command_waits_until_it_is_released(backend: Landlock, world: Path) -> None:
    running = start(backend, plan_for(world), ["/bin/sh", "-c", "echo > ran"], 1)
    assert not (world / "ws" / "ran").exists()
    running.release()
    assert running.wait() == 0
    running.close()
    assert (world / "ws" / "ran").exists()


def test_a_call_that_is_never_released_never_runs(backend: Landlock, world: Path) -> None:
    running = start(backend, plan_for(world), ["/bin/sh", "-c", "echo > ran"], 1)
    running.kill()
    assert running.wait() == 137
    running.close()
    assert not (world / "ws" / "ran").exists()


def test_there_is_no_capability_left(backend: Landlock, world: Path) -> None:
    _status, out = run(
        backend, plan_for(world), ["/bin/sh", "-c", "grep -c '^Cap.*0000000000000000$' /proc/self/status"]
    )
    assert out == (b"5\n" if os.geteuid() == 0 else out)
    _status, out = run(backend, plan_for(world), ["/bin/sh", "-c", "grep CapEff /proc/self/status"])
    assert out == b"CapEff:\t0000000000000000\n"


def test_a_kept_descriptor_has_its_own_number(backend: Landlock, world: Path) -> None:
    reading, writing = os.pipe()
    try:
        assert run(backend, plan_for(world), python(f"os.write({writing}, b'hello')"), (writing,)) == (0, OUT)
        assert os.read(reading, 100) == b"hello"
    finally:
        os.close(reading)
        os.close(writing)


def test_limits_of_one_process_hold(backend: Landlock, world: Path) -> None:
    plan = plan_for(world, limits=Limits(cpu_seconds=3.2, files=40, file_size=8192))
    _status, out = run(backend, plan, ["/bin/sh", "-c", "ulimit -t; ulimit -n; ulimit -f"])
    assert out == b"4\n40\n16\n"


def test_a_hidden_file_is_refused_and_what_lies_beside_it_is_not(backend: Landlock, world: Path) -> None:
    folder = world / "outside"
    script = ["/bin/sh", "-c", "cat $OUTSIDE/file; cat $OUTSIDE/secret; ls $OUTSIDE | wc -l"]
    plan = plan_for(world, Mount(str(folder), READ), Mount(str(folder / "secret"), HIDDEN, False, "r"))
    assert run(backend, plan, script)[1] == b"kept\n3\n"
    assert run(backend, plan_for(world, Mount(str(folder), READ)), script)[1] == b"kept\nsecret\n3\n"


@pytest.mark.parametrize("name", ["with space", "with\nnewline", "not-text-\udcff"], ids=["space", "newline", "bytes"])
def test_odd_names_of_workspaces_work(backend: Landlock, world: Path, name: str) -> None:
    odd = os.path.join(world, name)
    os.mkdir(odd)
    plan = plan_for(world, Mount(odd, WRITE), cwd=odd)
    assert run(backend, plan, ["/bin/sh", "-c", "echo hello > a; cat a"]) == (0, b"hello\n")


def test_a_folder_replaced_by_a_link_after_planning_starts_nothing(backend: Landlock, world: Path) -> None:
    plan = plan_for(world)
    (world / "ws").rename(world / "old")
    (world / "ws").symlink_to(world / "outside")
    with pytest.raises(SandboxError, match="not what it was"):
        start(backend, plan, ["/bin/true"], 1)


def test_nothing_is_left_behind_by_private_folders(backend: Landlock, world: Path) -> None:
    deep = "mkdir -p ~/a/b; for n in $(seq 300); do mkdir d && cd d || break; done; chmod 0 ~/a; echo $HOME"
    plan = plan_for(world)
    _status, out = run(backend, plan, ["/bin/sh", "-c", f"cd ~; {deep}"])
    home = out.decode().strip()
    assert os.path.basename(home) == "0-private-home"
    assert not os.path.exists(os.path.dirname(home))


DETACHED = "(setsid sleep 1000 >/dev/null 2>&1 & echo $!) ; "


def pid_of(out: bytes) -> int:
    return int(out.split()[0])


def gone(pid: int) -> bool:
    """Whether a process ends; waits for it."""
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return ended(descriptor)
    finally:
        os.close(descriptor)


def test_a_detached_child_ends_with_the_command(backend: Landlock, world: Path) -> None:
    argv = ["/bin/sh", "-c", DETACHED]
    _status, out = run(backend, plan_for(world), argv)
    with pytest.raises(ProcessLookupError):
        os.kill(pid_of(out), 0)
    left = pid_of(plainly(plan_for(world), argv))
    os.kill(left, signal.SIGKILL)  # without the sandbox it goes on: this would raise


def started_with_detached(backend: Landlock, world: Path) -> tuple[Held, int]:
    ours, theirs = os.pipe()
    running = start(backend, plan_for(world), ["/bin/sh", "-c", DETACHED + "sleep 1000"], theirs)
    os.close(theirs)
    running.release()
    with open(ours, "rb", buffering=0) as file:
        return running, pid_of(file.read(100))


def test_killing_ends_the_whole_tree(backend: Landlock, world: Path) -> None:
    running, detached = started_with_detached(backend, world)
    running.kill()
    assert running.wait() == 137
    running.close()
    assert gone(detached)


def test_a_killed_supervisor_takes_the_tree_with_it(backend: Landlock, world: Path) -> None:
    running, detached = started_with_detached(backend, world)
    command = running.pid
    os.kill(running.root, signal.SIGKILL)
    assert running.wait() == 137
    assert gone(command)
    assert gone(detached)
    running.close()


def test_a_fork_bomb_does_not_outrun_the_end(backend: Landlock, world: Path) -> None:
    bomb = """if True:
        import os, resource
        resource.setrlimit(resource.RLIMIT_NPROC, (400, 400))
        print("on", flush=True)
        for _ in range(6):
            os.fork()
        while True:
            if not os.fork():
                os._exit(0)
            os.waitpid(-1, 0)
    """
    ours, theirs = os.pipe()
    plan = plan_for(world)
    f"import resource\nresource.setrlimit(resource.RLIMIT_NPROC, (400, 400))\n{bomb.replace('range(40)', 'range(6)')}"
    running = start(backend, plan, [sys.executable, "-I", "-S", "-c", bomb], theirs)
    os.close(theirs)
    running.release()
    with open(ours, "rb", buffering=0) as file:
        assert file.read(2) == b"on"
        running.kill()
        running.wait()
        while file.read(4096):  # comes to its end when nobody holds the other one
            continue
    running.close()


def test_the_command_cannot_signal_its_supervisor(backend: Landlock, world: Path) -> None:
    _status, out = run(backend, plan_for(world), ["/bin/sh", "-c", "kill -0 $PPID 2>/dev/null && echo OUT"])
    assert out == NOT


def test_a_signal_is_passed_on(backend: Landlock, world: Path) -> None:
    ours, theirs = os.pipe()
    script = "trap 'echo caught; exit 5' TERM; echo ready; while :; do sleep 1000 & wait $!; done"
    running = start(backend, plan_for(world), ["/bin/sh", "-c", script], theirs)
    os.close(theirs)
    running.release()
    with open(ours, "rb", buffering=0) as file:
        assert file.read(100) == b"ready\n"
        running.signal(signal.SIGTERM)
        assert running.wait() == 5
        assert file.read(100) == b"caught\n"
    running.close()


def test_a_killed_launcher_is_started_again_and_its_calls_go_on(world: Path) -> None:
    launcher = Launcher()
    backend = Landlock(launcher)
    assert run(backend, plan_for(world), ["/bin/true"])[0] == 0
    running, detached = started_with_detached(backend, world)
    process = launcher._process
    process.kill()
    process.wait()
    assert run(backend, plan_for(world), ["/bin/sh", "-c", "exit 3"])[0] == 3
    running.kill()
    assert running.wait() == 137
    assert gone(detached)
    running.close()
    launcher.stop()


ORPHANED = """
import os, sys
sys.path.insert(0, {tests!r})
from pathlib import Path
from test_landlock import started_with_detached, Landlock
running, detached = started_with_detached(Landlock(), Path({world!r}))
print(running.pid, detached, running.root, flush=True)
os.read(0, 1)
"""


def test_killing_the_gateway_ends_its_calls(world: Path) -> None:
    code = ORPHANED.format(tests=str(Path(__file__).parent), world=str(world))
    gateway = subprocess.Popen(
        [sys.executable, "-c", code],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(Path(__file__).parents[3]), *sys.path])},
    )
    with gateway:
        assert gateway.stdout is not None
        pids = [int(each) for each in gateway.stdout.readline().split()]
        assert len(pids) == 3
        gateway.kill()
    assert [gone(pid) for pid in pids] == [True, True, True]


def test_the_probe_holds_here_and_says_what_is_weaker(backend: Landlock) -> None:
    probe = backend.probe()
    assert (probe.works, probe.reason) == (True, f"Landlock version {min(backend.abi(), 7)}")
    assert probe.degraded


class Lax(Launcher):
    """Tells the kernel something else than it should."""

    def __init__(self, instead: dict[str, Any]) -> None:
        super().__init__()
        self._instead = instead

    def start(self, *given: Any, **told: Any) -> Held:
        return super().start(*given, **{**told, **self._instead})


@pytest.mark.parametrize("broken", ["handled", "filters"], ids=["no-rules", "no-filter"])
def test_the_probe_tells_a_backend_that_does_not_hold(broken: str) -> None:
    nothing: dict[str, Any] = {"handled": {"handled": 0}, "filters": {"filters": [], "handled": 0}}[broken]
    launcher = Lax(nothing)
    probe = Landlock(launcher).probe()
    launcher.stop()
    assert not probe.works
    assert probe.reason == "inside one can write a file outside, read a file outside"


def test_a_filter_that_does_not_hold_starts_nothing(world: Path) -> None:
    allow_all = bytes([6, 0, 0, 0, 0, 0, 255, 127])
    launcher = Lax({"filters": [allow_all]})
    with pytest.raises(SandboxError, match="a socket could be made"):
        start(Landlock(launcher), plan_for(world), ["/bin/true"], 1)
    launcher.stop()


def test_many_calls_at_once_all_work(backend: Landlock, world: Path) -> None:
    running = [start(backend, plan_for(world), ["/bin/sh", "-c", f"exit {n}"], 1) for n in range(50)]
    for each in running:
        each.release()
    assert [each.wait() for each in running] == list(range(50))
    for each in running:
        each.close()
