"""Which predicted contacts are held to reading by the proxy as well."""

from __future__ import annotations

import pytest

from gateway.model.effect import Connect, Item, System
from gateway.policy.installs import Registry
from gateway.policy.read_only_hosts import changing, held_to_reading


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
