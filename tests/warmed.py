"""What the first process of every user compiles, made once: a test whose users are new each time would wait for it."""

from __future__ import annotations

import functools
import os
import tempfile
from pathlib import Path

from gateway.config.shipped import load_descriptions, load_foreign, load_tools
from gateway.core.places import Places


@functools.cache
def _compiled() -> tuple[tuple[str, bytes], ...]:
    with tempfile.TemporaryDirectory() as top:
        nowhere = os.path.join(top, "nowhere")
        where = Places(nowhere, nowhere, nowhere, os.path.join(top, "cache", "gateway"), nowhere)
        load_tools(where)
        load_descriptions(where).names()
        load_foreign(where).names_for_rules()
        return tuple((path.name, path.read_bytes()) for path in Path(where.cache).iterdir())


def warm(cache: str | Path) -> str:
    """Puts the packaged tools and descriptions, compiled, into a cache folder (`…/gateway`) of this user's, as if the
    user had asked before; gives the folder. What ships is another by then: it is made anew, as everywhere."""
    folder = Path(cache)
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    for name, content in _compiled():
        path = folder / name
        path.write_bytes(content)
        path.chmod(0o600)
    return str(folder)
