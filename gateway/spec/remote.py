"""The `remote:` setting: who may answer from elsewhere, and how they are told that something waits."""

from __future__ import annotations

import re

from gateway.spec import read
from gateway.tools.paths import UnclearError
from gateway.tools.urls import parse

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from gateway.spec.yamltext import Complaints, Node

REMOTE = {
    "origin": "where people reach the page: the `https://` name of a tunnel or proxy, or `http://localhost:PORT`",
    "port": "the port on this machine that the tunnel or proxy leads to",
    "seconds": "how long a question waits for an answer",
    "people": "how many different people must say yes; with more than one, nobody but they is asked",
    "requester": "whether the person whose account asks may say yes; if not, only others, from elsewhere, are asked",
    "sign_in": "what a yes takes: `passkey`, or `code` where a person has no passkey",
    "notify": "how people are told that something waits",
}
NOTIFY = {
    "kind": "webhook (signed as Standard Webhooks are), ntfy, slack, or push (browsers that asked for it)",
    "url": "where it is sent; slack has a usual place, push has none",
    "secret": "the name of a secret that `gateway console --secret NAME` keeps: the key of a webhook, a token",
    "channel": "slack's channel",
    "private": "whether the address may be one that is not public, and without encryption",
    "says": "little: the tool and the project; call: the call too, without secrets and cut",
}
KINDS = ("webhook", "ntfy", "slack", "push")
SAYS = ("little", "call")
SIGN_IN = ("code", "passkey")
SECONDS, MOST_SECONDS = 600, 900
PORT = 8470
MOST_PEOPLE = 5
SLACK = "https://slack.com/api/chat.postMessage"
SECRET_NAME = "[a-z0-9][a-z0-9-]{0,62}"

_needs_secret = ("webhook", "slack")
_secret_name = re.compile(SECRET_NAME)


def read_remote(node: Node, complaints: Complaints) -> dict[str, Any]:
    """The setting, checked, as plain data; every notification with all of its keys."""
    found: dict[str, Any] = {}
    for name, value in read.known_keys(node, "`remote`", REMOTE, complaints).items():
        what = f"`{name}`"
        if name == "origin":
            found[name] = _origin(value, complaints)
        elif name == "port":
            found[name] = read.integer(value, what, complaints, 1, 65_535)
        elif name == "seconds":
            found[name] = read.integer(value, what, complaints, 10, MOST_SECONDS)
        elif name == "people":
            found[name] = read.integer(value, what, complaints, 1, MOST_PEOPLE)
        elif name == "requester":
            found[name] = read.boolean(value, what, complaints)
        elif name == "sign_in":
            found[name] = read.choice(value, what, SIGN_IN, complaints)
        else:
            found[name] = [_notice(each, complaints) for each in read.sequence(value, what, complaints)]
    return found


def _origin(node: Node, complaints: Complaints) -> str:
    """The origin as browsers spell it: passkeys belong to a name, never to an address."""
    text = read.text(node, "`origin`", complaints)
    if not text:
        return ""
    remedy = "such as `https://gateway.example.com` or `http://localhost:8470`"
    try:
        url = parse(text)
    except UnclearError as error:
        complaints.at(node, f"`origin` {error.must}", remedy)
        return ""
    is_here = url.host == "localhost" and url.text.startswith("http:")
    if not url.text.startswith("https:") and not is_here:
        complaints.at(node, f"`origin` must be reached over https (got {node.shown})", remedy)
    elif url.host.replace(".", "").isdigit() or ":" in url.host:
        complaints.at(node, f"`origin` must have a name, which passkeys belong to (got {node.shown})", remedy)
    elif url.text.split("/", 3)[3:] not in ([], [""]):
        complaints.at(node, f"`origin` must end with the name or the port (got {node.shown})", remedy)
    else:
        return "/".join(url.text.split("/", 3)[:3])
    return ""


def _notice(node: Node, complaints: Complaints) -> dict[str, Any]:
    found: dict[str, Any] = {"kind": "", "url": "", "secret": "", "channel": "", "private": False, "says": SAYS[0]}
    given = read.known_keys(node, "`notify`", NOTIFY, complaints)
    if "kind" not in given:
        complaints.at(node, "each of `notify` must name its `kind`", f"one of {', '.join(KINDS)}")
        return found
    kind = found["kind"] = read.choice(given["kind"], "`kind`", KINDS, complaints)
    for name, value in given.items():
        what = f"`{name}`"
        if name == "private":
            found[name] = read.boolean(value, what, complaints)
        elif name == "says":
            found[name] = read.choice(value, what, SAYS, complaints)
        elif name in ("url", "secret", "channel"):
            found[name] = read.text(value, what, complaints)
    if found["secret"] and not _secret_name.fullmatch(found["secret"]):
        complaints.at(
            given["secret"], "`secret` must be a name of small letters, digits and `-`, never the secret itself"
        )
    if kind == "push":
        for name in ("url", "secret", "channel", "private"):
            if name in given:
                complaints.at_key(
                    given[name], f"`{name}` must not stand beside `kind: push`: browsers say where they are"
                )
        return found
    if kind == "slack":
        found["url"] = found["url"] or SLACK
    if (kind == "slack") != bool(found["channel"]):
        complaints.at(node, "`channel` must stand beside `kind: slack`, and there alone")
    if kind in _needs_secret and not found["secret"]:
        complaints.at(node, f"`kind: {kind}` must have a `secret`", "keep it with `gateway console --secret NAME`")
    found["url"] = _url(node, given, found, complaints)
    return found


def _url(node: Node, given: dict[str, Node], found: dict[str, Any], complaints: Complaints) -> str:
    where = given.get("url", node)
    if not found["url"]:
        complaints.at(node, f"`kind: {found['kind']}` must have a `url`")
        return ""
    try:
        url = parse(found["url"])
    except UnclearError as error:
        complaints.at(where, f"`url` {error.must}")
        return ""
    if not url.text.startswith("https:") and not found["private"]:
        complaints.at(where, "`url` must be https", "`private: true` allows http to addresses that are not public")
    if found["kind"] == "ntfy" and len([each for each in url.text.split("/")[3:] if each]) < 1:
        complaints.at(where, "`url` must end with the topic", "such as `https://ntfy.sh/TOPIC`")
    return url.text


def remote_schema() -> dict[str, Any]:
    """The properties of the setting, as JSON Schema."""
    text = {"type": "string", "minLength": 1}
    notice = {
        "kind": {"enum": list(KINDS)},
        "url": text,
        "secret": {"type": "string", "pattern": f"^{SECRET_NAME}$"},
        "channel": text,
        "private": {"type": "boolean"},
        "says": {"enum": list(SAYS)},
    }
    told = {"type": "object", "properties": notice, "required": ["kind"], "additionalProperties": False}
    return {
        "origin": text,
        "port": {"type": "integer", "minimum": 1, "maximum": 65_535},
        "seconds": {"type": "integer", "minimum": 10, "maximum": MOST_SECONDS},
        "people": {"type": "integer", "minimum": 1, "maximum": MOST_PEOPLE},
        "requester": {"type": "boolean"},
        "sign_in": {"enum": list(SIGN_IN)},
        "notify": {"type": "array", "items": told},
    }
