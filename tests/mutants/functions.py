"""Which functions of a file a change touches: such a change needs no new process; and functions that note that they are
called. Sources in, code objects out."""

from __future__ import annotations

import ast
import inspect
from collections import Counter
from types import CodeType
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

# A function's name, with what it stands in, and its first line.
Place = tuple[str, int]
_RUN_WHERE_THEY_STAND = ("<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>")


class Changed(NamedTuple):
    """`codes`: the new code of each function that is another one now, or that holds one; `places`: those that come
    to the change when they are called."""

    codes: dict[Place, CodeType]
    places: set[Place]


def changed(before: bytes, after: bytes, file: str) -> Changed | None:
    """What differs; None if it is not in the bodies of functions alone, but in what runs when the file is imported."""
    found = Changed({}, set())
    old, new = (compile(source, file, "exec", dont_inherit=True) for source in (before, after))
    if not _pair(old, new, found, None):
        return None
    known = Counter(place(each) for each in _within(old))
    return None if any(known[each] > 1 for each in found.codes) else found  # two of one line are told apart by nothing


def noting(source: bytes, file: str, name: str) -> dict[Place, CodeType]:
    """The code of all functions of a file, each of which first calls the builtin of this name."""
    tree = _Noting(name).visit(ast.parse(source))
    code = compile(ast.fix_missing_locations(tree), file, "exec", dont_inherit=True)
    return {place(each): each for each in _within(code)}


class _Noting(ast.NodeTransformer):
    def __init__(self, name: str) -> None:
        self._name = name

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        self.generic_visit(node)
        node.body.insert(0, ast.copy_location(ast.Expr(self._call()), node.body[0]))
        return node

    def visit_Lambda(self, node: ast.Lambda) -> ast.Lambda:
        self.generic_visit(node)
        node.body = ast.copy_location(ast.BoolOp(ast.Or(), [self._call(), node.body]), node.body)
        return node

    def _call(self) -> ast.Call:
        return ast.Call(ast.Name(self._name, ast.Load()), [], [])


def place(code: CodeType) -> Place:
    return code.co_qualname, code.co_firstlineno


def _pair(old: CodeType, new: CodeType, found: Changed, function: CodeType | None) -> bool:
    """`function` is the one whose call runs these; None if the import does."""
    is_same = _alone(old) == _alone(new)
    inner = [[each for each in code.co_consts if isinstance(each, CodeType)] for code in (old, new)]
    if (function is None and not is_same) or len(inner[0]) != len(inner[1]):
        return False
    if function and not is_same:
        found.places.add(place(function))
    for one, other in zip(*inner, strict=True):
        runs_now = one.co_name in _RUN_WHERE_THEY_STAND or not one.co_flags & inspect.CO_OPTIMIZED  # a class
        if not _pair(one, other, found, function if runs_now else one):
            return False
    if function and (not is_same or any(place(each) in found.codes for each in inner[0])):
        found.codes[place(old)] = new
    return True


def _within(code: CodeType) -> Iterator[CodeType]:
    yield code
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield from _within(each)


def _alone(code: CodeType) -> CodeType:
    """A function without those in it, and without its lines, which a change above it moves."""
    consts = tuple(None if isinstance(each, CodeType) else each for each in code.co_consts)
    return code.replace(co_consts=consts, co_firstlineno=1, co_linetable=b"")
