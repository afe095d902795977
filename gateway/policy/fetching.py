"""Calls that install packages which can be fetched before anything of the call runs, which then runs without a network.

What is fetched is named by words that are held to a grammar here, and is fetched by a program of this machine, in a
step of its own that sees nothing of the project. So nothing needs to be known of the program that installs, nor of
what stands beside it: whatever runs has the files, and no way out. Pure.
"""

from __future__ import annotations

import re

from gateway.core.value import Value
from gateway.policy.installs import Registry

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection

    from gateway.model.analysis import Analysis
    from gateway.model.command import Part
    from gateway.model.effect import Effect, Item

MOST_NAMED = 500


class Project(Value):
    """A project's own package that is installed from its folder, with its extras. `linked`: its files stay there."""

    folder: str
    extras: tuple[str, ...] = ()
    linked: bool = False


class Fetch(Value):
    """What to fetch. `named`: requirements, each as its registry knows it; `files`: absolute paths of files that list
    more; `projects`: those whose own packages need more; `flags`: options that say what counts as needed; `targets`:
    programs that install it, as the call names them, each with the folder that it starts in."""

    fetcher: str
    named: tuple[str, ...]
    files: tuple[str, ...] = ()
    projects: tuple[Project, ...] = ()
    flags: tuple[str, ...] = ()
    targets: tuple[tuple[str, str], ...] = ()


class Fetcher(Value):
    """`programs`: those that install, with the words before what they are told; `flags`, `values`: options without and
    with a value that change nothing about what is fetched; `passed`: those that do, and are handed on; `lists`: options
    that name a file of requirements; `linked`: those that name the folder of a project, which stays where it is."""

    name: str
    programs: dict[str, tuple[str, ...]]
    flags: frozenset[str]
    values: frozenset[str]
    passed: frozenset[str]
    lists: frozenset[str]
    linked: frozenset[str]
    registries: tuple[Registry, ...]

    def holds(self, effect: Effect) -> bool:
        """Whether an effect of such an install is one that the plan holds: its registry is read in a step of its own,
        and the system's packages cannot be changed by what runs contained."""
        if effect.kind == "system":
            return bool(effect.action == "install" and effect.what == "packages")  # type: ignore[attr-defined]
        if effect.kind != "connect":
            return False
        found = (effect.port, effect.direction)  # type: ignore[attr-defined]
        return found == (443, "fetch") and effect.host in [each.host for each in self.registries]  # type: ignore[attr-defined]


_NAME = r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?"
_VERSION = r"(?:===?|!=|<=|>=|~=|<|>)\s*[A-Za-z0-9.*+!_-]+"
_MARKER = r"""[A-Za-z0-9_ .,<>=!~"'()+*-]+"""
_REQUIREMENT = re.compile(
    rf"{_NAME}(?:\s*\[\s*{_NAME}(?:\s*,\s*{_NAME})*\s*\])?"
    rf"(?:\s*\(?\s*{_VERSION}(?:\s*,\s*{_VERSION})*\s*\)?)?(?:\s*;{_MARKER})?",
    re.ASCII,
)
_FOLDER = re.compile(rf"(\.(?:/[A-Za-z0-9_.-]+)*/?)(?:\[({_NAME}(?:,{_NAME})*)\])?", re.ASCII)
_LINE = re.compile(rf"({_REQUIREMENT.pattern})((?:\s+--hash=[a-z0-9]+:[0-9a-fA-F]+)*)", re.ASCII)
_NESTED = re.compile(r"(?:-r|--requirement)(?:\s+|=)([A-Za-z0-9_./-]+)", re.ASCII)
PIP = Fetcher(
    "pip",
    programs={"pip": ("install",), "uv": ("pip", "install")},
    flags=frozenset((
        "-q", "--quiet", "-qq", "-v", "--verbose", "-U", "--upgrade", "--no-input", "--no-cache-dir", "--no-color",
        "--disable-pip-version-check", "--force-reinstall", "--no-compile", "--no-warn-script-location",
        "--require-virtualenv", "--ignore-installed", "-I", "--prefer-binary", "--no-clean", "--dry-run", "--no-cache",
        "--reinstall", "--strict", "--no-progress",
    )),
    values=frozenset((
        "--progress-bar", "--upgrade-strategy", "--root-user-action", "-t", "--target", "--python", "-p",
    )),
    passed=frozenset(("--no-deps", "--pre")),
    lists=frozenset(("-r", "--requirement", "--requirements")),
    linked=frozenset(("-e", "--editable")),
    registries=(Registry("pypi.org"), Registry("files.pythonhosted.org", named_by=("pypi.org",))),
)  # fmt: skip
FETCHERS = {each.name: each for each in (PIP,)}
"""By the name that policy uses."""


def fetch_of(analysis: Analysis, names: Collection[str]) -> Fetch | None:
    """What the installs of a call need, where all of its installs by a fetcher that policy names can be fetched
    before; None for a call without one, or with one that cannot."""
    fetcher = next((each for each in FETCHERS.values() if each.name in names), None)
    if fetcher is None or analysis.tokens:
        return None
    activated = any(_activates(part) for part in analysis.parts)
    found = {
        number: _read(fetcher, analysis.parts[number], activated=activated) for number in installing(analysis, fetcher)
    }
    read = [each for each in found.values() if each is not None]
    if not read or len(read) < len(found):
        return None
    flags = {each.flags for each in read}
    if len(flags) > 1:
        return None  # one fetch would get too much for one of them, and too little for another
    named = tuple(dict.fromkeys(name for each in read for name in each.named))
    files = tuple(dict.fromkeys(path for each in read for path in each.files))
    projects = tuple(dict.fromkeys(one for each in read for one in each.projects))
    if not (named or files or projects) or len(named) + len(files) + len(projects) > MOST_NAMED:
        return None
    targets = tuple(one for each in read for one in each.targets)
    return Fetch(fetcher.name, named, files, projects, flags=next(iter(flags)), targets=targets)


def installing(analysis: Analysis, fetcher: Fetcher) -> list[int]:
    """The commands that read from the fetcher's registries."""
    found = dict.fromkeys(item.part for item in analysis.items if _is_of(fetcher, item, analysis))
    return [number for number in found if number >= 0]


def _is_of(fetcher: Fetcher, item: Item, analysis: Analysis) -> bool:
    return (
        item.effect.kind == "connect"
        and fetcher.holds(item.effect)
        and item.part >= 0
        and analysis.parts[item.part].program in fetcher.programs
    )


def is_held(fetcher: Fetcher, item: Item, parts: Collection[int]) -> bool:
    """Whether what a call's install does beside the project is held by the plan. `parts`: its installs."""
    return item.part in parts and fetcher.holds(item.effect)


def _activates(part: Part) -> bool:
    """Whether an environment is made that of the text from there on."""
    return part.program in (".", "source") and any(each.endswith("bin/activate") for each in part.operands)


def _read(fetcher: Fetcher, part: Part, *, activated: bool) -> Fetch | None:
    """What one command installs, None where it is not known or named otherwise, or where it goes to the system's own
    packages, which nothing contained can change."""
    before = fetcher.programs[part.program]
    folder = part.cwds[0] if part.cwds is not None and len(part.cwds) == 1 else ""
    if part.argv[1 : 1 + len(before)] != before or not part.literal or part.expanded or not folder:
        return None
    named: list[str] = []
    files: list[str] = []
    flags: list[str] = []
    projects: list[Project] = []
    words = iter(part.argv[1 + len(before) :])
    for word in words:
        name, equals, value = word.partition("=") if word.startswith("--") else (word, "", "")
        if name in fetcher.lists or name in fetcher.values:
            value = value if equals else next(words, "")
            if name in fetcher.lists:
                if not re.fullmatch(r"[A-Za-z0-9_./-]+", value, re.ASCII) or value.startswith("-"):
                    return None
                files.append(value if value.startswith("/") else f"{folder}/{value}")
        elif word in fetcher.passed:
            flags.append(word)
        elif name in fetcher.linked or _FOLDER.fullmatch(word):
            value = word if name not in fetcher.linked else value if equals else next(words, "")
            at = _FOLDER.fullmatch(value)
            if at is None or ".." in at[1].split("/"):
                return None
            extras = tuple(sorted(at[2].split(","))) if at[2] else ()
            projects.append(Project(f"{folder}/{at[1]}", extras, linked=name in fetcher.linked))
        elif word not in fetcher.flags:
            if not _REQUIREMENT.fullmatch(word):
                return None
            named.append(word)
    is_own = activated or not part.trusted or part.program != fetcher.name
    if not is_own and not {"-t", "--target"} & part.options:
        return None
    targets = ((part.argv[0], folder),)
    passed = tuple(sorted(set(flags)))
    return Fetch(
        fetcher.name, tuple(named), files=tuple(files), projects=tuple(projects), flags=passed, targets=targets
    )


class Listed(Value):
    """What a file of requirements says. `lines`: as they may be handed on; `files`: further ones, as it names them."""

    lines: tuple[str, ...]
    files: tuple[str, ...]


class OtherwiseError(ValueError):
    """A file asks for what is not fetched so; the message says where."""


def listed(text: str) -> Listed:
    """Reads a file of requirements. Raises OtherwiseError for anything in it but names with versions, conditions and
    digests, and further such files: addresses, folders, options."""
    lines: list[str] = []
    files: list[str] = []
    for number, line in enumerate(re.sub(r"[ \t]*\\\r?\n", " ", text).splitlines(), 1):
        said = " ".join(re.sub(r"(?:^|\s+)#.*$", "", line).split())
        if not said:
            continue
        nested = _NESTED.fullmatch(said)
        if nested:
            files.append(nested[1])
        elif _LINE.fullmatch(said):
            lines.append(said)
        else:
            raise OtherwiseError(f"line {number} names no package of the registry alone")
    return Listed(tuple(lines), tuple(files))


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
        or {"dependencies", "optional-dependencies"} & {*_texts(own.get("dynamic", []))}
    ):
        raise OtherwiseError("what it needs is said by code")
    found = _texts(builds.get("requires", ["setuptools>=40.8.0"]))
    backend = str(builds.get("build-backend", "setuptools"))
    found += (
        [each for known, each in _ASKED_FOR if backend.startswith(known)]
        if project.linked or "setup" in backend
        else []
    )
    found += _texts(own.get("dependencies", []))
    optional = own.get("optional-dependencies", {})
    name = _canonical(str(own.get("name", "")))
    left, seen = list(project.extras), set()
    while left:
        extra = left.pop()
        if _canonical(extra) in seen or not isinstance(optional, dict):
            continue
        seen.add(_canonical(extra))
        for each in [
            each for key in optional if _canonical(key) == _canonical(extra) for each in _texts(optional[key])
        ]:
            itself = re.match(rf"({_NAME})\s*\[([^\]]*)\]", each, re.ASCII)
            if itself and _canonical(itself[1]) == name:  # it names its own extras once more
                left += [one.strip() for one in itself[2].split(",")]
            else:
                found.append(each)
    if not all(_REQUIREMENT.fullmatch(each.strip()) for each in found):
        raise OtherwiseError("it needs what is not of the registry")
    return tuple(dict.fromkeys(each.strip() for each in found))


# What builders ask for by themselves.
_ASKED_FOR = (("setuptools", "wheel"), ("hatchling", "editables~=0.3"))


def _texts(given: object) -> list[str]:
    if not isinstance(given, list) or not all(isinstance(each, str) for each in given):
        raise OtherwiseError("it is not written as it should be")
    return list(given)


def _canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name.strip()).lower()
