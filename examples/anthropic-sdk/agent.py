"""An agent in a page, on the anthropic SDK: its tools are the gateway's, so policy and sandbox hold for each call."""

import sys

import anthropic

from gateway import Gateway, Options
from gateway.anthropic import run_tool_use_blocks, runner_tools, tools

MODEL = "claude-sonnet-5"


def by_hand(client: anthropic.Anthropic, gateway: Gateway, task: str) -> str:
    """The loop written out: ask, run what the model calls, hand the results back."""
    messages = [{"role": "user", "content": task}]
    with gateway.session() as session:
        while True:
            reply = client.messages.create(
                model=MODEL, max_tokens=2000, messages=messages, tools=tools(gateway, session)
            )
            if reply.stop_reason != "tool_use":
                return reply.content[-1].text
            messages.append({"role": "assistant", "content": reply.content})
            messages.append({"role": "user", "content": run_tool_use_blocks(gateway, reply.content, session)})


def by_the_runner(client: anthropic.Anthropic, gateway: Gateway, task: str) -> str:
    """The same with the SDK's tool runner."""
    with gateway.session() as session:
        runner = client.beta.messages.tool_runner(
            model=MODEL,
            max_tokens=2000,
            messages=[{"role": "user", "content": task}],
            tools=runner_tools(gateway, session),
        )
        return runner.until_done().content[-1].text


if __name__ == "__main__":
    way = by_the_runner if sys.argv[1] == "--runner" else by_hand
    with anthropic.Anthropic() as client, Gateway(Options(cwd=".", binding=True)) as gateway:
        print(way(client, gateway, sys.argv[-1]))
