"""The tasks of a project: what may be changed, several processes at once, and what is left of one that is killed."""

from __future__ import annotations

import os
import signal
import sqlite3
import stat
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from gateway.core.errors import StoreError
from gateway.tasks.tasks import FILE, Change, TaskError, Tasks, Todo

if TYPE_CHECKING:
    from pathlib import Path

PROGRAM = [sys.executable, "-c"]


@pytest.fixture
def tasks(tmp_path: Path) -> Tasks:
    return Tasks(str(tmp_path / "state"), now=lambda: 1_000.0)


def begun(tasks: Tasks, by: str = "anna") -> int:
    task = tasks.create("x")
    return tasks.change(task.id, Change(status="in_progress"), by=by).id


def test_a_task_is_kept_as_it_was_said(tasks: Tasks) -> None:
    first = tasks.create("first")
    task = tasks.create("second", "all of it", active="Doing it", priority="high", owner="anna", needs=[first.id])
    assert tasks.get(task.id).as_dict() == {
        "id": 2, "subject": "second", "description": "all of it", "active": "Doing it", "status": "pending",
        "priority": "high", "owner": "anna", "output": "", "created": 1_000.0, "changed": 1_000.0, "needs": (1,),
        "waits": (1,), "needed_by": (),
    }  # fmt: skip
    assert tasks.get(1).needed_by == (2,)


def test_looking_makes_nothing(tmp_path: Path) -> None:
    tasks = Tasks(str(tmp_path / "state"))
    assert (tasks.all(), tasks.kept("anna"), os.listdir(tmp_path)) == ((), (), [])


def test_what_is_kept_is_its_owners_alone(tasks: Tasks, tmp_path: Path) -> None:
    tasks.create("x")
    modes = {name: stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("state", f"state/{FILE}")}
    assert modes == {"state": 0o700, f"state/{FILE}": 0o600}
    assert os.listdir(tmp_path / "state") == [FILE]


def other_reads(path: Path) -> None:
    path.chmod(0o644)


def other_writes_folder(path: Path) -> None:
    path.parent.chmod(0o777)


def a_link(path: Path) -> None:
    path.rename(path.with_name("real"))
    path.symlink_to("real")


def no_database(path: Path) -> None:
    path.write_bytes(b"this is not SQLite, whatever its name says" * 100)


def of_another_version(path: Path) -> None:
    with sqlite3.connect(path) as database:
        database.execute("PRAGMA user_version = 99")
    database.close()


@pytest.mark.parametrize("spoil", [other_reads, other_writes_folder, a_link, no_database, of_another_version])
def test_a_file_that_is_not_as_it_was_made_is_neither_read_nor_changed(
    tasks: Tasks, tmp_path: Path, spoil: Any
) -> None:
    tasks.create("x")
    spoil(tmp_path / "state" / FILE)
    with pytest.raises(StoreError):
        tasks.all()
    with pytest.raises(StoreError):
        tasks.create("y")


REFUSED = {
    "a step that is none": (Change(status="completed"), "task 1 is pending and cannot become completed"),
    "a need that is not there": (Change(needs=(9,)), "there is no task 9"),
    "a need of itself": (Change(needs=(1,)), "tasks must not wait for each other in a circle (got 1 → 1)"),
    "a circle": (Change(needs=(2,)), "tasks must not wait for each other in a circle (got 1 → 2 → 1)"),
    "a circle from the other side": (
        Change(needs=(3,), needed_by=(3,)),
        "tasks must not wait for each other in a circle (got 3 → 1 → 3)",
    ),
}


@pytest.mark.parametrize(("change", "why"), REFUSED.values(), ids=REFUSED)
def test_a_change_that_may_not_be_made_changes_nothing(tasks: Tasks, change: Change, why: str) -> None:
    tasks.create("a")
    tasks.create("b", needs=[1])
    tasks.create("c")
    before = tasks.all()
    with pytest.raises(TaskError) as caught:
        tasks.change(1, change.replace(subject="new"), by="anna")
    assert (caught.value.reason, tasks.all()) == (why, before)


def test_a_task_waits_until_everything_that_it_needs_is_completed(tasks: Tasks) -> None:
    tasks.create("a")
    tasks.create("b", needs=[1])
    with pytest.raises(TaskError, match=r"task 2 waits for 1 \(pending\)"):
        tasks.change(2, Change(status="in_progress"), by="anna")
    tasks.change(1, Change(status="in_progress"), by="anna")
    tasks.change(1, Change(status="failed"), by="anna")
    with pytest.raises(TaskError, match=r"task 2 waits for 1 \(failed\)"):
        tasks.change(2, Change(status="in_progress"), by="anna")
    for status in ("pending", "in_progress", "completed"):
        tasks.change(1, Change(status=status), by="anna")
    assert tasks.change(2, Change(status="in_progress"), by="anna").owner == "anna"


def test_a_need_that_is_dropped_is_waited_for_no_longer(tasks: Tasks) -> None:
    tasks.create("a")
    tasks.create("b", needs=[1])
    assert tasks.change(2, Change(status="in_progress", without=(1,)), by="anna").status == "in_progress"


def test_what_is_being_done_takes_on_no_need_that_is_not_done(tasks: Tasks) -> None:
    begun(tasks)
    tasks.create("b")
    with pytest.raises(TaskError, match="task 1 is in_progress and cannot wait for task 2"):
        tasks.change(1, Change(needs=(2,)), by="anna")


def test_a_task_that_somebody_works_on_is_theirs(tasks: Tasks) -> None:
    begun(tasks, "anna")
    with pytest.raises(TaskError, match="being worked on by anna"):
        tasks.change(1, Change(status="in_progress"), by="ben")
    with pytest.raises(TaskError, match="being worked on by anna"):
        tasks.change(1, Change(owner="ben"), by="ben")
    tasks.change(1, Change(status="pending"), by="anna")
    assert tasks.change(1, Change(status="in_progress"), by="ben").owner == "ben"


def test_a_task_that_is_meant_for_somebody_is_begun_by_them(tasks: Tasks) -> None:
    tasks.create("x", owner="anna")
    with pytest.raises(TaskError, match="task 1 is anna's"):
        tasks.change(1, Change(status="in_progress"), by="ben")
    assert tasks.change(1, Change(status="in_progress", owner="ben"), by="ben").owner == "ben"


def test_one_in_progress_for_each_owner_where_that_is_asked(tasks: Tasks) -> None:
    begun(tasks)
    tasks.create("y")
    tasks.create("z")
    with pytest.raises(TaskError, match="anna works on task 1 already"):
        tasks.change(2, Change(status="in_progress"), by="anna", one_each=True)
    assert tasks.change(3, Change(status="in_progress"), by="ben", one_each=True).owner == "ben"
    assert tasks.change(2, Change(status="in_progress"), by="anna").owner == "anna"


def test_a_task_that_is_stopped_has_failed_and_says_why(tasks: Tasks) -> None:
    begun(tasks)
    stopped = tasks.stop(1, "Not needed.", by="ben")
    assert (stopped.status, tasks.output(1)) == ("failed", "Not needed.")
    with pytest.raises(TaskError, match="cannot become failed"):
        tasks.stop(1, "Again.", by="ben")


def test_tasks_are_listed_by_what_can_be_done_next(tasks: Tasks) -> None:
    for priority in ("low", "high", "medium"):
        tasks.create(priority, priority=priority)
    tasks.create("waits", priority="high", needs=[1])
    begun(tasks)
    assert [task.id for task in tasks.all()] == [5, 2, 3, 1, 4]
    assert [task.id for task in tasks.all(status="pending")] == [2, 3, 1, 4]
    assert [task.id for task in tasks.all(owner="anna")] == [5]


def test_a_list_of_todos_is_replaced_whole(tasks: Tasks) -> None:
    tasks.keep("anna", [Todo("a", "pending", "doing a"), Todo("b", "pending", "doing b")])
    tasks.keep("ben", [Todo("z", "pending", "doing z")])
    tasks.keep("anna", [Todo("c", "completed", "doing c")])
    assert (tasks.kept("anna"), tasks.kept("ben")) == (
        (Todo("c", "completed", "doing c"),),
        (Todo("z", "pending", "doing z"),),
    )


class Anything(RuleBasedStateMachine):
    """Whatever is asked, in whatever order: the laws hold."""

    @initialize()
    def start(self) -> None:
        import tempfile

        self.folder = tempfile.TemporaryDirectory()
        self.tasks = Tasks(os.path.join(self.folder.name, "state"), now=lambda: 0.0)
        self.count = 0

    @rule(needs=st.lists(st.integers(1, 6), max_size=2))
    def create(self, needs: list[int]) -> None:
        try:
            self.tasks.create("x", needs=needs)
            self.count += 1
        except TaskError:
            assert max(needs) > self.count

    @rule(
        task=st.integers(1, 6),
        status=st.sampled_from([None, "pending", "in_progress", "completed", "failed"]),
        owner=st.sampled_from([None, "", "anna", "ben"]),
        needs=st.lists(st.integers(1, 6), max_size=2),
        by=st.sampled_from(["anna", "ben"]),
    )
    def change(self, task: int, status: Any, owner: Any, needs: list[int], by: str) -> None:
        before = self.tasks.all()
        change = Change(status=status, owner=owner, needs=tuple(needs))
        try:
            found = self.tasks.change(task, change, by=by, one_each=True)
        except TaskError:
            assert self.tasks.all() == before
            return
        assert status in (None, found.status)

    @invariant()
    def laws(self) -> None:
        found = {task.id: task for task in self.tasks.all()}
        busy = [task.owner for task in found.values() if task.status == "in_progress"]
        assert len(busy) == len(set(busy))
        assert "" not in busy
        for task in found.values():
            assert not (task.waits and task.status in ("in_progress", "completed"))
            assert task.waits == tuple(each for each in task.needs if found[each].status != "completed")

    def teardown(self) -> None:
        if hasattr(self, "folder"):
            self.folder.cleanup()


Anything.TestCase.settings = settings(stateful_step_count=15)
TestAnything = Anything.TestCase


CLAIMING = """
import sys
from gateway.tasks.tasks import Change, TaskError, Tasks
folder, me = sys.argv[1:]
tasks = Tasks(folder)
print("ready", flush=True)
sys.stdin.readline()
for number in range(1, 21):
    try:
        tasks.change(number, Change(status="in_progress"), by=me)
        print(number, flush=True)
    except TaskError:
        pass
"""


def test_of_several_processes_each_task_is_begun_by_one(tasks: Tasks, tmp_path: Path) -> None:
    for number in range(20):
        tasks.create(f"task {number}")
    names = ["anna", "ben", "cleo", "dan"]
    running = [
        subprocess.Popen(
            [*PROGRAM, CLAIMING, str(tmp_path / "state"), name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for name in names
    ]
    for each in running:
        assert each.stdout is not None
        assert each.stdout.readline() == "ready\n"
    claimed = {name: each.communicate("\n", timeout=60)[0].split() for name, each in zip(names, running, strict=True)}
    owners = {str(task.id): task.owner for task in tasks.all()}
    assert sorted(number for numbers in claimed.values() for number in numbers) == sorted(owners)
    assert {number: name for name, numbers in claimed.items() for number in numbers} == owners


CREATING = """
import sys
from gateway.tasks.tasks import Tasks
tasks = Tasks(sys.argv[1])
while True:
    print(tasks.create("x" * 200).id, flush=True)
"""


def test_what_was_answered_outlives_being_killed_at_any_moment(tmp_path: Path) -> None:
    folder = str(tmp_path / "state")
    answered: list[int] = []
    for count in (1, 3, 7, 2, 5):
        running = subprocess.Popen([*PROGRAM, CREATING, folder], stdout=subprocess.PIPE, text=True)
        assert running.stdout is not None
        answered += [int(running.stdout.readline()) for _ in range(count)]
        running.send_signal(signal.SIGKILL)
        answered += [int(line) for line in running.stdout.read().splitlines() if line]
        running.wait()
        running.stdout.close()
    kept = [task.id for task in Tasks(folder).all()]
    assert len(answered) == len(set(answered))
    assert set(answered) <= set(kept)
    assert len(kept) <= len(answered) + 5  # of each that was killed, one whose answer was never heard


@pytest.mark.parametrize(
    "does",
    [
        lambda tasks: tasks.create("half a character: \ud800"),
        lambda tasks: tasks.create("x", "\udcff"),
        lambda tasks: tasks.get(10**30),
        lambda tasks: tasks.keep("list", [Todo("\ud800", "pending", "")]),
    ],
    ids=["a subject", "a description", "a number that is too large", "a list"],
)
def test_what_cannot_be_kept_is_said_and_changes_nothing(tasks: Tasks, does: Any) -> None:
    tasks.create("before \0 and ä")
    with pytest.raises(StoreError, match="this cannot be kept: "):
        does(tasks)
    assert [each.subject for each in tasks.all()] == ["before \0 and ä"]
