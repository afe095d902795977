"""What the input of a tool that nobody described looks like: paths it names, hosts it would reach. Pure.

What is found here comes on top of `Opaque`, so it never makes a call looser: rules that forbid a path or a host hold
for it whatever tool it is handed to. A tool's name is believed only where it says that the tool reads; else a path may
be read, written and deleted.
"""

from __future__ import annotations

from gateway.model.effect import HOLE, Connect, Item, Touch
from gateway.tools.paths import UnclearError, absolute

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from gateway.model.context import Context

# Fields whose text is a path, whatever it looks like. A word of the field's name is enough: `source_file`, `outDir`.
_PATH_WORDS = frozenset(
    ("path", "paths", "file", "files", "filename", "filepath", "dir", "dirs", "directory", "directories",
     "folder", "folders", "cwd", "root", "roots", "workdir", "destination", "dest", "dst", "src", "source",
     "target", "output", "input", "repo", "worktree", "location")
)  # fmt: skip
_HOST_WORDS = frozenset(("host", "hostname", "domain", "server", "endpoint"))
_READING = frozenset(
    ("read", "get", "list", "search", "find", "grep", "glob", "show", "view", "describe", "count", "stat",
     "info", "head", "tail", "tree", "exists", "query", "lookup", "cat", "diff", "status", "log")
)  # fmt: skip
# Schemes that lead to a host; others are a server's own way of naming things.
_SCHEMES = frozenset(
    ("http", "https", "ws", "wss", "ftp", "ftps", "sftp", "ssh", "git", "postgres", "postgresql", "mysql",
     "mariadb", "redis", "rediss", "mongodb", "amqp", "amqps", "nats", "kafka", "ldap", "ldaps", "smtp",
     "smtps", "imap", "imaps", "tcp", "udp", "grpc", "telnet")
)  # fmt: skip
# What is longer, deeper or more is not looked at one by one: the whole input then counts as unknown paths.
_MOST_TEXTS, _DEEPEST, _LONGEST = 500, 12, 4096
_UNKNOWN = tuple(Item(Touch(kind, HOLE, True)) for kind in ("read", "write", "delete"))


def guessed(tool: str, fields: Any, context: Context) -> list[Item]:
    """The effects that a call of an undescribed tool looks like."""
    kinds = ("read",) if _words(tool.rpartition("__")[2])[:1] and _only_reads(tool) else ("read", "write", "delete")
    found: dict[Item, None] = {}
    for number, (name, text) in enumerate(_texts(fields, "", 0)):
        if number >= _MOST_TEXTS or text is None:
            return [*found, *_UNKNOWN]
        for item in _looks_like(name, text, kinds, context):
            found[item] = None
    return list(found)


def _only_reads(tool: str) -> bool:
    return _words(tool.rpartition("__")[2])[0] in _READING


def _texts(value: Any, name: str, depth: int) -> Iterator[tuple[str, str | None]]:
    """Every text of an input with the name of the field it stands in; names of fields count as texts as well. None
    where the input is deeper than anybody looks."""
    if depth > _DEEPEST:
        yield name, None
    elif value.__class__ is str:
        yield name, value
    elif isinstance(value, dict):
        for key, each in value.items():
            yield "", key
            yield from _texts(each, key, depth + 1)
    elif isinstance(value, (list, tuple)):
        for each in value:
            yield from _texts(each, name, depth + 1)


def _looks_like(name: str, text: str, kinds: tuple[str, ...], context: Context) -> list[Item]:
    scheme, mark, _ = text[:40].partition("://")
    if mark and scheme.isalnum():
        if scheme.lower() == "file":
            from urllib.parse import unquote

            path = text[len(scheme) + 3 :].partition("#")[0]
            return _paths(unquote(path[path.find("/") :] if "/" in path else path), kinds, context)
        return [Item(_connection(text))] if scheme.lower() in _SCHEMES else []
    words = _words(name)
    if not _HOST_WORDS.isdisjoint(words) and text and " " not in text and "/" not in text:
        return [Item(_connection(f"https://{text}"))]
    if _is_path(text) or (not _PATH_WORDS.isdisjoint(words) and "\n" not in text):
        return _paths(text, kinds, context)
    return []


def _is_path(text: str) -> bool:
    """Whether a text looks like a path wherever it stands: it begins like one and is one line."""
    return text.startswith(("/", "~", "./", "../")) and "\n" not in text and len(text) <= _LONGEST


def _paths(text: str, kinds: tuple[str, ...], context: Context) -> list[Item]:
    """The path, in each of the ways that the tool may touch it."""
    try:
        path = absolute(text.strip() or ".", context.cwd, context.home)
    except UnclearError:
        path = HOLE
    if any(mark in path for mark in "*?["):  # a pattern: whatever it may find
        path = path[: min(path.find(mark) for mark in "*?[" if mark in path)] + HOLE
    return [Item(Touch(kind, path)) for kind in kinds]


def _connection(text: str) -> Connect:
    from gateway.tools.urls import parse

    try:
        url = parse(text)
    except UnclearError:
        return Connect(HOLE, 0, "send")
    return Connect(url.host, url.port, "send")


def _words(name: str) -> list[str]:
    """The words of a name: `outDir`, `out_dir` and `out-dir` are out and dir."""
    spaced = "".join(
        f" {each.lower()}" if each.isupper() and not (at and name[at - 1].isupper()) else each.lower()
        for at, each in enumerate(name)
    )
    for mark in "_-.":
        spaced = spaced.replace(mark, " ")
    return spaced.split()
