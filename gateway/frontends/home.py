"""The home folder of the user. Without an absolute HOME it is not known whose files apply, which is an error."""

from __future__ import annotations

import os

from gateway.core.errors import ConfigError, Problem


def check_home() -> None:
    """Raises ConfigError where HOME is no absolute path: files of that name would be found, or made, in any folder."""
    if not os.path.expanduser("~").startswith("/"):
        raise ConfigError(Problem("HOME must be set to an absolute path", remedy="run with HOME=/your/home"))
