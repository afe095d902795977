"""Scheduled calls, of all projects of a user, and what became of them.

What is due is claimed before it begins, and a claim is never taken back. So nothing is fired twice, whatever is killed
at whatever moment: of what was claimed and never heard of again nobody knows whether it has done its work, and that is
what its entry says. What was due while nothing ran is not made up for, but counted and reported.
"""

from __future__ import annotations

import json
import os
import time

from gateway.core.errors import StoreError
from gateway.core.value import Value
from gateway.tasks.database import Database
from gateway.tasks.timetable import TimetableError, check, due_between, next_after

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable
    from typing import Any

FILE = "cron.sqlite"
TABLES = """
CREATE TABLE jobs (
    id TEXT PRIMARY KEY, name TEXT NOT NULL, schedule TEXT NOT NULL, zone TEXT NOT NULL, kind TEXT NOT NULL,
    text TEXT NOT NULL, root TEXT NOT NULL, cwd TEXT NOT NULL, mode TEXT NOT NULL, rules TEXT NOT NULL,
    agent TEXT NOT NULL, depth INTEGER NOT NULL, once INTEGER NOT NULL, created REAL NOT NULL, seen REAL NOT NULL
);
CREATE UNIQUE INDEX by_name ON jobs (root, name) WHERE name != '';
CREATE TABLE runs (
    id INTEGER PRIMARY KEY AUTOINCREMENT, job TEXT NOT NULL, name TEXT NOT NULL, root TEXT NOT NULL, due REAL NOT NULL,
    began REAL NOT NULL, ended REAL, outcome TEXT NOT NULL, reason TEXT NOT NULL, record TEXT NOT NULL
);
CREATE INDEX by_job ON runs (job, id)
"""
COMMAND, PROMPT = "command", "prompt"
STARTED, DONE, FAILED, REFUSED, MISSED, UNKNOWN = "started", "done", "failed", "refused", "missed", "unknown"
# What is due that long ago, or longer, was missed.
GRACE = 90.0
MOST_JOBS = 200
# Entries of a job that are kept.
MOST_RUNS = 100
_MOST_COUNTED = 10_000
_JOB = "id, name, schedule, zone, kind, text, root, cwd, mode, rules, agent, depth, once, created, seen"
_RUN = "id, job, name, root, due, began, ended, outcome, reason, record"


class Job(Value):
    """A scheduled call. `kind`: command or prompt; `root`, `cwd`: the project and the folder; `mode`, `rules`, `agent`,
    `depth`: of whoever made it, who can have nothing done later that they may not do; `seen`: until when it was looked
    at whether it is due."""

    id: str
    name: str
    schedule: str
    zone: str
    kind: str
    text: str
    root: str
    cwd: str
    mode: str
    rules: tuple[str, ...]
    agent: str
    depth: int
    once: bool
    created: float
    seen: float

    def next(self) -> float | None:
        """When it is due next; None for never, and where nobody here knows its time zone any more."""
        try:
            return next_after(self.schedule, self.zone, self.seen)
        except TimetableError:
            return None


class Run(Value):
    """What became of a call that was due. `outcome`: started, done, failed, refused, missed or unknown; `record`: the
    id of its record."""

    id: int
    job: str
    name: str
    root: str
    due: float
    began: float
    ended: float | None
    outcome: str
    reason: str
    record: str


class Crons:
    """Safe to use from several threads and processes."""

    def __init__(self, state: str, *, now: Callable[[], float] = time.time) -> None:
        """`state`: the state folder."""
        self._database = Database(os.path.join(state, FILE), TABLES)
        self._now = now

    def create(self, **given: Any) -> Job:
        """Keeps a call, given as the fields of `Job` without `id`, `created` and `seen`. It is due from now on. Raises
        StoreError for a schedule that is none, and for a name that the project has already."""
        check(given["schedule"], given["zone"])
        now = self._now()
        with self._database.changing() as database:
            if database.execute("SELECT count(*) FROM jobs").fetchone()[0] >= MOST_JOBS:
                raise StoreError(f"there are {MOST_JOBS} scheduled calls", "delete what is needed no longer")
            same = "SELECT id FROM jobs WHERE root = ? AND name = ?"
            if given["name"] and database.execute(same, (given["root"], given["name"])).fetchone():
                raise StoreError(f"there is a scheduled call `{given['name']}` already", "choose another name")
            job = Job(id=os.urandom(4).hex(), created=now, seen=now, **given)
            values = (*job.as_dict().values(),)
            values = tuple(json.dumps(value) if isinstance(value, tuple) else value for value in values)
            database.execute(f"INSERT INTO jobs ({_JOB}) VALUES ({', '.join('?' * len(values))})", values)
        return job

    def delete(self, name: str, root: str = "") -> Job:
        """Removes the call of that id or name, only one of that project unless `root` is "". Raises StoreError where
        there is none, or more than one."""
        with self._database.changing() as database:
            query = f"SELECT {_JOB} FROM jobs WHERE (id = ? OR name = ?) AND ? IN ('', root)"
            found = [_job(row) for row in database.execute(query, (name, name, root)).fetchall()]
            if len(found) != 1:
                if found:
                    raise StoreError(f"there are {len(found)} scheduled calls `{name}`", "say the id of one")
                raise StoreError(f"there is no scheduled call `{name}`", "see those that are there")
            database.execute("DELETE FROM jobs WHERE id = ?", (found[0].id,))
            return found[0]

    def jobs(self, root: str = "") -> tuple[Job, ...]:
        """The calls of a project, or of all, oldest first."""
        query = f"SELECT {_JOB} FROM jobs WHERE ? IN ('', root) ORDER BY created, id"
        with self._database.reading() as database:
            return tuple(_job(row) for row in database.execute(query, (root,)))

    def runs(self, job: str = "", root: str = "", most: int = 20) -> tuple[Run, ...]:
        """What became of the last ones, oldest first."""
        query = f"SELECT {_RUN} FROM runs WHERE ? IN ('', job) AND ? IN ('', root) ORDER BY id DESC LIMIT ?"
        with self._database.reading() as database:
            return tuple(Run(*row) for row in database.execute(query, (job, root, most)))[::-1]

    def claim(self, job: str, *, is_running: bool = False) -> tuple[Run | None, Run | None]:
        """Takes what is due of a call by now: what is to begin, and what was missed, each None where there is nothing.
        `is_running`: it has not ended since the last time, so what is due is missed. What is claimed is claimed once,
        by whoever asks first."""
        now = self._now()
        with self._database.changing() as database:
            row = database.execute(f"SELECT {_JOB} FROM jobs WHERE id = ?", (job,)).fetchone()
            if row is None:
                return None, None
            found = _job(row)
            due = due_between(found.schedule, found.zone, found.seen, now, _MOST_COUNTED)
            if not due:
                return None, None
            database.execute("UPDATE jobs SET seen = ? WHERE id = ?", (now, job))
            begins = now - due[-1] < GRACE and not is_running
            missed = due[:-1] if begins else due
            if found.once and begins:
                database.execute("DELETE FROM jobs WHERE id = ?", (job,))
            lost = None
            if missed:
                many = f"{len(missed)}{' or more' if len(missed) == _MOST_COUNTED else ''} times"
                why = "it was still running" if is_running else "nothing was there to fire it"
                lost = _add(database, found, missed[-1], now, MISSED, f"{'once' if len(missed) == 1 else many}: {why}")
            started = _add(database, found, due[-1], now, STARTED, "") if begins else None
            kept = "SELECT id FROM runs WHERE job = ? ORDER BY id DESC LIMIT 1 OFFSET ?"
            last = database.execute(kept, (job, MOST_RUNS)).fetchone()
            if last is not None:
                database.execute("DELETE FROM runs WHERE job = ? AND id <= ?", (job, last[0]))
            return started, lost

    def ended(self, run: int, outcome: str, reason: str = "", record: str = "") -> None:
        """What became of a call that had begun."""
        with self._database.changing() as database:
            query = "UPDATE runs SET ended = ?, outcome = ?, reason = ?, record = ? WHERE id = ? AND outcome = ?"
            database.execute(query, (self._now(), outcome, reason[:2_000], record, run, STARTED))

    def give_up(self) -> tuple[Run, ...]:
        """Those that began and were never heard of again; nobody may be firing meanwhile. They count as unknown."""
        with self._database.changing() as database:
            rows = database.execute(f"SELECT {_RUN} FROM runs WHERE outcome = ? ORDER BY id", (STARTED,)).fetchall()
            why = "what fired it was killed; whether it has done its work is not known"
            query = "UPDATE runs SET outcome = ?, reason = ?, ended = ? WHERE outcome = ?"
            database.execute(query, (UNKNOWN, why, self._now(), STARTED))
            return tuple(Run(*row).replace(outcome=UNKNOWN, reason=why) for row in rows)


def _job(row: tuple[Any, ...]) -> Job:
    found = Job(*row)
    return found.replace(rules=tuple(json.loads(row[9])), once=bool(found.once))


def _add(database: sqlite3.Connection, job: Job, due: float, now: float, outcome: str, reason: str) -> Run:
    ended = None if outcome == STARTED else now
    values = (job.id, job.name, job.root, due, now, ended, outcome, reason, "")
    columns = _RUN.removeprefix("id, ")
    made = database.execute(f"INSERT INTO runs ({columns}) VALUES ({', '.join('?' * len(values))})", values)
    assert made.lastrowid is not None
    return Run(made.lastrowid, *values)
