"""What became of a call that ran, or of one that was not let."""

from __future__ import annotations

from gateway.core.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping


class Violation(Value):
    """Something the call tried that the plan does not grant, or that was undone afterwards.

    `kind`: net, dns, read, write, exec, limit, protected or kernel. `target`: the path, host:port or limit.
    `rule`: id of the rule behind it, "" when it is simply not granted. `source`: who saw it: proxy, dns, limit, sweep,
    filter, or output (read off what the command printed: a hint, `certain` is False). `hint`: what to do instead, in
    one sentence, for a model as for a person.
    """

    kind: str
    target: str
    rule: str
    source: str
    hint: str
    certain: bool = True
    count: int = 1


class Result(Value):
    """`ended`: exited, signalled, timeout, limit, cancelled, refused (the verdict), failed (the sandbox could not be
    built: `reason` says why, nothing ran) or started (it runs on in the background, and its end follows in the record).
    `status`: the command's own exit status, 128 + n after signal n, 126 when nothing ran. `truncated`: bytes of each
    stream that were not kept. `backend` held it; `degraded`: what that form does not hold by itself. `cwd`: where a
    session's shell ended, "" when unknown; `exported`: its exported variables, None when unknown or nobody asked.
    `lost`: files that it was seen to write in folders that are gone with it. `said`: hosts that it may only read from,
    each with the requests that went there and the bytes of them that the call could choose. `drafted`: what has become
    of what it changed in layers: kept, partly (kept), discarded, undecided, pending (until the turn ends). `dialled`:
    connections that were not predicted, where somebody could be asked: host and port, the program, allowed or refused,
    and by whom, or by which rule."""

    ended: str
    status: int
    stdout: bytes = b""
    stderr: bytes = b""
    truncated: tuple[int, int] = (0, 0)
    reason: str = ""
    violations: tuple[Violation, ...] = ()
    backend: str = ""
    degraded: tuple[str, ...] = ()
    seconds: float = 0.0
    cwd: str = ""
    exported: Mapping[str, str] | None = None
    lost: tuple[str, ...] = ()
    said: tuple[tuple[str, int, int], ...] = ()
    drafted: str = ""
    dialled: tuple[tuple[str, str, str, str], ...] = ()
