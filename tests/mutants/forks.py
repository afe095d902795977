"""A plugin of pytest that tries changes in forks of one session, so that nothing is started, imported or collected for
each of them: a fork gives the functions that a change touches their new code, and runs the tests that call these.

It can miss what a test notices of a function that another test called, and keeps: `__main__` asks again, of all tests.
"""

from __future__ import annotations

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
import threading
import time
from pathlib import Path
from types import CodeType, FunctionType
from typing import TYPE_CHECKING, Any, NamedTuple

from mutants.functions import Place, changed, place

if TYPE_CHECKING:
    from collections.abc import Callable

    import pytest

MOST = 600  # seconds of a processor for all tests under a trace
# Seconds of tests that call a function: most changes die in the first of them, and the rest is asked again anyway.
ENOUGH = 6


class Ran(NamedTuple):
    """What is known of one test: the seconds that it takes, and which functions it calls."""

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
    with open(session.config.getoption("--told-to"), "w", encoding="utf-8") as told:
        for cache in caches:  # what was called while tests were collected is to be called again by these
            cache.cache_clear()
        ran = _in_fork(functools.partial(_watched, session.items, files), MOST) or {}
        lasting = [session.items[at].nodeid for at in range(len(session.items)) if at not in ran]
        told.write(json.dumps(lasting[:1]) + "\n")
        for path, begin, end, new in [] if lasting else changes:
            began = time.monotonic()
            failure = _tried(session.items, ran, functions, path, (begin, end, new.encode()))
            told.write(json.dumps([failure, time.monotonic() - began]) + "\n")
            told.flush()
    return True


def _tried(
    items: list[pytest.Item],
    ran: dict[int, Ran],
    functions: dict[tuple[str, Place], list[FunctionType]],
    path: str,
    edit: tuple[int, int, bytes],
) -> str | None:
    """The first test that fails of those that call the function, "" if so many pass; None for a change of what runs at
    import."""
    begin, end, new = edit
    source = Path(path).read_bytes()
    found = changed(source, source[:begin] + new + source[end:], str(Path(path).resolve()))
    if found is None:
        return None
    live = [(each, code) for where, code in found.codes.items() for each in functions.get((path, where), ())]
    if any(len(each.__code__.co_freevars) != len(code.co_freevars) for each, code in live):
        return None  # it takes something else from around it
    names = {f"test_{Path(path).stem}.py", f"test_{Path(path).parent.name}.py"}
    calling = [at for at, test in ran.items() if any((path, each) in test.called for each in found.places)]
    calling.sort(key=lambda at: (items[at].path.name not in names, ran[at].seconds))
    spent = itertools.accumulate(ran[at].seconds for at in calling)
    calling = [at for at, seconds in zip(calling, spent, strict=True) if seconds - ran[at].seconds < ENOUGH]

    def work() -> str:
        for function, code in live:
            function.__code__ = code
        return _first_failure([items[at] for at in calling])

    seconds = 3 * sum(ran[at].seconds for at in calling) + 20
    failure = _in_fork(work, int(seconds)) if calling else ""
    return "what does not end" if failure is None else failure


def _first_failure(items: list[pytest.Item]) -> str:
    for item, following in zip(items, [*items[1:], None], strict=True):
        item.ihook.pytest_runtest_protocol(item=item, nextitem=following)
        if _failed:
            return _failed[0]
    return ""


def _watched(items: list[pytest.Item], files: dict[str, str]) -> dict[int, Ran]:
    """What is known of each test that passes, by its number."""
    noted: dict[int, CodeType] = {}

    def note(frame: Any, _event: str, _argument: object) -> None:
        code = frame.f_code
        if code.co_filename in files:
            noted[id(code)] = code

    threading.settrace(note)
    found = {}
    for number, (item, following) in enumerate(zip(items, [*items[1:], None], strict=True)):
        noted.clear()
        begin = time.process_time()
        sys.settrace(note)
        item.ihook.pytest_runtest_protocol(item=item, nextitem=following)
        sys.settrace(None)
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
                os.setsid()
                nowhere = os.open(os.devnull, os.O_WRONLY)
                os.dup2(nowhere, 1)
                os.dup2(nowhere, 2)
                resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
                pickle.dump(work(), answer)
                answer.flush()
            finally:
                os._exit(0)
        os.waitpid(process, 0)
        with contextlib.suppress(ProcessLookupError):  # what it has started and left
            os.killpg(process, signal.SIGKILL)
        answer.seek(0)
        content = answer.read()
    try:
        return pickle.loads(content) if content else None
    except (EOFError, pickle.UnpicklingError):
        return None
