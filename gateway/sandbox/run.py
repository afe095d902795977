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
from gateway.sandbox.base import Names, SandboxError
from gateway.sandbox.bound_record import breach, size
from gateway.sandbox.call_descriptors import CAPTURED, REPORT, TAIL, Ways, Wires
from gateway.sandbox.online import TELLING, WayOut
from gateway.sandbox.pump import STDERR, STDOUT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from gateway.core.cancel import Cancel
    from gateway.model.plan import SandboxPlan
    from gateway.sandbox.backends.choose import Choice
    from gateway.sandbox.base import Backend, Look, Running, Saving, Streams
    from gateway.sandbox.changed_folders import ChangedFolders
    from gateway.sandbox.egress.service import Egress
    from gateway.sandbox.online import Asking
    from gateway.sandbox.pump import Listener


NOT_RUN = 126
_KILLED, _LAST_SIGNAL = 9, 64


class Command(Value):
    """What to start. `argv` makes the program and its words from the number of the descriptor that the command reports
    its folder on, -1 unless `report`. `told` is handed what it reports as it comes."""

    argv: Callable[[int], tuple[bytes, ...]]
    ways: Ways = CAPTURED
    report: bool = False
    told: Callable[[bytes], None] | None = None


class Protection(Value):
    """What a call may not change or create by name. `classify`: the id of the rule that protects a path, "" for none;
    `look`: finds all such names below a folder; `changes`: tells of those that appear while the call runs."""

    classify: Callable[[str], str]
    look: Look = lambda _folder, _bounded: Names({})
    changes: ChangedFolders | None = None


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
        saving: Saving | None = None,
        asking: Asking | None = None,
    ) -> Result:
        """The whole life of one call. `listener` is handed what is captured as it comes; `started` the running call;
        `saving` sees what it changes before it does; `asking` makes who is asked about connections that its plan does
        not speak of, where the network that holds it can tell of them.
        Whatever it does is a result; only a fault of ours, or an interrupt, is raised, and then nothing runs on."""
        began = monotonic()
        try:
            choice = choose(plan, self._backends)
        except SandboxError as error:
            return not_run(error)
        how = (listener, cancel, began, started, saving, asking)
        result = self._once(plan, command, choice, protection, *how)
        if result.ended == "failed":
            # A form that held when it was last tried may be refused by now; what is left then is found by trying anew.
            try:
                other = choose(plan, self._backends)
            except SandboxError as error:
                return not_run(error)
            if other.backend is not choice.backend:
                result = self._once(plan, command, other, protection, *how)
        return result

    def _once(
        self, plan: SandboxPlan, command: Command, choice: Choice, protection: Protection, listener: Listener | None,
        cancel: Cancel | None, began: float, started: Callable[[Running], None] | None, saving: Saving | None,
        asking: Asking | None,
    ) -> Result:  # fmt: skip
        life = None
        try:
            life = _Life(
                self, plan, command, choice, protection,
                listener=listener, cancel=cancel, began=began, saving=saving, asking=asking,
            )  # fmt: skip
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
        saving: Saving | None = None,
        asking: Asking | None = None,
    ) -> None:
        self.saving = saving
        self.runner = runner
        self.command = command
        self.choice = choice
        self.listener = listener
        self.cancel = cancel
        self.began = began
        self.released = False
        self.degraded = choice.degraded
        self.running: Running | None = None
        self.wires = Wires(plan.limits)
        self.way_out = WayOut(runner.egress, plan, asking if choice.backend.name in TELLING else None)
        self.plan = self.way_out.prepared(plan)
        self.protection = protection

    def run(self, started: Callable[[Running], None] | None) -> Result:
        with ExitStack() as stack:
            if self.plan.packages:
                from gateway.sandbox.layers import with_own

                self.plan = with_own(self.plan, whole=self.choice.backend.whole)
            if self.plan.layers:
                from gateway.sandbox.overlays import kept_apart

                self.plan = stack.enter_context(kept_apart(self.plan, self.choice.backend))
            if self.plan.shared or self.plan.loopback:
                from gateway.sandbox.rooms import entered

                self.plan = stack.enter_context(entered(self.plan))
            if self.plan.drafted:
                from gateway.sandbox.drafts import laid

                self.plan = laid(self.plan)
            return self._held(started)

    def _held(self, started: Callable[[Running], None] | None) -> Result:
        kept = None
        try:
            streams, report = self.wires.connect(self.command.ways, report=self.command.report)
            keep = (report,) if report >= 0 else ()
            running = self._started(self.command.argv(report), streams, keep)
        except BaseException:
            self.wires.handed_over()
            self.wires.close()
            raise
        self.wires.handed_over()
        self.running = running
        refused: list[Violation] = []
        try:
            with ExitStack() as stack:
                guard = None
                if self.plan.writes:  # else there is nothing to look after
                    from gateway.sandbox.guard import Guard, guarded

                    # While it is being built: that all is in its place is looked at later, so it holds what is found.
                    held = self.choice.backend.whole
                    quarantine, changes = self.runner.quarantine(), self.protection.changes
                    kept = guarded(self.plan, self.protection.classify, self.protection.look, quarantine, held=held)
                    guard = None if changes is None else Guard(*kept, changes, running)
                if guard is not None:
                    stack.callback(guard.stop)
                    guard.start()
                if getattr(self.choice.backend, "apart", False):
                    running.built()  # type: ignore[attr-defined]
                if self.saving is not None:
                    self._save(self.saving, running, stack)
                ended, status, reason = self._run(running, started, refused)
                if guard is not None:
                    self.degraded += guard.degraded if self.plan.watched else ()
                    loose, done = guard.stop()
                    refused += done
                    ended, reason = ("limit", loose) if loose else (ended, reason)
        finally:
            # Whatever happened: nothing runs on.
            running.kill()
            running.wait()
            if self.saving is not None:
                self.saving.ended()
            running.close()
            self.wires.close()
        swept: tuple[Violation, ...] = ()
        try:
            if kept is not None:
                swept = kept[0].after(kept[1])
        except SandboxError as error:  # it ran all the same
            where = self.plan.watched[0] if self.plan.watched else self.plan.cwd
            swept = (
                Violation(
                    "protected", where, rule="", source="sweep", hint=f"it may have changed what is protected: {error}"
                ),
            )
        finally:
            if kept is not None:
                kept[1].close()
            if self.saving is not None:
                self.saving.finish()
        return self._result(ended, status, reason, (*refused, *swept))

    def _started(self, argv: tuple[bytes, ...], streams: Streams, keep: tuple[int, ...]) -> Running:
        backend = self.choice.backend
        how = {"tells": True} if self.saving is not None and getattr(backend, "tells", False) else {}
        if getattr(backend, "apart", False):
            how["built"] = False
        return backend.start(self.plan, argv, streams, keep, **how)

    def _save(self, saving: Saving, running: Running, stack: ExitStack) -> None:
        """Has somebody attend to what the call changes, before its command starts."""
        listener = getattr(running, "listener", -1)
        if listener >= 0:
            saving.attend(listener)
            if self.protection.changes is not None:
                stack.callback(self.protection.changes.ignore, saving.happened)
                self.protection.changes.listen(saving.happened)
        else:
            why = getattr(running, "untold", "") or f"the sandbox `{self.choice.backend.name}` does not tell of changes"
            saving.cannot(why)

    def _run(
        self,
        running: Running,
        started: Callable[[Running], None] | None,
        refused: list[Violation],
    ) -> tuple[str, int, str]:
        """From waiting to ended: how it ended, its status, and why it was stopped."""
        from gateway.sandbox import limits
        from gateway.sandbox.cgroup import Leaf
        from gateway.sandbox.watch import Watcher

        plan, cancel = self.plan, self.cancel
        with ExitStack() as stack:
            stack.callback(lambda: refused.extend(self.way_out.violations()))
            stack.callback(self.way_out.close)
            self.way_out.attach(running)
            leaf = Leaf.make(plan.limits)
            if leaf is not None:
                stack.callback(leaf.remove)
                if not leaf.enter(running.root):
                    leaf.remove()
                    leaf = None
            limits.apply(running.root, plan.limits, processes=self.choice.backend.whole)
            writable = tuple(mount.path for mount in plan.mounts if mount.access == WRITE)
            writable += tuple(str(where[-1]) for _path, *where in (*plan.layers, *plan.shared, *plan.laid))
            kept = {path for path, *_where in (*plan.shared, *plan.laid)}
            memory = [path for path in plan.private if path not in kept]
            watcher = Watcher(running, plan.limits, writable, (*memory, "/dev/shm"), leaf)
            stack.callback(watcher.stop)
            if started is not None:
                started(running)
            self.released = True
            running.release()
            watcher.start()
            cancelled = cancel.fileno() if cancel else -1
            pump = self.wires.pump(running.exited, cancelled, self._listen)
            seconds = plan.limits.seconds
            # One that was set may have no descriptor any more to tell it by.
            cancelled_before = cancel is not None and cancel.is_set
            until = self.began + seconds if seconds else float("inf")
            ended = "cancelled" if cancelled_before else pump.run(until, self.way_out.asked_seconds)
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
        if status == 128 + _KILLED and self.wires.problem:
            if not self.wires.is_over:
                return "signalled", status, self.wires.problem
            refused.append(breach("file_size", size(plan.limits.file_size), "write less, or in several files"))
            return "limit", status, self.wires.problem
        return ("signalled" if 128 < status <= 128 + _LAST_SIGNAL else "exited"), status, running.failure

    def _listen(self, stream: int, data: bytes) -> None:
        if stream == REPORT:
            if self.command.told is not None:
                self.command.told(data)
        elif self.wires.copied(stream):
            if not self.wires.copy(stream, data) and self.running is not None:
                self.running.kill()
        elif self.listener is not None:
            self.listener(stream, data)

    def _result(self, ended: str, status: int, reason: str, exact: tuple[Violation, ...]) -> Result:
        from gateway.sandbox.shell import folder_said, variables_said

        wires = self.wires
        report = wires.kept[REPORT]
        said = wires.kept[STDERR].bytes()[-TAIL:]
        guessed: tuple[Violation, ...] = ()
        if (status or said) and ended in ("exited", "signalled"):
            from gateway.sandbox.after.violations import hints

            guessed = hints(self.plan, status, said)
        if reason and ended == "exited":
            from gateway.sandbox.after.hidden_program import explained

            reason = explained(reason, self.plan)
        known = {(each.kind, each.target) for each in exact}
        (stdout, out_dropped), (stderr, error_dropped) = wires.captured(STDOUT), wires.captured(STDERR)
        return Result(
            ended,
            status,
            stdout=stdout,
            stderr=stderr,
            truncated=(out_dropped, error_dropped),
            reason=reason,
            violations=exact + tuple(each for each in guessed if (each.kind, each.target) not in known),
            backend=self.choice.backend.name,
            degraded=self.degraded,
            seconds=monotonic() - self.began,
            cwd=folder_said(report.bytes()),
            exported=None if report.dropped else variables_said(report.bytes()),
            said=self.way_out.said(),
            dialled=self.way_out.dialled(),
        )
