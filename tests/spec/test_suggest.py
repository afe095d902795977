"""Suggestions for misspelled names."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.spec.suggest import did_you_mean, nearest, one_of

KNOWN = ("effect", "path", "path_not", "host", "exec", "except", "excepts", "WebFetch")


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("efect", "effect"), ("effcet", "effect"), ("EFFECT", "effect"), ("path-not", "path_not"),
        ("pathnot", "path_not"),
        ("hots", "host"), ("webfetch", "WebFetch"), ("exept", "except"), ("zebra", ""), ("", ""), ("x", ""),
        ("effect" * 20, ""), ("p", ""),
    ],
)  # fmt: skip
def test_the_nearest_known_name_is_told(name, meant):
    assert nearest(name, KNOWN) == meant


@given(st.text(max_size=50), st.permutations(KNOWN))
def test_the_suggestion_does_not_depend_on_order(name, known):
    assert nearest(name, known) == nearest(name, KNOWN)


@given(st.sampled_from(KNOWN))
def test_a_known_name_is_its_own_nearest(name):
    assert nearest(name, KNOWN) == name


def test_remedies_read_as_sentences():
    assert did_you_mean("efect", KNOWN) == "did you mean `effect`?"
    assert did_you_mean("zebra", KNOWN, "otherwise") == "otherwise"
    assert [one_of(()), one_of(("a",)), one_of(("a", "b")), one_of(("a", "b", "c"))] == [
        "",
        "`a`",
        "`a` or `b`",
        "`a`, `b` or `c`",
    ]
