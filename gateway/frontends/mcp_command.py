"""What `gateway mcp serve` and `gateway mcp proxy` do, and how their words are read without loading more than that."""

from __future__ import annotations

import gc
import os
import select
import sys
import threading

from gateway.core.errors import ConfigError, Problem
from gateway.core.value import Value
from gateway.frontends.approvers import by_console
from gateway.frontends.arguments import Request
from gateway.frontends.output import complain
from gateway.frontends.session import open_gateway
from gateway.policy.wording import visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from gateway.api.gateway import Gateway
    from gateway.approval.base import Question
    from gateway.mcp.endpoint import Endpoint

TOKEN_VARIABLE = "GATEWAY_MCP_TOKEN"
# What stands behind `--` of `mcp proxy`, for typer: one option for each word.
WORD = "--word"
_LEAST_TOKEN = 16
# What a pipe that has room takes without waiting, and how long one without is waited for.
_AT_ONCE, _WAITS_MS = 4_096, 2_000


class Asked(Value):
    """The options of both commands, as they were given."""

    names: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    url: str | None = None
    name: str | None = None
    what: str | None = None
    env: tuple[str, ...] = ()
    header: tuple[str, ...] = ()
    seconds: str = "60"
    namespaced: bool = False
    http: str | None = None
    token_file: str | None = None
    remote: bool = False
    host_name: tuple[str, ...] = ()
    no_elicitation: bool = False
    policies: str | None = None
    cwd: str | None = None
    mode: str | None = None
    trust_project: tuple[str, ...] = ()


_FLAGS = {"--namespaced": "namespaced", "--remote": "remote", "--no-elicitation": "no_elicitation"}
_VALUES = {
    "--url": "url", "--name": "name", "--is": "what", "--seconds": "seconds", "--http": "http",
    "--token-file": "token_file", "--policies": "policies", "--cwd": "cwd", "--mode": "mode",
}  # fmt: skip
_LISTS = {"--env": "env", "--header": "header", "--host-name": "host_name", "--trust-project": "trust_project"}
_OF_PROXY = frozenset(("--namespaced", "--url", "--name", "--is", "--seconds", "--env", "--header"))


def run(words: Sequence[str]) -> int | None:
    """Runs `serve` or `proxy` where the words are their exact forms; None for typer to read them. Raises as they do."""
    command, found = words[0], _read(words)
    if found is None:
        return None
    return serve(found) if command == "serve" else proxy(found)


def _read(words: Sequence[str]) -> Asked | None:
    is_proxy, at = words[0] == "proxy", 1
    given: dict[str, Any] = {}
    while at < len(words):
        word = words[at]
        at += 1
        if word == "--" and is_proxy:
            given["words"] = tuple(words[at:])
            break
        if not word.startswith("-") and is_proxy:
            given["names"] = (*given.get("names", ()), word)
            continue
        name, equals, value = word.partition("=")
        if name in _OF_PROXY and not is_proxy:
            return None
        if name in _FLAGS and not equals:
            given[_FLAGS[name]] = True
            continue
        if name not in _VALUES and name not in _LISTS:
            return None
        if not equals:
            if at == len(words):
                return None
            value, at = words[at], at + 1
        if name in _LISTS:
            given[_LISTS[name]] = (*given.get(_LISTS[name], ()), value)
        else:
            given[_VALUES[name]] = value
    return Asked(**given)


def serve(asked: Asked) -> int:
    """Serves the gateway's own tools until the client has gone. Raises ConfigError for wrong usage."""
    gateway = _open(asked, "mcp")
    with gateway:

        def endpoint() -> Endpoint:
            from gateway.mcp.serve import Serving

            return Serving(gateway)

        return _serve(endpoint, asked)


def proxy(asked: Asked) -> int:
    """Serves servers behind the policy until the client has gone. Raises ConfigError for wrong usage."""
    names = asked.names
    if sum((bool(names), bool(asked.words), asked.url is not None)) != 1:
        remedy = "see `gateway mcp proxy --help`"
        raise ConfigError(Problem("servers must be given by NAME, as `-- CMD ...`, or with --url", remedy=remedy))
    if names and (asked.name or asked.what or asked.env or asked.header):
        raise ConfigError(
            Problem("--name, --is, --env and --header go with `-- CMD ...` and --url", remedy="set `servers`")
        )
    ad_hoc: dict[str, dict[str, Any]] = {}
    if not names:
        ad_hoc = _declared(asked)
    servers = tuple((key, each["is"], each["url"]) for key, each in ad_hoc.items())
    gateway = _open(asked, "mcp-proxy", servers)
    with gateway:
        known = gateway.loaded.settings.get("servers")
        configured: Mapping[str, dict[str, Any]] = {} if known is None else known.value
        for each in names:
            if each not in configured:
                remedy = f"configured are {', '.join(configured) or 'none'}; or give `-- CMD ...`"
                raise ConfigError(
                    Problem(f"server must be one of the setting `servers` (got `{visible(each)}`)", remedy=remedy)
                )
        for key in ad_hoc:
            if key in configured:
                remedy = f"use `gateway mcp proxy {key}`, or another --name"
                raise ConfigError(Problem(f"`{key}` is the name of a server that policy configures", remedy=remedy))
        found = {each: configured[each] for each in dict.fromkeys(names)} or ad_hoc

        def endpoint() -> Endpoint:
            from gateway.mcp.pins import Pins
            from gateway.mcp.proxy import Proxying

            pins = Pins(gateway.places.state)
            return Proxying(gateway, found, namespaced=asked.namespaced or len(found) > 1, pins=pins, says=_Saying())

        return _serve(endpoint, asked)


class _Saying:
    """Tells people what servers say: whoever started this process reads it, maybe at a terminal. One who has stopped
    reading is waited for once, and told nothing until there is room again: the servers' other clients go on."""

    def __init__(self) -> None:
        self._is_heard = True
        self._lock = threading.Lock()

    def __call__(self, data: bytes) -> None:
        from gateway.mcp.sanitised import shown

        left = shown(data.decode("utf-8", "backslashreplace")).encode("utf-8", "backslashreplace")
        with self._lock:
            while left and self._has_room():
                try:
                    left = left[os.write(2, left[:_AT_ONCE]) :]
                except OSError:
                    return  # nobody reads it any more

    def _has_room(self) -> bool:
        ready = select.poll()
        ready.register(2, select.POLLOUT)
        self._is_heard = bool(ready.poll(_WAITS_MS if self._is_heard else 0))
        return self._is_heard


def _needs_streams() -> None:
    for number, name in ((0, "standard input"), (1, "standard output")):
        try:
            os.fstat(number)
        except OSError:
            remedy = "let an MCP client start it, or use --http"
            raise ConfigError(Problem(f"{name} must be open", remedy=remedy)) from None


def _open(asked: Asked, front: str, servers: tuple[tuple[str, str, str], ...] = ()) -> Gateway:
    from gateway.mcp.asking import Elicitation

    held: list[Gateway] = []

    def elicited() -> str:
        if asked.no_elicitation:
            return "none"
        setting = held[0].calls.services.planner.judge.loaded.settings.get("mcp")
        return str(setting.value.get("elicited", "unlocked")) if setting is not None else "unlocked"

    # Whoever sits behind the client; where nobody does there, a page of the console, and people elsewhere.
    who = (Elicitation(_question, elicited), *by_console(lasting=True))
    request = Request(policies=asked.policies, cwd=asked.cwd, mode=asked.mode, trust_project=asked.trust_project)
    gateway = open_gateway(request, servers=servers, approver=who, front=front)
    if asked.http is None:
        from gateway.core.room_names import of_process

        gateway.context = gateway.context.replace(room=of_process(os.getppid()))  # the client at the other end
    held.append(gateway)
    return gateway


def _question(question: Question) -> str:
    from gateway.frontends.question import question_text
    from gateway.render.style import Style

    return question_text(question, Style())


def _serve(endpoint: Callable[[], Endpoint], asked: Asked) -> int:
    import logging

    from gateway.mcp.transports import is_loopback, serve_http, serve_pipes

    gc.enable()  # this process stays
    logging.basicConfig(level=logging.CRITICAL, stream=sys.stderr)
    if asked.http is None:
        if asked.token_file or asked.remote or asked.host_name:
            raise ConfigError(Problem("--token-file, --remote and --host-name go with --http"))
        _needs_streams()
        return serve_pipes(endpoint)
    host, port = _address(asked.http)
    if not is_loopback(host) and not asked.remote:
        remedy = "use 127.0.0.1, or say --remote and put TLS before it"
        raise ConfigError(
            Problem(f"--http must be an address of this machine alone (got `{visible(asked.http)}`)", remedy=remedy)
        )
    tokens, minted = _tokens(asked.token_file)

    def ready(address: str) -> None:
        complain(f"gateway: serving MCP at {address}\n" + (f"gateway: token {minted}\n" if minted else ""))

    return serve_http(endpoint, host, port, tokens, names=asked.host_name, ready=ready)


def _address(text: str) -> tuple[str, int]:
    host, colon, port = text.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not colon or not host or not port.isdecimal() or int(port) > 65_535:
        raise ConfigError(Problem(f"--http must be HOST:PORT (got `{visible(text)}`)", remedy="such as 127.0.0.1:8808"))
    return host, int(port)


def _tokens(path: str | None) -> tuple[dict[str, str], str]:
    """Tokens by whose they are, and one that was made now, "" if none was."""
    if path is None:
        given = os.environ.get(TOKEN_VARIABLE, "")
        if given:
            return {"client": _token(given, TOKEN_VARIABLE)}, ""
        minted = os.urandom(24).hex()
        return {"client": minted}, minted
    from gateway.core.cache import read_owned

    data = read_owned(os.path.abspath(path))
    if data is None:
        remedy = "write it yourself, and let nobody else write it or its folder"
        raise ConfigError(Problem("--token-file must be a file of yours", file=path, remedy=remedy))
    if os.stat(path).st_mode & 0o077:
        raise ConfigError(Problem("--token-file must be yours alone to read", file=path, remedy=f"chmod 600 {path}"))
    found: dict[str, str] = {}
    for line in data.decode("utf-8", "replace").splitlines():
        words = line.split()
        if words and not words[0].startswith("#"):
            found[words[0] if len(words) > 1 else f"client {len(found) + 1}"] = _token(words[-1], path)
    if not found:
        raise ConfigError(Problem("--token-file must hold a token", file=path))
    return found, ""


def _token(token: str, where: str) -> str:
    if len(token) < _LEAST_TOKEN or not token.isascii() or not token.isprintable() or " " in token:
        message = f"a token must be at least {_LEAST_TOKEN} printable characters without blanks (in {where})"
        raise ConfigError(Problem(message))
    return token


def _declared(asked: Asked) -> dict[str, dict[str, Any]]:
    """One server that no policy names, as the setting `servers` would say it."""
    import json

    from gateway.policy import variables
    from gateway.spec.node import Complaints
    from gateway.spec.servers import MOST_SECONDS, read_servers
    from gateway.spec.yamltext import load

    name, words, url, env, header = asked.name, asked.words, asked.url, asked.env, asked.header
    seconds = int(asked.seconds) if asked.seconds.isdecimal() and len(asked.seconds) < 6 else 0
    if name is None:
        source = url.partition("://")[2].partition("/")[0].partition(":")[0] if url else os.path.basename(words[0])
        name = (
            "-".join("".join(each if each.isascii() and each.isalnum() else " " for each in source).split()) or "server"
        )
    said: dict[str, Any] = {"seconds": seconds}
    if words:
        said |= {"command": list(words), "env": {each: f"env:{each}" for each in env}}
    else:
        said |= {"url": url, "headers": dict(_header(each) for each in header)}
    if asked.what:
        said["is"] = asked.what
    if not 1 <= seconds <= MOST_SECONDS:
        raise ConfigError(Problem(f"--seconds must be from 1 to {MOST_SECONDS} (got {visible(asked.seconds)})"))
    for each in env:
        if not variables.is_settable(each):
            raise ConfigError(Problem(f"--env must name a variable that may be set (got `{visible(each)}`)"))
    if (words and header) or (url and env):
        raise ConfigError(Problem("--env goes with `-- CMD ...` and --header with --url"))
    complaints = Complaints("the command line")
    found = read_servers(load(json.dumps({name: said}).encode(), "the command line"), complaints)
    complaints.raise_any()
    return found


def _header(text: str) -> tuple[str, str]:
    name, colon, value = text.partition(":")
    if not colon or not name.strip() or not value.strip():
        raise ConfigError(Problem(f"--header must be NAME: VALUE (got `{visible(text)}`)"))
    return name.strip(), value.strip()
