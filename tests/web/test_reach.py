"""Where a fetch may connect to: every address of a name is looked at, once, and exactly those are dialled."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from webworld import OTHER, PUBLIC, needs_openssl

from gateway.calls.outgoing import RequestError
from gateway.tools.urls import parse
from gateway.web.reach import Hosts, Refusals

if TYPE_CHECKING:
    from webworld import World

NOT_PUBLIC = [
    ("127.0.0.1", "loopback"), ("127.8.8.8", "loopback"), ("0.0.0.0", "unspecified"), ("::1", "loopback"),
    ("::", "unspecified"), ("10.0.0.1", "private"), ("172.16.5.5", "private"), ("192.168.1.1", "private"),
    ("100.64.0.1", "shared"), ("169.254.1.1", "link-local"), ("fe80::1", "link-local"), ("fe80::1%eth0", "link-local"),
    ("169.254.169.254", "metadata"), ("fd00:ec2::254", "metadata"), ("100.100.100.200", "metadata"),
    ("fc00::1", "private"), ("fd12:3456::1", "private"), ("224.0.0.1", "multicast"), ("ff02::1", "multicast"),
    ("240.0.0.1", "reserved"), ("255.255.255.255", "reserved"), ("198.18.0.1", "reserved"), ("192.0.2.1", "reserved"),
    ("::ffff:127.0.0.1", "loopback"), ("::ffff:10.0.0.1", "private"), ("::ffff:169.254.169.254", "metadata"),
    ("64:ff9b::7f00:1", "loopback"), ("64:ff9b::a9fe:a9fe", "metadata"), ("64:ff9b:1::1", "private"),
    ("2002:7f00:1::1", "reserved"), ("2002:0a00:0001::", "reserved"), ("2001:0:7f00:1::", "reserved"),
    ("::7f00:1", "reserved"), ("4000::1", "reserved"),
]  # fmt: skip


@pytest.mark.parametrize(("address", "kind"), NOT_PUBLIC, ids=[each for each, _kind in NOT_PUBLIC])
def test_a_name_that_leads_to_no_public_address_is_refused(world: World, address: str, kind: str) -> None:
    site = world.serve("good.example")
    site.says("/", "hello")
    world.names["good.example"] = [address]
    with pytest.raises(RequestError, match=rf"no public address \({kind}\)"):
        world.get("http://good.example/")
    assert (world.dialled, site.connections) == ([], 0)
    world.names["good.example"] = [PUBLIC]
    assert world.get("http://good.example/").body == b"hello"


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1/", "http://127.1/", "http://0x7f.1/", "http://0177.0.0.1/", "http://2130706433/",
        "http://0/", "http://[::1]/", "http://[::ffff:7f00:1]/", "http://[64:ff9b::127.0.0.1]/", "http://10.1/",
        "http://169.254.169.254/latest/meta-data/", "http://[fd00:ec2::254]/", "http://127.0.0.1./",
    ],
)  # fmt: skip
def test_an_address_in_any_spelling_is_refused_unless_it_is_public(world: World, url: str) -> None:
    with pytest.raises(RequestError, match="no public address"):
        world.get(url)
    assert world.dialled == []
    site = world.serve(PUBLIC)
    site.says("/", "hello")
    assert world.get(f"http://{PUBLIC}/").body == b"hello"


@pytest.mark.parametrize(
    "answer", [[PUBLIC, "127.0.0.1"], ["10.0.0.1", PUBLIC], [PUBLIC, OTHER, "::1"]], ids=["last", "first", "a third"]
)
def test_one_address_that_is_not_public_refuses_the_name(world: World, answer: list[str]) -> None:
    site = world.serve("good.example")
    site.says("/", "hello")
    world.names["good.example"] = answer
    with pytest.raises(RequestError, match="no public address"):
        world.get("http://good.example/")
    assert world.dialled == []
    world.names["good.example"] = [PUBLIC, OTHER]
    assert world.get("http://good.example/").body == b"hello"


def test_a_name_is_resolved_once_so_that_a_second_answer_changes_nothing(world: World) -> None:
    site, inside = world.serve("good.example"), world.serve("inside.example", address="127.0.0.1")
    inside.says("/b", "secret")
    site.redirects("/a", "/b")
    site.says("/b", "public")
    world.names["good.example"] = [[PUBLIC], ["127.0.0.1"], ["127.0.0.1"]]
    found = world.get("http://good.example/a")
    assert (found.body, world.resolved) == (b"public", ["good.example"])
    assert world.dialled == [(PUBLIC, 80), (PUBLIC, 80)]
    assert inside.connections == 0
    with pytest.raises(RequestError, match="no public address"):  # the second answer is judged by itself
        world.get("http://good.example/a")


def test_the_next_address_is_tried_where_the_first_does_not_answer(world: World) -> None:
    site = world.serve("good.example", address=OTHER)
    site.says("/", "hello")
    world.names["good.example"] = [PUBLIC, OTHER]
    found = world.get("http://good.example/")
    assert (found.body, found.steps[0].addresses) == (b"hello", (PUBLIC, OTHER))
    assert world.dialled == [(PUBLIC, 80), (OTHER, 80)]


@needs_openssl
def test_the_address_that_was_judged_is_dialled_under_the_name(world: World) -> None:
    site = world.serve("good.example", 443, tls=True)
    site.says("/", "secure")
    assert world.get("https://good.example/", plain=()).body == b"secure"
    assert (world.dialled, site.asked[0][2]["host"]) == ([(PUBLIC, 443)], "good.example")


@pytest.mark.parametrize("answer", [[], ["not an address"], ["1.2.3.4.5"], [PUBLIC] * 17])
def test_an_answer_that_is_none_is_an_error(world: World, answer: list[str]) -> None:
    world.names["good.example"] = answer
    with pytest.raises(RequestError, match=r"good\.example"):
        world.get("http://good.example/")
    assert world.dialled == []


def test_a_name_that_nobody_has_is_an_error(world: World) -> None:
    with pytest.raises(RequestError, match=r"nowhere\.example cannot be found"):
        world.get("http://nowhere.example/")


def test_this_machines_own_address_is_refused_even_where_it_is_public(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = world.serve("good.example")
    site.says("/", "hello")
    monkeypatch.setattr("gateway.web.reach.is_own", lambda _address: True)
    with pytest.raises(RequestError, match="this machine's own address"):
        world.get("http://good.example/")
    assert world.get("http://good.example/", private=("good.example",)).body == b"hello"


# --------------------------------------------------------------------------------- what a person has opened, and rules


PRIVATE = [
    pytest.param("inside.example", "127.0.0.1", ("inside.example",), True, id="the name at the usual port"),
    pytest.param("inside.example", "127.0.0.1", ("inside.example:80",), True, id="the name and its port"),
    pytest.param("inside.example", "127.0.0.1", ("inside.example:81",), False, id="another port"),
    pytest.param("inside.example", "127.0.0.1", ("other.example",), False, id="another name"),
    pytest.param("inside.example", "127.0.0.1", ("127.0.0.1",), False, id="the address opens no name for it"),
    pytest.param("127.0.0.1", "127.0.0.1", ("127.0.0.1",), True, id="the address itself"),
    pytest.param("127.0.0.1", "127.0.0.1", ("loopback",), True, id="its group"),
    pytest.param("127.0.0.1", "127.0.0.1", ("127.0.0.0/8",), True, id="its network"),
    pytest.param("inside.example", "169.254.169.254", ("inside.example",), False, id="never the metadata service"),
    pytest.param("169.254.169.254", "169.254.169.254", ("169.254.169.254", "metadata"), False, id="not by itself"),
]


@pytest.mark.parametrize(("name", "address", "private", "opened"), PRIVATE)
def test_private_addresses_are_reached_only_by_hosts_that_a_person_named(
    world: World, name: str, address: str, private: tuple[str, ...], opened: bool
) -> None:
    site = world.serve(name, address=address)
    site.says("/", "inside")
    if opened:
        assert world.get(f"http://{name}/", private=private).body == b"inside"
        return
    with pytest.raises(RequestError, match="no public address"):
        world.get(f"http://{name}/", private=private)
    assert site.connections == 0


REFUSALS = [
    pytest.param((("93.184.216.0/24", 0, "no"),), False, id="its network"),
    pytest.param((("93.184.216.*", 0, "no"),), False, id="its network as a pattern"),
    pytest.param(((PUBLIC, 80, "no"),), False, id="itself at this port"),
    pytest.param(((PUBLIC, 443, "no"),), True, id="at another port"),
    pytest.param((("10.0.0.0/8", 0, "no"),), True, id="another network"),
    pytest.param((("*", 0, "no"),), True, id="any host, which the name was judged by"),
    pytest.param((("*.example", 0, "no"),), True, id="names, likewise"),
]


@pytest.mark.parametrize(("refusals", "reached"), REFUSALS)
def test_rules_that_deny_an_address_hold_whatever_name_leads_there(
    world: World, refusals: tuple[tuple[str, int, str], ...], reached: bool
) -> None:
    site = world.serve("good.example")
    site.says("/", "hello")
    if reached:
        assert world.get("http://good.example/", refusals=refusals).body == b"hello"
        return
    with pytest.raises(RequestError, match="which rule `no` denies"):
        world.get("http://good.example/", refusals=refusals, private=("good.example",))
    assert world.dialled == []


@pytest.mark.parametrize(
    ("entry", "host", "port", "named"),
    [
        ("a.example", "a.example", 80, True), ("a.example", "a.example", 443, True),
        ("a.example", "a.example", 8, False),
        ("a.example:8", "a.example", 8, True), ("a.example:8", "a.example", 80, False), ("*.a", "x.a", 80, True),
        ("*.a", "a", 80, False), ("[::1]:8", "::1", 8, True), ("10.0.0.0/8", "10.2.3.4", 80, True),
    ],
)  # fmt: skip
def test_hosts_of_a_setting(entry: str, host: str, port: int, named: bool) -> None:
    assert Hosts((entry,)).names(host, port) is named


def test_refusals_name_their_rule() -> None:
    refusals = Refusals([("10.0.0.0/8", 0, "a"), ("10.1.0.0/16", 22, "b")])
    assert [refusals.rule("10.1.2.3", 22), refusals.rule("11.0.0.1", 22)] == ["a", ""]


def test_addresses_that_were_found_before_are_judged_again(world: World) -> None:
    where = parse("https://good.example/")
    world.reach().check(where, (PUBLIC,))
    with pytest.raises(RequestError, match="no public address"):
        world.reach().check(where, (PUBLIC, "10.0.0.1"))
