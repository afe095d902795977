"""Which project policies a person has accepted: by real path and digest over everything the policy is made of.

Several digests may be kept for one project (branches). The store lies in the user's state folder; a store that
somebody else could have written grants nothing.
"""

from __future__ import annotations

import os

from gateway.core.cache import read_owned, replace_whole
from gateway.core.errors import ConfigError, Problem
from gateway.core.plainjson import loads

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping


class TrustStore:
    """The accepted digests, read when asked and written whole."""

    def __init__(self, state: str) -> None:
        self.path = os.path.join(state, "trust.json")

    def digests(self, project: str) -> frozenset[str]:
        """Digests accepted for a project's real path."""
        return frozenset(self._read().get(project, {}))

    def projects(self) -> dict[str, dict[str, str]]:
        """Every trusted project with its digests and when each was accepted."""
        return {name: dict(digests) for name, digests in self._read().items()}

    def accept(self, project: str, digest: str, when: str) -> None:
        """Records that a person accepted this content. Raises ConfigError when it cannot be kept."""
        projects = {name: dict(digests) for name, digests in self._read().items()}
        projects.setdefault(project, {})[digest] = when
        self._write(projects)

    def revoke(self, project: str) -> bool:
        """Forgets all digests of a project; False if there were none."""
        projects = dict(self._read())
        if project not in projects:
            return False
        del projects[project]
        self._write(projects)
        return True

    def _read(self) -> Mapping[str, Mapping[str, str]]:
        data = read_owned(self.path)
        if data is None:
            return {}
        try:
            store = loads(data)
            return {str(name): dict(digests) for name, digests in store["projects"].items()}
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            problem = Problem(
                f"the store of trusted projects must be valid JSON (got {error})",
                file=self.path,
                remedy="delete it and trust your projects again with `gateway policy trust`",
            )
            raise ConfigError(problem) from error

    def _write(self, projects: Mapping[str, Mapping[str, str]]) -> None:
        import json

        data = json.dumps({"version": 1, "projects": projects}, indent=2, sort_keys=True).encode()
        try:
            os.makedirs(os.path.dirname(self.path), mode=0o700, exist_ok=True)
            replace_whole(self.path, data + b"\n")
        except OSError as error:
            raise ConfigError(Problem(f"trust cannot be kept: {error.strerror}", file=self.path)) from error
