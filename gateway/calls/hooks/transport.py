"""How hooks are asked: a program of the person's own, a project's program in the sandbox, an address, a function."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import threading
from time import monotonic

from gateway.calls.hooks.answer import HookError
from gateway.calls.outgoing import RequestError, filled, request
from gateway.core.programs import persons_environment, persons_program
from gateway.core.secret_masking import hidden
from gateway.model.call import RawCall
from gateway.model.decision import Decision
from gateway.model.verdict import Outcome
from gateway.policy.confine import BY_PROFILE
from gateway.policy.modes import CEILINGS
from gateway.policy.wording import phrase
from gateway.sandbox.base import SandboxError
from gateway.sandbox.call_descriptors import Ways
from gateway.sandbox.network import OFF
from gateway.sandbox.run import Command
from gateway.sandbox.shell import quoted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from gateway.calls.ports import InProgress
    from gateway.core.cancel import Cancel
    from gateway.model.plan import SandboxPlan
    from gateway.model.verdict import Verdict

    Hook = dict[str, Any]

MOST_ANSWER = 1 << 20
MOST_TOLD = 16 << 20
_KILL_SECONDS = 5.0


def _data(given: dict[str, Any]) -> bytes:
    data = json.dumps(given, ensure_ascii=True, allow_nan=False).encode("ascii")
    if len(data) > MOST_TOLD:
        raise HookError("cannot be told of so large a call")
    return data


def _words(hook: Hook, environment: Mapping[str, str], writable: Sequence[str]) -> list[str]:
    """The program and its words; a relative path starts at the folder of the file that names it, and a bare name is one
    of a folder of PATH. Raises HookError for a program that calls may write."""
    first, *rest = hook["command"]
    found = persons_program(_placed(hook, first), environment, writable)
    if not found:
        raise HookError(f"cannot be started: `{first}` is not there, or calls may write it")
    return [found, *rest]


def _words_inside(hook: Hook) -> list[str]:
    """The same for the sandbox, which finds what is named by its own PATH."""
    first, *rest = hook["command"]
    return [_placed(hook, first), *rest]


def _placed(hook: Hook, first: str) -> str:
    first = os.path.expanduser(first)
    return os.path.join(os.path.dirname(os.path.abspath(hook["file"])), first) if "/" in first else first


def asked_program(hook: Hook, given: dict[str, Any], life: InProgress) -> bytes:
    """What the person's own program prints, with the person's own rights."""
    judge = life.planner.judge
    data, deadline = _data(given), monotonic() + hook["seconds"]
    writable = (*life.context.workspace, life.context.root, life.context.cwd)
    words = _words(hook, judge.environment, writable)
    try:
        process = subprocess.Popen(
            words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            cwd=life.context.root or life.context.cwd, env=persons_environment(judge.environment, writable),
            start_new_session=True,
        )  # fmt: skip
    except (OSError, ValueError) as error:
        raise HookError(f"cannot be started: {error}") from error
    try:
        answer = _exchange(process, data, deadline, _cancel(given, life))
        process.wait(max(0.001, deadline - monotonic()))
    except subprocess.TimeoutExpired as error:
        raise HookError(f"did not answer within {hook['seconds']} s") from error
    finally:
        _end(process)
    if process.returncode:
        raise HookError(f"ended with status {process.returncode}")
    return answer


def _cancel(given: dict[str, Any], life: InProgress) -> Cancel | None:
    """What ends the asking: before a call its cancellation; after it hooks are told of that, too."""
    return life.cancel if given["event"] == "before_call" and life.cancel.fileno() >= 0 else None


def _exchange(process: subprocess.Popen[bytes], data: bytes, deadline: float, cancel: Cancel | None) -> bytes:
    """Writes what it is told and reads what it answers at the same time, within the bounds."""
    assert process.stdin is not None
    assert process.stdout is not None
    into, out = process.stdin.fileno(), process.stdout.fileno()
    for descriptor in (into, out):
        os.set_blocking(descriptor, False)
    left, answer = memoryview(data), bytearray()
    poll = select.poll()
    poll.register(out, select.POLLIN)
    poll.register(into, select.POLLOUT)
    if cancel is not None:
        poll.register(cancel.fileno(), select.POLLIN)
    while True:
        wait = deadline - monotonic()
        ready = dict(poll.poll(wait * 1000)) if wait > 0 else {}
        if not ready:
            raise subprocess.TimeoutExpired("", 0)
        if cancel is not None and cancel.is_set:
            raise HookError("was cancelled")
        if into in ready:
            try:
                left = left[os.write(into, left[:65536]) :]
            except BrokenPipeError:
                left = left[:0]  # it does not want to know
            if not left:
                poll.unregister(into)
                process.stdin.close()
        if out in ready:
            chunk = os.read(out, 65536)
            if not chunk:
                return bytes(answer)
            answer += chunk
            if len(answer) > MOST_ANSWER:
                raise HookError("answered more than may be read")


def _end(process: subprocess.Popen[bytes]) -> None:
    """Ends the program and all of its group. What it moved to a session of its own goes on: nothing confines it."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        process.kill()
    for stream in (process.stdin, process.stdout):
        if stream is not None:
            try:
                stream.close()
            except OSError:
                continue  # what was not written is of no use any more
    process.wait(_KILL_SECONDS)


def asked_confined(hook: Hook, given: dict[str, Any], life: InProgress) -> bytes:
    """What a project's program prints. The agent may have written it, so it is judged like a command of the agent's, by
    which nobody is asked, and runs in the sandbox, where it can read and not write."""
    words = _words_inside(hook)
    context = life.context.replace(mode="read_only", cwd=life.context.root or life.context.cwd)
    verdict = life.planner.judge.check(RawCall("Bash", {"command": quoted(words)}), context)
    if not verdict.context.confined:
        raise HookError("may not run outside of the sandbox")
    _refuse_unless_allowed(verdict)
    try:
        plan = life.planner.plan(verdict, None)
    except SandboxError as error:
        raise HookError(f"cannot be confined: {error.reason}") from error
    if verdict.decision is not Decision.ALLOW or verdict.drafts:
        plan = _alone(plan)
    plan = plan.replace(limits=plan.limits.replace(seconds=float(hook["seconds"]), output=MOST_ANSWER))
    argv = tuple(map(os.fsencode, words))
    command = Command(lambda _number: argv, Ways(_data(given)))
    result = life.services.runner.run(plan, command, life.planner.protection(verdict), cancel=_cancel(given, life))
    if result.ended == "timeout":
        raise HookError(f"did not answer within {hook['seconds']} s")
    if result.ended != "exited" or result.status:
        raise HookError(f"ended with status {result.status}" + (f": {result.reason}" if result.reason else ""))
    if result.truncated[0]:
        raise HookError("answered more than may be read")
    return result.stdout


def _refuse_unless_allowed(verdict: Verdict) -> None:
    """Raises HookError for what policy denies or asks about. That unknown code runs, a person has agreed to by trusting
    the project; what a rule of any file asks about was not answered with that."""
    for each in (*verdict.outcomes, Outcome(verdict.decision, verdict.reason)):
        effect, rule = verdict.analysis.items[each.reason.item].effect, each.reason.rule
        if each.decision is Decision.DENY:
            raise HookError(f"may not run by rule `{rule.id}`")
        if each.decision is Decision.ASK and not (effect.kind == "code" and rule.lane == "mode"):
            raise HookError(f"may not run: it {phrase(effect)}, and rule `{rule.id}` asks, which nobody is for a hook")


def _alone(plan: SandboxPlan) -> SandboxPlan:
    """The plan for unknown code that no rule allows: it sees what every call sees, and changes and reaches nothing."""
    from gateway.sandbox.drafts import only_reading

    mounts = [each for each in plan.mounts if each.rule != BY_PROFILE]
    return only_reading(plan.replace(mounts=tuple(mounts), network=OFF, permits=()))


def _refuse_address(hook: Hook, life: InProgress) -> None:
    """Raises HookError unless policy lets the agent send something to the address of a project's hook, unasked: the
    agent may have written it."""
    context = life.context
    if context.mode not in CEILINGS:
        context = context.replace(mode="default")
    call = RawCall("Bash", {"command": quoted(["curl", "--data", "x", hook["http"]["url"]])})
    verdict = life.planner.judge.check(call, context)
    if verdict.decision is not Decision.ALLOW:
        rule, decided = verdict.reason.rule.id, verdict.decision.word
        raise HookError(f"may not be asked: policy does not allow sending to its address (rule `{rule}`: {decided})")


def asked_by_http(hook: Hook, given: dict[str, Any], life: InProgress) -> bytes:
    """What the address answers. A person named it, so it may be a private one; a project's only where policy lets the
    agent itself send there."""
    if hook["layer"] == "project":
        _refuse_address(hook, life)
    headers = {"Content-Type": "application/json"}
    cancel = _cancel(given, life)
    secrets: tuple[str, ...] = ()
    try:
        for name, parts in hook["http"]["headers"].items():
            headers[name], found = filled(parts, life.planner.judge.environment)
            secrets = (*secrets, *found)
        reply = request(
            "POST", hook["http"]["url"], headers=headers, body=_data(given), seconds=hook["seconds"],
            most=MOST_ANSWER, named=True, cancelled=lambda: cancel is not None and cancel.is_set,
        )  # fmt: skip
    except RequestError as error:
        raise HookError(f"cannot be asked: {hidden(str(error), secrets)}") from error
    if reply.status not in (200, 204) or reply.elsewhere or reply.cut:
        raise HookError(f"answered with status {reply.status}")
    return reply.body


def asked_python(hook: Hook, given: dict[str, Any]) -> object:
    """What the function gives back. One that takes too long is left to itself: nothing can end it."""
    found: list[object] = []
    problem: list[BaseException] = []

    def ask() -> None:
        try:
            found.append(_function(hook["python"])(given))
        except BaseException as error:  # handed on to whoever waits
            problem.append(error)

    thread = threading.Thread(target=ask, name=f"gateway-hook-{hook['id']}", daemon=True)
    thread.start()
    thread.join(hook["seconds"])
    if thread.is_alive():
        raise HookError(f"did not answer within {hook['seconds']} s")
    if problem:
        raise HookError(f"failed ({type(problem[0]).__name__}: {str(problem[0])[:200]})")
    return found[0]


def _function(place: str) -> Any:
    from importlib import import_module

    module, _, name = place.partition(":")
    return getattr(import_module(module), name)
