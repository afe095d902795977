"""The pieces that one word of the shell is read into, and what reading them asks for. Only annotations need it.

A piece is a kind and a text, in which `HOLE` stands for what is not known:

    u   unquoted letters
    q   quoted letters
    x   an unquoted expansion, which is split and globbed
    n   the same of a bare `$NAME`
    i   a bare `$NAME` that is a number
    m   a quoted expansion that may be several words (`"$@"`)
    e   an expansion whose words are known, joined by `fields.BETWEEN`
    g   a quoted variable that holds one of the paths that a glob matches: its text and pattern, joined likewise
    l   the same, unquoted
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol

    from gateway.shell.regions import Region

    class Host(Protocol):
        """What reading a word needs of the walk: each looks at, and may change, the state at this point."""

        text: str
        regions: dict[int, Region]

        def unknown(self, why: str, start: int, end: int) -> None: ...

        def variable(self, name: str, start: int, end: int) -> str: ...
        def region(self, region: Region) -> tuple[str, bool]: ...
        def tilde(self, name: str) -> str: ...
        def splits_plainly(self) -> bool: ...
        def holds_number(self, name: str) -> bool: ...
        def glob_of(self, name: str) -> str: ...
        def elements(self, name: str) -> tuple[str, ...] | None: ...
        def expanded(self, start: int, end: int) -> None: ...
        def note(self, start: int, end: int, region: Region | None, name: str) -> None: ...


Piece = tuple[str, str]
