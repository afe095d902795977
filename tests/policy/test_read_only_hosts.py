"""Which predicted contacts are held to reading by the proxy as well."""

from __future__ import annotations

import pytest

from gateway.model.analysis import Analysis
from gateway.model.effect import Code, Connect, Credential, Effect, Item, System
from gateway.model.facts import ClientFact, Facts
from gateway.model.plan import CLUSTER, Logins
from gateway.policy.installs import Registry
from gateway.policy.read_only_hosts import changing, clusters_read, held_to_reading, logins_at, ports_of


@pytest.mark.parametrize(
    ("host", "direction", "known_by", "held"),
    [
        ("ec2.eu-west-1.amazonaws.com", "fetch", "provider", True),
        ("iam.amazonaws.com", "fetch", "provider", True),
        ("organizations.us-east-1.amazonaws.com", "fetch", "provider", True),
        ("global.health.amazonaws.com", "fetch", "provider", True),
        ("api.ecr.eu-west-1.amazonaws.com", "fetch", "provider", True),
        ("ec2.eu-west-1.amazonaws.com", "send", "provider", False),
        ("ec2.eu-west-1.amazonaws.com", "fetch", "", False),
        ("lambda.eu-west-1.amazonaws.com", "fetch", "provider", False),  # its reads have queries, which are signed
        ("s3.eu-west-1.amazonaws.com", "fetch", "provider", False),
        ("monitoring.eu-west-1.amazonaws.com", "fetch", "provider", False),  # asked in CBOR
        ("b.ec2.eu-west-1.amazonaws.com", "fetch", "provider", False),
        ("ec2.eu-west-1.amazonaws.com.evil.example", "fetch", "provider", False),
        ("github.com", "fetch", "provider", False),
    ],
)
def test_hosts_are_held_where_every_request_tells_whether_it_reads(
    host: str, direction: str, known_by: str, held: bool
) -> None:
    found = held_to_reading(Connect(host, 443, direction, (), known_by), 0, ())
    assert found == (Registry(host, (), ("aws",)) if held else None)


def test_what_changes_or_shows_a_secret_by_somebodys_leave_is_not_held() -> None:
    contact = Connect("sts.eu-west-1.amazonaws.com", 443, "fetch", (), "provider")
    items = [Item(contact, part=0), Item(System("secret", "show"), part=0), Item(contact, part=1)]
    parts = changing(items)
    assert [held_to_reading(contact, part, parts) is not None for part in (0, 1)] == [False, True]


CONFIG = "/home/dev/.kube/config"
KUBE = ClientFact(
    "", (CONFIG,),
    (
        ("unverified", "loose"), ("cluster", "a", "https://A.example:6443", ""), ("cluster", "b",
        "https://b.example", ""),
        ("cluster", "six", "https://[fd00::1]:6443", ""), ("cluster", "loose", "https://loose.example", ""),
        ("cluster", "planted", "https://planted.example", "calls may write /x", "/x"), ("user", "u", ""),
        ("user", "plug", "its login comes from `exec`"), ("context", "1", "a", "u"), ("context", "2", "a", "plug"),
        ("context", "3", "b", "u"), ("context", "4", "a", "missing"), ("context", "5", "planted", "u"),
        ("context", "6", "loose", "u"), ("context", "7", "a", ""),
    ),
)  # fmt: skip
FACTS = Facts(clients={CLUSTER: KUBE})
READ = Connect("a.example", 6443, "fetch", (), "person")
LOGIN = Credential("kubectl", CONFIG)
A = Registry("a.example", (), (CLUSTER,))


@pytest.mark.parametrize(
    ("effects", "expected"),
    [
        ([(0, READ), (0, LOGIN)], {0: A}),
        ([(0, READ), (1, READ), (1, LOGIN)], {0: A, 1: A}),
        ([(0, READ), (1, Code("x", (), ""))], {0: A}),
        ([(0, READ), (0, Code("kubectl", (), "a diff program"))], {}),
        ([(0, READ), (0, System("secret", "show"))], {}),
        ([(0, READ), (0, Connect("a.example", 6443, "send"))], {}),
        ([(0, READ), (0, Connect("evil.example", 443, "fetch"))], {}),
        # Beside a command that has the kubeconfig itself
        ([(0, READ), (1, LOGIN)], {}),
        ([(0, READ), (1, Connect("a.example", 6443, "send"))], {}),
        ([(0, READ.replace(known_by=""))], {}),
        ([(0, READ.replace(direction="send"))], {}),
        ([(0, READ.replace(port=443))], {}),
        ([(0, READ.replace(host="loose.example", port=443))], {}),
        ([(0, READ.replace(host="github.com", port=443))], {}),
    ],
)
def test_a_command_that_only_reads_from_the_kubeconfigs_cluster_is_held_to_it(
    effects: list[tuple[int, Effect]], expected: dict[int, Registry]
) -> None:
    items = tuple(Item(effect, part=part) for part, effect in effects)
    assert clusters_read(Analysis((), items), FACTS) == expected
    assert clusters_read(Analysis((), items), Facts(clients={CLUSTER: KUBE.replace(why="calls may write it")})) == {}


def test_logins_are_sent_where_a_context_names_both_and_no_call_can_change_either() -> None:
    assert logins_at({"a.example"}, {CLUSTER: KUBE}) == Logins((CONFIG,), (("a", "u"), ("a", "")))
    assert logins_at({"b.example", "planted.example", "loose.example"}, {CLUSTER: KUBE}).pairs == (("b", "u"),)
    assert logins_at({"a.example"}, {CLUSTER: KUBE.replace(why="x")}) == Logins()
    hosts = ("A.example", "b.example", "fd00::1", "loose.example", "planted.example", "c.example")
    assert [set(ports_of(KUBE, host)) for host in hosts] == [{6443}, {443}, {6443}, set(), set(), set()]
