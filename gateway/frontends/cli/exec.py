"""`gateway exec`: a shell command, judged and run confined, with the caller's own streams and signals.

The command gets the caller's descriptors themselves, so that nothing of ours stands between a program and its pipe or
terminal. Only standard error is read along where nobody could tell the difference, to say what the sandbox refused.
"""

from __future__ import annotations

import os

from gateway.api.executor import Executor
from gateway.core import plain_signal as signal
from gateway.core.errors import ConfigError, GatewayError, Problem
from gateway.core.room_names import of_process
from gateway.frontends.approvers import approvers
from gateway.frontends.output import complain, safe_lines, tell
from gateway.frontends.session import check_options, open_judge
from gateway.model.call import RawCall
from gateway.model.changes import ASK
from gateway.policy.wording import visible
from gateway.sandbox.backends.choose import prepare
from gateway.sandbox.call_descriptors import Ways
from gateway.sandbox.discarded_changes import said_of, thrown_away
from gateway.sandbox.run import NOT_RUN
from gateway.sandbox.shell import quoted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gateway.api.executor import Execution
    from gateway.frontends.arguments import Request
    from gateway.frontends.left_jobs import Left
    from gateway.judge.judge import Judge
    from gateway.model.context import Context
    from gateway.model.result import Violation
    from gateway.sandbox.base import Running

# What a caller, or the keys of a terminal, send to the command through us. The command has a session of its own.
PASSED_ON = (
    signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2, signal.SIGWINCH,
)  # fmt: skip


def run(request: Request) -> int:
    """Runs the command and gives its exit status. Raises ConfigError for wrong usage."""
    text, script = _text(request)
    if request.as_shell and not text.strip():
        return 0  # as any shell that is told nothing
    seconds = _seconds(request.timeout)
    target = _descriptor(request.cwd_to)
    check_options(request)
    if request.ticket is not None and "&" in text:
        from gateway.frontends.left_jobs import leaves_jobs, with_jobs

        if leaves_jobs(request.ticket):
            return with_jobs(lambda left: _run(request, text, seconds, target, left))
    return _run(request, text, seconds, target, None, script)


def _is_of_ticket(error: GatewayError) -> bool:
    from gateway.agents.tickets import TicketError

    return isinstance(error, TicketError)


def _run(request: Request, text: str, seconds: float | None, target: int, left: Left | None, script: str = "") -> int:
    prepare()  # while policies are read and the command is judged
    try:
        if request.ticket is not None:
            done = _with_ticket(request, text, target, left)
        else:
            judge = open_judge(request, binding=True)
            if script:
                _check_script(judge, script)
            with Executor(judge, approver=approvers(), front="exec") as executor:
                # What stands where a program wants its shell shares a session with whatever that program starts so.
                room = of_process(os.getppid()) if request.as_shell else ""
                done = executor.run(
                    text, context=_circumstances(judge.context, room, request), ways=_ways(), seconds=seconds,
                    started=_pass_signals_on, report=target >= 0, lasting=request.as_shell,
                )  # fmt: skip
    except GatewayError as error:
        if request.ticket is not None and _is_of_ticket(error):
            tell(f"gateway: refused: {visible(str(error))}\n")
            return NOT_RUN
        for said in _said(error):
            tell(f"gateway: nothing ran: {safe_lines(said)}\n")
        return NOT_RUN
    if request.report is not None:
        _write_report(request.report, done)
    if target >= 0 and not (left is not None and left.has_left):
        _tell_folder(target, done.result.cwd)
    _tell(done)
    return done.result.status


def _circumstances(context: Context, room: str, request: Request) -> Context:
    return context.replace(room=room, changes=ASK if request.draft else context.changes)


def _said(error: GatewayError) -> tuple[str, ...]:
    """What is wrong, each with its place and remedy. Where in a call it is says nothing to who gave a command."""
    problems: tuple[Problem, ...] = getattr(error, "problems", ())
    return tuple(
        str(Problem(each.message, file=each.file, line=each.line, column=each.column, remedy=each.remedy))
        for each in problems
    ) or (str(error),)


def _with_ticket(request: Request, text: str, target: int, left: Left | None) -> Execution:
    """Runs what a hook let run, for as long as whoever started it lets it. Raises GatewayError."""
    from gateway.frontends.ticket_use import admitted

    let = admitted(request, text)
    with Executor(let.gateway, grants=let.grants, front=let.front) as executor:
        return executor.run(
            text, context=let.context, ways=_ways(), started=_pass_signals_on, report=target >= 0 or left is not None,
            session=let.session, lasting=True, cancel=None if left is None else left.cancel,
            told=None if left is None else left.telling(lambda folder: _follow(target, folder)),
        )  # fmt: skip


def _descriptor(given: str | None) -> int:
    """The open descriptor of that number, -1 without one. Raises ConfigError."""
    if given is None:
        return -1
    try:
        number = int(given) if given.isascii() and given.isdecimal() else -1
        os.fstat(number)
    except (OSError, OverflowError):
        raise ConfigError(Problem(f"--cwd-to must be an open descriptor (got `{visible(given)}`)")) from None
    return number


def _follow(target: int, folder: str) -> None:
    """The same where jobs still run: whoever waits for the descriptor need not wait for them."""
    if target >= 0:
        _tell_folder(target, folder)
        os.close(target)


def _tell_folder(target: int, folder: str) -> None:
    """Tells whoever follows the command where it ended. It said so itself, and could say anything; only a folder that
    is really there, by its real path, counts."""
    if folder and os.path.isdir(folder) and os.path.realpath(folder) == folder:
        try:
            os.write(target, os.fsencode(folder))
        except OSError:
            return  # nobody follows any more


def _check_script(judge: Judge, path: str) -> None:
    """Raises ConfigError where nobody may read the script: what it holds would stand in what is said of it, and in the
    record."""
    verdict = judge.check(RawCall("Read", {"file_path": path}))
    if any(each.reason.rule.lane == "deny" for each in verdict.outcomes):
        remedy = "see `gateway check 'Read(FILE)'`"
        raise ConfigError(Problem("policy does not let the script be read", file=path, remedy=remedy))


def _text(request: Request) -> tuple[str, str]:
    """The shell text to judge and to run, and the script that it came from, "" if none. Raises ConfigError."""
    if request.as_shell:
        from gateway.frontends.shell_input import text_of, without_itself

        if request.command is not None or request.ticket is not None:
            raise ConfigError(Problem("--as-shell must be followed by -- and the words of a shell"))
        without_itself()
        return text_of(request.words)
    if request.argument is not None:
        remedy = f"write `gateway exec -- {visible(request.argument)} ...`"
        raise ConfigError(Problem("the command must stand behind --", remedy=remedy))
    if (request.command is None) == (not request.words):
        remedy = "see `gateway exec --help`"
        raise ConfigError(Problem("a command must be given, behind -- or with -c, and not both", remedy=remedy))
    return (quoted(request.words) if request.command is None else request.command), ""


def _seconds(given: str | None) -> float | None:
    if given is None:
        return None
    try:
        seconds = float(given)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < 1e9:
        raise ConfigError(Problem(f"--timeout must be a number of seconds above 0 (got `{visible(given)}`)"))
    return seconds


def _ways() -> Ways:
    """The caller's own streams. Standard error is captured and handed on at once unless it is a terminal, or goes where
    standard output goes too: there the order of the two would be lost."""
    stdin, stdout, stderr = (_open(number) for number in range(3))
    if os.isatty(stderr) or _same(stdout, stderr):
        return Ways(stdin, stdout, stderr)
    return Ways(stdin, stdout, -1, stderr)


def _open(number: int) -> int:
    """The caller's descriptor, or the null device where the caller closed it."""
    try:
        os.fstat(number)
    except OSError:
        return os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
    return number


def _same(one: int, other: int) -> bool:
    return os.path.sameopenfile(one, other)


def _pass_signals_on(running: Running) -> None:
    for number in PASSED_ON:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, lambda received, _frame: running.signal(received))

    def stop(_number: int, _frame: object) -> None:
        # Both stop, and go on together: the command's own group is not the terminal's, so no key reaches it.
        running.signal(signal.SIGSTOP)
        os.kill(os.getpid(), signal.SIGSTOP)
        running.signal(signal.SIGCONT)

    if signal.getsignal(signal.SIGTSTP) is not signal.SIG_IGN:
        signal.signal(signal.SIGTSTP, stop)


def _write_report(path: str, done: Execution) -> None:
    from gateway.frontends.jsontext import pretty
    from gateway.policy.explain import explain

    result = done.result.as_dict()
    for stream in ("stdout", "stderr"):
        result[stream] = result[stream].decode("utf-8", "replace")
    result["violations"] = [each.as_dict() for each in done.result.violations]
    try:
        with open(path, "w", encoding="utf-8", errors="backslashreplace") as file:
            file.write(pretty({"verdict": explain(done.verdict, propose=done.proposal), "result": result}) + "\n")
    except OSError as error:
        complain(f"gateway: the report cannot be written: {error}\n")


def _tell(done: Execution) -> None:
    """What the person or agent who called must know besides what the command printed."""
    result = done.result
    lines = []
    if result.ended in ("refused", "failed"):
        what = "refused" if result.ended == "refused" else "nothing ran" if result.status == NOT_RUN else "cut short"
        lines.append(f"{what}: {result.reason}")
    elif result.reason:
        lines.append(f"stopped: {result.reason}" if result.ended != "exited" else result.reason)
    lines += map(_violation, result.violations)
    lines += [] if done.proposal is None else [done.proposal.told]
    if result.degraded and result.violations:
        lines.append(f"held by the weaker form `{result.backend}`: {'; '.join(result.degraded)}")
    lost = said_of(thrown_away(done.verdict, done.plan, result.lost), done.plan)
    if lost and result.ended not in ("refused", "failed"):
        lines.append(lost)
    for line in lines:
        tell(f"gateway: {visible(line)}\n")


def _violation(found: Violation) -> str:
    what = f"{found.kind} {found.target}" + (f" ({found.count} times)" if found.count > 1 else "")
    rule = f" [{found.rule}]" if found.rule else ""
    return f"{'blocked' if found.certain else 'probably blocked'}: {what}{rule}: {found.hint}"
