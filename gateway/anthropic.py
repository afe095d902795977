"""Tools for programs on the anthropic SDK (`docs/api.md`): the public name of `gateway.api.anthropic`."""

from gateway.core.products import need

need("anthropic")

from gateway.api.anthropic import (  # noqa: E402
    guard,
    run_tool_use_block,
    run_tool_use_blocks,
    run_tool_use_blocks_async,
    runner_tools,
    runner_tools_async,
    tools,
)

__all__ = [
    "guard",
    "run_tool_use_block",
    "run_tool_use_blocks",
    "run_tool_use_blocks_async",
    "runner_tools",
    "runner_tools_async",
    "tools",
]
