"""A machine as the tools of a session see it, whose confined calls have a temporary folder of its own: what the tools
name there is in that folder, so that tools and commands speak of the same files."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from gateway.host.base import Host
    from gateway.model.facts import PathFact


class RoomView:
    """A host but for where paths lead. `shared`: folders, each with where the session has its own; `outside`: trees in
    them that are the machine's all the same."""

    def __init__(self, host: Host, shared: Iterable[tuple[str, str]], outside: Iterable[str]) -> None:
        self._host = host
        self._shared = tuple(shared)
        self._outside = tuple(f"{each}/" for each in outside if each)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._host, name)

    def path(self, path: str) -> PathFact | None:
        """Where it leads: into the session's folder, unless there is nothing of this name, and there is on the machine.
        A link in it leads where it would on the machine, and is judged as that."""
        own = self._own(path)
        found = self._host.path(own or path)
        if own and found is not None and found.kind == "missing":
            real = self._host.path(path)
            if real is None or real.kind != "missing":
                return real
        return found

    def are_own(self, paths: Iterable[str]) -> bool:
        """Whether those of some paths that lie in shared folders all lead into the session's."""
        for path in paths:
            own = self._own(path)
            if own:
                fact = self.path(path)
                kept = next(real for folder, real in self._shared if f"{path}/".startswith(f"{folder}/"))
                if fact is None or not f"{fact.real}/".startswith(f"{kept}/"):
                    return False
        return True

    def _own(self, path: str) -> str:
        if f"{path}/".startswith(self._outside):
            return ""
        for folder, real in self._shared:
            if f"{path}/".startswith(f"{folder}/"):
                return real + path[len(folder) :]
        return ""
