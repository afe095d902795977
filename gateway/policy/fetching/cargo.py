"""cargo: what `cargo fetch`, `add`, `update` and `generate-lockfile` need, by Cargo.lock and Cargo.toml. Pure.

The step works from two packages made here: one that names each version that the lock file holds, one that asks for what
the manifests ask for. Nothing else of the project is seen by it: neither its settings (`.cargo/config.toml`, which name
registries, compilers and programs that know logins) nor its build scripts. Crates of other sources are not fetched.
"""

from __future__ import annotations

import re

from gateway.policy.fetching.base import MOST_LINES, Fetch, Fetcher, OtherwiseError, Project, below, members, said_in
from gateway.policy.installs import Registry

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from gateway.model.command import Part
    from gateway.policy.fetching.base import Files, Reads

LOCKED, WANTED = "locked", "wanted"
"""Folders of the two packages."""
UPDATE = "update"
MOST_MANIFESTS = 50
SOURCES = ("registry+https://github.com/rust-lang/crates.io-index", "sparse+https://index.crates.io/")
REGISTRIES = (Registry("index.crates.io"), Registry("static.crates.io"))
NAME = r"[A-Za-z][A-Za-z0-9_-]{0,63}"
_NUMBER = r"[0-9]+\.[0-9]+\.[0-9]+(?:-[0-9A-Za-z.-]+)?(?:\+[0-9A-Za-z.-]+)?"
_WISH = r"[0-9*^~<>=][0-9A-Za-z.*+^~<>=, -]*"
_FEATURE = re.compile(r"[A-Za-z0-9_+./?:-]{1,128}", re.ASCII)
_ADDED = re.compile(rf"({NAME})(?:@({_WISH}))?", re.ASCII)
_FLAGS = frozenset(("--locked", "-q", "--quiet", "-v", "--verbose", "-vv"))
_VALUES = frozenset(("--color", "--target"))
_OWN_FLAGS = {
    "fetch": frozenset[str](),
    "generate-lockfile": frozenset[str](),
    "update": frozenset(("-w", "--workspace", "--dry-run", "--recursive", "--aggressive")),
    "add": frozenset((
        "--dev", "--build", "--optional", "--no-optional", "--no-default-features", "--default-features", "--dry-run",
    )),
}  # fmt: skip
_OWN_VALUES = {
    "add": frozenset(("-F", "--features", "--rename", "-p", "--package")),
    "update": frozenset(("-p", "--package")),
}
_TABLES = ("dependencies", "dev-dependencies", "build-dependencies")
_HARMLESS = frozenset(("version", "features", "default-features", "default_features", "optional", "package", "public"))


def _claims(part: Part) -> bool:
    return part.program == "cargo"


def _reads(part: Part, folder: str) -> Fetch | None:
    words = iter(part.argv[1:])
    command = next(words, "")
    if not part.trusted or command not in _OWN_FLAGS:
        return None
    named: list[str] = []
    for word in words:
        name, equals, value = word.partition("=") if word.startswith("--") else (word, "", "")
        if word in _FLAGS or word in _OWN_FLAGS[command]:
            continue
        if name == "--manifest-path":
            value = value if equals else next(words, "")
            if not re.fullmatch(r"(?:[A-Za-z0-9_./-]*/)?Cargo\.toml", value, re.ASCII):
                return None
            folder = below(folder, value).rpartition("/")[0] or "/"
        elif name in _VALUES or name in _OWN_VALUES.get(command, ()):
            value = value if equals else next(words, "")
            if not re.fullmatch(r"[A-Za-z0-9_@./,: -]+", value, re.ASCII) or value.startswith("-"):
                return None
        elif word.startswith("-") or not _ADDED.fullmatch(word) or command not in ("add", "update"):
            return None
        elif command == "add":
            named.append(word)
    return Fetch(
        "cargo", tuple(named), projects=(Project(folder),), flags=(UPDATE,) if command == "update" else (),
        targets=((part.argv[0], folder),),
    )  # fmt: skip


def _needs(fetch: Fetch, reads: Reads) -> Files:
    """Raises OtherwiseError for what comes from elsewhere than crates.io, or is not written as it should be."""
    if len(fetch.projects) != 1:
        raise OtherwiseError("it installs in more than one project")
    folder = fetch.projects[0].folder
    top, lock = _lock_of(folder, reads)
    wanted = {}
    for at, path in enumerate(_manifests(folder, top, reads)):
        if at >= MOST_MANIFESTS:
            raise OtherwiseError("its workspace has too many members")
        wanted.update(dict.fromkeys(said_in(path, reads, _wishes)))
    for each in fetch.named:
        found = _ADDED.fullmatch(each)
        assert found is not None  # as it was read
        wanted[found[1], found[2] or "*", (), True] = None
    locked = said_in(lock, reads, locked_in) if lock else ()
    if len(wanted) + len(locked) > MOST_LINES:
        raise OtherwiseError(f"it names more than {MOST_LINES:,} crates")
    kept = _lock(locked)
    files = {f"{WANTED}/Cargo.toml": _manifest(wanted), f"{WANTED}/lib.rs": ""}
    if locked:
        pins = [(name, "=" + version.partition("+")[0], (), False) for name, version, _sum in locked]
        files |= {f"{LOCKED}/Cargo.toml": _manifest(pins), f"{LOCKED}/lib.rs": "", f"{LOCKED}/Cargo.lock": kept}
        if UPDATE not in fetch.flags:
            files[f"{WANTED}/Cargo.lock"] = kept
    return files


def _lock_of(folder: str, reads: Reads) -> tuple[str, str]:
    """The top folder of a workspace, and its lock file, "" where there is none: in the folder, or the next above that
    has one, or says that it is the top of one."""
    at = folder
    for _ in range(8):
        path, manifest = f"{at}/Cargo.lock", f"{at}/Cargo.toml"
        try:
            if reads(path) is not None:
                return at, path
            if reads(manifest) is not None and "workspace" in said_in(manifest, reads, _parsed):
                return at, ""
        except OtherwiseError:
            if at == folder:
                raise
            break  # above the workspace
        at = at.rstrip("/").rpartition("/")[0]
        if not at:
            break
    return folder, ""


def _manifests(folder: str, top: str, reads: Reads) -> Iterator[str]:
    """The manifests that can ask for something: the project's, those of its workspace, and of what these take from
    folders of it, which are members, too."""
    given = said_in(f"{top}/Cargo.toml", reads, _parsed)
    workspace = _table(given.get("workspace", {}))
    named, left_out = _texts(workspace.get("members", [])), _texts(workspace.get("exclude", []))
    seen = dict.fromkeys((top, folder))
    seen.update((f"{top}/{each}", None) for each in members(top, named, left_out, reads) if each)
    waiting = list(seen)
    while waiting:
        at = waiting.pop(0)
        path = f"{at}/Cargo.toml"
        if at not in (top, folder) and reads(path) is None:
            continue  # a folder that only a pattern means
        yield path
        for near in said_in(path, reads, _near):
            found = _way(at, near)
            if f"{found}/".startswith(f"{top}/") and found not in seen:
                seen[found] = None
                waiting.append(found)


def _near(text: str) -> list[str]:
    """The folders from which a manifest takes crates, as it names them."""
    entries = [
        value
        for place in _places(_parsed(text))
        for table in _TABLES
        for value in _table(place.get(table, {})).values()
    ]
    return [each["path"] for each in entries if isinstance(each, dict) and isinstance(each.get("path"), str)]


def _way(folder: str, path: str) -> str:
    """A path below a folder, or beside it, without steps up in it; "" for one that is whole."""
    if path.startswith("/"):
        return ""
    parts = folder.split("/")
    for each in path.split("/"):
        if each == "..":
            parts = parts[:-1]
        elif each not in ("", "."):
            parts.append(each)
    return "/".join(parts)


def _places(given: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The tables of a manifest that have tables of what it needs."""
    return [given, _table(given.get("workspace", {})), *map(_table, _table(given.get("target", {})).values())]


def _wishes(text: str) -> list[tuple[str, str, tuple[str, ...], bool]]:
    """What a manifest asks for: name, version, features, whether with those that are usual."""
    given = _parsed(text)
    for name in ("patch", "replace"):
        for each in _table(given.get(name, {})).values():
            if any("path" not in _table(one) for one in _table(each).values()):
                raise OtherwiseError("it takes crates from elsewhere")
    return [
        found
        for place in _places(given)
        for table in _TABLES
        for name, value in _table(place.get(table, {})).items()
        if (found := _wish(name, value)) is not None
    ]


def _wish(name: str, value: object) -> tuple[str, str, tuple[str, ...], bool] | None:
    """What one line asks for, None for a crate of the project itself."""
    entry = {"version": value} if isinstance(value, str) else _table(value)
    if "path" in entry or entry.get("workspace") is True:
        return None
    if not entry.keys() <= _HARMLESS:
        raise OtherwiseError(f"it takes `{_shown(name)}` from elsewhere")
    package, version, features = (
        entry.get("package", name),
        entry.get("version", "*"),
        _texts(entry.get("features", [])),
    )
    usual = entry.get("default-features", entry.get("default_features", True))
    if (
        not (isinstance(package, str) and isinstance(version, str) and re.fullmatch(NAME, package, re.ASCII))
        or not re.fullmatch(_WISH, version.strip(), re.ASCII)
        or not all(_FEATURE.fullmatch(each) for each in features)
    ):
        raise OtherwiseError(f"`{_shown(name)}` is not written as it should be")
    return package, version.strip(), tuple(features), usual is not False


def locked_in(text: str) -> tuple[tuple[str, str, str], ...]:
    """The crates of a lock file that come from crates.io: name, version, digest. Raises OtherwiseError where others
    come from elsewhere than the project."""
    found = []
    packages = _parsed(text).get("package", [])
    if not isinstance(packages, list):
        raise OtherwiseError("it is not written as it should be")
    for each in map(_table, packages):
        name, version, source, digest = (each.get(key, "") for key in ("name", "version", "source", "checksum"))
        if "source" not in each:
            continue  # of the project
        if source not in SOURCES:
            raise OtherwiseError(f"it takes `{_shown(name)}` from elsewhere")
        if not (
            re.fullmatch(NAME, str(name), re.ASCII)
            and re.fullmatch(_NUMBER, str(version), re.ASCII)
            and re.fullmatch(r"[0-9a-f]{64}", str(digest), re.ASCII)
        ):
            raise OtherwiseError(f"`{_shown(name)}` is not written as it should be")
        found.append((name, version, digest))
    return tuple(found)


def _manifest(wanted: Any) -> str:
    lines = ['[package]\nname = "gateway-fetch"\nversion = "0.0.0"\nedition = "2021"\n[lib]\npath = "lib.rs"']
    lines += ["[workspace]\n[dependencies]"]
    for number, (name, version, features, usual) in enumerate(wanted):
        chosen = ", ".join(f'"{each}"' for each in features)
        lines.append(
            f'd{number} = {{ package = "{name}", version = "{version}", features = [{chosen}], '
            f"default-features = {'true' if usual else 'false'} }}"
        )
    return "\n".join(lines) + "\n"


def _lock(locked: tuple[tuple[str, str, str], ...]) -> str:
    """A lock file by which versions are preferred."""
    return "version = 3\n" + "".join(
        f'\n[[package]]\nname = "{name}"\nversion = "{version}"\nsource = "{SOURCES[0]}"\nchecksum = "{digest}"\n'
        for name, version, digest in locked
    )


def _parsed(text: str) -> Mapping[str, Any]:
    import tomllib  # lazy: few calls install anything

    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError):
        raise OtherwiseError("it cannot be read") from None


def _table(value: object) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise OtherwiseError("it is not written as it should be")
    return value


def _texts(value: object) -> list[str]:
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        raise OtherwiseError("it is not written as it should be")
    return value


def _shown(name: object) -> str:
    return re.sub(r"[^A-Za-z0-9_.-]", "?", str(name))[:64]


CARGO = Fetcher(
    "cargo",
    "cargo",
    REGISTRIES,
    claims=_claims,
    reads=_reads,
    needs=_needs,
    cache=".cargo/registry",
    moved="CARGO_HOME",
)
