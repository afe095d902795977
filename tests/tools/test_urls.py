"""URLs: one spelling, one host, and nothing that two readers could take for different hosts."""

from __future__ import annotations

from urllib.parse import urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.tools.paths import UnclearError
from gateway.tools.urls import Url, host, parse


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("https://example.com", Url("https://example.com/", "example.com", 443)),
        ("HTTPS://EXAMPLE.com./A", Url("https://example.com/A", "example.com", 443)),
        ("http://example.com", Url("http://example.com/", "example.com", 80)),
        ("http://example.com:8080/", Url("http://example.com:8080/", "example.com", 8080)),
        ("https://example.com:443/", Url("https://example.com/", "example.com", 443)),
        ("https://example.com:0443/", Url("https://example.com/", "example.com", 443)),
        ("https://example.com:/", Url("https://example.com/", "example.com", 443)),
        ("example.com", Url("https://example.com/", "example.com", 443)),
        ("example.com/a:b", Url("https://example.com/a:b", "example.com", 443)),
        ("example.com:8443/x", Url("https://example.com:8443/x", "example.com", 8443)),
        ("localhost:3000", Url("https://localhost:3000/", "localhost", 3000)),
        ("//example.com/x", Url("https://example.com/x", "example.com", 443)),
        ("https://example.com?q=a@b", Url("https://example.com/?q=a@b", "example.com", 443)),
        ("https://example.com#@evil.example", Url("https://example.com/#@evil.example", "example.com", 443)),
        ("https://example.com/@evil.example", Url("https://example.com/@evil.example", "example.com", 443)),
        ("https://a/b/../c/./d", Url("https://a/c/d", "a", 443)),
        ("https://a/b/%2E%2e/c", Url("https://a/c", "a", 443)),
        ("https://a/../../..", Url("https://a/", "a", 443)),
        ("https://a/b/..", Url("https://a/", "a", 443)),
        ("https://a/b?x=/../y", Url("https://a/b?x=/../y", "a", 443)),
        ("https://[::1]/", Url("https://[::1]/", "::1", 443)),
        ("https://[2001:DB8:0:0::1]:8443/x", Url("https://[2001:db8::1]:8443/x", "2001:db8::1", 8443)),
        ("https://[::ffff:127.0.0.1]/", Url("https://127.0.0.1/", "127.0.0.1", 443)),
        ("https://127.0.0.1/", Url("https://127.0.0.1/", "127.0.0.1", 443)),
        ("https://127.1/", Url("https://127.0.0.1/", "127.0.0.1", 443)),
        ("https://0x7f.0.0.1/", Url("https://127.0.0.1/", "127.0.0.1", 443)),
        ("https://0177.0.0.01/", Url("https://127.0.0.1/", "127.0.0.1", 443)),
        ("https://2130706433/", Url("https://127.0.0.1/", "127.0.0.1", 443)),
        ("https://0/", Url("https://0.0.0.0/", "0.0.0.0", 443)),
        ("https://169.254.43518/", Url("https://169.254.169.254/", "169.254.169.254", 443)),
        ("https://127.0.0.1./", Url("https://127.0.0.1/", "127.0.0.1", 443)),
        ("https://1.2.3.example/", Url("https://1.2.3.example/", "1.2.3.example", 443)),
        ("https://münchen.example/", Url("https://xn--mnchen-3ya.example/", "xn--mnchen-3ya.example", 443)),
        ("https://１２７.０.０.１/", Url("https://127.0.0.1/", "127.0.0.1", 443)),  # noqa: RUF001
        ("https://example。com/", Url("https://example.com/", "example.com", 443)),
        ("https://my_host.internal/ä", Url("https://my_host.internal/ä", "my_host.internal", 443)),
    ],
)
def test_a_url_has_one_spelling_and_one_host(text, url):
    assert parse(text) == url


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("http://example.com/a", Url("https://example.com/a", "example.com", 443)),
        ("http://example.com:80/", Url("https://example.com/", "example.com", 443)),
        ("http://example.com:8080/", Url("https://example.com:8080/", "example.com", 8080)),
        ("https://example.com:80/", Url("https://example.com:80/", "example.com", 80)),
    ],
)
def test_http_is_upgraded_where_the_tool_says_so(text, url):
    assert parse(text, upgrade=True) == url


@pytest.mark.parametrize(
    ("text", "must"),
    [
        ("", "must not be empty"),
        ("https://", "must name a host"),
        ("https:///etc/passwd", "must name a host"),
        ("https:example.com", "must be an http or https URL"),
        ("ftp://example.com/", "must be an http or https URL"),
        ("file:///etc/passwd", "must be an http or https URL"),
        ("javascript:alert(1)", "must be an http or https URL"),
        ("data:text/plain,x", "must be an http or https URL"),
        ("https://user@example.com/", "must not carry a user name"),
        ("https://example.com:443@evil.example/", "must not carry a user name"),
        ("https://example.com\\@evil.example/", "must not contain a backslash"),
        ("https:\\\\evil.example/", "must not contain a backslash"),
        ("https://exa mple.com/", "must not contain blanks"),
        ("https://example.com/\n", "must not contain blanks"),
        (" https://example.com/", "must not contain blanks"),
        ("https://exam\tple.com/", "must not contain blanks"),
        ("https://example.com/\u202e", "must not contain blanks"),
        ("https://example.com/\u00a0", "must not contain blanks"),
        ("https://example.com\0.evil.example/", "must not contain NUL"),
        ("https://example.com/\ud800", "must be valid Unicode"),
        ("https://%65xample.com/", "must name a host in letters"),
        ("https://*.example.com/", "must name a host in letters"),
        ("https://a/c℀.example/", None),
        ("https://a℀.example/", "must name a host"),
        ("https://a..b/", "must name a host with labels"),
        (f"https://{'a' * 64}.b/", "must name a host with labels"),
        (f"https://{'a.' * 127}b/", "must name a host in letters"),
        ("https://example.com:0/", "must have a port"),
        ("https://example.com:65536/", "must have a port"),
        ("https://example.com:8O/", "must have a port"),
        ("https://example.com:-1/", "must have a port"),
        ("https://example.com:80:80/", "must have a port"),
        ("https://256.1.1.1/", "must name a host that is no malformed address"),
        ("https://1.2.3.4.5/", "must name a host that is no malformed address"),
        ("https://08.0.0.1/", "must name a host that is no malformed address"),
        ("https://1.2.3.0x/", None),
        ("https://a.b.1/", "must name a host that is no malformed address"),
        ("https://[::1/", "must hold an IPv6 address in brackets"),
        ("https://[::1]x/", "must hold an IPv6 address in brackets"),
        ("https://[::g]/", "must hold an IPv6 address in brackets"),
        ("https://[fe80::1%25eth0]/", "must not hold an address with a zone"),
        ("https://::1/", "must name a host in letters"),
        ("https://example.com/" + "a" * 9000, "must be a URL of at most 8192 characters"),
    ],
)
def test_what_two_readers_could_take_for_different_hosts_is_refused(text, must):
    if must is None:
        parse(text)
        return
    with pytest.raises(UnclearError) as caught:
        parse(text)
    assert caught.value.must.startswith(must)


@given(st.text(alphabet="ahtps:/\\@.?#%[]0123456789x-_:", max_size=40) | st.text(max_size=20))
def test_the_canonical_spelling_is_stable_and_means_its_host(text):
    try:
        url = parse(text)
    except UnclearError:
        return
    assert parse(url.text) == url
    seen = urlsplit(url.text)
    assert (seen.hostname, seen.port or 443 if seen.scheme == "https" else seen.port or 80) == (url.host, url.port)
    assert "@" not in seen.netloc


def test_a_host_alone_is_read_the_same_way():
    assert host("EXAMPLE.com.") == "example.com"
    assert host("[::1]") == "::1"
    for written in ("", "a/b", "a:80", "*.example.com", "a b"):
        with pytest.raises(UnclearError):
            host(written)
