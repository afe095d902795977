"""A host with nothing on it, for judging with recorded facts alone."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gateway.model.facts import PathFact


class Blind:
    """A host that answers nothing: whoever judges with recorded facts has no use for one."""

    def path(self, _path: str) -> PathFact | None:
        """Nobody knows where a path leads."""
        return None

    def is_folder(self, _path: str) -> bool:
        """Nothing is there."""
        return False

    def is_missing(self, _path: str) -> bool:
        """Nothing is there."""
        return True

    def read(self, _path: str) -> str:
        """Nothing stands in it."""
        return ""

    def variable(self, _name: str) -> str:
        """None is set."""
        return ""

    def stamp(self, path: str) -> tuple[int, int, int, int]:
        """Nothing is there. Raises FileNotFoundError."""
        raise FileNotFoundError(path)
