"""Everything that answers from elsewhere need, set up together."""

from __future__ import annotations

from time import monotonic
from typing import TYPE_CHECKING, Any

from gateway.approval.terminal import user
from gateway.frontends.console.remote.app import Afar
from gateway.frontends.console.remote.people import People
from gateway.frontends.console.remote.sign_in import SignIns
from gateway.frontends.console.remote.telling import Telling

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from starlette.applications import Starlette

    from gateway.frontends.console.question_queue import Desk

WORDS = "`code` shows a code to sign in from elsewhere (`code NAME` for somebody else), `people` who can, `forget NAME`"


class Elsewhere:
    """People elsewhere: who they are, how they are told, and what they reach."""

    def __init__(self, folder: str, setting: Mapping[str, Any], desk: Desk, say: Callable[[str], None]) -> None:
        """`folder`: the console's own. Raises ConfigError for what cannot be read there."""
        self.origin: str = setting["origin"]
        self._people = People(folder)
        self._signs = SignIns(monotonic)
        self._desk = desk
        self._say = say
        self.telling = Telling(
            folder,
            setting,
            self._people,
            waits=lambda name: desk.find(name) is not None,
            failed=lambda text: say(f"{text}\n"),
        )
        self._afar = Afar(setting, self._people, self._signs, desk=desk, telling=self.telling)

    def app(self) -> Starlette:
        """What answers there, to stand behind a guard of its own."""
        return self._afar.app()

    def typed(self, line: str) -> str:
        """What comes of a line at the terminal of the console."""
        word, _, name = line.strip().partition(" ")
        name = name.strip()
        if word == "code":
            return self._code(name or user())
        if word == "people" and not name:
            return self._listed()
        if word == "forget" and name:
            self._signs.forget(name)
            self._desk.withdraw(name)
            return f"{name} is forgotten\n" if self._people.forget(name) else f"nobody is called {name!a}\n"
        return f"Enter opens the page once more, Ctrl-C ends it, {WORDS}\n"

    def _code(self, name: str) -> str:
        try:
            person = self._people.invited(name)
        except ValueError as error:
            return f"no code: {error}\n"
        code = self._signs.new_code(person.name)
        return f"for {person.name}, once, within ten minutes, at {self.origin}/: {code}\n"

    def _listed(self) -> str:
        lines = [
            f"{each.name}: {len(each.passkeys)} passkeys, {len(each.browsers)} browsers that are told"
            for each in self._people.all()
        ]
        return "\n".join(lines or ["nobody yet"]) + "\n"
