"""uv in a project: what `uv sync`, `add`, `remove`, `lock` and `run --with` need, by pyproject.toml and uv.lock. Pure.

The step works from a project made here, which asks for what the real one asks for, with its lock file where all in that
comes from the registry. Built packages alone are taken, and the project itself is not installed, so nothing runs.
Settings of the project that choose sources (`[tool.uv]`) are not handed on: where there are any, it is not fetched.
"""

from __future__ import annotations

import json
import re

from gateway.policy.fetching.base import MOST_LINES, Fetch, Fetcher, OtherwiseError, Project, said_in
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
    "--no-progress", "--compile-bytecode", "--check", "--dry-run", "--frozen", "--no-cache", "-n",
))  # fmt: skip
_VALUES = frozenset((
    "--extra", "--no-extra", "--group", "--no-group", "--only-group", "--optional", "--python", "-p", "--link-mode",
    "--color", "--bounds",
))  # fmt: skip
_UPGRADES = frozenset(("-U", "--upgrade"))
_KEYS = frozenset(("name", "version", "requires-python", "dependencies", "optional-dependencies"))
_OF_UV = frozenset(("package", "managed", "default-groups", "dev-dependencies"))
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
    path, locked = f"{folder}/pyproject.toml", f"{folder}/uv.lock"
    if reads(path) is None and "run" in fetch.flags:
        given: Mapping[str, Any] = {"project": {"name": "none", "version": "0"}}
    else:
        given = said_in(path, reads, _parsed)
        said_in(path, reads, lambda _text: _hold(given))
    wanted, builds = _wanted(given), _builds(given)
    made = _project(given, fetch.named)
    files = {f"{PROJECT}/pyproject.toml": made}
    names = {_canonical(each) for each in (*wanted, *fetch.named, *builds)}
    lock = reads(locked)
    if lock is not None and UPGRADE not in fetch.flags:
        names |= set(said_in(locked, reads, names_in))
        files[f"{PROJECT}/uv.lock"] = lock
    version = (reads(f"{folder}/.python-version") or "").strip()
    if re.fullmatch(r"3\.[0-9]{1,2}(\.[0-9]{1,2})?", version, re.ASCII):
        files[f"{PROJECT}/.python-version"] = version + "\n"
    if len(names) > MOST_LINES:
        raise OtherwiseError(f"it names more than {MOST_LINES:,} packages")
    files[NAMES] = "\n".join(sorted(names)) + "\n"
    if builds:
        files[BUILD] = "\n".join(builds) + "\n"
    return files


def _parsed(text: str) -> Mapping[str, Any]:
    import tomllib  # lazy: few calls install anything

    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError):
        raise OtherwiseError("it cannot be read") from None


def _hold(given: Mapping[str, Any]) -> None:
    """Raises OtherwiseError for what is said by code, chooses sources, or is not written as it should be."""
    own, settings = given.get("project"), given.get("tool", {})
    if not isinstance(own, dict) or not isinstance(settings, dict):
        raise OtherwiseError("it is not that of a project")
    ours = settings.get("uv", {})
    if not isinstance(ours, dict) or not ours.keys() <= _OF_UV:
        raise OtherwiseError("its settings for uv say where packages come from, or more")
    if not set(texts(own.get("dynamic", []))) <= {"version", "readme", "description", "classifiers", "scripts"}:
        raise OtherwiseError("what it needs is said by code")
    name, versions = own.get("name", ""), own.get("requires-python", ">=3")
    if not re.fullmatch(NAME, str(name), re.ASCII) or not _VERSIONS.fullmatch(str(versions)):
        raise OtherwiseError("it is not written as it should be")
    if not all(REQUIREMENT.fullmatch(each) for each in (*_wanted(given), *_builds(given))):
        raise OtherwiseError("it needs what is not of the registry")


def _lists(given: Mapping[str, Any]) -> dict[str, dict[str, list[str]]]:
    """What is needed in which case: of the project, by extras, by groups."""
    own, settings = given["project"], given.get("tool", {}).get("uv", {})
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
    own = _canonical(str(given["project"].get("name", "")))
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


def _project(given: Mapping[str, Any], added: tuple[str, ...]) -> str:
    """A pyproject.toml that asks for the same."""
    own, lists = given["project"], _lists(given)
    versions = own.get("requires-python")
    lines = ["[project]", f"name = {json.dumps(own['name'])}"]
    lines += ['dynamic = ["version"]'] if "version" in own.get("dynamic", ()) else [f"version = {_version(own)}"]
    lines += [f"requires-python = {json.dumps(versions)}"] if versions else []
    lines += [f"dependencies = {json.dumps([*lists['']['']])}"]
    lines += ["[project.optional-dependencies]"] + [
        f"{name} = {json.dumps(v)}" for name, v in _dotless(lists["extras"])
    ]
    groups = dict(lists["groups"])
    if added:
        groups["gateway-added"] = list(added)
    lines += ["[dependency-groups]"] + [f"{name} = {json.dumps(v)}" for name, v in _dotless(groups)]
    builds = given.get("build-system")
    if builds is not None:  # never built here: its lock file says that it is a package
        backend = str(builds.get("build-backend", "setuptools.build_meta"))
        if not re.fullmatch(r"[A-Za-z0-9_.:]+", backend, re.ASCII):
            raise OtherwiseError("it is not written as it should be")
        requires = texts(builds.get("requires", ["setuptools>=40.8.0"]))
        lines += ["[build-system]", f"requires = {json.dumps(requires)}", f"build-backend = {json.dumps(backend)}"]
    package = given.get("tool", {}).get("uv", {}).get("package")
    lines += ["[tool.uv]", f"package = {json.dumps(package)}"] if isinstance(package, bool) else []
    return "\n".join(lines) + "\n"


def _dotless(table: dict[str, list[str]]) -> list[tuple[str, list[str]]]:
    return [(json.dumps(name), value) for name, value in table.items()]


def _version(own: Mapping[str, Any]) -> str:
    version = str(own.get("version", "0"))
    return json.dumps(version if _WORD.fullmatch(version) else "0")


def names_in(text: str) -> list[str]:
    """The packages of a lock file that come from the registry. Raises OtherwiseError where others come from elsewhere
    than the project."""
    found = []
    packages = _parsed(text).get("package", [])
    if not isinstance(packages, list) or not all(isinstance(each, dict) for each in packages):
        raise OtherwiseError("it is not written as it should be")
    for each in packages:
        name, source = each.get("name", ""), each.get("source")
        if not re.fullmatch(NAME, str(name), re.ASCII):
            raise OtherwiseError("it is not written as it should be")
        if source in ({"virtual": "."}, {"editable": "."}):
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
