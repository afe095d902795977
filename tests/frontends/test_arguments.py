"""One table of options: the hand-written parser, typer and the help cannot differ."""

from __future__ import annotations

from typing import Any

import pytest
import typer
from hypothesis import given
from hypothesis import strategies as st

from gateway.core.errors import ConfigError
from gateway.frontends.arguments import CHECK, EXEC, EXPLAIN, HOOK, RUN, Command, Request, parse, parse_exec, typed
from gateway.frontends.cli import app as cli

UsageError = typer.BadParameter.__bases__[0]


def by_typer(command: Command, words: list[str]) -> Request | str:
    """What typer makes of the words: a request, or the name of what it raises."""
    seen: list[Request] = []
    app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
    app.command(command.name)(typed(command, lambda request: seen.append(request) or 0))
    try:
        app(words, standalone_mode=False)
    except UsageError as error:
        return type(error).__name__
    return seen[0] if seen else "help"


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["Bash(ls)"], Request("Bash(ls)")),
        (["--json", "Bash(ls)"], Request("Bash(ls)", json=True)),
        (["Bash(ls)", "--mode", "plan", "--cwd=/x"], Request("Bash(ls)", mode="plan", cwd="/x")),
        (["--tool", "Bash", "--input", "-"], Request(tool="Bash", input="-")),
        (["--batch", "-", "--unconfined"], Request(batch="-", unconfined=True)),
        (["--trust-project", "a", "--trust-project=b", "x"], Request("x", trust_project=("a", "b"))),
        (["--mode=a", "--mode", "b", "x"], Request("x", mode="b")),
        (["--", "--json"], Request("--json")),
        (["--policies=", "x"], Request("x", policies="")),
        ([], Request()),
    ],
)
def test_exact_forms_are_read_by_hand(words: list[str], expected: Request) -> None:
    assert parse(CHECK, words) == expected


@pytest.mark.parametrize(
    "words",
    [
        ["--help"],
        ["-h"],
        ["--jsn", "x"],
        ["--json=yes", "x"],
        ["x", "--mode"],
        ["x", "y"],
        ["-x"],
        ["--mod", "plan", "x"],
    ],
)
def test_everything_else_is_left_to_typer(words: list[str]) -> None:
    assert parse(CHECK, words) is None


words = st.sampled_from(
    [
        *(option.name for option in CHECK.options),
        *(f"{option.name}=v" for option in CHECK.options),
        *("--", "-", "x", "", "=", "-x", "--help", "--jso", "Bash(ls)", "plan"),
    ]
)


@given(st.sampled_from([CHECK, EXPLAIN]), st.lists(words, max_size=5))
def test_what_is_read_by_hand_is_what_typer_reads(command: Command, given_words: list[str]) -> None:
    request = parse(command, given_words)
    if request is not None:
        assert by_typer(command, given_words) == request


def test_requests_have_exactly_the_fields_of_the_table() -> None:
    options = {option.field for command in (CHECK, EXPLAIN, RUN, EXEC, HOOK) for option in command.options}
    assert set(Request._fields) == {"argument", "words", *options}
    assert {option.field for option in EXPLAIN.options} <= set(Request._fields)


@pytest.mark.parametrize("command", [CHECK, EXPLAIN, RUN, HOOK], ids=lambda command: command.name)
def test_help_names_every_option(command: Command, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run_typer([command.name, "--help"]) == 0
    shown = capsys.readouterr().out
    missing: list[Any] = [option for option in command.options if f"{option.name} {option.value}".strip() not in shown]
    assert (missing, command.argument in shown) == ([], True)


def test_wrong_usage_says_what_is_wrong_and_where_help_is() -> None:
    with pytest.raises(ConfigError) as raised:
        cli.run_typer(["check", "--jsn", "x"])
    problem = raised.value.problems[0]
    assert ("--jsn" in problem.message, problem.remedy) == (True, "see `gateway check --help`")


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["--", "ls", "-la"], Request(words=("ls", "-la"))),
        (["-c", "ls | wc"], Request(command="ls | wc")),
        (
            ["--timeout=5", "--", "x", "--", "--timeout", "-c"],
            Request(timeout="5", words=("x", "--", "--timeout", "-c")),
        ),
        (["ls"], Request("ls")),
        (["--"], Request()),
    ],
)
def test_what_stands_behind_the_dashes_is_a_command_and_never_an_option(words: list[str], expected: Request) -> None:
    assert parse_exec(words) == expected
