"""The errors that people see.

    GatewayError
    ├── ConfigError   a file, setting or flag of ours is wrong: nothing is decided, exit 2
    ├── CallError     the call itself is wrong: the caller can repair it
    └── AuditError    the record cannot be written or read: what needs a record does not run

Anything else that escapes a stage is our own fault; the engine turns it into a refusal (rule `internal-error`).
Messages follow one form: `<thing> must be <rule> (got <value>)`, lower case, no full stop, with the
remedy in a second field.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

EXIT_ALLOW = 0
EXIT_INTERNAL = 1
EXIT_USAGE = 2
EXIT_ASK = 3
EXIT_DENY = 4


class GatewayError(Exception):
    """Base of the errors that are shown to people."""


def fault(error: BaseException) -> str:
    """A phrase on an error that nobody foresaw: its kind alone, because what it says may be a piece of a file that was
    being read. Where a package is missing that may well be, the phrase names it."""
    if isinstance(error, ModuleNotFoundError):
        from gateway.core.products import lacking

        found = lacking(error)
        if found:
            return found
    return f"an internal error ({type(error).__name__})"


class Problem:
    """One thing that is wrong: what, where, and what to do about it."""

    __slots__ = ("column", "file", "line", "message", "path", "remedy")

    def __init__(
        self, message: str, *, file: str = "", line: int = 0, column: int = 0, path: str = "", remedy: str = ""
    ) -> None:
        self.message = message
        self.file = file
        self.line = line
        self.column = column
        self.path = path
        self.remedy = remedy

    def __repr__(self) -> str:
        return f"Problem({str(self)!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Problem) and str(self) == str(other)

    def __hash__(self) -> int:
        return hash(str(self))

    def __str__(self) -> str:
        place = self.file
        if self.line:
            place += f":{self.line}" + (f":{self.column}" if self.column else "")
        where = f"{place}: " if place else ""
        what = f"{self.path}: {self.message}" if self.path else self.message
        return where + what + (f"\n  help: {self.remedy}" if self.remedy else "")


class ConfigError(GatewayError):
    """Our own files, settings or flags are wrong. Carries every problem found, in order."""

    def __init__(self, problems: Iterable[Problem] | Problem | str) -> None:
        if isinstance(problems, str):
            problems = Problem(problems)
        self.problems: tuple[Problem, ...] = (problems,) if isinstance(problems, Problem) else tuple(problems)
        super().__init__("\n".join(map(str, self.problems)))


class CallError(GatewayError):
    """The call cannot be judged as it stands. Carries every complaint, each with its JSON path."""

    def __init__(self, problems: Iterable[Problem] | Problem | str) -> None:
        if isinstance(problems, str):
            problems = Problem(problems)
        self.problems: tuple[Problem, ...] = (problems,) if isinstance(problems, Problem) else tuple(problems)
        super().__init__("\n".join(map(str, self.problems)))


class AuditError(GatewayError):
    """The record cannot be written or read. `remedy`: what a person can do about it."""

    def __init__(self, reason: str, remedy: str = "") -> None:
        super().__init__(f"{reason}; {remedy}" if remedy else reason)
        self.reason = reason
        self.remedy = remedy


class StoreError(GatewayError):
    """What is kept cannot be read or changed. `remedy`: what a person can do about it."""

    def __init__(self, reason: str, remedy: str = "") -> None:
        super().__init__(f"{reason}; {remedy}" if remedy else reason)
        self.reason = reason
        self.remedy = remedy
