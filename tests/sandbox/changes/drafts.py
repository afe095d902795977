"""A workspace whose programs run on a layer over it, without a sandbox around them."""

from __future__ import annotations

import ctypes
import os
import random
from typing import TYPE_CHECKING

from sandbox.changes.worlds import fill, tree

from gateway.core.plainjson import dumps
from gateway.sandbox.changes.area import Area
from gateway.sandbox.changes.leaving import leave_draft
from gateway.sandbox.changes.store import Store

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from gateway.sandbox.changes.store import ChangeSet

_NEW_USER, _NEW_MOUNTS = 0x10000000, 0x00020000


class Drafts:
    """A workspace, its store, and programs that change nothing but a layer."""

    def __init__(self, top: Path, state: Path | None = None) -> None:
        self.top = top / "workspace"
        self.top.mkdir()
        self.store = Store(str((state or top) / "state"))

    def run(self, program: Callable[[], object]) -> ChangeSet:
        """Has a child run a program on a layer over the workspace: what is to be decided about."""
        self.settle()
        writing = self.store.begin("program", "Bash", "", str(self.top), Area([str(self.top)]))
        writing.journal.close()
        folder = self.store.path(writing.made.number, "draft")
        os.makedirs(f"{folder}/0/upper")
        os.mkdir(f"{folder}/0/work")
        with open(f"{folder}/layers", "w", encoding="utf-8") as file:
            file.write(dumps([[0, str(self.top), str(self.top)]]))
        made = writing.made.replace(began=os.stat(f"{folder}/layers").st_ctime_ns)
        self.store.put(made)
        in_child(lambda: self._laid_over(f"{folder}/0", program))
        return leave_draft(self.store, made)

    def _laid_over(self, layer: str, program: Callable[[], object]) -> None:
        user, group = os.geteuid(), os.getegid()
        libc = ctypes.CDLL(None, use_errno=True)
        assert libc.unshare(_NEW_USER | _NEW_MOUNTS) == 0, os.strerror(ctypes.get_errno())
        for name, text in (("setgroups", "deny"), ("uid_map", f"{user} {user} 1"), ("gid_map", f"{group} {group} 1")):
            with open(f"/proc/self/{name}", "w", encoding="ascii") as file:
                file.write(text)
        top = os.fsencode(self.top)
        options = b"lowerdir=%b,upperdir=%b/upper,workdir=%b/work,userxattr,volatile" % (
            top, os.fsencode(layer), os.fsencode(layer),
        )  # fmt: skip
        assert libc.mount(b"overlay", top, b"overlay", ctypes.c_ulong(0), options) == 0, os.strerror(ctypes.get_errno())
        if user:  # nor has whoever runs a program directly the rights that it takes to mount
            give_up_rights()
        os.chdir(self.top)
        program()

    def settle(self) -> None:
        """Waits until whatever is changed from now on is told to have been changed later than what there is."""
        last = max([os.lstat(place).st_ctime_ns for place, _folders, _files in os.walk(self.top)], default=0)
        for place, folders, files in os.walk(self.top):
            last = max([last, *[os.lstat(os.path.join(place, name)).st_ctime_ns for name in folders + files]])
        stamp = f"{self.store.folder}.stamp"
        os.makedirs(os.path.dirname(stamp), exist_ok=True)
        while True:
            with open(stamp, "w", encoding="ascii"):
                os.utime(stamp)
            if os.stat(stamp).st_ctime_ns > last:
                return

    def tree(self) -> dict[str, tuple[object, ...]]:
        """All there is, as it would be at any place."""
        return placeless(self.top)


def placeless(top: Path) -> dict[str, tuple[object, ...]]:
    """All there is below a folder; what is one file by the first of its names."""
    found = tree(top)
    return {
        path: (mode, content, os.path.relpath(str(twin), top) if twin else "")
        for path, (mode, content, twin) in found.items()
    }


def give_up_rights() -> None:
    """From now on modes of files hold for this process, whoever it is."""
    header, none = (ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)()
    assert ctypes.CDLL(None, use_errno=True).capset(header, none) == 0, os.strerror(ctypes.get_errno())


def in_child(does: Callable[[], object]) -> int:
    """Does it in a process of its own: its exit status."""
    child = os.fork()
    if not child:
        status = 1
        try:
            does()
            status = 0
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def run_directly(top: Path, seed: str, program: Callable[[], None]) -> dict[str, tuple[object, ...]]:
    """What a program leaves of the same tree without any layer."""
    top.mkdir()
    fill(top, random.Random(seed), twins=False)

    def run() -> None:
        os.chdir(top)
        program()

    assert in_child(run) == 0
    return placeless(top)


def layers_hold(top: Path) -> bool:
    """Whether a layer can be laid over a folder here."""
    try:
        drafts = Drafts(top)
        found = drafts.run(lambda: (drafts.top / "x").write_text("x"))
        return os.path.exists(f"{drafts.store.path(found.number, 'draft')}/0/upper/x")
    except (AssertionError, OSError):
        return False
