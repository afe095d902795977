"""An index over patterns of segments (of a path, or of a host name read backwards), as plain JSON-able data.

A node is `[children, rest, low, high, quiet]`: `children` by literal segment; `rest` is None or `[inside, ends,
one, deep]`; `order[low:high]` are the ids of every pattern that ends in this node or beyond it;
`quiet` is 1 if no segment on the way here means anything to a `deep` set on the way: those then look after it.

- `inside`: ids of patterns that end here, all of which hold once the path goes on; `ends`: 0 if all of them hold where
  it ends, too, else `[here, folder, below]`: those that do, that match folders only, that match what lies below only.
- `one`: a set of globs for the next segment; `deep`: a set of globs and names for any later segment (`**/`).

A set is `[names, heads, tails, others]` (and for `deep` also its own `low, high`). Globs are filed by their first
or last three characters, so that a segment meets only globs that begin or end as it does; a crowded bucket is
split by longer keys. `others` is None or `[first character, last character, inner text, unfiled]`.
"""

from __future__ import annotations

from gateway.policy.globs import compile_segment, fold_case, literal, matches

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

    Node = list[Any]
    Index = list[Any]

HERE, FOLDER, BELOW = 0, 1, 2
MAX_SEGMENTS = 100
MAX_WILD = 24
_KEY = 3
_BUCKET = 8
_LONGEST_KEY = 40
_INNER = 16


def build(patterns: Iterable[tuple[list[str], int, int]], *, fold: bool = False) -> Index:
    """`[root, fold, order, every id once]` over `(segments, end, id)`.

    A segment is written as `globs.compile_segment` reads it, or `**`; `end` is HERE, FOLDER or BELOW. `fold`: texts
    are compared without regard to case. Raises ValueError for a segment that is no glob or too many segments.
    """
    root = _Draft()
    for segments, end, number in patterns:
        check_size(segments)
        node = root
        deep = False
        for segment in segments:
            if segment == "**":
                deep = True
            else:
                node = node.step(segment, deep, fold)
                deep = False
        node.ends[end].append(number)
    order: list[int] = []
    finished = root.finish(order)
    _mark_quiet(finished, [])
    return [finished, int(fold), order, sorted(set(order))]


def check_size(segments: list[str]) -> None:
    """Raises ValueError if the pattern is larger than an index holds: it is stored nested as deep as that."""
    if len(segments) > MAX_SEGMENTS:
        raise ValueError(f"a pattern must have at most {MAX_SEGMENTS} segments (got {len(segments)})")
    if len(segments) <= MAX_WILD:
        return
    wild = sum(["*" in segment or "?" in segment or "[" in segment for segment in segments])
    if wild > MAX_WILD:
        raise ValueError(f"a pattern must have at most {MAX_WILD} segments with wildcards (got {wild})")


def find(index: Index, segments: list[str], folder_limit: int, below_limit: int) -> list[int]:
    """The ids of patterns that match `segments` or a folder above them, perhaps some of them twice.

    Patterns that match folders only count at places before `folder_limit`, those that match what lies below before
    `below_limit`: `len(segments)`, or one more where the last segment is a folder, or stands for what is in it.
    """
    node = index[0]
    found: list[int] = []
    deeps = []
    quiet = 0
    for at, segment in enumerate(segments):
        rest = node[1]
        if rest is not None:
            inside, _ends, one, deep = rest
            if inside:
                found += inside
            if deep is not None:
                deeps.append((deep, at))
            if one is not None:
                for child in choose(one, segment):
                    walk(child, segments, at + 1, folder_limit, below_limit, found, {})
        children = node[0]
        if segment not in children:
            break
        node = children[segment]
        if node[4]:
            quiet = at + 1
    else:
        rest = node[1]
        if rest is not None:
            ending(rest, len(segments), folder_limit, below_limit, found)
    for deep, at in deeps:
        names, heads, tails, others, _low, _high = deep
        if at < quiet:
            at = quiet
        for segment in segments[at:] if at else segments:
            if segment in names or segment[:3] in heads or segment[-3:] in tails or others is not None:
                scan(deep, segments, at, folder_limit, below_limit, found, {})
                break
    return found


def walk(
    node: Node,
    segments: list[str],
    at: int,
    folder_limit: int,
    below_limit: int,
    found: list[int],
    seen: dict[int, int],
) -> None:
    """Like `find`, from `node` at place `at`, adding to `found`. `seen` holds the `deep` sets already tried, and from
    where, so that no path makes a walk explode."""
    size = len(segments)
    while at <= size:
        rest = node[1]
        if rest is not None:
            if at == size:
                ending(rest, at, folder_limit, below_limit, found)
            else:
                inside, _ends, one, deep = rest
                found += inside
                if deep is not None:
                    scan(deep, segments, at, folder_limit, below_limit, found, seen)
                if one is not None:
                    for child in choose(one, segments[at]):
                        walk(child, segments, at + 1, folder_limit, below_limit, found, seen)
        if at == size or segments[at] not in node[0]:
            return
        node = node[0][segments[at]]
        at += 1


def scan(
    deep: list[Any],
    segments: list[str],
    at: int,
    folder_limit: int,
    below_limit: int,
    found: list[int],
    seen: dict[int, int],
) -> None:
    """Like `walk`, for patterns that may go on at any segment from `at`."""
    if seen.get(id(deep), at + 1) <= at:
        return
    seen[id(deep)] = at
    names, heads, tails, others, _low, _high = deep
    for segment in segments[at:] if at else segments:
        at += 1
        if segment in names or segment[:3] in heads or segment[-3:] in tails or others is not None:
            for child in choose(deep, segment):
                walk(child, segments, at, folder_limit, below_limit, found, seen)


def ending(rest: list[Any], at: int, folder_limit: int, below_limit: int, found: list[int]) -> None:
    """Adds the ids of patterns that end where the segments end, at place `at`."""
    inside, ends, _one, _deep = rest
    if not ends:
        found += inside
        return
    here, folder, below = ends
    found += here
    if at < folder_limit:
        found += folder
    if at < below_limit:
        found += below


def reach(node: Node, segments: list[str], order: list[int], found: list[int]) -> None:
    """Adds the ids of patterns that could match something strictly below `segments`."""
    pending = [(node, 0)]
    size = len(segments)
    while pending:
        node, at = pending.pop()
        while node is not None:
            rest = node[1]
            if rest is not None:
                inside, _ends, one, deep = rest
                found += inside
                if deep is not None:
                    found += order[deep[4] : deep[5]]
                if one is not None and at < size:
                    pending += [(child, at + 1) for child in choose(one, segments[at])]
            if at == size:
                found += order[node[2] : node[3]]
                break
            node = node[0].get(segments[at])
            at += 1


def leading(node: Node, segments: list[str], at: int = 0) -> Iterator[Node]:
    """The nodes in which patterns stand that have named the last segment, and go on after it."""
    if at == len(segments):
        rest = node[1]
        if node[0] or (rest is not None and (rest[2] or rest[3] or (rest[1] and (rest[1][BELOW] or rest[1][FOLDER])))):
            yield node
        return
    rest = node[1]
    if rest is not None:
        _inside, _ends, one, deep = rest
        for child in choose(one, segments[at]) if one is not None else ():
            yield from leading(child, segments, at + 1)
        for place in range(at, len(segments)) if deep is not None else ():
            for child in choose(deep, segments[place]):
                yield from leading(child, segments, place + 1)
    child = node[0].get(segments[at])
    if child is not None:
        yield from leading(child, segments, at + 1)


def choose(globs: list[Any], segment: str) -> list[Node]:
    """The nodes that a set leads to with this segment."""
    names, heads, tails, others = globs[0], globs[1], globs[2], globs[3]
    node = names.get(segment)
    nodes: list[Node] = [] if node is None else [node]
    entries: list[Any] = []
    if segment[:3] in heads:
        entries += _filed(heads[segment[:3]], segment, False)
    if segment[-3:] in tails:
        entries += _filed(tails[segment[-3:]], segment, True)
    if others is not None:
        first, last, inner, unfiled = others
        entries += _filed(first.get(segment[:1]), segment, False)
        entries += _filed(last.get(segment[-1:]), segment, True)
        entries += unfiled
        if type(inner) is list:
            entries += [entry[1:] for entry in inner if entry[0] in segment]
        else:
            for key in {segment[i : i + 3] for i in range(len(segment) - 2)}:
                entries += [entry[1:] for entry in inner.get(key, ()) if entry[0] in segment]
    if entries:
        nodes += [node for glob, node in entries if matches(glob, segment)]
    return nodes


def choose_by_ending(globs: list[Any], tail: str) -> list[Node]:
    """The nodes that a set leads to with any segment whatever that ends so: those of globs `*text`."""
    _names, _heads, tails, others = globs[0], globs[1], globs[2], globs[3]
    entries = _filed(tails.get(tail[-3:]), tail, True)
    if others is not None:
        entries = entries + _filed(others[1].get(tail[-1:]), tail, True) + others[3]
    return [
        node
        for glob, node in entries
        if len(glob) == 2 and not glob[0] and type(glob[1]) is str and tail.endswith(glob[1])
    ]


def _filed(bucket: Any, segment: str, backwards: bool) -> list[Any]:
    """The entries `[glob, node]` of a bucket whose key agrees with the segment."""
    if type(bucket) is not dict:
        return bucket or []
    entries: list[Any] = []
    while type(bucket) is dict:
        entries += bucket["short"]
        length = bucket["length"]
        bucket = bucket["by"].get(segment[-length:] if backwards else segment[:length])
    return entries + (bucket or [])


class _Draft:
    """A node while patterns are added."""

    __slots__ = ("children", "deep_globs", "deep_names", "ends", "globs")

    def __init__(self) -> None:
        self.ends: tuple[list[int], list[int], list[int]] = ([], [], [])
        self.children: dict[str, _Draft] = {}
        self.globs: dict[str, tuple[Any, _Draft]] = {}
        self.deep_names: dict[str, _Draft] = {}
        self.deep_globs: dict[str, tuple[Any, _Draft]] = {}

    def step(self, segment: str, deep: bool, fold: bool) -> _Draft:
        """The node after a segment, made if there is none."""
        glob = compile_segment(segment, fold=fold)
        name = literal(glob)
        if name is not None:
            names = self.deep_names if deep else self.children
            if name not in names:
                names[name] = _Draft()
            return names[name]
        globs = self.deep_globs if deep else self.globs
        key = fold_case(segment) if fold and "[" not in segment else segment
        if key not in globs:
            globs[key] = glob, _Draft()
        return globs[key][1]

    def finish(self, order: list[int]) -> Node:
        """The plain form. Appends to `order` every id that ends in this node or beyond."""
        low = len(order)
        here, folder, below = self.ends
        order += here + folder + below
        children = {name: node.finish(order) for name, node in self.children.items()}
        one = _globset(self.globs, {}, order) if self.globs else None
        start = len(order)
        deep = None
        if self.deep_names or self.deep_globs:
            deep = _globset(self.deep_globs, self.deep_names, order)
            deep += [start, len(order)]
        inside = here + folder + below
        ends: Any = [here, folder, below] if folder or below else 0
        rest = [inside, ends, one, deep] if one or deep or inside else None
        return [children, rest, low, len(order), 0]


def _mark_quiet(node: Node, deeps: list[list[Any]]) -> None:
    if node[1] is not None and node[1][3] is not None:
        deeps = [*deeps, node[1][3]]
    for name, child in node[0].items():
        if not any(choose(deep, name) for deep in deeps):
            child[4] = 1
            _mark_quiet(child, deeps)


def _globset(globs: dict[str, tuple[Any, _Draft]], names: dict[str, _Draft], order: list[int]) -> list[Any]:
    filed: dict[str, list[tuple[str, Any, Node]]] = {"head": [], "tail": [], "first": [], "last": []}
    inner: list[list[Any]] = []
    unfiled: list[list[Any]] = []
    for glob, draft in globs.values():
        node = draft.finish(order)
        head = glob[0] if type(glob[0]) is str else ""
        tail = glob[-1] if type(glob[-1]) is str else ""
        middle = max((chunk for chunk in glob[1:-1] if type(chunk) is str), key=len, default="")
        if max(len(head), len(tail)) >= _KEY:
            entry = ("head", head) if len(head) >= len(tail) else ("tail", tail)
        elif head or tail:
            entry = ("first", head) if head else ("last", tail)
        else:
            (inner if middle else unfiled).append([middle, glob, node] if middle else [glob, node])
            continue
        filed[entry[0]].append((entry[1], glob, node))
    plain_names = {name: draft.finish(order) for name, draft in names.items()}
    others = None
    if filed["first"] or filed["last"] or inner or unfiled:
        first, last = _keyed(filed["first"], 1, False), _keyed(filed["last"], 1, True)
        short = [each for each in inner if len(each[0]) < _KEY]
        if len(inner) - len(short) > _INNER:
            by_text: dict[str, list[list[Any]]] = {}
            for each in inner:
                if len(each[0]) >= _KEY:
                    by_text.setdefault(_rarest(each[0], by_text), []).append(each)
            unfiled += [[glob, node] for _text, glob, node in short]
            others = [first, last, by_text, unfiled]
        else:
            others = [first, last, inner, unfiled]
    return [plain_names, _keyed(filed["head"], _KEY, False), _keyed(filed["tail"], _KEY, True), others]


def _rarest(text: str, taken: dict[str, list[list[Any]]]) -> str:
    """Of the runs of three characters in a text, the one with the fewest entries so far."""
    return min((text[i : i + _KEY] for i in range(len(text) - _KEY + 1)), key=lambda key: len(taken.get(key, ())))


def _keyed(entries: list[tuple[str, Any, Node]], length: int, backwards: bool) -> dict[str, Any]:
    groups: dict[str, list[tuple[str, Any, Node]]] = {}
    for entry in entries:
        groups.setdefault(entry[0][-length:] if backwards else entry[0][:length], []).append(entry)
    return {key: _bucket(group, length, backwards) for key, group in groups.items()}


def _bucket(entries: list[tuple[str, Any, Node]], length: int, backwards: bool) -> Any:
    """Entries whose texts agree in `length` characters: a list, or split by longer keys where they are many."""
    longer = [text for text, _glob, _node in entries if len(text) > length]
    if len(entries) <= _BUCKET or not longer or length >= _LONGEST_KEY:
        return [[glob, node] for _text, glob, node in entries]
    length += 1
    cut = (lambda text: text[-length:]) if backwards else (lambda text: text[:length])
    while len(set(map(cut, longer))) == 1 and length < min(map(len, longer)):
        length += 1
    short = [[glob, node] for text, glob, node in entries if len(text) < length]
    return {
        "length": length,
        "short": short,
        "by": _keyed([entry for entry in entries if len(entry[0]) >= length], length, backwards),
    }
