"""What may happen to the hook of an agent, one by one: done to the line that `gateway init` writes, in a world of its
own.

Each kind says whether it must stop a call that policy allows (`blocks`), or must not let one run that policy denies.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING

from shebang import first_lines

from gateway.core.value import Value
from gateway.frontends.service import wire
from gateway.install.canary import BEFORE
from gateway.install.hook_lines import held, hook_lines, unheld

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ROOT = Path(__file__).parents[1]
POLICY = "rules:\n  - id: touching\n    {lane}: Bash(touch made*)\n    because: it is only a test\n"


class Place(Value):
    """Where a failure happens: the agent, a folder of its own, and the home that the client has."""

    agent: str
    folder: Path
    home: Path
    event: str = ""

    @property
    def policy(self) -> Path:
        return self.home / ".config" / "gateway" / "policy.yaml"

    @property
    def state(self) -> Path:
        return self.home / ".local" / "state" / "gateway"

    def line(self) -> list[str]:
        """The line in the agent's settings, for its event, before a call if none is said."""
        return list(hook_lines(self.agent)("" if self.agent == "opencode" else self.event or BEFORE[self.agent]))

    def with_program(self, program: Path) -> list[str]:
        """The line with another interpreter."""
        return self._with([str(program), *unheld(self.line())[1:]])

    def with_client(self, client: Path) -> list[str]:
        """The line with another thin client."""
        return self._with([str(client) if each.endswith("/client.py") else each for each in unheld(self.line())])

    def _with(self, words: list[str]) -> list[str]:
        return words if self.agent == "opencode" else held(self.agent, self.event or BEFORE[self.agent], words)

    def in_shell(self, text: str) -> list[str]:
        """The line, started by a shell that ends in it: `"$@"` stands for the line."""
        return ["/bin/sh", "-c", text, "sh", *self.line()]


class Failure(Value):
    """`arrange` gives the line as it then stands; `blocks`: a call that policy allows must not run either."""

    arrange: Callable[[Place], list[str]]
    blocks: bool = True


# --------------------------------------------------------------------------------------------- programs


def _program(write: Callable[[Path], object]) -> Failure:
    def arrange(place: Place) -> list[str]:
        write(place.folder / "python3")
        return place.with_program(place.folder / "python3")

    return Failure(arrange)


def _script(text: str, mode: int = 0o755) -> Failure:
    """A program that runs a shell text as its last, with every signal as it was."""

    def write(path: Path) -> None:
        path.write_text(
            f"{first_lines('-IS')}import os, signal\n"
            "for each in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:\n"
            "    signal.signal(each, signal.SIG_DFL)\n"
            f"os.execv('/bin/sh', ['sh', '-c', {text!r}])\n"
        )
        path.chmod(mode)

    return _program(write)


def _bytes(data: bytes) -> Callable[[Path], object]:
    return lambda path: (path.write_bytes(data), path.chmod(0o755))


_ALLOWS = (
    '{"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "allow"}, "decision": "allow",'
    ' "permissionDecision": "allow", "permission": "allow"}'
)
_PROGRAMS = {
    "no interpreter": _program(lambda _path: None),
    "an interpreter that is not executable": _script("exit 0", 0o644),
    "an interpreter that is a folder": _program(lambda path: path.mkdir()),
    "an empty interpreter": _program(_bytes(b"")),
    "an interpreter of another machine": _program(_bytes(b"\x7fELF" + bytes(200))),
    "an interpreter without its own": _program(_bytes(b"#!/nonexistent/python\n")),
    "an interpreter that leads to itself": _program(lambda path: path.symlink_to(path)),
    "an interpreter that is another program": _program(lambda path: path.symlink_to("/bin/true")),
    "half of an interpreter": _program(
        lambda path: _bytes(Path(os.path.realpath(sys.executable)).read_bytes()[:9000])(path)
    ),
    "an end with status 0": _script("cat >/dev/null; exit 0"),
    "an end with status 1": _script("cat >/dev/null; exit 1"),
    "an end with status 2": _script("cat >/dev/null; exit 2"),
    "an end with status 126": _script("cat >/dev/null; exit 126"),
    "an allow and status 1": _script(f"cat >/dev/null; echo '{_ALLOWS}'; exit 1"),
    "half of an answer": _script('cat >/dev/null; printf \'{"decision": "al\'; kill -KILL $$'),
    "a whole answer, and killed": _script(f"cat >/dev/null; echo '{_ALLOWS}'; kill -KILL $$"),
    **{f"an end by SIG{name}": _script(f"kill -{name} $$") for name in ("TERM", "SEGV", "ABRT", "HUP", "PIPE", "SYS")},
}

# ---------------------------------------------------------------------------------------------- signals

_KILLER = """
import os, signal, subprocess, sys, time

name, moment, *line = sys.argv[1:]
number = getattr(signal, name)
process = subprocess.Popen(line)

def children(pid):
    try:
        return [int(each) for each in open(f"/proc/{pid}/task/{pid}/children").read().split()]
    except OSError:
        return []

def waits(pid):
    try:
        text = open(f"/proc/{pid}/status").read()
    except OSError:
        return False
    return bool(int(text.split("SigCgt:")[1].split()[0], 16) >> (signal.SIGXCPU - 1) & 1)

found = []
while process.poll() is None and not found:
    found = children(process.pid) if line[0] == "/bin/sh" else [process.pid]
    if moment != "starts":
        found = [each for each in found if waits(each)]
    if moment == "decides":
        found = [each for above in found for each in children(above)]
    time.sleep(0.001)
for each in found:
    try:
        os.kill(each, number)
    except ProcessLookupError:
        pass
status = process.wait()
if status < 0:
    os.kill(os.getpid(), -status)
os._exit(status)
"""


def _signal(name: str, moment: str) -> Failure:
    def arrange(place: Place) -> list[str]:
        killer = place.folder / "killer.py"
        killer.write_text(_KILLER)
        return [sys.executable, "-IS", str(killer), name, moment, *place.line()]

    return Failure(arrange, blocks=name == "SIGKILL" and moment == "starts")


_SIGNALS = {
    f"SIG{name} when it {moment}": _signal(f"SIG{name}", moment)
    for name, moment in (
        ("KILL", "starts"), ("KILL", "waits"), ("KILL", "decides"), ("TERM", "starts"), ("TERM", "waits"),
        ("SEGV", "waits"), ("STOP", "decides"),
    )
}  # fmt: skip

# ---------------------------------------------------------------------------------------- around the hook


def _around(text: str, *, blocks: bool = False) -> Failure:
    return Failure(lambda place: place.in_shell(text), blocks)


def _policy(data: bytes) -> Failure:
    def arrange(place: Place) -> list[str]:
        place.policy.write_bytes(data)
        return place.line()

    return Failure(arrange)


def _instead_of_policy(make: Callable[[Path], object]) -> Failure:
    def arrange(place: Place) -> list[str]:
        place.policy.unlink()
        make(place.policy)
        return place.line()

    return Failure(arrange)


def _state_is_a_file(place: Place) -> list[str]:
    place.state.parent.mkdir(parents=True, exist_ok=True)
    place.state.write_text("no folder")
    return place.line()


def _full_disk(place: Place) -> list[str]:
    """A disk of 64 KiB for the record, without a byte left: only in a mount namespace, where there may be one."""
    place.state.mkdir(parents=True, exist_ok=True)
    text = f"mount -t tmpfs -o size=64k none {place.state} && head -c 70000 /dev/zero > {place.state}/x"
    return ["/usr/bin/unshare", "-Urm", "/bin/sh", "-c", f'{{ {text}; }} 2>/dev/null; exec "$@"', "sh", *place.line()]


def _read_only_home(place: Place) -> list[str]:
    text = f"mount --bind {place.home} {place.home} && mount -o remount,bind,ro {place.home}"
    return ["/usr/bin/unshare", "-Urm", "/bin/sh", "-c", f'{{ {text}; }} 2>/dev/null; exec "$@"', "sh", *place.line()]


_AROUND = {
    "a full disk for its answer": _around('exec "$@" >/dev/full'),
    "no place for its answer": _around('exec "$@" >&-'),
    "no standard error": _around('exec "$@" 2>&-'),
    "no event": _around('exec "$@" </dev/null', blocks=True),
    "half of the event": _around('head -c 60 | "$@"', blocks=True),
    "an event in another encoding": _around("{ printf '\\377\\376'; cat; } | \"$@\"", blocks=True),
    "no variables": _around('exec env -i "$@"', blocks=True),
    "no HOME": _around('unset HOME; exec "$@"', blocks=True),
    "a relative HOME": _around('export HOME=home; exec "$@"', blocks=True),
    "no PATH": _around('unset PATH; exec "$@"'),
    "variables of Python": _around('export PYTHONHOME=/x PYTHONPATH=/y PYTHONWARNINGS=error; exec "$@"'),
    "an unknown language": _around('export LC_ALL=xx_XX.ISO-8859-1 LANG=xx; exec "$@"'),
    "no descriptors": _around('ulimit -n 6; exec "$@"'),
    "no memory": _around('ulimit -v 20000; exec "$@"'),
    "files without a byte": _around('ulimit -f 0; exec "$@"', blocks=True),
    "no time of a processor": _around('ulimit -t 1; exec "$@"'),
    "a folder that is gone": _around(
        'mkdir "gone-$$" && cd "gone-$$" && rmdir "../gone-$$" && exec "$@"', blocks=True
    ),
    "a record that is no folder": Failure(_state_is_a_file),
    "a full disk for its record": Failure(_full_disk),
    "a home that is read only": Failure(_read_only_home),
    "a policy that is no YAML": _policy(b"version: 1\nrules: [\n"),
    "a policy with an unknown key": _policy(b"version: 1\nrulez: []\n"),
    "a policy that is no UTF-8": _policy(b"version: 1\n# \xff\n"),
    "a policy with an example that fails": _policy(b"version: 1\nrules:\n  - {deny: 'Bash(rm *)', matches: [ls]}\n"),
    "a policy that is a folder": _instead_of_policy(lambda path: path.mkdir()),
    "a policy that is a pipe": _instead_of_policy(os.mkfifo),
    "a policy that leads to itself": _instead_of_policy(lambda path: path.symlink_to(path)),
}  # fmt: skip

# ---------------------------------------------------------------------------------------------- upgrades


def _half_installed(change: Callable[[Path], object]) -> Failure:
    """A copy of the package, as an upgrade that is under way leaves it."""

    def arrange(place: Place) -> list[str]:
        left_out = shutil.ignore_patterns("__pycache__", "data", "*.pyc", "*.so")
        shutil.copytree(ROOT / "gateway", place.folder / "gateway", ignore=left_out)
        for name in ("tools.yaml", "policies"):
            (place.folder / name).symlink_to(ROOT / name)
        change(place.folder / "gateway")
        return place.with_client(place.folder / "gateway" / "frontends" / "service" / "client.py")

    return Failure(arrange)


def _cut(name: str, size: int) -> Callable[[Path], object]:
    return lambda package: (package / name).write_bytes((package / name).read_bytes()[:size])


_UPGRADES = {
    "no thin client": _half_installed(lambda package: (package / "frontends/service/client.py").unlink()),
    "half of the thin client": _half_installed(_cut("frontends/service/thin.py", 9000)),
    "half of its words to the service": _half_installed(_cut("frontends/service/wire.py", 3000)),
    "a module that is missing": _half_installed(lambda package: (package / "judge/judge.py").unlink()),
    "half of a module": _half_installed(_cut("frontends/hook.py", 4000)),
    "no policies of its own": _half_installed(lambda package: (package.parent / "policies").unlink()),
}

# ---------------------------------------------------------------------------------------------- services


@contextlib.contextmanager
def hostile_service(home: Path, says: str) -> Iterator[None]:
    """Somebody who listens where the warm service would. `says`: how it answers."""
    environment = {b"HOME": os.fsencode(home)}
    place, told = wire.folder(environment), wire.identity(environment)
    assert told is not None
    os.makedirs(place, 0o700, exist_ok=True)
    os.chmod(place, 0o700)
    path, number = wire.address(place, wire.name_of(told))
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind(path)
    if number >= 0:
        os.close(number)
    listener.listen(64)
    ended = threading.Event()
    kept: list[socket.socket] = []

    def serve() -> None:
        while not ended.is_set():
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            kept.append(connection)
            with contextlib.suppress(OSError):
                if says == "allows":
                    connection.sendall(wire.framed((wire.ANSWER, b"\0", _ALLOWS.encode(), b"")))
                elif says == "noise":
                    connection.sendall(os.urandom(1 << 16))
                if says != "nothing":
                    connection.close()

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        with contextlib.suppress(OSError):
            listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join(5)
        for connection in kept:
            connection.close()
        with contextlib.suppress(OSError):
            os.unlink(path)


SERVICES = ("allows", "noise", "nothing", "the end")

FAILURES: dict[str, Failure] = _PROGRAMS | _SIGNALS | _AROUND | _UPGRADES
