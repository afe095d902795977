"""What the first process of every user compiles, made once: a test whose users are new each time would wait for it."""

from __future__ import annotations

import atexit
import fcntl
import functools
import os
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path

from gateway.config import shipped
from gateway.config.shipped import code_stamp, descriptions_stamp, load_descriptions, load_foreign, load_tools
from gateway.core.cache import Cache, digest
from gateway.core.places import Places


class _Kept:
    """A file of what is compiled, which many folders share as long as nobody changes it."""

    def __init__(self, path: Path) -> None:
        self.name = path.name
        self._path = path
        self._content = path.read_bytes()
        self._known = self._look()

    def _look(self) -> tuple[int, ...]:
        found = os.stat(self._path)
        return found.st_mode, found.st_uid, found.st_size, found.st_mtime_ns

    def put(self, to: Path) -> None:
        """A link: it is many megabytes, and tests are thousands. Another user, and another disk, get a copy."""
        to.unlink(missing_ok=True)
        if os.geteuid() == self._known[1]:
            if self._look() != self._known:  # by a test, in place, as the gateway never does
                self._path.unlink()
                self._write(self._path)
                self._known = self._look()
            with suppress(OSError):
                to.hardlink_to(self._path)
                return
        self._write(to)

    def _write(self, path: Path) -> None:
        path.write_bytes(self._content)
        path.chmod(0o600)


@functools.cache
def _compiled() -> tuple[Path, list[_Kept]]:
    """A folder that goes with the process, and its files."""
    made = Path(tempfile.mkdtemp(prefix="gateway-compiled-"))
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    own = made / "gateway"
    try:
        shutil.copytree(compiled_once(), own)
    except OSError:  # of a user who may not write here
        _compile(own)
    return made, [_Kept(path) for path in sorted(own.iterdir())]


def going_with_the_process() -> set[str]:
    """The names of folders that this process has among the system's temporary files, and removes at its end."""
    return {_compiled()[0].name} if _compiled.cache_info().currsize else set()


def compiled_once() -> Path:
    """For all processes of all runs, as long as what ships and what compiles it stay the same."""
    top = Path(__file__).parents[1] / ".pytest_cache" / "compiled"
    top.mkdir(parents=True, exist_ok=True)
    found = top / digest([code_stamp(), descriptions_stamp()])
    with open(top / "lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (found / "whole").exists():
            for each in top.iterdir():
                if each.is_dir():
                    shutil.rmtree(each)
            _compile(found / "gateway")
            (found / "whole").touch()
    return found / "gateway"


def _compile(cache: Path) -> None:
    cache.mkdir(mode=0o700, parents=True)
    where = Places("/nonexistent", "/nonexistent", "/nonexistent", str(cache), "/nonexistent")
    packing, shipped._pack_descriptions = shipped._pack_descriptions, _pack_descriptions
    try:
        load_tools(where)
        load_descriptions(where).names()
        load_foreign(where).names_for_rules()
    finally:
        shipped._pack_descriptions = packing


_pack_descriptions = shipped._pack_descriptions


def packed_once() -> bytes:
    """What `gateway.config.shipped` packs where nothing is kept: in tests, what was packed before. To compile all
    descriptions takes more than a second."""
    kept = Cache(str(compiled_once())).open_blocks("commands-" + digest([code_stamp(), descriptions_stamp()]))
    return _pack_descriptions() if kept is None else kept.read(0, 1 << 30)


def warm(cache: str | Path) -> str:
    """Puts the packaged tools and descriptions, compiled, into a cache folder (`…/gateway`) of this user's, as if the
    user had asked before; gives the folder. What ships is another by then: it is made anew, as everywhere. The policies
    that tests before it in its file had compiled lie there, too: who has the same in the same place finds it."""
    folder = Path(cache)
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    for each in _compiled()[1]:
        each.put(folder / each.name)
    for name, path in _policies_of_the_file().items():
        with suppress(OSError):
            (folder / name).hardlink_to(path)
    _warmed.append(folder)
    return str(folder)


# What was filled since `keep_policies`, and the compiled policies of the file whose tests run, by name in a cache.
_warmed: list[Path] = []
_policies: tuple[str, dict[str, Path]] = ("", {})
_MOST_POLICIES = 24  # far fewer than a cache holds


def _policies_of_the_file() -> dict[str, Path]:
    global _policies
    file = os.environ.get("PYTEST_CURRENT_TEST", "").partition("::")[0]
    if _policies[0] != file:
        for path in _policies[1].values():
            path.unlink(missing_ok=True)
        _policies = file, {}
    return _policies[1]


def keep_policies() -> None:
    """Keeps for later tests which policies were compiled in the folders that were filled. They go by their content and
    their place, so they are of use where that is the same (`tmp_path` is)."""
    known = _policies_of_the_file()
    top = _compiled()[0] if _warmed else None
    while _warmed:
        folder = _warmed.pop()
        with suppress(OSError):
            for each in folder.glob("policy-*.json"):
                if each.name not in known and each.stat().st_uid == os.geteuid() and each.stat().st_nlink == 1:
                    known[each.name] = top / each.name
                    known[each.name].unlink(missing_ok=True)
                    known[each.name].hardlink_to(each)
    for name in list(known)[:-_MOST_POLICIES]:
        known.pop(name).unlink(missing_ok=True)
