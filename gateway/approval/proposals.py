"""Rules that refusals proposed in one project, kept until a person has looked: what was called, how often, and why
whoever called it says that it is needed.

What stands here decides nothing. A rule is made anew from its call when it is looked at, and again before it is saved;
one that differs from what stands here is none. All of it is the words of agents, to be shown as such.

What a person rejects is not kept again, so that nobody is asked the same once more because a call is made once more.
"""

from __future__ import annotations

import builtins
import fcntl
import os
import time
from contextlib import contextmanager, suppress

from gateway.audit import secrets
from gateway.core.cache import digest, read_owned, replace_whole
from gateway.core.errors import GatewayError
from gateway.core.plainjson import dumps, loads
from gateway.core.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from gateway.approval.proposing import Proposal
    from gateway.model.verdict import Verdict

FOLDER = "proposals"
MOST = 64  # of one project: those that nobody gave a reason for go first, then the older ones
MOST_PROJECTS = 256
MOST_REJECTED = 512  # of one project: the older ones may be proposed again
MOST_CALL = 8_192  # characters of a call's input as JSON
MOST_REASON = 500  # characters
_MOST_BYTES = 4 << 20
_REJECTED = ".rejected"  # behind the name of a project's file


class Kept(Value):
    """A proposal as it is kept. From `tool` to `confined`: the last call that it would have let run, as the record has
    it; `session`: that call's. `count`: calls; `first`, `last`: when, in seconds since the epoch. `because`: why it is
    needed, in the words of whoever filed it, "" where nobody did."""

    id: str
    rule: str
    tool: str
    server: str
    input: Mapping[str, Any]
    front: str
    cwd: str
    mode: str
    agent: str
    depth: int
    confined: bool
    session: str
    count: int
    first: float
    last: float
    because: str = ""


class Proposals:
    """The proposals of one project. Safe to use from several processes."""

    def __init__(self, state: str, root: str) -> None:
        """`state`: the gateway's folder for it; `root`: the project's."""
        self.folder = os.path.join(state, FOLDER)
        self.path = os.path.join(self.folder, digest([os.path.realpath(root)])[:24] + ".json")
        self._rejected = self.path.removesuffix(".json") + _REJECTED

    def list(self) -> list[Kept]:
        """What is kept, the filed ones first, then the latest. What cannot be read is nothing."""
        return sorted(self._read().values(), key=lambda each: (not each.because, -each.last, each.id))

    def get(self, name: str) -> Kept | None:
        """The one of this id, None if there is none."""
        return self._read().get(name)

    def keep(self, found: Proposal, verdict: Verdict, *, front: str, session: str) -> bool:
        """Keeps what a refusal proposed, with its call, or counts it once more; False where it cannot or must not be:
        a call that may hold a secret is kept nowhere but, without it, in the record, and what a person has rejected is
        not kept again. Never raises."""
        call, context = verdict.call, verdict.context
        try:
            text = dumps(dict(call.input))
        except (TypeError, ValueError):
            return False
        if len(text) > MOST_CALL or len(found.rule) > MOST_CALL or (secrets.may_hold(text) and secrets.holds(text)):
            return False
        now = time.time()
        try:
            with self._locked():
                if found.id in self.rejected():
                    return False
                known = self._read()
                before = known.pop(found.id, None)
                known[found.id] = Kept(
                    id=found.id, rule=found.rule, tool=call.tool, server=call.server, input=loads(text), front=front,
                    cwd=context.cwd, mode=context.mode, agent=context.agent, depth=context.depth,
                    confined=context.confined, session=session,
                    count=1 if before is None else before.count + 1,
                    first=now if before is None else before.first,
                    last=now,
                    because="" if before is None else before.because,
                )  # fmt: skip
                self._write(known)
        except OSError:
            return False
        return True

    def file(self, name: str, because: str) -> Kept | None:
        """Says why a proposal is needed; None if there is none of that id. Raises GatewayError where it cannot be
        kept."""
        return self._changed(name, lambda each: each.replace(because=because[:MOST_REASON]))

    def rejected(self) -> tuple[str, ...]:
        """The ids of what a person does not want to be proposed again, the older first."""
        data = read_owned(self._rejected)
        try:
            found = loads(data.decode("utf-8")) if data is not None and len(data) <= _MOST_BYTES else []
        except (ValueError, RecursionError):
            return ()
        return tuple(each for each in found if isinstance(each, str)) if type(found) is builtins.list else ()

    def reject(self, name: str) -> Kept | None:
        """Takes a proposal away for good and gives it; None if there is none of that id. Raises GatewayError."""
        found = self.get(name)
        if found is not None:
            self.refuse(name)
        return found

    def refuse(self, name: str) -> None:
        """What has this id is not kept, now or later. Raises GatewayError where that cannot be remembered."""
        try:
            with self._locked():
                known = self._read()
                if known.pop(name, None) is not None:
                    self._write(known)
                order = [*(each for each in self.rejected() if each != name), name][-MOST_REJECTED:]
                replace_whole(self._rejected, dumps(order).encode("utf-8"))
        except OSError as error:
            raise GatewayError(f"the proposals of this project cannot be changed: {error.strerror}") from error

    def drop(self, name: str) -> Kept | None:
        """Takes a proposal away and gives it; None if there is none of that id. Raises GatewayError."""
        return self._changed(name, lambda _each: None)

    def _changed(self, name: str, change: Any) -> Kept | None:
        try:
            with self._locked():
                known = self._read()
                found = known.pop(name, None)
                if found is not None:
                    after = change(found)
                    if after is not None:
                        known[name] = after
                    self._write(known)
                return found
        except OSError as error:
            raise GatewayError(f"the proposals of this project cannot be changed: {error.strerror}") from error

    def _read(self) -> dict[str, Kept]:
        data = read_owned(self.path)
        if data is None or len(data) > _MOST_BYTES:
            return {}
        try:
            rows = loads(data.decode("utf-8"))
        except (ValueError, RecursionError):
            return {}
        found = [_kept(row) for row in rows] if isinstance(rows, list) else []
        return {each.id: each for each in found if each is not None}

    def _write(self, known: Mapping[str, Kept]) -> None:
        order = sorted(known.values(), key=lambda each: (bool(each.because), each.last))[-MOST:]
        if not os.path.exists(self.path):
            self._make_room()
        data = dumps([each.as_dict() | {"input": dict(each.input)} for each in order])
        replace_whole(self.path, data.encode("utf-8"))

    def _make_room(self) -> None:
        """One project more: those that were not heard of for longest go."""
        with os.scandir(self.folder) as entries:
            files = sorted((each.stat(follow_symlinks=False).st_mtime, each.path) for each in entries
                           if each.name.endswith(".json"))  # fmt: skip
        for _when, path in files[: max(0, len(files) - MOST_PROJECTS + 1)]:
            os.unlink(path)
            with suppress(FileNotFoundError):
                os.unlink(path.removesuffix(".json") + _REJECTED)

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """One writer at a time, over all processes."""
        os.makedirs(self.folder, mode=0o700, exist_ok=True)
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
        descriptor = os.open(os.path.join(self.folder, "lock"), flags, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)


_FORMS: dict[str, type | tuple[type, ...]] = {
    "id": str, "rule": str, "tool": str, "server": str, "input": dict, "front": str,
    "cwd": str, "mode": str, "agent": str, "depth": int,
    "confined": bool, "session": str, "count": int, "first": (int, float), "last": (int, float), "because": str,
}  # fmt: skip


def _kept(row: Any) -> Kept | None:
    if not isinstance(row, dict) or row.keys() != _FORMS.keys():
        return None
    if not all(isinstance(row[name], form) for name, form in _FORMS.items()):
        return None
    return Kept(**row)
