"""What was put into which files, kept in the user's state folder, so that exactly that can be taken out again."""

from __future__ import annotations

import json
import os

from gateway.core.cache import digest, read_owned, replace_whole
from gateway.core.command_lines import starts
from gateway.core.errors import ConfigError, Problem
from gateway.core.installation import RECEIPTS, STARTS
from gateway.core.value import Value
from gateway.install.pieces import Entry, Made, Member

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

_VERSION = 1


class Kept(Value):
    """What was put into one file. `created`: the file was not there before; `content`: the digest of a file that is
    wholly ours; `folders`: those that were made for it."""

    form: str
    made: Made = Made()
    created: bool = False
    content: str = ""
    folders: tuple[str, ...] = ()


class Receipts:
    """The receipts of one user, one for each agent, level and place."""

    def __init__(self, state: str) -> None:
        self._folder = os.path.join(state, RECEIPTS)

    def read(self, agent: str, level: str, place: str) -> dict[str, Kept]:
        """What was put in, by the path of the file; nothing where no receipt can be trusted. Raises ConfigError."""
        path = self._path(agent, level, place)
        data = read_owned(path)
        if data is None:
            return {}
        try:
            stored = json.loads(data)
            return {path: _kept(each) for path, each in stored["files"].items()}
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            remedy = f"delete it; `gateway init {agent} --undo` then finds the hooks by their command lines"
            raise ConfigError(Problem(f"the receipt must be valid (got {error})", file=path, remedy=remedy)) from error

    def write(self, agent: str, level: str, place: str, files: Mapping[str, Kept]) -> None:
        """Keeps what was put in; an empty one is forgotten. Raises ConfigError."""
        path = self._path(agent, level, place)
        stored = {
            "version": _VERSION, "agent": agent, "level": level, "place": place, STARTS: starts(),
            "files": {name: _stored(each) for name, each in files.items()},
        }  # fmt: skip
        try:
            if not files:
                if os.path.lexists(path):
                    os.unlink(path)
                return
            os.makedirs(self._folder, mode=0o700, exist_ok=True)
            replace_whole(path, json.dumps(stored, indent=1).encode() + b"\n")
        except OSError as error:
            raise ConfigError(Problem(f"the receipt cannot be kept: {error.strerror}", file=path)) from error

    def _path(self, agent: str, level: str, place: str) -> str:
        return os.path.join(self._folder, f"{agent}-{level}-{digest([place])[:12]}.json")


def _stored(kept: Kept) -> dict[str, Any]:
    pieces = [
        {"at": each.at, "value": each.value}
        | ({"key": each.key, "form": each.form} if isinstance(each, Member) else {})
        for each in kept.made.pieces
    ]
    return {
        "form": kept.form, "created": kept.created, "content": kept.content, "folders": kept.folders, "pieces": pieces,
        "before": kept.made.before, "containers": kept.made.containers,
    }  # fmt: skip


def _kept(stored: Mapping[str, Any]) -> Kept:
    pieces = tuple(
        Member(tuple(each["at"]), each["key"], each["value"], each["form"])
        if "key" in each
        else Entry(tuple(each["at"]), each["value"])
        for each in stored["pieces"]
    )
    before = tuple((tuple(place), str(text)) for place, text in stored["before"])
    made = Made(pieces, before, tuple(tuple(each) for each in stored["containers"]))
    return Kept(
        str(stored["form"]),
        made,
        created=bool(stored["created"]),
        content=str(stored["content"]),
        folders=tuple(map(str, stored["folders"])),
    )
