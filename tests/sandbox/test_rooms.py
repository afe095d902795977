"""What the confined calls of one session share, and what no other session ever meets: as root and as anybody."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from typing import TYPE_CHECKING

import pytest

from gateway.core.room_names import has_gone, of_client, of_process
from gateway.model.limits import Limits
from gateway.model.plan import READ, WRITE, Mount, Network, SandboxPlan
from gateway.sandbox import rooms
from gateway.sandbox.backends.spaces import Spaces
from gateway.sandbox.base import Streams
from gateway.sandbox.persistent_folders import shared_by
from gateway.sandbox.rooms import brought, done, end, entered, note, sweep

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PRIVATE = ("/tmp", "/var/tmp")
needs_namespaces = pytest.mark.skipif(not Spaces().probe().works, reason="namespaces do not hold here")


@pytest.fixture
def state(tmp_path: Path) -> Iterator[str]:
    folder = str(tmp_path / "rooms")
    yield folder
    for name in os.listdir(folder) if os.path.isdir(folder) else ():
        assert end(folder, name)


def plan_of(state: str, name: str, *mounts: Mount, cwd: str = "/") -> SandboxPlan:
    system = [each for each in ("/bin", "/lib", "/lib32", "/lib64", "/usr", "/etc") if os.path.isdir(each)]
    links = tuple([(each, os.readlink(each)) for each in system if os.path.islink(each)])
    shown = [Mount(each, READ) for each in system if not os.path.islink(each)]
    if sys.prefix not in ("/usr", "/usr/local"):
        shown.append(Mount(os.path.realpath(sys.base_prefix), READ))
    return SandboxPlan(
        tuple(sorted((*shown, *mounts), key=lambda mount: mount.path)), links, private=PRIVATE, cwd=cwd,
        environment=(("PATH", "/usr/bin:/bin"),), network=Network(), limits=Limits(),
        shared=shared_by(state, name, PRIVATE), loopback=f"{state}/{name}" if name else "",
    )  # fmt: skip


class Call:
    """A command that runs in a room until `end`, or by itself to its end."""

    def __init__(self, plan: SandboxPlan, *argv: str) -> None:
        self._entered = entered(plan) if plan.shared else None
        plan = self._entered.__enter__() if self._entered is not None else plan
        self.plan = plan
        reading, writing = os.pipe()
        nothing = os.open(os.devnull, os.O_RDWR)
        self.running = Spaces().start(plan, argv, Streams(nothing, writing, writing))
        os.close(writing)
        os.close(nothing)
        self.output = os.fdopen(reading)
        self.running.release()

    def line(self) -> str:
        return self.output.readline().strip()

    def said(self) -> str:
        text = self.output.read().strip()
        self.end()
        return text

    def end(self) -> None:
        self.running.kill()
        self.running.wait()
        self.running.close()
        self.output.close()
        if self._entered is not None:
            self._entered.__exit__(None, None, None)
            self._entered = None


def said(plan: SandboxPlan, text: str) -> str:
    return Call(plan, "sh", "-c", text).said()


def holder_of(state: str, name: str) -> int:
    with open(f"{state}/{name}/holder") as file:
        return int(file.read().split()[0])


SERVER = "import socket; s = socket.socket(); s.bind(('127.0.0.1', 8811)); s.listen(); print('up', flush=True); "
SERVER += "c, _ = s.accept(); c.sendall(b'hello'); c.close(); s.accept()"
CLIENT = "import socket\ntry: print(socket.create_connection(('127.0.0.1', 8811), 5).recv(9).decode())\n"
CLIENT += "except OSError as e: print(type(e).__name__)"
ABSTRACT = "import socket; s = socket.socket(socket.AF_UNIX); s.bind('\\0meet'); s.listen(); print('up', flush=True); "
ABSTRACT += "c, _ = s.accept(); c.sendall(b'hello'); c.close(); s.accept()"
ABSTRACT_CLIENT = (
    "import socket; s = socket.socket(socket.AF_UNIX)\ntry: s.connect('\\0meet'); print(s.recv(9).decode())"
)
ABSTRACT_CLIENT += "\nexcept OSError as e: print(type(e).__name__)"


# ----------------------------------------------------------------------------------------------------------- names


def test_a_room_is_called_after_who_uses_it() -> None:
    mine = of_process(os.getpid())
    names = {
        of_client("claude", "a"),
        of_client("claude", "b"),
        of_client("codex", "a"),
        mine,
        of_process(os.getppid()),
    }
    assert len(names) == 5
    assert (of_client("claude", "a"), of_process(os.getpid())) == (of_client("claude", "a"), mine)
    assert of_process(os.getpid(), anew=True) != of_process(os.getpid(), anew=True)
    assert (of_client("claude", ""), of_process(1), of_process(2**22 + 1)) == ("", "", "")


def test_a_room_is_over_when_the_process_that_it_is_called_after_is() -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        name = of_process(process.pid, anew=True)
        assert has_gone(name) is False
    pid, began, *rest = name.split("-")
    later = "-".join((str(os.getpid()), began, *rest))  # the number was given again
    assert (has_gone(name), has_gone(later), has_gone(of_client("claude", "a"))) == (True, True, None)
    assert has_gone("-".join((pid, began, "elsewhere"))) is None


# ---------------------------------------------------------------------------------------------- a temporary folder


@needs_namespaces
def test_calls_of_one_session_find_what_others_of_it_left_in_tmp_and_nobody_else_does(state: str) -> None:
    one, other, none = plan_of(state, "1-1-a"), plan_of(state, "1-1-b"), plan_of(state, "")
    assert said(one, "echo hi > /tmp/x; mkdir -p /var/tmp/d && echo ho > /var/tmp/d/y; ls -A /tmp") == "x"
    assert said(one, "cat /tmp/x /var/tmp/d/y") == "hi\nho"
    assert said(other, "ls -A /tmp /var/tmp") == "/tmp:\n\n/var/tmp:"
    assert said(none, "echo no > /tmp/z; ls -A /tmp") == "z"
    assert said(one, "ls -A /tmp") == "x"
    assert said(none, "ls -A /tmp") == ""


@needs_namespaces
def test_the_folder_is_a_usual_temporary_one_without_set_id_or_devices(state: str) -> None:
    plan = plan_of(state, "1-1-a")
    assert said(plan, "stat -c %a /tmp; grep -E ' /tmp ' /proc/self/mountinfo | grep -o 'rw,[a-z,]*' | head -1") in (
        "1777\nrw,nosuid,nodev,relatime", "1777\nrw,nosuid,nodev,noatime", "1777\nrw,nosuid,nodev",
    )  # fmt: skip


@needs_namespaces
def test_what_lies_in_the_real_tmp_is_there_only_where_it_is_mounted(state: str, tmp_path: Path) -> None:
    assert str(tmp_path).startswith("/tmp/")
    work, file = tmp_path / "work", tmp_path / "file"
    work.mkdir()
    (work / "a").write_text("a")
    file.write_text("f")
    plan = plan_of(state, "1-1-a", Mount(str(work), WRITE), Mount(str(file), READ, False), cwd=str(work))
    assert said(plan, f"pwd; cat a {file}; echo b > b; ls {tmp_path}") == f"{work}\naffile\nwork".replace("af", "af")
    assert (work / "b").read_text() == "b\n"
    # What a call leaves where something has to be mounted gives way to it.
    assert said(plan_of(state, "1-1-a"), f"rm -rf {tmp_path}; ln -s /etc {tmp_path}; ls /tmp") != ""
    assert said(plan, "cat b") == "b"


def test_a_place_that_somebody_could_look_into_is_not_used_again(state: str) -> None:
    with entered(plan_of(state, "1-1-a")) as plan:
        first = dict(plan.shared)["/tmp"]
    os.chmod(os.path.dirname(first), 0o755)
    with entered(plan_of(state, "1-1-a")) as plan:
        assert dict(plan.shared)["/tmp"] != first
    rooms.remove(os.fsencode(os.path.dirname(first)))


# ------------------------------------------------------------------------------------------------------ a loopback


@needs_namespaces
@pytest.mark.parametrize(("server", "client"), [(SERVER, CLIENT), (ABSTRACT, ABSTRACT_CLIENT)])
def test_calls_of_one_session_meet_on_its_loopback_and_nobody_else_does(state: str, server: str, client: str) -> None:
    python = os.path.realpath(sys.executable)
    serving = Call(plan_of(state, "1-1-a"), python, "-c", server)
    try:
        assert serving.line() == "up"
        refused = "ConnectionRefusedError"
        assert Call(plan_of(state, "1-1-b"), python, "-c", client).said() == refused
        assert Call(plan_of(state, ""), python, "-c", client).said() == refused
        outside = subprocess.run([python, "-c", client], capture_output=True, text=True, check=True).stdout.strip()
        assert outside == refused
        assert Call(plan_of(state, "1-1-a"), python, "-c", client).said() == "hello"
    finally:
        serving.end()
    assert Call(plan_of(state, "1-1-a"), python, "-c", client).said() == refused


@needs_namespaces
def test_nobody_in_a_room_has_rights_over_its_network(state: str) -> None:
    tries = (
        "ip link set lo down", "ip addr add 10.0.0.1/8 dev lo", "ip link add d0 type dummy", "unshare -n true",
        "unshare -r true", "nsenter -t 1 -n true",
    )  # fmt: skip
    for each in tries:
        assert said(plan_of(state, "1-1-a"), f"{each} >/dev/null 2>&1 && echo done || echo no") == "no"
    raw = "import socket; socket.socket(socket.AF_INET, socket.SOCK_RAW, 1)"
    assert "PermissionError" in Call(plan_of(state, "1-1-a"), os.path.realpath(sys.executable), "-c", raw).said()


@needs_namespaces
def test_the_holder_goes_with_the_last_call_that_uses_the_room(state: str) -> None:
    plan = plan_of(state, "1-1-a")
    first = Call(plan, "sleep", "100")
    pid = holder_of(state, "1-1-a")
    descriptor = os.pidfd_open(pid)
    second = Call(plan, "sleep", "100")
    first.end()
    assert said(plan, "readlink /proc/self/ns/net") == os.readlink(f"/proc/{second.running.root}/ns/net")
    assert not _is_readable(descriptor, 0)
    second.end()
    assert _is_readable(descriptor, 30)
    os.close(descriptor)


def _is_readable(descriptor: int, seconds: float) -> bool:
    import select

    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    return bool(poll.poll(seconds * 1000))


@needs_namespaces
def test_calls_that_begin_at_once_are_in_one_network(state: str) -> None:
    found: list[str] = []

    def run() -> None:
        call = Call(plan_of(state, "1-1-a"), "sh", "-c", "readlink /proc/self/ns/net; exec sleep 100")
        found.append(call.line())
        calls.append(call)

    calls: list[Call] = []
    threads = [threading.Thread(target=run) for _ in range(8)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    for call in calls:
        call.end()
    assert (len(found), len(set(found))) == (8, 1)


@needs_namespaces
def test_a_holder_that_was_killed_has_another_after_it(state: str) -> None:
    plan = plan_of(state, "1-1-a")
    first = Call(plan, "sleep", "100")
    pid = holder_of(state, "1-1-a")
    descriptor = os.pidfd_open(pid)
    os.kill(pid, 9)
    assert _is_readable(descriptor, 30)
    os.close(descriptor)
    before = os.readlink(f"/proc/{first.running.root}/ns/net")
    assert said(plan, "readlink /proc/self/ns/net") not in ("", before, os.readlink("/proc/self/ns/net"))
    first.end()


# ------------------------------------------------------------------ what a client's own tools write in the real /tmp


def test_a_file_appears_once_a_tool_wrote_it(state: str, tmp_path: Path) -> None:
    new, old, denied = (str(tmp_path / name) for name in ("new", "old", "denied"))
    for each in (old, denied):
        with open(each, "w") as file:
            file.write("before")
    note(state, "client-a", [new, old, denied])
    assert brought(state, "client-a") == ()
    for each in (new, old):
        with open(each, "w") as file:
            file.write("after")
    assert brought(state, "client-a") == (new, old)
    assert (brought(state, "client-b"), brought(state, "")) == ((), ())


def test_a_file_that_somebody_was_asked_about_counts_when_the_call_has_ended(state: str, tmp_path: Path) -> None:
    path = str(tmp_path / "new")
    note(state, "client-a", [path], call="k")
    with open(path, "w") as file:
        file.write("x")
    assert brought(state, "client-a") == ()
    done(state, "client-a", "other")
    assert brought(state, "client-a") == ()
    done(state, "client-a", "k")
    assert brought(state, "client-a") == (path,)


@pytest.mark.parametrize("kind", ["link", "folder", "second name", "link on the way", "gone", "elsewhere"])
def test_nothing_but_a_file_of_ones_own_at_the_end_of_no_link_appears(state: str, tmp_path: Path, kind: str) -> None:
    real, path = tmp_path / "real", tmp_path / "d" / "x"
    real.write_text("secret")
    note(state, "client-a", ["/etc/passwd" if kind == "elsewhere" else str(path)])
    if kind == "link on the way":
        (tmp_path / "e").mkdir()
        (tmp_path / "e" / "x").write_text("x")
        (tmp_path / "d").symlink_to("e")
    else:
        (tmp_path / "d").mkdir()
    if kind == "link":
        path.symlink_to(real)
    elif kind == "folder":
        path.mkdir()
    elif kind == "second name":
        path.hardlink_to(real)
    assert brought(state, "client-a") == ()


@needs_namespaces
def test_what_stood_for_a_file_goes_with_it(state: str, tmp_path: Path) -> None:
    path = tmp_path / "s.py"
    note(state, "client-a", [str(path)])
    path.write_text("print('it runs')")
    plan = plan_of(state, "client-a", Mount(str(path), WRITE, False))
    assert said(plan, f"cat {path}") == "print('it runs')"
    assert said(plan, f"rm {path} 2>/dev/null && echo gone || echo stays") == "stays"
    path.unlink()
    assert said(plan_of(state, "client-a"), f"ls {tmp_path}") == ""


# ------------------------------------------------------------------------------------------------------------- ends


def test_a_room_in_use_is_not_ended(state: str) -> None:
    with entered(plan_of(state, "1-1-a")) as plan:
        place = os.path.dirname(dict(plan.shared)["/tmp"])
        assert (end(state, "1-1-a"), os.path.isdir(place)) == (False, True)
    assert (end(state, "1-1-a"), os.path.isdir(place), os.path.isdir(f"{state}/1-1-a")) == (True, False, False)


def test_rooms_whose_sessions_are_gone_are_swept(state: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        names = (
            of_process(process.pid),
            of_process(os.getpid()),
            of_client("claude", "new"),
            of_client("claude", "old"),
        )
        for name in names:
            with entered(plan_of(state, name)):
                pass
    os.utime(f"{state}/{names[3]}/use", (0, 0))
    monkeypatch.setattr(rooms, "_swept", set())
    sweep(state)
    assert sorted(os.listdir(state)) == sorted(names[1:3])
