"""Control flow: each kind of statement read in a state, and the state that it leaves behind.

A statement leaves two states, after success and after failure; None is a way that can't be (behind `exit`).
"""

from __future__ import annotations

from gateway.model.command import Word
from gateway.model.effect import HOLE
from gateway.shell import functions
from gateway.shell.guards import MAX_DEPTH, MAX_REPEATS, MAX_TURNS, Refused
from gateway.shell.redirects import may_not_open
from gateway.shell.simple import listed, read_simple, read_tail
from gateway.shell.state import ASSIGNED, NUMBER, Elements, Glob, Output, State, is_number, join, text_of
from gateway.shell.words import plain_word

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from gateway.shell.nodes import Node
    from gateway.shell.state import Content, Ways
    from gateway.shell.walk_state import WalkState


def run(walk: WalkState, node: Node, state: State) -> Ways:
    """Read one statement in a state."""
    kind = node.kind
    if kind == "simple":
        walk.state = state
        start, end = node.start + walk.offset, node.end + walk.offset
        if end > len(walk.text):  # the line end that was added for the grammar
            end = len(walk.text)
        via = ("time",) if start in walk.timed else ()
        return read_simple(walk, start, end, walk.feed, via)
    walk.depth += 1
    if walk.depth > MAX_DEPTH:
        raise Refused("nested too deeply", node.start + walk.offset, node.end + walk.offset)
    ways = _STATEMENTS[kind](walk, node, state)
    walk.depth -= 1
    return ways


def lines(walk: WalkState, node: Node, state: State) -> Ways:
    """The statements of a text. An expansion that fails in one of them ends its line, and the next line is run."""
    outer = walk.skipped
    walk.next_line(state)
    ways: Ways = (state, state)
    reached = True
    end = -1
    for child in node.children:
        if walk.skipped is not None and "\n" in walk.text[end + walk.offset : child.start + walk.offset]:
            state = walk.next_line(state)
            reached = True
        ways = run(walk, child, state)
        end = child.end
        following = join(*ways) if ways[0] is not ways[1] else ways[0]
        if following is None:
            reached = False
        else:
            state = following
    walk.skipped = outer
    return ways if reached else (None, None)


def sequence(walk: WalkState, node: Node, state: State) -> Ways:
    """Statements one after another, each read in what the one before it left; `(None, None)` behind `exit`."""
    ways: Ways = (state, state)
    reached = True
    for child in node.children:
        ways = run(walk, child, state)
        following = join(*ways) if ways[0] is not ways[1] else ways[0]
        if following is None:
            reached = False
        else:
            state = following
    return ways if reached else (None, None)


def apart(walk: WalkState, node: Node, state: State) -> Ways:
    """A statement in a shell of its own: what it changes stays there."""
    run(walk, node, state)
    return state, state


def background(walk: WalkState, node: Node, state: State) -> Ways:
    """`… &`: in a shell of its own, whose failure nobody waits for."""
    walk.unordered = True
    return apart(walk, node.children[0], state)


def subshell(walk: WalkState, node: Node, state: State) -> Ways:
    """`( … )`: what it changes stays in it."""
    sequence(walk, node.children[0], state)
    return state, state


def group(walk: WalkState, node: Node, state: State) -> Ways:
    """`{ …; }`: in this very shell."""
    return sequence(walk, node.children[0], state)


def chain(walk: WalkState, node: Node, state: State) -> Ways:
    """`a && b || c`, from the left, as POSIX has it. What nothing can reach is read, but changes nothing."""
    ok: State | None
    fail: State | None
    ok, fail = run(walk, node.children[0], state)
    operator = ""
    for child in node.children[1:]:
        if child.kind in ("&&", "||"):
            operator = child.kind
            continue
        if walk.loose:
            ok = fail = join(ok, fail)
        entry = ok if operator == "&&" else fail
        yes, no = run(walk, child, entry or state)
        if entry is None:
            continue
        if operator == "&&":
            ok, fail = yes, join(fail, no)
        else:
            ok, fail = join(ok, yes), no
    return ok, fail


def pipeline(walk: WalkState, node: Node, state: State) -> Ways:
    """`a | b`, each part in a shell of its own; the next part is told where what it reads comes from, `|&` included."""
    outer = walk.feed
    children = node.children
    activations = walk.activations
    for index, child in enumerate(children):
        if index:
            before = children[index - 1]
            start, end = before.start + walk.offset, before.end + walk.offset
            errors_too = "&" in walk.text[end : child.start + walk.offset]
            walk.feed = ("pipe", "", None if errors_too else (start, end), child.kind != "simple")
        run(walk, child, state)
    if walk.activations > activations:
        walk.unordered = True
    walk.feed = outer
    return state, state


def negation(walk: WalkState, node: Node, state: State) -> Ways:
    """`! …`: success and failure change places."""
    ok, fail = run(walk, node.children[0], state)
    return fail, ok


def redirected(walk: WalkState, node: Node, state: State) -> Ways:
    """A compound statement with redirections behind it. Where one may not open, all of it may not run."""
    child = node.children[0]
    outer = walk.feed
    walk.state = state
    redirects, walk.feed = read_tail(walk, child.end + walk.offset, node.end + walk.offset, outer)
    walk.redirects += redirects
    before = walk.state
    ways = run(walk, child, before)
    walk.feed = outer
    return (ways[0], join(ways[1], before)) if may_not_open(redirects) else ways


def test(walk: WalkState, node: Node, state: State) -> Ways:
    """`[[ … ]]`."""
    walk.state = state
    from gateway.shell.double_brackets import read_test  # most processes read one text without any

    return read_test(walk, node.start + walk.offset, node.end + walk.offset, walk.feed)


def compute(walk: WalkState, node: Node, state: State) -> Ways:
    """`(( … ))`."""
    walk.state = state
    computed(walk, node.start + walk.offset, node.end + walk.offset)
    return walk.state, walk.state


def computed(walk: WalkState, start: int, end: int) -> None:
    """The arithmetic between double parentheses in this span; a `for`'s has three parts."""
    region = next((r for r in walk.regions.values() if r.kind == "compute" and start <= r.start < end), None)
    if region is None:
        walk.unknown("arithmetic that is not understood", start, end)
        return
    walk.seen.add(region.start)
    children = {child.start: child for child in region.children}
    at = region.inner
    for part in walk.text[region.inner : region.stop].split(";"):
        problem = walk.arithmetic().evaluate(walk, at, at + len(part), children)
        if problem:
            walk.unknown(problem, at, at + len(part))
        at += len(part) + 1


def condition(walk: WalkState, node: Node, state: State) -> Ways:
    """`if`: the way through each branch."""
    parts = node.children
    yes: State | None = None
    no: State | None = None
    entry: State | None = state
    for index in range(0, len(parts) - 1, 2):
        ok, fail = sequence(walk, parts[index], entry or state)
        if entry is None:
            ok = fail = None
        if walk.loose:
            ok = fail = join(ok, fail)
        one, other = sequence(walk, parts[index + 1], ok or state)
        if ok is not None:
            yes, no = join(yes, one), join(no, other)
        entry = fail
    if len(parts) % 2:
        one, other = sequence(walk, parts[-1], entry or state)
        if entry is not None:
            yes, no = join(yes, one), join(no, other)
    else:
        yes = join(yes, entry)
    return yes, no


def loop(walk: WalkState, state: State, once: Callable[[State], State | None]) -> State:
    """Read a body until the state at its start no longer changes."""
    outer, walk.jump = walk.jump, None
    walk.unordered = True
    for attempt in range(4):
        marks = walk.marks()
        after = join(once(state), walk.jump)
        start = join(state, after)
        assert start is not None
        if start == state:
            break
        walk.repeats += 1
        walk.cut(marks)
        state = start if attempt < 2 and walk.repeats < MAX_REPEATS else state.forget()
    else:
        once(state)
    walk.jump = join(outer, walk.jump)  # `break 2` leaves more than this one
    return state


def unrolled(walk: WalkState, state: State, turns: Sequence[Callable[[State], State | None]]) -> State:
    """Read a body once for each of a few known turns."""
    outer, walk.jump = walk.jump, None
    walk.unordered = True
    result: State | None = state
    for once in turns:
        state = join(once(state), walk.jump) or state
        result = join(result, state)
    walk.jump = join(outer, walk.jump)
    return result or state


def repeat(walk: WalkState, node: Node, state: State) -> Ways:
    """`while` and `until`: condition and body, until nothing new comes of them; the body may also never run."""
    condition, body = node.children

    def once(start: State) -> State | None:
        ok, fail = sequence(walk, condition, start)
        both = join(ok, fail)
        end = join(*sequence(walk, body, both or start))
        return join(both, end)

    after = loop(walk, state, once)
    return after, after


def each(walk: WalkState, node: Node, state: State) -> Ways:
    """`for` and `select`."""
    name_node, words_node, body = node.children
    start, end = name_node.start + walk.offset, name_node.end + walk.offset
    name = walk.text[start:end]
    walk.state = state
    words = walk.list_words(words_node.start + walk.offset, words_node.end + walk.offset, lines=False)
    listed(walk, words)
    if words_node.start == words_node.end and isinstance(own := walk.state.values.get("@"), Elements):
        words = [plain_word(text, start, end) for text in own.texts]
    if not (name.isidentifier() and name.isascii()):
        walk.unknown("a loop over what is no name", start, end)
        return walk.forget()
    chosen = walk.text.startswith("select", node.start + walk.offset)  # by a person, in any order, or nothing
    known: Content = ASSIGNED
    if words and not chosen and all(word.literal and is_number(word.text) for word in words):
        known = NUMBER
    value = plain_word(HOLE, start, end)

    def turn(word: Word, content: Content) -> Callable[[State], State | None]:
        def once(before: State) -> State | None:
            walk.state = before
            walk.assign(name, word, content, walk.all_exported)
            if chosen:
                walk.set_variable("REPLY", ASSIGNED, start, end)
            return join(*sequence(walk, body, walk.state))

        return once

    used = name in walk.text[body.start + walk.offset : body.end + walk.offset]
    few = len(words) <= MAX_TURNS and walk.repeats + len(words) <= MAX_REPEATS
    contents = [_taken(walk, word) for word in words] if words and not chosen else []
    known_turns = bool(contents) and all(content is not ASSIGNED for content in contents)
    one_each = all(isinstance(content, str) for content in contents)
    if known_turns and one_each and (used or len(words) == 1) and few:
        walk.repeats += len(words)
        turns = [turn(plain_word(word.text, start, end), word.text) for word in words]
        after = unrolled(walk, walk.state, turns)
    elif known_turns and not one_each and used and few:
        after = walk.state
        for word, content in zip(words, contents, strict=True):
            shown = word if isinstance(content, Glob) else plain_word(text_of(content), start, end)
            after = loop(walk, after, turn(Word(shown.text, start, end, shown.splits, shown.pattern), content))
    else:
        if len(words) == 1 and not chosen:
            value = Word(words[0].text, start, end, words[0].splits, words[0].pattern)
        after = loop(walk, walk.state, turn(value, known))
    return after, after


def _taken(walk: WalkState, word: Word) -> Content:
    """What a loop's variable holds for one of its words, each time around."""
    if word.literal:
        return word.text
    if word.pattern is not None and word.names is None and not word.splits and HOLE not in word.text:
        return Glob(word.text, word.pattern, walk.state.cwds)
    if word.splits and word.text == HOLE and (output := walk.output_at(word.start, word.end)):
        return Output(output.start, output.end, "word")
    return ASSIGNED


def counted(walk: WalkState, node: Node, state: State) -> Ways:
    """`for (( … ))`."""
    body = node.children[0]
    walk.state = state

    def once(before: State) -> State | None:
        walk.state = before
        computed(walk, node.start + walk.offset, body.start + walk.offset)
        return join(*sequence(walk, body, walk.state))

    after = loop(walk, state, once)
    return after, after


def case(walk: WalkState, node: Node, state: State) -> Ways:
    """`case`: every branch may be the one, and none too; `;&` and `;;&` go on from what the branch before left."""
    walk.state = state
    head = node.children[0]
    walk.list_words(head.start + walk.offset, head.end + walk.offset)
    ok: State | None = walk.state
    fail: State | None = None
    entry = walk.state
    fallen: State | None = None
    for item in node.children[1:]:
        if item.kind not in ("item", "item falls through"):
            run(walk, item, entry)
            continue
        patterns, body = item.children
        walk.state = entry
        walk.list_words(patterns.start + walk.offset, patterns.end + walk.offset, "|(")
        before = join(walk.state, fallen)
        assert before is not None
        yes, no = sequence(walk, body, before)
        ok, fail = join(ok, yes), join(fail, no)
        fallen = join(yes, no) if item.kind == "item falls through" else None
    return ok, fail


def failed(walk: WalkState, node: Node, state: State) -> Ways:
    """What the grammar could not place: the statements in it, for the deny lanes."""
    walk.unknown("the grammar does not accept this", node.start + walk.offset, node.end + walk.offset)
    for child in node.children:
        run(walk, child, state)
    walk.state = state
    return walk.forget()


def strange(walk: WalkState, node: Node, state: State) -> Ways:
    """A kind of statement that nobody taught this reading: nothing is known behind it."""
    walk.unknown("a construct that is not known", node.start + walk.offset, node.end + walk.offset)
    walk.state = state
    return walk.forget()


_STATEMENTS: dict[str, Callable[[WalkState, Node, State], Ways]] = {
    "sequence": sequence,
    "background": background,
    "chain": chain,
    "pipeline": pipeline,
    "not": negation,
    "subshell": subshell,
    "group": group,
    "arithmetic": compute,
    "redirected": redirected,
    "test": test,
    "if": condition,
    "while": repeat,
    "for": each,
    "for arithmetic": counted,
    "case": case,
    "function": functions.define,
    "error": failed,
    "unknown": strange,
}
