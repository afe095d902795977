"""The thin client: asks the warm service with builtins and a socket alone, else decides in a process of its own.

Imported by `client.py` without anything of the package, and by `gateway check`.
Whatever is not a whole answer of this user's own service, of this very installation and in time, is no answer: then the
cold path decides. Whatever is no whole answer of the cold path is a refusal.
"""

import _signal  # type: ignore[import-not-found]
import posix
import sys
import time
from posix import _exit as leave

TYPE_CHECKING = False
if TYPE_CHECKING:
    import _socket
    from collections.abc import Callable, Sequence
    from typing import NoReturn

    Answer = tuple[bytes, bytes, int]
    from gateway.frontends.service import wire

    # Has a person's time begin: until when, by the monotonic clock, there has to be an answer; 0 where there is none.
    Begins = Callable[[], float]
    # From what stands behind `hook`, what came, and whether it is too late to decide, to both streams and status.
    Decides = Callable[[Sequence[str], bytes, bool, Begins], Answer]
elif __package__:
    from gateway.frontends.service import wire
else:
    import wire  # as `client.py` imports it, from this folder

DEADLINE, MOST_SECONDS = 10.0, 3600.0
# How much of its time a client gives the service, before it decides by itself in what is left.
PATIENCE = 0.3
# How much of what is left the process that decides may take, before it refuses in its agent's own words.
OWN_WORDS = 0.85
# Of the time that an agent waits, what is left at its end where a person is asked: agents run what they gave up on.
# Before that, a person has not answered; then it is refused in the agent's own words; then in those that all obey.
UNANSWERED, REFUSED, ENDED = 30.0, 25.0, 20.0
LEAST = 5.0  # that a person must have, to be asked at all
_GONE = 0x0008 | 0x0010  # POLLERR, POLLHUP
MOST_GIVEN = 16 << 20
_SO_PASSCRED, _SO_PEERPIDFD, _SCM_CREDENTIALS = 16, 77, 2
_SIGNALS = (
    "SIGHUP", "SIGINT", "SIGQUIT", "SIGALRM", "SIGTERM", "SIGUSR1", "SIGUSR2", "SIGXCPU", "SIGVTALRM", "SIGPROF",
)  # fmt: skip
# What the shell that holds a hook ignores besides: it is to outlive us, not we what it outlives.
_OTHERS = ("SIGILL", "SIGTRAP", "SIGABRT", "SIGBUS", "SIGFPE", "SIGSEGV", "SIGSYS")
# The word behind which a shell waits for an answer, and what such an answer adds to its exit status: a process that
# only ended, however well, has not answered.
IN_SHELL, ANSWERED = "--in-shell", 80
# What the process that decides says where a person's time begins, before its answer.
_PERSON = wire.framed((b"P",))


# ------------------------------------------------------------------------------------------------------ asking


def ask(
    words: "Sequence[str]", environment: dict[bytes, bytes], given: bytes, until: float
) -> "tuple[Answer | None, bool]":
    """What the service answers: standard output, standard error and status. None where there is no service, it is not
    for this caller, or it does not answer whole and in time; and then whether one should be started."""
    try:
        told = wire.identity(environment)
        if told is None or len(given) > wire.MOST_ASKED or environment.get(b"GATEWAY_SERVICE") == b"off":
            return None, False
        place = wire.folder(environment)
        if not wire.is_own(place):
            return None, True
        return _asked(words, environment, given, until, told, place)
    except (OSError, ValueError, MemoryError):
        return None, True


def _asked(
    words: "Sequence[str]", environment: dict[bytes, bytes], given: bytes, until: float, told: bytes, place: bytes
) -> "tuple[Answer | None, bool]":
    import _socket

    path, held = wire.address(place, wire.name_of(told))
    connection = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    late, process = 0, -1
    try:
        connection.settimeout(max(0.001, until - time.monotonic()))
        connection.connect(path)
        uid, gid, pid = wire.peer(connection)
        if (uid, gid) != (posix.geteuid(), posix.getegid()):
            return None, False
        process = _held_process(connection)
        if not wire.is_the_service(pid, process):
            return None, True
        late = pid
        here = posix.getcwdb()
        variables = b"\0".join([name + b"=" + value for name, value in environment.items()])
        spoken = b"\0".join([word.encode("utf-8", "surrogateescape") for word in words])
        _send(connection, wire.framed((told, here, spoken, variables, given)), until)
        answer = _receive(connection, until, pid)
    except TimeoutError:
        # It is stopped, or too slow to be of use: the next one will not be.
        if late > 1:
            posix.kill(late, 9)
        return None, True
    finally:
        connection.close()
        for each in (held, process):
            if each >= 0:
                posix.close(each)
    parts = wire.parts_of(answer)
    if parts is None or len(parts) != 4 or parts[0] != wire.ANSWER or len(parts[1]) != 1:
        return None, parts is None or parts[0] != wire.OTHER
    return (parts[2], parts[3], parts[1][0]), False


def _send(connection: "_socket.socket", message: bytes, until: float) -> None:
    view = memoryview(message)
    while view:
        connection.settimeout(max(0.001, until - time.monotonic()))
        view = view[connection.send(view) :]


def _held_process(connection: "_socket.socket") -> int:
    """The process at the other end as a descriptor, -1 where the system does not give it. From here on each message
    says who has sent it."""
    if sys.platform == "darwin":
        return -1
    connection.setsockopt(wire.SOL_SOCKET, _SO_PASSCRED, 1)
    try:
        return int.from_bytes(connection.getsockopt(wire.SOL_SOCKET, _SO_PEERPIDFD, 4), sys.byteorder)
    except OSError:
        return -1  # Linux before 6.5


def _receive(connection: "_socket.socket", until: float, pid: int) -> bytes:
    """All that this process sends, and no other that has the same end of the connection. Raises OSError, ValueError."""
    found = b""
    while True:
        left = until - time.monotonic()
        if left <= 0:
            raise TimeoutError
        connection.settimeout(left)
        data, told, _flags, _sender = connection.recvmsg(1 << 16, 64)
        if not data:
            return found
        if pid >= 0 and not any(
            kind == _SCM_CREDENTIALS and int.from_bytes(more[:4], sys.byteorder) == pid for _level, kind, more in told
        ):
            raise ValueError("somebody else has answered")
        found += data
        if len(found) > wire.MOST_ANSWER:
            raise ValueError("the answer is too long")


# -------------------------------------------------------------------------------------------------------- the hook


def answer_hook(
    words: list[str], refuse: "Callable[[str], NoReturn]", decides: "Decides", *, asks: bool = True
) -> "NoReturn":
    """The process of a hook: every way out of it is an answer or a refusal. `words` begin with `hook`; `decides` is
    called in a child that may fail in any way, once the package can be imported; `asks`: whether the service is asked
    first, and started where there is none."""
    began = time.monotonic()
    until = began + seconds(words, "--deadline", DEADLINE)
    numbers = [getattr(_signal, name) for name in _SIGNALS]
    child = [0]

    def ended(number: int, _frame: object) -> "NoReturn":
        _ignore(numbers)
        if child[0] > 0:
            posix.kill(child[0], 9)
        late = number == _signal.SIGALRM
        refuse("gateway refused this call: " + ("it could not be decided in time." if late else "a signal ended it."))

    for number in numbers:
        _signal.signal(number, ended)
    for name in _OTHERS:
        _signal.signal(getattr(_signal, name), _signal.SIG_DFL)
    _signal.setitimer(_signal.ITIMER_REAL, max(0.001, until - time.monotonic()))
    given = wire.read_all(0, MOST_GIVEN)
    if given is None:
        refuse("gateway refused this call: what came cannot be read, or is too long.")
    environment = posix.environ
    now = time.monotonic()
    answer, start = ask(words, environment, given, now + (until - now) * PATIENCE) if asks else (None, False)
    if answer is None:
        answer = _cold(words, given, decides, child, numbers, began + seconds(words, "--waits", 0.0))
        if answer is None:
            refuse("gateway refused this call: the process that decides ended without an answer.")
    # From here on it stands: what is half written would be read as nothing at all.
    _ignore(numbers)
    out, err, status = answer
    if not wire.write(1, out) and not status:
        err, status = b"gateway refused this call: its answer cannot be written.\n", 2
    wire.write(2, err)
    if start:
        launch(environment)
    leave(ended_with(words, status))


def ended_with(words: "Sequence[str]", status: int) -> int:
    """The exit status of a hook that has answered, by the words that it was started with."""
    return status + ANSWERED if IN_SHELL in words else status


def _ignore(numbers: list[int]) -> None:
    for number in numbers:
        _signal.signal(number, _signal.SIG_IGN)


def seconds(words: list[str], option: str, usual: float) -> float:
    """The seconds that the words say behind an option; whether they are well said is looked at later."""
    for at, word in enumerate(words):
        name, equals, text = word.partition("=")
        if name == option:
            if not equals:
                text = words[at + 1] if at + 1 < len(words) else ""
            try:
                found = float(text)
            except ValueError:
                return usual
            return found if 0 < found <= MOST_SECONDS else usual
    return usual


def _cold(
    words: list[str], given: bytes, decides: "Decides", child: list[int], numbers: list[int], end: float
) -> "Answer | None":
    """The answer of a process of its own, which may fail in any way. None where it gave none that is whole, and where
    nobody is there any more to read one. `end`: when the agent stops waiting, as its settings say."""
    ours, theirs = posix.pipe()
    left = _signal.getitimer(_signal.ITIMER_REAL)[0]
    before = _signal.pthread_sigmask(_signal.SIG_BLOCK, numbers)
    child[0] = posix.fork()
    if not child[0]:
        _decide(words, given, decides, theirs, numbers, before, left, end)
    _signal.pthread_sigmask(_signal.SIG_SETMASK, before)
    posix.close(theirs)
    message, rest = wire.message(ours)
    if message == _PERSON:
        # How long is for this process to say, whatever the other one does.
        _signal.setitimer(_signal.ITIMER_REAL, max(0.001, end - ENDED - time.monotonic()))
        message = wire.message(ours, rest)[0] if rest or _is_awaited(ours) else None
    posix.close(ours)
    parts = wire.parts_of(message) if message is not None else None
    if parts is None or len(parts) != 4 or parts[0] != wire.ANSWER or len(parts[1]) != 1:
        posix.kill(child[0], 9)
        return None
    return parts[2], parts[3], parts[1][0]


def _is_awaited(number: int) -> bool:
    """Waits until the other end says something: True. False as soon as nobody reads what we write: the agent is gone,
    or the shell that holds us for it."""
    import select

    poll = select.poll()
    poll.register(number, select.POLLIN)
    for each in (1, 2):
        poll.register(each, 0)
    while True:
        for found, what in poll.poll():
            if found == number:
                return True
            if what & _GONE:
                return False
            poll.unregister(found)  # it was closed when we were started


def _decide(
    words: list[str],
    given: bytes,
    decides: "Decides",
    target: int,
    numbers: list[int],
    before: "set[int]",
    left: float,
    end: float,
) -> "NoReturn":
    """In the child: decides, says so, and ends. Nothing that it writes anywhere else is seen. Shortly before the parent
    refuses in the words that all agents obey, it refuses in those of its own."""

    def begins() -> float:
        until = end - UNANSWERED
        if until - time.monotonic() < LEAST:
            return 0.0
        _signal.setitimer(_signal.ITIMER_REAL, end - REFUSED - time.monotonic())
        wire.write(target, _PERSON)
        return until

    def late(_number: int, _frame: object) -> "NoReturn":
        try:
            out, err, status = decides(words[1:], given, True, begins)
            wire.write(target, wire.framed((wire.ANSWER, bytes((status,)), out, err)))
        finally:
            leave(1)

    try:
        for number in numbers:
            _signal.signal(number, _signal.SIG_DFL)
        _signal.signal(_signal.SIGALRM, late)
        _signal.setitimer(_signal.ITIMER_REAL, max(0.001, left * OWN_WORDS))
        _signal.pthread_sigmask(_signal.SIG_SETMASK, before)
        nowhere = posix.open("/dev/null", posix.O_RDWR)
        for number in range(3):
            posix.dup2(nowhere, number)
        prepare()
        import gc

        gc.disable()
        from gateway.core.module_finder import install

        install()
        out, err, status = decides(words[1:], given, False, begins)
        _signal.setitimer(_signal.ITIMER_REAL, 0)  # from here on there is one answer
        wire.write(target, wire.framed((wire.ANSWER, bytes((status,)), out, err)))
    finally:
        leave(1)


def prepare() -> None:
    """Makes the package importable, wherever it lies: beside what it needs, or in a checkout of which site knows."""
    if "gateway" in sys.modules:
        return
    above = wire.HERE.rpartition("/gateway/")[0]
    if above not in sys.path:
        sys.path.append(above)
    try:
        posix.stat(above + "/typer")
    except OSError:
        import site

        site.main()


# ---------------------------------------------------------------------------------------------------- starting one


def launch(environment: dict[bytes, bytes]) -> None:
    """Starts the service for the next time, unless there is one, or one is being started. Never raises, never waits."""
    try:
        told = wire.identity(environment)
        if told is None:
            return
        lock = _locked(environment, told)
        if lock < 0:
            return
        if posix.fork():
            return
        _become(environment, lock)
    except (OSError, ImportError, MemoryError):
        return


def _locked(environment: dict[bytes, bytes], told: bytes) -> int:
    """The lock of the service as a descriptor, -1 where somebody has it or it cannot be had. It stays with whoever
    inherits it: so of any number of callers one starts a service."""
    import fcntl

    place = wire.folder(environment)
    state = place.rpartition(b"/")[0]
    if not wire.is_own(place):
        try:
            posix.lstat(state)  # made by whoever decided first; a home that is not there is not ours to make
            posix.mkdir(place, 0o700)
        except FileExistsError:
            pass
        if not wire.is_own(place):
            return -1
    flags = posix.O_RDWR | posix.O_CREAT | posix.O_NOFOLLOW | posix.O_CLOEXEC
    lock = posix.open(place + b"/" + wire.name_of(told) + b".lock", flags, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        posix.close(lock)
        return -1
    return lock


def _become(environment: dict[bytes, bytes], lock: int) -> "NoReturn":
    """In a child: a process of nobody's, without anybody's streams, secrets and folder, that becomes the service."""
    try:
        posix.setsid()
        for name in _SIGNALS:  # what is ignored stays so in the new program, which must end when it is told to
            _signal.signal(getattr(_signal, name), _signal.SIG_DFL)
        if posix.fork():
            leave(0)
        nowhere = posix.open("/dev/null", posix.O_RDWR)
        for number in range(3):
            posix.dup2(nowhere, number)
        posix.chdir("/")
        posix.umask(0o077)
        if lock != 3:
            posix.dup2(lock, 3)
        posix.set_inheritable(3, True)
        posix.closerange(4, 256)
        kept = {name: environment[name] for name in wire.KEPT if name in environment}
        posix.execve(sys.executable, wire.service_words(), kept)
    finally:
        leave(1)
