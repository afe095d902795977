"""The files that pages need, each at an address with its digest."""

from __future__ import annotations

import os
from hashlib import sha256

from gateway.frontends.console.pages.frame import Assets

_FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "static")
_SCRIPT = "text/javascript"
# Those that others import stand first.
_KINDS = {
    "elements.js": _SCRIPT, "app.js": _SCRIPT, "afar.js": _SCRIPT, "sw.js": _SCRIPT, "style.css": "text/css",
    "icon.svg": "image/svg+xml",
}  # fmt: skip


def _read() -> dict[str, tuple[str, bytes, str]]:
    found: dict[str, tuple[str, bytes, str]] = {}
    for name, kind in _KINDS.items():
        with open(os.path.join(_FOLDER, name), "rb") as file:
            content = file.read()
        for other, (address, _content, _kind) in found.items():
            content = content.replace(f'from "./{other}"'.encode(), f'from "{address}"'.encode())
        stem, _, ending = name.partition(".")
        found[name] = (f"/static/{stem}.{sha256(content).hexdigest()[:16]}.{ending}", content, kind)
    return found


_READ = _read()
# Where the worker that is told of questions lies: at the top, so that it serves all of the page.
WORKER = "/sw.js"


def _by_address(*names: str) -> dict[str, tuple[bytes, str]]:
    found = {address: (content, kind) for address, content, kind in map(_READ.__getitem__, names)}
    return found | {"/favicon.ico": _READ["icon.svg"][1:]}


# By address: content and type.
FILES = _by_address("elements.js", "app.js", "style.css", "icon.svg")
AFAR_FILES = _by_address("elements.js", "afar.js", "style.css", "icon.svg") | {WORKER: _READ["sw.js"][1:]}


def assets() -> Assets:
    """The addresses of the files of the page on this machine."""
    return _assets("app.js")


def afar_assets() -> Assets:
    """Those of the page for people elsewhere."""
    return _assets("afar.js")


def _assets(script: str) -> Assets:
    return Assets(_READ[script][0], _READ["style.css"][0], _READ["icon.svg"][0])
