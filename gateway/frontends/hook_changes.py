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
from gateway.model.effect import HOLE, Touch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gateway.agents.base import Event
    from gateway.judge.judge import Judge
    from gateway.model.verdict import Verdict


def about_to_run(gateway: Judge, event: Event, verdict: Verdict, *, certainly: bool) -> None:
    """A call that is no command may run, or, unless `certainly`, its client asks whether it may: what it writes is
    saved, and what it writes in the real temporary folder will be in that of the session's confined calls. Never
    raises: what cannot be saved cannot be undone."""
    if not any(item.effect.kind in ("write", "delete") for item in verdict.analysis.items):
        return
    _appears(gateway, event, verdict, certainly=certainly)
    with suppress(GatewayError, OSError):
        from gateway.calls.saving import written_paths
        from gateway.sandbox.changes.recording import Of, Written

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


def _appears(gateway: Judge, event: Event, verdict: Verdict, *, certainly: bool) -> None:
    with suppress(GatewayError, OSError):
        from gateway.core.room_names import of_client
        from gateway.sandbox import rooms
        from gateway.sandbox.persistent_folders import ROOMS

        paths = [path for path in _temporary(verdict) if rooms.is_temporary(path)]
        name = of_client(event.agent, event.session)
        if paths and name:
            call = "" if certainly else _key(event)
            rooms.note(f"{gateway.places.state}/{ROOMS}", name, paths, call=call)


def _temporary(verdict: Verdict) -> list[str]:
    """What it writes, by the resolved folders that it lies in."""
    found = []
    for item in verdict.analysis.items:
        effect = item.effect
        if isinstance(effect, Touch) and effect.kind == "write" and not effect.tree and HOLE not in effect.path:
            folder, _slash, name = effect.path.rpartition("/")
            found.append(f"{os.path.realpath(folder or '/').rstrip('/')}/{name}")
    return found


def has_run(gateway: Judge, event: Event) -> None:
    """A call has ended. Never raises."""
    with suppress(OSError):
        from gateway.core.room_names import of_client
        from gateway.sandbox import rooms
        from gateway.sandbox.persistent_folders import ROOMS

        name = of_client(event.agent, event.session)
        rooms.done(f"{gateway.places.state}/{ROOMS}", name, _key(event))
    root = gateway.context.root or gateway.context.cwd
    folder = local_folder(gateway.places, root)
    if not os.path.isdir(os.path.join(folder, "changes")):
        return
    with suppress(GatewayError, OSError):
        from gateway.sandbox.changes.recording import finish_of

        finish_of(folder, _key(event))


def _key(event: Event) -> str:
    call = event.id or spaced([event.tool, dict(event.input)])
    said = spaced([event.agent, event.session, call])
    return blake2b(said.encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()
