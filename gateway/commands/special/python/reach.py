"""What the calls in a Python program reach beyond files: other programs, the environment, the network."""

from __future__ import annotations

import _ast

from gateway.commands.special.python.bindings import Bindings
from gateway.commands.special.python.values import UNKNOWN, Text
from gateway.model.effect import HOLE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Node = Any

_RUN_KEYWORDS = frozenset(
    (
        "capture_output", "text", "check", "stdout", "stderr", "stdin", "universal_newlines", "encoding", "errors",
        "timeout", "input", "bufsize", "close_fds", "start_new_session",
    )
)  # fmt: skip


class Reach(Bindings):
    """The part of a program's reading that judges what it starts, sends and is told."""

    def _shell(self, node: Node, name: str, which: str, receiver: Node) -> None:
        del which, receiver
        self._keywords(node, name, frozenset(("encoding", "errors")))
        for text in self.argument(node, 0).texts:
            self.deeds.append(("shell", HOLE if text.below or text.leaf else text.text, None))

    def _process(self, node: Node, name: str, which: str, receiver: Node) -> None:
        del which, receiver
        shell, folder, where = False, self.keyword(node, "cwd"), None
        for keyword in node.keywords:
            if keyword.arg == "shell":
                shell = not (keyword.value.__class__ is _ast.Constant and keyword.value.value is False)
            elif keyword.arg not in _RUN_KEYWORDS and keyword.arg != "cwd":
                self.doubt(f"hands {name} the argument {keyword.arg or '**'}, which is not understood")
        if folder is not None:
            texts = self.hold(folder).texts
            where = texts[0].text if len(texts) == 1 and not texts[0].below and not texts[0].leaf else HOLE
        words = node.args[0] if len(node.args) == 1 else None
        if len(node.args) > 1:
            self.doubt(f"hands {name} arguments by position")
        if words.__class__ in (_ast.List, _ast.Tuple) and not shell:
            self.deeds.append(("run", tuple([self._word(word) for word in words.elts]), where))
        else:
            text = self.hold(words) if words is not None else UNKNOWN
            one = (
                text.texts[0] if len(text.texts) == 1 and not text.texts[0].below and not text.texts[0].leaf else Text()
            )
            self.deeds.append(
                (
                    "shell" if shell or one.text == HOLE else "run",
                    one.text if shell or one.text == HOLE else (one.text,),
                    where,
                )
            )

    def _platform(self, node: Node, name: str, which: str, receiver: Node) -> None:
        """What the processor is, another program is asked."""
        del node, name, which, receiver
        self.deeds.append(("run", ("uname", "-p"), None))

    def _word(self, node: Node) -> str | None:
        """One word of a command; None where any number of words may stand."""
        if node.__class__ is _ast.Starred:
            return None
        if self.dotted(node) == "sys.executable":
            return "python3"
        if node.__class__ is _ast.Constant and node.value.__class__ is not str:
            return HOLE
        texts = self.hold(node).texts
        return texts[0].text if len(texts) == 1 and not texts[0].below and not texts[0].leaf else HOLE

    def _signal(self, node: Node, name: str, which: str, receiver: Node) -> None:
        del name, which, receiver
        argument = node.args[0] if node.args else None
        pid = str(argument.value) if argument.__class__ is _ast.Constant else HOLE
        self.deeds.append(("signal", pid))

    # The environment and the network.

    def variable(self, access: str, node: Node) -> None:
        """One variable of the environment is read ("environment") or set ("set")."""
        for text in self.hold(node).texts:
            unknown = text.leaf or text.below or HOLE in text.text
            self.deeds.append((access, HOLE if unknown and access == "set" else "*" if unknown else text.text))

    def _variable(self, node: Node, name: str, which: str, receiver: Node) -> None:
        del which, receiver
        self.variable("environment", node.args[0] if node.args else _ast.Constant(value=None))
        self._keywords(node, name)

    def _set(self, node: Node, name: str, which: str, receiver: Node) -> None:
        del name, which, receiver
        self.variable("set", node.args[0] if node.args else _ast.Constant(value=None))

    def _environment(self, node: Node, name: str, which: str, receiver: Node) -> None:
        del node, name, which, receiver
        self.deeds.append(("environment", "*"))

    def _fetch(self, node: Node, name: str, which: str, receiver: Node, direction: str = "fetch") -> None:
        del receiver
        direct = len(node.args) <= (2 if name.endswith("retrieve") else 1)
        if not direct or any(keyword.arg not in ("timeout", "url", "filename") for keyword in node.keywords):
            direction = "send"
        place = self.keyword(node, "url")
        for text in (self.hold(place) if place is not None else self.argument(node, int(which or 0))).texts:
            self.deeds.append(("connect", HOLE if text.below or text.leaf else text.text, 0, direction))

    def _send(self, node: Node, name: str, which: str, receiver: Node) -> None:
        self._fetch(node, name, which, receiver, "send")

    def _host(self, node: Node, name: str, which: str, receiver: Node) -> None:
        del name, receiver
        port = node.args[1] if len(node.args) > 1 else self.keyword(node, "port")
        number = port.value if port.__class__ is _ast.Constant and port.value.__class__ is int else int(which)
        for text in self.argument(node, 0).texts:
            self.deeds.append(("connect", HOLE if text.below or text.leaf else text.text, number, "send"))

    def _address(self, node: Node, name: str, which: str, receiver: Node) -> None:
        """An address is a host and a port in one value."""
        del name, which, receiver
        pair = node.args[0] if node.args else None
        if pair.__class__ is _ast.Tuple and len(pair.elts) == 2:
            texts = self.hold(pair.elts[0]).texts
            port = pair.elts[1].value if pair.elts[1].__class__ is _ast.Constant else 0
            for text in texts:
                number = port if port.__class__ is int else 0
                self.deeds.append(("connect", HOLE if text.below or text.leaf else text.text, number, "send"))
        else:
            self.deeds.append(("connect", HOLE, 0, "send"))

    def _socket(self, node: Node, name: str, which: str, receiver: Node) -> None:
        """A bare socket says where it goes later, and by many names."""
        del node, name, which, receiver
        self.deeds.append(("connect", HOLE, 0, "send"))
