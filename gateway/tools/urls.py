"""What a URL means: one canonical spelling, the host and the port it leads to.

Readers of URLs disagree about user names, backslashes, odd numbers and missing schemes, and attacks live in
the gap. Whatever two readers could take for different hosts is refused; the rest is rewritten to the spelling
that everyone reads alike, and that spelling is what is judged and fetched.
"""

from __future__ import annotations

from gateway.core.value import Value
from gateway.tools.paths import UnclearError, check_text

PORTS = {"http": 80, "https": 443}
MAX_LENGTH = 8192
_HOST = frozenset("abcdefghijklmnopqrstuvwxyz0123456789-_.")
_DIGITS = frozenset("0123456789")
_SCHEME = frozenset("abcdefghijklmnopqrstuvwxyz0123456789+-.")


class Url(Value):
    """A URL in canonical spelling. `host` is lower case, an IP address in its usual form (IPv6 without brackets)."""

    text: str
    host: str
    port: int


def parse(text: str, upgrade: bool = False) -> Url:
    """The canonical form of an http(s) URL; `upgrade` turns http into https. Raises `UnclearError`."""
    if not text:
        raise UnclearError("must not be empty")
    if len(text) > MAX_LENGTH:
        raise UnclearError(f"must be a URL of at most {MAX_LENGTH} characters (got {len(text)})")
    check_text(text)
    if "\\" in text:
        raise UnclearError("must not contain a backslash", "readers disagree about the host; write `/` or `%5C`")
    if any(character <= " " or character == "\x7f" for character in text) or not _visible(text):
        raise UnclearError("must not contain blanks or control characters", "write a blank as `%20`")
    scheme, rest = _scheme(text)
    if scheme not in PORTS:
        raise UnclearError("must be an http or https URL")
    if upgrade:
        explicit_default = ":80" if scheme == "http" else ""
        scheme = "https"
    else:
        explicit_default = ""
    end = min((at for mark in "/?#" if (at := rest.find(mark)) >= 0), default=len(rest))
    authority, tail = rest[:end], rest[end:]
    if "@" in authority:
        raise UnclearError("must not carry a user name or password", "leave out everything before `@`")
    written, port_text = _split_port(authority)
    if explicit_default and ":" + port_text == explicit_default:
        port_text = ""
    name = host(written)
    port = _port(port_text) if port_text else PORTS[scheme]
    shown = f"[{name}]" if ":" in name else name
    if port != PORTS[scheme]:
        shown += f":{port}"
    return Url(f"{scheme}://{shown}{_tail(tail)}", name, port)


def host(written: str) -> str:
    """The canonical form of a host name or address. Raises `UnclearError`."""
    if written.startswith("[") and written.endswith("]"):
        return _ipv6(written[1:-1])
    name = written.lower()
    if not name.isascii():
        name = _to_ascii(name)
    name = name.removesuffix(".")
    if not name or len(name) > 253 or not _HOST.issuperset(name):
        raise UnclearError("must name a host in letters, digits, `-` and `.`")
    labels = name.split(".")
    if any(not label or len(label) > 63 for label in labels):
        raise UnclearError("must name a host with labels of 1 to 63 characters")
    last = labels[-1]
    if last.isdigit() or (last.startswith("0x") and _is_hex(last[2:])):
        return _ipv4(labels)
    return name


def _visible(text: str) -> bool:
    return text.isascii() or not any(c.isspace() or not c.isprintable() for c in text)


def _scheme(text: str) -> tuple[str, str]:
    """The scheme, and what follows `//`. Without a scheme it is https, as a person would mean it."""
    if text.startswith("//"):
        return "https", text[2:]
    head, colon, rest = text.partition(":")
    scheme = head.lower()
    if not colon or not scheme or not scheme[0].isalpha() or not _SCHEME.issuperset(scheme):
        return "https", text
    if rest.startswith("//"):
        return scheme, rest[2:]
    port = rest[: min((at for mark in "/?#" if (at := rest.find(mark)) >= 0), default=len(rest))]
    if scheme not in PORTS and port and _DIGITS.issuperset(port):
        return "https", text  # `example.com:8443/x`: a host and its port
    raise UnclearError("must be an http or https URL", "write `https://` and the host")


def _split_port(authority: str) -> tuple[str, str]:
    if authority.startswith("["):
        name, bracket, rest = authority.partition("]")
        if not bracket or (rest and not rest.startswith(":")):
            raise UnclearError("must hold an IPv6 address in brackets")
        return name + "]", rest[1:]
    name, _, port = authority.partition(":")
    return name, port


def _port(text: str) -> int:
    if not _DIGITS.issuperset(text) or len(text) > 5 or not 0 < int(text) < 65536:
        raise UnclearError("must have a port between 1 and 65535")
    return int(text)


def _to_ascii(name: str) -> str:
    try:
        return name.encode("idna").decode("ascii").lower()
    except UnicodeError:
        raise UnclearError("must name a host that DNS can hold", "write it in its `xn--` form") from None


def _ipv4(labels: list[str]) -> str:
    """Any spelling of an IPv4 address that resolvers take (`127.1`, `0x7f.0.0.1`, `2130706433`), in the usual one."""
    if len(labels) > 4:
        raise UnclearError("must name a host that is no malformed address")
    numbers = [_ipv4_number(label) for label in labels]
    *front, last = numbers
    if any(number > 255 for number in front) or last >= 256 ** (5 - len(numbers)):
        raise UnclearError("must name a host that is no malformed address")
    value = last + sum(number << (8 * (3 - index)) for index, number in enumerate(front))
    return ".".join([str(value >> shift & 255) for shift in (24, 16, 8, 0)])


def _ipv4_number(label: str) -> int:
    if label.startswith("0x") and _is_hex(label[2:]):
        return int(label[2:] or "0", 16)
    octal = len(label) > 1 and label[0] == "0"
    if _DIGITS.issuperset(label) and not (octal and ("8" in label or "9" in label)):
        return int(label, 8 if octal else 10)
    raise UnclearError("must name a host that is no malformed address")


def _ipv6(text: str) -> str:
    from ipaddress import AddressValueError, IPv6Address  # loaded only for such an address

    try:
        address = IPv6Address(text)
    except (AddressValueError, ValueError):
        raise UnclearError("must hold an IPv6 address in brackets") from None
    if address.scope_id is not None:
        raise UnclearError("must not hold an address with a zone")
    mapped = address.ipv4_mapped
    return str(mapped) if mapped is not None else address.compressed


def _is_hex(text: str) -> bool:
    return all(character in "0123456789abcdef" for character in text)


def _tail(tail: str) -> str:
    """Path, query and fragment, with `.` and `..` segments of the path resolved as every reader does."""
    end = min((at for mark in "?#" if (at := tail.find(mark)) >= 0), default=len(tail))
    path, rest = tail[:end], tail[end:]
    if not path:
        return "/" + rest
    if "/." in path or "%2e" in path.lower():
        kept: list[str] = []
        segments = path[1:].split("/")
        for index, segment in enumerate(segments):
            plain = segment.lower().replace("%2e", ".")
            if plain == "..":
                del kept[-1:]
            elif plain != ".":
                kept.append(segment)
            if plain in (".", "..") and index == len(segments) - 1:
                kept.append("")
        path = "/" + "/".join(kept)
    return path + rest
