"""The launcher of the Landlock fallback: a small process, started once, that forks for each call.

It is run as a script by a Python without site packages, so it imports nothing of the gateway. Being small and single
threaded, it forks in a fraction of a millisecond, where a gateway with many threads and much memory could not do so
safely or quickly. For each call there are two processes below it:

    launcher ── supervisor ── command

The supervisor gathers every orphan of the call (it is their subreaper), ends the whole tree when the command has ended
or the gateway has gone, and removes the call's private folder. It stands in a Landlock domain of its own that only
restricts signals, with the command's domain inside it: so it can signal the call and nothing else, the call cannot
signal it, and one `kill(-1)` by it ends every process of the call in a single step, which no fork can outrun.

A supervisor that is killed leaves its orphans to the launcher, which ends them. Supervisors outlive a launcher.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # the module `signal` alone would cost more than all others
import _socket
import contextlib
import ctypes
import errno
import gc
import marshal
import os
import resource
import select
import sys
from stat import S_ISDIR, S_ISLNK

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446  # the same on every architecture
SCOPE_SIGNAL = 2
_MSG_CMSG_CLOEXEC = 0x40000000
_DEATH_SIGNAL, _SECCOMP, _SECUREBITS, _NO_NEW_PRIVILEGES, _AMBIENT, _SUBREAPER, _DROP_BOUND = 1, 22, 28, 38, 47, 36, 24
_SECURE = 0xEF  # no root, no fix-up of user ids, no kept or ambient capabilities, each locked (keeping is off, locked)
_MOST_DESCRIPTORS = 250
# As `gateway.sandbox.base.OF_THE_TERMINAL`, which is out of reach here.
_TO_GROUP = (
    *(_signal.SIGINT, _signal.SIGQUIT, _signal.SIGHUP, _signal.SIGWINCH),
    *(_signal.SIGTSTP, _signal.SIGSTOP, _signal.SIGCONT),
)
_KEY_SIGNALS = (_signal.SIGINT, _signal.SIGQUIT, _signal.SIGHUP, _signal.SIGTSTP, _signal.SIGTTIN, _signal.SIGTTOU)

_libc = ctypes.CDLL(None, use_errno=True)


class _Refused(Exception):
    """A step of confinement that did not work, in words."""


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_char_p))


def _call(what: str, number: int, *arguments: Any) -> int:
    """A system call by number. Raises _Refused."""
    result: int = _libc.syscall(ctypes.c_long(number), *arguments)
    if result < 0:
        raise _Refused(f"{what}: {os.strerror(ctypes.get_errno())}")
    return result


def _control(what: str, *arguments: int) -> None:
    """prctl. Raises _Refused."""
    padded = [ctypes.c_ulong(each) for each in (*arguments, 0, 0, 0, 0)[:5]]
    if _libc.prctl(*padded) < 0:
        raise _Refused(f"{what}: {os.strerror(ctypes.get_errno())}")


def abi() -> int:
    """The version of Landlock that this kernel offers, 0 if none."""
    found: int = _libc.syscall(ctypes.c_long(CREATE_RULESET), None, ctypes.c_size_t(0), ctypes.c_uint32(1))
    return max(found, 0)


def drop_capabilities() -> None:
    """Gives up every capability of this process for good, and the ways to get one back. Raises _Refused."""
    _control("no new privileges", _NO_NEW_PRIVILEGES, 1)
    _control("ambient capabilities", _AMBIENT, 4)
    for capability in range(64):
        if _libc.prctl(_DROP_BOUND, ctypes.c_ulong(capability), 0, 0, 0) < 0:
            break  # beyond the last one; or an ordinary user, who has none that could come back
    _libc.prctl(_SECUREBITS, ctypes.c_ulong(_SECURE), 0, 0, 0)  # needs a capability; without one nothing is to lock
    header = (ctypes.c_uint32 * 2)(0x20080522, 0)
    if _libc.capset(header, (ctypes.c_uint32 * 6)()) < 0:
        raise _Refused(f"dropping capabilities: {os.strerror(ctypes.get_errno())}")


def _restrict(handled: int, network: int, scoped: int, rules: list[tuple[bytes, int]]) -> None:
    """Enters a Landlock domain in which only what the rules name is allowed. Raises _Refused."""
    head = [handled, network, scoped] if scoped else [handled, network] if network else [handled]
    attributes = (ctypes.c_uint64 * len(head))(*head)
    ruleset = _call(
        "a Landlock ruleset", CREATE_RULESET, attributes, ctypes.c_size_t(8 * len(head)), ctypes.c_uint32(0)
    )
    try:
        for path, access in rules:
            _allow(ruleset, path, access)
        _call("Landlock", RESTRICT_SELF, ctypes.c_int(ruleset), ctypes.c_uint32(0))
    finally:
        os.close(ruleset)


def _allow(ruleset: int, path: bytes, access: int) -> None:
    descriptor = open_exactly(path)
    if descriptor is None:
        return
    try:
        packed = access.to_bytes(8, sys.byteorder) + descriptor.to_bytes(4, sys.byteorder)
        _call(
            f"a rule for {_shown(path)}", ADD_RULE, ctypes.c_int(ruleset), ctypes.c_int(1), packed, ctypes.c_uint32(0)
        )
    finally:
        os.close(descriptor)


def open_exactly(path: bytes) -> int | None:
    """A handle on exactly this path, with no link on the way; None where we may not go (what cannot be opened grants
    nothing). Raises _Refused when something else is there by now."""
    try:
        descriptor = os.open(path, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC)
    except PermissionError:
        return None
    except OSError as error:
        raise _Refused(f"{_shown(path)}: {error.strerror}") from error
    if S_ISLNK(os.fstat(descriptor).st_mode) or os.readlink(b"/proc/self/fd/%d" % descriptor) != path:
        os.close(descriptor)
        raise _Refused(f"{_shown(path)} is not what it was when the call was planned: a link leads elsewhere")
    return descriptor


def _shown(path: bytes) -> str:
    return path.decode("utf-8", "backslashreplace")


def _place(given: list[int], targets: list[int]) -> None:
    """Puts descriptors where the command expects them and closes every other one but those above `targets`."""
    floor = max(targets) + 1
    high = []
    for descriptor in given:
        copy = os.dup(descriptor)
        while copy < floor:
            copy = os.dup(copy)
        high.append(copy)
    for copy, target in zip(high, targets, strict=True):
        os.dup2(copy, target)


def _become(order: dict[str, Any], given: list[int], supervisor: int, report: int, start: int) -> None:
    """The command's process: confines itself, says so, waits for the start and becomes the command."""
    try:
        _control("the death signal", _DEATH_SIGNAL, _signal.SIGKILL)
        if os.getppid() != supervisor:
            raise _Refused("the supervisor has gone")
        if not order["terminal"]:
            os.setsid()
        folder = open_exactly(order["cwd"])
        if folder is None:
            raise _Refused(f"{_shown(order['cwd'])}: {os.strerror(errno.EACCES)}")
        os.fchdir(folder)
        targets: list[int] = order["targets"]
        _place([report, start, *given], [max(targets) + 1, max(targets) + 2, *targets])
        report, start = max(targets) + 1, max(targets) + 2
        os.set_inheritable(report, False)
        os.set_inheritable(start, False)
        last = -1
        for kept in sorted((*targets, report, start)):
            if last + 1 < kept:  # an empty range would be taken for every descriptor
                os.closerange(last + 1, kept)
            last = kept
        os.closerange(last + 1, resource.getrlimit(resource.RLIMIT_NOFILE)[1] & 0x7FFFFFFF)
        if order["handled"]:
            _restrict(order["handled"], order["network"], order["scoped"], order["rules"])
        for kind, soft, hard in order["rlimits"]:
            _limit(kind, soft, hard)
        for program in order["filters"]:
            filled = _Program(len(program) // 8, program)
            _control("the filter of system calls", _SECCOMP, 2, ctypes.addressof(filled))
        if order["filters"]:
            _confirm()
        os.write(report, b"ready")
        if not os.read(start, 1):
            os._exit(126)
    except (_Refused, OSError, ValueError) as error:
        os.write(report, f"failed {error}".encode("utf-8", "backslashreplace"))
        os._exit(126)
    for number in range(1, 65):
        if _signal.getsignal(number) not in (_signal.SIG_DFL, None):
            _signal.signal(number, _signal.SIG_DFL)
    _signal.pthread_sigmask(_signal.SIG_SETMASK, ())
    status, said = _execute(order["argv"], order["environment"])
    os.write(report, order["argv"][0] + said)
    os._exit(status)


def _execute(argv: list[bytes], environment: dict[bytes, bytes]) -> tuple[int, bytes]:
    """Becomes the command; returns only when that fails. The search is our own: what `os` has for it would import
    modules from where we may not read any more."""
    name = argv[0]
    folders = [b""] if b"/" in name else environment.get(b"PATH", b"").split(b":")
    found = False
    for folder in folders:
        path = folder + b"/" + name if folder else name
        try:
            os.execve(path, argv, environment)
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError:
            found = found or b"/" in name or os.path.exists(path)  # a folder closed to us holds nothing for us
    return (126, b" cannot be started") if found else (127, b" is not found")


def _limit(kind: int, soft: int, hard: int) -> None:
    most = resource.getrlimit(kind)[1]
    if most != resource.RLIM_INFINITY:
        soft, hard = min(soft, most), min(hard, most)
    resource.setrlimit(kind, (soft, hard))


def _confirm() -> None:
    """One look that the filter holds, whatever the kernel said of it. Raises _Refused."""
    for family in (_socket.AF_INET, _socket.AF_UNIX):
        try:
            _socket.socket(family, _socket.SOCK_STREAM)
        except OSError:
            continue
        raise _Refused("the filter of system calls does not hold: a socket could be made")


class _Supervisor:
    """Watches over one call and ends it."""

    def __init__(self, order: dict[str, Any], talk: _socket.socket, gateway: int, launcher: int) -> None:
        self.order = order
        self.talk = talk
        self.gateway = gateway
        self.launcher = launcher
        self.command = 0
        self.status = 0
        self.failure = b""
        self.scoped = bool(order["scoped"] & SCOPE_SIGNAL)

    def run(self, given: list[int], wake: int) -> int:
        """The supervisor's whole life: the command's exit status."""
        _control("the subreaper", _SUBREAPER, 1)
        if self.scoped:
            self._enter_own_domain()
        report, report_end = os.pipe()
        start_end, start = os.pipe()
        me = os.getpid()
        self.command = os.fork()
        if not self.command:
            _become(self.order, given, me, report_end, start_end)
        for descriptor in (*given, report_end, start_end):
            os.close(descriptor)
        said = os.read(report, 4096)
        if said != b"ready":
            self.end()
            self.talk.send(said or b"failed the command's process ended before it was confined")
            return 126
        self.talk.send(b"ready %d %d" % (me, self.command))
        self._watch(start, wake)
        self.end()
        self.failure = os.read(report, 4096)  # nobody is left to write more
        return self.status

    def _enter_own_domain(self) -> None:
        """From here on this process can signal its own descendants only: shown, because `end` relies on it."""
        os.kill(self.launcher, 0)
        _restrict(0, 0, SCOPE_SIGNAL, [])
        try:
            os.kill(self.launcher, 0)
        except PermissionError:
            return
        raise _Refused("Landlock does not hold signals back")

    def _watch(self, start: int, wake: int) -> None:
        """Passes on what the gateway says until the command has ended or the gateway wants the end."""
        poll = select.poll()
        for descriptor in (self.talk.fileno(), wake, self.gateway):
            poll.register(descriptor, select.POLLIN)
        while True:
            for descriptor, _event in poll.poll():
                if descriptor == wake:
                    _drain(wake)
                    if self._reap(os.WNOHANG):
                        return
                elif descriptor == self.gateway:
                    return
                else:
                    try:
                        said = self.talk.recv(64)
                    except OSError:
                        said = b""
                    if said == b"go":
                        self._take_along()
                        os.write(start, b"!")
                    elif said.startswith(b"signal "):
                        self._signal(int(said[7:]))
                    else:
                        return

    def _take_along(self) -> None:
        """Has the command where this process has been put to be counted and bounded."""
        try:
            with open("/proc/self/cgroup", "rb") as mine, open(f"/proc/{self.command}/cgroup", "rb") as its:
                here, there = mine.read(), its.read()
        except FileNotFoundError:
            return  # a kernel without control groups, or the command has ended
        if here != there:
            group = next(line[3:] for line in here.splitlines() if line.startswith(b"0::"))
            with open(b"/sys/fs/cgroup" + group + b"/cgroup.procs", "wb") as file:
                file.write(b"%d" % self.command)

    def _signal(self, number: int) -> None:
        try:
            if number in _TO_GROUP and not self.order["terminal"]:
                os.killpg(self.command, number)
            else:
                os.kill(self.command, number)
        except ProcessLookupError:
            return

    def _reap(self, how: int) -> bool:
        """Collects children that have ended; whether the command was among them."""
        ended = False
        while True:
            try:
                pid, status = os.waitpid(-1, how)
            except ChildProcessError:
                return True
            if not pid:
                return ended
            if pid == self.command:
                code = os.waitstatus_to_exitcode(status)
                self.status = code if code >= 0 else 128 - code
                ended = True

    def end(self) -> None:
        """Kills every process of the call and waits until none is left."""
        while True:
            if self.scoped:
                with contextlib.suppress(ProcessLookupError, PermissionError):  # nobody is left
                    os.kill(-1, _signal.SIGKILL)
            else:
                kill_below(os.getpid())
            try:
                pid, status = os.waitpid(-1, 0)
            except ChildProcessError:
                break
            if pid == self.command:
                code = os.waitstatus_to_exitcode(status)
                self.status = code if code >= 0 else 128 - code
        if self.order["private"]:
            remove(self.order["private"])


def kill_below(top: int, spare: frozenset[int] = frozenset()) -> bool:
    """Kills every process below one, found through /proc, but those to spare; whether there was any."""
    below: dict[int, list[int]] = {}
    for name in os.listdir("/proc"):
        if name.isdecimal():
            try:
                with open(f"/proc/{name}/stat", "rb") as file:
                    state, parent = file.read().rpartition(b")")[2].split()[:2]
            except OSError:
                continue  # it has ended
            if state != b"Z":
                below.setdefault(int(parent), []).append(int(name))
    pending = [each for each in below.get(top, ()) if each not in spare]
    found = bool(pending)
    while pending:
        pid = pending.pop()
        pending += below.get(pid, ())
        try:
            os.kill(pid, _signal.SIGKILL)
        except ProcessLookupError:
            continue
    return found


def remove(path: bytes) -> None:
    """Removes a folder with all that a command may have left in it, however deep, without following links.

    Nothing may be running in it. What cannot be removed stays.
    """
    try:
        top = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return
    try:
        number = 0
        pending = [name for name in os.listdir(top) if not _unlink(name, top)]
        while pending:
            folder = pending.pop()
            try:
                os.chmod(folder, 0o700, dir_fd=top)
                inside = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=top)
            except OSError:
                continue
            try:
                for name in os.listdir(inside):
                    if not _unlink(name, inside):
                        number += 1
                        os.chmod(name, 0o700, dir_fd=inside)
                        os.rename(name, f".{number}", src_dir_fd=inside, dst_dir_fd=top)
                        pending.append(f".{number}")
                os.rmdir(folder, dir_fd=top)
            except OSError:
                continue
            finally:
                os.close(inside)
        os.rmdir(path)
    except OSError:
        return
    finally:
        os.close(top)


def _unlink(name: str, folder: int) -> bool:
    """Removes what is no folder; whether it is gone."""
    if S_ISDIR(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
        return False
    os.unlink(name, dir_fd=folder)
    return True


def _drain(wake: int) -> None:
    try:
        while os.read(wake, 512):
            continue
    except BlockingIOError:
        return


def _wakes() -> int:
    """A descriptor that is readable when a child has ended."""
    wake, end = os.pipe()
    os.set_blocking(wake, False)
    os.set_blocking(end, False)
    _signal.signal(_signal.SIGCHLD, lambda _number, _frame: None)
    _signal.set_wakeup_fd(end)
    return wake


class Launcher:
    """Takes orders from the gateway at the other end of a socket until that is closed. `free`: for calls that policy
    lets run unconfined; only then does it keep its capabilities."""

    def __init__(self, orders: _socket.socket, *, free: bool) -> None:
        self.orders = orders
        self.free = free
        self.gateway = os.pidfd_open(os.getppid())
        self.supervisors: set[int] = set()

    def serve(self) -> None:
        """Runs until the gateway has gone."""
        for number in _KEY_SIGNALS:
            _signal.signal(number, _signal.SIG_IGN)
        _control("the subreaper", _SUBREAPER, 1)
        if not self.free:
            drop_capabilities()
        gc.disable()  # a look through all objects would copy their memory into each process that is forked
        wake = _wakes()
        self.orders.send(b"at your service")
        poll = select.poll()
        for descriptor in (self.orders.fileno(), wake, self.gateway):
            poll.register(descriptor, select.POLLIN)
        while True:
            for descriptor, _event in poll.poll():
                if descriptor == wake:
                    _drain(wake)
                    self._collect()
                elif descriptor == self.gateway or not self._take():
                    return

    def _take(self) -> bool:
        """One order; False when there will be none any more."""
        space = _socket.CMSG_SPACE(4 * _MOST_DESCRIPTORS)
        said, ancillary, _flags, _address = self.orders.recvmsg(16, space, _MSG_CMSG_CLOEXEC)
        if not said:
            return False
        given = [
            int.from_bytes(data[at : at + 4], sys.byteorder)
            for _level, _kind, data in ancillary
            for at in range(0, len(data), 4)
        ]
        launcher = os.getpid()
        try:
            pid = os.fork()
        except OSError as error:
            _socket.socket(fileno=os.dup(given[0])).send(f"failed {error.strerror}".encode())
            pid = -1
        if pid == 0:
            _supervise(given, self.gateway, launcher, self.orders)
        if pid > 0:
            self.supervisors.add(pid)
        for descriptor in given:
            os.close(descriptor)
        return True

    def _collect(self) -> None:
        """Collects supervisors that have ended, and ends what one that was killed has left behind."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if not pid:
                return
            if pid in self.supervisors:
                self.supervisors.discard(pid)
                if os.WIFSIGNALED(status):
                    while kill_below(os.getpid(), frozenset(self.supervisors)):
                        self._wait_for_orphan()

    def _wait_for_orphan(self) -> None:
        """Waits for one orphan that was killed; supervisors that end meanwhile are seen by the next look."""
        pid, _status = os.waitpid(-1, 0)
        self.supervisors.discard(pid)


def _supervise(given: list[int], gateway: int, launcher: int, orders: _socket.socket) -> None:
    """A freshly forked supervisor: never returns."""
    status = 126
    talk = _socket.socket(fileno=given[0])
    try:
        orders.close()
        wake = _wakes()
        with open(given[1], "rb") as file:
            file.seek(0)
            order = marshal.loads(file.read())
        supervisor = _Supervisor(order, talk, gateway, launcher)
        status = supervisor.run(given[2:], wake)
        talk.send(b"ended %d %s" % (status, supervisor.failure))
    except (_Refused, OSError, ValueError, EOFError) as error:
        try:
            talk.send(f"failed {error}".encode("utf-8", "backslashreplace"))
        except OSError:
            status = 126  # nobody listens any more
    finally:
        os._exit(status)


if __name__ == "__main__":
    Launcher(_socket.socket(fileno=int(sys.argv[1])), free=sys.argv[2:] == ["free"]).serve()
    os._exit(0)
