"""The record in its files: whole lines, appended by any number of threads and processes, each under the seal's lock.

    audit/000001.jsonl ...   the lines; a new file begins when one has reached its size
    audit/seal               where the record stands; also what writers lock
    audit/key                the key of the seal, and of digests of what calls hold
    audit/000001.facts       what lines of that file name and many share (`gateway.audit.shared_texts`)

The lines are written first and the seal second. Whoever comes next compares the two, and mends what a writer left that
was killed in between.
"""

from __future__ import annotations

import fcntl
import os
from _collections import deque  # type: ignore[import-not-found]
from _thread import allocate_lock
from _weakref import ref
from time import time

from gateway.audit import anchors, chain, files
from gateway.audit import recovery as mend
from gateway.audit.clock import now
from gateway.audit.shared_texts import Beside
from gateway.core.errors import AuditError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gateway.audit.recovery import Standing

    # Each with its digest.
    Texts = tuple[tuple[str, str], ...]

MOST_BYTES = 64 << 20
KEEP = 16


_stores: set[ref[Store]] = set()


def _after_fork() -> None:
    for each in list(_stores):
        store = each()
        if store is not None:
            store.begin_anew()


os.register_at_fork(after_in_child=_after_fork)


class _Waiting:
    """A line of a thread that waits for the lock. The next one that gets it writes those of all."""

    __slots__ = ("beside", "body", "error", "number")

    def __init__(self, body: str, beside: Texts) -> None:
        self.body = body
        self.beside = beside
        self.number = 0
        self.error: BaseException | None = None


class _MovedError(Exception):
    """The files that are open are not those of the folder any more."""


class Store:
    """Appends to the record in one folder, which is made on the first write."""

    def __init__(self, folder: str, *, sync: bool = False, most_bytes: int = MOST_BYTES, keep: int = KEEP) -> None:
        """`sync`: wait for the disk. `most_bytes`: when a new file begins. `keep`: how many full files stay, 0: all."""
        self.folder = folder
        self._sync = sync
        self._most = most_bytes
        self._keep = keep
        self._beside = Beside(most_bytes)
        self.origin = ""  # tells writers apart
        self.begin_anew()
        _stores.add(ref(self, _stores.discard))

    def begin_anew(self) -> None:
        """As if nothing were open yet. A forked child needs that: locks on its parent's files are the parent's."""
        self.origin = os.urandom(6).hex()
        self._lock = allocate_lock()
        self._waiting: deque[_Waiting] = deque()
        self._key = b""
        self._seal_file = self._lines = -1
        self._segment = 0  # which file `_lines` is
        self._known: chain.Seal | None = None  # as this process wrote it last
        self._beside.close()

    def append(self, body: str, beside: Texts = ()) -> int:
        """Writes a JSON object's text (ASCII, not empty) as the next line and gives its number. When it returns, the
        kernel has the line, with `sync` the disk. `beside`: texts that the line names, kept where they can be. Raises
        AuditError when the line is not in the record."""
        if not self._lock.acquire(blocking=False):
            return self._append_together(body, beside)
        try:
            return self._write((body,), beside)
        except (OSError, AuditError) as error:
            raise self._told(error) from error
        finally:
            self._lock.release()

    def _append_together(self, body: str, beside: Texts) -> int:
        mine = _Waiting(body, beside)
        self._waiting.append(mine)
        with self._lock:
            while not mine.number and mine.error is None:
                self._write_waiting()
        if mine.error is not None:
            raise self._told(mine.error) from mine.error
        return mine.number

    def _write_waiting(self) -> None:
        batch = [self._waiting.popleft() for _ in range(min(len(self._waiting), chain.MOST_AT_ONCE))]
        try:
            texts = tuple(text for each in batch for text in each.beside)
            last = self._write(tuple(each.body for each in batch), texts)
        except BaseException as error:
            for each in batch:
                each.error = error
            if not isinstance(error, (OSError, AuditError)):
                raise
            return
        for number, each in enumerate(batch, last - len(batch) + 1):
            each.number = number

    def key(self) -> bytes:
        """The key for digests of what calls hold. Raises AuditError where there can be no record."""
        if not self._key:
            with self._lock:
                try:
                    self._open()
                except OSError as error:
                    raise self._told(error) from error
        return self._key

    def close(self) -> None:
        """Gives the files back; the next line opens them again."""
        with self._lock:
            self._shut()

    def _told(self, error: BaseException) -> AuditError:
        if isinstance(error, AuditError):
            return AuditError(error.reason, error.remedy)
        reason = (error.strerror if isinstance(error, OSError) else "") or type(error).__name__
        reason = reason[:1].lower() + reason[1:]
        remedy = "make room for it" if "space" in reason or "too large" in reason else "make that folder writable"
        return AuditError(f"the record in {self.folder} cannot be written ({reason})", remedy)

    def _write(self, bodies: tuple[str, ...], beside: Texts = ()) -> int:
        """Writes the lines and gives the number of the last one."""
        try:
            return self._write_locked(bodies, beside)
        except _MovedError:
            self._shut()
            return self._write_locked(bodies, beside)
        except BaseException:
            self._known = None  # whatever came of it, the files are looked at anew
            raise

    def _write_locked(self, bodies: tuple[str, ...], beside: Texts) -> int:
        if self._seal_file < 0:
            self._open()
        files.lock(self._seal_file, fcntl.LOCK_EX, self.folder)
        try:
            seal, data = self._known, b""
            if seal is not None:
                # Whoever else wrote has made this file longer: one that is full ends with a mark, too.
                found = os.fstat(self._lines)
                if found.st_size != seal.size or not found.st_nlink:
                    seal = None
            if seal is None or seal.size >= self._most:
                standing = mend.Standing(seal) if seal is not None else self._standing()
                # A writer with another bound, killed behind its mark, may have begun the next file.
                if standing.seal.size >= self._most or (seal is None and os.path.lexists(self._following(standing))):
                    standing = self._next_file(standing)
                seal, data = standing.seal, standing.left
            if beside:
                self._keep_beside(seal.segment, beside)
            number, head, size = seal.count, seal.head, seal.size
            for body in bodies:
                number += 1
                line = chain.link(number, head, body)
                head = chain.digest(line)
                data = data + line if data else line
            after = (seal.segment, size + len(data), number, head, seal.first, seal.base, seal.base_head)
            idle = time() - os.fstat(self._seal_file).st_mtime
            self._put(data, chain.Seal.make(after), size)
            if anchors.is_due(number, len(bodies), idle):
                anchors.keep(self.folder, number, head, now(), self._key)
            return number
        finally:
            fcntl.flock(self._seal_file, fcntl.LOCK_UN)

    def _keep_beside(self, segment: int, texts: Texts) -> None:
        """What lines name is of use, and no reason not to write them."""
        try:
            self._beside.keep(os.path.join(self.folder, files.stem_of(segment)), texts)
        except (OSError, AuditError):
            self._beside.close()

    def _put(self, data: bytes, seal: chain.Seal, size: int) -> None:
        """Appends all of it and seals that, or nothing."""
        raw = chain.pack(seal, self._key)
        try:
            written = os.write(self._lines, data)
            while written < len(data):
                written += os.write(self._lines, data[written:])
            if self._sync:
                os.fsync(self._lines)
            if os.pwrite(self._seal_file, raw, 0) != len(raw):
                raise files.full()
            if self._sync:
                os.fsync(self._seal_file)
        except BaseException:
            os.ftruncate(self._lines, size)
            raise
        self._known = seal

    def _standing(self) -> Standing:
        """Where the record stands, by the seal and by what really is in the files."""
        if not os.fstat(self._seal_file).st_nlink:
            raise _MovedError
        raw = os.pread(self._seal_file, chain.SEAL_SIZE + 1, 0)
        seal = chain.unpack(raw, self._key)
        if seal is None:
            return self._without_seal(bool(raw))
        if not self._open_lines(seal.segment, create=not seal.count):
            # The file is gone with all that was in it: another one begins, behind what the seal remembers.
            self._open_lines(seal.segment + 1, create=True)
            gone = seal.replace(segment=seal.segment + 1, size=os.fstat(self._lines).st_size)
            return mend.Standing(gone).marked("missing", now(), bytes=seal.size)
        size = os.fstat(self._lines).st_size
        if size < seal.size:
            whole = files.read_between(self._lines, max(size - 1, 0), size) in (b"", chain.NEWLINE)
            return mend.shortened(seal, size, whole, now())
        if size > seal.size:
            return mend.taken_over(seal, files.read_between(self._lines, seal.size, size), now())
        return mend.Standing(seal)

    def _without_seal(self, was_there: bool) -> Standing:
        """For a new record, and for one whose seal was lost or damaged."""
        known = files.segments(self.folder)
        if not known:
            # Sealed before there is a line, so that lines without a seal always mean that one was lost.
            self._open_lines(1, create=True)
            self._put(b"", chain.Seal(), 0)
            standing = mend.Standing(chain.Seal())
            return standing.marked("seal", now()) if was_there else standing
        base = files.start_of(self.folder, known[0]) or (0, chain.START)
        for number in reversed(known):
            self._open_lines(number)
            data = files.read_between(self._lines, 0, os.fstat(self._lines).st_size)
            if data or number == known[0]:
                break
        return mend.without_seal(data, number, known[0], base, now())

    def _next_file(self, standing: Standing) -> Standing:
        """Ends this file with a mark and goes on in a new one. Of the full ones the oldest go: those that the seal did
        not count any more even before, so that a kill in between leaves one too many and not one too few."""
        # Where the next one is there, somebody was killed who had written the mark.
        if standing.left or not os.path.lexists(self._following(standing)):
            ended = standing.marked("next", now())
            size = ended.seal.size
            standing = mend.Standing(ended.seal.replace(size=size + len(ended.left)))
            self._put(ended.left, standing.seal, size)
        files.remove_before(self.folder, standing.seal.first)
        seal = standing.seal.replace(segment=standing.seal.segment + 1, size=0)
        first = max(seal.first, seal.segment - self._keep) if self._keep else seal.first
        base = files.start_of(self.folder, first) if first > seal.first else None
        if base is not None:
            seal = seal.replace(first=first, base=base[0], base_head=base[1])
        self._open_lines(seal.segment, create=True)
        found = files.read_between(self._lines, 0, os.fstat(self._lines).st_size)
        return mend.taken_over(seal, found, now())

    def _following(self, standing: Standing) -> str:
        return os.path.join(self.folder, files.name_of(standing.seal.segment + 1))

    def _open(self) -> None:
        if self._seal_file >= 0:
            return
        files.make_folder(self.folder)
        self._key = files.read_key(self.folder)
        self._seal_file = files.open_own(os.path.join(self.folder, files.SEAL), os.O_RDWR | os.O_CREAT)

    def _open_lines(self, number: int, *, create: bool = False) -> bool:
        """Makes this file the one that is written to; False where it is not there."""
        if self._segment == number and os.fstat(self._lines).st_nlink:
            return True
        if self._lines >= 0:
            os.close(self._lines)
            self._lines, self._segment = -1, 0
        try:
            path = os.path.join(self.folder, files.name_of(number))
            self._lines = files.open_own(path, files.LINES | (os.O_CREAT if create else 0))
        except FileNotFoundError:
            return False
        self._segment = number
        if create and self._sync:
            files.sync_folder(self.folder)
        return True

    def _shut(self) -> None:
        for file in (self._seal_file, self._lines):
            if file >= 0:
                os.close(file)
        self._seal_file = self._lines = -1
        self._segment, self._known = 0, None
        self._beside.close()
