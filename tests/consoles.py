"""A console as people start it, in a home of its own, and how tests talk with it."""

from __future__ import annotations

import http.client
import json
import os
import pty
import re
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any, NamedTuple

import starting
from patience import patience

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


class Answered(NamedTuple):
    status: int
    headers: dict[str, str]
    text: str

    @property
    def json(self) -> Any:
        return json.loads(self.text)


class Running:
    """A console that runs. `start` opens one page; `reader` only reads."""

    def __init__(self, home: Path, project: Path, *, terminal: bool = False) -> None:
        """`terminal`: somebody can type where it runs."""
        self.home, self.project = home, project
        self.environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith(("XDG_", "CLAUDE_", "CODEX_"))},
            "HOME": str(home), "GATEWAY_SERVICE": "off",
        }  # fmt: skip
        for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER"):
            self.environment.pop(name, None)
        self._typing, stdin = pty.openpty() if terminal else (-1, os.open(os.devnull, os.O_RDONLY))
        self.process = starting.Popen(
            [sys.executable, "-m", "gateway", "console", "--print", "--reader"], cwd=project, env=self.environment,
            stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )  # fmt: skip
        os.close(stdin)
        assert self.process.stdout is not None
        said = self.process.stdout.readline() + self.process.stdout.readline()
        found = re.search(r"http://127\.0\.0\.1:(\d+)/#(\S+)\n.*Bearer (\S+)'", said, re.DOTALL)
        if found is None:
            self.process.kill()
            raise AssertionError(said + self.process.communicate()[0])
        self.port, self.start, self.reader = int(found[1]), found[2], found[3]
        self.page = ""

    def opened(self) -> str:
        """The token of the one page, which is opened when it is first needed."""
        if not self.page:
            self.page = self.post("/api/session", self.start).json["token"]
        return self.page

    def close(self) -> None:
        """Ends it."""
        self.process.terminate()
        self.process.communicate(timeout=patience(5))
        if self._typing >= 0:
            os.close(self._typing)

    def types(self, line: str, pattern: str) -> str:
        """Types a line where it runs; what it says there that has this form."""
        assert self.process.stdout is not None
        os.write(self._typing, f"{line}\n".encode())
        said = ""
        while (found := re.search(pattern, said)) is None:
            more = self.process.stdout.readline()
            assert more, said
            said += more
        return found[1]

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def asks(self, method: str, path: str, headers: Mapping[str, str], body: bytes | None = None) -> Answered:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=patience(5))
        try:
            connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
            for name, value in {"Host": f"127.0.0.1:{self.port}", **headers}.items():
                for each in value.split("\n"):
                    connection.putheader(name, each)
            if body is not None and "Content-Length" not in headers and "Transfer-Encoding" not in headers:
                connection.putheader("Content-Length", str(len(body)))
            connection.endheaders()
            if body is not None:
                connection.send(body)
            answer = connection.getresponse()
            text = answer.read().decode()
            return Answered(answer.status, {name.lower(): value for name, value in answer.getheaders()}, text)
        finally:
            connection.close()

    def get(self, path: str, token: str = "", **headers: str) -> Answered:
        given = {"Authorization": f"Bearer {token}"} if token else {}
        return self.asks("GET", path, {**given, **headers})

    def post(self, path: str, token: str, told: Any = None, **headers: str) -> Answered:
        body = json.dumps(told if told is not None else {}).encode()
        usual = {
            "Origin": self.origin, "Content-Type": "application/json", "Sec-Fetch-Site": "same-origin",
            "Authorization": f"Bearer {token}",
        }  # fmt: skip
        return self.asks("POST", path, {**usual, **headers}, body)

    def gateway(self, *words: str, **how: Any) -> subprocess.Popen[str]:
        return starting.Popen(
            [sys.executable, "-m", "gateway", *words], cwd=self.project, env=self.environment,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **how,
        )  # fmt: skip

    def run(self, *words: str) -> str:
        process = self.gateway(*words)
        return process.communicate(timeout=patience(5))[0]

    def questions(self) -> list[tuple[str, str]]:
        """Name and digest of each question that waits, as the page has them."""
        main = json.loads(self.get("/pending", self.opened(), Accept="application/json").text)["main"]
        return [(node[1]["data-question"], node[1]["data-digest"]) for node in main if "data-question" in node[1]]

    def question(self) -> tuple[str, str]:
        """The one that waits, as soon as there is one and it has been shown for long enough."""
        found = until(self.questions)
        until(lambda: time.monotonic() - self.shown(found[0][0]) > 0.55)
        return found[0]

    def shown(self, name: str) -> float:
        """When this test first saw a question."""
        self.__dict__.setdefault("_seen", {}).setdefault(name, time.monotonic())
        return float(self.__dict__["_seen"][name])


def until(does: Any) -> Any:
    """What it gives as soon as that is something."""
    end = time.monotonic() + patience(5)
    while not (found := does()):
        assert time.monotonic() < end
        time.sleep(0.02)
    return found
