"""What the calls in a Python program do with their arguments."""

from __future__ import annotations

import _ast

from gateway.commands.special.python.names import (
    BUILTINS,
    EFFECTS,
    INNER,
    KEYWORDS,
    METHOD_EFFECTS,
    METHODS,
    RISKY,
)
from gateway.commands.special.python.reach import Reach
from gateway.commands.special.python.values import UNKNOWN, known, searched
from gateway.model.effect import HOLE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Node = Any

_SHOWING = frozenset(("print", "str", "repr", "isinstance", "len", "join", "list", "id", "hex"))
_MODES = frozenset("rwaxbt+U")


class Calls(Reach):
    """The part of a program's reading that judges calls."""

    if TYPE_CHECKING:
        harmless: Callable[[str], bool]
        _visit: Callable[[Node], None]
        visit_all: Callable[[list[Node]], None]

    def _call(self, node: Node) -> None:
        self._show_types(node)
        outer, self.current = self.current, node
        name = self._callee(node.func)
        self.current = outer
        if name in EFFECTS:
            for effect in EFFECTS[name].split(", "):
                self._effect(node, name, effect)
        elif name == "builtins.type" and (id(node) not in self.let or len(node.args) != 1 or node.keywords):
            self.doubt("uses type in a way that is not understood")
        self.visit_all(node.args)
        self.visit_all(node.keywords)

    def _callee(self, function: Node) -> str:
        """The full name of what is called, "" for a method of a value or a function of the program's own."""
        kind = function.__class__
        name = self.dotted(function) if kind in (_ast.Name, _ast.Attribute) else ""
        if name in EFFECTS or name == "builtins.type" or self.harmless(name):
            return name
        if kind is _ast.Attribute:
            if not name or self.harmless(name.rpartition(".")[0]):
                self._method(function, name)
            else:
                self.doubt(f"calls {name}, which is not understood")
        elif kind is _ast.Name and function.id in self.bindings:
            if function.id in BUILTINS or any(how != "def" for how, _ in self.bindings[function.id]):
                self.doubt(f"calls {function.id}, which may be anything")
        elif kind is _ast.Lambda:
            self._visit(function)
        else:
            self.doubt(f"calls {name.removeprefix('builtins.') or 'a value'}, which is not understood")
            if not name:
                self._visit(function)
        return ""

    def _method(self, function: Node, name: str) -> None:
        attribute = function.attr
        call = self.current
        receiver = function.value
        if receiver.__class__ is _ast.Call and self.dotted(receiver.func) == "builtins.super":
            if attribute[:2] == "__" and attribute != "__init__":
                self.doubt(f"calls the inner method {attribute}")
            return
        if not name:
            self._visit(receiver)
        if attribute in METHOD_EFFECTS:
            for effect in METHOD_EFFECTS[attribute].split(", "):
                self._effect(call, attribute, effect, receiver)
        elif attribute not in METHODS and (
            attribute not in self.own or attribute[:2] == "__" or attribute in RISKY or attribute.startswith(INNER)
        ):
            self.doubt(f"calls the method {attribute}, which is not understood")

    # One effect of a call.

    current: Node = None

    def _effect(self, node: Node, name: str, effect: str, receiver: Node = None) -> None:
        kind, _, which = effect.partition(" ")
        tree = kind[-1:] == "/"
        kind = kind.rstrip("/")
        if kind in ("read", "write", "delete", "list", "into") and which:
            self._keywords(node, name)
            position = int(which.rstrip("?"))
            if which[-1] == "?" and not node.args and not node.keywords:
                self.touch(kind, known("."), tree)
            elif kind == "into":
                self.deeds.append(("into", self.argument(node, 0), self.argument(node, 1)))
            else:
                self.touch(kind, self.argument(node, position, receiver), tree)
        elif kind:
            getattr(self, f"_{kind}")(node, name, which, receiver)

    def _open(self, node: Node, name: str, mode: str, receiver: Node) -> None:
        method = receiver is not None
        self._keywords(node, name)
        given = self.keyword(node, "mode")
        at = 0 if method else 1
        if given is None and len(node.args) > at:
            given = node.args[at]
        if given is not None:
            mode = given.value if given.__class__ is _ast.Constant and given.value.__class__ is str else "r+"
        elif any(argument.__class__ is _ast.Starred for argument in node.args):
            mode = "r+"
        elif mode in ("", "-1"):
            mode = "r"
        if not _MODES.issuperset(mode):
            self.doubt(f"opens a file in the mode {mode}")
            mode = "r+"
        path = node.args[0] if node.args and not method else None
        if path.__class__ is _ast.Constant and path.value.__class__ is int and path.value in (0, 1, 2):
            return
        value = self.argument(node, -1 if method else 0, receiver)
        if "r" in mode or "+" in mode or "U" in mode:
            self.touch("read", value)
        if not {"w", "a", "x", "+"}.isdisjoint(mode):
            self.touch("write", value)

    def _replace(self, node: Node, name: str, which: str, receiver: Node) -> None:
        """A path's takes one place, a text's two texts, a date's numbers by name."""
        del which
        starred = any(argument.__class__ is _ast.Starred for argument in node.args)
        number = bool(node.args) and node.args[0].__class__ is _ast.Constant and node.args[0].value.__class__ is int
        if starred or (len(node.args) == 1 and not number) or self.keyword(node, "target") is not None:
            self.touch("delete", self.hold(receiver), True)
            self.touch("write", self.argument(node, 0), True)
        elif any(keyword.arg is None for keyword in node.keywords):
            self.doubt(f"hands {name} arguments that are not known")

    def _copy(self, node: Node, name: str, which: str, receiver: Node) -> None:
        """A list's and a dictionary's takes nothing, a path's takes a place."""
        del name, which
        if node.args or node.keywords:
            self.touch("read", self.hold(receiver), True)
            self.touch("write", self.argument(node, 0), True)

    def _read(self, node: Node, name: str, which: str, receiver: Node) -> None:
        """A file's takes a size, a configuration's takes files."""
        del name, which, receiver
        if "configparser" in self.modules and (node.args or node.keywords):
            value = self.argument(node, 0)
            self.touch("read", value.item or value)
        elif node.keywords:
            self.doubt("hands read arguments that are not understood")

    def _write(self, node: Node, name: str, which: str, receiver: Node) -> None:
        """A file's takes text, a tree of XML's takes a file."""
        del name, which, receiver
        if "xml" in self.modules:
            self.touch("write", self.argument(node, 0))

    def _extract(self, node: Node, name: str, which: str, receiver: Node) -> None:
        del which, receiver
        place = self.keyword(node, "path")
        value = self.hold(place) if place is not None else known(".")
        if place is None and node.args:
            value = (
                self.argument(node, 0 if name == "extractall" else 1)
                if name == "extractall" or len(node.args) > 1
                else value
            )
        self.touch("write", value, True)
        self.touch("write", UNKNOWN)

    def _format(self, node: Node, name: str, which: str, receiver: Node) -> None:
        """A format may walk through attributes, so it must be seen whole."""
        del node, which
        seen = receiver.__class__ is _ast.Constant and receiver.value.__class__ is str
        if not seen or "__" in receiver.value or "f_" in receiver.value:
            self.doubt(f"calls {name} of a text that is not known")

    def _sql(self, node: Node, name: str, which: str, receiver: Node) -> None:
        """Statements reach other files than the database by `ATTACH` and its like."""
        del which, receiver
        texts = [text.text for text in self.argument(node, 0).texts]
        self.deeds.append(("sql", tuple(texts), name == "executescript"))

    def _glob(self, node: Node, name: str, which: str, receiver: Node) -> None:
        del which, receiver
        self._keywords(node, name)
        for text in self.argument(node, 0).texts:
            folder = HOLE if text.below or text.leaf else searched(text.text)
            self.deeds.append(("list", folder, True))

    def _archive(self, node: Node, name: str, which: str, receiver: Node) -> None:
        del which, receiver
        mode = node.args[1] if len(node.args) > 1 else self.keyword(node, "mode")
        known_mode = mode is None or (mode.__class__ is _ast.Constant and str(mode.value)[:1] == "r")
        self._keywords(node, name, KEYWORDS | {"name"})
        place = self.keyword(node, "name")
        value = self.hold(place) if place is not None else self.argument(node, 0)
        self.touch("read", value)
        if not known_mode:
            self.touch("write", value)
            self.doubt("makes an archive")

    def _yaml(self, node: Node, name: str, which: str, receiver: Node) -> None:
        del which, receiver
        loader = self.keyword(node, "Loader")
        if loader is None and len(node.args) > 1:
            loader = node.args[1]
        if loader is None or self.dotted(loader) not in ("yaml.SafeLoader", "yaml.CSafeLoader"):
            self.doubt(f"calls {name}, which may make any object")

    def _database(self, node: Node, name: str, which: str, receiver: Node) -> None:
        del which, receiver
        self._keywords(node, name, KEYWORDS | {"uri", "check_same_thread", "isolation_level"})
        for text in self.argument(node, 0).texts:
            path, question, options = text.text.removeprefix("file:").partition("?")
            if text.text == ":memory:":
                continue
            uri = self.keyword(node, "uri") is not None
            self.deeds.append(("read", path if uri else text.text, text.below))
            if not (uri and question and options == "mode=ro"):
                self.deeds.append(("write", path if uri else text.text, text.below))

    def _specification(self, node: Node, name: str, which: str, receiver: Node) -> None:
        del which, receiver
        text = self.argument(node, 0).texts[0].text
        if "." in text or HOLE in text:
            self.doubt(f"calls {name} of a name that loads a module")

    def _show_types(self, node: Node) -> None:
        """Lets `type(x)` and `sys.path` stand where they are only shown or compared."""
        kind = node.__class__
        shown: list[Node] = []
        if kind is _ast.Call:
            function = node.func
            name = function.id if function.__class__ is _ast.Name else getattr(function, "attr", "")
            if name in _SHOWING:
                shown = [a.value if a.__class__ is _ast.Starred else a for a in node.args]
        elif kind is _ast.Compare:
            shown = [node.left, *node.comparators]
        elif kind in (_ast.FormattedValue, _ast.For, _ast.comprehension):
            shown = [node.value] if kind is _ast.FormattedValue else [node.iter]
        elif kind is _ast.Attribute and node.attr == "__name__":
            shown = [node.value]
        for one in shown:
            if (one.__class__ is _ast.Call and self.dotted(one.func) == "builtins.type") or (
                one.__class__ is _ast.Attribute and self.dotted(one) == "sys.path"
            ):
                self.let.add(id(one))
