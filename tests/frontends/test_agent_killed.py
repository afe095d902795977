"""`gateway agent` is killed (SIGKILL) at any moment and taken up again: nothing is lost but what ran, and nothing is
done twice."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import starting
from frontends.test_agent import MAIN, Place
from fuzzing import THOROUGH, share
from patience import patience

from gateway.agent.transcript import NOT_BEGUN, UNKNOWN, read

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.skipif(os.name != "posix", reason="SIGKILL")

POLICY = "version: 1\nrules:\n  - {id: log, allow: 'Edit(./log)'}\n  - {id: notes, allow: 'Edit(./note-*)'}\n"
STEPS = 4


def turns() -> list[dict[str, Any]]:
    """Each turn makes a mark in the log and a file, and says which one it is."""
    made: list[dict[str, Any]] = [
        {
            "say": f"turn {number}",
            "calls": [
                {"Bash": {"command": f"echo {number} >> log"}},
                {"Write": {"file_path": f"note-{number}", "content": f"{number}\n"}},
            ],
        }
        for number in range(STEPS)
    ]
    return [*made, *({"say": "done"} for _ in range(3))]  # a session that had ended says it once more


class Killed:
    """One session, killed at a moment."""

    def __init__(self, place: Place, moment: Callable[[Killed], bool]) -> None:
        self.place = place
        (place.home / ".config" / "gateway").mkdir(parents=True)
        (place.home / ".config" / "gateway" / "policy.yaml").write_text(POLICY, encoding="utf-8")
        place.plays(*turns())
        self.begun = time.monotonic()
        process = starting.Popen(
            [*MAIN, "--script", str(place.script), "go"], cwd=place.project, env=place.environment,
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip
        end = time.monotonic() + patience(30)
        while process.poll() is None and not moment(self):
            assert time.monotonic() < end, "the moment never came"
        process.send_signal(signal.SIGKILL)
        assert process.wait() in (-signal.SIGKILL, 0)  # it may have ended well before the moment

    def lines(self) -> int:
        """How much of its transcript is written."""
        return sum(Path(each).read_bytes().count(b"\n") for each in self.place.sessions())

    def log(self) -> list[str]:
        path = self.place.project / "log"
        return path.read_text(encoding="utf-8").split() if path.exists() else []


def after(killed: Killed) -> None:
    """What must hold of a session that was killed, and when it is taken up."""
    place = killed.place
    if not place.sessions() or not killed.lines():
        return  # it had not begun
    (path,) = place.sessions()
    past = read(path)
    told = {each["tool_use_id"]: _text(each) for each in _blocks(past.messages, "tool_result")}
    unknown = {key for key, text in told.items() if UNKNOWN in text}
    never = {key for key, text in told.items() if NOT_BEGUN in text}
    assert unknown == set(past.unknown)
    done = place.run("--resume", "last", "go on")
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr
    log = killed.log()
    for number in range(STEPS):
        marked, noted = f"call_{number + 1}_1", f"call_{number + 1}_2"
        times = log.count(str(number))
        note = (place.project / f"note-{number}").exists()
        assert times in ((0, 1) if marked in unknown else (0,) if marked in never else (1,)), (number, log, told)
        assert note in ((True, False) if noted in unknown else (False,) if noted in never else (True,)), (number, told)
    assert _blocks(read(path).messages, "tool_use")[-1]["id"] == f"call_{STEPS}_2"


def _blocks(messages: Any, kind: str) -> list[dict[str, Any]]:
    return [each for message in messages for each in message["content"] if each["type"] == kind]


def _text(result: dict[str, Any]) -> str:
    return json.dumps(result["content"])


# What stands in the transcript of a whole session: its start, the task, and for each turn a reply and, for each of
# both calls, that it has begun and what came of it.
@pytest.mark.parametrize("lines", share(range(1, 2 + 5 * STEPS), 7))
def test_a_session_that_is_killed_behind_a_line_of_its_transcript_goes_on(tmp_path: Path, lines: int) -> None:
    after(Killed(Place(tmp_path), lambda killed: killed.lines() >= lines))


@pytest.mark.parametrize("marks", share(range(1, 1 + STEPS), 4))
def test_a_session_that_is_killed_once_a_command_has_done_its_work_goes_on(tmp_path: Path, marks: int) -> None:
    after(Killed(Place(tmp_path), lambda killed: len(killed.log()) >= marks))


@pytest.mark.parametrize("seed", range(40 if THOROUGH else 1))
def test_a_session_that_is_killed_at_any_moment_goes_on(tmp_path: Path, seed: int) -> None:
    moment = random.Random(seed).uniform(0.0, 1.0)
    first: list[float] = []

    def has_come(killed: Killed) -> bool:
        """So long after it began to be written."""
        if killed.lines() and not first:
            first.append(time.monotonic())
        return bool(first) and time.monotonic() >= first[0] + moment

    after(Killed(Place(tmp_path), has_come))
