"""What `gateway doctor` says of agents: whether the hook that stands in their settings answers, and what interferes."""

from __future__ import annotations

import os
import re
import signal
import stat
import subprocess
from contextlib import suppress

from gateway.agents import AGENTS
from gateway.agents.questions import PUT, refused_in
from gateway.core.errors import GatewayError
from gateway.core.programs import persons_environment, persons_program
from gateway.frontends.doctor_live import live_findings
from gateway.frontends.doctor_looked import Looked, look
from gateway.frontends.doctor_project import project_findings
from gateway.frontends.doctor_times import times
from gateway.frontends.finding import BETTER, BROKEN, OK, Finding
from gateway.install import apart, canary
from gateway.install.agents import agent_named
from gateway.install.base import MANAGED, PROJECT, USER
from gateway.install.hook_lines import hook_lines, is_held, is_of_here, unheld

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from gateway.core.places import Places
    from gateway.install.codextrust import ListedHook
    from gateway.install.detection import Hook

    # Runs a command line with this input: exit status, standard output, standard error.
    Run = Callable[[Sequence[str], bytes], tuple[int, bytes, bytes]]

SECONDS = 20
_SHOWN = 5


def agent_findings(
    where: Places, project: str, environment: Mapping[str, str], only: str = "", *, live: bool = False
) -> tuple[Finding, ...]:
    """Every agent that is here, or only one. `live`: each is run once."""
    found: list[Finding] = []
    for name in AGENTS:
        agent = agent_named(name)
        assert agent is not None
        if only and name != only:
            continue
        looked = look(agent, where, project, environment)
        if looked.program or looked.own or looked.broken or only:
            found += findings_of(looked, project, environment)
            if live:
                found += live_findings(looked, environment)
            found += project_findings(name, agent.TITLE, project)
    return tuple(found)


def findings_of(looked: Looked, project: str, environment: Mapping[str, str]) -> list[Finding]:
    """What there is to say of one agent. Runs the hook's command lines, and the agent's own program for its version."""
    agent, name = looked.agent, looked.agent.NAME
    found = [
        Finding(name, BROKEN, text=f"{each.file} cannot be read", remedy="repair it by hand", details=(each.why,))
        for each in looked.broken
    ]
    if not looked.own:
        text = f"{agent.TITLE} runs without the gateway" if looked.program else f"{agent.TITLE} is not set up here"
        return [*found, Finding(name, BETTER, text, f"gateway init {name}")]

    def run(words: Sequence[str], given: bytes) -> tuple[int, bytes, bytes]:
        return ran(words, given, project, environment)

    def run_apart(words: Sequence[str], given: bytes) -> tuple[int, bytes, bytes]:
        return ran(words, given, "/", environment, (project,))

    found += answers(looked, project, run)
    found += switched_off(looked)
    found += incomplete(looked)
    found += loose_files(looked)
    found += interfering(looked)
    found += version(looked, run_apart)
    if name == "codex":
        found += trust(looked, project, environment)
    if all(each.state == OK for each in found):
        levels = ", ".join(dict.fromkeys(each.level for each in looked.own))
        found.insert(0, Finding(name, OK, f"the hook in its settings ({levels}) answers as it must"))
    return [*found, *unasked(looked)]


def ran(
    words: Sequence[str], given: bytes, folder: str, environment: Mapping[str, str], writable: Sequence[str] = ()
) -> tuple[int, bytes, bytes]:
    """What a command line says within its time; with it ends whatever it has started. `writable`: folders besides this
    one that calls write. Raises OSError and SubprocessError."""
    pipe = subprocess.PIPE
    with subprocess.Popen(
        words, stdin=pipe, stdout=pipe, stderr=pipe, cwd=folder, start_new_session=True,
        env=persons_environment(environment, writable or (folder,)),
    ) as process:  # fmt: skip
        try:
            said, errors = process.communicate(given, timeout=SECONDS)
        except BaseException:
            with suppress(ProcessLookupError, PermissionError):  # it has ended
                os.killpg(process.pid, signal.SIGKILL)
            raise
    return process.returncode, said, errors


def answers(looked: Looked, project: str, run: Run) -> list[Finding]:
    """Runs the command line that stands in the settings: a call that must be refused, garbage, one that may run. What a
    project's settings start besides this gateway is not run: whoever wrote the project chose it."""
    name = looked.agent.NAME
    event = canary.BEFORE[name]
    remedy = f"gateway init {name}, with --project or --managed for those levels"
    found = []
    lines: dict[tuple[str, ...], Hook] = {}
    for each in looked.own:
        if each.event in ("", event):
            lines.setdefault(each.words, each)
    if not lines:
        return [Finding(name, BROKEN, f"no hook stands for {event}: calls run unasked", remedy)]
    for words, hook in lines.items():
        if hook.level == PROJECT and not is_of_here(name, hook.event, words):
            text = f"the hook in {hook.file} starts another program than this gateway, so it was not tried"
            found.append(
                Finding(name, BROKEN, text=text, remedy=f"gateway init {name} --project", details=(" ".join(words),))
            )
            continue
        if not all(persons_program(each, {}, (project,)) for each in (words[0], *unheld(words)[:1])):
            text = (
                f"the hook in {hook.file} starts a program of the project, which calls may write, so it was not tried"
            )
            found.append(Finding(name, BROKEN, text=text, remedy=apart.remedy()))
            continue
        problems = []
        for what, given, wanted in (
            ("a call that must be refused", canary.call_of(name, canary.DENIED, project), False),
            ("what no agent writes", canary.GARBAGE, False),
            ("a call that may run", canary.call_of(name, canary.ALLOWED, project), True),
        ):
            try:
                done = run(words, given)
            except (OSError, subprocess.SubprocessError) as error:
                problems.append(f"{what}: the command line does not run ({_short(error)})")
                continue
            good = canary.is_let_run(name, *done) if wanted else canary.is_refused(*done)
            if not good:
                problems.append(f"{what} was {'refused' if wanted else 'let run'} (exit status {done[0]})")
        only_strict = problems and all("may run" in each for each in problems)
        if problems:
            text = f"the hook in {hook.file} does not answer as it must"
            state, mend = (BETTER, "look at `gateway why` and at your policy") if only_strict else (BROKEN, remedy)
            found.append(Finding(name, state, text=text, remedy=mend, details=tuple(problems)))
    return found


def switched_off(looked: Looked) -> list[Finding]:
    """Settings that silence hooks."""
    name = looked.agent.NAME
    found = []
    for level, path, data in looked.settings:
        if not isinstance(data, dict):
            continue
        if data.get("disableAllHooks") is True and any(each.level != MANAGED for each in looked.own):
            found.append(Finding(name, BROKEN, f"`disableAllHooks` in {path} silences the hook", "take it out"))
        hooks_off = data.get("features", {}).get("hooks") is False if isinstance(data.get("features"), dict) else False
        if name == "codex" and hooks_off:
            found.append(Finding(name, BROKEN, f"`features.hooks` in {path} switches hooks off", "take it out"))
        enabled = data.get("hooksConfig", {}).get("enabled") if isinstance(data.get("hooksConfig"), dict) else None
        if name == "gemini" and enabled is False:
            found.append(Finding(name, BROKEN, f"`hooksConfig.enabled` in {path} switches hooks off", "take it out"))
        if (
            name == "claude"
            and level == MANAGED
            and _has_own(looked, MANAGED)
            and data.get("allowManagedHooksOnly") is not True
        ):
            text = f"{path} lets users' and projects' hooks run beside the organisation's"
            found.append(
                Finding(name, BETTER, text, "set `allowManagedHooksOnly` there, or gateway init claude --managed")
            )
    return found


def unasked(looked: Looked) -> list[Finding]:
    """Where a question of policy's becomes a refusal, as the agent would run the call without asking anybody."""
    agent = looked.agent
    modes = PUT[agent.NAME]
    if not modes:
        return [Finding(agent.NAME, OK, f"{agent.TITLE} cannot be made to ask: what policy asks about is refused")]
    found = []
    for _level, path, data in looked.settings:
        permissions = data.get("permissions") if isinstance(data, dict) else None
        mode = permissions.get("defaultMode") if isinstance(permissions, dict) else None
        if agent.NAME == "claude" and isinstance(mode, str) and refused_in(agent.NAME, mode):
            what = "what it may guard by itself" if modes.get(mode) else "everything that policy asks about"
            text = f"it starts in the mode `{mode}` ({path}), in which {what} is refused instead of asked about"
            mend = f"to be asked, start it in {' or '.join(each for each in modes if not refused_in('claude', each))}"
            found.append(Finding(agent.NAME, BETTER, text, mend))
    return found


def incomplete(looked: Looked) -> list[Finding]:
    """Events that the gateway should hear of and does not, times that are too short, hooks that fail open."""
    agent, name = looked.agent, looked.agent.NAME
    found = []
    for site in looked.sites:
        own = [each for each in looked.own if each.level == site.level]
        if not own:
            continue
        remedy = f"gateway init {name}{_flag(site.level)}"
        wanted = {
            piece.at[-1]
            for target in agent.hooks(site, hook_lines(name))
            for piece in target.pieces
            if piece.at[:1] == ("hooks",)
        } - {"hooks"}
        missing = sorted(wanted - {each.event for each in own})
        if missing:
            found.append(Finding(name, BETTER, f"no hook for {', '.join(missing)} in {own[0].file}", remedy))
        weak = [each.event for each in own if each.event and not is_held(name, each.event, each.words)]
        if weak:
            text = (
                f"the hook in {own[0].file} is the weak form of earlier releases: {agent.TITLE} runs the call where "
                "its process cannot be started or is killed"
            )
            details = tuple(f"{each}" for each in dict.fromkeys(weak))
            found.append(Finding(name, BROKEN, text=text, remedy=remedy, details=details))
        found += times(agent, own, remedy)
        if name == "cursor" and any(isinstance(e.data, dict) and e.data.get("failClosed") is not True for e in own):
            found.append(Finding(name, BROKEN, f"a hook in {own[0].file} is without `failClosed`", remedy))
    return found


def loose_files(looked: Looked) -> list[Finding]:
    """Programs and settings that others could change."""
    name = looked.agent.NAME
    details = []
    for path in dict.fromkeys(
        (*(w for each in looked.own for w in each.words if w.startswith("/")), *(e.file for e in looked.own))
    ):
        reason = loose(path)
        if reason:
            details.append(f"{path} {reason}")
    if not details:
        return []
    return [
        Finding(
            name,
            BROKEN,
            text="others could change what the hook runs",
            remedy="chmod go-w, chown them",
            details=tuple(details),
        )
    ]


def loose(path: str) -> str:
    """Why a file, or a folder that it lies in, is not safe from others; "" if it is."""
    own = (0, os.geteuid())
    each = os.path.realpath(path)
    first = True
    while True:
        try:
            found = os.stat(each)
        except OSError as error:
            return f"cannot be looked at: {error.strerror}"
        sticky = stat.S_ISDIR(found.st_mode) and found.st_mode & stat.S_ISVTX
        what = "" if first else f" lies in {each}, which"
        if found.st_uid not in own:
            return f"{what or ''} belongs to somebody else".strip() if what else "belongs to somebody else"
        if found.st_mode & 0o002 and not sticky:
            return f"{what} can be written by everybody".strip()
        if found.st_mode & 0o020 and not sticky and found.st_gid != os.getegid():
            return f"{what} can be written by a group".strip()
        if each == "/":
            return ""
        each, first = os.path.dirname(each), False


def interfering(looked: Looked) -> list[Finding]:
    """Other hooks before a call: what they rewrite is not shown to ours."""
    name = looked.agent.NAME
    event = canary.BEFORE[name].lower()
    others = [each for each in looked.hooks if not each.own and each.event.lower() == event]
    if not others:
        return []
    lines = [f"{each.file}: {' '.join(each.words) or 'a hook that is no command'}" for each in others]
    more = (f"and {len(lines) - _SHOWN} more",) if len(lines) > _SHOWN else ()
    mend = "make sure that none of them rewrites calls; organisations: gateway init --managed"
    return [
        Finding(
            name,
            BETTER,
            text="other hooks may change a call after it was judged",
            remedy=mend,
            details=(*lines[:_SHOWN], *more),
        )
    ]


def version(looked: Looked, run: Run) -> list[Finding]:
    """Whether the agent is old enough to drop hooks, or too old to be known."""
    agent = looked.agent
    least = getattr(agent, "LEAST_VERSION", "")
    if not looked.program or not least:
        return []
    try:
        _status, said, _errors = run([looked.program, "--version"], b"")
    except (OSError, subprocess.SubprocessError) as error:
        return [Finding(agent.NAME, BETTER, f"{looked.program} does not tell its version ({_short(error)})", "")]
    found = re.search(rb"(\d+)\.(\d+)\.(\d+)", said)
    if found is None:
        return [Finding(agent.NAME, BETTER, f"{looked.program} does not tell its version", "")]
    if tuple(map(int, found.groups())) < tuple(map(int, least.split("."))):
        text = f"{agent.TITLE} is {found[0].decode()}; what it does with hooks is known from {least} on"
        return [Finding(agent.NAME, BETTER, text, f"update {agent.TITLE}")]
    return []


def trust(looked: Looked, project: str, environment: Mapping[str, str]) -> list[Finding]:
    """Whether Codex runs the hook: it skips one that was not trusted exactly as it stands, without a word."""
    from gateway.install import codextrust

    if not looked.program:
        text = "codex is not on PATH, so nobody can tell whether it trusts the hook"
        return [Finding("codex", BETTER, text, "run this where codex is on PATH, or look at /hooks in codex")]
    try:
        listed = codextrust.listed(looked.program, project, environment)
    except GatewayError as error:
        return [
            Finding("codex", BETTER, f"codex does not tell which hooks it trusts: {error}", "look at /hooks in codex")
        ]
    return judged_trust(listed)


def judged_trust(listed: Sequence[ListedHook]) -> list[Finding]:
    """What Codex's list of hooks means. Pure."""
    own = [each for each in listed if each.is_own]
    remedy = "gateway init codex, which records the trust"
    if not own:
        return [
            Finding(
                "codex", BROKEN, "Codex does not see the hook", "does it trust this project? else gateway init codex"
            )
        ]
    skipped = [f"{each.event}: {each.trust or 'not trusted'} ({each.source})" for each in own if not each.runs]
    if skipped:
        return [
            Finding(
                "codex",
                BROKEN,
                text="Codex skips the hook, and runs calls unasked",
                remedy=remedy,
                details=tuple(skipped),
            )
        ]
    return []


def folder_findings(where: Places) -> tuple[Finding, ...]:
    """The gateway's own folders: nobody else may write them."""
    found = []
    for name, path in (("policy", where.config), ("state", where.state)):
        if os.path.lexists(path):
            reason = loose(path)
            if reason:
                found.append(Finding(name, BROKEN, f"{path} {reason}", f"chmod go-w {path}"))
    return tuple(found)


def _has_own(looked: Looked, level: str) -> bool:
    return any(each.level == level for each in looked.own)


def _flag(level: str) -> str:
    return {USER: "", PROJECT: " --project", MANAGED: " --managed"}[level]


def _short(error: BaseException) -> str:
    return getattr(error, "strerror", None) or type(error).__name__
