"""Which hosts, ports and addresses a network lets a call reach."""

from __future__ import annotations

import pytest

from gateway.model.plan import CLUSTER, Endpoint, Injection, Network
from gateway.sandbox.egress.addresses import Host, address_of, host_of
from gateway.sandbox.egress.decide import Rules, Ruling, rules_of

LISTED = Network(
    "listed",
    allow=(
        Endpoint("example.com", 0, "web"),
        Endpoint("*.example.org", 0, "below"),
        Endpoint("git.example.net", 22, "git"),
        Endpoint("10.1.2.3", 5432, "db"),
        Endpoint("intern.example", 0, "intern"),
        Endpoint("169.254.169.254", 80, "meta"),
    ),
    deny=(
        Endpoint("bad.example.org", 0, "no-bad"),
        Endpoint("example.com", 8443, "no-8443"),
        Endpoint("9.9.9.9", 0, "no-9"),
    ),
    ports=(8443,),
)
NOT_AMONG = "this host is not among those that this call may reach"


def port_refused(port: int) -> Ruling:
    return Ruling(False, "", f"port {port} of this host is not among those that this call may reach")


@pytest.mark.parametrize(
    ("host", "port", "ruling"),
    [
        ("example.com", 443, Ruling(True, "web")),
        ("example.com", 80, Ruling(True, "web")),
        ("example.com", 22, port_refused(22)),
        ("example.com", 8443, Ruling(False, "no-8443", "rule `no-8443` denies it")),
        ("www.example.com", 443, Ruling(False, "", NOT_AMONG)),
        ("a.b.example.org", 8443, Ruling(True, "below")),
        ("example.org", 443, Ruling(False, "", NOT_AMONG)),
        ("xexample.org", 443, Ruling(False, "", NOT_AMONG)),
        ("bad.example.org", 443, Ruling(False, "no-bad", "rule `no-bad` denies it")),
        ("bad.example.org", 22, Ruling(False, "no-bad", "rule `no-bad` denies it")),
        ("git.example.net", 22, Ruling(True, "git")),
        ("git.example.net", 443, port_refused(443)),
        ("10.1.2.3", 5432, Ruling(True, "db")),
        ("10.1.2.3", 80, port_refused(80)),
        ("10.1.2.4", 5432, Ruling(False, "", NOT_AMONG)),
        ("example.com", 0, Ruling(False, "", "there is no such port")),
    ],
)
def test_only_what_is_listed_may_be_dialled_and_denies_win(host: str, port: int, ruling: Ruling) -> None:
    assert Rules(LISTED).name(host_of(host), port) == ruling


@pytest.mark.parametrize(
    ("network", "host", "port", "allowed"),
    [
        (Network("off", (Endpoint("example.com"),)), "example.com", 443, False),
        (Network("listed"), "example.com", 443, False),
        (Network("open"), "example.com", 6667, True),
        (Network("open", deny=(Endpoint("example.com"),)), "example.com", 443, False),
        (Network("open", deny=(Endpoint("*"),)), "example.com", 443, False),
        (Network("listed", (Endpoint("*"),)), "example.com", 443, True),
        (Network("listed", (Endpoint("*"),)), "example.com", 22, False),
    ],
    ids=[
        "off",
        "nothing listed",
        "open, any port",
        "open, denied",
        "open, all denied",
        "any host",
        "any host, web only",
    ],
)
def test_the_mode_says_what_holds_where_no_endpoint_speaks(
    network: Network, host: str, port: int, allowed: bool
) -> None:
    assert Rules(network).name(host_of(host), port).allowed is allowed


@pytest.mark.parametrize(
    ("host", "address", "port", "allowed"),
    [
        ("example.com", "93.184.216.34", 443, True),
        ("example.com", "9.9.9.9", 443, False),
        ("a.example.org", "10.0.0.1", 443, False),
        ("a.example.org", "127.0.0.1", 443, False),
        ("a.example.org", "10.1.2.3", 443, False),  # named, but for another port
        ("intern.example", "10.0.0.1", 443, True),
        ("intern.example", "127.0.0.1", 443, True),
        ("intern.example", "10.0.0.1", 22, False),
        ("intern.example", "169.254.169.254", 443, False),
        ("169.254.169.254", "169.254.169.254", 80, True),
        ("10.1.2.3", "10.1.2.3", 5432, True),
    ],
)
def test_an_address_that_is_not_public_must_be_named(host: str, address: str, port: int, allowed: bool) -> None:
    assert Rules(LISTED).address(host_of(host), address_of(address), port).allowed is allowed


def test_a_refused_address_is_explained() -> None:
    ruling = Rules(Network("open")).address(Host("a.example"), address_of("192.168.0.1"), 443)
    reason = "it leads to a private address (192.168.0.1), and no rule names that host or address"
    assert ruling == Ruling(False, "", reason)


@pytest.mark.parametrize("named", ["metadata.google.internal", "metadata"])
def test_the_metadata_service_opens_by_its_own_name_or_group_only(named: str) -> None:
    host = Host("metadata.google.internal")
    there = address_of("169.254.169.254")
    assert Rules(Network("listed", (Endpoint(named, 80),))).address(host, there, 80).allowed
    assert not Rules(Network("listed", (Endpoint("*", 80),))).address(host, there, 80).allowed


def test_ports_for_tools_that_know_no_proxy_are_those_of_policy_and_of_the_web() -> None:
    rules = Rules(LISTED)
    assert rules.ports(Host("git.example.net")) == (22, 80, 443)
    assert rules.ports(Host("a.example.org")) == (80, 443, 8443)
    assert rules.ports(Host("other.example")) == ()
    assert Rules(Network("open")).ports(Host("other.example")) == (22, 80, 443, 9418)


def test_addresses_named_one_by_one_are_known_with_their_ports() -> None:
    network = Network(
        "listed", (Endpoint("192.0.2.7", 22), Endpoint("127.0.0.1", 80), Endpoint("10.0.0.0/8")), ports=(22,)
    )
    assert Rules(network).literals() == ((address_of("192.0.2.7"), 22),)


def test_headers_belong_to_hosts() -> None:
    mine = Injection("*.example.com", "Authorization", "env:T")
    rules = Rules(Network("open", inject=(mine,)))
    assert (rules.injections(Host("a.example.com")), rules.injections(Host("example.com"))) == ((mine,), ())


@pytest.mark.parametrize(
    "network",
    [
        Network("wide"),
        Network("listed", (Endpoint("https://example.com"),)),
        Network("listed", deny=(Endpoint("a b"),)),
        Network("listed", inject=(Injection("a/b", "X", "env:T"),)),
        Network("listed", inject=(Injection("*", "X", "env:T"),)),
    ],
    ids=["unknown mode", "a URL as host", "a space in a deny", "a path in an injection", "a secret for any host"],
)
def test_a_network_that_is_not_clear_has_no_rules(network: Network) -> None:
    with pytest.raises(ValueError, match="must"):
        rules_of(network)


@pytest.mark.parametrize(
    ("host", "port", "fine"),
    [
        ("c.example", 6443, True),
        ("c.example", 443, True),
        ("k8s", 6443, True),
        ("10.0.0.1", 6443, True),
        ("fd00::1", 6443, True),
        ("c.example", 80, False),
        ("c.example", 0, False),
        ("*.example", 6443, False),
        ("10.0.0.0/8", 6443, False),
        ("metadata", 6443, False),
    ],
)
def test_the_api_of_a_cluster_is_one_host_at_one_port_with_tls(host: str, port: int, fine: bool) -> None:
    network = Network("listed", (Endpoint(host, port, "c", "read", also=(CLUSTER,)), Endpoint(host, 9443, "full")))
    if not fine:
        with pytest.raises(ValueError, match="only one host can be granted to read"):
            Rules(network)
        return
    rules, here = Rules(network), host_of(f"[{host}]" if ":" in host else host)
    assert [rules.name(here, each).allowed for each in (port, 80, 7443, 9443)] == [True, False, False, True]
    assert [rules.reads_only(here, each) for each in (port, 80, 9443)] == [True, False, False]
    assert (rules.also(here, port), rules.leaves_open(here, 7443)) == ((CLUSTER,), False)
    # What opens the place in full does not take the login along.
    wider = Rules(network.replace(allow=(*network.allow, Endpoint(host, port, "full"), Endpoint("*", port, "all"))))
    assert wider.reads_only(here, port)
