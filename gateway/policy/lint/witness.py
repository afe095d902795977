"""A call that an alternative of a rule speaks of, written out: so that the engine can be asked about it."""

from __future__ import annotations

from gateway.policy import globs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from gateway.policy.lint.clauses import Clause

_PATH_CALLS = (("read", "Read({})"), ("write", "Write({})"), ("delete", "Bash(rm {})"), ("list", "Bash(ls {})"))


def witness(clause: Clause) -> str:
    """A call that the clause should match, "" if none can be told from its predicates."""
    when = clause.when
    tool = when.get("tool", ())
    if "command" in when:
        return f"Bash({_command(when['command'][0])})"
    if "exec" in when:
        words = [_name(choices[0]) for choices in when["exec"]]
        words += when.get("option", ())[:1]
        return f"Bash({' '.join(words)})"
    if "path" in when:
        path = example_path(when["path"][0])
        shown = next((text for kind, text in _PATH_CALLS if kind in clause.kinds), "")
        return shown.format(path) if shown and _is_plain(path) else ""
    if "host" in when:
        return f"WebFetch(https://{_name(when['host'][0])}/)" if "fetch" in when.get("direction", ("fetch",)) else ""
    if "push" in clause.kinds and len(clause.kinds) == 1:
        remote, ref = _name(when.get("remote", ("origin",))[0]), _name(when.get("ref", ("topic",))[0])
        return f"Bash(git push {'-f ' if when.get('force') else ''}{remote} {ref})"
    if set(when) <= {"tool"} and tool:
        return _name(tool[0])
    return ""


def _command(pattern: str) -> str:
    text = pattern.removesuffix(" *")
    return text.replace("*", "x")


def _name(pattern: str) -> str:
    return pattern.replace("*", "x").replace("?", "x")


def example_path(pattern: str) -> str:
    """A path that a normalised pattern matches: deep enough that a narrower pattern's would not do."""
    segments: list[Any] = []
    for segment in pattern.split("/"):
        if segment == "**":
            segments += ["x", "y"]
        elif segment:
            literal = _literal(segment)
            segments.append(literal if literal is not None else segment.replace("*", "x").replace("?", "x"))
    return "/" + "/".join(segments)


def _literal(segment: str) -> str | None:
    return globs.literal(globs.compile_segment(segment))


def _is_plain(path: str) -> bool:
    return all(char.isalnum() or char in "/._-" for char in path)
