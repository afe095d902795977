"""Build step: wheels carry `tools.yaml`, `policies/` and, compiled, everything that start-up would read from YAML.

Everything else is declared in `pyproject.toml`.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py


class BuildWithData(build_py):
    """Adds `gateway/data` to what is built. An editable install needs none: it reads the checkout."""

    def run(self) -> None:
        if self.editable_mode:
            super().run()
            return
        package = Path(self.build_lib) / "gateway"
        # What an earlier build left here and the source no longer has would be packed again.
        shutil.rmtree(package, ignore_errors=True)
        super().run()
        sys.path.insert(0, str(Path(__file__).resolve().parent))
        from gateway.wheel import build

        build(str(package / "data"))


setup(cmdclass={"build_py": BuildWithData})
