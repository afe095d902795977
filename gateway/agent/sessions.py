"""Where the transcripts of a project's sessions lie, and which one is meant."""

from __future__ import annotations

import os
import time

from gateway.config.layers import local_folder
from gateway.core.errors import ConfigError, Problem

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gateway.judge.judge import Judge

LAST = "last"
ENDING = ".jsonl"
_MOST_SHOWN = 10


def folder_of(judge: Judge) -> str:
    """The folder of this project's transcripts, in the user's own state."""
    return os.path.join(local_folder(judge.places, judge.options.root), "sessions")


def new_path(judge: Judge, name: str) -> str:
    """The path of a new session's transcript; names sort by time."""
    return os.path.join(folder_of(judge), time.strftime("%Y%m%d-%H%M%S-", time.gmtime()) + name + ENDING)


def find(judge: Judge, wanted: str) -> str:
    """The transcript of a session: the last one, one by its name or the beginning of it, or any file by its path.
    Raises ConfigError where none or several are meant."""
    if "/" in wanted:
        return wanted
    folder = folder_of(judge)
    names = known(folder)
    found = names[:1] if wanted == LAST else [name for name in names if name.startswith(wanted)]
    if not found and wanted != LAST:  # the part behind the time is what the record calls a session
        found = [name for name in names if name.rpartition("-")[2] == wanted]
    if len(found) == 1:
        return os.path.join(folder, found[0] + ENDING)
    if wanted == LAST:
        raise ConfigError(
            Problem("this project has no session to go on with", remedy="begin one: gateway agent 'TASK'")
        )
    what = "several sessions begin" if found else "no session of this project begins"
    shown = ", ".join((found or names)[:_MOST_SHOWN]) or "none"
    raise ConfigError(Problem(f"{what} with `{wanted}`", remedy=f"known are {shown}"))


def known(folder: str) -> list[str]:
    """The names of the sessions in a folder, the newest first."""
    try:
        names = os.listdir(folder)
    except OSError:
        return []
    return sorted((name.removesuffix(ENDING) for name in names if name.endswith(ENDING)), reverse=True)
