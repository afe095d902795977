"""From what a person asked for on the command line to a gateway that answers."""

from __future__ import annotations

import os
import sys

from gateway.calls.containing import cannot_contain
from gateway.config.load import Options
from gateway.core.cache import digest
from gateway.core.errors import CallError, ConfigError, Problem
from gateway.core.places import check_home
from gateway.judge.judge import Judge
from gateway.model.decision import MODES, Decision
from gateway.policy.confine import enforced_by
from gateway.policy.table import judged_as
from gateway.policy.wording import quote, visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Unpack

    from gateway.api.gateway import Gateway, Serving
    from gateway.approval.proposing import Proposal
    from gateway.frontends.arguments import Request
    from gateway.model.call import RawCall
    from gateway.model.verdict import Verdict
    from gateway.policy.confine import Enforced


def open_judge(request: Request, *, binding: bool = False) -> Judge:
    """A judge for the options that commands share. `binding`: what it decides will be done. Raises ConfigError."""
    return Judge(_options(request).replace(binding=binding), confined=not request.unconfined, contains=cannot_contain)


def open_gateway(
    request: Request, *, servers: tuple[tuple[str, str, str], ...] = (), **serving: Unpack[Serving]
) -> Gateway:
    """A gateway for the options that commands share, whose decisions will be done. `servers`: as `Options` has them;
    `serving`: what serves calls that run, as `Gateway` takes it. Raises ConfigError."""
    from gateway.api.gateway import Gateway

    options = _options(request).replace(binding=True, servers=servers)
    return Gateway(options, confined=not request.unconfined, **serving)


def _options(request: Request) -> Options:
    check_home()
    check_options(request)
    return Options(
        cwd=folder(request.cwd, "--cwd"),
        policies="" if request.policies is None else folder(request.policies, "--policies"),
        mode=request.mode or "",
        trust=request.trust_project,
    )


def check_options(request: Request) -> None:
    """Raises ConfigError for an option of those that commands share that can be none, whatever the policies say."""
    if request.mode is not None:
        check_mode(request.mode)
    for given, name in ((request.cwd, "--cwd"), (request.policies, "--policies")):
        if given is not None:
            folder(given, name)
    for each in request.trust_project:
        if len(each) != len(digest(())) or not {*each} <= {*"0123456789abcdef"}:
            remedy = "`gateway policy show` says the project's; `gateway policy trust` accepts it for good"
            raise ConfigError(Problem(f"--trust-project must be a digest (got `{visible(each)}`)", remedy=remedy))


def raw_call(gateway: Judge, request: Request) -> RawCall:
    """The call that was asked for, as an argument or with `--tool` and `--input`. Raises GatewayError."""
    if request.argument is not None:
        from gateway.tools.text import parse_call_text

        return parse_call_text(gateway.registry, request.argument)
    from gateway.frontends.jsontext import MAX_BYTES, read_json
    from gateway.model.call import RawCall

    text: bytes | str = request.input or ""
    if text == "-":
        text = read_input(MAX_BYTES, "--input")
    fields = read_json(text, "--input")
    if not isinstance(fields, dict):
        raise CallError(Problem("--input must be a JSON object", remedy='such as \'{"command": "git status"}\''))
    return RawCall(request.tool or "", fields)


def folder(given: str | None, what: str) -> str:
    """The absolute path of a folder that is there; the current one if none is given. `what`: what names another one,
    "" where nothing does. Raises ConfigError."""
    if given is None:
        try:
            return os.getcwd()
        except OSError as error:
            remedy = "change to a folder that exists" + (f", or give {what}" if what else "")
            raise ConfigError(Problem(f"the current folder cannot be used: {error.strerror}", remedy=remedy)) from error
    try:
        is_folder = os.path.isdir(given)
    except ValueError:
        is_folder = False
    if not is_folder:
        raise ConfigError(Problem(f"{what} must be a folder that exists (got `{given}`)"))
    return os.path.abspath(given)


def check_mode(mode: object) -> None:
    """Raises ConfigError if it is no mode."""
    if mode not in MODES:
        raise ConfigError(Problem(f"mode must be one of {', '.join(MODES)} (got `{mode}`)"))


def upgraded(raw: RawCall, verdict: Verdict) -> list[str]:
    """The readings by which an address that was given as http is judged, and asked, as https."""
    found = []
    for name, value in raw.input.items():
        if value.__class__ is str and value[:7].lower() == "http://":
            now = verdict.call.input.get(name)
            if now.__class__ is str and now.startswith("https://"):
                found.append(f"{quote(value)} is asked over https")
    return found


def enforced(gateway: Judge) -> Enforced:
    """What of the gateway's policy holds during every confined call."""
    profile = gateway.loaded.settings.get("sandbox")
    return enforced_by(gateway.loaded.policy, profile.value if profile else {})


def change(gateway: Judge, verdict: Verdict) -> str | None:
    """The smallest change that would alter the verdict."""
    from gateway.policy.change import smallest_change
    from gateway.render.origins import is_of_preset

    tool = gateway.registry.tool(verdict.call.tool)
    judged = judged_as(tool)
    return smallest_change(verdict, judged, gateway.loaded.policy, is_of_preset)


def proposal(gateway: Judge, verdict: Verdict) -> Proposal | None:
    """The narrowest rule that would let a call run that does not run by itself, with calls that show what it opens."""
    if verdict.decision is Decision.ALLOW:
        return None
    from gateway.approval.proposing import proposed

    return proposed(gateway, verdict, gateway.registry.tool(verdict.call.tool), calls=True)


def read_input(limit: int, what: str) -> bytes:
    """All of standard input. Raises CallError when it is closed or longer than `limit`."""
    if sys.stdin is None:
        raise CallError(Problem(f"{what} must be on standard input (got a closed one)"))
    data = sys.stdin.buffer.read(limit + 1)
    if len(data) > limit:
        raise CallError(Problem(f"{what} must be at most {limit:,} bytes"))
    return data
