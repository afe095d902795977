"""Full files of the record, converted to columns beside each, so that its lines are parsed once.

It is Parquet, written and grouped by DuckDB (the extra `replay`):

    audit/000001.calls    a row for each decision that differs from others in that file: `decisions.Scanned.rows`
    audit/000001.uses     by whom each was made: a row for each session and for each agent

They are made when somebody first asks, go with the file of lines, and say of how many bytes they are. Whatever is amiss
with them, the lines are read: they are the record.
"""

from __future__ import annotations

import errno
import os
import tempfile
from _blake2 import blake2b
from contextlib import suppress
from importlib import import_module
from importlib.util import find_spec

from gateway.audit import files
from gateway.core.cache import open_owned, replace_whole
from gateway.core.plainjson import dumps, loads
from gateway.core.value import Value
from gateway.replay.decisions import AGENTS, COUNT, FIRST, LAST, PLACE, SESSIONS, Scanned, scan

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

    from gateway.replay.decisions import Distinct, Segment

PRODUCT = "agent-gateway[replay]"
_VERSION = 1
_OF = "gateway"
_START = 40  # bits for a place in a file
_MEMORY = "384MB"
_CALLS = {
    "key": "UUID", "facts": "VARCHAR", "context": "VARCHAR", "call": "VARCHAR", "front": "VARCHAR",
    "decision": "VARCHAR", "rule": "VARCHAR", "policy": "VARCHAR", "count": "BIGINT", "first": "VARCHAR",
    "last": "VARCHAR", "place": "BIGINT", "size": "BIGINT",
}  # fmt: skip
_USES = {"key": "UUID", "session": "VARCHAR", "agent": "VARCHAR"}
_CHANGED = {"key": "UUID", "part": "INTEGER"}
_NOBODY: frozenset[bytes] = frozenset()


class DamagedError(OSError):
    """Columns cannot be read. They are forgotten by now: whoever asks again has them from the lines."""


class Kept(Value):
    """A file of lines whose columns are kept: what they say of it."""

    segment: Segment
    decisions: int
    without: int
    first: str
    last: str


def is_there() -> bool:
    """Whether DuckDB is installed."""
    return find_spec("duckdb") is not None


def kept(segments: Sequence[Segment]) -> list[Kept]:
    """Those of these files of lines whose columns are there and of no other state of the file."""
    there = [each for each in segments if all(map(_is_own, (_calls(each), _uses(each))))]
    if not there:
        return []
    with _Engine() as engine:
        paths = [path(each) for each in there for path in (_calls, _uses)]
        try:
            told = dict(_said_of(engine, paths))
        except engine.error:
            told = {}
            for path in paths:
                with suppress(engine.error):
                    told.update(_said_of(engine, [path]))
    found = []
    for each in there:
        said = told.get(_calls(each), {})
        if (said.get("version"), said.get("size")) == (_VERSION, each.size) and said == told.get(_uses(each)):
            found.append(Kept(each, said["decisions"], said["without"], first=said["first"], last=said["last"]))
    return found


def _said_of(engine: _Engine, paths: list[str]) -> list[tuple[str, dict[str, Any]]]:
    rows = engine.rows("SELECT file_name, decode(value) FROM parquet_kv_metadata(?) WHERE key = ?", [paths, _OF])
    return [(path, loads(text)) for path, text in rows]


class Making:
    """Makes the columns of a file of lines; made once by whoever works."""

    def __call__(self, segment: Segment) -> bool:
        """Whether they are there now."""
        found = scan(segment)
        said = {
            "version": _VERSION, "size": segment.size, "decisions": found.decisions, "without": found.without,
            "first": found.first, "last": found.last,
        }  # fmt: skip
        with _Engine() as engine:
            try:
                engine.write(_uses(segment), _USES, _uses_of(found), dumps(said))
                engine.write(_calls(segment), _CALLS, _rows_of(found), dumps(said))
            except (engine.error, OSError, ValueError):
                return False  # it is read line by line
        return True


def grouped(found: Sequence[Kept], workers: int) -> list[Scanned]:
    """What the columns of files hold together; nobody is told as having made it. Raises DamagedError."""
    if not found:
        return []
    paths = [_calls(each.segment) for each in found]
    rows: dict[bytes, list[Any]] = {}
    with _Engine(workers) as engine:
        try:
            for *parts, count, first, last, place, size in engine.rows(_GROUPED, [paths, paths]):
                segment, start = divmod(place, 1 << _START)
                key = "\n".join((*parts, "")).encode("ascii")
                rows[key] = [
                    count, _NOBODY, _NOBODY, first.encode(), last.encode(), 0, 0, _NOBODY, segment, start, size
                ]  # fmt: skip
        except (engine.error, ValueError) as error:
            raise _forgotten(paths) from error
    return [Scanned(rows, sum(each.decisions for each in found), sum(each.without for each in found))]


_GROUPED = """
WITH grouped AS (
    SELECT key, sum(count)::BIGINT AS count, min(first) AS first, max(last) AS last, min(place) AS place
    FROM read_parquet(?) GROUP BY key
)
SELECT c.facts, c.context, c.call, c.front, c.decision, c.rule, c.policy, g.count, g.first, g.last, c.place, c.size
FROM grouped g JOIN read_parquet(?) c ON c.place = g.place
"""
_MADE_BY = "SELECT DISTINCT part, session, agent FROM read_parquet(?) JOIN read_parquet(?) USING (key)"


def made_by(uses: Sequence[str], groups: Sequence[Sequence[Distinct]], workers: int) -> list[tuple[set[str], set[str]]]:
    """Which sessions and agents made each of some groups of decisions, as far as `uses` hold them. Raises
    DamagedError."""
    found: list[tuple[set[str], set[str]]] = [(set(), set()) for _ in groups]
    if not uses or not groups:
        return found
    asked = ((_key(_named(each)), str(part)) for part, group in enumerate(groups) for each in group)
    with _Engine(workers) as engine:
        try:
            changed = engine.parquet("changed", _CHANGED, asked, "")
            for part, session, agent in engine.rows(_MADE_BY, [list(uses), [changed]]):
                sessions, agents = found[part]
                if session:
                    sessions.add(session)
                if agent:
                    agents.add(agent)
        except engine.error as error:
            raise _forgotten(uses) from error
    return found


def _forgotten(paths: Sequence[str]) -> DamagedError:
    for each in paths:
        with suppress(OSError):
            os.unlink(each)
    return DamagedError(errno.EIO, "what is kept beside its lines is damaged")


def uses_of(found: Sequence[Kept]) -> tuple[str, ...]:
    """The files that `made_by` reads."""
    return tuple(_uses(each.segment) for each in found)


def _named(each: Distinct) -> bytes:
    fields = (each.facts, each.context, each.call, each.front, each.decision, each.rule, each.policy, "")
    return "\n".join(fields).encode("ascii")


def _key(row: bytes) -> str:
    return blake2b(row, digest_size=16).hexdigest()


def _rows_of(found: Scanned) -> Iterable[tuple[str, ...]]:
    for key, row in found.rows.items():
        *parts, _now = key.decode("ascii").split("\n")
        segment, start, size = row[PLACE:]
        place = (segment << _START) + start
        times = row[FIRST].decode("ascii"), row[LAST].decode("ascii")
        yield _key(key), *parts, str(row[COUNT]), *times, str(place), str(size)


def _uses_of(found: Scanned) -> Iterable[tuple[str, ...]]:
    for text, row in found.rows.items():
        key = _key(text)
        for session in row[SESSIONS]:
            yield key, session.decode("ascii")[1:-1], ""
        for agent in row[AGENTS]:
            yield key, "", agent.decode("ascii")[1:-1]


def _calls(segment: Segment) -> str:
    return os.path.join(segment.folder, files.stem_of(segment.number)) + files.CALLS


def _uses(segment: Segment) -> str:
    return os.path.join(segment.folder, files.stem_of(segment.number)) + files.USES


def _is_own(path: str) -> bool:
    """Whether a file is there that nobody else can have written."""
    file = open_owned(path)
    if file is None:
        return False
    os.close(file)
    return True


class _Engine:
    """DuckDB for one question, with a folder of its own for what it writes meanwhile."""

    def __init__(self, workers: int = 1) -> None:
        self._duckdb = import_module("duckdb")  # an extra
        self.error: type[Exception] = self._duckdb.Error
        self._folder = tempfile.TemporaryDirectory(prefix="gateway-replay-")
        config = {
            "threads": max(workers, 1), "memory_limit": _MEMORY, "temp_directory": self._folder.name,
            "autoinstall_known_extensions": False, "autoload_known_extensions": False,
            "preserve_insertion_order": False,
        }  # fmt: skip
        self._database = self._duckdb.connect(config=config)

    def rows(self, question: str, given: list[Any]) -> list[tuple[Any, ...]]:
        """All rows of an answer."""
        found: list[tuple[Any, ...]] = self._database.execute(question, given).fetchall()
        return found

    def parquet(self, name: str, columns: dict[str, str], rows: Iterable[tuple[str, ...]], said: str) -> str:
        """Rows as Parquet in its own folder. Raises ValueError for a text that can be no cell."""
        lines = ["\t".join(row) for row in rows]
        text = "\n".join([*lines, ""])
        if not text.isascii() or "\r" in text or text.count("\t") != len(lines) * (len(columns) - 1):
            raise ValueError("a text that no writer of the record makes")
        plain, made = (os.path.join(self._folder.name, f"{name}.{ending}") for ending in ("txt", "parquet"))
        with open(plain, "w", encoding="ascii") as file:
            file.write(text)
        self._database.execute(
            f"COPY (SELECT * FROM read_csv('{plain}', columns = {columns!r}, auto_detect = false, header = false, "
            r"delim = '\t', quote = '', escape = '', nullstr = '\x01', new_line = '\n', max_line_size = 67108864)) "
            f"TO '{made}' (FORMAT parquet, COMPRESSION zstd, KV_METADATA {{{_OF}: ?}})",
            [said],
        )
        os.unlink(plain)
        return made

    def write(self, path: str, columns: dict[str, str], rows: Iterable[tuple[str, ...]], said: str) -> None:
        """The same in a place of the record's, whole and private. Raises OSError."""
        made = self.parquet(os.path.basename(path), columns, rows, said)
        with open(made, "rb") as file:
            replace_whole(path, file.read())
        os.unlink(made)

    def __enter__(self) -> _Engine:
        return self

    def __exit__(self, *_error: object) -> None:
        self._database.close()
        self._folder.cleanup()
