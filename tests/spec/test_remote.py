"""The setting `remote`: what it is read as, and what is none."""

from __future__ import annotations

from typing import Any

import jsonschema
import pytest

from gateway.core.errors import ConfigError
from gateway.spec.policy import parse_policy
from gateway.spec.reference.entry import plain
from gateway.spec.schema import policy_schema

SCHEMA = jsonschema.Draft202012Validator(policy_schema())
USUAL = {"url": "", "secret": "", "channel": "", "private": False, "says": "little"}


def read(text: str) -> Any:
    return parse_policy(f"version: 1\nsettings: {{remote: {text}}}\n", "p.yaml", {})["settings"]["remote"]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("{origin: 'https://Gateway.Example.com/'}", {"origin": "https://gateway.example.com"}),
        ("{origin: 'https://gateway.example.com:8443', port: 9000}",
         {"origin": "https://gateway.example.com:8443", "port": 9000}),
        ("{origin: 'http://localhost:8470'}", {"origin": "http://localhost:8470"}),
        ("{people: 2, requester: false, sign_in: passkey, seconds: 900}",
         {"people": 2, "requester": False, "sign_in": "passkey", "seconds": 900}),
        ("{notify: [{kind: push}]}", {"notify": [{**USUAL, "kind": "push"}]}),
        ("{notify: [{kind: ntfy, url: 'https://ntfy.sh/topic', says: call}]}",
         {"notify": [{**USUAL, "kind": "ntfy", "url": "https://ntfy.sh/topic", "says": "call"}]}),
        ("{notify: [{kind: ntfy, url: 'http://10.0.0.1/topic', private: true}]}",
         {"notify": [{**USUAL, "kind": "ntfy", "url": "http://10.0.0.1/topic", "private": True}]}),
        ("{notify: [{kind: slack, channel: C1, secret: slack}]}",
         {"notify": [{**USUAL, "kind": "slack", "url": "https://slack.com/api/chat.postMessage", "channel": "C1",
                      "secret": "slack"}]}),
    ],
)  # fmt: skip
def test_what_is_written_is_read(text: str, found: dict[str, Any]) -> None:
    assert read(text) == found
    SCHEMA.validate(plain(f"version: 1\nsettings: {{remote: {text}}}\n"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{origin: 'http://gateway.example.com'}", "must be reached over https"),
        ("{origin: 'https://10.0.0.1'}", "must have a name"),
        ("{origin: 'https://[::1]'}", "must have a name"),
        ("{origin: 'http://127.0.0.1:8470'}", "must be reached over https"),
        ("{origin: 'https://gateway.example.com/page'}", "must end with the name or the port"),
        ("{origin: 'https://gateway.example.com?x'}", "must end with the name or the port"),
        ("{origin: 'https://a:b@gateway.example.com'}", "must not carry a user name"),
        ("{origin: '*'}", "must name a host"),
        ("{port: 0}", "`port`"), ("{port: 70000}", "`port`"),
        ("{seconds: 901}", "`seconds`"), ("{people: 0}", "`people`"), ("{people: 6}", "`people`"),
        ("{sign_in: password}", "`sign_in`"), ("{tunnel: x}", "must not have the key `tunnel`"),
        ("{notify: push}", "must be a list"), ("{notify: [{url: 'https://x.example'}]}", "must name its `kind`"),
        ("{notify: [{kind: mail}]}", "`kind`"),
        ("{notify: [{kind: ntfy}]}", "must have a `url`"),
        ("{notify: [{kind: ntfy, url: 'https://ntfy.sh'}]}", "must end with the topic"),
        ("{notify: [{kind: ntfy, url: 'http://ntfy.sh/topic'}]}", "`url` must be https"),
        ("{notify: [{kind: ntfy, url: 'file:///etc/passwd'}]}", "must be an http or https URL"),
        ("{notify: [{kind: webhook, url: 'https://x.example'}]}", "must have a `secret`"),
        ("{notify: [{kind: webhook, url: 'https://x.example', secret: 'whsec_AAAA'}]}", "never the secret itself"),
        ("{notify: [{kind: webhook, url: 'https://x.example', secret: ../x}]}", "never the secret itself"),
        ("{notify: [{kind: slack, secret: slack}]}", "`channel` must stand"),
        ("{notify: [{kind: ntfy, url: 'https://ntfy.sh/t', channel: C1}]}", "`channel` must stand"),
        ("{notify: [{kind: push, url: 'https://x.example'}]}", "must not stand beside"),
    ],
)  # fmt: skip
def test_what_is_none_is_told_with_what_to_do(text: str, message: str) -> None:
    with pytest.raises(ConfigError) as error:
        read(text)
    assert message in str(error.value)
