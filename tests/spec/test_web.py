"""The settings `web` and `search`: what they take, and what they say of everything else."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from gateway.core.errors import ConfigError
from gateway.spec.policy import parse_policy
from gateway.spec.web import PROVIDERS
from gateway.web.providers import PROVIDERS as KNOWN

KEY = "key: {env: K}"
TAKEN = [
    ("web: {}", {}),
    ("web: {private: [a.example, '127.0.0.1:8080', '[::1]:80'], plain: ['*.example', a.example]}",
     {"private": ["a.example", "127.0.0.1:8080", "[::1]:80"], "plain": ["*.example", "a.example"]}),
    ("web: {private: localhost:3000}", {"private": ["localhost:3000"]}),
    (f"search: {{provider: brave, {KEY}}}", {"provider": "brave", "url": PROVIDERS["brave"], "key": "K"}),
    (f"search: {{provider: tavily, {KEY}}}", {"provider": "tavily", "url": PROVIDERS["tavily"], "key": "K"}),
    ("search: {provider: searxng, url: 'https://Search.example/search'}",
     {"provider": "searxng", "url": "https://search.example/search", "key": ""}),
    (f"search: {{provider: searxng, url: 'http://localhost:8888/search', {KEY}}}",
     {"provider": "searxng", "url": "http://localhost:8888/search", "key": "K"}),
    ("search: {provider: searxng, url: 'http://search.lan/search'}",
     {"provider": "searxng", "url": "http://search.lan/search", "key": ""}),
]  # fmt: skip


def parsed(text: str, tools: Any) -> Any:
    return parse_policy(f"version: 1\nsettings:\n  {text}\n", "p.yaml", tools)


@pytest.mark.parametrize(("text", "found"), TAKEN, ids=[text for text, _ in TAKEN])
def test_a_setting_is_taken(tools: Any, schema: Any, text: str, found: Any) -> None:
    name = text.partition(":")[0]
    assert parsed(text, tools)["settings"][name] == found
    schema.validate(yaml.safe_load(f"version: 1\nsettings:\n  {text}\n"))


MISTAKES = [
    ("web: {privates: []}", "`web` must not have the key `privates`"),
    ("web: {private: ['*.example']}", "`private` must name each host by itself"),
    ("web: {private: ['*']}", "`private` must name each host by itself"),
    ("web: {private: ['https://a.example']}", "`private` must hold hosts"),
    ("web: {plain: ['a.example:99999']}", "a port must be a number from 1 to 65535"),
    ("web: {plain: [a b]}", "`plain` must hold hosts"),
    ("search: {}", "`search` must name a `provider`"),
    ("search: {provider: bing}", "`provider` must be"),
    ("search: {provider: searxng}", "`search` must say the `url` of `searxng`"),
    ("search: {provider: brave}", "`search` must say the `key` of `brave`"),
    ("search: {provider: tavily}", "`search` must say the `key` of `tavily`"),
    ("search: {provider: brave, key: the-key-itself}", "never the key itself"),
    ("search: {provider: brave, key: {}}", "`key` must be `{env: NAME}`"),
    ("search: {provider: brave, key: {file: /x}}", "`key` must not have the key `file`"),
    ("search: {provider: brave, key: {env: A-B}}", "`env` must be the name of a variable"),
    ("search: {provider: brave, key: {env: 1A}}", "`env` must be the name of a variable"),
    (f"search: {{provider: brave, url: 'http://a.example/', {KEY}}}", "must not be sent without encryption"),
    (f"search: {{provider: searxng, url: 'http://10.0.0.1/', {KEY}}}", "must not be sent without encryption"),
    ("search: {provider: searxng, url: 'https://me:pw@a.example/'}", "must not carry a user name or password"),
    ("search: {provider: searxng, url: 'ftp://a.example/'}", "`url` must be an http or https URL"),
    ("search: {provider: searxng, url: 'https://a.example/?q=x'}", "`url` must end with its path"),
    ("search: {provider: searxng, url: 'https://a.example/', secret: x}", "`search` must not have the key `secret`"),
]


@pytest.mark.parametrize(("text", "message"), MISTAKES, ids=[text for text, _ in MISTAKES])
def test_a_mistake_is_told_when_the_file_is_read(tools: Any, text: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parsed(text, tools)
    assert message in str(caught.value)
    assert caught.value.problems[0].line == 3


def test_every_provider_that_may_be_named_is_there() -> None:
    assert set(PROVIDERS) == set(KNOWN)
