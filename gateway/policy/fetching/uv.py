"""uv in a project: what `uv sync`, `add`, `remove`, `lock` and `run --with` need, by pyproject.toml and uv.lock. Pure.

The step works from a project made here, which asks for what the real one asks for, with its lock file where all in that
comes from the registry. Built packages alone are taken, and the project itself is not installed, so nothing runs.
Settings of the project that choose sources (`[tool.uv]`) are not handed on: where there are any, it is not fetched.
"""

from __future__ import annotations

import json
import re

from gateway.policy.fetching.base import MOST_LINES, Fetch, Fetcher, OtherwiseError, Project, members, said_in
from gateway.policy.fetching.pip import ASKED_FOR, NAME, REGISTRIES, REQUIREMENT, texts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from gateway.model.command import Part
    from gateway.policy.fetching.base import Files, Reads

PROJECT, NAMES, BUILD = "project", "names.txt", "build.txt"
UPGRADE = "upgrade"
_COMMANDS = frozenset(("sync", "add", "remove", "lock", "run"))
_FLAGS = frozenset((
    "--locked", "--all-extras", "--all-groups", "--dev", "--no-dev", "--only-dev", "--no-default-groups", "--inexact",
    "--exact", "--no-install-project", "--no-editable", "--reinstall", "-q", "--quiet", "-v", "--verbose", "--no-sync",
    "--no-progress", "--compile-bytecode", "--check", "--dry-run", "--frozen", "--no-cache", "-n", "--all-packages",
    "--no-install-workspace",
))  # fmt: skip
_VALUES = frozenset((
    "--extra", "--no-extra", "--group", "--no-group", "--only-group", "--optional", "--python", "-p", "--link-mode",
    "--color", "--bounds", "--package",
))  # fmt: skip
_UPGRADES = frozenset(("-U", "--upgrade"))
_KEYS = frozenset(("name", "version", "requires-python", "dependencies", "optional-dependencies"))
_OF_UV = frozenset(("package", "managed", "default-groups", "dev-dependencies", "sources", "workspace"))
_OF_THE_WORKSPACE = {"workspace": True}
_FOLDER = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9_.-]*(?:/[A-Za-z0-9_-][A-Za-z0-9_.-]*)*", re.ASCII)
MOST_MEMBERS = 50
_WORD = re.compile(r"[A-Za-z0-9_.+-]+", re.ASCII)
_VERSIONS = re.compile(r"[A-Za-z0-9.,<>=!~* +_-]+", re.ASCII)
_INDEX = "https://pypi.org/simple"
_FILE = re.compile(r"https://files\.pythonhosted\.org/packages/[A-Za-z0-9._/+%-]+", re.ASCII)


def _claims(part: Part) -> bool:
    return part.program == "uv" and part.subcommands[:1] != ("pip",) and bool(_COMMANDS & set(part.subcommands[:1]))


def _reads(part: Part, folder: str) -> Fetch | None:
    words = iter(part.argv[1:])
    command = next(words, "")
    if command not in _COMMANDS:
        return None
    named: list[str] = []
    flags: set[str] = set()
    for word in words:
        name, equals, value = word.partition("=") if word.startswith("--") else (word, "", "")
        if word in _UPGRADES and command in ("sync", "lock"):
            flags.add(UPGRADE)
        elif name == "--with" and command == "run":
            value = value if equals else next(words, "")
            if not REQUIREMENT.fullmatch(value):
                return None
            named.append(value)
        elif name in _VALUES:
            value = value if equals else next(words, "")
            if not _WORD.fullmatch(value) or value.startswith("-"):
                return None
        elif word in _FLAGS:
            continue
        elif command == "run" and not word.startswith("-"):
            break  # the program, and what it is told
        elif command in ("add", "remove") and REQUIREMENT.fullmatch(word):
            named += [word] if command == "add" else []
        else:
            return None
    kind = (command,) if command == "run" else ()
    return Fetch(
        "uv", tuple(named), projects=(Project(folder),), flags=(*kind, *flags), targets=((part.argv[0], folder),)
    )


def _needs(fetch: Fetch, reads: Reads) -> Files:
    """Raises OtherwiseError for what comes from elsewhere than the registry, or is not written as it should be."""
    if len(fetch.projects) != 1:
        raise OtherwiseError("it installs in more than one project")
    folder = fetch.projects[0].folder.rstrip("/")
    top, below = _workspace(folder, reads)
    given: dict[str, Mapping[str, Any]] = {}
    for each in ("", *below):
        path = f"{top}/{each}/pyproject.toml" if each else f"{top}/pyproject.toml"
        if not each and not below and reads(path) is None and "run" in fetch.flags:
            given[each] = {"project": {"name": "none", "version": "0"}}
        elif not each or reads(path) is not None:  # a pattern may mean folders that are none of its members
            given[each] = said_in(path, reads, lambda text, root=not each: _held(_parsed(text), root))  # type: ignore[misc]
    own = {_canonical(str(each.get("project", {}).get("name", ""))) for each in given.values()}
    files = {
        f"{PROJECT}/{at}/pyproject.toml" if at else f"{PROJECT}/pyproject.toml":
        _project(each, fetch.named if not at else (), tuple(given)[1:] if not at else ())
        for at, each in given.items()
    }  # fmt: skip
    builds = list(dict.fromkeys(line for each in given.values() for line in _builds(each)))
    names = {_canonical(line) for each in given.values() for line in _wanted(each)} - own
    names |= {_canonical(each) for each in (*fetch.named, *builds)}
    locked = f"{top}/uv.lock"
    lock = reads(locked)
    if lock is not None and UPGRADE not in fetch.flags:
        names |= set(said_in(locked, reads, lambda text: names_in(text, (".", *given))))
        files[f"{PROJECT}/uv.lock"] = lock
    version = (reads(f"{folder}/.python-version") or reads(f"{top}/.python-version") or "").strip()
    if re.fullmatch(r"3\.[0-9]{1,2}(\.[0-9]{1,2})?", version, re.ASCII):
        files[f"{PROJECT}/.python-version"] = version + "\n"
    if len(names) > MOST_LINES:
        raise OtherwiseError(f"it names more than {MOST_LINES:,} packages")
    files[NAMES] = "\n".join(sorted(names)) + "\n"
    if builds:
        files[BUILD] = "\n".join(builds) + "\n"
    return files


def _workspace(folder: str, reads: Reads) -> tuple[str, list[str]]:
    """The top folder of the workspace that a project belongs to, and where its members are below it; the project's own,
    and none, where it belongs to no other. Raises OtherwiseError."""
    at = folder
    for _ in range(8):
        try:
            text = reads(f"{at}/pyproject.toml")
        except OtherwiseError:
            if at == folder:
                raise
            break  # above the call's workspace
        said = _parsed(text).get("tool", {}) if text is not None else {}
        ours = said.get("uv", {}) if isinstance(said, dict) else {}
        workspace = ours.get("workspace") if isinstance(ours, dict) else None
        if isinstance(workspace, dict):
            named, left_out = texts(workspace.get("members", [])), texts(workspace.get("exclude", []))
            found = [each for each in members(at, named, left_out, reads) if each]
            if at != folder and folder.removeprefix(f"{at}/") not in found:
                break
            if len(found) > MOST_MEMBERS or not all(map(_FOLDER.fullmatch, found)):
                raise OtherwiseError("its workspace has too many members, or some with unusual names")
            return at, found
        at = at.rpartition("/")[0]
        if not at:
            break
    return folder, []


def _parsed(text: str) -> Mapping[str, Any]:
    import tomllib  # lazy: few calls install anything

    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError):
        raise OtherwiseError("it cannot be read") from None


def _held(given: Mapping[str, Any], root: bool) -> Mapping[str, Any]:
    """What a pyproject.toml says. `root`: it may be that of a workspace alone, without a project of its own. Raises
    OtherwiseError for what is said by code, chooses sources, or is not written as it should be."""
    own, settings = given.get("project"), given.get("tool", {})
    ours = settings.get("uv", {}) if isinstance(settings, dict) else None
    sources = ours.get("sources", {}) if isinstance(ours, dict) else None
    if own is None and root and isinstance(ours, dict) and "workspace" in ours:
        own = {"name": "none"}
    if not isinstance(own, dict) or ours is None:
        raise OtherwiseError("it is not that of a project")
    if (
        not isinstance(ours, dict)
        or not ours.keys() <= _OF_UV
        or not isinstance(sources, dict)
        or any(each != _OF_THE_WORKSPACE for each in sources.values())
    ):
        raise OtherwiseError("its settings for uv say where packages come from, or more")
    if not set(texts(own.get("dynamic", []))) <= {"version", "readme", "description", "classifiers", "scripts"}:
        raise OtherwiseError("what it needs is said by code")
    name, versions = own.get("name", ""), own.get("requires-python", ">=3")
    if not re.fullmatch(NAME, str(name), re.ASCII) or not _VERSIONS.fullmatch(str(versions)):
        raise OtherwiseError("it is not written as it should be")
    if not all(REQUIREMENT.fullmatch(each) for each in (*_wanted(given), *_builds(given))):
        raise OtherwiseError("it needs what is not of the registry")
    if not all(re.fullmatch(NAME, each, re.ASCII) for each in sources):
        raise OtherwiseError("it is not written as it should be")
    return given


def _lists(given: Mapping[str, Any]) -> dict[str, dict[str, list[str]]]:
    """What is needed in which case: of the project, by extras, by groups."""
    own, settings = given.get("project", {}), given.get("tool", {}).get("uv", {})
    found: dict[str, dict[str, list[str]]] = {"": {"": texts(own.get("dependencies", []))}, "extras": {}, "groups": {}}
    for kind, table in (
        ("extras", own.get("optional-dependencies", {})),
        ("groups", given.get("dependency-groups", {})),
    ):
        if not isinstance(table, dict) or not all(_WORD.fullmatch(each) for each in table):
            raise OtherwiseError("it is not written as it should be")
        for name, value in table.items():
            lines = value if isinstance(value, list) else None
            included = [each for each in lines or () if isinstance(each, dict)]
            if any(each.keys() != {"include-group"} or each["include-group"] not in table for each in included):
                raise OtherwiseError("it is not written as it should be")
            found[kind][name] = texts([each for each in lines or (None,) if not isinstance(each, dict)])
    if "dev-dependencies" in settings:
        found["groups"].setdefault("dev", []).extend(texts(settings["dev-dependencies"]))
    return found


def _wanted(given: Mapping[str, Any]) -> list[str]:
    own = _canonical(str(given.get("project", {}).get("name", "")))
    lines = [each.strip() for kind in _lists(given).values() for lines in kind.values() for each in lines]
    return [each for each in lines if _canonical(each) != own]


def _builds(given: Mapping[str, Any]) -> list[str]:
    """What building the project takes; nothing where uv does not build it."""
    builds = given.get("build-system")
    if builds is None:
        return []
    if not isinstance(builds, dict):
        raise OtherwiseError("it is not written as it should be")
    backend = str(builds.get("build-backend", "setuptools"))
    return texts(builds.get("requires", ["setuptools>=40.8.0"])) + [
        each for known, each in ASKED_FOR if backend.startswith(known)
    ]


def _project(given: Mapping[str, Any], added: tuple[str, ...], below: tuple[str, ...]) -> str:
    """A pyproject.toml that asks for the same. `below`: where the members of its workspace are."""
    own, lists, lines = given.get("project"), _lists(given), []
    if own is not None:
        versions = own.get("requires-python")
        lines += ["[project]", f"name = {json.dumps(own['name'])}"]
        lines += ['dynamic = ["version"]'] if "version" in own.get("dynamic", ()) else [f"version = {_version(own)}"]
        lines += [f"requires-python = {json.dumps(versions)}"] if versions else []
        lines += [f"dependencies = {json.dumps([*lists['']['']])}"]
        lines += ["[project.optional-dependencies]", *_assigned(lists["extras"])]
    groups = dict(lists["groups"])
    if added:
        groups["gateway-added"] = list(added)
    lines += ["[dependency-groups]", *_assigned(groups)]
    builds = given.get("build-system")
    if builds is not None:  # never built here: its lock file says that it is a package
        backend = str(builds.get("build-backend", "setuptools.build_meta"))
        if not re.fullmatch(r"[A-Za-z0-9_.:]+", backend, re.ASCII):
            raise OtherwiseError("it is not written as it should be")
        requires = texts(builds.get("requires", ["setuptools>=40.8.0"]))
        lines += ["[build-system]", f"requires = {json.dumps(requires)}", f"build-backend = {json.dumps(backend)}"]
    ours = given.get("tool", {}).get("uv", {})
    package, sources = ours.get("package"), ours.get("sources", {})
    lines += ["[tool.uv]", f"package = {json.dumps(package)}"] if isinstance(package, bool) else []
    lines += ["[tool.uv.sources]", *(f"{name} = {{ workspace = true }}" for name in sources)] if sources else []
    lines += ["[tool.uv.workspace]", f"members = {json.dumps(below)}"] if below else []
    return "\n".join(lines) + "\n"


def _assigned(table: dict[str, list[str]]) -> list[str]:
    return [f"{json.dumps(name)} = {json.dumps(value)}" for name, value in table.items()]


def _version(own: Mapping[str, Any]) -> str:
    version = str(own.get("version", "0"))
    return json.dumps(version if _WORD.fullmatch(version) else "0")


def names_in(text: str, own: tuple[str, ...]) -> list[str]:
    """The packages of a lock file that come from the registry. `own`: folders of the project and its members. Raises
    OtherwiseError where others come from elsewhere."""
    found = []
    packages = _parsed(text).get("package", [])
    if not isinstance(packages, list) or not all(isinstance(each, dict) for each in packages):
        raise OtherwiseError("it is not written as it should be")
    for each in packages:
        name, source = each.get("name", ""), each.get("source")
        if not re.fullmatch(NAME, str(name), re.ASCII):
            raise OtherwiseError("it is not written as it should be")
        if source in [{kind: each} for kind in ("virtual", "editable") for each in own]:
            continue
        if source != {"registry": _INDEX}:
            raise OtherwiseError(f"it takes `{name}` from elsewhere")
        wheels = each.get("wheels", [])
        files = [*(wheels if isinstance(wheels, list) else [None]), *([each["sdist"]] if "sdist" in each else [])]
        if not all(isinstance(one, dict) and _FILE.fullmatch(str(one.get("url", ""))) for one in files):
            raise OtherwiseError(f"it takes `{name}` from elsewhere")
        found.append(_canonical(name))
    return found


def _canonical(requirement: str) -> str:
    found = re.match(NAME, requirement.strip(), re.ASCII)
    return re.sub(r"[-_.]+", "-", found[0]).lower() if found else ""


UV = Fetcher(
    "uv", "uv", REGISTRIES, claims=_claims, reads=_reads, needs=_needs, cache=".cache/uv", moved="UV_CACHE_DIR"
)
