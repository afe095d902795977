"""Paths and hosts, as the words of a command name them. Pure text: links and DNS are not looked at here."""

from __future__ import annotations

from posixpath import normpath

from gateway.model.effect import HOLE

PORTS = {
    "": 0, "http": 80, "https": 443, "ftp": 21, "ftps": 990, "ssh": 22, "sftp": 22, "scp": 22, "git": 9418,
    "git+ssh": 22, "ssh+git": 22, "ws": 80, "wss": 443, "rsync": 873, "redis": 6379, "postgres": 5432,
    "postgresql": 5432, "mysql": 3306, "mongodb": 27017, "ldap": 389, "ldaps": 636, "telnet": 23, "tcp": 0,
    "gopher": 70, "gophers": 70, "dict": 2628,
}  # fmt: skip
# Of these an address says what is sent, byte for byte or as a command, and to whatever port.
SENDING = frozenset((
    "gopher", "gophers", "dict", "telnet", "tcp", "tls", "smtp", "smtps", "imap", "imaps", "pop3", "pop3s", "mqtt",
    "mqtts", "rtsp", "rtmp", "ldap", "ldaps", "smb", "smbs",
))  # fmt: skip
_HOST_SIGNS = frozenset("abcdefghijklmnopqrstuvwxyz0123456789.-_")
_SCHEME_SIGNS = frozenset("abcdefghijklmnopqrstuvwxyz0123456789+-.")
_STREAMS = frozenset(
    ("/dev/null", "/dev/stdin", "/dev/stdout", "/dev/stderr", "/dev/tty", "/dev/zero", "/dev/random", "/dev/urandom")
)

# Programs that put something else under a name, or change what may be done with it, rather than open it.
CHANGERS = frozenset(
    (
        "ln", "link", "mv", "rename", "install", "mknod", "mkfifo", "chmod", "chown", "chgrp", "chattr", "chcon",
        "setfacl", "setfattr", "unzip", "rsync", "mount", "truncate", "fallocate", "sed", "perl",
    )
)  # fmt: skip

MAX_MATCHES = 256  # of one glob


def absolute(text: str, cwd: str) -> str:
    """The absolute, lexically normal path; `cwd` is "" when the folder is unknown. Holes are kept as they are."""
    if text[:1] == HOLE:
        return text
    if text[:1] != "/":
        if not cwd:
            return HOLE if text in (".", "") else f"{HOLE}/{text}"
        text = f"{cwd}/{text}"
    if "/." in text or "//" in text or text[-1] == "/":
        return _normal(text)
    return text


def _normal(text: str) -> str:
    if HOLE not in text:
        text = normpath(text)
        return text[1:] if text[:2] == "//" else text
    # What stands behind a hole can't be folded into what stands before it: the hole may itself hold "..".
    known, _, rest = text.partition(HOLE)
    folder, _, name = known.rpartition("/")
    if not folder:
        return text
    folder = normpath(folder)
    return ("" if folder in ("/", "//") else folder) + "/" + name + HOLE + rest


def stream(path: str) -> bool:
    """Whether a path is no file but a stream that every process has: nothing is read or written by naming it."""
    return path in _STREAMS or path.startswith(("/dev/fd/", "/proc/self/fd/"))


def escaped(path: str) -> str:
    """A literal path as an `fnmatch` pattern."""
    if "[" in path or "*" in path or "?" in path:
        return path.replace("[", "[[]").replace("*", "[*]").replace("?", "[?]")
    return path


def unescaped(pattern: str) -> str:
    """The text that a pattern without a match stands for."""
    return pattern.replace("[*]", "*").replace("[?]", "?").replace("[[]", "[")


def host_of(text: str, scheme: str = "") -> tuple[str, str, int]:
    """Scheme, host and port of a URL or of `host[:port][/…]`. The host is `HOLE` if it isn't plain beyond doubt:
    programs disagree about odd URLs, so one that could be read in two ways is read in none."""
    head, mark, rest = text.partition("://")
    if mark:
        scheme = head.lower()
        if not head or not _SCHEME_SIGNS.issuperset(scheme):
            return "", HOLE, 0
    else:
        rest = text
    authority = rest
    for end in "/?#":
        authority = authority.partition(end)[0]
    if authority.count("@") == 1:
        user, _, authority = authority.partition("@")
        if HOLE in user or "\\" in user or ("%" in user and ":" not in user):
            return scheme, HOLE, 0
    if authority[:1] == "[":
        host, _, port = authority[1:].partition("]")
        port = port[1:] if port[:1] == ":" else ""
        plain = bool(host) and set(host.lower()) <= set("0123456789abcdef:.")
    else:
        host, _, port = authority.partition(":")
        plain = bool(host) and _HOST_SIGNS.issuperset(host.lower())
    if not plain or "\\" in rest or (port and not (port.isascii() and port.isdigit())):
        return scheme, HOLE, 0
    return scheme, host.lower().rstrip("."), int(port) if port else PORTS.get(scheme, 0)


def remote(text: str) -> tuple[str, str, int] | None:
    """Scheme, host and port of what git, scp and rsync take for a place: a URL or `[user@]host:path`; None for a
    path of this machine. A helper such as `ext::` has the scheme "helper"."""
    if "://" in text:
        return host_of(text)
    if text[:2] == "^/":  # svn's word for where the folder was checked out from
        return "", HOLE, 0
    colon = text.find(":")
    slash = text.find("/")
    if colon < 0 or (0 <= slash < colon):
        return ("", HOLE, 0) if HOLE in (text if colon < 0 and slash < 0 else text[: max(slash, 0)]) else None
    if text[colon : colon + 2] == "::":
        return (
            "helper" if HOLE not in text[:colon] else "",
            HOLE if "rsync" not in text else host_of(text[:colon])[1],
            0,
        )
    user, _, host = text[:colon].rpartition("@")
    _, found, _ = host_of(host)
    if host[:1] == "-" or HOLE in user:
        found = HOLE
    return "ssh", found, 22


def literal_folder(pattern: str) -> str:
    """The deepest folder that holds every match of a pattern of paths."""
    literal: list[str] = []
    for segment in pattern.split("/"):
        bare = unescaped(segment)
        if "*" in segment.replace("[*]", "") or "?" in segment.replace("[?]", "") or "[" in bare.replace("[[]", ""):
            break
        literal.append(bare)
    return "/".join(literal) or "/"


def names_one(pattern: str) -> bool:
    """Whether a glob can match one name alone, and so stays one word: `[p]ython`, which keeps a search from finding
    itself. Bash leaves a glob as it stands that matches nothing."""
    pieces = pattern.split("[")
    return (
        "*" not in pattern
        and "?" not in pattern
        and all(piece[1:2] == "]" and piece[:1] not in "!^" for piece in pieces[1:])
    )
