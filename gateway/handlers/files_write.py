"""Write: the whole new content of a file, over one that was read in its present version or where there is none."""

from __future__ import annotations

import os

from gateway.calls.output import Failure, Output, Text
from gateway.calls.reads import digest_of, stamp_of
from gateway.core.quantities import counted, lines_said, size_said
from gateway.files.content import MOST_DIGESTED, content_of
from gateway.files.diff import unified
from gateway.files.opening import Changed, failure, keep, made_way_to, place_of, unmake
from gateway.files.text import UTF8, decoded, encoded, encoding_of
from gateway.handlers.replacing import put, told

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gateway.calls.reads import Stamp
    from gateway.calls.work import Work
    from gateway.files.opening import Place, Way
    from gateway.files.text import Encoding
    from gateway.handlers.replacing import Placed
    from gateway.model.call import Call

MOST_COMPARED = 4 << 20


def write(call: Call, work: Work) -> Output:
    """Writes the file of a Write call."""
    place = place_of(call, work, "file_path")
    content: str = call.input["content"]
    try:
        way, made = made_way_to(place)
    except OSError as error:
        raise failure(error, place, "written") from error
    with way:
        try:
            output = _written(way, content, work)
        except OSError as error:
            unmake(made)
            raise told(error, way) from error
        except BaseException:
            unmake(made)
            raise
        keep(made)
        return output


def _written(way: Way, content: str, work: Work) -> Output:
    place, found = way.place, way.look()
    if found is None:
        data = bytes_of(content, UTF8, place)
        placed = put(way, data, None, work.cancel)
        work.session.reads.note(place.real, placed.stamp, digest_of(data))
        said = f"Created {place.shown} ({lines_said(content)}, {size_said(len(data))})."
        return Output((Text(said),), changed=(place.real,), diff=unified("", content, place.shown, is_new=True))
    way.refuse_special(found.st_mode)
    if place.kind == "missing":
        raise Changed(place, "there is a file now")
    before, stamp = present_version(way, work, "written over")
    encoding = (encoding_of(before) if before is not None else None) or UTF8
    kept = encoding if encoding.mark else UTF8  # a mark is a promise to whoever reads the file
    data = bytes_of(content, kept, place)
    placed = put(way, data, stamp, work.cancel)
    work.session.reads.note(place.real, placed.stamp, digest_of(data))
    diff = ""
    if before is not None and max(len(before), len(data)) <= MOST_COMPARED:
        diff = _compared(before, encoding, content, place)
    said = f"Wrote {place.shown} ({lines_said(content)}, {size_said(len(data))})."
    if kept.said:
        said += f" It is {kept.said}, as before."
    return Output((Text(said + beside(placed)),), changed=(place.real,), diff=diff)


def present_version(way: Way, work: Work, doing: str) -> tuple[bytes | None, Stamp]:
    """The content of the file as it is now, None if it is too large to be compared, and its version: the one that this
    session has read. Raises Failure for any other."""
    place, reads = way.place, work.session.reads
    if reads.seen(place.real) is None:
        raise Failure(f"{place.shown} exists and has not been read; it cannot be {doing}.", "Read it first.")
    descriptor, found = way.open()
    try:
        stamp = stamp_of(found)
        data = content_of(descriptor, found, place, MOST_DIGESTED) if found.st_size <= MOST_DIGESTED else None
        if not reads.is_present(place.real, stamp, lambda: "" if data is None else digest_of(data)):
            raise Failure(
                f"{place.shown} has changed since it was read; it cannot be {doing}.",
                "Read it again, then decide anew.",
            )
        if stamp_of(os.fstat(descriptor)) != stamp:
            raise Failure(f"{place.shown} is being written by somebody else.", "Try again.")
        return data, stamp
    finally:
        os.close(descriptor)


def bytes_of(text: str, encoding: Encoding, place: Place) -> bytes:
    """A text in the encoding of a file. Raises Failure for what that cannot hold."""
    try:
        return encoded(text, encoding)
    except UnicodeEncodeError as error:
        sign = text[error.start]
        if "\ud800" <= sign <= "\udfff":
            raise Failure(f"The text holds U+{ord(sign):04X}, which is no character.", "Send it as UTF-8.") from None
        raise Failure(
            f"{place.shown} is {encoding.said}, which has no `{sign}` (U+{ord(sign):04X}).",
            "Use signs that it has, or write the whole file anew in UTF-8 with Write.",
        ) from None


def beside(placed: Placed) -> str:
    """What became of what a file is beside its content, where it is not as before."""
    said = ""
    if placed.links:
        said += f" It had {counted(placed.links, 'other hard link')}: what was in it before stays there."
    if placed.lost:
        said += f" This user could not keep {', '.join(placed.lost)}."
    return said


def _compared(before: bytes, encoding: Encoding, content: str, place: Place) -> str:
    try:
        return unified(decoded(before, encoding), content, place.shown)
    except ValueError:
        return ""
