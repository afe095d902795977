"""Where the daemon listens that a call is shown."""

from __future__ import annotations

from gateway.host.clients import socket_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from gateway.host.base import Host
    from gateway.model.context import Context
    from gateway.policy.daemons import Daemon
    from gateway.sandbox.survey_results import Place


def daemon_of(daemon: Daemon, host: Host, context: Context, place: Callable[[str], Place]) -> tuple[str, str]:
    """The socket, and why there is none to be told, "" if there is. `place`: where a path leads."""
    path, why = socket_of(daemon.name, host, context)
    found = place(path) if path else None
    if found is not None and found.kind != "other":
        why = f"there is no socket at {path}"
    elif found is not None and found.standing.hidden:
        why = f"rule `{found.standing.hidden}` hides it"
    return ("", why) if why or found is None else (found.real, "")
