"""MCP servers that policy configures. Each is started when it is first needed, as a command that is judged, recorded
and confined like one of Bash, and ends with what serves the calls.

The protocol is spoken by the official package `mcp`, which is loaded with the first server.
"""

from __future__ import annotations

import os
import threading
from concurrent.futures import CancelledError
from concurrent.futures import TimeoutError as Late
from time import monotonic

from gateway.hiding import hidden_bytes, hidden_in
from gateway.model.call import RawCall
from gateway.model.decision import Decision
from gateway.policy.explain import message
from gateway.sandbox.base import SandboxError
from gateway.sandbox.run import Cancel, Command, Ways
from gateway.sandbox.shell import quoted
from gateway.tools.handling import Failure

TYPE_CHECKING = False
if TYPE_CHECKING:
    from asyncio import AbstractEventLoop
    from collections.abc import Awaitable, Callable, Mapping
    from typing import Any

    from gateway.model.plan import SandboxPlan
    from gateway.model.result import Result
    from gateway.model.verdict import Verdict
    from gateway.serving import Guard, Services
    from gateway.session import Session

SETTING = "servers"
START_SECONDS = 60.0
MOST_LINE = 16 << 20
_LOOK_EVERY = 0.1
_END_SECONDS = 10.0
_LAST_SECONDS = 1.0


class _Place:
    """Where one server of one session is, if it runs. The lock is held while it is judged and started."""

    __slots__ = ("lock", "server")

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.server: Server | None = None


class Servers:
    """The running servers of one gateway. Safe to use from several threads.

    Each session has servers of its own, and for each mode that it is in: what one may do was judged for exactly that.
    """

    def __init__(self, services: Services) -> None:
        self._services = services
        self._lock = threading.Lock()
        self._places: dict[Session, dict[tuple[str, str], _Place]] = {}

    def get(self, name: str, session: Session, cancel: Cancel) -> Server:
        """The server, started if it does not run. Raises Failure."""
        setting = self._services.gateway.loaded.settings.get(SETTING)
        known = {} if setting is None else setting.value
        if name not in known:
            raise Failure(f"There is no MCP server `{name}`.", f"Configured are: {', '.join(known) or 'none'}.")
        place = self._place(session, session.context.mode, name)
        while not place.lock.acquire(timeout=_LOOK_EVERY):
            if cancel.is_set:
                raise Failure(f"MCP server `{name}` gave no answer: the call was cancelled.")
        try:
            if place.server is not None:
                if place.server.is_alive:
                    return place.server
                place.server.close()
                place.server = None
            made = Server(name, known[name])
            try:
                made.start(self._services, session, cancel)
            except BaseException:
                made.close()
                raise
            place.server = made
            return made
        finally:
            place.lock.release()

    def _place(self, session: Session, mode: str, name: str) -> _Place:
        with self._lock:
            if session not in self._places:
                session.ends_with_it(lambda: self._end(session))
                self._places[session] = {}
            return self._places[session].setdefault((mode, name), _Place())

    def _end(self, session: Session) -> None:
        with self._lock:
            places = self._places.pop(session, {})
        for place in places.values():
            if place.server is not None:
                place.server.close()

    def close(self) -> None:
        """Ends all of them. No call may be running."""
        with self._lock:
            sessions = tuple(self._places)
        for each in sessions:
            self._end(each)


async def _when_gone(stop: Any, group: Any) -> None:
    """Ends whatever still waits, once nobody answers any more."""
    await stop.wait()
    group.cancel_scope.cancel()


class Server:
    """One server at work."""

    def __init__(self, name: str, declared: Mapping[str, Any]) -> None:
        self.name = name
        self.seconds = float(declared["seconds"])
        self._declared = declared
        self._cancel = Cancel()
        self._loop: AbstractEventLoop | None = None
        self._client: Any = None
        self._stop: Any = None
        self._ready = threading.Event()
        self._problem = ""
        self._result: Result | None = None
        self._threads: list[threading.Thread] = []
        # What it was given that nobody else has: it is never shown or recorded.
        self._secrets: tuple[str, ...] = ()

    @property
    def is_alive(self) -> bool:
        """Whether it can be asked."""
        return all(thread.is_alive() for thread in self._threads) and not self._problem

    def start(self, services: Services, session: Session, cancel: Cancel) -> None:
        """Judges, confines, records and starts it. Raises Failure."""
        from importlib.util import find_spec

        if find_spec("mcp") is None:
            raise Failure("No MCP server can be asked: the package `mcp` is missing.", "Install agent-gateway[mcp].")
        guard, verdict, plan, grant = self._judged(services, session, cancel)
        recorded = services.recorded(guard, session.name, verdict, plan, grant)
        if not recorded.may_run:
            raise Failure(f"MCP server `{self.name}` does not start, because it would not be recorded.")
        reads, writes = os.pipe(), os.pipe()  # what it reads from us, what it writes to us
        words = tuple(map(os.fsencode, self._declared["command"]))
        command = Command(lambda _number: words, Ways(reads[0], writes[1]))
        released = threading.Event()

        def serve() -> None:
            try:
                protection = guard.protection(verdict)
                self._result = services.runner.run(
                    plan, command, protection, cancel=self._cancel, started=lambda _running: released.set()
                )
                services.ended(recorded, verdict, self._shown(self._result))
            except Exception as error:
                self._problem = self.hidden(f"{type(error).__name__}: {error}")
            finally:
                released.set()
                for descriptor in (reads[0], writes[1]):
                    os.close(descriptor)

        self._threads = [
            threading.Thread(target=serve, name=f"gateway-server-{self.name}", daemon=True),
            threading.Thread(
                target=self._talk, args=(writes[0], reads[1]), name=f"gateway-mcp-{self.name}", daemon=True
            ),
        ]
        for thread in self._threads:
            thread.start()
        end = monotonic() + START_SECONDS
        while not self._ready.wait(_LOOK_EVERY):
            if cancel.is_set or monotonic() > end or not all(thread.is_alive() for thread in self._threads):
                break
        if not self._ready.is_set() or self._problem:
            if self._problem:  # most often because it has ended, which says more
                self._threads[0].join(_LAST_SECONDS)
            why = self._ended() or "it did not answer in time"
            self.close()
            raise Failure(f"MCP server `{self.name}` does not work: {why}.")

    def _judged(self, services: Services, session: Session, cancel: Cancel) -> tuple[Guard, Verdict, SandboxPlan, Any]:
        guard = services.guard
        context = guard.gateway.context.replace(mode=session.context.mode)
        raw = RawCall("Bash", {"command": quoted(self._declared["command"])})
        verdict, grant = guard.gateway.check(raw, context), None

        def planned(guard: Guard, verdict: Verdict) -> SandboxPlan:
            plan = guard.plan(verdict, None)
            own = self._environment(guard.gateway.environment)
            known = frozenset(value for _, value in plan.environment)  # every command has them
            self._secrets = tuple(
                value for name, value in own.items() if self._declared["env"][name] != value and value not in known
            )
            environment = dict(plan.environment) | own
            limits = plan.limits.replace(seconds=0.0, cpu_seconds=0.0)
            return plan.replace(environment=tuple(sorted(environment.items())), limits=limits)

        if verdict.decision is Decision.DENY or not verdict.context.confined:
            raise Failure(f"MCP server `{self.name}` does not start: {message(verdict)}")
        try:
            plan = planned(guard, verdict)
            if verdict.decision is Decision.ASK:
                guard, approval = services.approved(
                    guard, verdict, plan, raw, context, session.grants, planned, lambda: cancel.is_set
                )
                verdict, grant = approval.judgement.verdict, approval.grant
                if approval.refusal or approval.judgement.plan is None:
                    told = f"{message(verdict)} {approval.refusal}"
                    raise Failure(f"MCP server `{self.name}` does not start: {told}")
                plan = approval.judgement.plan
        except SandboxError as error:
            raise Failure(f"MCP server `{self.name}` cannot be confined: {error.reason}.", error.remedy) from error
        return guard, verdict, plan, grant

    def _environment(self, environment: Mapping[str, str]) -> dict[str, str]:
        found = {}
        for name, value in self._declared["env"].items():
            if not value.startswith("env:"):
                found[name] = value
            elif value[4:] in environment:
                found[name] = environment[value[4:]]
            else:
                raise Failure(f"MCP server `{self.name}` needs the variable {value[4:]}, which is not set.")
        return found

    def ask(self, does: Callable[[Any], Awaitable[Any]], cancel: Cancel) -> Any:
        """What the server answers. `does` gets the client session of the package `mcp`. Raises Failure."""
        import asyncio

        assert self._loop is not None

        async def asked() -> Any:
            return await does(self._client)

        work = asyncio.run_coroutine_threadsafe(asked(), self._loop)
        end = monotonic() + self.seconds
        while True:
            try:
                return work.result(_LOOK_EVERY)
            except CancelledError as error:
                raise Failure(f"MCP server `{self.name}` ended: {self._ended() or 'nobody knows why'}.") from error
            except Late as late:
                if work.done():
                    raise Failure(f"MCP server `{self.name}` did not answer in time.") from late
                why = ""
                if cancel.is_set:
                    why = "the call was cancelled"
                elif not self.is_alive:
                    why = self._ended() or "it has ended"
                elif monotonic() > end:
                    why = f"it did not answer within {self.seconds:g} s"
                if why:
                    work.cancel()
                    raise Failure(f"MCP server `{self.name}` gave no answer: {why}.") from late
            except Failure:
                raise
            except Exception as error:
                why = self.hidden(str(error))
                raise Failure(f"MCP server `{self.name}` answered with an error: {why}.") from error

    def _ended(self) -> str:
        result = self._result
        if result is None:
            return self._problem
        said = self.hidden(result.stderr.decode("utf-8", "replace")).strip().rpartition("\n")[2][:300]
        return self.hidden(result.reason) or f"it ended with status {result.status}" + (f" ({said})" if said else "")

    def hidden(self, data: Any) -> Any:
        """What it says, as text or data, without the secrets that it was given."""
        return hidden_in(data, self._secrets)

    def says_secrets(self, data: bytes) -> bool:
        """Whether a secret that it was given lies in what it sends."""
        return hidden_bytes(data, self._secrets) != data

    def _shown(self, result: Result) -> Result:
        violations = tuple(each.replace(target=self.hidden(each.target)) for each in result.violations)
        return result.replace(reason=self.hidden(result.reason), violations=violations)

    def _talk(self, out: int, into: int) -> None:
        """Speaks the protocol over the pipes until it is stopped or the server has gone."""
        try:
            import asyncio

            asyncio.run(self._speak(out, into))
        except BaseException as error:
            self._problem = self._problem or self.hidden(f"{type(error).__name__}: {error}")
        finally:
            self._ready.set()

    async def _speak(self, out: int, into: int) -> None:
        import asyncio

        import anyio
        from mcp import ClientSession
        from mcp.shared.message import SessionMessage
        from mcp_types import jsonrpc_message_adapter

        self._loop = loop = asyncio.get_running_loop()
        self._stop = stop = asyncio.Event()
        lines = asyncio.StreamReader(MOST_LINE)
        answers, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), os.fdopen(out, "rb", 0))
        transport, protocol = await loop.connect_write_pipe(asyncio.streams.FlowControlMixin, os.fdopen(into, "wb", 0))
        writer = asyncio.StreamWriter(transport, protocol, None, loop)
        to_us, heard = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        said, from_us = anyio.create_memory_object_stream[SessionMessage](0)

        async def listen() -> None:
            async with to_us:
                while line := await lines.readline():
                    if not line.strip():
                        continue
                    try:
                        found: Any = SessionMessage(jsonrpc_message_adapter.validate_json(line, by_name=False))
                    except ValueError as error:
                        found = error
                    await to_us.send(found)
            stop.set()

        async def speak() -> None:
            async with from_us:
                async for each in from_us:
                    text = each.message.model_dump_json(by_alias=True, exclude_unset=True)
                    writer.write(text.encode() + b"\n")
                    await writer.drain()

        try:
            async with anyio.create_task_group() as group:
                group.start_soon(listen)
                group.start_soon(speak)
                async with ClientSession(heard, said) as client:
                    group.start_soon(_when_gone, stop, group)
                    await client.initialize()
                    self._client = client
                    self._ready.set()
                    await stop.wait()
        finally:
            for each in (to_us, heard, said, from_us, writer, answers):
                each.close()
            await asyncio.sleep(0)  # in which the transports give their descriptors back

    def close(self) -> None:
        """Ends the server with all its processes. It may be closed again."""
        if self._loop is not None and self._stop is not None:
            try:
                self._loop.call_soon_threadsafe(self._stop.set)
            except RuntimeError:
                self._stop = None  # the loop has ended already
        self._cancel.set()
        for thread in self._threads:
            thread.join(_END_SECONDS)
        if not any(thread.is_alive() for thread in self._threads):
            self._cancel.close()
