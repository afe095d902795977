"""From the files of all layers to rules and settings that are bound to where they hold, before they are compiled.

Follows what files extend, and leaves out what a layer may not say. Loaded only where a policy is compiled anew.
"""

from __future__ import annotations

import os

from gateway.config.layers import PRESETS, PROJECT, SESSION, TOOLS_FILE, PolicyFile, Setting, read_file
from gateway.config.settings import Settings
from gateway.core.cache import digest
from gateway.core.errors import ConfigError, Problem
from gateway.core.ownership import check_file
from gateway.core.places import packaged
from gateway.core.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    from gateway.policy.compile import Bound

    Parse = Callable[[bytes, str], dict[str, Any]]
    # The bytes of a file that another one extends, and the folders in one of which it must lie.
    Read = Callable[[str, tuple[str, ...]], bytes]

MAX_EXTENDS = 16
MAX_EXTENDED = 256
# What `lock` calls the describing of programs.
COMMANDS = "commands"
_NOT_IN_SESSION = ("settings", "hooks")


class Layered(Value):
    """Everything that was read and bound, before it is compiled.

    `modes`: those that a session may choose, () for any. `included`: path and content of every extended file.
    `skipped`: what was read but not used, with the reason. `project_digest`: what `gateway policy trust` accepts, ""
    when the project has no policy. `hooks`: those that are told of calls, with the layer and file that declare them.
    `commands_locked_by`: the layer below which descriptions of programs only add, "" if there is none.
    `modes_elsewhere`: those that other projects set for what reaches into them.
    """

    bound: tuple[Bound, ...]
    settings: dict[str, Setting]
    modes: tuple[str, ...]
    files: tuple[PolicyFile, ...]
    included: tuple[tuple[str, bytes], ...]
    skipped: tuple[str, ...]
    project_digest: str
    project_trusted: bool
    tests: tuple[tuple[str, dict[str, Any]], ...]
    commands_locked_by: str = ""
    hooks: tuple[dict[str, Any], ...] = ()
    modes_elsewhere: tuple[str, ...] = ()


def bind(
    files: Iterable[PolicyFile],
    parse: Parse,
    *,
    root: str,
    trusted: Callable[[str], bool],
    all_trusted: bool = False,
    descriptions: Iterable[PolicyFile] = (),
    read: Read = read_file,
) -> Layered:
    """Parses the files, follows `extends`, and binds every rule to its layer.

    `trusted` says whether a person accepted a project's digest, which covers the project's `descriptions` of programs
    too. `read`: gives the content of what files extend. Raises ConfigError with the problems of all files.
    """
    return _Binder(parse, root, trusted, all_trusted, read).bind(tuple(files), tuple(descriptions))


class _Binder:
    """Follows `extends` and collects; one use."""

    def __init__(self, parse: Parse, root: str, trusted: Callable[[str], bool], all_trusted: bool, read: Read) -> None:
        self.parse = parse
        self.read = read
        self.root = root
        self.is_trusted = trusted
        self.all_trusted = all_trusted
        self.problems: list[Problem] = []
        self.included: dict[str, bytes] = {}
        self.skipped: list[str] = []
        self.tests: list[tuple[str, dict[str, Any]]] = []
        self.hooks: list[dict[str, Any]] = []

    def bind(self, files: tuple[PolicyFile, ...], descriptions: tuple[PolicyFile, ...]) -> Layered:
        parsed = [(file, self._expand(file)) for file in files]
        project = [(file, docs) for file, docs in parsed if file.layer == "project" and file.base == self.root]
        fingerprint = _fingerprint(project, [file for file in descriptions if file.layer == "project"])
        named = {
            digest
            for file, docs in parsed
            if file.layer == "enterprise"
            for each in docs
            for digest in (each.doc.get("settings") or {}).get("trust", ())
        }
        trusted = bool(fingerprint) and (self.all_trusted or fingerprint in named or self.is_trusted(fingerprint))
        if not trusted:
            waiting = [file.path for file in descriptions if file.layer == "project" and file.path.endswith(TOOLS_FILE)]
            self.skipped += [f"{path}: its tools wait until the project is trusted" for path in waiting]
        bound: list[Bound] = []
        settings = Settings()
        for file, docs in parsed:
            may_loosen = file.layer != "project" or (trusted and file.base == self.root)
            for each in docs:
                if file.layer == SESSION and any(each.doc.get(key) for key in _NOT_IN_SESSION):
                    self.problems.append(Problem("a session must hold nothing but rules", file=each.path))
                bound.append(self._bound(file, each, may_loosen))
                self._take_hooks(file, each, may_loosen)
                settings.add(file, each.path, each.doc, may_loosen, file.layer == PROJECT and file.base != self.root)
        settings.settle_mode()
        self.problems += settings.problems
        if self.problems:
            raise ConfigError(self.problems)
        self.skipped += settings.skipped
        return Layered(
            tuple(bound),
            settings.values,
            modes=settings.allowed("mode"),
            files=files,
            included=tuple(self.included.items()),
            skipped=tuple(self.skipped),
            project_digest=fingerprint,
            project_trusted=trusted,
            tests=tuple(self.tests),
            commands_locked_by=settings.locked.get(COMMANDS, ""),
            hooks=tuple(self.hooks),
            modes_elsewhere=tuple(dict.fromkeys(settings.modes_elsewhere)),
        )

    def _bound(self, file: PolicyFile, each: _Extended, may_loosen: bool) -> Bound:
        from gateway.policy.compile import Bound

        rules = each.doc["rules"]
        if not may_loosen:
            loosening = [rule for rule in rules if rule["lane"] == "allow"]
            if loosening:
                self.skipped.append(f"{each.path}: {len(loosening)} allow rules wait until the project is trusted")
            rules = [rule for rule in rules if rule["lane"] != "allow"]
        return Bound(
            file.layer,
            each.path,
            rules=rules,
            base=file.base,
            layer_root=file.root,
            level=each.level,
            without=each.without,
        )

    def _take_hooks(self, file: PolicyFile, each: _Extended, may_loosen: bool) -> None:
        """Those that run: none of a project that nobody trusts, and Python only where the user's own hand put it."""
        hooks = each.doc.get("hooks") or []
        if hooks and not may_loosen:
            self.skipped.append(f"{each.path}: {len(hooks)} hooks wait until the project is trusted")
            return
        for hook in hooks:
            if "python" in hook and file.layer not in ("enterprise", "user"):
                remedy = "only the enterprise and the user layer may name Python; write it as a `command`"
                message = f"hook `{hook['id']}` must not be `python` in the {file.layer} layer"
                self.problems.append(Problem(message, file=each.path, line=hook["line"], remedy=remedy))
            headers = hook["http"]["headers"].values() if "http" in hook else ()
            if file.layer == "project" and any("env" in part for parts in headers for part in parts):
                remedy = "set it in your own policy"
                message = f"a project must not say which variables a hook sends (got `{hook['id']}`)"
                self.problems.append(Problem(message, file=each.path, line=hook["line"], remedy=remedy))
            guards = hook["guards"] and each.level == "enforce"
            self.hooks.append({**hook, "guards": guards, "layer": file.layer, "file": each.path})

    def _expand(self, file: PolicyFile) -> list[_Extended]:
        """A file and, before it, everything it extends."""
        found: list[_Extended] = []
        owned = file.layer == "enterprise" and not self.all_trusted
        # Whether a project is trusted is known once all that it extends has been read: so none names a file elsewhere.
        within = (file.base, os.path.dirname(file.path)) if file.layer == PROJECT else ()
        self._follow(file.path, file.content, "enforce", frozenset(), (), found, file.layer, owned, within)
        return found

    def _follow(
        self,
        path: str,
        content: bytes,
        level: str,
        without: frozenset[str],
        trail: tuple[str, ...],
        found: list[_Extended],
        layer: str,
        owned: bool,
        within: tuple[str, ...],
    ) -> None:
        if path in trail or len(trail) > MAX_EXTENDS:
            self.problems.append(Problem(f"extends itself through {' > '.join(trail)}", file=path))
            return
        if len(found) >= MAX_EXTENDED:
            raise ConfigError(Problem(f"a file must extend at most {MAX_EXTENDED} others in all", file=path))
        try:
            doc = self.parse(content, path)
            if doc["extends"] and layer == SESSION:
                raise ConfigError(Problem("a session must hold nothing but rules", file=path))
        except ConfigError as error:
            self.problems += error.problems
            return
        for each in doc["extends"]:
            target = _extended_path(each, path)
            if target is None:
                message = f"`{each['preset']}` is no preset"
                remedy = f"one of {', '.join(PRESETS)}"
                self.problems.append(Problem(message, file=path, line=each.get("line", 0), remedy=remedy))
                continue
            try:
                if owned and "file" in each and self.read is read_file:
                    check_file(target)
                included = self.included[target] = self.read(target, within if "file" in each else ())
            except ConfigError as error:
                self.problems += error.problems
                continue
            self._follow(
                target,
                included,
                _weaker(level, each.get("level", "enforce")),
                without | frozenset(each.get("without", ())),
                (*trail, path),
                found,
                layer,
                owned,
                within,
            )
        found.append(_Extended(path, content, doc=doc, level=level, without=without))
        self.tests += [(path, test) for test in doc.get("tests", ())]


class _Extended(Value):
    """A parsed file with the level and omissions of the way it was reached."""

    path: str
    content: bytes
    doc: dict[str, Any]
    level: str
    without: frozenset[str]


def _extended_path(each: dict[str, Any], path: str) -> str | None:
    if "file" in each:
        return os.path.join(os.path.dirname(path), os.path.expanduser(each["file"]))
    return packaged(f"policies/{each['preset']}.yaml") if each["preset"] in PRESETS else None


_LEVELS = ("observe", "warn", "enforce")


def _weaker(one: str, other: str) -> str:
    return one if _LEVELS.index(one) <= _LEVELS.index(other) else other


def _fingerprint(project: list[tuple[PolicyFile, list[_Extended]]], descriptions: list[PolicyFile]) -> str:
    """A digest over a project's policy files, all they extend and its descriptions, by name and content."""
    parts: list[bytes | str] = []
    for file, docs in project:
        parts.append(os.path.relpath(file.path, file.base))
        for each in docs:
            parts += [os.path.basename(each.path), each.content]
    for file in descriptions:
        parts += [os.path.relpath(file.path, file.base), file.content]
    return digest(parts) if parts else ""
