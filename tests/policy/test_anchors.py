"""What the path patterns of a rule are relative to, and where folders of the home lie that a user keeps elsewhere."""

from __future__ import annotations

import pytest

from gateway.policy.anchors import Anchors

MOVED = (("~/.config", "/mnt/c[1]"),)


def anchors(*, forbids: bool) -> Anchors:
    return Anchors("/p", "/", layer="/l", home="/h", forbids=forbids, moved=MOVED)


@pytest.mark.parametrize(
    ("written", "elsewhere"),
    [
        ("~/.config", ["//mnt/c\\[1]"]),
        ("~/.config/git/**", ["//mnt/c\\[1]/git/**"]),
        ("~/.configs", []),
        ("~/.config2/x", []),
        ("~", []),
        ("~/x/.config", []),
    ],
)
def test_what_forbids_speaks_of_a_folder_where_its_user_keeps_it_too(written: str, elsewhere: list[str]) -> None:
    found = anchors(forbids=True)
    assert found.patterns(written) == [found.pattern(each) for each in (written, *elsewhere)]
    assert anchors(forbids=False).patterns(written) == [anchors(forbids=False).pattern(written)]
