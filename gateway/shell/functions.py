"""Functions: what a definition may do whenever it is called, and calls that are followed with their arguments.

A text is first read with each body met once, where it is defined, its arguments unknown. Where that shows that every
use of a function is a plain call behind a definition that surely took place, the text is read again and the body is met
at each call instead, with what is known there.
"""

from __future__ import annotations

from gateway.model.effect import HOLE
from gateway.shell.guards import MAX_CALLS, MAX_NESTED_CALLS
from gateway.shell.script import Function
from gateway.shell.state import ASSIGNED, INHERITED, Elements, State, join
from gateway.shell.walk_state import Body

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from gateway.model.command import Word
    from gateway.shell.nodes import Node
    from gateway.shell.state import Ways
    from gateway.shell.walk_state import WalkState

_ENDS = ("return", "exit")
_HANDLER = "command_not_found_handle"  # the shell calls it by itself


def define(walk: WalkState, node: Node, state: State) -> Ways:
    """Read a definition."""
    name_node, body = node.children
    start, end = name_node.start + walk.offset, name_node.end + walk.offset
    name = walk.text[start:end]
    walk.defers = walk.unordered = True
    walk.functions_found.append(Function(name, start, node.end + walk.offset))
    if any(letter in "\\'\"`$<>{}*?[" for letter in name):
        walk.unknown("a function whose name is not plain", start, end)
    follow = name in walk.followed
    # At the top of the text, where nothing before on the line may have failed: then it surely took place.
    if walk.depth != 2 or walk.in_function or walk.skipped is not None or name in walk.defined or name == _HANDLER:
        walk.lost.add(name)
    walk.defined.add(name)
    marks = walk.marks()
    unknowns = len(walk.unknowns)
    outer = (walk.written, walk.moved, walk.wild, walk.in_function, walk.feed)
    walk.written, walk.moved, walk.wild, walk.in_function = set(), False, False, True
    walk.feed = INHERITED
    walk.statement(body, State(() if walk.changes_folder else state.cwds, {}, (), None))
    written, moved, wild = walk.written, walk.moved, walk.wild
    walk.written, walk.moved, walk.wild, walk.in_function, walk.feed = outer
    if follow:
        del walk.unknowns[unknowns:]
        walk.cut(marks)
        walk.bodies[name] = Body(
            body, text=walk.text, regions=walk.regions, offset=walk.offset, loose=walk.loose, timed=walk.timed
        )
        walk.functions[name] = (moved, wild)
        return state, state
    walk.volatile |= written
    walk.written |= written
    walk.shadow(name, (moved, wild))
    state = state.without(written)
    return state, state


def call(walk: WalkState, words: Sequence[Word]) -> Ways:
    """The state behind a plain call. A body that is followed is read here, with these arguments."""
    name = words[0].text
    moves, wild = walk.functions[name]
    if walk.calls_may_fail:
        walk.may_fail()
    body = walk.bodies.get(name)
    if body is not None and body.text is walk.text and not walk.trapped:
        return _followed(walk, words, body)
    walk.called.add(name)
    if name in walk.followed:
        walk.lost.add(name)
    if wild:
        return walk.forget()
    if moves:
        walk.state = walk.state.move(())
    return walk.state, walk.state


def _followed(walk: WalkState, words: Sequence[Word], body: Body) -> Ways:
    start, end = words[0].start, words[-1].end
    walk.calls += 1
    if walk.calls > MAX_CALLS or walk.call_depth >= MAX_NESTED_CALLS:
        walk.unknown("functions call each other too often", start, end)
        return walk.forget()
    before = walk.state
    arguments = arguments_of(words[1:])
    inside = before.without({"@"}) if arguments is None else before.assign("@", arguments)
    for name in walk.assigned_here:
        inside = inside.assign(name, ASSIGNED)
    outer = (walk.written, walk.in_function, walk.feed, walk.regions, walk.loose, walk.timed, walk.offset)
    walk.written, walk.in_function = set(), True
    given = walk.current_feed
    walk.feed = (given[0], given[1] and HOLE, given[2], True)
    walk.regions, walk.loose, walk.timed, walk.offset = body.regions, body.loose, body.timed, body.offset
    walk.call_depth += 1
    walk.assigned_here = frozenset()
    ways = walk.statement(body.node, inside)
    walk.call_depth -= 1
    written = walk.written
    walk.written, walk.in_function, walk.feed, walk.regions, walk.loose, walk.timed, walk.offset = outer
    walk.written |= written
    reached = join(*ways)
    text = walk.text[body.node.start + body.offset : body.node.end + body.offset]
    after = before.without(written)
    if reached is None or any(word in text for word in _ENDS):
        return (after.move(()), after.move(())) if walk.functions[words[0].text][0] else (after, after)
    state = State(reached.cwds, after.values, reached.old, reached.stack)
    return state, state


def arguments_of(words: Sequence[Word]) -> Elements | None:
    """Positional parameters given by words; None if nobody knows how many there are."""
    if any(word.splits or word.pattern is not None for word in words):
        return None
    return Elements(tuple([word.text for word in words]))
