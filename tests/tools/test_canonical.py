"""From raw calls to canonical ones: aliases, coercions, defaults, paths, and all complaints at once."""

from __future__ import annotations

import types

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.core.errors import CallError
from gateway.model.call import Call, RawCall
from gateway.model.context import Context
from gateway.tools.canonical import _is_plainly_valid
from gateway.tools.validate import validate

CWD = "/home/dev/project"


def refused(registry, context, tool, fields, **more):
    with pytest.raises(CallError) as caught:
        registry.canonical_call(RawCall(tool, fields, **more), context)
    return [str(problem) for problem in caught.value.problems]


@pytest.mark.parametrize(
    ("tool", "fields", "call"),
    [
        ("Read", {"file_path": "a"}, Call("Read", {"file_path": f"{CWD}/a"}, f"{CWD}/a")),
        (
            "Read",
            {"file_path": "~/x", "offset": "5", "limit": 7.0},
            Call("Read", {"file_path": "/home/dev/x", "offset": 5, "limit": 7}, "/home/dev/x"),
        ),
        (
            "Bash",
            {"command": "ls", "run_in_background": "true", "timeout": "5000", "dangerously_disable_sandbox": "false"},
            Call(
                "Bash",
                {"command": "ls", "run_in_background": True, "timeout": 5000, "dangerously_disable_sandbox": False},
                "ls",
            ),
        ),
        (
            "Bash",
            {"command": "5000", "description": "true"},
            Call(
                "Bash",
                {
                    "command": "5000",
                    "description": "true",
                    "timeout": 120000,
                    "run_in_background": False,
                    "dangerously_disable_sandbox": False,
                },
                "5000",
            ),
        ),
        (
            "MultiEdit",
            {"file_path": "/a", "edits": [{"old_string": "x", "new_string": "1", "replace_all": "true"}]},
            Call(
                "Edit",
                {
                    "file_path": "/a",
                    "edits": ({"old_string": "x", "new_string": "1", "replace_all": True},),
                    "replace_all": False,
                },
                "/a",
            ),
        ),
        (
            "Glob",
            {"pattern": "../lib/*.py", "path": "src"},
            Call("Glob", {"pattern": "*.py", "path": f"{CWD}/lib"}, f"{CWD}/lib/*.py"),
        ),
        ("Glob", {"pattern": "*"}, Call("Glob", {"pattern": "*", "path": CWD}, f"{CWD}/*")),
        (
            "WebFetch",
            {"url": "HTTP://Example.com:80/a/./b?q#f", "prompt": "x"},
            Call("WebFetch", {"url": "https://example.com/a/b?q#f", "prompt": "x"}, "https://example.com/a/b?q#f"),
        ),
        (
            "WordCount",
            {"file": "it's"},
            Call(
                "WordCount",
                {"file": f"{CWD}/it's", "unit": "lines"},
                f"wc --lines -- '{CWD}/it'\"'\"'s'",
            ),
        ),
        (
            "mcp__files__write",
            {"path": "a", "deep": {"list": [1, {"x": None}]}},
            Call("mcp__files__write", {"path": "a", "deep": {"list": (1, {"x": None})}}, ""),
        ),
        (
            "Agent",
            {"description": "d", "prompt": "p", "cwd": "./sub/"},
            Call(
                "Agent",
                {
                    "description": "d",
                    "prompt": "p",
                    "cwd": f"{CWD}/sub",
                    "subagent_type": "general-purpose",
                    "run_in_background": False,
                    "isolation": "none",
                },
                "general-purpose",
            ),
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_call_is_brought_to_its_canonical_form(registry, context, tool, fields, call):
    assert registry.canonical_call(RawCall(tool, fields), context) == call


@pytest.mark.parametrize(
    ("path", "canonical"),
    [
        ("a", f"{CWD}/a"),
        ("./a", f"{CWD}/a"),
        ("a/", f"{CWD}/a"),
        ("a//b", f"{CWD}/a/b"),
        ("a/./b/../c", f"{CWD}/a/c"),
        (".", CWD),
        ("..", "/home/dev"),
        ("../../../../..", "/"),
        ("/", "/"),
        ("//", "/"),
        ("//etc/passwd", "/etc/passwd"),
        ("///etc", "/etc"),
        ("/a/b/..", "/a"),
        ("/..", "/"),
        ("/../etc", "/etc"),
        ("/a/.hidden", "/a/.hidden"),
        ("/a/..b", "/a/..b"),
        ("~", "/home/dev"),
        ("~/", "/home/dev"),
        ("~/.ssh/id_rsa", "/home/dev/.ssh/id_rsa"),
        ("~/../other", "/home/other"),
        ("~root/x", f"{CWD}/~root/x"),
        ("a/~/b", f"{CWD}/a/~/b"),
        ("a b*?[c]", f"{CWD}/a b*?[c]"),
        ("ä/é", f"{CWD}/ä/é"),
        ("a\nb", f"{CWD}/a\nb"),
        ("C:\\x", f"{CWD}/C:\\x"),
        ("$HOME/x", f"{CWD}/$HOME/x"),
        ("a\udcff/\udc80b", f"{CWD}/a\udcff/\udc80b"),
    ],
)
def test_a_path_becomes_absolute_and_lexically_normal(registry, context, path, canonical):
    assert registry.canonical_call(RawCall("Read", {"file_path": path}), context).shown == canonical


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("", "$.file_path: must not be empty"),
        ("a\0b", r"$.file_path: must not contain NUL (got `a\x00b`)"),
        (
            "a\ud800",
            r"$.file_path: must be valid Unicode (got `a\ud800`)" + "\n  help: send the text as UTF-8",
        ),
        (
            "a\udcc3\udca9",  # the bytes of `é`
            r"$.file_path: must be valid Unicode (got `a\udcc3\udca9`)" + "\n  help: send the text as UTF-8",
        ),
        ("\udcff\0", r"$.file_path: must not contain NUL (got `\udcff\x00`)"),
        ("a" * 5000, f"$.file_path: must be a path of at most 4096 characters (got 5000) (got `{'a' * 59}…`)"),
    ],
)
def test_a_path_that_no_file_system_takes_is_refused(registry, context, path, said):
    assert refused(registry, context, "Read", {"file_path": path}) == [said]


def test_home_and_working_directory_must_be_known_where_they_are_needed(registry):
    nowhere = Context(cwd="", root="", home="")
    assert registry.canonical_call(RawCall("Read", {"file_path": "/a/../b"}), nowhere).shown == "/b"
    assert refused(registry, nowhere, "Read", {"file_path": "~/a"}) == [
        "$.file_path: must not start with `~` where no home folder is known (got `~/a`)\n  help: give an absolute path"
    ]
    assert refused(registry, nowhere, "Read", {"file_path": "a"}) == [
        "$.file_path: must be absolute where no working directory is known (got `a`)"
    ]


@pytest.mark.parametrize(
    ("sent", "kept"),
    [
        ("5", 5),
        ("-5", -5),
        ("0", 0),
        (5.0, 5),
        (5.5, 5.5),
        ("05", "05"),
        ("+5", "+5"),
        ("5.0", "5.0"),
        ("5e3", "5e3"),
        (" 5", " 5"),
        ("5 ", "5 "),
        ("1_000", "1_000"),
        ("５", "５"),  # noqa: RUF001 - a digit to Python, not to JSON
        ("", ""),
        ("-", "-"),
        ("9" * 41, "9" * 41),
        (True, True),
        (None, None),
        ([5], (5,)),
    ],
)
def test_a_text_becomes_an_integer_only_if_it_is_exactly_one(declare, context, sent, kept):
    registry = declare("input: {properties: {n: {type: integer}, any: {}}}")
    try:
        found = registry.canonical_call(RawCall("T", {"n": sent}), context).input["n"]
    except CallError:
        found = kept if type(kept) is not int else "refused"
    assert (found, type(found)) == (kept, type(kept))


@pytest.mark.parametrize(
    ("kind", "sent", "kept"),
    [
        ("number", "5", 5),
        ("number", "-0.5", -0.5),
        ("number", "1e3", 1000.0),
        ("number", "1.5E-2", 0.015),
        ("number", "2e+1", 20.0),
        ("number", ".5", None),
        ("number", "5.", None),
        ("number", "1e", None),
        ("number", "01.5", None),
        ("number", "1e999", None),
        ("number", "nan", None),
        ("number", "Infinity", None),
        ("boolean", "true", True),
        ("boolean", "false", False),
        ("boolean", "True", None),
        ("boolean", "yes", None),
        ("boolean", "1", None),
        ("boolean", 1, None),
        ("string", "5", "5"),
        ("string", "true", "true"),
        ("[string, integer]", "5", "5"),
        ("['null', integer]", "5", 5),
        ("['null', integer]", "null", None),
        ("array", "[1]", None),
        ("object", "{}", None),
        ("string", 5, None),
    ],
)
def test_numbers_and_booleans_sent_as_text_are_coerced_and_nothing_else(declare, context, kind, sent, kept):
    registry = declare(f"input: {{properties: {{n: {{type: {kind}}}}}}}")
    if kept is None:
        assert refused(registry, context, "T", {"n": sent})[0].startswith("$.n: must be ")
    else:
        found = registry.canonical_call(RawCall("T", {"n": sent}), context).input["n"]
        assert (found, type(found)) == (kept, type(kept))


@given(st.integers(-(10**39), 10**39))
def test_every_integer_survives_being_sent_as_text(declare, context, number):
    registry = declare("input: {properties: {n: {type: integer}}}")
    assert registry.canonical_call(RawCall("T", {"n": str(number)}), context).input == {"n": number}


def test_coercion_and_defaults_reach_into_lists_and_objects(declare, context):
    registry = declare(
        """\
input:
  properties:
    rows:
      type: array
      items:
        type: object
        properties: {n: {type: integer}, on: {type: boolean, default: true}, tags: {type: array, items: {type: number}}}
    ids: {type: array, items: {type: integer}}
"""
    )
    sent = {"rows": [{"n": "1", "tags": ["1.5", "x"]}, {"on": "false"}], "ids": ["1", 2, 3.0]}
    assert refused(registry, context, "T", sent) == ["$.rows[0].tags[1]: must be a number (got `x`)"]
    sent["rows"][0]["tags"][1] = "2"
    assert registry.canonical_call(RawCall("T", sent), context).input == {
        "rows": ({"n": 1, "on": True, "tags": (1.5, 2)}, {"on": False}),
        "ids": (1, 2, 3),
    }


def test_all_complaints_come_at_once(registry, context):
    fields = {"file_pth": "a", "offset": -1, "limit": "many", "pages": "x", "content": "", "file_path": "a\0"}
    assert refused(registry, context, "Read", fields) == [
        "$.file_pth: must be a known field (got `file_pth`)\n  help: did you mean `file_path`?",
        "$.offset: must be at least 1 (got `-1`)",
        "$.limit: must be an integer (got `many`)",
        "$.pages: must match the pattern `^[0-9]{1,6}(-[0-9]{1,6})?$` (got `x`)",
        "$.content: must be a known field (got `content`)\n  help: fields: file_path, offset, limit, pages",
        r"$.file_path: must not contain NUL (got `a\x00`)",
    ]


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("Raed", "tool must be a known name (got `Raed`)\n  help: did you mean `Read`?"),
        ("bash", "tool must be a known name (got `bash`)\n  help: did you mean `Bash`?"),
        ("", "tool must be a known name (got ``)\n  help: see `gateway tools list`"),
        ("mcp__x", "tool must be a known name (got `mcp__x`)\n  help: see `gateway tools list`"),
        ("mcp____x", "tool must be a known name (got `mcp____x`)\n  help: see `gateway tools list`"),
        ("mcp__a__b\n", "tool must be a known name (got `mcp__a__b\\n`)\n  help: see `gateway tools list`"),
        (7, "tool must be a name (got `7`)"),
        (["Read"], "tool must be a name (got an array)"),
    ],
)
def test_an_unknown_tool_is_refused(registry, context, name, said):
    assert refused(registry, context, name, {}) == [said]


def test_a_tool_that_is_switched_off_is_refused(declare, context):
    registry = declare("enabled: false")
    assert refused(registry, context, "T", {}) == [
        "tool must be switched on (got `T`)\n  help: see `gateway tools list`"
    ]


@pytest.mark.parametrize("is_open", ["false", "true"])
def test_an_internal_field_is_refused_when_a_model_sends_it(declare, context, is_open):
    registry = declare(f"open: {is_open}\ninternal: {{trace: {{type: string}}}}\ninput: {{properties: {{a: {{}}}}}}")
    assert refused(registry, context, "T", {"a": 1, "trace": "x"}) == [
        "$.trace: must not be sent: only the gateway itself sets it\n  help: leave it out"
    ]


def test_an_open_tool_takes_fields_that_it_does_not_declare(declare, context):
    registry = declare("open: true\ninput: {properties: {a: {type: integer}}}")
    assert registry.canonical_call(RawCall("T", {"a": "1", "b": {"c": [2]}}), context).input == {
        "a": 1,
        "b": {"c": (2,)},
    }


def test_a_partial_call_may_leave_out_what_is_required_but_nothing_else_is_forgiven(registry, context):
    assert registry.canonical_call(RawCall("Edit", {}, partial=True), context) == Call(
        "Edit", {"replace_all": False}, ""
    )
    assert refused(registry, context, "Edit", {"x": 1, "replace_all": "no"}, partial=True) == [
        "$.x: must be a known field (got `x`)\n  help: fields: file_path, old_string, new_string, replace_all, edits",
        "$.replace_all: must be a boolean (got `no`)",
    ]


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        (None, "$: input must be an object (got null)"),
        ([("file_path", "a")], "$: input must be an object (got an array)"),
        ("file_path", "$: input must be an object (got `file_path`)"),
        ({1: 2}, "$: field names must be text (got `1`)"),
        ({"x": {1: 2}}, "$: field names must be text (got `1`)"),
        ({"x": {1, 2}}, "$: input must hold nothing but JSON values (got a `set`)"),
        ({"x": b"a"}, "$: input must hold nothing but JSON values (got a `bytes`)"),
    ],
)
def test_an_input_that_is_no_json_object_is_refused(registry, context, fields, said):
    assert refused(registry, context, "mcp__a__b", fields) == [said]


def test_nesting_without_end_is_refused_in_bounded_time(registry, context):
    cyclic: dict = {}
    cyclic["again"] = [cyclic]
    deep: list = []
    for _ in range(100_000):
        deep = [deep]
    for fields in ({"x": cyclic}, {"x": deep}):
        assert refused(registry, context, "mcp__a__b", fields) == ["$: input must be nested at most 100 levels deep"]
    while deep:  # taking so deep a list apart at once would exhaust the interpreter's own stack
        deep = deep[0]


def test_a_call_cannot_be_changed_and_does_not_hang_on_what_was_sent(registry, context):
    sent = {"x": {"y": [1]}}
    call = registry.canonical_call(RawCall("mcp__a__b", sent, annotations={"readOnlyHint": [True]}), context)
    sent["x"]["y"].append(2)
    assert call.input == {"x": {"y": (1,)}}
    for change in (
        lambda: call.input.__setitem__("x", 1),
        lambda: call.input["x"].update(z=1),
        lambda: call.annotations.pop("readOnlyHint"),
        lambda: call.input.setdefault("new", 1),
    ):
        with pytest.raises(TypeError, match="cannot be changed"):
            change()
    again = RawCall("mcp__a__b", {"x": {"y": [1]}}, annotations={"readOnlyHint": [True]})
    assert hash(call) == hash(registry.canonical_call(again, context))


def test_any_mapping_can_be_an_input(registry, context):
    sent = types.MappingProxyType({"file_path": "/a"})
    assert registry.canonical_call(RawCall("Read", sent), context).input == {"file_path": "/a"}


def test_a_canonical_call_is_canonical(registry, context):
    for tool in registry:
        for example in registry[tool].entry["examples"]:
            try:
                call = registry.canonical_call(RawCall(tool, example["call"]), context)
            except CallError:
                continue
            assert registry.canonical_call(RawCall(call.tool, call.input), context) == call


@pytest.mark.parametrize(
    ("sent", "pattern", "path"),
    [
        ("*.py", "*.py", f"{CWD}/lib"),
        ("**/*.py", "**/*.py", f"{CWD}/lib"),
        ("a/b/c.py", "c.py", f"{CWD}/lib/a/b"),
        ("/*", "*", "/"),
        ("~/a/*", "*", "/home/dev/a"),
        ("../x[ab]/*", "x[ab]/*", CWD),
        ("../../../*", "*", "/home"),
        ("{a,b}/*", "{a,b}/*", f"{CWD}/lib"),
    ],
)
def test_the_folders_before_a_wildcard_move_into_the_path(registry, context, sent, pattern, path):
    call = registry.canonical_call(RawCall("Glob", {"pattern": sent, "path": "lib"}), context)
    assert call.input == {"pattern": pattern, "path": path}


@pytest.mark.parametrize("pattern", ["*/..", "**/../x", "{a,..}/x", "a*/../../b", "*\\../x", "{..}/*"])
def test_a_pattern_cannot_leave_its_folder_behind_a_wildcard(registry, context, pattern):
    assert refused(registry, context, "Glob", {"pattern": pattern})[0].startswith(
        "$.pattern: must not contain `..` behind a wildcard"
    )


@pytest.mark.parametrize("pattern", ["a/", "/", ".", "..", "~", "a/.."])
def test_a_pattern_that_names_only_a_folder_is_refused(registry, context, pattern):
    assert refused(registry, context, "Glob", {"pattern": pattern})[0].startswith("$.pattern: must name files")


def test_complaints_about_a_base_and_its_pattern_come_together(registry, context):
    assert refused(registry, context, "Glob", {"pattern": "a/*", "path": 7}) == [
        "$.path: must be a string (got `7`)",
    ]


FIELD_VALUES = st.one_of(st.text(max_size=3), st.booleans(), st.none(), st.integers(-1, 3), st.just("x"))


@given(data=st.data())
def test_what_is_plainly_valid_is_valid(registry, data) -> None:
    tool = registry[data.draw(st.sampled_from(list(registry)))]
    names = st.sampled_from([*tool.entry["input"]["properties"], *tool.internal, "unknown"])
    values = data.draw(st.dictionaries(names, FIELD_VALUES, max_size=5))
    if _is_plainly_valid(tool.plain_fields, tool.required, values):
        assert validate(tool.check, values) == []


def test_a_plain_call_needs_no_schema(registry) -> None:
    bash = registry["Bash"]
    assert _is_plainly_valid(bash.plain_fields, bash.required, {"command": "ls", "run_in_background": True})
    assert not _is_plainly_valid(bash.plain_fields, bash.required, {"command": "ls", "timeout": 5})
