"""Tool chains that files of a project choose: whether they are here, or would be fetched and then started."""

from __future__ import annotations

import re

from gateway.commands.steering import toml_files
from gateway.commands.steering.entries import NotRead
from gateway.commands.steering.keys import unlisted
from gateway.model.facts import INSTALLED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

_CHANNEL = re.compile(r"[A-Za-z0-9][\w.-]*")
_RUST_KEYS = "toolchain.channel toolchain.components toolchain.targets toolchain.profile"
_GO_LINE = re.compile(r"(go|toolchain)[ \t]+([^/]*?)\s*(?://.*)?")
_GO_VERSION = re.compile(r"(?:go)?(\d{1,9})(?:\.(\d{1,9}))?(?:\.(\d{1,9}))?")
_CHOOSING = (1, 21, 0)  # since this version go fetches others


def other_rust(texts: Sequence[tuple[str, str]]) -> str:
    """Why rustup would start something that the project brings, or fetch it first: the nearest folder that says
    something holds."""
    installed = [text.split() for path, text in texts if path == INSTALLED]
    named = [(path, text) for path, text in texts if path.endswith(("/rust-toolchain", "/rust-toolchain.toml"))]
    for path, text in named:
        folder, _, name = path.rpartition("/")
        if folder != named[0][0].rpartition("/")[0]:
            break
        try:
            channel, more = _rust_channel(name, text)
        except NotRead as unclear:
            return f"{name} cannot be read ({unclear})"
        if more:
            return f"{name} tells rustup more than a channel ({more})"
        if channel and not _CHANNEL.fullmatch(channel):
            return f"{name} names a tool chain by its place"
        if (
            channel
            and installed
            and not any(each == channel or each.startswith(f"{channel}-") for each in installed[0])
        ):
            return f"{name} names a tool chain that would be fetched first"
    return ""


def _rust_channel(name: str, text: str) -> tuple[str, str]:
    """The channel that a file names, and what it says besides."""
    if name == "rust-toolchain" and len(text.splitlines()) <= 1 and "=" not in text:
        return text.strip(), ""
    found = toml_files.entries(text)
    channels = [str(value) for path, value in found if path == ("toolchain", "channel")]
    return channels[0] if channels else "", unlisted(found, (), _RUST_KEYS)


def other_go(texts: Sequence[tuple[str, str]]) -> str:
    """Why go would fetch another tool chain, and start it instead of itself, whatever it is asked."""
    nearest: dict[str, tuple[str, str]] = {}
    for path, text in texts:
        nearest.setdefault(path[path.rfind("/") + 1 :], (path, text))
    here = [_version(name) for name in nearest.pop(INSTALLED, ("", ""))[1].split()]
    for path, text in nearest.values():
        name = path[path.rfind("/") + 1 :]
        for line in text.splitlines():
            found = _GO_LINE.fullmatch(line.strip())
            if found is None or found[2] in ("", "default", "local"):
                continue
            wanted = _version(found[2])
            if wanted is None:
                return f"{name} names a tool chain of go in a form that is not known"
            if wanted >= _CHOOSING and all(each is None or each < wanted for each in here):
                return f"{name} asks for go {found[2]}, which would be fetched first"
    return ""


def _version(name: str) -> tuple[int, int, int] | None:
    found = _GO_VERSION.match(name)
    return (int(found[1]), int(found[2] or 0), int(found[3] or 0)) if found else None
