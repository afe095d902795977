"""The files that a server has been handed, each in the version that lies on the disk."""

from __future__ import annotations

import os
import threading
from collections import OrderedDict

from gateway.lsp.sources import source_of, stamp_of
from gateway.lsp.uris import uri_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from gateway.lsp.sources import Source

MOST_OPEN = 64
NONE, FULL = 0, 1


class Document:
    """One open file. `heard`: how much the server had published when it was last handed a version."""

    __slots__ = ("heard", "source", "uri", "version")

    def __init__(self, source: Source, heard: int) -> None:
        self.source = source
        self.uri = uri_of(source.real)
        self.version = 1
        self.heard = heard


class Documents:
    """The open files of one server, by real path. Safe to use from several threads."""

    def __init__(self, notify: Callable[[str, Any], None], language: Callable[[str], str], heard: Callable[[], int]):
        """`notify`: tells the server. `language`: what a file is in the protocol's words. `heard`: how much it has
        published by now."""
        self._notify, self._language, self._heard = notify, language, heard
        self._lock = threading.RLock()
        self._open: OrderedDict[str, Document] = OrderedDict()
        self._change, self._saves, self._with_text = FULL, False, False

    def agreed(self, sync: Any) -> None:
        """Takes what the server said of how it wants to be told (`textDocumentSync`)."""
        if isinstance(sync, dict):
            change, save = sync.get("change", NONE), sync.get("save")
            self._saves = save is True or isinstance(save, dict)
            self._with_text = isinstance(save, dict) and save.get("includeText") is True
        else:
            change = FULL if sync is None else sync
        self._change = change if isinstance(change, int) else NONE

    def get(self, real: str) -> Document | None:
        """The open file of this real path."""
        return self._open.get(real)

    def show(self, source: Source) -> Document:
        """Hands the server a file as it is now; a version that it has is not sent again."""
        with self._lock:
            found = self._open.get(source.real)
            if found is not None and found.source.text != source.text:
                found = self._changed(found, source)
            elif found is not None:
                found.source = source
            if found is None:
                # It is known before the server hears of it, which may say at once what is wrong with it.
                found = self._open[source.real] = Document(source, self._heard())
                about = {"uri": found.uri, "languageId": self._language(source.real), "version": 1, "text": source.text}
                self._notify("textDocument/didOpen", {"textDocument": about})
            self._open.move_to_end(source.real)  # the last one that was asked for is the last to be closed
            while len(self._open) > MOST_OPEN:
                self.close(next(iter(self._open)))
            return found

    def _changed(self, found: Document, source: Source) -> Document | None:
        """The server is told of a new version; None where it does not want to be, so that the file is opened anew."""
        if self._change == NONE:
            self._notify("textDocument/didClose", {"textDocument": {"uri": found.uri}})
            return None
        found.source = source
        found.version += 1
        found.heard = self._heard()
        about = {"uri": found.uri, "version": found.version}
        change = {"textDocument": about, "contentChanges": [{"text": source.text}]}
        self._notify("textDocument/didChange", change)
        if self._saves:
            text = {"text": source.text} if self._with_text else {}
            self._notify("textDocument/didSave", {"textDocument": {"uri": found.uri}, **text})
        return found

    def close(self, real: str) -> None:
        """Takes a file back, if the server has it."""
        with self._lock:
            found = self._open.pop(real, None)
            if found is not None:
                self._notify("textDocument/didClose", {"textDocument": {"uri": found.uri}})

    def keep_in_step(self, may_read: Callable[[str], bool]) -> None:
        """Hands the server what has changed on the disk, and takes back what is gone or may not be read any more."""
        with self._lock:
            for real, found in list(self._open.items()):
                if not may_read(real):
                    self.close(real)
                    continue
                try:
                    is_same = stamp_of(os.stat(real, follow_symlinks=False)) == found.source.stamp
                except OSError:
                    is_same = False
                if not is_same:
                    source = source_of(real)
                    if source is None:
                        self.close(real)
                    else:
                        self.show(source)

    def __iter__(self) -> Any:
        with self._lock:
            return iter(list(self._open))
