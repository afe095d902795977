"""A workspace whose programs are saved without a sandbox around them: they run in a child whose calls are told of."""

from __future__ import annotations

import os
import pickle
import random
import socket
import stat
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from gateway.sandbox.changes.area import Area
from gateway.sandbox.changes.leaving import finish
from gateway.sandbox.changes.listening import Listening
from gateway.sandbox.changes.saver import Saver
from gateway.sandbox.changes.store import Store
from gateway.sandbox.launched.kernel import NO_NEW_PRIVILEGES, control, tell_of_calls
from gateway.sandbox.seccomp import changes_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from gateway.sandbox.changes.store import ChangeSet

_T = TypeVar("_T")
NOBODY = 65534
SEEN = 4  # PR_SET_DUMPABLE
NAMES = ("a", "b", "c", "d", "e")


def changed(store: Store, root: Path, call: str, names: Iterable[str], said: Iterable[str] = ()) -> ChangeSet | None:
    """What is kept of a call that has written files, and said of some of them beforehand that it does."""
    area = Area([str(root)])
    writing = store.begin(call, "Bash", "", str(root), area, named=[str(root / name) for name in said])
    saver = Saver(area, writing.old, writing.journal.note, writing.room)
    for name in names:
        saver.make_way(str(root / name))
        saver.content(str(root / name))
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(call)
    writing.journal.close()
    return finish(store, writing.made)


class World:
    """A workspace and its store."""

    def __init__(self, top: Path) -> None:
        self.top = top / "workspace"
        self.top.mkdir(exist_ok=True)
        self.store = Store(str(top / "state"))

    def run(self, program: Callable[[], None]) -> ChangeSet | None:
        """Has a child run a program in the workspace, saved: what it changed."""
        area = Area([str(self.top)])
        writing = self.store.begin("program", "Bash", "", str(self.top), area)
        saver = Saver(area, writing.old, writing.journal.hold, writing.room)
        ours, theirs = socket.socketpair()
        child = os.fork()
        if not child:
            status = 1
            try:
                control("no new privileges", NO_NEW_PRIVILEGES, 1)
                listener, _why = tell_of_calls(changes_of(os.uname().machine))
                socket.send_fds(theirs, [b"!"], [listener])
                os.close(listener)
                theirs.recv(1)
                os.chdir(self.top)
                program()
                status = 0
            finally:
                os._exit(status)
        listener = socket.recv_fds(ours, 1, 1)[1][0]
        listening = Listening(listener, saver, writing.journal.flush)
        ours.send(b"!")
        status = os.waitpid(child, 0)[1]
        listening.stop()
        os.close(listener)
        ours.close()
        theirs.close()
        writing.journal.close()
        assert status == 0
        assert saver.missed == {}, saver.missed
        return finish(self.store, writing.made)

    def tree(self) -> dict[str, tuple[object, ...]]:
        """All there is: kinds, modes, contents, and which names are one file."""
        return tree(self.top)


def as_user(does: Callable[[], _T]) -> _T:
    """What something gives that an ordinary user does: in a child where root runs the tests, else at once."""
    if os.geteuid():
        return does()
    reads, writes = os.pipe()
    child = os.fork()
    if not child:
        try:
            os.close(reads)
            os.setgroups([])
            os.setresgid(NOBODY, NOBODY, NOBODY)
            os.setresuid(NOBODY, NOBODY, NOBODY)
            control("to be seen by its own user", SEEN, 1)  # /proc/self is closed to who has changed who they are
            try:
                said = pickle.dumps((does(), ""))
            except BaseException:
                said = pickle.dumps((None, traceback.format_exc()))
            with open(writes, "wb") as file:
                file.write(said)
        finally:
            os._exit(0)
    os.close(writes)
    with open(reads, "rb") as file:
        given = file.read()
    os.waitpid(child, 0)
    value, failed = pickle.loads(given)
    assert not failed, failed
    return value  # type: ignore[no-any-return]


def tree(top: Path) -> dict[str, tuple[object, ...]]:
    """Every name below a folder, with all that is to come back."""
    found: dict[str, tuple[object, ...]] = {}
    firsts: dict[int, str] = {}
    for place, folders, files in os.walk(top):
        for name in sorted(folders + files):
            path = os.path.join(place, name)
            try:
                looked = os.lstat(path)
            except PermissionError:  # the folder is closed to whoever looks
                continue
            content: bytes | str = b""
            twin = ""
            if stat.S_ISLNK(looked.st_mode):
                content = os.readlink(path)
            elif stat.S_ISREG(looked.st_mode):
                content = Path(path).read_bytes() if os.access(path, os.R_OK) else "closed"
                twin = firsts.setdefault(looked.st_ino, path) if looked.st_nlink > 1 else ""
            found[os.path.relpath(path, top)] = (looked.st_mode, content, twin)
    twins: dict[object, int] = {}
    for _mode, _content, twin in found.values():
        twins[twin] = twins.get(twin, 0) + 1
    return {path: (mode, content, twin if twins[twin] > 1 else "") for path, (mode, content, twin) in found.items()}


def fill(top: Path, chance: random.Random, *, twins: bool = True) -> None:
    """Something to begin with: nested folders, files, links of both kinds, or with one name for each file."""
    folders = [top]
    for _ in range(chance.randrange(8)):
        folder = chance.choice(folders) / chance.choice(NAMES)
        if not folder.exists():
            folder.mkdir()
            folders.append(folder)
    files: list[Path] = []
    for number in range(chance.randrange(12)):
        path = chance.choice(folders) / chance.choice(NAMES)
        if path.exists() or path.is_symlink():
            continue
        what = chance.randrange(6)
        if what == 0 and files and twins:
            os.link(chance.choice(files), path)
        elif what == 1:
            path.symlink_to(chance.choice(NAMES))
        elif what == 2:
            os.mkfifo(path)
        else:
            path.write_bytes(b"%d" % number * chance.randrange(4))
            path.chmod(chance.choice((0o644, 0o600, 0o755, 0o444)))
            files.append(path)


def program(seed: int, steps: int, *, folders_move: bool = True) -> Callable[[], None]:
    """A random program; what fails, fails."""

    def run() -> None:
        chance = random.Random(seed)

        def name() -> str:
            return "/".join(chance.choice(NAMES) for _ in range(chance.choice((1, 1, 2, 2, 3))))

        def write(path: str, mode: str) -> None:
            if not os.path.exists(path) or stat.S_ISREG(os.stat(path).st_mode):
                with open(path, mode) as file:
                    file.write(b"new%d" % chance.randrange(100))

        def many(path: str) -> None:
            import shutil

            if os.path.isdir(path) and not os.path.islink(path):
                shutil.rmtree(path)

        def swap(path: str) -> None:
            import ctypes

            other = name()
            if may_move(path, other):
                ctypes.CDLL(None).renameat2(-100, path.encode(), -100, other.encode(), 2)

        def may_move(*paths: str) -> bool:
            return folders_move or not any(os.path.isdir(each) and not os.path.islink(each) for each in paths)

        def move(path: str, other: str, how: Callable[[str, str], None]) -> None:
            if may_move(path, other):
                how(path, other)

        steps_there_are: tuple[Callable[[str], object], ...] = (
            lambda path: write(path, "wb"),
            lambda path: write(path, "ab"),
            lambda path: write(path, "r+b"),
            os.unlink,
            os.rmdir,
            os.mkdir,
            lambda path: os.makedirs(path, exist_ok=True),
            lambda path: move(path, name(), os.rename),
            lambda path: move(path, name(), os.replace),
            lambda path: os.link(path, name(), follow_symlinks=False),
            lambda path: os.symlink(chance.choice((name(), f"../{name()}")), path),
            lambda path: os.chmod(path, chance.choice((0o600, 0o644, 0o700, 0o755))),
            lambda path: os.truncate(path, 1) if os.path.isfile(path) else None,
            os.mkfifo,
            many,
            swap,
        )
        for _ in range(steps):
            try:
                chance.choice(steps_there_are)(name())
            except OSError:
                continue

    return run
