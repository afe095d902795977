"""Accepting a project's policy: it is shown as what it would be, a person agrees, and exactly that is kept."""

from __future__ import annotations

import os
import sys
import time

from gateway.core.errors import ConfigError, Problem
from gateway.frontends.consent import agreed, require_digest
from gateway.frontends.output import complain, safe_lines, write
from gateway.render.style import style_for

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

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
    digest = found.project_digest
    if not digest:
        file, remedy = os.path.join(project, ".gateway"), "begin one with `gateway new rule ID --layer project`"
        raise ConfigError(Problem("project must have a policy to be trusted", file=file, remedy=remedy))
    if yes is not None:
        require_digest(yes, digest, "the policy")
    else:
        # What is shown is what trusted rules, settings, hooks and tools would be: read as if they were.
        accepted, _here, registry = look(options.replace(trust=(digest,)))
        _require_unchanged(accepted, digest, project)
        write(trust_text(accepted, registry, here.home, style_for(sys.stdout)))
        if digest in found.kept_digests:
            write("this content is trusted already\n")
            return 0
        if not agreed("trust this project's policy?", "trust"):
            write("not trusted\n")
            return 1
        _require_unchanged(look(options)[0], digest, project)
    store.accept(project, digest, time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()))
    write(f"trusted {project}\n  digest {digest}\n")
    return 0


def _require_unchanged(found: Effective, digest: str, project: str) -> None:
    if found.project_digest != digest or found.problems:
        raise ConfigError(Problem("policy must not change while it is looked at", file=project, remedy="look again"))
