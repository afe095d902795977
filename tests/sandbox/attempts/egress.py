"""Attempts to get past the proxy: each text prints what it got, and got out if that is the page of the other server.

The plan allows `good.example` and everything below `below.example`; the twin's plan allows what the attempt is after.
`evil.example`, and names that only look good, lead to the other server. GOT is what its page says.
"""

from __future__ import annotations

from gateway.core.value import Value

GOT = "the other page"
_PRELUDE = """
import socket, sys
def talk(*pieces, to=("127.0.0.1", 808)):
    s = socket.create_connection(to, 10)
    s.settimeout(10)
    got = b""
    for piece in pieces:
        s.sendall(piece)
        try:
            while True:
                more = s.recv(9999)
                got += more
                if not more or more.endswith(b"page") or b"established" in got[-40:]:
                    break
                if len(more) < 12:
                    break
        except OSError:
            break
    sys.stdout.buffer.write(got)
def get(host, line=None, more=""):
    return f"GET {line or '/'} HTTP/1.1\\r\\nHost: {host}\\r\\nConnection: close\\r\\n{more}\\r\\n".encode("latin-1")
def tunnel(place):
    return f"CONNECT {place} HTTP/1.1\\r\\nHost: {place}\\r\\n\\r\\n".encode("latin-1")
def socks(name, port=80, kind=3):
    data = bytes([len(name)]) + name if kind == 3 else name
    return b"\\5\\1\\0", b"\\5\\1\\0" + bytes([kind]) + data + port.to_bytes(2, "big")
"""


class Trick(Value):
    """`text`: Python for inside. `wants`: the host, as policies write it, that the twin's plan allows besides."""

    name: str
    text: str
    wants: str = "evil.example"


def _trick(name: str, text: str, wants: str = "evil.example") -> Trick:
    return Trick(name, _PRELUDE + text, wants)


TRICKS = (
    _trick("another host is asked for", 'talk(get("evil.example", "http://evil.example/"))'),
    _trick("a tunnel leads to another host", 'talk(tunnel("evil.example:80"), get("evil.example"))'),
    _trick("another host is named to the second kind of proxy", 'talk(*socks(b"evil.example"), get("evil.example"))'),
    _trick("another host is given by its address", 'talk(get("198.51.100.7", "http://198.51.100.7/"))', "198.51.100.7"),
    _trick("a tunnel leads to an address", 'talk(tunnel("198.51.100.7:80"), get("198.51.100.7"))', "198.51.100.7"),
    _trick(
        "an address is given to the second kind of proxy",
        'talk(*socks(bytes([198, 51, 100, 7]), kind=1), get("198.51.100.7"))',
        "198.51.100.7",
    ),
    _trick(
        "a good name stands before another",
        'talk(get("good.example.evil.example", "http://good.example.evil.example/"))',
        "good.example.evil.example",
    ),
    _trick(
        "a good name ends another", 'talk(get("evilbelow.example", "http://evilbelow.example/"))', "evilbelow.example"
    ),
    _trick("another host is written large", 'talk(get("EVIL.EXAMPLE", "http://EVIL.EXAMPLE/"))'),
    _trick(
        "another port of a good host is asked for",
        'talk(tunnel("good.example:8080"), get("good.example:8080"))',
        "good.example:8080",
    ),
    _trick("a client knows no proxy", 'talk(get("evil.example"), to=("evil.example", 80))'),
    _trick(
        "a name leads to the machine itself",
        'talk(get("in.below.example", "http://in.below.example/"))',
        "in.below.example",
    ),
    _trick(
        "another host follows on the same connection",
        'talk(get("good.example", "http://good.example/").replace(b"close", b"keep-alive"), get("evil.example", "http://evil.example/"))',
    ),
)
# No honest client needs these to work: they are refused, whatever is allowed.
MALFORMED = (
    _trick("another host has a dot at its end", 'talk(get("evil.example.", "http://evil.example./"))'),
    _trick(
        "another host stands in the line and a good one in the header",
        'talk(get("good.example", "http://evil.example/"))',
    ),
    _trick(
        "a tunnel to another host pretends to be a good one", 'talk(tunnel("evil.example:80"), get("good.example"))'
    ),
    _trick("a name has a null in it", 'talk(*socks(b"evil.example\\0.below.example"), get("good.example"))'),
    _trick("a line has a user before the host", 'talk(get("x", "http://good.example@evil.example/"))'),
    _trick("a tunnel has a user before the host", 'talk(tunnel("good.example@evil.example:80"), get("x"))'),
    _trick("an address is written as one number", 'talk(get("x", "http://3325256711/"))', "198.51.100.7"),
    _trick("an address is written in other digits", 'talk(get("x", "http://0xc6.0x33.0x64.7/"))', "198.51.100.7"),
    _trick(
        "a request hides in another's body",
        'talk(get("good.example", "http://good.example/", "Content-Length: 4\\r\\nTransfer-Encoding: chunked\\r\\n")'
        ' + b"0\\r\\n\\r\\n" + get("evil.example", "http://evil.example/"))',
    ),
    _trick(
        "a header is divided by another end of line",
        'talk(b"GET http://good.example/ HTTP/1.1\\nHost: good.example\\r\\n\\r\\n" + get("evil.example", "http://evil.example/"))',
    ),
    _trick("a percent sign stands in the host", 'talk(get("x", "http://evil%2eexample/"))'),
)
