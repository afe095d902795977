"""A project on the disk, and gateways in it whose calls run, with handlers that a test gives."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

from warmed import warm

from gateway.api.gateway import Gateway
from gateway.audit.reading import Moment
from gateway.calls import handlers
from gateway.calls.output import Output, Text
from gateway.config.load import Options
from gateway.core.places import places

if TYPE_CHECKING:
    from pathlib import Path


class Ground:
    """A home folder with a project in it; a test's own layers and tools."""

    def __init__(self, top: Path, monkeypatch: Any) -> None:
        self.top = top.resolve()
        self.home = self.top / "home"
        self.project = self.top / "project"
        for folder in (self.home, self.project, self.project / ".git"):
            folder.mkdir()
        (self.project / ".git" / "HEAD").write_text("ref: refs/heads/main\n", encoding="utf-8")
        monkeypatch.setenv("HOME", str(self.home))
        for name in ("XDG_CONFIG_HOME", "XDG_STATE_HOME", "GATEWAY_PROJECT_DIR", "CLAUDE_PROJECT_DIR"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setenv("XDG_CACHE_HOME", str(top / "cache"))
        warm(top / "cache" / "gateway")
        self.monkeypatch = monkeypatch
        self._open: list[Gateway] = []

    @property
    def config(self) -> Path:
        return self.home / ".config" / "gateway"

    @property
    def of_project(self) -> Path:
        return self.project / ".gateway"

    def says(self, text: str | dict[str, Any], *, layer: str = "user", name: str = "policy.yaml") -> Path:
        """Writes a file of a layer."""
        folder = self.config if layer == "user" else self.of_project
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / name
        path.write_text(text if isinstance(text, str) else json.dumps({"version": 1, **text}), encoding="utf-8")
        return path

    def open(self, **how: Any) -> Gateway:
        """A gateway in the project, closed with the test."""
        trust, mode = how.pop("trust", ()), how.pop("mode", "")
        options = Options(str(self.project), root=str(self.project), trust=trust, mode=mode, binding=True)
        found = Gateway(options, where=places(), **how)
        self._open.append(found)
        return found

    def stands_for(self, name: str, does: Any) -> None:
        """Makes a function the handler of that name, for this test."""
        self.monkeypatch.setitem(handlers.HANDLERS, name, name)
        self.monkeypatch.setitem(handlers._found, name, does)

    def close(self) -> None:
        for each in self._open:
            each.close()

    def records(self) -> list[dict[str, Any]]:
        with Moment(os.path.join(str(self.home), ".local", "state", "gateway", "audit")) as moment:
            return moment.last(1000)


def says(text: str) -> Any:
    """A handler that gives back a text."""
    return lambda _call, _work: Output((Text(text),))
