"""A unified diff of two texts, for people. Pure, and bounded: what differs too much is shown as one block."""

from __future__ import annotations

from gateway.files.text import showable

AROUND = 3
MOST_COMPARED = 3_000


def unified(before: str, after: str, name: str, *, is_new: bool = False) -> str:
    """The diff, "" for equal texts."""
    if before == after and not is_new:
        return ""
    old, new = _lines(before), _lines(after)
    start, end = _common(old, new)
    middle_old, middle_new = old[start : len(old) - end], new[start : len(new) - end]
    # Both with what stands around them, so that hunks have their context.
    lead = old[max(0, start - AROUND) : start]
    trail = old[len(old) - end : len(old) - end + AROUND]
    offset = start - len(lead)
    left, right = lead + middle_old + trail, lead + middle_new + trail
    out = [f"--- {'/dev/null' if is_new else name}\n", f"+++ {name}\n"]
    for group in _groups(left, right):
        first, last = group[0], group[-1]
        out.append(
            f"@@ -{_range(first[1] + offset, last[2] + offset)} +{_range(first[3] + offset, last[4] + offset)} @@\n"
        )
        for tag, a, b, c, d in group:
            if tag == "equal":
                out += [_shown(" ", line) for line in left[a:b]]
                continue
            out += [_shown("-", line) for line in left[a:b]]
            out += [_shown("+", line) for line in right[c:d]]
    return showable("".join(out))


def _lines(text: str) -> list[str]:
    """Lines by line feed alone, as Read numbers them, each with its end."""
    parts = text.split("\n")
    lines = [part + "\n" for part in parts[:-1]]
    return [*lines, parts[-1]] if parts[-1] else lines


def _common(old: list[str], new: list[str]) -> tuple[int, int]:
    """How many lines are the same at the start and at the end."""
    most = min(len(old), len(new))
    start = 0
    while start < most and old[start] == new[start]:
        start += 1
    end = 0
    while end < most - start and old[-1 - end] == new[-1 - end]:
        end += 1
    return start, end


def _groups(left: list[str], right: list[str]) -> list[list[tuple[str, int, int, int, int]]]:
    """Hunks as groups of opcodes."""
    from difflib import SequenceMatcher

    if max(len(left), len(right)) <= MOST_COMPARED:
        return list(SequenceMatcher(None, left, right, autojunk=False).get_grouped_opcodes(AROUND))
    if len(left) == len(right):
        return _by_place(left, right)
    start, end = _common(left, right)
    codes = [
        ("equal", 0, start, 0, start),
        ("replace", start, len(left) - end, start, len(right) - end),
        ("equal", len(left) - end, len(left), len(right) - end, len(right)),
    ]
    return [[code for code in codes if code[1] < code[2] or code[3] < code[4]]]


def _by_place(left: list[str], right: list[str]) -> list[list[tuple[str, int, int, int, int]]]:
    """The same for very many lines of which each has its partner."""
    groups: list[list[tuple[str, int, int, int, int]]] = []
    at = 0
    changed = [place for place, line in enumerate(left) if line != right[place]]
    while at < len(changed):
        upto = at
        while upto + 1 < len(changed) and changed[upto + 1] - changed[upto] <= 2 * AROUND:
            upto += 1
        first, last = max(0, changed[at] - AROUND), min(len(left), changed[upto] + 1 + AROUND)
        group, here = [], first
        for place in changed[at : upto + 1]:
            if here < place:
                group.append(("equal", here, place, here, place))
            group.append(("replace", place, place + 1, place, place + 1))
            here = place + 1
        if here < last:
            group.append(("equal", here, last, here, last))
        groups.append(group)
        at = upto + 1
    return groups


def _range(start: int, stop: int) -> str:
    """A range of lines as the header of a hunk has it."""
    length = stop - start
    if length == 1:
        return str(start + 1)
    return f"{start + 1 if length else start},{length}"


def _shown(sign: str, line: str) -> str:
    return sign + line if line.endswith("\n") else f"{sign}{line}\n\\ No newline at end of file\n"
