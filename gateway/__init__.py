"""Declarative policy and sandbox gateway between AI agents and the machines they act on.

    from gateway import Gateway, Options, RawCall

    guard = Gateway(Options(cwd="."))
    verdict = guard.check(RawCall("Bash", {"command": "git push --force"}))
    verdict.decision, verdict.reason.rule.id, verdict.reason.rule.source

`Executor` judges a shell text and runs it confined; a `Session` keeps the working folder from call to call.

    with gateway.Executor(guard) as executor:
        done = executor.run("npm test")
        done.result.status, done.result.stdout, done.result.violations

`explain` is for other tools: the commands, words, effects and classes of a shell text as plain data.

    gateway.explain("git push --force | tee log")["commands"][0]["effects"]

`analyse_shell` is the recogniser by itself: what a shell text is predicted to do.
Names are loaded when they are first used, so that `import gateway` costs nothing.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gateway.commands.analyse import Start
    from gateway.commands.analyse import analyse as analyse_shell
    from gateway.engine import Gateway
    from gateway.errors import CallError, ConfigError, GatewayError
    from gateway.execution import Execution, Executor, Session
    from gateway.frontends.explanation import Explanation, explain
    from gateway.load import Options
    from gateway.model.call import Call, RawCall
    from gateway.model.decision import Decision
    from gateway.model.result import Result, Violation
    from gateway.model.verdict import Verdict

__version__ = "0.1.0.dev0"

__all__ = [
    "Call",
    "CallError",
    "ConfigError",
    "Decision",
    "Execution",
    "Executor",
    "Explanation",
    "Gateway",
    "GatewayError",
    "Options",
    "RawCall",
    "Result",
    "Session",
    "Start",
    "Verdict",
    "Violation",
    "analyse_shell",
    "explain",
]

_HOMES = {
    "Call": "gateway.model.call",
    "CallError": "gateway.errors",
    "ConfigError": "gateway.errors",
    "Decision": "gateway.model.decision",
    "Execution": "gateway.execution",
    "Executor": "gateway.execution",
    "Explanation": "gateway.frontends.explanation",
    "Gateway": "gateway.engine",
    "GatewayError": "gateway.errors",
    "Options": "gateway.load",
    "RawCall": "gateway.model.call",
    "Result": "gateway.model.result",
    "Session": "gateway.execution",
    "Start": "gateway.commands.analyse",
    "Verdict": "gateway.model.verdict",
    "Violation": "gateway.model.result",
    "analyse_shell": "gateway.commands.analyse",
    "explain": "gateway.frontends.explanation",
}


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module `gateway` has no attribute `{name}`")
    from importlib import import_module

    return getattr(import_module(home), "analyse" if name == "analyse_shell" else name)
