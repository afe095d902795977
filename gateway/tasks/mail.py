"""Teams of agents and their mail: each message is delivered exactly once, across processes and whatever is killed.

    mail.send("builders", sender="lead", recipient="anna", text="Begin.", key=turn_id)

    with mail.mailbox("builders", "anna") as box:
        for message in box.receive(has=written_down):
            write_down(message)          # durably, with its id
            box.acknowledge(message.id)

A message that was sent twice with the same key is there once: who was killed before the answer came sends again. A
mailbox has one reader at a time, whose place is free as soon as its process is gone. Who was killed between writing
down and acknowledging says with `has` what is written down, and is not handed that again.
"""

from __future__ import annotations

import fcntl
import os
import time
from _blake2 import blake2b

from gateway.core.errors import StoreError
from gateway.core.value import Value
from gateway.tasks.database import Database, make_folder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable
    from typing import Self

FILE = "mail.sqlite"
ROLES = ("coordinator", "worker", "reviewer")
EVERYBODY = "*"
TABLES = """
CREATE TABLE teams (name TEXT PRIMARY KEY, created REAL NOT NULL);
CREATE TABLE members (
    team TEXT NOT NULL REFERENCES teams (name) ON DELETE CASCADE, name TEXT NOT NULL, role TEXT NOT NULL,
    place INTEGER NOT NULL, PRIMARY KEY (team, name)
);
CREATE TABLE messages (
    id INTEGER PRIMARY KEY AUTOINCREMENT, team TEXT NOT NULL REFERENCES teams (name) ON DELETE CASCADE,
    recipient TEXT NOT NULL, sender TEXT NOT NULL, text TEXT NOT NULL, key TEXT, sent REAL NOT NULL,
    read INTEGER NOT NULL DEFAULT 0, UNIQUE (team, sender, recipient, key)
);
CREATE INDEX unread ON messages (team, recipient, read)
"""
MOST_MEMBERS = 100


class MailError(StoreError):
    """There is no such team, member or place to read from."""


class Member(Value):
    """An agent of a team. `role`: one of `ROLES`."""

    name: str
    role: str


class Message(Value):
    """`id`: its number, which grows with time; `sent`: seconds since the epoch."""

    id: int
    team: str
    sender: str
    recipient: str
    text: str
    sent: float


class Mail:
    """The teams of one project. Safe to use from several threads and processes."""

    def __init__(self, folder: str, *, now: Callable[[], float] = time.time) -> None:
        """`folder`: the project's in the state folder."""
        self._folder = folder
        self._database = Database(os.path.join(folder, FILE), TABLES)
        self._now = now

    def create(self, team: str, members: Iterable[Member]) -> None:
        """A new team. Raises MailError for a name that is taken, and for one member twice."""
        found = tuple(members)
        names = [each.name for each in found]
        twice = next((name for name in names if names.count(name) > 1), "")
        if twice:
            raise MailError(f"member `{twice}` must be named once")
        if not names or len(names) > MOST_MEMBERS:
            raise MailError(f"a team must have 1 to {MOST_MEMBERS} members (got {len(names)})")
        with self._database.changing() as database:
            if database.execute("SELECT 1 FROM teams WHERE name = ?", (team,)).fetchone():
                raise MailError(f"there is a team `{team}` already", "use it, or choose another name")
            database.execute("INSERT INTO teams VALUES (?, ?)", (team, self._now()))
            rows = [(team, each.name, each.role, place) for place, each in enumerate(found)]
            database.executemany("INSERT INTO members VALUES (?, ?, ?, ?)", rows)

    def delete(self, team: str, *, unread: bool = False) -> int:
        """Ends a team and gives how many messages nobody has read. Raises MailError for a team that is not there, and,
        unless `unread`, for one with such messages."""
        with self._database.changing() as database:
            self._check(database, team)
            query = "SELECT count(*) FROM messages WHERE team = ? AND read = 0"
            left: int = database.execute(query, (team,)).fetchone()[0]
            if left and not unread:
                raise MailError(f"team `{team}` has {left} unread messages", "let them be read first, or discard them")
            database.execute("DELETE FROM teams WHERE name = ?", (team,))
            return left

    def teams(self) -> dict[str, tuple[Member, ...]]:
        """Every team with its members, as they were named."""
        query = "SELECT team, name, role FROM members ORDER BY team, place"
        with self._database.reading() as database:
            found: dict[str, tuple[Member, ...]] = {}
            for team, name, role in database.execute(query):
                found[team] = (*found.get(team, ()), Member(name, role))
            return found

    def send(self, team: str, *, sender: str, recipient: str, text: str, key: str | None = None) -> tuple[str, ...]:
        """Sends to a member, or to everybody else, and gives who gets it. Once it has returned, the message will be
        delivered; with the same `key` it is sent once. Raises MailError where there is no such member."""
        with self._database.changing() as database:
            known = self._check(database, team)
            for name, what in ((sender, "sender"), (recipient, "recipient")):
                if name not in known and (name, what) != (EVERYBODY, "recipient"):
                    remedy = f"its members are {', '.join(known)}"
                    raise MailError(f"the {what} must be a member of team `{team}` (got `{name}`)", remedy)
            reached = tuple(name for name in known if name != sender) if recipient == EVERYBODY else (recipient,)
            rows = [(team, each, sender, text, key, self._now()) for each in reached]
            columns = "team, recipient, sender, text, key, sent"
            database.executemany(f"INSERT OR IGNORE INTO messages ({columns}) VALUES (?, ?, ?, ?, ?, ?)", rows)
            return reached

    def waiting(self, team: str, member: str) -> int:
        """How many messages nobody has read yet."""
        query = "SELECT count(*) FROM messages WHERE team = ? AND recipient = ? AND read = 0"
        with self._database.reading() as database:
            found: int = database.execute(query, (team, member)).fetchone()[0]
            return found

    def mailbox(self, team: str, member: str) -> Mailbox:
        """The mailbox of a member, for this reader alone until it is closed. Raises MailError where another one reads
        it, and where there is none."""
        with self._database.reading() as database:
            if member not in self._check(database, team):
                raise MailError(f"team `{team}` has no member `{member}`")
        return Mailbox(self._database, self._folder, team, member)

    @staticmethod
    def _check(database: object, team: str) -> tuple[str, ...]:
        """The names of a team's members."""
        query = "SELECT name FROM members WHERE team = ? ORDER BY place"
        found = tuple(name for (name,) in database.execute(query, (team,)))  # type: ignore[attr-defined]
        if not found:
            raise MailError(f"there is no team `{team}`", "make it with TeamCreate")
        return found


class Mailbox:
    """What came for one member. It has one reader at a time: a lock that goes with the reader's process."""

    def __init__(self, database: Database, folder: str, team: str, member: str) -> None:
        self._database = database
        self._team = team
        self._member = member
        name = blake2b(f"{team}\0{member}".encode("utf-8", "surrogateescape"), digest_size=12).hexdigest()
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        try:
            make_folder(folder)
            self._held = os.open(os.path.join(folder, f"mail-{name}.lock"), flags, 0o600)
        except OSError as error:
            raise MailError(f"the mail of `{member}` in team `{team}` cannot be read: {error.strerror}") from error
        try:
            fcntl.flock(self._held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            self.close()
            raise MailError(f"the mail of `{member}` in team `{team}` is being read by another process") from error

    def receive(self, *, has: Collection[int] = (), most: int = 100) -> tuple[Message, ...]:
        """The oldest messages that were not acknowledged. `has`: what this reader has written down already, which
        counts as acknowledged from now on. What is received and not acknowledged comes again."""
        columns = "id, team, sender, recipient, text, sent"
        query = f"SELECT {columns} FROM messages WHERE team = ? AND recipient = ? AND read = 0 ORDER BY id LIMIT ?"
        if has:
            self._acknowledge(has)
        with self._database.reading() as database:
            return tuple(Message(*row) for row in database.execute(query, (self._team, self._member, most)))

    def acknowledge(self, *messages: int) -> None:
        """These are read, and never come again."""
        self._acknowledge(messages)

    def _acknowledge(self, messages: Collection[int]) -> None:
        query = "UPDATE messages SET read = 1 WHERE id = ? AND team = ? AND recipient = ?"
        with self._database.changing() as database:
            database.executemany(query, [(each, self._team, self._member) for each in messages])

    def close(self) -> None:
        """Lets another reader in."""
        held, self._held = self._held, -1
        if held >= 0:
            os.close(held)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()
