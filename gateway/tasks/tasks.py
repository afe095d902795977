"""The tasks of a project: what is to be done, by whom, in which order. They survive the session, and several processes
may work on them at once: each change is made against what is kept at that moment, all of it or none."""

from __future__ import annotations

import os
import time

from gateway.core.errors import StoreError
from gateway.core.value import Value
from gateway.tasks.database import Database
from gateway.tasks.states import COMPLETED, FAILED, IN_PROGRESS, LEGAL, PENDING, PRIORITIES, circle, is_legal

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Sequence

FILE = "tasks.sqlite"
TABLES = """
CREATE TABLE tasks (
    id INTEGER PRIMARY KEY AUTOINCREMENT, subject TEXT NOT NULL, description TEXT NOT NULL, active TEXT NOT NULL,
    status TEXT NOT NULL, priority TEXT NOT NULL, owner TEXT NOT NULL, output TEXT NOT NULL, created REAL NOT NULL,
    changed REAL NOT NULL
);
CREATE TABLE needs (
    task INTEGER NOT NULL REFERENCES tasks (id), needed INTEGER NOT NULL REFERENCES tasks (id),
    PRIMARY KEY (task, needed)
);
CREATE INDEX needed_by ON needs (needed);
CREATE TABLE todos (
    list TEXT NOT NULL, place INTEGER NOT NULL, content TEXT NOT NULL, status TEXT NOT NULL, active TEXT NOT NULL,
    PRIMARY KEY (list, place)
)
"""
MOST_TASKS = 10_000
_COLUMNS = "id, subject, description, active, status, priority, owner, output, created, changed"


class TaskError(StoreError):
    """The change is not one that may be made."""


class Task(Value):
    """`needs`: the tasks that must be completed before; `waits`: those of them that are not; `needed_by`: who waits for
    this one. `active`: what to show while it is worked on; `output`: what came of it."""

    id: int
    subject: str
    description: str
    active: str
    status: str
    priority: str
    owner: str
    output: str
    created: float
    changed: float
    needs: tuple[int, ...] = ()
    waits: tuple[int, ...] = ()
    needed_by: tuple[int, ...] = ()


class Change(Value):
    """What is to become of a task; None for what stays. `needs` and `needed_by` are added, `without` no longer
    needed."""

    status: str | None = None
    subject: str | None = None
    description: str | None = None
    active: str | None = None
    priority: str | None = None
    owner: str | None = None
    output: str | None = None
    needs: tuple[int, ...] = ()
    needed_by: tuple[int, ...] = ()
    without: tuple[int, ...] = ()


class Todo(Value):
    """An entry of a list that is always written whole."""

    content: str
    status: str
    active: str


class Tasks:
    """Those of one project. Safe to use from several threads and processes."""

    def __init__(self, folder: str, *, now: Clock = time.time) -> None:
        """`folder`: the project's in the state folder."""
        self._database = Database(os.path.join(folder, FILE), TABLES)
        self._now = now

    def create(
        self,
        subject: str,
        description: str = "",
        *,
        active: str = "",
        priority: str = "medium",
        owner: str = "",
        needs: Iterable[int] = (),
    ) -> Task:
        """A new task. Raises TaskError where it waits for a task that is not there."""
        now = self._now()
        with self._database.changing() as database:
            if database.execute("SELECT count(*) FROM tasks").fetchone()[0] >= MOST_TASKS:
                raise TaskError(f"the project has {MOST_TASKS:,} tasks", "complete what is there before adding more")
            row = (subject, description, active, PENDING, priority, owner, "", now, now)
            columns = _COLUMNS.removeprefix("id, ")
            made = database.execute(f"INSERT INTO tasks ({columns}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", row)
            task = made.lastrowid
            assert task is not None
            for each in dict.fromkeys(needs):
                _depend(database, task, each)
            return _one(database, task)

    def get(self, task: int) -> Task:
        """Raises TaskError where there is none."""
        with self._database.reading() as database:
            return _one(database, task)

    def output(self, task: int) -> str:
        """What came of a task, "" as long as nobody has said. Raises TaskError where there is none."""
        return self.get(task).output

    def all(self, *, status: str = "", owner: str = "") -> tuple[Task, ...]:
        """Those that are asked for: what is worked on first, then what may be begun, by priority and age."""
        with self._database.reading() as database:
            rows = database.execute(f"SELECT {_COLUMNS} FROM tasks ORDER BY id").fetchall()
            links = _links(database)
        found = [_task(row, links) for row in rows]
        found = [each for each in found if status in ("", each.status) and owner in ("", each.owner)]
        return tuple(sorted(found, key=_order))

    def change(self, task: int, change: Change, *, by: str, one_each: bool = False) -> Task:
        """Changes a task. `by`: who does, and whose it becomes when it is begun and nobody's. `one_each`: nobody may
        have two in progress. Raises TaskError with the reason; then nothing is changed."""
        with self._database.changing() as database:
            before = _one(database, task)
            for each in change.without:
                database.execute("DELETE FROM needs WHERE task = ? AND needed = ?", (task, each))
            for each in change.needs:
                _depend(database, task, each)
            for each in change.needed_by:
                _depend(database, each, task)
            known = _one(database, task)
            status = before.status if change.status is None else change.status
            owner = before.owner if change.owner is None else change.owner
            if change.status is not None:
                _check_step(before, status, before.owner if change.owner is not None else by)
            if status == IN_PROGRESS:
                owner = owner or by
                if before.status == IN_PROGRESS and owner != before.owner and change.status is None:
                    raise TaskError(f"task {task} is being worked on by {before.owner}", "give it back first")
                _check_begun(database, known, owner, one_each=one_each)
            if status == PENDING and before.status != PENDING and change.owner is None:
                owner = ""  # whoever begins it next
            new = {
                "status": status, "owner": owner, "subject": change.subject, "description": change.description,
                "active": change.active, "priority": change.priority, "output": change.output, "changed": self._now(),
            }  # fmt: skip
            kept = {name: value for name, value in new.items() if value is not None}
            names = ", ".join(f"{name} = ?" for name in kept)
            database.execute(f"UPDATE tasks SET {names} WHERE id = ?", (*kept.values(), task))
            return _one(database, task)

    def stop(self, task: int, why: str, *, by: str) -> Task:
        """A task that will not be done: it has failed, and why stands in its output. Raises TaskError for one that is
        completed or has failed."""
        return self.change(task, Change(status=FAILED, output=why), by=by)

    def keep(self, name: str, todos: Sequence[Todo]) -> None:
        """Replaces a list as a whole."""
        with self._database.changing() as database:
            database.execute("DELETE FROM todos WHERE list = ?", (name,))
            rows = [(name, place, each.content, each.status, each.active) for place, each in enumerate(todos)]
            database.executemany("INSERT INTO todos VALUES (?, ?, ?, ?, ?)", rows)

    def kept(self, name: str) -> tuple[Todo, ...]:
        """A list as it was written last."""
        query = "SELECT content, status, active FROM todos WHERE list = ? ORDER BY place"
        with self._database.reading() as database:
            return tuple(Todo(*row) for row in database.execute(query, (name,)))


if TYPE_CHECKING:
    from collections.abc import Callable

    Clock = Callable[[], float]
    Links = tuple[dict[int, set[int]], dict[int, str]]


def _order(task: Task) -> tuple[int, bool, int, int]:
    ranks = {IN_PROGRESS: 0, PENDING: 1, FAILED: 2, COMPLETED: 3}
    return ranks[task.status], bool(task.waits), PRIORITIES.index(task.priority), task.id


def _links(database: sqlite3.Connection) -> Links:
    """What each task needs, and the status of every task."""
    needs: dict[int, set[int]] = {}
    for task, needed in database.execute("SELECT task, needed FROM needs"):
        needs.setdefault(task, set()).add(needed)
    return needs, dict(database.execute("SELECT id, status FROM tasks").fetchall())


def _one(database: sqlite3.Connection, task: int) -> Task:
    row = database.execute(f"SELECT {_COLUMNS} FROM tasks WHERE id = ?", (task,)).fetchone()
    if row is None:
        raise TaskError(f"there is no task {task}", "TaskList shows those that are there")
    return _task(row, _links(database))


def _task(row: tuple[int, str, str, str, str, str, str, str, float, float], links: Links) -> Task:
    needs, statuses = links
    mine = tuple(sorted(needs.get(row[0], ())))
    waits = tuple(each for each in mine if statuses[each] != COMPLETED)
    return Task(*row, mine, waits, tuple(sorted(task for task, all_of in needs.items() if row[0] in all_of)))


def _depend(database: sqlite3.Connection, task: int, on: int) -> None:
    """Has a task wait for another one. Raises TaskError for what is not there, and for a circle."""
    waiting, needed = _one(database, task), _one(database, on)
    way = circle(_links(database)[0], task, on)
    if way:
        shown = " → ".join(map(str, way))
        raise TaskError(f"tasks must not wait for each other in a circle (got {shown})", "leave one of these out")
    if waiting.status in (IN_PROGRESS, COMPLETED) and needed.status != COMPLETED:
        raise TaskError(f"task {task} is {waiting.status} and cannot wait for task {on}", "give it back first")
    database.execute("INSERT OR IGNORE INTO needs VALUES (?, ?)", (task, on))


def _check_step(task: Task, status: str, by: str) -> None:
    if is_legal(task.status, status):
        if task.status == PENDING and status == IN_PROGRESS and task.owner and by != task.owner:
            raise TaskError(f"task {task.id} is {task.owner}'s", "take another one, or make it yours with `owner`")
        return
    if task.status == status == IN_PROGRESS:
        raise TaskError(f"task {task.id} is being worked on by {task.owner}", "take another one")
    may = " or ".join(LEGAL[task.status])
    remedy = f"from there it may become {may}" if may else "make a new task for what is left"
    raise TaskError(f"task {task.id} is {task.status} and cannot become {status}", remedy)


def _check_begun(database: sqlite3.Connection, task: Task, owner: str, *, one_each: bool) -> None:
    if task.waits:
        query = f"SELECT id, status FROM tasks WHERE id IN ({', '.join('?' * len(task.waits))}) ORDER BY id"
        shown = ", ".join(f"{each} ({status})" for each, status in database.execute(query, task.waits))
        raise TaskError(f"task {task.id} waits for {shown}", "complete these first")
    if one_each:
        query = "SELECT id FROM tasks WHERE status = ? AND owner = ? AND id != ?"
        other = database.execute(query, (IN_PROGRESS, owner, task.id)).fetchone()
        if other is not None:
            remedy = "complete it, or give it back to pending"
            raise TaskError(f"{owner} works on task {other[0]} already, and may have one in progress", remedy)
