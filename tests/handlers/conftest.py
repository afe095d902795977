"""A small world on the disk in which file tools are called as the engine calls them: judged, then run."""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from warmed import warm

from gateway.api.gateway import Gateway
from gateway.calls.handlers import handler
from gateway.calls.session import Session
from gateway.calls.work import Work
from gateway.config.load import Options
from gateway.core.places import Places
from gateway.model.call import RawCall

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from gateway.calls.output import Output
    from gateway.model.verdict import Verdict

POLICY = """\
version: 1
deny: ["Read(~/deny/**)", "Edit(~/deny/**)"]
allow: ["Read(~/out/**)", "Edit(~/out/**)"]
"""
NOBODY = 65534


class Never:
    """A cancellation that does not come."""

    is_set = False


class Bench:
    """`home` holds the project `p`, which calls are made from, `out`, which is open, and `deny`, which is closed."""

    def __init__(self, base: str, cache: str = "", like: Gateway | None = None) -> None:
        """`cache`: a folder with what was compiled before, for this very `base`; one of its own without. `like`: the
        gateway of a world that was in this place before."""
        self.home = f"{base}/home"
        self.project = f"{self.home}/p"
        for folder in (f"{self.project}/.git", f"{self.home}/out", f"{self.home}/deny", f"{base}/config"):
            os.makedirs(folder)
        Path(base, "config", "policy.yaml").write_text(POLICY, encoding="utf-8")
        Path(self.home, "deny", "key").write_text("SECRET\n", encoding="utf-8")
        where = Places(f"{base}/etc", f"{base}/config", f"{base}/state", cache or warm(f"{base}/cache"), self.home)
        environment = {"PATH": "/usr/bin:/bin"}
        if like is None:
            self.gateway = Gateway(Options(self.project), where=where, environment=environment)
        else:
            self.gateway = like.afresh(self.project, environment)
        self.session = Session(self.gateway.context)
        self.cancel: Any = Never()
        self.may_read: Callable[[str], bool] = lambda path: not path.startswith(f"{self.home}/deny")

    def check(self, tool: str, **given: Any) -> Verdict:
        """The verdict on a call."""
        return self.gateway.check(RawCall(tool, given))

    def run(self, verdict: Verdict) -> Output:
        """Does what was judged."""
        work = Work(
            verdict, verdict.context, self.gateway, self.session, self.cancel, self.may_read, lambda _progress: None
        )
        return handler(self.gateway.registry.tool(verdict.call.tool).entry)(verdict.call, work)

    def __call__(self, tool: str, **given: Any) -> Output:
        """A call that policy does not deny; what it asks, somebody has said yes to."""
        verdict = self.check(tool, **given)
        assert verdict.decision.word != "deny"
        return self.run(verdict)

    def path(self, name: str) -> str:
        """The path of a name in the project."""
        return f"{self.project}/{name}"

    def write(self, name: str, content: str | bytes) -> str:
        """A file in the project, and its path."""
        path = Path(self.project, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return str(path)

    def rest(self, name: str, seconds: float = 3600.0) -> None:
        """Makes a file one that has not changed for a while, as far as a stamp without `ctime` can tell."""
        found = os.stat(self.path(name))
        os.utime(self.path(name), ns=(found.st_mtime_ns, found.st_mtime_ns - int(seconds * 1e9)))

    def everything(self) -> dict[str, tuple[Any, ...]]:
        """All that is in `home`: by path from there its kind, mode and content."""
        found: dict[str, tuple[Any, ...]] = {}
        closing: list[tuple[bytes, int]] = []
        pending = [os.fsencode(self.home)]
        start = len(pending[0]) + 1
        while pending:
            folder = pending.pop()
            closed = stat.S_IMODE(os.stat(folder).st_mode)
            os.chmod(folder, 0o700)  # for a look, where a case has closed it
            with os.scandir(folder) as entries:
                for entry in list(entries):
                    seen = entry.stat(follow_symlinks=False)
                    name = os.fsdecode(entry.path[start:])
                    mode = stat.S_IMODE(seen.st_mode)
                    if entry.is_symlink():
                        found[name] = ("link", os.readlink(os.fsdecode(entry.path)))
                    elif entry.is_dir(follow_symlinks=False):
                        found[name] = ("dir", mode)
                        pending.append(entry.path)
                    elif stat.S_ISREG(seen.st_mode):
                        found[name] = ("file", mode, seen.st_uid, _content(entry.path))
                    else:
                        found[name] = ("special", seen.st_mode, seen.st_rdev)
            closing.append((folder, closed))
        for folder, mode in reversed(closing):
            os.chmod(folder, mode)
        return found


def _content(path: bytes) -> bytes:
    """What is in a file; as root, whatever its mode."""
    mine = os.geteuid()
    if os.getuid() == 0:
        os.seteuid(0)
    try:
        return Path(os.fsdecode(path)).read_bytes()
    except PermissionError:
        return b"(closed)"
    finally:
        os.seteuid(mine)


class Shelf:
    """Where worlds are made, one after the other in one place, so that their policy is compiled and read once."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._cache = warm(f"{folder}/cache")
        self._number = 0
        self._gateway: Gateway | None = None

    @contextmanager
    def world(self) -> Iterator[Bench]:
        """A new one; what became of it stays under another name."""
        now = f"{self._folder}/now"
        made = Bench(now, self._cache, self._gateway)
        self._gateway = self._gateway or made.gateway.afresh(made.project, made.gateway.environment)
        with made.session:
            yield made
        self._number += 1
        os.rename(now, f"{self._folder}/{self._number}")


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Shelf:
    """Where the worlds of a module are made."""
    return Shelf(os.path.realpath(tmp_path_factory.mktemp("bench")))


@pytest.fixture
def bench(shelf: Shelf) -> Iterator[Bench]:
    """The world, anew for each test."""
    with shelf.world() as made:
        yield made


@pytest.fixture
def ordinary() -> Iterator[Bench]:
    """The same for an ordinary user: whoever runs the tests, or, if that is root, nobody."""
    base = os.path.realpath(tempfile.mkdtemp())
    is_root = os.geteuid() == 0
    groups = os.getgroups()
    try:
        if is_root:
            Path(base).chmod(0o755)
            os.chown(base, NOBODY, NOBODY)
            os.setgroups([])
            os.setegid(NOBODY)
            os.seteuid(NOBODY)
        made = Bench(base)
        with made.session:
            yield made
    finally:
        if is_root:
            os.seteuid(0)
            os.setegid(0)
            os.setgroups(groups)
        for folder, names, _ in os.walk(base):
            for name in names:
                if not os.path.islink(f"{folder}/{name}"):
                    os.chmod(f"{folder}/{name}", 0o700)
        shutil.rmtree(base)
