"""`gateway check`: the dry run of one call, or of many."""

from __future__ import annotations

import gc
import sys
from time import perf_counter_ns

from gateway.core.errors import EXIT_ALLOW, EXIT_ASK, EXIT_DENY, ConfigError, Problem
from gateway.frontends.output import write
from gateway.frontends.session import change, enforced, open_judge, proposal, raw_call, upgraded
from gateway.model.decision import Decision
from gateway.policy.explain import explain
from gateway.policy.wording import visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gateway.frontends.arguments import Request
    from gateway.judge.judge import Judge

EXIT = {Decision.ALLOW: EXIT_ALLOW, Decision.ASK: EXIT_ASK, Decision.DENY: EXIT_DENY}


def run(request: Request) -> int:
    """Answers the request and gives the exit status. Raises GatewayError."""
    complaint = misuse(request)
    if complaint:
        raise ConfigError(Problem(complaint, remedy="see `gateway check --help`"))
    gateway = open_judge(request)
    if request.batch is not None:
        from gateway.core.gc_pause import keep
        from gateway.frontends.batch import run_batch

        keep()
        gc.set_threshold(50_000)  # answers are made and forgotten; what is kept hardly ever forms a circle
        gc.enable()
        return run_batch(gateway, request.batch, full=request.full)
    from gateway.render.style import is_terminal

    text, status = answer(gateway, request, is_shown=is_terminal(sys.stdout))
    write(text)
    return status


def answer(gateway: Judge, request: Request, *, is_shown: bool = False) -> tuple[str, int]:
    """What is written for a single call, and the exit status. `is_shown`: standard output is a terminal. Raises
    GatewayError."""
    started = perf_counter_ns()
    raw = raw_call(gateway, request)
    verdict = gateway.check(raw)
    if request.json:
        from gateway.frontends.jsontext import dumps, pretty
        from gateway.policy.condensed import condensed

        found = explain(verdict, enforced=enforced(gateway), propose=proposal(gateway, verdict))
        found["normalised"] += upgraded(raw, verdict)
        if gateway.loaded.misnamed:
            found["not_read"] = list(gateway.loaded.misnamed)
        found["elapsed_us"] = (perf_counter_ns() - started) // 1000
        found["change"] = change(gateway, verdict)
        if request.plan:
            from gateway.render.plan import planned

            found["confinement"]["plan"] = planned(gateway, verdict)
        if not request.full:
            found = condensed(found)
        text = (pretty(found) if is_shown else dumps(found)) + "\n"
    else:
        from gateway.render.style import Style, style_for
        from gateway.render.text import verdict_text

        style = style_for(sys.stdout) if is_shown else Style()
        found = explain(verdict, enforced=enforced(gateway), change=change(gateway, verdict))
        found["normalised"] += upgraded(raw, verdict)
        if request.short:
            from gateway.render.short import short_text

            return short_text(verdict, found, style, cut=is_shown), EXIT[verdict.decision]
        text = verdict_text(verdict, found, style, full=request.full)
        if request.plan:
            from gateway.render.plan import plan_text, planned

            plan = planned(gateway, verdict)
            text += "\n" + plan_text(plan, style) if plan else ""
        text += "".join(f"note: {each}\n" for each in map(visible, gateway.loaded.misnamed))
    return text, EXIT[verdict.decision]


def misuse(request: Request) -> str:
    """What is wrong with the combination of options, "" if nothing is."""
    ways = [name for name in ("argument", "tool", "batch") if getattr(request, name) is not None]
    if not ways:
        return "a call must be given, as an argument, with --tool and --input, or with --batch"
    if len(ways) > 1:
        return "a call must be given in one way only: as an argument, with --tool and --input, or with --batch"
    if (request.tool is None) != (request.input is None):
        return "--tool and --input must be given together"
    if request.plan and request.batch is not None:
        return "--plan must be given for a single call"
    if request.short and (request.json or request.batch is not None or request.full or request.plan):
        return "--short must be given without --json, --batch, --full and --plan"
    return ""
