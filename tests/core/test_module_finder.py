"""The package's modules are found with fewer steps, and are those that importlib finds."""

from __future__ import annotations

import importlib.util
import json
import os
import py_compile
import subprocess
import sys
from importlib.machinery import EXTENSION_SUFFIXES, PathFinder
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from gateway.core import module_finder as modules
from gateway.core.module_finder import Finder

if TYPE_CHECKING:
    from collections.abc import Callable

SOURCE = "VALUE = 'first'\n"


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A package `gateway` with one module and one package, compiled."""
    found = tmp_path / "gateway"
    (found / "inner").mkdir(parents=True)
    for path in (found / "__init__.py", found / "some.py", found / "inner" / "__init__.py"):
        path.write_text(SOURCE)
        py_compile.compile(str(path))
    return found


def told(spec: Any) -> dict[str, Any] | None:
    """All that is said of a module."""
    if spec is None:
        return None
    names = ("name", "origin", "cached", "submodule_search_locations", "has_location", "parent")
    code = spec.loader.get_code(spec.name)
    more = {"path": spec.loader.path, "package": spec.loader.is_package(spec.name), "file": code.co_filename}
    return {name: getattr(spec, name) for name in names} | more | {"code": code}


@pytest.mark.parametrize("name", ["some", "inner"])
def test_what_is_found_is_what_importlib_finds(package: Path, name: str) -> None:
    where = [str(package)]
    found = told(Finder.find_spec(f"gateway.{name}", where))
    assert found is not None
    assert found == told(PathFinder.find_spec(f"gateway.{name}", where))


def test_the_code_is_handed_over_once_and_read_again_after_that(package: Path) -> None:
    spec = Finder.find_spec("gateway.some", [str(package)])
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    (package / "some.py").write_text("VALUE = 'a second one'\n")
    again = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(again)
    assert (module.VALUE, again.VALUE) == ("first", "a second one")


def compiled(package: Path) -> Path:
    return Path(importlib.util.cache_from_source(str(package / "some.py")))


def changed(place: int, value: int) -> Callable[[Path], None]:
    def change(package: Path) -> None:
        data = bytearray(compiled(package).read_bytes())
        data[place] ^= value
        compiled(package).write_bytes(data)

    return change


LEFT: dict[str, Callable[[Path], object]] = {
    "it was never compiled": lambda package: compiled(package).unlink(),
    "the source is longer": lambda package: (package / "some.py").write_text(SOURCE + "#\n"),
    "the source is of another time": lambda package: os.utime(package / "some.py", (1, 1)),
    "the source is gone": lambda package: (package / "some.py").unlink(),
    "another Python compiled it": changed(0, 1),
    "it is told apart by its hash": lambda package: py_compile.compile(
        str(package / "some.py"), invalidation_mode=py_compile.PycInvalidationMode.CHECKED_HASH
    ),
    "a flag that nobody knows": changed(4, 128),
    "it is cut short": lambda package: compiled(package).write_bytes(compiled(package).read_bytes()[:-5]),
    "nothing is in it but the head": lambda package: compiled(package).write_bytes(compiled(package).read_bytes()[:16]),
    "it is empty": lambda package: compiled(package).write_bytes(b""),
    "it is too long": lambda package: compiled(package).write_bytes(compiled(package).read_bytes() + bytes(100_000)),
    "it is a folder": lambda package: (compiled(package).unlink(), compiled(package).mkdir()),
}


@pytest.mark.parametrize("what", LEFT)
def test_what_is_not_certain_is_left_to_importlib(package: Path, what: str) -> None:
    assert Finder.find_spec("gateway.some", [str(package)]) is not None
    LEFT[what](package)
    assert Finder.find_spec("gateway.some", [str(package)]) is None


@pytest.mark.parametrize(
    ("name", "places"),
    [("gateway", 0), ("gateway", 1), ("json.decoder", 1), ("gatewayx.some", 1), ("gateway.some", 2), ("gateway.no", 1)],
)
def test_what_is_not_ours_or_lies_in_several_places_is_left_to_importlib(package: Path, name: str, places: int) -> None:
    assert Finder.find_spec(name, [str(package)] * places if places else None) is None


LISTED = """
import json, sys
sys.path.append(sys.argv[1])
if sys.argv[2] == "quick":
    from gateway.core.module_finder import install
    install()
import gateway.core.module_finder, gateway.judge.judge, gateway.frontends.hook, gateway.audit.log
more = ("__cached__", "__path__", "__package__")
print(json.dumps({
    name: [each.__file__, *(getattr(each, one, None) for one in more), sorted(each.__dict__)]
    for name, each in sorted(sys.modules.items()) if name.startswith("gateway")
}))
"""


def test_a_process_has_the_same_modules_with_it() -> None:
    root = str(Path(modules.__file__).parents[2])
    found = [
        json.loads(subprocess.check_output([sys.executable, "-I", "-S", "-c", LISTED, root, how]))
        for how in ("usual", "quick")
    ]
    from_source = [name for name, (file, *_) in found[0].items() if file.endswith(".py")]
    assert {name: found[1][name] for name in from_source} == {name: found[0][name] for name in from_source}
    assert found[0].keys() == found[1].keys()
    assert len(from_source) > 50


MACHINE_CODE = """
import sys
sys.path.insert(0, sys.argv[1])
from gateway.core.module_finder import Finder, has_machine_code, install
install(lasting=sys.argv[2] == "lasting")
print(has_machine_code(), Finder in sys.meta_path)
"""


@pytest.mark.parametrize(
    ("built", "how", "said"),
    [
        ((), "once", "False True"),
        ((), "lasting", "False True"),
        (("judge",), "once", "True True"),
        (("judge",), "lasting", "True False"),
    ],
    ids=["sources, one question", "sources, many", "machine code, one question", "machine code, many"],
)
def test_machine_code_is_loaded_by_a_process_that_lasts(
    package: Path, built: tuple[str, ...], how: str, said: str
) -> None:
    for name in ("core", "judge"):
        (package / name).mkdir()
    (package / "core" / "module_finder.py").write_bytes(Path(modules.__file__).read_bytes())
    for name in built:
        (package / "judge" / f"{name}{EXTENSION_SUFFIXES[0]}").write_bytes(b"")
    where = str(package.parent)
    done = subprocess.check_output([sys.executable, "-I", "-S", "-c", MACHINE_CODE, where, how], text=True)
    assert done.strip() == said


@pytest.mark.parametrize("options", [["-O"], ["-X", "pycache_prefix=/nowhere"]], ids=" ".join)
def test_where_python_looks_for_other_compiled_forms_it_is_not_used(options: list[str]) -> None:
    root = str(Path(modules.__file__).parents[2])
    program = (
        f"import sys; sys.path.append({root!r}); from gateway.core.module_finder import Finder, install; install(); "
        "print(Finder in sys.meta_path)"
    )
    assert subprocess.check_output([sys.executable, "-I", "-S", *options, "-c", program]) == b"False\n"
    assert subprocess.check_output([sys.executable, "-I", "-S", "-c", program]) == b"True\n"
