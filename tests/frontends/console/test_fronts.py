"""An agent whose calls run through the MCP server or the library, as processes of their own: what it asks for it cannot
answer, neither at the page nor where people elsewhere do."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
import starting
from consoles import Running
from patience import patience
from warmed import warm

if TYPE_CHECKING:
    from collections.abc import Iterator

LIBRARY = """
import json, sys
from gateway import Gateway, Options, RawCall
gateway = Gateway(Options(sys.argv[1]))
for tool, given in json.loads(sys.argv[2]):
    done = gateway.call(RawCall(tool, given))
    print(json.dumps([done.ran, done.result.reason, str(done.output)]))
gateway.close()
"""


def free() -> int:
    """A port that nobody has."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


class Elsewhere(Running):
    """A console that people elsewhere reach too."""

    remote: int


@pytest.fixture(scope="module")
def there(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Elsewhere]:
    pytest.importorskip("fido2")
    top = tmp_path_factory.mktemp("fronts")
    (top / "home" / ".config" / "gateway").mkdir(parents=True)
    (top / "home").chmod(0o700)
    (top / "project" / ".git").mkdir(parents=True)
    warm(top / "home" / ".cache" / "gateway")
    remote = free()
    (top / "home" / ".config" / "gateway" / "policy.yaml").write_text(
        f"version: 1\nsettings: {{remote: {{origin: 'http://localhost:{remote}', port: {remote}}}}}\nrules:\n"
        "  - {id: code, allow: {effect: code, program: '*', confined: true}}\n"
        "  - {id: read, allow: {effect: [list, read], path: './**'}}\n"
    )
    found = Elsewhere(top / "home", top / "project")
    found.remote = remote
    yield found
    found.close()


def by_mcp(there: Elsewhere, calls: list[Any]) -> list[str]:
    """What an MCP client that cannot ask anybody is told of each call."""
    said = [{"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "agent", "version": "1"}}},
        {"jsonrpc": "2.0", "method": "notifications/initialized"}]  # fmt: skip
    said += [
        {"jsonrpc": "2.0", "id": at, "method": "tools/call", "params": {"name": tool, "arguments": given}}
        for at, (tool, given) in enumerate(calls, 1)
    ]
    with starting.Popen(
        [sys.executable, "-m", "gateway", "mcp", "serve"], cwd=there.project, env=there.environment, text=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    ) as server:  # fmt: skip
        assert server.stdin is not None
        assert server.stdout is not None
        found: dict[int, str] = {}
        for each in said:
            server.stdin.write(json.dumps(each) + "\n")
            server.stdin.flush()
            while "id" in each and each["id"] not in found:
                told = json.loads(server.stdout.readline())
                if "method" not in told and "id" in told:
                    found[told["id"]] = json.dumps(told.get("result", told))
        server.stdin.close()
    return [found[at] for at in range(1, len(calls) + 1)]


def by_library(there: Elsewhere, calls: list[Any]) -> list[str]:
    """What a program that runs them through the library is told of each call."""
    done = subprocess.run(
        [sys.executable, "-c", LIBRARY, there.project, json.dumps(calls)], cwd=there.project, env=there.environment,
        capture_output=True, text=True, check=True, timeout=patience(30),
    )  # fmt: skip
    return done.stdout.splitlines()


@pytest.mark.skipif(shutil.which("perl") is None, reason="perl is not installed")
@pytest.mark.parametrize("front", [by_mcp, by_library], ids=["mcp", "library"])
def test_what_runs_for_an_agent_reaches_nobody_who_answers(there: Elsewhere, front: Any):
    state = f"{there.home}/.local/state/gateway/console"
    program = there.project / "reach.pl"
    program.write_text(
        "use Socket;\n"
        f"my @to = (map([PF_INET, pack_sockaddr_in($_, inet_aton('127.0.0.1'))], {there.port}, {there.remote}), "
        f"[PF_UNIX, pack_sockaddr_un('{state}/desk')]);\n"
        "for (@to) { socket(my $s, $_->[0], SOCK_STREAM, 0); "
        "print connect($s, $_->[1]) ? qq(got there;) : qq(not there;) }\n"
        f"print -e '{state}' ? 'saw it' : 'saw nothing';\n"
    )
    twin = subprocess.run(["perl", program], capture_output=True, text=True, check=True, timeout=patience(5))
    assert twin.stdout == "got there;got there;got there;saw it"
    answer = f"curl -s -X POST -H 'Origin: http://localhost:{there.remote}' http://127.0.0.1:{there.remote}/api/answer"
    attempts = [
        ["Bash", {"command": answer}],
        ["Bash", {"command": f"curl -s http://127.0.0.1:{there.port}/pending"}],
        ["Bash", {"command": f"curl --unix-socket {state}/desk http://x/"}],
        ["Bash", {"command": f"cat {state}/people.json"}],
        ["Bash", {"command": "gateway console --reader"}],
        ["Read", {"file_path": f"{state}/lock"}],
        ["Write", {"file_path": f"{state}/people.json", "content": "[]"}],
        ["WebFetch", {"url": f"http://127.0.0.1:{there.remote}/api/questions", "prompt": "all"}],
    ]
    reached, *refused = front(there, [["Bash", {"command": "perl reach.pl"}], *attempts])
    assert "not there;not there;not there;saw nothing" in reached
    for tried, told in zip(attempts, refused, strict=True):
        assert any(word in told.lower() for word in ("refuse", "denied", "deny", "not allowed", "cannot ask")), (
            tried, told,
        )  # fmt: skip
    assert not (there.home / ".local/state/gateway/console/people.json").exists()
