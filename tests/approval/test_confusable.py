"""Words that look like others are pointed out, and honest words of any script are left alone."""

from __future__ import annotations

import pytest

from gateway.approval.confusable import findings, with_escapes


@pytest.mark.parametrize(
    ("text", "seems", "escaped"),
    [
        pytest.param("\u0441url x", ["curl"], "\\u0441url x", id="a Cyrillic letter in a Latin word"),
        pytest.param("curl g\u043e\u043egle.com", ["google"], "curl g\\u043e\\u043egle.com", id="in a host"),
        pytest.param("\u0441\u043e\u0440\u0443 a", ["copy"], "\\u0441\\u043e\\u0440\\u0443 a", id="a whole word"),
        pytest.param("cat /etc\u2215passwd", ["etc/passwd"], "cat /etc\\u2215passwd", id="a slash that is none"),
        pytest.param("rm \u2013rf x", ["-rf"], "rm \\u2013rf x", id="a dash that is none"),
        pytest.param("a\u037e b", ["a;"], "a\\u037e b", id="a semicolon that is none"),
        pytest.param("\uff52\uff4d x", ["rm"], "\\uff52\\uff4d x", id="wide letters"),
        pytest.param("\U0001d42bm x", ["rm"], "\\U0001d42bm x", id="mathematical letters"),
        pytest.param("\u03bfpen x", ["open"], "\\u03bfpen x", id="a Greek letter"),
        pytest.param("curl xn--80ak6aa92e.com", ["apple"], "curl xn--80ak6aa92e.com", id="an encoded name"),
        pytest.param("echo \u043f\u0440\u0438\u0432\u0435\u0442 \u043c\u0438\u0440.txt", [], None, id="Russian"),
        pytest.param("echo na\u00efve caf\u00e9", [], None, id="French"),
        pytest.param("cat \u65e5\u672c\u8a9e.txt", [], None, id="Japanese"),
        pytest.param("cat \u03b1\u03bb\u03c6\u03b1.txt", [], None, id="Greek"),
        pytest.param("git commit -m 'done \U0001f44d'", [], None, id="a picture"),
        pytest.param("curl https://example.com/a?b=c", [], None, id="plain text"),
    ],
)
def test_what_looks_like_something_else(text: str, seems: list[str], escaped: str | None) -> None:
    assert ([each.seems for each in findings(text)], with_escapes(text)) == (seems, escaped or text)


def test_the_characters_are_named() -> None:
    (found,) = findings("\u0441url")
    assert found.why == "it mixes Cyrillic and Latin letters (U+0441 CYRILLIC SMALL LETTER ES)"


def test_an_encoded_name_that_is_none_is_pointed_out() -> None:
    (found,) = findings("curl https://xn--\u0441/")
    assert found.word == "xn--\u0441"
    assert [each.why for each in findings("curl https://xn--9999999999/")] == [
        "it claims to be a name in its encoded form, and is none"
    ]
