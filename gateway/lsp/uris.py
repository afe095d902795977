"""Paths as `file:` addresses and back. Pure."""

from __future__ import annotations

from urllib.parse import quote, unquote_to_bytes

_SAFE = "/-._~!$&'()*+,;=:@"


def uri_of(path: str) -> str:
    """The address of an absolute path."""
    return "file://" + quote(path.encode("utf-8", "surrogateescape"), safe=_SAFE)


def path_of(uri: object) -> str:
    """The absolute path behind an address, "" for what is none of a file here."""
    if not isinstance(uri, str) or uri[:7].lower() != "file://":
        return ""
    host, slash, rest = uri[7:].partition("/")
    if host not in ("", "localhost") or not slash or "?" in rest or "#" in rest:
        return ""
    try:
        path = "/" + unquote_to_bytes(rest).decode("utf-8", "surrogateescape")
    except UnicodeEncodeError:  # half of a character, which JSON can say
        return ""
    return "" if "\0" in path else path
