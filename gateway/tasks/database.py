"""SQLite files in the state folder: this user's alone, for several processes at once, and lasting.

A change is there as soon as it has been made, and then stays, whatever is killed at whatever moment; a change that was
cut short leaves nothing. Each one opens the file anew, so that threads and forked processes share no connection. The
journal is SQLite's oldest, which needs no memory that processes share: a change costs about a millisecond.
"""

from __future__ import annotations

import os
import sqlite3
import stat
from contextlib import contextmanager

from gateway.core.errors import StoreError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

# How long one process waits for the others.
SECONDS = 30.0


class Database:
    """One file with its tables. Safe to use from several threads and processes."""

    def __init__(self, path: str, tables: str, version: int = 1) -> None:
        """`tables`: the statements that make them; `version`: theirs, which a file of another one must not have."""
        self.path = path
        self._tables = tables
        self._version = version

    @contextmanager
    def changing(self) -> Iterator[sqlite3.Connection]:
        """A change, all of it or none: it is made when the block ends, and forgotten when the block raises. Others wait
        meanwhile. Raises StoreError."""
        with self._opened() as connection:
            connection.execute("BEGIN IMMEDIATE")
            self._make(connection)
            try:
                yield connection
            except BaseException:
                connection.execute("ROLLBACK")
                raise
            connection.execute("COMMIT")

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """A look at one moment. Raises StoreError."""
        if not os.path.lexists(self.path):  # nothing is kept yet, and a look makes nothing
            connection = sqlite3.connect(":memory:", isolation_level=None)
            try:
                connection.executescript(self._tables)
                yield connection
            finally:
                connection.close()
            return
        with self._opened() as connection:
            connection.execute("BEGIN")
            if self._found(connection) == 0:
                connection.execute("COMMIT")
                connection.execute("BEGIN IMMEDIATE")
                self._make(connection)
            yield connection
            connection.execute("COMMIT")

    @contextmanager
    def _opened(self) -> Iterator[sqlite3.Connection]:
        try:
            _make_file(self.path)
            connection = sqlite3.connect(self.path, timeout=SECONDS, isolation_level=None)
            try:
                connection.execute("PRAGMA synchronous = EXTRA")
                connection.execute("PRAGMA foreign_keys = ON")
                yield connection
            finally:
                connection.close()
        except (UnicodeEncodeError, OverflowError) as error:
            raise StoreError(f"this cannot be kept: {error}") from error
        except sqlite3.OperationalError as error:
            raise StoreError(f"{self.path} cannot be used: {error}") from error
        except sqlite3.IntegrityError:
            raise
        except sqlite3.DatabaseError as error:
            remedy = "move it away; what it held is lost to the gateway until it is repaired"
            raise StoreError(f"{self.path} is damaged: {error}", remedy) from error
        except OSError as error:
            raise StoreError(f"{self.path} cannot be used: {error.strerror}") from error

    def _make(self, connection: sqlite3.Connection) -> None:
        if self._found(connection) == 0:
            for statement in self._tables.split(";"):
                if statement.strip():
                    connection.execute(statement)
            connection.execute(f"PRAGMA user_version = {self._version}")

    def _found(self, connection: sqlite3.Connection) -> int:
        """The version of the file, 0 for a new one. Raises StoreError where it is not ours to read."""
        version: int = connection.execute("PRAGMA user_version").fetchone()[0]
        if version not in (0, self._version):
            raise StoreError(f"{self.path} was made by another version of the gateway", "use that one, or move it away")
        return version


def make_folder(folder: str) -> None:
    """Makes sure of a folder that nobody else can change. Raises StoreError and OSError."""
    os.makedirs(folder, mode=0o700, exist_ok=True)
    found = os.stat(folder)
    if found.st_uid != os.geteuid() or found.st_mode & 0o022:
        raise StoreError(f"{folder} can be changed by others", "it must be yours, and writable by nobody else")


def _make_file(path: str) -> None:
    """Makes sure of a file that is this user's alone. It is never opened here once it has its name: that would take
    SQLite's locks on it from this process."""
    try:
        found = os.lstat(path)
    except FileNotFoundError:
        make_folder(os.path.dirname(path))
        new = f"{path}.{os.getpid()}.{os.urandom(4).hex()}"
        os.close(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
        try:
            os.link(new, path)
        except FileExistsError:
            pass  # another process was faster
        finally:
            os.unlink(new)
        found = os.lstat(path)
    if not stat.S_ISREG(found.st_mode) or found.st_uid != os.geteuid() or found.st_mode & 0o077:
        raise StoreError(f"{path} must be a file of yours that nobody else can read or write", f"chmod 600 {path}")
    folder = os.stat(os.path.dirname(path))
    if folder.st_uid != os.geteuid() or folder.st_mode & 0o022:
        raise StoreError(f"{os.path.dirname(path)} can be changed by others", "it must be yours alone")
