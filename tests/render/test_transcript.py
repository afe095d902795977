"""A session as a page: all that was said is there, and nothing of it becomes a part of the page."""

from __future__ import annotations

import json
from html.parser import HTMLParser
from typing import TYPE_CHECKING, Any

import pytest

from gateway.core.errors import ConfigError
from gateway.render.transcript import HTML, MARKDOWN, entries, page

if TYPE_CHECKING:
    from pathlib import Path

START = {"type": "start", "version": 1, "session": "s", "model": "m", "cwd": "/p", "mode": "default", "rules": []}


def said(text: str) -> list[dict[str, Any]]:
    return [
        START,
        {"type": "user", "content": [{"type": "text", "text": text}]},
        {
            "type": "assistant",
            "usage": {},
            "content": [
                {"type": "thinking", "thinking": text, "signature": "x"},
                {"type": "tool_use", "id": "c", "name": "Read", "input": {"file_path": text}},
            ],
        },
        {"type": "begun", "id": "c"},
        {"type": "result", "block": {"type": "tool_result", "tool_use_id": "c", "content": text, "is_error": True}},
        {"type": "assistant", "usage": {}, "content": [{"type": "text", "text": text}]},
        {"type": "cleared", "ids": ["c"]},
        {"type": "ended", "why": "done", "reason": ""},
    ]


def kept(folder: Path, lines: list[dict[str, Any]]) -> str:
    path = folder / "s.jsonl"
    path.write_text("".join(json.dumps(each) + "\n" for each in lines))
    return str(path)


class Elements(HTMLParser):
    """The elements of a page with their attributes, and its texts."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: set[tuple[str, str]] = set()
        self.texts: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found |= {(tag, name) for name, _ in attrs} or {(tag, "")}

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


PLAIN = "plain words"
HOSTILE = (
    "</pre></details><script>alert(1)</script>",
    '" onload="x',
    "```\n# a heading of its own\n````",
    "<!-- -->\x1b[2J\u202e",
    "&lt;b&gt;",
)


@pytest.mark.parametrize("text", HOSTILE)
def test_no_text_becomes_a_part_of_the_html_page(tmp_path: Path, text: str) -> None:
    wanted = Elements(page(kept(tmp_path, said(PLAIN)), HTML)).found
    assert Elements(page(kept(tmp_path, said(text)), HTML)).found == wanted


@pytest.mark.parametrize("text", HOSTILE)
def test_no_text_becomes_a_part_of_the_markdown_page(tmp_path: Path, text: str) -> None:
    headings = [line for line in outside_fences(page(kept(tmp_path, said(text)), MARKDOWN)) if line.startswith("#")]
    assert headings == [
        "# Session s with m", "## Session s with m", "## Person", "## Thinking", "## Call of Read",
        "## Failure of Read (failed)", "## Model", "## gateway", "## gateway",
    ]  # fmt: skip


def outside_fences(text: str) -> list[str]:
    found, fence = [], ""
    for line in text.split("\n"):
        mark = line[: len(line) - len(line.lstrip("`"))]
        if fence:
            fence = "" if mark == fence and line == mark else fence
        elif len(mark) >= 3:
            fence = mark
        else:
            found.append(line)
    return found


def test_everything_that_was_said_is_there_also_what_was_taken_out_later(tmp_path: Path) -> None:
    path = kept(tmp_path, said(PLAIN))
    assert [(each.kind, each.text) for each in entries(path)] == [
        ("note", "folder /p, mode default"),
        ("person", PLAIN),
        ("thinking", PLAIN),
        ("call", '{\n  "file_path": "plain words"\n}'),
        ("result", PLAIN),
        ("model", PLAIN),
        ("note", "1 old results were taken out for the model"),
        ("note", "ended: done"),
    ]
    for form in (MARKDOWN, HTML):
        assert page(path, form).count(PLAIN) == 5


def test_what_is_no_transcript_is_told_with_its_line(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"s.jsonl:2: this is no line of a transcript"):
        page(kept(tmp_path, [START, {"type": "nonsense"}]), HTML)
