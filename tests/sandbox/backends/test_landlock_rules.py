"""A plan as Landlock's rules, what cannot be said in them, and what is held in another way."""

from __future__ import annotations

import pytest

from gateway.model.limits import Limits
from gateway.model.plan import FIXED, HIDDEN, READ, WRITE, Endpoint, Mount, Network, SandboxPlan
from gateway.policy.confine import BY_PROFILE
from gateway.sandbox.backends import landlock_rules as rules

ALL = (1 << 16) - 1
FILE_READS = rules.EXECUTE | rules.READ_FILE
FILE_WRITES = FILE_READS | rules.WRITE_FILE | (1 << 14)


def plan(*mounts: Mount, private: tuple[str, ...] = (), **more: object) -> SandboxPlan:
    environment = (("HOME", "/home/dev"), ("PATH", "/home/dev/bin:/usr/bin"), ("XDG_CACHE_HOME", "/home/dev/.cache"))
    base = SandboxPlan(mounts, (), private, "/ws", environment, Network(), Limits(), weaker=("landlock",))
    return base.replace(**more)


def test_folders_and_files_get_the_rights_of_their_access() -> None:
    given = plan(
        Mount("/etc/hosts", READ, False), Mount("/usr", READ), Mount("/ws", WRITE), Mount("/ws2/log", WRITE, False)
    )
    assert rules.rules_of(given, 7, {}) == rules.Ruleset(
        ALL,
        3,
        3,
        (
            ("/etc/hosts", FILE_READS),
            ("/usr", rules.READS),
            ("/ws", rules.WRITES),
            ("/ws2/log", FILE_WRITES),
        ),
    )


def test_no_right_to_make_devices_is_ever_given() -> None:
    assert rules.WRITES & (1 << 6 | 1 << 11 | 1 << 15) == 0


@pytest.mark.parametrize(
    ("abi", "handled", "network", "scoped"),
    [(3, (1 << 15) - 1, 0, 0), (4, (1 << 15) - 1, 3, 0), (5, ALL, 3, 0), (6, ALL, 3, 3), (9, ALL, 3, 3)],
)
def test_only_what_the_kernel_knows_is_handled(abi: int, handled: int, network: int, scoped: int) -> None:
    found = rules.rules_of(plan(Mount("/ws", WRITE)), abi, {})
    assert (found.handled, found.network, found.scoped) == (handled, network, scoped)
    assert all(right & ~handled == 0 for _path, right in found.paths)


def test_a_hidden_file_is_left_out_by_granting_what_lies_beside_it() -> None:
    given = plan(Mount("/ws", READ), Mount("/ws/conf/.env", HIDDEN, False, "secret-files"))
    assert rules.carved(given) == ("/ws", "/ws/conf")
    listing = {
        "/ws": (("README", False), ("conf", True), ("src", True)),
        "/ws/conf": ((".env", False), ("app.toml", False)),
    }
    assert rules.rules_of(given, 7, listing).paths == (
        ("/ws", rules.READ_DIR),
        ("/ws/README", FILE_READS),
        ("/ws/conf", rules.READ_DIR),
        ("/ws/conf/app.toml", FILE_READS),
        ("/ws/src", rules.READS),
    )


def test_folders_above_a_hidden_folder_cannot_be_listed() -> None:
    given = plan(Mount("/ws", READ), Mount("/ws/.ssh", HIDDEN, True, "secret-files"))
    found = rules.rules_of(given, 7, {"/ws": ((".ssh", True), ("a", False))})
    assert found.paths == (("/ws/a", FILE_READS),)
    assert rules.UNLISTED_DEGRADED in rules.degraded(given, 7)


def test_what_is_granted_below_a_hidden_folder_is_granted_by_its_own_rule() -> None:
    given = plan(Mount("/h", READ), Mount("/h/.config", HIDDEN), Mount("/h/.config/git", READ))
    found = rules.rules_of(given, 7, {"/h": ((".config", True), ("x", False))})
    assert found.paths == (("/h/.config/git", rules.READS), ("/h/x", FILE_READS))


def test_a_folder_that_only_the_profile_opens_is_opened_in_part_around_what_is_hidden() -> None:
    given = plan(Mount("/h/.cache", WRITE, rule=BY_PROFILE), Mount("/h/.cache/gateway", HIDDEN, True, "gateway"))
    assert rules.missing(given, 7) == ()
    assert rules.carved(given) == ("/h/.cache",)
    found = rules.rules_of(given, 7, {"/h/.cache": (("gateway", True), ("pip", True))})
    assert found.paths == (("/h/.cache/pip", rules.WRITES),)
    assert rules.PARTLY_DEGRADED in rules.degraded(given, 7)


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        pytest.param(plan(Mount("/ws", WRITE)), "", id="a-workspace"),
        pytest.param(plan(Mount("/ws", WRITE), Mount("/ws/.git/hooks", FIXED)), "", id="protected-names"),
        pytest.param(plan(Mount("/ws", READ), Mount("/ws/.env", HIDDEN, False)), "", id="hidden-in-what-is-read"),
        pytest.param(plan(Mount("/ws", READ), Mount("/ws/build", WRITE)), "", id="writable-in-what-is-read"),
        pytest.param(
            plan(Mount("/ws", WRITE), Mount("/ws/.env", HIDDEN, False)),
            "/ws/.env cannot be hidden inside /ws, in which files may be created",
            id="hidden-in-what-is-written",
        ),
        pytest.param(
            plan(Mount("/ws", WRITE), Mount("/ws/.git", FIXED), Mount("/ws/.git/x", HIDDEN, False)),
            "/ws/.git/x cannot be hidden inside /ws, in which files may be created",
            id="hidden-in-what-is-protected-in-what-is-written",
        ),
        pytest.param(
            plan(Mount("/ws", WRITE), Mount("/ws/vendor", READ)),
            "/ws/vendor cannot be kept read-only inside /ws, in which files may be created",
            id="read-only-in-what-is-written",
        ),
        pytest.param(
            plan(network=Network("listed", (Endpoint("example.com"),))),
            "the network for single hosts (example.com) cannot be granted: Landlock knows ports, not hosts",
            id="single-hosts",
        ),
        pytest.param(
            plan(network=Network("open")),
            "any network cannot be granted: Landlock knows ports, not hosts",
            id="any-host",
        ),
    ],
)
def test_what_cannot_be_expressed_is_refused_with_a_sentence(given: SandboxPlan, sentence: str) -> None:
    assert rules.missing(given, 7) == ((sentence,) if sentence else ())


def test_a_kernel_that_holds_no_signals_is_refused_unless_policy_names_that_form() -> None:
    given = plan(Mount("/ws", WRITE))
    (sentence,) = rules.missing(given, 5)
    assert "version 6 (Linux 6.12)" in sentence
    assert rules.missing(given.replace(weaker=("landlock", rules.UNSCOPED)), 5) == ()
    assert rules.UNSCOPED_DEGRADED in rules.degraded(given, 5)


def test_what_is_held_in_another_way_is_said() -> None:
    given = plan(Mount("/ws", WRITE), Mount("/ws/.git/hooks", FIXED), private=("/home/dev", "/tmp"))
    assert rules.degraded(given, 7) == (*rules.ALWAYS_DEGRADED, rules.PRIVATE_DEGRADED, rules.FIXED_DEGRADED)


def test_variables_that_led_into_private_folders_lead_to_their_stand_ins() -> None:
    given = plan(Mount("/home/dev/ws", WRITE), private=("/home/dev", "/tmp"))
    given = given.replace(environment=(*given.environment, ("PROJECT", "/home/dev/ws/a"), ("X", "/home/developer")))
    assert rules.environment_of(given, "/run/p") == {
        b"HOME": b"/run/p/0-dev",
        b"PATH": b"/home/dev/bin:/usr/bin",
        b"XDG_CACHE_HOME": b"/run/p/0-dev/.cache",
        b"PROJECT": b"/home/dev/ws/a",
        b"X": b"/home/developer",
        b"TMPDIR": b"/run/p/1-tmp",
    }


def test_names_that_are_no_text_pass_unchanged() -> None:
    given = plan(environment=(("BYTES", "a\udcff"),))
    assert rules.environment_of(given, "") == {b"BYTES": b"a\xff"}
