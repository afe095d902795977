"""Bubblewrap: its arguments whole, and the life of a call from waiting to ended."""

from __future__ import annotations

import errno
import os
import stat
import subprocess
from typing import TYPE_CHECKING

import pytest

from gateway.core import programs
from gateway.core.programs import refusal
from gateway.model.limits import Limits
from gateway.model.plan import FIXED, HIDDEN, READ, WRITE, Mount, Network, SandboxPlan
from gateway.sandbox import attempts
from gateway.sandbox.backends import bubblewrap_probe, whole_attempts
from gateway.sandbox.backends.bubblewrap import Bubblewrap
from gateway.sandbox.backends.bubblewrap_arguments import Given, arguments
from gateway.sandbox.backends.bubblewrap_program import Program, find
from gateway.sandbox.base import SandboxError, Streams

from ..started import LINKS, Call, odd_plan, shell

if TYPE_CHECKING:
    from pathlib import Path

PLAIN = SandboxPlan((), (), (), "/", (), Network(), Limits())


def test_the_arguments_of_a_plan_are_these() -> None:
    plan = SandboxPlan(
        (
            Mount("/usr", READ, rule="r"),
            Mount("/w \udcff\n", WRITE),
            Mount("/w \udcff\n/.env", HIDDEN, False),
            Mount("/w \udcff\n/a/.git/hooks", FIXED),
            Mount("/h/.ssh", HIDDEN),
            Mount("/h/.ssh/known_hosts", READ, False),
        ),
        (("/bin", "usr/bin"),),
        ("/h", "/tmp"),
        "/w \udcff\n",
        (("A", "x\udcfe"), ("PATH", "/usr/bin")),
        Network(),
        Limits(memory=1 << 20),
    )
    given = Given(gate=3, status=4, built=5, sources=(10, 11, 12, 13, 14, 15, 16, 17))
    assert b"\n--".join(arguments(plan, given)).replace(b"\n----", b"\n--") == (
        b"--unshare-user\n--unshare-pid\n--unshare-net\n--unshare-ipc\n--unshare-uts\n--unshare-cgroup-try"
        b"\n--cap-drop\n--ALL\n--die-with-parent\n--hostname\n--sandbox\n--disable-userns\n--new-session"
        b"\n--setenv\n--A\n--x\xfe\n--setenv\n--PATH\n--/usr/bin\n--symlink\n--usr/bin\n--/bin\n--proc\n--/proc"
        b"\n--perms\n--0555\n--size\n--4096\n--tmpfs\n--/proc/1\n--remount-ro\n--/proc/1\n--remount-ro\n--/proc"
        b"\n--dev\n--/dev\n--remount-ro\n--/dev"
        b"\n--perms\n--0700\n--size\n--1048576\n--tmpfs\n--/h"
        b"\n--perms\n--0111\n--size\n--1048576\n--tmpfs\n--/h/.ssh"
        b"\n--ro-bind-fd\n--10\n--/h/.ssh/known_hosts"
        b"\n--ro-bind-fd\n--11\n--/usr"
        b"\n--bind-fd\n--12\n--/w \xff\n\n--bind-fd\n--13\n--/w \xff\n/a\n--bind-fd\n--14\n--/w \xff\n/a/.git"
        b"\n--bind-fd\n--15\n--/w \xff\n"
        b"\n--ro-bind-fd\n--16\n--/w \xff\n/.env\n--ro-bind-fd\n--17\n--/w \xff\n/a/.git/hooks"
        b"\n--perms\n--1777\n--size\n--1048576\n--tmpfs\n--/dev/shm\n--perms\n--1777\n--size\n--1048576\n--tmpfs\n--/tmp"
        b"\n--file\n--5\n--/.gateway\n--remount-ro\n--/h/.ssh\n--remount-ro\n--/"
        b"\n--chdir\n--/w \xff\n\n--seccomp\n--3\n--json-status-fd\n--4"
    )


@pytest.mark.parametrize(
    ("plan", "given", "there", "absent"),
    [
        pytest.param(PLAIN, {"terminal": True}, [], [b"--new-session"], id="a terminal is shared"),
        pytest.param(PLAIN, {"nested": False}, [], [b"--disable-userns"], id="an old bubblewrap"),
        pytest.param(PLAIN.replace(permits=("perf",)), {}, [b"--disable-userns", b"/proc"], [], id="perf"),
        pytest.param(
            PLAIN.replace(permits=("namespaces",)), {"machine": ("/proc/sys",)}, [b"/proc/sys"], [b"--disable-userns"],
            id="with namespaces /proc stays writable but for the machine's own",
        ),
        pytest.param(
            PLAIN.replace(mounts=(Mount("/dev/kvm", READ, False),)), {"sources": ("/dev/kvm",)}, [b"--dev-bind"], [],
            id="a device is granted as one",
        ),
        pytest.param(
            PLAIN.replace(mounts=(Mount("/usr", READ),)), {"sources": ("/usr",)}, [b"--ro-bind"], [b"--ro-bind-fd"],
            id="a bubblewrap that takes no descriptors",
        ),
    ],
)  # fmt: skip
def test_circumstances_change_the_arguments(
    plan: SandboxPlan, given: dict, there: list[bytes], absent: list[bytes]
) -> None:
    words = arguments(plan, Given(**{"gate": 3, "status": 4, "built": 5, "sources": (), **given}))
    assert [word in words for word in there] == [True] * len(there)
    assert [word in words for word in absent] == [False] * len(absent)


def test_the_devices_are_shut_once_everything_in_them_is_mounted() -> None:
    plan = PLAIN.replace(mounts=(Mount("/dev/kvm", READ, False), Mount("/usr", READ)))
    words = arguments(plan, Given(3, 4, 5, ("/dev/kvm", "/usr")))
    shut = [at for at, word in enumerate(words) if (word, *words[at + 1 : at + 2]) == (b"--remount-ro", b"/dev")]
    assert len(shut) == 1
    assert shut[0] > words.index(b"/dev/kvm")


def test_what_it_cannot_express_is_named() -> None:
    plan = PLAIN.replace(mounts=(Mount("/proc/sys", WRITE),), environment=(("a=b", "c"), ("d", "e\0--bind")))
    assert Bubblewrap().missing(plan) == (
        "/proc/sys: the sandbox has a /proc of its own",
        "an environment variable cannot be named 'a=b'",
        "the environment variable d holds a zero byte",
    )
    with pytest.raises(SandboxError, match="cannot enforce this plan"):
        Bubblewrap().start(plan, ["true"], Streams(0, 1, 2))


class TestWhichProgram:
    def test_a_set_uid_one_is_refused(self, tmp_path: Path) -> None:
        path = tmp_path / "bwrap"
        path.write_bytes(b"#!/bin/sh\n")
        path.chmod(0o4755)
        assert "set-uid" in refusal(str(path), ours=True)
        path.chmod(0o755)
        assert "set-uid" not in refusal(str(path), ours=True)

    @pytest.mark.parametrize("loose", ["file", "folder"])
    def test_one_that_others_may_write_is_refused(self, tmp_path: Path, loose: str) -> None:
        folder = tmp_path / "bin"
        folder.mkdir()
        path = folder / "bwrap"
        path.write_bytes(b"#!/bin/sh\n")
        path.chmod(0o755)
        (path if loose == "file" else folder).chmod(0o777)
        assert "could have been changed" in refusal(str(path), ours=True)

    def test_without_one_the_error_says_what_to_install(self, monkeypatch: pytest.MonkeyPatch) -> None:
        nowhere = programs.PROGRAMS["bwrap"].replace(places=("/no/such/bwrap",), distribution="")
        monkeypatch.setitem(programs.PROGRAMS, "bwrap", nowhere)
        with pytest.raises(SandboxError, match="not installed") as caught:
            find()
        assert "apt-get install bubblewrap" in caught.value.remedy

    def test_one_in_the_workspace_is_refused(self) -> None:
        backend = Bubblewrap(Program("/usr/bin/bwrap", True, True, ""))
        with pytest.raises(SandboxError, match="which the command may write"):
            backend.start(PLAIN.replace(mounts=(Mount("/usr", WRITE),)), ["true"], Streams(0, 1, 2))


@pytest.fixture(scope="module")
def backend() -> Bubblewrap:
    backend = Bubblewrap()
    probe = backend.probe()
    if not probe.works:
        pytest.skip(f"bubblewrap does not hold here: {probe.reason}")
    return backend


@pytest.fixture
def plan(tmp_path: Path) -> SandboxPlan:
    return odd_plan(tmp_path)


def test_an_error_of_bubblewrap_is_told_from_one_of_the_command(backend: Bubblewrap, plan: SandboxPlan) -> None:
    broken = plan.replace(links=(*LINKS, ("/usr", "nowhere")))
    expected = pytest.raises(SandboxError, match=r"could not be built: Can't bind mount")
    with expected, Call(backend, broken, ["true"]) as call:
        call.running.release()


class TestProbe:
    def test_the_answer_is_kept_for_this_program_only(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
        found = [bubblewrap_probe.known("a")]
        bubblewrap_probe.remember("a")
        found += [bubblewrap_probe.known("a"), bubblewrap_probe.known("b")]
        bubblewrap_probe.forget()
        found.append(bubblewrap_probe.known("a"))
        assert found == [False, True, False, False]

    def test_a_changed_form_of_the_arguments_is_tried_anew(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
        bubblewrap_probe.remember("a")
        monkeypatch.setattr(bubblewrap_probe, "SCRIPT", "exit 0")
        assert not bubblewrap_probe.known("a")

    def test_a_record_never_gives_a_weaker_form(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, backend: Bubblewrap
    ) -> None:
        monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
        path = backend.program().path
        state = os.stat(path)
        bubblewrap_probe.remember(f"{path} {state.st_dev} {state.st_ino} {state.st_mtime_ns} {state.st_size}")
        program = Bubblewrap().program()
        assert (program.by_descriptor, program.nested) == (True, True)

    def test_the_script_sees_what_gets_out(self, tmp_path: Path) -> None:
        """Without a sandbox every attempt but that on the machine itself works."""
        inside, outside = tmp_path / "inside", tmp_path / "outside"
        for folder in (inside / "fixed", outside):
            folder.mkdir(parents=True)
        for file in (inside / "hidden", inside / "fixed" / "file", outside / "secret"):
            file.write_text("x\n")
        done = subprocess.run(
            shell(whole_attempts.SCRIPT),
            cwd=inside,
            env={"OUTSIDE": str(outside)},
            capture_output=True,
            text=True,
            check=False,
        )
        said = done.stdout.splitlines()
        assert said[:4] == [
            "write a file outside",
            "read a file outside",
            "read a hidden file",
            "write a protected file",
        ]
        assert "see processes outside" in said
        assert said[-1] == attempts.WORKS

    def test_what_holds_is_found_to_hold(self, backend: Bubblewrap) -> None:
        assert attempts.attempt(backend, whole_attempts.SCRIPT, whole_attempts.world) == ""

    def test_what_does_not_hold_is_found_not_to(self, backend: Bubblewrap) -> None:
        def leaky(top: str) -> SandboxPlan:
            plan = whole_attempts.world(top)
            return plan.replace(mounts=tuple(sorted((*plan.mounts, Mount(f"{top}/outside", WRITE)))))

        found = attempts.attempt(backend, whole_attempts.SCRIPT, leaky)
        assert found == "inside one can write a file outside, read a file outside"


def test_masks_are_made_again_when_somebody_changed_them(backend: Bubblewrap, plan: SandboxPlan) -> None:
    with open(f"{plan.cwd}/secret", "wb") as file:
        file.write(b"secret")
    hiding = plan.replace(mounts=tuple(sorted((*plan.mounts, Mount(f"{plan.cwd}/secret", HIDDEN, False)))))
    for _ in range(2):
        with Call(backend, hiding, shell("cat secret")) as call:
            call.running.release()
            assert call.running.wait() == 1
            assert os.strerror(errno.EACCES).encode() in os.read(call.read, 4096)
        assert backend._masks is not None
        os.chmod(backend._masks.file, stat.S_IRUSR)
