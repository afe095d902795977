"""What the warm service and whoever asks it both know: their messages, whom a service is for, and who is at the other
end.

With builtins alone: `thin.py` imports it without anything of the package, the service with it.
"""

import _signal  # type: ignore[import-not-found]
import posix
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    import _socket

VERSION = b"gateway-service-1"
ANSWER, OTHER = b"A", b"N"
MOST_ANSWER = 64 << 20
MOST_ASKED = 4 << 20  # more than that is read faster than it is sent twice
_LONGEST = 100  # of the name of a socket, which the system cuts at 104 or 108
SOL_SOCKET = 1
_SO_PEERCRED, _SOL_LOCAL, _LOCAL_PEERCRED = 17, 0, 1
# All that `gateway.core.places` reads of the environment.
PLACES = (
    b"HOME", b"XDG_CONFIG_HOME", b"XDG_STATE_HOME", b"XDG_CACHE_HOME", b"XDG_DATA_HOME", b"XDG_RUNTIME_DIR",
    b"CLAUDE_CONFIG_DIR", b"CODEX_HOME", b"GEMINI_CLI_HOME", b"COPILOT_HOME", b"OPENCODE_CONFIG_DIR",
)  # fmt: skip
# What the service is given of the environment of whoever starts it.
KEPT = (*PLACES, b"PATH", b"LANG", b"LC_ALL")
HERE = __file__.rpartition("/")[0]


def framed(parts: tuple[bytes, ...]) -> bytes:
    """Parts of bytes as one message."""
    found = [len(parts).to_bytes(4, "big")]
    for part in parts:
        found += (len(part).to_bytes(4, "big"), part)
    body = b"".join(found)
    return VERSION + len(body).to_bytes(4, "big") + body


def parts_of(message: bytes) -> list[bytes] | None:
    """The parts of a whole message; None for everything else."""
    head = len(VERSION) + 4
    if message[: len(VERSION)] != VERSION or len(message) != needed(message):
        return None
    at = head + 4
    parts = []
    for _ in range(int.from_bytes(message[head:at], "big")):
        size = int.from_bytes(message[at : at + 4], "big")
        if at + 4 + size > len(message):
            return None
        parts.append(message[at + 4 : at + 4 + size])
        at += 4 + size
    return parts if at == len(message) else None


def needed(message: bytes | bytearray) -> int:
    """How many bytes a message has whose beginning this is; 0 for what is none, or not long enough to tell."""
    head = len(VERSION) + 4
    if len(message) < head:
        return 0
    return head + int.from_bytes(message[len(VERSION) : head], "big")


def message(number: int, rest: bytes = b"") -> tuple[bytes | None, bytes]:
    """What the other end says next, as soon as it is whole: that a process has ended is told only when its memory was
    taken apart. And what came behind it. None for too much, and for what cannot be read."""
    found = bytearray(rest)
    try:
        while not (size := needed(found)) or len(found) < size:
            data = posix.read(number, 1 << 16)
            if not data or size > MOST_ANSWER:
                return None, b""
            found += data
    except OSError:
        return None, b""
    return bytes(found[:size]), bytes(found[size:])


def write(number: int, data: bytes) -> bool:
    """Whether all of it was written."""
    view = memoryview(data)
    try:
        while view:
            view = view[posix.write(number, view) :]
    except OSError:
        return False
    return True


def identity(environment: dict[bytes, bytes]) -> bytes | None:
    """For whom, from where and by what code a service answers, and nobody else: user, places, installation, and the
    namespace and root that its paths are of. None where there can be no service."""
    home = environment.get(b"HOME", b"")
    if not home.startswith(b"/"):
        return None
    top = posix.stat("/")
    told = [
        VERSION,
        HERE.encode("utf-8", "surrogateescape"),
        (sys.executable or "").encode("utf-8", "surrogateescape"),
    ]
    told += [b"%d" % each for each in (posix.geteuid(), posix.getegid(), posix.getuid(), top.st_dev, top.st_ino)]
    told += [environment.get(name, b"") for name in PLACES]
    for name in ("mnt", "user", "pid"):
        try:
            told.append(posix.readlink(b"/proc/self/ns/" + name.encode()))
        except OSError:
            told.append(b"")
    return b"\0".join(told)


def folder(environment: dict[bytes, bytes]) -> bytes:
    """Where sockets and locks lie: in the state folder, which no agent may write."""
    state = environment.get(b"XDG_STATE_HOME", b"")
    if not state.startswith(b"/"):
        state = environment[b"HOME"] + b"/.local/state"
    return state + b"/gateway/service"


def name_of(told: bytes) -> bytes:
    """A short name for an identity. Only a name: the identity itself goes with each request."""
    found = 0xCBF29CE484222325
    for byte in told:
        found = (found ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return b"%016x" % found


def is_own(place: bytes) -> bool:
    """Whether a folder is there, this user's and nobody else's."""
    try:
        found = posix.lstat(place)
    except OSError:
        return False
    return found.st_uid == posix.geteuid() and found.st_mode & 0o170077 == 0o040000


def peer(connection: "_socket.socket") -> tuple[int, int, int]:
    """User, group and process at the other end, as the kernel has it; -1 for what it does not say."""
    if sys.platform == "darwin":
        told = connection.getsockopt(_SOL_LOCAL, _LOCAL_PEERCRED, 76)
        return int.from_bytes(told[4:8], sys.byteorder), int.from_bytes(told[12:16], sys.byteorder), -1
    told = connection.getsockopt(SOL_SOCKET, _SO_PEERCRED, 12)
    pid, uid, gid = (int.from_bytes(told[at : at + 4], sys.byteorder, signed=True) for at in (0, 4, 8))
    return uid, gid, pid


def is_the_service(pid: int, held: int = -1) -> bool:
    """Whether a process is the service as `launch` starts it: this very interpreter, these words, and no variable but
    those that it is given. `held`: a descriptor of that process, so that no other has its number by now. True where
    the system does not tell (macOS): there user and folder are all that is known."""
    if pid < 0:
        return sys.platform == "darwin"
    place = b"/proc/%d/" % pid
    try:
        theirs, ours = posix.stat(place + b"exe"), posix.stat(b"/proc/self/exe")
        words, variables = (_all_of(place + name) for name in (b"cmdline", b"environ"))
        if held >= 0:
            _signal.pidfd_send_signal(held, 0)
    except OSError:
        return False
    names = [each.partition(b"=")[0] for each in variables.split(b"\0") if each]
    return (
        (theirs.st_dev, theirs.st_ino) == (ours.st_dev, ours.st_ino)
        and words == b"".join([word.encode("utf-8", "surrogateescape") + b"\0" for word in service_words()])
        and all(name in KEPT for name in names)
    )


def service_words() -> list[str]:
    """The words that start the service."""
    return [sys.executable, "-I", "-S", HERE + "/client.py", "serve"]


def _all_of(path: bytes) -> bytes:
    """A file of `/proc`, whole."""
    number = posix.open(path, posix.O_RDONLY | posix.O_CLOEXEC)
    try:
        return read_all(number, MOST_ASKED) or b""
    finally:
        posix.close(number)


def address(place: bytes, name: bytes) -> tuple[bytes, int]:
    """A socket's name that the system takes, and what must be closed after its use, -1 for nothing."""
    path = place + b"/" + name + b".sock"
    if len(path) <= _LONGEST:
        return path, -1
    held = posix.open(place, posix.O_RDONLY | posix.O_CLOEXEC)
    return b"/proc/self/fd/%d/%s.sock" % (held, name), held


def read_all(number: int, most: int) -> bytes | None:
    """All that a descriptor gives; None where it cannot be read or gives too much."""
    found = []
    size = 0
    try:
        while data := posix.read(number, 1 << 20):
            size += len(data)
            if size > most:
                return None
            found.append(data)
    except OSError:
        return None
    return b"".join(found)
