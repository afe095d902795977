"""The system calls that the Landlock fallback refuses beyond the common filter: what namespaces would have isolated.

Sockets, local ones included (but connected pairs, which reach nobody else), the memory and queues of System V and
POSIX, and the priorities and limits of other processes. Pure.
"""

from __future__ import annotations

from gateway.sandbox.seccomp import EAFNOSUPPORT, EPERM, UNIX, Refusal, Test, compiled, refusals

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

_KIND, _DATAGRAM = 0xF, 2
_SHARED = (
    "shmget", "shmat", "shmctl", "semget", "semop", "semctl", "semtimedop", "msgget", "msgsnd", "msgrcv", "msgctl",
    "mq_open", "mq_unlink",
)  # fmt: skip
# Each with the argument that names a process, 0 being the caller.
_ON_PROCESSES = (
    ("setpriority", 1), ("ioprio_set", 1), ("prlimit64", 0), ("sched_setaffinity", 0), ("sched_setscheduler", 0),
    ("sched_setparam", 0), ("sched_setattr", 0),
)  # fmt: skip


def unshared() -> tuple[Refusal, ...]:
    """The refusals that stand in for namespaces."""
    return (
        Refusal("socket", EAFNOSUPPORT),
        # A datagram socket of a pair can be pointed at somebody else later.
        Refusal("socketpair", EAFNOSUPPORT, (Test(0, (UNIX,)), Test(1, (_DATAGRAM,), _KIND))),
        *(Refusal(call, EPERM) for call in _SHARED),
        *(Refusal(call, EPERM, (Test(argument, (0,), none_of=True),)) for call, argument in _ON_PROCESSES),
    )


def filters_of(machine: str, permits: Iterable[str] = ()) -> tuple[bytes, ...]:
    """The filters for a machine, all of which hold at once. Raises KeyError for one that is not known, ValueError for
    an unknown permit."""
    return compiled(machine, refusals(permits, internet=False)), compiled(machine, unshared())
