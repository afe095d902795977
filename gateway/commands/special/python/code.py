"""What a Python program does, as far as its text tells: by an allowlist over its syntax tree.

Every node of the tree counts, whether it can be reached or not. Modules and functions that do something may only be
named where they are called, so that no value ever holds one; a name, attribute or kind of syntax that is not on the
list is a doubt. What a program is known to do is reported even beside a doubt, for rules that deny.
"""

from __future__ import annotations

import _ast

from gateway.commands.special.python.bindings import children
from gateway.commands.special.python.calls import Calls
from gateway.commands.special.python.names import (
    ATTRIBUTES,
    BUILTINS,
    EFFECTS,
    HARMLESS,
    INNER,
    METHOD_EFFECTS,
    METHODS,
    RISKY,
    WHOLE,
)
from gateway.commands.special.wordlists import words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Node = Any

MAX_SIZE = 20_000
_ONLY_TREE = 0x400

_STATEMENTS: tuple[Any, ...] = (
    _ast.Module, _ast.Expr, _ast.Assign, _ast.AugAssign, _ast.AnnAssign, _ast.NamedExpr, _ast.For, _ast.While, _ast.If,
    _ast.With, _ast.withitem, _ast.Try, _ast.ExceptHandler, _ast.Raise, _ast.Assert, _ast.Pass, _ast.Break,
    _ast.Continue, _ast.Return, _ast.FunctionDef, _ast.Lambda, _ast.arguments, _ast.arg, _ast.ClassDef, _ast.Global,
    _ast.Nonlocal, _ast.Delete, _ast.BoolOp, _ast.BinOp, _ast.UnaryOp, _ast.IfExp, _ast.Dict, _ast.Set, _ast.List,
    _ast.Tuple, _ast.ListComp, _ast.SetComp, _ast.DictComp, _ast.GeneratorExp, _ast.comprehension, _ast.Yield,
    _ast.YieldFrom, _ast.Compare, _ast.keyword, _ast.FormattedValue, _ast.JoinedStr, _ast.Constant, _ast.Slice,
    _ast.Starred, _ast.expr_context, _ast.boolop, _ast.operator, _ast.unaryop, _ast.cmpop,
)  # fmt: skip


def parsed(text: str) -> Node | None:
    """The syntax tree of a program; None if there is none, or it is too large to look at."""
    if len(text) > MAX_SIZE or "\0" in text:
        return None
    import warnings

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return compile(text, "<program>", "exec", _ONLY_TREE, dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


class Program(Calls):
    """One program being looked through. `words`: what `sys.argv` holds; `deeds`: what it does, in order, for the hook
    to make effects of; `doubts`: what is not understood; `modules`: those that may be found in the folder."""

    def __init__(self, tree: Node, given: tuple[str, ...], home: str) -> None:
        super().__init__(tree, given, home)
        try:
            self._visit(tree)
        except RecursionError:
            self.doubt("is nested too deep")

    # What the tree does.

    def _visit(self, node: Node) -> None:
        kind = node.__class__
        if kind is _ast.Call:
            self._call(node)
        elif kind is _ast.Name:
            if node.ctx.__class__ is _ast.Load:
                self._value(self._name(node.id).ref)
            elif node.id in ("open", "type", "super") or (node.id[:2] == "__" != node.id and node.id not in _OWN_NAMES):
                self.doubt(f"gives {node.id} another meaning")
        elif kind is _ast.Attribute:
            self._visit_attribute(node)
        elif kind is _ast.Subscript:
            self._visit_subscript(node)
        elif kind in (_ast.Import, _ast.ImportFrom):
            self._visit_import(node)
        elif kind is _ast.Compare and self._environ_test(node):
            self._visit(node.left)
        elif isinstance(node, _STATEMENTS):
            if kind is _ast.ClassDef and node.keywords:
                self.doubt("chooses how a class is made")
            if kind in (_ast.FunctionDef, _ast.ClassDef) and node.name[:2] == "__" and node.name not in _OWN_METHODS:
                self.doubt(f"defines {node.name}")
            self._show_types(node)
            for child in children(node):
                self._visit(child)
        else:
            self.doubt(f"uses syntax that is not understood ({kind.__name__})")

    def _environ_test(self, node: Node) -> bool:
        return (
            len(node.ops) == 1
            and node.ops[0].__class__ in (_ast.In, _ast.NotIn)
            and self.dotted(node.comparators[0]) == "os.environ"
        )

    def _value(self, ref: str) -> None:
        """A name used as a value: what it means may go anywhere from here."""
        if not ref:
            return
        if ref == "os.environ":
            self.deeds.append(("environment", "*"))
        elif ref in EFFECTS or not self.harmless(ref):
            self.doubt(f"uses {ref.removeprefix('builtins.')} in a way that is not understood")

    def harmless(self, ref: str) -> bool:
        """Whether a full name is on the list of what does nothing by itself."""
        if ref[:9] == "builtins.":
            return ref[9:] in BUILTINS and ref != "builtins.type"
        module, _, name = ref.rpartition(".")
        return ref in HARMLESS or (module in WHOLE and name[:1] != "_")

    def _visit_attribute(self, node: Node) -> None:
        name = self.dotted(node)
        if name:
            if node.ctx.__class__ is not _ast.Load:
                self.doubt(f"changes {name}")
            elif id(node) not in self.let:
                self._deep(name)
            return
        self._show_types(node)
        attribute = node.attr
        if node.ctx.__class__ is not _ast.Load and self._of_a_path(attribute):
            self.doubt(f"changes the attribute {attribute}")
        if attribute not in ATTRIBUTES:
            if attribute[:2] == "__" or attribute.startswith(INNER):
                self.doubt(f"uses the inner attribute {attribute}")
            elif attribute in METHOD_EFFECTS or attribute in RISKY or attribute not in self.own | METHODS:
                self.doubt(f"uses the attribute {attribute}, which is not understood")
        self._visit(node.value)

    def _of_a_path(self, attribute: str) -> bool:
        """Whether a path or its class may have such an attribute, so that setting it changes which file is meant."""
        named = attribute in METHODS or attribute in ATTRIBUTES or attribute in METHOD_EFFECTS
        return "pathlib" in self.modules and (attribute[:1] == "_" or named)

    def _deep(self, name: str) -> None:
        """An attribute of what a module holds: the longest known part of the name, then plain attributes."""
        if self.harmless(name) or name == "os.environ" or name in EFFECTS:
            self._value(name)
            return
        module, _, attribute = name.rpartition(".")
        if module in HARMLESS and attribute in ATTRIBUTES:
            return
        self._value(name)

    def _visit_subscript(self, node: Node) -> None:
        if self.dotted(node.value) == "os.environ":
            access = "environment" if node.ctx.__class__ is _ast.Load else "set"
            self.variable(access, node.slice)
        elif self.dotted(node.value) == "sys.path":
            if node.ctx.__class__ is not _ast.Load:
                self.doubt("changes where modules are found")
        elif self.dotted(node.value) and node.ctx.__class__ is not _ast.Load:
            self.doubt(f"changes {self.dotted(node.value)}")
        else:
            self._visit(node.value)
        self._visit(node.slice)

    def _visit_import(self, node: Node) -> None:
        names = [alias.name for alias in node.names] if node.__class__ is _ast.Import else [node.module or ""]
        for name in names:
            if name not in _UNDERSTOOD:
                self.doubt(f"loads the module {name}")

    def visit_all(self, nodes: list[Node]) -> None:
        """Each of the statements or expressions, in their order."""
        for node in nodes:
            self._visit(node)


_OWN_METHODS = words(
    "__init__ __str__ __repr__ __eq__ __lt__ __len__ __iter__ __next__ __contains__ __getitem__ __hash__ "
    "__add__ __call__ __enter__ __exit__ __bool__"
)
_OWN_NAMES = _OWN_METHODS | words("__all__ __slots__ __version__ __author__")
_PARENTS = {name.rpartition(".")[0] for name in (*HARMLESS, *EFFECTS)} | WHOLE
_UNDERSTOOD = frozenset(
    [module for module in _PARENTS if module.split(".")[0] not in ("requests", "httpx", "builtins")]
    + ["__future__", "os", "sys", "xml", "xml.etree", "urllib", "http", "importlib", "email", "codecs"]
) - {"os.environ", "datetime.datetime", "datetime.date", "datetime.timezone", "pathlib.Path", "sys.stdin", "sys.stdout"}
