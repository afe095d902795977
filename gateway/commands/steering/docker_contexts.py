"""Which daemon a person's settings choose for the command line of Docker. Pure; nothing that is secret is read out."""

from __future__ import annotations

from gateway.commands.steering import json_files
from gateway.commands.steering.entries import NotRead


def chosen(config: str) -> str:
    """The context that a `config.json` chooses, "" for the usual one. Raises NotRead."""
    return _value(config, "currentContext")


def place(context: str) -> str:
    """Where the settings of a context lie, below the folder of `config.json`."""
    from hashlib import sha256

    return f"contexts/meta/{sha256(context.encode()).hexdigest()}/meta.json"


def socket(meta: str) -> str:
    """Where the daemon of a context is reached, as a URL, "" where that does not say. Raises NotRead."""
    return _value(meta, "Endpoints", "docker", "Host")


def _value(text: str, *path: str) -> str:
    found = [value for each, value in json_files.entries(text) if each == path] if text else []
    if len(found) > 1 or not all(isinstance(each, str) for each in found):
        raise NotRead(f"Docker's settings do not say `{path[-1]}` by one text")
    return str(found[0]) if found else ""
