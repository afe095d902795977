"""A cache of verdicts: what policies made of recorded calls, in a database beside the record.

    audit/replayed/results.sqlite

Whoever hands out the work writes, whoever works reads. It is private and bounded; what is damaged is begun anew, and
where none can be kept everything is judged. What is deleted costs time alone.
"""

from __future__ import annotations

import os
import sqlite3
from time import monotonic

from gateway.audit.files import SEAL, open_own
from gateway.core.cache import open_owned
from gateway.core.errors import AuditError
from gateway.core.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence
    from typing import Any

FOLDER, FILE = "replayed", "results.sqlite"
MOST = 2_000_000  # calls under policies
_VERSION = 1
_MAPPED = 1 << 30
_PATIENCE = 5.0  # seconds for somebody else who writes there
_EVERY = 1.0  # seconds after which what was kept is on disk
_NOT_DAMAGED = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY)
_TABLES = """
CREATE TABLE texts (id INTEGER PRIMARY KEY, text TEXT UNIQUE);
CREATE TABLE policies (id INTEGER PRIMARY KEY, name TEXT UNIQUE, used INTEGER);
CREATE TABLE calls (key BLOB PRIMARY KEY, origin INTEGER, tool TEXT, shown TEXT, cwd TEXT) WITHOUT ROWID;
CREATE TABLE said (policy INTEGER, key BLOB, said INTEGER, PRIMARY KEY (policy, key)) WITHOUT ROWID;
"""


class Judged(Value):
    """A call under some policies. `key`: of all that decided it; `origin`: by what it was judged, as text; `said`: for
    each policy, by its name, what it said, as text."""

    key: bytes
    origin: str
    tool: str
    shown: str
    cwd: str
    said: tuple[tuple[str, str], ...]


class Known:
    """The results of one record. Nothing is raised: what cannot be read is not known, what cannot be written is not
    kept."""

    def __init__(self, folder: str, *, writes: bool = False) -> None:
        """`folder`: the record's; `writes`: by one at a time, made before those who read."""
        path = os.path.join(folder, FOLDER, FILE)
        self._database: sqlite3.Connection | None = None
        self._numbers: dict[tuple[str, str], int] = {}
        self._used: set[str] = set()
        self._last = monotonic()
        for _attempt in range(2):
            try:
                self._database = (
                    _begun(path) if writes and os.path.lexists(os.path.join(folder, SEAL)) else _opened(path)
                )
                break
            except sqlite3.DatabaseError as error:
                if not writes or getattr(error, "sqlite_errorcode", 0) in _NOT_DAMAGED:
                    break
                _remove(path)
            except (OSError, AuditError):
                break

    def origins(self, keys: Sequence[bytes]) -> dict[bytes, int]:
        """By what those of these calls that are known were judged, as the number of a text."""
        return dict(self._rows(f"SELECT key, origin FROM calls WHERE key IN ({_marks(keys)})", keys))

    def said(self, policies: Collection[str], keys: Sequence[bytes]) -> dict[tuple[str, bytes], int]:
        """What these policies said of these calls, as numbers of texts."""
        found = {}
        question = f"SELECT key, said FROM said WHERE policy = ? AND key IN ({_marks(keys)})"
        for name in policies:
            for (number,) in self._rows("SELECT id FROM policies WHERE name = ?", (name,)):
                found.update({(name, key): said for key, said in self._rows(question, (number, *keys))})
        return found

    def text(self, number: int) -> str:
        """A text, "" where there is none."""
        rows = self._rows("SELECT text FROM texts WHERE id = ?", (number,))
        return str(rows[0][0]) if rows else ""

    def texts(self, numbers: Collection[int]) -> list[tuple[int, str]]:
        """Some texts by their numbers, as far as they are there."""
        return self._rows(f"SELECT id, text FROM texts WHERE id IN ({_marks(numbers)})", tuple(numbers))

    def told(self, key: bytes) -> tuple[str, str, str]:
        """Of a known call: tool, what it is in the words of its match field, and folder."""
        rows = self._rows("SELECT tool, shown, cwd FROM calls WHERE key = ?", (key,))
        return rows[0] if rows else ("", "", "")

    def total(self) -> int:
        """How many results there are."""
        rows = self._rows("SELECT count(*) FROM said", ())
        return int(rows[0][0]) if rows else 0

    def keep(self, found: Iterable[Judged], used: Iterable[str]) -> None:
        """Adds results. `used`: names of policies that were asked for."""
        self._used.update(used)
        rows = list(found)
        if self._database is None or not rows:
            return
        try:
            calls = [(each.key, self._number(each.origin), each.tool, each.shown, each.cwd) for each in rows]
            said = [(self._policy(name), each.key, self._number(text)) for each in rows for name, text in each.said]
            self._database.executemany("INSERT OR REPLACE INTO calls VALUES (?, ?, ?, ?, ?)", calls)
            self._database.executemany("INSERT OR REPLACE INTO said VALUES (?, ?, ?)", said)
            if monotonic() - self._last > _EVERY:
                self._database.commit()
                self._last = monotonic()
        except sqlite3.Error:
            self._shut()

    def close(self) -> None:
        """Keeps what is not yet on disk, and forgets what is too much."""
        if self._database is not None and (self._numbers or self._used):
            try:
                self._bound()
                self._database.commit()
            except sqlite3.Error:
                pass  # somebody else writes: it is kept by them, or next time
        self._shut()

    def _bound(self) -> None:
        """Policies that were not asked for lately go first, with what they said; at last those of now."""
        assert self._database is not None
        run = self._rows("SELECT max(used) FROM policies", ())[0][0] or 0
        now = [(run + 1, each) for each in self._used]
        self._database.executemany("UPDATE policies SET used = ? WHERE name = ?", now)
        sizes = (
            "SELECT p.id, (SELECT count(*) FROM said WHERE policy = p.id) FROM policies p ORDER BY p.used DESC, p.id"
        )
        total = 0
        gone = [policy for policy, size in self._rows(sizes, ()) if (total := total + size) > MOST]
        for policy in gone:
            self._database.execute("DELETE FROM said WHERE policy = ?", (policy,))
            self._database.execute("DELETE FROM policies WHERE id = ?", (policy,))
        if gone:
            self._database.execute("DELETE FROM calls WHERE key NOT IN (SELECT key FROM said)")

    def _number(self, text: str) -> int:
        return self._numbered(text, "texts", "text")

    def _policy(self, name: str) -> int:
        return self._numbered(name, "policies", "name")

    def _numbered(self, text: str, table: str, column: str) -> int:
        found = self._numbers.get((table, text))
        if found is None:
            assert self._database is not None
            self._database.execute(f"INSERT OR IGNORE INTO {table} ({column}) VALUES (?)", (text,))
            row = self._database.execute(f"SELECT id FROM {table} WHERE {column} = ?", (text,)).fetchone()
            found = self._numbers[table, text] = int(row[0])
        return found

    def _rows(self, question: str, given: Sequence[object]) -> list[Any]:
        if self._database is None:
            return []
        try:
            return self._database.execute(question, tuple(given)).fetchall()
        except sqlite3.Error:
            self._shut()
            return []

    def _shut(self) -> None:
        if self._database is not None:
            self._database.close()
            self._database = None


def _begun(path: str) -> sqlite3.Connection:
    """The database to write to, made where it is not there."""
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    os.close(open_own(path, os.O_RDWR | os.O_CREAT))
    database = sqlite3.connect(path, timeout=_PATIENCE)
    try:
        database.execute("PRAGMA cache_spill = OFF")  # else readers wait for the end of what is not committed yet
        version = database.execute("PRAGMA user_version").fetchone()[0]
        if version != _VERSION:
            if version:
                raise sqlite3.DatabaseError("another version's")
            with database:
                database.executescript(f"{_TABLES} PRAGMA user_version = {_VERSION};")
    except BaseException:
        database.close()
        raise
    return database


def _opened(path: str) -> sqlite3.Connection | None:
    """The database to read from, None where there is none that is believed."""
    file = open_owned(path)
    if file is None:
        return None
    os.close(file)
    database = sqlite3.connect(f"file:{_quoted(path)}?mode=ro", uri=True, timeout=_PATIENCE)
    database.execute(f"PRAGMA mmap_size = {_MAPPED}")  # its pages are read where the kernel has them
    return database


def _quoted(path: str) -> str:
    from urllib.parse import quote

    return quote(path, safe="/")


def _remove(path: str) -> None:
    for each in (path, f"{path}-journal"):
        if os.path.lexists(each):
            os.unlink(each)


def _marks(some: Collection[object]) -> str:
    return ",".join("?" * len(some))
