"""Secrets of notices: kept one a file in the state folder, which no agent may read or write and no sandbox shows."""

from __future__ import annotations

import os
import re

from gateway.core.cache import replace_whole
from gateway.core.errors import ConfigError, Problem
from gateway.frontends.console.remote.private_files import read_private
from gateway.spec.remote import SECRET_NAME

FOLDER = "secrets"
LONGEST = 4096
_name = re.compile(SECRET_NAME)


def path_of(folder: str, name: str) -> str:
    """The file of a secret. Raises ConfigError for a name that is none."""
    if not _name.fullmatch(name):
        raise ConfigError(Problem("the name of a secret must be small letters, digits and `-`"))
    return os.path.join(folder, FOLDER, name)


def keep(folder: str, name: str, secret: str) -> str:
    """Keeps a secret, in the place of one before it; where it lies now. Raises ConfigError."""
    path = path_of(folder, name)
    if not secret or len(secret) > LONGEST or not secret.isascii() or not secret.isprintable():
        raise ConfigError(Problem("a secret must be one line of printable ASCII", remedy="paste it without its quotes"))
    try:
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        replace_whole(path, secret.encode("ascii"))
    except OSError as error:
        raise ConfigError(Problem(f"cannot be written: {error.strerror}", file=path)) from error
    return path


def read(folder: str, name: str) -> str:
    """The secret of that name. Raises ConfigError where there is none, or others could have read or written it."""
    path = path_of(folder, name)
    remedy = f"keep it with `gateway console --secret {name}`"
    try:
        content = read_private(path, LONGEST)
    except OSError as error:
        raise ConfigError(
            Problem(f"the secret `{name}` cannot be read: {error.strerror}", file=path, remedy=remedy)
        ) from error
    text = content.decode("ascii", "replace").strip()
    if not text or len(content) > LONGEST or not text.isascii() or not text.isprintable():
        raise ConfigError(Problem(f"the secret `{name}` is not one line of printable ASCII", file=path, remedy=remedy))
    return text
