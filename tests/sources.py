"""What stands in the files of the package. All are parsed by the first process that asks, for all that come after it in
this checkout, and again where one says something else."""

from __future__ import annotations

import ast
import fcntl
import functools
import hashlib
import pickle
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parents[1]
KEPT = ROOT / ".pytest_cache" / "sources"

_Class = ast.ClassDef
_Function = (ast.FunctionDef, ast.AsyncFunctionDef)


class Import(NamedTuple):
    """`import MODULE` (without names) or `from MODULE import NAMES`."""

    line: int
    module: str
    names: tuple[str, ...]
    annotation: bool
    """Only type checkers see it."""
    at_top: bool
    renamed: tuple[str, ...]
    """What the names are here."""


class Call(NamedTuple):
    """A call of a name, or of what is taken `of` another name. `unnamed`: how many arguments have no name;
    what is spread is not counted."""

    line: int
    name: str
    of: str
    unnamed: int


class Definition(NamedTuple):
    """A class or a function at the top or in a class, by its name there (`Class.method`)."""

    line: int
    name: str
    bases: tuple[str, ...]
    decorators: tuple[str, ...]
    documented: bool
    is_class: bool

    @property
    def is_public(self) -> bool:
        return not any(part.startswith("_") for part in self.name.split("."))


class Source(NamedTuple):
    """One file. `attributes`: what is taken of what, by the last name before the dot."""

    imports: tuple[Import, ...]
    calls: tuple[Call, ...]
    attributes: frozenset[tuple[str, str]]
    definitions: tuple[Definition, ...]


@functools.cache
def source(path: Path) -> Source:
    """What stands in a file."""
    content = path.read_bytes()
    found = of_the_package().get(_digest(content))
    return _parsed(path, content) if found is None else found


def _digest(content: bytes) -> bytes:
    return hashlib.blake2b(content, digest_size=16).digest()


@functools.cache
def of_the_package() -> dict[bytes, Source]:
    """What stands in each file of the package, by the digest of its content: as it was found before where all that it
    came of is the same."""
    contents = {path: path.read_bytes() for path in sorted((ROOT / "gateway").rglob("*.py"))}
    digests = {path: _digest(content) for path, content in contents.items()}
    KEPT.mkdir(parents=True, exist_ok=True)
    kept = KEPT / _digest(Path(__file__).read_bytes() + sys.version.encode()).hex()
    with open(KEPT / "lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # one parses, the others wait for it
        known: dict[bytes, Source] = pickle.loads(kept.read_bytes()) if kept.exists() else {}
        if set(digests.values()) != known.keys():
            known = {digests[path]: known.get(digests[path]) or _parsed(path, contents[path]) for path in contents}
            new = kept.with_suffix(".new")
            new.write_bytes(pickle.dumps(known))
            new.replace(kept)
            for each in KEPT.iterdir():
                if each.name not in (kept.name, "lock"):
                    each.unlink()
    return known


def _parsed(path: Path, content: bytes) -> Source:
    tree = ast.parse(content)
    nodes = list(ast.walk(tree))
    top = {id(node) for node in tree.body}
    for_checkers = {
        id(inner)
        for node in nodes
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
        for child in node.body
        for inner in ast.walk(child)
    }
    imports: list[Import] = []
    calls: list[Call] = []
    attributes: set[tuple[str, str]] = set()
    for node in nodes:
        how = id(node) in for_checkers, id(node) in top
        if isinstance(node, ast.Import):
            imports += [Import(node.lineno, each.name, (), *how, (each.asname or each.name,)) for each in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}, line {node.lineno}: imports must be absolute"
            names = tuple(each.name for each in node.names)
            renamed = tuple(each.asname or each.name for each in node.names)
            imports.append(Import(node.lineno, node.module or "", names, *how, renamed))
        elif isinstance(node, ast.Call) and isinstance(node.func, (ast.Name, ast.Attribute)):
            of = _last(node.func.value) if isinstance(node.func, ast.Attribute) else ""
            unnamed = sum(not isinstance(each, ast.Starred) for each in node.args)
            calls.append(Call(node.lineno, _last(node.func), of, unnamed))
        elif isinstance(node, ast.Attribute):
            attributes.add((_last(node.value), node.attr))
    definitions = tuple(_definitions(tree.body, ""))
    return Source(tuple(imports), tuple(calls), frozenset(attributes), definitions)


def _definitions(body: list[ast.stmt], within: str) -> Iterator[Definition]:
    for node in body:
        if isinstance(node, (_Class, *_Function)):
            bases = tuple(_last(each) for each in node.bases) if isinstance(node, _Class) else ()
            decorators = tuple(_last(each) for each in node.decorator_list)
            made = any(isinstance(each, ast.Assign) and _last(each.targets[0]) == "__doc__" for each in node.body)
            documented = made or bool(ast.get_docstring(node))
            is_class = isinstance(node, _Class)
            yield Definition(node.lineno, within + node.name, bases, decorators, documented, is_class)
            if isinstance(node, _Class):
                yield from _definitions(node.body, f"{within}{node.name}.")


def _last(node: ast.expr) -> str:
    """The name of what an expression is taken from: `path` for `os.path`, `Path` for `Path(x)`; "" for none."""
    while isinstance(node, (ast.Call, ast.Attribute, ast.Subscript)):
        if isinstance(node, ast.Attribute):
            return node.attr
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else ""
