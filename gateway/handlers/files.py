"""Read, and where Write and Edit begin: one file, opened as it was judged, shown in the form that suits what it is.

A text comes with numbered lines, a picture as a picture, a PDF page by page, a notebook cell by cell. What Read showed
of which version is kept in the session: Write and Edit go by it, and the same part of the same version is not sent
twice.
"""

from __future__ import annotations

import os
from _codecs import utf_8_decode
from time import time_ns

from gateway.calls.output import Failure, Output, Text
from gateway.calls.reads import digest_of, stamp_of
from gateway.core.quantities import age_said, size_said
from gateway.files.content import MOST_DIGESTED, bytes_at, content_of
from gateway.files.kinds import IMAGES, PDF, kind_of
from gateway.files.opening import failure, place_of, way_to
from gateway.files.text import LATIN1, decoded, eight_bit, encoding_of, showable
from gateway.handlers.files_lines import STEP, lines_from

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gateway.calls.work import Work
    from gateway.files.opening import Place
    from gateway.files.text import Encoding
    from gateway.handlers.files_lines import Found
    from gateway.model.call import Call

LINES = 2_000
LINE_CHARACTERS = 2_000
MOST_CHARACTERS = 100_000  # about 25,000 tokens
# Up to here a file is read whole and known by its digest; larger ones are known by their stamp once they are at rest.
WHOLE = 1 << 20
MOST_WHOLE = 32 << 20
_DAY_NS = 86_400 * 10**9
# What says how things are now; the rest of what is in a folder is what it is, however old.
_OF_THE_MOMENT = (".log", ".out", ".err", ".pid", ".status", ".lock", ".tmp")
_REMEMBERED = frozenset({"MEMORY.md", "TODO.md", "TODO", "NOTES.md", "PLAN.md", "STATUS.md"})


def read(call: Call, work: Work) -> Output:
    """The file of a Read call, or the part of it that is asked for."""
    place = place_of(call, work, "file_path")
    try:
        with way_to(place) as way:
            descriptor, found = way.open()
            try:
                return _Reading(call, work, place, descriptor, found).output()
            finally:
                os.close(descriptor)
    except FileNotFoundError:
        from gateway.handlers.files_near import near

        raise Failure(f"{place.shown} does not exist.", near(place, work.may_read)) from None
    except OSError as error:
        raise failure(error, place, "read") from error


def write(call: Call, work: Work) -> Output:
    """Write: the whole new content of a file."""
    from gateway.handlers import files_write

    return files_write.write(call, work)


def edit(call: Call, work: Work) -> Output:
    """Edit: text in a file replaced by other text."""
    from gateway.handlers import files_edit

    return files_edit.edit(call, work)


class _Reading:
    """The work on one Read."""

    def __init__(self, call: Call, work: Work, place: Place, descriptor: int, found: os.stat_result) -> None:
        self.work = work
        self.place = place
        self.descriptor = descriptor
        self.found = found
        self.stamp = stamp_of(found)
        self.reads = work.session.reads
        self.seen = self.reads.seen(place.real)
        self.first: int = call.input.get("offset") or 1
        self.limit: int | None = call.input.get("limit")
        self.pages: str = call.input.get("pages") or ""
        self.part = ("read", self.first, self.limit, self.pages)
        self.data: bytes | None = None
        self.digest = ""

    def output(self) -> Output:
        head = self.at(0, STEP)
        kind = kind_of(head)
        if self.pages and kind != PDF:
            raise Failure(f"{self.place.shown} is no PDF: `pages` is for PDFs.", "Use `offset` and `limit`.")
        if self._is_unchanged():
            self._note()
            said = f"{self.place.shown} is unchanged since this part of it was read; what you got then still holds."
            return Output((Text(said),), data={"kind": "unchanged"})
        output = self._shown(kind, head)
        notes = self._age()
        self._note()
        return output.replace(notes=notes) if notes else output

    def _shown(self, kind: str, head: bytes) -> Output:
        if kind in IMAGES:
            from gateway.handlers.images import scaled

            image, said = scaled(self.whole(), kind, self.place.shown)
            blocks = (image, Text(said)) if said else (image,)
            return Output(blocks, data={"kind": "image", "media_type": image.media_type})
        if kind == PDF:
            from gateway.handlers.pdf import shown_pages

            return shown_pages(self.whole(), self.pages, self.place.shown, self.work.cancel)
        encoding = None if kind else encoding_of(head, whole=len(head) < STEP)
        if encoding is None:
            what = kind or "a binary file of unknown kind"
            raise Failure(
                f"{self.place.shown} is {what} ({size_said(self.found.st_size)}), which cannot be shown.",
                "Use a program that reads this format.",
            )
        if self.place.real.endswith(".ipynb"):
            from gateway.handlers.notebooks_shown import shown_notebook

            shown = shown_notebook(self.whole(), self.place.shown, self.first, self.limit)
            if shown is not None:
                return shown
        return self._text(encoding)

    def _text(self, encoding: Encoding) -> Output:
        if encoding.is_wide:  # lines are found by bytes: in one form for all
            try:
                self.data = decoded(self.whole(), encoding).encode("utf-8", "surrogatepass")
            except ValueError:
                raise Failure(f"{self.place.shown} is not valid {encoding.said}, and cannot be shown.") from None
        elif self.found.st_size <= WHOLE:
            data = self.at(0, WHOLE + 1)
            if len(data) <= WHOLE:  # files of the system say nothing of their size
                self.data, self.digest = data, digest_of(data)
                encoding = encoding_of(data) or encoding
        sample = self.at(0, STEP)
        end = b"\r" if b"\n" not in sample and b"\r" in sample else b"\n"
        found = lines_from(
            self.at,
            self.reads.marks(self.place.real, self.stamp),
            self.first,
            LINES if self.limit is None else self.limit,
            end=end,
            longest=4 * LINE_CHARACTERS + 4,
            most=4 * MOST_CHARACTERS,
            start=0 if encoding.is_wide else len(encoding.mark),
            stop=self._stop_if_cancelled,
        )
        if found.more and self.data is not None:
            total = self.data.count(end) + (not self.data.endswith(end))
            found = found.replace(total=total)
        return self._numbered(found, encoding)

    def _numbered(self, found: Found, encoding: Encoding) -> Output:
        if not found.lines:
            return self._nothing(found)
        texts, encoding = _texts(found, encoding)
        lines, cut, size, fitting = [], [], 0, 0
        for number, (line, text) in enumerate(zip(found.lines, texts, strict=True), self.first):
            if line.is_cut or len(text) > LINE_CHARACTERS:
                text = text[:LINE_CHARACTERS] + " … [cut]"
                cut.append(number)
            lines.append(f"{number:6}\t{text}")
            size += len(lines[-1]) + 1
            fitting += size <= MOST_CHARACTERS
        if found.is_full or size > MOST_CHARACTERS:
            raise Failure(
                f"{self.place.shown}: these lines are too much for one answer (more than {MOST_CHARACTERS:,} "
                "characters).",
                f"Read it in parts: about {max(fitting, 1):,} lines fit, so `offset: {self.first}, "
                f"limit: {max(fitting, 1)}`, then on from there; or search it with Grep.",
            )
        last = self.first + len(lines) - 1
        said = []
        if found.more:
            of = f" of {found.total:,}" if found.total >= 0 else f" of a file of {size_said(self.found.st_size)}"
            these = "This is line" if last == self.first else f"These are lines {self.first} to"
            said.append(f"{these} {last}{of}; read on with `offset: {last + 1}`.")
        if cut:
            shown = ", ".join(map(str, cut[:10])) + (" and others" if len(cut) > 10 else "")
            said.append(f"Cut at {LINE_CHARACTERS:,} characters: line {shown}.")
        if encoding.said:
            said.append(f"The file is {encoding.said}.")
        blocks = [Text(showable("\n".join(lines)))]
        if said:
            blocks.append(Text("(" + " ".join(said) + ")"))
        data = {"kind": "text", "first": self.first, "last": last, "total": found.total if found.total >= 0 else None}
        return Output(tuple(blocks), data=data)

    def _nothing(self, found: Found) -> Output:
        if self.first == 1:
            return Output((Text("(The file is empty.)"),), data={"kind": "text", "first": 1, "last": 0, "total": 0})
        lines = "1 line" if found.total == 1 else f"{found.total:,} lines"
        raise Failure(f"{self.place.shown} has only {lines}; there is no line {self.first}.", "Use a smaller `offset`.")

    def at(self, at: int, size: int) -> bytes:
        """Bytes of the file."""
        if self.data is not None:
            return self.data[at : at + size]
        if self.found.st_size:  # what is written behind the end meanwhile is another version's
            size = min(size, self.found.st_size - at)
        return bytes_at(self.descriptor, at, size)

    def whole(self) -> bytes:
        """All bytes of the file. Raises Failure if they are too many."""
        if self.data is None:
            self.data = content_of(self.descriptor, self.found, self.place, MOST_WHOLE)
            self.digest = digest_of(self.data)
        return self.data

    def _stop_if_cancelled(self) -> None:
        if self.work.cancel is not None and self.work.cancel.is_set:
            raise Failure(f"Reading {self.place.shown} was cancelled.")

    def _is_unchanged(self) -> bool:
        seen = self.seen
        if seen is None or self.part not in seen.parts:
            return False
        return self.reads.is_present(self.place.real, self.stamp, self._digest)

    def _digest(self) -> str:
        """The digest of the content, "" if it would take too long or somebody is writing."""
        if not self.digest and self.found.st_size <= MOST_DIGESTED:
            from _blake2 import blake2b

            total, at = blake2b(digest_size=24), 0
            while piece := self.at(at, 1 << 22):
                self._stop_if_cancelled()
                total.update(piece)
                at += len(piece)
                if at > MOST_DIGESTED:
                    return ""
            self.digest = total.hexdigest()
        return self.digest

    def _note(self) -> None:
        """Remembers what was read."""
        resting = time_ns() - max(self.stamp.mtime_ns, self.stamp.ctime_ns) > 2 * 10**9
        if not self.digest and not resting:
            self._digest()
        if stamp_of(os.fstat(self.descriptor)) == self.stamp:
            self.reads.note(self.place.real, self.stamp, self.digest, self.part)
        else:  # written while it was read: what was shown is no version of it
            self.reads.forget(self.place.real)

    def _age(self) -> tuple[str, ...]:
        """How old the file is, where that matters."""
        ago = time_ns() - self.found.st_mtime_ns
        seen = self.seen
        if (
            seen is not None
            and seen.stamp != self.stamp
            and not self.reads.is_present(self.place.real, self.stamp, self._digest)
        ):
            return (f"{self.place.shown} has changed since it was last read or written here ({age_said(ago)}).",)
        if ago > _DAY_NS and _is_of_the_moment(self.place.real):
            return (f"{self.place.shown} was last changed {age_said(ago)}: what it says may no longer hold.",)
        return ()


def _is_of_the_moment(path: str) -> bool:
    name = path.rpartition("/")[2]
    return name in _REMEMBERED or name.endswith(_OF_THE_MOMENT)


def _texts(found: Found, encoding: Encoding) -> tuple[list[str], Encoding]:
    """The lines as text, and what they turned out to be stored as: a large file was only looked at in its head."""
    contents = [line.content.removesuffix(b"\r") for line in found.lines]
    if encoding == LATIN1:
        return [content.decode("latin-1") for content in contents], encoding
    errors = "surrogatepass" if encoding.is_wide else encoding.errors
    try:
        # What is cut may end in the middle of a character, which is left out.
        return [
            utf_8_decode(content, errors, not line.is_cut)[0]
            for line, content in zip(found.lines, contents, strict=True)
        ], encoding
    except UnicodeDecodeError:
        encoding = eight_bit(b"\n".join(contents))
        return [content.decode(encoding.codec, encoding.errors) for content in contents], encoding
