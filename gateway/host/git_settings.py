"""What git would obey in a repository: every file of settings that it reads there, as git finds them, and whether one
of them says more than nobody need be asked about. It looks at the host through `gateway.host.base.Host` alone.

Conditions of `includeIf` are taken to hold: a repository that is not obeyed today may be tomorrow.
"""

from __future__ import annotations

from posixpath import dirname, normpath

from gateway.commands.steering.git_config import INCLUDES, BadConfig, entries, name_of
from gateway.commands.steering.git_keys import is_usual, named, reads, started
from gateway.core.links import way
from gateway.model.facts import TEMPORARY

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from gateway.commands.steering.git_config import Entry
    from gateway.host.base import Host
    from gateway.model.context import Context

_DEEPEST = 10  # git itself follows no more
# Below these names no call writes what git would obey: rules of the policy `builtin` speak of them.
_PROTECTED = ("/.git/", "/.husky/")
_KEPT = 256
_read: dict[str, tuple[Entry, ...] | None] = {}
# Repositories and texts of settings that nothing is said against, whatever else lies on the host.
_plain: set[tuple[str, str, tuple[str, ...], str, tuple[str | bool, ...]]] = set()


class Unclear(Exception):
    """Why nobody can tell what git would obey."""


def objection(top: str, git_folder: str, common: str, theirs: tuple[str, ...], host: Host, context: Context) -> str:
    """Why git might start or obey something here that a call may have put there, or that an archive brought: one
    clause; "" where it does not. `top`: the work tree; `git_folder`, `common`: its own folder and the one that it
    shares with other work trees; `theirs`: the files of settings that hold for the person."""
    own = dict.fromkeys((f"{common}/config", f"{git_folder}/config.worktree", f"{common}/config.worktree"))
    texts = tuple([host.read(file) or host.is_missing(file) or host.is_empty(file) for file in (*own, *theirs)])
    key = (top, git_folder, context.workspace, context.home, texts)
    if key in _plain:
        return ""
    look = _Look(top, git_folder, host, context)
    try:
        why = look.at_repository(own) or look.at_person(theirs)
    except Unclear as unclear:
        why = str(unclear).replace(f"{top}/", "")
    if not why and not look.went_further and False not in texts:
        if len(_plain) >= _KEPT:
            _plain.clear()
        _plain.add(key)
    return why


class _Look:
    """One look at all settings. `went_further`: the answer stands on more of the host than the texts of their files."""

    def __init__(self, top: str, git_folder: str, host: Host, context: Context) -> None:
        self.top = top
        self.git_folder = git_folder
        self.host = host
        self.context = context
        self.went_further = False

    def at_repository(self, files: Iterable[str]) -> str:
        """What the repository's own settings say that is not usual."""
        for where, entry in self._settings(files):
            if not is_usual(entry, self.git_folder, self.top, self._is_safe):
                return f"{_shown(where, self.top)} sets {name_of(entry)}, which may start a program"
            if reads(entry) and self._leads_away(entry[3] or ""):
                return f"{_shown(where, self.top)} sets {name_of(entry)}, which may show another file"
        return ""

    def at_person(self, files: Iterable[str]) -> str:
        """What the person's own settings name that calls may write."""
        for where, entry in self._settings(files):
            paths = named(entry, self.top, self.context.home)
            if paths is None or not all(map(self._is_safe, paths)):
                return f"{_shown(where, self.top)} sets {name_of(entry)} to what calls may write"
        return ""

    def _settings(self, files: Iterable[str]) -> Iterator[tuple[str, Entry]]:
        for file in files:
            for where, entry in settings_of(file, self.host, self.context):
                self.went_further |= entry[0] in INCLUDES
                yield where, entry

    def _is_safe(self, path: str) -> bool:
        self.went_further = True
        return not may_be_written(_joined(path, self.top, self.context.home), self.host, self.context)

    def _leads_away(self, path: str) -> bool:
        """Whether a file that git would read is another one than its name says."""
        self.went_further = True
        file = _joined(path, self.top, self.context.home)
        fact = self.host.path(file)
        return fact is None or fact.real.rpartition("/")[2] != file.rpartition("/")[2]


def obeyed_in(top: str, common: str, theirs: tuple[str, ...], host: Host, context: Context) -> tuple[str, ...]:
    """Files and folders inside the work tree, outside of its `.git`, that git takes settings or hooks from."""
    found: dict[str, None] = {}
    for file in (f"{common}/config", *theirs):
        for where, entry in settings_of(file, host, context, strict=False):
            section, _, key, value = entry
            if section in INCLUDES and key == "path" and value:
                found[absolute(value, dirname(where), context.home)] = None
            found.update(dict.fromkeys(started(entry, top, context.home) or ()))
    return tuple(each for each in found if each.startswith(f"{top}/") and may_write(each, context))


def may_write(path: str, context: Context) -> bool:
    """Whether calls may write under an absolute path without a question: in the workspace and in temporary folders, but
    for names that policy protects."""
    whole = f"{path}/"
    if any(name in whole for name in _PROTECTED):
        return False
    return any(whole.startswith(f"{place}/") for place in (*context.workspace, *context.temp, *TEMPORARY))


def may_be_written(path: str, host: Host, context: Context) -> bool:
    """The same of a name, of each link on the way to it, and of what it leads to, or that nobody can tell. The path is
    as it was written: behind a link, `..` is not the folder that the link lies in."""
    if host.path(path) is None:
        return True
    real, steps = way(path, host.link)
    # What is only passed through may be a link when git passes; where `..` follows, it matters which one.
    return (
        not real
        or may_write(real, context)
        or any(
            (last or ((leads or goes_up) and place not in context.workspace)) and may_write(place, context)
            for place, leads, last, goes_up in steps
        )
    )


def settings_of(
    file: str, host: Host, context: Context, depth: int = 0, *, strict: bool = True
) -> Iterator[tuple[str, Entry]]:
    """Every entry of a file and of those that it includes, each with the file it stands in. Raises Unclear; not
    `strict`: reads also what calls may write, and leaves out what cannot be read."""
    text = host.read(file)
    if not text:
        if host.is_missing(file) or host.is_empty(file):
            return
        fact = host.path(file)
        if strict and (fact is None or fact.kind != "missing"):
            raise Unclear(f"{file} cannot be read")
        return
    found = _entries(text)
    if found is None:
        if not strict:
            return
        raise Unclear(f"{file} is not understood as git's settings")
    for entry in found:
        yield file, entry
        section, _, key, value = entry
        if section not in INCLUDES or key != "path" or not value:
            continue
        unclear = depth == _DEEPEST or value.startswith("%(") or (value.startswith("~") and not value.startswith("~/"))
        if unclear and strict:
            raise Unclear(f"{file} includes {value[:100]}")
        if unclear:
            continue
        included = _joined(value, dirname(file), context.home)
        if strict and may_be_written(included, host, context):
            raise Unclear(f"{file} includes {normpath(included)}, which calls may write")
        yield from settings_of(included, host, context, depth + 1, strict=strict)


def _entries(text: str) -> tuple[Entry, ...] | None:
    """The entries of a text, remembered; None for a text that git would not read."""
    if text not in _read:
        if len(_read) >= _KEPT:
            _read.clear()
        try:
            _read[text] = tuple(entries(text))
        except BadConfig:
            _read[text] = None
    return _read[text]


def _joined(path: str, base: str, home: str) -> str:
    """An absolute path, as it was written."""
    if path.startswith("~/"):
        return f"{home}/{path[2:]}"
    return path if path.startswith("/") else f"{base}/{path}"


def absolute(path: str, base: str, home: str) -> str:
    """The path that a setting means."""
    return normpath(_joined(path, base, home))


def _shown(file: str, top: str) -> str:
    return file[len(top) + 1 :] if file.startswith(f"{top}/") else file
