"""The library's `Gateway`: judges calls and runs them."""

from __future__ import annotations

from _thread import allocate_lock

from gateway.calls.containing import cannot_contain
from gateway.core.errors import ConfigError, Problem
from gateway.judge.judge import Judge
from gateway.model.changes import BOUNDS, NONE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterable, Mapping, Sequence
    from contextlib import AbstractContextManager
    from typing import Any, Self, TypedDict, Unpack

    from gateway.approval.base import Approver
    from gateway.approval.person import Person
    from gateway.audit.log import Log
    from gateway.calls.output import Done, Progress
    from gateway.calls.runner import Calls
    from gateway.calls.schedule import Turn
    from gateway.calls.session import Session
    from gateway.calls.turn_drafts import Together
    from gateway.config.load import Loaded, Options
    from gateway.core.cancel import Cancel
    from gateway.core.places import Places
    from gateway.host.base import Host
    from gateway.judge.judge import Contains
    from gateway.model.call import RawCall
    from gateway.sandbox.run import Runner

    class Serving(TypedDict, total=False):
        """What serves calls that run, as `gateway.api.services.Services` takes it: `approver`, who is asked where
        policy asks; `log`, where calls are recorded; `runner`, what runs commands; `person`, who can be asked what is
        no approval; `front`, through what the calls come; `saves_changes`, whether what they change is saved."""

        approver: Approver | Sequence[Approver]
        runner: Runner | None
        log: Log | None
        front: str
        person: Person | None
        saves_changes: bool


class Gateway(Judge):
    """Judges and runs calls. Safe to use from several threads.

    Nothing that runs calls is imported before the first call: a process that only judges does not pay for it.
    """

    def __init__(
        self,
        options: Options,
        *,
        where: Places | None = None,
        confined: bool = True,
        host: Host | None = None,
        environment: Mapping[str, str] | None = None,
        loaded: Loaded | None = None,
        contains: Contains = cannot_contain,
        **serving: Unpack[Serving],
    ) -> None:
        """As `Judge` takes it, and what serves calls that run (`Serving`). Raises ConfigError."""
        super().__init__(
            options,
            where=where,
            confined=confined,
            host=host,
            environment=environment,
            loaded=loaded,
            contains=contains,
        )
        self._serving = serving
        self._calls: Calls | None = None
        self._making = allocate_lock()

    def call(
        self,
        raw: RawCall,
        *,
        session: Session | None = None,
        cancel: Cancel | None = None,
        progress: Callable[[Progress], None] | None = None,
    ) -> Done:
        """The whole life of one call: judged, approved, recorded, run and recorded again (`gateway.calls.lifecycle`).

        Blocks until it has ended; never raises for what a call is or does. `session`: whose working folder, mode and
        answers hold; by default one that all calls without a session share, until `close`. `cancel` ends the call with
        every process of it, from any thread. `progress` is told what happens meanwhile, maybe on another thread.
        """
        return self.calls.call(raw, session, cancel, progress)

    async def call_async(
        self,
        raw: RawCall,
        *,
        session: Session | None = None,
        progress: Callable[[Progress], None] | None = None,
    ) -> Done:
        """As `call`, without blocking the loop. When the task is cancelled, everything that the call has started has
        ended before the cancellation goes on."""
        return await self.calls.call_async(raw, session, progress)

    def stream(self, raw: RawCall, *, session: Session | None = None) -> AsyncIterator[Progress | Done]:
        """What happens while a call runs, as it comes, and last what became of it. Whoever stops reading ends it."""
        return self.calls.stream(raw, session)

    def batch(
        self,
        raws: Iterable[RawCall],
        *,
        session: Session | None = None,
        cancel: Cancel | None = None,
        progress: Callable[[int, Progress], None] | None = None,
    ) -> list[Done]:
        """The calls of one turn, in their order (`gateway.calls.schedule`): those that are safe to run together do, ten
        at a time or what GATEWAY_MAX_CONCURRENCY says, every other one alone. The session changes when all have
        ended."""
        return self.calls.batch(raws, session, cancel, progress)

    async def batch_async(
        self,
        raws: Iterable[RawCall],
        *,
        session: Session | None = None,
        progress: Callable[[int, Progress], None] | None = None,
    ) -> list[Done]:
        """As `batch`, without blocking the loop. A cancelled turn cancels what runs."""
        return await self.calls.batch_async(raws, session, progress)

    def stream_batch(
        self, raws: Iterable[RawCall] | AsyncIterable[RawCall], *, session: Session | None = None
    ) -> AsyncIterator[tuple[int, Progress | Done]]:
        """As `batch`, while the calls are still coming: each starts as soon as it is there and those before it let it.
        Yields the place of a call with its progress, and with what became of it, the latter in the order of the
        calls; last, as progress, which changes to the session that a call asks for are not made."""
        return self.calls.stream_batch(raws, session)

    def turn(
        self,
        *,
        session: Session | None = None,
        cancel: Cancel | None = None,
        progress: Callable[[int, Progress], None] | None = None,
    ) -> Turn:
        """As `batch`, for calls that are added one by one; for programs without asyncio."""
        return self.calls.turn(session, cancel, progress)

    def session(
        self,
        *,
        name: str | None = None,
        environment: Mapping[str, str] | None = None,
        single: bool = False,
        changes: str = NONE,
    ) -> Session:
        """A new session, which starts where this gateway was opened. Closing it ends its background commands. `single`:
        it is for one call, whose result is given whole. `changes`: the mildest that may become of what its commands
        change, whatever policy says: `ask` has somebody decide when a command has run (an approver with `review`), or
        be asked before where nobody can or it cannot be done; `discard` throws it away. Raises ConfigError for another
        word."""
        if changes not in (NONE, *BOUNDS[1:3]):
            raise ConfigError(Problem(f"`changes` must be ask or discard (got `{changes}`)"))
        return self.calls.session(name=name, environment=environment, single=single, changes=changes)

    def shown_once(self, session: Session) -> AbstractContextManager[Together]:
        """With `changes: ask`: what the session's commands change meanwhile is shown once, when this ends, and earlier
        only where a call needs it (`show` of what it gives shows it at once). Each command sees what those before it
        have changed, the person's files do not. The `outcome` of what it gives then says what became of it."""
        from gateway.calls.turn_drafts import shown_once

        return shown_once(session)

    def tools(self, form: str = "anthropic", *, mode: str = "", session: Session | None = None) -> list[dict[str, Any]]:
        """The definitions that a model is offered (`gateway.mcp.offered_tools`): without the tools that policy
        denies for every input, and with only the name of those that wait to be searched for. `form`: anthropic, mcp or
        schema."""
        from gateway.mcp.offered_tools import definitions

        return definitions(self, form, mode or (session.context.mode if session is not None else ""), session)

    def guard(
        self,
        function: Callable[..., Any],
        *,
        tool: str = "",
        judged_as: str | Callable[[Mapping[str, Any]], RawCall] = "",
        session: Session | None = None,
    ) -> Callable[..., Any]:
        """A function of the program's, plain or a coroutine's, with the policy before it: each call is judged, asked
        about where policy asks, recorded, and made if it may be, in this process and outside any sandbox. It raises
        `gateway.api.guarding.RefusedError` instead where it is not.

        Rules name it `mcp__app__TOOL`, by default by the function's own name; its arguments are the fields, by name.
        `judged_as`: which call of a known tool it amounts to, as `gateway.api.guarding.Guard` takes it.
        """
        from gateway.api.guarding import Guard, guarded

        name = tool or function.__name__
        return guarded(Guard(self, session, judged_as={name: judged_as} if judged_as else None), function, name)

    @property
    def calls(self) -> Calls:
        """What runs calls for this gateway, made when it is first needed."""
        with self._making:
            if self._calls is None:
                from gateway.api.services import Services
                from gateway.calls.runner import Calls

                self._calls = Calls(Services(self.binding(), **self._serving))
            return self._calls

    def close(self) -> None:
        """Ends what serves calls, if there is anything. No call may be running."""
        with self._making:
            calls, self._calls = self._calls, None
        if calls is not None:
            calls.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def afresh(self, cwd: str, environment: Mapping[str, str]) -> Self:
        """As `Judge.afresh`, with calls of its own."""
        found = super().afresh(cwd, environment)
        found._calls, found._making = None, allocate_lock()  # noqa: SLF001 - it is one of these
        return found

    def _again(self, options: Options) -> Self:
        found = super()._again(options)
        found._serving = self._serving  # noqa: SLF001 - it is one of these
        return found
