"""The language server for policy files: pygls speaks the protocol, the other modules know policy."""

from __future__ import annotations

import asyncio
import importlib.metadata
import os
from contextlib import suppress
from typing import TYPE_CHECKING

from lsprotocol import types
from pygls.lsp.server import LanguageServer
from pygls.workspace import ServerTextPosition, ServerTextRange

from gateway.core.errors import ConfigError
from gateway.core.value import Value
from gateway.frontends.editor import checks, impact
from gateway.frontends.editor.cursor import place_at, word_at
from gateway.frontends.editor.vocabulary import KEY, PRESET, PROGRAM, TOOL, VALUE, meaning, offers

if TYPE_CHECKING:
    from collections.abc import Coroutine
    from typing import Any

    from pygls.workspace import TextDocument

    from gateway.frontends.editor.checks import Document, Remark
    from gateway.frontends.editor.impact import Effect
    from gateway.frontends.editor.vocabulary import Names

PAUSE = 0.2  # seconds without a change before a text is looked at
_LARGEST = 1_000_000  # characters of a text in which words are completed and explained
_SEVERITIES = {
    checks.ERROR: types.DiagnosticSeverity.Error,
    checks.WARNING: types.DiagnosticSeverity.Warning,
    checks.INFO: types.DiagnosticSeverity.Information,
}
_KINDS = {
    KEY: types.CompletionItemKind.Property,
    VALUE: types.CompletionItemKind.EnumMember,
    TOOL: types.CompletionItemKind.Function,
    PROGRAM: types.CompletionItemKind.Module,
    PRESET: types.CompletionItemKind.File,
}


class _Open(Value):
    """What is known of an open text. `effect`: of the text as it was last saved."""

    document: Document
    effect: Effect | None = None


class PolicyServer(LanguageServer):
    """Answers for the policies that an editor has open. Everything that takes long is worked out beside the loop that
    answers, for the newest text only."""

    def __init__(self, cwd: str) -> None:
        # Whole texts: what ends a line must not be read differently on the two sides.
        whole = types.TextDocumentSyncKind.Full
        super().__init__("gateway policy lsp", importlib.metadata.version("agent-gateway"), whole)
        self._cwd = cwd
        self._open: dict[str, _Open] = {}
        self._looking: dict[tuple[str, str], asyncio.Task[None]] = {}
        self._known: dict[str, Names] = {}
        self._lint = asyncio.Lock()

    def opened(self, uri: str) -> None:
        """A text is open: it is looked at, if it is policy."""
        self._look(uri)
        self._begin("impact", uri, self._replay(uri))

    def changed(self, uri: str) -> None:
        """A text is another one. Those beside it are looked at as well: rules of one may hold for all of another's."""
        self._look(uri)
        for each in self._open:
            if each != uri:
                self._begin("check", each, self._check(each))

    def saved(self, uri: str) -> None:
        """A text was saved: what it would have decided is worked out."""
        self._begin("impact", uri, self._replay(uri))

    def closed(self, uri: str) -> None:
        """A text is open no longer."""
        for kind in ("check", "impact"):
            task = self._looking.pop((kind, uri), None)
            if task is not None:
                task.cancel()
        if self._open.pop(uri, None) is not None:
            self._publish(uri, None, [])

    def hover(self, uri: str, position: types.Position) -> types.Hover | None:
        """What the word at a place means, and what its line would have changed."""
        text = self._text(uri)
        if text is None or len(text.source) > _LARGEST:
            return None
        said = [self._lenses(uri).get(position.line, "")]
        place = place_at(text.source, word_at(text.source, _offset(text, position)))
        said += [meaning(place)] if place is not None and place.word else []
        shown = "\n\n".join(filter(None, said))
        return types.Hover(types.MarkupContent(types.MarkupKind.PlainText, shown)) if shown else None

    async def complete(self, uri: str, position: types.Position) -> types.CompletionList:
        """What may stand at a place."""
        text = self._text(uri)
        place = None
        if text is not None and len(text.source) <= _LARGEST:
            place = place_at(text.source, _offset(text, position))
        if place is None:
            return types.CompletionList(is_incomplete=False, items=[])
        names = await self._names(self._open[uri].document)
        items = [
            types.CompletionItem(
                each.word, kind=_KINDS[each.kind], insert_text=each.text, documentation=each.about or None
            )
            for each in offers(place, names)
        ]
        return types.CompletionList(is_incomplete=True, items=items)

    def lenses(self, uri: str) -> list[types.CodeLens]:
        """What a saved text would have changed, above its first line and above the rules that would now decide."""
        return [
            types.CodeLens(_range(line, 0, 0), types.Command(title, ""))
            for line, title in sorted(self._lenses(uri).items())
        ]

    def _lenses(self, uri: str) -> dict[int, str]:
        known = self._open.get(uri)
        if known is None or known.effect is None:
            return {}
        rules = {line - 1: said for line, said in known.effect.by_line().items() if line > 1}
        return {0: known.effect.summary(), **rules}

    def _text(self, uri: str) -> TextDocument | None:
        """An open text that is policy."""
        return self.workspace.get_text_document(uri) if uri in self._open else None

    def _look(self, uri: str) -> None:
        text = self.workspace.get_text_document(uri)
        document = checks.document_at(text.path, text.source, self._cwd)
        if document is None:
            self.closed(uri)
            return
        known = self._open.get(uri)
        if known is None or known.document != document:
            self._open[uri] = _Open(document)
        self._begin("check", uri, self._check(uri))

    def _begin(self, kind: str, uri: str, work: Coroutine[Any, Any, None]) -> None:
        """Works on the newest text alone."""
        before = self._looking.get((kind, uri))
        if before is not None:
            before.cancel()
        self._looking[kind, uri] = asyncio.get_running_loop().create_task(work)

    async def _check(self, uri: str) -> None:
        await asyncio.sleep(PAUSE)
        text = self._text(uri)
        if text is None:
            return
        document, source, version = self._open[uri].document, text.source, text.version
        found = await asyncio.to_thread(checks.problems, document, source)
        if not found:
            async with self._lint:  # one at a time: whoever waits here is dropped once there is a newer text
                texts = {
                    each.document.path: self.workspace.get_text_document(name).source
                    for name, each in self._open.items()
                }
                found = await asyncio.to_thread(checks.findings, document, {**texts, document.path: source})
        self._publish(uri, version, found)

    async def _replay(self, uri: str) -> None:
        text = self._text(uri)
        if text is None:
            return
        known = self._open[uri]
        try:
            effect = await impact.effect_of(known.document, text.source)
        except ConfigError:
            effect = None
        if uri in self._open and effect != self._open[uri].effect:
            self._open[uri] = self._open[uri].replace(effect=effect)
            if self._refreshes():
                self.workspace_code_lens_refresh(None)

    def _refreshes(self) -> bool:
        workspace = self.client_capabilities.workspace
        return bool(workspace and workspace.code_lens and workspace.code_lens.refresh_support)

    async def _names(self, document: Document) -> Names:
        """As they were when they were first asked for."""
        found = self._known.get(document.root)
        if found is None:
            found = self._known[document.root] = await asyncio.to_thread(checks.names, document)
        return found

    def _publish(self, uri: str, version: int | None, found: list[Remark]) -> None:
        text = self.workspace.get_text_document(uri) if found else None
        shown = [
            types.Diagnostic(
                range=_place_of(each, text),
                severity=_SEVERITIES[each.severity],
                message=each.message,
                code=each.rule or None,
                source="gateway",
            )
            for each in found
            if text is not None
        ]
        self.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, shown, version))


def _place_of(remark: Remark, text: TextDocument) -> types.Range:
    """From where it stands to the end of its line, without the blanks around."""
    lines = text.source.split("\n")
    number = min(max(remark.line, 1), len(lines)) - 1
    line = lines[number].rstrip()
    start = remark.column - 1 if 0 < remark.column <= len(line) else len(line) - len(line.lstrip())
    found = ServerTextRange(ServerTextPosition(number, start), ServerTextPosition(number, len(line)))
    return text.position_codec.range_to_client_units(lines, found)


def _offset(text: TextDocument, position: types.Position) -> int:
    """A place as an editor names it, in code points from the beginning."""
    lines = text.source.split("\n")
    number = min(position.line, len(lines) - 1)
    line = lines[number]
    units = types.Position(0, min(position.character, text.position_codec.client_num_units(line)))
    return (
        sum(len(each) + 1 for each in lines[:number])
        + text.position_codec.position_from_client_units([line], units).character
    )


def _range(line: int, start: int, end: int) -> types.Range:
    return types.Range(types.Position(line, start), types.Position(line, end))


def serve(cwd: str) -> None:
    """Speaks over standard input and output until the editor ends it. `cwd`: the folder whose project counts."""
    server = PolicyServer(os.path.realpath(cwd))

    @server.feature(types.TEXT_DOCUMENT_DID_OPEN)
    async def opened(params: types.DidOpenTextDocumentParams) -> None:
        server.opened(params.text_document.uri)

    @server.feature(types.TEXT_DOCUMENT_DID_CHANGE)
    async def changed(params: types.DidChangeTextDocumentParams) -> None:
        server.changed(params.text_document.uri)

    @server.feature(types.TEXT_DOCUMENT_DID_SAVE)
    async def saved(params: types.DidSaveTextDocumentParams) -> None:
        server.saved(params.text_document.uri)

    @server.feature(types.TEXT_DOCUMENT_DID_CLOSE)
    async def closed(params: types.DidCloseTextDocumentParams) -> None:
        server.closed(params.text_document.uri)

    @server.feature(types.TEXT_DOCUMENT_HOVER)
    async def hover(params: types.HoverParams) -> types.Hover | None:
        return server.hover(params.text_document.uri, params.position)

    starts = types.CompletionOptions(trigger_characters=[" ", "(", "[", "{", ","])

    @server.feature(types.TEXT_DOCUMENT_COMPLETION, starts)
    async def complete(params: types.CompletionParams) -> types.CompletionList:
        return await server.complete(params.text_document.uri, params.position)

    @server.feature(types.TEXT_DOCUMENT_CODE_LENS)
    async def lenses(params: types.CodeLensParams) -> list[types.CodeLens]:
        return server.lenses(params.text_document.uri)

    with suppress(BrokenPipeError):
        server.start_io()
