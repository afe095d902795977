"""What policies were read from, each kept once under its revision, so that what they decided can be judged again."""

from __future__ import annotations

import os

from gateway.audit.files import make_folder, open_own, read_between
from gateway.core.errors import AuditError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

FOLDER = "policies"
MOST = 64  # of them; the oldest go
MOST_BYTES = 16 << 20


def keep(folder: str, revision: str, bundle: Callable[[], bytes | None]) -> None:
    """Keeps a policy of the record in `folder`. What cannot be kept is no reason not to decide."""
    try:
        made = bundle()
        if made is None or len(made) > MOST_BYTES or not revision.isalnum():
            return
        make_folder(folder)
        place = os.path.join(folder, FOLDER)
        os.makedirs(place, mode=0o700, exist_ok=True)
        path = os.path.join(place, revision)
        written = f"{path}.{os.getpid()}"
        file = open_own(written, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        try:
            if os.write(file, made) != len(made):
                os.unlink(written)
                return
        finally:
            os.close(file)
        os.rename(written, path)
        _forget(place)
    except (OSError, AuditError):
        return


def read(folder: str, revision: str) -> bytes | None:
    """What was kept of a policy, None where nothing was. Raises OSError."""
    if not revision.isalnum():
        return None
    try:
        file = open_own(os.path.join(folder, FOLDER, revision), os.O_RDONLY)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except AuditError as error:
        raise OSError(str(error)) from error
    try:
        return read_between(file, 0, MOST_BYTES)
    finally:
        os.close(file)


def _forget(place: str) -> None:
    with os.scandir(place) as entries:
        known = sorted(entries, key=lambda entry: entry.stat(follow_symlinks=False).st_mtime_ns)
    for entry in known[:-MOST]:
        os.unlink(entry.path)
