"""Calls from programs: one, or a turn of many, waited for, from asyncio, or as a stream. Behind `Gateway.call`."""

from __future__ import annotations

import os
import threading
from contextlib import suppress

from gateway.calls.leading import lead
from gateway.calls.output import Progress, Text
from gateway.calls.schedule import Turn
from gateway.calls.session import Session
from gateway.core.async_threads import ended, lasting, on_thread
from gateway.core.cancel import Cancel
from gateway.core.room_names import of_process
from gateway.model.changes import NONE
from gateway.sandbox.persistent_folders import ROOMS
from gateway.sandbox.rooms import end, furnished

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterable, Mapping, Sequence
    from concurrent.futures import ThreadPoolExecutor
    from typing import Any

    from gateway.calls.output import Done
    from gateway.calls.ports import Serves
    from gateway.judge.judge import Judge
    from gateway.model.call import RawCall
    from gateway.model.context import Context

WIDTH = 10
WIDTH_VARIABLE = "GATEWAY_MAX_CONCURRENCY"
# Calls that asyncio waits for at a time; each has a thread, most of which sleep.
_THREADS = 64


class Calls:
    """The calls of one gateway. Safe to use from several threads and from asyncio."""

    def __init__(self, services: Serves) -> None:
        self.services = services
        self._judge = services.judge
        self._lock = threading.Lock()
        self._session: Session | None = None
        self._pool: ThreadPoolExecutor | None = None

    @property
    def judge(self) -> Judge:
        """Who judges by now."""
        return self.services.judge

    def session(self, **how: Any) -> Session:
        """A new session, from where the gateway was opened."""
        from gateway.approval.grants import Grants

        how.setdefault("person", self.services.person)
        context = self._judge.context.replace(changes=how.pop("changes", NONE))
        if context.confined:
            context = self._with_room(context)
        session = Session(context, grants=Grants(), **how)
        if context.room and not self._judge.context.room:
            session.ends_with_it(lambda: self._ended(context.room))
        return session

    def _with_room(self, context: Context) -> Context:
        """With what the session's calls share, unless nothing can be kept for them."""
        room = context.room or of_process(os.getpid(), anew=True)
        rooms = f"{self._judge.places.state}/{ROOMS}"
        try:
            return context.replace(room=room, shared=furnished(rooms, room, context.workspace)) if room else context
        except OSError:
            return context.replace(room="")

    def _ended(self, room: str) -> None:
        """What they shared goes with the session; what cannot be removed now goes when somebody looks again."""
        with suppress(OSError):
            end(f"{self._judge.places.state}/{ROOMS}", room)

    def _own(self, session: Session | None) -> Session:
        """The session, or the one of all calls that name none."""
        if session is not None:
            return session
        with self._lock:
            if self._session is None:
                self._session = self.session()
            return self._session

    def shared(self) -> Session:
        """The session of all calls that name none, which ends with the gateway."""
        return self._own(None)

    def call(
        self,
        raw: RawCall,
        session: Session | None,
        cancel: Cancel | None = None,
        progress: Callable[[Progress], None] | None = None,
    ) -> Done:
        """Judges a call, has who must be asked answer, and runs it; blocks until it has ended. Whatever goes wrong is a
        result, never an exception. `session`: None for the one of all calls that name none; `cancel` ends the call from
        any thread; `progress` hears what it says meanwhile, on the thread that runs it."""
        session = self._own(session)
        done = lead(self.services, raw, session, cancel=cancel, progress=progress)
        return self.settled(done, session)

    async def call_async(
        self, raw: RawCall, session: Session | None, progress: Callable[[Progress], None] | None = None
    ) -> Done:
        """The same on a thread; where the task is cancelled the call is ended before that is told."""
        done: Done = await on_thread(lambda cancel: self.call(raw, session, cancel, progress), self._threads())
        return done

    async def stream(self, raw: RawCall, session: Session | None) -> AsyncIterator[Progress | Done]:
        """The same as what it says meanwhile, and what it ended with, last. Who stops listening ends the call."""
        import asyncio

        loop = asyncio.get_running_loop()
        told: asyncio.Queue[Progress | None] = asyncio.Queue()
        work = asyncio.ensure_future(
            self.call_async(raw, session, lambda each: _on(loop, lambda: told.put_nowait(each)))
        )
        work.add_done_callback(lambda _done: told.put_nowait(None))
        try:
            while (each := await told.get()) is not None:
                yield each
            yield await work
        finally:
            await ended(work)

    def turn(
        self,
        session: Session | None,
        cancel: Cancel | None = None,
        told: Callable[[int, Progress], None] | None = None,
        has_ended: Callable[[int], None] | None = None,
        has_begun: Callable[[int], None] | None = None,
        keys: Sequence[str] = (),
    ) -> Turn:
        """`keys`: of the calls, as `Life` takes them."""
        session = self._own(session)

        def life(index: int, raw: RawCall, beside: bool) -> Done:
            heard = None if told is None else lambda each: told(index, each)
            if has_begun is not None:
                has_begun(index)
            key = keys[index] if index < len(keys) else ""
            return lead(self.services, raw, session, cancel=cancel, progress=heard, beside=beside, key=key)

        def is_safe(raw: RawCall) -> bool:
            return self.is_safe(raw, session)

        return Turn(life, is_safe, self.width(), lambda done: self.settled(done, session), has_ended)

    def batch(
        self,
        raws: Iterable[RawCall],
        session: Session | None,
        cancel: Cancel | None = None,
        told: Callable[[int, Progress], None] | None = None,
    ) -> list[Done]:
        """Several calls as one turn: what is safe beside others runs beside them, all else in order. What each ended
        with, in the order of the calls. `told` hears the number of a call, from 0, and what it says."""
        with self.turn(session, cancel, told) as turn:
            for raw in raws:
                turn.add(raw)
            return list(turn.results())

    async def batch_async(
        self,
        raws: Iterable[RawCall],
        session: Session | None,
        told: Callable[[int, Progress], None] | None = None,
    ) -> list[Done]:
        """The same on threads; where the task is cancelled all of them are ended before that is told."""
        given = tuple(raws)
        found: list[Done] = await on_thread(lambda cancel: self.batch(given, session, cancel, told), self._threads())
        return found

    async def stream_batch(
        self, raws: Iterable[RawCall] | AsyncIterable[RawCall], session: Session | None
    ) -> AsyncIterator[tuple[int, Progress | Done]]:
        """The same as it happens, each with the number of its call; calls may still come meanwhile. Who stops listening
        ends them all."""
        import asyncio

        loop = asyncio.get_running_loop()
        # Of one call its progress and then the place of the call; None when no more calls will come.
        news: asyncio.Queue[tuple[int, Progress] | int | None] = asyncio.Queue()
        cancel = Cancel()

        def told(index: int, each: Progress) -> None:
            _on(loop, lambda: news.put_nowait((index, each)))

        turn = self.turn(session, cancel, told, lambda index: _on(loop, lambda: news.put_nowait(index)))
        feeding = asyncio.ensure_future(_feed(turn, raws))
        feeding.add_done_callback(lambda _done: news.put_nowait(None))
        given: list[Done] = []
        heard: set[int | None] = set()
        try:
            while not feeding.done() or len(given) < len(turn):
                each = await news.get()
                if isinstance(each, tuple):
                    yield each
                    continue
                heard.add(each)
                while len(given) in heard and (done := turn.result(len(given))) is not None:
                    given.append(done)
                    yield len(given) - 1, done
            await feeding
            await lasting(loop.run_in_executor(self._threads(), turn.close))
            for index, done in enumerate(given):
                now = turn.result(index)
                for report in now.reports[len(done.reports) :] if now is not None else ():
                    yield index, Progress("status", report)
        finally:
            cancel.set()

            def close() -> None:
                try:
                    turn.close()
                finally:
                    cancel.close()

            try:
                await lasting(loop.run_in_executor(self._threads(), close))
            finally:
                await ended(feeding)

    def is_safe(self, raw: RawCall, session: Session) -> bool:
        """Whether a call may run beside others, as far as can be told before it is judged for good."""
        try:
            judge = self.services.planner.judge
            tool = judge.registry.tool(raw.tool)
            declared = tool.entry["concurrency_safe"]
            if isinstance(declared, bool):
                return declared
            from gateway.tools.traits import is_concurrency_safe

            verdict = judge.check(raw, session.context)
            return is_concurrency_safe(tool, verdict.analysis.items, verdict.facts)
        except Exception:
            return False  # it runs alone, and its life says what is wrong with it

    def width(self) -> int:
        """How many calls of a turn run at a time."""
        said = self._judge.environment.get(WIDTH_VARIABLE, "")
        width = int(said) if said.isdecimal() and 0 < int(said) <= 1_000 else WIDTH
        limits = self._judge.loaded.settings.get("limits")
        most = limits.value.get("concurrent_calls") if limits is not None else None
        return min(width, most) if most else width

    def settled(self, done: Done, session: Session) -> Done:
        """Makes the change to the session that a call asks for, if it may have one; what is not done is reported, and
        said to the model."""
        output = done.output
        if done.alone and done.result.exported is not None and self._keeps_environment():
            session.environment = self._kept(done.result.exported)
        if not done.alone or not (output.cwd or output.mode or output.rules):
            return done
        reports = []
        if output.cwd and not session.follow(output.cwd):
            reports.append("the working folder stays: the new one is not there")
        if output.mode:
            reason = self._judge.refuses_mode(output.mode)
            if reason:
                reports.append(f"the mode stays: {reason}")
            else:
                session.enter(output.mode)
        if output.rules:
            reason = self._judge.refuses_rules(session.context.rules + output.rules)
            if reason:
                reports.append(f"the rules stay: {reason}")
            else:
                session.rule(output.rules)
        if not reports:
            return done
        told = tuple(Text(f"[gateway] {each}") for each in reports)
        output = output.replace(blocks=(*output.blocks, *told))
        return done.replace(output=output, reports=(*done.reports, *reports), not_taken=tuple(reports))

    def _keeps_environment(self) -> bool:
        said = self._judge.loaded.settings.get("shell")
        return said is not None and said.value.get("keep_environment") is True

    def _kept(self, exported: Mapping[str, str]) -> dict[str, str]:
        """What the environment of the next command is chosen from: the gateway's own, and of what was exported all
        that changes nothing about which programs run and what they load."""
        from gateway.commands.variables import assigned

        kept = {name: value for name, value in exported.items() if not assigned(name, for_program=False)}
        return {**self._judge.environment, **kept}

    def _threads(self) -> ThreadPoolExecutor:
        with self._lock:
            if self._pool is None:
                from concurrent.futures import ThreadPoolExecutor

                self._pool = ThreadPoolExecutor(_THREADS, "gateway")
            return self._pool

    def close(self) -> None:
        """Ends the session of calls that name none, and what serves the calls. No call may be running."""
        with self._lock:
            session, self._session = self._session, None
            pool, self._pool = self._pool, None
        try:
            if session is not None:
                session.close()
        finally:
            if pool is not None:
                pool.shutdown()
            self.services.close()


async def _feed(turn: Turn, raws: Iterable[RawCall] | AsyncIterable[RawCall]) -> None:
    if hasattr(raws, "__aiter__"):
        async for raw in raws:
            turn.add(raw)
        return
    for raw in raws:
        turn.add(raw)


def _on(loop: Any, does: Callable[[], None]) -> None:
    """Does it on the loop; a loop that has ended hears nothing any more."""
    try:
        loop.call_soon_threadsafe(does)
    except RuntimeError:
        return


if TYPE_CHECKING:
    from typing import Protocol

    class RunsCalls(Protocol):
        """A gateway that runs calls (`gateway.api.gateway.Gateway`), as what is built on it sees one."""

        @property
        def calls(self) -> Calls:
            """What runs them."""
