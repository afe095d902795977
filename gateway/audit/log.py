"""The record as its writers see it: a decision before a call runs, an outcome after it.

log = Log(os.path.join(places.state, "audit"))
id = log.decision(verdict, front="exec", plan=plan)      # raises AuditError: then a call with effects does not run
log.outcome(id, result)
"""

from __future__ import annotations

import os
from itertools import count

from gateway.audit import entries
from gateway.audit.clock import now
from gateway.audit.decision_inputs import Beside
from gateway.audit.redact import Redactor
from gateway.audit.store import KEEP, MOST_BYTES, Store

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping
    from typing import Any

    from gateway.audit.store import Texts
    from gateway.model.plan import SandboxPlan
    from gateway.model.record import Rewritten
    from gateway.model.result import Result
    from gateway.model.verdict import Verdict

FOLDER = "audit"
# Below it: what policies were read from, each under its revision.
POLICIES = "policies"
# What a call can do without anything having changed or left: nobody needs a record of it to undo or to explain it.
WITHOUT_EFFECT = frozenset(("use", "exec", "list", "read", "session"))
# Which calls do not run when they cannot be recorded.
REQUIRED = ("effects", "all", "nothing")


def log_of(
    state: str,
    settings: Mapping[str, Any],
    private: Callable[[str], Collection[str]] = lambda _tool: (),
    environment: Mapping[str, str] | None = None,
) -> Log:
    """The record in a user's state folder, kept as the settings of a loaded policy say. `private`: a tool's fields that
    only size and digest are kept of; `environment`: where secrets have their values."""
    audit = settings["audit"].value if "audit" in settings else {}
    sandbox = settings["sandbox"].value if "sandbox" in settings else {}
    sources = [each["source"] for each in sandbox.get("inject", ())]
    named = [source.removeprefix("env:") for source in sources if source.startswith("env:")]
    return Log(
        os.path.join(state, FOLDER),
        sync=audit.get("sync", False),
        most_bytes=audit["file_mb"] << 20 if "file_mb" in audit else MOST_BYTES,
        keep=audit.get("keep", KEEP),
        required=audit.get("required", REQUIRED[0]),
        facts=audit.get("facts", True),
        redactor=Redactor(private, environment, named),
    )


class Log:
    """Appends to the record in one folder. Safe to use from several threads, and after a fork; any number of processes
    may have one for the same folder."""

    def __init__(
        self,
        folder: str,
        *,
        sync: bool = False,
        most_bytes: int = MOST_BYTES,
        keep: int = KEEP,
        required: str = "effects",
        facts: bool = True,
        redactor: Redactor | None = None,
    ) -> None:
        """`sync`: each record waits for the disk. `most_bytes`: when a new file begins; `keep`: how many full ones
        stay, 0 for all. `required`: one of `REQUIRED`. `facts`: what decisions were made with is kept, so that they can
        be judged again. Nothing is opened before the first record."""
        self.folder = folder
        self.required = required
        self._store = Store(folder, sync=sync, most_bytes=most_bytes, keep=keep)
        self._redactor = redactor or Redactor()
        self._beside = Beside(self._redactor) if facts else None
        self._count = count(1)
        self._revisions: set[str] = set()

    def decision(
        self,
        verdict: Verdict,
        *,
        front: str,
        session: str = "",
        plan: SandboxPlan | None = None,
        grant: Mapping[str, Any] | None = None,
        policy: str = "",
        rewritten: Rewritten | None = None,
        bundle: Callable[[], bytes | None] | None = None,
    ) -> str:
        """Records what was decided and gives the id that its outcome is recorded under. When it returns, the kernel has
        the record. `grant`: what allowed the call beside policy, as plain data; `policy`: the revision that decided;
        `rewritten`: what hooks made of the call; `bundle`: gives what the policy was read from, None where nobody can
        say. Raises AuditError when there is no record."""
        known = f"{self._store.origin}-{next(self._count)}"
        key, seen = self._store.key(), ""
        texts: Texts = ()
        if self._beside is not None and verdict.seen is not None:
            seen, texts = self._beside.of(verdict.seen, key)
            revision = verdict.seen.origin.revision
            if bundle is not None and revision not in self._revisions:
                self._keep(revision, bundle)
        self._store.append(
            entries.decision(
                verdict,
                key=key,
                redactor=self._redactor,
                id=known,
                at=now(),
                front=front,
                session=session,
                plan=plan,
                grant=grant,
                policy=policy,
                rewritten=rewritten,
                seen=seen,
            ),
            texts,
        )
        return known

    def _keep(self, revision: str, bundle: Callable[[], bytes | None]) -> None:
        """Keeps what a policy was read from, once."""
        self._revisions.add(revision)
        if not os.path.lexists(os.path.join(self.folder, POLICIES, revision)):
            from gateway.audit.policies import keep  # lazy: once for each change of the policy

            keep(self.folder, revision, bundle)

    def outcome(self, id: str, result: Result) -> None:  # noqa: A002 - as the record calls it
        """Records what became of the call of a decision. Raises AuditError when there is no record."""
        self._store.append(entries.outcome(result, redactor=self._redactor, id=id, at=now()))

    def is_needed(self, verdict: Verdict) -> bool:
        """Whether the call must not run unless its decision was recorded."""
        if self.required != "effects":
            return self.required == "all"
        return not all(item.effect.kind in WITHOUT_EFFECT for item in verdict.analysis.items)

    def close(self) -> None:
        """Gives the files back; the next record opens them again."""
        self._store.close()
