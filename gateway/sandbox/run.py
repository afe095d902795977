"""The life of one confined call: build the sandbox, let it run within its limits, sweep up, say what happened.

Whatever fails before the command has started is a result that says so, and nothing ran. When `run` returns, the whole
tree of processes has ended, and what it should not have left behind has been dealt with.
"""

from __future__ import annotations

import os
import threading
from contextlib import ExitStack, suppress
from time import monotonic

from gateway.core.value import Value
from gateway.model.plan import WRITE
from gateway.model.result import Result, Violation
from gateway.sandbox.backends.choose import choose
from gateway.sandbox.base import SandboxError, Streams
from gateway.sandbox.pump import STDERR, STDOUT, Kept, Pump

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from gateway.core.cancel import Cancel
    from gateway.model.plan import SandboxPlan
    from gateway.sandbox.backends.choose import Choice
    from gateway.sandbox.base import Backend, Names, Running
    from gateway.sandbox.egress.service import Egress
    from gateway.sandbox.pump import Listener

NOT_RUN = 126
# What is kept of standard error to tell a refusal by the kernel from an ordinary failure, where nobody captures it.
TAIL = 16 << 10
REPORT = 3
_MOST_REPORT = 256 << 10
_LAST_SIGNAL = 64


class Ways(Value):
    """Where a command's own streams go.

    `stdin`: bytes that it reads, or a descriptor of the caller's. `stdout`, `stderr`: descriptors of the caller's that
    it writes to directly, or -1 to capture. `copy`: a descriptor that captured standard error is handed on to as it
    comes, so that refusals can be read off it all the same. `terminal`: it shares the caller's terminal.
    """

    stdin: bytes | int = b""
    stdout: int = -1
    stderr: int = -1
    copy: int = -1
    terminal: bool = False


CAPTURED = Ways()


class Command(Value):
    """What to start. `argv` makes the program and its words from the number of the descriptor that the command reports
    its folder on, -1 unless `report`. `told` is handed what it reports as it comes."""

    argv: Callable[[int], tuple[bytes, ...]]
    ways: Ways = CAPTURED
    report: bool = False
    told: Callable[[bytes], None] | None = None


class Protection(Value):
    """What a call may not change or create by name. `classify`: the id of the rule that protects a path, "" for none;
    `look`: finds all such names below a folder."""

    classify: Callable[[str], str]
    look: Callable[[str], Names] | None = None


class Runner:
    """Runs confined calls, any number at a time, from any thread. What serves them starts when it is first needed and
    lives until `close`, or until the process ends."""

    def __init__(self, quarantine: str, backends: Sequence[Backend] = (), egress: Egress | None = None) -> None:
        """`quarantine`: the folder for what is taken away after calls, made on demand. `backends`: those to choose
        from instead of what this machine offers. `egress`: instead of one of our own."""
        with suppress(OSError):
            # What is the gateway's own is hidden where it lies: it must lie there before the first call is planned.
            os.makedirs(os.path.dirname(quarantine), mode=0o700, exist_ok=True)
        self._quarantine = quarantine
        self._backends = tuple(backends)
        self._lock = threading.Lock()
        self._egress = egress

    def run(
        self,
        plan: SandboxPlan,
        command: Command,
        protection: Protection,
        *,
        listener: Listener | None = None,
        cancel: Cancel | None = None,
        started: Callable[[Running], None] | None = None,
    ) -> Result:
        """The whole life of one call. `listener` is handed what is captured as it comes; `started` the running call.
        Whatever it does is a result; only a fault of ours, or an interrupt, is raised, and then nothing runs on."""
        began = monotonic()
        try:
            choice = choose(plan, self._backends)
        except SandboxError as error:
            return not_run(error)
        result = self._once(plan, command, choice, protection, listener, cancel, began, started)
        if result.ended == "failed":
            # A form that held when it was last tried may be refused by now; what is left then is found by trying anew.
            try:
                other = choose(plan, self._backends)
            except SandboxError as error:
                return not_run(error)
            if other.backend is not choice.backend:
                result = self._once(plan, command, other, protection, listener, cancel, began, started)
        return result

    def _once(
        self,
        plan: SandboxPlan,
        command: Command,
        choice: Choice,
        protection: Protection,
        listener: Listener | None,
        cancel: Cancel | None,
        began: float,
        started: Callable[[Running], None] | None,
    ) -> Result:
        life = None
        try:
            life = _Life(self, plan, command, choice, protection, listener, cancel, began)
            return life.run(started)
        except SandboxError as error:
            return not_run(error, choice.backend.name)
        except OSError as error:  # no descriptor left, no memory
            if life is not None and life.released:
                raise
            return not_run(SandboxError(f"the call cannot be prepared: {error}"), choice.backend.name)

    def egress(self) -> Egress:
        """The way out of calls, made when it is first needed."""
        with self._lock:
            if self._egress is None:
                from gateway.sandbox.egress.service import Egress

                self._egress = Egress()
            return self._egress

    def quarantine(self) -> str:
        """The folder for what is taken away after a call."""
        return self._quarantine

    def close(self) -> None:
        """Ends what serves the calls. No call may be running."""
        with self._lock:
            if self._egress is not None:
                self._egress.close()

    def __enter__(self) -> Runner:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()


def not_run(error: SandboxError, backend: str = "") -> Result:
    """The result of a call that could not be confined, so that nothing ran."""
    reason = error.reason + (f"; {error.remedy}" if error.remedy else "")
    return Result("failed", NOT_RUN, reason=reason, backend=backend)


class _Life:
    """One call; one use."""

    def __init__(
        self,
        runner: Runner,
        plan: SandboxPlan,
        command: Command,
        choice: Choice,
        protection: Protection,
        listener: Listener | None,
        cancel: Cancel | None,
        began: float,
    ) -> None:
        self.runner = runner
        self.command = command
        self.choice = choice
        self.listener = listener
        self.cancel = cancel
        self.began = began
        self.released = False
        self.pump: Pump | None = None
        self.sink = -1
        self.ours: list[int] = []
        self.theirs: list[int] = []
        self.kept = {STDOUT: Kept(plan.limits.output), STDERR: Kept(plan.limits.output), REPORT: Kept(_MOST_REPORT)}
        self.online = plan.network.mode != "off"
        if self.online:
            egress = runner.egress()
            environment = dict(plan.environment) | dict(egress.environment(plan.network))
            plan = plan.replace(environment=tuple(sorted(environment.items())), files=egress.files(plan.network))
        self.plan = plan
        self.protection = protection

    def run(self, started: Callable[[Running], None] | None) -> Result:
        from gateway.sandbox.after.protect import Protected

        guard = Protected(
            self.plan,
            self.protection.classify,
            look=self.protection.look,
            held=self.choice.backend.whole,
        )
        guard.before()
        try:
            streams, sources, keep = self._streams()
            running = self.choice.backend.start(self.plan, self.command.argv(keep[0] if keep else -1), streams, keep)
        except BaseException:
            self._close(self.theirs)
            self._close_ours()
            raise
        self._close(self.theirs)
        refused: list[Violation] = []
        try:
            ended, status, reason = self._run(running, started, sources, refused)
        finally:
            # Whatever happened: nothing runs on.
            running.kill()
            running.wait()
            running.close()
            self._close_ours()
        try:
            swept = guard.after(self.runner.quarantine())
        except SandboxError as error:  # it ran all the same
            where = self.plan.watched[0] if self.plan.watched else self.plan.cwd
            swept = (Violation("protected", where, "", "sweep", f"it may have changed what is protected: {error}"),)
        return self._result(ended, status, reason, (*refused, *swept))

    def _streams(self) -> tuple[Streams, dict[int, int], list[int]]:
        """The command's descriptors, our ends of those to read from, and those to keep."""
        ways = self.command.ways
        sources: dict[int, int] = {}
        if isinstance(ways.stdin, int):
            stdin = ways.stdin
        elif ways.stdin:
            stdin, self.sink = os.pipe()
            self.theirs.append(stdin)
        else:
            stdin = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
            self.theirs.append(stdin)
        stdout = ways.stdout if ways.stdout >= 0 else self._source(sources, STDOUT)
        stderr = ways.stderr if ways.stderr >= 0 else self._source(sources, STDERR)
        keep = [self._source(sources, REPORT)] if self.command.report else []
        return Streams(stdin, stdout, stderr, ways.terminal), sources, keep

    def _source(self, sources: dict[int, int], stream: int) -> int:
        ours, theirs = os.pipe()
        sources[ours] = stream
        self.ours.append(ours)
        self.theirs.append(theirs)
        return theirs

    def _run(
        self,
        running: Running,
        started: Callable[[Running], None] | None,
        sources: dict[int, int],
        refused: list[Violation],
    ) -> tuple[str, int, str]:
        """From waiting to ended: how it ended, its status, and why it was stopped."""
        from gateway.sandbox import limits
        from gateway.sandbox.cgroup import Leaf
        from gateway.sandbox.watch import Watcher

        plan, cancel = self.plan, self.cancel
        feed = self.command.ways.stdin if isinstance(self.command.ways.stdin, bytes) else b""
        with ExitStack() as stack:
            if self.online:
                # Violations are counted by the session and read when the call has ended.
                session = self.runner.egress().attach(running.root, plan.network, lambda _violation: None)
                stack.callback(lambda: refused.extend(session.violations()))
                stack.callback(session.close)
            leaf = Leaf.make(plan.limits)
            if leaf is not None:
                stack.callback(leaf.remove)
                if not leaf.enter(running.root):
                    leaf.remove()
                    leaf = None
            limits.apply(running.root, plan.limits, processes=self.choice.backend.whole)
            writable = tuple(mount.path for mount in plan.mounts if mount.access == WRITE)
            watcher = Watcher(running, plan.limits, writable, (*plan.private, "/dev/shm"), leaf)
            stack.callback(watcher.stop)
            if started is not None:
                started(running)
            self.released = True
            running.release()
            watcher.start()
            cancelled = cancel.fileno() if cancel else -1
            pump = self.pump = Pump(running.exited, cancelled, sources, self.kept, self._listen, self.sink, feed)
            seconds = plan.limits.seconds
            # One that was set may have no descriptor any more to tell it by.
            cancelled_before = cancel is not None and cancel.is_set
            ended = "cancelled" if cancelled_before else pump.run(self.began + seconds if seconds else float("inf"))
            if ended != "exited":
                running.kill()
            status = running.wait()
            pump.drain()
            breaches = watcher.stop()
            refused += breaches
        if ended == "timeout":
            return "timeout", status, f"it ran for more than {seconds:g} s"
        if ended == "cancelled":
            return "cancelled", status, "it was cancelled"
        if breaches:
            return "limit", status, f"it went over its limit of {breaches[0].target}"
        return ("signalled" if 128 < status <= 128 + _LAST_SIGNAL else "exited"), status, running.failure

    def _listen(self, stream: int, data: bytes) -> None:
        if stream == STDERR and self.command.ways.copy >= 0:
            _write_all(self.command.ways.copy, data)
        elif stream == REPORT:
            if self.command.told is not None:
                self.command.told(data)
        elif self.listener is not None:
            self.listener(stream, data)

    def _result(self, ended: str, status: int, reason: str, exact: tuple[Violation, ...]) -> Result:
        from gateway.sandbox.after.violations import hints
        from gateway.sandbox.shell import folder_said, variables_said

        stdout, stderr, report = (self.kept[stream] for stream in (STDOUT, STDERR, REPORT))
        said = stderr.bytes()
        guessed = hints(self.plan, status, said[-TAIL:]) if status and ended in ("exited", "signalled") else ()
        known = {(each.kind, each.target) for each in exact}
        return Result(
            ended,
            status,
            stdout.bytes(),
            said,
            (stdout.dropped, stderr.dropped),
            reason,
            exact + tuple(each for each in guessed if (each.kind, each.target) not in known),
            self.choice.backend.name,
            self.choice.degraded,
            monotonic() - self.began,
            folder_said(report.bytes()),
            None if report.dropped else variables_said(report.bytes()),
        )

    def _close_ours(self) -> None:
        self._close(self.ours)
        if self.pump is not None:
            self.pump.close_sink()
        elif self.sink >= 0:
            os.close(self.sink)

    @staticmethod
    def _close(descriptors: list[int]) -> None:
        while descriptors:
            os.close(descriptors.pop())


def _write_all(descriptor: int, data: bytes) -> None:
    """Hands captured output on. A reader that has gone is no reason to stop the command."""
    view = memoryview(data)
    try:
        while view:
            view = view[os.write(descriptor, view) :]
    except BrokenPipeError:
        return
