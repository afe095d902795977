"""Compact YAML of descriptions: what a generator found → the text of a file."""

from __future__ import annotations

import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

import yaml

from gateway.spec.commandformat import format_description

FULL = 400


class _Dumper(yaml.SafeDumper):
    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002
        return True


def words(found: set[str] | list[str]) -> str:
    return " ".join(sorted(found))


def text_of(path: str, description: dict[str, Any]) -> str:
    """In the one form that descriptions have."""
    text = yaml.dump(description, Dumper=_Dumper, sort_keys=False, width=95, default_flow_style=False)
    return format_description(text, path)


def write(path: str, description: dict[str, Any]) -> None:
    Path(path).write_text(text_of(path, description), "utf-8")
    sys.stdout.write(f"{path}\n")


def write_parts(program: str, kind: str, about: str, subcommands: dict[str, Any]) -> None:
    """A file for each subcommand that fills more than FULL lines, and one for each letter that others begin with; what
    an earlier version had goes away."""
    parts: dict[str, dict[str, Any]] = defaultdict(dict)
    for name, found in sorted(subcommands.items()):
        lines = text_of("part.yaml", {"of": program, "subcommands": {name: found}}).count("\n")
        parts[name if lines > FULL else name[0]][name] = found
    for old in Path("gateway/commands").glob(f"{program}.{kind}-*.yaml"):
        old.unlink()
    for part, each in sorted(parts.items()):
        write(f"gateway/commands/{program}.{kind}-{part}.yaml", {"of": program, "about": about, "subcommands": each})
