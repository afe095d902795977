"""What a foreign client's own tools are about to write, saved before the client is answered.

Only names that are known beforehand: those of its tools for files. What its shell does unconfined nobody tells. A call
that is told to end is looked at then, any other one when somebody asks for the project's changes.
"""

from __future__ import annotations

import os
from _blake2 import blake2b
from contextlib import suppress

from gateway.config.layers import local_folder
from gateway.core.errors import GatewayError
from gateway.core.plainjson import spaced

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gateway.agents.base import Event
    from gateway.judge.judge import Judge
    from gateway.model.verdict import Verdict


def about_to_run(gateway: Judge, event: Event, verdict: Verdict) -> None:
    """A call that writes files may run, or its client asks whether it may. Never raises: what cannot be saved cannot be
    undone."""
    with suppress(GatewayError, OSError):
        from gateway.calls.saving import written_paths
        from gateway.changes.recording import Of, Written

        paths = written_paths(verdict)
        if not paths:
            return
        context = verdict.context
        root = context.root or context.cwd
        of = Of(
            local_folder(gateway.places, root), root, verdict.call.shown or verdict.call.tool,
            tool=event.tool, session=event.session, key=_key(event),
        )  # fmt: skip
        Written(of, paths, context.workspace).leave()


def has_run(gateway: Judge, event: Event) -> None:
    """A call has ended. Never raises."""
    root = gateway.context.root or gateway.context.cwd
    folder = local_folder(gateway.places, root)
    if not os.path.isdir(os.path.join(folder, "changes")):
        return
    with suppress(GatewayError, OSError):
        from gateway.changes.recording import finish_of

        finish_of(folder, _key(event))


def _key(event: Event) -> str:
    call = event.id or spaced([event.tool, dict(event.input)])
    said = spaced([event.agent, event.session, call])
    return blake2b(said.encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()
