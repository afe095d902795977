"""Declarative policy and sandbox gateway between AI agents and the machines they act on.

    from gateway import Gateway, Options, RawCall

    guard = Gateway(Options(cwd="."))
    verdict = guard.check(RawCall("Bash", {"command": "git push --force"}))
    verdict.decision, verdict.reason.rule.id, verdict.reason.rule.source

`call` leads a call of any tool through its whole life; a `Session` keeps the working folder and the mode from call to
call. There are also `call_async`, `stream`, `batch` and `tools`.

    with Gateway(Options(cwd=".", binding=True)) as guard, guard.session() as session:
        done = guard.call(RawCall("Read", {"file_path": "README.md"}), session=session)
        done.text, done.output.is_error, done.result.ended

`Executor` judges a shell text and runs it confined, with the streams of whoever calls.

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
    from gateway.execution import Execution, Executor
    from gateway.frontends.explanation import Explanation, explain
    from gateway.life import Done
    from gateway.load import Options
    from gateway.model.call import Call, RawCall
    from gateway.model.decision import Decision
    from gateway.model.result import Result, Violation
    from gateway.model.verdict import Verdict
    from gateway.sandbox.run import Cancel
    from gateway.schedule import Turn
    from gateway.session import Session
    from gateway.tools.handling import Failure, Image, Output, Progress, Text, Work

__version__ = "0.1.0.dev0"

__all__ = [
    "Call",
    "CallError",
    "Cancel",
    "ConfigError",
    "Decision",
    "Done",
    "Execution",
    "Executor",
    "Explanation",
    "Failure",
    "Gateway",
    "GatewayError",
    "Image",
    "Options",
    "Output",
    "Progress",
    "RawCall",
    "Result",
    "Session",
    "Start",
    "Text",
    "Turn",
    "Verdict",
    "Violation",
    "Work",
    "analyse_shell",
    "explain",
]

_HOMES = {
    "Call": "gateway.model.call",
    "CallError": "gateway.errors",
    "Cancel": "gateway.sandbox.run",
    "ConfigError": "gateway.errors",
    "Decision": "gateway.model.decision",
    "Done": "gateway.life",
    "Execution": "gateway.execution",
    "Executor": "gateway.execution",
    "Explanation": "gateway.frontends.explanation",
    "Failure": "gateway.tools.handling",
    "Gateway": "gateway.engine",
    "GatewayError": "gateway.errors",
    "Image": "gateway.tools.handling",
    "Options": "gateway.load",
    "Output": "gateway.tools.handling",
    "Progress": "gateway.tools.handling",
    "RawCall": "gateway.model.call",
    "Result": "gateway.model.result",
    "Session": "gateway.session",
    "Start": "gateway.commands.analyse",
    "Text": "gateway.tools.handling",
    "Turn": "gateway.schedule",
    "Verdict": "gateway.model.verdict",
    "Violation": "gateway.model.result",
    "Work": "gateway.tools.handling",
    "analyse_shell": "gateway.commands.analyse",
    "explain": "gateway.frontends.explanation",
}


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module `gateway` has no attribute `{name}`")
    from importlib import import_module

    return getattr(import_module(home), "analyse" if name == "analyse_shell" else name)
