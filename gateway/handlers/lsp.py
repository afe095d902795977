"""LSP: a question to the language server of a file."""

from __future__ import annotations

from gateway.calls.output import Failure, Output, Text
from gateway.core.errors import CallError, Problem
from gateway.core.quantities import size_said
from gateway.files.opening import place_of
from gateway.lsp.operations import AT_A_PLACE, OPERATIONS, Asked, position
from gateway.lsp.sources import MOST_SOURCE, Sources, may_always_read, source_of
from gateway.lsp.visible import Places

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gateway.calls.work import Work
    from gateway.lsp.server import LanguageServer
    from gateway.lsp.sources import Source
    from gateway.model.call import Call

_NAMES = {"symbols": "symbols of a file", "workspace_symbols": "symbols of the workspace"}


def check(call: Call) -> None:
    """What an operation needs beside the file. Raises CallError."""
    given = call.input
    operation = given["operation"]
    needed = ("line", "character") if operation in AT_A_PLACE else ()
    problems = [
        Problem(f"must be given for `{operation}`", path=f"$.{field}") for field in needed if given.get(field) is None
    ]
    if operation != "workspace_symbols" and given.get("query") is not None:
        problems.append(Problem("is for `workspace_symbols` only", path="$.query", remedy="leave it out"))
    if problems:
        raise CallError(problems)


def ask(call: Call, work: Work) -> Output:
    """Asks the server that serves the file, and shows what it says of what the call may see."""
    check(call)
    place = place_of(call, work, "file_path")
    if work.language is None:
        raise Failure("No language server can be reached from here.")
    if place.kind == "missing":
        raise Failure(f"{place.shown} does not exist.")
    if place.kind == "dir":
        raise Failure(f"{place.shown} is a folder.", "Glob shows what it holds.")
    source = source_of(place.real)
    if source is None:
        raise Failure(
            f"{place.shown} is no plain text file of at most {size_said(MOST_SOURCE)}.", "Use Read to look at it."
        )
    server = work.language(place.real)
    if may_always_read(place.real, work):
        return _answered(call, work, server, source)
    try:  # what it was shown for this one call must not lie in later answers
        return _answered(call, work, server, source)
    finally:
        server.close()


def _answered(call: Call, work: Work, server: LanguageServer, source: Source) -> Output:
    given = call.input
    operation = given["operation"]
    if operation != "diagnostics" and not server.offers(operation):
        known = [_NAMES.get(each, each.replace("_", " ")) for each in (*server.offered(), "diagnostics")]
        wanted = _NAMES.get(operation, operation.replace("_", " "))
        raise Failure(f"{server.title} does not answer questions for {wanted}.", f"It knows: {', '.join(known)}.")
    server.keep_in_step(work.may_read)
    document = server.show(source)
    at = None
    if operation in AT_A_PLACE:
        at = position(document, given["line"], given["character"], server.encoding)
    sources = Sources(work.may_read)
    cwd = work.context.cwd
    places = Places(sources, server.encoding, cwd)
    asked = Asked(
        server,
        document,
        places=places,
        cancel=work.cancel,
        cwd=cwd,
        query=given.get("query") or "",
        seconds=server.seconds,
        at=at,
    )
    answer = OPERATIONS[operation](asked)
    return Output((Text("\n".join(answer.lines)),), {"operation": operation, "items": list(answer.items)})
