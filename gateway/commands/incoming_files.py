"""Files that a text itself creates while it runs: unpacked, patched, copied, checked out of git, fetched.

Nobody saw it when the machine was looked at, so that every fact about what lies there ends with the part that brings
it: links and kinds of files, settings, repositories, modules, programs of the search path. `mark` says it once, on the
trees themselves (`Touch.skips`); whatever asks about a place asks here.
"""

from __future__ import annotations

from gateway.core.value import Value
from gateway.model.effect import BROUGHT, COPIED, HOLE, Code, Item, Opaque, Touch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from gateway.model.command import Part

# Programs that make whole trees of what an archive holds.
UNPACKERS = frozenset(
    ("tar", "bsdtar", "unzip", "7z", "7za", "7zr", "7zz", "cpio", "rar", "unrar", "unar", "jar", "ar")
)
# Programs that make trees of trees, and the options with which they keep the links in them; none: always.
COPIERS: dict[str, frozenset[str]] = {
    "cp": frozenset(("-r", "-R", "-a", "-d", "-P", "--preserve")),
    "mv": frozenset(),
    "rsync": frozenset(("-a", "-l")),
}
# With these, programs that read trees go through the links in them.
_FOLLOWING = frozenset(("-L", "-R", "-h", "--dereference", "--dereference-recursive", "--follow"))
MAX_TREES = 64


class Tree(Value):
    """A folder that gets content from elsewhere, and the part that brings it. `copied`: out of folders that are here,
    whose links are followed by themselves (`crossing`)."""

    path: str
    part: int
    copied: bool


def mark(items: list[Item], parts: tuple[Part, ...]) -> list[Tree]:
    """Marks the trees that are written with names which come from elsewhere: what lies there now says nothing of them.
    Where a part also runs code that nobody sees, that `Code` is what is judged: who lets it run has let it write."""
    runs: set[int] = set()
    connected: set[int] = set()
    writes = False
    for item in items:
        effect: Any = item.effect
        kind = effect.kind
        if kind == "write":
            writes = writes or effect.tree
        elif kind == "code":
            runs.add(item.part)
        elif kind == "connect":
            connected.add(item.part)
    if not writes and not (runs and len(parts) > 1):
        return []
    connected -= runs
    found = [
        # Code that speaks of links may make them wherever it stands.
        Tree(cwd, part, False)
        for part in runs
        if part >= 0 and len(parts) > 1 and any("symlink" in word for word in parts[part].argv)
        for cwd in parts[part].cwds or (HOLE,)
    ]
    for at, item in enumerate(items) if writes else ():
        effect = item.effect
        if not isinstance(effect, Touch) or effect.kind != "write" or not effect.tree or item.part < 0 or effect.skips:
            continue
        program = parts[item.part].program
        copied = program in COPIERS and item.part not in connected
        taken_out = program == "git" and "/.git/" not in f"{effect.path}/"
        if not (copied or program in UNPACKERS or program == "patch" or taken_out or item.part in connected):
            continue
        skips = BROUGHT
        if copied:
            sources = [
                other.path
                for each in items
                if each.part == item.part and isinstance(other := each.effect, Touch)
                if other.kind in ("read", "delete") and other.path != effect.path
            ]
            skips = "\0".join([COPIED, *sources]) if sources else BROUGHT
        items[at] = item.replace(effect=effect.replace(skips=skips))
        found += [Tree(path, item.part, copied) for path in (effect.path, effect.real) if path]
    return found


def is_brought(effect: Touch) -> bool:
    """Whether a written tree is marked."""
    return effect.kind == "write" and effect.tree and effect.skips.partition("\0")[0] in (BROUGHT, COPIED)


def doubt_behind(items: list[Item], parts: tuple[Part, ...], trees: list[Tree]) -> None:
    """What parts touch in such a folder once it is there may be a link to anywhere."""
    unpacked = [tree for tree in trees if not tree.copied]
    if len(unpacked) > MAX_TREES:
        items.append(Item(Opaque("more trees are brought from elsewhere than are followed"), 0, 0))
        return
    doubted: set[int] = set()
    for item in tuple(items):
        effect = item.effect
        if not isinstance(effect, Touch) or effect.kind == "list" or item.part in doubted:
            continue
        follows = effect.tree and item.part >= 0 and not _FOLLOWING.isdisjoint(parts[item.part].options)
        for tree in unpacked:
            folder = tree.path.rstrip("/")
            below = HOLE in folder or effect.path.startswith(f"{folder}/")
            around = follows and f"{folder}/".startswith(f"{effect.path.rstrip('/')}/")
            if (below or around) and _comes_behind(item, tree, parts):
                doubted.add(item.part)
                why = f"what it names may be a link that {parts[tree.part].program} brings along"
                _doubt(items, parts, item, why)
                break


def _comes_behind(item: Item, tree: Tree, parts: tuple[Part, ...]) -> bool:
    """Whether a part may run when the tree is there. What is unpacked in a loop may be there for what stands before."""
    if item.part == tree.part:
        return False
    by = parts[tree.part]
    if by.program in UNPACKERS:
        return True
    if item.part >= 0:
        return item.part > tree.part
    # A redirection: of another command where one stands in between; its own is opened before it runs.
    return any(by.end <= part.start <= item.start for part in parts[tree.part + 1 :])


def _doubt(items: list[Item], parts: tuple[Part, ...], item: Item, why: str) -> None:
    if item.part < 0:
        items.append(Item(Opaque(why), item.start, item.end))
        return
    part = parts[item.part]
    items.append(Item(Code(part.program, part.argv, why), item.start, item.end, item.part))


def put_there(parts: tuple[Part, ...], items: list[Item], searched: tuple[str, ...]) -> frozenset[str]:
    """The names that mean another program once the text has written into a folder of PATH."""
    found: set[str] = set()
    bringing: set[int] = set()
    for item in items:
        effect = item.effect
        if not isinstance(effect, Touch) or effect.kind != "write":
            continue
        for path in (effect.path, effect.real) if effect.real else (effect.path,):
            folder, _, name = path.rpartition("/")
            if folder in searched:
                found.add(name)
            if is_brought(effect) and any(f"{each}/".startswith(f"{path}/") for each in searched):
                bringing.add(item.part)
    if bringing:
        alone = bringing if len(bringing) == 1 else ()
        found.update(part.argv[0].rpartition("/")[2] for at, part in enumerate(parts) if at not in alone and part.argv)
    return frozenset(found)
