"""What of the setting `hosts` becomes of clusters: read at the kubeconfig's ports, with its logins, or withheld."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.model.facts import ClientFact
from gateway.model.plan import CLUSTER, NO_LOGINS, Endpoint, Logins
from gateway.policy.confine import Contact, Grants, Reach
from gateway.policy.installs import Registry
from gateway.sandbox.network import network_of
from gateway.sandbox.profile import Profile

CONFIG = "/home/dev/.kube/config"
KUBE = ClientFact(
    "", (CONFIG,),
    (
        ("cluster", "a", "https://a.example:6443", ""), ("cluster", "b", "https://a.example:7443", ""),
        ("cluster", "plain", "https://p.example:80", ""), ("user", "u", ""), ("context", "1", "a", "u"),
    ),
)  # fmt: skip
GRANTS = Grants("rule", profiled=True, network="listed")
PREDICTED = Registry("a.example", (), (CLUSTER,))
PAIRS = Logins((CONFIG,), (("a", "u"),))


def read(port: int, rule: str = "sandbox") -> Endpoint:
    return Endpoint("a.example", port, rule, "read", also=(CLUSTER,))


@pytest.mark.parametrize(
    ("host", "fact", "grants", "allow", "logins", "withheld"),
    [
        ("a.example", KUBE, GRANTS, (read(6443), read(7443)), PAIRS, ""),
        ("a.example:6443", KUBE, GRANTS, (read(6443),), PAIRS, ""),
        ("a.example:443", KUBE, GRANTS, (), NO_LOGINS, "the kubeconfig has no cluster there"),
        ("other.example", KUBE, GRANTS, (), NO_LOGINS, "the kubeconfig has no cluster there"),
        ("p.example", KUBE, GRANTS, (), NO_LOGINS, "the kubeconfig has no cluster there"),
        ("a.example", None, GRANTS, (), NO_LOGINS, "nobody can tell what the kubeconfig says"),
        ("a.example", ClientFact("calls may write it"), GRANTS, (), NO_LOGINS, "calls may write it"),
        (
            "a.example", KUBE, GRANTS.replace(credentials=(Reach(CONFIG, CONFIG),)), (), NO_LOGINS,
            "the call has the kubeconfig itself",
        ),
        (
            "a.example", KUBE,
            GRANTS.replace(contacts=(Contact("a.example", 6443, "r", PREDICTED),), logins=PAIRS),
            (read(6443, "r"), read(7443)), PAIRS, "",
        ),
        ("a.example", KUBE, GRANTS.replace(profiled=False), (), NO_LOGINS, ""),
        ("a.example", KUBE, GRANTS.replace(network="off"), (), NO_LOGINS, ""),
    ],
)  # fmt: skip
def test_a_cluster_of_the_profile_is_read_where_the_kubeconfig_has_it(
    host: str, fact: ClientFact | None, grants: Grants, allow: tuple[Endpoint, ...], logins: Logins, withheld: str
) -> None:
    entry: dict[str, Any] = {"host": host, "access": "read", "also": [CLUSTER]}
    network, left = network_of(grants, Profile({"hosts": [entry]}), (), (), clusters=fact)
    assert (network.allow, network.logins) == (allow, logins)
    assert [what for what, _why in left] == ([f"connect {host}"] if withheld else [])
    assert all(withheld in why for _what, why in left)
