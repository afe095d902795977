"""The short form, against the tables that users of Claude Code know."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.spec.short import ShortFormError, parse_short

LANES = ("deny", "ask", "allow")
FORBIDDING = ("deny", "ask")

SAME_IN_ALL_LANES = {
    "Bash": {"tool": ["Bash"]},
    "Bash(*)": {"tool": ["Bash"]},
    "  Bash ( * ) ": {"tool": ["Bash"]},
    "Bash(npm run build)": {"command": ["npm run build"]},
    "Bash(ls *)": {"command": ["ls *"]},
    "Bash(ls*)": {"command": ["ls*"]},
    "Bash(npm run test:*)": {"command": ["npm run test *"]},
    "Bash(npm:*)": {"command": ["npm *"]},
    "Bash(timeout:*)": {"command": ["timeout *"]},
    "Bash(git:* push)": {"command": ["git:* push"]},
    "Bash(* install)": {"command": ["* install"]},
    "Bash(git * main)": {"command": ["git * main"]},
    "Bash(* --help *)": {"command": ["* --help *"]},
    "Bash(curl http://github.com/ *)": {"command": ["curl http://github.com/ *"]},
    "Bash(devbox run *)": {"command": ["devbox run *"]},
    "Bash(python -c 'print(1)')": {"command": ["python -c 'print(1)'"]},
    "Monitor(tail -f *)": {"command": ["tail -f *"]},
    "Read": {"tool": ["Read"]},
    "Write": {"tool": ["Write"]},
    "Write(*)": {"tool": ["Write"]},
    "TodoWrite": {"tool": ["TodoWrite"]},
    "TodoWrite(*)": {"tool": ["TodoWrite"]},
    "WebFetch": {"tool": ["WebFetch"]},
    "WebFetch(*)": {"tool": ["WebFetch"]},
    "Agent": {"tool": ["Agent"]},
    "Task": {"tool": ["Agent"]},
    "Agent(*)": {"tool": ["Agent"]},
    "Agent(Explore)": {"tool": ["Agent"], "args": {"subagent_type": {"glob": "Explore"}}},
    "Task(Explore)": {"tool": ["Agent"], "args": {"subagent_type": {"glob": "Explore"}}},
    "Agent(plugin:reviewer)": {"tool": ["Agent"], "args": {"subagent_type": {"glob": "plugin:reviewer"}}},
    "Skill(review-*)": {"tool": ["Skill"], "args": {"name": {"glob": "review-*"}}},
    "Skill(review *)": {"tool": ["Skill"], "args": {"name": {"glob": "review"}}},
    "Skill(plugin:*)": {"tool": ["Skill"], "args": {"name": {"glob": "plugin:*"}}},
    "Note(buy *)": {"tool": ["Note"], "args": {"body": {"glob": "buy *"}}},
    "mcp__github": {"tool": ["mcp__github__*"]},
    "mcp__github__*": {"tool": ["mcp__github__*"]},
    "mcp__github__get_*": {"tool": ["mcp__github__get_*"]},
    "mcp__github__create_issue": {"tool": ["mcp__github__create_issue"]},
    "mcp__github__create_issue(*)": {"tool": ["mcp__github__create_issue"]},
    "mcp__my-server__a__b": {"tool": ["mcp__my-server__a__b"]},
}

ALLOWED = {
    "Read(src/**)": {"effect": ["list", "read"], "path": ["src/**"]},
    "Read(*)": {"effect": ["list", "read"], "path": ["*"]},
    "Edit(//etc/**)": {"effect": ["list", "read", "write"], "path": ["//etc/**"]},
    "WebFetch(domain:*.example.com)": {"effect": ["connect"], "direction": ["fetch"], "host": ["*.example.com"]},
    "Courier(team:x)": {"tool": ["Courier"], "args": {"to": {"glob": "team:x"}}},
}

FORBIDDEN = {
    "Read(src/**)": {"effect": ["list", "read", "write", "delete"], "path": ["src/**"]},
    "Read(C:/x)": {"effect": ["list", "read", "write", "delete"], "path": ["C:/x"]},
    "Edit(//etc/**)": {"effect": ["write", "delete"], "path": ["//etc/**"]},
    "WebFetch(domain:example.com)": {"effect": ["connect"], "host": ["example.com"]},
    "WebFetch(domain: Example.com)": {"effect": ["connect"], "host": ["Example.com"]},
    "*": {"tool": ["*"]},
    "B*": {"tool": ["B*"]},
    "mcp__*": {"tool": ["mcp__*"]},
    "mcp__*__delete_*": {"tool": ["mcp__*__delete_*"]},
    "Agent(model:opus)": {"tool": ["Agent"], "args": {"model": {"glob": "opus"}}},
    "Agent(model : opus*)": {"tool": ["Agent"], "args": {"model": {"glob": "opus*"}}},
    "Bash(run_in_background:true)": {"tool": ["Bash"], "args": {"run_in_background": {"glob": "true"}}},
    "Grep(output_mode:content)": {"tool": ["Grep"], "args": {"output_mode": {"glob": "content"}}},
    "WebFetch(prompt:*password*)": {"tool": ["WebFetch"], "args": {"prompt": {"glob": "*password*"}}},
    "Sleep(duration:9*)": {"tool": ["Sleep"], "args": {"duration": {"glob": "9*"}}},
    "TodoWrite(anything:x)": {"tool": ["TodoWrite"], "args": {"anything": {"glob": "x"}}},
    "mcp__github__push(branch:main)": {"tool": ["mcp__github__push"], "args": {"branch": {"glob": "main"}}},
    "mcp__github__read(path:secret*)": {"tool": ["mcp__github__read"], "args": {"path": {"glob": "secret*"}}},
    "mcp__*(branch:main)": {"tool": ["mcp__*"], "args": {"branch": {"glob": "main"}}},
    # Nobody knows the fields of this tool: both readings are forbidden.
    "Courier(team:x)": {
        "any": [
            {"tool": ["Courier"], "args": {"to": {"glob": "team:x"}}},
            {"tool": ["Courier"], "args": {"team": {"glob": "x"}}},
        ]
    },
}


@pytest.mark.parametrize(
    ("lane", "text", "predicates"),
    [(lane, text, when) for text, when in SAME_IN_ALL_LANES.items() for lane in LANES]
    + [("allow", text, when) for text, when in ALLOWED.items()]
    + [(lane, text, when) for text, when in FORBIDDEN.items() for lane in FORBIDDING],
)
def test_a_short_form_becomes_these_predicates(tools, lane, text, predicates):
    assert parse_short(text, lane, tools) == predicates


WRITE_EDIT = "write `Edit(docs/**)`: it holds for every tool, `{}` included"
WRITE_READ = "write `Read(docs/**)`: it holds for every tool, `{}` included"
UNKNOWN = "`gateway tools list` shows the known ones; a tool of an MCP server is `mcp__server__tool`"
CD = "a session's folders are a setting: name them under `settings: workspace`; to protect a folder write `Read(…)`"
MAIN = "parameter must not be the tool's main field (got `{}`)"
LITERAL = "only after a literal `mcp__<server>__` may it hold a `*`"

ERRORS_IN_ALL_LANES = {
    "": ("rule must not be empty", ""),
    "()": ("rule must name a tool (got `()`)", "a command is `Bash(…)`"),
    "Bash()": ("pattern must not be empty (got `Bash()`)", "write `Bash` for every call"),
    "Bash(:*)": ("pattern must not be empty (got `Bash(:*)`)", "write `Bash` for every call"),
    "Bash(rm *": ("rule must end with `)` (got `Bash(rm *`)", "put the rule in quotes if it holds `, ` or ` #`"),
    "b)": ("rule must have a `(` for its `)` (got `b)`)", "put the rule in quotes if it holds `, ` or ` #`"),
    "Bash(rm) x": ("rule must end with `)` (got `Bash(rm) x`)", "nothing may follow the closing parenthesis"),
    "Bsh": ("tool must be a known one (got `Bsh`)", "did you mean `Bash`?"),
    "bash(ls)": ("tool must be a known one (got `bash`)", "did you mean `Bash`?"),
    "Web-Fetch(domain:x.org)": ("tool must be a known one (got `Web-Fetch`)", "did you mean `WebFetch`?"),
    "Zebra": ("tool must be a known one (got `Zebra`)", UNKNOWN),
    "git push": (
        "rule must be `Tool` or `Tool(…)` (got `git push`)",
        "a command is `Bash(…)`, a path `Read(…)` or `Edit(…)`",
    ),
    "../x": ("rule must be `Tool` or `Tool(…)` (got `../x`)", "a command is `Bash(…)`, a path `Read(…)` or `Edit(…)`"),
    "{effect: push}": (
        "rule must be `Tool` or `Tool(…)` (got `{effect: push}`)",
        "a rule in long form is a mapping under `rules:`",
    ),
    "Cd": ("tool must be a known one (got `Cd`)", CD),
    "Cd(src/**)": ("tool must be a known one (got `Cd(src/**)`)", CD),
    "Write(docs/**)": ("rule on paths must be `Edit(…)` (got `Write(docs/**)`)", WRITE_EDIT.format("Write")),
    "NotebookEdit(docs/**)": (
        "rule on paths must be `Edit(…)` (got `NotebookEdit(docs/**)`)",
        WRITE_EDIT.format("NotebookEdit"),
    ),
    "Glob(docs/**)": ("rule on paths must be `Read(…)` (got `Glob(docs/**)`)", WRITE_READ.format("Glob")),
    "Grep(docs/**)": ("rule on paths must be `Read(…)` (got `Grep(docs/**)`)", WRITE_READ.format("Grep")),
    "Archive(docs/**)": (
        "rule on paths must be `Read(…)` or `Edit(…)` (got `Archive(docs/**)`)",
        WRITE_READ.format("Archive"),
    ),
    "WebFetch(example.com)": (
        "rule on `WebFetch` must be `WebFetch(domain:…)` (got `WebFetch(example.com)`)",
        "write `WebFetch(domain:example.com)`",
    ),
    "WebFetch(https://example.com/x)": (
        "rule on `WebFetch` must be `WebFetch(domain:…)` (got `WebFetch(https://example.com/x)`)",
        "write `WebFetch(domain:example.com)`",
    ),
    "WebFetch(domain:)": ("domain must be a host name (got ``)", ""),
    "WebFetch(domain:https://example.com)": (
        "domain must be a host name without scheme, path or blanks (got `https://example.com`)",
        "write `example.com`",
    ),
    "WebFetch(domain:example.com:8080)": (
        "domain must be a host name without a port (got `example.com:8080`)",
        "write the long form: `{effect: connect, host: example.com, port: 8080}`",
    ),
    "Bash(command:rm *)": (
        MAIN.format("Bash(command:rm *)"),
        "write `Bash(rm *)`: it holds wherever the command hides",
    ),
    "Bash(command:*)": (MAIN.format("Bash(command:*)"), "write `Bash(*)`: it holds wherever the command hides"),
    "Read(file_path:.env)": (
        MAIN.format("Read(file_path:.env)"),
        "write `Read(.env)` or `Edit(.env)`: they hold for every tool",
    ),
    "Grep(path:src)": (MAIN.format("Grep(path:src)"), "write `Read(src)` or `Edit(src)`: they hold for every tool"),
    "WebFetch(url:https://x.org/y)": (MAIN.format("WebFetch(url:https://x.org/y)"), "write `WebFetch(domain:x.org)`"),
    "TodoWrite(x)": (
        "`TodoWrite` has no field that `TodoWrite(…)` could speak of (got `TodoWrite(x)`)",
        "write `TodoWrite` for every call, or `TodoWrite(field:value)`",
    ),
    "mcp__github__push(main)": (
        "rule on `mcp__github__push` must be `Tool` or `Tool(field:value)` (got `mcp__github__push(main)`)",
        "write `mcp__github__push` for every call",
    ),
}

ERRORS_IN_ALLOW = {
    "*": ("tool name must be spelled out in an allow rule (got `*`)", LITERAL),
    "B*": ("tool name must be spelled out in an allow rule (got `B*`)", LITERAL),
    "mcp__*": ("tool name must be spelled out in an allow rule (got `mcp__*`)", LITERAL),
    "mcp__*__get": ("tool name must be spelled out in an allow rule (got `mcp__*__get`)", LITERAL),
    "Agent(model:opus)": (
        "parameters must be in deny or ask rules (got `Agent(model:opus)`)",
        "write the long form: `allow: {tool: Agent, args: {model: opus}}`",
    ),
    "mcp__github__push(branch:wip)": (
        "parameters must be in deny or ask rules (got `mcp__github__push(branch:wip)`)",
        "write the long form: `allow: {tool: mcp__github__push, args: {branch: wip}}`",
    ),
}

ERRORS_IN_DENY = {
    "Bash(echo :(*)": (
        "rule must have matching parentheses (got `Bash(echo :(*)`)",
        "write the long form for a pattern with a lone parenthesis: `deny: {command: …}`",
    ),
    "Bash(rm *))": (
        "rule must have matching parentheses (got `Bash(rm *))`)",
        "write the long form for a pattern with a lone parenthesis: `deny: {command: …}`",
    ),
    "Agent(model:)": ("parameter must have a value (got `Agent(model:)`)", ""),
    "Sleep(durations:5)": ("parameter must be a field of `Sleep` (got `durations`)", "did you mean `duration`?"),
    "Sleep(x:5)": ("parameter must be a field of `Sleep` (got `x`)", "its fields are `duration`"),
}


@pytest.mark.parametrize(
    ("lane", "text", "error"),
    [(lane, text, error) for text, error in ERRORS_IN_ALL_LANES.items() for lane in LANES]
    + [("allow", text, error) for text, error in ERRORS_IN_ALLOW.items()]
    + [("deny", text, error) for text, error in ERRORS_IN_DENY.items()],
)
def test_what_is_no_rule_says_what_to_write_instead(tools, lane, text, error):
    with pytest.raises(ShortFormError) as caught:
        parse_short(text, lane, tools)
    assert (str(caught.value), caught.value.remedy) == error


@given(
    lane=st.sampled_from(LANES),
    text=st.text()
    | st.text(alphabet="BashRedmcp__*():? ,x/", max_size=30)
    | st.from_regex(r"(Bash|Read|WebFetch|Agent|mcp__a__b)\(.*\)"),
)
def test_a_text_is_a_rule_that_says_something_or_a_clear_error(tools, lane, text):
    with suppress(ShortFormError):
        assert parse_short(text, lane, tools)


def test_allow_never_covers_more_kinds_of_effects_than_its_name_says(tools):
    assert parse_short("Edit(x)", "allow", tools)["effect"] == ["list", "read", "write"]
    assert "direction" not in parse_short("WebFetch(domain:x)", "deny", tools)
