"""Searches in the record, through an SQLite index beside it.

The index is a cache: it holds where each line stands and what is asked for most, is brought up to date with every
question, and is made anew when it does not fit. The lines themselves are the record.
"""

from __future__ import annotations

import json
import os
import sqlite3
import sys
from contextlib import closing

from gateway.audit import chain, files
from gateway.audit.reading import Moment
from gateway.audit.text_search import Candidates
from gateway.core.errors import AuditError
from gateway.core.value import Value
from gateway.model.record import DECISION, MARK, OUTCOME, STARTED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any, Self

    from gateway.audit.reading import Line, Part

_VERSION = 1
_TOLD_EVERY = 2_000  # lines
_PATIENCE = 10.0  # seconds for somebody else who brings the index up to date
_TABLES = """
CREATE TABLE records (
    n INTEGER PRIMARY KEY, segment INTEGER, start INTEGER, size INTEGER, kind TEXT, id TEXT, at TEXT, front TEXT,
    tool TEXT, decision TEXT, reason TEXT, rule TEXT, session TEXT, cwd TEXT, ended TEXT, status INTEGER, seconds REAL,
    violations INTEGER
);
CREATE INDEX by_id ON records (id);
CREATE INDEX by_rule ON records (rule);
CREATE INDEX by_time ON records (at);
CREATE TABLE targets (n INTEGER, kind TEXT, target TEXT);
CREATE INDEX by_target ON targets (target);
CREATE INDEX by_record ON targets (n);
CREATE TABLE state (segment INTEGER, start INTEGER, size INTEGER, digest TEXT);
"""
# Of a call that ran on in the background there are two outcomes: the last one counts.
_LAST = (
    f"o.kind = '{OUTCOME}' AND NOT EXISTS "
    f"(SELECT 1 FROM records l WHERE l.id = o.id AND l.n > o.n AND l.kind = '{OUTCOME}')"
)
_LARGEST = (1 << 63) - 1
_PATHS = ("list", "read", "write", "delete", "credential", "protected", "exec")
_HOSTS = ("connect", "net", "dns")


class Query(Value):
    """What is looked for; "" for anything. `tool` and `rule` may hold `*`. `path`: this path and all below it, or a
    pattern with `*`; `host`: a host, or a pattern. `since` and `until`: moments as records write them. `text`: stands
    in the line of the decision or of the outcome."""

    text: str = ""
    tool: str = ""
    decision: str = ""
    rule: str = ""
    path: str = ""
    host: str = ""
    ended: str = ""
    session: str = ""
    since: str = ""
    until: str = ""


class Found(Value):
    """A decision and its outcome, each as in its line; either may be missing, the outcome of a refused call always. Of
    several outcomes it is the last one."""

    decision: dict[str, Any] | None
    outcome: dict[str, Any] | None


def behind(folder: str) -> int:
    """How many bytes of the record its index has not taken in yet. Raises AuditError where there is a record that
    cannot be read."""
    with Moment(folder) as moment:
        parts = moment.parts
    total = sum(part.size for part in parts)
    try:
        with closing(sqlite3.connect(f"file:{os.path.join(folder, files.INDEX)}?mode=ro", uri=True)) as database:
            if database.execute("PRAGMA user_version").fetchone()[0] != _VERSION:
                return total
            row = database.execute("SELECT segment, start, size FROM state").fetchone()
    except sqlite3.Error:
        return total
    segment, end = (row[0], row[1] + row[2]) if row is not None else (0, 0)
    return sum(part.size - (end if part.segment == segment else 0) for part in parts if part.segment >= segment)


class Index:
    """The index of the record in one folder, up to date when it was opened."""

    def __init__(self, folder: str, progress: Callable[[int, int], None] = lambda _done, _of: None) -> None:
        """`progress`: told how many bytes of how many it has taken in. Raises AuditError where there is a record that
        cannot be read."""
        self._moment = Moment(folder)
        self._progress = progress
        try:
            self._database = self._open(os.path.join(folder, files.INDEX))
        except BaseException:
            self._moment.close()
            raise

    def _open(self, path: str) -> sqlite3.Connection:
        """The index on disk; one that is damaged is made anew, and where none can be kept there is one in memory."""
        for _attempt in range(2):
            try:
                os.close(files.open_own(path, os.O_RDWR | os.O_CREAT))
                return self._updated(path)
            except sqlite3.DatabaseError as error:
                if error.sqlite_errorcode == sqlite3.SQLITE_BUSY:
                    break  # somebody else brings it up to date, which takes long where there is much
                os.unlink(path)
            except (OSError, AuditError):
                break
        return self._updated(":memory:")

    def _updated(self, path: str) -> sqlite3.Connection:
        database = sqlite3.connect(path, timeout=_PATIENCE, isolation_level=None)
        try:
            database.execute("PRAGMA synchronous = OFF")  # what is lost is made anew
            database.execute("BEGIN IMMEDIATE")
            version = database.execute("PRAGMA user_version").fetchone()[0]
            if version != _VERSION or not self._fits(database):
                _make(database)
            self._add(database)
            database.execute("COMMIT")
        except BaseException:
            database.close()
            raise
        return database

    def _fits(self, database: sqlite3.Connection) -> bool:
        """Whether the line that was indexed last still stands where it stood."""
        row = database.execute("SELECT segment, start, size, digest FROM state").fetchone()
        if row is None:
            return True
        segment, start, size, digest = row
        return bool(chain.digest(self._moment.bytes_at(segment, start, size)) == digest)

    def _add(self, database: sqlite3.Connection) -> None:
        """Takes in what came since, and forgets what rotation removed."""
        parts = self._moment.parts
        database.execute("DELETE FROM targets WHERE n IN (SELECT n FROM records WHERE segment < ?)", _first(parts))
        database.execute("DELETE FROM records WHERE segment < ?", _first(parts))
        row = database.execute("SELECT segment, start, size FROM state").fetchone() or (0, 0, 0)
        last: Line | None = None
        of = sum(part.size for part in parts)
        before = 0
        for part in parts:
            before += part.size
            if part.segment < row[0]:
                continue
            for number, line in enumerate(self._moment.lines(part, row[1] + row[2] if part.segment == row[0] else 0)):
                if not number % _TOLD_EVERY:
                    self._progress(before - part.size + line.start, of)
                found = chain.read(line.data) if line.data.endswith(chain.NEWLINE) else None
                if found is not None and _number(found["n"]) is not None:
                    _insert(database, found, line)
                    last = line
        if last is not None:
            place = (last.part.segment, last.start, len(last.data), chain.digest(last.data))
            database.execute("DELETE FROM state")
            database.execute("INSERT INTO state VALUES (?, ?, ?, ?)", place)

    def find(self, query: Query, most: int = 0) -> list[Found]:
        """The calls that match, oldest first; with `most` only the last ones."""
        tests, values = _tests(query)
        where = " AND ".join(tests) or "1"
        text = "SELECT d.n, d.segment, d.start, o.n, o.segment, o.start FROM records d "
        text += f"LEFT JOIN records o ON o.id = d.id AND {_LAST} "
        text += f"WHERE d.kind = '{DECISION}' AND {where} ORDER BY d.n DESC"
        found: list[Found] = []
        candidates = Candidates(self._moment, query.text) if query.text else None
        for decision, segment, start, outcome, its_segment, its_start in self._database.execute(text, values):
            if candidates is not None:
                may_hold = candidates.may_hold(segment, start) or candidates.may_hold(its_segment, its_start)
                if not may_hold:
                    continue
            call = Found(self._line(decision), self._line(outcome))
            if _holds(call, query.text):
                found.append(call)
                if most and len(found) == most:
                    break
        return found[::-1]

    def count(self, query: Query) -> int:
        """How many decisions match, by what the index tells; `text` is not looked at."""
        tests, values = _tests(query)
        text = f"SELECT count(*) FROM records d LEFT JOIN records o ON o.id = d.id AND {_LAST} "
        found = self._database.execute(f"{text} WHERE d.kind = '{DECISION}' AND {' AND '.join(tests) or '1'}", values)
        return int(found.fetchone()[0])

    def rules(self, since: str) -> dict[str, int]:
        """How many decisions each rule has made since a moment."""
        text = f"SELECT rule, count(*) FROM records WHERE kind = '{DECISION}' AND at >= ? GROUP BY rule"
        return dict(self._database.execute(text, (since,)).fetchall())

    def rows(self, text: str, values: Sequence[Any] = ()) -> Iterator[tuple[Any, ...]]:
        """What a query in SQL finds in the tables."""
        return iter(self._database.execute(text, values))

    def begins(self) -> str:
        """When the first record that is there was made, "" if there is none."""
        return str(self._database.execute("SELECT min(at) FROM records").fetchone()[0] or "")

    def show(self, name: str) -> list[Found]:
        """The calls whose number, id or start of an id this is."""
        name = _kept(name)
        if name.isdecimal():
            number = int(name) if len(name) < len(str(_LARGEST)) else None  # no record has a longer one
            rows = self._database.execute("SELECT id FROM records WHERE n = ?", (number,))
        else:
            end = name + chr(sys.maxunicode) if name else ""
            query = "SELECT DISTINCT id FROM records WHERE id = ? OR (id >= ? AND id < ?)"
            rows = self._database.execute(query, (name, name, end))
        ids = [row[0] for row in rows.fetchall() if row[0]]
        found = []
        for each in [name] if name in ids else ids[:20]:
            lines = self._database.execute("SELECT n, kind FROM records WHERE id = ? ORDER BY n", (each,)).fetchall()
            places = {kind: number for number, kind in lines}
            found.append(Found(self._line(places.get(DECISION)), self._line(places.get(OUTCOME))))
        return found

    def stats(self) -> dict[str, Any]:
        """Numbers: of records, by what was decided and what became of it, of the rules that decided most."""
        run = self._database.execute
        first, last, since, until = run("SELECT min(n), max(n), min(at), max(at) FROM records").fetchone()
        open_calls = (
            f"SELECT count(*) FROM records d WHERE d.kind = '{DECISION}' AND d.decision != 'deny' AND NOT EXISTS "
            f"(SELECT 1 FROM records o WHERE o.id = d.id AND o.kind = '{OUTCOME}' AND o.ended != '{STARTED}')"
        )
        outcomes = f"SELECT o.ended, count(*) FROM records o WHERE {_LAST} GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 20"
        return {
            "records": run("SELECT count(*) FROM records").fetchone()[0],
            "first": first or 0,
            "last": last or 0,
            "since": since or "",
            "until": until or "",
            "files": len(self._moment.parts),
            "bytes": sum(part.size for part in self._moment.parts),
            "decisions": self._counted("decision", DECISION),
            "outcomes": dict(run(outcomes).fetchall()),
            "without_outcome": run(open_calls).fetchone()[0],
            "violations": run("SELECT coalesce(sum(violations), 0) FROM records").fetchone()[0],
            "tools": self._counted("tool", DECISION),
            "fronts": self._counted("front", DECISION),
            "rules": self._counted("rule", DECISION),
            "marks": self._counted("ended", MARK),
        }

    def _counted(self, column: str, kind: str) -> dict[str, int]:
        text = f"SELECT {column}, count(*) FROM records WHERE kind = ? GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 20"
        return dict(self._database.execute(text, (kind,)).fetchall())

    def _line(self, number: int | None) -> dict[str, Any] | None:
        """The record of a number, from its line."""
        row = self._database.execute("SELECT segment, start, size FROM records WHERE n = ?", (number,)).fetchone()
        return None if row is None else chain.read(self._moment.bytes_at(*row))

    def close(self) -> None:
        """Closes the index and the files."""
        self._database.close()
        self._moment.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()


def _first(parts: tuple[Part, ...]) -> tuple[int]:
    return (parts[0].segment if parts else 0,)


def _make(database: sqlite3.Connection) -> None:
    for name in ("records", "targets", "state"):
        database.execute(f"DROP TABLE IF EXISTS {name}")
    for statement in _TABLES.split(";"):
        database.execute(statement)
    database.execute(f"PRAGMA user_version = {_VERSION}")


def _insert(database: sqlite3.Connection, found: dict[str, Any], line: Line) -> None:
    """One line's row. A line that anybody could have written may hold anything: it is taken as text."""
    place = (found["n"], line.part.segment, line.start, len(line.data), _text(found["kind"]))
    rule = found.get("rule")
    violations = found.get("violations")
    row = (
        *place,
        *(_text(found.get(name)) for name in ("id", "at", "front", "tool", "decision", "reason")),
        _text(rule[0]) if isinstance(rule, list) and rule else "",
        _text(found.get("session")),
        _text(found.get("cwd")),
        _text(found.get("mark" if found["kind"] == MARK else "ended")),
        _number(found.get("status")),
        found["seconds"] if isinstance(found.get("seconds"), float) else None,
        _number(sum(each[4] for each in _rows(violations, 5) if isinstance(each[4], int))),
    )
    database.execute(f"INSERT OR REPLACE INTO records VALUES ({', '.join('?' * len(row))})", row)
    targets = [*_rows(found.get("effects"), 2), *_rows(violations, 5)]
    database.executemany(
        "INSERT INTO targets VALUES (?, ?, ?)",
        {(found["n"], _kept(kind), _kept(_host(target) if kind in _HOSTS else target)) for kind, target, *_ in targets},
    )


def _rows(value: Any, size: int) -> list[Any]:
    rows = value if isinstance(value, list) else []
    return [row for row in rows if isinstance(row, list) and len(row) == size and all(map(_is_text, row[:2]))]


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _text(value: Any) -> str:
    return _kept(value) if isinstance(value, str) else ""


def _kept(text: str) -> str:
    """A text as the index holds it: names that are no UTF-8 have halves of characters, of which SQLite takes none."""
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()


def _number(value: Any) -> int | None:
    return value if isinstance(value, int) and -_LARGEST <= value <= _LARGEST else None


def _host(target: str) -> str:
    """A host without its port."""
    host, mark, port = target.rpartition(":")
    return host if mark and port.isdecimal() else target


def _tests(query: Query) -> tuple[list[str], list[str]]:
    """What the index can tell of a query, as SQL and its values."""
    tests: list[str] = []
    values: list[str] = []
    for column in ("tool", "rule", "session", "decision"):
        value = getattr(query, column)
        if value:
            tests.append(f"d.{column} {'GLOB' if '*' in value else '='} ?")
            values.append(_glob(value) if "*" in value else value)
    if query.ended:
        tests.append("o.ended = ?")
        values.append(query.ended)
    for mark, value in ((">=", query.since), ("<", query.until)):
        if value:
            tests.append(f"d.at {mark} ?")
            values.append(value)
    for value, kinds in ((query.path, _PATHS), (query.host, _HOSTS)):
        if value:
            test, of_test = _target_test(value, kinds is _PATHS)
            kinds_text = ", ".join(f"'{kind}'" for kind in kinds)
            # First all calls of which any line has the target, found once; then whether that line is one that counts.
            having = f"t.kind IN ({kinds_text}) AND ({test})"
            tests.append(f"d.id IN (SELECT r.id FROM targets t CROSS JOIN records r ON r.n = t.n WHERE {having})")
            tests.append(f"EXISTS (SELECT 1 FROM targets t INDEXED BY by_record WHERE t.n IN (d.n, o.n) AND {having})")
            values += [*of_test, *of_test]
    return tests, list(map(_kept, values))


def _target_test(value: str, below: bool) -> tuple[str, list[str]]:
    if "*" in value:
        return "t.target GLOB ?", [_glob(value)]
    if not below:
        return "t.target = ?", [value]
    start = value.rstrip("/")
    return "t.target = ? OR (t.target >= ? AND t.target < ?)", [value, start + "/", start + "0"]  # 0 comes after /


def _glob(pattern: str) -> str:
    """A pattern of ours, where only `*` is special, as SQLite writes it."""
    return pattern.replace("[", "[[]").replace("?", "[?]")


def _holds(call: Found, text: str) -> bool:
    if not text:
        return True
    low = text.lower()
    return any(
        low in json.dumps(each, ensure_ascii=False).lower()
        for each in (call.decision, call.outcome)
        if each is not None
    )
