"""Which results of a search are wanted: by the patterns of policies, each lane by its own law."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.web.domains import Domains, patterns

CASES = [
    ((), (), "https://any.example/x", True),
    (("good.example",), (), "https://good.example/x", True),
    (("good.example",), (), "https://docs.good.example/x", True),
    (("good.example",), (), "https://good.example.evil.example/", False),
    (("good.example",), (), "https://notgood.example/", False),
    (("good.example",), (), "https://evil.example/?good.example", False),
    (("*.good.example",), (), "https://good.example/", False),
    (("*.good.example",), (), "https://a.b.good.example/", True),
    (("api-*.good.example",), (), "https://api-1.good.example/", True),
    (("api-*.good.example",), (), "https://web.good.example/", False),
    (("https://Good.Example/",), (), "https://good.example/", True),
    (("good.example",), ("bad.good.example",), "https://good.example/", True),
    (("good.example",), ("bad.good.example",), "https://x.bad.good.example/", False),
    ((), ("bad.example",), "https://bad.example/", False),
    ((), ("bad.example",), "https://www.bad.example/", False),
    ((), ("bad.example",), "https://good.example/", True),
    ((), ("private", "loopback"), "http://10.0.0.1/", False),
    ((), ("private", "loopback"), "http://0x7f.1/", False),
    ((), ("private", "loopback"), "http://localhost/", False),
    (("b\u00fccher.example",), (), "https://xn--bcher-kva.example/", True),
    ((), ("xn--bcher-kva.example",), "https://b\u00fccher.example/", False),
    ((), (), "file:///etc/passwd", False),
    ((), (), "javascript:alert(1)", False),
    ((), (), "https://me:pw@good.example/", False),
    ((), (), "", False),
]  # fmt: skip


@pytest.mark.parametrize(("allowed", "blocked", "url", "wanted"), CASES)
def test_a_result_is_wanted(allowed: tuple[str, ...], blocked: tuple[str, ...], url: str, wanted: bool) -> None:
    assert Domains(allowed, blocked).wants(url) is wanted


@pytest.mark.parametrize(
    "entry", ["", " ", "a b", "good.example/path", "good.example:80", "*.a.*.**", "https://", "-/-"]
)
def test_what_is_no_pattern_is_refused(entry: str) -> None:
    with pytest.raises(ValueError, match=r"domain|pattern|host"):
        Domains((entry,), ())


def test_what_providers_are_told() -> None:
    found = Domains(("Good.example", "*.docs.example"), ("bad.example",))
    assert (found.allowed, found.blocked) == (("good.example", "docs.example"), ("bad.example",))
    assert Domains(("api-*.example", "good.example"), ("10.0.0.0/8",)).allowed == ()  # part of it would be too little
    assert Domains((), ("bad.example", "private")).blocked == ()
    assert patterns("good.example") == ["good.example", "*.good.example"]


NAMES = st.sampled_from(["a.example", "b.example", "x.a.example", "*.b.example", "c.test"])


@given(st.lists(NAMES, max_size=3), st.lists(NAMES, max_size=3), NAMES.filter(lambda name: "*" not in name))
def test_blocking_more_never_lets_more_through(allowed: list[str], blocked: list[str], host: str) -> None:
    url = f"https://{host}/"
    if Domains(allowed, [*blocked, "a.example"]).wants(url):
        assert Domains(allowed, blocked).wants(url)
    if allowed and Domains(allowed, blocked).wants(url):
        assert Domains((), blocked).wants(url)
