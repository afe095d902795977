"""A scratch world in which checks of the contract run, under a backend and without any."""

from __future__ import annotations

import functools
import os
import select
import shutil
import socket
import stat
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from patience import patience

from gateway.model.plan import READ, Mount, SandboxPlan
from gateway.sandbox.base import Streams
from gateway.sandbox.contract import FILES, SECRET, Check, plan_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

PATH = "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"
NOBODY = 65534
AS_NOBODY = (
    "setpriv", "--reuid", str(NOBODY), "--regid", str(NOBODY), "--clear-groups", "--inh-caps=-all",
    "--bounding-set=-all",
)  # fmt: skip
TOPS = ("bin", "lib", "lib32", "lib64", "libx32", "sbin")


def system() -> tuple[tuple[Mount, ...], tuple[tuple[str, str], ...]]:
    """The system's folders as mounts, and the links of the top folder."""
    mounts, links = [Mount("/etc", READ), Mount("/usr", READ)], []
    for name in TOPS:
        if os.path.islink(f"/{name}"):
            links.append((f"/{name}", os.readlink(f"/{name}")))
        elif os.path.isdir(f"/{name}"):
            mounts.append(Mount(f"/{name}", READ))
    return tuple(mounts), tuple(links)


class World:
    """Its folder, and what the texts of checks find in their environment. A process outside is there once a check that
    looks for one is about to run."""

    def __init__(self, top: Path, environment: dict[str, str], descriptor: int) -> None:
        self.top = top
        self.environment = environment
        self.descriptor = descriptor
        self._outsider: subprocess.Popen[bytes] | None = None

    def environment_of(self, check: Check) -> dict[str, str]:
        if self._outsider is None and "OUTSIDER" in f"{check.text} {check.twin} {check.proof}":
            self._outsider = subprocess.Popen(["sleep", "1000"], cwd=self.top / "outside", env={"SECRET": SECRET})
            self.environment["OUTSIDER"] = str(self._outsider.pid)
        return self.environment

    def plan(self, check: Check, *, least: bool = False) -> SandboxPlan:
        return plan_of(check, str(self.top), *system(), self.environment_of(check), least=least)

    def named(self, path: str) -> str:
        """A path as the texts of checks say it."""
        return path.replace("$OUTSIDER", self.environment.get("OUTSIDER", "$OUTSIDER"))

    def close(self) -> None:
        if self._outsider is not None:
            self._outsider.kill()
            self._outsider.wait()

    def found(self, path: str) -> str:
        try:
            return (self.top / self.named(path)).read_text(encoding="utf-8")
        except OSError:
            return ""


@contextmanager
def world(top: Path) -> Iterator[World]:
    """A fresh one, with a listener, sockets and a descriptor outside."""
    for name, text in FILES:
        path = top / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    outside = top / "outside"
    descriptor = os.open(outside, os.O_RDONLY)
    os.set_inheritable(descriptor, True)
    abstract = f"gateway-{os.getpid()}-{top.name}"
    with (
        socket.create_server(("127.0.0.1", 0)) as listener,
        socket.socket(socket.AF_UNIX) as nameless,
        socket.socket(socket.AF_UNIX) as named,
    ):
        nameless.bind(f"\0{abstract}")
        nameless.listen()
        here = os.open(outside, os.O_PATH)
        named.bind(f"/proc/self/fd/{here}/socket")  # the folder's own path may be too long for an address
        named.listen()
        os.close(here)
        environment = {
            "ABSTRACT": abstract,
            "FD": str(descriptor),
            "HOME": str(top / "home"),
            "OUTSIDE": str(outside),
            "PATH": PATH,
            "PORT": str(listener.getsockname()[1]),
        }
        made = World(top, environment, descriptor)
        try:
            yield made
        finally:
            made.close()
            os.close(descriptor)


def lacking(check: Check) -> str:
    """Why a check cannot be made on this machine or by this user, "" if it can."""
    for need in check.needs:
        if need == "root" and os.geteuid() != 0:
            return "only root could do this"
        if need == "sysrq" and not os.path.exists("/proc/sysrq-trigger"):
            return "this kernel has no such keys"
        if need == "af_alg":
            try:
                socket.socket(38, 5, 0).close()
            except OSError:
                return "this kernel offers no ciphers to programs"
        if need not in ("root", "sysrq", "af_alg") and shutil.which(need, path=PATH) is None:
            return f"{need} is not installed"
    return ""


def confined(backend: Any, plan: SandboxPlan, text: str | list[str]) -> tuple[int, bytes]:
    """Status and output of a text under a backend."""
    argv = ["/bin/sh", "-c", text] if isinstance(text, str) else text
    nowhere = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
    output = os.memfd_create("output")
    try:
        running = backend.start(plan, argv, Streams(nowhere, output, output))
        running.release()
        poll = select.poll()
        poll.register(running.exited, select.POLLIN)
        try:
            assert poll.poll(patience(30) * 1000), "it did not end"
        finally:
            if not poll.poll(0):
                running.kill()
            status = running.wait()
            running.close()
        return status, os.pread(output, 1 << 20, 0)
    finally:
        os.close(output)
        os.close(nowhere)


def unconfined(check: Check, here: World) -> int:
    """Status of a check's twin."""
    done = subprocess.run(
        ["/bin/sh", "-c", check.twin or check.text],
        cwd=here.top / "ws",
        env={**here.environment_of(check), "SECRET": SECRET},
        pass_fds=(here.descriptor,),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=patience(30),
        check=False,
    )
    return done.returncode


def mode(path: Path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)


def reachable() -> list[str]:
    """Where Python finds what this run uses."""
    return [str(Path(__file__).parents[2]), *[path for path in sys.path if path.endswith("site-packages")]]


# Finds modules as an import does, without the time that one takes.
_FINDS = """
import importlib.util, sys
for each in sys.argv[1:]:
    open(importlib.util.find_spec(each).origin, "rb").close()
"""


@functools.cache
def python_for_everybody() -> str:
    """A Python of this version that any user can start, and that then finds this checkout and all that it needs, tests
    too; "" without one."""
    modules = ("pytest", "hypothesis", "yaml", "tree_sitter._binding", "gateway.judge.judge", "gateway.frontends.main")
    wanted = f"{sys.version_info.major}.{sys.version_info.minor}"
    for program in dict.fromkeys((os.path.realpath(sys.executable), f"/usr/bin/python{wanted}")):
        tried = subprocess.run(
            [*AS_NOBODY, "sh", "-c", 'exec "$@"', "sh", program, "-c", _FINDS, *modules],
            cwd="/", env={"PATH": "/usr/bin:/bin", "PYTHONPATH": os.pathsep.join(reachable())}, capture_output=True,
            check=False,
        )  # fmt: skip
        if tried.returncode == 0:
            return program
    return ""


def passes_for_nobody(tests: Sequence[str], seconds: float) -> str:
    """Runs files of tests, or single ones, with all attempts as an ordinary user, who must pass them: the runner's
    closing line. Skips where such a user can reach no Python."""
    if not (python := python_for_everybody()):
        pytest.skip("an ordinary user can reach no Python of this version, or not this checkout")
    with tempfile.TemporaryDirectory(prefix="gateway-attempts-") as folder:
        os.chmod(folder, 0o755)
        os.chown(folder, NOBODY, NOBODY)
        done = subprocess.run(
            [*AS_NOBODY, python, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--basetemp={folder}/tests", *tests],
            cwd=Path(__file__).parents[2],
            env={
                "HOME": folder, "PATH": os.environ["PATH"], "TMPDIR": folder, "PYTHONDONTWRITEBYTECODE": "1",
                "GATEWAY_ATTEMPTS": "all", "GATEWAY_THOROUGH": "1", "PYTHONPATH": os.pathsep.join(reachable()),
            },
            capture_output=True, text=True, timeout=seconds, check=False,
        )  # fmt: skip
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
    return done.stdout.splitlines()[-1]
