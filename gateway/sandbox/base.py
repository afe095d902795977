"""What every backend offers, and the handle on what it started.

A backend takes a plan and keeps all of it, or says which parts it cannot express and starts nothing.
"""

from __future__ import annotations

from gateway.core import plain_signal as signal
from gateway.core.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Protocol

    from gateway.model.plan import SandboxPlan

    # Finds all protected names below a folder; whether it refuses where that is more than can be held, or tells all.
    Look = Callable[[str, bool], "Names"]
else:
    Protocol = object


# What keys and the end of a terminal send to everything in the foreground; what stops and continues has to reach all
# of it too.
OF_THE_TERMINAL = frozenset(
    getattr(signal, name) for name in ("SIGINT", "SIGQUIT", "SIGHUP", "SIGWINCH", "SIGTSTP", "SIGSTOP", "SIGCONT")
)


class Streams(Value):
    """Descriptors that become the command's own 0, 1 and 2; the caller keeps and closes them. `terminal`: the command
    shares the caller's terminal and process group, so that keys reach it."""

    stdin: int
    stdout: int
    stderr: int
    terminal: bool = False


class Probe(Value):
    """Whether a backend holds on this machine, found by running the real thing. `reason`: why not, or what it runs on.
    `remedy`: the one thing to do about it. `degraded`: what this form does not hold by itself."""

    works: bool
    reason: str
    remedy: str = ""
    degraded: tuple[str, ...] = ()


class Names(Value):
    """What a look at a folder found. `protected`: names that a call may not change or create, with their rules;
    `closed`: folders that nobody could look into; `deep`: folders so deep that what lies in them has no name."""

    protected: Mapping[str, str]
    closed: tuple[str, ...] = ()
    deep: tuple[str, ...] = ()


class SandboxError(Exception):
    """A sandbox could not be built, so nothing ran. `remedy`: the one thing to do about it."""

    def __init__(self, reason: str, remedy: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self.remedy = remedy


class TooMuch(SandboxError):
    """There is more than can be looked at, however long somebody looks."""


class Running(Protocol):
    """What was started. It waits, not yet running the command, until `release`. Descriptors are closed by `close`."""

    pid: int  # of our child, whose exit status is the command's own
    root: int  # pid on the host of the process above the whole tree: killing it ends the tree
    failure: str  # once it has ended: why the command itself could not be started, "" if it was

    @property
    def exited(self) -> int:
        """A descriptor that is readable once our child has ended (a pidfd)."""

    def release(self) -> None:
        """Lets the command start. Raises SandboxError when the sandbox could not be built after all."""

    def signal(self, number: int) -> None:
        """Passes a signal on as a terminal or a caller would: those of `OF_THE_TERMINAL` reach the command's whole
        process group, unless it shares the caller's, the others the command alone. Does nothing when it has ended."""

    def kill(self) -> None:
        """Ends the whole tree at once, detached children included. Does nothing when it has ended."""

    def wait(self) -> int:
        """Blocks until our child has ended: its exit status, 128 + n after signal n."""

    def close(self) -> None:
        """Gives back descriptors and whatever was made for this call. The tree must have ended."""


class Saving(Protocol):
    """Who saves what a call changes, so that it can be taken back. Only a backend that `tells` knows it in time."""

    def attend(self, listener: int) -> None:
        """The call is about to start. `listener` tells of each system call that can change files, which waits until
        it is answered; this side closes it after `ended`."""

    def cannot(self, reason: str) -> None:
        """Nobody is told: what the call changes is not saved, because of this."""

    def happened(self, folder: str, name: str, concerned: bool) -> None:
        """A name came, went or was replaced in a folder that is watched, by whomever."""

    def ended(self) -> None:
        """Nothing of the call runs any more."""

    def finish(self) -> None:
        """What the call should not have left behind has been dealt with: what is there now is what it leaves."""


class Backend(Protocol):
    """One way to confine. Safe to use from several threads."""

    name: str
    whole: bool  # it builds a file system and counts processes of its own: it holds protected names during the call

    def probe(self) -> Probe:
        """Tries the real thing, attempts included, and remembers the answer for this process."""

    def missing(self, plan: SandboxPlan) -> tuple[str, ...]:
        """What of the plan this backend cannot express, each as a sentence; empty: all of it is kept."""

    def start(
        self, plan: SandboxPlan, argv: Sequence[str | bytes], streams: Streams, keep: Sequence[int] = ()
    ) -> Running:
        """Builds the sandbox, with the command waiting inside. `keep`: further descriptors that the command inherits.
        Raises SandboxError; then nothing runs and nothing is left behind."""
