"""Paths as addresses and back."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.lsp.uris import path_of, uri_of


@given(st.binary().filter(lambda name: b"\0" not in name))
def test_every_path_comes_back(name: bytes) -> None:
    path = "/" + name.decode("utf-8", "surrogateescape")
    assert path_of(uri_of(path)) == path


FORMS = {
    "escapes": ("file:///a%20b/%C3%A9", "/a b/é"),
    "a host that is this machine": ("file://localhost/a", "/a"),
    "capitals": ("FILE:///a", "/a"),
    "dots, which whoever opens it resolves": ("file:///a/../b", "/a/../b"),
    "another machine": ("file://server/a", ""),
    "another scheme": ("https://example.com/a", ""),
    "a file that is only in the editor": ("untitled:Untitled-1", ""),
    "no slash": ("file://", ""),
    "a query": ("file:///a?b", ""),
    "a fragment": ("file:///a#b", ""),
    "half of a character": ("file:///a\ud800", ""),
    "NUL": ("file:///a%00b", ""),
    "no text": (7, ""),
    "nothing": (None, ""),
}


@pytest.mark.parametrize(("uri", "path"), FORMS.values(), ids=FORMS)
def test_an_address_leads_to_a_path_or_nowhere(uri: Any, path: str) -> None:
    assert path_of(uri) == path
