"""From what was found in the files to where the record stands: what can be taken over is, what cannot is closed off
with a mark. Nothing that was found is removed. Pure."""

from __future__ import annotations

from gateway.audit import chain
from gateway.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Standing(Value):
    """Where the record stands. `left` must be written before the next line: marks, which `seal` counts already, and the
    end of a torn line. `seal.size` is the file's size without it."""

    seal: chain.Seal
    left: bytes = b""

    def marked(self, mark: str, at: str, **more: Any) -> Standing:
        """The same with one more mark."""
        number = self.seal.count + 1
        line = chain.link(number, self.seal.head, chain.mark_body(mark, at, **more))
        return Standing(self.seal.replace(count=number, head=chain.digest(line)), self.left + line)


def taken_over(seal: chain.Seal, found: bytes, at: str) -> Standing:
    """What stands in the file behind the seal's size: lines of a writer that was killed before it could seal them, and
    perhaps a torn one."""
    followed = chain.follow(found, seal.count, seal.head)
    seal = seal.replace(count=followed.number, head=followed.head, size=seal.size + len(found))
    rest = found[followed.size :]
    if not rest:
        return Standing(seal)
    whole = rest + chain.NEWLINE
    if chain.follows(whole, followed.number + 1, followed.head):  # torn where nothing but its end was missing
        return Standing(seal.replace(count=followed.number + 1, head=chain.digest(whole)), chain.NEWLINE)
    mark = "foreign" if chain.NEWLINE in rest else "torn"
    end = b"" if rest.endswith(chain.NEWLINE) else chain.NEWLINE
    return Standing(seal, end).marked(mark, at, bytes=len(rest), digest=chain.digest(rest))


def shortened(seal: chain.Seal, size: int, whole: bool, at: str) -> Standing:
    """The file is shorter than the seal says. `whole`: what is left ends with a line."""
    standing = Standing(seal.replace(size=size), b"" if whole else chain.NEWLINE)
    return standing.marked("short", at, bytes=seal.size - size)


def without_seal(data: bytes, segment: int, first: int, base: tuple[int, str], at: str) -> Standing:
    """The seal is lost or damaged. `data`: the last file that holds anything, `segment` its number; `first`: the oldest
    file, and `base` number and digest of the last line before it."""
    record = chain.read(data[: data.find(chain.NEWLINE) + 1])
    number, head = base if record is None else (record["n"] - 1, record["prev"])
    return taken_over(chain.Seal(segment, 0, number, head, first, *base), data, at).marked("seal", at)
