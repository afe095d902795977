"""What a handler works with: how it runs a command, and what it may show of what it finds."""

from __future__ import annotations

import os

from gateway.calls.attended import asking_of
from gateway.calls.saving import recording_of
from gateway.calls.session_changes import with_own_changes
from gateway.calls.work import Work
from gateway.core.errors import GatewayError
from gateway.model.changes import ASK
from gateway.model.decision import Decision
from gateway.model.effect import PATH_KINDS
from gateway.policy.modes import is_near
from gateway.sandbox.base import SandboxError
from gateway.sandbox.call_descriptors import CAPTURED
from gateway.sandbox.run import NOT_RUN, Command
from gateway.sandbox.shell import arguments, find_bash

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from gateway.calls.output import Progress
    from gateway.calls.ports import InProgress
    from gateway.core.cancel import Cancel
    from gateway.model.plan import SandboxPlan
    from gateway.model.result import Result
    from gateway.model.verdict import Verdict
    from gateway.sandbox.base import Running
    from gateway.sandbox.call_descriptors import Ways
    from gateway.sandbox.changes.drafting import Draft
    from gateway.sandbox.changes.limits_met import Noticing
    from gateway.sandbox.changes.recording import Recording
    from gateway.sandbox.pump import Listener


def work_of(life: InProgress, verdict: Verdict) -> Work:
    """What the handler of this call is handed beside the call."""
    plan = life.plan
    return Work(
        verdict,
        verdict.context,
        judge=life.planner.judge,
        session=life.session,
        cancel=life.cancel,
        may_read=Readable(life, verdict),
        progress=_telling(life),
        plan=plan,
        run=None if plan is None else _Running(life, verdict, plan),
        server=lambda name: life.services.server(name, life.session, life.cancel),
        lasts=life.lasts,
        call=life.another,
        language=lambda path: life.services.language(path, life.session, life.cancel),
        key=life.key,
    )


def _telling(life: InProgress) -> Callable[[Progress], None]:
    """Tells whoever watches. That this fails changes nothing about the call; people are told of the first time."""
    watches = life.progress
    if watches is None:
        return _ignore
    has_failed = False

    def tell(progress: Progress) -> None:
        nonlocal has_failed
        try:
            watches(progress)
        except Exception as error:
            if not has_failed:
                has_failed = True
                life.reports.append(f"telling of its progress failed ({type(error).__name__}: {str(error)[:200]})")

    return tell


def _ignore(_progress: Progress) -> None:
    """Nobody watches."""


class _Running:
    """Runs what was judged, and nothing else, inside the plan of the call."""

    def __init__(self, life: InProgress, verdict: Verdict, plan: SandboxPlan) -> None:
        self._life = life
        self._verdict = verdict
        self._plan = plan

    def __call__(
        self,
        text: str | Sequence[str],
        *,
        seconds: float | None = None,
        ways: Ways = CAPTURED,
        listener: Listener | None = None,
        cancel: Cancel | None = None,
        started: Callable[[Running], None] | None = None,
        report: bool = False,
        own_limit: bool = False,
        lasting: bool = False,
        exported: bool = False,
        told: Callable[[bytes], None] | None = None,
    ) -> Result:
        """Runs the shell text that was judged, or the words of a `command:` tool without any shell. `seconds` of wall
        time, never more than policy's limit (with `own_limit` than the plan's); `lasting`: as long as it takes, unless
        policy itself names a limit. `report`: the result says where the shell ended, and with `exported` which
        variables it exported. `told` is handed what it reports; with it the shell waits for jobs that it leaves."""
        life, verdict, plan = self._life, self._verdict, self._plan
        if seconds is not None:
            most = plan.limits.seconds if own_limit else life.planner.most_seconds(verdict, plan)
            plan = plan.replace(limits=plan.limits.replace(seconds=min(seconds, most) if most else seconds))
        elif lasting and not life.planner.limits_seconds(verdict):
            plan = plan.replace(limits=plan.limits.replace(seconds=0.0))
        command = Command(self._words(text, exported, told is not None), ways, report and isinstance(text, str), told)
        if plan.fetching.mode == "off":
            return self._run(plan, command, listener, cancel, started, lasting=lasting)
        from gateway.calls.fetching import fetched, said  # lazy: few calls install anything

        with fetched(life, verdict, plan) as (plan, found, first):
            if first.ended == "exited" and first.status:  # the call's own status would be taken for what ran
                return first.replace(ended="failed", status=NOT_RUN, reason=said(first), cwd="")
            if first.ended != "exited":
                return first.replace(reason=said(first), cwd="")
            if found.copied:
                starts = command.argv
                command = command.replace(argv=lambda number: found.words(starts(number)))
            result = self._run(plan, command, listener, cancel, started, lasting=lasting)
        return result.replace(said=first.said + result.said, violations=first.violations + result.violations)

    def _run(
        self,
        plan: SandboxPlan,
        command: Command,
        listener: Listener | None,
        cancel: Cancel | None,
        started: Callable[[Running], None] | None,
        *,
        lasting: bool,
    ) -> Result:
        life, verdict = self._life, self._verdict
        draft: Draft | None = None
        if plan.drafted or life.session.together is not None:
            from gateway.calls.drafts import draft_of  # lazy: few calls are drafts

            draft = draft_of(life, verdict, plan)
        saving: Recording | None = None
        noticing: Noticing | None = None
        try:
            plan = with_own_changes(life, verdict, plan if draft is None else draft.plan)
            saving = recording_of(life, verdict, plan)
            if draft is not None and verdict.changes == ASK:
                from gateway.sandbox.changes.limits_met import Noticing

                noticing = Noticing(draft.plan)
            result = life.services.runner.run(
                plan,
                command,
                life.planner.protection(verdict),
                listener=listener,
                cancel=life.cancel if cancel is None and not lasting else cancel,
                started=started,
                saving=saving or noticing,
                asking=asking_of(life, verdict, plan),
            )
            return result if saving is None else result.replace(lost=saving.lost)
        finally:
            if saving is not None:
                saving.close()
                life.reports += [f"`{path}` was not changed, because {why}" for path, why in saving.refused.items()]
            if draft is not None:
                from gateway.calls.drafts import ended

                draft.has_met = noticing is not None and noticing.has_met
                draft.has_linked = noticing is not None and noticing.has_linked
                ended(life, draft)

    def _words(self, text: str | Sequence[str], exported: bool, waits: bool) -> Callable[[int], tuple[bytes, ...]]:
        """What starts, given the descriptor for the folder. Raises GatewayError for anything that was not judged."""
        assert self._life.tool is not None
        call, tool = self._verdict.call, self._life.tool
        if isinstance(text, str):
            judged = [call.input.get(field) for do, field, *_ in tool.actions if do == "shell"]
            if text not in judged:
                raise GatewayError("only the very text that was judged may run")
            bash = find_bash()
            if not bash:
                raise SandboxError("there is no bash on this system", "install bash")
            return lambda number: arguments(bash, text, number, exported=exported, waits=waits)
        from gateway.tools.argv import argv, command_text  # lazy: of tools that are commands

        words = tool.words
        if words is None or argv(words, call.input) != list(text) or command_text(words, call.input) != call.shown:
            raise GatewayError("only the very words that were judged may run")
        program = _program(text[0], self._life)
        return lambda _number: tuple(map(os.fsencode, (program, *text[1:])))


def _program(name: str, life: InProgress) -> str:
    """The file of a program: the first on PATH outside of what agents can write, so that a name that the shell has
    built in, and that was judged as such, is not somebody else's program. Raises SandboxError."""
    context = life.context
    if "/" in name:
        return os.path.join(context.cwd, name)
    writable = tuple(folder.rstrip("/") + "/" for folder in (*context.workspace, *context.temp))
    for folder in life.planner.judge.search_path.split(os.pathsep):
        path = os.path.join(folder, name)
        inside = is_near(os.path.realpath(folder), writable) or not folder.startswith("/")
        if not inside and os.path.isfile(path) and os.access(path, os.X_OK):
            return path
    raise SandboxError(f"there is no program `{name}`", f"install {name}, outside of the workspace")


class Readable:
    """Whether policy lets a call see a path that was found on the way, as if it had been asked for by name.

    What policy would ask about is not shown, unless a person has just agreed to a tree that it lies in and nothing but
    the mode asks again."""

    def __init__(self, life: InProgress, verdict: Verdict) -> None:
        self._life = life
        self._known: dict[str, bool] = {}
        self._agreed = _agreed(verdict) if life.grant is not None and life.grant.allow else ()

    def __call__(self, path: str) -> bool:
        """For an absolute path, with links not yet resolved. Never raises."""
        found = self._known.get(path)
        if found is None:
            try:
                found = self._judge(path)
            except Exception:
                found = False
            self._known[path] = found
        return found

    def _judge(self, path: str) -> bool:
        from gateway.model.call import RawCall

        verdict = self._life.planner.judge.check(RawCall("Read", {"file_path": path}), self._life.context)
        if verdict.decision is not Decision.ASK or not self._agreed:
            return verdict.decision is Decision.ALLOW
        if any(each.decision is Decision.ASK and each.reason.rule.lane != "mode" for each in verdict.outcomes):
            return False
        touched = [item.effect for item in verdict.analysis.items if item.effect.kind in PATH_KINDS]
        return all(
            is_near(getattr(effect, "real", "") or getattr(effect, "path", ""), self._agreed) for effect in touched
        )


def _agreed(verdict: Verdict) -> tuple[str, ...]:
    """The trees that were asked about, by where they really lie, each with a slash behind it."""
    found = []
    for each in verdict.outcomes:
        effect = verdict.analysis.items[each.reason.item].effect
        if each.decision is Decision.ASK and effect.kind in ("read", "list"):
            found.append((getattr(effect, "real", "") or getattr(effect, "path", "")).rstrip("/") + "/")
    return tuple(found)
