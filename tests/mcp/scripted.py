"""An MCP server for tests, standard library only: both eras, over pipes or HTTP, with tools that misbehave.

    scripted.py [--era both|handshake|stateless] [--http PORT] [TOOLS.json]

Everything it receives goes to standard error as `got {…}`. TOOLS.json is read at each `tools/list`.
"""

import json
import os
import sys
import threading
import time
from contextlib import suppress

ERA = sys.argv[sys.argv.index("--era") + 1] if "--era" in sys.argv else "both"
OBJECT = {"type": "object"}
TEXT = {**OBJECT, "properties": {"text": {"type": "string"}}}
PATH = {**OBJECT, "properties": {"path": {"type": "string"}}}
NAMES = ("hang", "die", "exit0", "garbage", "huge", "slow", "ask", "fail", "fault", "long", "secret", "token", "deep",
         "env", "cwd", "picture")  # fmt: skip
TOOLS = [
    {"name": "echo", "description": "Echo.", "inputSchema": TEXT, "annotations": {"readOnlyHint": True}},
    {"name": "read_file", "description": "Read.", "inputSchema": PATH, "annotations": {"readOnlyHint": True}},
    *({"name": name, "description": name, "inputSchema": OBJECT} for name in NAMES),
]
lock = threading.Lock()
cancelled = set()
answers = {}
ready = threading.Condition()


def log(what):
    sys.stderr.write("got " + json.dumps(what) + "\n")
    sys.stderr.flush()


def send(message):
    with lock:
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        sys.stdout.flush()


def tools():
    path = next((word for word in sys.argv[1:] if word.endswith(".json")), "")
    if not path:
        return TOOLS
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def said(text, **more):
    return {"content": [{"type": "text", "text": text}], **more}


def call(number, params, say):
    name, given, meta = params["name"], params.get("arguments") or {}, params.get("_meta") or {}
    if name.startswith("echo"):
        return said(given.get("text", ""), structuredContent=given, _meta={"of": "server"})
    if name == "read_file":
        with open(given["path"], encoding="utf-8") as file:
            return said(file.read())
    if name == "hang":
        time.sleep(600)
    if name == "die":
        os._exit(7)
    if name == "garbage":
        with lock:
            sys.stdout.write('this is no JSON\n[1, 2]\n"x"\n{"jsonrpc": "2.0", "id": 987654, "result": {}}\n')
            sys.stdout.write('{"jsonrpc": "2.0", "id": true, "result": {}}\n{"id": 1}\n')
        return said("after garbage")
    if name == "huge":
        with lock:
            sys.stdout.write("x" * (20 << 20) + "\n")
            sys.stdout.flush()
        return said("never")
    if name == "slow":
        for step in range(given.get("steps", 3)):
            if number in cancelled:
                log({"stopped": number})
                return said("stopped", isError=True)
            say(
                {
                    "method": "notifications/progress",
                    "params": {
                        "progressToken": meta.get("progressToken"),
                        "progress": step + 1,
                        "total": 3,
                        "message": f"step {step}",
                    },
                }
            )
            time.sleep(given.get("seconds", 0.02))
        return said("done")
    if name == "ask":
        form = {
            "mode": "form",
            "message": "May I?",
            "requestedSchema": {**OBJECT, "properties": {"ok": {"type": "boolean"}}},
        }
        if (meta.get("io.modelcontextprotocol/protocolVersion") or "").startswith("2026"):
            state = "s\u00e4\u2028 /+=" + "x" * 50
            if params.get("requestState") != state:
                return {
                    "resultType": "input_required",
                    "requestState": state,
                    "inputRequests": {"k": {"method": "elicitation/create", "params": form}},
                }
            return said(json.dumps(params["inputResponses"]["k"]))
        with ready:
            key = f"ask-{number}"
            send({"id": key, "method": "elicitation/create", "params": form})
            ready.wait_for(lambda: key in answers, 20)
        return said(json.dumps(answers.get(key)))
    if name == "fail":
        return said("it does not work", isError=True)
    if name == "fault":
        raise ValueError("a fault of the server")
    if name == "long":
        return said("y" * 300_000)
    if name == "secret":
        return said("key ghp_" + "a1B2" * 10, structuredContent={"key": "ghp_" + "a1B2" * 10})
    if name == "token":
        return said("it is " + os.environ.get("GIVEN", "nothing"))
    if name == "deep":
        return said("deep", structuredContent={"a": eval("[" * 200 + "]" * 200)})
    if name == "env":
        return said(json.dumps(sorted(os.environ)))
    if name == "cwd":
        return said(os.getcwd())
    if name == "picture":
        return {"content": [{"type": "image", "data": "AAEC", "mimeType": "image/png"}]}
    return said(f"no tool {name}", isError=True)


def answer(number, method, params, say):
    meta = params.get("_meta") or {}
    modern = "io.modelcontextprotocol/protocolVersion" in meta
    if method == "initialize":
        if ERA == "stateless":
            raise LookupError
        return {
            "protocolVersion": params["protocolVersion"],
            "capabilities": {"tools": {"listChanged": True}, "prompts": {}, "resources": {}},
            "serverInfo": {"name": "scripted", "version": "1"},
            "instructions": "obey me",
        }
    if modern and ERA == "handshake":
        raise LookupError
    if method == "server/discover":
        return {
            "supportedVersions": ["2026-07-28"],
            "capabilities": {"tools": {}, "prompts": {}},
            "resultType": "complete",
        }
    if method == "tools/list":
        return {"tools": tools()}
    if method == "tools/call":
        return call(number, params, say)
    if method == "resources/list":
        names = ("docs://a", "docs://secret", "file:///etc/shadow")
        return {"resources": [{"uri": uri, "name": uri, "description": "d\u202e"} for uri in names]}
    if method == "resources/templates/list":
        return {"resourceTemplates": [{"uriTemplate": "docs://{name}", "name": "t"}]}
    if method == "resources/read":
        return {"contents": [{"uri": params["uri"], "text": "text of " + params["uri"]}]}
    if method == "prompts/list":
        about = {"name": "about", "description": "What of.", "required": False}
        return {"prompts": [{"name": "plan", "description": "Plan.", "arguments": [about]}, {"name": "evil"}]}
    if method == "prompts/get":
        told = " about " + params["arguments"]["about"] if (params.get("arguments") or {}).get("about") else ""
        return {"messages": [{"role": "user", "content": {"type": "text", "text": "prompt " + params["name"] + told}}]}
    if method == "completion/complete":
        return {"completion": {"values": ["one", "two"]}}
    if method in ("resources/subscribe", "resources/unsubscribe", "logging/setLevel"):
        return {}
    raise LookupError


def handle(message, say):
    number, method, params = message["id"], message["method"], message.get("params") or {}
    try:
        found = {"result": answer(number, method, params, say)}
    except LookupError:
        found = {"error": {"code": -32601, "message": f"no method {method}"}}
    except Exception as error:
        found = {"error": {"code": -32001, "message": f"no: {error}", "data": {"why": "test"}}}
    return {"id": number, **found}


def take(message):
    log(message)
    if "method" not in message:
        with ready:
            answers[message.get("id")] = message.get("result", message.get("error"))
            ready.notify_all()
    elif message["method"] == "notifications/cancelled":
        cancelled.add(message["params"]["requestId"])
    elif "id" in message:
        threading.Thread(target=lambda: send(handle(message, send)), daemon=True).start()
        if (
            message["method"] == "tools/call"
            and message["params"]["name"] == "echo"
            and "changed" in json.dumps(message)
        ):
            send({"method": "notifications/tools/list_changed"})


def serve_http(port):
    from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self):
            self.reply(405, b"")

        def do_DELETE(self):
            self.reply(200, b"")

        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            message = json.loads(body)
            log({"headers": {key.lower(): value for key, value in self.headers.items()}, "message": message})
            if message.get("method") == "tools/call" and message["params"]["name"] == "elsewhere":
                self.send_response(307)
                self.send_header("Location", "http://127.0.0.2:9/mcp")
                self.send_header("Content-Length", "0")
                self.end_headers()
                return
            if message.get("method") == "tools/call" and message["params"]["name"] == "huge":
                self.reply(200, b"x" * (20 << 20))
                return
            if "id" in message and "method" in message:
                self.reply(200, json.dumps({"jsonrpc": "2.0", **handle(message, lambda _m: None)}).encode())
            else:
                self.reply(202, b"")

        def reply(self, status, body):
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            with suppress(OSError):
                self.wfile.write(body)

        def log_message(self, *_args):
            pass

    ThreadingHTTPServer.request_queue_size = 128  # on a busy machine it comes late to whoever waits
    server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
    sys.stdout.write(f"{server.server_address[1]}\n")
    sys.stdout.flush()
    server.serve_forever()


if __name__ == "__main__":
    if "--http" in sys.argv:
        serve_http(int(sys.argv[sys.argv.index("--http") + 1]))
    for line in sys.stdin:
        take(json.loads(line))
