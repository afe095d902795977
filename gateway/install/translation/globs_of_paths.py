"""Patterns of paths as agents write them, as expressions over absolute paths and as patterns of ours. Pure."""

from __future__ import annotations

import posixpath
import re


def ignore_expression(pattern: str) -> str:
    """A pattern of `.gitignore` below its base: what matches a folder matches all below it."""
    found, at = "", 0
    pattern = pattern.rstrip("/")
    while at < len(pattern):
        if pattern.startswith("**/", at):
            found, at = found + "(?:.*/)?", at + 3
        elif pattern.startswith("/**", at) and at + 3 == len(pattern):
            return found + "/.+"
        elif pattern.startswith("**", at):
            found, at = found + ".*", at + 2
        elif pattern[at] == "*":
            found, at = found + "[^/]*", at + 1
        elif pattern[at] == "?":
            found, at = found + "[^/]", at + 1
        elif pattern[at] == "[" and "]" in pattern[at + 2 :]:
            end = pattern.index("]", at + 2)
            inside = pattern[at + 1 : end].replace("\\", "\\\\")
            inside = "^" + inside[1:] if inside[:1] in "!^" else inside
            found, at = f"{found}(?!/)[{inside}]", end + 1
        else:
            found, at = found + re.escape(pattern[at]), at + 1
    return found + "(?:/.*)?"


def samples(base: str, rest: str) -> tuple[str, ...]:
    """Paths at the edges of a pattern."""
    name = re.sub(
        r"\[[^\]]*\]", "a", rest.replace("**/", "d/").replace("**", "d/f").replace("*", "x").replace("?", "c")
    ).strip("/")
    found = [f"{base}/{name}", f"{base}/{name}/deep/x", f"{base}/deep/{name}", f"{base}/{name}x", "/elsewhere/" + name]
    return tuple(posixpath.normpath(each) for each in found)


def glob_expression(pattern: str) -> str:
    """A glob in which `*` stays within a name and `**` does not; it names nothing below what it names."""
    found, at = "", 0
    while at < len(pattern):
        if pattern.startswith("**/", at):
            found, at = found + "(?:.*/)?", at + 3
        elif pattern.startswith("**", at):
            found, at = found + ".*", at + 2
        else:
            found += {"*": "[^/]*", "?": "[^/]"}.get(pattern[at], re.escape(pattern[at]))
            at += 1
    return found


def below(pattern: str) -> str:
    """What lies below the paths that a pattern of ours names, "" where it names what lies below already."""
    if pattern.endswith("/**"):
        return ""
    return f"{pattern}/**" if "/" in pattern else f"**/{pattern}/**"


def spanning(pattern: str) -> str:
    """The pattern of ours, from the project's root, for one in which `*` is any text, `/` as well; "" where none says
    exactly as much."""
    made: list[str] = []
    parts = pattern.split("/")
    for place, part in enumerate(parts):
        if part in ("*", "**"):
            made += ["**"] if place == len(parts) - 1 else ["*", "**"]  # one name at least stands before a slash
        elif part[:1] == "*" and set(part[1:]).isdisjoint("*?["):
            made += ["**", part]
        elif set(part).isdisjoint("*?[") and part not in ("", ".", ".."):
            made.append(part)
        else:
            return ""
    return "/".join(made)
