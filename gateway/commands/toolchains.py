"""Tool chains that files of a project choose: whether they are here, or would be fetched and then started."""

from __future__ import annotations

import re

from gateway.model.facts import INSTALLED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

_GO_LINES = re.compile(r"^[ \t]*(go|toolchain)[ \t]+(?:go)?([0-9][^\s/]*)", re.MULTILINE)
_CHOOSING = (1, 21, 0)  # since this one


def is_installed(text: str, installed: Sequence[str]) -> bool:
    """Whether rustup has the tool chain that a file names, as far as it names one."""
    _, keyed, rest = text.partition("channel=")
    found = re.match(r"[\w.-]*", rest if keyed else "" if "=" in text else text.strip())
    name = found[0] if found else ""
    for key in ("profile", "components", "targets", "path"):  # what stood on the next line
        name = name.partition(key)[0]
    return not name or any(each == name or each.startswith(f"{name}-") for each in installed)


def other_go(texts: Sequence[tuple[str, str]]) -> str:
    """Why go would fetch another tool chain, and start it instead of itself, whatever it is asked."""
    nearest: dict[str, tuple[str, str]] = {}
    for path, text in texts:
        nearest.setdefault(path[path.rfind("/") + 1 :], (path, text))
    names = nearest.pop(INSTALLED, ("", ""))[1].split()
    wanted = [(found[2], path) for path, text in nearest.values() for found in _GO_LINES.finditer(text)]
    for name, path in wanted:
        version = _version(name)
        if version >= _CHOOSING and all(_version(each) < version for each in names):
            return f"{path[path.rfind('/') + 1 :]} asks for go {name}, which would be fetched first"
    return ""


def _version(name: str) -> tuple[int, int, int]:
    found = re.match(r"(?:go)?(\d{1,9})(?:\.(\d{1,9}))?(?:\.(\d{1,9}))?", name)
    return (int(found[1]), int(found[2] or 0), int(found[3] or 0)) if found else (0, 0, 0)
