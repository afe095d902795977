"""The names and values in a Python program: what binds them, and what is known of them before it runs."""

from __future__ import annotations

import _ast
from posixpath import basename

from gateway.commands.special.python.names import COPYING, KEYWORDS, LOADED
from gateway.commands.special.python.values import (
    LEAF,
    UNKNOWN,
    Held,
    Text,
    added,
    below,
    joined,
    known,
    one_of,
    renamed,
    searched,
    with_home,
)
from gateway.commands.special.wordlists import words
from gateway.model.effect import HOLE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Node = Any
    Deed = tuple[Any, ...]

MAX_NODES = 4_000
MAX_NESTING = 60
_COMPARING = frozenset(("min", "max", "sum"))
_COMPARES = words("__eq__ __ne__ __lt__ __le__ __gt__ __ge__ __contains__")
_PASSING = frozenset(("sorted", "list", "set", "reversed", "tuple", "iter", "frozenset"))
_PLAIN_PATHS = words("pathlib.Path pathlib.PosixPath os.path.join builtins.str os.fspath os.path.normpath")
_CONSTANTS = {"os.devnull": "/dev/null", "os.curdir": ".", "os.sep": "/"}


def children(node: Node) -> list[Node]:
    """The nodes directly below a node."""
    found: list[Node] = []
    for field in node._fields:
        value = getattr(node, field, None)
        if isinstance(value, _ast.AST):
            found.append(value)
        elif value.__class__ is list:
            found += [each for each in value if isinstance(each, _ast.AST)]
    return found


class Bindings:
    """The values of a program. `words`: what `sys.argv` holds; `deeds`: what it does, in order; `doubts`: what is not
    understood; `modules`: those that may be found in the folder; `let`: nodes that are fine where they stand."""

    def __init__(self, tree: Node, given: tuple[str, ...], home: str) -> None:
        self.home = home
        self.words = given
        self.deeds: list[Deed] = []
        self.doubts: list[str] = []
        self.let: set[int] = set()
        self.modules: list[str] = []
        self.bindings: dict[str, list[tuple[str, Node]]] = {}
        self.own: set[str] = set()
        self.safe: set[int] = set()
        self.loads: dict[str, list[int]] = {}
        self.argv: list[int] = []
        self.compared: list[Node] = []
        self.pending: set[str] = set()
        self.memo: dict[int, Held] = {}
        self._prepare(tree)

    def doubt(self, why: str) -> None:
        """Something in the program is not understood."""
        self.doubts.append(why)

    # What binds names, before anything is judged.

    def _prepare(self, tree: Node) -> None:
        nodes = [(tree, 0)]
        seen = 0
        while nodes:
            node, depth = nodes.pop()
            seen += 1
            if seen > MAX_NODES or depth > MAX_NESTING:
                self.doubt("is too large to be looked through")
                break
            self._bindings_of(node)
            nodes += [(child, depth + 1) for child in children(node)]
        if not self.own.isdisjoint(COPYING) or "join" in self.bindings:
            self.doubt("gives a name that is built in another meaning")
        if _COMPARES.isdisjoint(self.own) and _COMPARES.isdisjoint(self.bindings):
            for operand in self.compared:
                self._mark(operand)

    def _bind(self, name: str, how: str, node: Node) -> None:
        self.bindings.setdefault(name, []).append((how, node))

    def _bindings_of(self, node: Node) -> None:
        kind = node.__class__
        if kind is _ast.Import:
            for alias in node.names:
                self._bind(alias.asname or alias.name.partition(".")[0], "ref", self._import(alias.name, alias.asname))
        elif kind is _ast.ImportFrom:
            module = node.module or ""
            if node.level:
                self.doubt("imports from its own package")
            self._import(module, module)
            for alias in node.names:
                if alias.name == "*":
                    self.doubt(f"imports every name of {module}")
                self._bind(alias.asname or alias.name, "ref", f"{module}.{alias.name}")
        elif kind is _ast.Assign:
            for target in node.targets:
                self._target(target, "value", node.value)
        elif kind in (_ast.AnnAssign, _ast.NamedExpr):
            self._target(node.target, "value", node.value)
        elif kind is _ast.AugAssign:
            self._target(node.target, "unknown", None)
        elif kind in (_ast.For, _ast.comprehension):
            self._target(node.target, "item", node.iter)
            self._mark(node.iter)
        elif kind is _ast.withitem and node.optional_vars is not None:
            self._target(node.optional_vars, "value", node.context_expr)
        elif kind in (_ast.FunctionDef, _ast.ClassDef):
            self._bind(node.name, "def", node)
            self.own.add(node.name)
        elif kind is _ast.arg:
            self._bind(node.arg, "unknown", None)
        elif kind is _ast.ExceptHandler and node.name:
            self._bind(node.name, "unknown", None)
        elif kind is _ast.Attribute and node.ctx.__class__ is not _ast.Load:
            self.own.add(node.attr)
        elif kind is _ast.Attribute and node.attr == "argv":
            self.argv.append(id(node))
        elif kind is _ast.Name and node.ctx.__class__ is _ast.Load:
            self.loads.setdefault(node.id, []).append(id(node))
        elif kind is _ast.Name and node.ctx.__class__ is _ast.Del:
            self._bind(node.id, "unknown", None)
        elif kind is _ast.Call:
            name = node.func.id if node.func.__class__ is _ast.Name else getattr(node.func, "attr", "")
            # Of several, what compares or adds is handed them as they are.
            if name in COPYING and not (name in _COMPARING and len(node.args) > 1):
                for argument in node.args:
                    self._mark(argument.value if argument.__class__ is _ast.Starred else argument)
        elif kind is _ast.Compare:
            self.compared += [node.left, *node.comparators]
        elif kind is _ast.Subscript and node.ctx.__class__ is _ast.Load:
            self._mark(node.value)

    def _import(self, name: str, asname: str | None) -> str:
        top = name.partition(".")[0]
        if top not in LOADED:
            self.modules.append(top)
        return name if asname else top

    def _target(self, target: Node, how: str, value: Node) -> None:
        if target.__class__ is _ast.Name:
            self._bind(target.id, how if value is not None else "unknown", value)
        elif target.__class__ in (_ast.Tuple, _ast.List):
            walked = how == "item" and value.__class__ is _ast.Call and len(target.elts) == 3
            for at, element in enumerate(target.elts):
                if element.__class__ is _ast.Starred:
                    element = element.value
                if walked:
                    self._target(element, f"walk {at}", value)
                elif how == "item" and at == 1 and len(target.elts) == 2:
                    self._target(element, "second", value)
                else:
                    self._target(element, "unknown", None)

    def _mark(self, node: Node) -> None:
        """A use of a name that keeps no hold of the list behind it, which can thus not change through it."""
        if node.__class__ in (_ast.Name, _ast.Attribute):
            self.safe.add(id(node))

    def _words_stay(self) -> bool:
        """Whether nothing in the program can change `sys.argv`."""
        loads = list(self.argv)
        for name, found in self.bindings.items():
            if any(how == "ref" and ref == "sys.argv" for how, ref in found):
                loads += self.loads.get(name, ())
        return self.safe.issuperset(loads)

    # What values are known.

    def hold(self, node: Node) -> Held:
        """What is known of the value of an expression."""
        key = id(node)
        found = self.memo.get(key)
        if found is None:
            found = self.memo[key] = self._hold(node)
        return found

    def _hold(self, node: Node) -> Held:
        kind = node.__class__
        if kind is _ast.Constant:
            return known(node.value) if node.value.__class__ is str else UNKNOWN
        if kind is _ast.Name:
            return self._name(node.id)
        if kind is _ast.JoinedStr:
            value = known("")
            for piece in node.values:
                plain = piece.__class__ is _ast.FormattedValue and piece.conversion == -1 and piece.format_spec is None
                value = added(value, self.hold(piece.value if plain else piece))
            return value
        if kind is _ast.BinOp:
            if node.op.__class__ is _ast.Add:
                return added(self.hold(node.left), self.hold(node.right))
            if node.op.__class__ is _ast.Div:
                return joined(self.hold(node.left), self.hold(node.right))
            if node.op.__class__ is _ast.Mod and node.left.__class__ is _ast.Constant:
                return known(str(node.left.value).partition("%")[0] + HOLE)
            return UNKNOWN
        if kind is _ast.IfExp:
            return one_of([self.hold(node.body), self.hold(node.orelse)])
        if kind in (_ast.List, _ast.Tuple, _ast.Set):
            if any(element.__class__ is _ast.Starred for element in node.elts) or not node.elts:
                return UNKNOWN
            return Held(item=one_of([self.hold(element) for element in node.elts]))
        if kind is _ast.NamedExpr:
            return self.hold(node.value)
        if kind is _ast.Subscript:
            return self._subscripted(node)
        if kind is _ast.Attribute:
            return self._attribute(node)
        return self._called(node) if kind is _ast.Call else UNKNOWN

    def _name(self, name: str) -> Held:
        found = self.bindings.get(name)
        if found is None:
            return Held(ref=f"builtins.{name}")
        if name in self.pending:
            return UNKNOWN
        self.pending.add(name)
        values = [self._bound(how, node) for how, node in found]
        self.pending.discard(name)
        value = values[0]
        if any(other != value for other in values):
            if any(other.ref for other in values):
                self.doubt(f"gives {name} several meanings")
            return UNKNOWN
        if value.item is not None and not self.safe.issuperset(self.loads.get(name, ())):
            value = value.replace(item=None)
        return value

    def _bound(self, how: str, node: Node) -> Held:
        if how == "ref":
            return Held(ref=node)
        if how == "value":
            value = self.hold(node)
            return value if not value.ref else UNKNOWN
        if how == "item":
            return self.hold(node).item or UNKNOWN
        if (
            how == "second"
            and node.__class__ is _ast.Call
            and node.args
            and self.dotted(node.func) == "builtins.enumerate"
        ):
            return self.hold(node.args[0]).item or UNKNOWN
        if how[:4] == "walk" and node.args and self.dotted(node.func) == "os.walk":
            return below(self.hold(node.args[0])) if how == "walk 0" else Held(item=LEAF)
        return UNKNOWN

    def _subscripted(self, node: Node) -> Held:
        if self.dotted(node.value) == "sys.argv":
            if not self._words_stay():
                return UNKNOWN
            index = node.slice
            if index.__class__ is _ast.Constant and index.value.__class__ is int and 0 <= index.value < len(self.words):
                return known(self.words[index.value])
            if index.__class__ is _ast.Slice and len(self.words) > 1:
                return Held(item=one_of([known(word) for word in self.words[1:]]))
            return UNKNOWN
        value = self.hold(node.value)
        if node.slice.__class__ is _ast.Slice:
            return Held(item=value.item) if value.item is not None else UNKNOWN
        return value.item or UNKNOWN

    def _attribute(self, node: Node) -> Held:
        name = self.dotted(node)
        if name:
            return known(_CONSTANTS[name]) if name in _CONSTANTS else Held(ref=name)
        value = self.hold(node.value)
        if node.attr == "name" and all(text.below or text.leaf for text in value.texts):
            return LEAF
        if node.attr == "path" and all(text.below for text in value.texts):
            return value
        return UNKNOWN

    def _called(self, node: Node) -> Held:
        name = self.dotted(node.func)
        given = [self.hold(argument) for argument in node.args]
        if any(argument.__class__ is _ast.Starred for argument in node.args):
            return UNKNOWN
        if name in _PLAIN_PATHS:
            value = given[0] if given else known(".")
            for other in given[1:]:
                value = joined(value, other)
            return value if not value.ref else UNKNOWN
        if name in ("pathlib.Path.home", "pathlib.Path.cwd"):
            return known((self.home or HOLE) if name[-4:] == "home" else ".")
        if name == "os.getcwd":
            return known(".")
        if name == "os.path.expanduser" and given:
            return with_home(given[0], self.home)
        if name == "os.path.basename" and given and len(given[0].texts) == 1 and HOLE not in given[0].texts[0].text:
            text = given[0].texts[0]
            return LEAF if text.below else known(basename(text.text))
        if name in ("os.listdir", "glob.glob", "glob.iglob", "os.scandir"):
            return Held(item=self.listed(name, node))
        if name[:9] == "builtins." and name[9:] in _PASSING and given:
            return Held(item=given[0].item)
        if node.func.__class__ is _ast.Attribute and not name:
            return self._method_value(node, node.func.attr, given)
        return UNKNOWN

    def _method_value(self, node: Node, name: str, given: list[Held]) -> Held:
        value = self.hold(node.func.value)
        if name == "expanduser":
            return with_home(value, self.home)
        if name == "joinpath":
            for other in given:
                value = joined(value, other)
            return value
        if (
            name in ("resolve", "absolute", "as_posix", "strip", "rstrip")
            and not given
            and all(t.below for t in value.texts)
        ):
            return value if name not in ("strip", "rstrip") else UNKNOWN
        if name in ("resolve", "absolute", "as_posix") and not given:
            return value
        if name == "with_suffix" and given:
            return renamed(value, given[0])
        if name in ("iterdir", "glob", "rglob"):
            pattern = (
                given[0].texts[0].text if given and len(given[0].texts) == 1 else HOLE if name != "iterdir" else "*"
            )
            inside = HOLE not in pattern and ".." not in pattern and pattern[:1] != "/"
            return Held(item=below(value) if inside else UNKNOWN)
        return UNKNOWN

    def dotted(self, node: Node) -> str:
        """The full name of what an expression means, if it is a module, or a name of one, or built in; else ""."""
        names: list[str] = []
        while node.__class__ is _ast.Attribute:
            names.append(node.attr)
            node = node.value
        if node.__class__ is not _ast.Name:
            return ""
        ref = self._name(node.id).ref
        if not ref or (names and ref[:9] == "builtins."):
            return ref if not names else ""
        return ".".join([ref, *reversed(names)])

    # What the arguments of a call are.

    def argument(self, node: Node, position: int, receiver: Node = None) -> Held:
        """An argument by its position; unknown if nobody can tell which it is."""
        if position < 0:
            return self.hold(receiver)
        arguments = node.args[: position + 1]
        if len(arguments) <= position or any(argument.__class__ is _ast.Starred for argument in arguments):
            return UNKNOWN
        return self.hold(arguments[position])

    def keyword(self, node: Node, name: str) -> Node:
        """The value of a keyword; None if it is not given."""
        return next((keyword.value for keyword in node.keywords if keyword.arg == name), None)

    def _keywords(self, node: Node, name: str, allowed: frozenset[str] = KEYWORDS) -> None:
        for keyword in node.keywords:
            if keyword.arg not in allowed:
                self.doubt(f"hands {name} the argument {keyword.arg or '**'}, which is not understood")

    def touch(self, kind: str, value: Held, tree: bool = False) -> None:
        """A file or folder of each text that a value may be."""
        for text in value.texts:
            path = HOLE if text.leaf else text.text
            self.deeds.append((kind, path, tree or text.below))

    def listed(self, name: str, node: Node) -> Held:
        """What comes out of listing a folder."""
        folder = self.argument(node, 0) if node.args else known(".")
        if name == "os.listdir":
            return LEAF
        if name == "os.scandir":
            return below(folder)
        texts = [searched(text.text) if not (text.below or text.leaf) else HOLE for text in folder.texts]
        return Held(tuple([Text(text, text != HOLE) for text in texts]))
