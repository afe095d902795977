"""Which mutants a source file has: each is the file with one place written otherwise. Pure; texts in, texts out.

The places come from the syntax tree, the change is made in the text: all else, comments and line numbers of what stands
before, stays as it is. Nothing is changed in annotations, decorators, docstrings, f-strings and `if TYPE_CHECKING`.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_COMPARED = {
    ast.Eq: (("==", "!="),),
    ast.NotEq: (("!=", "=="),),
    ast.Lt: (("<", "<="), ("<", ">=")),
    ast.LtE: (("<=", "<"), ("<=", ">")),
    ast.Gt: ((">", ">="), (">", "<=")),
    ast.GtE: ((">=", ">"), (">=", "<")),
    ast.In: (("in", "not in"),),
    ast.NotIn: (("not in", "in"),),
    ast.Is: (("is", "is not"),),
    ast.IsNot: (("is not", "is"),),
}
_CONSTANTS = {True: b"False", False: b"True"}
_NUMBERS = {0: b"1", 1: b"0"}
_OTHERWISE_CHANGED = (
    ast.Compare,
    ast.BoolOp,
    ast.Constant,
    ast.UnaryOp,
)  # as conditions they have changes of their own
# A change across lines would move what follows; shown is the line that it begins in.
_BLANK = re.compile(rb"[^\n]")


@dataclass(frozen=True)
class Mutant:
    """One change to one file."""

    path: str  # from the top of the repository
    line: int
    function: str  # with its class; "" for what stands in no function
    before: str  # the lines as they are, joined and without indentation
    after: str
    begin: int  # what the change writes anew, in bytes of the source
    end: int
    new: bytes

    @property
    def name(self) -> tuple[str, str, str, str]:
        """What it is known by while lines move."""
        return self.path, self.function, self.before, self.after

    def applied(self, source: bytes) -> bytes:
        """The whole file, changed."""
        return source[: self.begin] + self.new + source[self.end :]


def mutants(path: str, source: bytes) -> list[Mutant]:
    """All changes to a file, in the order of its lines. A few of them may be no Python: `is_sound` tells."""
    text = _Text(source)
    found = []
    tree = ast.parse(source)
    told = _told_by_types(tree)
    for function, node in _walk(tree, ""):
        for begin, end, new in () if node in told else _edits(node, text):
            first, last = text.start_of_line(begin), text.end_of_line(end)
            before = _shown(source[first:last])
            after = _shown(source[first:begin] + new + source[end:last])
            found.append(Mutant(path, text.line(begin), function, before, after, begin, end, new))
    return sorted(found, key=lambda mutant: (mutant.line, mutant.begin))


def is_sound(mutant: Mutant, source: bytes) -> bool:
    """Whether the changed file is Python, and another program than before."""
    try:
        return ast.dump(ast.parse(mutant.applied(source))) != ast.dump(ast.parse(source))
    except (SyntaxError, ValueError):
        return False


def _shown(lines: bytes) -> str:
    return " ".join(lines.decode().split())


class _Text:
    """Where lines and columns of a source are."""

    def __init__(self, source: bytes) -> None:
        self.source = source
        self.starts = [0]
        for line in source.splitlines(keepends=True):
            self.starts.append(self.starts[-1] + len(line))

    def begin(self, node: ast.expr | ast.stmt) -> int:
        return self.starts[node.lineno - 1] + node.col_offset

    def end(self, node: ast.expr | ast.stmt) -> int:
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        return self.starts[node.end_lineno - 1] + node.end_col_offset

    def line(self, at: int) -> int:
        return self.source.count(b"\n", 0, at) + 1

    def start_of_line(self, at: int) -> int:
        return self.source.rfind(b"\n", 0, at) + 1

    def end_of_line(self, at: int) -> int:
        end = self.source.find(b"\n", at)
        return len(self.source) if end < 0 else end


def _walk(node: ast.AST, function: str) -> Iterator[tuple[str, ast.AST]]:
    """What may be changed, with the name of what it stands in."""
    for name, field in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list", "type_params"):
            continue
        for child in field if isinstance(field, list) else [field]:
            if not isinstance(child, ast.AST) or _is_left_alone(child):
                continue
            inner = function
            if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                inner = f"{function}.{child.name}" if function else child.name
            yield inner, child
            yield from _walk(child, inner)


def _told_by_types(tree: ast.AST) -> set[ast.AST]:
    """What returns a value that is as false as None, where None is none of what the function says that it returns: who
    asks whether it is true is told the same, and the type checker tells the rest."""
    found: set[ast.AST] = set()
    for function in ast.walk(tree):
        if isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)) and function.returns is not None:
            returned = {each for each in ast.walk(function) if isinstance(each, ast.Return) and _is_empty(each.value)}
            found = found - returned if _is_optional(function.returns) else found | returned
    return found


def _is_empty(value: ast.expr | None) -> bool:
    if isinstance(value, ast.Constant):
        return not value.value and value.value is not None
    if isinstance(value, ast.Dict):
        return not value.keys
    return isinstance(value, (ast.List, ast.Tuple)) and not value.elts


def _is_optional(returns: ast.expr) -> bool:
    """Whether it may be None, by the alternatives that are written out."""
    if isinstance(returns, ast.BinOp):
        return _is_optional(returns.left) or _is_optional(returns.right)
    return ast.unparse(returns) in ("None", "Any", "object")


def _is_left_alone(node: ast.AST) -> bool:
    if isinstance(node, ast.If):
        return isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
    if isinstance(node, ast.Assign):
        names = {target.id for target in node.targets if isinstance(target, ast.Name)}
        return bool(names & {"TYPE_CHECKING", "__slots__", "__all__"})
    if isinstance(node, ast.keyword):
        return node.arg == "strict"  # of `zip`: what it forbids does not occur
    return isinstance(node, (ast.JoinedStr, ast.Assert, ast.Import, ast.ImportFrom))


def _edits(node: ast.AST, text: _Text) -> Iterator[tuple[int, int, bytes]]:
    """The places in the text that a node's changes write anew: begin, end, what stands there then."""
    match node:
        case ast.Compare():
            operands = [node.left, *node.comparators]
            for at, operator in enumerate(node.ops):
                for old, new in _COMPARED[type(operator)]:
                    yield from _between(text, operands[at], operands[at + 1], old, new)
        case ast.BoolOp():
            old, new = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
            for left, right in zip(node.values, node.values[1:], strict=False):
                yield from _between(text, left, right, old, new)
        case ast.UnaryOp(op=ast.Not()):
            yield text.begin(node), text.begin(node) + len("not "), b""
        case ast.Constant(value=bool()):
            yield text.begin(node), text.end(node), _CONSTANTS[node.value]
        case ast.Constant(value=int()) if node.value in _NUMBERS:
            yield text.begin(node), text.end(node), _NUMBERS[node.value]
        case ast.Continue():
            yield text.begin(node), text.end(node), b"break"
        case ast.Break():
            yield text.begin(node), text.end(node), b"continue"
        case ast.Return(value=ast.expr() as value) if not _is_none(value):
            yield text.begin(value), text.end(value), b"None"
        case ast.Expr(value=ast.Call()):
            yield text.begin(node), text.end(node), b"pass"
        case ast.Set() | ast.Tuple() | ast.List():
            yield from _shortened(node.elts, text)
        case ast.If(body=[*_, ast.Raise()]):
            yield text.begin(node.test), text.end(node.test), b"False"
    if isinstance(node, (ast.If, ast.IfExp)):
        yield from _negated(node.test, text)
    if isinstance(node, ast.comprehension):
        for condition in node.ifs:
            yield from _negated(condition, text)
            yield text.begin(condition), text.end(condition), b"True"


def _between(text: _Text, left: ast.expr, right: ast.expr, old: str, new: str) -> Iterator[tuple[int, int, bytes]]:
    """The operator between two operands, where brackets and comments may stand, too."""
    begin, end = text.end(left), text.begin(right)
    gap = re.sub(rb"#[^\n]*", lambda comment: _BLANK.sub(b" ", comment[0]), text.source[begin:end])
    spelled = rb"\s+".join(re.escape(word.encode()) for word in old.split())
    if found := re.search(spelled, gap):
        yield begin + found.start(), begin + found.end(), new.encode()


def _negated(condition: ast.expr, text: _Text) -> Iterator[tuple[int, int, bytes]]:
    if isinstance(condition, _OTHERWISE_CHANGED):
        return
    yield (
        text.begin(condition),
        text.end(condition),
        b"not (" + text.source[text.begin(condition) : text.end(condition)] + b")",
    )


def _shortened(elements: list[ast.expr], text: _Text) -> Iterator[tuple[int, int, bytes]]:
    """A collection of names without one of them."""
    if len(elements) < 2 or not all(
        isinstance(each, ast.Constant) and isinstance(each.value, str) for each in elements
    ):
        return
    ends = [text.end(each) for each in elements]
    for at, element in enumerate(elements):
        if at:
            yield ends[at - 1], ends[at], b"," if len(elements) == 2 else b""
        elif len(elements) == 2:  # with a comma of its own a tuple of one stays a tuple
            yield text.begin(element), ends[1], text.source[text.begin(elements[1]) : ends[1]] + b","
        else:
            yield text.begin(element), text.begin(elements[1]), b""


def _is_none(value: ast.expr) -> bool:
    return isinstance(value, ast.Constant) and value.value is None
