"""The server process of a console: listens, opens a browser, and closes everything when it ends."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
from time import monotonic
from typing import TYPE_CHECKING

import uvicorn

from gateway.core.errors import ConfigError, Problem
from gateway.core.places import DESK_FOLDER
from gateway.frontends.console.app import Console
from gateway.frontends.console.guard import LOOPBACK, MOST_HEAD, Guard
from gateway.frontends.console.live import Live
from gateway.frontends.console.opening import Opener
from gateway.frontends.console.question_queue import Desk
from gateway.frontends.console.tokens import Tokens
from gateway.spec.remote import PORT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import Any

    from gateway.frontends.console.opening import Wanted
    from gateway.frontends.console.question_queue import Waiting
    from gateway.frontends.console.remote.elsewhere import Elsewhere
    from gateway.frontends.console.sources import Sources

_MOST_CONNECTIONS = 64
_END_SECONDS = 1


def serve(
    sources: Sources, state: str, wanted: Wanted, say: Callable[[str], None], remote: Mapping[str, Any] | None = None
) -> None:
    """Serves until it is told to end. `state`: the gateway's state folder; `say` shows a text; `remote`: the setting,
    where people may answer from elsewhere. Raises ConfigError where it cannot listen, or a console runs already, or a
    secret of the setting is missing."""
    live = Live(sources.record)
    folder = os.path.join(state, DESK_FOLDER)
    tokens = Tokens(monotonic)
    served = _Served()
    desk = Desk(
        folder,
        pages=live.answering,
        changed=lambda: console.waiting_changed(),
        elsewhere=lambda: served.remote is not None,
        came=served.tell,
    )
    console = Console(sources, tokens, desk, live)
    desk.claim()
    listening = [_listening(wanted.port)]
    try:
        if remote is not None:
            from gateway.frontends.console.remote.elsewhere import Elsewhere

            listening.append(_listening(remote.get("port", PORT)))
            served.remote = Elsewhere(folder, remote, desk, say)
        opener = Opener(tokens, folder, listening[0], wanted, say, served.remote)
        with contextlib.suppress(KeyboardInterrupt):
            asyncio.run(_run(console, desk, live, listening, opener, served.remote))
    finally:
        for each in listening:
            each.close()


class _Served:
    """What is there only when people may answer from elsewhere."""

    remote: Elsewhere | None = None

    def tell(self, waiting: Waiting) -> None:
        """Has people told of a question."""
        if self.remote is not None:
            self.remote.telling.tell(waiting)


def _listening(port: int) -> socket.socket:
    found = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        found.bind((LOOPBACK, port))
    except OSError as error:
        found.close()
        remedy = "leave --port out, and any free one is taken; `remote: {port: …}` names the other one"
        raise ConfigError(Problem(f"port {port} cannot be opened: {error.strerror}", remedy=remedy)) from error
    found.set_inheritable(False)
    return found


async def _run(
    console: Console,
    desk: Desk,
    live: Live,
    listening: list[socket.socket],
    opener: Opener,
    remote: Elsewhere | None,
) -> None:
    here = listening[0]
    server = uvicorn.Server(_config(Guard(console.app(), here.getsockname()[1])))
    beside: list[asyncio.Task[None]] = []
    await desk.start()
    console.when_opened(opener.forget)
    if remote is not None:
        # Apart from the pages of this machine: who comes from elsewhere takes none of their connections.
        there = listening[1]
        another = _Beside(_config(Guard(remote.app(), there.getsockname()[1], origin=remote.origin)))
        beside.append(asyncio.create_task(another.serve(sockets=[there])))
    beside += [asyncio.create_task(live.watch()), asyncio.create_task(_when_started(server, opener))]
    try:
        await server.serve(sockets=[here])
    finally:
        for each in beside:
            each.cancel()
        opener.close()
        console.close()
        if remote is not None:
            await remote.telling.close()
        await desk.close()
        await asyncio.gather(*beside, return_exceptions=True)


class _Beside(uvicorn.Server):
    """A server that leaves signals to the other one."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Captures none."""
        yield


def _config(app: Guard) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        lifespan="off",
        ws="none",
        http="h11",
        loop="asyncio",
        server_header=False,
        proxy_headers=False,
        limit_concurrency=_MOST_CONNECTIONS,
        h11_max_incomplete_event_size=MOST_HEAD,
        timeout_graceful_shutdown=_END_SECONDS,
    )


async def _when_started(server: uvicorn.Server, opener: Opener) -> None:
    while not server.started:
        await asyncio.sleep(0.01)
    opener.begin(asyncio.get_running_loop())
