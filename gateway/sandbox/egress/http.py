"""Start lines and headers of HTTP/1 messages, parsed strictly: what two servers could read differently is refused.
Pure."""

from __future__ import annotations

from gateway.core.value import Value
from gateway.sandbox.egress.addresses import HostError, host_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gateway.sandbox.egress.addresses import Host

MAX_HEAD = 65536
MAX_FIELDS = 200
TOKEN = frozenset(b"!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
_TARGET = frozenset(range(0x21, 0x7F))
_DIGITS = frozenset("0123456789")
SCHEMES = {"http": 80, "https": 443}
# Belong to one connection, not to the message, or are meant for a proxy.
HOP = frozenset(
    (
        b"connection", b"keep-alive", b"proxy-connection", b"proxy-authorization", b"proxy-authenticate", b"te",
        b"trailer", b"upgrade", b"expect", b"http2-settings",
    )
)  # fmt: skip


class HttpError(ValueError):
    """A message that is not well-formed, or that different readers would read differently. The message says why."""


class Head(Value):
    """A start line and the fields below it, names in lower case."""

    start: tuple[bytes, bytes, bytes]
    fields: tuple[tuple[bytes, bytes], ...]

    def all(self, name: bytes) -> list[bytes]:
        """The values of the fields of a name in lower case, in their order."""
        return [value for each, value in self.fields if each == name]


class Request(Value):
    """One request. `host` and `port`: where the client wants it to go, None when only the connection tells; `scheme`:
    of a target in absolute form, else ""; `path`: in origin form; `length`: of the body, -1 for chunked; `upgrade`: the
    client would go on with WebSocket."""

    method: bytes
    version: bytes
    scheme: str
    host: Host | None
    port: int
    path: bytes
    fields: tuple[tuple[bytes, bytes], ...]
    length: int
    expects: bool = False
    upgrade: bool = False


def lines_of(head: bytes) -> list[bytes]:
    """The lines of a head that ends in an empty one. Raises HttpError."""
    if not head.endswith(b"\r\n\r\n"):
        raise HttpError("the head does not end")
    lines = head[:-4].split(b"\r\n")
    for line in lines:
        if b"\n" in line or b"\r" in line:
            raise HttpError("a line must end in CR LF")
        if b"\0" in line:
            raise HttpError("there is a NUL character")
    if len(lines) > MAX_FIELDS + 1:
        raise HttpError(f"there are more than {MAX_FIELDS} fields")
    return lines


def _fields(lines: list[bytes]) -> tuple[tuple[bytes, bytes], ...]:
    found = []
    for line in lines:
        if line[:1] in (b" ", b"\t"):
            raise HttpError("a field must not be continued on the next line")
        name, colon, value = line.partition(b":")
        if not colon or not name or not TOKEN.issuperset(name):
            raise HttpError("a field must be a name, a colon and a value")
        value = value.strip(b" \t")
        if any((byte < 0x20 and byte != 9) or byte == 0x7F for byte in value):
            raise HttpError("a field must not hold control characters")
        found.append((name.lower(), value))
    return tuple(found)


def request_of(head: bytes) -> Request:
    """Raises HttpError."""
    lines = lines_of(head)
    parts = lines[0].split(b" ")
    if len(parts) != 3:
        raise HttpError("the first line must be a method, a target and a version with single spaces between them")
    method, target, version = parts
    if not method or len(method) > 32 or not TOKEN.issuperset(method):
        raise HttpError("the method is no word")
    if version not in (b"HTTP/1.1", b"HTTP/1.0"):
        raise HttpError("the version must be HTTP/1.1 or HTTP/1.0")
    if not target or not _TARGET.issuperset(target):
        raise HttpError("the target must be made of visible ASCII characters")
    fields = _fields(lines[1:])
    head_value = Head((method, target, version), fields)
    length = _length(head_value, version)
    named = head_value.all(b"host")
    if len(named) > 1 or (not named and version == b"HTTP/1.1"):
        raise HttpError("there must be exactly one Host")
    try:
        scheme, host, port, path = _target(method, target.decode("ascii"))
        said = _authority(_ascii(named[0])) if named and named[0] else None
    except HostError as error:
        raise HttpError(str(error)) from None
    if method == b"CONNECT":
        if length:
            raise HttpError("CONNECT must not have a body")
        # Clients differ in whether Host repeats the port here.
        if said is not None and host is not None and (said[0] != host or said[1] not in (0, port)):
            raise HttpError("Host disagrees with the target")
    elif said is not None:
        if host is None:
            host, port = said
        elif (said[0], said[1] or SCHEMES[scheme]) != (host, port):
            raise HttpError("Host disagrees with the target")
    elif named and host is None:
        raise HttpError("Host is empty")
    expects = [value.lower() for value in head_value.all(b"expect")]
    if expects not in ([], [b"100-continue"]):
        raise HttpError("only 100-continue can be expected")
    upgrade = [value.lower() for value in head_value.all(b"upgrade")] == [b"websocket"] and not length
    return Request(
        method,
        version,
        scheme=scheme,
        host=host,
        port=port,
        path=path,
        fields=fields,
        length=length,
        expects=bool(expects),
        upgrade=upgrade,
    )


def response_of(head: bytes) -> tuple[int, Head]:
    """The status and the fields of a response. Raises HttpError."""
    lines = lines_of(head)
    version, _space, rest = lines[0].partition(b" ")
    status, _space, phrase = rest.partition(b" ")
    if version not in (b"HTTP/1.1", b"HTTP/1.0") or len(status) != 3 or not status.isdigit():
        raise HttpError("the answer does not begin with a version and a status")
    return int(status), Head((version, status, phrase), _fields(lines[1:]))


def response_length(method: bytes, status: int, head: Head) -> int | None:
    """Of the body of a response, -1 for chunked, None for one that ends with the connection. Raises HttpError."""
    if method == b"HEAD" or status in (204, 304) or status < 200:
        return 0
    coding, lengths = head.all(b"transfer-encoding"), set(head.all(b"content-length"))
    if coding:
        if lengths or [value.lower() for value in coding] != [b"chunked"]:
            raise HttpError("the length of the answer can be read in two ways")
        return -1
    if not lengths:
        return None
    if len(lengths) != 1:
        raise HttpError("the length of the answer can be read in two ways")
    return _number(lengths.pop())


def chunk_size(line: bytes) -> int:
    """Of a line `SIZE[;extension]` with its CR LF. Raises HttpError."""
    if line.find(b"\n") != len(line) - 1 or line.find(b"\r") != len(line) - 2:
        raise HttpError("a line must end in CR LF")
    size = line[:-2].partition(b";")[0]
    if not 1 <= len(size) <= 15 or not frozenset(b"0123456789abcdefABCDEF").issuperset(size):
        raise HttpError("the size of a chunk must be a hexadecimal number")
    return int(size, 16)


def authority_of(text: str) -> tuple[Host, int]:
    """`host:port`, both given. Raises HostError."""
    host, port = _authority(text)
    if not port:
        raise HostError("the port is missing")
    return host, port


def _length(head: Head, version: bytes) -> int:
    coding, lengths = head.all(b"transfer-encoding"), head.all(b"content-length")
    if coding:
        if lengths:
            raise HttpError("there must not be both Transfer-Encoding and Content-Length")
        if [value.lower() for value in coding] != [b"chunked"] or version == b"HTTP/1.0":
            raise HttpError("the only Transfer-Encoding of a request is chunked, in HTTP/1.1")
        return -1
    if len(lengths) > 1:
        raise HttpError("there must be at most one Content-Length")
    return _number(lengths[0]) if lengths else 0


def _number(value: bytes) -> int:
    if not 1 <= len(value) <= 15 or not frozenset(b"0123456789").issuperset(value):
        raise HttpError("Content-Length must be a decimal number")
    return int(value)


def _target(method: bytes, target: str) -> tuple[str, Host | None, int, bytes]:
    if method == b"CONNECT":
        host, port = authority_of(target)
        return "", host, port, b""
    if target.startswith("/"):
        if "#" in target:
            raise HttpError("the target must not hold a fragment")
        return "", None, 0, target.encode("ascii")
    if target == "*" and method == b"OPTIONS":
        return "", None, 0, b"*"
    scheme, mark, rest = target.partition("://")
    scheme = scheme.lower()
    if not mark or scheme not in SCHEMES:
        raise HttpError("the target must be an http or https URL, or a path")
    end = min((at for each in "/?#" if (at := rest.find(each)) >= 0), default=len(rest))
    host, port = _authority(rest[:end])
    path = rest[end:]
    if "#" in path:
        raise HttpError("the target must not hold a fragment")
    return scheme, host, port or SCHEMES[scheme], (path if path.startswith("/") else "/" + path).encode("ascii")


def _authority(text: str) -> tuple[Host, int]:
    """Host and port, 0 when there is none. Raises HostError."""
    at = text.rfind(":")
    if at < 0 or text.endswith("]"):
        return host_of(text), 0
    digits = text[at + 1 :]
    if not 1 <= len(digits) <= 5 or not _DIGITS.issuperset(digits) or digits[0] == "0" or int(digits) > 65535:
        raise HostError("the port must be a number from 1 to 65535")
    return host_of(text[:at]), int(digits)


def _ascii(value: bytes) -> str:
    if not value.isascii():
        raise HostError("a host must be made of letters, digits, `-`, `_` and dots")
    return value.decode("ascii")
