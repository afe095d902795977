"""Descriptions in one piece of bytes are the same descriptions, read one by one and no sooner than needed."""

from __future__ import annotations

import json

import pytest

from gateway.load import load_descriptions, pack_descriptions
from gateway.packed import Descriptions, pack
from gateway.places import Places

GIT = {
    "names": ["git"],
    "name": "git",
    "subcommands": {"log": 0, "add": 1},
    "nested": [{"name": "log", "nested": [{"name": "inner"}]}, {"name": "ädd"}],
    "examples": {"git log": []},
    "lines": {"git log": 3},
}
CAT = {"names": ["cat", "gcat"], "name": "cat"}


def test_what_was_packed_comes_out_by_name_without_what_only_tests_need() -> None:
    packed = pack([GIT, CAT])
    describe = Descriptions(lambda: packed)
    git = describe("git")
    nested = list(git.pop("nested"))
    assert (git, nested, describe.names()) == (
        {"names": ["git"], "name": "git", "subcommands": {"log": 0, "add": 1}},
        [{"name": "log", "nested": [{"name": "inner"}]}, {"name": "ädd"}],
        ("git", "cat", "gcat"),
    )
    assert (describe("cat"), describe("gcat"), describe("dog")) == (CAT, CAT, None)


def test_each_is_unpacked_once() -> None:
    packed = pack([GIT, CAT])
    describe = Descriptions(lambda: packed)
    assert describe("git") is describe("git")
    assert describe("git")["nested"][1] is describe("git")["nested"][1]


def test_nothing_is_read_before_a_name_is_looked_up() -> None:
    reads = []

    def read() -> bytes:
        reads.append(1)
        return pack([CAT])

    describe = Descriptions(read)
    before = len(reads)
    describe("cat")
    describe("dog")
    assert (before, len(reads)) == (0, 1)


@pytest.mark.parametrize("name", ["ca", "at", "", 'cat":[0,9],"gcat', "cat\n", "names", "git\\", "\udcff"])
def test_what_only_looks_like_a_name_is_none_however_many_were_asked_for(name: str) -> None:
    packed = pack([GIT, CAT])
    for asked in (0, 100):
        describe = Descriptions(lambda: packed)
        for at in range(asked):
            describe(f"dog{at}")
        assert (describe(name), describe("gcat")) == (None, CAT)


def test_what_reading_raises_comes_out_of_the_first_look_up() -> None:
    def read() -> bytes:
        raise OSError("gone")

    with pytest.raises(OSError, match="gone"):
        Descriptions(read)("cat")


def test_all_shipped_descriptions_survive_packing(tmp_path) -> None:
    from gateway.places import COMMANDS
    from gateway.spec.commands import compile_description

    nowhere = Places("/nonexistent", "/nonexistent", "/nonexistent", str(tmp_path / "cache"), "/nonexistent")
    cold, warm = load_descriptions(nowhere), load_descriptions(nowhere)
    assert cold.names() == warm.names() == Descriptions(pack_descriptions).names()
    with open(f"{COMMANDS}/git.yaml", "rb") as file:
        expected = compile_description(file.read(), "git.yaml")
    for describe in (cold, warm):
        found = dict(describe("git"))
        found["nested"] = list(found["nested"])
        kept = {key: value for key, value in expected.items() if key not in ("examples", "lines", "place")}
        assert found == json.loads(json.dumps(kept))
