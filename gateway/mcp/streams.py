"""What the package `mcp` reads messages from and writes them to: pipes to a process, or requests over HTTP."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager

from gateway.mcp.lines import Lines, reading, writing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from typing import Any


@asynccontextmanager
async def over_pipes(into: int, out: int, stop: asyncio.Event) -> AsyncIterator[tuple[Any, Any]]:
    """Streams of messages over two pipes, which are owned from now on. `stop` is set when nothing more comes."""
    import anyio
    from mcp.shared.message import SessionMessage
    from mcp_types import jsonrpc_message_adapter

    to_us, heard = anyio.create_memory_object_stream[SessionMessage | Exception](float("inf"))
    said, from_us = anyio.create_memory_object_stream[SessionMessage](0)
    writer = await writing(out)

    def take(message: Any) -> None:
        try:
            to_us.send_nowait(SessionMessage(jsonrpc_message_adapter.validate_python(message, by_name=False)))
        except ValueError as error:
            to_us.send_nowait(error)

    def ended(_why: str) -> None:
        stop.set()
        to_us.close()

    transport = await reading(into, Lines(take, ended, garbage=lambda _line: to_us.send_nowait(ValueError("garbage"))))

    async def speak() -> None:
        async with from_us:
            async for each in from_us:
                await writer.write(plain(each.message))

    speaking = asyncio.ensure_future(speak())
    try:
        yield heard, said
    finally:
        speaking.cancel()
        transport.close()
        writer.close()
        for each in (to_us, heard, said, from_us):
            each.close()
        await asyncio.gather(speaking, return_exceptions=True)
        await asyncio.sleep(0)  # in which the transports give their descriptors back


def plain(message: Any) -> dict[str, Any]:
    """A message of the package `mcp` as JSON has it, with nothing that was not said."""
    found: dict[str, Any] = message.model_dump(by_alias=True, mode="json", exclude_unset=True)
    return found
