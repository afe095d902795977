"""`gateway doctor`: whether calls can be decided and confined here, by what, and what would be better."""

from __future__ import annotations

import os
import sys
import time
from typing import TYPE_CHECKING, Annotated

import typer

from gateway.agents import AGENTS
from gateway.core.errors import ConfigError, GatewayError, Problem
from gateway.frontends.finding import BETTER, BROKEN, OK, Finding
from gateway.frontends.jsontext import pretty
from gateway.frontends.output import write
from gateway.frontends.parameter_files import FOLDER
from gateway.policy.wording import visible
from gateway.render.style import style_for, wrapped
from gateway.sandbox.backends.choose import BEST, WEAKER
from gateway.sandbox.diagnosis import Surroundings, remedy

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from gateway.core.places import Places
    from gateway.render.style import Style
    from gateway.sandbox.base import Backend, Probe

FINE, TO_MEND = 0, 2
_MARKS = {OK: ("ok", "allow"), BETTER: ("!!", "ask"), BROKEN: ("no", "deny")}
LEAST_BASH = (4, 0)


def doctor(
    json: Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")] = False,
    cwd: Annotated[str | None, typer.Option("--cwd", metavar="DIR", help="The project to look at."), FOLDER] = None,
    agent: Annotated[
        str | None, typer.Option("--agent", metavar="AGENT", help=f"Look at this agent alone: {', '.join(AGENTS)}.")
    ] = None,
    clean: Annotated[
        bool, typer.Option("--clean", help="Remove what calls have changed in caches, which is kept for each project.")
    ] = False,
    live: Annotated[
        bool, typer.Option("--live", help="Run each agent once, with a call that its hook must refuse.")
    ] = False,
) -> int:
    """Show whether calls can be decided and confined here.

    By what, and what would be better; and whether the hooks in agents' settings answer: each is run as it stands there,
    with calls that must be refused and calls that may run.

    With --agent one contained call is made in a temporary project, and undone, and the number of typical commands that
    would ask is shown.

    With --live each agent's own program is run once, in a temporary home and project, against a model on
    this machine that has it read a secret file: the hooks that stand in its settings must refuse that.

    Exit status: 0 when they can (be it in a weaker form that policy must permit), 2 when something must be put right.
    """
    from gateway.config.load import project_root
    from gateway.core.places import places
    from gateway.frontends.doctor_agents import agent_findings
    from gateway.frontends.doctor_contained import contained_findings
    from gateway.frontends.doctor_installation import installation_findings
    from gateway.frontends.session import folder

    if clean:
        from gateway.calls import fetched_cache
        from gateway.sandbox import layers
        from gateway.sandbox.persistent_folders import LAYERS

        state = places().state
        freed = layers.clean(f"{state}/{LAYERS}") + fetched_cache.clean(state)
        write(pretty({"freed": freed}) if json else f"removed {freed / 1_000_000:,.1f} MB of changes to caches\n")
        return FINE
    if agent is not None and agent not in AGENTS:
        raise ConfigError(Problem(f"--agent must be one of {', '.join(AGENTS)} (got `{agent}`)"))
    where, here = places(), folder(cwd, "--cwd")
    root, environment = project_root(os.path.realpath(here)), dict(os.environ)
    if agent:
        own = installation_findings(where, here, root, environment)
        found = agent_findings(where, root, environment, agent, live=live)
        findings = (*(each for each in own if each.state == BROKEN), *found, *contained_findings(agent, where, root))
    else:
        findings = everything(here, live=live)
    write(as_json(findings) if json else as_text(findings, style_for(sys.stdout)))
    return status(findings)


def everything(here: str, *, live: bool = False) -> tuple[Finding, ...]:
    """All that is found from a folder, of every agent."""
    from gateway.config.load import project_root
    from gateway.core.places import places
    from gateway.frontends.doctor_agents import agent_findings, folder_findings
    from gateway.frontends.doctor_installation import installation_findings

    where, root, environment = places(), project_root(os.path.realpath(here)), dict(os.environ)
    return (
        *sandbox_findings(_permitted(root)),
        *setup_findings(where, here),
        *installation_findings(where, here, root, environment),
        *folder_findings(where),
        *agent_findings(where, root, environment, "", live=live),
    )


def status(findings: Sequence[Finding]) -> int:
    """0 when nothing is broken, else 2."""
    return TO_MEND if any(each.state == BROKEN for each in findings) else FINE


def _permitted(root: str) -> tuple[str, ...]:
    """The weaker forms that the policy permits, none where it is broken."""
    from gateway.config.load import Options
    from gateway.judge.judge import Judge

    try:
        sandbox = Judge(Options(root)).loaded.settings.get("sandbox")
    except ConfigError:
        return ()
    return tuple(sandbox.value.get("weaker", ())) if sandbox is not None else ()


def sandbox_findings(permitted: Sequence[str] = ()) -> tuple[Finding, ...]:
    """Tries every backend of this platform, what was refused a short while ago too. `permitted`: the weaker forms that
    the policy permits."""
    from gateway.sandbox.backends.choose import backends, try_again
    from gateway.sandbox.diagnosis import surroundings

    try_again()
    return judged(
        [(each.name, each.probe()) for each in _real(tuple(backends()))], surroundings(), _is_installed(), permitted
    )


def judged(
    probes: Sequence[tuple[str, Probe]], found: Surroundings, installed: bool, permitted: Sequence[str] = ()
) -> tuple[Finding, ...]:
    """What the probes of backends mean, best first. Pure."""
    working = [name for name, probe in probes if probe.works]
    holder = working[0] if working else ""
    findings = []
    for name, probe in probes:
        if probe.works:
            details = tuple(f"not held by itself: {each}" for each in probe.degraded)
            if name == holder and name in WEAKER:
                text = f"holds calls here, on {probe.reason}, where the policy permits this weaker form"
                mend = f"permit it by `settings: {{sandbox: {{weaker: [{name}]}}}}`, or see above"
                if name in permitted:
                    text = f"holds calls here, on {probe.reason}: a weaker form, which the policy permits"
                    mend = "see above for a better one"
                findings.append(Finding(name, BETTER, text=text, remedy=mend, details=details))
            else:
                text = f"holds calls here, on {probe.reason}" if name == holder else f"would hold, on {probe.reason}"
                findings.append(Finding(name, OK, text=text, remedy="", details=details if name == holder else ()))
        else:
            mend = remedy(found, probe, installed or name != "bubblewrap") if name in BEST["linux"] else probe.remedy
            state = BROKEN if not holder else OK if probes.index((name, probe)) > _place(probes, holder) else BETTER
            findings.append(Finding(name, state, probe.reason, mend))
    if not probes:
        findings.append(Finding("sandbox", BROKEN, "there is no sandbox for this platform", "use Linux or macOS"))
    return tuple(findings)


def _place(probes: Sequence[tuple[str, Probe]], name: str) -> int:
    return next(place for place, (other, _probe) in enumerate(probes) if other == name)


def _real(offered: Sequence[Backend]) -> list[Backend]:
    return [each for each in offered if each.name != "none"]


def _is_installed() -> bool:
    if "bubblewrap" not in BEST.get(sys.platform, ()):
        return True
    from gateway.sandbox.backends.bubblewrap_program import find
    from gateway.sandbox.base import SandboxError

    try:
        find()
    except SandboxError:
        return False
    return True


def setup_findings(where: Places, cwd: str) -> tuple[Finding, ...]:
    """What else must be right on this machine."""
    return (
        _policies(cwd),
        *_paused(where),
        _enterprise(where),
        _folder("cache", where.cache, "policies are compiled anew by each process"),
        _folder("state", where.state, "trust, answers and what is taken into quarantine cannot be kept"),
        _program("bash", LEAST_BASH, "no shell command can run", BROKEN),
        _program("git", (2, 0), "branches and remotes are not known", BETTER),
    )


def _policies(cwd: str) -> Finding:
    from gateway.config.load import Options
    from gateway.judge.judge import Judge

    try:
        loaded = Judge(Options(cwd)).loaded
    except ConfigError as error:
        lines = tuple(str(each) for each in error.problems)
        return Finding(
            "policies", BROKEN, text="every call is denied", remedy="see `gateway policy show`", details=lines
        )
    count = len(loaded.policy.rules)
    skipped = tuple(loaded.skipped)
    if skipped:
        return Finding(
            "policies", BETTER, text=f"{count} rules hold; not all that was read counts", remedy="", details=skipped
        )
    return Finding("policies", OK, f"{count} rules of {len(loaded.files)} files")


def _paused(where: Places) -> tuple[Finding, ...]:
    from gateway.agents.pausing import known

    now = time.time()
    held = [each.root or "every project" for each in known(where.state) if each.holds(each.root, now)]
    if not held:
        return ()
    what = f"hooks are paused in {', '.join(map(visible, held))}"
    return (Finding("pause", BETTER, what, "end it with `gateway pause --end`"),)


def _enterprise(where: Places) -> Finding:
    from gateway.core.ownership import check_folder

    if not os.path.lexists(where.enterprise):
        return Finding("enterprise", OK, f"{where.enterprise} is not there, so no organisation has a say")
    try:
        check_folder(where.enterprise)
    except GatewayError as error:
        return Finding(
            "enterprise",
            BROKEN,
            text="not only root can write its policy",
            remedy="",
            details=tuple(str(error).split("\n")),
        )
    return Finding("enterprise", OK, f"only root can write {where.enterprise}")


def _folder(name: str, path: str, otherwise: str) -> Finding:
    """Whether something can be kept in a folder, tried in it or in what it would be made in."""
    import tempfile

    near = path
    while near != "/" and not os.path.isdir(near):
        near = os.path.dirname(near)
    try:
        with tempfile.TemporaryFile(dir=near):
            return Finding(name, OK, path)
    except OSError as error:
        return Finding(
            name, BETTER, f"{path} cannot be written ({error.strerror}): {otherwise}", f"make {near} writable"
        )


def _program(name: str, least: tuple[int, int], otherwise: str, state: str) -> Finding:
    import re

    from gateway.core.programs import Untrusted, said, trusted_program

    try:
        path = trusted_program(name)
    except Untrusted as error:
        return Finding(name, state, f"{error}: {otherwise}", f"install {name} with the system's packages")
    try:
        text = said(name, "--version", program=path)
    except OSError as error:
        return Finding(name, state, f"{path} does not run: {error}", f"install {name}")
    match = re.search(r"version (\d+)\.(\d+)[\w.()-]*", text)
    if match is None:
        return Finding(name, state, f"{path} does not tell its version: {otherwise}", f"install {name}")
    if (int(match[1]), int(match[2])) < least:
        return Finding(
            name, state, f"{path} is {match[0]}: {otherwise}", f"install {name} {least[0]}.{least[1]} or later"
        )
    return Finding(name, OK, f"{path}, {match[0]}")


def as_json(findings: Sequence[Finding]) -> str:
    """For programs."""
    found: dict[str, Any] = {
        "works": status(findings) == FINE,
        "findings": [{**each.as_dict(), "details": list(each.details)} for each in findings],
    }
    return pretty(found) + "\n"


def as_text(findings: Sequence[Finding], style: Style) -> str:
    """For people: a line for each finding, with what to do below it."""
    widest = max(len(each.name) for each in findings)
    lines = []
    for each in findings:
        mark, colour = _MARKS[each.state]
        first, *rest = wrapped(visible(each.text), style.width - widest - 6)
        lines.append(f"{style.paint(mark, colour)}  {each.name:<{widest}}  {first}")
        lines += [f"{'':{widest + 6}}{line}" for line in rest]
        for detail in each.details:
            more = [part for line in detail.split("\n") for part in wrapped(visible(line), style.width - widest - 8)]
            lines += [f"{'':{widest + 6}}{'- ' if not place else '  '}{line}" for place, line in enumerate(more)]
        if each.remedy:
            more = wrapped(f"help: {visible(each.remedy)}", style.width - widest - 6)
            lines += [f"{'':{widest + 6}}{style.paint(line, 'strong')}" for line in more]
    broken, better = (
        ", ".join(dict.fromkeys(each.name for each in findings if each.state == state)) for state in (BROKEN, BETTER)
    )
    said = f"nothing is broken; could be better: {better}" if better else "all that was looked at works here"
    lines += ["", f"to be put right: {broken}" if broken else said]
    return "\n".join(lines) + "\n"
