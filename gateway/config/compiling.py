"""From YAML to the compiled forms that caches and wheels keep: policies, descriptions of programs, foreign tools.

Loaded only where no compiled form can be trusted.
"""

from __future__ import annotations

import os

from gateway.config import prebuilt
from gateway.config.binding import bind
from gateway.config.descriptions import compile_files, entries
from gateway.config.layers import read_file, revision_of
from gateway.core.cache import digest
from gateway.core.errors import ConfigError
from gateway.core.packed import pack
from gateway.core.places import AGENTS, COMMANDS, packaged
from gateway.policy.compile import compile_policy
from gateway.tools.foreign import rule_names

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Any

    from gateway.config.binding import Read
    from gateway.config.descriptions import Entry
    from gateway.config.layers import PolicyFile
    from gateway.core.errors import Problem
    from gateway.core.packed import Descriptions
    from gateway.core.places import Places
    from gateway.policy.compile import Bound
    from gateway.spec.commandparts import Source
    from gateway.spec.short import ToolName
    from gateway.tools.registry import Registry

    # From rules as they are bound: what is wrong with their examples.
    Verify = Callable[[tuple[Bound, ...], Registry, Places, tuple[Entry, ...]], list[Problem]]


def compiled(
    files: list[PolicyFile],
    described: Sequence[PolicyFile],
    root: str,
    registry: Registry,
    names: Callable[[], dict[str, ToolName]],
    places: Places,
    shipped: Descriptions,
    is_trusted: Callable[[str], bool],
    all_trusted: bool,
    verify: Verify,
    fold: bool,
    brought: Sequence[PolicyFile] = (),
    moved: tuple[tuple[str, str], ...] = (),
    read: Read = read_file,
) -> dict[str, Any]:
    """The compiled form of a policy, as the cache keeps it. `names`: the tools that rules may name; `shipped`: the
    packaged descriptions of programs; `verify`: as in `load_policy`; `fold`: whether names in either case are the same
    file; `moved`: as `Places.moved` tells; `read`: gives the content of what files extend. Raises ConfigError for
    whatever is wrong in any file."""
    layered = bind(
        files,
        reader(names),
        root=root,
        trusted=is_trusted,
        all_trusted=all_trusted,
        descriptions=(*described, *brought),
        read=read,
    )
    commands = tuple(
        entries(
            compile_files(described, shipped),
            trusted=layered.project_trusted,
            locked_by=layered.commands_locked_by,
        )
    )
    policy = compiled_once(layered.bound, home=places.home, fold=fold, moved=moved)
    if any(rule["matches"] or rule["not_matches"] for each in layered.bound for rule in each.rules):
        problems = verify(layered.bound, registry, places, commands)
        if problems:
            raise ConfigError(problems)
    included = [[path, digest([content])] for path, content in layered.included]
    told = is_trusted(layered.project_digest)
    return {
        "policy": policy,
        "settings": {name: list(setting.as_dict().values()) for name, setting in layered.settings.items()},
        "modes": list(layered.modes),
        "modes_elsewhere": list(layered.modes_elsewhere),
        "files": [[file.layer, file.path] for file in layered.files],
        "included": included,
        "skipped": list(layered.skipped),
        "fingerprint": layered.project_digest,
        "trusted": layered.project_trusted,
        "told": told,
        "revision": revision_of(layered.files, included, moved, layered.project_trusted, described, brought),
        "commands": commands,
        "hooks": list(layered.hooks),
    }


# Policies as this process compiled them lately, with what they were compiled from, the last one first.
_policies: list[tuple[tuple[Any, ...], dict[str, Any]]] = []
_MOST_POLICIES = 8


def compiled_once(
    bound: Iterable[Bound], *, home: str, fold: bool = False, moved: tuple[tuple[str, str], ...] = ()
) -> dict[str, Any]:
    """As `compile_policy`. Whoever compares policies, or looks at one in several ways, asks for the same few again and
    again; each gets rows of its own for rules, which hold later what is shown of them. Raises ConfigError."""
    given = (tuple(bound), home, fold, moved)
    found = next((made for known, made in list(_policies) if known == given), None)
    if found is None:
        found = compile_policy(given[0], home=home, fold=fold, moved=moved)
    _policies[:] = [(given, found), *(each for each in _policies if each[1] is not found)][:_MOST_POLICIES]
    return {**found, "rules": [list(row) for row in found["rules"]]}


# In a checkout: the shipped policies as this process read them last, by path, with what they were read from.
_shipped: dict[str, tuple[bytes, dict[str, ToolName], dict[str, Any]]] = {}


def reader(names: Callable[[], dict[str, ToolName]]) -> Callable[[bytes, str], dict[str, Any]]:
    """Reads a policy file; what was shipped is known by its content and needs no YAML, or not again."""
    tools: dict[str, ToolName] = {}

    def read(content: bytes, path: str) -> dict[str, Any]:
        known = prebuilt.policy(content)
        if known is not None:
            return known
        from gateway.spec.policy import parse_policy

        if not tools:
            tools.update(names())
        if os.path.dirname(path) != packaged("policies"):
            return parse_policy(content, path, tools)
        if path not in _shipped or _shipped[path][:2] != (content, tools):
            _shipped[path] = content, tools, parse_policy(content, path, tools)
        return _shipped[path][2]

    return read


def pack_foreign(shipped: Registry) -> bytes:
    """The tools of all foreign agents, compiled from YAML. `shipped`: the tools of ours that they stand for."""
    from gateway.spec.foreign import compile_foreign

    paths = [os.path.join(AGENTS, name) for name in sorted(os.listdir(AGENTS)) if name.endswith(".yaml")]
    compiled = [each for path in paths for each in compile_foreign(read_file(path), path, shipped)]
    return pack([*compiled, rule_names(compiled)])


def pack_descriptions() -> bytes:
    """All packaged descriptions, compiled from YAML."""
    from gateway.spec.commands import compile_description

    return pack(compile_description(each.content, each.path, parts=each.parts) for each in shipped_sources())


def shipped_sources() -> list[Source]:
    """The packaged descriptions as they stand in their files."""
    from gateway.spec.commandparts import sources

    paths = [os.path.join(COMMANDS, name) for name in sorted(os.listdir(COMMANDS)) if name.endswith(".yaml")]
    return sources((path, read_file(path)) for path in paths)
