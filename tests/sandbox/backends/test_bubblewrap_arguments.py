"""The order of bubblewrap's options: what is mounted where, computed from the words, is what the plan says.

The words are read here as bubblewrap carries them out, one after the other: a mount covers all that was mounted at its
place and below before.
"""

from __future__ import annotations

import itertools
import os
import shutil
import tempfile
from typing import TYPE_CHECKING, NamedTuple

import pytest
from hypothesis import given as when
from hypothesis import strategies as st

from gateway.model.limits import Limits
from gateway.model.plan import FIXED, HIDDEN, READ, WRITE, Mount, Network, SandboxPlan
from gateway.sandbox.backends.bubblewrap import Bubblewrap
from gateway.sandbox.backends.bubblewrap_arguments import Given, arguments, shows_host
from gateway.sandbox.base import Streams
from gateway.sandbox.mounts import MASK, steps

from ..world import system

if TYPE_CHECKING:
    from collections.abc import Iterator

OWN, NOTHING, SHUT = "own", "nothing", "shut"  # an empty folder of the call's; nothing there; not to be written
_TAKES = {"--symlink": 2, "--setenv": 2, "--ro-bind-fd": 2, "--bind-fd": 2, "--ro-bind": 2, "--bind": 2, "--file": 2}
_TAKES |= {"--dev-bind": 2, "--dev-bind-fd": 2, "--ro-bind-data": 2}
_ALONE = {"--die-with-parent", "--new-session", "--disable-userns"}


class Seen(NamedTuple):
    """One mount: its place, what it gives, and of which object."""

    path: str
    access: str
    source: str


def carried_out(plan: SandboxPlan) -> list[Seen]:
    """The mounts that the words make, in their order, with what is said of them afterwards."""
    made = steps(plan.mounts, plan.private)
    shown = [step for step in made if shows_host(step)]
    numbers = range(100, 100 + len(shown))
    files = range(1000, 1000 + len(plan.files))
    words = [os.fsdecode(word) for word in arguments(plan, Given(3, 4, 5, tuple(numbers), contents=tuple(files)), made)]
    found = [Seen("/", OWN, "")]
    perms, place = "", 0
    while place < len(words):
        word = words[place]
        taken = 0 if word in _ALONE or word.startswith("--unshare") else _TAKES.get(word, 1)
        first, last = words[place + 1], words[place + taken]
        place += 1 + taken
        if word == "--perms":
            perms = first
        elif word == "--tmpfs":
            found.append(Seen(first, HIDDEN if perms == "0111" else OWN, ""))
        elif word in ("--proc", "--dev"):
            found.append(Seen(first, OWN, word))
        elif word == "--ro-bind-data":
            found.append(Seen(last, READ, "content"))
        elif word.endswith("-fd") and word != "--json-status-fd":
            step = shown[int(first) - 100]
            access = HIDDEN if step.kind == MASK else READ if word == "--ro-bind-fd" else WRITE
            found.append(Seen(last, access, step.path))
        elif word == "--remount-ro":
            at = max(number for number, each in enumerate(found) if each.path == first)
            if found[at].access != HIDDEN:
                found[at] = found[at]._replace(access=SHUT)
    return found


def _is_in(path: str, folder: str) -> bool:
    return (path + "/").startswith(folder.rstrip("/") + "/")


def given_by_words(made: list[Seen], path: str) -> tuple[str, str]:
    """What a path gives and of which object: of the mounts that hold it the last decides."""
    found = next(each for each in reversed(made) if _is_in(path, each.path))
    return found.access, found.source


def given_by_plan(plan: SandboxPlan, path: str) -> tuple[str, str]:
    """The same as the plan says it: the deepest one that holds a path decides."""
    wanted: dict[str, tuple[str, str]] = {
        "/": (SHUT, ""), "/proc": (SHUT, "--proc"), "/proc/1": (SHUT, ""), "/dev": (SHUT, "--dev"),
        "/dev/shm": (OWN, ""),
    }  # fmt: skip
    wanted |= dict.fromkeys(plan.private, (OWN, ""))
    covered = {
        mount.path
        for mount in plan.mounts
        if mount.access == HIDDEN
        and any(
            _is_in(other, mount.path) and other != mount.path
            for other in (*plan.private, *[each.path for each in plan.mounts])
        )
    }
    accesses = {READ: READ, FIXED: READ, WRITE: WRITE, HIDDEN: HIDDEN}
    wanted |= {
        mount.path: (accesses[mount.access], "" if mount.path in covered else mount.path) for mount in plan.mounts
    }
    wanted |= {path: (READ, "content") for path, _content in plan.files}
    return wanted[max((each for each in wanted if _is_in(path, each)), key=lambda each: len(each.rstrip("/")))]


NAMES = st.sampled_from(["a", "b", "ab", "tmp", "dev", "shm"])
PATHS = st.lists(NAMES, min_size=1, max_size=4).map(lambda names: "/" + "/".join(names))


@st.composite
def plans(draw: st.DrawFn) -> SandboxPlan:
    """Any mounts in each other and beside each other, with private folders and contents among them."""
    wanted = draw(st.dictionaries(PATHS, st.sampled_from([READ, WRITE, FIXED, HIDDEN]), max_size=8))
    private = draw(st.sets(PATHS, max_size=3))
    # The folder of devices is the sandbox's own; single ones, and what is in the shared memory, may be planned.
    wanted = {path: access for path, access in wanted.items() if path not in ("/dev", "/dev/shm")}
    private -= {"/dev", "/dev/shm"}
    mounts = tuple(Mount(path, wanted[path]) for path in sorted(wanted))
    readable = [path for path in sorted(wanted) if wanted[path] == READ and not path.startswith("/dev")]
    files = tuple((f"{path}/content", b"x") for path in readable[:1])
    return SandboxPlan(mounts, (), tuple(sorted(private)), "/", (), Network(), Limits(), files=files)


@when(plans(), st.lists(PATHS, max_size=10))
def test_the_words_give_of_every_path_what_the_plan_says(plan: SandboxPlan, others: list[str]) -> None:
    made = carried_out(plan)
    asked = {*others, *plan.private, *[mount.path for mount in plan.mounts], *[path for path, _ in plan.files]}
    for path in (*asked, *[f"{path}/x" for path in asked], "/", "/proc", "/dev", "/dev/null", "/dev/shm"):
        # Devices can be bound as such only, whatever the plan says of them.
        if path.startswith("/dev/") and not path.startswith("/dev/shm") and path != "/dev/null":
            continue
        assert (path, *given_by_words(made, path)) == (path, *given_by_plan(plan, path))


def test_what_is_mounted_without_a_look_at_the_list_of_mounts_comes_last() -> None:
    plan = SandboxPlan(
        (Mount("/h/a/w", WRITE), Mount("/usr", READ)), (), ("/h/a", "/tmp"), "/", (), Network(), Limits()
    )
    places = [each.path for each in carried_out(plan)]
    assert places == ["/", "/proc", "/proc/1", "/dev", "/h/a", "/h/a/w", "/usr", "/dev/shm", "/tmp"]


def test_what_is_planned_in_the_shared_memory_lies_on_it() -> None:
    plan = SandboxPlan((Mount("/dev/shm/x", READ),), (), (), "/", (), Network(), Limits())
    assert [each.path for each in carried_out(plan)] == ["/", "/proc", "/proc/1", "/dev", "/dev/shm", "/dev/shm/x"]


@pytest.mark.parametrize(
    ("permits", "access"), [((), SHUT), (("perf",), SHUT), (("ptrace",), OWN), (("namespaces",), OWN)]
)
def test_what_the_kernel_shows_may_be_written_by_calls_that_trace_or_make_namespaces_alone(
    permits: tuple[str, ...], access: str
) -> None:
    plan = SandboxPlan((Mount("/usr", READ),), (), (), "/", (), Network(), Limits(), permits=permits)
    assert given_by_words(carried_out(plan), "/proc/self") == (access, "--proc")


TREE = ["/".join(names) for length in (1, 2, 3) for names in itertools.product("ab", repeat=length)]
LOOK = r"""
for each in "$@"; do
  read -r line < "$each/x" && [ "$line" = "$each" ] && r=r || r=-
  { true > "$each/new"; } && w=w || w=-
  echo "$r$w"
done 2> /dev/null
"""
RIGHTS = {READ: "r-", WRITE: "rw", HIDDEN: "--", OWN: "-w", SHUT: "--"}


@pytest.fixture(scope="module")
def backend() -> Bubblewrap:
    backend = Bubblewrap()
    probe = backend.probe()
    if not probe.works:
        pytest.skip(f"bubblewrap does not hold here: {probe.reason}")
    return backend


@pytest.fixture(scope="module", params=["/tmp", "/dev/shm"])
def top(request: pytest.FixtureRequest) -> Iterator[str]:
    """A folder full of folders, each with a file that holds its path."""
    if not os.access(request.param, os.W_OK):
        pytest.skip(f"nothing can be made in {request.param}")
    folder = os.path.realpath(tempfile.mkdtemp(dir=request.param))
    for path in TREE:
        os.makedirs(f"{folder}/{path}")
        with open(f"{folder}/{path}/x", "w", encoding="utf-8") as file:
            file.write(f"{folder}/{path}\n")
    yield folder
    shutil.rmtree(folder)


def rights(backend: Bubblewrap, plan: SandboxPlan, paths: list[str]) -> list[str]:
    """What a command can do in each folder: read what it holds on the host, and write."""
    nowhere = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
    said = os.memfd_create("said")
    try:
        running = backend.start(plan, ["/bin/sh", "-c", LOOK, "sh", *paths], Streams(nowhere, said, nowhere))
        try:
            running.release()
        finally:
            running.wait()
            running.close()
        return os.pread(said, 1 << 16, 0).decode().split()
    finally:
        os.close(said)
        os.close(nowhere)


@when(
    wanted=st.dictionaries(st.sampled_from(TREE), st.sampled_from([READ, WRITE, FIXED, HIDDEN]), max_size=6),
    private=st.sets(st.sampled_from(TREE), max_size=2),
)
def test_a_command_can_do_in_every_folder_what_the_plan_says(
    backend: Bubblewrap, top: str, wanted: dict[str, str], private: set[str]
) -> None:
    mounts, links = system()
    mounts += tuple(Mount(f"{top}/{path}", access) for path, access in wanted.items())
    plan = SandboxPlan(
        tuple(sorted(mounts)), links, tuple(sorted(f"{top}/{path}" for path in private)), "/", (), Network(), Limits()
    )
    paths = [f"{top}/{path}" for path in TREE]
    found = dict(zip(paths, rights(backend, plan, paths), strict=True))
    there = [*plan.private, *[mount.path for mount in mounts]]
    for path in paths:
        access = given_by_plan(plan, path)[0]
        if access == OWN and not any(_is_in(each, path) for each in there):
            access = SHUT  # nobody has made it
        assert (path, found[path]) == (path, RIGHTS[access])
