"""From strace's lines to what was done: programs started, files touched, hosts contacted."""

from __future__ import annotations

import os
import re
from posixpath import join, normpath
from typing import NamedTuple

_LINE = re.compile(r"(\d+) +(.*)", re.DOTALL)
_RESUMED = re.compile(r"<\.\.\. \w+ resumed>(.*)", re.DOTALL)
_CALL = re.compile(r"(\w+)\((.*)\) += (-?\d+|\?|0x[0-9a-f]+)(.*)", re.DOTALL)
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"(?:\.\.\.)?|<[^<>]*>|[\[\]{}(),]|[^"\[\]{}(),<]+|<')
_STRING = re.compile(r'"((?:[^"\\]|\\.)*)"(\.\.\.)?')
_ESCAPE = re.compile(rb"\\([0-7]{1,3}|x[0-9a-f]{2}|.)", re.DOTALL)
_NAMED = {b"n": b"\n", b"t": b"\t", b"r": b"\r", b"v": b"\v", b"f": b"\f", b"a": b"\a", b"b": b"\b"}
# Refused by the cage, and done wherever the command may.
_REFUSED = ("EACCES", "EPERM", "EROFS")
_UNREACHED = ("ENETUNREACH", "ECONNREFUSED", "EINPROGRESS", "EHOSTUNREACH", "ENOENT", "EACCES", "EAGAIN")


_FORKS = ("clone", "clone3", "fork", "vfork")
_NAMING = ("open", "unlink", "rmdir", "rename", "mkdir", "mknod", "link", "symlink", "truncate", "chmod", "chown",
           "openat", "unlinkat", "mkdirat", "execve")  # fmt: skip


class Frame:
    """One program of one process, and the one that started it."""

    __slots__ = ("argv", "parent", "path", "whole")

    def __init__(self, path: str, argv: tuple[str, ...], parent: Frame | None, whole: bool = True) -> None:
        self.path, self.argv, self.parent, self.whole = path, argv, parent, whole

    @property
    def names(self) -> set[str]:
        """What the program could be called by."""
        return {os.path.basename(self.path), os.path.basename(self.argv[0]) if self.argv else ""} - {""}

    def line(self) -> str:
        return " ".join(self.argv) or self.path


class Event(NamedTuple):
    """One thing done. `kind`: exec, read, list, write, mkdir, delete, connect or listen.

    `path`: absolute, as asked for; of a connection, `host port` or a socket's path. `led`: where the kernel says that
    it leads, "" if it is silent. `own`: made under the condition that nothing has that name. `refused`: the cage did
    not let it. `update`: opened for both reading and writing.
    """

    kind: str
    path: str
    frame: Frame
    led: str = ""
    own: bool = False
    refused: bool = False
    update: bool = False


class _Process:
    __slots__ = ("cwd", "frame")

    def __init__(self, cwd: str, frame: Frame) -> None:
        self.cwd, self.frame = cwd, frame


def events(trace: str, cwd: str) -> list[Event]:
    """Everything done, in order. The first program, the shell that reads the text, is not among it."""
    calls = list(_calls(trace))
    parents = {
        int(result): (pid, "CLONE_THREAD" in arguments)
        for pid, name, arguments, result, _ in calls
        if name in _FORKS and result.isdigit() and int(result) > 0
    }
    processes: dict[int, _Process] = {}
    found: list[Event] = []

    def process(pid: int) -> _Process:
        known = processes.get(pid)
        if known is None:
            parent, thread = parents.get(pid, (0, False))
            if parent and parent != pid:
                above = process(parent)
                known = above if thread else _Process(above.cwd, above.frame)
            else:
                known = _Process(cwd, Frame("", (), None))
            processes[pid] = known
        return known

    for pid, name, arguments, result, rest in calls:
        here = process(pid)
        if name in _FORKS:
            if result.isdigit() and int(result) > 0:
                process(int(result))
            continue
        failed = result.startswith("-")
        reason = rest.split()[0] if failed and rest.split() else ""
        _understand(found, here, name, _split(arguments), failed, reason, rest)
    return found


def _calls(trace: str) -> list[tuple[int, str, str, str, str]]:
    """Every finished call: process, name, arguments, result and what stands behind it."""
    begun: dict[int, str] = {}
    found = []
    for line in trace.split("\n"):
        match = _LINE.match(line)
        if match is None:
            continue
        pid, text = int(match[1]), match[2]
        if text.endswith("<unfinished ...>"):
            begun[pid] = text[: -len("<unfinished ...>")].rstrip()
            continue
        resumed = _RESUMED.match(text)
        if resumed is not None:
            text = begun.pop(pid, "") + resumed[1]
        call = _CALL.match(text)
        if call is not None:
            found.append((pid, call[1], call[2], call[3], call[4]))
    return found


def _understand(
    found: list[Event], here: _Process, name: str, arguments: list[str], failed: bool, reason: str, rest: str
) -> None:
    frame = here.frame
    refused = failed and reason in _REFUSED
    if name in ("execve", "execveat"):
        if arguments[0].startswith("0x"):
            return
        first = 0 if name == "execve" else 1
        path = _path(arguments, first, here, at=name == "execveat")
        argv = tuple(_text(each.group(0)) for each in _STRING.finditer(arguments[first + 1]))
        whole = arguments[first + 1].count("...") == sum(
            each[1].count("...") for each in _STRING.finditer(arguments[first + 1])
        )
        if not failed:
            here.frame = Frame(path, argv, frame, whole)
            if frame.parent is not None or frame.path:
                found.append(Event("exec", path, here.frame))
        return
    if name in ("connect", "bind", "sendto", "sendmsg", "sendmmsg"):
        _network(found, here, name, " ".join(arguments), failed, reason)
        return
    if (failed and not refused) or any(each.startswith("0x") for each in arguments[:2] if name in _NAMING):
        return  # of a process that lets nobody look into its memory not even the names are known
    if name == "chdir" and not failed:
        here.cwd = normpath(join(here.cwd, _text(arguments[0])))
    elif name == "fchdir" and not failed:
        here.cwd = _annotation(arguments[0]) or here.cwd
    elif name in ("open", "openat", "openat2", "creat"):
        at = name.startswith("openat")
        path = _path(arguments, 1 if at else 0, here, at=at)
        flags = "O_WRONLY|O_CREAT|O_TRUNC" if name == "creat" else arguments[2 if at else 1]
        if "O_PATH" in flags or "O_TMPFILE" in flags:
            return
        led = _annotation(rest) if not failed else ""
        kind = "write" if any(f in flags for f in ("O_WRONLY", "O_RDWR", "O_CREAT", "O_TRUNC")) else "read"
        if "O_DIRECTORY" in flags:
            if not failed:
                return  # it is listed when its entries are read
            kind = "list"
        known = led.startswith("/")
        if led and not known and not led.startswith("("):
            return  # a pipe or a socket
        found.append(Event(kind, path, frame, led if known else "", own="O_EXCL" in flags, refused=failed))
        if "O_RDWR" in flags and "O_EXCL" not in flags and "O_TRUNC" not in flags:
            found.append(Event("read", path, frame, led if known else "", refused=failed, update=True))
    elif name in ("getdents", "getdents64"):
        if (listed := _annotation(arguments[0])).startswith("/"):
            found.append(Event("list", listed, frame, listed))
    elif name in ("unlink", "rmdir", "unlinkat"):
        at = name == "unlinkat"
        found.append(Event("delete", _path(arguments, 1 if at else 0, here, at=at), frame, refused=failed))
    elif name in ("rename", "renameat", "renameat2"):
        at = name != "rename"
        old = _path(arguments, 1 if at else 0, here, at=at)
        new = _path(arguments, 3 if at else 1, here, at=at)
        found += [Event("delete", old, frame, refused=failed), Event("write", new, frame, refused=failed)]
        if "RENAME_EXCHANGE" in (arguments[-1] if name == "renameat2" else ""):
            found.append(Event("write", old, frame))
    elif name in ("mkdir", "mkdirat", "mknod", "mknodat"):
        at = name.endswith("at")
        kind = "mkdir" if name.startswith("mkdir") else "write"
        found.append(Event(kind, _path(arguments, 1 if at else 0, here, at=at), frame, own=True, refused=failed))
    elif name in ("link", "linkat"):
        at = name == "linkat"
        found.append(Event("write", _path(arguments, 3 if at else 1, here, at=at), frame, own=True, refused=failed))
    elif name in ("symlink", "symlinkat"):
        at = name == "symlinkat"
        found.append(Event("write", _path(arguments, 2 if at else 1, here, at=at), frame, own=True, refused=failed))
    elif name in ("truncate", "chmod", "chown", "lchown", "utime", "utimes", "setxattr", "lsetxattr", "removexattr",
                  "lremovexattr"):  # fmt: skip
        found.append(Event("write", _path(arguments, 0, here), frame))
    elif name in ("fchmodat", "fchownat", "utimensat", "futimesat"):
        if arguments[1] == "NULL" or _text(arguments[1]) == "":
            _by_descriptor(found, arguments[0], frame)
        else:
            found.append(Event("write", _path(arguments, 1, here, at=True), frame))
    elif name in ("fchmod", "fchown", "fsetxattr", "fremovexattr"):
        _by_descriptor(found, arguments[0], frame)


def _by_descriptor(found: list[Event], argument: str, frame: Frame) -> None:
    path = _annotation(argument)
    if path.startswith("/"):
        found.append(Event("write", path, frame, path))


def _network(found: list[Event], here: _Process, name: str, text: str, failed: bool, reason: str) -> None:
    if failed and reason not in _UNREACHED:
        return
    kind = "listen" if name == "bind" else "connect"
    family = re.search(r"sa_family=AF_(\w+)", text)
    if family is None:
        return
    if family[1] in ("INET", "INET6"):
        port = re.search(r"sin6?_port=htons\((\d+)\)", text)
        if kind == "listen" and (port is None or port[1] == "0"):
            return  # an address to send from
        host = re.search(r'inet_addr\("([^"]*)"\)|inet_pton\(AF_INET6, "([^"]*)"', text)
        found.append(Event(kind, f"{(host[1] or host[2]) if host else '?'} {port[1] if port else 0}", here.frame))
    elif family[1] == "UNIX" and (socket := re.search(r'sun_path=(@?)"((?:[^"\\]|\\.)*)"', text)):
        if socket[1]:
            found.append(Event(kind, "@" + _text(f'"{socket[2]}"'), here.frame))
        else:
            place = normpath(join(here.cwd, _text(f'"{socket[2]}"')))
            found.append(Event("write" if kind == "listen" else kind, place, here.frame))


def _split(arguments: str) -> list[str]:
    """The arguments of a call, as printed."""
    parts, depth = [""], 0
    for match in _TOKEN.finditer(arguments):
        token = match[0]
        if token in "[{(":
            depth += 1
        elif token in "]})":
            depth -= 1
        if token == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += token
    return [part.strip() for part in parts]


def _text(argument: str) -> str:
    match = _STRING.match(argument)
    return "" if match is None else _unescaped(match[1])


def _unescaped(text: str) -> str:
    def letter(escape: re.Match[bytes]) -> bytes:
        code = escape[1]
        if code[:1].isdigit():
            return bytes([int(code, 8) & 255])
        if code[:1] == b"x" and len(code) == 3:
            return bytes([int(code[1:], 16)])
        return _NAMED.get(code, code)

    return os.fsdecode(_ESCAPE.sub(letter, os.fsencode(text)))


def _annotation(argument: str) -> str:
    """What `-y` says a descriptor is."""
    begin, end = argument.find("<"), argument.rfind(">")
    return _unescaped(argument[begin + 1 : end]) if 0 <= begin < end else ""


def _path(arguments: list[str], index: int, here: _Process, *, at: bool = False) -> str:
    """A path argument, made absolute. `at`: the argument before it is the folder's descriptor."""
    base = _annotation(arguments[index - 1]) if at else ""
    return join(base or here.cwd, _text(arguments[index]) or ".")
