"""The command line as a whole: what its help says."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from typer.main import get_command

from gateway.core.errors import ConfigError
from gateway.frontends.cli.app import build, run_typer

if TYPE_CHECKING:
    from collections.abc import Iterator


def commands(command: Any, name: str) -> Iterator[tuple[str, Any, str]]:
    """Every command with its name and help, in eighty columns."""
    context = command.make_context(name, [], resilient_parsing=True, max_content_width=80, terminal_width=80)
    yield name, command, command.get_help(context)
    for word, below in getattr(command, "commands", {}).items():
        yield from commands(below, f"{name} {word}")


ALL = list(commands(get_command(build()), "gateway"))
GROUPS = [each for each in ALL if hasattr(each[1], "commands")]


def test_no_help_shows_the_name_of_a_type() -> None:
    assert [name for name, _command, text in ALL if " range" in text or "<" in text] == []


@pytest.mark.parametrize(("group", "text"), [row[1:] for row in GROUPS], ids=[row[0] for row in GROUPS])
def test_the_help_of_a_group_says_the_whole_of_what_each_command_does(group: Any, text: str) -> None:
    said = " ".join(text.split())
    first = {word: " ".join(below.help.split("\n\n")[0].split()) for word, below in group.commands.items()}
    assert [word for word, sentence in first.items() if f"{word} {_sentence(sentence)}" not in said] == [], text
    assert max(map(len, text.split("\n"))) <= 80


def _sentence(text: str) -> str:
    return text.partition(". ")[0]


@pytest.mark.parametrize(
    ("words", "remedy"),
    [
        (["exec", "ls", "-la"], "a command stands behind `--`: `gateway exec -- ls -la`"),
        (["exec", "--nonsense"], "see `gateway exec --help`"),
        (["exec", "--nonsense", "--", "ls"], "see `gateway exec --help`"),
        (["explain", "ls", "-la"], "see `gateway explain --help`"),
    ],
    ids=lambda each: " ".join(each) if isinstance(each, list) else "",
)
def test_wrong_usage_says_where_to_look(words: list[str], remedy: str) -> None:
    with pytest.raises(ConfigError) as caught:
        run_typer(words)
    assert [each.remedy for each in caught.value.problems] == [remedy]
