"""Declarative policy and sandbox gateway between AI agents and the machines they act on.

    from gateway import Gateway, Options, RawCall

    guard = Gateway(Options(cwd="."))
    verdict = guard.check(RawCall("Bash", {"command": "git push --force"}))
    verdict.decision, verdict.reason.rule.id, verdict.reason.rule.source

`analyse_shell` is the recogniser by itself: what a shell text is predicted to do.
Names are loaded when they are first used, so that `import gateway` costs nothing.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gateway.commands.analyse import analyse as analyse_shell
    from gateway.engine import Gateway
    from gateway.errors import CallError, ConfigError, GatewayError
    from gateway.load import Options
    from gateway.model.call import Call, RawCall
    from gateway.model.decision import Decision
    from gateway.model.verdict import Verdict

__version__ = "0.1.0.dev0"

__all__ = [
    "Call",
    "CallError",
    "ConfigError",
    "Decision",
    "Gateway",
    "GatewayError",
    "Options",
    "RawCall",
    "Verdict",
    "analyse_shell",
]

_HOMES = {
    "Call": "gateway.model.call",
    "CallError": "gateway.errors",
    "ConfigError": "gateway.errors",
    "Decision": "gateway.model.decision",
    "Gateway": "gateway.engine",
    "GatewayError": "gateway.errors",
    "Options": "gateway.load",
    "RawCall": "gateway.model.call",
    "Verdict": "gateway.model.verdict",
    "analyse_shell": "gateway.commands.analyse",
}


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module `gateway` has no attribute `{name}`")
    from importlib import import_module

    return getattr(import_module(home), "analyse" if name == "analyse_shell" else name)
