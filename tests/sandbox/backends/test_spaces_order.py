"""What the launcher is told, whole."""

from __future__ import annotations

import marshal
import os
from typing import Any

import pytest

from gateway.model.limits import Limits
from gateway.model.plan import FIXED, HIDDEN, READ, WRITE, Mount, Network, SandboxPlan
from gateway.sandbox.backends.spaces_order import early_of, order_of

READ_ONLY, NO_SETUID, NO_DEVICES = 1, 2, 4
PLAIN = SandboxPlan((), (), (), "/", (), Network(), Limits())


def test_the_order_of_a_plan_is_this() -> None:
    plan = SandboxPlan(
        (
            Mount("/usr", READ, rule="r"),
            Mount("/w \udcff\n", WRITE),
            Mount("/w \udcff\n/.env", HIDDEN, False),
            Mount("/w \udcff\n/a/.git/hooks", FIXED),
            Mount("/h/.ssh", HIDDEN),
            Mount("/h/.ssh/known_hosts", READ, False),
        ),
        (("/bin", "usr/bin"), ("/tmp/link", "/w")),
        ("/h", "/tmp"),
        "/w \udcff\n",
        (("A", "x\udcfe"), ("PATH", "/usr/bin")),
        Network(),
        Limits(memory=1 << 20),
        files=(("/etc/resolv.conf", b"nameserver 127.0.0.1\n"),),
    )
    shown, open_ = READ_ONLY | NO_SETUID | NO_DEVICES, NO_SETUID | NO_DEVICES
    assert _early(plan) == {
        "steps": [
            ("memory", b"/h", True, (0o700, 1 << 20)),
            ("memory", b"/h/.ssh", True, (0o111, 1 << 20)),
            ("bind", b"/h/.ssh/known_hosts", False, shown),
            ("memory", b"/tmp", True, (0o1777, 1 << 20)),
            ("bind", b"/usr", True, shown),
        ],
        "links": [(b"/bin", b"usr/bin")],
        "shared": 1 << 20,
        "in_devices": False,
        "machine": False,
    }
    assert order_of(plan, ["ls", b"\xff"], b"filter", terminal=True) == {
        "argv": [b"ls", b"\xff"],
        "environment": {b"A": b"x\xfe", b"PATH": b"/usr/bin"},
        "cwd": b"/w \xff\n",
        "alone": True,
        "filters": [b"filter"],
        "terminal": True,
        "steps": [
            ("bind", b"/w \xff\n", True, open_),
            ("bind", b"/w \xff\n/a", True, open_),
            ("bind", b"/w \xff\n/a/.git", True, open_),
            ("bind", b"/w \xff\n", True, open_),
            ("mask", b"/w \xff\n/.env", False, None),
            ("bind", b"/w \xff\n/a/.git/hooks", True, shown),
        ],
        "late_links": [(b"/tmp/link", b"/w")],
        "files": [(b"/etc/resolv.conf", b"nameserver 127.0.0.1\n")],
        "marker": b"/.gateway",
        "sealed": [b"/h/.ssh"],
        "told": b"",
    }


@pytest.mark.parametrize(
    ("changes", "found"),
    [
        pytest.param({"permits": ("perf",)}, {"alone": True, "machine": False}, id="perf"),
        pytest.param({"permits": ("ptrace",)}, {"alone": True, "machine": True}, id="tracing"),
        pytest.param({"permits": ("namespaces",)}, {"alone": False, "machine": True}, id="namespaces inside"),
        pytest.param(
            {"mounts": (Mount("/dev/kvm", READ, False),)},
            {"in_devices": True, "sealed": [b"/dev"], "steps": [("bind", b"/dev/kvm", False, NO_SETUID)]},
            id="a device is granted as one, and devices are shut when it is there",
        ),
        pytest.param(
            {"mounts": (Mount("/dev/shm/x", WRITE, False),)},
            {"in_devices": True, "steps": [("bind", b"/dev/shm/x", False, NO_SETUID | NO_DEVICES)]},
            id="what lies in shared memory is no device",
        ),
        pytest.param({}, {"shared": 1 << 30, "in_devices": False}, id="no limits"),
    ],
)
def test_what_a_plan_says_changes_the_order(changes: dict[str, Any], found: dict[str, Any]) -> None:
    plan = PLAIN.replace(**changes)
    order = {**_early(plan), **order_of(plan, ["true"], b"")}
    assert {name: order[name] for name in found} == found


def _early(plan: SandboxPlan) -> dict[str, Any]:
    """What of the order may be made before it is known which call it is for."""
    said = early_of(plan)
    assert int.from_bytes(said[:8], "little") == len(said) - 8
    return dict(marshal.loads(said[8:]))


W = "/home/u/w"
WORK = SandboxPlan(
    (
        Mount("/etc", READ),
        Mount("/etc/shadow", HIDDEN, False),
        Mount(W, WRITE),
        Mount(f"{W}/.env", HIDDEN, False),
        Mount(f"{W}/.git/config", FIXED, False),
        Mount(f"{W}/kept", READ),
    ),
    (),
    ("/home/u", "/tmp"),
    f"{W}/sub",
    (),
    Network(),
    Limits(),
)


def _with(path: str, access: str) -> SandboxPlan:
    others = [mount for mount in WORK.mounts if mount.path != path]
    return WORK.replace(mounts=(*others, Mount(path, access)))


@pytest.mark.parametrize(
    ("plan", "early"),
    [
        pytest.param(WORK, ["/etc", "/etc/shadow", "/home/u", "/tmp"], id="nothing of what a call may write"),
        pytest.param(
            _with(W, READ),
            ["/etc", "/etc/shadow", "/home/u", "/tmp"],
            id="nor of the folder that calls work in, which the next may write",
        ),
        pytest.param(_with("/etc", WRITE), ["/home/u", "/tmp"], id="nor what is hidden in it"),
        pytest.param(
            WORK.replace(shared=(("/home/u", "/s/home"),)),
            ["/etc", "/etc/shadow", "/tmp"],
            id="nor what a session keeps, and what lies in it",
        ),
        pytest.param(
            WORK.replace(laid=(("/etc", ("/etc",), "/s/etc"),)),
            ["/home/u", "/tmp"],
            id="nor what has layers over it",
        ),
        pytest.param(
            WORK.replace(transient=("/etc",)), ["/home/u", "/tmp"], id="nor what a call may change for itself"
        ),
        pytest.param(
            _with("/dev/kvm", READ), ["/etc", "/etc/shadow", "/home/u", "/tmp"], id="nor a device, which can be written"
        ),
        pytest.param(WORK.replace(cwd="/etc/x"), ["/home/u", "/tmp"], id="nor the system where calls work in that"),
    ],
)
def test_made_before_a_call_is_known_is_only_what_none_may_write(plan: SandboxPlan, early: list[str]) -> None:
    assert [os.fsdecode(path) for _kind, path, _folder, _how in _early(plan)["steps"]] == early
