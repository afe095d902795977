"""The watcher: bounds are held against the whole tree, the record says which, and within them all goes well."""

from __future__ import annotations

import os
import select
from typing import TYPE_CHECKING

import pytest

from gateway.model.limits import Limits
from gateway.sandbox import usage
from gateway.sandbox.backends.spaces import Spaces
from gateway.sandbox.bound_record import size
from gateway.sandbox.spawn import Child, spawn, tree
from gateway.sandbox.watch import Watcher

if TYPE_CHECKING:
    from pathlib import Path

PYTHON = "/usr/bin/python3"


class Plain:
    """A tree without a sandbox, as far as the watcher needs it."""

    def __init__(self, child: Child) -> None:
        self.child = child
        self.root = self.pid = child.pid
        self.exited = child.exited
        self.killed = False

    def release(self) -> None: ...

    def signal(self, number: int) -> None: ...

    def wait(self) -> int:
        return self.child.wait()

    def close(self) -> None:
        self.child.close()

    def kill(self) -> None:
        self.killed = True
        for pid in reversed(tree(self.root)):
            try:
                os.kill(pid, 9)
            except ProcessLookupError:
                continue


def watched(text: str, limits: Limits, roots: tuple[str, ...] = ()) -> tuple[list[str], bool]:
    """The limits that were broken, and whether the text ended by itself."""
    output = os.open(os.devnull, os.O_RDWR)
    child = spawn(b"/bin/sh", [b"sh", b"-c", text.encode()], {b"PATH": b"/usr/bin:/bin"}, (output, output, output))
    os.close(output)
    running = Plain(child)
    watcher = Watcher(running, limits, roots)
    watcher.start()
    poll = select.poll()
    poll.register(running.exited, select.POLLIN)
    ended = bool(poll.poll(20_000))
    found = watcher.stop()
    if not ended:
        running.kill()
    running.close()
    return [each.target for each in found], ended and not running.killed


needs_python = pytest.mark.skipif(not os.path.exists(PYTHON), reason="the system has no Python")
FORKS = "for i in 1 2 3 4 5 6 7 8; do sleep 1000 & done; wait"
MEMORY = f"{PYTHON} -c 'x = bytearray(200 << 20); import time; time.sleep(1000)'"
SHARED = (
    f'{PYTHON} -c \'import os, time; f = os.memfd_create("x"); '
    "[os.write(f, bytes(1 << 20)) for _ in range(200)]; time.sleep(1000)'"
)
CPU = "while :; do :; done"


@pytest.mark.parametrize(
    ("text", "limits", "target"),
    [
        pytest.param(FORKS, Limits(processes=4), "processes", id="processes"),
        pytest.param(CPU, Limits(cpu_seconds=0.1), "cpu_seconds", id="processor time"),
        pytest.param(
            f"({CPU}) & ({CPU}) & wait", Limits(cpu_seconds=0.2), "cpu_seconds", id="processor time of several"
        ),
        pytest.param(MEMORY, Limits(memory=100 << 20), "memory", id="memory", marks=needs_python),
        pytest.param(SHARED, Limits(memory=100 << 20), "memory", id="files in memory only", marks=needs_python),
    ],
)
def test_a_breach_ends_the_tree(text: str, limits: Limits, target: str) -> None:
    assert watched(text, limits) == ([target], False)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("for i in 1 2 3; do sleep 0.1 & done; wait", id="processes"),
        pytest.param(
            f"{PYTHON} -c 'x = bytearray(20 << 20); import time; time.sleep(0.2)'", id="memory", marks=needs_python
        ),
        pytest.param("sleep 0.1", id="little"),
    ],
)
def test_within_its_bounds_it_ends_by_itself(text: str) -> None:
    assert watched(text, Limits(memory=100 << 20, processes=8, cpu_seconds=5)) == ([], True)


def test_without_bounds_nothing_is_watched() -> None:
    assert watched("true", Limits()) == ([], True)


@needs_python
def test_memory_that_processes_share_counts_once() -> None:
    """Five processes with the same 60 MB stay within 150 MB."""
    text = (
        f"{PYTHON} -c 'x = bytearray(60 << 20); import os, time; "
        "[os.fork() == 0 and (time.sleep(0.3), os._exit(0)) for _ in range(4)]; time.sleep(0.3)'"
    )
    assert watched(text, Limits(memory=150 << 20)) == ([], True)


def test_disk_counts_what_the_tree_wrote(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    left = iter([1000, 940, 880, 500])
    written = iter([10, 90])
    monkeypatch.setattr(usage, "free", lambda _folders: {1: next(left)})
    monkeypatch.setattr(usage, "written", lambda _pids: next(written))
    watcher = Watcher(Plain.__new__(Plain), Limits(disk=100), (str(tmp_path),))
    watcher._free = usage.free(())
    assert [watcher._disk([]) for _ in range(3)] == [
        False,  # 60 less: within the bound
        False,  # 120 less, but this tree wrote 10: others did it
        True,
    ]


def test_what_others_give_back_of_the_disk_meanwhile_hides_nothing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    left = iter([1000, 1500, 1300])
    monkeypatch.setattr(usage, "free", lambda _folders: {1: next(left)})
    (tmp_path / "file").write_bytes(bytes(200))
    watcher = Watcher(Plain.__new__(Plain), Limits(disk=100), (str(tmp_path),))
    watcher._free = usage.free(())
    watcher._began -= 1  # the kernel's clock for files is a little behind
    assert [watcher._disk([]) for _ in range(2)] == [False, True]


def test_private_folders_count_as_memory() -> None:
    backend = Spaces()
    if not backend.probe().works:
        pytest.skip("namespaces do not hold here")
    from gateway.model.plan import Mount, Network, SandboxPlan
    from gateway.sandbox.base import Streams

    tops = [name for name in ("bin", "lib", "lib32", "lib64", "sbin") if os.path.islink(f"/{name}")]
    links = tuple((f"/{name}", os.readlink(f"/{name}")) for name in tops)
    mounts = [
        Mount(f"/{name}", "read")
        for name in ("bin", "lib", "lib64", "sbin")
        if name not in tops and os.path.isdir(f"/{name}")
    ]
    plan = SandboxPlan(
        (*mounts, Mount("/usr", "read")),
        links,
        ("/tmp",),
        "/tmp",
        (("PATH", "/usr/bin:/bin"),),
        Network(),
        Limits(memory=32 << 20),
    )
    nowhere = os.open(os.devnull, os.O_RDWR)
    argv = ["/bin/sh", "-c", "head -c 25000000 /dev/zero > a; head -c 25000000 /dev/zero > /dev/shm/b; sleep 1000"]
    running = backend.start(plan, argv, Streams(nowhere, nowhere, nowhere))
    watcher = Watcher(running, plan.limits, (), ("/tmp", "/dev/shm"))
    running.release()
    watcher.start()
    status = running.wait()
    found = [each.target for each in watcher.stop()]
    running.close()
    os.close(nowhere)
    assert (status, found) == (137, ["memory"])


@pytest.mark.parametrize(("count", "text"), [(5, "5 bytes"), (2048, "2 KiB"), (1 << 20, "1 MiB"), (3 << 29, "1.5 GiB")])
def test_sizes_are_told_in_units(count: int, text: str) -> None:
    assert size(count) == text
