"""What we can do, as `initialize` says it, and by which of its capabilities a server answers which question."""

from __future__ import annotations

from gateway.lsp.positions import ENCODINGS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# operation of the tool -> the server's capability
FEATURES = {
    "definition": "definitionProvider",
    "references": "referencesProvider",
    "hover": "hoverProvider",
    "symbols": "documentSymbolProvider",
    "workspace_symbols": "workspaceSymbolProvider",
    "implementations": "implementationProvider",
    "call_hierarchy": "callHierarchyProvider",
    "completion": "completionProvider",
}
_SYMBOLS = {"symbolKind": {"valueSet": list(range(1, 27))}}
_TEXTS = ["markdown", "plaintext"]
OURS: dict[str, Any] = {
    "general": {"positionEncodings": list(ENCODINGS)},
    "window": {"workDoneProgress": True},
    "workspace": {
        "applyEdit": False,
        "configuration": True,
        "didChangeConfiguration": {},
        "didChangeWatchedFiles": {"dynamicRegistration": True},
        "symbol": _SYMBOLS,
        "workspaceFolders": True,
    },
    "textDocument": {
        "synchronization": {"didSave": True},
        "callHierarchy": {},
        "completion": {
            "completionItem": {"snippetSupport": False, "documentationFormat": _TEXTS, "labelDetailsSupport": True},
            "contextSupport": True,
        },
        "definition": {"linkSupport": True},
        "diagnostic": {},
        "documentSymbol": {**_SYMBOLS, "hierarchicalDocumentSymbolSupport": True},
        "hover": {"contentFormat": _TEXTS},
        "implementation": {"linkSupport": True},
        "publishDiagnostics": {"relatedInformation": True, "versionSupport": True},
        "references": {},
    },
}
