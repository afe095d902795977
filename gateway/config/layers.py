"""From policy files on disk to one compiled policy.

Reads the files of every layer, follows what they extend, leaves out what a layer may not say, and compiles the
rest. A broken file is an error that names the file, line and column; it never silently drops another one, and
nothing is decided while it lasts.
"""

from __future__ import annotations

import os
import stat

from gateway.core.cache import digest
from gateway.core.errors import ConfigError, Problem
from gateway.core.ownership import check_file, check_folder
from gateway.core.places import packaged
from gateway.core.value import Value
from gateway.model.decision import LAYERS, REVIEWS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import Any

    from gateway.core.places import Places
    from gateway.policy.compile import Bound

    Parse = Callable[[bytes, str], dict[str, Any]]

PRESETS = ("builtin", "guard", "daily", "ci", "enterprise")
MAX_EXTENDS = 16
MAX_EXTENDED = 256
MAX_BYTES = 8_000_000

TESTS_ENDING = ".tests.yaml"
# Beside a layer's policy, the tools that it brings (`gateway.config.tool_files`).
TOOLS_FILE = "/tools.yaml"

# What `lock` calls the describing of programs.
COMMANDS = "commands"

SESSION = LAYERS[-1]
PROJECT = "project"
_NOT_IN_SESSION = ("settings", "hooks")
# What a setting is that no layer sets, where a session or a lower layer may choose another within bounds.
_USUAL = {"mode": "default", "review": REVIEWS[0]}
# Sections of which no key may come from another layer than the rest: the key of one provider is not for another.
_WHOLE = ("search",)

# Which modes refuse or ask wherever the other one does, ceilings included: what a project may change a mode to.
STRICTER = {
    "bypass": ("accept_edits", "auto", "default", "dont_ask", "plan", "read_only"),
    "accept_edits": ("default", "dont_ask", "plan", "read_only"),
    "auto": ("default", "dont_ask", "plan", "read_only"),
    "default": ("dont_ask", "plan", "read_only"),
    "dont_ask": (),
    "plan": ("read_only",),
    "read_only": ("plan",),
}


def strict_as_both(one: str, other: str) -> str:
    """The laxest mode known to be as strict as either of two, "" if there is none."""
    as_strict = [mode for mode in (other, *STRICTER.get(other, ())) if mode == one or mode in STRICTER.get(one, ())]
    return one if one in as_strict else (as_strict or [""])[0]


class PolicyFile(Value):
    """One file of a layer as read. `base`: what relative patterns start from; `root`: what `/x` starts from."""

    layer: str
    path: str
    content: bytes
    base: str
    root: str


class Setting(Value):
    """A value, and the file and layer that set it last. A section (`sandbox`, `limits`, `levels`, `audit`) is set key
    by key: `origins` says which file and layer set each key that stands in it."""

    value: Any
    file: str
    layer: str
    origins: Mapping[str, Sequence[str]] = {}

    def layers(self) -> tuple[str, ...]:
        """Every layer that set something of it."""
        return tuple({self.layer, *(layer for _file, layer in self.origins.values())})


class Layered(Value):
    """Everything that was read and bound, before it is compiled.

    `modes`: those that a session may choose, () for any. `included`: path and content of every extended file.
    `skipped`: what was read but not used, with the reason. `project_digest`: what `gateway policy trust` accepts, ""
    when the project has no policy. `hooks`: those that are told of calls, with the layer and file that declare them.
    `commands_locked_by`: the layer below which descriptions of programs only add, "" if
    there is none.
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


def find_files(
    places: Places, root: str, *, policies: str = "", others: Iterable[str] = (), binding: bool = False
) -> list[PolicyFile]:
    """The policy files that apply, layer by layer, `builtin` first.

    `policies`: a folder whose `enterprise.yaml`, `user.yaml`, `project.yaml` and `local.yaml` stand for the layers;
    `binding`: the machine's own enterprise layer holds beside them. `others`: further project roots whose deny and ask
    rules apply. With no user file at all, the preset `daily`
    is the user layer. Raises ConfigError for every file that cannot be read and for an enterprise folder that
    others than root can write.
    """
    builtin = packaged("policies/builtin.yaml")
    found = [_read("builtin", builtin, root, "/")]
    folders = layer_folders(places, root, others)
    if policies:
        return [*found, *(read_layer(folders[0]) if binding else ()), *_from_folder(policies, root)]
    for folder in folders:
        files = read_layer(folder)
        if folder.layer == "user" and not files:
            files = [_read("user", packaged("policies/daily.yaml"), root, places.config)]
        found += files
    return found


class LayerFolder(Value):
    """Where a layer's `policy.yaml` and `policy.d` lie; `base` and `root` as in `PolicyFile`."""

    layer: str
    path: str
    base: str
    root: str


def layer_folders(places: Places, root: str, others: Iterable[str] = ()) -> list[LayerFolder]:
    """The folders of the layers between `builtin` and the session, upper ones first."""
    return [
        LayerFolder("enterprise", places.enterprise, root, places.enterprise),
        LayerFolder("user", places.config, root, places.config),
        *(
            LayerFolder("project", os.path.join(project, ".gateway"), project, project)
            for project in dict.fromkeys((root, *others))
        ),
        LayerFolder("local", local_folder(places, root), root, root),
    ]


def read_layer(folder: LayerFolder) -> list[PolicyFile]:
    """The files of one layer. Raises ConfigError for one that cannot be read, or that the wrong people can write."""
    if folder.layer == "enterprise" and _is_there(folder.path):
        check_folder(folder.path)
    return _layer(folder)


def session_files(rules: Iterable[str], root: str) -> list[PolicyFile]:
    """A session's rules as files of its layer, the lowest."""
    return [PolicyFile(SESSION, f"session rule {n}", text.encode(), root, root) for n, text in enumerate(rules, 1)]


def local_folder(places: Places, root: str) -> str:
    """Where a user's own rules for one project lie: outside of the repository, keyed by the real path."""
    return os.path.join(places.state, "projects", digest([os.path.realpath(root)])[:24])


def _from_folder(folder: str, root: str) -> list[PolicyFile]:
    if not os.path.isdir(folder):
        remedy = "give a folder with enterprise.yaml, user.yaml, project.yaml or local.yaml"
        raise ConfigError(Problem(f"--policies must be a folder (got `{folder}`)", remedy=remedy))
    found = []
    for layer in LAYERS[1:5]:
        path = os.path.join(folder, f"{layer}.yaml")
        if os.path.lexists(path):
            found.append(_read(layer, path, root, root))
    if not found:
        remedy = "name a file enterprise.yaml, user.yaml, project.yaml or local.yaml"
        raise ConfigError(Problem("no policy file in the folder", file=folder, remedy=remedy))
    return found


def _layer(folder: LayerFolder) -> list[PolicyFile]:
    paths = [os.path.join(folder.path, "policy.yaml")]
    drop_ins = os.path.join(folder.path, "policy.d")
    try:
        names = sorted(os.listdir(drop_ins))
    except (FileNotFoundError, NotADirectoryError):
        names = []
    except OSError as error:
        raise ConfigError(Problem(f"cannot be listed: {error.strerror}", file=drop_ins)) from error
    names = [name for name in names if name.endswith(".yaml") and not name.endswith(TESTS_ENDING)]
    paths += [os.path.join(drop_ins, name) for name in names]
    return [file_of(folder, path) for path in paths if _is_there(path)]


def file_of(folder: LayerFolder, path: str) -> PolicyFile:
    """A file of a layer. One of a project must really lie there. Raises ConfigError."""
    within = (folder.base,) if folder.layer == PROJECT else ()
    return PolicyFile(folder.layer, path, read_file(path, within), folder.base, folder.root)


def _is_there(path: str) -> bool:
    """Whether something has this name. Raises ConfigError where nobody can tell: it may be a policy."""
    try:
        os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError as error:
        remedy = "make the folder readable: while it is not, every call is refused"
        raise ConfigError(Problem(f"cannot be looked at: {error.strerror}", file=path, remedy=remedy)) from error
    return True


def _read(layer: str, path: str, base: str, root: str) -> PolicyFile:
    return PolicyFile(layer, path, read_file(path), base, root)


def read_file(path: str, within: tuple[str, ...] = ()) -> bytes:
    """A policy file's bytes. Raises ConfigError when it cannot be read; never waits on a FIFO or device. `within`: the
    folders in one of which it must lie, wherever links lead; one that does not is not opened."""
    try:
        real = os.path.realpath(path) if within else ""
        if within and not _lies_in(real, within):
            raise ConfigError(Problem("must lie in the project, and not be a link out of it", file=path))
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        with os.fdopen(descriptor, "rb") as file:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                remedy = "put a plain file in its place, or take it away"
                raise ConfigError(Problem("a policy file must be a regular file", file=path, remedy=remedy))
            if within and not os.path.samestat(os.fstat(descriptor), os.lstat(real)):
                raise ConfigError(Problem("must not be replaced while it is read", file=path))
            content = file.read(MAX_BYTES + 1)
            if len(content) > MAX_BYTES:
                raise ConfigError(
                    Problem(f"a policy file must have at most {MAX_BYTES:,} bytes", file=path, remedy="split it")
                )
            return content
    except OSError as error:
        remedy = "make it readable, or remove it: while it cannot be read, every call is refused"
        if isinstance(error, FileNotFoundError) and not os.path.islink(path):
            remedy = "name a file that is there"
        raise ConfigError(Problem(f"cannot be read: {error.strerror}", file=path, remedy=remedy)) from error


def _lies_in(real: str, folders: tuple[str, ...]) -> bool:
    return any(real.startswith(os.path.realpath(each).rstrip("/") + "/") for each in folders)


def bind(
    files: Iterable[PolicyFile],
    parse: Parse,
    *,
    root: str,
    trusted: Callable[[str], bool],
    all_trusted: bool = False,
    descriptions: Iterable[PolicyFile] = (),
) -> Layered:
    """Parses the files, follows `extends`, and binds every rule to its layer.

    `trusted` says whether a person accepted a project's digest, which covers the project's `descriptions` of programs
    too. Raises ConfigError with the problems of all files.
    """
    return _Binder(parse, root, trusted, all_trusted).bind(tuple(files), tuple(descriptions))


class _Binder:
    """Follows `extends` and collects; one use."""

    def __init__(self, parse: Parse, root: str, trusted: Callable[[str], bool], all_trusted: bool) -> None:
        self.parse = parse
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
        settings = _Settings()
        for file, docs in parsed:
            may_loosen = file.layer != "project" or (trusted and file.base == self.root)
            for each in docs:
                if file.layer == SESSION and any(each.doc.get(key) for key in _NOT_IN_SESSION):
                    self.problems.append(Problem("a session must hold nothing but rules", file=each.path))
                bound.append(self._bound(file, each, may_loosen))
                self._take_hooks(file, each, may_loosen)
                settings.add(file, each.path, each.doc, may_loosen)
        settings.settle_mode()
        self.problems += settings.problems
        if self.problems:
            raise ConfigError(self.problems)
        self.skipped += settings.skipped
        return Layered(
            tuple(bound), settings.values, settings.allowed("mode"), files, tuple(self.included.items()),
            tuple(self.skipped), fingerprint, trusted, tuple(self.tests), settings.locked.get(COMMANDS, ""),
            tuple(self.hooks),
        )  # fmt: skip

    def _bound(self, file: PolicyFile, each: _Extended, may_loosen: bool) -> Bound:
        from gateway.policy.compile import Bound

        rules = each.doc["rules"]
        if not may_loosen:
            loosening = [rule for rule in rules if rule["lane"] == "allow"]
            if loosening:
                self.skipped.append(f"{each.path}: {len(loosening)} allow rules wait until the project is trusted")
            rules = [rule for rule in rules if rule["lane"] != "allow"]
        return Bound(file.layer, each.path, rules, file.base, file.root, each.level, each.without)

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
                if owned and "file" in each:
                    check_file(target)
                included = self.included[target] = read_file(target, within if "file" in each else ())
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
        found.append(_Extended(path, content, doc, level, without))
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


class _Settings:
    """Single values by layer: the lowest layer that sets one wins, unless an upper one locked or bounded it."""

    def __init__(self) -> None:
        self.values: dict[str, Setting] = {}
        self.locked: dict[str, str] = {}
        self.bounds: dict[str, tuple[list[Any], str]] = {}
        self.skipped: list[str] = []
        self.problems: list[Problem] = []

    def add(self, file: PolicyFile, path: str, doc: dict[str, Any], may_loosen: bool) -> None:
        settings = dict(doc.get("settings") or {})
        settings.pop("trust", None)
        lock, bounds = settings.pop("lock", ()), settings.pop("bounds", {})
        self._check_sandbox(settings.get("sandbox") or {}, file.layer, path)
        self._check_audit(settings.get("audit") or {}, file.layer, path)
        for servers in ("servers", "language_servers"):
            self._check_servers(settings.get(servers) or {}, file.layer, path)
        self._check_mcp(settings.get("mcp") or {}, file.layer, path)
        self._check_web(settings, file.layer, path)
        self._check_persons(settings, file.layer, path)
        for name, value in settings.items():
            reason = self._refused(file, name, value, may_loosen)
            if reason:
                self.skipped.append(f"{path}: setting `{name}` is not used: {reason}")
            else:
                self._set(name, value, path, file.layer)
        if file.layer == "project":
            return
        for name in lock:
            self.locked.setdefault(name, file.layer)
        for name, allowed in bounds.items():
            if self.locked.get(name, file.layer) != file.layer:
                self.skipped.append(f"{path}: bounds of `{name}` are not used: layer {self.locked[name]} locked it")
                continue
            known = self.bounds.get(name)
            both = [value for value in allowed if known is None or value in known[0]]
            self.bounds[name] = (both, path)

    def _set(self, name: str, value: Any, path: str, layer: str) -> None:
        """Takes a value over; of a section the keys that are not locked, beside those that other layers set."""
        if not isinstance(value, dict) or name in _WHOLE:
            self.values[name] = Setting(value, path, layer)
            return
        before = self.values.get(name, Setting({}, path, layer))
        free = {}
        for key, each in value.items():
            locked_by = self.locked.get(f"{name}.{key}")
            if locked_by and locked_by != layer:
                self.skipped.append(f"{path}: setting `{name}.{key}` is not used: layer {locked_by} locked it")
            else:
                free[key] = each
        origins = {**before.origins, **dict.fromkeys(free, (path, layer))}
        self.values[name] = Setting({**before.value, **free}, path, layer, origins)

    def _check_sandbox(self, sandbox: dict[str, Any], layer: str, path: str) -> None:
        """What is too much for some layers is an error there, not a setting that waits."""
        if "none" in sandbox.get("weaker", ()) and layer not in ("enterprise", "user"):
            remedy = "only the enterprise and the user layer may do without a sandbox"
            self.problems.append(Problem("`weaker` must not hold `none` in this layer", file=path, remedy=remedy))
        if sandbox.get("inject") and layer == "project":
            remedy = "set it in your own policy"
            self.problems.append(Problem("a project must not say where secrets are sent", file=path, remedy=remedy))

    def _check_audit(self, audit: dict[str, Any], layer: str, path: str) -> None:
        """One record serves all projects of a user, so none of them says how it is kept."""
        if audit and layer == "project":
            remedy = "set it in your own policy"
            self.problems.append(Problem("a project must not say how the record is kept", file=path, remedy=remedy))
        elif audit.get("required") == "nothing" and layer not in ("enterprise", "user"):
            remedy = "only the enterprise and the user layer may do without a record"
            self.problems.append(Problem("`required` must not be `nothing` in this layer", file=path, remedy=remedy))

    def _check_servers(self, servers: dict[str, Any], layer: str, path: str) -> None:
        """A project may bring servers, but not say which of the user's secrets they get."""
        given = [
            name
            for name, each in servers.items()
            if any(value.startswith("env:") for value in each["env"].values())
            or any("env" in part for parts in each.get("headers", {}).values() for part in parts)
        ]
        if given and layer == "project":
            remedy = "set it in your own policy"
            message = f"a project must not say which variables a server gets (got `{given[0]}`)"
            self.problems.append(Problem(message, file=path, remedy=remedy))

    def _check_mcp(self, mcp: dict[str, Any], layer: str, path: str) -> None:
        """Who answers for a person, and what servers may do to the one who asks them, is not a project's to say."""
        if mcp and layer == "project":
            remedy = "set it in your own policy"
            self.problems.append(Problem("a project must not set `mcp`", file=path, remedy=remedy))

    def _check_web(self, settings: dict[str, Any], layer: str, path: str) -> None:
        """Neither what is reached beside the public web nor who gets the words that are searched for is a project's
        to say."""
        if layer == "project":
            remedy = "set it in your own policy"
            self.problems += [
                Problem(f"a project must not set `{name}`", file=path, remedy=remedy)
                for name in ("web", "search")
                if settings.get(name)
            ]

    def _check_persons(self, settings: dict[str, Any], layer: str, path: str) -> None:
        """An accepted plan ends a mode that refuses every write, a pause ends more than that: who accepts the one and
        whether there may be the other is not a project's to say."""
        if layer == "project":
            remedy = "set it in your own policy"
            self.problems += [
                Problem(f"a project must not {what}", file=path, remedy=remedy)
                for name, what in (("plan", "set `plan`"), ("pause", "allow a `pause`"))
                if settings.get(name)
            ]

    def _value(self, name: str) -> str:
        found: str = self.values[name].value if name in self.values else _USUAL[name]
        return found

    def settle_mode(self) -> None:
        """Where the layers bound the mode and none that may stay sets it, the first of those they name holds."""
        allowed, path = self.bounds.get("mode", ([], ""))
        current = self._value("mode")
        if "mode" in self.bounds and current not in allowed:
            if not allowed:
                remedy = "name a mode that all of them allow"
                self.problems.append(Problem("no mode lies within the bounds of all layers", file=path, remedy=remedy))
                return
            self.values["mode"] = Setting(allowed[0], path, "enterprise")

    def allowed(self, name: str) -> tuple[Any, ...]:
        """The values of a setting that a session may choose, () for any."""
        if name in self.locked:
            return (self._value(name),)
        return tuple(self.bounds[name][0]) if name in self.bounds else ()

    def _refused(self, file: PolicyFile, name: str, value: Any, may_loosen: bool) -> str:
        """Why a value is not taken over, "" if it is."""
        locked_by = self.locked.get(name)
        if locked_by and locked_by != file.layer:
            return f"layer {locked_by} locked it"
        if name in self.bounds and value not in self.bounds[name][0]:
            return f"{self.bounds[name][1]} bounds it to {', '.join(map(str, self.bounds[name][0]))}"
        if file.layer == "project":
            if name == "mode":
                current = self._value("mode")
                if value != current and value not in STRICTER[current]:
                    return "a project may choose only stricter modes"
            elif not may_loosen:
                return "it waits until the project is trusted"
            elif name == "review" and REVIEWS.index(value) < REVIEWS.index(self._value(name)):
                return "a project may only have more reviewed"
        return ""
