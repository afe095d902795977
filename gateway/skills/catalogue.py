"""Which skills and commands there are, and what each of them says.

The enterprise's and the user's come first, then the project's; a name that is there above is not taken below. In each
layer ours come before those that today's agents keep (`.claude/skills`, `.claude/commands`). They allow nothing, so a
project's are there before anybody trusts it, but none of their words is shown unasked until then.
"""

from __future__ import annotations

import os

from gateway.core.errors import ConfigError, Problem
from gateway.core.plain_files import open_plain
from gateway.core.value import Value
from gateway.spec.frontmatter import MOST_BYTES, document

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from gateway.core.places import Places
    from gateway.spec.frontmatter import Document

SKILL, COMMAND = "skill", "command"
PROJECT = "project"
FILE = "SKILL.md"
MOST = 500
# Characters of a list for a prompt, and of one description in it.
MOST_LISTED = 12_000
_LONGEST = 500
_DEPTH = 3
_NAME = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-")
_KEPT = 2_000

_documents: dict[str, tuple[tuple[int, ...], Document, str]] = {}


class Know(Value):
    """One skill or command. `layer`: enterprise, user or project; `file`: where it stands; `real`: the file that was
    read, without links; `folder`: a skill's own; `description`: when to use it; `hint`: what it wants to be told;
    `tools`: all that it uses, None for any; `person_only`: whether no model may begin it."""

    kind: str
    name: str
    layer: str
    file: str
    folder: str
    description: str
    hint: str
    tools: tuple[str, ...] | None
    person_only: bool
    body: str
    real: str


def find(kind: str, places: Places, root: str) -> dict[str, Know]:
    """Those that can be used, by name."""
    return {name: know for name, know in _all(kind, places, root).items() if isinstance(know, Know)}


def one(kind: str, name: str, places: Places, root: str) -> Know | None:
    """The one of that name, None where there is none. Raises ConfigError for one that cannot be used."""
    found = _all(kind, places, root).get(name)
    if isinstance(found, ConfigError):
        raise found
    return found


def listing(kind: str, places: Places, root: str, trusted: bool) -> str:
    """A line for each that a model may begin, "" for none: what it is for, if it is the person's own or the project is
    trusted. Of a project's that links lead out of its folder to, nothing is said: anything may lie there. Cut where it
    would take too much of a prompt."""
    lines, size = [], 0
    own = [os.path.realpath(folder) + "/" for layer, folder in folders(kind, places, root) if layer == PROJECT]
    within = os.path.realpath(root) + "/"
    for know in {know.file: know for know in find(kind, places, root).values()}.values():
        if know.person_only:
            continue
        words = know.layer != PROJECT or (
            trusted and know.real.startswith(within) and any(know.real.startswith(each) for each in own)
        )
        hint = f" {know.hint}" if know.hint and words else ""
        line = f"- {know.name}{hint}" + (f": {know.description[:_LONGEST]}" if words and know.description else "")
        size += len(line)
        if size > MOST_LISTED:
            lines.append("- and more, which are found by name")
            break
        lines.append(line)
    return "\n".join(lines)


def _all(kind: str, places: Places, root: str) -> dict[str, Know | ConfigError]:
    """By name what is there, or why it cannot be used: a broken one still has its name."""
    found: dict[str, Know | ConfigError] = {}
    for layer, path in _files(kind, places, root):
        names = [_plain_name(kind, path), _long_name(kind, places, root, path)]
        know: Know | ConfigError
        try:
            know = _read(kind, layer, path)
            names[0] = know.name
        except ConfigError as error:
            know = error
        for name in dict.fromkeys(names):
            if name:
                found.setdefault(name, know)
    return found


def folders(kind: str, places: Places, root: str) -> list[tuple[str, str]]:
    """Where they lie: layer and folder, upper ones first."""
    name = f"{kind}s"
    found = [
        ("enterprise", os.path.join(places.enterprise, name)),
        ("user", os.path.join(places.config, name)),
        ("user", os.path.join(places.home, ".claude", name)),
    ]
    if root:
        found += [(PROJECT, os.path.join(root, ".gateway", name)), (PROJECT, os.path.join(root, ".claude", name))]
    return found


def _files(kind: str, places: Places, root: str) -> Iterator[tuple[str, str]]:
    for layer, folder in folders(kind, places, root):
        if kind == SKILL:
            for name in _names(folder):
                path = os.path.join(folder, name, FILE)
                if os.path.isfile(path):
                    yield layer, path
        else:
            for path in _below(folder, _DEPTH):
                yield layer, path


def _below(folder: str, depth: int) -> Iterator[str]:
    """The Markdown files in a folder, then those in the folders there."""
    names = _names(folder)
    for name in names:
        if name.endswith(".md") and os.path.isfile(os.path.join(folder, name)):
            yield os.path.join(folder, name)
    if depth > 1:
        for name in names:
            if os.path.isdir(os.path.join(folder, name)):
                yield from _below(os.path.join(folder, name), depth - 1)


def _names(folder: str) -> list[str]:
    try:
        return [name for name in sorted(os.listdir(folder))[:MOST] if not name.startswith(".")]
    except OSError:
        return []


def _plain_name(kind: str, path: str) -> str:
    return os.path.basename(os.path.dirname(path)) if kind == SKILL else os.path.basename(path).removesuffix(".md")


def _long_name(kind: str, places: Places, root: str, path: str) -> str:
    """A command's name with the folders it lies in: `front:button`."""
    if kind == SKILL:
        return ""
    for _layer, folder in folders(kind, places, root):
        if path.startswith(folder + "/"):
            return path[len(folder) + 1 :].removesuffix(".md").replace("/", ":")
    return ""


def _read(kind: str, layer: str, path: str) -> Know:
    found, real = _document(path)
    plain = _plain_name(kind, path)
    name = found.text("name") if kind == SKILL else plain
    if not (name and set(name) <= _NAME and len(name) <= 64):
        name = plain
    try:
        tools = found.names("allowed-tools")
        if tools is None:
            tools = found.names("allowed_tools")
        elif "allowed_tools" in found.fields:
            raise ConfigError(Problem("it must name `allowed-tools` once, not twice under two spellings"))
        return Know(
            kind,
            name,
            layer=layer,
            file=path,
            folder=os.path.dirname(path),
            description=found.text("description") or _first_line(found.body),
            hint=found.text("argument-hint") or found.text("arguments"),
            tools=tools,
            person_only=found.flag("disable-model-invocation"),
            body=found.body,
            real=real,
        )
    except ConfigError as error:
        raise ConfigError([Problem(each.message, file=path, remedy=each.remedy) for each in error.problems]) from error


def _first_line(body: str) -> str:
    return next((line.strip("# ").strip() for line in body.split("\n") if line.strip("# ").strip()), "")[:200]


def _document(path: str) -> tuple[Document, str]:
    """A file's content, and the path without links that this very file had when it was read. Read again only when the
    file is another one. Raises ConfigError."""
    try:
        stamp = _stamp(os.stat(path))
        known = _documents.get(path)
        if known is not None and known[0] == stamp:
            return known[1], known[2]
        with open_plain(path) as file:
            found = os.fstat(file.fileno())
            stamp = _stamp(found)
            if found.st_size > MOST_BYTES:
                raise ConfigError(Problem(f"must be a regular file of at most {MOST_BYTES:,} bytes", file=path))
            content = file.read(MOST_BYTES + 1)
            real = os.path.realpath(path)
            if not os.path.samestat(os.lstat(real), found):
                raise ConfigError(Problem("must not be replaced while it is read", file=path))
    except OSError as error:
        raise ConfigError(Problem(f"cannot be read: {error.strerror}", file=path)) from error
    if len(_documents) >= _KEPT:
        _documents.clear()
    made = document(content, path)
    _documents[path] = stamp, made, real
    return made, real


def _stamp(found: os.stat_result) -> tuple[int, ...]:
    """What changes when a file does."""
    return (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)
