"""pip, and uv's interface like it: what a command of theirs installs, by its words, by files of requirements and by the
pyproject.toml of a project's own package. Pure.

Built packages alone are fetched, by `python3 -m pip download`: nothing of them runs before the call does.
"""

from __future__ import annotations

import re

from gateway.core.value import Value
from gateway.policy.fetching.base import MOST_LINES, WORDS, Fetch, Fetcher, OtherwiseError, Project, below, said_in
from gateway.policy.installs import Registry

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gateway.model.command import Part
    from gateway.policy.fetching.base import Files, Reads

LIST, CONSTRAINTS = "requirements.txt", "constraints.txt"
MOST_FILES = 20
NAME = r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?"
_VERSION = r"(?:===?|!=|<=|>=|~=|<|>)\s*[A-Za-z0-9.*+!_-]+"
_MARKER = r"""[A-Za-z0-9_ .,<>=!~"'()+*-]+"""
REQUIREMENT = re.compile(
    rf"{NAME}(?:\s*\[\s*{NAME}(?:\s*,\s*{NAME})*\s*\])?"
    rf"(?:\s*\(?\s*{_VERSION}(?:\s*,\s*{_VERSION})*\s*\)?)?(?:\s*;{_MARKER})?",
    re.ASCII,
)
_FOLDER = re.compile(rf"(\.(?:/[A-Za-z0-9_.-]+)*/?)(?:\[({NAME}(?:,{NAME})*)\])?", re.ASCII)
_LINE = re.compile(rf"({REQUIREMENT.pattern})((?:\s+--hash=[a-z0-9]+:[0-9a-fA-F]+)*)", re.ASCII)
_NESTED = re.compile(r"(-[rc]|--requirement|--constraint)(?:\s+|=)([A-Za-z0-9_./-]+)", re.ASCII)
REGISTRIES = (Registry("pypi.org"), Registry("files.pythonhosted.org", named_by=("pypi.org",)))
_BEFORE = {"pip": ("install",), "uv": ("pip", "install")}
_FLAGS = frozenset((
    "-q", "--quiet", "-qq", "-v", "--verbose", "-U", "--upgrade", "--no-input", "--no-cache-dir", "--no-color",
    "--disable-pip-version-check", "--force-reinstall", "--no-compile", "--no-warn-script-location",
    "--require-virtualenv", "--ignore-installed", "-I", "--prefer-binary", "--no-clean", "--dry-run", "--no-cache",
    "--reinstall", "--strict", "--no-progress", "--only-binary=:all:", "--only-binary=all", "--user",
    "--break-system-packages",
))  # fmt: skip
_VALUES = frozenset((
    "--progress-bar", "--upgrade-strategy", "--root-user-action", "-t", "--target", "--python", "-p", "--timeout",
    "--default-timeout", "--retries",
))  # fmt: skip
_PASSED = frozenset(("--no-deps", "--pre"))
_LISTS = frozenset(("-r", "--requirement", "--requirements"))
_CONSTRAINTS = frozenset(("-c", "--constraint", "--constraints"))
_LINKED = frozenset(("-e", "--editable"))


def _claims(part: Part) -> bool:
    return part.program == "pip" or (part.program == "uv" and part.subcommands[:1] == ("pip",))


def _reads(part: Part, folder: str) -> Fetch | None:
    """What goes to the machine's own packages, which nothing contained can change, pip puts where its user's packages
    lie: of a contained call that is a folder of the project's own."""
    before = _BEFORE[part.program]
    if part.argv[1 : 1 + len(before)] != before:
        return None
    named: list[str] = []
    files: dict[str, list[str]] = {"lists": [], "constraints": []}
    flags: list[str] = []
    projects: list[Project] = []
    words = iter(part.argv[1 + len(before) :])
    for word in words:
        name, equals, value = word.partition("=") if word.startswith("--") else (word, "", "")
        if word in _FLAGS:
            continue
        if name in _LISTS or name in _CONSTRAINTS or name in _VALUES:
            value = value if equals else next(words, "")
            if name not in _VALUES:
                if not WORDS.fullmatch(value) or value.startswith("-"):
                    return None
                files["lists" if name in _LISTS else "constraints"].append(below(folder, value))
        elif word in _PASSED:
            flags.append(word)
        elif name == "--only-binary":  # that of `pip download` is stricter
            if (value if equals else next(words, "")) not in (":all:", "all"):
                return None
        elif name in _LINKED or _FOLDER.fullmatch(word):
            value = word if name not in _LINKED else value if equals else next(words, "")
            at = _FOLDER.fullmatch(value)
            if at is None or ".." in at[1].split("/"):
                return None
            extras = tuple(sorted(at[2].split(","))) if at[2] else ()
            projects.append(Project(f"{folder}/{at[1]}", extras, linked=name in _LINKED))
        else:
            if not REQUIREMENT.fullmatch(word):
                return None
            named.append(word)
    if not (named or files["lists"] or projects):
        return None
    is_machines = part.trusted and part.program == "pip"
    return Fetch(
        "pip", tuple(named), files=tuple(files["lists"]), projects=tuple(projects), flags=tuple(sorted(set(flags))),
        targets=((part.argv[0], "" if is_machines else folder),), constraints=tuple(files["constraints"]),
    )  # fmt: skip


def needs(fetch: Fetch, reads: Reads) -> Files:
    """All requirements and all constraints, those of files included. Raises OtherwiseError."""
    found = list(fetch.named)
    for project in fetch.projects:
        path = f"{project.folder.rstrip('/')}/pyproject.toml"
        found += said_in(path, reads, lambda text, one=project: needed_by(text, one))  # type: ignore[misc]
    lines, named = _all(fetch.files, reads)
    limits, further = _all(tuple(dict.fromkeys((*fetch.constraints, *named))), reads)
    if further or any("[" in each or "--hash" in each for each in limits):
        raise OtherwiseError("a file of constraints has more than versions")
    found += lines
    if len(found) + len(limits) > MOST_LINES:
        raise OtherwiseError(f"it names more than {MOST_LINES:,} requirements")
    made = {LIST: "\n".join(dict.fromkeys(found)) + "\n"}
    return made | ({CONSTRAINTS: "\n".join(limits) + "\n"} if limits else {})


def _all(paths: tuple[str, ...], reads: Reads) -> tuple[list[str], list[str]]:
    """The lines of files and of those that they name, and the files of constraints that they name."""
    found: list[str] = []
    files, limits = list(paths), dict[str, None]()
    for at, path in enumerate(files):
        if at >= MOST_FILES:
            raise OtherwiseError("its files of requirements name too many others")
        read = said_in(path, reads, listed)
        folder = path.rpartition("/")[0]
        found += read.lines
        files += [each for each in (below(folder, name) for name in read.files) if each not in files]
        limits.update((below(folder, name), None) for name in read.constraints)
    return found, list(limits)


class Listed(Value):
    """What a file of requirements says. `lines`: as they may be handed on; `files`, `constraints`: further ones, as it
    names them."""

    lines: tuple[str, ...]
    files: tuple[str, ...] = ()
    constraints: tuple[str, ...] = ()


def listed(text: str) -> Listed:
    """Reads a file of requirements. Raises OtherwiseError for anything in it but names with versions, conditions and
    digests, and further such files: addresses, folders, options."""
    lines: list[str] = []
    files: dict[str, list[str]] = {"-r": [], "-c": []}
    for number, line in enumerate(re.sub(r"[ \t]*\\\r?\n", " ", text).splitlines(), 1):
        said = " ".join(re.sub(r"(?:^|\s+)#.*$", "", line).split())
        if not said:
            continue
        nested = _NESTED.fullmatch(said)
        if nested:
            files["-c" if "c" in nested[1][:3] else "-r"].append(nested[2])
        elif _LINE.fullmatch(said):
            lines.append(said)
        else:
            raise OtherwiseError(f"line {number} names no package of the registry alone")
    return Listed(tuple(lines), tuple(files["-r"]), tuple(files["-c"]))


def needed_by(text: str, project: Project) -> tuple[str, ...]:
    """What building and using a project's own package takes, by its pyproject.toml. Raises OtherwiseError where that
    does not say it all, or names what is fetched from elsewhere."""
    import tomllib  # lazy: few calls install a project

    try:
        given = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError):
        raise OtherwiseError("it cannot be read") from None
    builds, own = given.get("build-system", {}), given.get("project")
    if (
        not isinstance(own, dict)
        or not isinstance(builds, dict)
        or {"dependencies", "optional-dependencies"} & {*texts(own.get("dynamic", []))}
    ):
        raise OtherwiseError("what it needs is said by code")
    found = texts(builds.get("requires", ["setuptools>=40.8.0"]))
    backend = str(builds.get("build-backend", "setuptools"))
    found += (
        [each for known, each in ASKED_FOR if backend.startswith(known)] if project.linked or "setup" in backend else []
    )
    found += texts(own.get("dependencies", []))
    optional = own.get("optional-dependencies", {})
    name = _canonical(str(own.get("name", "")))
    left, seen = list(project.extras), set()
    while left:
        extra = left.pop()
        if _canonical(extra) in seen or not isinstance(optional, dict):
            continue
        seen.add(_canonical(extra))
        for each in [each for key in optional if _canonical(key) == _canonical(extra) for each in texts(optional[key])]:
            itself = re.match(rf"({NAME})\s*\[([^\]]*)\]", each, re.ASCII)
            if itself and _canonical(itself[1]) == name:  # it names its own extras once more
                left += [one.strip() for one in itself[2].split(",")]
            else:
                found.append(each)
    if not all(REQUIREMENT.fullmatch(each.strip()) for each in found):
        raise OtherwiseError("it needs what is not of the registry")
    return tuple(dict.fromkeys(each.strip() for each in found))


# What builders ask for by themselves.
ASKED_FOR = (("setuptools", "wheel"), ("hatchling", "editables~=0.3"))


def texts(given: object) -> list[str]:
    """A list of texts as a file has it. Raises OtherwiseError for anything else."""
    if not isinstance(given, list) or not all(isinstance(each, str) for each in given):
        raise OtherwiseError("it is not written as it should be")
    return list(given)


def _canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name.strip()).lower()


PIP = Fetcher("pip", "python3", REGISTRIES, claims=_claims, reads=_reads, needs=needs)
