"""A small MCP server on standard input and output, as many are: it notes things, and it can wipe them."""

import json
import sys

NOTES = ["milk"]
TEXT = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
TOOLS = [
    {"name": "note", "description": "Notes something.", "inputSchema": TEXT},
    {"name": "list", "description": "Lists the notes.", "inputSchema": {"type": "object"}},
    {"name": "wipe", "description": "Removes every note.", "inputSchema": {"type": "object"}},
]


def call(name, given):
    if name == "note":
        NOTES.append(given["text"])
    elif name == "wipe":
        NOTES.clear()
    return {"content": [{"type": "text", "text": ", ".join(NOTES) or "nothing"}]}


for line in sys.stdin:
    asked = json.loads(line)
    if "id" not in asked:
        continue
    answer = {"jsonrpc": "2.0", "id": asked["id"]}
    params = asked.get("params", {})
    if asked["method"] == "initialize":
        answer["result"] = {
            "protocolVersion": params["protocolVersion"],
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "notes", "version": "1"},
        }
    elif asked["method"] == "tools/list":
        answer["result"] = {"tools": TOOLS}
    elif asked["method"] == "tools/call":
        answer["result"] = call(params["name"], params.get("arguments", {}))
    elif asked["method"] == "ping":
        answer["result"] = {}
    else:
        answer["error"] = {"code": -32601, "message": "no such method"}
    print(json.dumps(answer), flush=True)
