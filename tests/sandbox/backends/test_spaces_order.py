"""What the launcher is told, whole."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.model.limits import Limits
from gateway.model.plan import FIXED, HIDDEN, READ, WRITE, Mount, Network, SandboxPlan
from gateway.sandbox.backends.spaces_order import order_of

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
    assert order_of(plan, ["ls", b"\xff"], b"filter", terminal=True) == {
        "argv": [b"ls", b"\xff"],
        "environment": {b"A": b"x\xfe", b"PATH": b"/usr/bin"},
        "cwd": b"/w \xff\n",
        "alone": True,
        "filters": [b"filter"],
        "terminal": True,
        "steps": [
            ("memory", b"/h", True, (0o700, 1 << 20)),
            ("memory", b"/h/.ssh", True, (0o111, 1 << 20)),
            ("bind", b"/h/.ssh/known_hosts", False, shown),
            ("memory", b"/tmp", True, (0o1777, 1 << 20)),
            ("bind", b"/usr", True, shown),
            ("bind", b"/w \xff\n", True, open_),
            ("bind", b"/w \xff\n/a", True, open_),
            ("bind", b"/w \xff\n/a/.git", True, open_),
            ("bind", b"/w \xff\n", True, open_),
            ("mask", b"/w \xff\n/.env", False, None),
            ("bind", b"/w \xff\n/a/.git/hooks", True, shown),
        ],
        "links": [(b"/bin", b"usr/bin")],
        "late_links": [(b"/tmp/link", b"/w")],
        "files": [(b"/etc/resolv.conf", b"nameserver 127.0.0.1\n")],
        "marker": b"/.gateway",
        "sealed": [b"/h/.ssh"],
        "shared": 1 << 20,
        "in_devices": False,
        "machine": False,
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
    order = order_of(PLAIN.replace(**changes), ["true"], b"")
    assert {name: order[name] for name in found} == found
