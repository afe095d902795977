"""The boot id of this machine: what was found out under the same id may still hold."""

from __future__ import annotations


def boot() -> str:
    """Its name, "" where the system gives none."""
    try:
        with open("/proc/sys/kernel/random/boot_id", "rb") as file:
            return file.read().strip().decode("ascii")
    except OSError:
        return ""
