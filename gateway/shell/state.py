"""What is known of the shell at one point of the text: its folders and the variables that the text set."""

from __future__ import annotations

from gateway.core.value import Value
from gateway.model.effect import HOLE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import TypeAlias

    Content: TypeAlias = "str | int | Output | Glob | Elements"

ASSIGNED = 0  # set by the text, to something that is not known
NUMBER = 1  # set by the text, to some integer
MAX_CWDS = 8
MAX_VALUE = 1024  # a longer value counts as unknown: a text can double one with every few letters
FROZEN = frozenset(("BASHOPTS", "BASH_VERSINFO", "EUID", "PPID", "SHELLOPTS", "UID"))  # the shell lets nobody set these
# Reading these gives what the shell puts there, whatever was assigned.
DYNAMIC = FROZEN | frozenset(
    ("BASHPID", "BASH_ARGC", "BASH_ARGV", "BASH_ARGV0", "BASH_COMMAND", "BASH_LINENO", "BASH_MONOSECONDS",
     "BASH_REMATCH", "BASH_SOURCE", "BASH_SUBSHELL", "COMP_WORDBREAKS", "DIRSTACK", "EPOCHREALTIME", "EPOCHSECONDS",
     "FUNCNAME", "GROUPS", "HISTCMD", "LINENO", "OPTARG", "OPTIND", "PIPESTATUS", "RANDOM", "SECONDS", "SRANDOM")
)  # fmt: skip
# These are integers without anybody's saying so: bash evaluates what they are set to.
INTEGERS = frozenset(("BASHPID", "HISTCMD", "MAILCHECK", "OPTIND", "RANDOM", "SECONDS", "SRANDOM"))
NUMERIC = frozenset(("RANDOM", "SRANDOM", "SECONDS", "LINENO", "UID", "EUID", "PPID", "BASHPID", "EPOCHSECONDS"))


class Output(Value):
    """What the commands in a span print, or one "word" or "line" of it (`how`)."""

    start: int
    end: int
    how: str = "all"


class Glob(Value):
    """One of the paths that a glob matches, seen from some folders; the glob's own text if it matches nothing."""

    text: str
    pattern: str
    cwds: tuple[str, ...]


class Elements(Value):
    """The known elements of an array, or the positional parameters."""

    texts: tuple[str, ...]


class State(Value):
    """`cwds`: where the shell may be, () when unknown. `values`: variables whose content, or at least origin, is
    known; a text may hold `HOLE`. `old`: the folders before the last `cd`. `stack`: those that `pushd` keeps, None when
    unknown."""

    cwds: tuple[str, ...]
    values: Mapping[str, Content]
    old: tuple[str, ...] = ()
    stack: tuple[tuple[str, ...], ...] | None = ()

    def assign(self, name: str, value: Content) -> State:
        """With another value of a variable; one longer than `MAX_VALUE` letters counts as not known."""
        if isinstance(value, str) and len(value) > MAX_VALUE:
            value = ASSIGNED
        return State(self.cwds, {**self.values, name: value}, self.old, self.stack)

    def without(self, names: frozenset[str] | set[str]) -> State:
        """With nothing known of these variables."""
        return State(self.cwds, {n: v for n, v in self.values.items() if n not in names}, self.old, self.stack)

    def forget(self) -> State:
        """Nothing is known any more: foreign code ran in this shell."""
        return State((), {}, (), None)

    def move(self, cwds: tuple[str, ...]) -> State:
        """After a `cd` to one of these folders, () for one that is not known."""
        return State(cwds, self.values, self.cwds, self.stack)


Ways = tuple[State | None, State | None]
"""The state after success and after failure; None where that can't be."""

Feed = tuple[str, str, "tuple[int, int] | None", bool]
"""Where standard input comes from: "" inherited, or pipe, file or text with the text; the span of what is piped into
it; whether others read from the same pipe."""

INHERITED: Feed = ("", "", None, False)
FILE: Feed = ("file", "", None, False)


def is_number(value: Content | None) -> bool:
    """Whether arithmetic may read the value: it names nothing and expands nothing."""
    if value is NUMBER:
        return True
    if not isinstance(value, str):
        return False
    digits = value[1:] if value[:1] in ("-", "+") else value
    return digits.isascii() and digits.isdigit()


def numeric(state: State, name: str) -> bool:
    """Whether a variable surely holds a number."""
    value = state.values.get(name)
    return is_number(value) or (value is None and name in NUMERIC)


def join(first: State | None, second: State | None) -> State | None:
    """What holds whichever of two ways was taken; None is a way that can't be."""
    if first is None or second is None or first is second:
        return second if first is None else first
    return State(
        _either(first.cwds, second.cwds),
        first.values if first.values == second.values else _common(first.values, second.values),
        first.old if first.old == second.old else (),
        first.stack if first.stack == second.stack else None,
    )


def _either(first: tuple[str, ...], second: tuple[str, ...]) -> tuple[str, ...]:
    if not first or not second:
        return ()
    both = tuple(dict.fromkeys(first + second))
    return both if len(both) <= MAX_CWDS else ()


def _common(first: Mapping[str, Content], second: Mapping[str, Content]) -> dict[str, Content]:
    result: dict[str, Content] = {}
    for name, value in first.items():
        other = second.get(name)
        if other is None:
            continue
        if value == other and type(value) is type(other):
            result[name] = value
        else:
            result[name] = NUMBER if is_number(value) and is_number(other) else ASSIGNED
    return result


def text_of(value: Content | None) -> str:
    """A value as a word's text, `HOLE` for one that is not known."""
    return value if isinstance(value, str) else HOLE


def lexical(base: str, path: str) -> str:
    """`path` seen from the absolute folder `base`, with `.`, `..` and doubled slashes resolved in the text alone."""
    if path[:1] != "/":
        path = f"{base}/{path}"
    parts: list[str] = []
    for part in path.split("/"):
        if part == "..":
            if parts:
                parts.pop()
        elif part and part != ".":
            parts.append(part)
    return "/" + "/".join(parts)
