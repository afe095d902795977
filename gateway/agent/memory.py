"""What people have written down for agents to know: `memory.md`, CLAUDE.md and AGENTS.md, by layer and by folder.

    enterprise   memory.md, AGENTS.md, CLAUDE.md in the enterprise's folder
    user         memory.md, AGENTS.md, CLAUDE.md in ~/.config/gateway, then ~/.claude/CLAUDE.md
    project      .gateway/memory.md, AGENTS.md, CLAUDE.md, .claude/CLAUDE.md, CLAUDE.local.md from its top down
    local        memory.md beside the user's own rules for this project

The files above the working folder are told at the start, those of other folders once a call has used a file there. A
line with `@docs/style.md` brings in a file. What lies in the project counts only while a person has accepted exactly
that content, file by file (`gateway policy trust --memory`); a file there can bring in nothing but the project's own
that policy lets an agent read unasked. Other layers bring in nothing that a rule refuses or asks about, and nothing
that agents may write unasked. Whatever is not told is reported with the reason, and no text of it.
"""

from __future__ import annotations

import os

from gateway.agent.memory_text import as_block, cut, imports
from gateway.config.layers import PROJECT, local_folder, read_file
from gateway.config.trust import TrustStore
from gateway.core.cache import digest
from gateway.core.errors import CallError, ConfigError
from gateway.core.ownership import check_folder
from gateway.core.value import Value
from gateway.model.call import RawCall
from gateway.model.decision import Decision
from gateway.policy.wording import visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from gateway.judge.judge import Judge
    from gateway.model.context import Context

NAMES = ("AGENTS.md", "CLAUDE.md")
OWN = "memory.md"
# Below the folders of a project; the second only where it begins.
IN_FOLDERS = (*NAMES, "CLAUDE.local.md")
AT_TOP = (os.path.join(".gateway", OWN), os.path.join(".claude", "CLAUDE.md"))
# Bytes of a file, characters of it that are told, characters that are told at a time, files, levels of imports.
MOST_BYTES = 262_144
MOST_OF_FILE = 40_000
MOST_TOLD = 100_000
MOST_FILES = 200
MOST_DEEP = 5
# Folders that are looked through for files to accept, and those that are passed over.
MOST_FOLDERS = 20_000
PASSED_OVER = frozenset({".git", ".hg", ".svn", "node_modules", ".venv", "venv", "__pycache__"})
_DOMAIN = "gateway memory 1"
UNTRUSTED = "no person has accepted it: `gateway policy trust --memory`"


class Remembered(Value):
    """One file. `text`: what it says; `by`: the file that brings it in, "" for none; `reason`: why it is not told, ""
    where it is; `digest`: what accepting it accepts, "" where there is nothing to accept."""

    file: str
    layer: str
    text: str = ""
    by: str = ""
    reason: str = ""
    digest: str = ""


class Memory:
    """Of one conversation. Not for use by several threads at once."""

    def __init__(self, judge: Judge) -> None:
        self._judge = judge
        options = judge.options
        self._root = os.path.realpath(options.root) if options.root else ""
        accepted = TrustStore(judge.places.state).digests(self._root) if self._root else frozenset()
        of_enterprise = judge.loaded.settings.get("trust")
        self._accepted = accepted.union(options.trust, () if of_enterprise is None else of_enterprise.value)
        self._looked: set[str] = set()
        self._followed: set[str] = set()  # paths of files that calls have used
        self._told: set[str] = set()

    def opening(self, context: Context) -> tuple[Remembered, ...]:
        """What is known from the start, the furthest first. Forgets what was told before."""
        self._looked.clear()
        self._followed.clear()
        self._told.clear()
        places = self._judge.places
        found: list[Remembered] = []
        for layer, paths in (
            ("enterprise", [os.path.join(places.enterprise, name) for name in (OWN, *NAMES)]),
            ("user", [os.path.join(places.config, name) for name in (OWN, *NAMES)]),
            (
                "user",
                [
                    os.path.join(
                        dict(places.moved()).get("~/.claude", os.path.join(places.home, ".claude")), "CLAUDE.md"
                    )
                ],
            ),
        ):
            found += self._of(layer, paths, context)
        found += self._of_folders(_down(self._root, context.cwd), context)
        if self._root:
            found += self._of("local", [os.path.join(local_folder(places, self._root), OWN)], context)
        return tuple(found)

    def touched(self, paths: Iterable[str], context: Context) -> tuple[Remembered, ...]:
        """What is to be known of the folders of files that calls have used, of which nothing was told yet. A path is
        followed once."""
        folders: dict[str, None] = {}
        new = [path for path in paths if path not in self._followed]
        self._followed.update(new)
        for path in new:
            folders.update(dict.fromkeys(_down(self._root, os.path.dirname(os.path.realpath(path)))))
        return tuple(self._of_folders(folders, context))

    def acceptable(self, context: Context) -> tuple[tuple[Remembered, ...], bool]:
        """Every file of the project that a person can accept, with what it brings in behind it, as if all of it were
        accepted; and whether the whole project was looked through. Forgets what was told before."""
        self._told.clear()
        found: list[Remembered] = []
        for count, (folder, below, _files) in enumerate(os.walk(self._root), 1):
            below[:] = sorted(name for name in below if name not in PASSED_OVER)
            for path in self._names(folder):
                found += self._read(PROJECT, path, context, accepts=True)
            if count >= MOST_FOLDERS or len(self._told) >= MOST_FILES:
                return tuple(found), False
        return tuple(found), True

    def _of_folders(self, folders: Iterable[str], context: Context) -> Iterator[Remembered]:
        for folder in folders:
            if folder not in self._looked:
                self._looked.add(folder)
                yield from self._of(PROJECT, self._names(folder), context)

    def _names(self, folder: str) -> list[str]:
        names = (*AT_TOP[:1], *IN_FOLDERS, *AT_TOP[1:]) if folder == self._root else IN_FOLDERS
        return [os.path.join(folder, name) for name in names]

    def _of(self, layer: str, paths: Iterable[str], context: Context) -> Iterator[Remembered]:
        """What the files that are there say, each file once, with what it brings in."""
        for path in paths:
            yield from self._read(layer, path, context)

    def _read(
        self, layer: str, path: str, context: Context, by: str = "", depth: int = 0, *, accepts: bool = False
    ) -> Iterator[Remembered]:
        """A file and what it brings in; nothing where there is none, or it was told. `by`: what brings it in, so many
        files deep; `accepts`: as if a person had accepted all of it."""
        real = os.path.realpath(path)
        if not os.path.lexists(path) or real in self._told:
            return
        self._told.add(real)
        if len(self._told) > MOST_FILES:
            yield Remembered(path, layer, by=by, reason=f"{MOST_FILES} files are told already")
            return
        if layer != PROJECT and (by or real != path) and self._is_of_project(real):
            layer = PROJECT  # whoever writes in the project writes it
        text, reason = "", self._refused(layer, path, by, context)
        if depth > MOST_DEEP:
            reason = f"it is brought in more than {MOST_DEEP} files deep"
        if not reason:
            text, reason = self._text(layer, path)
        known = "" if reason or layer != PROJECT else digest_of(os.path.relpath(path, self._root), text)
        if known and not accepts and known not in self._accepted:
            reason = UNTRUSTED
        yield Remembered(path, layer, text=text, by=by, reason=reason, digest=known)
        for name in () if reason else imports(text):
            wanted = self._meant(path, name)
            if os.path.isfile(wanted):
                yield from self._read(layer, wanted, context, path, depth + 1, accepts=accepts)

    def _is_of_project(self, real: str) -> bool:
        return bool(self._root) and real.startswith(self._root.rstrip("/") + "/")

    def _meant(self, path: str, name: str) -> str:
        home = self._judge.places.home
        if name.startswith("~/"):
            name = os.path.join(home, name[2:])
        return os.path.normpath(os.path.join(os.path.dirname(path), name))

    def _refused(self, layer: str, path: str, by: str, context: Context) -> str:
        """Why policy keeps a file from being told, "" where it does not."""
        real = os.path.realpath(path)
        if layer == PROJECT and not self._is_of_project(real):
            return "it lies outside of the project"
        if layer == "enterprise" and not by:
            try:
                check_folder(os.path.dirname(real))
            except ConfigError as error:
                return error.problems[0].message
        if not by and layer != PROJECT and real == path:
            return ""  # these names are the layers' own
        try:
            reads = self._judge.check(RawCall("Read", {"file_path": real}), context)
            writes = self._judge.check(RawCall("Write", {"file_path": real, "content": ""}), context)
        except (CallError, ConfigError) as error:
            return f"nobody can tell whether it may be read: {error}"
        rule = reads.reason.rule.id
        is_asked_by_mode = reads.decision is Decision.ASK and rule.startswith("mode:")
        if not (reads.decision is Decision.ALLOW or (is_asked_by_mode and layer != PROJECT)):
            return f"policy does not let it be read unasked (`{visible(rule)}`)"
        if layer != PROJECT and writes.decision is Decision.ALLOW:
            return "agents may write it unasked"
        return ""

    def _text(self, layer: str, path: str) -> tuple[str, str]:
        within = (self._root,) if layer == PROJECT else ()
        try:
            data = read_file(path, within, what="a file of memory", most=MOST_BYTES)
        except ConfigError as error:
            return "", error.problems[0].message
        if b"\0" in data:
            return "", "it is no text"
        return data.decode("utf-8", "replace"), ""


def _down(root: str, folder: str) -> list[str]:
    """The folders from a project's top down to one, [] for one that is not in it."""
    folder = os.path.realpath(folder)
    if not root or not (folder == root or folder.startswith(root.rstrip("/") + "/")):
        return []
    found = [folder]
    while found[-1] != root:
        found.append(os.path.dirname(found[-1]))
    return found[::-1]


def digest_of(name: str, text: str) -> str:
    """What accepting one file of a project accepts. `name`: where it lies in the project."""
    return digest((_DOMAIN, name, text))


def as_text(found: Iterable[Remembered]) -> str:
    """What is told, as a model is shown it; "" for nothing."""
    blocks: list[str] = []
    left = MOST_TOLD
    for each in found:
        if not each.reason and each.text.strip():
            shown = cut(each.text, min(MOST_OF_FILE, left)) if left > 0 else cut(each.text, 0)
            left -= len(shown)
            blocks.append(as_block(each.file, each.layer, shown))
    return "\n".join(blocks)


def left_out(found: Iterable[Remembered]) -> list[str]:
    """What is not told and why, in a sentence for each file."""
    return [f"{visible(each.file)} is not told to the model: {each.reason}" for each in found if each.reason]
