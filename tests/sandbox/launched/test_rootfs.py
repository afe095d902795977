"""What is laid out before it is known which call it is for: nothing of it may differ from what that call would get."""

from __future__ import annotations

import os
import select
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest

from gateway.model.limits import Limits
from gateway.model.plan import HIDDEN, READ, WRITE, Mount, Network, SandboxPlan
from gateway.sandbox.base import SandboxError
from gateway.sandbox.spawn import children

from ..started import LINKS, Call, shell

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from gateway.sandbox.backends.launcher import Launcher
    from gateway.sandbox.backends.spaces import Spaces

SYSTEM = tuple(Mount(path, READ) for path in ("/usr", "/etc") if os.path.isdir(path))
SECRET = "what nobody may read"


@pytest.fixture
def tools(tmp_path: Path) -> Path:
    """A folder apart from where calls work, that they may read, with something hidden in it."""
    (tmp_path / "work").mkdir()
    found = tmp_path / "tools"
    for name, text in (
        ("shown", "old"),
        ("hidden", SECRET),
        ("inner/key", SECRET),
        ("box/key", SECRET),
        ("box/in/x", "x"),
    ):
        (found / name).parent.mkdir(parents=True, exist_ok=True)
        (found / name).write_text(text)
    (tmp_path / "file").write_text("old")
    return found


def plan_of(tools: Path, *more: Mount) -> SandboxPlan:
    top = tools.parent
    mounts = {
        each.path: each
        for each in (
            *SYSTEM,
            Mount(str(tools), READ),
            Mount(f"{tools}/hidden", HIDDEN, False),
            Mount(f"{tools}/inner", HIDDEN),
            Mount(f"{tools}/box", HIDDEN),
            Mount(f"{tools}/box/in", READ),
            Mount(f"{top}/file", READ, False),
            Mount(f"{top}/work", WRITE),
            *more,
        )
    }
    environment = (("PATH", "/usr/bin:/bin"),)
    return SandboxPlan(
        tuple(sorted(mounts.values())), LINKS, ("/root", "/tmp"), f"{top}/work", environment, Network(), Limits()
    )


def said(backend: Spaces, plan: SandboxPlan, text: str) -> tuple[int, str]:
    """What a call prints, and the process that it ran in."""
    with Call(backend, plan, shell(f"exec 2> /dev/null; {text}")) as call:
        root = call.running.root
        call.running.release()
        call.running.wait()
        call.running.close()
        return root, b"".join(iter(lambda: os.read(call.read, 4096), b"")).decode()


def prepared(backend: Spaces, own: Launcher, plan: SandboxPlan) -> int:
    """The process in which everything is laid out for the call that comes next."""
    for _ in range(2):
        said(backend, plan, "true")
    assert own._process is not None
    poll = select.poll()
    late = tuple(f"{mount.path}/" for mount in plan.mounts if mount.access == WRITE)
    wanted = {f"/new{mount.path}".encode() for mount in plan.mounts if not f"{mount.path}/".startswith(late)}
    for _ in range(1000):
        for pid in children(own._process.pid):
            with suppress(OSError), open(f"/proc/{pid}/mountinfo", "rb") as file:  # one that ends has none
                if wanted <= {line.split()[4] for line in file}:
                    return pid
        poll.poll(10)
    raise AssertionError("nothing was laid out")


def test_what_is_laid_out_is_what_the_call_gets(backend: Spaces, own: Launcher, tools: Path) -> None:
    plan = plan_of(tools)
    ready = prepared(backend, own, plan)
    assert said(backend, plan, f"cat {tools}/shown {tools}/box/in/x; cat {tools}/hidden {tools}/inner/key") == (
        ready,
        "oldx",
    )


def replaced(path: Path, text: str) -> None:
    """As an editor saves."""
    other = path.with_name("new name")
    other.write_text(text)
    other.rename(path)


def made_anew(folder: Path, name: str, text: str) -> None:
    folder.rename(folder.with_name("elsewhere"))
    (folder / name).parent.mkdir(parents=True)
    (folder / name).write_text(text)


@pytest.mark.parametrize(
    ("meanwhile", "text", "found"),
    [
        pytest.param(lambda t: replaced(t.parent / "file", "new"), "cat {t}/../file", "new", id="a file is replaced"),
        pytest.param(lambda t: made_anew(t, "shown", "new"), "cat {t}/shown", None, id="a folder is, with all in it"),
        pytest.param(lambda t: replaced(t / "hidden", SECRET), "cat {t}/hidden", "", id="what is hidden is replaced"),
        pytest.param(lambda t: made_anew(t / "inner", "key", SECRET), "cat {t}/inner/key", "", id="a hidden folder is"),
        pytest.param(
            lambda t: made_anew(t / "box", "in/key", SECRET),
            "cat {t}/box/in/key {t}/box/key; echo .",
            f"{SECRET}.\n",
            id="one of which something is shown is, and that alone is shown",
        ),
        pytest.param(
            lambda t: (made_anew(t / "box", "in/key", "new"), (t / "box/key").write_text(SECRET)),
            "cat {t}/box/key; ls {t}/box; cat {t}/box/in/key",
            "new",
            id="and what is beside that stays hidden",
        ),
        pytest.param(lambda t: (t / "shown").write_text("new"), "cat {t}/shown", "new", id="a file is written"),
        pytest.param(lambda t: (t / "hidden").write_text("more"), "cat {t}/hidden", "", id="what is hidden is written"),
        pytest.param(
            lambda t: ((t.parent / "file").rename(t.parent / "was"), (t.parent / "file").symlink_to("/etc/passwd")),
            "cat {t}/../file",
            None,
            id="a file becomes a link",
        ),
        pytest.param(
            lambda t: (t.rename(t.parent / "was"), t.symlink_to(t.parent / "was")),
            "cat {t}/hidden",
            None,
            id="a folder does",
        ),
        pytest.param(
            lambda t: ((t.parent / "file").unlink(), (t.parent / "file").mkdir()),
            "ls {t}/../file",
            None,
            id="a file becomes a folder",
        ),
        pytest.param(lambda t: (t.parent / "file").unlink(), "cat {t}/../file", None, id="a file goes"),
        pytest.param(lambda t: (t / "hidden").unlink(), "cat {t}/hidden", None, id="what is hidden goes"),
        pytest.param(
            lambda t: (t.rename(t.parent / "a"), (t.parent / "a").rename(t)), "cat {t}/hidden {t}/shown", "old",
            id="a folder goes away and comes back",
        ),
        pytest.param(
            lambda t: ((t / "hidden").rename(t / "a"), (t / "a").rename(t / "hidden")), "cat {t}/hidden", "",
            id="what is hidden does",
        ),
    ],
)  # fmt: skip
def test_what_has_changed_since_is_seen_as_a_call_without_it_would(
    backend: Spaces, own: Launcher, tools: Path, meanwhile: Callable[[Path], object], text: str, found: str | None
) -> None:
    """`found` is None where there is no call: its plan was made from what is not there any more."""
    plan = plan_of(tools)
    prepared(backend, own, plan)
    meanwhile(tools)
    command = text.format(t=tools)
    if found is None:
        with pytest.raises(SandboxError, match=r"no longer what it was|has gone"):
            said(backend, plan, command)
    else:
        assert said(backend, plan, command)[1] == found


@pytest.mark.parametrize(
    ("more", "text", "found"),
    [
        pytest.param([("shown", HIDDEN, False)], "cat {t}/shown", "", id="more is hidden"),
        pytest.param([("", HIDDEN, True)], "cat {t}/shown; ls {t}", "", id="all of it is"),
        pytest.param(
            [("shown", WRITE, False)], "echo new > {t}/shown; cat {t}/shown", "new\n", id="one may be written"
        ),
        pytest.param([("hidden", READ, False)], "cat {t}/hidden", SECRET, id="one is not hidden any more"),
    ],
)
def test_other_rules_are_those_of_the_call(
    backend: Spaces, own: Launcher, tools: Path, more: list[tuple[str, str, bool]], text: str, found: str
) -> None:
    plan = plan_of(tools)
    prepared(backend, own, plan)
    others = [Mount(f"{tools}/{name}".rstrip("/"), access, folder) for name, access, folder in more]
    if more[0][0] == "":
        kept = [mount for mount in plan.mounts if not mount.path.startswith(str(tools))]
        changed = plan.replace(mounts=tuple(sorted([*kept, *others])))
    else:
        changed = plan_of(tools, *others)
    assert said(backend, changed, text.format(t=tools))[1] == found
    ready = prepared(backend, own, changed)
    assert said(backend, changed, text.format(t=tools)) == (ready, found)
    look = f"cat {tools}/hidden {tools}/inner/key; echo new >> {tools}/box/in/x; cat {tools}/box/in/x"
    assert said(backend, plan, look)[1] == "x"


def test_nothing_of_an_earlier_call_is_reached(backend: Spaces, own: Launcher, tools: Path) -> None:
    plan = plan_of(tools)
    for _ in range(3):
        said(
            backend, plan, "echo left > /tmp/left; echo left > /root/left; echo left > /dev/shm/left; sleep 1000 & true"
        )
    ready = prepared(backend, own, plan)
    look = "cat /tmp/* /root/* /dev/shm/*; echo /proc/[0-9]*/cmdline; ls /proc/self/fd"
    root, found = said(backend, plan, look)
    assert (root, found.replace("\n", " ").split()[-4:]) == (ready, ["0", "1", "2", "3"])  # the last one is that of ls
    assert "left" not in found
    assert len([each for each in found.split() if each.endswith("/cmdline")]) <= 2


def test_what_a_call_is_started_with_is_not_known_to_who_waits_for_the_next(
    backend: Spaces, own: Launcher, tools: Path
) -> None:
    plan = plan_of(tools)
    told = plan.replace(environment=(*plan.environment, ("TOKEN", "s3cr3t-" + "of-one-call")))
    said(backend, told, "true")
    ready = prepared(backend, own, told)
    held = 0
    with open(f"/proc/{ready}/maps") as maps, open(f"/proc/{ready}/mem", "rb", buffering=0) as memory:
        for line in maps:
            place, rights, *_rest = line.split()
            start, end = (int(each, 16) for each in place.split("-"))
            if rights.startswith("rw"):
                memory.seek(start)
                held += 1
                assert b"s3cr3t-of-one-call" not in memory.read(end - start)
    assert held


def test_calls_of_two_kinds_that_take_turns_have_each_its_own(backend: Spaces, tools: Path) -> None:
    plan = plan_of(tools)
    other = plan_of(tools, Mount(f"{tools}/shown", HIDDEN, False))
    for _ in range(4):
        assert said(backend, plan, f"cat {tools}/shown; cat {tools}/hidden")[1] == "old"
        assert said(backend, other, f"cat {tools}/shown; cat {tools}/hidden")[1] == ""
