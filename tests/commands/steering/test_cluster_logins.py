"""The logins of a kubeconfig, and what is seen in its place."""

from __future__ import annotations

import json
from typing import Any

import pytest

from gateway.commands.steering.cluster_logins import accesses, stand_in, without_logins
from gateway.commands.steering.entries import NotRead

SECRETS = {
    "token": "SECRET", "tokenFile": "SECRET", "username": "SECRET", "password": "SECRET", "client-key-data": "SECRET",
    "client-certificate": "SECRET", "exec": {"command": "SECRET", "env": [{"name": "A", "value": "SECRET"}]},
    "auth-provider": {"config": {"access-token": "SECRET"}}, "as": "SECRET", "extensions": [{"name": "SECRET"}],
}  # fmt: skip


def seen(**said: Any) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(without_logins(json.dumps(said), "/authority", "http://proxy"))
    return found


def test_of_a_kubeconfig_names_addresses_and_namespaces_are_seen() -> None:
    trust = {"certificate-authority-data": "SECRET", "tls-server-name": "SECRET", "extensions": [{"name": "SECRET"}]}
    context = {"cluster": "c", "user": "u", "namespace": "web", "extensions": [{"name": "SECRET"}]}
    found = seen(
        **{"current-context": "x", "preferences": {"a": "SECRET"}, "extensions": [{"name": "SECRET"}]},
        clusters=[
            {"name": "c", "cluster": {"server": "https://h.example:6443/base", **trust}},
            {"name": "login", "cluster": {"server": "https://SECRET:SECRET@h.example"}},
            {"name": "query", "cluster": {"server": "https://h.example/?SECRET"}},
            {"name": "proxied", "cluster": {"server": "https://h.example", "proxy-url": "http://SECRET"}},
        ],
        users=[{"name": "u", "user": SECRETS}],
        contexts=[{"name": "x", "context": context}, {"name": "empty", "context": {}}],
    )
    assert "SECRET" not in json.dumps(found)
    assert found == {
        "apiVersion": "v1", "kind": "Config", "current-context": "x",
        "clusters": [
            {"name": "c", "cluster": {"server": "https://h.example:6443/base", "certificate-authority": "/authority"}}
        ],
        "contexts": [
            {"name": "x", "context": {"cluster": "c", "user": "u", "namespace": "web"}},
            {"name": "empty", "context": {}},
        ],
        "users": [{"name": "u", "user": {"token": stand_in("u")}}],
    }  # fmt: skip


@pytest.mark.parametrize(
    ("host", "near"),
    [
        ("127.0.0.1:34567", True), ("127.9.9.9", True), ("localhost:6443", True), ("LOCALHOST", True),
        ("a.localhost", True), ("[::1]:6443", True), ("10.0.0.1:6443", False), ("h.example", False),
        ("localhost.example", False), ("0.0.0.0:6443", False),
    ],
)  # fmt: skip
def test_a_cluster_on_the_loopback_is_asked_through_the_proxy(host: str, near: bool) -> None:
    found = seen(clusters=[{"name": "c", "cluster": {"server": f"https://{host}"}}])
    assert ("proxy-url" in found["clusters"][0]["cluster"]) is near


def test_a_login_goes_where_a_context_and_the_judgement_name_both() -> None:
    def text(names: str, token: str, **more: Any) -> str:
        return json.dumps({
            "clusters": [{"name": each, "cluster": {"server": f"https://{each}-{token}.example"}} for each in names],
            "users": [{"name": each, "user": {"token": token}} for each in names],
            "contexts": [{"name": each, "context": {"cluster": each, "user": each}} for each in names],
            **more,
        })  # fmt: skip

    texts = [("/k/1", text("ab", "1")), ("/k/2", text("bc", "2", **{"current-context": "b"}))]
    found = accesses(texts, (("a", "a"), ("b", "b")))
    assert [(each.name, each.host, each.user["token"], each.files[0], bool(each.why)) for each in found] == [
        ("b", "b-1.example", "1", "/k/1", False),
        ("a", "a-1.example", "1", "/k/1", False),
        ("c", "c-2.example", "2", "/k/2", True),
    ]


@pytest.mark.parametrize(
    "text", ["- a", "clusters: x", "users: [{name: [a]}]", "contexts: [{name: a, context: b}]", "a: ["]
)
def test_what_is_no_kubeconfig_is_not_read(text: str) -> None:
    with pytest.raises(NotRead):
        without_logins(text, "", "")
    with pytest.raises(NotRead):
        accesses([("/k", text)], ())
