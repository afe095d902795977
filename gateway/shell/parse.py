"""The grammar: skeleton → nodes. The only module that knows tree-sitter.

Node kinds of the grammar that are not named here become `unknown` nodes; what it could not place, `error` nodes with
the statements found inside. Long chains, pipelines and sequences are flat; anything else is refused beyond a depth.
"""

from __future__ import annotations

from _thread import allocate_lock

from gateway.shell.guards import MAX_DEPTH, MAX_OPERATORS, MAX_PARENTHESES, Refused
from gateway.shell.nodes import Node

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

_lock = allocate_lock()
_parse: Callable[[bytes], Any] | None = None


def parse(skeleton: str) -> tuple[Node, bool]:
    """The statements of an ASCII skeleton as a sequence, and whether the grammar accepted all of it."""
    if _too_many_operators(skeleton):
        raise Refused("too many operators", 0, len(skeleton))
    with _lock:  # one parser for all threads: a parse takes microseconds
        # Without a newline at the end, the grammar's error recovery starts: five times slower.
        root = (_parse or _load())(skeleton.encode("ascii") + b"\n").root_node
        if root.type != "program":
            return Node("sequence", 0, len(skeleton), (_error(root, 0),)), False
        return Node("sequence", 0, len(skeleton), _statements(root.children, 0)), not root.has_error


def _too_many_operators(skeleton: str) -> bool:
    if skeleton.count("(") > MAX_PARENTHESES:
        return True
    if len(skeleton) < MAX_OPERATORS:
        return False
    return sum(map(skeleton.count, "|&;<>(){}!\n")) > MAX_OPERATORS


def _load() -> Callable[[bytes], Any]:
    """Make the parser. The packages around the two extension modules import much that is not needed here."""
    global _parse
    try:
        binding = _extension("tree_sitter")
        grammar = _extension("tree_sitter_bash")
        parser = binding.Parser(binding.Language(grammar.language()))
    except (ImportError, AttributeError, OSError, TypeError):  # another layout: the plain way
        import tree_sitter
        import tree_sitter_bash

        parser = tree_sitter.Parser(tree_sitter.Language(tree_sitter_bash.language()))
    _parse = parser.parse
    return parser.parse  # type: ignore[no-any-return]


def _extension(package: str) -> Any:
    import sys

    name = f"{package}._binding"
    if name in sys.modules:
        return sys.modules[name]
    import _imp
    from _frozen_importlib_external import PathFinder

    spec = PathFinder.find_spec(package)
    inner = PathFinder.find_spec(name, spec.submodule_search_locations) if spec else None
    if inner is None:
        raise ImportError(name)
    module = _imp.create_dynamic(inner)
    _imp.exec_dynamic(module)
    return module


_TOKENS = frozenset((";", "\n", ";;", "comment", "do", "done", "then", "fi", "{", "}", "(", ")", "((", "))"))
_SIMPLE = frozenset(("command", "declaration_command", "unset_command", "variable_assignment", "variable_assignments"))
_REDIRECTS = frozenset(("file_redirect", "herestring_redirect", "heredoc_redirect"))


def _statements(children: Sequence[Any], depth: int) -> tuple[Node, ...]:
    found: list[Node] = []
    for child in children:
        kind = child.type
        if kind == "command":
            found.append(Node("simple", child.start_byte, child.end_byte, ()))
        elif kind == "&":
            if found and found[-1].kind != "background":
                last = found.pop()
                found.append(Node("background", last.start, last.end, (last,)))
        elif kind not in _TOKENS:
            found.append(_statement(child, depth, child.end_byte))
    return tuple(found)


def _sequence(children: Sequence[Any], depth: int, start: int, end: int) -> Node:
    return Node("sequence", start, end, _statements(children, depth))


def _statement(node: Any, depth: int, end: int) -> Node:
    """One statement. `end` may lie behind the node: redirects that the grammar hung on a larger one."""
    kind = node.type
    start = node.start_byte
    if kind in _SIMPLE:
        return Node("simple", start, end, ())
    if depth > MAX_DEPTH:
        raise Refused("nested too deeply", start, end)
    if kind == "redirected_statement":
        body = node.children[0]
        if body.type in _REDIRECTS:
            return Node("simple", start, end, ())
        return _statement(body, depth, end)
    if kind == "test_command":
        return Node("test", start, end, ())
    if kind in ("pipeline", "list"):
        return _flat(node, depth + 1, end)
    if kind == "negated_command":
        return Node("not", start, end, (_statement(node.children[-1], depth + 1, end),))
    if kind == "function_definition":
        return _function(node, depth + 1, end)
    build = _COMPOUND.get(kind)
    if build is None:
        return _error(node, depth) if kind == "ERROR" else Node("unknown", start, end, ())
    result = build(node, depth + 1)
    return result if result.end == end else Node("redirected", start, end, (result,))


def _flat(node: Any, depth: int, end: int) -> Node:
    """A chain or a pipeline; both lean to the left in the grammar, one level for each operator."""
    kind = node.type
    operators = ("&&", "||") if kind == "list" else ("|", "|&")
    backwards: list[Node] = []
    current, tail = node, end
    while True:
        children = current.children
        last = True
        for child in reversed(children[1:]):
            if child.type in operators:
                if kind == "list":
                    backwards.append(Node(child.type, child.start_byte, child.end_byte, ()))
            elif child.type != "\n":
                backwards.append(_statement(child, depth, tail if last else child.end_byte))
                last = False
        first = inner = children[0]
        if first.type == "redirected_statement":  # a redirect behind an inner pipeline belongs to its last command
            inner = first.children[0]
        if inner.type != kind:
            backwards.append(_statement(first, depth, first.end_byte))
            break
        current, tail = inner, first.end_byte
    backwards.reverse()
    if kind == "pipeline" and any(part.kind == "chain" for part in backwards):
        return _unhung(backwards)
    return Node("chain" if kind == "list" else "pipeline", node.start_byte, end, tuple(backwards))


def _unhung(parts: Sequence[Node]) -> Node:
    """`a && b >f | c`: the grammar hangs the redirect on the chain and makes the chain the pipeline's first command; to
    bash the pipeline is the chain's last one."""
    chain: list[Node] = []
    pipe: list[Node] = []
    for part in parts:
        for child in part.children if part.kind == "chain" else (part,):
            if child.kind in ("&&", "||"):
                chain += (_piped(pipe), child)
                pipe = []
            elif child.kind == "pipeline":
                pipe += child.children
            else:
                pipe.append(child)
    chain.append(_piped(pipe))
    return Node("chain", chain[0].start, chain[-1].end, tuple(chain))


def _piped(parts: Sequence[Node]) -> Node:
    if len(parts) == 1:
        return parts[0]
    return Node("pipeline", parts[0].start, parts[-1].end, tuple(parts))


def _function(node: Any, depth: int, end: int) -> Node:
    name = body = None
    for child in node.children:
        kind = child.type
        if kind == "word" and name is None:
            name = Node("span", child.start_byte, child.end_byte, ())
        elif kind in _COMPOUND or kind in ("test_command", "redirected_statement"):
            last = end if child.type != "redirected_statement" else child.end_byte
            body = _statement(child, depth, max(last, child.end_byte))
        elif kind not in ("function", "(", ")") and kind not in _REDIRECTS:
            return Node("unknown", node.start_byte, end, ())
    if name is None or body is None:
        return Node("unknown", node.start_byte, end, ())
    return Node("function", node.start_byte, end, (name, body))


def _group(node: Any, depth: int) -> Node:
    children = node.children
    start, end = node.start_byte, node.end_byte
    if node.type == "subshell":
        kind = "subshell"
    elif children and children[0].type == "((":
        return Node("arithmetic", start, end, ())
    else:
        kind = "group"
    return Node(kind, start, end, (_sequence(children, depth, start, end),))


def _if(node: Any, depth: int) -> Node:
    start, end = node.start_byte, node.end_byte
    parts: list[Node] = []
    run: list[Any] = []
    complete = False
    for child in node.children:
        kind = child.type
        if kind == "then":
            parts.append(_sequence(run, depth, start, end))
            run = []
        elif kind == "elif_clause":
            parts.append(_sequence(run, depth, start, end))
            run = []
            inner: list[Any] = []
            for part in child.children:
                if part.type == "then":
                    parts.append(_sequence(inner, depth, start, end))
                    inner = []
                elif part.type != "elif":
                    inner.append(part)
            run = inner
        elif kind == "else_clause":
            parts.append(_sequence(run, depth, start, end))
            run = []
            parts.append(_sequence([c for c in child.children if c.type != "else"], depth, start, end))
            complete = True
        elif kind == "fi":
            if not complete:
                parts.append(_sequence(run, depth, start, end))
        elif kind != "if":
            run.append(child)
    return Node("if", start, end, tuple(parts))


def _while(node: Any, depth: int) -> Node:
    start, end = node.start_byte, node.end_byte
    condition = [c for c in node.children if c.type not in ("while", "until", "do_group")]
    body = [c for c in node.children if c.type == "do_group"]
    if len(body) != 1:
        return Node("unknown", start, end, ())
    return Node(
        "while", start, end, (_sequence(condition, depth, start, end), _sequence(body[0].children, depth, start, end))
    )


def _for(node: Any, depth: int) -> Node:
    start, end = node.start_byte, node.end_byte
    name = body = None
    begin = stop = -1
    for child in node.children:
        kind = child.type
        if kind in ("do_group", "compound_statement"):
            body = _sequence(child.children, depth, child.start_byte, child.end_byte)
            if stop < 0:
                stop = child.start_byte
        elif kind == "in":
            begin = child.end_byte
        elif begin < 0 and name is None and kind in ("variable_name", "word"):
            name = Node("span", child.start_byte, child.end_byte, ())
        elif kind == ";" and stop < 0:
            stop = child.start_byte
    if body is None or (node.type == "for_statement" and name is None):
        return Node("unknown", start, end, ())
    if name is None:
        return Node("for arithmetic", start, end, (body,))
    words = Node("span", begin, stop, ()) if begin >= 0 else Node("span", stop, stop, ())
    return Node("for", start, end, (name, words, body))


def _case(node: Any, depth: int) -> Node:
    start, end = node.start_byte, node.end_byte
    parts: list[Node] = []
    begin = start
    for child in node.children:
        kind = child.type
        if kind == "case":
            begin = child.end_byte
        elif kind == "in":
            parts.append(Node("span", begin, child.start_byte, ()))
        elif kind == "case_item":
            parts.append(_item(child, depth))
        elif kind == "ERROR":
            parts.append(_error(child, depth))
    if not parts or parts[0].kind != "span":
        return Node("unknown", start, end, ())
    return Node("case", start, end, tuple(parts))


def _item(node: Any, depth: int) -> Node:
    start, end = node.start_byte, node.end_byte
    for index, child in enumerate(node.children):
        if child.type == ")":
            rest = node.children[index + 1 :]
            falls = bool(rest) and rest[-1].type in (";&", ";;&")
            body = [c for c in rest if c.type not in (";&", ";;&")]
            return Node(
                "item falls through" if falls else "item",
                start,
                end,
                (Node("span", start, child.start_byte, ()), _sequence(body, depth, start, end)),
            )
    return Node("unknown", start, end, ())


def _error(node: Any, depth: int) -> Node:
    """What can be saved from an ERROR node: the statements in it, for the deny lanes alone."""
    if depth > MAX_DEPTH:
        raise Refused("nested too deeply", node.start_byte, node.end_byte)
    found = tuple(
        _statement(child, depth + 1, child.end_byte)
        for child in node.children
        if child.type in _SIMPLE or child.type in _COMPOUND or child.type in _CARRIERS
    )
    return Node("error", node.start_byte, node.end_byte, found)


_CARRIERS = frozenset(
    ("pipeline", "list", "redirected_statement", "negated_command", "function_definition", "test_command", "ERROR")
)
_COMPOUND: dict[str, Callable[[Any, int], Node]] = {
    "subshell": _group,
    "compound_statement": _group,
    "if_statement": _if,
    "while_statement": _while,
    "for_statement": _for,
    "c_style_for_statement": _for,
    "case_statement": _case,
}
