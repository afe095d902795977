"""Long work of the console, done in a process of its own that reports its progress: the console answers meanwhile,
and memory is returned when it ends."""

from __future__ import annotations

import json
import secrets
import subprocess
import threading

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

MOST_KEPT = 16
MOST_AT_ONCE = 2


class Job:
    """One piece of work. `about`: what whoever began it wants to remember of it; `result`: what came out, None before
    it ended; `problem`: why nothing did, "" where something did."""

    def __init__(self, about: Mapping[str, Any]) -> None:
        self.id = secrets.token_hex(8)
        self.about = about
        self.done, self.of = 0, 0
        self.is_ended = False
        self.result: Any = None
        self.problem = ""
        self._process: subprocess.Popen[bytes] | None = None

    def begin(self, words: Sequence[str], given: Mapping[str, Any]) -> None:
        """Starts it, by these words; it reads what is given as JSON."""
        threading.Thread(target=self._run, args=(list(words), dict(given)), daemon=True).start()

    def close(self) -> None:
        """Ends it, finished or not."""
        if self._process is not None and self._process.poll() is None:
            self._process.kill()

    def _run(self, words: list[str], given: dict[str, Any]) -> None:
        try:
            with subprocess.Popen(
                words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd="/"
            ) as self._process:
                stdin, stdout = self._process.stdin, self._process.stdout
                assert stdin is not None
                assert stdout is not None
                stdin.write(json.dumps(given).encode() + b"\n")
                stdin.close()
                for line in stdout:
                    self._heard(json.loads(line))
            if self.result is None and not self.problem:
                self.problem = "it ended before it was done"
        except (OSError, ValueError, KeyError, TypeError) as error:
            self.problem = f"it could not be done: {type(error).__name__}"
        finally:
            self.is_ended = True

    def _heard(self, told: Any) -> None:
        if not isinstance(told, dict):
            raise TypeError("no word of a process that works")
        if "of" in told:
            self.done, self.of = int(told["done"]), int(told["of"])
        else:
            self.result, self.problem = told.get("result"), str(told.get("problem", ""))


class Work:
    """The work of one console. Safe to use from several threads."""

    def __init__(self, words: Sequence[str]) -> None:
        """`words`: what starts a process that works; the kind of work is added to them."""
        self._words = list(words)
        self._jobs: dict[str, Job] = {}
        self._named: dict[str, str] = {}
        self._lock = threading.Lock()

    def begin(
        self, kind: str, given: Mapping[str, Any], *, name: str = "", about: Mapping[str, Any] | None = None
    ) -> Job | None:
        """Begins a piece of work; None where too much is being done. `name`: where a piece of that name is being done
        already, that is it."""
        with self._lock:
            known = self._jobs.get(self._named.get(name, "")) if name else None
            if known is not None and not known.is_ended:
                return known
            if sum(not each.is_ended for each in self._jobs.values()) >= MOST_AT_ONCE:
                return None
            job = Job(about or {})
            while len(self._jobs) >= MOST_KEPT:
                del self._jobs[next(each.id for each in self._jobs.values() if each.is_ended)]
            self._jobs[job.id] = job
            if name:
                self._named[name] = job.id
        job.begin([*self._words, kind], given)
        return job

    def find(self, name: str) -> Job | None:
        """The piece of work of an id."""
        with self._lock:
            return self._jobs.get(name)

    def take(self, name: str) -> Job | None:
        """The same, which is nobody's from then on."""
        with self._lock:
            return self._jobs.pop(name, None)

    def close(self) -> None:
        """Ends all of it."""
        with self._lock:
            for each in self._jobs.values():
                each.close()
