"""How calls look: from a tool's own words or in the general form, condensed and full, on a terminal and piped."""

from __future__ import annotations

import io
from typing import Any

import pytest

from gateway.calls.output import Image, Output, Progress, Text
from gateway.config.shipped import load_tools
from gateway.core.places import places
from gateway.model.call import RawCall
from gateway.render.screen import Look, Screen
from gateway.render.texts import call_text, condensed, shown, summary
from gateway.render.themes import THEMES


@pytest.fixture(autouse=True)
def a_terminal_with_colours(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NO_COLOR", "FORCE_COLOR", "COLORTERM"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm")


@pytest.fixture(scope="module")
def tools() -> Any:
    return load_tools(places())


CALLS = {
    "its condensed form": ("Read", {"file_path": "a"}, False, "Read a"),
    "its full form": ("Read", {"file_path": "a", "offset": 3, "limit": 2}, True, "Read a from line 3, 2 lines"),
    "a full form that lacks something": ("Read", {"file_path": "a", "limit": 2}, True, "Read a\n  limit: 2"),
    "a form of several lines": ("Bash", {"command": "ls\nid", "description": "look"}, True, "$ ls\nid\n# look"),
    "several lines at a glance": ("Bash", {"command": "ls\nid"}, False, "$ ls ⏎ id"),
    "the general form": ("mcp__a__b", {"x": 1}, False, "mcp__a__b()"),
    "the general form in full": ("mcp__a__b", {"x": [1], "y": "z"}, True, "mcp__a__b()\n  x: [1]\n  y: z"),
    "what cannot be seen": ("Read", {"file_path": "a\x1b[2J‮b"}, False, "Read a\\x1b[2J\\u202eb"),
    "a long one": ("Bash", {"command": "x" * 500}, False, "$ " + "x" * 104 + "…" + "x" * 53),
}


@pytest.mark.parametrize(("name", "fields", "full", "text"), CALLS.values(), ids=CALLS)
def test_a_call(tools: Any, name: str, fields: dict[str, Any], full: bool, text: str) -> None:
    tool = tools.tool(name)
    assert call_text(tool.entry, fields, tool.match, full=full) == text


def test_texts() -> None:
    assert shown("a\tb\r\nc\x01") == "a   b\nc\\x01"
    assert condensed("\n".join("abcdefghijklmnop"), 3) == "a\nb\nc\n… 13 more lines (--full shows them)"
    assert condensed("a\nb", 3) == "a\nb"
    output = Output((Text("a\nb"), Image("image/png", b"x")), changed=("/a", "/b"))
    assert (summary(output), summary(Output())) == ("2 lines, 1 picture, 2 files changed", "nothing")


def seen(done: Any, raw: RawCall, tool: Any, look: Look = Look(), *, terminal: bool = False) -> str:  # noqa: B008
    stream = io.StringIO()
    Screen(stream, look, terminal=terminal).done(tool, raw, done)
    return stream.getvalue()


def done_with(ground: Any, output: Output, raw: RawCall) -> Any:
    ground.stands_for("files.read", lambda _call, _work: output)
    return ground.open().call(raw)


READ = RawCall("Read", {"file_path": "a"})
DIFF = "--- a\n+++ a\n@@ -1 +1 @@\n-old\n+new\n same\n"


def test_a_diff_is_coloured_line_by_line_and_plain_when_piped(ground, tools: Any) -> None:
    done = done_with(ground, Output((Text("changed"),), diff=DIFF), READ)
    assert seen(done, READ, tools["Read"]) == DIFF
    coloured = seen(done, READ, tools["Read"], terminal=True)
    assert "\x1b[31m-old" in coloured
    assert "\x1b[32m+new" in coloured


def test_a_long_diff_is_cut_at_a_glance_only(ground, tools: Any) -> None:
    diff = "".join(f"+{n}\n" for n in range(100))
    done = done_with(ground, Output((), diff=diff), READ)
    assert seen(done, READ, tools["Read"]).endswith("+39\n… 60 more lines\n")
    assert seen(done, READ, tools["Read"], Look(full=True)) == diff


def test_pictures_notes_and_reports_are_told(ground, tools: Any) -> None:
    output = Output((Image("image/png", b"1234"),), notes=("mind\x07",))
    done = done_with(ground, output, READ).replace(reports=("look out",))
    assert seen(done, READ, tools["Read"]) == "[picture: image/png, 4 bytes]\nnote: mind\\x07\ngateway: look out\n"


def test_errors_and_refusals_look_like_what_they_are(ground, tools: Any) -> None:
    done = done_with(ground, Output((Text("no such file"),), is_error=True), READ)
    assert "\x1b[1;31mno such file" in seen(done, READ, tools["Read"], terminal=True)
    refused = ground.open().call(RawCall("Read", {"file_path": ".env"}))
    assert seen(refused, READ, tools["Read"]).startswith("✗ `Read(")


@pytest.mark.parametrize("theme", THEMES)
def test_every_theme_has_every_style(theme: str) -> None:
    assert set(THEMES[theme]) == set(THEMES["dark"])
    stream = io.StringIO()
    Screen(stream, Look(theme=theme), terminal=True).progress(load_tools(places())["Read"], Progress("status", "x"))
    assert "x" in stream.getvalue()


def test_a_width_is_kept(tools: Any) -> None:
    stream = io.StringIO()
    Screen(stream, Look(width=20)).call(tools["Bash"], RawCall("Bash", {"command": "word " * 20}))
    assert max(map(len, stream.getvalue().split("\n"))) <= 20


def ascii_stream() -> tuple[io.TextIOWrapper, io.BytesIO]:
    data = io.BytesIO()
    return io.TextIOWrapper(data, encoding="ascii", write_through=True), data


def test_a_stream_that_knows_ascii_only_shows_everything_all_the_same(ground, tools: Any) -> None:
    stream, data = ascii_stream()
    screen = Screen(stream, terminal=True)
    screen.call(tools["Read"], RawCall("Read", {"file_path": "é"}))
    screen.progress(tools["Bash"], Progress("stdout", "ü\n"))
    screen.done(tools["Read"], READ, done_with(ground, Output((Text("ä" * 3),)), READ))
    screen.done(tools["Read"], READ, ground.open().call(RawCall("Read", {"file_path": ".env"})))
    text = data.getvalue().decode("ascii")
    for part in ("* ", "Read \\xe9", "\\xfc", "\\xe4" * 3, "x `Read("):
        assert part in text
    wide = io.StringIO()
    Screen(wide, terminal=True).call(tools["Read"], RawCall("Read", {"file_path": "é"}))
    assert "● " in wide.getvalue()


@pytest.mark.parametrize("full", [False, True])
def test_the_lines_that_were_seen_are_not_seen_again_and_the_others_are(ground, tools: Any, full: bool) -> None:
    many = "".join(f"line {number}\n" for number in range(1_000))
    done = done_with(ground, Output((Text(many + "[Exit status 3]"),)), READ)
    stream = io.StringIO()
    screen = Screen(stream, Look(full=full), terminal=True)
    for part in (many[:5_000], many[5_000:]):
        screen.progress(tools["Bash"], Progress("stdout", part))
    screen.done(tools["Read"], READ, done)
    seen = stream.getvalue()
    assert (seen.count("line 7\n"), seen.count("[Exit status 3]")) == (1, 1)
    assert seen.count("line 500\n") == int(full)
    assert seen.count("line 999\n") == 1


def test_events_are_lines_and_a_colour_holds_for_what_is_in_it(tools: Any) -> None:
    stream = io.StringIO()
    screen = Screen(stream, terminal=True)
    for text in ("one", "two"):
        screen.progress(tools["Monitor"], Progress("event", text))
    assert stream.getvalue() == "\x1b[2mone\n\x1b[0m\x1b[2mtwo\n\x1b[0m"
    plain = io.StringIO()
    Screen(plain, terminal=False).progress(tools["Monitor"], Progress("event", "one"))
    assert plain.getvalue() == "one\n"
