"""Trusting a project's policy: what it would allow is shown, a person agrees, and exactly that is recorded."""

from __future__ import annotations

import os
import sys
import time

from gateway.core.cache import digest
from gateway.core.errors import ConfigError, Problem
from gateway.frontends.consent import agreed, require_digest
from gateway.frontends.output import complain, safe_lines, write
from gateway.policy.wording import visible
from gateway.render.style import style_for
from gateway.render.texts import shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from gateway.agent.memory import Remembered
    from gateway.config.load import Options
    from gateway.config.trust import TrustStore
    from gateway.core.places import Places
    from gateway.judge.effective_policy import Effective
    from gateway.tools.registry import Registry

    Look = Callable[[Options], tuple[Effective, Places, Registry]]


def accept(store: TrustStore, options: Options, project: str, yes: str | None, look: Look) -> int:
    """Shows what trusting would accept, asks, and keeps the answer; gives the exit status. `yes`: the digest that was
    accepted beforehand. Raises ConfigError for a broken policy, and where it is not what was shown."""
    from gateway.frontends.policy_text import trust_text

    found, here, _registry = look(options)
    if found.problems:
        for problem in found.problems:
            complain(f"gateway: {safe_lines(str(problem))}\n")
        remedy = "repair it first"
        raise ConfigError(Problem("a broken policy must not be trusted", file=project, remedy=remedy))
    accepts = found.project_digest
    if not accepts:
        file, remedy = os.path.join(project, ".gateway"), "begin one with `gateway new rule ID --layer project`"
        raise ConfigError(Problem("project must have a policy to be trusted", file=file, remedy=remedy))
    if yes is not None:
        require_digest(yes, accepts, "the policy")
    else:
        # What is shown is what trusted rules, settings, hooks and tools would be: read as if they were.
        accepted, _here, registry = look(options.replace(trust=(accepts,)))
        _require_unchanged(accepted, accepts, project)
        write(trust_text(accepted, registry, here.home, style_for(sys.stdout)))
        if accepts in found.kept_digests:
            write("this content is trusted already\n")
            return 0
        if not agreed("trust this project's policy?", "trust"):
            write("not trusted\n")
            return 1
        _require_unchanged(look(options)[0], accepts, project)
    store.accept(project, accepts, time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()))
    write(f"trusted {project}\n  digest {accepts}\n")
    return 0


def accept_memory(store: TrustStore, options: Options, project: str, yes: str | None) -> int:
    """As `accept`, for what the project's files tell agents to know (`gateway.agent.memory`): each file's content is
    kept by itself, so that a change of one leaves the others accepted. Raises ConfigError."""
    from gateway.agent.memory import Memory
    from gateway.judge.judge import Judge

    judge = Judge(options)

    def look() -> tuple[dict[str, Remembered], bool]:
        found, is_whole = Memory(judge).acceptable(judge.context)
        return {each.digest or each.file: each for each in found}, is_whole

    found, is_whole = look()
    wanted = [each for each in found if each in {one.digest for one in found.values()}]
    if not wanted:
        remedy = "agents are told of AGENTS.md, CLAUDE.md and .gateway/memory.md"
        raise ConfigError(Problem("project must have files of memory to be trusted", file=project, remedy=remedy))
    whole = digest(("gateway memories 1", *sorted(wanted)))
    if yes is not None:
        require_digest(yes, whole, "the project's memory")
    else:
        known = store.digests(project)
        for each in found.values():
            write(_memory_text(each, each.digest in known))
        if not is_whole:
            write("the project is large: files in folders further down were not looked for\n")
        write(f"digest {whole}\n")
        if known.issuperset(wanted):
            write("all of this is trusted already\n")
            return 0
        if not agreed("let agents be told this?", "trust"):
            write("not trusted\n")
            return 1
        if look()[0].keys() != found.keys():
            remedy = "look again"
            raise ConfigError(Problem("files must not change while they are looked at", file=project, remedy=remedy))
    now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    for accepts in wanted:
        store.accept(project, accepts, now)
    many = "s" * (len(wanted) != 1)
    write(f"trusted {len(wanted)} file{many} of {project}\n")
    return 0


def _memory_text(each: Remembered, is_known: bool) -> str:
    """One file as a person is shown it: all of it, since all of it is accepted."""
    by = f", brought in by {visible(each.by)}" if each.by else ""
    if each.reason:
        return f"== {visible(each.file)}{by}: never told: {visible(each.reason)}\n"
    state = " (trusted already)" if is_known else ""
    return f"== {visible(each.file)}{by}{state}\n{shown(each.text.rstrip())}\n\n"


def _require_unchanged(found: Effective, accepts: str, project: str) -> None:
    if found.project_digest != accepts or found.problems:
        raise ConfigError(Problem("policy must not change while it is looked at", file=project, remedy="look again"))
