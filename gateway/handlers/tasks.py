"""TaskCreate, TaskGet, TaskUpdate, TaskList, TaskStop, and TodoWrite: what is to be done."""

from __future__ import annotations

from gateway.calls.output import Failure, Output, Text
from gateway.calls.state_folders import caller, folder_of, setting, told
from gateway.tasks.states import COMPLETED, IN_PROGRESS
from gateway.tasks.tasks import Change, Tasks, Todo

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from gateway.calls.work import Work
    from gateway.model.call import Call
    from gateway.tasks.tasks import Task

_MOST_LISTED = 200
_MARKS = {"pending": "[ ]", "in_progress": "[>]", "completed": "[x]", "failed": "[!]"}


def create(call: Call, work: Work) -> Output:
    """A new task."""
    fields = call.input
    with told():
        task = _tasks(work).create(
            fields["subject"], fields.get("description", ""), active=fields.get("activeForm", ""),
            priority=fields["priority"], owner=fields.get("owner", ""), needs=_ids(fields.get("addBlockedBy")),
        )  # fmt: skip
    return _shown(f"Task {task.id} is there: {task.subject}", task)


def get(call: Call, work: Work) -> Output:
    """A task with all that is known of it."""
    with told():
        task = _tasks(work).get(_id(call.input["taskId"]))
    lines = [_line(task)]
    if task.description:
        lines.append(task.description)
    if task.needed_by:
        lines.append(f"Tasks that wait for it: {_listed(task.needed_by)}.")
    if task.output:
        lines.append(f"What came of it: {task.output}")
    return _shown("\n".join(lines), task)


def update(call: Call, work: Work) -> Output:
    """Changes a task; all that is said of it in one call, or nothing."""
    fields = call.input
    change = Change(
        fields.get("status"),
        fields.get("subject"),
        description=fields.get("description"),
        active=fields.get("activeForm"),
        priority=fields.get("priority"),
        owner=fields.get("owner"),
        output=fields.get("output"),
        needs=_ids(fields.get("addBlockedBy")),
        needed_by=_ids(fields.get("addBlocks")),
        without=_ids(fields.get("removeBlockedBy")),
    )
    if change == Change():
        raise Failure("Nothing of the task is to change.", "Say what becomes of it, such as its `status`.")
    one_each = bool(setting(work, "tasks", "one_in_progress", False))
    with told():
        tasks = _tasks(work)
        task = tasks.change(_id(fields["taskId"]), change, by=caller(work), one_each=one_each)
        said = f"Task {task.id} is {task.status}: {task.subject}"
        if task.status == COMPLETED and task.needed_by:
            free = [each for each in task.needed_by if not tasks.get(each).waits]
            said += f"\nNothing blocks {_listed(free)} any more." if free else ""
    return _shown(said, task)


def stop(call: Call, work: Work) -> Output:
    """A task that will not be done, or an agent that is to end."""
    if "/" in call.input["task_id"]:
        from gateway.agent.children import host_of

        return host_of(work.session).stop(call.input["task_id"], work)
    with told():
        task = _tasks(work).stop(_id(call.input["task_id"]), call.input["reason"], by=caller(work))
    return _shown(f"Task {task.id} is stopped, and counts as failed: {task.subject}", task)


def show(call: Call, work: Work) -> Output:
    """The tasks that are asked for."""
    with told():
        found = _tasks(work).all(status=call.input.get("status", ""), owner=call.input.get("owner", ""))
    lines = [_line(each) for each in found[:_MOST_LISTED]]
    if len(found) > _MOST_LISTED:
        lines.append(f"({len(found) - _MOST_LISTED:,} more; narrow the list with `status` or `owner`.)")
    return Output((Text("\n".join(lines) or "There are no tasks."),), {"tasks": [_data(each) for each in found]})


def todos(call: Call, work: Work) -> Output:
    """Replaces the caller's own list."""
    given: Sequence[Any] = call.input["todos"]
    found = [Todo(each["content"], each["status"], each["activeForm"]) for each in given]
    busy = [each.content for each in found if each.status == IN_PROGRESS]
    if len(busy) > 1:
        raise Failure(f"At most one of the todos may be in progress (got {len(busy)}).", "Work on one at a time.")
    before = kept_todos(work)
    if setting(work, "tasks", "keep_todos", False):
        with told():
            _tasks(work).keep(caller(work), found)
    work.session.todos = tuple((each.content, each.status, each.active) for each in found)
    lines = [f"{_MARKS[each.status]} {each.active if each.status == IN_PROGRESS else each.content}" for each in found]
    data = {"todos": [each.as_dict() for each in found], "before": [each.as_dict() for each in before]}
    return Output((Text("\n".join(lines) or "The list is empty."),), data)


def kept_todos(work: Work) -> tuple[Todo, ...]:
    """The caller's list as it was written last: in this session, or, where policy keeps it, before."""
    if work.session.todos or not setting(work, "tasks", "keep_todos", False):
        return tuple(Todo(*each) for each in work.session.todos)
    with told():
        return _tasks(work).kept(caller(work))


def _tasks(work: Work) -> Tasks:
    return Tasks(folder_of(work))


def _id(text: str) -> int:
    return int(text.lstrip("#"))


def _ids(texts: Sequence[str] | None) -> tuple[int, ...]:
    return tuple(map(_id, texts or ()))


def _listed(tasks: Sequence[int]) -> str:
    return ", ".join(map(str, tasks))


def _line(task: Task) -> str:
    said = [f"{_MARKS[task.status]} {task.id}. {task.subject}"]
    if task.owner:
        said.append(f"({task.owner})")
    if task.priority != "medium":
        said.append(f"[{task.priority}]")
    if task.waits:
        said.append(f"[waits for {_listed(task.waits)}]")
    return " ".join(said)


def _data(task: Task) -> dict[str, Any]:
    found = task.as_dict()
    found["id"] = str(task.id)
    for name in ("needs", "waits", "needed_by"):
        found[name] = [str(each) for each in found[name]]
    return found


def _shown(text: str, task: Task) -> Output:
    return Output((Text(text),), {"task": _data(task)})
