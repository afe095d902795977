"""What of a call may be written down: fields that are declared private as size and digest, secrets as marks, everything
else as it is, up to a bound."""

from __future__ import annotations

from gateway.audit import secrets
from gateway.core.plainjson import spaced
from gateway.policy.variables import is_secret

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping
    from typing import Any

    Digest = Callable[[bytes], str]

MOST_TEXT = 8_192  # of one text
MOST_INPUT = 32_768  # of a call's input as JSON
MOST_ENTRIES = 256
MOST_NAMES = 4_096  # that are remembered
_EDGE = 1_024
_DEEPEST = 8
_LARGEST = 65_535  # of numbers under a secret's name; counts and ports are no secrets
_SHORTEST_KNOWN = 4
_SHORTEST = 8  # a known value that is shorter would be found everywhere


class Redactor:
    """Holds what was declared. One serves any number of threads."""

    def __init__(
        self,
        private: Callable[[str], Collection[str]] = lambda _tool: (),
        environment: Mapping[str, str] | None = None,
        named: Iterable[str] = (),
    ) -> None:
        """`private`: a tool's fields that only size and digest are kept of. `environment`: the values of its variables
        that look like login material, and of those that are `named`, are secrets wherever they stand."""
        self.private = private
        wanted = frozenset(named)
        values = {
            value
            for name, value in (environment or {}).items()
            if len(value) >= _SHORTEST and (name in wanted or is_secret(name, value))
        }
        self._values = sorted(values, key=len, reverse=True)
        self._known_names: dict[tuple[str, ...], bool] = {}

    def is_clean(self, text: str, *, commands: bool = True) -> bool:
        """Quick: whether there is no secret in a text, or in each line of it. False when it is not certain. `commands`:
        as `secrets.may_hold` has it."""
        for value in self._values:
            if value in text:
                return False
        return not secrets.may_hold(text, commands=commands)

    def has_secret_names(self, names: tuple[str, ...]) -> bool:
        """Whether one of these fields has a name that secrets have."""
        found = self._known_names.get(names)
        if found is None:
            if len(self._known_names) > MOST_NAMES:
                self._known_names.clear()
            found = self._known_names[names] = any(map(secrets.has_secret_name, names))
        return found

    def text(self, text: str, most: int = MOST_TEXT) -> tuple[str, list[str]]:
        """The text without secrets and not longer than `most`, and what was replaced."""
        found: list[str] = []
        length, window = len(text), 4 * most
        text = text[:window]
        for value in self._values:
            if value in text:
                found += [value] * text.count(value)
                text = text.replace(value, f"{secrets.MARK}environment]")
        if secrets.may_hold(text):
            text, more = secrets.redact(text)
            found += more
        if length > window:
            text = text[:-_EDGE]  # what the window cut through is not known for what it is
        if length > most:
            text = f"{text[:most]}[cut: {length:,} characters]"
        return text, found

    def input(
        self, tool: str, given: Mapping[str, Any], digest: Digest, known: Iterable[str] = ()
    ) -> tuple[dict[str, Any], list[str]]:
        """A call's input as it may be kept, and what was replaced. `known`: what its analysis knows for login
        material; shorter pieces than would be found everywhere are left to how texts look."""
        work = _Work(self, sorted({each for each in known if len(each) >= _SHORTEST_KNOWN}, key=len, reverse=True))
        private = self.private(tool)
        kept = {}
        for name, value in given.items():
            if name in private and value is not None:
                kept[name] = _withheld(value, digest)
            else:
                kept[work.value(name)] = work.value(value, secrets.has_secret_name(name))
        if len(spaced(kept)) > MOST_INPUT:
            kept = {
                name: each if _is_small(each) else _withheld(given.get(name), digest) for name, each in kept.items()
            }
        return kept, work.found


class _Work:
    """Values of a call's input, one after the other."""

    def __init__(self, redactor: Redactor, known: Iterable[str] = ()) -> None:
        self._redactor = redactor
        self._known = known
        self.found: list[str] = []

    def value(self, value: Any, secret: bool = False, depth: int = 0) -> Any:
        """A value of JSON without secrets. `secret`: it stands under a name that secrets have."""
        if isinstance(value, str):
            if secret and secrets.is_value(value):
                self.found.append(value)
                return f"{secrets.MARK}value]"
            for each in self._known:
                if each in value:
                    value = value.replace(each, f"{secrets.MARK}value]")
                    self.found.append(each)
            text, found = self._redactor.text(value)
            self.found += found
            return text
        if secret and type(value) is int and abs(value) > _LARGEST:
            self.found.append(str(value))
            return f"{secrets.MARK}value]"
        if isinstance(value, dict):
            if depth > _DEEPEST:
                return f"[an object with {len(value)} fields]"
            some = list(value.items())[:MOST_ENTRIES]
            return {
                self.value(key): self.value(each, secret or secrets.has_secret_name(key), depth + 1)
                for key, each in some
            }
        if isinstance(value, (list, tuple)):
            if depth > _DEEPEST:
                return f"[a list with {len(value)} entries]"
            some_entries = [self.value(each, secret, depth + 1) for each in value[:MOST_ENTRIES]]
            more = len(value) - MOST_ENTRIES
            return [*some_entries, f"[and {more} more]"] if more > 0 else some_entries
        return value


def _withheld(value: Any, digest: Digest) -> dict[str, Any]:
    """Size and digest in place of a value."""
    text = value if isinstance(value, str) else spaced(value)
    data = text.encode("utf-8", "surrogatepass")
    return {"bytes": len(data), "digest": digest(data)}


def is_withheld(value: Any) -> bool:
    """Whether a value of a recorded input stands for one of which size and digest alone are kept."""
    return (
        isinstance(value, dict)
        and set(value) == {"bytes", "digest"}
        and type(value["bytes"]) is int
        and isinstance(value["digest"], str)
    )


def _is_small(value: Any) -> bool:
    return len(spaced(value)) <= 1024
