"""Egress of one call: listeners in its network namespace, and the connections that came through them."""

from __future__ import annotations

import os
import socket
import threading

from gateway.sandbox.egress.loop import in_thread
from gateway.sandbox.egress.names import Names
from gateway.sandbox.egress.report import Report
from gateway.sandbox.egress.surroundings import ALONE, DNS_PORT, OWN_ADDRESS, PROXY_PORT

TYPE_CHECKING = False
if TYPE_CHECKING:
    import asyncio
    from collections.abc import Awaitable, Callable, Coroutine
    from typing import Any

    from gateway.model.plan import Endpoint
    from gateway.model.result import Violation
    from gateway.sandbox.egress.asked_connections import Asking, Told
    from gateway.sandbox.egress.clients import Call
    from gateway.sandbox.egress.decide import Rules
    from gateway.sandbox.egress.dial import Dialler
    from gateway.sandbox.egress.held_connection import Asks
    from gateway.sandbox.egress.listeners import Namespaces
    from gateway.sandbox.egress.loop import Loop
    from gateway.sandbox.egress.outside import Outside
    from gateway.sandbox.egress.surroundings import Place

MAX_CONNECTIONS = 256
MAX_QUERIES = 64
QUERIES_OF_ONE_CLIENT = 64
IDLE_SECONDS = 30.0
CLOSE_SECONDS = 10.0
_NOT_OURS = "A program of another call tried the way out of this one; connections count for the call that makes them."


def _base(place: Place) -> list[tuple[str, str, int]]:
    return [
        # Programs that ask for a family "if it is configured" do not count 127.0.0.1.
        ("+", OWN_ADDRESS, 0),
        ("t", place.address, PROXY_PORT),
        ("t", place.address, DNS_PORT),
        ("u", place.address, DNS_PORT),
    ]


class Session:
    """Made by `Egress.attach`. `environment`: the variables the command needs. Close it when the call has ended."""

    def __init__(
        self,
        loop: Loop,
        namespaces: Namespaces,
        rules: Rules,
        report: Callable[[Violation], None],
        environment: tuple[tuple[str, str], ...],
        dialler: Callable[[], Dialler],
        outside: Callable[[Report, Names, Callable[[], Awaitable[None]]], Outside],
        ended: Callable[[Session], None],
        call: Call,
        place: Place = ALONE,
        asks: Asks | None = None,
    ) -> None:
        """`call`: whose it is; `asks`: who says whether it may connect to what was not predicted, None for nobody."""
        self.environment = environment
        self._call, self._place, self._asks = call, place, asks
        self._asking: Asking | None = None
        self._loop, self._namespaces = loop, namespaces
        self._make_outside = outside
        self._outside: Outside | None = None
        self._ended = ended
        self._report = Report(report)
        self._names = Names(rules, dialler, self._report, self._enter, self._add, place, asks=asks is not None)
        self._namespace = -1
        self._proxy: socket.socket | None = None
        self._queries: socket.socket | None = None
        self._dns: socket.socket | None = None
        self._listeners: list[socket.socket] = []
        self._paused: list[socket.socket] = []
        self._tasks: set[asyncio.Task[None]] = set()
        self._clients: set[socket.socket] = set()
        self._answering = 0
        self._closing = False
        self._closed = threading.Event()

    def violations(self) -> tuple[Violation, ...]:
        """Every refusal so far, each once with its count; also after the session was closed."""
        return self._report.all()

    def said(self) -> tuple[tuple[str, int, int], ...]:
        """Hosts that may only be read from, with the requests they got and the bytes of these that the call chose; also
        after the session was closed."""
        return self._outside.said.counts() if self._outside is not None else ()

    def told(self) -> tuple[Told, ...]:
        """What became of connections that were not predicted, where somebody could be asked."""
        return self._asking.told() if self._asking is not None else ()

    def asked_seconds(self) -> float:
        """How long questions about such connections have stood so far. From any thread."""
        return self._asking.seconds() if self._asking is not None else 0.0

    def open(self, namespace: int) -> None:
        """Opens the listeners in a network namespace, whose descriptor is the session's once that worked. Raises
        SandboxError."""
        wanted = [*_base(self._place), *self._names.literals()]
        found = self._namespaces.open(namespace, wanted)
        opened = [each for each in found if each is not None]
        if any(each is None for each in found[:3]):
            for each in opened:
                each.close()
            from gateway.sandbox.base import SandboxError

            raise SandboxError("the ports of the proxy are taken in the sandbox's network")
        self._proxy, self._dns, self._queries = opened[:3]
        self._listeners = opened
        self._namespace = namespace
        self._loop.submit(self._watch_all)

    def close(self) -> None:
        """Closes the listeners and every connection of this call. Does nothing the second time."""
        if not self._closed.is_set():
            self._loop.submit(self._shut)
            if not self._loop.here():
                self._closed.wait(CLOSE_SECONDS)

    def drop(self) -> None:
        """In a fork of this process: gives up the descriptors, touches nothing else."""
        for each in (*self._listeners, *self._clients):
            each.close()
        if self._namespace >= 0:
            os.close(self._namespace)
        self._listeners, self._namespace = [], -1
        self._closing = True
        self._closed.set()

    # Everything below runs in the loop's thread.

    def _enter(self, wanted: Any) -> list[socket.socket | None]:
        return self._namespaces.open(self._namespace, wanted)

    def _add(self, listener: socket.socket) -> None:
        if self._closing:
            listener.close()
            return
        self._listeners.append(listener)
        self._watch(listener)

    def _watch_all(self) -> None:
        for each in self._listeners:
            self._watch(each)

    def _watch(self, listener: socket.socket) -> None:
        ready = self._ask if listener is self._queries else lambda: self._accept(listener)
        self._loop.watch(listener, ready)

    def _shut(self) -> None:
        if self._closing:
            return
        self._closing = True
        for each in self._listeners:
            self._loop.unwatch(each)
            each.close()
        self._listeners.clear()
        self._paused.clear()
        running = self._loop.running
        if running is None:
            self._finished()
        else:
            self._names.close()
            if self._asking is not None:
                self._asking.close()
            for task in self._tasks:
                task.cancel()
            if self._outside is not None:
                self._outside.spare.close()
            # Kept here: the loop itself does not hold tasks.
            self._last = running.create_task(self._finish())

    async def _finish(self) -> None:
        import asyncio

        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._asking is not None:
            await self._asking.finish()
        await asyncio.sleep(0)  # their clients are closed by callbacks
        await self._names.finish()
        self._finished()

    def _finished(self) -> None:
        if self._namespace >= 0:
            os.close(self._namespace)
            self._namespace = -1
        self._ended(self)
        self._closed.set()

    def _accept(self, listener: socket.socket) -> None:
        while len(self._tasks) < MAX_CONNECTIONS:
            try:
                client, _from = listener.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError:
                break  # no descriptors are left: clients wait until some are
            self._clients.add(client)
            self._start(self._serve(client, listener), client)
        self._loop.unwatch(listener)
        self._paused.append(listener)
        running = self._loop.running
        if running is not None:
            running.call_later(0.2, self._resume)

    def _resume(self) -> None:
        if len(self._tasks) < MAX_CONNECTIONS:
            paused, self._paused = self._paused, []
            for each in paused:
                self._watch(each)

    def _start(self, work: Coroutine[Any, Any, None], client: socket.socket | None) -> None:
        running = self._loop.running
        assert running is not None
        task = running.create_task(work)
        self._tasks.add(task)

        def ended(done: asyncio.Task[None]) -> None:
            self._tasks.discard(done)
            if client is not None:
                self._clients.discard(client)
                client.close()
            error = None if done.cancelled() else done.exception()
            if error is not None:
                name = type(error).__name__
                hint = f"The gateway's proxy failed by itself ({name}), so the connection was closed."
                self._report.add("net", "proxy", "", "proxy", hint)
                context = {"message": "egress: a connection failed", "exception": error, "task": done}
                done.get_loop().call_exception_handler(context)
            if self._paused and not self._closing:
                self._resume()

        task.add_done_callback(ended)

    async def _serve(self, client: socket.socket, listener: socket.socket) -> None:
        from gateway.sandbox.egress.serve import Connection

        client.setblocking(False)
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if listener is self._dns:
            await self._answer_stream(client)
            return
        if self._outside is None:
            self._outside = self._make_outside(self._report, self._names, self._end)
            if self._asks is not None:
                from gateway.sandbox.egress.asked_connections import Asking

                self._outside.asking = self._asking = Asking(self._asks, self._admit)
        program = self._program_of(client)
        if not self._place.alone and not await in_thread(program):
            self._report.add("net", "proxy", "", "proxy", _NOT_OURS)
            return
        dialled = None
        if listener is not self._proxy:
            address, port = client.getsockname()[:2]
            host = self._names.host_at(address)
            if host is None:
                return  # some address of the sandbox's own at which nobody listens
            dialled = (host, port)
        await Connection(self._outside, client, program).run(dialled)

    def _program_of(self, client: socket.socket) -> Callable[[], str]:
        """What finds the program at the other end, "" where it is none of this call's."""
        there, here = client.getpeername()[:2], client.getsockname()[:2]
        return lambda: self._call.program_at(there, here)

    def _admit(self, endpoint: Endpoint) -> None:
        from gateway.sandbox.egress.decide import Rules

        assert self._outside is not None
        network = self._outside.rules.network
        if network.mode == "listed":  # else it has ended meanwhile
            self._outside.rules = Rules(network.replace(allow=(*network.allow, endpoint)))

    async def _end(self) -> None:
        """Ends the network of the call for good: nothing is let out from here on, and nothing that was goes on."""
        import asyncio

        from gateway.sandbox.egress.decide import OVER

        assert self._outside is not None
        if self._outside.rules is OVER:
            return
        self._outside.rules = OVER
        self._names.end(OVER)
        self._outside.spare.close()
        others = [each for each in self._tasks if each is not asyncio.current_task()]
        for each in others:
            each.cancel()
        await asyncio.gather(*others, return_exceptions=True)

    def _ask(self) -> None:
        assert self._queries is not None
        for _ in range(16):
            try:
                message, sender = self._queries.recvfrom(4096)
            except OSError:
                return
            if self._answering < MAX_QUERIES:  # else it is lost, as datagrams are, and asked again
                self._answering += 1
                self._start(self._answer(message, sender), None)

    async def _answer(self, message: bytes, sender: Any) -> None:
        try:
            found = await self._names.answer(message)
            if found and self._queries is not None and not self._closing:
                self._queries.sendto(found, sender)
        except OSError:
            return  # the one who asked is gone
        finally:
            self._answering -= 1

    async def _answer_stream(self, client: socket.socket) -> None:
        import asyncio

        from gateway.sandbox.egress.streams import Plain, Stream, StreamError

        stream = Stream(Plain(client))
        try:
            for _ in range(QUERIES_OF_ONE_CLIENT):
                async with asyncio.timeout(IDLE_SECONDS):
                    size = int.from_bytes(await stream.exactly(2), "big")
                    message = await stream.exactly(size)
                found = await self._names.answer(message)
                if not found:
                    return
                await stream.send(len(found).to_bytes(2, "big") + found)
        except (StreamError, OSError, TimeoutError):
            return
