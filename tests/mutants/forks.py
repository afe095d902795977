"""A plugin of pytest that tries changes in forks of one session, so that nothing is started, imported or collected for
each of them: a fork gives the functions that a change touches their new code, and runs the tests that call these.

It can miss what a test notices of a function that another test called, and keeps: `__main__` asks again, of all tests.
"""

from __future__ import annotations

import builtins
import contextlib
import functools
import gc
import importlib
import itertools
import json
import os
import pickle
import resource
import signal
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path
from types import FunctionType
from typing import TYPE_CHECKING, Any, NamedTuple

from mutants.functions import Changed, Place, changed, noting, place

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import CodeType

    import pytest

MOST = 600  # seconds of a processor for all tests
# Seconds of tests that call a function: most changes die in the first of them, and the rest is asked again anyway.
ENOUGH = 4
SHORT = 0.5  # seconds of a test that may come before others
LATE = 8  # seconds of a processor for a test beyond three times its usual ones: it may be the first that loads much
_NOTE = "__noted__"


class Ran(NamedTuple):
    """What is known of one test: the seconds that it takes, and which of the functions to be changed it calls."""

    seconds: float
    called: set[tuple[str, Place]]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--changes", help="a file of JSON: paths of all sources, and changes as [path, begin, end, new]")
    parser.addoption("--told-to", type=int, help="the descriptor that gets a line for each change")


_failed: list[str] = []


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if report.failed:
        _failed.append(report.nodeid)


def pytest_runtestloop(session: pytest.Session) -> bool:
    with open(session.config.getoption("--changes"), encoding="utf-8") as file:
        paths, changes = json.load(file)
    files = {str(Path(path).resolve()): path for path in paths}
    for path in paths:  # some are imported by the first test that needs them
        importlib.import_module(path.removesuffix(".py").removesuffix("/__init__").replace("/", "."))
    gc.unfreeze()
    functions: dict[tuple[str, Place], list[FunctionType]] = {}
    caches = []
    for each in gc.get_objects():
        if isinstance(each, FunctionType) and each.__code__.co_filename in files:
            functions.setdefault((files[each.__code__.co_filename], place(each.__code__)), []).append(each)
        elif isinstance(each, functools._lru_cache_wrapper):
            caches.append(each)
    found = [(path, _changed(path, begin, end, new.encode())) for path, begin, end, new in changes]
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # a fork ends, too
    with open(session.config.getoption("--told-to"), "w", encoding="utf-8") as told:
        for cache in caches:  # what was called while tests were collected is to be called again by these
            cache.cache_clear()
        ran = _in_fork(lambda: _watched(session.items, files, functions, found), MOST) or {}
        lasting = [session.items[at].nodeid for at in range(len(session.items)) if at not in ran]
        trials = _Trials(session.items, ran, functions)
        lasting += [] if lasting else trials.failing_unchanged(found)
        told.write(json.dumps(lasting[:1]) + "\n")
        for path, change in [] if lasting else found:
            began = time.monotonic()
            failure = trials.failure(path, change)
            told.write(json.dumps([failure, time.monotonic() - began]) + "\n")
            told.flush()
    return True


def _changed(path: str, begin: int, end: int, new: bytes) -> Changed | None:
    source = Path(path).read_bytes()
    return changed(source, source[:begin] + new + source[end:], str(Path(path).resolve()))


class _Trials:
    def __init__(
        self, items: list[pytest.Item], ran: dict[int, Ran], functions: dict[tuple[str, Place], list[FunctionType]]
    ) -> None:
        self._items = items
        self._ran = ran
        self._functions = functions
        self._have_failed: dict[str, set[str]] = defaultdict(set)  # by the file that was changed

    def failure(self, path: str, found: Changed | None) -> str | None:
        """The first test that fails of those that call the function, "" if so many pass; None for a change of what runs
        at import."""
        if found is None:
            return None
        live = [(each, code) for where, code in found.codes.items() for each in self._functions.get((path, where), ())]
        if any(len(each.__code__.co_freevars) != len(code.co_freevars) for each, code in live):
            return None  # it takes something else from around it
        calling = self._calling(path, found)

        def work() -> str:
            for function, code in live:
                function.__code__ = code
            return self._first_failure(calling)

        failure = _in_fork(work, MOST) if calling else ""
        if failure is None:
            return "what does not end"
        self._have_failed[path].add(failure)
        return failure

    def failing_unchanged(self, found: list[tuple[str, Changed | None]]) -> list[str]:
        """What fails of the tests of the first change where nothing is changed: then it is the way of trying."""
        tried = (self._calling(path, change) for path, change in found if change is not None)
        calling = next(filter(None, tried), [])
        failure = _in_fork(lambda: self._first_failure(calling), MOST)
        return [] if failure == "" else [failure or "what is tried in a fork"]

    def _calling(self, path: str, found: Changed) -> list[int]:
        """The tests to try, the likeliest to fail first: those that noticed another change to this file."""
        names = {f"test_{Path(path).stem}.py", f"test_{Path(path).parent.name}.py"}

        def rank(at: int) -> tuple[bool, bool, float]:
            item, seconds = self._items[at], self._ran[at].seconds
            has_failed = item.nodeid in self._have_failed[path] and seconds < SHORT
            return not has_failed, item.path.name not in names, seconds

        calling = [at for at, test in self._ran.items() if any((path, each) in test.called for each in found.places)]
        calling.sort(key=rank)
        spent = itertools.accumulate(self._ran[at].seconds for at in calling)
        return [at for at, seconds in zip(calling, spent, strict=True) if seconds - self._ran[at].seconds < ENOUGH]

    def _first_failure(self, calling: list[int]) -> str:
        for at, following in zip(calling, [*calling[1:], None], strict=True):
            most = time.process_time() + 3 * self._ran[at].seconds + LATE
            resource.setrlimit(resource.RLIMIT_CPU, (int(most), MOST))
            item = self._items[at]
            item.ihook.pytest_runtest_protocol(
                item=item, nextitem=None if following is None else self._items[following]
            )
            if _failed:
                return _failed[0]
        return ""


def _watched(
    items: list[pytest.Item],
    files: dict[str, str],
    functions: dict[tuple[str, Place], list[FunctionType]],
    changes: list[tuple[str, Changed | None]],
) -> dict[int, Ran]:
    """What is known of each test that passes, by its number."""
    noted: dict[int, CodeType] = {}

    def note() -> None:
        code = sys._getframe(1).f_code
        noted[id(code)] = code

    setattr(builtins, _NOTE, note)
    changed_places = {(path, where) for path, change in changes if change for where in change.codes}
    noting_codes = {
        path: noting(Path(path).read_bytes(), str(Path(path).resolve()), _NOTE) for path, _ in changed_places
    }
    for path, where in changed_places:
        for function in functions.get((path, where), ()):
            function.__code__ = noting_codes[path][where]
    found = {}
    for number, (item, following) in enumerate(zip(items, [*items[1:], None], strict=True)):
        noted.clear()
        begin = time.process_time()
        item.ihook.pytest_runtest_protocol(item=item, nextitem=following)
        if not _failed:
            called = {(files[code.co_filename], place(code)) for code in noted.values()}
            found[number] = Ran(time.process_time() - begin, called)
        _failed.clear()
    return found


def _in_fork(work: Callable[[], Any], seconds: int) -> Any:
    """What a function gives back in a process of its own; None if that does not end within so many seconds of a
    processor, or otherwise than with an answer."""
    with tempfile.TemporaryFile() as answer:
        process = os.fork()
        if process == 0:
            try:
                signal.signal(signal.SIGTERM, signal.SIG_DFL)
                os.setsid()
                nowhere = os.open(os.devnull, os.O_WRONLY)
                os.dup2(nowhere, 1)
                os.dup2(nowhere, 2)
                resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
                pickle.dump(work(), answer)
                answer.flush()
            finally:
                os._exit(0)
        try:
            os.waitid(os.P_PID, process, os.WEXITED | os.WNOWAIT)
        finally:
            for end in (os.kill, os.killpg):  # with what it has started and left
                with contextlib.suppress(ProcessLookupError):
                    end(process, signal.SIGKILL)
            os.waitpid(process, 0)
        answer.seek(0)
        content = answer.read()
    try:
        return pickle.loads(content) if content else None
    except (EOFError, pickle.UnpicklingError):
        return None
