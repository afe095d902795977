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
    from gateway.api.executor import Execution, Executor
    from gateway.api.gateway import Gateway
    from gateway.calls.output import Done, Failure, Image, Output, Progress, Text
    from gateway.calls.schedule import Turn
    from gateway.calls.session import Session
    from gateway.calls.work import Work
    from gateway.commands.analyse import Start
    from gateway.commands.analyse import analyse as analyse_shell
    from gateway.config.load import Options
    from gateway.core.cancel import Cancel
    from gateway.core.errors import CallError, ConfigError, GatewayError
    from gateway.model.call import Call, RawCall
    from gateway.model.decision import Decision
    from gateway.model.result import Result, Violation
    from gateway.model.verdict import Verdict
    from gateway.render.explanation import Explanation, explain

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
    "CallError": "gateway.core.errors",
    "Cancel": "gateway.core.cancel",
    "ConfigError": "gateway.core.errors",
    "Decision": "gateway.model.decision",
    "Done": "gateway.calls.output",
    "Execution": "gateway.api.executor",
    "Executor": "gateway.api.executor",
    "Explanation": "gateway.render.explanation",
    "Failure": "gateway.calls.output",
    "Gateway": "gateway.api.gateway",
    "GatewayError": "gateway.core.errors",
    "Image": "gateway.calls.output",
    "Options": "gateway.config.load",
    "Output": "gateway.calls.output",
    "Progress": "gateway.calls.output",
    "RawCall": "gateway.model.call",
    "Result": "gateway.model.result",
    "Session": "gateway.calls.session",
    "Start": "gateway.commands.analyse",
    "Text": "gateway.calls.output",
    "Turn": "gateway.calls.schedule",
    "Verdict": "gateway.model.verdict",
    "Violation": "gateway.model.result",
    "Work": "gateway.calls.work",
    "analyse_shell": "gateway.commands.analyse",
    "explain": "gateway.render.explanation",
}


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module `gateway` has no attribute `{name}`")
    from importlib import import_module

    return getattr(import_module(home), "analyse" if name == "analyse_shell" else name)
