"""Whether one alternative of a rule holds for everything that another one holds for.

Sound, not complete: a yes is a yes, a no may only mean that it could not be shown.
"""

from __future__ import annotations

from gateway.policy import globs
from gateway.policy.predicates import PREDICATES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from gateway.policy.lint.clauses import Clause

    _Includes = Callable[[Any, str, dict[str, Any]], bool]


def includes(wide: Clause, narrow: Clause) -> bool:
    """True if whatever `narrow` holds for, `wide` holds for too, exceptions of either left aside."""
    if not set(narrow.kinds) <= set(wide.kinds):
        return False
    a, b = wide.when, narrow.when
    return all(name == "effect" or _test_of(name)(a[name], name, b) for name in a)


def _test_of(name: str) -> _Includes:
    predicate = PREDICATES[name]
    holding, leaving_out = INCLUDES[predicate.form.name]
    return leaving_out if predicate.negated else holding


def _equal(value: Any, name: str, narrow: dict[str, Any]) -> bool:
    return name in narrow and bool(narrow[name] == value)


def _any_of(one: Callable[[str, str], bool]) -> _Includes:
    """Lists that mean any of: each narrow pattern lies within some wide one."""

    def holds(value: Any, name: str, narrow: dict[str, Any]) -> bool:
        return name in narrow and all(any(one(wide, each) for wide in value) for each in narrow[name])

    return holds


def _none_of(one: Callable[[str, str], bool]) -> _Includes:
    """Lists that mean none of: the narrow rule must leave out at least as much."""

    def holds(value: Any, name: str, narrow: dict[str, Any]) -> bool:
        return name in narrow and all(any(one(left_out, each) for left_out in narrow[name]) for each in value)

    return holds


def text_includes(wide: str, narrow: str) -> bool:
    """Whether a glob over texts matches all that another one matches."""
    if wide in (narrow, "*"):
        return True
    if globs.is_literal(narrow):
        return globs.matches(globs.compile_glob(wide), narrow)
    if wide.endswith("*") and globs.is_literal(wide[:-1]):
        return narrow.startswith(wide[:-1]) and globs.is_literal(narrow[: len(wide) - 1])
    return False


def path_includes(wide: str, narrow: str) -> bool:
    """Whether a normalised path pattern matches all that another one matches."""
    if wide == narrow:
        return True
    return not wide.endswith("/") and _segments_include(_segments(wide), _segments(narrow))


def _segments(pattern: str) -> list[str]:
    segments = [segment for segment in pattern.split("/") if segment]
    if segments and segments[-1] == "*":
        segments[-1] = "**"  # patterns match what lies below, so that one star at the end is as good as two
    while segments[-2:] == ["**", "**"]:
        segments.pop()
    return segments


def _segments_include(wide: Sequence[str], narrow: Sequence[str]) -> bool:
    """By a table over both; a wide pattern that ends matches everything below."""
    columns = len(narrow)
    after = [True] * (columns + 1)  # the wide pattern is used up: whatever follows lies below it
    for place in range(len(wide) - 1, -1, -1):
        segment = wide[place]
        row = [False] * (columns + 1)
        last = place == len(wide) - 1
        for column in range(columns, -1, -1):
            if segment == "**":
                if last:
                    row[column] = column < columns
                else:
                    row[column] = after[column] or (column < columns and row[column + 1])
            elif column < columns and narrow[column] != "**":
                row[column] = _segment_includes(segment, narrow[column]) and after[column + 1]
        after = row
    return after[0]


def _segment_includes(wide: str, narrow: str) -> bool:
    if wide in (narrow, "*"):
        return True
    literal = globs.literal(globs.compile_segment(narrow))
    if literal is not None:
        return globs.matches(globs.compile_segment(wide), literal)
    if wide.endswith("*") and not any(special in wide[:-1] for special in globs.SPECIAL):
        head = narrow[: len(wide) - 1]
        return head == wide[:-1]
    if wide.startswith("*") and not any(special in wide[1:] for special in globs.SPECIAL):
        tail = narrow[len(narrow) - len(wide) + 1 :]
        return len(narrow) >= len(wide) - 1 and tail == wide[1:]
    return False


def host_includes(wide: str, narrow: str) -> bool:
    """Whether a host pattern matches all that another one matches."""
    wide, narrow = wide.lower().rstrip("."), narrow.lower().rstrip(".")
    if wide in (narrow, "*"):
        return True
    if wide.startswith("*.") and "*" not in wide[2:]:
        return narrow.endswith(wide[1:]) and len(narrow) > len(wide) - 1
    return False


def command_includes(wide: str, narrow: str) -> bool:
    """Whether a command pattern matches every command that another one matches."""
    if wide == narrow:
        return True
    if not wide.endswith(" *") or not globs.is_literal(wide[:-2]):
        return False
    prefix = wide[:-2]
    return narrow == prefix or narrow.startswith(prefix + " ")


def _commands(value: Any, _name: str, narrow: dict[str, Any]) -> bool:
    """A wide command pattern also holds for what names its program and subcommands in canonical form."""
    if "command" in narrow:
        return _any_of(command_includes)(value, "command", narrow)
    if "exec" not in narrow:
        return False
    programs = narrow["exec"][0]
    return all(any(pattern == f"{program} *" for pattern in value) for program in programs)


def _exec(value: Any, _name: str, narrow: dict[str, Any]) -> bool:
    if "exec" in narrow:
        given = narrow["exec"]
        return len(value) <= len(given) and all(
            all(any(text_includes(wide, each) for wide in choices) for each in given[place])
            for place, choices in enumerate(value)
        )
    if "command" not in narrow or len(value) != 1:
        return False
    first_words = [pattern.split(" ", 1)[0] for pattern in narrow["command"]]
    return all(any(text_includes(wide, word) for wide in value[0]) for word in first_words)


def _tools(value: Any, _name: str, narrow: dict[str, Any]) -> bool:
    if "*" in value:
        return True
    return "tool" in narrow and all(any(text_includes(wide, each) for wide in value) for each in narrow["tool"])


def _within(value: Any, name: str, narrow: dict[str, Any]) -> bool:
    return name in narrow and set(narrow[name]) <= set(value)


def _leaves_out(value: Any, name: str, narrow: dict[str, Any]) -> bool:
    return name in narrow and set(value) <= set(narrow[name])


def _args(value: Any, name: str, narrow: dict[str, Any]) -> bool:
    given = narrow.get(name, {})
    return all(path in given and _test_includes(test, given[path]) for path, test in value.items())


def _test_includes(wide: Any, narrow: Any) -> bool:
    if wide == narrow:
        return True
    if set(wide) == set(narrow) == {"glob"}:
        return text_includes(wide["glob"], narrow["glob"])
    if set(wide) == {"glob"} and set(narrow) == {"equals"} and isinstance(narrow["equals"], str):
        return globs.matches(globs.compile_glob(wide["glob"]), narrow["equals"])
    return set(wide) == {"in"} and set(narrow) == {"equals"} and narrow["equals"] in wide["in"]


# By the form of the argument: what holds for any of it, and what holds for none of it.
INCLUDES: dict[str, tuple[_Includes, _Includes]] = {
    "tools": (_tools, _equal),
    "globs": (_any_of(text_includes), _none_of(text_includes)),
    "texts": (_any_of(text_includes), _none_of(text_includes)),
    "choices": (_within, _leaves_out),
    "boolean": (_equal, _equal),
    "paths": (_any_of(path_includes), _none_of(path_includes)),
    "hosts": (_any_of(host_includes), _none_of(host_includes)),
    "ports": (_within, _leaves_out),
    "commands": (_commands, _equal),
    "exec": (_exec, _equal),
    "options": (_within, _leaves_out),
    "args": (_args, _equal),
    "depth": (_equal, _equal),
    "time": (_equal, _equal),
    "annotations": (_equal, _equal),
}
