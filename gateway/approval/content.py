"""What a call that runs code or sends something would run or send, by content: the files that its words name, that it
reads by redirects, and in which the programs that it starts look up what to do.

A yes to `bash x.sh`, `cat x.sh | bash` or `npm test` is one to what they say when they are shown, whichever part of the
call hands it on. What these name in turn, and what they load, is not followed: the sandbox holds that.
"""

from __future__ import annotations

import os
import stat

from gateway.core.cache import digest
from gateway.model.effect import HOLE
from gateway.sandbox.changes.runs_later import MANIFESTS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

    from gateway.model.verdict import Verdict

_MOST_FILES = 64
_MOST_FOLDERS = 16
_MOST_WORDS = 256
_MOST_BYTES = 8 << 20
_LONGEST = 4_096


def content_digest(verdict: Verdict) -> str:
    """A digest of all of these as they are now, "" where the call runs nothing that lies in a file."""
    said = [part for path in _files(verdict) if (part := _said(path))]
    return digest([piece for part in said for piece in part]) if said else ""


def _files(verdict: Verdict) -> list[str]:
    """Each once, as many as are looked at."""
    found: dict[str, None] = {}
    for path in _named(verdict):
        found[path] = None
        if len(found) >= _MOST_FILES:
            break
    return list(found)


def _named(verdict: Verdict) -> Iterator[str]:
    items, parts, context = verdict.analysis.items, verdict.analysis.parts, verdict.context
    running = {item.part for item in items if item.effect.kind in ("code", "opaque")}
    if not running and not any(_sends(item.effect) for item in items):
        return
    for item in items:
        effect: Any = item.effect
        if effect.kind == "read" and HOLE not in effect.path:
            yield effect.real or effect.path
    folders: dict[str, None] = {}
    for at, part in enumerate(parts):
        for folder in part.cwds or (context.cwd,):
            if at in running:
                folders[folder] = None
            for path in _words(part.argv, folder):
                if not os.path.isdir(path):
                    yield path
                elif at in running:
                    folders[path] = None
    for folder in _with_parents(folders, context.root):
        for name in MANIFESTS:
            path = f"{folder}/{name}"
            if os.path.lexists(path):
                yield path


def _sends(effect: Any) -> bool:
    return effect.kind == "connect" and (effect.direction != "fetch" or bool(effect.sends))


def _words(argv: Iterable[str], folder: str) -> Iterator[str]:
    for word in list(argv)[:_MOST_WORDS]:
        glued = word[2:] if word[:1] == "-" and word[1:2] != "-" else word[1:] if word[:1] == "@" else ""
        for each in dict.fromkeys((word, word.partition("=")[2], glued)):
            if each and HOLE not in each and "\0" not in each and len(each) < _LONGEST:
                path = os.path.join(folder, each)
                if os.path.exists(path):
                    yield path


def _with_parents(folders: Iterable[str], root: str) -> list[str]:
    """The folders, and those above them up to the project's."""
    found: dict[str, None] = {}
    for folder in folders:
        while folder not in found and len(found) < _MOST_FOLDERS:
            found[folder] = None
            if folder in (root, "/", "") or not (folder + "/").startswith(root + "/"):
                break
            folder = os.path.dirname(folder)
    return list(found)


def _said(path: str) -> tuple[str, bytes] | None:
    """A file's name and content; of a large one, and of one that cannot be read, what tells it from another."""
    try:
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY)
    except OSError:
        try:
            return path, _told(os.lstat(path))
        except OSError:
            return None
    with os.fdopen(file, "rb") as opened:
        found = os.fstat(file)
        if not stat.S_ISREG(found.st_mode):
            return None
        if found.st_size > _MOST_BYTES:
            return path, _told(found)
        return path, opened.read(_MOST_BYTES)


def _told(found: os.stat_result) -> bytes:
    return repr((found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)).encode()
