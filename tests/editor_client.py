"""A small speaker of the Language Server Protocol: what an editor sends `gateway policy lsp`, and what it waits for."""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import starting
from patience import patience

SECONDS = 60.0


class Client:
    """One server, from its start to its end."""

    def __init__(self, cwd: Path, environment: dict[str, str], refreshes: bool = True) -> None:
        self._process = starting.Popen(
            [sys.executable, "-m", "gateway", "policy", "lsp", "--cwd", str(cwd)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment, cwd="/",
        )  # fmt: skip
        self._answers: queue.Queue[dict[str, Any]] = queue.Queue()
        self._held: list[dict[str, Any]] = []
        self._number = 0
        self._reading = threading.Thread(target=self._read, daemon=True)
        self._reading.start()
        capabilities = {"workspace": {"codeLens": {"refreshSupport": refreshes}}}
        self.ready = self.ask("initialize", {"processId": None, "rootUri": None, "capabilities": capabilities})
        self.tell("initialized", {})

    def tell(self, method: str, params: Any) -> None:
        """Sends what is not answered."""
        self.send(json.dumps({"jsonrpc": "2.0", "method": method, "params": params}).encode())

    def ask(self, method: str, params: Any) -> Any:
        """Sends a request, and gives what comes back."""
        self._number += 1
        number = self._number
        message = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
        self.send(json.dumps(message).encode())
        found = self.wait_for(lambda each: each.get("id") == number and "method" not in each)
        assert "error" not in found, found
        return found["result"]

    def send(self, body: bytes) -> None:
        """Sends a message as it is."""
        stdin = self._process.stdin
        assert stdin is not None
        stdin.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        stdin.flush()

    def wait_for(self, fits: Any) -> dict[str, Any]:
        """The first message that fits, those before it kept for others."""
        for each in self._held:
            if fits(each):
                self._held.remove(each)
                return each
        while True:
            found = self._answers.get(timeout=patience(SECONDS))
            assert found, "the server has ended"
            if fits(found):
                return found
            self._held.append(found)

    def open(self, path: Path, text: str) -> str:
        """Opens a text; gives its address."""
        uri = path.as_uri()
        document = {"uri": uri, "languageId": "yaml", "version": 1, "text": text}
        self.tell("textDocument/didOpen", {"textDocument": document})
        return uri

    def change(self, uri: str, version: int, text: str) -> None:
        """Replaces a text."""
        changed = {"textDocument": {"uri": uri, "version": version}, "contentChanges": [{"text": text}]}
        self.tell("textDocument/didChange", changed)

    def diagnostics(self, uri: str, version: int | None) -> list[dict[str, Any]]:
        """What is said of one version of a text."""
        found = self.wait_for(
            lambda each: (
                each.get("method") == "textDocument/publishDiagnostics"
                and (each["params"]["uri"], each["params"].get("version")) == (uri, version)
            )
        )
        return list(found["params"]["diagnostics"])

    def held(self, method: str) -> list[dict[str, Any]]:
        """What has come so far and nobody has waited for."""
        return [each["params"] for each in self._held if each.get("method") == method]

    def end(self) -> tuple[int, bytes]:
        """Ends it as editors do; its exit status, and what it wrote besides."""
        self.ask("shutdown", None)
        self.tell("exit", None)
        return self.ended()

    def hang_up(self) -> tuple[int, bytes]:
        """Goes away without a word."""
        return self.ended()

    def ended(self) -> tuple[int, bytes]:
        """Waits until it has ended."""
        stdin, stderr = self._process.stdin, self._process.stderr
        assert stdin is not None
        assert stderr is not None
        stdin.close()
        status = self._process.wait(patience(SECONDS))
        self._reading.join(patience(SECONDS))
        said = stderr.read()
        for stream in (self._process.stdout, stderr):
            assert stream is not None
            stream.close()
        return status, said

    def _read(self) -> None:
        stdout = self._process.stdout
        assert stdout is not None
        while header := stdout.readline():
            length = int(header.partition(b":")[2])
            while stdout.readline().strip():
                pass
            self._answers.put(json.loads(stdout.read(length)))
        self._answers.put({})


def environment_of(home: Path) -> dict[str, str]:
    """Of a user who lives there."""
    return {
        "HOME": str(home),
        "PATH": os.environ["PATH"],
        "PYTHONPATH": str(Path(__file__).parents[1]),
        "PYTHONWARNINGS": "error",
    }
