"""What Codex itself says of its hooks: asked from `codex app-server`, which knows the hash that trust is recorded by.

An untrusted hook is skipped without a word, so nothing but Codex's own answer counts.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import threading
from contextlib import suppress

from gateway.core.errors import GatewayError
from gateway.core.programs import persons_environment
from gateway.core.value import Value
from gateway.install.own_hooks import agent_of
from gateway.install.pieces import TOML, Member, Target

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

SECONDS = 30.0
_MOST = 4_000_000


class ListedHook(Value):
    """A hook as Codex lists it. `key` and `hash`: what trust in it is recorded by; `trust`: what Codex says now."""

    key: str
    hash: str
    event: str
    command: str
    trust: str
    source: str

    @property
    def is_own(self) -> bool:
        """Whether it starts the gateway."""
        import shlex

        try:
            return bool(agent_of(shlex.split(self.command)))
        except ValueError:
            return False

    @property
    def runs(self) -> bool:
        """Whether Codex runs it: it is managed, or trusted as it stands."""
        return self.trust.lower() in ("trusted", "managed")


def listed(program: str, project: str, environment: Mapping[str, str]) -> tuple[ListedHook, ...]:
    """Every hook that Codex finds for a project. Raises GatewayError where it does not tell."""
    found = _asked([program, "app-server"], project, environment)
    try:
        return tuple(_hook(each) for folder in found["data"] for each in folder["hooks"])
    except (KeyError, TypeError) as error:
        raise GatewayError(f"codex app-server answered in a form that is not known ({error})") from error


def trusting(config: str, hooks: Sequence[ListedHook]) -> Target:
    """What has to be in Codex's configuration so that it runs these hooks."""
    return Target(
        config, TOML, tuple(Member(("hooks", "state", each.key), "trusted_hash", each.hash) for each in hooks)
    )


def _hook(found: Mapping[str, Any]) -> ListedHook:
    return ListedHook(
        str(found["key"]),
        str(found["currentHash"]),
        event=str(found.get("eventName", "")),
        command=str(found.get("command") or ""),
        trust=str(found.get("trustStatus", "")),
        source=str(found.get("sourcePath", "")),
    )


def _asked(line: Sequence[str], project: str, environment: Mapping[str, str]) -> Any:
    """The answer to `hooks/list`, of a server that is ended afterwards."""
    messages = (
        {"id": 1, "method": "initialize", "params": {
            "clientInfo": {"name": "gateway", "title": "gateway", "version": "0"}}},
        {"method": "initialized"},
        {"id": 2, "method": "hooks/list", "params": {"cwds": [project]}},
    )  # fmt: skip
    try:
        server = subprocess.Popen(
            line, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd="/",
            env=persons_environment(environment, (project,)), start_new_session=True,
        )  # fmt: skip
    except OSError as error:
        raise GatewayError(f"{line[0]} cannot be started: {error.strerror}") from error

    def end() -> None:
        """Ends it with what it has started: the program may be a script that starts another one."""
        with suppress(ProcessLookupError, PermissionError):  # it has ended
            os.killpg(server.pid, signal.SIGKILL)

    late = threading.Timer(SECONDS, end)
    late.start()
    try:
        assert server.stdin is not None
        assert server.stdout is not None
        first, *rest = (json.dumps(each).encode() + b"\n" for each in messages)
        server.stdin.write(first)
        server.stdin.flush()
        read = 0
        while data := server.stdout.readline(_MOST + 1):
            read += len(data)
            if read > _MOST:
                break
            try:
                answer = json.loads(data)
            except (ValueError, RecursionError):
                continue
            if not isinstance(answer, dict):
                continue
            if answer.get("id") == 1:
                server.stdin.write(b"".join(rest))
                server.stdin.flush()
            elif answer.get("id") == 2 and "result" in answer:
                return answer["result"]
            if "error" in answer and answer.get("id") in (1, 2):
                raise GatewayError(f"codex app-server refused: {answer['error']}")
    except OSError as error:
        raise GatewayError(f"codex app-server ended: {error.strerror}") from error
    finally:
        late.cancel()
        end()
        server.communicate()
    raise GatewayError("codex app-server did not answer")
