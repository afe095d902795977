"""Compares what a call changed in layers of its own with the workspace: what can be kept, and what conflicts.

Read as often as somebody asks; nothing here changes anything.
"""

from __future__ import annotations

import os
from contextlib import suppress

from gateway.core.errors import StoreError
from gateway.core.value import Value
from gateway.sandbox.changes.layer import Node, read_layer
from gateway.sandbox.changes.leaving import git_of, heads
from gateway.sandbox.changes.store import DRAFT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from gateway.sandbox.changes.store import ChangeSet, Store

COMMITTED = "the repository was changed by somebody else meanwhile"
LOCKED = "somebody else is working in the repository"
ONE_UNIT = "a repository's own folder is kept whole or not at all"


class Drafted(Value):
    """What a call changed in its layers. `nodes`: of each folder that lies below one; `conflicts`: names that are not
    kept without a word of the person's, with the reason; `never`: those that policy keeps from being changed."""

    of: ChangeSet
    nodes: tuple[tuple[str, tuple[Node, ...]], ...]
    conflicts: dict[str, str]
    never: dict[str, str]

    def all(self) -> Iterator[Node]:
        """Each name that is another, folders before what lies in them."""
        for _target, nodes in self.nodes:
            for node in nodes:
                yield from (each for each in node.all() if each.is_change)

    @property
    def is_empty(self) -> bool:
        """Whether nothing is left to be decided."""
        return not any(True for _ in self.all())


def drafted(store: Store, number: int, judged: Callable[[str], str] = lambda _path: "") -> Drafted:
    """What a call changed in its layers, compared with what is there now. `judged`: why policy forbids that a name is
    changed. Raises StoreError where it cannot be told."""
    made = store.checked(number)
    if made.state != DRAFT:
        raise StoreError(f"the changes {number} are no draft")
    nodes = []
    for upper, target in store.layers(number):
        if os.path.isdir(target):
            nodes.append((target, read_layer(upper, target, (made.began, *made.again))))
    every = [each for _target, found in nodes for node in found for each in node.all()]
    inside = tuple(f"{root}/" for root, _dev, _ino in made.roots)  # else it is the session's temporary folder
    conflicts = {each.path: each.conflict for each in every if each.conflict and each.path.startswith(inside)}
    never = {}
    for each in every:
        if each.is_change and each.path.startswith(inside):
            why = judged(each.path)
            if why:
                never[each.path] = why
    _as_units(every, conflicts, never, made.began)
    return Drafted(made, tuple(nodes), conflicts, never)


def _as_units(every: list[Node], conflicts: dict[str, str], never: dict[str, str], since: int) -> None:
    """What lies in a repository's own folder is kept whole or not at all, never over what was committed since."""
    units: dict[str, list[str]] = {}
    for each in every:
        git = git_of(each.path)
        if git and each.is_change:
            units.setdefault(git, []).append(each.path)
    for git, paths in units.items():
        why = next((f"{ONE_UNIT}: {conflicts[path]}" for path in paths if path in conflicts), "")
        for head in heads(git):
            with suppress(OSError):
                why = why or (COMMITTED if os.lstat(head).st_ctime_ns >= since else "")
        if any(os.path.lexists(f"{git}/{name}.lock") for name in ("index", "HEAD", "packed-refs", "config", "shallow")):
            why = why or LOCKED
        if why:
            conflicts.update((path, conflicts.get(path, why)) for path in paths)
        forbidden = next((never[path] for path in paths if path in never), "")
        if forbidden:
            never.update((path, never.get(path, f"{ONE_UNIT}: {forbidden}")) for path in paths)
