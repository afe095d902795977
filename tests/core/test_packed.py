"""What is packed into one piece of bytes comes out the same, part by part and no sooner than needed."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from gateway.config.shipped import load_descriptions
from gateway.core.cache import Cache
from gateway.core.errors import ConfigError
from gateway.core.packed import Descriptions, Installed, Lines, Named, OnDisk, Rows, pack, pack_rows, unpack_rows
from gateway.core.places import Places

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

GIT = {
    "names": ["git"],
    "name": "git",
    "subcommands": {"log": 0, "add": 1},
    "nested": [{"name": "log", "nested": [{"name": "inner"}]}, {"name": "ädd"}],
    "examples": {"git log": []},
    "lines": {"git log": 3},
}
# A subcommand that takes the options of its program, one of them in its own way.
SHARING = {
    "names": ["x"],
    "table": [{"names": ["-v"]}, {"names": ["-q"]}],
    "options": {"-v": 0, "-q": 1},
    "nested": [
        {
            "table": [{"names": ["-v"]}, {"names": ["-q"]}, {"names": ["-q", "-a"]}],
            "options": {"-v": 0, "-q": 2, "-a": 2},
        },
        {"table": [], "options": {}},
    ],
}
CAT = {"names": ["cat", "gcat"], "name": "cat"}


def whole(found: Any) -> Any:
    """A description with all that is unpacked later."""
    return {**found, "nested": [whole(each) for each in found["nested"]]} if "nested" in found else found


def test_what_was_packed_comes_out_by_name_without_what_only_tests_need() -> None:
    packed = pack([GIT, CAT])
    describe = Descriptions(lambda: packed)
    git = whole(describe("git"))
    nested = git.pop("nested")
    assert (git, nested, describe.names()) == (
        {"names": ["git"], "name": "git", "subcommands": {"log": 0, "add": 1}},
        [{"name": "log", "nested": [{"name": "inner"}]}, {"name": "ädd"}],
        ("git", "cat", "gcat"),
    )
    assert (describe("cat"), describe("gcat"), describe("dog")) == (CAT, CAT, None)


def test_options_that_a_subcommand_shares_are_kept_once_and_come_out_with_its_own() -> None:
    packed = pack([SHARING])
    assert packed.count(b"-v") == 2  # in the program's table and options alone
    assert list(Descriptions(lambda: packed)("x")["nested"]) == SHARING["nested"]


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
    from gateway.config.compiling import shipped_sources
    from gateway.spec.commands import compile_description

    nowhere = Places("/nonexistent", "/nonexistent", "/nonexistent", str(tmp_path / "cache"), "/nonexistent")
    cold, warm = load_descriptions(nowhere), load_descriptions(nowhere)
    assert cold.names() == warm.names()
    git = next(each for each in shipped_sources() if each.path.endswith("/git.yaml"))
    expected = compile_description(git.content, git.path, parts=git.parts)
    for describe in (cold, warm):
        found = whole(describe("git"))
        kept = {key: value for key, value in expected.items() if key not in ("examples", "lines", "place")}
        assert found == json.loads(json.dumps(kept))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Descriptions in a file, after an index that is longer than one piece."""
    found = tmp_path / "packed"
    found.write_bytes(pack([GIT, CAT, *({"names": [f"program-{at}"], "at": at} for at in range(9_000))]))
    return found


def on_disk(file: Path) -> Descriptions:
    return Descriptions(lambda: OnDisk(Installed(str(file)).read))


def in_cache(file: Path) -> Descriptions:
    cache = Cache(str(file.parent / "cache"))
    assert cache.write_blocks("key", file.read_bytes())
    blocks = cache.open_blocks("key")
    assert blocks is not None
    return Descriptions(lambda: OnDisk(blocks.read))


@pytest.mark.parametrize("opened", [on_disk, in_cache])
@pytest.mark.parametrize("asked", [0, 100], ids=["few", "many"])
def test_from_a_file_comes_what_comes_from_memory(
    file: Path, asked: int, opened: Callable[[Path], Descriptions]
) -> None:
    there, here = opened(file), Descriptions(file.read_bytes)
    for at in range(asked):
        assert there(f"program-{at}") == {"names": [f"program-{at}"], "at": at}
    for name in ("cat", "gcat", "dog", "program-8999"):
        assert there(name) == here(name)
    assert whole(there("git")) == whole(here("git"))
    assert there.names() == here.names()


def test_a_file_that_is_replaced_meanwhile_goes_on_as_it_was(file: Path) -> None:
    describe = on_disk(file)
    assert describe("cat") == CAT
    file.unlink()
    file.write_bytes(pack([{"names": ["git"], "at": 1}]))
    assert describe("git")["names"] == ["git"]
    assert describe("git") != {"names": ["git"], "at": 1}


def test_a_file_that_is_written_to_meanwhile_says_nothing_more(file: Path) -> None:
    describe = on_disk(file)
    assert describe("cat") == CAT
    file.write_bytes(file.read_bytes() + b" ")
    assert describe("cat") == CAT
    with pytest.raises(ConfigError, match="must stay the same"):
        describe("git")


def test_an_entry_of_the_cache_that_is_written_to_meanwhile_says_nothing_more(file: Path) -> None:
    describe = in_cache(file)
    assert describe("cat") == CAT
    entry = file.parent / "cache" / "key.json"
    entry.write_bytes(entry.read_bytes().replace(b"program-8999", b"program-0000"))
    assert describe("cat") == CAT
    with pytest.raises(ConfigError, match="must stay the same"):
        describe("program-8999")


@pytest.mark.parametrize("data", [b"", b'{"git":[0,9]}'], ids=["empty", "without its end"])
def test_a_file_that_is_not_whole_describes_nothing(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "packed").write_bytes(data)
    with pytest.raises(ValueError, match="not whole"):
        on_disk(tmp_path / "packed")("git")


TABLES = ([[1, "a\nb\u2028"], [], {"x": None}], [], [["ä\udcff"]])


def test_rows_come_out_as_they_went_in() -> None:
    head, tables = unpack_rows(pack_rows({"name": "é"}, *TABLES))
    assert (head, [list(Rows(lines)) for lines in tables]) == ({"name": "é"}, list(TABLES))


def test_rows_that_were_packed_before_are_known_and_come_out_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    lines, (first, *_others) = Lines(), TABLES
    more = [[7], first[0], first[0], *first]
    assert pack_rows({}, *TABLES, lines=lines) == pack_rows({}, *TABLES)
    assert pack_rows({}, more, lines=lines) == pack_rows({}, more)
    dumped: list[object] = []
    monkeypatch.setattr("gateway.core.packed._dump", lambda value: dumped.append(value) or b"")
    lines.of([*more, [8]])
    assert dumped == [[8]]


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "Expecting value"),
        (b"{", "Expecting property name"),
        (b"[{},[1]]", "as many rows"),
        (b"[{},[0]]\n1", "as many rows"),
        (b"[{},[1]]\n1\n2", "as many rows"),
    ],
)
def test_what_is_no_table_has_no_rows(data: bytes, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        unpack_rows(data)


def test_rows_look_like_a_list_and_each_is_unpacked_once() -> None:
    rows = Rows([b"[1]", b"[2]", b"broken"])
    assert (len(rows), rows[1], rows[1] is rows[1], dict.__len__(rows)) == (3, [2], True, 1)
    rows[0].append("kept")
    assert rows[0] == [1, "kept"]
    with pytest.raises(ValueError, match="Expecting value"):
        rows[2]
    with pytest.raises(IndexError):
        rows[3]
    whole = Rows([b"[1]", b"[2]"])
    assert [list(enumerate(whole)), whole == [[1], [2]], whole == Rows([b"[1]"]), whole != [[1]]] == [
        [(0, [1]), (1, [2])], True, False, True,
    ]  # fmt: skip


def test_named_rows_look_like_a_dictionary_and_each_is_unpacked_once() -> None:
    rows = Named(["a", "b"], [b'{"x":1}', b"broken"])
    assert (rows["a"], rows["a"] is rows["a"], "a" in rows, "c" in rows, len(rows)) == ({"x": 1}, True, True, False, 2)
    assert (list(rows), list(rows.keys()), {**Named(["a"], [b"1"])}, list(Named(["a"], [b"1"]).items())) == (
        ["a", "b"], ["a", "b"], {"a": 1}, [("a", 1)],
    )  # fmt: skip
    for name, error in (("b", ValueError), ("c", KeyError)):
        with pytest.raises(error):
            rows[name]
    with pytest.raises(ValueError, match="shorter"):
        Named(["a"], [])
