"""IP addresses in every spelling that programs accept, as numbers. Pure: nothing is resolved."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    # (4 or 6, the address as a number)
    Address = tuple[int, int]

_OCTETS = {str(number): number for number in range(256)}
_HEX = frozenset("0123456789abcdefABCDEF")


def readings(text: str) -> list[Address]:
    """Every address that a host may mean by itself; [] if it is a name.

    `0177.0.0.1` has two: some programs read a leading zero as octal, others do not. An IPv6 address that wraps an
    IPv4 one (`::ffff:127.0.0.1`) is given as that one.
    """
    if ":" in text:
        value = _version_6(text.partition("%")[0])
        return [] if value is None else [_unwrap(value)]
    if not text[-1:].isdigit() and "0x" not in text.lower():
        return []
    parts = text.split(".")
    if len(parts) == 4:
        try:
            return [(4, _OCTETS[parts[0]] << 24 | _OCTETS[parts[1]] << 16 | _OCTETS[parts[2]] << 8 | _OCTETS[parts[3]])]
        except KeyError:
            pass  # not the usual spelling
    value = _version_4(text, octal=True)
    found = [] if value is None else [(4, value)]
    if text.startswith("0") or ".0" in text:
        value = _version_4(text, octal=False)
        if value is not None and (4, value) not in found:
            found.append((4, value))
    return found


def network(text: str) -> tuple[int, int, int] | None:
    """`(4 or 6, first address, bits)` of `10.0.0.0/8`, `fd00::/8` or a single address; None if it is none of them."""
    address, slash, bits = text.partition("/")
    strict = address[1:-1] if address.startswith("[") and address.endswith("]") else address
    found = readings(strict)
    if len(found) != 1 or (found[0][0] == 4 and ":" not in strict and strict.count(".") != 3):
        return None
    version, value = found[0]
    width = 32 if version == 4 else 128
    if not slash:
        return version, value, width
    if not (bits.isascii() and bits.isdigit()):
        return None
    length = int(bits) - (96 if version == 4 and ":" in strict else 0)
    if not 0 <= length <= width or value & ((1 << (width - length)) - 1):
        return None
    return version, value, length


def text_of(version: int, value: int) -> str:
    """The usual spelling of an IPv4 address; all eight groups of an IPv6 one."""
    if version == 4:
        return ".".join(str(value >> shift & 255) for shift in (24, 16, 8, 0))
    return ":".join(f"{value >> shift & 0xFFFF:x}" for shift in range(112, -1, -16))


def _unwrap(value: int) -> Address:
    """IPv4-mapped, IPv4-compatible and NAT64 addresses lead to the IPv4 address in them."""
    high = value >> 32
    if high in (0xFFFF, 0x64FF9B << 64) or (high == 0 and value > 1):
        return 4, value & 0xFFFFFFFF
    return 6, value


def _version_4(text: str, octal: bool) -> int | None:
    """As `inet_aton` reads it: one to four numbers, decimal, `0x` or octal, the last of which fills what is left."""
    parts = text.split(".")
    if len(parts) > 4:
        return None
    numbers = []
    for part in parts:
        if not part.isascii() or not part.isalnum() or len(part) > 64:
            return None
        if part[:2] in ("0x", "0X"):
            if not _HEX.issuperset(part[2:]):
                return None
            numbers.append(int(part[2:] or "0", 16))
        elif not part.isdigit():
            return None
        elif octal and part[0] == "0":
            if "8" in part or "9" in part:
                return None
            numbers.append(int(part, 8))
        else:
            numbers.append(int(part))
    last = numbers.pop()
    if any(number > 255 for number in numbers) or last >= 1 << (8 * (4 - len(numbers))):
        return None
    value = 0
    for number in numbers:
        value = value << 8 | number
    return value << (8 * (4 - len(numbers))) | last


def _version_6(text: str) -> int | None:
    head, double, tail = text.partition("::")
    if "::" in tail:
        return None
    left, right = _groups(head, last=not double), _groups(tail, last=True)
    if left is None or right is None:
        return None
    missing = 8 - len(left) - len(right)
    if missing < (1 if double else 0) or (missing and not double):
        return None
    value = 0
    for group in [*left, *([0] * missing), *right]:
        value = value << 16 | group
    return value


def _groups(text: str, *, last: bool) -> list[int] | None:
    """Groups of four hexadecimal digits; at the very end an IPv4 address may stand for two."""
    groups: list[int] = []
    parts = text.split(":") if text else []
    for i, part in enumerate(parts):
        if "." in part and last and i == len(parts) - 1 and part.count(".") == 3:
            value = _version_4(part, octal=False)
            if value is None or "x" in part.lower():
                return None
            groups += value >> 16, value & 0xFFFF
        elif 1 <= len(part) <= 4 and _HEX.issuperset(part):
            groups.append(int(part, 16))
        else:
            return None
    return groups
