"""What people elsewhere are told when something waits, in the form of each service. Pure.

Whoever carries a notice reads it: it says the tool, the project and until when, and the call only where the setting
wants that, without secrets and cut. It never says enough to answer by: that takes the page, and who is signed in there.
"""

from __future__ import annotations

import base64
import hmac
import json
from hashlib import sha256

from gateway.core.value import Value
from gateway.policy.wording import shortened, visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    Clean = Callable[[str], str]

LONGEST = 300  # characters of a call that a notice says
_LONGEST_NAME = 80
_PREFIX = "whsec_"


class Sent(Value):
    """A request to be made: always a POST. `private`: whether its address may be one that is not public."""

    url: str
    headers: Mapping[str, str]
    body: bytes
    private: bool = False


class Notice(Value):
    """`link`: where the question stands; `until`: until when it waits, in seconds since the epoch; `call`: its text as
    the record would keep it, "" where a notice is not to say it."""

    id: str
    link: str
    tool: str
    project: str
    until: int
    call: str = ""

    @property
    def title(self) -> str:
        """One line."""
        return f"{self.tool} waits for an answer"

    def text(self, clock: str) -> str:
        """A few. `clock`: `until` as people read it."""
        return f"in {self.project}, until {clock}" + (f"\n{self.call}" if self.call else "")


def notice_of(shown: Mapping[str, Any], origin: str, until: int, clean: Clean, *, says_call: bool) -> Notice:
    """A notice of a question. `clean` takes secrets out of a text."""
    folder = str(shown["cwd"]).rstrip("/").rpartition("/")[2] or "/"
    return Notice(
        shown["id"],
        f"{origin}/q/{shown['id']}",
        tool=visible(shortened(clean(str(shown["tool"])), _LONGEST_NAME)),
        project=visible(shortened(clean(folder), _LONGEST_NAME)),
        until=until,
        # Cleaned whole, then cut: what is cut in the middle is not known for what it is.
        call=visible(shortened(clean(str(shown["call"])), LONGEST)) if says_call else "",
    )


def webhook(entry: Mapping[str, Any], notice: Notice, secret: str, now: int) -> Sent:
    """Signed as Standard Webhooks are: HMAC-SHA256 over id, time and body. `secret`: base64, also behind `whsec_`.
    Raises ValueError for one that is none."""
    told = {"id": notice.id, "url": notice.link, "tool": notice.tool, "project": notice.project, "until": notice.until}
    if notice.call:
        told["call"] = notice.call
    body = _json({"type": "approval.requested", "timestamp": now, "data": told})
    return Sent(
        entry["url"],
        {"Content-Type": "application/json", **signature(notice.id, now, body, secret)},
        body=body,
        private=entry["private"],
    )


def signature(name: str, now: int, body: bytes, secret: str) -> dict[str, str]:
    """The headers of Standard Webhooks."""
    try:
        key = base64.b64decode(secret.removeprefix(_PREFIX), validate=True)
    except ValueError as error:
        raise ValueError("the key of a webhook must be base64, such as `whsec_…`") from error
    if len(key) < 24:
        raise ValueError("the key of a webhook must have 24 bytes or more")
    signed = b".".join((name.encode(), str(now).encode(), body))
    made = base64.b64encode(hmac.new(key, signed, sha256).digest()).decode()
    return {"webhook-id": name, "webhook-timestamp": str(now), "webhook-signature": f"v1,{made}"}


def ntfy(entry: Mapping[str, Any], notice: Notice, secret: str, clock: str) -> Sent:
    """A message of ntfy, with a button that leads to the page. `secret`: an access token, "" for none."""
    base, _, topic = entry["url"].rstrip("/").rpartition("/")
    body = _json({
        "topic": topic, "title": notice.title, "message": notice.text(clock), "click": notice.link, "priority": 4,
        "tags": ["hourglass_flowing_sand"], "actions": [{"action": "view", "label": "Look at it", "url": notice.link}],
    })  # fmt: skip
    return Sent(base + "/", _with_token("application/json", secret), body=body, private=entry["private"])


def slack(entry: Mapping[str, Any], notice: Notice, secret: str, clock: str) -> Sent:
    """A message in a channel, with a button that is a link: what somebody presses in Slack answers nothing. `secret`:
    a bot's token."""
    plain = f"{notice.title} {notice.text(clock)}"
    body = _json({
        "channel": entry["channel"],
        "text": plain.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;"),
        "unfurl_links": False,
        "blocks": [
            {"type": "section", "text": {"type": "plain_text", "text": plain, "emoji": False}},
            {"type": "actions", "elements": [{
                "type": "button", "action_id": "look", "url": notice.link,
                "text": {"type": "plain_text", "text": "Look at it"},
            }]},
        ],
    })  # fmt: skip
    return Sent(
        entry["url"], _with_token("application/json; charset=utf-8", secret), body=body, private=entry["private"]
    )


def failure(kind: str, status: int, body: bytes) -> str:
    """What went wrong by what a service answered, "" for nothing."""
    if not 200 <= status < 300:
        return f"it answered with {status}"
    if kind == "slack":
        try:
            told = json.loads(body)
            return "" if told["ok"] is True else f"it answered: {visible(str(told.get('error', ''))[:80])}"
        except (ValueError, KeyError, TypeError, RecursionError):
            return "it answered what is no answer of Slack"
    return ""


def _with_token(kind: str, secret: str) -> dict[str, str]:
    return {"Content-Type": kind, **({"Authorization": f"Bearer {secret}"} if secret else {})}


def _json(told: Any) -> bytes:
    return json.dumps(told, ensure_ascii=True, separators=(",", ":")).encode("ascii")
