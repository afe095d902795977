"""What may become of a task, and which tasks may wait for which; pure."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

PENDING, IN_PROGRESS, COMPLETED, FAILED = "pending", "in_progress", "completed", "failed"
STATUSES = (PENDING, IN_PROGRESS, COMPLETED, FAILED)
PRIORITIES = ("high", "medium", "low")

# From where to where: work that was begun may be given back, and what failed may be tried again. What is completed
# stays so: others may have been built on it.
LEGAL: Mapping[str, tuple[str, ...]] = {
    PENDING: (IN_PROGRESS, FAILED),
    IN_PROGRESS: (COMPLETED, FAILED, PENDING),
    COMPLETED: (),
    FAILED: (PENDING,),
}


def is_legal(old: str, new: str) -> bool:
    """Whether a task of one status may get the other."""
    return new in LEGAL.get(old, ())


def circle(needs: Mapping[int, Iterable[int]], task: int, on: int) -> tuple[int, ...]:
    """The circle that would close if `task` waited for `on`, as the tasks on the way from `task` back to itself; () if
    none would. `needs`: what each task waits for already, without circles."""
    if task == on:
        return (task, task)
    pending: list[tuple[int, tuple[int, ...]]] = [(on, (task, on))]
    seen = set()
    while pending:
        current, way = pending.pop()
        for each in sorted(needs.get(current, ())):
            if each == task:
                return (*way, task)
            if each not in seen:
                seen.add(each)
                pending.append((each, (*way, each)))
    return ()
