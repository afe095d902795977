"""What calls do, from what their tools declare."""

from __future__ import annotations

import pytest

from gateway.core.errors import CallError
from gateway.model.call import RawCall
from gateway.model.effect import HOLE, Connect, Item, Opaque, SessionChange, Touch, Use
from gateway.tools.effects import describe, effects_of

CWD = "/home/dev/project"


def effects(registry, context, tool, fields, partial=False):
    call = registry.canonical_call(RawCall(tool, fields, partial), context)
    return effects_of(registry.tool(call.tool), call, context)


@pytest.mark.parametrize(
    ("tool", "fields", "items", "shell"),
    [
        ("Read", {"file_path": "a"}, (Item(Touch("read", f"{CWD}/a"), 0, 19),), None),
        ("Write", {"file_path": "/a", "content": "x"}, (Item(Touch("write", "/a"), 0, 2),), None),
        (
            "Edit",
            {"file_path": "/a", "old_string": "x", "new_string": ""},
            (Item(Touch("read", "/a"), 0, 2), Item(Touch("write", "/a"), 0, 2)),
            None,
        ),
        (
            "NotebookEdit",
            {"notebook_path": "/a", "edit_mode": "delete", "cell_id": "1"},
            (Item(Touch("read", "/a"), 0, 2), Item(Touch("write", "/a"), 0, 2)),
            None,
        ),
        ("Glob", {"pattern": "*"}, (Item(Touch("list", CWD, tree=True)),), None),
        ("Grep", {"pattern": "x", "path": "/a"}, (Item(Touch("read", "/a", tree=True), 0, 2),), None),
        ("Bash", {"command": "ls -la"}, (), "ls -la"),
        ("Monitor", {"command": "tail -f x"}, (Item(SessionChange("events")),), "tail -f x"),
        ("Monitor", {"bash_id": "b"}, (Item(SessionChange("events")),), None),
        ("KillShell", {"shell_id": "b"}, (Item(SessionChange("end of command b")),), None),
        (
            "WebFetch",
            {"url": "http://a:8080", "prompt": "x"},
            (Item(Connect("a", 8080, "fetch"), 0, len("https://a:8080/")),),
            None,
        ),
        ("WebSearch", {"query": "ab"}, (Item(Connect(HOLE, 0, "send")),), None),
        ("Agent", {"description": "d", "prompt": "p"}, (Item(SessionChange("agent general-purpose")),), None),
        ("Task", {"description": "d", "prompt": "p", "subagent_type": "X"}, (Item(SessionChange("agent X")),), None),
        ("Skill", {"name": "s"}, (Item(SessionChange("skill s")),), None),
        ("WordCount", {"file": "a", "unit": "bytes"}, (), f"wc --bytes -- {CWD}/a"),
        ("mcp__a__b", {}, (Item(Opaque("what `mcp__a__b` does is not declared")),), None),
    ],
)
def test_a_call_has_the_effects_that_its_tool_declares(registry, context, tool, fields, items, shell):
    name = registry.tool(tool).name
    assert effects(registry, context, tool, fields) == ((Item(Use(name)), *items), shell)


@pytest.mark.parametrize(
    ("tool", "items"),
    [
        ("Read", (Item(Touch("read", HOLE)),)),
        ("Edit", (Item(Touch("read", HOLE)), Item(Touch("write", HOLE)))),
        ("Grep", (Item(Touch("read", CWD, tree=True), 0, 17),)),
        ("Bash", (Item(Opaque("`command` is not known")),)),
        ("Monitor", (Item(Opaque("`command` is not known")), Item(SessionChange("events")))),
        ("WebFetch", (Item(Connect(HOLE, 0, "fetch")),)),
        ("WordCount", (Item(Opaque("the command's words are not known")),)),
        ("Skill", (Item(SessionChange("skill " + HOLE)),)),
        ("Agent", (Item(SessionChange("agent general-purpose")),)),
    ],
)
def test_what_a_partial_call_leaves_out_is_unknown_never_nothing(registry, context, tool, items):
    assert effects(registry, context, tool, {}, partial=True) == ((Item(Use(tool)), *items), None)


def test_a_field_with_several_paths_or_urls_has_an_effect_for_each(declare, context):
    registry = declare(
        """\
input: {properties: {paths: {type: array, items: {type: string}}, urls: {type: array, items: {type: string}}}}
effects: {delete: paths, connect: {url: urls, direction: send}}
"""
    )
    found, _ = effects(registry, context, "T", {"paths": ["a", "/b/../c"], "urls": ["a.b", "http://c:1"]})
    assert found == (
        Item(Use("T")),
        Item(Touch("delete", f"{CWD}/a")),
        Item(Touch("delete", "/c")),
        Item(Connect("a.b", 443, "send")),
        Item(Connect("c", 1, "send")),
    )
    with pytest.raises(CallError, match=r"\$\.paths: must not be empty"):
        effects(registry, context, "T", {"paths": ["a", ""]})


def test_an_optional_field_that_is_not_there_has_no_effect(declare, context):
    registry = declare(
        "input: {properties: {a: {type: string}, u: {type: [string, 'null']}}}\neffects: {read: a, connect: u}"
    )
    assert effects(registry, context, "T", {}) == ((Item(Use("T")),), None)
    assert effects(registry, context, "T", {"u": None}) == ((Item(Use("T")),), None)


def test_a_default_folder_stands_in_for_null(declare, context):
    registry = declare(
        "input: {properties: {d: {type: [string, 'null']}}}\neffects: {read: {path: d, default: cwd, tree: true}}"
    )
    expected = ((Item(Use("T")), Item(Touch("read", CWD, tree=True))), None)
    assert effects(registry, context, "T", {"d": None}) == expected
    assert effects(registry, context, "T", {}) == expected
    unknown = context.replace(cwd="")
    assert effects(registry, unknown, "T", {}) == ((Item(Use("T")), Item(Touch("read", HOLE, tree=True))), None)


@pytest.mark.parametrize(
    ("fields", "connect"),
    [
        ({"h": "A.b.", "p": 22}, Connect("a.b", 22, "fetch")),
        ({"h": "A.b."}, Connect("a.b", 0, "fetch")),
        ({"h": "a@b", "p": 22}, Connect(HOLE, 0, "fetch")),
    ],
)
def test_a_host_of_a_foreign_tool_that_we_cannot_read_is_unknown(declare, context, fields, connect):
    registry = declare(
        """\
open: true
input: {properties: {h: {type: string}, p: {type: integer}}}
effects: {connect: {host: h, port: p, direction: fetch}}
"""
    )
    assert effects(registry, context, "T", fields)[0][1:] == (Item(connect),)


@pytest.mark.parametrize(
    ("http", "fields", "connect"),
    [
        ("{method: GET, url: 'https://a.example:8443/{id}'}", {"id": "@x"}, Connect("a.example", 8443, "fetch")),
        ("{method: POST, url: 'https://api.example.com'}", {}, Connect("api.example.com", 443, "send")),
        ("{method: GET, url: '{id}'}", {"id": "http://x/y"}, Connect("x", 80, "fetch")),
    ],
)
def test_an_http_handler_contacts_its_host_whatever_is_declared(declare, context, http, fields, connect):
    registry = declare(
        f"input: {{properties: {{id: {{type: string}}}}}}\nhandler: {{http: {http}}}\neffects: {{session: x}}"
    )
    assert [item.effect for item in effects(registry, context, "T", fields)[0]] == [
        Use("T"),
        SessionChange("x"),
        connect,
    ]


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"n": 3, "v": True, "q": "a b", "files": ["x", "$(y)"]}, "prog --deep=3 --v=true -- 'a b' x '$(y)'"),
        ({"q": "", "files": []}, "prog --v=false -- ''"),
        ({"q": "it's; rm -rf /"}, "prog --v=false -- 'it'\"'\"'s; rm -rf /'"),
        ({"q": "--help\n"}, "prog --v=false -- '--help\n'"),
        ({"q": "~"}, "prog --v=false -- '~'"),
        ({"q": "é"}, "prog --v=false -- 'é'"),
    ],
)
def test_a_command_template_becomes_the_shell_text_of_exactly_its_words(declare, context, fields, text):
    registry = declare(
        """\
input:
  properties:
    n: {type: integer}
    v: {type: boolean, default: false}
    q: {type: string}
    files: {type: array, items: {type: string}}
  required: [q]
handler: {command: [prog, "--deep={n}", "--v={v}", --, "{q}", "{files}"]}
"""
    )
    assert effects(registry, context, "T", fields) == ((Item(Use("T")),), text)


def test_a_command_cannot_be_given_nul(declare, context):
    registry = declare(
        "input: {properties: {q: {type: string}}}\nhandler: {command: [prog, --, '{q}']}",
    )
    with pytest.raises(CallError, match=r"\$\.q: must not contain NUL"):
        effects(registry, context, "T", {"q": "a\0b"})


def test_bash_cannot_be_given_nul_or_half_a_character(registry, context):
    for command in ("ls\0", "echo \udc80"):
        with pytest.raises(CallError, match=r"\$\.command: must "):
            effects(registry, context, "Bash", {"command": command})


def test_a_command_of_a_megabyte_is_handed_on_as_it_is(registry, context):
    command = "echo " + "a" * 1_000_000
    assert effects(registry, context, "Bash", {"command": command}) == ((Item(Use("Bash")),), command)


def test_effects_are_spelled_as_examples_write_them(registry, context):
    assert describe(*effects(registry, context, "WebFetch", {"url": "a"}, partial=True)) == ["connect fetch a:443"]
    assert describe(*effects(registry, context, "WebFetch", {}, partial=True)) == ["connect fetch ?"]
    assert describe(*effects(registry, context, "Grep", {"pattern": "x"})) == [f"read {CWD}/**"]
    assert describe(*effects(registry, context, "Bash", {"command": "ls"})) == ["shell ls"]
