"""What `gateway doctor` says of the gateway's own program: whether a call may write anything that it consists of."""

from __future__ import annotations

import os
import sys

from gateway.agents import AGENTS
from gateway.core.errors import ConfigError
from gateway.core.installation import holds, names
from gateway.frontends.finding import BETTER, BROKEN, OK, Finding
from gateway.install import apart
from gateway.install.agents import agent_named
from gateway.install.base import Site
from gateway.install.detection import Hook, hooks_in

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from gateway.core.places import Places

_NAME = "installation"
_SHOWN = 8
_MOST_PTH = 65_536


def installation_findings(where: Places, cwd: str, project: str, environment: Mapping[str, str]) -> tuple[Finding, ...]:
    """Where it lies, and what of it, of what it loads, and of what hooks start, the policy of this project leaves open
    to calls."""
    from gateway.config.load import Options
    from gateway.judge.judge import Judge
    from gateway.policy.path_protection import PathRules

    own = names(where.state, where.home)
    try:
        guard = Judge(Options(cwd))
    except ConfigError:
        return ()  # every call is denied, as `policies` tells
    rules = PathRules(guard.loaded.policy).in_force(guard.context)
    asked = dict.fromkeys((*own, *_started(where, project, environment), *_loaded(own)))
    ours = [each for each in asked if os.access(each, os.W_OK) or holds(own, each)]
    found = []
    loose = [each for each in ours if not (rules.of(each).fixed or rules.of(each).hidden)]
    if loose:
        text = "a call may write what the gateway, or a hook in agents' settings, starts or loads"
        found.append(Finding(_NAME, BROKEN, text=text, remedy=apart.remedy(), details=_few(loose)))
    inside = apart.within(project, where.home)
    place, tree = apart.in_working_tree(where.home, sys.executable)
    if inside:
        text = "the gateway lies in the project that it would guard; calls cannot write it, but a person's tools do"
        found.append(Finding(_NAME, BROKEN, text=text, remedy=apart.remedy(), details=_few(inside)))
    elif tree:
        text = f"the gateway lies in the git working tree {tree}, where agents may come to work ({place})"
        found.append(Finding(_NAME, BETTER, text, apart.remedy()))
    return tuple(found) or (Finding(_NAME, OK, f"no call may write it: {', '.join(_few(own))}"),)


def _few(paths: Iterable[str]) -> tuple[str, ...]:
    told = tuple(paths)
    return (*told[:_SHOWN], *((f"and {len(told) - _SHOWN} more",) if len(told) > _SHOWN else ()))


def _started(where: Places, project: str, environment: Mapping[str, str]) -> Iterator[str]:
    """The programs and files that installed hook lines name, as named and where they lead."""
    for name in AGENTS:
        agent = agent_named(name)
        assert agent is not None
        for level in agent.LEVELS:
            for each in hooks_in(agent, Site(level, where.home, project, environment)):
                if isinstance(each, Hook) and each.own:
                    for word in each.words:
                        if word.startswith("/") and os.path.exists(word):
                            yield from dict.fromkeys((word, os.path.realpath(word)))


def _loaded(own: Iterable[str]) -> Iterator[str]:
    """The folders besides that `.pth` files of its environment put on Python's path: what lies there is loaded by the
    commands that people type, if not by hooks."""
    sites = [each for each in sys.path if holds(own, each) and os.path.isdir(each)]
    for site in sites:
        for name in sorted(os.listdir(site)):
            if name.endswith(".pth"):
                try:
                    with open(os.path.join(site, name), encoding="utf-8", errors="replace") as file:
                        lines = file.read(_MOST_PTH).splitlines()
                except OSError:
                    continue
                yield from (line.strip() for line in lines if line.startswith("/") and os.path.isdir(line.strip()))
