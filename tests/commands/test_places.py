"""Paths and hosts are read from words without looking at anything."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.commands.places import absolute, escaped, host_of, remote, unescaped
from gateway.model.effect import HOLE


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("a", "/w/a"),
        ("./a/../b", "/w/b"),
        ("../x", "/x"),
        ("../../../x", "/x"),
        ("/etc//passwd", "/etc/passwd"),
        ("//etc/passwd", "/etc/passwd"),
        ("a/", "/w/a"),
        (".", "/w"),
        ("", "/w"),
        (".env", "/w/.env"),
        (HOLE, HOLE),
        (f"{HOLE}/x", f"{HOLE}/x"),
        (f"src/./{HOLE}", f"/w/src/{HOLE}"),
        (f"a/../b{HOLE}/../c", f"/w/b{HOLE}/../c"),
    ],
)
def test_a_path_becomes_absolute_and_normal_as_far_as_it_is_known(text: str, path: str) -> None:
    assert absolute(text, "/w") == path


def test_a_relative_path_in_an_unknown_folder_stays_unknown() -> None:
    assert absolute("a", "") == f"{HOLE}/a"
    assert absolute("/a", "") == "/a"


@given(st.text(alphabet="ab*?[]/", max_size=12))
def test_escaping_a_path_can_be_undone(text: str) -> None:
    assert unescaped(escaped(text)) == text


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("https://Example.COM/x", ("https", "example.com", 443)),
        ("http://h:8080/x", ("http", "h", 8080)),
        ("https://example.com.", ("https", "example.com", 443)),
        ("https://user:pw@evil.com/good.com", ("https", "evil.com", 443)),
        ("https://good.com@evil.com@x/", ("https", HOLE, 443)),
        ("https://good.com\\@evil.com/", ("https", HOLE, 443)),
        ("https://good.com#@evil.com/", ("https", "good.com", 443)),
        ("https://{a,b}.com/", ("https", HOLE, 443)),
        ("https://[::1]:8/", ("https", "::1", 8)),
        ("https://[1-3].x/", ("https", HOLE, 443)),
        (f"https://x.com/{HOLE}", ("https", "x.com", 443)),
        (f"https://x.com{HOLE}", ("https", HOLE, 443)),
        (f"{HOLE}://x.com", ("", HOLE, 0)),
        ("https://ex\u0430mple.com/", ("https", HOLE, 443)),
        ("https://h:x/", ("https", HOLE, 443)),
        ("https://%65vil.com/", ("https", HOLE, 443)),
        ("", ("", HOLE, 0)),
    ],
)
def test_a_host_is_known_only_if_every_reader_would_see_the_same(text: str, found: tuple[str, str, int]) -> None:
    scheme, host, port = host_of(text)
    assert (scheme, host) == found[:2]
    assert port == found[2] or host == HOLE


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("git@github.com:a/b.git", ("ssh", "github.com", 22)),
        ("h:path", ("ssh", "h", 22)),
        ("ssh://git@h:7/x", ("ssh", "h", 7)),
        ("ext::sh -c x", ("helper", HOLE, 0)),
        ("./a:b", None),
        ("/a:b", None),
        ("dir", None),
        (HOLE, ("", HOLE, 0)),
        ("-oProxyCommand=x:y", ("ssh", HOLE, 22)),
    ],
)
def test_a_place_is_remote_if_it_is_a_url_or_has_a_host_before_a_colon(
    text: str, found: tuple[str, str, int] | None
) -> None:
    assert remote(text) == found
