"""Finds the package's own modules with a third of the steps: most of the time of a process that answers one question
goes into loading them.

A module is taken from its compiled form where that is the one that importlib would take by the same test: made by this
very Python, from a source of this size and time. Everything else is left to importlib: what was never compiled, or is
compiled otherwise. What is loaded is the same module, with the same spec.
"""

from __future__ import annotations

import _imp
import marshal
import posix
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from importlib.machinery import ModuleSpec, SourceFileLoader
    from types import CodeType, ModuleType
    from typing import Any

    MAGIC: bytes
else:
    # What `importlib.machinery` and `importlib.util` hand on; loading them would take longer than this saves.
    from _frozen_importlib import ModuleSpec
    from _frozen_importlib_external import MAGIC_NUMBER as MAGIC
    from _frozen_importlib_external import SourceFileLoader

_PACKAGE = __name__.partition(".")[0] + "."
_HEAD = len(MAGIC) + 12  # flags, and of the source the time and the size
_MOST = 96 << 10  # what a module has compiled; more is left to importlib
_USUAL = 24 << 10  # a larger buffer for each would be had from the system, and given back
_TAG = sys.implementation.cache_tag


class _Loader(SourceFileLoader):
    """Has the code at hand, once; does everything else as usual."""

    code: CodeType | None = None

    def get_code(self, fullname: str) -> CodeType | None:
        """The module's code."""
        code, self.code = self.code, None
        return super().get_code(fullname) if code is None else code


class Finder:
    """For `sys.meta_path`."""

    @staticmethod
    def find_spec(name: str, path: Sequence[str] | None = None, _target: ModuleType | None = None) -> ModuleSpec | None:
        """The spec of a module of ours, None for every other, and for one that importlib has to look at."""
        if path is None or not name.startswith(_PACKAGE) or len(path) != 1:
            return None
        folder, last = path[0], name[name.rfind(".") + 1 :]
        source = f"{folder}/{last}.py"
        compiled = f"{folder}/__pycache__/{last}.{_TAG}.pyc"
        code = _code(source, compiled)
        if code is not None:
            return _spec(name, source, compiled, code)
        inner = f"{folder}/{last}"
        source = f"{inner}/__init__.py"
        compiled = f"{inner}/__pycache__/__init__.{_TAG}.pyc"
        code = _code(source, compiled)
        return None if code is None else _spec(name, source, compiled, code, [inner])


def _spec(name: str, source: str, compiled: str, code: CodeType, inside: list[str] | None = None) -> ModuleSpec:
    loader = _Loader(name, source)
    loader.code = code
    spec: Any = ModuleSpec(name, loader, origin=source, is_package=inside is not None)
    spec.has_location = True
    spec.cached = compiled
    spec.submodule_search_locations = inside
    found: ModuleSpec = spec
    return found


def _code(source: str, compiled: str) -> CodeType | None:
    """What was compiled from a source as it is now, None where that is not certain."""
    try:
        file = posix.open(compiled, posix.O_RDONLY | posix.O_CLOEXEC)
        try:
            data = posix.read(file, _USUAL)
            if len(data) == _USUAL:
                data += posix.read(file, _MOST - _USUAL)
        finally:
            posix.close(file)
        made_from = posix.stat(source)
    except OSError:
        return None
    wanted = MAGIC + b"\0\0\0\0" + _four(int(made_from.st_mtime)) + _four(made_from.st_size)
    if len(data) <= _HEAD or len(data) >= _MOST or not data.startswith(wanted):
        return None
    try:
        code: CodeType = marshal.loads(memoryview(data)[_HEAD:])
    except (EOFError, ValueError, TypeError):
        return None
    _imp._fix_co_filename(code, source)  # type: ignore[attr-defined]  # noqa: SLF001 - for what was moved
    return code


def _four(number: int) -> bytes:
    return (number & 0xFFFFFFFF).to_bytes(4, "little")


def install(*, lasting: bool = False) -> None:
    """Has modules be found so from now on, unless Python was told to look for compiled ones elsewhere, or is one that
    does it otherwise. `lasting`: the process answers many questions. Where the package has machine code it is left to
    importlib then, which takes that: it loads more slowly, but decides faster."""
    usual = sys.pycache_prefix is None and not sys.flags.optimize and _TAG and hasattr(_imp, "_fix_co_filename")
    if usual and Finder not in sys.meta_path and not (lasting and has_machine_code()):
        sys.meta_path.insert(0, Finder)


def has_machine_code() -> bool:
    """Whether the package is one that was built with GATEWAY_COMPILE=1, for this Python."""
    package = __file__.rpartition("/core/")[0]
    for suffix in _imp.extension_suffixes():
        try:
            posix.stat(f"{package}/judge/judge{suffix}")
        except OSError:
            continue
        return True
    return False
