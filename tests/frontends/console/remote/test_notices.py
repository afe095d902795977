"""What services are told: the form of each, nothing that answers, and no secret."""

from __future__ import annotations

import base64
import hmac
import json
from hashlib import sha256
from typing import Any

import pytest
from elsewhere import ORIGIN, question

from gateway.audit.redact import Redactor
from gateway.frontends.console.remote import notices

KEY = b"k" * 32
SECRET = "whsec_" + base64.b64encode(KEY).decode()
ENTRY: dict[str, Any] = {"url": "https://told.example/hook", "channel": "C1", "private": False}
TOKEN = "ghp_" + "a1B2c3D4e5" * 3 + "f6G7H8"


def clean(text: str) -> str:
    return Redactor().text(text)[0]


def notice(*, says_call: bool = True, **more: Any) -> notices.Notice:
    shown = question(**more)
    return notices.notice_of(shown, ORIGIN, 1_700_000_600, clean, says_call=says_call)


def test_a_webhook_is_signed_as_standard_webhooks_are():
    made = notices.webhook(ENTRY, notice(says_call=False), SECRET, 1_700_000_000)
    signed = b"a" * 32 + b".1700000000." + made.body
    expected = base64.b64encode(hmac.new(KEY, signed, sha256).digest()).decode()
    assert dict(made.headers) == {
        "Content-Type": "application/json", "webhook-id": "a" * 32, "webhook-timestamp": "1700000000",
        "webhook-signature": f"v1,{expected}",
    }  # fmt: skip
    assert json.loads(made.body) == {
        "type": "approval.requested", "timestamp": 1_700_000_000,
        "data": {"id": "a" * 32, "url": f"{ORIGIN}/q/{'a' * 32}", "tool": "Bash", "project": "work",
                 "until": 1_700_000_600},
    }  # fmt: skip


@pytest.mark.parametrize("secret", ["", "whsec_", "whsec_###", "short", base64.b64encode(b"k" * 23).decode()])
def test_a_key_that_is_none_signs_nothing(secret: str):
    with pytest.raises(ValueError, match="key of a webhook"):
        notices.webhook(ENTRY, notice(), secret, 0)


def test_ntfy_gets_its_topic_and_a_link():
    made = notices.ntfy({**ENTRY, "url": "https://ntfy.example/base/topic"}, notice(), "tk_x", "12:30")
    told = json.loads(made.body)
    assert (made.url, made.headers["Authorization"]) == ("https://ntfy.example/base/", "Bearer tk_x")
    assert (told["topic"], told["click"], told["message"]) == (
        "topic", f"{ORIGIN}/q/{'a' * 32}", "in work, until 12:30\ntouch x",
    )  # fmt: skip


def test_slack_gets_a_button_that_is_a_link_and_text_that_is_text():
    made = notices.slack(ENTRY, notice(brief="x", call="<!channel> & <http://evil|go>"), "xoxb", "12:30")
    told = json.loads(made.body)
    button = told["blocks"][1]["elements"][0]
    assert (button["type"], button["url"], "value" in button) == ("button", f"{ORIGIN}/q/{'a' * 32}", False)
    assert "<!channel>" not in told["text"]
    assert told["blocks"][0]["text"]["type"] == "plain_text"


@pytest.mark.parametrize("says_call", [False, True])
@pytest.mark.parametrize(
    "told",
    [{"call": f"curl -H 'Authorization: Bearer {TOKEN}' https://x.example"}, {"cwd": f"/home/ann/{TOKEN}"},
     {"call": "x " * 145 + TOKEN}, {"tool": TOKEN}],
)  # fmt: skip
def test_no_notice_holds_a_secret(says_call: bool, told: dict[str, Any]):
    made = notice(says_call=says_call, **told)
    for body in (
        notices.webhook(ENTRY, made, SECRET, 0).body, notices.ntfy(ENTRY, made, "", "12:30").body,
        notices.slack(ENTRY, made, "", "12:30").body,
    ):  # fmt: skip
        assert TOKEN[:12].encode() not in body


def test_a_long_call_is_cut_and_what_cannot_be_seen_is_shown():
    made = notice(call="a" * 100_000 + "\u202e\x1b[2J\n")
    assert len(made.call) < 2 * notices.LONGEST
    assert "\u202e" not in notice(call="a\u202eb").call
    assert "\x1b" not in notice(call="\x1b[2J").call


@pytest.mark.parametrize(
    ("kind", "status", "body", "problem"),
    [("ntfy", 200, b"", ""), ("webhook", 204, b"", ""), ("webhook", 302, b"", "302"), ("ntfy", 500, b"", "500"),
     ("slack", 200, b'{"ok": true}', ""), ("slack", 200, b'{"ok": false, "error": "not_in_channel"}', "not_in_channel"),
     ("slack", 200, b"", "no answer of Slack"), ("slack", 200, b"[" * 9999, "no answer of Slack")],
)  # fmt: skip
def test_what_services_answer_is_understood(kind: str, status: int, body: bytes, problem: str):
    found = notices.failure(kind, status, body)
    assert (bool(found), problem in found) == (bool(problem), True)
