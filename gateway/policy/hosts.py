"""Host patterns and an index over any number of them.

A pattern is a name (`example.com`), any name below one at any depth (`*.example.com`, without `example.com`
itself), a name with `*` inside labels (`api-*.example.com`), `*` for any host, an address, a network
(`10.0.0.0/8`), or one of the groups `loopback`, `private`, `link-local` and `metadata`.

Letters match in either case, a trailing dot is ignored, names are compared in their ASCII form and addresses by
value, so that `0x7f.1`, `2130706433` and `[::ffff:127.0.0.1]` are `127.0.0.1`. What programs could read as two
different hosts matches a pattern for certain only if it does so in every reading. Nothing is resolved here.
"""

from __future__ import annotations

from gateway.model.effect import HOLE
from gateway.policy import trie
from gateway.policy.addresses import network, readings, text_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from gateway.policy.addresses import Address

    Index = dict[str, Any]

GROUPS: dict[str, tuple[str, ...]] = {
    "loopback": (
        "127.0.0.0/8", "0.0.0.0/8", "::1", "::", "localhost", "*.localhost", "localhost.localdomain", "ip6-localhost",
    ),
    "private": (
        "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10", "fc00::/7", "fec0::/10",
        "*.internal", "*.local", "*.localdomain", "*.lan", "*.home.arpa", "*.intranet", "*.corp",
    ),
    "link-local": ("169.254.0.0/16", "fe80::/10"),
    "metadata": (
        "169.254.169.254", "169.254.170.2", "169.254.170.23", "100.100.100.200", "168.63.129.16", "192.0.0.192",
        "fd00:ec2::254", "fd00:ec2::23", "fd20:ce::254",
        "metadata.google.internal", "metadata.goog", "metadata", "instance-data", "*.instance-data",
        "instance-data.ec2.internal", "metadata.azure.internal", "metadata.packet.net", "metadata.tencentyun.com",
    ),
}  # fmt: skip
_LONGEST_NAME = 255  # of a longer one nobody knows what a resolver makes of it
_LABEL = frozenset("abcdefghijklmnopqrstuvwxyz0123456789-_")


def build(patterns: Iterable[tuple[str, int]]) -> Index:
    """The index over `(pattern, id)`, with the patterns as written. Raises ValueError, without the place, for what is
    no pattern."""
    index: Index = {"any": [], "names": {}, "below": {}, "networks": {"4": {}, "6": {}}, "single": [], "every": []}
    index["written"] = written = []
    globs: list[tuple[list[str], int, int]] = []
    for pattern, number in patterns:
        index["every"].append(number)
        written.append([pattern, number])
        if pattern == "private":
            index["single"].append(number)
        for each in GROUPS.get(pattern.lower(), (pattern,)):
            _add(index, globs, each, number)
    index["every"] = sorted(set(index["every"]))
    index["globs"] = trie.build(globs) if globs else None
    return index


def lookup(index: Index, host: str) -> list[int]:
    """The ids of patterns that match in any reading of the host, each once: what rules that forbid go by. Of a host
    with unknown parts: those that match whatever they are."""
    certain, possible = lookup_possible(index, host)
    return certain if HOLE in host or not possible else sorted({*certain, *possible})


def lookup_possible(index: Index, host: str) -> tuple[list[int], list[int]]:
    """The ids of patterns that match whatever the host is read as, and of the others that might match.

    An unknown part may end the host (`@`, `/`) wherever it stands, so that only `*` is certain of it. A name
    without a dot may be a host of the local network: `private` might match, but for `localhost`, which is this machine
    (RFC 6761, section 6.3).
    """
    anything: list[int] = index["any"]
    if HOLE in host or len(host) > _LONGEST_NAME:
        return anything, [number for number in index["every"] if number not in anything]
    meant, clear = _read(host)
    local = len(meant) == 1 and isinstance(meant[0], str) and "." not in meant[0] and meant[0] not in GROUPS["loopback"]
    if clear and len(meant) == 1 and not local:
        found = _match(index, meant[0])
        return (found if len(found) < 2 else sorted(set(found))), []
    each_found = [set(_match(index, each)) for each in meant]
    certain = set.intersection(*each_found) if clear else set(anything)
    possible = set().union(*each_found)
    if local:
        possible.update(index["single"])
    return sorted(certain), sorted(possible - certain)


def _match(index: Index, host: str | Address) -> list[int]:
    found: list[int] = [*index["any"]]
    if isinstance(host, str):
        name = host
        if name in index["names"]:
            found += index["names"][name]
        below = index["below"]
        if below:
            dot = name.find(".")
            while dot >= 0:
                found += below.get(name[dot + 1 :], ())
                dot = name.find(".", dot + 1)
    else:
        version, value = host
        width = 32 if version == 4 else 128
        for bits, table in index["networks"][str(version)].items():
            found += table.get(str(value >> (width - int(bits))), ())
        if index["globs"] is None or version == 6:
            return found
        name = text_of(version, value)
    if index["globs"] is not None:
        labels = [*reversed(name.split(".")), ""]
        found += trie.find(index["globs"], labels, len(labels), len(labels))
    return found


def _read(host: str) -> tuple[list[str | Address], bool]:
    """What a host may mean, and whether that is all it may mean."""
    text = host.lower().removesuffix(".")
    if text.isascii() and text.replace(".", "a").replace("-", "a").isalnum() and text[0] != ".":
        addresses = readings(text)
        return ([*addresses] if addresses else [text]), ".." not in text
    clear = True
    if text.startswith("[") and text.endswith("]"):
        text = text[1:-1]
    if "%" in text:
        clear = False
        text = _unquote(text) if ":" not in text else text
    names = [text]
    if not text.isascii():
        names, clear = _to_ascii(text)
    meant: list[str | Address] = []
    for name in names:
        addresses = readings(name)
        if addresses:
            meant += addresses
        else:
            meant.append(name)
            clear = clear and all(label and _LABEL.issuperset(label) for label in name.split("."))
    return meant, clear


def _to_ascii(name: str) -> tuple[list[str], bool]:
    """The ASCII forms of a name that readers may make, and whether they all make the same."""
    try:
        found = name.encode("idna").decode("ascii").lower()
        back = found.encode("ascii").decode("idna")
    except UnicodeError:
        return [name], False
    if back == name:
        return [found], True
    plain = ".".join(x if x.isascii() else "xn--" + x.encode("punycode").decode("ascii") for x in name.split("."))
    return [found, plain.lower()], False


def _unquote(text: str) -> str:
    head, *rest = text.split("%")
    out = bytearray(head, "utf-8", "surrogatepass")
    for piece in rest:
        try:
            out.append(int(piece[:2], 16))
            piece = piece[2:]
        except ValueError:
            out += b"%"
        out += piece.encode("utf-8", "surrogatepass")
    return out.decode("utf-8", "replace").lower()


def _add(index: Index, globs: list[tuple[list[str], int, int]], pattern: str, number: int) -> None:
    text = pattern.lower().removesuffix(".")
    if text in ("*", "**"):
        index["any"].append(number)
        return
    found = network(text)
    if found is not None:
        version, value, bits = found
        key = str(value >> ((32 if version == 4 else 128) - bits))
        index["networks"][str(version)].setdefault(str(bits), {}).setdefault(key, []).append(number)
        return
    if not text.isascii():
        names, clear = _to_ascii(text)
        if not clear or "*" in text:
            raise ValueError(f"a host pattern must write this name in its `xn--` form (got `{pattern}`)")
        text = names[0]
    if "/" in text or ":" in text or readings(text):
        raise ValueError(
            f"a host pattern must be a name, an address as `10.0.0.1`, a network as `10.0.0.0/8` or a group "
            f"({', '.join(GROUPS)}), without scheme, port and path (got `{pattern}`)"
        )
    labels = text.split(".")
    if any(not label or not _LABEL.issuperset(label.replace("*", "")) for label in labels):
        raise ValueError(f"a host pattern must have labels of letters, digits, `-` and `*` (got `{pattern}`)")
    below = labels[0] in ("*", "**") and len(labels) > 1
    rest = labels[1:] if below else labels
    if any(label == "**" for label in rest):
        raise ValueError(f"`*` inside a host pattern must stay in one label (got `{pattern}`)")
    if not any("*" in label for label in rest):
        index["below" if below else "names"].setdefault(".".join(rest), []).append(number)
        return
    # Read backwards, with an empty label at the end: a pattern that reaches it is as long as the name.
    segments = [label if label != "*" else "?*" for label in reversed(rest)]
    globs.append(([*segments, "?*" if below else ""], trie.HERE, number))


def entry_name(entry: str | Mapping[str, Any]) -> str:
    """The host, with its port if it has one, of an entry of the setting `sandbox.hosts`."""
    return entry if isinstance(entry, str) else str(entry["host"])


def host_and_port(text: str) -> tuple[str, int]:
    """A host pattern and a port, 0 for none, of `host`, `host:port` or `[address]:port`. ValueError for anything
    else; the pattern itself is not looked at."""
    if text.startswith("["):
        host, closing, rest = text[1:].partition("]")
        if not closing or (rest and rest[0] != ":"):
            raise ValueError(f"an address in brackets must be followed by nothing or by `:port` (got `{text}`)")
        port = rest[1:] if rest else "0"
    elif text.count(":") == 1:
        host, _, port = text.partition(":")
    else:
        host, port = text, "0"  # a bare IPv6 address has no port
    if not (port.isascii() and port.isdecimal()) or not 0 <= int(port) < 65536:
        raise ValueError(f"a port must be a number from 1 to 65535 (got `{text}`)")
    return host, int(port)
