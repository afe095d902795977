"""Namespaces of the gateway's own making: what is different from a program that is started for each call."""

from __future__ import annotations

import os
import resource
import select
import signal
import socket
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from gateway.model.limits import Limits
from gateway.model.plan import HIDDEN, READ, WRITE, Mount, Network, SandboxPlan
from gateway.sandbox import attempts
from gateway.sandbox import probe_cache as remembered
from gateway.sandbox.backends import launcher, spaces_probe
from gateway.sandbox.backends.launcher import SPACES, UNCONFINED, Launcher
from gateway.sandbox.backends.spaces import Spaces
from gateway.sandbox.backends.spaces_running import Held
from gateway.sandbox.backends.whole_attempts import SCRIPT, world
from gateway.sandbox.base import Probe, SandboxError, Streams
from gateway.sandbox.spawn import children

from ..started import LINKS, Call, odd_plan, shell

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PLAIN = SandboxPlan((), (), (), "/", (), Network(), Limits())


@pytest.fixture
def plan(tmp_path: Path) -> SandboxPlan:
    return odd_plan(tmp_path)


def pid_of(own: Launcher) -> int:
    assert own._process is not None
    return own._process.pid


def ran(backend: Spaces, plan: SandboxPlan, text: str) -> tuple[int, bytes]:
    with Call(backend, plan, shell(text)) as call:
        call.running.release()
        status = call.running.wait()
        call.running.close()
        return status, b"".join(iter(lambda: os.read(call.read, 4096), b""))


def waiting(own: Launcher, number: int, seconds: float = 20) -> list[int]:
    """The processes of a launcher, once there are so many or the time is over."""
    poll = select.poll()
    found = children(pid_of(own))
    while len(found) != number and seconds > 0:
        poll.poll(20)
        seconds -= 0.02
        found = children(pid_of(own))
    return found


def made_beforehand(backend: Spaces, own: Launcher, plan: SandboxPlan) -> int:
    """The process 1 that waits for the next call. It goes as soon as anything is mounted on the host, by whomever."""
    for _ in range(20):
        ran(backend, plan, "true")
        ran(backend, plan, "true")
        found = waiting(own, 1, seconds=1)
        if len(found) == 1:
            return found[0]
    raise AssertionError("none is made beforehand")


def test_what_it_cannot_express_is_named() -> None:
    plan = PLAIN.replace(
        mounts=(Mount("/", READ), Mount("/proc/sys", WRITE), Mount("/a/../b", READ), Mount("c", READ)),
        environment=(("a=b", "c"), ("d", "e\0f")),
        private=("/a/./b", "/a\0b"),
        links=(("/../a", "b"),),
        files=(("/a/..", b""),),
    )
    assert Spaces().missing(plan) == (
        "'/a/../b' is no path that was resolved",
        "'c' is no path that was resolved",
        "'/a/./b' is no path that was resolved",
        "'/a\\x00b' is no path that was resolved",
        "'/../a' is no path that was resolved",
        "'/a/..' is no path that was resolved",
        "/proc/sys: the sandbox has a /proc of its own",
        "/: the sandbox has a root of its own",
        "an environment variable cannot be named 'a=b'",
        "the environment variable d holds a zero byte",
    )
    with pytest.raises(SandboxError, match="cannot enforce this plan"):
        Spaces().start(plan, ["true"], Streams(0, 1, 2))
    for cwd in ("here", "/he\0re"):
        with pytest.raises(SandboxError, match="it is no absolute path"):
            Spaces().start(PLAIN.replace(cwd=cwd), ["true"], Streams(0, 1, 2))
    for argv in ([], ["a\0b"]):
        with pytest.raises(SandboxError, match="there is no command, or a zero byte"):
            Spaces().start(PLAIN, argv, Streams(0, 1, 2))


def test_a_path_that_leads_up_again_is_mounted_nowhere(
    backend: Spaces, plan: SandboxPlan, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where nobody has looked at the plan: the host's own root would be the command's."""
    monkeypatch.setattr(Spaces, "missing", lambda *_plan: ())
    up = f"{plan.cwd}/" + "../" * plan.cwd.count("/")
    with pytest.raises(SandboxError, match=r"(?s)could not be built: .*Invalid cross-device link"):
        ran(backend, plan.replace(mounts=(*plan.mounts, Mount(f"{up}etc/ssl", READ))), "true")
    assert not os.path.lexists("/.gateway")


@pytest.mark.parametrize(
    ("argv", "status", "failure"),
    [
        (["x" * 300_000], 127, "x" * 1000 + "... is not found"),
        ([""], 126, "process 1 has failed: posix_spawn: argv first element cannot be empty"),
    ],
    ids=["more than a message takes", "what nobody foresaw"],
)
def test_what_could_not_be_started_never_looks_like_success(
    backend: Spaces, plan: SandboxPlan, argv: list[str], status: int, failure: str
) -> None:
    with Call(backend, plan, argv) as call:
        call.running.release()
        assert (call.running.wait(), call.running.failure) == (status, failure)


def test_what_a_call_changes_beside_a_login_lies_in_memory_and_what_hides_in_it_stays_hidden(
    backend: Spaces, plan: SandboxPlan, tmp_path: Path
) -> None:
    (tmp_path / "login/kept").mkdir(parents=True)
    for name in ("token", "kept/secret"):
        (tmp_path / f"login/{name}").write_text("old")
    login = f"{tmp_path}/login"
    mounts = (*plan.mounts, Mount(login, READ), Mount(f"{login}/kept", HIDDEN))
    lent = plan.replace(mounts=tuple(sorted(mounts, key=lambda each: each.path)))
    text = f"cd {login} && echo new > token && echo x > more; cat token; ls; ls kept"
    assert b"old\nkept\ntoken\n" in ran(backend, lent, text)[1].replace(b"old", b"old\n")
    status, said = ran(backend, lent.replace(transient=(login,)), text)
    assert (status, said[:20]) == (2, b"new\nkept\nmore\ntoken\n"), said
    assert sorted(each.name for each in (tmp_path / "login").iterdir()) == ["kept", "token"]
    assert (tmp_path / "login/token").read_text() == "old"


def test_nothing_is_made_beforehand_for_a_single_call(backend: Spaces, own: Launcher, plan: SandboxPlan) -> None:
    assert ran(backend, plan, "exit 3") == (3, b"")
    assert waiting(own, 0) == []


def test_where_calls_follow_each_other_the_next_is_made_beforehand(
    backend: Spaces, own: Launcher, plan: SandboxPlan
) -> None:
    def is_next() -> bool:
        ready = made_beforehand(backend, own, plan)
        with Call(backend, plan, shell("true")) as call:
            return call.running.root == ready

    assert any(is_next() for _ in range(5))


def test_one_that_has_ended_meanwhile_is_replaced(backend: Spaces, own: Launcher, plan: SandboxPlan) -> None:
    ready = made_beforehand(backend, own, plan)
    held = os.pidfd_open(ready)
    os.kill(ready, signal.SIGKILL)
    select.select([held], [], [], 20)
    os.close(held)
    assert ran(backend, plan, "exit 4") == (4, b"")


def test_a_launcher_that_was_killed_is_started_again(backend: Spaces, own: Launcher, plan: SandboxPlan) -> None:
    with Call(backend, plan, shell("echo ready; sleep 1000")) as call:
        call.running.release()
        assert call.line() == b"ready\n"
        os.kill(pid_of(own), signal.SIGKILL)
        assert call.running.wait() == 137
    assert ran(backend, plan, "exit 5") == (5, b"")


def test_a_launcher_that_was_stopped_holds_no_end_back(backend: Spaces, own: Launcher, plan: SandboxPlan) -> None:
    with Call(backend, plan, shell("echo ready; sleep 1000")) as call:
        call.running.release()
        assert call.line() == b"ready\n"
        os.kill(pid_of(own), signal.SIGSTOP)
        try:
            call.running.kill()
            assert call.running.wait() == 137
        finally:
            os.kill(pid_of(own), signal.SIGCONT)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1])
def test_a_signal_for_the_gateways_group_ends_no_call(
    backend: Spaces, own: Launcher, plan: SandboxPlan, number: int
) -> None:
    with Call(backend, plan, shell("echo ready; read x < fifo; exit 6")) as call:
        os.mkfifo(f"{plan.cwd}/fifo")
        call.running.release()
        assert call.line() == b"ready\n"
        os.kill(pid_of(own), number)
        with open(f"{plan.cwd}/fifo", "r+b", buffering=0) as file:  # also where nobody reads it any more
            file.write(b"\n")
            assert call.running.wait() == 6


def test_an_order_that_cannot_be_handed_on_ends_no_other_call(
    backend: Spaces, own: Launcher, plan: SandboxPlan
) -> None:
    with Call(backend, plan, shell("echo ready; read x < fifo; exit 6")) as call:
        os.mkfifo(f"{plan.cwd}/fifo")
        call.running.release()
        assert call.line() == b"ready\n"
        with pytest.raises(SandboxError, match="cannot be handed on"):
            backend.start(plan, ["true"], Streams(call.nowhere, 1 << 20, call.nowhere))
        most = resource.prlimit(pid_of(own), resource.RLIMIT_NOFILE)
        resource.prlimit(pid_of(own), resource.RLIMIT_NOFILE, (4, most[1]))
        with pytest.raises(SandboxError, match="could not be built"):
            backend.start(plan, ["true"], Streams(call.nowhere, call.nowhere, call.nowhere))
        resource.prlimit(pid_of(own), resource.RLIMIT_NOFILE, most)
        with open(f"{plan.cwd}/fifo", "r+b", buffering=0) as file:  # also where nobody reads it any more
            file.write(b"\n")
            assert call.running.wait() == 6


def test_why_it_could_not_be_built_is_told_also_when_process_1_has_ended_by_then() -> None:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    gone = subprocess.Popen(["true"])
    gone.wait()
    theirs.send(b"made %d" % gone.pid)
    theirs.send(b"failed for a reason")
    with pytest.raises(SandboxError, match="could not be built: for a reason"):
        Held(ours, (), lambda: None).built()
    theirs.close()


@pytest.mark.parametrize("said", [b"junk", b"ended", b"ended x y", b"ended -1 ", b"ended 1000 ", b"ready"])
def test_what_process_1_never_says_ends_the_call(said: bytes) -> None:
    """A command that may trace others may speak for process 1: then the time limit is not looked at any more."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with subprocess.Popen(["sleep", "1000"]) as sleeper:
        theirs.send(b"made %d" % sleeper.pid)
        theirs.send(b"ready")
        held = Held(ours, (), lambda: None)
        held.built()
        theirs.send(said)
        assert held.wait() == 137
        assert sleeper.wait() == -signal.SIGKILL
        held.close()
    theirs.close()


def test_the_umask_is_that_of_now(backend: Spaces, plan: SandboxPlan) -> None:
    found = []
    for mask in (0o022, 0o077):
        before = os.umask(mask)
        found.append(ran(backend, plan, "umask"))
        os.umask(before)
    assert found == [(0, b"0022\n"), (0, b"0077\n")]


def test_who_became_somebody_else_has_another_launcher(own: Launcher, monkeypatch: pytest.MonkeyPatch) -> None:
    own.prepare()
    first = pid_of(own)
    own.prepare()
    assert pid_of(own) == first
    monkeypatch.setattr(os, "getresuid", lambda: (1, 2, 3))
    own.prepare()
    assert pid_of(own) != first


def test_a_lock_that_is_held_while_the_gateway_forks_holds_up_nobody(own: Launcher, backend: Spaces) -> None:
    with own._lock, backend._probing:
        child = os.fork()
        if not child:
            os._exit(own._lock.locked() or backend._probing.locked())
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may mount")
def test_what_is_mounted_on_the_host_during_a_call_is_not_shown(tmp_path: Path) -> None:
    """It was not planned, and could be written where all is to be read."""
    script = (
        "import os, subprocess, sys\n"
        "sys.path[:0] = sys.argv[2:]\n"
        "from gateway.model.plan import *\n"
        "from gateway.model.limits import Limits\n"
        "from gateway.sandbox.base import Streams\n"
        "from gateway.sandbox.backends.spaces import Spaces\n"
        "top = sys.argv[1]\n"
        "links = tuple((f'/{each}', os.readlink(f'/{each}')) for each in ('bin', 'lib', 'lib64')\n"
        "              if os.path.islink(f'/{each}'))\n"
        "mounts = [Mount(f'/{each}', READ) for each in ('usr', 'bin', 'lib', 'lib64')\n"
        "          if os.path.isdir(f'/{each}') and not os.path.islink(f'/{each}')] + [Mount(top, READ)]\n"
        "plan = SandboxPlan(tuple(sorted(mounts)), links, (), '/', (('PATH', '/usr/bin:/bin'),), Network(), Limits())\n"
        "running = Spaces().start(plan, ['sh', '-c', f'touch {top}/sub/new; exec ls {top}/sub'], Streams(0, 1, 2))\n"
        "subprocess.run(['mount', '-t', 'tmpfs', 'none', f'{top}/sub'], check=True)\n"
        "open(f'{top}/sub/later', 'w').close()\n"
        "running.release(); running.wait(); running.close()\n"
        "print(os.listdir(f'{top}/sub'))\n"
    )
    top = tmp_path / "top"
    (top / "sub" / "before").mkdir(parents=True)
    done = subprocess.run(
        ["unshare", "--mount", "--propagation", "shared", sys.executable, "-c", script, str(top), *sys.path],
        stdin=subprocess.DEVNULL, capture_output=True, timeout=60, check=False,
    )  # fmt: skip
    if b"unshare failed" in done.stderr:
        pytest.skip("this machine lets us make no such place")
    assert (done.returncode, done.stdout.split()) == (0, [b"before", b"['later']"]), done.stderr


def test_process_1_that_is_killed_takes_everything_along(backend: Spaces, plan: SandboxPlan) -> None:
    with Call(backend, plan, shell("echo ready; sleep 1000")) as call:
        call.running.release()
        assert call.line() == b"ready\n"
        os.kill(call.running.root, signal.SIGKILL)
        assert call.running.wait() == 137


@pytest.fixture
def children_end_unheard() -> Iterator[None]:
    """As in a program, or a thread of one, that has signals held back, which whoever it starts inherits."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD})
    yield
    signal.pthread_sigmask(signal.SIG_SETMASK, before)


@pytest.mark.usefixtures("children_end_unheard")
def test_an_end_is_told_also_where_the_gateway_holds_back_what_tells_of_children(
    backend: Spaces, plan: SandboxPlan
) -> None:
    with Call(backend, plan, shell("echo ready; sleep 1000")) as call:
        call.running.release()
        assert call.line() == b"ready\n"
        os.kill(call.running.root, signal.SIGKILL)
        assert select.select([call.running.exited], [], [], 20)[0]


@pytest.mark.usefixtures("children_end_unheard")
def test_and_that_of_a_call_that_nothing_confines() -> None:
    own = Launcher(UNCONFINED)
    streams = Streams(nowhere := os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC), nowhere, nowhere)
    running = own.start(PLAIN, shell("exit 3"), streams, (), "")
    try:
        running.release()
        assert select.select([running.exited], [], [], 20)[0]
        assert running.wait() == 3
    finally:
        running.kill()
        running.close()
        own.stop()
        os.close(nowhere)


def test_who_never_says_go_starts_nothing(backend: Spaces, own: Launcher, plan: SandboxPlan) -> None:
    with Call(backend, plan, shell("echo ran")) as call:
        call.running.kill()
        assert call.running.wait() == 137
        assert os.read(call.read, 100) == b""
    assert waiting(own, 0) == []


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may mount")
def test_what_is_mounted_between_two_calls_is_there_in_the_second(tmp_path: Path) -> None:
    """In a mount namespace of its own, whose mounts nobody is told of: what was made beforehand shows the old ones."""
    script = (
        "import os, subprocess, sys\n"
        "sys.path[:0] = sys.argv[2:]\n"
        "from gateway.model.plan import *\n"
        "from gateway.model.limits import Limits\n"
        "from gateway.sandbox.base import Streams\n"
        "from gateway.sandbox.backends.spaces import Spaces\n"
        "from gateway.sandbox.backends.launcher import IN_SPACES\n"
        "from gateway.sandbox.spawn import children\n"
        "top = sys.argv[1]\n"
        "mounts = [Mount(each, READ) for each in ('/usr',)] + [Mount(top, READ)]\n"
        "links = tuple((f'/{each}', os.readlink(f'/{each}')) for each in ('bin', 'lib', 'lib64')\n"
        "              if os.path.islink(f'/{each}'))\n"
        "mounts += [Mount(f'/{each}', READ) for each in ('bin', 'lib', 'lib64')\n"
        "           if os.path.isdir(f'/{each}') and not os.path.islink(f'/{each}')]\n"
        "plan = SandboxPlan(tuple(sorted(mounts)), links, (), '/', (('PATH', '/usr/bin:/bin'),), Network(), Limits())\n"
        "def call():\n"
        "    running = Spaces().start(plan, ['ls', top], Streams(0, 1, 1))\n"
        "    running.release(); assert running.wait() == 0; running.close()\n"
        "call(); call()\n"
        "while not children(IN_SPACES._process.pid): pass\n"
        "subprocess.run(['mount', '-t', 'tmpfs', 'none', top], check=True)\n"
        "while children(IN_SPACES._process.pid): pass\n"  # which would hold what was unmounted
        "open(f'{top}/new', 'w').close()\n"
        "call()\n"
    )
    top = tmp_path / "top"
    top.mkdir()
    (top / "old").touch()
    done = subprocess.run(
        ["unshare", "--mount", "--propagation", "private", sys.executable, "-c", script, str(top), *sys.path],
        stdin=subprocess.DEVNULL, capture_output=True, timeout=60, check=False,
    )  # fmt: skip
    if b"unshare failed" in done.stderr:
        pytest.skip("this machine lets us make no such place")
    assert (done.returncode, done.stdout.split()) == (0, [b"old", b"old", b"new"]), done.stderr


def test_a_link_is_not_made_in_a_folder_of_the_host(backend: Spaces, plan: SandboxPlan) -> None:
    broken = plan.replace(links=(*LINKS, (f"{plan.cwd}/link", "/usr")))
    with pytest.raises(SandboxError, match=r"(?s)could not be built: .*link: a link cannot be made"):
        ran(backend, broken, "true")
    assert os.listdir(plan.cwd) == [".git"]


@pytest.mark.parametrize("held", [True, False], ids=["held", "not held"])
def test_a_link_that_is_held_stays_where_it_is_and_leads_where_it_did(
    backend: Spaces, plan: SandboxPlan, *, held: bool
) -> None:
    os.makedirs(f"{plan.cwd}/a/there")
    os.symlink("there", f"{plan.cwd}/a/l")
    text = "echo x > a/l/f; ln -sfn evil a/l; rm -f a/l; mv a b; mkdir -p a; ln -s evil n; mv -T n a/l; cat a/there/f"
    status, said = ran(backend, plan.replace(held=(f"{plan.cwd}/a/l",) if held else ()), text)
    assert (status, said.endswith(b"x\n")) == ((0, True) if held else (1, False))
    assert os.readlink(f"{plan.cwd}/a/l") == ("there" if held else "evil")


def test_what_has_become_something_else_than_a_link_is_not_held_as_one(backend: Spaces, plan: SandboxPlan) -> None:
    os.mkdir(f"{plan.cwd}/l")
    with pytest.raises(SandboxError, match="no longer what it was when the call was planned"):
        ran(backend, plan.replace(held=(f"{plan.cwd}/l",)), "true")


def test_what_is_hidden_is_there_and_closed(backend: Spaces, plan: SandboxPlan) -> None:
    os.mkdir(f"{plan.cwd}/vault")
    with open(f"{plan.cwd}/secret", "wb") as file:
        file.write(b"secret")
    mounts = (*plan.mounts, Mount(f"{plan.cwd}/secret", HIDDEN, False), Mount(f"{plan.cwd}/vault", HIDDEN))
    text = "ls; cat secret; ls vault; echo x > secret; rm -f secret; rmdir vault; mv vault v"
    status, said = ran(backend, plan.replace(mounts=tuple(sorted(mounts))), text)
    lines = said.decode("utf-8", "replace").splitlines()
    assert lines[:2] == ["secret", "vault"]
    assert (status, len(lines)) == (1, 8), lines
    assert sorted(os.listdir(plan.cwd)) == [".git", "secret", "vault"]


class TestProbe:
    def test_what_holds_is_found_to_hold(self, backend: Spaces) -> None:
        assert attempts.attempt(backend, SCRIPT, world) == ""

    def test_what_does_not_hold_is_found_not_to(self, backend: Spaces) -> None:
        def leaky(top: str) -> SandboxPlan:
            plan = world(top)
            return plan.replace(mounts=tuple(sorted((*plan.mounts, Mount(f"{top}/outside", WRITE)))))

        found = attempts.attempt(backend, SCRIPT, leaky)
        assert found == "inside one can write a file outside, read a file outside"

    def test_the_answer_is_kept_until_something_of_it_changes(
        self, backend: Spaces, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
        assert not spaces_probe.known()
        assert backend.probe().works
        assert spaces_probe.known()
        monkeypatch.setattr(spaces_probe, "SCRIPT", "exit 0")
        assert not spaces_probe.known()
        monkeypatch.undo()

    def test_without_the_kernels_leave_it_says_so(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(remembered, "holds", lambda *_what: False)
        monkeypatch.setattr(launcher, "_PROGRAM", "import sys; sys.exit(3)")
        probe = Spaces(Launcher(SPACES)).probe()
        assert (probe.works, "ended at once" in probe.reason) == (False, True), probe

    def test_what_held_and_failed_is_tried_again(self, monkeypatch: pytest.MonkeyPatch) -> None:
        backend = Spaces()
        answers = iter([Probe(True, "a"), Probe(False, "b"), Probe(True, "c")])
        monkeypatch.setattr(spaces_probe, "probe", lambda _backend: next(answers))
        assert [backend.probe().reason for _ in range(2)] == ["a", "a"]
        backend._forget()
        assert [backend.probe().reason for _ in range(3)] == ["b", "c", "c"]

    def test_what_never_held_is_not_tried_again(self, monkeypatch: pytest.MonkeyPatch) -> None:
        backend = Spaces()
        answers = iter([Probe(False, "a"), Probe(True, "b")])
        monkeypatch.setattr(spaces_probe, "probe", lambda _backend: next(answers))
        assert [backend.probe().reason for _ in range(2)] == ["a", "a"]

    def test_a_refusal_is_kept_for_a_while_where_bubblewrap_holds_as_much(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
        found: list[str] = []
        answer = "a call could not be confined: namespaces: Operation not permitted"
        monkeypatch.setattr(spaces_probe, "tried", lambda *_how: found.append("tried") or answer)
        monkeypatch.setattr(spaces_probe, "_bubblewrap_holds", lambda: holds)
        for holds in (True, True, False):  # noqa: B007
            assert not Spaces().probe().works
            found.append("said")
        record = tmp_path / "gateway" / "run" / "namespaces-refused"
        os.utime(record, (record.stat().st_mtime - 601,) * 2)
        holds = True
        assert answer in Spaces().probe().reason
        assert found == ["tried", "said", "said", "tried", "said", "tried"]

    def test_what_fails_at_the_moment_is_no_refusal(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
        monkeypatch.setattr(spaces_probe, "tried", lambda *_how: "it cannot be tried: Too many open files")
        assert not Spaces().probe().works
        assert not (tmp_path / "gateway" / "run" / "namespaces-refused").exists()
