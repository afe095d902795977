"""Hosts as a client of the proxy may write them, and what kind of network an address belongs to. Pure.

There is one spelling of each host here. Whatever two programs could read as different hosts is refused.
"""

from __future__ import annotations

from gateway.core.value import Value
from gateway.policy.addresses import network, text_of
from gateway.policy.hosts import GROUPS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gateway.policy.addresses import Address

PUBLIC = "public"
_LABEL = frozenset("abcdefghijklmnopqrstuvwxyz0123456789-_")
_KINDS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("metadata", tuple(name for name in GROUPS["metadata"] if network(name))),
    ("loopback", ("127.0.0.0/8", "::1/128")),
    ("unspecified", ("0.0.0.0/8", "::/128")),
    ("link-local", ("169.254.0.0/16", "fe80::/10")),
    ("private", ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7", "fec0::/10", "64:ff9b:1::/48")),
    ("shared", ("100.64.0.0/10",)),
    ("multicast", ("224.0.0.0/4", "ff00::/8")),
    (
        "reserved",
        (
            "192.0.0.0/24", "192.0.2.0/24", "192.31.196.0/24", "192.52.193.0/24", "192.88.99.0/24", "192.175.48.0/24",
            "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "240.0.0.0/4",
            # Benchmarking, ORCHID, Teredo, documentation, 6to4, segment routing: none is an ordinary public host,
            # and 6to4 and Teredo hold another address inside.
            "2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20", "5f00::/16",
        ),
    ),
)  # fmt: skip


def _table() -> tuple[tuple[int, int, int, str], ...]:
    rows = []
    for kind, networks in _KINDS:
        for each in networks:
            found = network(each)
            if found is None:
                raise ValueError(f"no network: {each}")
            rows.append((*found, kind))
    return tuple(rows)


_ROWS = _table()


class HostError(ValueError):
    """A host that is not written the one way everyone reads alike; the message says what is wrong with it."""


class Host(Value):
    """A name in lower case, or an address. `text` is its only spelling, IPv6 without brackets."""

    text: str
    address: Address | None = None

    def at(self, port: int) -> str:
        """`host:port`, IPv6 in brackets."""
        return f"[{self.text}]:{port}" if ":" in self.text else f"{self.text}:{port}"


def host_of(text: str) -> Host:
    """The host that a name, a dotted quad or an IPv6 address in brackets means. Raises HostError."""
    if text.startswith("["):
        if not text.endswith("]"):
            raise HostError("an IPv6 address must stand in brackets, and nothing behind them")
        return _version_6(text[1:-1])
    if not text:
        raise HostError("the host is missing")
    if len(text) > 253:
        raise HostError("the host is too long")
    name = text.lower() if text.isascii() else text
    labels = name.split(".")
    for label in labels:
        if not label or len(label) > 63:
            raise HostError("a host must have labels of 1 to 63 characters with single dots between them")
        if not _LABEL.issuperset(label):
            raise HostError("a host must be made of letters, digits, `-`, `_` and dots")
        if label[0] == "-" or label[-1] == "-":
            raise HostError("a label of a host must not begin or end with `-`")
    last = labels[-1]
    if last.isdigit() or last.startswith("0x"):
        return _version_4(labels)
    return Host(name)


def name_of(text: str) -> Host:
    """The same for what must be a name, such as the question of a DNS query. Raises HostError."""
    host = host_of(text)
    if host.address is not None:
        raise HostError("an address is not a name")
    return host


def host_at(address: Address) -> Host:
    """The host that an address by itself is. Raises HostError for one that wraps another."""
    version, value = address
    if version == 4:
        return Host(text_of(4, value), address)
    if value >> 32 == 0xFFFF or (value >> 32 == 0 and value > 1):
        raise HostError("an IPv4 address must be written as one")
    from ipaddress import IPv6Address  # loaded only for such an address

    return Host(IPv6Address(value).compressed, address)


def address_of(text: str) -> Address:
    """The address that a resolver gave; one that wraps an IPv4 address is that one. Raises HostError."""
    from ipaddress import IPv6Address

    text = text.partition("%")[0]
    if ":" not in text:
        found = host_of(text).address
        if found is None:
            raise HostError("not an address")
        return found
    value = int(IPv6Address(text))
    return (4, value & 0xFFFFFFFF) if value >> 32 == 0xFFFF else (6, value)


def text_at(address: Address) -> str:
    """How the operating system writes an address."""
    version, value = address
    if version == 4:
        return text_of(4, value)
    from ipaddress import IPv6Address

    return IPv6Address(value).compressed


def kind_of(address: Address) -> str:
    """`public`, or why an address is no ordinary host of the internet. An IPv4 address wrapped for translation
    (`64:ff9b::/96`, `::ffff:0:0/96`) is of the kind of that address."""
    version, value = address
    if version == 6:
        high = value >> 32
        if high in (0xFFFF, 0x64FF9B << 64):
            version, value = 4, value & 0xFFFFFFFF
        elif high == 0 and value > 1:
            return "reserved"
    width = 32 if version == 4 else 128
    for of_version, first, bits, kind in _ROWS:
        if of_version == version and value >> (width - bits) == first >> (width - bits):
            return kind
    if version == 6 and value >> 125 != 1:
        return "reserved"  # outside 2000::/3, where all of the public internet lies
    return PUBLIC


def _version_4(labels: list[str]) -> Host:
    if len(labels) != 4 or not all(label.isdigit() and label == str(int(label)) for label in labels):
        raise HostError("an IPv4 address must be written as four decimal numbers")
    numbers = [int(label) for label in labels]
    if max(numbers) > 255:
        raise HostError("an IPv4 address must be written as four decimal numbers")
    value = numbers[0] << 24 | numbers[1] << 16 | numbers[2] << 8 | numbers[3]
    return Host(".".join(labels), (4, value))


def _version_6(text: str) -> Host:
    from ipaddress import AddressValueError, IPv6Address

    if "%" in text:
        raise HostError("an address must not have a zone")
    try:
        value = int(IPv6Address(text))
    except AddressValueError:
        raise HostError("there must be an IPv6 address in the brackets") from None
    return host_at((6, value))
