"""Passkeys: made once, used to sign in, and for each yes. What a yes signs is bound to the very question and answer.

Every challenge is worth something once, for two minutes, and for what it was made for.
"""

from __future__ import annotations

import json
import secrets
from collections import OrderedDict
from hashlib import sha256
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from fido2.server import Fido2Server
from fido2.webauthn import (
    AttestedCredentialData,
    AuthenticationResponse,
    PublicKeyCredentialRpEntity,
    PublicKeyCredentialUserEntity,
    RegistrationResponse,
    ResidentKeyRequirement,
    UserVerificationRequirement,
)

from gateway.core.value import Value
from gateway.frontends.console.remote.people import Passkey

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from gateway.frontends.console.remote.people import People, Person

CHALLENGE_SECONDS = 120.0
SIGN_IN = "sign in"
SIGNING_IN = ("use", SIGN_IN)
_MOST_PENDING = 64
_VERIFIED = UserVerificationRequirement.REQUIRED


class _Pending(Value):
    """`about`: what the challenge was made for."""

    state: Any
    about: tuple[str, ...]
    until: float


class Passkeys:
    """The passkeys of people, for pages of one origin."""

    def __init__(self, origin: str, people: People, now: Callable[[], float]) -> None:
        """`origin`: as browsers spell it; passkeys belong to its host. `now`: of a clock that never goes back."""
        host = urlsplit(origin).hostname or ""
        self._server = Fido2Server(
            PublicKeyCredentialRpEntity(name="gateway", id=host), verify_origin=lambda given: given == origin
        )
        self._people = people
        self._now = now
        # Of those who are not signed in apart: whoever asks for many of these takes nobody else's away.
        self._pending: tuple[OrderedDict[str, _Pending], ...] = (OrderedDict(), OrderedDict())

    def making(self, person: Person) -> dict[str, Any]:
        """What a browser is told to make one."""
        user = PublicKeyCredentialUserEntity(
            id=bytes.fromhex(person.handle), name=person.name, display_name=person.name
        )
        options, state = self._server.register_begin(
            user,
            [_credential(each) for each in person.passkeys],
            resident_key_requirement=ResidentKeyRequirement.REQUIRED,
            user_verification=_VERIFIED,
        )
        return self._begun(options, state, ("make", person.name))

    def made(self, ticket: Any, response: Any, person: Person) -> bool:
        """Whether a browser made one, which is the person's from now on."""
        pending = self._taken(ticket, ("make", person.name))
        if pending is None:
            return False
        try:
            told = self._server.register_complete(pending.state, RegistrationResponse.from_dict(response))
            data = told.credential_data
            if data is None:
                return False
            self._people.add_passkey(
                person.name, Passkey(data.credential_id.hex(), bytes(data).hex(), counter=told.counter)
            )
        except (ValueError, TypeError, KeyError, AttributeError):
            return False
        return True

    def asking(self, *about: str, person: Person | None = None) -> dict[str, Any]:
        """What a browser is told to use one. `about`: what for, which the signature covers; `person`: whose it must
        be, None for anybody's."""
        nonce = secrets.token_bytes(32)
        bound = json.dumps(about, ensure_ascii=True).encode("ascii")
        options, state = self._server.authenticate_begin(
            [_credential(each) for each in person.passkeys] if person is not None else None,
            user_verification=_VERIFIED,
            challenge=sha256(nonce + bound).digest(),
        )
        return self._begun(options, state, ("use", *about))

    def used(self, ticket: Any, response: Any, *about: str, person: Person | None = None) -> Person | None:
        """Who used one for that; None for anything that is none."""
        pending = self._taken(ticket, ("use", *about))
        if pending is None:
            return None
        try:
            given = AuthenticationResponse.from_dict(response)
            known = self._people.with_passkey(given.raw_id.hex())
            if known is None or (person is not None and known[0].name != person.name):
                return None
            owner, passkey = known
            handle = given.response.user_handle
            if handle and handle.hex() != owner.handle:
                return None
            self._server.authenticate_complete(pending.state, [_credential(passkey)], given)
            counter = given.response.authenticator_data.counter
        except (ValueError, TypeError, KeyError, AttributeError):
            return None
        if (counter or passkey.counter) and counter <= passkey.counter:
            return None  # another device has a copy of it
        if counter:
            self._people.used(owner.name, passkey.id, counter)
        return owner

    def _begun(self, options: Mapping[str, Any], state: Any, about: tuple[str, ...]) -> dict[str, Any]:
        pending = self._pending[about == SIGNING_IN]
        while len(pending) >= _MOST_PENDING:
            pending.popitem(last=False)
        ticket = secrets.token_hex(16)
        pending[ticket] = _Pending(state, about, until=self._now() + CHALLENGE_SECONDS)
        return {"ticket": ticket, "options": dict(options)["publicKey"]}

    def _taken(self, ticket: Any, about: tuple[str, ...]) -> _Pending | None:
        found = self._pending[about == SIGNING_IN].pop(ticket, None) if isinstance(ticket, str) else None
        return found if found is not None and found.about == about and self._now() < found.until else None


def _credential(passkey: Passkey) -> AttestedCredentialData:
    return AttestedCredentialData(bytes.fromhex(passkey.key))
