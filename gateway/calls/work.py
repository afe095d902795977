"""What the engine hands a handler, and what a handler gives back: the two sides of "run" in the life of a call.

A handler is a plain function of a `Call` and a `Work`. It is called after the call was judged, approved and recorded,
from any thread; it may block. What it cannot do it says by raising `Failure`: one clear sentence for the model, with
what to do instead. Any other exception is a fault of ours, and the call fails with a record of it.
"""

from __future__ import annotations

from gateway.core.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager
    from typing import Any, Protocol

    from gateway.audit.calls import Lasting
    from gateway.calls.output import Done, Output, Progress
    from gateway.calls.session import Session
    from gateway.core.cancel import Cancel
    from gateway.judge.judge import Judge
    from gateway.model.call import Call, RawCall
    from gateway.model.context import Context
    from gateway.model.plan import SandboxPlan
    from gateway.model.result import Result
    from gateway.model.verdict import Verdict
    from gateway.sandbox.view import View

    class Handler(Protocol):
        def __call__(self, call: Call, work: Work, /) -> Output: ...


class Work(Value):
    """Everything a handler may use beside the call. `context`: the call's, with the session's working folder and mode.
    `may_read`: whether policy lets this call see a path that was found on the way (a search result): absolute, with
    links not yet resolved; never raises. `progress`: tells whoever watches; returns at once. `plan`: what a command of
    this call runs inside, None for tools that start none. `run`: runs a command inside that plan, blocking. `server`:
    the MCP server of that name that policy configures (`gateway.mcp.blocking.Server`), started when it is first needed,
    for as long as the handler uses it.
    `language`: the language server for a file of this name (`gateway.lsp.server.LanguageServer`), likewise.
    `call`: leads another call of the same session through its whole life, judged and recorded by itself; the change to
    the session that it may ask for is not made.
    `lasts`: says that the call runs on after its handler has returned, and gives what is told its end: the handler's
    result is `started` then, and the record has both. `view`: the folders that it works on through the layers of the
    call, None for the person's own. `key`: the same for a call that is made again because nobody
    knows what became of it, "" where nobody can tell."""

    verdict: Verdict
    context: Context
    judge: Judge
    session: Session
    cancel: Cancel
    may_read: Callable[[str], bool]
    progress: Callable[[Progress], None]
    plan: SandboxPlan | None = None
    run: Callable[..., Result] | None = None
    server: Callable[[str], AbstractContextManager[Any]] | None = None
    lasts: Callable[[], Lasting] | None = None
    call: Callable[[RawCall], Done] | None = None
    language: Callable[[str], Any] | None = None
    key: str = ""
    view: View | None = None
