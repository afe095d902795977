"""Regular languages as small automata, and the one question that is asked of several: is there a text that all of
these hold and none of those, and which is the shortest?

Inclusion is that no text is in the one and not in the other, overlap that one is in both, emptiness that none is in
it. States are bits of a number, so that all readings of a text are followed at once. Sets of characters are runs of
code points; characters that no automaton tells from each other count as one.
"""

from __future__ import annotations

from gateway.core.errors import GatewayError
from gateway.core.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    # Runs of code points, first and last, in order.
    Characters = tuple[tuple[int, int], ...]

_LAST = 0x10FFFF
ANY: Characters = ((0, _LAST),)
MOST_STATES = 20_000  # of a product that is searched: what needs more is not decided
# In this order characters are tried, so that witnesses read well.
_PLEASANT = "xyzabcdefghijklmnopqrstuvw0123456789XYZABCDEFGHIJKLMNOPQRSTUVW-_."


class UndecidedError(GatewayError):
    """A question that takes more than `MOST_STATES`, or more pieces than a region may be cut into."""


def one(character: str) -> Characters:
    """Just this character."""
    return ((ord(character), ord(character)),)


def all_but(characters: Iterable[str], among: Characters = ANY) -> Characters:
    """A set without some characters."""
    runs = list(among)
    for point in sorted(map(ord, set(characters))):
        cut = []
        for low, high in runs:
            if low <= point <= high:
                cut += [(low, point - 1)] if low < point else []
                cut += [(point + 1, high)] if point < high else []
            else:
                cut.append((low, high))
        runs = cut
    return tuple(runs)


def among(characters: Iterable[str], bounds: Sequence[str] = ()) -> Characters:
    """These characters, and those between each two `bounds`."""
    runs = [(ord(each), ord(each)) for each in characters]
    runs += [(ord(low), ord(high)) for low, high in zip(bounds[::2], bounds[1::2], strict=True)]
    return tuple(sorted(runs))


class _Row:
    """Where a character leads from each state of an automaton."""

    __slots__ = ("_after", "leads", "targets")

    def __init__(self, targets: dict[int, int]) -> None:
        """`targets`: by state, as a bit."""
        self.targets = targets
        self.leads = 0
        for state in targets:
            self.leads |= state
        self._after: dict[int, int] = {}

    def after(self, states: int) -> int:
        """Where it leads from several states."""
        found = self._after.get(states)
        if found is None:
            found = 0
            rest = states & self.leads
            while rest:
                low = rest & -rest
                found |= self.targets[low]
                rest ^= low
            self._after[states] = found
        return found


class _Moves:
    """Where characters lead from all states of an automaton."""

    __slots__ = ("_bounds", "_by_targets", "_many", "_one", "_rows", "edges")

    def __init__(self, edges: list[list[tuple[Characters, int]]]) -> None:
        self.edges = edges
        self._bounds: dict[int, set[int]] = {}
        self._rows: dict[str, _Row] = {}
        self._by_targets: dict[tuple[tuple[int, int], ...], _Row] = {}
        self._one: dict[int, list[tuple[int, int]]] = {}  # by a character: states that it leads on, and where to
        self._many: list[tuple[int, Characters, int]] = []
        for state, leading in enumerate(edges):
            for characters, to in leading:
                if _is_one(characters):
                    self._one.setdefault(characters[0][0], []).append((1 << state, to))
                else:
                    self._many.append((1 << state, characters, to))

    def row(self, character: str) -> _Row:
        """Where a character leads; the same for all that lead alike."""
        found = self._rows.get(character)
        if found is None:
            point = ord(character)
            targets: dict[int, int] = {}
            for state, characters, to in self._many:
                for low, high in characters:
                    if low <= point <= high:
                        targets[state] = targets.get(state, 0) | to
                        break
            for state, to in self._one.get(point, ()):
                targets[state] = targets.get(state, 0) | to
            found = self._by_targets.setdefault(tuple(targets.items()), _Row(targets))
            self._rows[character] = found
        return found

    def bounds(self, states: int) -> set[int]:
        """Where runs of characters begin, of those that lead on from some states or from what these lead to."""
        found = self._bounds.get(states)
        if found is None:
            found = set()
            seen = left = states
            while left:
                low = left & -left
                left ^= low
                for characters, to in self.edges[low.bit_length() - 1]:
                    for first, last in characters:
                        found.add(first)
                        found.add(last + 1)
                    left |= to & ~seen
                    seen |= to
            self._bounds[states] = found
        return found

    def forced(self, states: int, ends: int) -> tuple[str, list[int]]:
        """The text that each text begins with that leads on from some states to one of the `ends`, and the states
        before each of its characters and behind the last."""
        head: list[str] = []
        along = [states]
        while states and not states & ends and len(along) <= len(self.edges):
            following, only = 0, -1
            while states:
                low = states & -states
                states ^= low
                for characters, to in self.edges[low.bit_length() - 1]:
                    point = characters[0][0] if _is_one(characters) else -1
                    if point < 0 or point != only >= 0:
                        return "".join(head), along
                    following, only = following | to, point
            if only < 0:
                break
            head.append(chr(only))
            along.append(following)
            states = following
        return "".join(head), along


def _is_one(characters: Characters) -> bool:
    return len(characters) == 1 and characters[0][0] == characters[0][1]


class Language:
    """A set of texts. `moves`: for each state where characters lead; `start`, `accept`: states as bits; `sink`: those
    from which every text is accepted. `examples`: texts that read well, each in it."""

    __slots__ = ("_begun", "accept", "examples", "moves", "sink", "start")

    def __init__(self, moves: _Moves, start: int, accept: int, sink: int, examples: tuple[str, ...]) -> None:
        self.moves = moves
        self.start, self.accept, self.sink = start, accept, sink
        self.examples = examples
        self._begun: tuple[str, list[int]] | None = None

    def _head(self) -> tuple[str, list[int]]:
        if self._begun is None:
            self._begun = self.moves.forced(self.start, self.accept | self.sink)
        return self._begun

    @property
    def head(self) -> str:
        """What all of its texts begin with, as far as a look at the automaton shows it."""
        return self._head()[0]

    def after(self, text: str) -> int:
        """The states that a text leads to: none if no text of the language begins with it. Where one of them is a
        sink, others may be missing."""
        head, along = self._head()
        if not text.startswith(head):
            return along[len(text)] if head.startswith(text) else 0
        states = along[-1]
        row, sink = self.moves.row, self.sink
        for character in text[len(head) :]:
            if not states or states & sink:
                break
            states = row(character).after(states)
        return states

    def accepts(self, text: str) -> bool:
        """Whether the language holds a text."""
        return bool(self.after(text) & (self.accept | self.sink))

    def before(self, suffix: str) -> Language:
        """The texts that, with a suffix behind them, it holds."""
        accept = self.accept
        for character in reversed(suffix):
            accept = sum(state for state, to in self.moves.row(character).targets.items() if to & accept)
        return Language(self.moves, self.start, accept, self.sink, ())


class Draft:
    """An automaton while it is built. States are numbers."""

    def __init__(self) -> None:
        self.edges: list[list[tuple[Characters, int]]] = []
        self.start = self.accept = self.sink = 0

    def state(self) -> int:
        """A new state."""
        self.edges.append([])
        return len(self.edges) - 1

    def edge(self, source: int, characters: Characters, target: int) -> None:
        """Characters that lead from a state to another one, or to itself."""
        self.edges[source].append((characters, 1 << target))

    def everything_from(self, state: int) -> None:
        """Every text is accepted from a state."""
        self.edge(state, ANY, state)
        self.accept |= 1 << state
        self.sink |= 1 << state

    def finish(self, start: Iterable[int], accept: Iterable[int] = (), examples: Iterable[str] = ()) -> Language:
        """The automaton that begins in some states and accepts in some more."""
        first = sum(1 << state for state in set(start))
        last = self.accept | sum(1 << state for state in set(accept))
        return Language(_Moves(self.edges), first, last, self.sink, tuple(dict.fromkeys(examples)))


def union(languages: Sequence[Language]) -> Language:
    """The texts of any."""
    if len(languages) == 1:
        return languages[0]
    edges: list[list[tuple[Characters, int]]] = []
    start = accept = sink = 0
    for each in languages:
        shift = len(edges)
        start |= each.start << shift
        accept |= each.accept << shift
        sink |= each.sink << shift
        edges += [[(characters, to << shift) for characters, to in state] for state in each.moves.edges]
    examples = [text for each in languages for text in each.examples]
    return Language(_Moves(edges), start, accept, sink, tuple(dict.fromkeys(examples)))


class _Step(Value):
    """A state of the search, and how it was reached."""

    states: tuple[int, ...]
    before: int
    character: str


def shortest(inside: Sequence[Language], outside: Sequence[Language] = ()) -> str | None:
    """A shortest text that all of `inside`, at least one, hold and none of `outside`, one that reads well where there
    are several; None if there is none. Raises UndecidedError."""
    # What one of them needs at the beginning all of them need: the search starts behind it.
    head = max((each.head for each in inside), key=len)
    begun = [each.after(head) for each in inside]
    if not all(begun):
        return None
    split = len(inside)
    languages = list(inside)
    for each in outside:
        led = each.after(head)
        if led & each.sink:
            return None
        if led:  # one that holds no text with this beginning leaves out nothing
            languages.append(each)
            begun.append(led)
    start = tuple(begun)
    wanted = [each.accept for each in languages]
    sinks = [each.sink for each in languages]

    def is_found(states: tuple[int, ...]) -> bool:
        return all(bool(states[n] & wanted[n]) is (n < split) for n in range(len(states)))

    if is_found(start):
        return head
    rows = _alphabet(languages, start)
    steps = [_Step(start, -1, "")]
    seen = {start}
    at = 0
    while at < len(steps):
        states = steps[at].states
        first = states[0]
        for character, row in rows:
            if not row[0].leads & first:
                continue
            reached = []
            for n in range(len(languages)):
                to = row[n].after(states[n]) if states[n] else 0
                if (not to) if n < split else (to & sinks[n]):
                    break
                reached.append(to)
            else:
                key = tuple(reached)
                if key in seen:
                    continue
                seen.add(key)
                steps.append(_Step(key, at, character))
                if is_found(key):
                    return head + _text(steps, len(steps) - 1)
                if len(steps) > MOST_STATES:
                    raise UndecidedError("the patterns are too many to be compared")
        at += 1
    return None


def _text(steps: list[_Step], at: int) -> str:
    found = []
    while at > 0:
        found.append(steps[at].character)
        at = steps[at].before
    return "".join(reversed(found))


def _alphabet(languages: Sequence[Language], start: Sequence[int]) -> list[tuple[str, list[_Row]]]:
    """One character for each of those that the automata tell apart behind some states, with where it leads in each,
    pleasant ones first."""
    edges = [each.moves.bounds(states) for each, states in zip(languages, start, strict=True)]
    bounds = sorted({0}.union(*edges) - {_LAST + 1})
    known: dict[tuple[int, ...], tuple[str, list[_Row]]] = {}
    for low, above in zip(bounds, [*bounds[1:], _LAST + 1], strict=True):
        character = _representative(low, above)
        rows = [each.moves.row(character) for each in languages]
        key = tuple(map(id, rows))
        if key not in known or _rank(character) < _rank(known[key][0]):
            known[key] = character, rows
    return sorted(
        [each for each in known.values() if any(row.leads for row in each[1])], key=lambda each: _rank(each[0])
    )


def _representative(low: int, above: int) -> str:
    if above - low == 1:
        return chr(low)
    return next((each for each in _PLEASANT if low <= ord(each) < above), chr(low or 1))


def _rank(character: str) -> tuple[int, str]:
    place = _PLEASANT.find(character)
    return (place if place >= 0 else len(_PLEASANT) + (not character.isprintable()), character)
