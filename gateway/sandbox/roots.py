"""Path patterns of the sandbox profile as the places on this machine that they stand for.

A grant is a whole file or folder, so only patterns that stand for such count: `~/.cache/**`, `./build`, and stars in
whole names on the way (`~/.nvm/versions/node/*/bin`), which are looked up, within bounds.
"""

from __future__ import annotations

from gateway.policy import globs, paths

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gateway.host.base import Host

MAX_FOLDERS = 64
MAX_ROOTS = 256


def places_of(pattern: str, host: Host, *, base: str, home: str) -> tuple[str, ...] | None:
    """The places, not resolved, perhaps not there; None when a bound was hit or it is no such pattern."""
    if not base.startswith("/") and not pattern.startswith(("~", "//")):
        return None
    try:
        written = paths.normalise(pattern, base=base, layer_root="/", home=home)
    except ValueError:
        return None
    segments = [each for each in written.split("/") if each]
    while segments and segments[-1] in ("**", "*"):
        segments.pop()
    if "**" in segments or not segments:
        return None
    found = [""]
    for segment in segments:
        glob = globs.compile_segment(segment)
        name = globs.literal(glob)
        if name is not None:
            found = [f"{folder}/{name}" for folder in found]
            continue
        if len(found) > MAX_FOLDERS:
            return None
        found = [
            f"{folder}/{name}" for folder in found for name in _names(folder or "/", host) if globs.matches(glob, name)
        ]
    return tuple(found) if len(found) <= MAX_ROOTS else None


def _names(folder: str, host: Host) -> list[str]:
    try:
        return sorted(name for name, kind in host.entries(folder) if kind in ("dir", "link", "file"))
    except OSError:
        return []
