"""A group of commands, as its help shows them."""

from __future__ import annotations

from typing import Any

from typer.core import TyperGroup

_ANY_LENGTH = 1_000


class Group(TyperGroup):
    """A group whose help says the whole first sentence of each command, wrapped where it must be."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Writes the list of commands."""
        commands = [(name, self.get_command(ctx, name)) for name in self.list_commands(ctx)]
        rows = [(name, command.get_short_help_str(_ANY_LENGTH)) for name, command in commands if command is not None]
        with formatter.section("Commands"):
            formatter.write_dl(rows)
