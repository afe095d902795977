"""Single-use tickets: what a hook's answer let run is run as that, once, and nothing else is.

A hook judges a command; a process that the agent starts later runs it confined. The ticket says between the two what
was judged: text, circumstances, effects and policy, by digest. It lies in a folder of this user's own, under a name
that does not give its number away, so that reading the folder lets nobody use one.
"""

from __future__ import annotations

import json
import os
import time

from gateway.core.cache import digest, read_owned, replace_whole
from gateway.core.errors import GatewayError
from gateway.core.value import Value
from gateway.model.context import Context
from gateway.model.grant import Grant

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any, TypeVar

    V = TypeVar("V", bound=Value)

FOLDER = "tickets"
# How long one may wait for its use: what runs at once, and what a person is still asked about by the agent.
SECONDS, SECONDS_ASKED = 300.0, 3600.0
# How long a used one is still known, for what the agent tells of the call afterwards.
KEPT_USED = 24 * 3600.0
MOST = 10_000
NUMBER = 32
_DIGITS = frozenset("0123456789abcdef")
_USED = ".used"
_NEW = ".json"
_VERSION = 1


class TicketError(GatewayError):
    """A ticket that lets nothing run."""


class Ticket(Value):
    """What may run once. `text`: a digest of the shell text; `context`: the circumstances it was judged in; `judged`:
    what the verdict said, as a grant; its `allow` says whether somebody whom the agent asked has to have agreed for it
    to be run at all. `policies` and `trust`: what the hook was told of policy. `until`: seconds since the epoch."""

    text: str
    context: Context
    judged: Grant
    policies: str
    trust: tuple[str, ...]
    agent: str
    session: str
    until: float
    used: bool = False

    def is_of(self, text: str) -> bool:
        """Whether this is the ticket of a shell text."""
        return self.text == text_digest(text)


def text_digest(text: str) -> str:
    """What a ticket knows a shell text by."""
    return digest(["ticket", text])


class Tickets:
    """The tickets of one user. Safe to use from any number of processes: each is taken at most once."""

    def __init__(self, state: str) -> None:
        self.folder = os.path.join(state, FOLDER)

    def make(self, ticket: Ticket) -> str:
        """Keeps a ticket and gives its number. Raises TicketError where it cannot be kept for this user alone."""
        number = os.urandom(NUMBER // 2).hex()
        try:
            self._make_folder()
            if self._sweep(time.time()) >= MOST:
                raise TicketError(f"there are {MOST:,} tickets that nobody has used")
            replace_whole(self._path(number, _NEW), json.dumps(_plain(ticket)).encode())
        except OSError as error:
            raise TicketError(f"no ticket can be kept in {self.folder}: {error.strerror}") from error
        return number

    def take(self, number: str, now: float | None = None) -> Ticket:
        """The ticket of a number, which is used up with that, whatever becomes of it. Of any number of takers one gets
        it. Raises TicketError."""
        if not is_number(number):
            raise TicketError("this is no number of a ticket")
        used = self._path(number, _USED)
        try:
            os.rename(self._path(number, _NEW), used)
        except FileNotFoundError:
            raise TicketError("there is no such ticket, or it was used before") from None
        except OSError as error:
            raise TicketError(f"the ticket cannot be used: {error.strerror}") from error
        ticket = _ticket(used)
        if ticket is None:
            raise TicketError("the ticket cannot be read")
        if not 0 < ticket.until - (time.time() if now is None else now) <= SECONDS_ASKED:
            raise TicketError("the ticket is too old")
        return ticket

    def known(self, number: str, now: float | None = None) -> Ticket | None:
        """The ticket of a number without using it up, a used one included; None for one that is not there, or that
        nobody may use any more."""
        if not is_number(number):
            return None
        now = time.time() if now is None else now
        fresh = _ticket(self._path(number, _NEW))
        if fresh is not None:
            return fresh if 0 < fresh.until - now <= SECONDS_ASKED else None
        used = _ticket(self._path(number, _USED))
        return None if used is None else used.replace(used=True)

    def _path(self, number: str, ending: str) -> str:
        return os.path.join(self.folder, digest(["ticket number", number]) + ending)

    def _make_folder(self) -> None:
        """Raises OSError and TicketError."""
        os.makedirs(self.folder, mode=0o700, exist_ok=True)
        found = os.lstat(self.folder)
        if found.st_uid != os.geteuid() or found.st_mode & 0o170077 != 0o040000:
            if found.st_uid == os.geteuid() and found.st_mode & 0o170000 == 0o040000:
                os.chmod(self.folder, 0o700)
                return
            raise TicketError(f"{self.folder} must be a folder of yours")

    def _sweep(self, now: float) -> int:
        """Removes what nobody can use any more; how many are left."""
        left = 0
        for entry in self._entries():
            try:
                age = now - entry.stat(follow_symlinks=False).st_mtime
                if age > (KEPT_USED if entry.name.endswith(_USED) else SECONDS_ASKED) or age < -SECONDS_ASKED:
                    os.unlink(entry.path)
                elif entry.name.endswith(_NEW):
                    left += 1
            except FileNotFoundError:
                continue  # another one was quicker
        return left

    def _entries(self) -> Iterator[os.DirEntry[str]]:
        with os.scandir(self.folder) as entries:
            yield from entries


def is_number(text: object) -> bool:
    """Whether a text has the form of a ticket's number."""
    return isinstance(text, str) and len(text) == NUMBER and _DIGITS.issuperset(text)


def _plain(ticket: Ticket) -> dict[str, Any]:
    fields = ticket.as_dict()
    del fields["used"]
    return {"version": _VERSION, **fields, "context": ticket.context.as_dict(), "judged": ticket.judged.as_dict()}


def _ticket(path: str) -> Ticket | None:
    """A ticket as it was kept; None where nobody but this user could have kept it so."""
    data = read_owned(path)
    if data is None:
        return None
    try:
        found = json.loads(data)
        if found.pop("version") != _VERSION:
            return None
        judged = _made(Grant, found.pop("judged"))
        context = _made(Context, found.pop("context"))
        return _made(Ticket, {**found, "context": context, "judged": judged})
    except (ValueError, KeyError, TypeError, AttributeError):
        return None


def _made(kind: type[V], fields: Mapping[str, Any]) -> V:
    return kind(**{name: _frozen(value) for name, value in fields.items()})


def _frozen(value: Any) -> Any:
    return tuple(map(_frozen, value)) if isinstance(value, list) else value
