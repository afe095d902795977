"""A copy of this very gateway in a stable place of its own, from which it guards: `gateway init AGENT --install-apart`.

What runs is copied, in the versions that it runs with: the package, with its data in the form that a wheel carries,
and the packages that it needs, each file held against the digest that its installer recorded. Nothing is fetched or
built, and nothing of what the copy is made of stays in use but the Python that lies under the environment.

The copy is made beside its place and put there whole, so that hooks find the old one or the new one, or refuse.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from base64 import urlsafe_b64encode
from hashlib import sha256
from importlib.metadata import Distribution, PackageNotFoundError, distribution

from gateway.core.cache import read_owned
from gateway.core.errors import ConfigError, Problem
from gateway.core.installation import APART, COMMANDS, holds, with_links
from gateway.core.places import CHECKOUT, DATA, PACKAGE, packaged
from gateway.core.plainjson import dumps, loads
from gateway.core.products import AGENT
from gateway.core.programs import is_loose
from gateway.core.value import Value
from gateway.install.apart import working_tree
from gateway.install.base import MANAGED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

NAME = "agent-gateway"
NOTE = "agent-gateway.json"
_ALGORITHM = "sha256"
_MAINS = {"gateway": "gateway.frontends.main", "gateway-shell": "gateway.frontends.shell"}
_REQUIREMENT = re.compile(r"([A-Za-z0-9._-]+)\s*(?:\[([^\]]*)\])?[^;]*(?:;(.*))?")
_EXTRA = re.compile(r"""extra\s*==\s*['"]([^'"]+)['"]""")
_LONGEST_SHEBANG = 120


class Copied(Value):
    """What lies, or would lie, at the place. `packages`: name and version of each; `digest`: of all files; `made`: it
    was not there before."""

    place: str
    packages: tuple[tuple[str, str], ...]
    digest: str
    made: bool


def place_for(level: str, home: str) -> str:
    """Where the copy for a level lies: what guards everybody's agents is nobody's in particular."""
    everybodys, users = APART
    return everybodys if level == MANAGED else users.replace("~", home, 1)


def problem(place: str, project: str, home: str) -> Problem | None:
    """Why no copy may be made at a place, None if one may."""
    base = os.path.realpath(sys.executable)
    within_project = not (home + "/").startswith(project.rstrip("/") + "/")  # a session at home has no project
    for each in dict.fromkeys((place, os.path.realpath(os.path.dirname(place)), base)):
        what = "the Python that the copy would start" if each == base else "the place of the copy"
        tree = working_tree(each, home)
        if (tree + "/").startswith(home + "/") or (within_project and holds((project,), each)):
            remedy = "start init by a Python that the system or a version manager installed" if each == base else ""
            return Problem(f"{what} lies where agents work ({each})", file=tree or project, remedy=remedy)
    above = os.path.dirname(place)
    while not os.path.lexists(above):
        above = os.path.dirname(above)
    for each in dict.fromkeys((above, *with_links(above))):
        if is_loose(each, {0, os.geteuid()}):
            remedy = f"look at who may write {each} and the folders above it"
            return Problem("others could change the place of the copy", file=each, remedy=remedy)
    if os.path.lexists(place) and (os.path.islink(place) or not os.path.isdir(place) or _note(place) is None):
        return Problem("something else lies in the place of the copy", file=place, remedy="move it away")
    return None


def described(place: str) -> Copied:
    """What a copy would hold, from what runs here. Raises ConfigError where a file is not what was installed."""
    found = tuple(sorted((each.metadata["Name"].lower(), each.version) for each in _distributions()))
    total = sha256(repr((sys.version_info[:2], os.path.realpath(sys.executable), place)).encode())
    for there, source in sorted((*_sources(), *_data())):
        total.update(f"{there}\0".encode("utf-8", "surrogateescape") + sha256(_content(source)).digest())
    digest = total.hexdigest()
    note = _note(place)
    return Copied(place, found, digest, made=note is None or note.get("digest") != digest)


def copy(wanted: Copied) -> None:
    """Makes the copy, in the place of an older one. Raises ConfigError, and then what was there is there."""
    import tempfile

    above = os.path.dirname(wanted.place)
    try:
        os.makedirs(above, mode=0o755, exist_ok=True)
        new = tempfile.mkdtemp(prefix=".installing-", dir=above)
        try:
            _fill(new, wanted)
            os.chmod(new, 0o755)
            _put(new, wanted.place)
        finally:
            shutil.rmtree(new, ignore_errors=True)
    except OSError as error:
        raise ConfigError(Problem(f"the copy cannot be made: {error}", file=wanted.place)) from error


def python_of(place: str) -> str:
    """The Python by which the copy starts."""
    return os.path.join(place, "bin", "python")


def is_running(place: str) -> bool:
    """Whether the copy there is what runs this."""
    return holds((place, os.path.realpath(place)), PACKAGE)


def _note(place: str) -> dict[str, object] | None:
    """What a copy says of itself; None where nobody of ours made it."""
    data = read_owned(os.path.join(place, NOTE))
    try:
        found = loads(data) if data else None
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def _distributions() -> Iterator[Distribution]:
    """The gateway's own and all that it needs, as far as installed here: of its extras the agent's and the second
    parser's, where those are installed; development's never."""
    extras = {"bashlex", "bwrap", *(("agent",) if any(map(_is_here, AGENT.values())) else ())}
    pending: list[tuple[str, frozenset[str]]] = [(NAME, frozenset(extras))]
    seen: dict[str, set[str]] = {}
    given: set[str] = set()
    while pending:
        name, wanted = pending.pop()
        known = seen.setdefault(name, {""})
        if name in given and wanted <= known:
            continue
        known |= wanted
        try:
            found = distribution(name)
        except PackageNotFoundError:
            continue  # for another system, or another Python; or an extra that nobody installed
        if name not in given:
            given.add(name)
            yield found
        for text in found.requires or ():
            match = _REQUIREMENT.match(text)
            if match is None:
                continue
            extra = _EXTRA.search(match[3] or "")
            if extra is None or extra[1] in known:
                names = frozenset(each.strip() for each in (match[2] or "").split(",") if each.strip())
                pending.append((_normal(match[1]), names))


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _is_here(name: str) -> bool:
    try:
        distribution(name)
    except PackageNotFoundError:
        return False
    return True


def _sources() -> Iterator[tuple[str, str]]:
    """Each file of the copy: where it goes, from the folder of packages, and where it lies here. Raises ConfigError."""
    for found in _distributions():
        ours = _normal(found.metadata["Name"]) == NAME
        for each in found.files or ():
            where = str(each)
            source = str(found.locate_file(each))
            if where.endswith((".pyc", ".pth")) or where.startswith("/") or (ours and ".dist-info/" not in where):
                continue
            if os.path.basename(where) in ("RECORD", "direct_url.json", "INSTALLER", "REQUESTED"):
                continue
            if where.startswith("../"):
                inner = where.lstrip("./")
                if not inner.startswith("bin/") or "/" in inner[4:] or _content(source)[:2] == b"#!":
                    continue  # commands of packages, which nobody needs, and their manuals
            if each.hash is not None and each.hash.mode == _ALGORITHM and _digest(_content(source)) != each.hash.value:
                raise ConfigError(
                    Problem(
                        "a file is not the one that was installed, so that nothing is copied", file=source,
                        remedy=f"install {found.metadata['Name']} again",
                    )
                )  # fmt: skip
            yield where, source
    for here, folders, names in os.walk(PACKAGE):
        folders[:] = sorted(each for each in folders if each != "__pycache__")
        for name in sorted(names):
            if not name.endswith(".pyc"):
                source = os.path.join(here, name)
                yield os.path.join("gateway", os.path.relpath(source, PACKAGE)), source


def _data() -> Iterator[tuple[str, str]]:
    """What the copy's data is made from, where this is not a wheel that carries it."""
    if not os.path.isdir(DATA):
        for top in (packaged("tools.yaml"), packaged("policies")):
            names = [os.path.join(top, name) for name in os.listdir(top)] if os.path.isdir(top) else [top]
            yield from ((os.path.relpath(each, CHECKOUT), each) for each in names if os.path.isfile(each))


def _content(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError as error:
        raise ConfigError(Problem(f"what runs here cannot be copied: {error.strerror}", file=path)) from error


def _digest(content: bytes) -> str:
    return urlsafe_b64encode(sha256(content).digest()).rstrip(b"=").decode("ascii")


def _fill(top: str, wanted: Copied) -> None:
    from compileall import compile_dir
    from venv import EnvBuilder

    EnvBuilder(symlinks=True, with_pip=False).create(top)
    for name in os.listdir(f"{top}/bin"):
        if not name.startswith("python"):
            os.unlink(f"{top}/bin/{name}")  # what activates it, by a path that it will not have
    _say_where(top, wanted.place)
    site = f"{top}/lib/python{sys.version_info[0]}.{sys.version_info[1]}/site-packages"
    for there, source in _sources():
        target = os.path.normpath(f"{site}/{there}")
        os.makedirs(os.path.dirname(target), mode=0o755, exist_ok=True)
        shutil.copyfile(source, target)
        os.chmod(target, 0o755 if os.stat(source).st_mode & 0o100 else 0o644)
    if not os.path.isdir(DATA):
        from gateway.config.wheel import build

        build(f"{site}/gateway/{os.path.basename(DATA)}")
    for name in COMMANDS:
        _command(f"{top}/bin/{name}", python_of(wanted.place), _MAINS[name])
    # Where others than its owner use it nobody else could keep the compiled form of the rest.
    compiled = site if wanted.place in APART else f"{site}/gateway"
    compile_dir(compiled, quiet=2, stripdir=top, prependdir=wanted.place)
    note = {"version": 1, "digest": wanted.digest, "packages": dict(wanted.packages)}
    _write(f"{top}/{NOTE}", dumps(note).encode("utf-8"))


def _say_where(top: str, place: str) -> None:
    """Says the place, and not the folder in which it is made, in what the environment keeps of itself."""
    path = f"{top}/pyvenv.cfg"
    _write(path, _content(path).replace(os.fsencode(top), os.fsencode(place)))


def _command(path: str, python: str, module: str) -> None:
    """A command as installers write it: a shell starts Python where the kernel could not read the first line."""
    first = f"#!{python}\n"
    if len(first) > _LONGEST_SHEBANG or " " in python:
        first = f"#!/bin/sh\n'''exec' '{python}' \"$0\" \"$@\"\n' '''\n"
    _write(path, f"{first}import sys\n\nfrom {module} import main\n\nsys.exit(main())\n".encode())
    os.chmod(path, 0o755)


def _write(path: str, content: bytes) -> None:
    with open(path, "wb") as file:
        file.write(content)
    os.chmod(path, 0o644)


def _put(new: str, place: str) -> None:
    """Gives the name to the new folder. Where an older one has it that one goes, and comes back if this fails."""
    old = f"{new}.old"
    had = os.path.lexists(place)
    if had:
        os.rename(place, old)
    try:
        os.rename(new, place)
    except OSError:
        if had:
            os.rename(old, place)
        raise
    if had:
        shutil.rmtree(old, ignore_errors=True)
