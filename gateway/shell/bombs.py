"""What a text would do without end: functions that start themselves again and again, loops that start processes and
wait for none. Told from the structure alone; pure."""

from __future__ import annotations

from math import log2

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
# Conditions that are decided at once, as often as they are asked; what reads ends with what it reads.
_AT_ONCE = ("[ ", "[[ ", "test ", "((", "kill -0 ", "sleep 0", "pgrep ", "pidof ", "true", "false", ":")
# Commands for which no loop waits.
_TAKE_NO_TIME = frozenset(
    ("echo", "printf", ":", "true", "let", "export", "declare", "local", "typeset", "set", "shift", "unset", "disown")
)
_MANY = 1000  # of processes that run beside each other
_LEAVES = frozenset(("break", "exit", "return", "exec", "kill"))
_MOST_DOUBLED = 24  # times, which make millions of one
# Nodes whose parts run beside each other.
_BESIDE = ("background", "pipeline")


def bombs(node: Node, text: str) -> Iterator[tuple[str, int, int]]:
    """What is found in a piece of structure, with its place in `text`, which the node's places are of."""
    if node.kind == "function" and len(node.children) == 2 and _multiplies(node, text):
        yield MULTIPLIES, node.start, node.end
    elif _has_no_end(node, text):
        yield ENDLESS, node.start, node.end
    for child in node.children:
        yield from bombs(child, text)


def _has_no_end(node: Node, text: str) -> bool:
    if node.kind == "pipeline":
        return _is_fed_without_end(node, text)
    if node.kind not in _LOOPS:
        return False
    body = node.children[-1]
    if _starts_many(node, text) and _waits_for_none(body, text):
        return True
    return _runs_often(node, text, _MOST_DOUBLED) and _doubles(body, text)


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


def _starts_many(node: Node, text: str) -> bool:
    """Whether a loop comes round again as fast as the shell can, or very often."""
    if node.kind == "while":
        parts = node.children[0].children or node.children[:1]
        condition = text[parts[-1].start : parts[-1].end].strip(" \t\n;").removeprefix("! ")
        if condition.startswith(_AT_ONCE):
            return True
    return (node.kind != "for" and _is_endless(node, text)) or _runs_often(node, text, _MANY)


def _runs_often(node: Node, text: str, most: int) -> bool:
    """Whether a loop runs more often than `most`: it has no end, or its text names a higher number."""
    if node.kind != "for" and _is_endless(node, text):
        return not any(word in _LEAVES for word in text[node.start : node.end].replace(";", " ").split())
    if node.kind == "while":
        return False
    head = text[node.start : node.children[-1].start]
    digits = "".join([sign if sign.isdigit() else " " for sign in head]).split()
    return any(len(number) > 9 or int(number) > most for number in digits) and ("{" in head or "(" in head)


def _is_fed_without_end(node: Node, text: str) -> bool:
    """Whether a loop gets lines for ever, starts something for each and waits for none."""
    first = text[node.children[0].start : node.children[0].end].split()
    if first[:1] != ["yes"]:
        return False
    return any(each.kind == "while" and _waits_for_none(each.children[-1], text) for each in node.children[1:])


def explosions(node: Node, text: str) -> Iterator[tuple[str, int, int]]:
    """Where the text itself, without a loop, makes a variable so many times as long that no memory holds it."""
    longer: dict[str, float] = {}
    pending = [node]
    while pending:
        piece = pending.pop()
        pending += piece.children
        name, times = _grows(piece, text)
        if times > 1:
            longer[name] = longer.get(name, 0) + log2(times)
            if longer[name] > _MOST_DOUBLED:
                yield ENDLESS, piece.start, piece.end
                return


def _doubles(node: Node, text: str) -> bool:
    """Whether a variable becomes as long again as it was, or more, by an assignment in a piece of structure."""
    return _grows(node, text)[1] > 1 or any(_doubles(child, text) for child in node.children)


def _grows(node: Node, text: str) -> tuple[str, int]:
    """The variable that a piece assigns itself to, and how many times it holds what it held."""
    if node.kind == "simple":
        name, equals, value = text[node.start : node.end].partition("=")
        grows = name.endswith("+")
        name = name.removesuffix("+")
        if equals and name.isidentifier():
            return name, value.count(f"${name}") + value.count("${" + name) + grows
    return "", 0


def _waits_for_none(body: Node, text: str) -> bool:
    """Whether all that takes time in a loop's body is started to run beside it."""
    return _beside(body, text) == {True}


def _beside(node: Node, text: str) -> set[bool]:
    """For each command of a piece that takes time, whether nobody waits for it."""
    if node.kind == "background":
        return {True}
    if node.kind == "function":
        return set()
    if node.kind == "simple":
        first = text[node.start : node.end].split(None, 1)[:1]
        quick = not first or first[0] in _TAKE_NO_TIME or "=" in first[0]
        return set() if quick else {False}
    found: set[bool] = set()
    for child in node.children:
        found |= _beside(child, text)
    return found
