"""A language server that does what `answers.json` in its folder says, and remembers what it heard.

By method: `{"result": …}`, `{"error": …}`, `{"end": status}`, `{"hang": true}`, `{"raw": text}` instead of an answer,
`{"tells": [[method, params], …]}` before it, `{"asks": [[method, params], …]}` with the answers as the result,
`{"tries": …}` with what came of them, `{"heard": [methods]}` with what was heard of those, `{"huge": characters}`.
`"pieces"`: of how many bytes its output comes. `"publishes"`: `plain`, `versioned` or nothing: an error for each BAD in
a file, a warning for each POOR. `ROOT` in texts is the address of its folder.
"""

from __future__ import annotations

import json
import os
import sys

TYPE_CHECKING = False  # it is started very often, and what it does not load costs nothing
if TYPE_CHECKING:
    from typing import Any

ROOT = "file://" + os.getcwd()
heard: list[dict[str, Any]] = []


def read() -> dict[str, Any]:
    length = 0
    while line := sys.stdin.buffer.readline().strip():
        name, _, value = line.partition(b":")
        length = int(value) if name.lower() == b"content-length" else length
    if not length:
        sys.exit(0)
    return json.loads(sys.stdin.buffer.read(length))


def write(data: bytes, pieces: int = 0) -> None:
    for start in range(0, len(data), pieces or len(data)):
        sys.stdout.buffer.write(data[start : start + (pieces or len(data))])
        sys.stdout.buffer.flush()


def send(message: dict[str, Any], pieces: int = 0) -> None:
    body = json.dumps({"jsonrpc": "2.0", **message}).replace("ROOT", ROOT).encode()
    write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body), pieces)


def tries(what: dict[str, Any]) -> dict[str, str]:
    """What comes of writing a file, reading one, and connecting to a port of this machine."""
    import socket
    from pathlib import Path

    found = {}
    for name, does in {
        "write": lambda path: Path(path).write_text("written", encoding="utf-8"),
        "read": lambda path: Path(path).read_text(encoding="utf-8"),
        "connect": lambda port: socket.create_connection(("127.0.0.1", port), 2).close(),
    }.items():
        if name in what:
            try:
                does(what[name])
                found[name] = "done"
            except OSError as error:
                found[name] = type(error).__name__
    return found


def publish(document: dict[str, Any], text: str, how: str) -> None:
    found = []
    for number, line in enumerate(text.split("\n")):
        for word, severity in (("BAD", 1), ("POOR", 2)):
            at = line.find(word)
            if at >= 0:
                start = {"line": number, "character": len(line[:at].encode("utf-16-le")) // 2}
                found.append({"range": {"start": start, "end": start}, "severity": severity, "source": "scripted",
                              "message": f"{word} word"})  # fmt: skip
    version = {"version": document["version"]} if how == "versioned" else {}
    params = {"uri": document["uri"], "diagnostics": found, **version}
    send({"method": "textDocument/publishDiagnostics", "params": params})


def answered(message: dict[str, Any], says: dict[str, Any]) -> None:
    number, method = message["id"], message["method"]
    does = says.get(method, {"result": {"capabilities": says["capabilities"]} if method == "initialize" else None})
    for name, params in does.get("tells", ()):
        send({"method": name, "params": params})
    if "end" in does:
        sys.stderr.write("the last words\n")
        sys.exit(does["end"])
    if "raw" in does:
        write(does["raw"].encode(), says.get("pieces", 0))
    elif "asks" in does:
        send({"id": number, "result": {"contents": json.dumps([asked(*each) for each in does["asks"]])}})
    elif "tries" in does:
        send({"id": number, "result": {"contents": json.dumps(tries(does["tries"]))}})
    elif "heard" in does:
        known = [each for each in heard if each.get("method") in does["heard"]]
        send({"id": number, "result": {"contents": json.dumps(known)}})
    elif "error" in does:
        send({"id": number, "error": does["error"]})
    elif "huge" in does:
        send({"id": number, "result": {"contents": "x" * does["huge"]}})
    elif "hang" not in does:
        send({"id": number, "result": does.get("result")}, says.get("pieces", 0))


def asked(method: str, params: Any) -> Any:
    send({"id": "mine", "method": method, "params": params})
    while (message := read()).get("id") != "mine":
        heard.append(message)
    return message.get("result", message.get("error"))


def main() -> None:
    while True:
        message = read()
        heard.append(message)
        with open("answers.json", encoding="utf-8") as file:
            says = json.load(file)
        method, params = message.get("method"), message.get("params")
        if method == "exit":
            sys.exit(0)
        if "id" in message and method:
            answered(message, says)
        elif method in ("textDocument/didOpen", "textDocument/didChange") and says.get("publishes"):
            document = params["textDocument"]
            text = document["text"] if "text" in document else params["contentChanges"][0]["text"]
            publish(document, text, says["publishes"])


if __name__ == "__main__":
    main()
