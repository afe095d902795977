"""From what was found in the files to where the record stands: what can be taken over is, what cannot is closed off
with a mark. Nothing that was found is removed. Pure."""

from __future__ import annotations

from gateway.audit import chain
from gateway.core.value import Value

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
    """What stands in the file behind the seal's size: lines of writers that were killed before they could seal them,
    torn ones among them, closed off or not."""
    number, head, rest = seal.count, seal.head, found
    while True:
        followed = chain.follow(rest, number, head)
        number, head, rest = followed.number, followed.head, rest[followed.size :]
        end = _closed(rest, number, head)
        if not end:
            break
        number, head, rest = number + 1, chain.digest(rest[end[0] : end[1]]), rest[end[1] :]
    behind = number - seal.count
    seal = seal.replace(count=number, head=head, size=seal.size + len(found))
    if behind > chain.MOST_BEHIND:
        end_missing = b"" if not rest or rest.endswith(chain.NEWLINE) else chain.NEWLINE
        return Standing(seal, end_missing).marked("behind", at, bytes=len(rest), records=behind)
    if not rest:
        return Standing(seal)
    whole = rest + chain.NEWLINE
    if chain.follows(whole, number + 1, head):  # torn where nothing but its end was missing
        return Standing(seal.replace(count=number + 1, head=chain.digest(whole)), chain.NEWLINE)
    is_torn = all(
        chain.begins(each, number + 1, head) for each in rest.removesuffix(chain.NEWLINE).split(chain.NEWLINE)
    )
    end_missing = b"" if rest.endswith(chain.NEWLINE) else chain.NEWLINE
    left = rest.removesuffix(chain.NEWLINE) if is_torn else rest
    mark = "torn" if is_torn else "foreign"
    return Standing(seal, end_missing).marked(mark, at, bytes=len(left), digest=chain.digest(left))


def _closed(rest: bytes, number: int, head: str) -> tuple[int, int] | None:
    """Where the mark stands that closed off what `rest` begins with: its writer was killed before it could seal it."""
    at = rest.find(chain.NEWLINE) + 1
    while at:
        end = rest.find(chain.NEWLINE, at) + 1
        line = rest[at:end]
        if line and chain.follows(line, number + 1, head):
            return (at, end) if chain.closes(line, rest[:at]) else None
        at = end
    return None


def shortened(seal: chain.Seal, size: int, whole: bool, at: str) -> Standing:
    """The file is shorter than the seal says. `whole`: what is left ends with a line."""
    standing = Standing(seal.replace(size=size), b"" if whole else chain.NEWLINE)
    return standing.marked("short", at, bytes=seal.size - size)


def without_seal(data: bytes, segment: int, first: int, base: tuple[int, str], at: str) -> Standing:
    """The seal is lost or damaged. `data`: the last file that holds anything, `segment` its number; `first`: the oldest
    file, and `base` number and digest of the last line before it."""
    record = chain.read(data[: data.find(chain.NEWLINE) + 1])
    number, head = base if record is None else (record["n"] - 1, record["prev"])
    seal = chain.Seal(segment, 0, number, head, first=first, base=base[0], base_head=base[1])
    return taken_over(seal, data, at).marked("seal", at)
