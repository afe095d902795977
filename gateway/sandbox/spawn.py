"""Starting one process with exactly these descriptors and this environment, and the handle on it.

No descriptor but 0, 1, 2 and the named ones is inherited, whatever the gateway's process holds open. Waiting is a poll
on a pidfd: nothing sleeps, nothing polls in a loop.

A child that asks to die with its parent dies with the *thread* that started it. So children are started by the main
thread, or for other threads by one that lives as long as the process.
"""

from __future__ import annotations

import errno
import os
import select
import threading
from _queue import SimpleQueue

from gateway.core import plain_signal as signal
from gateway.sandbox.base import SandboxError

TYPE_CHECKING = False
if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any, TypeVar

    T = TypeVar("T")

UNKNOWN_STATUS = 255
_ONE_THREAD = 3  # links of a folder that holds one other
_TO_GROUP = 4  # PIDFD_SIGNAL_PROCESS_GROUP


class Child:
    """A process of ours. Safe to use from several threads; `close` when it has ended and nobody asks any more."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.pid = process.pid
        self._process = process
        self._lock = threading.Lock()
        self._status: int | None = None
        self.exited = os.pidfd_open(self.pid)

    def ended(self, seconds: float | None = 0) -> bool:
        """Whether it has ended, waiting up to so many seconds for that; None waits for ever."""
        if self._status is not None:
            return True
        poll = select.poll()
        poll.register(self.exited, select.POLLIN)
        return bool(poll.poll(None if seconds is None else max(0.0, seconds) * 1000))

    def wait(self) -> int:
        """Blocks until it has ended: its exit status, 128 + n after signal n."""
        self.ended(None)
        with self._lock:
            if self._status is None:
                self._status = self._reap()
            return self._status

    def _reap(self) -> int:
        try:
            code = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        except ChildProcessError:  # the application ignores SIGCHLD or reaps what it did not start
            code = UNKNOWN_STATUS
        self._process.returncode = code
        return code if code >= 0 else 128 - code

    def send(self, number: int) -> None:
        """A signal to this process. Does nothing when it has ended."""
        send(self.exited, number)

    def close(self) -> None:
        """Gives the pidfd back. The process must have ended."""
        self.wait()
        with self._lock:
            descriptor, self.exited = self.exited, -1
        if descriptor >= 0:
            os.close(descriptor)


def spawn(
    program: bytes,
    argv: Sequence[bytes],
    environment: Mapping[bytes, bytes],
    streams: tuple[int, int, int],
    keep: Sequence[int] = (),
    *,
    session: bool = True,
) -> Child:
    """Starts `program` in `/` with these descriptors as 0, 1 and 2, and `keep` under their own numbers. `session`: in a
    session of its own, away from the caller's terminal. Raises SandboxError."""
    import subprocess  # a sandbox of our own making starts none

    def start() -> Child:
        process = subprocess.Popen(
            list(argv),
            executable=program,
            stdin=streams[0],
            stdout=streams[1],
            stderr=streams[2],
            env=environment,
            cwd="/",
            pass_fds=keep,
            start_new_session=session,
        )
        try:
            return Child(process)
        except OSError:  # no descriptor left for the pidfd
            process.kill()
            process.wait()
            raise

    try:
        return on_lasting_thread(start)
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        raise SandboxError(f"{os.fsdecode(program)} cannot be started: {error}") from error


def send(descriptor: int, number: int) -> None:
    """A signal to the process behind a pidfd. Does nothing when it has ended."""
    try:
        signal.pidfd_send_signal(descriptor, number)
    except ProcessLookupError:
        return


def send_group(leader: int, pid: int, number: int) -> None:
    """A signal to a process group, by the pidfd and the pid of its leader. Does nothing when the leader has ended."""
    try:
        signal.pidfd_send_signal(leader, number, None, _TO_GROUP)
    except ProcessLookupError:
        return
    except OSError as error:
        if error.errno != errno.EINVAL:
            raise
        poll = select.poll()  # kernels before 6.9 know groups by number only
        poll.register(leader, select.POLLIN)
        if not poll.poll(0):
            os.killpg(pid, number)


def open_process(pid: int) -> int:
    """A pidfd, -1 when there is no such process any more."""
    try:
        return os.pidfd_open(pid)
    except ProcessLookupError:
        return -1


def children(pid: int) -> list[int]:
    """The children of a process, of each of its threads, oldest first. Empty when it has ended."""
    folder = f"/proc/{pid}/task"
    try:
        # Most have one thread, which bears the number of the process: then there is nothing to list.
        threads = [str(pid)] if os.stat(folder).st_nlink == _ONE_THREAD else os.listdir(folder)
    except OSError:
        return []
    found: list[int] = []
    for thread in threads:
        try:
            descriptor = os.open(f"{folder}/{thread}/children", os.O_RDONLY | os.O_CLOEXEC)
        except OSError:  # the thread ended meanwhile
            continue
        try:
            said = b""
            while more := os.read(descriptor, 1 << 16):
                said += more
        except OSError:
            continue
        finally:
            os.close(descriptor)
        found += map(int, said.split())
    return found


def tree(root: int) -> list[int]:
    """A process and all its descendants, each after its parent."""
    found = {root: None}
    order = [root]
    for pid in order:
        fresh = [child for child in children(pid) if child not in found]
        found |= dict.fromkeys(fresh)
        order += fresh
    return order


class _Starter:
    """The thread that starts children on behalf of others. Made when first needed, and again after a fork."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process = 0
        self._wanted: SimpleQueue[tuple[Callable[[], Any], SimpleQueue[Any]]] = SimpleQueue()

    def run(self, work: Callable[[], Any]) -> Any:
        if self._process != os.getpid():
            with self._lock:
                if self._process != os.getpid():
                    self._wanted = SimpleQueue()
                    threading.Thread(target=_serve, args=(self._wanted,), name="gateway-starter", daemon=True).start()
                    self._process = os.getpid()
        answer: SimpleQueue[Any] = SimpleQueue()
        self._wanted.put((work, answer))
        result, error = answer.get()
        if error is not None:
            raise error
        return result


def _serve(wanted: SimpleQueue[tuple[Callable[[], Any], SimpleQueue[Any]]]) -> None:
    while True:
        work, answer = wanted.get()
        try:
            answer.put((work(), None))
        except BaseException as error:
            answer.put((None, error))


_starter = _Starter()


def _fresh_starter() -> None:
    """The old one's lock may have been held while the process was forked."""
    global _starter
    _starter = _Starter()


os.register_at_fork(after_in_child=_fresh_starter)


def on_lasting_thread(work: Callable[[], T]) -> T:
    """Runs it on a thread that ends only with the process: the main one if that is the caller, else one of our own."""
    if threading.current_thread() is threading.main_thread():
        return work()
    done: T = _starter.run(work)
    return done
