"""People are told of what waits, by everything that the setting names, as long as it waits."""

from __future__ import annotations

import asyncio
import base64
import json
import os
from typing import TYPE_CHECKING, Any

import http_ece
import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from elsewhere import ORIGIN, question

from gateway.calls.outgoing import Reply, RequestError
from gateway.core.errors import ConfigError
from gateway.frontends.console.question_queue import Waiting
from gateway.frontends.console.remote import push, secrets, telling
from gateway.frontends.console.remote.people import Browser, People

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from gateway.frontends.console.remote.notices import Sent

KEY = "whsec_" + base64.b64encode(b"k" * 32).decode()


def entry(kind: str, **more: Any) -> dict[str, Any]:
    url = "" if kind == "push" else f"https://{kind}.example/topic"
    return {"kind": kind, "url": url, "secret": "", "channel": "", "private": False, "says": "little", **more}


class Services:
    """What is sent, and what is answered: a status, or what is raised."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, answers: Callable[[Sent], int] = lambda _sent: 200) -> None:
        self.sent: list[Sent] = []
        self.answers = answers
        monkeypatch.setattr(telling, "send", self._send)
        monkeypatch.setattr(telling, "PAUSES", (0.0, 0.0))

    def _send(self, sent: Sent, _cancelled: Callable[[], bool]) -> Reply:
        self.sent.append(sent)
        return Reply(self.answers(sent), {}, b'{"ok": true}')


def told(
    folder: Path, *entries: dict[str, Any], people: People | None = None, waits: bool = True, **more: Any
) -> list[str]:
    """Tells of one question to the end; what could not be told."""
    failed: list[str] = []

    async def tell() -> None:
        shown = question(**more)
        found = telling.Telling(
            str(folder), {"origin": ORIGIN, "notify": entries}, people or People(str(folder)),
            waits=lambda _name: waits, failed=failed.append,
        )  # fmt: skip
        found.tell(Waiting(shown["id"], "", shown=shown, pid=1, came=0.0, until=60.0))
        await asyncio.gather(*found._tasks)
        await found.close()

    folder.chmod(0o700)
    asyncio.run(tell())
    return failed


def test_each_way_is_told_with_its_own_secret(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    services = Services(monkeypatch)
    for name, secret in (("hook", KEY), ("bot", "xoxb-1")):
        secrets.keep(str(tmp_path), name, secret)
    ways = (entry("webhook", secret="hook"), entry("slack", secret="bot", channel="C1"), entry("ntfy"))
    assert told(tmp_path, *ways) == []
    assert sorted((each.url, each.headers.get("Authorization", "")) for each in services.sent) == [
        ("https://ntfy.example/", ""), ("https://slack.example/topic", "Bearer xoxb-1"),
        ("https://webhook.example/topic", ""),
    ]  # fmt: skip
    assert all(b"touch x" not in each.body for each in services.sent)


def test_the_call_is_told_as_whoever_asks_would_keep_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    services = Services(monkeypatch)
    told(tmp_path, entry("ntfy", says="call"), call="echo hunter2", brief="echo [secret]")
    assert json.loads(services.sent[0].body)["message"].endswith("\necho [secret]")


def test_a_browser_gets_what_it_alone_can_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    services = Services(monkeypatch)
    theirs, auth = ec.generate_private_key(ec.SECP256R1()), os.urandom(16)
    point = theirs.public_key().public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)
    people = People(str(tmp_path))
    people.invited("ann")
    spelled = [base64.urlsafe_b64encode(each).rstrip(b"=").decode() for each in (point, auth)]
    people.add_browser("ann", Browser("https://fcm.googleapis.com/fcm/send/x", *spelled))
    told(tmp_path, entry("push"), people=people)
    (sent,) = services.sent
    opened = http_ece.decrypt(sent.body, private_key=theirs, auth_secret=auth, version="aes128gcm")
    assert json.loads(opened) == {"id": "a" * 32}
    token, key = (part.partition("=")[2] for part in sent.headers["Authorization"].removeprefix("vapid ").split(", "))
    raw = base64.urlsafe_b64decode(key + "=")
    public = ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), raw)
    claims = jwt.decode(token, public, algorithms=["ES256"], audience="https://fcm.googleapis.com")
    assert claims["sub"] == ORIGIN


def test_the_key_of_push_stays_what_browsers_know(tmp_path: Path):
    tmp_path.chmod(0o700)
    made = [telling._push_key(str(tmp_path)) for _ in range(2)]
    assert made[0] == made[1]
    (tmp_path / telling.KEY).write_text("none")
    assert push.public_key(telling._push_key(str(tmp_path))) != push.public_key(made[0])


def test_a_browser_that_is_gone_is_told_no_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    Services(monkeypatch, lambda _sent: 410)
    people = People(str(tmp_path))
    people.invited("ann")
    point = push.public_key(push.new_key())
    people.add_browser("ann", Browser("https://fcm.googleapis.com/x", point, "A" * 22))
    assert told(tmp_path, entry("push"), people=people) == []
    assert people.find("ann") == people.find("ann").replace(browsers=())  # type: ignore[union-attr]


def test_what_cannot_be_told_is_tried_again_and_then_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    services = Services(monkeypatch, lambda _sent: 500)
    assert told(tmp_path, entry("ntfy")) == [
        "ntfy at ntfy.example could not be told of a question: it answered with 500"
    ]
    assert len(services.sent) == 2

    def refuses(_sent: Sent) -> int:
        raise RequestError("ntfy.example leads to 10.0.0.1, which is no public address (private)")

    services.answers = refuses
    assert "no public address" in told(tmp_path, entry("ntfy"))[0]


def test_nobody_is_told_of_what_waits_no_longer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    services = Services(monkeypatch)
    assert (told(tmp_path, entry("ntfy"), waits=False), services.sent) == ([], [])


def test_a_secret_that_is_missing_or_others_can_read_is_told_before_anything_is_served(tmp_path: Path):
    with pytest.raises(ConfigError, match="gateway console --secret hook"):
        told(tmp_path, entry("webhook", secret="hook"))
    path = secrets.keep(str(tmp_path), "hook", KEY)
    os.chmod(path, 0o640)
    with pytest.raises(ConfigError, match="yours alone"):
        told(tmp_path, entry("webhook", secret="hook"))
    secrets.keep(str(tmp_path), "hook", "short")
    with pytest.raises(ConfigError, match="base64"):
        told(tmp_path, entry("webhook", secret="hook"))
    for name in ("../x", "X", "", "a/b"):
        with pytest.raises(ConfigError, match="name of a secret"):
            secrets.read(str(tmp_path), name)
    for text in ("", "two\nlines", "ä", "x" * 5000):
        with pytest.raises(ConfigError, match="one line"):
            secrets.keep(str(tmp_path), "hook", text)
