"""Build step: wheels carry `tools.yaml`, `policies/` and, compiled, everything that start-up would read from YAML.

With GATEWAY_COMPILE=1 a wheel carries the decision path in machine code too, beside its sources: the modules that
`pyproject.toml` names under `tool.gateway`. Everything else is declared in `pyproject.toml`.
"""

from __future__ import annotations

import os
import shutil
import sys
import tomllib
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.command.build_py import build_py
from setuptools.errors import SetupError

HERE = Path(__file__).resolve().parent
COMPILES = os.environ.get("GATEWAY_COMPILE", "") not in ("", "0")


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
        sys.path.insert(0, str(HERE))
        from gateway.config.wheel import build

        build(str(package / "data"))


class BuildCompiled(build_ext):
    """Compiles modules as they are, with the semantics that the interpreter gives them."""

    def run(self) -> None:
        if self.extensions:
            if self.inplace or self.editable_mode:
                # A compiled module is imported before its source: what is edited afterwards would count for nothing.
                raise SetupError("GATEWAY_COMPILE is for wheels; an install that is edited runs its sources")
            self._translate()
        super().run()

    def _translate(self) -> None:
        from Cython.Build import cythonize

        made = cythonize(
            self.extensions,
            build_dir=self.build_temp,
            nthreads=self.parallel or 0,
            quiet=True,
            # Annotations are for the type checker: at run time they mean nothing, compiled or not.
            compiler_directives={"language_level": "3", "annotation_typing": False, "infer_types": False},
        )
        for given, translated in zip(self.extensions, made, strict=True):
            given.sources = translated.sources


def extensions() -> list[Extension]:
    """What is to be compiled, nothing unless that is asked for."""
    if not COMPILES:
        return []
    declared = tomllib.loads((HERE / "pyproject.toml").read_text("utf-8"))["tool"]["gateway"]["compiled"]
    options = {"extra_compile_args": ["-g0"], "extra_link_args": ["-Wl,-s"] if sys.platform == "linux" else []}
    return [Extension(f"gateway.{name}", [f"gateway/{name.replace('.', '/')}.py"], **options) for name in declared]


setup(
    cmdclass={"build_py": BuildWithData, "build_ext": BuildCompiled},
    ext_modules=extensions(),
    options={"build_ext": {"parallel": os.cpu_count()}} if sys.platform == "linux" else {},
    setup_requires=["cython>=3.1,<4"] if COMPILES else [],
)
