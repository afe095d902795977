"""What hooks decide and what became of it, in the record: two events of one call, told by two processes.

A call's decision is recorded before the agent is answered. Under which id that was is kept in a small file of the state
folder until the agent tells the outcome.
"""

from __future__ import annotations

import os
from _blake2 import blake2b
from time import time

from gateway.agents.base import DENY, PERMISSION, SILENCE
from gateway.audit import calls
from gateway.audit.log import log_of
from gateway.core.cache import read_owned
from gateway.core.plainjson import encoder, spaced
from gateway.model.result import Result

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from gateway.agents.base import Event
    from gateway.audit.log import Log
    from gateway.judge.judge import Judge
    from gateway.model.context import Context
    from gateway.model.grant import Grant
    from gateway.model.verdict import Verdict

FOLDER = "hook-calls"
_NOT_RUN = 126
_LONGEST = 24 * 3600.0
_LONGEST_ID = 200
_sorted = encoder(between=", ", after_key=": ", sort_keys=True)


def log_for(gateway: Judge) -> Log:
    """The record that this gateway's policy keeps."""
    registry = gateway.registry
    return log_of(
        gateway.places.state,
        gateway.loaded.settings,
        lambda name: registry[name].entry["private"] if name in registry else (),
        gateway.environment,
    )


class Pending:
    """Under which ids calls are recorded whose outcome is still to come. What cannot be kept costs an outcome in the
    record, nothing else."""

    def __init__(self, state: str) -> None:
        self.folder = os.path.join(state, FOLDER)

    def keep(self, event: Event, given: Mapping[str, Any], known: str) -> None:
        """Remembers the id of a call that may run, with the input that it runs with."""
        name = self._name(event, given)
        path = os.path.join(self.folder, name)
        try:
            os.makedirs(self.folder, 0o700, exist_ok=True)
            if name.startswith("0"):
                self._sweep()
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
            try:
                os.write(descriptor, known.encode())
            finally:
                os.close(descriptor)
        except OSError:
            return

    def take(self, event: Event) -> str:
        """The id of the call whose end this event tells, "" if none is known. Only once."""
        path = os.path.join(self.folder, self._name(event, event.input))
        data = read_owned(path)
        if data is None or len(data) > _LONGEST_ID:
            return ""
        try:
            os.unlink(path)
        except OSError:
            return ""  # somebody else tells the same end
        return data.decode("ascii", "replace")

    def _name(self, event: Event, given: Mapping[str, Any]) -> str:
        call = event.id or _sorted([event.tool, given])
        parts = spaced([event.agent, event.session, call])
        return blake2b(parts.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()

    def _sweep(self) -> None:
        """Calls that were never heard of again."""
        oldest = time() - _LONGEST
        with os.scandir(self.folder) as entries:
            for entry in entries:
                try:
                    if entry.stat(follow_symlinks=False).st_mtime < oldest:
                        os.unlink(entry.path)
                except FileNotFoundError:  # another hook was faster
                    continue


def decided(
    log: Log,
    pending: Pending,
    event: Event,
    verdict: Verdict,
    decision: str,
    said: str,
    changed: Mapping[str, Any] | None,
    judge: Judge,
    *,
    is_paused: bool = False,
    grant: Grant | None = None,
) -> str:
    """Records what was decided, before the agent is told: "", or why the call must not run, as it would not be
    recorded. `said`: what the agent is told instead of an allow; `judge`: who decided; `grant`: what a person said."""
    if event.kind == PERMISSION and decision == SILENCE:
        return ""  # the call itself is recorded, and whoever is asked now decides
    front = f"hook:{event.agent}" + (" paused" if is_paused else "")
    policy = judge.loaded_for(verdict).policy.revision
    recorded = calls.decided(
        log, verdict, front=front, session=event.session[:200], policy=policy, bundle=judge.bundle,
        grant=None if grant is None else calls.told(grant),
    )  # fmt: skip
    if not recorded.may_run:
        return "" if decision == DENY else f"gateway refused it, as it would not be recorded: {recorded.problem}."
    if recorded.id and event.kind != PERMISSION:
        if decision == DENY:
            calls.ended(log, recorded, verdict, Result("refused", _NOT_RUN, reason=said))
        else:
            pending.keep(event, event.input if changed is None else changed, recorded.id)
    return ""


def no_call(event: Event, context: Context, said: str) -> Verdict:
    """The verdict on a call that is none, for `said`."""
    from gateway.model.call import Call
    from gateway.policy.unjudged import INVALID, built_in, unjudged
    from gateway.tools.frozen import readable

    name = event.tool[:200].encode("utf-8", "backslashreplace").decode()
    return unjudged(Call(name, readable(event.input), ""), context, built_in(INVALID, said))


def ended(log: Log, pending: Pending, event: Event) -> None:
    """Records what became of a call. Raises AuditError where that cannot be."""
    known, became = pending.take(event), event.became
    if known and became is not None:
        log.outcome(known, Result("exited", became.status, truncated=(became.size, 0), seconds=became.seconds))
