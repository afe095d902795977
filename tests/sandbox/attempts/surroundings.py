"""What attempts need around them, and the two ways to make one: in the sandbox and without any."""

from __future__ import annotations

import ctypes
import os
import platform
import resource
import shutil
import socket
import subprocess
import threading
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

from gateway.core.value import Value
from gateway.sandbox.contract import SECRET, Check, worked
from gateway.sandbox.run import Command, Protection, Runner

from ..world import PATH, World, world
from ..world import lacking as lacking_for_the_contract

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from gateway.model.plan import SandboxPlan
    from gateway.model.result import Result

_libc = ctypes.CDLL(None, use_errno=True)
_X86 = platform.machine() == "x86_64"
# Outside of all worlds: each world has names of its own there.
LEFT = ("/tmp/gateway-attempt-$OUTSIDER", "/dev/shm/gateway-attempt-$OUTSIDER")


class Around(Value):
    """`environment` names what there is; `inherited` are descriptors that the gateway's process holds open."""

    environment: dict[str, str]
    inherited: tuple[int, ...]


def _answering(listener: socket.socket) -> None:
    while True:
        try:
            connection, _address = listener.accept()
            with connection:
                connection.sendall(b"answer")
        except OSError:
            return


def _echoing(receiver: socket.socket) -> None:
    while True:
        try:
            _data, address = receiver.recvfrom(99)
            receiver.sendto(b"answer", address)
        except OSError:
            return


def _call(x86: int, arm: int, *arguments: Any) -> int:
    padded = [ctypes.c_long(each) if isinstance(each, int) else each for each in arguments]
    return int(_libc.syscall(ctypes.c_long(x86 if _X86 else arm), *padded))


@contextmanager
def around() -> Iterator[Around]:
    """Servers, shared memory, queues, a terminal and inheritable descriptors of this process, for many attempts."""
    with ExitStack() as stack:
        environment = {"GATEWAY": str(os.getpid()), "ADDRESS": own_address(), "PORT6": "0"}
        anywhere = stack.enter_context(socket.create_server(("0.0.0.0", 0)))
        environment["PORT_ANY"] = str(anywhere.getsockname()[1])
        receiver = stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
        receiver.bind(("127.0.0.1", 0))
        environment["PORT_UDP"] = str(receiver.getsockname()[1])
        servers = [(_answering, anywhere), (_echoing, receiver)]
        if NEEDS["IPv6"]():
            listener = stack.enter_context(socket.create_server(("::1", 0), family=socket.AF_INET6))
            environment["PORT6"] = str(listener.getsockname()[1])
            servers.append((_answering, listener))
        for work, server in servers:
            threading.Thread(target=work, args=(server,), daemon=True).start()
            stack.callback(server.shutdown, socket.SHUT_RDWR) if work is _answering else None
        key = 0x47000000 | os.getpid() & 0xFFFFFF
        environment["KEY"] = str(key)
        for make, end in (
            (lambda: _call(29, 194, key, 64, 0o1600), lambda n: _call(31, 195, n, 0, 0)),
            (lambda: _call(64, 190, key, 1, 0o1600), lambda n: _call(66, 191, n, 0, 0)),
            (lambda: _call(68, 186, key, 0o1600), lambda n: _call(71, 187, n, 0, 0)),
        ):
            number = make()
            if number >= 0:
                stack.callback(end, number)
        environment["SHARED"] = f"gateway-{os.getpid()}"
        queue = _call(240, 180, environment["SHARED"].encode(), 0o102, 0o600, 0)
        if queue >= 0:
            os.close(queue)
            stack.callback(_call, 241, 181, environment["SHARED"].encode())
        if NEEDS["shared memory"]():
            file = f"/dev/shm/{environment['SHARED']}"
            with open(file, "w", encoding="ascii") as handle:
                handle.write(SECRET)
            stack.callback(os.unlink, file)
        one, other = socket.socketpair()
        ours, theirs = os.openpty()
        environment["TERMINAL"] = os.ttyname(theirs)
        os.set_inheritable(one.fileno(), True)
        environment["CONNECTION"] = str(one.fileno())
        stack.callback(one.close)
        stack.callback(other.close)
        for descriptor in (ours, theirs):
            stack.callback(os.close, descriptor)
        yield Around(environment, (one.fileno(),))


def own_address() -> str:
    """An address of this machine that is not its loopback, "" if it has none."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as trial:
        try:
            trial.connect(("192.0.2.1", 9))
        except OSError:
            return ""
        found = str(trial.getsockname()[0])
    return "" if found.startswith("127.") else found


def _succeeds(work: Callable[[], Any]) -> bool:
    try:
        made = work()
    except OSError:
        return False
    if hasattr(made, "close"):
        made.close()
    return True


def _reads(path: str) -> str:
    try:
        with open(path, encoding="ascii") as file:
            return file.read().strip()
    except OSError:
        return ""


def _status_of(text: str) -> int:
    return subprocess.run(["python3", "-I", "-S", "-c", text], capture_output=True, check=False).returncode


_X32 = "import ctypes as c; raise SystemExit(c.CDLL(None).syscall(c.c_long(0x40000000 + 39)) < 0)"
_32 = (
    "import ctypes as c, mmap; m = mmap.mmap(-1, 4096, prot=7); m.write(bytes.fromhex('b814000000cd80c3'));"
    "raise SystemExit(c.CFUNCTYPE(c.c_int)(c.addressof(c.c_char.from_buffer(m)))() < 0)"
)
_NAMESPACE = "import ctypes as c; raise SystemExit(c.CDLL(None).unshare(0x10000000) != 0)"
# What an attempt takes for granted, and how one sees whether this machine has it.
NEEDS: dict[str, Callable[[], bool]] = {
    "IPv6": lambda: _succeeds(lambda: socket.create_server(("::1", 0), family=socket.AF_INET6)),
    "an address": lambda: bool(own_address()),
    "interfaces": lambda: len(socket.if_nameindex()) > 1,
    "fast open": lambda: int(_reads("/proc/sys/net/ipv4/tcp_fastopen") or 0) & 1 == 1,
    "MPTCP": lambda: _succeeds(lambda: socket.socket(2, 1, 262)),
    "System V": lambda: _call(29, 194, 0, 64, 0o600) >= 0 and os.path.exists("/proc/sysvipc/shm"),
    "queues": lambda: os.path.isdir("/dev/mqueue") and os.access("/dev/mqueue", os.R_OK),
    "shared memory": lambda: os.access("/dev/shm", os.W_OK),
    "keys": lambda: _call(250, 219, 0, -4, 1) >= 0,
    "a key outside": lambda: _call(248, 217, b"user", b"gateway-attempt", b"x", 1, -4) >= 0,
    "io_uring": lambda: _call(425, 425, 1, 0) < 0 and ctypes.get_errno() not in (1, 38),
    "namespaces": lambda: _status_of(_NAMESPACE) == 0,
    "modules": lambda: _call(313, 273, -1, 0, 0) < 0 and ctypes.get_errno() not in (1, 38),
    "kexec": lambda: _call(246, 104, 0, 17, 0, 0) < 0 and ctypes.get_errno() not in (1, 38),
    "kcmp": lambda: _call(312, 272, os.getpid(), os.getpid(), 0, 0, 0) >= 0,
    "tracing": lambda: _reads("/proc/sys/kernel/yama/ptrace_scope") in ("", "0") or os.geteuid() == 0,
    "x86-64": lambda: _X86,
    "32-bit calls": lambda: _X86 and _status_of(_32) == 0,
    "x32 calls": lambda: _X86 and _status_of(_X32) == 0,
    "fchmodat2": lambda: _call(452, 452, -100, b"/proc/self/none", 0, 0) < 0 and ctypes.get_errno() != 38,
    "cgroups": lambda: os.access("/sys/fs/cgroup/cgroup.procs", os.W_OK),
    "something in /run": lambda: bool(os.listdir("/run")),
    "dumps": lambda: not 0 <= resource.getrlimit(resource.RLIMIT_CORE)[1] < 1 << 20,
    "ports": lambda: _X86 and _status_of("import ctypes as c; raise SystemExit(c.CDLL(None).iopl(3) != 0)") == 0,
    "ranks": lambda: _status_of("import os; os.write(os.open('/proc/self/oom_score_adj', 1), b'-500')") == 0,
    "attributes of files in memory": lambda: _succeeds(_attribute_in_memory),
    "2 GiB of memory": lambda: _available() > 2 << 30,
}


def _attribute_in_memory() -> None:
    file = os.memfd_create("x")
    try:
        os.setxattr(f"/proc/self/fd/{file}", "user.x", b"x")
    finally:
        os.close(file)


def _available() -> int:
    """Bytes of memory that the machine could give, what it keeps of files among them."""
    lines = (line.split() for line in _reads("/proc/meminfo").splitlines())
    return next((int(line[1]) << 10 for line in lines if line[0] == "MemAvailable:"), 0)


def lacking(check: Check) -> str:
    """Why an attempt says nothing on this machine or for this user, "" if it does."""
    usual = []
    for need in check.needs:
        if need.startswith("family "):
            if not _succeeds(lambda need=need: socket.socket(*map(int, need.split()[1:]))):
                return "this kernel has no such sockets"
        elif need.startswith("/"):
            if not os.access(need, os.R_OK):
                return f"there is no {need} here"
        elif need in NEEDS:
            if not NEEDS[need]():
                return f"this machine lacks: {need}"
        else:
            usual.append(need)
    return lacking_for_the_contract(check.replace(needs=tuple(usual)))


class Place:
    """A world of its own for one attempt, in the surroundings of all."""

    def __init__(self, here: World, near: Around) -> None:
        self.here = here
        self.near = near
        here.environment.update(near.environment)

    def plan(self, check: Check, *, least: bool = False) -> SandboxPlan:
        """What the attempt is held by."""
        return self.here.plan(check, least=least)

    def guarded(self, check: Check, runner: Runner, plan: SandboxPlan) -> tuple[bool, Result]:
        """Whether it worked in a sandbox, driven as `gateway exec` drives it."""
        command = Command(lambda _number: (b"/bin/sh", b"-c", check.text.encode()))
        result = runner.run(plan, command, Protection(lambda _path: ""))
        return self._worked(check, result.status), result

    def free(self, check: Check) -> tuple[bool, bytes]:
        """Whether it works without any sandbox."""
        done = subprocess.run(
            ["/bin/sh", "-c", check.twin or check.text],
            cwd=self.here.top / "ws",
            env={**self.here.environment_of(check), "SECRET": SECRET},
            pass_fds=(self.here.descriptor, *self.near.inherited),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=120,
            check=False,
        )
        return self._worked(check, done.returncode), done.stdout

    def _worked(self, check: Check, status: int) -> bool:
        try:
            return worked(check, status, self.here.found(check.proof))
        finally:
            for path in map(self.here.named, LEFT):
                if os.path.lexists(path):
                    os.unlink(path)


@contextmanager
def place(top: Path, near: Around) -> Iterator[Place]:
    """A fresh world."""
    top.mkdir()
    datagrams = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    with datagrams, world(top) as here:
        datagrams.bind(f"\0{here.environment['ABSTRACT']}-d")
        yield Place(here, near)


def installed(programs: Sequence[str]) -> bool:
    """Whether all of them are found where sandboxes of tests look."""
    return all(shutil.which(each, path=PATH) for each in programs)
