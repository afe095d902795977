"""Runs one shell text for real where it can harm nothing, and keeps what the kernel was asked to do.

The cage is a set of namespaces of its own made by bubblewrap: no network, no other process, the system's programs
read-only, a home and a temporary folder that are thrown away. The command has no capability, never runs as root, and
is killed after a few seconds. Whatever it is asked to destroy, it finds only what was planted.
"""

from __future__ import annotations

import functools
import os
import pwd
import shutil
import subprocess
import tempfile
import threading
from typing import NamedTuple

from oracle.place import HOME, ROOT, TEMP, plant

SECONDS = 5
SEARCH_PATH = "/usr/local/bin:/usr/bin:/bin"
SYSTEM = ("/usr", "/etc", "/sys", "/opt")
MERGED = ("/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
TRACE = "/mnt/trace"
CALLS = (
    "execve", "execveat", "open", "openat", "openat2", "creat", "unlink", "unlinkat", "rmdir", "rename", "renameat",
    "renameat2", "mkdir", "mkdirat", "mknod", "mknodat", "link", "linkat", "symlink", "symlinkat", "truncate",
    "chmod", "fchmod", "fchmodat", "chown", "lchown", "fchown", "fchownat", "utime", "utimes", "utimensat",
    "futimesat", "setxattr", "lsetxattr", "fsetxattr", "removexattr", "lremovexattr", "fremovexattr", "connect",
    "sendto", "sendmsg", "sendmmsg", "bind", "getdents", "getdents64", "chdir", "fchdir", "clone", "clone3", "fork",
    "vfork",
)  # fmt: skip
LIMITS = "ulimit -c 0 -f 131072 -t 20 -u 1024 -v 8000000 -n 512; "
ENVIRONMENT = {
    "HOME": HOME, "PATH": SEARCH_PATH, "LANG": "C.UTF-8", "TERM": "dumb", "USER": "dev", "LOGNAME": "dev",
    "UV_USE_IO_URING": "0",  # files that are opened through a ring are not seen
}  # fmt: skip


class Ran(NamedTuple):
    """What came of one text. `trace`: strace's lines. `late`: it was killed."""

    trace: str
    late: bool


@functools.cache
def missing() -> str:
    """Why no command can be run here, "" if one can."""
    for program in ("bwrap", "strace", "bash", "git", "cp"):
        if shutil.which(program) is None:
            return f"{program} is not installed"
    try:
        with Cage() as cage:
            ran = cage.run("echo x > new")
    except (OSError, subprocess.SubprocessError) as error:
        return f"a cage cannot be built: {error}"
    if "execve" not in ran.trace:
        return "namespaces or tracing are not permitted here"
    return ""


class Cage:
    """A world, copied anew for every command that may have changed it. Not for several threads at a time."""

    def __init__(self) -> None:
        self.folder = tempfile.mkdtemp(prefix="oracle-", dir="/tmp")
        os.chmod(self.folder, 0o755)
        self.template = f"{self.folder}/template"
        self._user = pwd.getpwnam("nobody") if os.getuid() == 0 else None
        self._fresh = False
        self._drain, self._sink = os.pipe()
        threading.Thread(target=_swallow, args=(self._drain,), daemon=True).start()

    def __enter__(self) -> Cage:
        plant(self.template)
        if self._user is not None:
            for folder, folders, files in os.walk(self.template):
                for name in (".", *folders, *files):
                    os.chown(f"{folder}/{name}", self._user.pw_uid, self._user.pw_gid, follow_symlinks=False)
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._sink)
        shutil.rmtree(self.folder, ignore_errors=True)

    def spoil(self) -> None:
        """The last command changed something: the next one gets a new world."""
        self._fresh = False

    def run(self, text: str, cwd: str = ROOT, seconds: float = SECONDS) -> Ran:
        """Runs a text by bash, with nothing to read from."""
        world, trace = f"{self.folder}/world", f"{self.folder}/trace"
        if not self._fresh:
            if os.path.lexists(world):
                subprocess.run(["chmod", "-R", "u+rwX", world], check=False, capture_output=True)
                shutil.rmtree(world)
            subprocess.run(["cp", "-a", self.template, world], check=True)
            self._fresh = True
        with open(trace, "wb"):
            pass
        identity = {}
        if self._user is not None:
            os.chown(trace, self._user.pw_uid, self._user.pw_gid)
            identity = {"user": self._user.pw_uid, "group": self._user.pw_gid, "extra_groups": ()}
        process = subprocess.Popen(
            arguments(world, trace, text, cwd),
            cwd="/",
            env={"PATH": os.environ.get("PATH", os.defpath)},
            stdin=subprocess.DEVNULL,
            stdout=self._sink,
            stderr=self._sink,
            start_new_session=True,
            **identity,
        )
        late = False
        try:
            process.wait(seconds)
        except subprocess.TimeoutExpired:
            late = True
            process.kill()
            process.wait()
        with open(trace, encoding="utf-8", errors="surrogateescape") as file:
            return Ran(file.read(), late)


def arguments(world: str, trace: str, text: str, cwd: str) -> list[str]:
    """The words that run a text in the cage."""
    words = ["bwrap", "--unshare-all", "--die-with-parent", "--new-session", "--cap-drop", "ALL", "--clearenv"]
    for name, value in {**ENVIRONMENT, "PWD": cwd}.items():
        words += ["--setenv", name, value]
    words += system_mounts()
    words += ["--proc", "/proc", "--dev", "/dev", "--tmpfs", "/run", "--tmpfs", "/var/tmp"]
    words += ["--bind", f"{world}/home", HOME, "--bind", f"{world}/tmp", TEMP, "--bind", trace, TRACE]
    words += ["--chdir", cwd, "--", "bash", "--norc", "--noprofile", "-c", LIMITS + 'exec "$@"', "cage"]
    words += ["strace", "-f", "-y", "-q", "-s", "8192", "--seccomp-bpf", "-o", TRACE, "-e", "signal=none"]
    words += ["-e", "trace=" + ",".join(f"?{call}" for call in CALLS)]
    return [*words, "--", "bash", "--norc", "--noprofile", "-c", text]


def system_mounts() -> list[str]:
    """The machine's programs and settings, read-only, at their own places."""
    words = []
    for path in (*SYSTEM, *MERGED):
        if os.path.islink(path):
            words += ["--symlink", os.readlink(path), path]
        elif os.path.isdir(path):
            words += ["--ro-bind", path, path]
    return words


def _swallow(drain: int) -> None:
    """Reads what commands print until nobody can print any more. A pipe, because programs write less to `/dev/null`."""
    while os.read(drain, 1 << 16):
        pass
    os.close(drain)
