"""Tools for programs on the anthropic SDK: the gateway's own, and anybody's with the policy in front.

    import anthropic
    from gateway import Gateway, Options
    from gateway.api.anthropic import run_tool_use_blocks, runner_tools, tools

    with Gateway(Options(cwd=".", binding=True)) as guard, guard.session() as session:
        message = client.messages.create(..., tools=tools(guard, session))
        results = run_tool_use_blocks(guard, message.content, session)     # the content of the next user message

        client.beta.messages.tool_runner(..., tools=runner_tools(guard, session)).until_done()

`guard(gateway, tool)` puts the policy before a tool of the SDK's own kind (`@beta_tool`), for the tool runner and for
loops by hand alike. Nothing here raises for what a model asks for: it reads why its call was refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast, overload

from anthropic.lib.tools import BetaAsyncBuiltinFunctionTool, BetaBuiltinFunctionTool, ToolError

from gateway.api.guarding import Asked, Guard
from gateway.calls.output import Failure, Output, Text
from gateway.calls.results import tool_result
from gateway.model.call import RawCall

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from anthropic.lib.tools import BetaAsyncFunctionTool, BetaFunctionTool
    from anthropic.types import ToolParam, ToolResultBlockParam
    from anthropic.types.beta import BetaToolUnionParam

    from gateway.api.gateway import Gateway
    from gateway.api.guarding import Ran
    from gateway.calls.output import Done
    from gateway.calls.session import Session

    Content = str | Iterable[Any]
    SyncTool = BetaFunctionTool[Any] | BetaBuiltinFunctionTool
    AsyncTool = BetaAsyncFunctionTool[Any] | BetaAsyncBuiltinFunctionTool

__all__ = [
    "guard",
    "run_tool_use_block",
    "run_tool_use_blocks",
    "run_tool_use_blocks_async",
    "runner_tools",
    "runner_tools_async",
    "tools",
]


def tools(gateway: Gateway, session: Session | None = None) -> list[ToolParam]:
    """The definitions for `messages.create`: the tools that policy leaves something of. With many tools some wait until
    they are searched for, so ask again for each request."""
    return cast("list[ToolParam]", gateway.tools("anthropic", session=session))


# ------------------------------------------------------------------------------------------------ loops written by hand


def run_tool_use_blocks(
    gateway: Gateway, blocks: Iterable[Any], session: Session | None = None
) -> list[ToolResultBlockParam]:
    """Runs the `tool_use` blocks of a reply and gives one `tool_result` for each, in their order. Those that are safe
    side by side run so. Other blocks are left out; blocks may be the SDK's objects or plain dicts."""
    uses = _uses(blocks)
    done = gateway.batch([_raw(each) for each in uses], session=session)
    return [_result(each, what) for each, what in zip(uses, done, strict=True)]


async def run_tool_use_blocks_async(
    gateway: Gateway, blocks: Iterable[Any], session: Session | None = None
) -> list[ToolResultBlockParam]:
    """As `run_tool_use_blocks`, without blocking the loop. When the task is cancelled, all that was started has ended
    before the cancellation goes on."""
    uses = _uses(blocks)
    done = await gateway.batch_async([_raw(each) for each in uses], session=session)
    return [_result(each, what) for each, what in zip(uses, done, strict=True)]


def run_tool_use_block(gateway: Gateway, block: Any, session: Session | None = None) -> ToolResultBlockParam:
    """Runs one `tool_use` block."""
    return _result(block, gateway.call(_raw(block), session=session))


def _uses(blocks: Iterable[Any]) -> list[Any]:
    return [each for each in blocks if _of(each, "type") == "tool_use"]


def _of(block: Any, name: str) -> Any:
    return block.get(name) if isinstance(block, Mapping) else getattr(block, name, None)


def _raw(block: Any) -> RawCall:
    return RawCall(str(_of(block, "name") or ""), _of(block, "input"))


def _result(block: Any, done: Done) -> ToolResultBlockParam:
    return cast("ToolResultBlockParam", tool_result(done.output, str(_of(block, "id") or "")))


# ------------------------------------------------------------------------------------------------------ the tool runner


def runner_tools(gateway: Gateway, session: Session | None = None) -> list[BetaBuiltinFunctionTool]:
    """The gateway's tools for the SDK's tool runner, plain or streaming, with tools run eagerly or not. None waits to
    be searched for: the runner is given its tools once."""
    return [_Own(gateway, definition, session) for definition in _definitions(gateway, session)]


def runner_tools_async(gateway: Gateway, session: Session | None = None) -> list[BetaAsyncBuiltinFunctionTool]:
    """The same for the asynchronous tool runner."""
    return [_OwnAsync(gateway, definition, session) for definition in _definitions(gateway, session)]


def _definitions(gateway: Gateway, session: Session | None) -> list[dict[str, Any]]:
    """Every tool that is offered, in full."""
    return [
        {"name": each["name"], "description": each["description"], "input_schema": each["inputSchema"]}
        for each in gateway.tools("mcp", session=session)
    ]


class _Own(BetaBuiltinFunctionTool):
    """One of the gateway's tools."""

    def __init__(self, gateway: Gateway, definition: dict[str, Any], session: Session | None) -> None:
        self._gateway = gateway
        self._definition = definition
        self._session = session

    def to_dict(self) -> BetaToolUnionParam:
        return cast("BetaToolUnionParam", self._definition)

    def call(self, input: object) -> Any:  # noqa: A002 - the SDK's name for it
        return _said(self._gateway.call(RawCall(self.name, input), session=self._session))  # type: ignore[arg-type]


class _OwnAsync(BetaAsyncBuiltinFunctionTool):
    """The same for asyncio."""

    def __init__(self, gateway: Gateway, definition: dict[str, Any], session: Session | None) -> None:
        self._gateway = gateway
        self._definition = definition
        self._session = session

    def to_dict(self) -> BetaToolUnionParam:
        return cast("BetaToolUnionParam", self._definition)

    async def call(self, input: object) -> Any:  # noqa: A002 - the SDK's name for it
        raw = RawCall(self.name, input)  # type: ignore[arg-type]  # what is no object is refused there
        return _said(await self._gateway.call_async(raw, session=self._session))


def _said(done: Done) -> Any:
    """What the runner hands to the model. Raises ToolError, which makes an error of it."""
    content = tool_result(done.output, "")["content"]
    if done.output.is_error:
        raise ToolError(content)
    return content


# ---------------------------------------------------------------------------------------------------- tools of your own


@overload
def guard(
    gateway: Gateway,
    tool: SyncTool,
    session: Session | None = None,
    *,
    judged_as: Callable[[Mapping[str, Any]], RawCall] | None = None,
) -> BetaBuiltinFunctionTool: ...


@overload
def guard(
    gateway: Gateway,
    tool: AsyncTool,
    session: Session | None = None,
    *,
    judged_as: Callable[[Mapping[str, Any]], RawCall] | None = None,
) -> BetaAsyncBuiltinFunctionTool: ...


def guard(
    gateway: Gateway,
    tool: SyncTool | AsyncTool,
    session: Session | None = None,
    *,
    judged_as: Callable[[Mapping[str, Any]], RawCall] | None = None,
) -> BetaBuiltinFunctionTool | BetaAsyncBuiltinFunctionTool:
    """A tool of the SDK's own kind with the policy before it: each call is judged, asked about where policy asks,
    recorded, and then run by the tool itself, in this process and outside any sandbox.

    Rules name it `mcp__app__NAME`. What nobody declared of it is judged by what its arguments look like, and asks.
    `judged_as` says which call of a known tool it amounts to, such as
    `lambda given: RawCall("Bash", {"command": given["command"]})`.
    """
    import inspect

    if isinstance(tool, (_Guarded, _GuardedAsync)):
        return tool
    name = tool.name
    front = Guard(gateway, session, judged_as=None if judged_as is None else {name: judged_as})
    return _GuardedAsync(front, tool) if inspect.iscoroutinefunction(tool.call) else _Guarded(front, tool)


class _Guarded(BetaBuiltinFunctionTool):
    """A tool with the policy before it."""

    def __init__(self, front: Guard, tool: Any) -> None:
        self._front = front
        self._tool = tool

    def to_dict(self) -> BetaToolUnionParam:
        return cast("BetaToolUnionParam", self._tool.to_dict())

    def call(self, input: object) -> Any:  # noqa: A002 - the SDK's name for it
        asked = Asked(self._tool.name, input)  # type: ignore[arg-type]  # what is no object is refused there
        return _content(self._front.run(asked, lambda judged: _done(self._tool, judged), told=_output))

    def __getattr__(self, name: str) -> Any:
        if name == "_tool":  # before it is made
            raise AttributeError(name)
        return getattr(self._tool, name)


class _GuardedAsync(BetaAsyncBuiltinFunctionTool):
    """The same for asyncio: the tool itself runs on the loop that called."""

    def __init__(self, front: Guard, tool: Any) -> None:
        self._front = front
        self._tool = tool

    def to_dict(self) -> BetaToolUnionParam:
        return cast("BetaToolUnionParam", self._tool.to_dict())

    async def call(self, input: object) -> Any:  # noqa: A002 - the SDK's name for it
        asked = Asked(self._tool.name, input)  # type: ignore[arg-type]
        return _content(
            await self._front.run_async(asked, lambda judged: _done_async(self._tool, judged), told=_output)
        )

    def __getattr__(self, name: str) -> Any:
        if name == "_tool":
            raise AttributeError(name)
        return getattr(self._tool, name)


def _content(ran: Ran) -> Any:
    """What the runner hands to the model. Raises ToolError for a call that did not work."""
    if ran.content is not None and not ran.is_error:
        return ran.content
    if ran.done is None:
        raise ToolError(ran.text)
    return _said(ran.done)


def _done(tool: Any, given: Any) -> Any:
    """What a tool says. Its own errors are the model's to read."""
    try:
        return _kept(tool.call(given))
    except Exception as error:
        raise _failure(error) from error


async def _done_async(tool: Any, given: Any) -> Any:
    try:
        return _kept(await tool.call(given))
    except Exception as error:
        raise _failure(error) from error


def _failure(error: Exception) -> Failure:
    """As the SDK tells a tool's errors."""
    return Failure(str(error) if isinstance(error, ToolError) else repr(error))


def _kept(content: Content) -> str | list[Any]:
    return content if isinstance(content, str) else list(content)


def _output(content: str | Sequence[Any]) -> Output:
    """What is recorded of a result, and what hooks may change: its text."""
    if isinstance(content, str):
        return Output((Text(content),))
    texts = [str(_of(each, "text")) for each in content if _of(each, "type") == "text"]
    return Output(tuple(Text(each) for each in texts))
