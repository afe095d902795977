"""An MCP client that knows nothing of the gateway: it starts a server by its command line, and uses its tools."""

import asyncio
import sys

from mcp import Client, StdioServerParameters


async def main() -> None:
    program, *words = sys.argv[1:]
    async with Client(StdioServerParameters(command=program, args=words)) as client:
        print("tools:", *(tool.name for tool in (await client.list_tools()).tools))
        for name, given in (("note", {"text": "bread"}), ("note", {"text": "see .env"}), ("list", {}), ("wipe", {})):
            result = await client.call_tool(name, given)
            print(f"{name}:", "refused" if result.is_error else result.content[0].text)


asyncio.run(main())
