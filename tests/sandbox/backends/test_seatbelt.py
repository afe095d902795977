"""The profile for macOS, as text: it has not been run there."""

from __future__ import annotations

import pytest

from gateway.model.limits import Limits
from gateway.model.plan import FIXED, HIDDEN, READ, WRITE, Mount, Network, SandboxPlan
from gateway.sandbox.backends.seatbelt import PROGRAM, Seatbelt, arguments, profile

PLAN = SandboxPlan(
    (
        Mount("/Users/dev/.nvm", READ, True),
        Mount("/Users/dev/ws", WRITE),
        Mount("/Users/dev/ws/.git/config", FIXED, False, "r"),
        Mount("/Users/dev/ws/sub/.env", HIDDEN, False, "r"),
        Mount("/Users/dev/ws/vendor", READ),
        Mount("/Users/dev/ws/vendor/out", WRITE),
    ),
    (),
    ("/Users/dev", "/tmp"),
    "/Users/dev/ws",
    (("HOME", "/Users/dev"),),
    Network(),
    Limits(),
)


def test_the_whole_profile(golden) -> None:
    golden("seatbelt-profile.txt", profile(PLAN, "/private/var/folders/x/gateway-1"))


def lines_on(path: str, text: str) -> list[str]:
    return [line for line in text.splitlines() if f'"{path}"' in line]


def test_the_deepest_mount_is_said_last() -> None:
    text = profile(PLAN)
    order = [
        text.index(f'(subpath "{path}")')
        for path in ("/Users/dev/ws", "/Users/dev/ws/vendor", "/Users/dev/ws/vendor/out")
    ]
    assert order == sorted(order)


def test_folders_on_the_way_to_something_protected_cannot_be_moved() -> None:
    assert lines_on("/Users/dev/ws/.git", profile(PLAN)) == ['(deny file-write-unlink (literal "/Users/dev/ws/.git"))']
    assert lines_on("/Users/dev/ws/sub", profile(PLAN)) == ['(deny file-write-unlink (literal "/Users/dev/ws/sub"))']


def test_nothing_but_the_proxy_is_reached() -> None:
    assert "network-outbound" not in profile(PLAN)
    open_ = profile(PLAN.replace(network=Network("listed")), port=3128)
    assert '(deny network*)\n(allow network-outbound (remote ip "localhost:3128"))' in open_


@pytest.mark.parametrize(
    ("path", "quoted"),
    [('/a"b', '"/a\\"b"'), ("/a\\b", '"/a\\\\b"'), ("/a b", '"/a b"'), ("/a)(allow default", '"/a)(allow default"')],
    ids=["quote", "backslash", "space", "brackets"],
)
def test_a_path_cannot_leave_its_quotes(path: str, quoted: str) -> None:
    assert f"(subpath {quoted})" in profile(PLAN.replace(mounts=(Mount(path, READ),)))


def test_a_path_with_control_characters_is_refused() -> None:
    assert Seatbelt().missing(PLAN.replace(mounts=(Mount("/a\nb", READ),))) == (
        "a path with control characters cannot be written in a profile",
    )


def test_the_words_of_the_start() -> None:
    assert arguments(PLAN, [b"sh", b"-c", b"x"], "/p") == [
        PROGRAM.encode(),
        b"-p",
        profile(PLAN, "/p").encode(),
        b"--",
        b"sh",
        b"-c",
        b"x",
    ]


@pytest.mark.parametrize("mode", ["listed", "open"])
def test_hosts_are_not_yet_expressed(mode: str) -> None:
    assert len(Seatbelt().missing(PLAN.replace(network=Network(mode)))) == 1
