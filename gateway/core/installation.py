"""Where the running gateway lies: every name that a call would have to leave alone for the gateway to stay the gateway.

Derived from the process itself: the interpreter with each link on the way to it, the environment and the installation
that it belongs to, the folder that the package is loaded from, the commands that start it; and the same for every
installation that the hooks of this user start, as `gateway init` kept it. The rule `gateway-installation` of the
policy `builtin` speaks of these names, so everything that holds for its other wiring holds for them.
"""

from __future__ import annotations

import os
import sys

from gateway.core.cache import read_owned
from gateway.core.links import way
from gateway.core.places import DATA, PACKAGE, packaged
from gateway.core.plainjson import loads

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

# How `policies/builtin.yaml` names them.
WRITTEN = "//gateway-installation"
# The folder of the state folder in which `gateway.install.receipts` keeps what was put in, and the field that says what
# it starts.
RECEIPTS, STARTS = "init", "starts"
COMMANDS = ("gateway", "gateway-shell")
# Where `gateway init AGENT --install-apart` puts a copy: one for all users, and each user's own.
APART = ("/opt/agent-gateway", "~/.local/share/gateway/installed")

# Where the client lies in a package; the second is where it lay in earlier ones.
_CLIENTS = ("/frontends/service/client.py", "/service/client.py")
_SITES = ("site-packages", "dist-packages")
# Prefixes that hold much besides a Python: of those, its own parts are taken.
_SHARED = ("/", "/usr", "/usr/local", "/opt", "/opt/homebrew", "/opt/local", "/bin")
_MOST_RECEIPTS = 200


def names(state: str, home: str) -> tuple[str, ...]:
    """Absolute paths of files and folders, links on the way among them; none lies in another. Those that are not there
    are named, too, where something put there would be obeyed. `state`: this user's state folder, "" for none."""
    found: dict[str, None] = {}
    for executable, package in dict.fromkeys(((sys.executable, PACKAGE), *_of_receipts(state))):
        found.update(dict.fromkeys(_of(executable, package, home)))
    found.update(dict.fromkeys(_commands(tuple(found))))
    found.update(dict.fromkeys(each for each in (path.replace("~", home, 1) for path in APART) if os.path.isdir(each)))
    return _outermost(found)


def moved(state: str, home: str) -> tuple[tuple[str, str], ...]:
    """The same as `Places.moved` tells of folders: how rules write it, and where it lies."""
    return tuple((WRITTEN, each) for each in names(state, home))


def holds(above: Iterable[str], path: str) -> bool:
    """Whether a path is one of these names or lies in one."""
    return any(path == each or path.startswith(each + "/") for each in above)


def _of(executable: str, package: str, home: str) -> Iterator[str]:
    """One installation: a Python, and a package that it loads."""
    yield from with_links(package)
    above = os.path.dirname(package)
    if os.path.basename(above) in _SITES or _is_checkout(above):
        yield from with_links(above)  # whatever else lies there is loaded, too
    if package == PACKAGE:
        yield from (os.path.realpath(packaged(name)) for name in ("tools.yaml", "policies"))
    if not executable.startswith("/"):
        return
    yield from with_links(executable)
    yield from (os.path.join(os.path.dirname(executable), name) for name in COMMANDS)
    environment = environment_of(executable)
    if environment:
        yield from _prefix(environment, home)
    base = os.path.realpath(executable)
    yield from _prefix(os.path.dirname(os.path.dirname(base)), home)


def environment_of(executable: str) -> str:
    """The virtual environment that a Python belongs to by its name, "" for none. (`sys.prefix` is not told where Python
    was started without `site`, as in hooks.)"""
    beside = os.path.dirname(executable)
    above = (beside, os.path.dirname(beside))
    return next((each for each in above if os.path.isfile(os.path.join(each, "pyvenv.cfg"))), "")


def _prefix(prefix: str, home: str) -> Iterator[str]:
    """What of a prefix belongs to its Python: all of it, unless other things are usually kept there."""
    for each in dict.fromkeys((prefix, os.path.realpath(prefix))):
        if each in _SHARED or each in (home, home + "/.local") or (home + "/").startswith(each + "/"):
            version = "{}.{}".format(*sys.version_info)
            yield from (
                os.path.join(each, name)
                for name in (
                    "pyvenv.cfg", f"lib/python{version}", f"lib64/python{version}", "lib/python3",
                    f"lib/python{version.replace('.', '')}.zip", f"lib/libpython{version}.so.1.0", "lib/libpython3.so",
                )
            )  # fmt: skip
        else:
            yield from with_links(each)


def _is_checkout(folder: str) -> bool:
    """Whether the package is loaded from its source, so that all of it stands on Python's path."""
    inside = os.path.isdir(os.path.join(folder, "gateway", os.path.basename(DATA), "policies"))
    return not inside and os.path.isfile(os.path.join(folder, "pyproject.toml"))


def _commands(known: tuple[str, ...]) -> Iterator[str]:
    """What people type to start one of these installations: the names on PATH, and this process's own, that lead into
    one, with each link on the way."""
    typed = [os.path.join(each, name) for each in os.environ.get("PATH", "").split(":") for name in COMMANDS]
    for path in dict.fromkeys((*typed, os.path.abspath(sys.argv[0]) if sys.argv else "")):
        if path.startswith("/") and os.path.basename(path) in COMMANDS and os.path.lexists(path):
            real = os.path.realpath(path)
            if holds(known, real) or os.path.dirname(real) in [os.path.dirname(each) for each in known]:
                yield from with_links(path)


def _of_receipts(state: str) -> Iterator[tuple[str, str]]:
    """The interpreters and packages that this user's hooks start. What cannot be read names none: the state folder is
    the user's own, and nothing but a person could have broken it."""
    folder = os.path.join(state, RECEIPTS)
    try:
        receipts = sorted(os.listdir(folder))[:_MOST_RECEIPTS] if state else []
    except OSError:
        return
    for name in receipts:
        data = read_owned(os.path.join(folder, name)) if name.endswith(".json") else None
        try:
            starts = loads(data).get(STARTS) if data else None
        except (ValueError, AttributeError):
            continue
        if isinstance(starts, list) and len(starts) == 2 and all(isinstance(each, str) for each in starts):
            executable, client = starts
            ending = next((each for each in _CLIENTS if client.endswith(each)), "")
            if executable.startswith("/") and client.startswith("/") and ending:
                yield executable, client.removesuffix(ending)


def with_links(path: str) -> Iterator[str]:
    """A path, where it leads, and every link on the way: whoever replaces one of them replaces it."""
    real, steps = way(path)
    for place, leads, _last, _goes_up in steps:
        if leads:
            yield place
    if real:
        yield real


def _outermost(found: Iterable[str]) -> tuple[str, ...]:
    """Sorted, and without what lies in another of them; never the root of the file system."""
    kept: list[str] = []
    for each in sorted(each for each in found if each != "/"):
        if not holds(kept, each):
            kept.append(each)
    return tuple(kept)
