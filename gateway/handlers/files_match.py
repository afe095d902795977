"""Where the text of a replacement stands in a file. Pure.

A text stands where it stands exactly. Only if it is nowhere, two habits are forgiven, and only where the match then is
the only one: line numbers copied from what Read shows, and typographic quotes for straight ones or the other way round.
Line endings never matter for finding; what is put in gets those of the place it is put in.
"""

from __future__ import annotations

import re
from bisect import bisect_left

from gateway.core.value import Value

MOST_SHOWN = 5
MOST_WINDOWS = 40
MOST_LINES = 100_000
_ALIKE = 0.6
_QUOTES = {
    **dict.fromkeys("\u2018\u2019\u201a\u201b\u2032\u00b4", "'"),
    **dict.fromkeys("\u201c\u201d\u201e\u201f\u2033\u00ab\u00bb", '"'),
}
_FOLD = {ord(sign): plain for sign, plain in _QUOTES.items()}


class Edit(Value):
    """One replacement, as it was asked for."""

    old: str
    new: str
    everywhere: bool


class Spot(Value):
    """A place in a text and what goes there."""

    start: int
    stop: int
    new: str


class Edited(Value):
    """What came of a replacement. `spots`: in the text before, in order; `forgiven`: what was forgiven, in words."""

    text: str
    spots: tuple[Spot, ...]
    forgiven: str = ""


class MissError(Exception):
    """A replacement that cannot be made. `args`: what is wrong, and what to do."""

    def __init__(self, what: str, remedy: str = "") -> None:
        super().__init__(what, remedy)
        self.what = what
        self.remedy = remedy


def replaced(text: str, edit: Edit) -> Edited:
    """A text with a replacement made. Raises MissError."""
    flat, returns = _flattened(text)
    old, new = _flat(edit.old), _flat(edit.new)
    if old == new:
        raise MissError("`old_string` and `new_string` are the same; nothing would change.")
    starts = _all(flat, old)
    if len(starts) > 1 and not edit.everywhere:
        raise MissError(
            f"`old_string` stands there {len(starts):,} times ({_places(flat, starts)}).",
            "Give more of its surroundings to make it unique, or set `replace_all`.",
        )
    forgiven = ""
    if starts:
        found = [(start, start + len(old), new) for start in starts]
    else:
        spot, forgiven = _forgiving(flat, old, new)
        found = [spot]
    spots = tuple([_spot(text, returns, start, stop, put) for start, stop, put in found])
    parts, at = [], 0
    for spot_ in spots:
        parts += [text[at : spot_.start], spot_.new]
        at = spot_.stop
    result = "".join(parts) + text[at:]
    if result == text:
        raise MissError("The file would stay as it is.")
    return Edited(result, spots, forgiven)


def _forgiving(flat: str, old: str, new: str) -> tuple[tuple[int, int, str], str]:
    """The one place that a text means with a habit forgiven. Raises MissError."""
    bare = _without_numbers(old)
    numbered = "the line numbers in `old_string` were left out"
    if bare is not None:
        bare_new = _without_numbers(new)
        new_ = new if bare_new is None else bare_new
        starts = _all(flat, bare)
        if len(starts) == 1 and bare != new_:
            return (starts[0], starts[0] + len(bare), new_), numbered
        if len(starts) > 1:
            raise MissError(
                f"`old_string` does not stand there; without its line numbers it does {len(starts):,} times "
                f"({_places(flat, starts)}).",
                "Give more of its surroundings, without the line numbers that Read shows.",
            )
    folded = flat.translate(_FOLD)
    for candidate, put, said in (
        (old, new, "quotes were taken as the file has them"),
        *(((bare, new_, f"{numbered}, and quotes were taken as the file has them"),) if bare is not None else ()),
    ):
        plain = candidate.translate(_FOLD)
        if plain == candidate and folded == flat:
            continue
        starts = _all(folded, plain)
        if len(starts) == 1:
            start, stop = starts[0], starts[0] + len(plain)
            return (start, stop, _in_style(flat[start:stop], candidate, put)), said
        if len(starts) > 1:
            raise MissError(
                f"`old_string` does not stand there; with other quotes it does {len(starts):,} times "
                f"({_places(flat, starts)}).",
                "Copy the quotes exactly, or give more of its surroundings.",
            )
    raise MissError("`old_string` does not stand there.", _hint(flat, bare if bare is not None else old, new))


def _in_style(found: str, old: str, new: str) -> str:
    """The new text, with what it shares with the old one as the file has it."""
    from difflib import SequenceMatcher

    out = []
    for tag, a, b, c, d in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        out.append(found[a:b] if tag == "equal" else new[c:d])
    return "".join(out)


def _without_numbers(text: str) -> str | None:
    """The text without the line numbers that Read shows, None if a line that is not empty has none."""
    lines = text.split("\n")
    bare = []
    for line in lines:
        match = re.match(r"\s{0,6}\d+(?:\t|\u2192)", line)
        if match is None and line:
            return None
        bare.append(line[match.end() :] if match else line)
    return "\n".join(bare) if bare != lines and any(bare) else None


def _flattened(text: str) -> tuple[str, list[int]]:
    """The text with single line feeds, and where in it a carriage return was left out before one."""
    if "\r\n" not in text:
        return text, []
    flat = text.replace("\r\n", "\n")
    returns: list[int] = []
    at = text.find("\r\n")
    while at >= 0:
        returns.append(at - len(returns))
        at = text.find("\r\n", at + 2)
    return flat, returns


def _flat(text: str) -> str:
    return text.replace("\r\n", "\n")


def _spot(text: str, returns: list[int], start: int, stop: int, new: str) -> Spot:
    """A place of the flat text as one of the text itself, and what goes there with the line endings of the place."""
    first, last = bisect_left(returns, start), bisect_left(returns, stop)
    begin, end = start + first, stop + last
    if "\n" in new and returns:
        inside = text[begin:end]
        breaks = inside.count("\n")
        windows = (last - first) * 2 > breaks if breaks else len(returns) * 2 > text.count("\n")
        if windows:
            new = new.replace("\n", "\r\n")
    return Spot(begin, end, new)


def _all(text: str, part: str) -> list[int]:
    """Where a part stands, not overlapping."""
    found = []
    at = text.find(part)
    while at >= 0:
        found.append(at)
        at = text.find(part, at + len(part))
    return found


def line_of(text: str, at: int) -> int:
    """The number of the line that a place is in."""
    return text.count("\n", 0, at) + 1


def _places(text: str, starts: list[int]) -> str:
    lines = list(dict.fromkeys([line_of(text, start) for start in starts[: MOST_SHOWN + 1]]))
    shown = ", ".join(map(str, lines[:MOST_SHOWN])) + (", …" if len(lines) > MOST_SHOWN else "")
    return ("line " if len(lines) == 1 else "lines ") + shown


def _hint(flat: str, old: str, new: str) -> str:
    """What is there instead: the new text already, or what is most like the old one."""
    if len(new) > 3 and new.strip() and (at := flat.find(new)) >= 0:
        return f"`new_string` stands there already, from line {line_of(flat, at)}."
    near = nearest(flat, old)
    if not near:
        return "Nothing there is like it. Read the file again."
    return "What is most like it:\n" + "\n   ...\n".join([lines for _, _, lines in near])


def nearest(flat: str, old: str, most: int = 3) -> list[tuple[int, int, str]]:
    """The places that are most like a text: first and last line, and the numbered lines."""
    from difflib import SequenceMatcher

    lines, wanted = flat.split("\n")[:MOST_LINES], old.strip("\n").split("\n")[:60]
    words = [set(re.findall(r"\w+", line.casefold())) for line in wanted]
    sought = set().union(*words)
    weights: dict[int, int] = {}
    for number, line in enumerate(lines):
        shared = len(sought.intersection(re.findall(r"\w+", line[:500].casefold())))
        if shared:
            weights[number] = shared
    height = len(wanted)
    windows: dict[int, int] = {}
    for number in weights:
        for start in range(max(0, number - height + 1), number + 1) if height <= 8 else (max(0, number - height // 2),):
            if start not in windows:
                windows[start] = sum(weights.get(start + each, 0) for each in range(height))
    best = sorted(windows, key=lambda start: (-windows[start], start))[:MOST_WINDOWS]
    target = "\n".join(wanted)[:4_000]
    matcher = SequenceMatcher(None, autojunk=False)
    matcher.set_seq2(target)
    scored = []
    for start in best:
        matcher.set_seq1("\n".join(lines[start : start + height])[:4_000])
        if matcher.quick_ratio() >= _ALIKE and (ratio := matcher.ratio()) >= _ALIKE:
            scored.append((-ratio, start))
    chosen: list[int] = []
    for _, start in sorted(scored):
        if all(abs(start - other) >= height for other in chosen):
            chosen.append(start)
    return [(start + 1, min(start + height, len(lines)), _numbered(lines, start, height)) for start in chosen[:most]]


def _numbered(lines: list[str], start: int, height: int) -> str:
    shown = [f"{start + each + 1:6}\t{line[:200]}" for each, line in enumerate(lines[start : start + min(height, 12)])]
    return "\n".join(shown)
