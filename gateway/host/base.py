"""What a machine answers before a decision: the real one (`gateway.host.machine`) and those of tests alike."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Protocol

    from gateway.host.bounds import Entries
    from gateway.model.facts import PathFact

    class Host(Protocol):
        """Bounded looks. None of them changes anything."""

        def path(self, path: str, /) -> PathFact | None:
            """Where a path leads; None if that cannot be told (no permission, a loop of links, not a path)."""

        def glob(self, pattern: str, entries: Entries | None = None, /) -> tuple[str, ...] | None:
            """Paths that an absolute pattern matches, sorted; None when a bound was hit. `entries`: what is left."""

        def program(self, name: str, search_path: str, /) -> str:
            """The file that a search path gives for a name, "" if none."""

        def variable(self, name: str, /) -> str:
            """A variable of the environment that calls begin with, "" if it is not set."""

        def read(self, path: str, /) -> str:
            """A small configuration file's text, "" if it cannot be read or is too large."""

        def data(self, path: str, /) -> bytes:
            """A file's bytes, empty if it cannot be read or is too large."""

        def is_empty(self, path: str, /) -> bool:
            """Whether there is a file that holds nothing."""

        def is_folder(self, path: str, /) -> bool:
            """Whether there is a folder, links followed: none where the path is not absolute."""

        def is_missing(self, path: str, /) -> bool:
            """Whether nothing stands under a name, not even a link."""

        def is_link(self, path: str, /) -> bool:
            """Whether a name is a link, wherever it leads."""

        def link(self, path: str, /) -> str:
            """What a link says, "" where a name is none."""

        def is_superuser(self) -> bool:
            """Whether modes of files say nothing to this process."""

        def is_private(self, path: str, /) -> bool:
            """Whether its mode lets this user read what stands under a name as its owner or by its group, and lets
            nobody else; links are not followed. True where that cannot be told."""

        def stamp(self, path: str, /) -> tuple[int, int, int, int]:
            """What changes whenever something is added to a folder, taken from it or renamed in it; the times come
            first, in nanoseconds. Links are not followed. Raises OSError where nothing is."""

        def entries(self, folder: str, /) -> list[tuple[str, str]]:
            """The names in a folder, each with its kind: dir, file, link or other. Raises OSError."""

        def below(self, tree: str, /, *, hidden: bool = True) -> Iterator[str]:
            """Every path below a folder, without following links. `hidden`: with names that start with a dot, and what
            lies below them. Raises OSError."""
