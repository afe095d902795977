"""The compile cache: JSON on disk, keyed by the content it was made from, and sealed.

An entry is used only if its folder and file belong to this user, nobody else can write them, and the seal (a
keyed digest with a secret of this user) fits. Anything else is ignored and made anew; nothing is ever unpickled.
A cache that cannot be read or written costs time, never correctness.
"""

from __future__ import annotations

import os
from _blake2 import blake2b

from gateway.core.plainjson import dumps, loads

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

_MAGIC = b"gateway-cache-1\n"
_BLOCKS = b"gateway-blocks-1\n"
_SEAL = 32
_BLOCK = 1 << 14
_SECRET = "seal"
MAX_ENTRIES = 64
_LONGEST_WRITE = 3600.0  # seconds


def digest(parts: Iterable[bytes | str]) -> str:
    """A digest of a sequence of texts; where one ends and the next begins counts."""
    total = blake2b(digest_size=24)
    for part in parts:
        data = part.encode("utf-8", "surrogateescape") if isinstance(part, str) else part
        total.update(len(data).to_bytes(8, "little"))
        total.update(data)
    return total.hexdigest()


class Cache:
    """Entries in one folder, which is made on the first write."""

    def __init__(self, folder: str, most: int = MAX_ENTRIES) -> None:
        """`most`: entries that are kept, the newest."""
        self.folder = folder
        self._most = most
        self._secret: bytes | None = None

    def read(self, key: str) -> Any | None:
        """The entry under a key, or None when there is none that can be trusted."""
        body = self.read_bytes(key)
        if body is None:
            return None
        from gateway.core.gc_pause import Uncollected  # lazy: a plain call reads packed forms alone

        try:
            with Uncollected():
                return loads(body)
        except ValueError:
            return None

    def read_bytes(self, key: str) -> bytes | None:
        """The same for an entry that `write_bytes` made."""
        secret = self._read_secret()
        if secret is None:
            return None
        data = read_owned(os.path.join(self.folder, key + ".json"))
        start = len(_MAGIC) + _SEAL
        if data is None or not data.startswith(_MAGIC) or len(data) < start:
            return None
        body = data[start:]
        if _seal(secret, key, body) != data[len(_MAGIC) : start]:
            return None
        return body

    def write(self, key: str, value: Any) -> bool:
        """Keeps an entry, replacing one at once and whole. False when the folder cannot be used."""
        return self.write_bytes(key, dumps(value).encode("ascii"))

    def write_bytes(self, key: str, body: bytes) -> bool:
        """The same for bytes as they are."""
        return self._write(key, lambda secret: _MAGIC + _seal(secret, key, body) + body)

    def _write(self, key: str, form: Callable[[bytes], bytes]) -> bool:
        try:
            above = os.path.dirname(os.path.dirname(self.folder))
            if not os.path.isdir(above):  # a home that is not there is not ours to make
                return False
            os.makedirs(self.folder, mode=0o700, exist_ok=True)
            secret = self._read_secret() or self._make_secret()
            if secret is None:
                return False
            target = os.path.join(self.folder, key + ".json")
            replace_whole(target, form(secret))
            self._prune()
        except OSError:
            return False
        return True

    def open_blocks(self, key: str) -> Blocks | None:
        """An entry that `write_blocks` made, of which no more is read than is asked for."""
        secret = self._read_secret()
        descriptor = None if secret is None else open_owned(os.path.join(self.folder, key + ".json"))
        if secret is None or descriptor is None:
            return None
        try:
            return Blocks(descriptor, secret, key)
        except (OSError, ValueError):
            return None

    def write_blocks(self, key: str, body: bytes) -> bool:
        """As `write_bytes`, for what is looked up piece by piece."""
        return self._write(key, lambda secret: _in_blocks(secret, key, body))

    def _read_secret(self) -> bytes | None:
        if self._secret is None:
            found = read_owned(os.path.join(self.folder, _SECRET))
            self._secret = found if found is not None and len(found) == 32 else None
        return self._secret

    def _make_secret(self) -> bytes | None:
        """Two processes may both find none; the first one's secret stays, and is never seen before it is whole."""
        path = os.path.join(self.folder, _SECRET)
        made = _written_beside(path + ".json", os.urandom(32))
        try:
            os.link(made, path)
        except FileExistsError:
            os.unlink(made)
            if self._read_secret() is None:
                os.unlink(path)
            return self._secret
        except OSError:  # a file system without links
            os.replace(made, path)
        else:
            os.unlink(made)
        return self._read_secret()

    def _prune(self) -> None:
        """Keeps the newest entries, so that the folder does not grow without end."""
        whole: list[tuple[float, str]] = []
        torn: list[tuple[float, str]] = []  # somebody writes them, or was killed who did
        with os.scandir(self.folder) as entries:
            for entry in entries:
                if ".json" in entry.name:
                    try:
                        modified = entry.stat().st_mtime
                    except FileNotFoundError:
                        continue  # another one has written it by now
                    (whole if entry.name.endswith(".json") else torn).append((modified, entry.path))
        oldest = max(whole, default=(0.0, ""))[0] - _LONGEST_WRITE
        for _modified, path in [each for each in torn if each[0] < oldest] + sorted(whole)[: -self._most]:
            os.unlink(path)


class Blocks:
    """An entry of which each block has a seal of its own. The file stays open: it is the same one to the end."""

    def __init__(self, descriptor: int, secret: bytes, key: str) -> None:
        """Takes the descriptor over. Raises ValueError for what is not sealed as it should be, and OSError."""
        self._descriptor = descriptor
        self._secret = secret
        self._key = key
        head = os.pread(descriptor, len(_BLOCKS) + _SEAL + 8, 0)
        self._size = int.from_bytes(head[-8:], "little")
        size_of_seals = -(-self._size // _BLOCK) * _SEAL
        start = len(head) + size_of_seals
        if not head.startswith(_BLOCKS) or os.fstat(descriptor).st_size != start + self._size:
            raise ValueError("no entry in blocks, or not a whole one")
        self._seals = os.pread(descriptor, size_of_seals, len(head))
        if _seal(secret, key, head[-8:] + self._seals) != head[len(_BLOCKS) : -8]:
            raise ValueError("sealed by somebody else")
        self._start = start
        self._last: tuple[int, bytes] = (-1, b"")  # what is looked up together lies together

    def __del__(self) -> None:
        os.close(self._descriptor)

    def read(self, start: int, end: int) -> bytes:
        """The bytes of the entry between two places. Raises ValueError where the file is another one by now."""
        end = min(end, self._size)
        if start >= end:
            return b""
        first = start // _BLOCK
        found = b"".join(self._block(number) for number in range(first, -(-end // _BLOCK)))
        return found[start - first * _BLOCK : end - first * _BLOCK]

    def _block(self, number: int) -> bytes:
        if self._last[0] == number:
            return self._last[1]
        size = min(_BLOCK, self._size - number * _BLOCK)
        data = os.pread(self._descriptor, size, self._start + number * _BLOCK)
        if _seal(self._secret, f"{self._key} {number}", data) != self._seals[number * _SEAL : (number + 1) * _SEAL]:
            raise ValueError("sealed by somebody else")
        self._last = (number, data)
        return data


def _in_blocks(secret: bytes, key: str, body: bytes) -> bytes:
    """What `Blocks` reads."""
    size = len(body).to_bytes(8, "little")
    blocks = [body[place : place + _BLOCK] for place in range(0, len(body), _BLOCK)]
    seals = b"".join(_seal(secret, f"{key} {number}", block) for number, block in enumerate(blocks))
    return b"".join((_BLOCKS, _seal(secret, key, size + seals), size, seals, body))


def _seal(secret: bytes, key: str, body: bytes) -> bytes:
    total = blake2b(key=secret, digest_size=_SEAL)
    total.update(key.encode())
    total.update(body)
    return total.digest()


def read_owned(path: str) -> bytes | None:
    """The content of what `open_owned` opens."""
    descriptor = open_owned(path)
    if descriptor is None:
        return None
    try:
        chunks = []
        while chunk := os.read(descriptor, os.fstat(descriptor).st_size + 1):
            chunks.append(chunk)
        return b"".join(chunks)
    except OSError:
        return None
    finally:
        os.close(descriptor)


def open_owned(path: str) -> int | None:
    """A descriptor of a regular file of this user that nobody else can write, in a folder of which the same holds."""
    try:
        folder = os.stat(os.path.dirname(path))
        if folder.st_uid != os.geteuid() or folder.st_mode & 0o022:
            return None
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError:
        return None
    found = os.fstat(descriptor)
    if found.st_uid != os.geteuid() or found.st_mode & 0o022 or found.st_mode & 0o170000 != 0o100000:
        os.close(descriptor)
        return None
    return descriptor


def replace_whole(target: str, data: bytes) -> None:
    """Writes beside the target and renames: a reader sees the old file or the new one, never half of one."""
    temporary = _written_beside(target, data)
    try:
        os.replace(temporary, target)
    except BaseException:
        os.unlink(temporary)
        raise


def _written_beside(target: str, data: bytes) -> str:
    """A new file under a name that nobody else uses, which is to stand in the place of the target."""
    path = f"{target}.{os.getpid()}.{os.urandom(4).hex()}"
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
    except BaseException:
        os.unlink(path)
        raise
    return path
