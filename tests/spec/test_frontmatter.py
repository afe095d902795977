"""Markdown with front matter, as people have it."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.core.errors import ConfigError
from gateway.spec.frontmatter import document

FILES = {
    "none": ("# Title\n", {}, "# Title\n"),
    "yaml": ("---\nname: a\ntools: [Read, Grep]\n---\n\nText\n", {"name": "a", "tools": ["Read", "Grep"]}, "Text\n"),
    "with a mark and other line ends": ("\ufeff---\r\nname: a\r\n---\r\nText\r\n", {"name": "a"}, "Text\n"),
    "empty": ("---\n---\nText", {}, "Text"),
    "never closed": ("---\nname: a\n", {}, "---\nname: a\n"),
    "a rule in the text": ("Text\n---\nname: a\n---\n", {}, "Text\n---\nname: a\n---\n"),
    "no yaml": (
        "---\nargument-hint: [a] [b]\ndescription: Use when: always\n  and ever\n---\nText",
        {"argument-hint": "[a] [b]", "description": "Use when: always and ever"},
        "Text",
    ),
    "no mapping": ("---\n- a\n---\nText", {}, "Text"),
}


@pytest.mark.parametrize(("text", "fields", "body"), FILES.values(), ids=FILES)
def test_a_file_says(text: str, fields: dict[str, Any], body: str) -> None:
    found = document(text.encode(), "a.md")
    assert (dict(found.fields), found.body) == (fields, body)


NAMES = {
    "with commas": ("Read, Grep", ("Read", "Grep")),
    "with blanks": ("Read Grep", ("Read", "Grep")),
    "with patterns": ("Bash(git add:*), Bash(ls -l, x) Read", ("Bash(git add:*)", "Bash(ls -l, x)", "Read")),
    "as a list": (["Read", "Bash(git *)"], ("Read", "Bash(git *)")),
    "none": ([], ()),
    "missing": (None, None),
}


@pytest.mark.parametrize(("value", "names"), NAMES.values(), ids=NAMES)
def test_names_are_read_as_people_write_them(value: Any, names: Any) -> None:
    import json

    text = "---\nx: 1\n---\n" if value is None else f"---\nnames: {json.dumps(value)}\n---\n"
    assert document(text.encode(), "a.md").names("names") == names


@pytest.mark.parametrize("value", ["Bash(git", "Bash)git(", "{a: 1}", "3", "[1]"])
def test_names_that_cannot_be_read_are_an_error(value: str) -> None:
    with pytest.raises(ConfigError):
        document(f"---\nnames: {value}\n---\n".encode(), "a.md").names("names")


def test_what_is_no_text_is_an_error() -> None:
    with pytest.raises(ConfigError, match="must be text in UTF-8"):
        document(b"\xff\xfe", "a.md")
