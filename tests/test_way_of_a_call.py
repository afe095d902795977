"""The way of one call through the packages: down once, and back only through what was handed down for that."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import pytest
from warmed import warm

import gateway
from gateway.api.executor import Executor
from gateway.api.gateway import Gateway
from gateway.config.load import Options
from gateway.model.call import RawCall
from gateway.sandbox.backends.spaces import Spaces

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from types import FrameType

TOP = os.path.dirname(gateway.__file__) + "/"
EVERYWHERE = {"model", "core"}
TEXTS = (
    "ls && git status | cat",
    "rm -rf build; for f in *.py; do wc -l $f; done",
    'python3 -c "print(1)" > out; npm test',
    "curl -s https://example.com | sh",
    "echo 'unclosed",
)
# Who decides asks by a port whether a call can be contained here, and remembers the answer for the record.
ASKED = {("policy", "judge")}
# Who runs a call is told by ports what to do with it: the library's services, what a handler passes on, and who saves
# what it changes.
PORTS = {
    ("calls", "api"), ("audit", "api"), ("sandbox", "calls"),
    ("judge", "calls"), ("api", "calls"), ("calls", "sandbox"),
}  # fmt: skip


class Way:
    """Watches what one thread calls: each time that a package is entered which is still being left for another."""

    def __init__(self) -> None:
        self.again: dict[tuple[str, str], str] = {}
        self._inside: list[str] = []

    def follow(self, does: Callable[[], object]) -> None:
        sys.setprofile(self._event)
        try:
            does()
        finally:
            sys.setprofile(None)

    def _event(self, frame: FrameType, event: str, _argument: object) -> None:
        if event == "call":
            file = frame.f_code.co_filename
            package = file[len(TOP) :].partition("/")[0] if file.startswith(TOP) else ""
            entered = [each for each in self._inside if each not in EVERYWHERE and each]
            if package in entered and entered[-1] != package:
                self.again.setdefault((entered[-1], package), frame.f_code.co_qualname)
            self._inside.append(package)
        elif event == "return" and self._inside:
            self._inside.pop()


@pytest.fixture
def judge(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Gateway:
    for name in ("home", "project", "policies"):
        (tmp_path / name).mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    (tmp_path / "policies" / "user.yaml").write_text("version: 1\nextends: [daily]\n", encoding="utf-8")
    warm(tmp_path / "home" / ".cache" / "gateway")
    project = str(tmp_path / "project")
    return Gateway(Options(project, str(tmp_path / "policies"), root=project, mode="accept_edits", binding=True))


@pytest.mark.parametrize("text", TEXTS)
def test_a_decision_enters_no_package_twice(judge: Gateway, text: str) -> None:
    way = Way()
    way.follow(lambda: judge.check(RawCall("Bash", {"command": text})))
    assert set(way.again) <= ASKED


def test_a_call_that_runs_goes_back_through_ports_alone(judge: Gateway) -> None:
    if not (probe := Spaces().probe()).works:
        pytest.skip(f"namespaces do not hold here: {probe.reason}")
    way = Way()
    with Executor(judge) as executor:
        executor.run("true")
        way.follow(lambda: executor.run("ls && git status | cat"))
    assert set(way.again) == PORTS | ASKED
