"""What was done and not predicted is told; the same, predicted, is not."""

from __future__ import annotations

from typing import Any

import pytest

from oracle.compare import compare
from oracle.tracer import Event, Frame

HERE = "/home/dev/project"
SHELL = Frame("/usr/bin/bash", ("bash", "-c", "x"), None)
CAT = Frame("/usr/bin/cat", ("cat", "f"), SHELL)


def touch(kind: str, path: str, tree: bool = False, real: str = "", part: int = 0) -> dict[str, Any]:
    return {"kind": kind, "path": path, "tree": tree, "real": real, "part": part}


def part(*argv: str, shell: bool = False, literal: bool = True) -> dict[str, Any]:
    return {"argv": list(argv), "program": argv[0], "literal": literal, "via": [], "shell": shell}


def predicted(*effects: dict[str, Any], parts: tuple[dict[str, Any], ...] = (part("cat", "f"),)) -> dict[str, Any]:
    return {"parts": list(parts), "effects": list(effects), "reals": {}, "cwd": HERE}


READ = Event("read", f"{HERE}/f", CAT, f"{HERE}/f")
LINKED = Event("read", f"{HERE}/link", CAT, "/home/dev/.ssh/id_rsa")
CODE = {"kind": "code", "part": 0, "why": ""}

# What is done, what predicts it, and what does not.
CASES = {
    "a file": (READ, [touch("read", f"{HERE}/f")], [touch("read", f"{HERE}/g")]),
    "a file in a tree": (READ, [touch("read", HERE, tree=True)], [touch("read", HERE)]),
    "an unknown file": (READ, [touch("read", f"{HERE}/\0")], [touch("read", f"{HERE}/src/\0")]),
    "where a link leads": (
        LINKED,
        [touch("read", f"{HERE}/link", real="/home/dev/.ssh/id_rsa")],
        [touch("read", f"{HERE}/link")],
    ),
    "writing is not reading": (Event("write", f"{HERE}/f", CAT), [touch("write", f"{HERE}/f")], [touch("read",
    f"{HERE}/f")]),
    "deleting is not writing": (Event("delete", f"{HERE}/f", CAT), [touch("delete", f"{HERE}/f")], [touch("write",
    f"{HERE}/f")]),
    "a folder on the way": (Event("mkdir", f"{HERE}/a", CAT), [touch("write", f"{HERE}/a/b")], [touch("write",
    f"{HERE}/ab")]),
    "a secret of the system": (Event("read", "/etc/shadow", CAT), [touch("read", "/etc/shadow")], []),
    "a program": (Event("exec", "/usr/bin/cat", CAT), [], None),
    "a connection": (
        Event("connect", "192.0.2.1 443", CAT),
        [{"kind": "connect", "host": "x", "direction": "fetch", "part": 0}],
        [{"kind": "connect", "host": "x", "direction": "fetch", "part": 0, "kind_": ""}][:0],
    ),
    "code": (READ, [CODE], []),
}  # fmt: skip


@pytest.mark.parametrize(("event", "enough", "_"), CASES.values(), ids=CASES.keys())
def test_what_was_predicted_is_no_surprise(event: Event, enough: list[Any], _: Any) -> None:
    assert compare([event], predicted(*enough)).surprises == ()


@pytest.mark.parametrize(
    ("event", "lacking"), [(event, lacking) for event, _, lacking in CASES.values() if lacking is not None],
    ids=[name for name, case in CASES.items() if case[2] is not None],
)  # fmt: skip
def test_what_was_not_predicted_is_a_surprise(event: Event, lacking: list[Any]) -> None:
    assert len(compare([event], predicted(*lacking)).surprises) == 1


@pytest.mark.parametrize("parts", [(part("dog", "f"),), (part("cat", "g"),)], ids=["another program", "other words"])
def test_a_program_that_was_not_predicted_is_a_surprise(parts: tuple[dict[str, Any], ...]) -> None:
    assert compare([Event("exec", "/usr/bin/cat", CAT)], predicted(parts=parts)).surprises == (
        "exec cat f [by bash -c x]",
    )


def test_only_what_unknown_code_does_itself_is_left_out() -> None:
    other = Frame("/usr/bin/tac", ("tac", "f"), SHELL)
    below = Frame("/usr/bin/dog", ("dog",), CAT)
    done = [READ, Event("read", f"{HERE}/g", below), Event("read", f"{HERE}/g", other)]
    found = compare(done, predicted(CODE, parts=(part("cat", "f"), part("tac", "f"))))
    assert (found.surprises, found.beyond) == ((f"read {HERE}/g [by tac f]",), 2)
