"""`describe SOURCE [ARGUMENT ...]`."""

from __future__ import annotations

import importlib
import sys

SOURCES = ("aws", "az", "docker", "gcloud", "gh", "helm", "kubectl", "npm", "pip")


def main() -> None:
    if len(sys.argv) < 2 or sys.argv[1] not in SOURCES:
        for name in SOURCES:
            sys.stdout.write(f"{name}: {importlib.import_module(f'describing.{name}').__doc__}\n")
        return
    importlib.import_module(f"describing.{sys.argv[1]}").main(*sys.argv[2:])


if __name__ == "__main__":
    main()
