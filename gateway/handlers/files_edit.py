"""Edit: replacements in a text file that was read in its present version, all of them or none."""

from __future__ import annotations

from gateway.calls.output import Failure, Output, Text
from gateway.calls.reads import digest_of
from gateway.core.quantities import counted, size_said
from gateway.files.diff import unified
from gateway.files.kinds import kind_of
from gateway.files.opening import failure, place_of, way_to
from gateway.files.text import LATIN1, MIXED, decoded, encoding_of, showable
from gateway.handlers.files_match import Edit, MissError, line_of, replaced
from gateway.handlers.files_write import beside, bytes_of, present_version
from gateway.handlers.replacing import put, told

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gateway.calls.work import Work
    from gateway.files.opening import Place, Way
    from gateway.files.text import Encoding
    from gateway.model.call import Call

MOST_EDITED = 32 << 20
AROUND = 4
MOST_SNIPPETS = 3
MOST_SNIPPET_LINES = 40


class _Changes:
    """Replacements made one after the other in a text that is only kept if all of them can be."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.places: list[tuple[int, int]] = []
        self.forgiven: list[str] = []
        self.count = 0

    def make(self, edit: Edit) -> None:
        """One replacement. Raises MissError."""
        edited = replaced(self.text, edit)
        moved = 0
        for spot in edited.spots:
            start = spot.start + moved
            grown = len(spot.new) - (spot.stop - spot.start)
            self.places = [
                (first + grown, last + grown) if first >= start else (first, last) for first, last in self.places
            ]
            if len(self.places) < MOST_SNIPPETS:
                self.places.append((start, start + len(spot.new)))
            moved += grown
        self.text = edited.text
        self.count += len(edited.spots)
        if edited.forgiven:
            self.forgiven.append(edited.forgiven)


def edit(call: Call, work: Work) -> Output:
    """Makes the replacements of an Edit call."""
    place = place_of(call, work, "file_path")
    try:
        way = way_to(place)
    except FileNotFoundError:
        raise _missing(place, work) from None
    except OSError as error:
        raise failure(error, place, "changed") from error
    with way:
        try:
            if way.look() is None:
                raise _missing(place, work)
            return _edited(way, _edits_of(call), work)
        except OSError as error:
            raise told(error, way) from error


def _missing(place: Place, work: Work) -> Failure:
    from gateway.handlers.files_near import near

    return Failure(f"{place.shown} does not exist.", near(place, work.may_read) or "Write creates a file.")


def _edits_of(call: Call) -> list[Edit]:
    given = call.input.get("edits")
    if given is None:
        given = (call.input,)
    return [Edit(each["old_string"], each["new_string"], bool(each.get("replace_all"))) for each in given]


def _edited(way: Way, edits: list[Edit], work: Work) -> Output:
    place = way.place
    found = way.look()
    if found is not None:
        way.refuse_special(found.st_mode)
        if found.st_size > MOST_EDITED:
            raise Failure(
                f"{place.shown} is too large to be edited ({size_said(found.st_size)}, at most "
                f"{size_said(MOST_EDITED)}).",
                "Use a program that works line by line.",
            )
    data, stamp = present_version(way, work, "changed")
    if data is None:
        raise Failure(f"{place.shown} has become too large to be edited.")
    kind = kind_of(data[:4096])
    encoding = None if kind else encoding_of(data)
    if encoding is None:
        raise Failure(
            f"{place.shown} is {kind_words(kind)}; only text is edited.", "Use a program that knows the format."
        )
    before, encoding, changes = _made(data, encoding, edits, place)
    after = bytes_of(changes.text, encoding, place)
    placed = put(way, after, stamp, work.cancel)
    work.session.reads.note(place.real, placed.stamp, digest_of(after))
    said = f"Changed {place.shown}: {counted(changes.count, 'replacement')}."
    for forgiven in dict.fromkeys(changes.forgiven):
        said += f" Note that {forgiven}."
    blocks = (Text(said + beside(placed)), Text(_snippets(changes)))
    return Output(blocks, changed=(place.real,), diff=unified(before, changes.text, place.shown))


def kind_words(kind: str) -> str:
    """A kind of file for a sentence."""
    if "/" not in kind:
        return kind or "a binary file of unknown kind"
    return "a PDF" if kind.endswith("pdf") else "an image"


def _made(data: bytes, encoding: Encoding, edits: list[Edit], place: Place) -> tuple[str, Encoding, _Changes]:
    """The text before, its encoding, and all replacements made in it. Raises Failure."""
    readings = [encoding] + [other for other in (LATIN1, MIXED) if encoding in (LATIN1, MIXED) and other != encoding]
    first: tuple[int, MissError] | None = None
    for reading in readings:
        try:
            before = decoded(data, reading)
        except ValueError:
            raise Failure(f"{place.shown} is not valid {reading.said}, and cannot be edited.") from None
        changes = _Changes(before)
        missed = _missed(changes, edits)
        if missed is None:
            return before, reading, changes
        first = first or missed
    assert first is not None  # there is at least one reading, and it failed
    number, miss = first
    which = f", replacement {number} of {len(edits)}" if len(edits) > 1 else ""
    none = " None of the replacements was made." if len(edits) > 1 else ""
    raise Failure(f"{place.shown}{which}: {showable(miss.what)}{none}", showable(miss.remedy))


def _missed(changes: _Changes, edits: list[Edit]) -> tuple[int, MissError] | None:
    """Makes all replacements; the number of the first that cannot be made, and why."""
    for number, each in enumerate(edits, 1):
        try:
            changes.make(each)
        except MissError as error:
            return number, error
    return None


def _snippets(changes: _Changes) -> str:
    """The changed places with what stands around them, numbered as Read numbers."""
    lines = changes.text.split("\n")
    if lines and not lines[-1]:
        lines.pop()
    shown: list[str] = []
    upto = 0
    for start, stop in sorted(changes.places):
        first = max(line_of(changes.text, start) - AROUND, upto + 1, 1)
        last = min(line_of(changes.text, max(start, stop - 1)) + AROUND, len(lines), first + MOST_SNIPPET_LINES)
        if shown and first > upto + 1 and first <= last:
            shown.append("   ...")
        for number in range(first, last + 1):
            line = lines[number - 1].removesuffix("\r")
            shown.append(f"{number:6}\t{line[:500]}" + (" … [cut]" if len(line) > 500 else ""))
        upto = max(upto, last)
    return showable("\n".join(shown)) if shown else "(The file is empty now.)"
