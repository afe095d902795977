"""The files that pages need, each at an address with its digest."""

from __future__ import annotations

import os
from hashlib import sha256

from gateway.console.pages.frame import Assets

_FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "static")
_KINDS = {"app.js": "text/javascript", "style.css": "text/css", "icon.svg": "image/svg+xml"}


def _read() -> dict[str, tuple[str, bytes, str]]:
    found = {}
    for name, kind in _KINDS.items():
        with open(os.path.join(_FOLDER, name), "rb") as file:
            content = file.read()
        stem, _, ending = name.partition(".")
        found[name] = (f"/static/{stem}.{sha256(content).hexdigest()[:16]}.{ending}", content, kind)
    return found


_READ = _read()
# By address: content and type.
FILES = {address: (content, kind) for address, content, kind in _READ.values()} | {
    "/favicon.ico": (_READ["icon.svg"][1], _KINDS["icon.svg"])
}


def assets() -> Assets:
    """The addresses of the files."""
    return Assets(_READ["app.js"][0], _READ["style.css"][0], _READ["icon.svg"][0])
