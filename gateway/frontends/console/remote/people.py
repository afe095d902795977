"""Who may answer from elsewhere: names, their passkeys, and the browsers that are told. One file in the state folder,
which no agent may read or write and no sandbox shows."""

from __future__ import annotations

import json
import os
import re
from typing import Any

from gateway.core.cache import replace_whole
from gateway.core.errors import ConfigError, Problem
from gateway.core.value import Value
from gateway.frontends.console.remote.private_files import read_private

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

FILE = "people.json"
MOST_PEOPLE = 32
MOST_EACH = 8  # passkeys, and browsers, of one person
_MOST_BYTES = 1 << 20
_name = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.@-]{0,62}")


class Passkey(Value):
    """`id` and `key` as the browser gave them, in hex; `counter`: of its last use, 0 for one that does not count."""

    id: str
    key: str
    counter: int = 0


class Browser(Value):
    """One that asked to be told: where its push service is, and the keys that only it can read by."""

    endpoint: str
    key: str
    secret: str


class Person(Value):
    """`handle`: what passkeys know the person by, in hex."""

    name: str
    handle: str
    passkeys: tuple[Passkey, ...] = ()
    browsers: tuple[Browser, ...] = ()


def is_name(text: str) -> bool:
    """Whether a person can be called so."""
    return _name.fullmatch(text) is not None


class People:
    """The people of one console. Every change is written at once, whole."""

    def __init__(self, folder: str) -> None:
        """`folder`: this user's, private. Raises ConfigError for a file that cannot be read."""
        self._path = os.path.join(folder, FILE)
        self._people = {each.name: each for each in self._read()}

    def all(self) -> list[Person]:
        """Everybody, by name."""
        return sorted(self._people.values(), key=lambda each: each.name)

    def find(self, name: str) -> Person | None:
        """The person of a name."""
        return self._people.get(name)

    def invited(self, name: str) -> Person:
        """The person of a name, known from now on. Raises ValueError for a name that is none, or one too many."""
        known = self._people.get(name)
        if known is not None:
            return known
        if not is_name(name):
            raise ValueError("a name is of letters, digits and `._@-`")
        if len(self._people) >= MOST_PEOPLE:
            raise ValueError(f"there are {MOST_PEOPLE} people already: `forget NAME` makes room")
        return self._keep(Person(name, os.urandom(16).hex()))

    def with_passkey(self, credential: str) -> tuple[Person, Passkey] | None:
        """Whose passkey has this id."""
        for person in self._people.values():
            for each in person.passkeys:
                if each.id == credential:
                    return person, each
        return None

    def add_passkey(self, name: str, passkey: Passkey) -> None:
        """One more passkey of a person. Raises ValueError where there are enough, or it is somebody's."""
        person = self._people[name]
        if self.with_passkey(passkey.id) is not None or len(person.passkeys) >= MOST_EACH:
            raise ValueError("this passkey cannot be added")
        self._keep(person.replace(passkeys=(*person.passkeys, passkey)))

    def used(self, name: str, credential: str, counter: int) -> None:
        """Remembers how often a passkey says it was used."""
        person = self._people[name]
        self._keep(
            person.replace(
                passkeys=tuple(
                    each.replace(counter=counter) if each.id == credential else each for each in person.passkeys
                )
            )
        )

    def add_browser(self, name: str, browser: Browser) -> None:
        """One more browser that is told; the oldest gives way."""
        person = self._people[name]
        others = [each for each in person.browsers if each.endpoint != browser.endpoint]
        self._keep(person.replace(browsers=(*others[-(MOST_EACH - 1) :], browser)))

    def drop_browser(self, endpoint: str) -> None:
        """One that is told no more."""
        for person in tuple(self._people.values()):
            kept = tuple(each for each in person.browsers if each.endpoint != endpoint)
            if kept != person.browsers:
                self._keep(person.replace(browsers=kept))

    def forget(self, name: str) -> bool:
        """Whether there was somebody of that name, who is known no longer."""
        if self._people.pop(name, None) is None:
            return False
        self._write()
        return True

    def _keep(self, person: Person) -> Person:
        self._people[person.name] = person
        self._write()
        return person

    def _write(self) -> None:
        text = json.dumps({"version": 1, "people": [_told(each) for each in self.all()]}, indent=1)
        replace_whole(self._path, text.encode("ascii"))

    def _read(self) -> Iterable[Person]:
        try:
            content = read_private(self._path, _MOST_BYTES)
        except FileNotFoundError:
            return []
        except OSError as error:
            raise self._problem(str(error.strerror)) from error
        try:
            if len(content) > _MOST_BYTES:
                raise ValueError("it is too long")
            return [_person(each) for each in json.loads(content)["people"]]
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise self._problem("it is none of the gateway's") from error

    def _problem(self, what: str) -> ConfigError:
        remedy = "mend or remove it; without it nobody has a passkey"
        return ConfigError(Problem(f"the file of people cannot be used: {what}", file=self._path, remedy=remedy))


def _told(person: Person) -> dict[str, Any]:
    return {
        **person.as_dict(),
        "passkeys": [each.as_dict() for each in person.passkeys],
        "browsers": [each.as_dict() for each in person.browsers],
    }


def _person(told: Mapping[str, Any]) -> Person:
    name = _text(told["name"])
    if not is_name(name):
        raise ValueError("no name")
    return Person(
        name,
        _hex(told["handle"]),
        tuple(Passkey(_hex(each["id"]), _hex(each["key"]), int(each["counter"])) for each in told["passkeys"]),
        tuple(_made(Browser, each) for each in told["browsers"]),
    )


def _made(kind: Callable[..., Browser], told: Mapping[str, Any]) -> Browser:
    return kind(*(_text(told[name]) for name in ("endpoint", "key", "secret")))


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError("no text")
    return value


def _hex(value: Any) -> str:
    return bytes.fromhex(_text(value)).hex()
