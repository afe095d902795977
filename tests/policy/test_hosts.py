"""Host patterns: names, addresses in every spelling, groups, and what is unknown."""

from __future__ import annotations

import ipaddress
import json
import socket

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gateway.model.effect import HOLE
from gateway.policy import addresses, hosts


def answers(pattern: str, host: str) -> str:
    """`yes`, `maybe` or `no`."""
    certain, possible = hosts.lookup_possible(hosts.build([(pattern, 3)]), host)
    return "yes" if certain == [3] else "maybe" if possible == [3] else "no"


@pytest.mark.parametrize(
    ("pattern", "host", "answer"),
    [
        ("example.com", "example.com", "yes"),
        ("example.com", "EXAMPLE.com.", "yes"),
        ("Example.com.", "example.com", "yes"),
        ("example.com", "www.example.com", "no"),
        ("example.com", "example.com.evil.com", "no"),
        ("*.example.com", "www.example.com", "yes"),
        ("*.example.com", "a.b.example.com", "yes"),
        ("*.example.com", "example.com", "no"),
        ("*.example.com", "badexample.com", "no"),
        ("*.example.com", ".example.com", "maybe"),
        ("example.*", "example.org", "yes"),
        ("example.*", "example.evil.com", "no"),
        ("api-*.example.com", "api-1.example.com", "yes"),
        ("api-*.example.com", "api-1.x.example.com", "no"),
        ("api.*.example.com", "api.eu.example.com", "yes"),
        ("api.*.example.com", "api.example.com", "no"),
        ("*.api-*.example.com", "x.y.api-2.example.com", "yes"),
        ("*.api-*.example.com", "api-2.example.com", "no"),
        ("*example.com", "myexample.com", "yes"),
        ("*example.com", "a.myexample.com", "no"),
        ("*", "whatever.example", "yes"),
        ("*", "10.0.0.1", "yes"),
        ("*", "a." * 200 + "example.com", "yes"),
        ("*.example.com", "a." * 120 + "example.com", "yes"),
        ("*.example.com", "a." * 200 + "example.com", "maybe"),
        ("other.org", "a." * 200 + "example.com", "maybe"),
        ("bücher.de", "xn--bcher-kva.de", "yes"),
        ("xn--bcher-kva.de", "BÜCHER.de", "yes"),
        ("fass.de", "faß.de", "maybe"),
        ("*.example.com", "é" * 70 + ".example.com", "maybe"),
        ("xn--fa-hia.de", "faß.de", "maybe"),
        ("example.com", "\uff45xample.com", "maybe"),
        ("example.com", "example\u3002com", "maybe"),
        ("example.com", "%65xample.com", "maybe"),
        ("*.example.com", "evil.com\\.example.com", "maybe"),
        ("*.example.com", "evil.com/.example.com", "maybe"),
        ("*.example.com", "a b.example.com", "maybe"),
        ("127.0.0.1", "127.0.0.1", "yes"),
        ("127.0.0.1", "0x7f.1", "yes"),
        ("127.0.0.1", "2130706433", "yes"),
        ("127.0.0.1", "127.1", "yes"),
        ("127.0.0.1", "0177.0.0.1", "maybe"),
        ("177.0.0.1", "0177.0.0.1", "maybe"),
        ("127.0.0.1", "[::ffff:127.0.0.1]", "yes"),
        ("127.0.0.1", "::ffff:7f00:1", "yes"),
        ("127.0.0.1", "64:ff9b::127.0.0.1", "yes"),
        ("127.0.0.1", "127.0.0.1.example.com", "no"),
        ("10.0.0.0/8", "10.200.3.4", "yes"),
        ("10.0.0.0/8", "11.0.0.1", "no"),
        ("192.168.*.*", "192.168.3.4", "yes"),
        ("192.168.*.*", "192.168.772", "yes"),
        ("[::1]", "0:0:0:0:0:0:0:1", "yes"),
        ("fd00::/8", "fd12::9", "yes"),
        ("fd00::/8", "fe12::9", "no"),
        ("loopback", "localhost", "yes"),
        ("loopback", "a.localhost", "yes"),
        ("loopback", "0.0.0.0", "yes"),
        ("loopback", "0", "yes"),
        ("loopback", "[::]", "yes"),
        ("loopback", "127.9.9.9", "yes"),
        ("loopback", "10.0.0.1", "no"),
        ("private", "172.31.0.1", "yes"),
        ("private", "172.32.0.1", "no"),
        ("private", "db.internal", "yes"),
        ("private", "intranet", "maybe"),
        ("private", "localhost", "no"),
        ("private", "localhost.", "no"),
        ("private", "LOCALHOST", "no"),
        ("private", "[fd00::1]", "yes"),
        ("link-local", "169.254.3.4", "yes"),
        ("link-local", "fe80::1%eth0", "maybe"),
        ("metadata", "169.254.169.254", "yes"),
        ("metadata", "0xA9FEA9FE", "yes"),
        ("metadata", "metadata.google.internal.", "yes"),
        ("metadata", "[fd00:ec2::254]", "yes"),
        ("metadata", "169.254.169.253", "no"),
        ("*.example.com", f"{HOLE}.example.com", "maybe"),
        ("example.com", f"api.{HOLE}", "maybe"),
        ("loopback", HOLE, "maybe"),
        ("*", HOLE, "yes"),
    ],
)
def test_a_pattern_answers_for_a_host(pattern: str, host: str, answer: str) -> None:
    assert answers(pattern, host) == answer


METADATA = (
    "169.254.169.254 169.254.170.2 169.254.170.23 100.100.100.200 168.63.129.16 192.0.0.192 [fd00:ec2::254] "
    "[fd00:ec2::23] [fd20:ce::254] metadata.google.internal metadata.goog metadata instance-data x.instance-data "
    "instance-data.ec2.internal metadata.azure.internal metadata.packet.net metadata.tencentyun.com"
)
LOOPBACK = "127.9.9.9 0.1.2.3 [::1] [::] localhost x.localhost localhost.localdomain ip6-localhost"


@pytest.mark.parametrize(("group", "names"), [("metadata", METADATA), ("loopback", LOOPBACK)])
def test_a_group_holds_for_each_name_that_clouds_and_systems_have_for_it(group: str, names: str) -> None:
    assert [name for name in names.split() if answers(group, name) == "no"] == []


def test_a_rule_that_forbids_goes_by_any_reading() -> None:
    index = hosts.build([("127.0.0.1", 1), ("177.0.0.1", 2), ("private", 3), ("*", 4)])
    assert hosts.lookup(index, "0177.0.0.1") == [1, 2, 4]
    assert hosts.lookup(index, "intranet") == [3, 4]
    assert hosts.lookup(index, f"{HOLE}.1") == [4]


@pytest.mark.parametrize(
    "pattern",
    [
        "", "https://example.com", "example.com:443", "example.com/x", "a..b", "a b", "2130706433", "0x7f.1",
        "0177.0.0.1", "10.0.0.1/8", "10.0.0.0/33", "10.0.0.0/x", "1.2.3", "::1::2", "a.**.b", "faß.de", "bü*.de",
        "[::1", "%65.com", ".com",
    ],
)  # fmt: skip
def test_what_is_no_pattern_is_refused(pattern: str) -> None:
    with pytest.raises(ValueError, match="must"):
        hosts.build([(pattern, 1)])


@given(st.integers(0, 2**32 - 1))
def test_ipv4_addresses_are_read_as_the_system_reads_them(value: int) -> None:
    spelled = [
        str(ipaddress.IPv4Address(value)), str(value), hex(value), f"{value >> 24}.{value & 0xFFFFFF}",
        f"{hex(value >> 24)}.{value >> 16 & 255}.{value & 0xFFFF}", f"[::ffff:{ipaddress.IPv4Address(value)}]"[1:-1],
    ]  # fmt: skip
    assert [addresses.readings(text) for text in spelled] == [[(4, value)]] * len(spelled)
    assert all(socket.inet_aton(text) == value.to_bytes(4, "big") for text in spelled[:-1])


@given(st.text("0123456789abx.", max_size=16))
@example("0x7f.1")
@example("0177.0.0.1")
def test_a_text_is_an_ipv4_address_if_the_system_takes_it_for_one(text: str) -> None:
    try:
        expected = int.from_bytes(socket.inet_aton(text), "big")
    except OSError:
        return
    found = addresses.readings(text)
    assert (4, expected) in found
    assert len(set(found)) == len(found)


@given(st.integers(0, 2**128 - 1), st.booleans())
def test_ipv6_addresses_are_read_by_value(value: int, short: bool) -> None:
    address = ipaddress.IPv6Address(value)
    text = address.compressed if short else address.exploded
    found = addresses.readings(text)
    assert found == [(6, value)] or (len(found) == 1 and found[0] == (4, value & 0xFFFFFFFF))


@given(st.text("0123456789abf:.", max_size=20))
def test_a_text_is_an_ipv6_address_only_if_the_standard_library_says_so(text: str) -> None:
    if ":" not in text:
        return
    try:
        ipaddress.IPv6Address(text)
        valid = True
    except ValueError:
        valid = False
    assert bool(addresses.readings(text)) is valid


def test_an_index_is_plain_data_and_finds_among_many() -> None:
    many = [(f"*.d{i}.example.com", i) for i in range(2000)] + [(f"h{i}.org", 2000 + i) for i in range(2000)]
    many += [(f"10.{i // 250}.{i % 250}.0/24", 4000 + i) for i in range(2000)]
    many += [(f"api-*.r{i}.net", 6000 + i) for i in range(2000)] + [(f"x{i}y-*.net", 8000 + i) for i in range(2000)]
    index = json.loads(json.dumps(hosts.build(many)))
    looked = ["a.d7.example.com", "h5.org", "10.1.7.9", "api-x.r9.net", "x12y-q.net", "nothing.org"]
    assert [hosts.lookup(index, host) for host in looked] == [[7], [2005], [4257], [6009], [8012], []]
