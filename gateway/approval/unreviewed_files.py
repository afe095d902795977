"""What a commit or a push would hand on that no call said it would write: files that people, pipelines and builds run
later, changed by code that ran contained. Named where such a call is asked about."""

from __future__ import annotations

import os
from contextlib import suppress

from gateway.config.layers import local_folder
from gateway.core.errors import GatewayError
from gateway.core.quantities import counted
from gateway.policy.wording import shortened, visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gateway.judge.judge import Judge
    from gateway.model.effect import Effect
    from gateway.model.verdict import Verdict

MOST = 8
_HANDS_ON = ("commit", "push")


def changed_by_code(judge: Judge, verdict: Verdict) -> tuple[str, ...]:
    """A line for each such file that is still there, the one that was changed last first, with why it runs later and
    the call that changed it; nothing for a call that hands nothing on. Raises nothing."""
    if not any(_hands_on(item.effect) for item in verdict.analysis.items):
        return ()
    root = verdict.context.root or verdict.context.cwd
    folder = local_folder(judge.places, root)
    if not os.path.isdir(os.path.join(folder, "changes")):
        return ()
    from gateway.sandbox.changes.runs_later import EXECUTABLE, runs_later
    from gateway.sandbox.changes.store import KEPT, Store

    found: dict[str, str] = {}
    with suppress(GatewayError, OSError):
        for made in reversed(Store(folder).sets()):
            for name in made.later if made.state == KEPT else ():
                if name not in found and os.path.lexists(os.path.join(root, name)):
                    why = runs_later(name) or EXECUTABLE
                    found[name] = visible(f"{name} ({why}; changes {made.number}: {shortened(made.call, 60)})")
    lines = list(found.values())
    more = len(lines) - MOST
    return (*lines[:MOST], f"and {counted(more, 'more file')}") if more > 0 else tuple(lines)


def _hands_on(effect: Effect) -> bool:
    if effect.kind == "push":
        return True
    if effect.kind not in ("exec", "code"):
        return False
    program, argv = getattr(effect, "program", ""), getattr(effect, "argv", ())
    return program.rpartition("/")[2] == "git" and any(word in argv for word in _HANDS_ON)
