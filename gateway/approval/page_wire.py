"""What whoever asks and the console (`gateway console`) both know: where they meet, what they say, and how a question's
content is told from another's.

They meet at a Unix socket in the state folder, which no agent may read or write and no sandbox shows. Messages are
lines of JSON:

    asks     {"question": {...}}              what is shown, with `id`, and `at`, where it may be answered; its digest
                                              is of all of it
    asks     {"there": [...]}                 no question: whether one could be shown at any of these places
    console  {"shown": true}                  a page is there; false: nobody can be asked there
    console  {"answer": {...}}                `id`, `digest`, `allow`, `scope`, `note`; of one from elsewhere `people`,
                                              the names of those who gave it
    asks     {"taken": true}                  it came first; false: somebody else had answered
    asks     (closes)                         the question is withdrawn
"""

from __future__ import annotations

import os
import sys

from gateway.core.cache import digest
from gateway.core.places import PACKAGE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

PAGE, ELSEWHERE = "page", "elsewhere"  # where a question may be answered
REAL = "real"  # beside the scopes of a yes: what was changed is discarded, and the call run once more without a layer
MOST_BYTES = 1 << 20  # of one message
PROCESS = os.path.join(PACKAGE, "frontends", "console_process.py")
# What the console is given of the environment of whoever starts it: where things lie, and how a browser is opened.
KEPT = frozenset((
    "HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_RUNTIME_DIR",
    "CLAUDE_CONFIG_DIR", "CODEX_HOME", "GEMINI_CLI_HOME", "COPILOT_HOME", "OPENCODE_CONFIG_DIR", "PATH", "LANG",
    "LC_ALL", "LC_CTYPE", "TERM", "NO_COLOR", "DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "DBUS_SESSION_BUS_ADDRESS",
    "XDG_SESSION_TYPE", "XDG_CURRENT_DESKTOP",
))  # fmt: skip


def digest_of(question: Mapping[str, Any]) -> str:
    """Of everything that a question shows and is bound to."""
    import json  # lazy: whoever could ask looks here where a console would be

    return digest([json.dumps(question, sort_keys=True, ensure_ascii=True, separators=(",", ":"))])


def line_of(message: Mapping[str, Any]) -> bytes:
    """A message as it is sent."""
    import json

    return json.dumps(message, ensure_ascii=True, separators=(",", ":")).encode("ascii") + b"\n"


def message_of(line: bytes) -> dict[str, Any] | None:
    """A message that came whole; None for anything else."""
    if not line.endswith(b"\n"):
        return None
    import json

    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def is_private(folder: str) -> bool:
    """Whether a folder is there, this user's and nobody else's."""
    try:
        found = os.lstat(folder)
    except OSError:
        return False
    return found.st_uid == os.geteuid() and found.st_mode & 0o170077 == 0o040000


def process_words() -> list[str]:
    """The words that every console process starts with."""
    return [sys.executable, "-I", PROCESS]


def is_console(pid: int) -> bool:
    """Whether a process is the console as this installation starts it: this interpreter, these words, no variable but
    those that it is given. True where the system does not tell (macOS): there folder and user are all that is known."""
    if sys.platform == "darwin":
        return True
    place = f"/proc/{pid}"
    try:
        theirs, ours = os.stat(f"{place}/exe"), os.stat("/proc/self/exe")
        words, variables = (_read(f"{place}/{name}").split(b"\0") for name in ("cmdline", "environ"))
    except OSError:
        return False
    wanted = [os.fsencode(word) for word in process_words()]
    names = {os.fsdecode(each.partition(b"=")[0]) for each in variables if each}
    same = (theirs.st_dev, theirs.st_ino) == (ours.st_dev, ours.st_ino)
    return same and words[: len(wanted)] == wanted and names <= KEPT


def _read(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read(MOST_BYTES)
