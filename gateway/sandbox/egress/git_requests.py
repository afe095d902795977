"""What git asks a server for when it fetches, read line by line and written anew: names of objects and refs, and
nothing that the client could word as it likes. Pure.

The format is that of gitprotocol-pack(5), gitprotocol-v2(5) and gitprotocol-http(5).
"""

from __future__ import annotations

import re

_ID = rb"[0-9a-f]{40}(?:[0-9a-f]{24})?"
_REF = rb"(?:HEAD|refs/[A-Za-z0-9._/@+#=-]{0,200})"
_CAPABILITY = (
    rb"multi_ack(?:_detailed)?|no-done|side-band(?:-64k)?|thin-pack|ofs-delta|no-progress|include-tag|allow-tip-sha1-in-"
    rb"want|allow-reachable-sha1-in-want|deepen-since|deepen-not|deepen-relative|filter|shallow|object-format=sha(?:1|256)"
)
_LINES = re.compile(
    rb"command=(?:ls-refs|fetch)|object-format=sha(?:1|256)|peel|symrefs|unborn|ref-prefix "
    + _REF
    + rb"|want "
    + _ID
    + rb"(?: (?:"
    + _CAPABILITY
    + rb"))*|have "
    + _ID
    + rb"|shallow "
    + _ID
    + rb"|deepen \d{1,10}|deepen-since \d{1,12}|"
    rb"deepen-not "
    + _REF
    + rb"|deepen-relative|filter (?:blob:none|blob:limit=\d{1,12}[kmg]?|tree:\d{1,4})|want-ref "
    + _REF
    + rb"|done|thin-pack|no-progress|include-tag|ofs-delta|wait-for-done|sideband-all|packfile-uris https?"
)
# What a client says of itself, in words of its own.
_OWN_WORDS = re.compile(rb"agent=[!-~]{0,200}|session-id=[!-~]{0,200}")
_FLUSH, _DELIMITER, _RESPONSE_END = b"0000", b"0001", b"0002"


class GitError(ValueError):
    """A request that is more than a fetch, or none; the message says why."""


def rewritten(text: bytes) -> bytes:
    """The body of a request to git-upload-pack, made of what was read of it. Raises GitError."""
    made, at = [], 0
    while at < len(text):
        size = text[at : at + 4]
        if size in (_FLUSH, _DELIMITER, _RESPONSE_END):
            made.append(size)
            at += 4
            continue
        if not re.fullmatch(rb"[0-9a-f]{4}", size) or int(size, 16) < 5:
            raise GitError("the body is no request of git")
        line = text[at + 4 : at + int(size, 16)]
        if len(line) != int(size, 16) - 4:
            raise GitError("the body of git's request ends too early")
        at += int(size, 16)
        kept = _line(line)
        if kept:
            made.append(b"%04x" % (len(kept) + 4) + kept)
    return b"".join(made)


def _line(line: bytes) -> bytes:
    """The line without what the client words itself; b"" for one that is nothing else."""
    said = line.removesuffix(b"\n")
    end = line[len(said) :]
    words = [word for word in said.split(b" ") if not _OWN_WORDS.fullmatch(word)]
    if not words:
        return b""
    kept = b" ".join(words)
    if not _LINES.fullmatch(kept):
        raise GitError("git may only fetch from this host, and this asks for something else")
    return kept + end
