"""What a text would do without end: functions that start themselves again and again, loops that start processes and
wait for none. Told from the structure alone; pure."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from gateway.shell.nodes import Node

MULTIPLIES = "multiply"  # each that runs starts several of its kind
ENDLESS = "endless"  # processes are started as fast as the shell can, or memory is filled
_TRUE = frozenset(
    ("true", ":", "/bin/true", "/usr/bin/true", "[ 1 ]", "[[ 1 ]]", "((1))", "(( 1 ))", "test 1", "! false")
)
_FALSE = frozenset(("false", "/bin/false", "/usr/bin/false", "! true", "((0))", "(( 0 ))"))
_LOOPS = ("while", "for", "for arithmetic")
_LEAVES = frozenset(("break", "exit", "return", "exec", "kill"))
_MOST_DOUBLED = 24  # which makes millions of one
# Nodes whose parts run beside each other.
_BESIDE = ("background", "pipeline")


def bombs(node: Node, text: str) -> Iterator[tuple[str, int, int]]:
    """What is found in a piece of structure, with its place in `text`, which the node's places are of."""
    if node.kind == "function" and len(node.children) == 2 and _multiplies(node, text):
        yield MULTIPLIES, node.start, node.end
    elif node.kind in _LOOPS and (
        (node.kind != "for" and _is_endless(node, text) and _waits_for_none(node.children[-1]))
        or (_runs_often(node, text) and _doubles(node.children[-1], text))
    ):
        yield ENDLESS, node.start, node.end
    for child in node.children:
        yield from bombs(child, text)


def _multiplies(node: Node, text: str) -> bool:
    name_node, body = node.children
    name = text[name_node.start : name_node.end]
    calls = list(_calls(body, name, text, False))
    return len(calls) > 1 and any(calls)


def _calls(node: Node, name: str, text: str, beside: bool) -> Iterator[bool]:
    """For each call of a name whether it runs beside what follows it."""
    if node.kind == "simple" and text[node.start : node.end].split(None, 1)[:1] == [name]:
        yield beside
    for child in node.children:
        yield from _calls(child, name, text, beside or node.kind in _BESIDE)


def _is_endless(node: Node, text: str) -> bool:
    if node.kind == "while":
        parts = node.children[0].children or node.children[:1]
        condition = text[parts[0].start : parts[-1].end].strip(" \t\n;")
        return condition in (_FALSE if text.startswith("until", node.start) else _TRUE)
    head = text[node.start : node.children[0].start]
    clauses = head[head.find("((") + 2 : head.rfind("))")].split(";")
    return len(clauses) == 3 and clauses[1].strip() in ("", "1")


def _runs_often(node: Node, text: str) -> bool:
    """Whether a loop runs more often than anything can be doubled: it has no end, or its text names a high number."""
    if node.kind != "for" and _is_endless(node, text):
        return not any(word in _LEAVES for word in text[node.start : node.end].replace(";", " ").split())
    if node.kind == "while":
        return False
    head = text[node.start : node.children[-1].start]
    digits = "".join([sign if sign.isdigit() else " " for sign in head]).split()
    return any(len(number) > 2 or int(number) > _MOST_DOUBLED for number in digits) and ("{" in head or "(" in head)


def _doubles(node: Node, text: str) -> bool:
    """Whether a variable becomes as long again as it was, or more, by an assignment in a piece of structure."""
    if node.kind == "simple":
        name, equals, value = text[node.start : node.end].partition("=")
        grows = name.endswith("+")
        name = name.removesuffix("+")
        if equals and name.isidentifier():
            holds = value.count(f"${name}") + value.count("${" + name)
            return holds > 1 or (grows and holds > 0)
    return any(_doubles(child, text) for child in node.children)


def _waits_for_none(body: Node) -> bool:
    """Whether all that a loop's body does is to start what runs beside it."""
    statements = body.children if body.kind in ("sequence", "group") else (body,)
    if len(statements) == 1 and statements[0].kind in ("sequence", "group"):
        return _waits_for_none(statements[0])
    return bool(statements) and all(each.kind == "background" for each in statements)
