"""Bodies that are packed for the way, unpacked as they come and never beyond a bound."""

from __future__ import annotations

import zlib

from gateway.calls.outgoing import RequestError

# What a server is told that it may use. Others are refused: nothing unpacks them here.
ENCODINGS = "gzip, deflate"
_GZIP, _ZLIB, _RAW = 31, 15, -15
_STEP = 1 << 16
# No header of a zlib stream has other low bits in its first byte; a bare stream has no header.
_ZLIB_METHOD = 8


class Body:
    """The bytes of one body. `packed`: how many came, `data`: what they are, `cut`: there was more than `most`."""

    def __init__(self, encoding: str, most: int, most_unpacked: int) -> None:
        """Raises RequestError for an encoding that nothing here unpacks."""
        self.encoding = encoding.strip().lower()
        if self.encoding in ("", "identity"):
            self.encoding = ""
        elif self.encoding not in ("gzip", "x-gzip", "deflate"):
            raise RequestError(f"its body is packed in a way that is not unpacked here ({self.encoding[:40]})")
        self._most, self._most_unpacked = most, most_unpacked
        self._unpacking: zlib._Decompress | None = None
        self.data = bytearray()
        self.packed = 0
        self.cut = False

    def add(self, chunk: bytes) -> bool:
        """Takes what came; False once there is enough. Raises RequestError for what unpacks to more than is kept."""
        room = self._most - self.packed
        if len(chunk) > room:
            chunk, self.cut = chunk[:room], True
        self.packed += len(chunk)
        if self.encoding:
            self._unpack(chunk)
        else:
            self.data += chunk
        return not self.cut

    def end(self) -> bytes:
        """All of it. Raises RequestError where it ended too early."""
        if self.encoding and self.packed and not self.cut and (self._unpacking is None or not self._unpacking.eof):
            raise RequestError("its packed body ended too early")
        return bytes(self.data)

    def _unpack(self, chunk: bytes) -> None:
        is_more = False  # of what was taken already, more may come out
        while chunk or is_more:
            if self._unpacking is None:
                self._unpacking = zlib.decompressobj(self._kind(chunk))
            elif self._unpacking.eof:
                if self.encoding == "deflate" or not chunk.startswith(b"\x1f"):
                    return  # what stands behind the end is no part of it
                self._unpacking = zlib.decompressobj(_GZIP)
            step = min(self._most_unpacked - len(self.data) + 1, _STEP)
            try:
                made = self._unpacking.decompress(chunk, step)
            except zlib.error as error:
                raise RequestError("its packed body is damaged") from error
            self.data += made
            if len(self.data) > self._most_unpacked:
                raise RequestError(f"its body unpacks to more than {self._most_unpacked:,} bytes")
            chunk = self._unpacking.unused_data if self._unpacking.eof else self._unpacking.unconsumed_tail
            is_more = len(made) == step and not self._unpacking.eof

    def _kind(self, chunk: bytes) -> int:
        if self.encoding != "deflate":
            return _GZIP
        return _ZLIB if chunk[0] & 0x0F == _ZLIB_METHOD else _RAW
