"""Pieces of settings: put in once, replaced where they are old, and taken out exactly, whatever others have done."""

from __future__ import annotations

import json
from typing import Any

import pytest

from gateway.core.errors import ConfigError
from gateway.install.own_hooks import agent_of, hook_words, is_own
from gateway.install.pieces import JSON, TOML, Entry, Made, Member, Target, own_pieces, put, take

LINE = ["/usr/bin/python3", "-I", "-S", "/opt/gateway/frontends/service/client.py", "hook", "claude"]
OLD = ["/old/python", "-I", "-S", "/old/gateway/frontends/service/client.py", "hook", "claude"]


def group(words: list[str]) -> dict[str, Any]:
    return {"matcher": "*", "hooks": [{"type": "command", "command": words[0], "args": words[1:], "timeout": 30}]}


OTHER = {"matcher": "Bash", "hooks": [{"type": "command", "command": "lint --fix"}]}
HOOK = Entry(("hooks", "PreToolUse"), group(LINE))
RULE = Entry(("permissions", "deny"), "Read(x)")
FLAG = Member((), "allowManagedHooksOnly", True)
TARGET = Target("f", JSON, (HOOK, RULE, FLAG))


def data(text: str) -> Any:
    return json.loads(text)


def test_everything_that_is_wanted_is_there_and_what_was_there_stays() -> None:
    text, made = put(TARGET, json.dumps({"model": "x", "hooks": {"PreToolUse": [OTHER]}}), Made())
    assert data(text) == {
        "model": "x", "hooks": {"PreToolUse": [OTHER, group(LINE)]}, "permissions": {"deny": ["Read(x)"]},
        "allowManagedHooksOnly": True,
    }  # fmt: skip
    assert made == Made((HOOK, RULE, FLAG), (), (("permissions",), ("permissions", "deny")))


def test_a_second_time_changes_nothing() -> None:
    text, made = put(TARGET, "{}", Made())
    assert put(TARGET, text, made) == (text, made)


def test_what_others_had_written_before_is_not_ours_to_take_out() -> None:
    before = json.dumps({"permissions": {"deny": ["Read(x)"]}, "allowManagedHooksOnly": True})
    text, made = put(TARGET, before, Made())
    assert made.pieces == (HOOK,)
    assert take(JSON, text, "f", made) == (before, ())


def test_an_older_hook_of_ours_gives_way_where_it_stands() -> None:
    before = json.dumps({"hooks": {"PreToolUse": [group(OLD), OTHER]}})
    text, made = put(TARGET, before, Made())
    assert data(text)["hooks"] == {"PreToolUse": [group(LINE), OTHER]}
    assert data(take(JSON, text, "f", made)[0])["hooks"] == {"PreToolUse": [OTHER]}


def test_of_several_hooks_of_ours_one_stays() -> None:
    before = json.dumps({"hooks": {"PreToolUse": [group(OLD), OTHER, group(LINE), group(OLD)]}})
    text, _made = put(TARGET, before, Made())
    assert data(text)["hooks"] == {"PreToolUse": [OTHER, group(LINE)]}


def test_what_is_not_wanted_any_more_is_taken_out() -> None:
    text, made = put(TARGET, "{}", Made())
    text, made = put(Target("f", JSON, (HOOK,)), text, made)
    assert data(text)["hooks"] == {"PreToolUse": [group(LINE)]}
    assert "permissions" not in data(take(JSON, text, "f", made)[0])
    assert made.pieces == (HOOK,)


def test_it_comes_out_after_others_have_edited_the_file() -> None:
    text, made = put(TARGET, '{"a": 1}', Made())
    edited = data(text)
    edited["hooks"]["PreToolUse"].insert(0, OTHER)
    edited["permissions"]["deny"] = ["Read(y)", *edited["permissions"]["deny"]]
    edited["new"] = {"b": 2}
    after, left = take(JSON, json.dumps(edited), "f", made)
    assert (data(after), left) == (
        {"a": 1, "hooks": {"PreToolUse": [OTHER]}, "permissions": {"deny": ["Read(y)"]}, "new": {"b": 2}}, (),
    )  # fmt: skip


def test_a_value_that_others_have_changed_since_stays_and_is_told() -> None:
    text, made = put(TARGET, "{}", Made())
    edited = data(text) | {"allowManagedHooksOnly": False}
    after, left = take(JSON, json.dumps(edited), "f", made)
    assert (data(after), left) == (
        {"allowManagedHooksOnly": False}, ("`allowManagedHooksOnly` was changed since and stays",),
    )  # fmt: skip


def test_a_value_that_was_replaced_comes_back() -> None:
    before = '{"allowManagedHooksOnly": false}'
    text, made = put(Target("f", JSON, (FLAG,)), before, Made())
    assert data(text) == {"allowManagedHooksOnly": True}
    assert take(JSON, text, "f", made) == (before, ())


def test_what_the_form_of_a_file_demands_goes_only_with_everything_else() -> None:
    target = Target("f", JSON, (Member((), "version", 1, form=True), HOOK))
    text, made = put(target, "{}", Made())
    assert take(JSON, text, "f", made)[0].strip() == "{}"
    more = data(text)
    more["hooks"]["PreToolUse"].append(OTHER)
    assert data(take(JSON, json.dumps(more), "f", made)[0]) == {"version": 1, "hooks": {"PreToolUse": [OTHER]}}


def test_without_a_receipt_hooks_are_known_by_their_command_lines() -> None:
    text = json.dumps({"hooks": {"PreToolUse": [OTHER, group(OLD)]}, "permissions": {"deny": ["Read(z)"]}})
    made = own_pieces(JSON, text, "f", TARGET)
    assert made.pieces == (Entry(("hooks", "PreToolUse"), group(OLD)),)
    after, _left = take(JSON, text, "f", made)
    assert data(after) == {"hooks": {"PreToolUse": [OTHER]}, "permissions": {"deny": ["Read(z)"]}}


TRUST = Target("c", TOML, (Member(("hooks", "state", "/x/hooks.json:pre_tool_use:0:0"), "trusted_hash", "sha256:1"),))


@pytest.mark.parametrize(
    "before",
    [
        "",
        "# mine\nmodel = 'x' # why\n\n[projects.\"/p\"]\ntrust_level = 'trusted'\n",
        "[hooks]\n[hooks.state]\n[hooks.state.a]\nb = 1\n",
    ],
    ids=["empty", "with-comments", "with-such-a-table"],
)
def test_toml_keeps_its_comments_and_comes_out_as_it_was(before: str) -> None:
    text, made = put(TRUST, before, Made())
    assert text.startswith(before)
    assert 'trusted_hash = "sha256:1"' in text
    assert put(TRUST, text, made) == (text, made)
    assert take(TOML, text, "c", made)[0].strip() == before.strip()


def test_toml_lists_hold_tables_on_one_line() -> None:
    target = Target("c", TOML, (Entry(("hooks", "PreToolUse"), group(LINE)),))
    text, made = put(target, "# mine\n", Made())
    assert text.startswith("# mine\n")
    assert put(target, text, made)[0] == text
    after, left = take(TOML, text, "c", made)
    assert (after.rstrip(), left) == ("# mine", ())


def test_broken_toml_is_refused_with_its_place() -> None:
    with pytest.raises(ConfigError, match=r"^c:2:"):
        put(TRUST, "a = 1\nb = = 2\n", Made())


@pytest.mark.parametrize(
    ("handler", "agent"),
    [
        ({"command": LINE[0], "args": LINE[1:]}, "claude"),
        ({"command": "python3 -I -S '/a b/gateway/frontends/service/client.py' hook codex --event X"}, "codex"),
        ({"bash": "/usr/local/bin/gateway hook copilot"}, "copilot"),
        ({"command": "python -m gateway hook gemini"}, "gemini"),
        ({"command": "gateway check x"}, ""),
        ({"command": "echo gateway hook"}, ""),
        ({"command": "lint hook claude"}, ""),
        ({"command": "other/client.py hook claude"}, ""),
        ({"command": "gateway hook --help"}, ""),
        ({"command": "gateway 'hook"}, ""),
        ({"type": "http", "url": "http://x"}, ""),
        ("text", ""),
    ],
    ids=[
        "exec-form", "shell-form", "by-path", "as-a-module", "another-command", "no-agent", "another-program",
        "another-client", "an-option", "open-quote", "no-command", "no-object",
    ],
)  # fmt: skip
def test_hooks_of_ours_are_told_from_others(handler: Any, agent: str) -> None:
    assert agent_of(hook_words(handler)) == agent
    assert is_own(handler) == bool(agent)


def test_a_group_with_others_in_it_is_not_ours_to_take_out() -> None:
    assert not is_own({"hooks": [*group(LINE)["hooks"], *OTHER["hooks"]]})
    assert not is_own({"hooks": []})
