"""An agent of claude-agent-sdk with the policy before its tools, the client's own ones included."""

import asyncio
from pathlib import Path
from typing import Any

from claude_agent_sdk import ClaudeAgentOptions, ClaudeSDKClient, create_sdk_mcp_server, tool
from steps import STEPS, agreed, told

from gateway.adapters.claude_agent import guarded
from gateway.install.scripted_model import Model


@tool("send_mail", "Sends a mail.", {"to": str, "text": str})
async def send_mail(given: dict[str, Any]) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": f"{given['text']!r} is sent to {given['to']}"}]}


def ask(_tool: str, _given: dict[str, Any], why: str) -> bool:
    return agreed(why)


async def main(model: Model) -> None:
    # `env` stands for your account: leave it out with one.
    environment = {"ANTHROPIC_BASE_URL": model.url, "ANTHROPIC_API_KEY": "none", "DISABLE_AUTOUPDATER": "1"}
    environment |= {"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "IS_SANDBOX": "1"}
    app = create_sdk_mcp_server("app", tools=[send_mail])
    options = ClaudeAgentOptions(cwd=".", mcp_servers={"app": app}, setting_sources=[], env=environment)
    async with ClaudeSDKClient(guarded(options, ask)) as client:
        await client.query("Tell Ann when the meeting is.")
        async for _message in client.receive_response():
            pass


NAMES = {"send_mail": "mcp__app__send_mail"}
GIVEN = {"Read": {"file_path": str(Path("notes.txt").absolute())}}
steps = [[(NAMES.get(name, name), GIVEN.get(name, given))] for name, given in STEPS]
with Model(steps) as model:
    asyncio.run(main(model))
for (name, _given), result in zip(STEPS, model.results(), strict=False):
    told(name, result)
