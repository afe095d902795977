"""What policies write, as languages: globs, paths, names of hosts, words of commands.

Each matches exactly what the matcher of the same pattern does (`globs`, `paths`, `hosts`, `commandpattern`), of texts
without unknown parts.
"""

from __future__ import annotations

from gateway.model.effect import HOLE
from gateway.policy import commandpattern, globs
from gateway.policy.algebra.languages import ANY, Draft, Language, all_but, among, one
from gateway.policy.commandreading import SEPARATOR
from gateway.policy.paths import parsed
from gateway.policy.trie import BELOW

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

    from gateway.policy.algebra.languages import Characters

_NO_SLASH = all_but("/\0")
_NO_DOT = all_but(".")
_IN_WORD = all_but(HOLE)
FILLING = "x"  # stands where a pattern leaves the text open, so that examples read well


def text(glob: Any, *, prefix: str = "") -> Language:
    """What a compiled glob over whole texts matches, behind a prefix."""
    draft = Draft()
    first = draft.state()
    last = _glob(draft, first, globs_prefixed(prefix, glob), ANY)
    examples = [prefix + _example(glob), prefix + _example(glob, "")]
    return _ended(draft, [first], last, examples, is_open=len(glob) > 1 and not glob[-1])


def globs_prefixed(prefix: str, glob: Any) -> Any:
    """A compiled glob behind a literal text."""
    if not prefix:
        return glob
    head = glob[0]
    return [prefix + head if type(head) is str else [*prefix, *head], *glob[1:]]


def literal(value: str) -> Language:
    """One text."""
    return text([value])


def everything() -> Language:
    """Any text of known characters."""
    draft = Draft()
    state = draft.state()
    draft.edge(state, all_but(HOLE), state)
    return draft.finish([state], [state], [FILLING])


def all_paths() -> Language:
    """Every absolute path that is lexically normal, the root as an empty text."""
    draft = Draft()
    root, slash, dot, dots, name = (draft.state() for _ in range(5))
    draft.edge(root, one("/"), slash)
    draft.edge(slash, one("."), dot)
    draft.edge(slash, all_but("./\0"), name)
    draft.edge(dot, one("."), dots)
    draft.edge(dot, all_but("./\0"), name)
    draft.edge(dots, _NO_SLASH, name)
    draft.edge(name, _NO_SLASH, name)
    draft.edge(name, one("/"), slash)
    return draft.finish([root], [root, name], ["/x"])


def path(pattern: str, *, inside: bool = False) -> Language:
    """The paths that a normalised pattern matches, as `all_paths` writes them. `inside`: the folders of which it
    matches all that lies in them."""
    segments, end = parsed(pattern)
    draft = Draft()
    first = draft.state()
    before = [first]
    shown: list[str] = []
    for segment in segments:
        if segment == "**":
            skipped = draft.state()
            for each in before:
                draft.edge(each, one("/"), skipped)
            draft.edge(skipped, _NO_SLASH, skipped)
            draft.edge(skipped, one("/"), skipped)
            before = [*before, skipped]
            continue
        begin = draft.state()
        for each in before:
            draft.edge(each, one("/"), begin)
        glob = globs.compile_segment(segment)
        before = [_glob(draft, begin, glob, _NO_SLASH)]
        shown.append(_example(glob) or FILLING)
    below = draft.state()
    for each in before:
        draft.edge(each, one("/"), below)
    draft.everything_from(below)
    itself = end != BELOW or inside
    example = "".join(f"/{each}" for each in shown)
    deeper = [f"{example}/x/y", f"{example}/x"]
    if "**" in segments:
        at = segments.index("**")
        deep = [*shown[:at], "x", "y", *shown[at:]]
        example = "".join(f"/{each}" for each in deep)
        deeper = [f"{example}/x"]
    return draft.finish([first], before if itself else [], [example, *deeper] if itself else deeper)


def all_hosts() -> Language:
    """Names of hosts: labels of letters, digits, `-` and `_`, in lower case."""
    draft = Draft()
    first, inside = draft.state(), draft.state()
    label = among("-_", "az09")
    draft.edge(first, label, inside)
    draft.edge(inside, label, inside)
    draft.edge(inside, one("."), first)
    return draft.finish([first], [inside], ["x"])


def lone_names() -> Language:
    """Names of hosts without a dot."""
    draft = Draft()
    first, inside = draft.state(), draft.state()
    draft.edge(first, _NO_DOT, inside)
    draft.edge(inside, _NO_DOT, inside)
    return draft.finish([first], [inside], ["x"])


def host(pattern: str) -> Language:
    """The names that a host pattern in lower case matches, which is no address, network or group."""
    if pattern in ("*", "**"):
        return _of_labels([], below=True, example="x")
    labels = pattern.split(".")
    below = labels[0] in ("*", "**")
    rest = labels[1:] if below else labels
    shown = ".".join(label.replace("*", FILLING) for label in rest)
    return _of_labels(rest, below=below, example=f"x.{shown}" if below else shown)


def _of_labels(labels: Sequence[str], *, below: bool, example: str) -> Language:
    draft = Draft()
    first = draft.state()
    if not labels:
        draft.edge(first, all_but("\0"), first)
        return draft.finish([first], [first], [example])
    begin = first
    if below:
        inside, begin = draft.state(), draft.state()
        draft.edge(first, _NO_DOT, inside)
        draft.edge(inside, _NO_DOT, inside)
        draft.edge(inside, one("."), first)
        draft.edge(inside, one("."), begin)
    for place, label in enumerate(labels):
        if place:
            after = draft.state()
            draft.edge(begin, one("."), after)
            begin = after
        glob = globs.compile_segment("?*" if label == "*" else label)
        begin = _glob(draft, begin, glob, _NO_DOT)
    return draft.finish([first], [begin], [example])


def all_words() -> Language:
    """Commands as words: the first is not empty, and `HOLE` stands between two."""
    draft = Draft()
    first, more = draft.state(), draft.state()
    draft.edge(first, _IN_WORD, more)
    draft.edge(more, ANY, more)
    return draft.finish([first], [more], [FILLING])


def words(pattern: str) -> Language:
    """The commands whose words, as written, a command pattern allows."""
    found, rest = commandpattern.words_of(pattern)
    draft = Draft()
    first = at = draft.state()
    shown = []
    for place, word in enumerate(found):
        if place:
            at = _step(draft, at, one(HOLE))
        for atom in word:
            if atom is None or atom is False:
                draft.edge(at, ANY if atom is None else _IN_WORD, at)
            else:
                at = _step(draft, at, one(atom))
        plain = "".join(FILLING if atom is None or atom is False else atom for atom in word)
        shown.append(plain or ("" if place else FILLING))
    example = HOLE.join(shown)
    if not rest:
        return draft.finish([first], [at], [example])
    more = _step(draft, at, one(HOLE))
    draft.everything_from(more)
    return draft.finish([first], [at], [example, f"{example}{HOLE}{FILLING}"])


def all_wrapped() -> Language:
    """Texts of words as commands are read to be forbidden: each word stands between two separators."""
    draft = Draft()
    outside, inside = draft.state(), draft.state()
    draft.edge(outside, one(SEPARATOR), inside)
    draft.edge(inside, all_but((SEPARATOR, HOLE)), inside)
    draft.edge(inside, one(SEPARATOR), outside)
    return draft.finish([outside], [outside], [f"{SEPARATOR}{FILLING}{SEPARATOR}"])


def begun_by(names: Iterable[str]) -> Language | None:
    """Wrapped texts whose first word is one of these globs, read in lower case."""
    from gateway.policy.algebra.languages import union

    found = []
    for name in names:
        glob = globs.compile_glob(name.lower())
        glob = globs_prefixed(SEPARATOR, glob)
        tail = glob[-1]
        ended = [*glob[:-1], tail + SEPARATOR if type(tail) is str else [*tail, SEPARATOR]]
        draft = Draft()
        first = draft.state()
        last = _glob(draft, first, ended, all_but(SEPARATOR))
        draft.everything_from(last)
        found.append(draft.finish([first], examples=[_example(ended)]))
    return union(found) if found else None


def _step(draft: Draft, at: int, characters: Characters) -> int:
    after = draft.state()
    draft.edge(at, characters, after)
    return after


def _glob(draft: Draft, at: int, glob: Any, within: Characters) -> int:
    """Adds a compiled glob whose stars stay within some characters; the state in which it ends."""
    for place, chunk in enumerate(glob):
        if place:
            draft.edge(at, within, at)
        for atom in chunk:
            at = _step(draft, at, _characters(atom, within))
    return at


def _characters(atom: Any, within: Characters) -> Characters:
    if type(atom) is str:
        return one(atom) if atom else within
    negated, characters, *bounds = atom
    if not negated:
        return among(characters, bounds)
    left_out = among(characters, bounds)
    runs: list[tuple[int, int]] = []
    for low, high in within:
        at = low
        for first, last in left_out:
            if last < at or first > high:
                continue
            if first > at:
                runs.append((at, first - 1))
            at = max(at, last + 1)
        if at <= high:
            runs.append((at, high))
    return tuple(runs)


def _ended(draft: Draft, start: list[int], last: int, examples: list[str], *, is_open: bool) -> Language:
    if is_open:  # its last state stays where it is whatever follows
        draft.accept |= 1 << last
        draft.sink |= 1 << last
    return draft.finish(start, [last], examples)


def _example(glob: Any, filling: str = FILLING) -> str:
    return filling.join("".join(map(_character, chunk)) for chunk in glob)


def _character(atom: Any) -> str:
    if type(atom) is str:
        return atom or FILLING
    for low, high in _characters(atom, all_but("/\0")):
        return next((each for each in "xyzab0" if low <= ord(each) <= high), chr(low or 1))
    return FILLING
