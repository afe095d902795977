"""Attacks on answers from elsewhere. Each is tried while a question waits that a person then answers, its twin."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from elsewhere import ORIGIN, Passkey, World, entered

from gateway.frontends.console import question_queue as desks
from gateway.frontends.console.remote.passkeys import CHALLENGE_SECONDS
from gateway.frontends.console.remote.sign_in import ADDING_SECONDS, CODE_SECONDS, COOKIE, IDLE_SECONDS, MOST_WRONG

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

NOT_LIVE = "Nothing waits under that name any more"


@pytest.fixture
def opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., World]]:
    monkeypatch.setattr(desks, "SHOWN_SECONDS", 0.0)
    made: list[World] = []

    def opens(**setting: Any) -> World:
        made.append(World(tmp_path, **setting))
        return made[-1]

    yield opens
    for each in made:
        each.close()


@pytest.fixture
def world(opened: Callable[..., World]) -> World:
    return opened()


def yes(given: dict[str, Any]) -> dict[str, Any]:
    return {**given, "answer": "once"}


# ------------------------------------------------------------------------------------------------------ what people do


def test_who_has_a_code_sees_the_question_and_answers_it_once(world: World):
    given = yes(world.asks())
    cookie = world.signed_in("ann")
    assert world.questions(cookie)["version"] == [[given["id"], 0]]
    assert world.answers(given, cookie).status == 200
    assert world.answers(given, cookie).status == 404
    told = {"allow": True, "scope": "once", "note": "", "people": ["ann"]}
    assert world.said == [{"id": given["id"], "digest": given["digest"], **told}]


def test_who_has_a_passkey_signs_each_yes_and_no_no(world: World):
    cookie, key = world.with_passkey("ann")
    given = yes(world.asks())
    world.questions(cookie)
    assert world.answers(given, cookie).status == 403
    assert world.answers(given, cookie, key).status == 200
    other = world.asks(name="b" * 32)
    world.questions(cookie)
    assert world.answers({**other, "answer": "no", "note": "not now"}, cookie).status == 200
    assert [(each["allow"], each["note"]) for each in world.said] == [(True, ""), (False, "not now")]


def test_a_passkey_opens_the_page_and_signing_out_ends_it(world: World):
    _, key = world.with_passkey("ann")
    begun = world.post("/api/begin", {}).json
    cookie = entered(world.post("/api/enter", {"ticket": begun["ticket"], "response": key.used(begun["options"])}))
    assert world.questions(cookie)["name"] == "ann"
    assert world.post("/api/leave", {}, cookie).status == 200
    assert world.questions(cookie) == {"name": ""}


def test_the_cookie_is_no_scripts_and_no_other_pages(world: World):
    world.people.invited("ann")
    told = dict(world.post("/api/enter", {"code": world.signs.new_code("ann")}).headers)["set-cookie"].lower()
    assert told.startswith(COOKIE.lower() + "=")
    assert [each for each in ("httponly", "secure", "samesite=strict", "path=/") if each not in told] == []
    assert "domain" not in told


def test_a_code_is_read_as_people_type_it(world: World):
    world.people.invited("ann")
    code = world.signs.new_code("ann").lower().replace("-", " ").replace("0", "o").replace("1", "l")
    assert world.post("/api/enter", {"code": code}).json == {"name": "ann"}


# -------------------------------------------------------------------------------------------------------------- attacks


def _replayed_signature(world: World, given: dict[str, Any], cookie: str, key: Passkey) -> Any:
    """What was signed for one question, sent for another with a ticket of its own."""
    first = world.post("/api/answer/begin", given, cookie).json
    signed = key.used(first["options"])
    again = world.post("/api/answer/begin", given, cookie).json
    return world.post("/api/answer", {**given, "ticket": again["ticket"], "response": signed}, cookie)


def _signed(world: World, given: dict[str, Any], cookie: str, key: Passkey, **how: Any) -> dict[str, Any]:
    begun = world.post("/api/answer/begin", given, cookie).json
    return {**given, "ticket": begun["ticket"], "response": key.used(begun["options"], **how)}


def _substituted(world: World, given: dict[str, Any], cookie: str, key: Passkey) -> Any:
    """What was signed for this question, sent with it for another that waits too."""
    other = world.asks(name="b" * 32, call="rm -rf /", may=["once", "session"])
    world.questions(cookie)
    found = world.post("/api/answer", {**_signed(world, given, cookie, key), **other}, cookie)
    world.withdraws()
    return found


def _other_answer(world: World, given: dict[str, Any], cookie: str, key: Passkey) -> Any:
    return world.post("/api/answer", {**_signed(world, given, cookie, key), "answer": "session"}, cookie)


def _used_ticket(world: World, given: dict[str, Any], cookie: str, key: Passkey) -> Any:
    signed = _signed(world, given, cookie, key)
    world.post("/api/answer", {**signed, "response": {}}, cookie)
    return world.post("/api/answer", signed, cookie)


def _old_challenge(world: World, given: dict[str, Any], cookie: str, key: Passkey) -> Any:
    signed = _signed(world, given, cookie, key)
    world.clock.now += CHALLENGE_SECONDS + 1
    return world.post("/api/answer", signed, cookie)


def _of_another_page(world: World, given: dict[str, Any], cookie: str, key: Passkey) -> Any:
    key.origin = "https://gateway.example.com.evil.example"
    found = world.post("/api/answer", _signed(world, given, cookie, key), cookie)
    key.origin = ORIGIN
    return found


def _of_another_person(world: World, given: dict[str, Any], cookie: str, _key: Passkey) -> Any:
    _other, theirs = world.with_passkey("ben")
    return world.post("/api/answer", _signed(world, given, cookie, theirs), cookie)


def _copied(world: World, given: dict[str, Any], cookie: str, key: Passkey) -> Any:
    """A passkey that counts its uses, and was used elsewhere since."""
    key.counter = 5
    world.people.used("ann", key.id.hex(), 7)
    found = world.post("/api/answer", _signed(world, given, cookie, key), cookie)
    key.counter = 8
    return found


def _forged(world: World, given: dict[str, Any], cookie: str, key: Passkey) -> Any:
    forger = Passkey()
    forger.id, forger.handle = key.id, key.handle
    return world.post("/api/answer", _signed(world, given, cookie, forger), cookie)


def _nobody_there(world: World, given: dict[str, Any], cookie: str, key: Passkey) -> Any:
    """The person was not seen by the device, only a key was there."""
    return world.post("/api/answer", _signed(world, given, cookie, key, flags=0x01), cookie)


def _older_digest(world: World, given: dict[str, Any], cookie: str, key: Passkey) -> Any:
    return world.answers({**given, "digest": "0" * 48}, cookie, key)


def _in_the_link(world: World, given: dict[str, Any], cookie: str, _key: Passkey) -> Any:
    return world.request(
        "GET", f"/q/{given['id']}?answer=once&digest={given['digest']}", {"cookie": f"{COOKIE}={cookie}"}
    )


def _start_of_a_sign_in(world: World, given: dict[str, Any], cookie: str, key: Passkey) -> Any:
    """What was signed to sign in, sent as a yes."""
    begun = world.post("/api/begin", {}).json
    return world.post(
        "/api/answer", {**given, "ticket": begun["ticket"], "response": key.used(begun["options"])}, cookie
    )


def _headers(**headers: str) -> Callable[..., Any]:
    def attack(world: World, given: dict[str, Any], cookie: str, key: Passkey) -> Any:
        signed = _signed(world, given, cookie, key)
        return world.post("/api/answer", signed, **{"cookie": f"{COOKIE}={cookie}", **headers})

    return attack


def _body(text: bytes) -> Callable[..., Any]:
    def attack(world: World, _given: dict[str, Any], cookie: str, _key: Passkey) -> Any:
        usual = {"origin": ORIGIN, "content-type": "application/json", "cookie": f"{COOKIE}={cookie}"}
        return world.request("POST", "/api/answer", {**usual, "content-length": str(len(text))}, text)

    return attack


def _told(**more: Any) -> Callable[..., Any]:
    def attack(world: World, given: dict[str, Any], cookie: str, key: Passkey) -> Any:
        return world.post("/api/answer", {**_signed(world, given, cookie, key), **more}, cookie)

    return attack


ATTACKS: dict[str, tuple[Callable[..., Any], int]] = {
    "without a signature": (lambda world, given, cookie, _: world.answers(given, cookie), 403),
    "a signature once more": (_replayed_signature, 403),
    "a ticket once more": (_used_ticket, 403),
    "a signature for another call": (_substituted, 403),
    "a signature for another answer": (_other_answer, 400),
    "a signature to sign in": (_start_of_a_sign_in, 403),
    "too late a signature": (_old_challenge, 403),
    "signed for another page": (_of_another_page, 403),
    "somebody else's passkey": (_of_another_person, 403),
    "a copy of the passkey": (_copied, 403),
    "a forged signature": (_forged, 403),
    "a device that saw nobody": (_nobody_there, 403),
    "the digest of another question": (_older_digest, 409),
    "by following a link": (_in_the_link, 200),
    "without a session": (_headers(cookie=""), 401),
    "a session of somebody's own making": (_headers(cookie=f"{COOKIE}=x"), 401),
    "from another page": (_headers(origin="https://evil.example"), 403),
    "from no page": (_headers(origin=""), 403),
    "from null": (_headers(origin="null"), 403),
    "across sites": (_headers(**{"sec-fetch-site": "cross-site"}), 403),
    "by this machine's own address": (_headers(host="127.0.0.1:1"), 421),
    "by another name": (_headers(host="gateway.example.com.evil.example"), 421),
    "as a form": (_headers(**{"content-type": "application/x-www-form-urlencoded"}), 415),
    "as plain text": (_headers(**{"content-type": "text/plain"}), 415),
    "of unknown length": (_headers(**{"content-length": ""}), 411),
    "longer than anything": (_headers(**{"content-length": str(300 << 10)}), 413),
    "no JSON": (_body(b"{"), 400),
    "a list": (_body(b"[]"), 400),
    "nested without end": (_body(b"[" * 100_000), 400),
    "another answer than there is": (_told(answer="always"), 400),
    "an answer that is none": (_told(answer=["once"]), 400),
    "a name that is none": (_told(id=["a"]), 404),
    "a ticket that is none": (_told(ticket=["a"]), 403),
    "a response that is none": (_told(response=[1]), 403),
    "a response without parts": (_told(response={"id": "", "rawId": "", "type": "public-key", "response": {}}), 403),
}  # fmt: skip


@pytest.mark.parametrize("name", ATTACKS)
def test_no_attack_answers_and_the_person_then_does(world: World, name: str):
    attack, status = ATTACKS[name]
    cookie, key = world.with_passkey("ann")
    given = yes(world.asks())
    world.questions(cookie)
    assert (attack(world, given, cookie, key).status, world.said) == (status, [])
    assert world.answers(given, cookie, key).status == 200
    assert [each["people"] for each in world.said] == [["ann"]]


def test_a_question_that_was_withdrawn_or_answered_is_answered_no_more(world: World):
    cookie, key = world.with_passkey("ann")
    given = yes(world.asks())
    world.questions(cookie)
    signed = _signed(world, given, cookie, key)
    world.withdraws()
    assert world.post("/api/answer", signed, cookie).json["text"].startswith(NOT_LIVE)
    assert world.said == []


def test_a_question_for_this_machine_alone_is_neither_shown_nor_answered_elsewhere(world: World):
    world.desk._pages = lambda: 1
    given = yes(world.asks(at=["page"]))
    cookie = world.signed_in("ann")
    assert world.questions(cookie)["version"] == []
    assert world.answers(given, cookie).status == 404
    assert world.said == []


def test_a_click_before_the_question_could_be_seen_answers_nothing(world: World, monkeypatch: pytest.MonkeyPatch):
    cookie = world.signed_in("ann")
    given = yes(world.asks())
    assert world.answers(given, cookie).status == 425  # never shown there
    monkeypatch.setattr(desks, "SHOWN_SECONDS", 60.0)
    world.questions(cookie)
    assert world.answers(given, cookie).status == 425
    monkeypatch.setattr(desks, "SHOWN_SECONDS", 0.0)
    assert world.answers(given, cookie).status == 200


def test_policy_may_want_a_passkey_of_everybody(opened: Callable[..., World]):
    world = opened(sign_in="passkey")
    cookie = world.signed_in("ann")
    given = yes(world.asks())
    assert world.questions(cookie)["signs"] is True
    assert world.answers(given, cookie).status == 403
    other, key = world.with_passkey("ben")
    world.questions(other)
    assert world.answers(given, other, key).status == 200


# ------------------------------------------------------------------------------------------------------------ four eyes


def test_two_people_must_agree_and_neither_twice(world: World):
    given = yes(world.asks(people=2))
    ann, ben = world.signed_in("ann"), world.signed_in("ben")
    again = world.signed_in("ann")  # on another device
    for each in (ann, ben, again):
        world.questions(each)
    assert world.answers(given, ann).status == 202
    assert world.answers(given, ann).status == 409
    assert world.answers(given, again).status == 409
    assert world.said == []
    assert world.answers(given, ben).status == 200
    assert [each["people"] for each in world.said] == [["ann", "ben"]]


def test_what_somebody_agreed_to_counts_no_more_once_they_are_forgotten(world: World):
    given = yes(world.asks(people=2))
    ann, ben, cem = (world.signed_in(name) for name in ("ann", "ben", "cem"))
    for each in (ann, ben, cem):
        world.questions(each)
    assert world.answers(given, ann).status == 202
    world.desk.withdraw("ann")
    assert (world.answers(given, ben).status, world.said) == (202, [])
    assert world.answers(given, cem).status == 200
    assert [each["people"] for each in world.said] == [["ben", "cem"]]


def test_one_no_is_enough(world: World):
    given = world.asks(people=3)
    ann, ben = world.signed_in("ann"), world.signed_in("ben")
    world.questions(ann), world.questions(ben)
    assert world.answers(yes(given), ann).status == 202
    assert world.answers({**given, "answer": "no"}, ben).status == 200
    assert [(each["allow"], each["people"]) for each in world.said] == [(False, ["ben"])]


def test_whose_account_asks_does_not_agree_to_it_where_policy_says_so(world: World):
    given = yes(world.asks(not_by="ann"))
    ann, ben = world.signed_in("ann"), world.signed_in("ben")
    world.questions(ann), world.questions(ben)
    assert world.answers(given, ann).status == 403
    assert world.said == []
    assert world.answers(given, ben).status == 200


# -------------------------------------------------------------------------------------------------------------- sign in


def test_a_code_opens_one_session_soon(world: World):
    world.people.invited("ann")
    code = world.signs.new_code("ann")
    assert [world.post("/api/enter", {"code": code}).status for _ in range(2)] == [200, 401]
    older, newer = world.signs.new_code("ann"), world.signs.new_code("ann")
    assert world.post("/api/enter", {"code": older}).status == 401
    world.clock.now += CODE_SECONDS
    assert world.post("/api/enter", {"code": newer}).status == 401


def test_codes_are_worth_nothing_after_too_many_that_are_none(world: World):
    world.people.invited("ann")
    code = world.signs.new_code("ann")
    for _ in range(MOST_WRONG):
        assert world.signs.by_code("AAAA-AAAA") is None
    assert world.post("/api/enter", {"code": code}).status == 401


@pytest.mark.parametrize(
    "told", [{}, {"code": 1}, {"code": ""}, {"code": None}, {"ticket": "x"}, {"ticket": [], "response": 1}]
)
def test_what_is_neither_code_nor_passkey_opens_nothing(world: World, told: dict[str, Any]):
    assert world.post("/api/enter", told).status == 401


def test_a_session_ends_unused_and_when_its_person_is_forgotten(world: World):
    cookie, other = world.signed_in("ann"), world.signed_in("ben")
    world.clock.now += IDLE_SECONDS - 1
    assert world.questions(cookie)["name"] == "ann"
    world.clock.now += 2
    assert (world.questions(cookie)["name"], world.questions(other)["name"]) == ("ann", "")
    world.signs.forget("ann")
    world.people.forget("ann")
    assert world.questions(cookie) == {"name": ""}


def test_a_passkey_is_added_soon_after_a_code_and_not_by_a_session_that_was_stolen_later(world: World):
    cookie, key = world.with_passkey("ann")
    world.clock.now += ADDING_SECONDS + 1
    assert world.post("/api/passkey/begin", {}, cookie).status == 403
    begun = world.post("/api/begin", {}).json
    by_key = entered(world.post("/api/enter", {"ticket": begun["ticket"], "response": key.used(begun["options"])}))
    assert world.post("/api/passkey/begin", {}, by_key).status == 403


def test_somebody_elses_passkey_is_not_added_again(world: World):
    _, key = world.with_passkey("ann")
    cookie = world.signed_in("ben")
    begun = world.post("/api/passkey/begin", {}, cookie).json
    told = {"ticket": begun["ticket"], "response": key.made(begun["options"])}
    assert world.post("/api/passkey", told, cookie).status == 403
    assert world.people.find("ben") == world.people.find("ben").replace(passkeys=())  # type: ignore[union-attr]


# ---------------------------------------------------------------------------------------------------- what is there not


@pytest.mark.parametrize(
    "path", ["/live", "/why/1", "/policy", "/api/events", "/api/try", "/api/undo", "/api/session", "/static/"]
)
def test_nothing_else_of_the_console_is_there(world: World, path: str):
    cookie = world.signed_in("ann")
    found = world.request("GET", path, {"cookie": f"{COOKIE}={cookie}"})
    posted = world.post(path, {}, cookie)
    assert (found.status, posted.status) == (404, 404)


def test_the_page_holds_nothing_and_forbids_what_it_does_not_need(world: World):
    world.asks(call="cat secret-plan", text="cat secret-plan")
    found = world.request(
        "GET",
        "/q/" + "a" * 32,
        {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document"},
    )
    assert found.status == 200
    assert "secret-plan" not in found.text
    headers = dict(found.headers)
    assert "trusted-types gateway-worker" in headers["content-security-policy"]
    assert (headers["x-frame-options"], headers["cache-control"]) == ("DENY", "no-store")
    for address in [part.split('"')[0] for part in found.text.split('src="')[1:] + found.text.split('href="')[1:]]:
        assert world.request("GET", address).status == 200, address


def test_a_text_of_a_call_is_text_there(world: World):
    world.asks(call="<img src=x onerror=alert(1)>", head="<b>", text="<script>")
    told = json.dumps(world.questions(world.signed_in("ann"))["main"])
    assert '"img"' not in told
    assert '"script"' not in told


# ----------------------------------------------------------------------------------------------- browsers that are told


def test_a_browser_is_told_only_at_a_push_service(opened: Callable[..., World]):
    world = opened(
        notify=[{"kind": "push", "url": "", "secret": "", "channel": "", "private": False, "says": "little"}]
    )
    cookie = world.signed_in("ann")
    key = {"key": world.questions(cookie)["push"], "secret": "A" * 22}
    found = {
        endpoint: world.post("/api/push", {**key, "endpoint": endpoint}, cookie).status
        for endpoint in (
            "http://fcm.googleapis.com/x", "https://127.0.0.1/x", "https://fcm.googleapis.com.evil.example/x",
            "https://fcm.googleapis.com:8443/x", "https://fcm.googleapis.com@127.0.0.1/", "https://push.apple.com.x/",
            "file:///etc/passwd", "", "https://fcm.googleapis.com/fcm/send/x",
        )
    }  # fmt: skip
    assert [endpoint for endpoint, status in found.items() if status == 200] == [
        "https://fcm.googleapis.com/fcm/send/x"
    ]
    assert (
        world.post("/api/push", {"endpoint": "https://web.push.apple.com/x", "key": "x", "secret": "y"}, cookie).status
        == 400
    )
