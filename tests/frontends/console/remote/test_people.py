"""Who may answer: what is written is what is read, and what is not the gateway's own is not believed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from gateway.core.errors import ConfigError
from gateway.frontends.console.remote.people import FILE, MOST_EACH, MOST_PEOPLE, Browser, Passkey, People, Person


@pytest.fixture
def folder(tmp_path: Path) -> str:
    tmp_path.chmod(0o700)
    return str(tmp_path)


def test_what_is_written_is_read_again(folder: str):
    people = People(folder)
    for name in ("ann", "ben@example.com"):
        people.invited(name)
    people.add_passkey("ann", Passkey("aa", "bb"))
    people.used("ann", "aa", 3)
    people.add_browser("ann", Browser("https://push.example/1", "k", "s"))
    again = People(folder)
    assert again.all() == people.all()
    assert again.with_passkey("aa") == (people.find("ann"), Passkey("aa", "bb", 3))
    assert Path(folder, FILE).stat().st_mode & 0o777 == 0o600


def test_what_is_forgotten_is_gone(folder: str):
    people = People(folder)
    people.invited("ann")
    assert (people.forget("ann"), people.forget("ann"), People(folder).all()) == (True, False, [])


def test_a_browser_whose_service_knows_it_no_longer_is_told_no_more_and_the_oldest_gives_way(folder: str):
    people = People(folder)
    people.invited("ann")
    for number in range(MOST_EACH + 2):
        people.add_browser("ann", Browser(f"https://push.example/{number}", "k", "s"))
    people.drop_browser("https://push.example/5")
    found = people.find("ann")
    assert found is not None
    assert [each.endpoint[-1] for each in found.browsers] == ["2", "3", "4", "6", "7", "8", "9"]


@pytest.mark.parametrize("name", ["", "-x", "a b", "a\nb", "x" * 64, "<b>", "ä"])
def test_names_are_plain(folder: str, name: str):
    with pytest.raises(ValueError, match="letters"):
        People(folder).invited(name)


def test_there_are_not_too_many(folder: str):
    people = People(folder)
    people._people = {str(number): Person(str(number), "aa") for number in range(MOST_PEOPLE)}
    with pytest.raises(ValueError, match="forget"):
        people.invited("ann")


@pytest.mark.parametrize(
    "content",
    ["", "{", "[]", '{"people": 1}', '{"people": [1]}',
     '{"people": [{"name": "a b", "handle": "", "passkeys": [],' + ' "browsers": []}]}',
     '{"people": [{"name": "ann", "handle": "zz", "passkeys": [], "browsers": []}]}', "[" * 100_000, "x" * (1 << 20)],
)  # fmt: skip
def test_a_file_that_is_none_is_told_and_left_as_it_is(folder: str, content: str):
    path = Path(folder, FILE)
    path.write_text(content)
    path.chmod(0o600)
    with pytest.raises(ConfigError, match="none of the gateway"):
        People(folder)
    assert path.read_text() == content


def test_a_file_that_others_could_have_written_is_not_believed(folder: str):
    People(folder).invited("ann")
    path = Path(folder, FILE)
    path.chmod(0o644)
    with pytest.raises(ConfigError, match="yours alone"):
        People(folder)
    path.chmod(0o600)
    os.rename(path, path.with_name("other"))
    path.symlink_to(path.with_name("other"))
    with pytest.raises(ConfigError):
        People(folder)
