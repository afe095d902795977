"""Programs that see an /etc of their own, which they may write: what belongs to the whole machine can be tried."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

_KEPT = ("passwd", "group", "ssl", "hosts", "nsswitch.conf", "ld.so.cache", "alternatives", "localtime")


def namespace(*binds: str) -> list[str]:
    """Runs what follows so. `binds`: pairs of a folder and where in /etc it lies. [] where that cannot be."""
    bwrap = shutil.which("bwrap")
    if bwrap is None:
        return []
    words = [bwrap, "--dev-bind", "/", "/", "--tmpfs", "/etc"]
    for each in _KEPT:
        if Path("/etc", each).exists():
            words += ["--ro-bind", f"/etc/{each}", f"/etc/{each}"]
    for folder, place in zip(binds[::2], binds[1::2], strict=True):
        words += ["--bind", folder, place]
    return [*words, "--"]


def holds() -> bool:
    """Whether that can be here."""
    return (
        bool(namespace()) and subprocess.run([*namespace(), "true"], capture_output=True, check=False).returncode == 0
    )
