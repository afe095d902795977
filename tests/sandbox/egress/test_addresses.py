"""Hosts have one spelling, and no address passes for public that is not."""

from __future__ import annotations

import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.sandbox.egress.addresses import Host, HostError, address_of, host_of, kind_of, name_of, text_at


@pytest.mark.parametrize(
    ("text", "host"),
    [
        ("example.com", Host("example.com")),
        ("EXAMPLE.Com", Host("example.com")),
        ("a_b.example-1.com", Host("a_b.example-1.com")),
        ("localhost", Host("localhost")),
        ("1.example", Host("1.example")),
        ("192.0.2.1", Host("192.0.2.1", (4, 0xC0000201))),
        ("[2001:DB8::0:1]", Host("2001:db8::1", (6, 0x20010DB8 << 96 | 1))),
        ("[::1]", Host("::1", (6, 1))),
    ],
    ids=str,
)
def test_one_spelling_is_kept(text: str, host: Host) -> None:
    assert host_of(text) == host


@pytest.mark.parametrize(
    "text",
    [
        "", ".", "example.com.", ".example.com", "a..b", "a b", "a\0b", "a@b", "a#b", "a%41", "a/b", "a\\b", "a?b",
        "a:b",         "é.example",
        "\uff45xample.com", "a\n", "*", "*.example.com", "-a.example", "a-.example", "x" * 64 + ".com",
        ".".join(["a" * 50] * 6), "0x7f.1", "0x7f000001", "017700000001", "2130706433", "127.1", "127.0.0.01",
        "0177.0.0.1", "127.0.0.256", "1.2.3.4.5", "127.0.0.0x1", "0X7F.0.0.1", "[::ffff:127.0.0.1]", "[::127.0.0.1]",
        "[fe80::1%lo]", "[fe80::1%25lo]", "[::1", "::1", "[::1]x", "[]", "[1.2.3.4]", "[::1]]",
    ],
)  # fmt: skip
def test_whatever_two_programs_could_read_differently_is_refused(text: str) -> None:
    with pytest.raises(HostError):
        host_of(text)


def test_an_address_is_no_name() -> None:
    with pytest.raises(HostError):
        name_of("192.0.2.1")


@given(st.text(max_size=40))
def test_any_text_is_a_host_in_its_only_spelling_or_is_refused(text: str) -> None:
    try:
        host = host_of(text)
    except HostError:
        return
    again = f"[{host.text}]" if ":" in host.text else host.text
    assert host_of(again) == host
    assert host.text.isascii()
    assert not set(host.text) & set(" @#%/\\\0*")


@given(st.one_of(st.ip_addresses(v=4), st.ip_addresses(v=6)))
def test_the_system_spelling_of_an_address_leads_back_to_it(
    address: ipaddress.IPv4Address | ipaddress.IPv6Address,
) -> None:
    mapped = getattr(address, "ipv4_mapped", None)
    meant = mapped or address
    assert address_of(str(address)) == (meant.version, int(meant))
    assert text_at((meant.version, int(meant))) == str(meant.__class__(int(meant)))


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("93.184.216.34", "public"), ("8.8.8.8", "public"), ("2606:4700::1", "public"), ("2a00:1450::5", "public"),
        ("127.0.0.1", "loopback"), ("127.255.1.2", "loopback"), ("::1", "loopback"),
        ("0.0.0.0", "unspecified"), ("0.1.2.3", "unspecified"), ("::", "unspecified"),
        ("10.1.2.3", "private"), ("172.16.0.1", "private"), ("172.31.255.255", "private"), ("192.168.1.1", "private"),
        ("fc00::1", "private"), ("fdff::1", "private"), ("fec0::1", "private"), ("64:ff9b:1::808:808", "private"),
        ("172.32.0.1", "public"), ("100.63.255.255", "public"), ("100.128.0.1", "public"),
        ("100.64.0.1", "shared"), ("100.127.255.255", "shared"),
        ("169.254.1.1", "link-local"), ("fe80::1", "link-local"),
        ("169.254.169.254", "metadata"), ("169.254.170.2", "metadata"), ("100.100.100.200", "metadata"),
        ("168.63.129.16", "metadata"), ("fd00:ec2::254", "metadata"),
        ("224.0.0.1", "multicast"), ("ff02::1", "multicast"),
        ("255.255.255.255", "reserved"), ("240.0.0.1", "reserved"), ("192.0.2.1", "reserved"),
        ("198.18.0.1", "reserved"),
        ("203.0.113.9", "reserved"), ("192.0.0.8", "reserved"), ("2001:db8::1", "reserved"), ("2001::1", "reserved"),
        ("2002:7f00:1::", "reserved"), ("2002:808:808::", "reserved"), ("4000::1", "reserved"), ("::2", "reserved"),
        ("::7f00:1", "reserved"), ("64:ff9b::7f00:1", "loopback"), ("64:ff9b::a00:1", "private"),
        ("64:ff9b::808:808", "public"), ("::ffff:10.0.0.1", "private"), ("::ffff:8.8.8.8", "public"),
    ],
)  # fmt: skip
def test_every_kind_of_address_is_told(text: str, kind: str) -> None:
    found = ipaddress.ip_address(text)
    assert kind_of((found.version, int(found))) == kind
    assert kind_of(address_of(text)) == kind


@given(st.one_of(st.ip_addresses(v=4), st.ip_addresses(v=6)))
def test_nothing_is_public_that_the_standard_library_knows_to_be_private(
    address: ipaddress.IPv4Address | ipaddress.IPv6Address,
) -> None:
    if kind_of((address.version, int(address))) == "public":
        translated = address.version == 6 and int(address) >> 32 in (0xFFFF, 0x64FF9B << 64)
        plain = ipaddress.IPv4Address(int(address) & 0xFFFFFFFF) if translated else address
        assert not (plain.is_private)
        assert not (plain.is_loopback)
        assert not (plain.is_link_local)
        assert not (plain.is_multicast)
