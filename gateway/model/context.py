"""Who asks, from where, and in which mode: everything a rule may test that is not the call itself."""

from __future__ import annotations

from gateway.core.value import Value
from gateway.model.changes import NONE


class Context(Value):
    """One session's circumstances, fixed before a call is judged.

    Paths are absolute and resolved. `root`: the project root, "" when there is none. `workspace`: the project
    root plus named extra folders; empty when the root would be `/`, HOME or an ancestor of HOME. `temp`: the
    session's own temporary folders, which only the sandbox makes its own. `now`: seconds since the epoch, read once per
    call. `confined`: the call will run in the sandbox. `branch`: HEAD of the project, "" when unknown. `scratch`: the
    session's folder for outputs too long to show, which is its own wherever a call runs; "" for none. `rules`: those of
    the session, each the text of a policy file that holds nothing else. `contained`: the call is judged as one by
    exactly the contained plan, which only `gateway.policy.contain` says. `room`: the name of what confined calls of the
    session share, a temporary folder and a loopback (`gateway.sandbox.rooms`); "" where each has its own. `shared`:
    where the session's own tools find that folder, for each name that it has inside; () for tools of somebody else.
    `changes`: the mildest that may become of what a call of the session changes (`gateway.model.changes`), whatever
    policy says; `reviewed`: somebody can be asked about that when the call has ended.
    """

    cwd: str
    root: str
    home: str
    workspace: tuple[str, ...] = ()
    temp: tuple[str, ...] = ()
    mode: str = "default"
    confined: bool = True
    agent: str = ""
    depth: int = 0
    branch: str = ""
    now: float = 0.0
    env: tuple[tuple[str, str], ...] = ()
    scratch: str = ""
    rules: tuple[str, ...] = ()
    contained: bool = False
    room: str = ""
    shared: tuple[tuple[str, str], ...] = ()
    changes: str = NONE
    reviewed: bool = False
