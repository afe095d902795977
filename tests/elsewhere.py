"""The page for people elsewhere without a network: its application behind its guard, questions that wait, and passkeys
that software makes."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
from typing import TYPE_CHECKING, Any, NamedTuple

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from fido2.cose import ES256
from fido2.utils import websafe_decode, websafe_encode
from fido2.webauthn import AttestationObject, AttestedCredentialData, AuthenticatorData, CollectedClientData

from gateway.approval.page_wire import digest_of, line_of, message_of
from gateway.frontends.console.guard import Guard
from gateway.frontends.console.question_queue import Desk
from gateway.frontends.console.remote.app import Afar
from gateway.frontends.console.remote.people import People
from gateway.frontends.console.remote.sign_in import COOKIE, SignIns
from gateway.frontends.console.remote.telling import Telling

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

ORIGIN = "https://gateway.example.com"
SETTING: dict[str, Any] = {"origin": ORIGIN}


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


class Answered(NamedTuple):
    status: int
    headers: list[tuple[str, str]]
    text: str

    @property
    def json(self) -> Any:
        return json.loads(self.text)


def question(name: str = "a" * 32, **more: Any) -> dict[str, Any]:
    """One as whoever asks shows it."""
    return {
        "id": name, "tool": "Bash", "brief": "touch x", "call": "touch x", "text": "touch x", "cwd": "/home/ann/work",
        "always": "", "file": "", "later": "", "head": "ask Bash(touch x)", "not_by": "", "people": 1,
        "may": ["once"], "seconds": 60, "at": ["elsewhere"], "marks": [], "asked": [], "plan": [], **more,
    }  # fmt: skip


class World:
    """What is there."""

    def __init__(self, folder: Path, **setting: Any) -> None:
        folder.chmod(0o700)
        self.folder = str(folder)
        self.clock = Clock()
        self.loop = asyncio.new_event_loop()
        self.desk = Desk(self.folder, pages=lambda: 0, changed=lambda: None, elsewhere=lambda: True)
        self.desk.claim()
        self.loop.run_until_complete(self.desk.start())
        self.people = People(self.folder)
        self.signs = SignIns(self.clock)
        given = {**SETTING, **setting}
        self.telling = Telling(self.folder, given, self.people, waits=lambda _name: True, failed=lambda _text: None)
        afar = Afar(given, self.people, self.signs, desk=self.desk, telling=self.telling)
        afar._keys._now = self.clock
        self.guard = Guard(afar.app(), 1, origin=given["origin"])
        self.said: list[Any] = []  # what whoever asked was answered
        self._asking: list[tuple[str, asyncio.StreamWriter, asyncio.Task[None]]] = []

    def close(self) -> None:
        self.loop.run_until_complete(self._close())
        self.loop.close()

    async def _close(self) -> None:
        for _name, writer, task in self._asking:
            writer.close()
            task.cancel()
        await self.desk.close()
        rest = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in rest:
            task.cancel()
        await asyncio.gather(*rest, return_exceptions=True)

    def asks(self, **more: Any) -> dict[str, Any]:
        """A question that waits: its name and digest, as an answer names them. Whoever asks takes the first answer."""
        shown = question(**more)

        async def come() -> Any:
            reader, writer = await asyncio.open_unix_connection(f"{self.folder}/desk", limit=1 << 20)
            writer.write(line_of({"question": shown}))
            told = message_of(await reader.readline())
            self._asking.append((shown["id"], writer, asyncio.ensure_future(self._take(reader, writer))))
            return told

        assert self.loop.run_until_complete(come()) == {"shown": True}
        return {"id": shown["id"], "digest": digest_of(shown)}

    def withdraws(self) -> None:
        """Whoever asked last is gone, also where it was answered already."""
        name, writer, _task = self._asking[-1]

        async def go() -> None:
            writer.close()
            while self.desk.find(name) is not None:
                await asyncio.sleep(0)

        self.loop.run_until_complete(go())

    async def _take(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        told = message_of(await reader.readline())
        if told is not None:
            self.said.append(told["answer"])
            writer.write(line_of({"taken": True}))

    def request(self, method: str, path: str, headers: Mapping[str, str] | None = None, body: bytes = b"") -> Answered:
        """One request, as a proxy hands it on."""
        given = {"host": ORIGIN.partition("//")[2], **(headers or {})}
        scope = {
            "type": "http", "method": method, "path": path, "raw_path": path.encode(), "query_string": b"",
            "http_version": "1.1", "scheme": "http", "client": ("127.0.0.1", 5), "server": ("127.0.0.1", 1),
            "headers": [(name.lower().encode(), value.encode()) for name, value in given.items() if value],
        }  # fmt: skip
        told: list[Any] = []

        async def receive() -> Any:
            return {"type": "http.request", "body": body, "more_body": False}

        async def send(message: Any) -> None:
            told.append(message)

        self.loop.run_until_complete(self.guard(scope, receive, send))
        found = [(name.decode(), value.decode()) for name, value in told[0]["headers"]]
        return Answered(told[0]["status"], found, b"".join(each.get("body", b"") for each in told[1:]).decode())

    def post(self, path: str, told: Any, cookie: str = "", **headers: str) -> Answered:
        body = json.dumps(told).encode()
        usual = {
            "origin": ORIGIN, "content-type": "application/json", "content-length": str(len(body)),
            "sec-fetch-site": "same-origin", "cookie": f"{COOKIE}={cookie}" if cookie else "",
        }  # fmt: skip
        return self.request("POST", path, {**usual, **headers}, body)

    def questions(self, cookie: str) -> Any:
        return self.request("GET", "/api/questions", {"cookie": f"{COOKIE}={cookie}"}).json

    def signed_in(self, name: str) -> str:
        """The cookie of somebody who has a code."""
        self.people.invited(name)
        return entered(self.post("/api/enter", {"code": self.signs.new_code(name)}))

    def with_passkey(self, name: str) -> tuple[str, Passkey]:
        """The cookie of somebody who has added a passkey."""
        cookie = self.signed_in(name)
        begun = self.post("/api/passkey/begin", {}, cookie).json
        key = Passkey()
        made = self.post("/api/passkey", {"ticket": begun["ticket"], "response": key.made(begun["options"])}, cookie)
        assert made.status == 200, made.text
        return cookie, key

    def answers(self, given: Mapping[str, Any], cookie: str, key: Passkey | None = None) -> Answered:
        """An answer, signed where there is a passkey; whoever asked takes it."""
        told = dict(given)
        if key is not None:
            begun = self.post("/api/answer/begin", told, cookie)
            if begun.status != 200:
                return begun
            told |= {"ticket": begun.json["ticket"], "response": key.used(begun.json["options"])}
        return self.post("/api/answer", told, cookie)


def entered(answer: Answered) -> str:
    """The cookie that came with an answer."""
    assert answer.status == 200, answer.text
    return dict(answer.headers)["set-cookie"].partition(f"{COOKIE}=")[2].partition(";")[0]


class Passkey:
    """One that software holds. `origin`: of the page that it believes to be asked by."""

    def __init__(self, origin: str = ORIGIN) -> None:
        self.origin = origin
        self.key = ec.generate_private_key(ec.SECP256R1())
        self.id = os.urandom(16)
        self.handle = b""
        self.counter = 0

    def made(self, options: Mapping[str, Any]) -> dict[str, Any]:
        self.handle = websafe_decode(options["user"]["id"])
        data = AttestedCredentialData.create(bytes(16), self.id, ES256.from_cryptography_key(self.key.public_key()))
        told = AuthenticatorData.create(self._host(options["rp"]["id"]), 0x45, self.counter, data)
        return self._answer({
            "clientDataJSON": websafe_encode(self._client("webauthn.create", options["challenge"])),
            "attestationObject": websafe_encode(AttestationObject.create("none", told, {})),
        })  # fmt: skip

    def used(self, options: Mapping[str, Any], flags: int = 0x05) -> dict[str, Any]:
        client = self._client("webauthn.get", options["challenge"])
        told = AuthenticatorData.create(self._host(options["rpId"]), flags, self.counter)
        signature = self.key.sign(told + hashlib.sha256(client).digest(), ec.ECDSA(hashes.SHA256()))
        return self._answer({
            "clientDataJSON": websafe_encode(client), "authenticatorData": websafe_encode(told),
            "signature": websafe_encode(signature), "userHandle": websafe_encode(self.handle),
        })  # fmt: skip

    def _client(self, kind: str, challenge: str) -> bytes:
        return bytes(CollectedClientData.create(type=kind, challenge=challenge, origin=self.origin))

    def _host(self, host: str) -> bytes:
        return hashlib.sha256(host.encode()).digest()

    def _answer(self, response: dict[str, str]) -> dict[str, Any]:
        name = websafe_encode(self.id)
        return {"id": name, "rawId": name, "type": "public-key", "response": response, "clientExtensionResults": {}}
