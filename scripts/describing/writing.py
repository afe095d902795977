"""Compact YAML of descriptions: what a generator found → the text of a file."""

from __future__ import annotations

import sys
from typing import Any

import yaml

from gateway.spec.commandformat import format_description


class _Dumper(yaml.SafeDumper):
    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002
        return True


def words(found: set[str] | list[str]) -> str:
    return " ".join(sorted(found))


def write(path: str, description: dict[str, Any]) -> None:
    """In the one form that descriptions have."""
    text = yaml.dump(description, Dumper=_Dumper, sort_keys=False, width=95, default_flow_style=False)
    with open(path, "w", encoding="utf-8") as file:
        file.write(format_description(text, path))
    sys.stdout.write(f"{path}\n")
