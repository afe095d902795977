"""The descriptions of programs that ship, compiled once for all tests of a process. None of them changes one."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from gateway.config.compiling import shipped_sources
from gateway.spec.commands import compile_description

if TYPE_CHECKING:
    from gateway.spec.commandparts import Source


@functools.cache
def sources() -> tuple[Source, ...]:
    return tuple(shipped_sources())


@functools.cache
def compiled(source: Source) -> dict[str, Any]:
    """One of them, with its examples."""
    return compile_description(source.content, source.path, parts=source.parts)


@functools.cache
def descriptions() -> tuple[dict[str, Any], ...]:
    return tuple(compiled(source) for source in sources())


@functools.cache
def by_name() -> dict[str, dict[str, Any]]:
    """By each name that one answers to."""
    found: dict[str, dict[str, Any]] = {}
    for source in sources():
        for name in compiled(source)["names"]:
            assert name not in found, f"{source.path}: {name} is described twice"
            found[name] = compiled(source)
    return found
