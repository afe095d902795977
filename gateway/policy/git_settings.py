"""Which of the person's settings git is shown where it runs confined to what it was predicted to do. Pure."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from gateway.model.analysis import Analysis

# What a profile's `read` may name, and the files that are meant by it: never the folder, in which logins lie.
_FILES = {
    "~/.gitconfig": ("~/.gitconfig",),
    "~/.config/git/**": ("~/.config/git/config", "~/.config/git/ignore", "~/.config/git/attributes"),
}


def shown(analysis: Analysis, patterns: Iterable[str], home: str) -> tuple[str, ...]:
    """The files of settings that the sandbox profile lets be read, where git changes a repository and reaches nothing:
    who commits stands in them, and how lines end. What reaches a host goes where it was predicted to, which settings
    may move elsewhere."""
    parts = analysis.parts
    writing = {
        item.part
        for item in analysis.items
        if item.effect.kind in ("write", "delete") and item.part >= 0 and parts[item.part].program == "git"
    }
    if (
        not home
        or not writing
        or any(item.effect.kind == "connect" and item.part in writing for item in analysis.items)
    ):
        return ()
    return tuple([f"{home}/{file[2:]}" for pattern in patterns for file in _FILES.get(pattern, ())])
