"""The tests in several processes that share one collection, with `--workers N`.

To collect takes seconds, and all that it makes is the same for each process: so it is done once, and the process is
forked. Each worker begins with a part of the files in their order, so that what belongs together stays together, and
who is done takes the later half of what another has left. A warning that is no error of its test (`filterwarnings`) is
not told of.
"""

from __future__ import annotations

import atexit
import multiprocessing
from contextlib import suppress
from functools import partial
from itertools import pairwise
from multiprocessing.connection import wait
from typing import TYPE_CHECKING, Any

import pytest
from _pytest.capture import CaptureManager
from frames import in_one_piece

if TYPE_CHECKING:
    from collections.abc import Sequence
    from multiprocessing.connection import Connection
    from multiprocessing.context import ForkProcess

_AHEAD = 2  # tests that a worker knows of beside the one that runs: it never waits for the next


class Shares:
    """Which tests are left for whom: a range of their numbers for each worker. A file is divided only where there is no
    other work: what its tests share is made by each process that runs some of them."""

    def __init__(self, files: Sequence[object], workers: int) -> None:
        """`files`: that of each test."""
        self._files = files
        inner = [self._cut(len(files) * number // workers, 0, len(files)) for number in range(1, workers)]
        self._left = [[start, end] for start, end in pairwise([0, *inner, len(files)])]

    def next(self, worker: int) -> int | None:
        """The next test of a worker, None if there is none left for anybody."""
        own = self._left[worker]
        if own[0] == own[1]:
            richest = max(self._left, key=lambda each: each[1] - each[0])
            middle = self._cut((richest[0] + richest[1]) // 2, *richest)
            own[:], richest[1] = [middle, richest[1]], middle
        if own[0] == own[1]:
            return None
        own[0] += 1
        return own[0] - 1

    def _cut(self, at: int, start: int, end: int) -> int:
        """Where to divide a range: at the beginning of a file, the nearest to `at`; at `at` where there is one file."""
        firsts = [each for each in range(start + 1, end) if self._files[each - 1] != self._files[each]]
        return min(firsts, key=lambda each: abs(each - at), default=at)


class _Worker:
    """A forked process as its parent sees it: the tests that it was told of and has not finished, in their order."""

    def __init__(self, session: pytest.Session, number: int, earlier: Sequence[_Worker]) -> None:
        """`earlier`: those whose pipes the new process would keep open."""
        context = multiprocessing.get_context("fork")
        self.number = number
        self.told: list[int | None] = []
        self.pipe, inner = context.Pipe()
        outer = [self.pipe, *(each.pipe for each in earlier)]
        self.process: ForkProcess = context.Process(target=_work, args=(session, number, inner, outer))
        self.process.start()
        inner.close()

    def tell(self, test: int | None) -> None:
        """Of the next test that it is to run, or that there is none any more."""
        if self.told[-1:] != [None]:
            self.told.append(test)
            with suppress(BrokenPipeError):  # its end is heard of
                self.pipe.send(test)


def run(session: pytest.Session, count: int) -> None:
    """Runs all tests of a session in so many workers, and reports as if they had run here."""
    shares = Shares([item.path for item in session.items], count)
    reporter = session.config.pluginmanager.getplugin("terminalreporter")
    if reporter is not None:
        reporter.showfspath = False  # tests of many files end by turns
    session.config._tmp_path_factory.getbasetemp()  # type: ignore[attr-defined] - each has its own below it
    workers: list[_Worker] = []
    for number in range(count):
        workers.append(_Worker(session, number, workers))
    try:
        for worker in workers * (1 + _AHEAD):
            worker.tell(shares.next(worker.number))
        while workers:
            wait([worker.pipe for worker in workers], timeout=1)
            for worker in list(workers):
                alive = worker.process.is_alive()  # asked first: what it said before its end is heard
                if not (_hear(session, worker, shares) and alive):
                    workers.remove(worker)
                    _ended(session, worker)
            if session.shouldfail:
                raise session.Failed(session.shouldfail)
            if session.shouldstop:
                raise session.Interrupted(session.shouldstop)
    finally:
        for worker in workers:
            worker.process.kill()
            worker.process.join()


def _hear(session: pytest.Session, worker: _Worker, shares: Shares) -> bool:
    """Whether more may come of it."""
    while worker.pipe.poll():
        try:
            what, given = worker.pipe.recv()
        except (EOFError, ConnectionResetError):  # reset: it has not read all that it was told
            return False
        _report(session, what, given)
        if what == "finish":
            worker.told.pop(0)
            worker.tell(shares.next(worker.number))
    return True


def _report(session: pytest.Session, what: str, given: Any) -> None:
    hook = session.config.hook
    if what == "report":
        report = hook.pytest_report_from_serializable(config=session.config, data=given)
        hook.pytest_runtest_logreport(report=report)
    elif what == "start":
        hook.pytest_runtest_logstart(nodeid=given[0], location=given[1])
    else:
        hook.pytest_runtest_logfinish(nodeid=given[0], location=given[1])


def _ended(session: pytest.Session, worker: _Worker) -> None:
    """A worker that ends before its time has failed the test that it was at; those that it was told of beside it, too,
    as nobody else runs them."""
    worker.process.join()
    left = [session.items[number] for number in worker.told if number is not None]
    said = f"the worker that was to run it has ended with status {worker.process.exitcode}"
    for item in left:
        session.config.hook.pytest_runtest_logreport(
            report=pytest.TestReport(item.nodeid, item.location, {}, "failed", said, "call")
        )
    if worker.process.exitcode and not left:
        session.testsfailed += 1
        session.config.get_terminal_writer().line(f"\na worker ended with status {worker.process.exitcode}", red=True)


class _Told:
    """Hands on to the parent what is said of tests."""

    def __init__(self, config: pytest.Config, pipe: Connection) -> None:
        self._config = config
        self._pipe = pipe
        self._counts_all = any(config.getoption(name, None) is not None for name in ("durations", "xmlpath"))

    def pytest_runtest_logstart(self, nodeid: str, location: tuple[str, int | None, str]) -> None:
        self._pipe.send(("start", (nodeid, location)))

    def pytest_runtest_logfinish(self, nodeid: str, location: tuple[str, int | None, str]) -> None:
        self._pipe.send(("finish", (nodeid, location)))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when != "call" and report.passed and not report.sections and not self._counts_all:
            return  # nothing of it is shown, and there are two for each test
        data = self._config.hook.pytest_report_to_serializable(config=self._config, report=report)
        self._pipe.send(("report", data))


def _work(session: pytest.Session, number: int, pipe: Connection, others: Sequence[Connection]) -> None:
    """The tests that the parent tells of, one after another, until it says None."""
    for each in others:
        each.close()
    atexit._clear()  # what was there before is the parent's to do
    config = session.config
    _set_up(config, number, pipe)
    items: Sequence[pytest.Item] = session.items
    test, following = pipe.recv(), None
    while test is not None:
        following = pipe.recv()
        item, then = items[test], None if following is None else items[following]
        in_one_piece(partial(config.hook.pytest_runtest_protocol, item=item, nextitem=then))
        test = following
    config._ensure_unconfigure()
    atexit._run_exitfuncs()  # a forked process would not


def _set_up(config: pytest.Config, number: int, pipe: Connection) -> None:
    """What of the process must be its own: where output is kept, the temporary folder, and whom it reports to."""
    capture = config.pluginmanager.getplugin("capturemanager")
    assert isinstance(capture, CaptureManager)
    capture.stop_global_capturing()
    capture.start_global_capturing()
    config.pluginmanager.unregister(name="terminalreporter")
    config.pluginmanager.register(_Told(config, pipe))
    factory = config._tmp_path_factory  # type: ignore[attr-defined]
    factory._basetemp = factory.mktemp(f"worker{number}", numbered=False)
