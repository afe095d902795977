"""Classic BPF as the kernel's filter of system calls takes it: instructions with named jump targets, as bytes.

Pure. Only what such a filter needs: loads of words of `struct seccomp_data`, a mask, comparisons, answers.
"""

from __future__ import annotations

from sys import byteorder

LOAD, AND, JUMP, EQUAL, AT_LEAST, RETURN = 0x20, 0x54, 0x05, 0x15, 0x35, 0x06
NUMBER, ARCHITECTURE = 0, 4  # offsets in struct seccomp_data
MOST = 4096  # instructions that the kernel takes
NEXT = ""  # as a target: the instruction that follows


class Assembly:
    """Instructions in order. Jumps only go forward, to a label that is placed later."""

    def __init__(self) -> None:
        self._steps: list[tuple[int, int, str, str]] = []
        self._labels: dict[str, int] = {}

    def label(self, name: str) -> None:
        """Names the place of the next instruction."""
        if name in self._labels:
            raise ValueError(f"label {name} is placed twice")
        self._labels[name] = len(self._steps)

    def load(self, offset: int) -> None:
        """Loads the 32 bits at so many bytes into `struct seccomp_data` (seccomp(2))."""
        self._steps.append((LOAD, offset, NEXT, NEXT))

    def keep(self, mask: int) -> None:
        """Clears the bits of what was loaded that are not in the mask."""
        self._steps.append((AND, mask, NEXT, NEXT))

    def equal(self, value: int, yes: str = NEXT, no: str = NEXT) -> None:
        """Goes on at one label where what was loaded is this value, at the other where it is not."""
        self._steps.append((EQUAL, value, yes, no))

    def at_least(self, value: int, yes: str = NEXT, no: str = NEXT) -> None:
        """The same for a value that is as large or larger, without a sign."""
        self._steps.append((AT_LEAST, value, yes, no))

    def jump(self, to: str) -> None:
        """Goes on at a label."""
        self._steps.append((JUMP, 0, to, NEXT))

    def answer(self, action: int) -> None:
        """Ends with what the kernel is to do (`SECCOMP_RET_…`)."""
        self._steps.append((RETURN, action, NEXT, NEXT))

    def encoded(self) -> bytes:
        """The program. Raises ValueError for a jump that goes nowhere, backwards or too far."""
        if not 0 < len(self._steps) <= MOST:
            raise ValueError(f"a filter has 1 to {MOST} instructions, not {len(self._steps)}")
        return b"".join(self._instruction(place, *step) for place, step in enumerate(self._steps))

    def _instruction(self, place: int, code: int, value: int, yes: str, no: str) -> bytes:
        if code == JUMP:
            return _packed(code, 0, 0, self._distance(place, yes))
        near, far = self._distance(place, yes), self._distance(place, no)
        if max(near, far) > 255:
            raise ValueError(f"a jump from instruction {place} goes too far")
        return _packed(code, near, far, value)

    def _distance(self, place: int, label: str) -> int:
        if label == NEXT:
            return 0
        distance = self._labels.get(label, -1) - place - 1
        if distance < 0:
            raise ValueError(f"a jump from instruction {place} to `{label}` goes nowhere or backwards")
        return distance


def _packed(code: int, near: int, far: int, value: int) -> bytes:
    """A `struct sock_filter`."""
    return code.to_bytes(2, byteorder) + bytes((near, far)) + value.to_bytes(4, byteorder)
