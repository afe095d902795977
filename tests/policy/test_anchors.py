"""What the path patterns of a rule are relative to, and where folders of the home lie that a user keeps elsewhere."""

from __future__ import annotations

import pytest

from gateway.policy.anchors import Anchors

# What a rule names: where it holds if it allows, and if it forbids.
PLACES = {
    "a": ("/p/**/a", "/**/a"),
    "a/": ("/p/**/a/", "/**/a/"),
    ".env": ("/p/**/.env", "/**/.env"),
    "~a": ("/p/**/~a", "/**/~a"),
    "a/**": ("/p/a/**", "/**/a/**"),
    "a/b": ("/p/a/b", "/p/a/b"),
    "**/b": ("/p/**/b", "/**/b"),
    ".": ("/p", "/p"),
    "./": ("/p", "/p"),
    "./**": ("/p/**", "/p/**"),
    "./a": ("/p/a", "/p/a"),
    "~": ("/h", "/h"),
    "~/**": ("/h/**", "/h/**"),
    "~/a": ("/h/a", "/h/a"),
    "/a": ("/l/a", "/l/a"),
    "//a": ("/a", "/a"),
}
MOVED = (("~/.config", "/mnt/c[1]"),)


def test_a_single_name_holds_at_any_depth_and_where_it_forbids_everywhere() -> None:
    forbids = Anchors("/p", "/", "/l", "/h", forbids=True)
    allows = Anchors("/p", "/p", "/l", "/h", forbids=False)
    assert {each: (allows.pattern(each), forbids.pattern(each)) for each in PLACES} == PLACES


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
