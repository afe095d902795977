"""The supervisor of a call that is not in namespaces: the Landlock fallback, and what policy lets run unconfined.

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
import errno
import marshal
import os
import resource
import select

from gateway.sandbox.launched.command import execute, keep_only, place, usual_signals
from gateway.sandbox.launched.domain import SCOPE_SIGNAL, restrict
from gateway.sandbox.launched.kernel import (
    DEATH_SIGNAL,
    SUBREAPER,
    Refused,
    control,
    filter_calls,
    open_exactly,
    shown,
)
from gateway.sandbox.launched.leftovers import kill_below, remove

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# As `gateway.sandbox.base.OF_THE_TERMINAL`, which is out of reach here.
_TO_GROUP = (
    *(_signal.SIGINT, _signal.SIGQUIT, _signal.SIGHUP, _signal.SIGWINCH),
    *(_signal.SIGTSTP, _signal.SIGSTOP, _signal.SIGCONT),
)


def _become(order: dict[str, Any], given: list[int], supervisor: int, report: int, start: int) -> None:
    """The command's process: confines itself, says so, waits for the start and becomes the command."""
    try:
        control("the death signal", DEATH_SIGNAL, _signal.SIGKILL)
        if os.getppid() != supervisor:
            raise Refused("the supervisor has gone")
        if not order["terminal"]:
            os.setsid()
        folder = open_exactly(order["cwd"])
        if folder is None:
            raise Refused(f"{shown(order['cwd'])}: {os.strerror(errno.EACCES)}")
        os.fchdir(folder)
        targets: list[int] = order["targets"]
        place([report, start, *given], [max(targets) + 1, max(targets) + 2, *targets])
        report, start = max(targets) + 1, max(targets) + 2
        os.set_inheritable(report, False)
        os.set_inheritable(start, False)
        keep_only([*targets, report, start])
        if order["handled"]:
            restrict(order["handled"], order["network"], order["scoped"], order["rules"])
        os.umask(order["umask"])
        for kind, soft, hard in order["rlimits"]:
            _limit(kind, soft, hard)
        filter_calls(order["filters"])
        if order["filters"]:
            _confirm()
        os.write(report, b"ready")
        if not os.read(start, 1):
            os._exit(126)
    except (Refused, OSError, ValueError) as error:
        os.write(report, f"failed {error}".encode("utf-8", "backslashreplace"))
        os._exit(126)
    usual_signals()
    status, said = execute(order["argv"], order["environment"])
    os.write(report, said)
    os._exit(status)


def _limit(kind: int, soft: int, hard: int) -> None:
    most = resource.getrlimit(kind)[1]
    if most != resource.RLIM_INFINITY:
        soft, hard = min(soft, most), min(hard, most)
    resource.setrlimit(kind, (soft, hard))


def _confirm() -> None:
    """One look that the filter holds, whatever the kernel said of it. Raises Refused."""
    for family in (_socket.AF_INET, _socket.AF_UNIX):
        try:
            _socket.socket(family, _socket.SOCK_STREAM)
        except OSError:
            continue
        raise Refused("the filter of system calls does not hold: a socket could be made")


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
        control("the subreaper", SUBREAPER, 1)
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
        restrict(0, 0, SCOPE_SIGNAL, [])
        try:
            os.kill(self.launcher, 0)
        except PermissionError:
            return
        raise Refused("Landlock does not hold signals back")

    def _watch(self, start: int, wake: int) -> None:
        """Passes on what the gateway says until the command has ended or the gateway wants the end."""
        poll = select.poll()
        for descriptor in (self.talk.fileno(), wake, self.gateway):
            poll.register(descriptor, select.POLLIN)
        while True:
            for descriptor, _event in poll.poll():
                if descriptor == wake:
                    drain(wake)
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
                try:
                    os.kill(-1, _signal.SIGKILL)
                except (ProcessLookupError, PermissionError):
                    pass  # nobody is left
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


def supervise(given: list[int], gateway: int, launcher: int, orders: _socket.socket) -> None:
    """A freshly forked supervisor: never returns."""
    status = 126
    talk = _socket.socket(fileno=given[0])
    try:
        orders.close()
        wake = wakes()
        with open(given[1], "rb") as file:
            file.seek(0)
            order = marshal.loads(file.read())
        supervisor = _Supervisor(order, talk, gateway, launcher)
        status = supervisor.run(given[2:], wake)
        talk.send(b"ended %d %s" % (status, supervisor.failure))
    except (Refused, OSError, ValueError, EOFError) as error:
        try:
            talk.send(f"failed {error}".encode("utf-8", "backslashreplace"))
        except OSError:
            status = 126  # nobody listens any more
    finally:
        os._exit(status)


def wakes() -> int:
    """A descriptor that is readable when a child has ended."""
    wake, end = os.pipe()
    os.set_blocking(wake, False)
    os.set_blocking(end, False)
    _signal.signal(_signal.SIGCHLD, lambda _number, _frame: None)
    _signal.set_wakeup_fd(end)
    return wake


def drain(wake: int) -> None:
    """Takes what made it readable."""
    try:
        while os.read(wake, 512):
            continue
    except BlockingIOError:
        return
