"""A project with a scripted language server for `.txt` files, in a gateway whose calls run."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from gateway.core.cancel import NEVER
from gateway.model.call import RawCall
from gateway.sandbox.backends.spaces import Spaces

SCRIPTED = Path(__file__).parent / "scripted.py"
ALL = {
    "textDocumentSync": 1, "definitionProvider": True, "referencesProvider": True, "hoverProvider": True,
    "documentSymbolProvider": True, "workspaceSymbolProvider": True, "implementationProvider": True,
    "callHierarchyProvider": True, "completionProvider": {},
}  # fmt: skip


class Scripted:
    """What the server does, and calls that ask it."""

    ALL = ALL

    def __init__(self, ground: Any) -> None:
        self.ground = ground
        self.project: Path = ground.project
        self.declared: dict[str, Any] = {
            "command": ["python3", "-S", "server.py"],  # with what is installed beside it a start costs twice as much
            "extensions": {".txt": "plaintext"}, "seconds": 60, "after_edit": 60,
        }  # fmt: skip
        self.answers: dict[str, Any] = {"capabilities": ALL}
        self.rules: list[dict[str, Any]] = [{"id": "server", "allow": ["Bash(python3 -S server.py)"]}]
        self.session: Any = None
        (self.project / "server.py").write_bytes(SCRIPTED.read_bytes())
        self.file("a.txt", "one two\nthree\n")

    def file(self, name: str, text: str) -> Path:
        """Writes a file of the project."""
        path = self.project / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    def does(self, method: str, **what: Any) -> None:
        """What the server does when it is asked this from now on."""
        self.says(**{method: what})

    def says(self, **what: Any) -> None:
        """Sets keys of its `answers.json`."""
        self.answers |= what
        # At once: the server may be reading it.
        os.replace(self.file("answers.new", json.dumps(self.answers)), self.project / "answers.json")

    def open(self, **how: Any) -> Any:
        """A gateway with a session; `declared` and `rules` hold from here on."""
        self.says()
        self.ground.says({"settings": {"language_servers": {"text": self.declared}}, "rules": self.rules})
        environment = how.pop("environment", {"PATH": os.environ["PATH"]})
        self.gateway = self.ground.open(environment=environment, mode=how.pop("mode", "accept_edits"), **how)
        self.session = self.gateway.session()
        return self.gateway

    def call(self, tool: str, **given: Any) -> Any:
        """Makes a call in the session."""
        if self.session is None:
            self.open()
        return self.gateway.call(RawCall(tool, given), session=self.session)

    def ask(self, operation: str, **given: Any) -> Any:
        """Asks the server."""
        at = {} if operation in ("symbols", "workspace_symbols", "diagnostics") else {"line": 1, "character": 1}
        return self.call("LSP", **{"operation": operation, "file_path": "a.txt", **at, **given})

    def heard(self, *methods: str) -> list[Any]:
        """The parameters of what the server has heard of these methods."""
        self.does("textDocument/hover", heard=methods)
        self.does("textDocument/definition", result=None)
        done = self.ask("hover")
        assert not done.output.is_error, done.text
        said = json.loads(done.output.data["items"][0]["text"])
        return [each["params"] for each in said]

    def server(self) -> Any:
        """The running server."""
        return self.gateway.calls.services.languages.get(str(self.project / "a.txt"), self.session, NEVER)


@pytest.fixture
def scripted(ground: Any) -> Any:
    if not (probe := Spaces().probe()).works:
        pytest.skip(f"namespaces do not hold here: {probe.reason}")
    made = Scripted(ground)
    yield made
    if made.session is not None:
        made.session.close()
