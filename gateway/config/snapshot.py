"""Policy files as they stood at another time or stand in another place, judged by as if they were the layers' own.

    now = present(places, options, loaded)          # what decides here now, None where a file has changed since
    Judge(options, snapshot=snapshot)               # judges by exactly these files

The shipped policies are no part of what `packed` keeps: only their digests, so that another version of the gateway is
told from another policy.
"""

from __future__ import annotations

import os

from gateway.config.descriptions import find_descriptions
from gateway.config.layers import PROJECT, PolicyFile, find_files, read_file, revision_of, session_files
from gateway.config.load import FOLDS_CASE, UPPER, loaded_of, moved_for, tool_files, tool_names
from gateway.config.shipped import load_descriptions
from gateway.core.cache import digest
from gateway.core.errors import ConfigError, Problem
from gateway.core.places import packaged
from gateway.core.plainjson import dumps, loads
from gateway.core.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from gateway.config.compiling import Verify
    from gateway.config.load import Loaded, Options
    from gateway.core.places import Places
    from gateway.tools.registry import Registry

_SHIPPED = packaged("policies") + "/"
FORMAT = 1


class Snapshot(Value):
    """All that one policy is read from. `included`: path and content of every file that others extend, shipped ones
    left out; what is not there is read from disk if `reads_disk`, else it is an error. `moved`: as `moved_for`.
    `trusted`: whether the project's own rules may loosen. `all_trusted`: the files stand for all layers."""

    files: tuple[PolicyFile, ...]
    described: tuple[PolicyFile, ...] = ()
    brought: tuple[PolicyFile, ...] = ()
    included: tuple[tuple[str, bytes], ...] = ()
    moved: tuple[tuple[str, str], ...] = ()
    trusted: bool = False
    all_trusted: bool = False
    reads_disk: bool = False

    def load(
        self,
        places: Places,
        options: Options,
        registry: Registry,
        verify: Verify,
        _brought: Sequence[PolicyFile] | None = None,
        _known: Loaded | None = None,
    ) -> Loaded:
        """The policy, with the rules of a session and those of other projects as they are on disk. Raises ConfigError
        for whatever is wrong in any file."""
        from gateway.config.compiling import compiled
        from gateway.core.gc_pause import Uncollected

        files = list(self.files)
        if options.others:
            own = find_files(places, options.root, others=options.others)
            files = _joined(files, [each for each in own if each.layer == PROJECT and each.base != options.root])
        files += session_files(options.rules, options.root)
        if options.paused:
            files = [each for each in files if each.layer in UPPER]
        with Uncollected():
            entry = compiled(
                files, self.described, options.root, registry, lambda: tool_names(registry), places,
                load_descriptions(places), lambda _fingerprint: self.trusted,
                self.all_trusted, verify, FOLDS_CASE, self.brought, self.moved, read=self.read,
            )  # fmt: skip
        return loaded_of(entry, options)

    def read(self, path: str, within: tuple[str, ...] = ()) -> bytes:
        """What files extend. Raises ConfigError for what was not kept."""
        known = dict(self.included).get(path)
        if known is not None:
            return known
        if path.startswith(_SHIPPED) or self.reads_disk:
            return read_file(path, within)
        raise ConfigError(Problem("is extended, and was not kept", file=path))

    def packed(self) -> bytes:
        """As bytes that `unpacked` reads; shipped files as digests."""
        rows = [[_row(each) for each in group] for group in (self.files, self.described, self.brought)]
        included = [[path, _text(content)] for path, content in self.included]
        return dumps([FORMAT, rows, included, self.moved, self.trusted, self.all_trusted]).encode()


def unpacked(data: bytes) -> Snapshot:
    """What `packed` gave. Raises ConfigError for anything else, and where a shipped file is another one by now."""
    try:
        version, rows, included, moved, trusted, all_trusted = loads(data)
        if version != FORMAT:
            raise ValueError(f"version {version}")
        files, described, brought = (tuple(map(_file, group)) for group in rows)
        return Snapshot(
            files=files,
            described=described,
            brought=brought,
            included=tuple((path, content.encode("utf-8", "surrogateescape")) for path, content in included),
            moved=tuple((usual, own) for usual, own in moved),
            trusted=trusted is True,
            all_trusted=all_trusted is True,
        )
    except (ValueError, TypeError, AttributeError) as error:
        raise ConfigError(Problem(f"a kept policy cannot be read: {error}")) from error


def present(places: Places, options: Options, loaded: Loaded) -> Snapshot | None:
    """What a loaded policy was read from, None where something of it has changed since."""
    try:
        files = find_files(
            places, options.root, policies=options.policies, others=options.others, binding=options.binding
        )
        files += session_files(options.rules, options.root)
        if options.paused:
            files = [each for each in files if each.layer in UPPER]
        described = find_descriptions(places, options.root, policies=options.policies, binding=options.binding)
        brought = tool_files(places, options)
        included = [(path, read_file(path)) for path, _known in loaded.included]
    except ConfigError:
        return None
    moved = moved_for(places, options.root)
    digests = [(path, digest([content])) for path, content in included]
    if revision_of(files, digests, moved, loaded.project_trusted, described, brought) != loaded.policy.revision:
        return None
    return Snapshot(
        files=tuple(files),
        described=tuple(described),
        brought=brought,
        included=tuple((path, content) for path, content in included if not path.startswith(_SHIPPED)),
        moved=moved,
        trusted=loaded.project_trusted,
        all_trusted=bool(options.policies),
    )


def _joined(files: list[PolicyFile], others: list[PolicyFile]) -> list[PolicyFile]:
    """Other projects' files in their place: behind the project's own, before the local layer's."""
    at = next((n for n, each in enumerate(files) if each.layer not in (*UPPER, "user", PROJECT)), len(files))
    return [*files[:at], *others, *files[at:]]


def _row(file: PolicyFile) -> list[Any]:
    shipped = file.path.startswith(_SHIPPED)
    content = digest([file.content]) if shipped else _text(file.content)
    return [file.layer, os.path.basename(file.path) if shipped else file.path, content, file.base, file.root, shipped]


def _file(row: list[Any]) -> PolicyFile:
    layer, path, text, base, root, shipped = row
    if not shipped:
        return PolicyFile(layer, path, content=text.encode("utf-8", "surrogateescape"), base=base, root=root)
    path = packaged(f"policies/{os.path.basename(path)}")
    content = read_file(path)
    if digest([content]) != text:
        raise ConfigError(Problem("the gateway has another version of this shipped policy by now", file=path))
    return PolicyFile(layer, path, content=content, base=base, root=root)


def _text(content: bytes) -> str:
    return content.decode("utf-8", "surrogateescape")
