"""What fires scheduled calls: one process for each state folder, which judges each call when it fires.

Nobody is there to be asked then, so what policy asks about is refused. A call fires by the policy as it is by then, in
the mode and under the rules of whoever made it as far as they are stricter.
"""

from __future__ import annotations

import fcntl
import os
import threading
import time

from gateway.calls.session import Session
from gateway.config.layers import strict_as_both
from gateway.config.load import Options
from gateway.core.errors import ConfigError, GatewayError, StoreError, fault
from gateway.core.value import Value
from gateway.model.call import RawCall
from gateway.tasks.crons import COMMAND, DONE, FAILED, REFUSED, Crons, Run
from gateway.tasks.database import make_folder
from gateway.tasks.timetable import TimetableError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager
    from typing import Self

    from gateway.calls.runner import RunsCalls
    from gateway.core.cancel import Cancel
    from gateway.core.places import Places
    from gateway.tasks.crons import Job

    # What lets an agent do a task, within a session: how that ended, and what it says of it.
    Prompted = Callable[[RunsCalls, Session, str, Cancel], tuple[str, str]]

LOCK = "cron.lock"
# How long may pass before a call that was made meanwhile is seen; less than what is due late counts as missed.
LOOK_EVERY = 10.0
MOST_AT_ONCE = 4


class Ended(Value):
    """What became of a call that fired."""

    outcome: str
    reason: str = ""
    record: str = ""


class Firing:
    """The one that fires, of a state folder. Raises StoreError where another process does."""

    def __init__(
        self,
        places: Places,
        cancel: Cancel,
        opened: Callable[[Options], AbstractContextManager[RunsCalls]],
        *,
        prompted: Prompted | None = None,
        told: Callable[[Run], None] = lambda _run: None,
        now: Callable[[], float] = time.time,
    ) -> None:
        """`opened` gives a gateway for a project, which judges by its policy as it is then. `told` hears of each call
        that begins, ends or was missed, on any thread. `prompted`: what lets agents do tasks; without it those
        fail."""
        self._cancel = cancel
        self._opened = opened
        self._prompted = prompted
        self._told = told
        self._now = now
        self._crons = Crons(places.state, now=now)
        self._running: dict[str, threading.Thread] = {}
        self._broken: set[str] = set()  # calls of which it was told that they cannot be due
        self._lock = threading.Lock()
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        try:
            make_folder(places.state)
            self._held = os.open(os.path.join(places.state, LOCK), flags, 0o600)
        except OSError as error:
            raise StoreError(f"{places.state} cannot be used: {error.strerror}") from error
        try:
            fcntl.flock(self._held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            self.close()
            raise StoreError("another process fires calls already", "there is one for each state folder") from error

    def run(self) -> None:
        """Fires what is due until it is cancelled; then waits for what runs, which is cancelled as well."""
        self.start()
        while not self._cancel.is_set:
            self.fire()
            self._cancel.wait(self._pause())
        self.wait()

    def start(self) -> None:
        """Gives up what an earlier process had begun and never ended."""
        for each in self._crons.give_up():
            self._told(each)

    def fire(self) -> None:
        """Begins whatever is due now."""
        for job in self._crons.jobs():
            with self._lock:
                is_running = job.id in self._running
                if not is_running and len(self._running) >= MOST_AT_ONCE:
                    return  # the next look comes soon enough for it not to be missed, or it is reported
            try:
                started, missed = self._crons.claim(job.id, is_running=is_running)
            except TimetableError as error:  # it is the trouble of this call, and no other's
                self._tell_broken(job, str(error))
                continue
            if missed is not None:
                self._tell(missed)
            if started is not None:
                self._begin(job, started)

    def _tell(self, run: Run) -> None:
        """What was claimed is done whether anybody hears of it or not."""
        try:
            self._told(run)
        except Exception:
            return  # whoever listened has gone; it stands in the runs

    def _tell_broken(self, job: Job, why: str) -> None:
        if job.id not in self._broken:
            self._broken.add(job.id)
            now = self._now()
            self._tell(
                Run(
                    0,
                    job.id,
                    name=job.name,
                    root=job.root,
                    due=now,
                    began=now,
                    ended=now,
                    outcome=FAILED,
                    reason=why,
                    record="",
                )
            )

    def wait(self) -> None:
        """Waits for everything that has begun."""
        while True:
            with self._lock:
                running = list(self._running.values())
            if not running:
                return
            for each in running:
                each.join()

    def _pause(self) -> float:
        """How long until something may be due."""
        due = [moment for job in self._crons.jobs() if (moment := job.next()) is not None]
        return max(0.05, min([LOOK_EVERY, *(moment - self._now() for moment in due)]))

    def _begin(self, job: Job, run: Run) -> None:
        def work() -> None:
            try:
                ended = self._ended(job, run)
                self._crons.ended(run.id, ended.outcome, ended.reason, ended.record)
                self._tell(run.replace(outcome=ended.outcome, reason=ended.reason, record=ended.record))
            finally:
                with self._lock:
                    del self._running[job.id]

        self._tell(run)
        thread = threading.Thread(target=work, name=f"gateway-cron-{job.id}")
        with self._lock:
            self._running[job.id] = thread
            thread.start()

    def _ended(self, job: Job, run: Run) -> Ended:
        try:
            return self._fired(job, run)
        except ConfigError as error:
            return Ended(REFUSED, str(error))
        except (GatewayError, OSError) as error:
            return Ended(FAILED, str(error))
        except Exception as error:  # a fault of ours is that call's end, and nobody else's
            return Ended(FAILED, fault(error))

    def _fired(self, job: Job, run: Run) -> Ended:
        if not (os.path.isdir(job.cwd) and os.path.realpath(job.cwd) == job.cwd):
            return Ended(REFUSED, f"{job.cwd} is not there any more")
        options = Options(job.cwd, root=job.root, binding=True)
        with self._opened(options) as gateway:
            judge = gateway.calls.judge
            mode = judge.context.mode
            wanted = strict_as_both(mode, job.mode)
            reason = f"no mode is as strict as that and {mode}" if not wanted else ""
            if wanted and wanted != mode:
                reason = judge.refuses_mode(wanted)
            if reason:
                return Ended(REFUSED, f"it was made in mode {job.mode}, and {reason}")
            mode = wanted
            reason = judge.refuses_rules(job.rules)
            if reason:
                return Ended(REFUSED, f"the rules that it was made under cannot hold: {reason}")
            context = judge.context.replace(mode=mode, rules=job.rules, agent=job.agent, depth=job.depth)
            with Session(context, name=f"cron-{job.id}-{run.id}") as session:
                if job.kind == COMMAND:
                    done = gateway.calls.call(RawCall("Bash", {"command": job.text}), session, self._cancel)
                    if not done.ran:
                        return Ended(REFUSED, done.result.reason, done.record)
                    if done.output.is_error:
                        return Ended(FAILED, done.result.reason or f"status {done.result.status}", done.record)
                    return Ended(DONE, "", done.record)
                if self._prompted is None:
                    return Ended(FAILED, "no agent is there to do it")
                return Ended(*self._prompted(gateway, session, job.text, self._cancel))

    def close(self) -> None:
        """Lets another process fire."""
        held, self._held = self._held, -1
        if held >= 0:
            os.close(held)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()
