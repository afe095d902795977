"""Each operation: what it asks, and what of the answer is shown: nothing of files that the call may not see."""

from __future__ import annotations

from typing import Any

import pytest

DEFINITION, HOVER = "textDocument/definition", "textDocument/hover"
HIDDEN = {"id": "hidden", "deny": {"effect": "read", "path": ["hidden.txt", "hidden/**"]}}
ASKED = {"id": "asked", "ask": {"effect": "read", "path": ["asked.txt"]}}


def place(line: int = 0, character: int = 0) -> dict[str, Any]:
    return {"line": line, "character": character}


def span(line: int = 0, character: int = 0) -> dict[str, Any]:
    return {"start": place(line, character), "end": place(line, character + 1)}


def location(name: str = "a.txt", line: int = 0, character: int = 0) -> dict[str, Any]:
    return {"uri": f"ROOT/{name}", "range": span(line, character)}


def item(name: str, file: str = "a.txt", line: int = 0, **more: Any) -> dict[str, Any]:
    return {"name": name, "kind": 12, "uri": f"ROOT/{file}", "range": span(), "selectionRange": span(line), **more}


LOCATED = {
    "one place": (location(line=1, character=2), "a.txt:2:3  three"),
    "several places, each once": (
        [location(), location("sub/b.txt"), location()], "a.txt:1:1  one two\nsub/b.txt:1:1  four",
    ),
    "a link": (
        [{"targetUri": "ROOT/a.txt", "targetRange": span(), "targetSelectionRange": span(1, 1)}], "a.txt:2:2  three",
    ),
    "a place behind its line": (location(line=1, character=99), "a.txt:2:6  three"),
    "a line that the file does not have": (location(line=9), "No definition was found."),
    "a file that is not there": (location("missing.txt"), "No definition was found."),
    "a folder": (location("sub"), "No definition was found."),
    "a file that is denied": ([location("hidden.txt"), location()], "a.txt:1:1  one two"),
    "a file in a folder that is denied": (location("hidden/x.txt"), "No definition was found."),
    "a file that would be asked about": (location("asked.txt"), "No definition was found."),
    "a file that is denied, by a link": (location("link.txt"), "No definition was found."),
    "a file that is denied, by dots": (location("sub/../hidden.txt"), "No definition was found."),
    "a file that is denied, with escapes": (location("%68idden.txt"), "No definition was found."),
    "no address of a file": ({"uri": "https://example.com/a.txt", "range": span()}, "No definition was found."),
    "another machine's file": ({"uri": "file://server/etc/hosts", "range": span()}, "No definition was found."),
    "nothing": (None, "No definition was found."),
    "nonsense": (
        [1, "x", {}, {"uri": 3, "range": span()}, {"uri": "ROOT/a.txt", "range": []}], "No definition was found.",
    ),
}  # fmt: skip


@pytest.fixture
def world(scripted: Any) -> Any:
    """Files of which some are hidden."""
    scripted.rules += [HIDDEN, ASKED]
    for name, text in {
        "sub/b.txt": "four\n", "hidden.txt": "secret\n", "hidden/x.txt": "secret\n", "asked.txt": "secret\n",
    }.items():  # fmt: skip
        scripted.file(name, text)
    (scripted.project / "link.txt").symlink_to("hidden.txt")
    return scripted


def test_places_are_shown_as_far_as_they_may_be_seen(world: Any) -> None:
    """All of them of one server, which is what takes its time."""
    shown = {}
    for name, (result, _) in LOCATED.items():
        world.does(DEFINITION, result=result)
        done = world.ask("definition")
        assert not done.output.is_error, name
        assert "secret" not in repr(done.output), name
        shown[name] = done.text
    assert shown == {name: text for name, (_, text) in LOCATED.items()}


def test_without_a_rule_the_same_places_are_shown(world: Any) -> None:
    world.rules = world.rules[:1]
    names = ("hidden.txt", "hidden/x.txt", "asked.txt", "link.txt", "sub/../hidden.txt", "%68idden.txt")
    world.does(DEFINITION, result=[location(name) for name in names])
    shown = world.ask("definition").text.splitlines()
    assert shown == ["hidden.txt:1:1  secret", "hidden/x.txt:1:1  secret", "asked.txt:1:1  secret"]  # each file once


def test_a_place_outside_of_the_workspace_is_shown_where_it_may_be_read(world: Any) -> None:
    system = {"uri": "file:///etc/passwd", "range": span()}
    ours = {"uri": f"file://{world.ground.home}/notes.txt", "range": span()}
    (world.ground.home / "notes.txt").write_text("mine\n", encoding="utf-8")
    world.does(DEFINITION, result=[system, ours])
    lines = world.ask("definition").text.splitlines()
    assert [line.partition(":")[0] for line in lines] == ["/etc/passwd"]


def test_many_places_are_cut(world: Any) -> None:
    world.file("long.txt", "x\n" * 300)
    world.does(DEFINITION, result=[location("long.txt", line) for line in range(300)])
    done = world.ask("definition")
    assert done.text.splitlines()[-2:] == ["long.txt:200:1  x", "(Cut after 200.)"]
    assert len(done.output.data["items"]) == 200


TEXTS = {
    "text": ({"contents": "said"}, "said"),
    "a marked text": ({"contents": {"kind": "markdown", "value": "**said**\n"}}, "**said**"),
    "code": ({"contents": {"language": "c", "value": "int x"}}, "```c\nint x\n```"),
    "several": ({"contents": ["a", {"language": "c", "value": "b"}, 3]}, "a\n\n```c\nb\n```"),
    "signs that cannot be seen": ({"contents": "a\u202eb\x1b[2J\r\nc\td"}, "a\\u202eb\\x1b[2J\nc   d"),
    "a long text": ({"contents": "x" * 30_000}, "x" * 20_000 + "\n… [cut]"),
    "nothing": (None, "Nothing is said of this place."),
    "nonsense": ({"contents": 7}, "Nothing is said of this place."),
}


def test_what_is_said_of_a_symbol_is_shown(world: Any) -> None:
    shown = {}
    for name, (result, _) in TEXTS.items():
        world.does(HOVER, result=result)
        shown[name] = world.ask("hover").text
    assert shown == {name: text for name, (_, text) in TEXTS.items()}


def test_what_is_said_of_a_symbol_is_not_shown_where_its_file_may_not_be_seen(world: Any) -> None:
    world.does(HOVER, result={"contents": "the secret"})
    shown = {}
    for name in ("hidden.txt", "asked.txt", "link.txt", "a.txt", "missing.txt"):
        world.does(DEFINITION, result=[location(), location(name)])
        shown[name] = world.ask("hover").text
    nothing = dict.fromkeys(("hidden.txt", "asked.txt", "link.txt"), "Nothing is said of this place.")
    assert shown == {**nothing, "a.txt": "the secret", "missing.txt": "the secret"}


def test_a_server_without_definitions_is_not_asked_for_them(world: Any) -> None:
    world.says(capabilities={"hoverProvider": True, "textDocumentSync": 1})
    world.does(HOVER, result={"contents": "said"})
    assert world.ask("hover").text == "said"
    assert world.heard(DEFINITION) == []


def test_references_include_the_declaration(world: Any) -> None:
    world.does("textDocument/references", result=[location(), location("hidden.txt")])
    assert world.ask("references", character=5).text == "a.txt:1:1  one two"
    (asked,) = world.heard("textDocument/references")
    assert asked == {
        "textDocument": {"uri": f"file://{world.project}/a.txt"}, "context": {"includeDeclaration": True},
        "position": place(0, 4),
    }  # fmt: skip


def test_implementations_are_found(world: Any) -> None:
    world.does("textDocument/implementation", result=[])
    assert world.ask("implementations").text == "No implementation was found."


def test_symbols_of_a_file_are_a_tree(world: Any) -> None:
    inner = item("inner\x07", line=1, detail="(x)", kind=6)
    world.does(
        "textDocument/documentSymbol",
        result=[item("outer", children=[inner, {"name": "no place"}]),
                {"name": "flat", "kind": 99, "location": location()},
                {"name": "elsewhere", "kind": 1, "location": location("sub/b.txt")}],
    )  # fmt: skip
    done = world.ask("symbols")
    assert done.text == "1:1 function outer\n  2:1 method inner\\x07 (x)\n1:1 symbol flat"
    assert done.output.data["items"][1] == {
        "name": "inner\\x07", "kind": "method", "file_path": f"{world.project}/a.txt", "line": 2, "character": 1,
    }  # fmt: skip


def test_a_file_without_symbols_says_so(world: Any) -> None:
    assert world.ask("symbols").text == "The file declares nothing."


def test_symbols_of_the_workspace_are_those_of_files_that_may_be_seen(world: Any) -> None:
    found = [
        {"name": "one", "kind": 5, "location": location(), "containerName": "all"},
        {"name": "secret", "kind": 5, "location": location("hidden.txt")},
        {"name": "whole", "kind": 1, "location": {"uri": "ROOT/sub/b.txt"}},
        {"name": "nowhere", "kind": 1}, 7,
    ]  # fmt: skip
    world.does("workspace/symbol", result=found)
    done = world.ask("workspace_symbols", query="o")
    assert done.text == "a.txt:1:1 class one in all\nsub/b.txt:1:1 file whole"
    assert "secret" not in repr(done.output)
    assert world.heard("workspace/symbol") == [{"query": "o"}]
    world.does("workspace/symbol", result=None)
    assert world.ask("workspace_symbols", query="o").text == "Nothing that is called like `o` is declared."
    assert world.ask("workspace_symbols").text == "Nothing is declared."


def test_calls_both_ways_are_those_in_files_that_may_be_seen(world: Any) -> None:
    world.does("textDocument/prepareCallHierarchy", result=[item("it", line=1), item("secret", "hidden.txt")])
    world.does(
        "callHierarchy/incomingCalls",
        result=[{"from": item("caller", "sub/b.txt"), "fromRanges": [span()]},
                {"from": item("secret", "hidden.txt"), "fromRanges": [span()]}, {"from": 3}],
    )  # fmt: skip
    world.does(
        "callHierarchy/outgoingCalls",
        result=[{"to": item("called"), "fromRanges": [span(0), span(1), span(99)]}],
    )
    done = world.ask("call_hierarchy")
    assert done.text == (
        "function it (a.txt:2:1)\n  is called by:\n    sub/b.txt:1:1 function caller (line 1)\n"
        "  calls:\n    a.txt:1:1 function called (lines 1, 2)"
    )
    assert "secret" not in repr(done.output)
    (asked,) = world.heard("callHierarchy/incomingCalls")
    assert asked["item"]["name"] == "it"


def test_what_is_not_called_says_so(world: Any) -> None:
    world.does("textDocument/prepareCallHierarchy", result=[item("it")])
    assert world.ask("call_hierarchy").text == "function it (a.txt:1:1)\n  is called by nothing\n  calls nothing"
    world.does("textDocument/prepareCallHierarchy", result=None)
    assert world.ask("call_hierarchy").text == "No function is called here or declared."


def test_completions_come_in_the_order_of_the_server(world: Any) -> None:
    found = [{"label": "b", "sortText": "2", "kind": 3, "detail": "(x)"}, {"label": "a", "sortText": "1"}, {}, 3]
    world.does("textDocument/completion", result={"isIncomplete": False, "items": found})
    assert world.ask("completion").text == "a (symbol)\nb (function) (x)"
    world.does("textDocument/completion", result=[{"label": f"x{number:03}"} for number in range(60)])
    assert world.ask("completion").text.splitlines()[-2:] == ["x049 (symbol)", "(The first 50 of 60.)"]


@pytest.mark.parametrize("publishes", ["plain", "versioned"])
def test_problems_are_those_of_the_file_as_it_lies_on_the_disk(
    world: Any, publishes: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gateway.lsp.operations._SETTLE", 0.0)  # this server says everything at once
    world.says(publishes=publishes)
    assert world.ask("diagnostics").text == "a.txt has no problems."
    world.file("a.txt", "fine\n😀 BAD\nPOOR\n")
    done = world.ask("diagnostics")
    assert done.text == "2:3 error: BAD word (scripted)\n3:1 warning: POOR word (scripted)"
    assert done.output.data["items"][0] == {
        "line": 2, "character": 3, "severity": 1, "source": "scripted", "code": "", "message": "BAD word",
    }  # fmt: skip


def test_a_server_that_says_nothing_of_a_file_is_waited_for_as_long_as_policy_says(world: Any) -> None:
    world.declared["seconds"] = 1
    done = world.ask("diagnostics")
    assert done.text == "Language server `text` gave no answer: it said nothing of the file for 1 s."
    assert done.output.is_error


def test_problems_can_be_asked_for_and_point_only_to_what_may_be_seen(world: Any) -> None:
    world.says(capabilities={**world.ALL, "diagnosticProvider": {}})
    related = [{"location": location(name, 0), "message": f"in {name}"} for name in ("sub/b.txt", "hidden.txt")]
    found = {"range": span(1), "message": "wrong", "code": "E1", "relatedInformation": [*related, 3, {}]}
    world.does("textDocument/diagnostic", result={"kind": "full", "items": [found]})
    done = world.ask("diagnostics")
    assert done.text == "2:1 error: wrong (E1)\n    see sub/b.txt:1:1 in sub/b.txt"
    assert "hidden" not in repr(done.output)


@pytest.mark.parametrize("result", [None, {"kind": "full"}, [], {"items": {}}], ids=str)
def test_an_answer_that_names_no_problems_is_not_one_of_none(world: Any, result: Any) -> None:
    world.says(capabilities={**world.ALL, "diagnosticProvider": {}})
    world.does("textDocument/diagnostic", result=result)
    done = world.ask("diagnostics")
    said = "Language server `text` gave no answer that says what is wrong."
    assert (done.text, done.output.is_error) == (said, True)


def test_a_question_that_a_server_does_not_answer_says_which_it_does(world: Any) -> None:
    world.says(capabilities={"hoverProvider": True, "documentSymbolProvider": True})
    done = world.ask("workspace_symbols")
    assert done.text == (
        "Language server `text` does not answer questions for symbols of the workspace. "
        "It knows: hover, symbols of a file, diagnostics."
    )
    assert done.output.is_error


def test_a_place_that_the_file_does_not_have_is_refused(world: Any) -> None:
    world.does(HOVER, result={"contents": "end"})
    below, behind = world.ask("hover", line=9), world.ask("hover", line=2, character=7)
    assert [(each.text, each.output.is_error) for each in (below, behind)] == [
        ("The file has 3 lines; `line` is 9.", True),
        ("Line 2 has 5 characters; `character` is 7.", True),
    ]
    assert world.ask("hover", line=2, character=6).text == "end"  # behind the last one is a place


def test_huge_answers_are_bounded(world: Any) -> None:
    world.does(HOVER, huge=5_000_000)
    assert len(world.ask("hover").text) < 21_000
    world.does(DEFINITION, result=[location("sub/b.txt", 0, number) for number in range(5_000)])
    *shown, cut = world.ask("definition").text.splitlines()
    assert len(shown) == 5  # a character behind the end of a line is its last place
    assert cut == "(Only the first 1,000 of 5,000 places were looked at.)"


def test_a_symbol_of_more_places_than_are_looked_at_is_not_spoken_of(world: Any) -> None:
    world.does(HOVER, result={"contents": "said"})
    world.does(DEFINITION, result=[location("a.txt")] * 200)
    assert world.ask("hover").text == "said"
    world.does(DEFINITION, result=[location("a.txt")] * 201)
    assert world.ask("hover").text == "Nothing is said of this place."


def test_a_file_that_is_denied_is_not_asked_about(world: Any) -> None:
    done = world.ask("hover", file_path="hidden.txt")
    assert not done.ran
    assert "hidden" in done.text


def test_what_a_server_was_shown_for_one_call_is_gone_with_it(world: Any) -> None:
    from gateway.approval.callback import Callback

    outside = world.ground.top / "outside.txt"
    outside.write_text("theirs\n", encoding="utf-8")
    questions: list[Any] = []
    world.open(mode="default", approver=Callback(lambda question: questions.append(question) or True))
    world.does(DEFINITION, result={"uri": f"file://{outside}", "range": span()})
    assert world.ask("definition", file_path=str(outside)).text == f"{outside}:1:1  theirs"
    assert len(questions) == 1
    assert world.gateway.calls.services.languages.at_work(world.session) == ()
    assert world.ask("definition").text == "No definition was found."
    opened = [each["textDocument"]["uri"] for each in world.heard("textDocument/didOpen")]
    assert opened == [f"file://{world.project}/a.txt"]


def test_a_server_that_is_ended_with_a_call_has_not_failed(world: Any) -> None:
    from gateway.approval.callback import Callback

    outside = world.ground.top / "outside.txt"
    outside.write_text("theirs\n", encoding="utf-8")
    world.open(mode="default", approver=Callback(lambda _question: True))
    world.does(HOVER, result={"contents": "said"})
    assert [world.ask("hover", file_path=str(outside)).text for _ in range(5)] == ["said"] * 5
    assert world.ask("hover").text == "said"
