"""Calls led through their whole life, in a project of their own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gateway.api.gateway import Gateway
from gateway.config.load import Options
from gateway.model.call import RawCall

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from gateway.calls.output import Done, Progress
    from gateway.core.cancel import Cancel

POLICY = """\
version: 1
extends: [guard]
settings: {settings}
rules:
  - {{id: everything, allow: "Bash(*)"}}
  - {{id: monitored, allow: "Monitor(*)"}}
  - {{id: writes, allow: ["Edit(./**)", {{effect: delete, path: "./**"}}, {{effect: env}}]}}
  - {{id: hidden, deny: "Read(**/hidden*)"}}
"""


class Whole:
    """A session in a project. `seen`: what was reported of the last call while it ran; `watching`: is called whenever
    there is more of it."""

    def __init__(self, project: Path, settings: str = '{sandbox: {write: ["./**"]}}') -> None:
        policies = project.parent / "policies"
        policies.mkdir(exist_ok=True)
        (policies / "user.yaml").write_text(POLICY.format(settings=settings), encoding="utf-8")
        self.project = project
        self.gateway = Gateway(Options(str(project), str(policies), root=str(project), binding=True))
        self.calls = self.gateway.calls
        self.session = self.calls.session()
        self.seen: list[Progress] = []
        self.watching: Callable[[], object] = lambda: None

    def __call__(self, tool: str, cancel: Cancel | None = None, **fields: Any) -> Done:
        self.seen = []
        return self.calls.call(RawCall(tool, fields), self.session, cancel, self._see)

    def _see(self, progress: Progress) -> None:
        self.seen.append(progress)
        self.watching()

    def close(self) -> None:
        self.session.close()
        self.calls.close()
