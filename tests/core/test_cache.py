"""The compile cache is used only where nobody else could have written it, and never decides anything."""

from __future__ import annotations

import os
import shutil
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from gateway.config.load import Options, load_policy
from gateway.core.cache import MAX_ENTRIES, Cache, digest, read_owned
from gateway.core.places import Places
from gateway.judge.policy_tests import check_examples
from gateway.spec.tools import compile_tools
from gateway.tools.registry import Registry

VALUE = {"rules": [1, "ä", None, {"x": 0.5}]}


@pytest.fixture
def cache(tmp_path: Path) -> Cache:
    found = Cache(str(tmp_path / "cache"))
    assert found.write("key", VALUE)
    return Cache(found.folder)


def entry(cache: Cache, name: str = "key.json") -> Path:
    return Path(cache.folder, name)


def test_what_was_written_is_read_again_by_another_process(cache: Cache) -> None:
    assert (cache.read("key"), cache.read("other")) == (VALUE, None)


def test_the_folder_and_its_files_are_the_users_alone(cache: Cache) -> None:
    assert os.stat(cache.folder).st_mode & 0o077 == 0
    assert {path.stat().st_mode & 0o077 for path in Path(cache.folder).iterdir()} == {0}


def flip(path: Path, place: int) -> None:
    data = bytearray(path.read_bytes())
    data[place] ^= 1
    path.write_bytes(data)


TAMPERINGS: dict[str, Any] = {
    "a byte of the content": lambda cache: flip(entry(cache), -3),
    "a byte of the seal": lambda cache: flip(entry(cache), 20),
    "a byte of the head": lambda cache: flip(entry(cache), 0),
    "cut short": lambda cache: entry(cache).write_bytes(entry(cache).read_bytes()[:-1]),
    "cut to the head": lambda cache: entry(cache).write_bytes(entry(cache).read_bytes()[:20]),
    "empty": lambda cache: entry(cache).write_bytes(b""),
    "another secret": lambda cache: flip(entry(cache, "seal"), 0),
    "a short secret": lambda cache: entry(cache, "seal").write_bytes(b"x"),
    "no secret": lambda cache: entry(cache, "seal").unlink(),
    "entry writable by others": lambda cache: entry(cache).chmod(0o602),
    "entry writable by the group": lambda cache: entry(cache).chmod(0o620),
    "secret writable by others": lambda cache: entry(cache, "seal").chmod(0o602),
    "folder writable by others": lambda cache: Path(cache.folder).chmod(0o777),
    "folder writable by the group": lambda cache: Path(cache.folder).chmod(0o770),
}  # fmt: skip


@pytest.mark.parametrize("what", TAMPERINGS)
def test_an_entry_that_was_tampered_with_is_as_good_as_none(cache: Cache, what: str) -> None:
    TAMPERINGS[what](cache)
    assert cache.read("key") is None


def test_an_entry_under_another_key_is_as_good_as_none(cache: Cache) -> None:
    shutil.copy(entry(cache), entry(cache, "other.json"))
    assert cache.read("other") is None


def read_blocks(cache: Cache, size: int) -> bytes | None:
    found = cache.open_blocks("blocks")
    try:
        return None if found is None else found.read(0, size)
    except ValueError:
        return None


@pytest.mark.parametrize("size", [0, 1, 65_535, 65_536, 65_537, 200_000])
def test_what_was_written_in_blocks_is_read_from_any_place_to_any_other(cache: Cache, size: int) -> None:
    body = bytes(number * 7 % 251 for number in range(size))
    assert cache.write_blocks("blocks", body)
    found = Cache(cache.folder).open_blocks("blocks")
    assert found is not None
    places = sorted({0, 1, 65_535, 65_536, 65_537, 131_072, size // 2, max(size - 1, 0), size, size + 9})
    wrong = [
        (start, end) for start in places for end in places if start <= end and found.read(start, end) != body[start:end]
    ]
    assert wrong == []


@pytest.mark.parametrize("what", [each for each in TAMPERINGS if "cut" not in each])
def test_blocks_that_were_tampered_with_are_as_good_as_none(cache: Cache, what: str) -> None:
    cache.write_blocks("key", b"x" * 100)
    TAMPERINGS[what](cache)
    os.rename(entry(cache), entry(cache, "blocks.json"))
    assert read_blocks(Cache(cache.folder), 100) is None


def test_blocks_hold_in_every_byte(cache: Cache) -> None:
    body = os.urandom(65_536 + 40)
    cache.write_blocks("blocks", body)
    whole = entry(cache, "blocks.json").read_bytes()
    start = len(whole) - len(body)
    believed = []
    for place in (*range(start), start, start + 65_535, start + 65_536, len(whole) - 1):
        flip(entry(cache, "blocks.json"), place)
        if read_blocks(cache, len(body)) is not None:
            believed.append(place)
        flip(entry(cache, "blocks.json"), place)
    entry(cache, "blocks.json").write_bytes(whole[:-1])
    assert (believed, read_blocks(cache, len(body))) == ([], None)


def test_blocks_cannot_change_places(cache: Cache) -> None:
    cache.write_blocks("blocks", b"a" * 65_536 + b"b" * 65_536)
    path = entry(cache, "blocks.json")
    whole = path.read_bytes()
    path.write_bytes(whole[: -2 * 65_536] + whole[-65_536:] + whole[-2 * 65_536 : -65_536])
    assert read_blocks(cache, 10) is None


def test_many_at_once_make_one_secret_and_each_reads_what_any_has_written(tmp_path: Path) -> None:
    folder, names = str(tmp_path / "new"), [f"key{number}" for number in range(6)]
    begin, begins = os.pipe()
    children = []
    for name in names:
        child = os.fork()
        if child == 0:
            os.close(begins)
            os.read(begin, 1)
            found = 1
            with suppress(BaseException):
                found = 0 if Cache(folder).write(name, VALUE) else 2
            os._exit(found)
        children.append(child)
    os.close(begin)
    os.close(begins)  # lets all of them begin
    ended = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
    assert ended == [0] * len(names)
    cache = Cache(folder)
    assert [cache.read(name) for name in names] == [VALUE] * len(names)
    assert sorted(os.listdir(folder)) == sorted(["seal", *(f"{name}.json" for name in names)])


def test_who_comes_while_another_makes_the_secret_makes_one_for_both(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other = Cache(str(tmp_path / "new")), Cache(str(tmp_path / "new"))
    random, wrote = os.urandom, []

    def late(size: int) -> bytes:
        monkeypatch.setattr(os, "urandom", random)
        wrote.append(other.write("other", VALUE))
        return random(size)

    monkeypatch.setattr(os, "urandom", late)
    wrote.append(one.write("one", VALUE))
    found = Cache(one.folder)
    assert (wrote, found.read("one"), found.read("other")) == ([True, True], VALUE, VALUE)


@pytest.mark.parametrize("name", ["key.json", "seal"])
def test_a_link_is_not_followed(cache: Cache, name: str) -> None:
    entry(cache, name).rename(entry(cache, "moved"))
    entry(cache, name).symlink_to("moved")
    assert cache.read("key") is None


def test_a_fifo_is_not_waited_for(cache: Cache) -> None:
    entry(cache).unlink()
    os.mkfifo(entry(cache), 0o600)
    assert cache.read("key") is None


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
@pytest.mark.parametrize("name", ["key.json", "seal", ""])
def test_what_belongs_to_another_user_is_not_used(cache: Cache, name: str) -> None:
    os.chown(entry(cache, name), 12345, 12345)
    assert cache.read("key") is None


def test_a_key_that_has_to_be_made_again_replaces_the_damaged_entry(cache: Cache) -> None:
    flip(entry(cache), -3)
    assert (cache.write("key", VALUE), Cache(cache.folder).read("key")) == (True, VALUE)


def test_a_folder_that_cannot_be_used_costs_time_only(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    nowhere = Cache(str(tmp_path / "file/cache"))
    assert (nowhere.write("key", VALUE), nowhere.read("key")) == (False, None)


@pytest.mark.skipif(os.geteuid() == 0, reason="root can write everywhere")
def test_a_folder_that_can_only_be_read_is_read(cache: Cache) -> None:
    Path(cache.folder).chmod(0o500)
    assert (cache.read("key"), cache.write("new", VALUE)) == (VALUE, False)
    Path(cache.folder).chmod(0o700)


def test_a_value_that_json_cannot_hold_is_not_kept(cache: Cache) -> None:
    with pytest.raises(TypeError):
        cache.write("odd", {"x": object()})
    assert cache.read("odd") is None


def test_the_oldest_entries_make_room(tmp_path: Path) -> None:
    cache = Cache(str(tmp_path / "cache"))
    for number in range(MAX_ENTRIES + 3):
        cache.write(f"k{number}", number)
        os.utime(entry(cache, f"k{number}.json"), (number, number))
    kept = {path.name for path in Path(cache.folder).glob("*.json")}
    assert (len(kept), "k0.json" in kept, f"k{MAX_ENTRIES + 2}.json" in kept) == (MAX_ENTRIES, False, True)


def test_what_killed_writers_left_goes_and_what_is_being_written_stays(cache: Cache) -> None:
    left, begun, other = (Path(cache.folder, name) for name in ("k.json.1.aabb", "k.json.2.ccdd", "other"))
    for path in (left, begun, other):
        path.write_bytes(b"half")
    for path in (left, other):
        os.utime(path, (1e9, 1e9))
    assert cache.write("new", 1)
    assert [path.exists() for path in (left, begun, other)] == [False, True, True]
    assert cache.read("new") == 1


def test_where_one_text_ends_and_the_next_begins_counts() -> None:
    assert len({digest(parts) for parts in (["ab", "c"], ["a", "bc"], ["abc"], ["abc", ""], [b"ab", "c"])}) == 4


def test_only_a_file_of_this_user_in_a_folder_of_this_user_counts_as_owned(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"data")
    path.chmod(0o600)
    tmp_path.chmod(0o755)
    assert read_owned(str(path)) == b"data"
    assert (read_owned(str(tmp_path)), read_owned(str(tmp_path / "missing"))) == (None, None)


@pytest.fixture(scope="module")
def registry() -> Registry:
    path = Path(__file__).parents[2] / "tools.yaml"
    return Registry(compile_tools(path.read_bytes(), str(path)))


def test_a_cached_policy_is_the_policy_that_compiling_makes(tmp_path: Path, registry: Registry) -> None:
    for name in ("config", "home"):
        (tmp_path / name).mkdir()
    more, policy = tmp_path / "config/more.yaml", tmp_path / "config/policy.yaml"
    more.write_text("version: 1\ndeny: ['Bash(rm *)']\n", encoding="utf-8")
    policy.write_text("version: 1\nextends: [daily, {file: more.yaml}]\n", encoding="utf-8")
    here = Places(*(str(tmp_path / name) for name in ("etc", "config", "state", "cache", "home")))
    options = Options(here.home, root=here.home)
    first = load_policy(here, options, registry, check_examples)
    assert any(path.name.startswith("policy-") for path in Path(here.cache).iterdir())
    assert load_policy(here, options, registry, check_examples) == first
    more.write_text("version: 1\ndeny: ['Bash(mv *)']\n", encoding="utf-8")
    changed = load_policy(here, options, registry, check_examples)
    assert changed == load_policy(here.replace(cache=str(tmp_path / "fresh")), options, registry, check_examples)
    rules = [changed.policy.rule(number) for number in range(len(changed.policy.rules))]
    assert [rule.text for rule in rules if rule.source.file == str(more)] == ["deny Bash(mv *)"]
