"""Whether what a call installs can be fetched before it runs, as far as that is known before: what the project's lists
say, whether this machine has a program that fetches, and whether that has just failed.

The dry run and the real one ask here alike, so that both say the same of a list that names what is not fetched.
"""

from __future__ import annotations

import os
import time
from itertools import islice

from gateway.config.layers import read_file
from gateway.core.cache import digest, replace_whole
from gateway.core.errors import CallError, ConfigError
from gateway.core.links import way
from gateway.core.plain_files import open_plain
from gateway.model.call import RawCall
from gateway.model.decision import Decision
from gateway.policy.caches import written
from gateway.policy.fetching import FETCHERS, OtherwiseError
from gateway.policy.modes import is_near

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Protocol

    from gateway.config.load import Loaded
    from gateway.core.places import Places
    from gateway.judge.recorded_facts import Recorded
    from gateway.model.context import Context
    from gateway.model.verdict import Verdict
    from gateway.policy.fetching import Fetch, Fetcher
    from gateway.policy.fetching.base import Files

    class Judges(Protocol):
        """What is asked of a judge here (`gateway.judge.judge.Judge`)."""

        places: Places
        loaded: Loaded
        search_path: str

        @property
        def environment(self) -> Mapping[str, str]:
            """The variables that calls are started with."""

        def check(self, raw: RawCall, context: Context | None = None, /) -> Verdict:
            """The verdict on a call."""


MOST_BYTES = 4 << 20
MOST_NAMES = 1_000
FOLDER = "unfetched"
SECONDS = 600.0
_LONGEST = 1000


def once(found: list[str], judge: Judges, context: Context, fetch: Fetch, recorded: Recorded | None) -> str:
    """`why_not`, looked at once for a call: what was found is kept in `found`. `recorded`: the answers of an earlier
    look, in the place of the host's."""
    if not found:
        found.append(why_not(judge, context, fetch) if recorded is None else recorded.cannot_fetch())
    return found[0]


def why_not(judge: Judges, context: Context, fetch: Fetch) -> str:
    """Why what a call installs cannot be fetched before it runs, "" if it can."""
    fetcher = FETCHERS[fetch.fetcher]
    try:
        files = files_of(judge, context, fetch)
        program_of(judge, context, fetcher.program)
        _lands(judge, context, fetcher)
    except OtherwiseError as error:
        return str(error)
    return _failed(judge.places.state, fetch, files)


def files_of(judge: Judges, context: Context, fetch: Fetch) -> Files:
    """What the step that fetches works from. Raises OtherwiseError."""
    return FETCHERS[fetch.fetcher].needs(fetch, _Files(judge, context))


class _Files:
    """The files of a project that say what to fetch, which calls may have made anything of."""

    def __init__(self, judge: Judges, context: Context) -> None:
        self._judge, self._context = judge, context

    def __call__(self, path: str, /) -> str | None:
        """The text of one, None where there is none. Raises OtherwiseError."""
        return _text(path, self._judge, self._context)

    def folders(self, path: str, /) -> tuple[str, ...]:
        """The names of the folders in one of the workspace, sorted. Raises OtherwiseError."""
        real = os.path.realpath(path)
        if not (real + "/").startswith(tuple(f"{folder.rstrip('/')}/" for folder in self._context.workspace)):
            raise OtherwiseError(f"`{path}` does not lie in the workspace")
        try:
            with os.scandir(real) as found:
                met = list(islice(found, MOST_NAMES + 1))
        except (FileNotFoundError, NotADirectoryError):
            return ()
        except OSError as error:
            raise OtherwiseError(f"`{path}` cannot be read: {error.strerror}") from None
        if len(met) > MOST_NAMES:
            raise OtherwiseError(f"`{path}` holds more than {MOST_NAMES:,} names")
        return tuple(sorted(each.name for each in met if each.is_dir(follow_symlinks=False)))


def _text(path: str, judge: Judges, context: Context) -> str | None:
    """A file of the project that says what to fetch, which calls may have made anything of; None where there is none.
    Raises OtherwiseError."""
    real = os.path.realpath(path)
    if not real.startswith(tuple(f"{folder.rstrip('/')}/" for folder in context.workspace)):
        raise OtherwiseError(f"`{path}` does not lie in the workspace")
    if not os.path.lexists(path):
        return None
    if not _may_read(path, judge, context):
        raise OtherwiseError(f"policy does not let `{path}` be read without a question")
    try:
        text = read_file(real, context.workspace, what="what says what to fetch", most=MOST_BYTES).decode("utf-8")
    except ConfigError as error:
        raise OtherwiseError(f"`{path}` {error.problems[0].message}") from None
    except UnicodeError:
        raise OtherwiseError(f"`{path}` is no text") from None
    if "\0" in text:
        raise OtherwiseError(f"`{path}` is no text")
    return text


def _may_read(path: str, judge: Judges, context: Context) -> bool:
    """Whether policy lets calls read a file: what it says leaves the machine."""
    try:
        return judge.check(RawCall("Read", {"file_path": path}), context).decision is Decision.ALLOW
    except CallError:
        return False


def program_of(judge: Judges, context: Context, name: str) -> str:
    """A program of this machine: the first on PATH that no call can write, nor any link on the way to it. Raises
    OtherwiseError."""
    folders = (*context.workspace, *context.temp, *written(judge.loaded.policy.written, context.home))
    writable = tuple(folder.rstrip("/") + "/" for folder in folders)
    for folder in judge.search_path.split(os.pathsep):
        path = os.path.join(folder, name)
        if folder.startswith("/") and os.access(path, os.X_OK):
            end, steps = way(path)
            if end and not any(is_near(here, writable) for here, _link, _last, _up in steps):
                return path
    raise OtherwiseError(f"there is no `{name}` on this machine, outside of the workspace, that could fetch it")


def _lands(judge: Judges, context: Context, fetcher: Fetcher) -> None:
    """Raises OtherwiseError where calls do not find what was fetched in a layer over its usual place."""
    if not fetcher.cache:
        return
    kept = tuple(written(judge.loaded.policy.written, context.home))
    place = f"{context.home}/{fetcher.cache}"
    usual = (place, place.rpartition("/")[0])  # the folder itself, or the one that it has always been in
    if judge.environment.get(fetcher.moved, place).rstrip("/") not in usual or not f"{place}/".startswith(kept):
        raise OtherwiseError(f"`~/{fetcher.cache}`, where what is fetched goes, is not the one that calls may write")


def failed(state: str, fetch: Fetch, files: Files, why: str) -> bool:
    """Keeps why fetching failed, so that the same install asks for a while: whether that worked."""
    folder = f"{state}/{FOLDER}"
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        for name in os.listdir(folder):
            if os.stat(f"{folder}/{name}").st_mtime < time.time() - SECONDS:
                os.unlink(f"{folder}/{name}")
        replace_whole(f"{folder}/{_key(fetch, files)}", why.encode()[:_LONGEST])
    except OSError:
        return False
    return True


def _failed(state: str, fetch: Fetch, files: Files) -> str:
    """Why fetching the same failed a moment ago, "" if it did not."""
    try:
        with open_plain(f"{state}/{FOLDER}/{_key(fetch, files)}") as file:
            if 0 <= time.time() - os.fstat(file.fileno()).st_mtime <= SECONDS:
                return file.read(_LONGEST).decode("utf-8", "replace")
    except OSError:
        pass
    return ""


def _key(fetch: Fetch, files: Files) -> str:
    return digest((fetch.fetcher, *fetch.flags, *(each for pair in sorted(files.items()) for each in pair)))
