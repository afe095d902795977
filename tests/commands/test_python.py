"""Python's allowlist, and what a folder may put in the place of its modules."""

from __future__ import annotations

import importlib
import types

import pytest

from gateway.commands.special.python.code import Program, parsed
from gateway.commands.special.python.folder import shadowed
from gateway.commands.special.python.names import EFFECTS, HARMLESS, METHOD_EFFECTS, METHODS
from gateway.model.effect import HOLE, Item, Touch
from gateway.model.facts import Facts, PathFact

FOLDER = "/home/dev/project"
OTHERS = ("yaml", "toml", "tomli")


@pytest.mark.parametrize("name", sorted(HARMLESS - {each for each in HARMLESS if each.startswith(OTHERS)}))
def test_a_harmless_name_is_never_a_module(name: str) -> None:
    module, _, rest = name.partition(".")
    value: object = importlib.import_module(module)
    while rest:
        head, _, rest = rest.partition(".")
        if not hasattr(value, head) and isinstance(value, types.ModuleType):
            try:
                importlib.import_module(f"{value.__name__}.{head}")
            except ImportError:
                return  # this Python does not have it
        value = getattr(value, head)
    assert not isinstance(value, types.ModuleType)


def test_nothing_is_both_harmless_and_not() -> None:
    assert (HARMLESS & set(EFFECTS), METHODS & set(METHOD_EFFECTS)) == (frozenset(), frozenset())


def deeds(text: str) -> list[object]:
    tree = parsed(text)
    assert tree is not None
    return Program(tree, ("-c", "given"), "/home/dev").deeds


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("open('a')", [("read", "a", False)]),
        ("open('a', 'r+')", [("read", "a", False), ("write", "a", False)]),
        ("open(x)", [("read", HOLE, False)]),
        ("import os; open(os.path.join('a', 'b'))", [("read", "a/b", False)]),
        ("from pathlib import Path; (Path('a') / 'b').unlink()", [("delete", "a/b", False)]),
        ("from pathlib import Path; (Path('a') / '/b').unlink()", [("delete", "/b", False)]),
        ("import os; [open('d/' + n) for n in os.listdir('d')]", [("read", "d/", True), ("list", "d", False)]),
        ("import glob; [open(n) for n in glob.glob('d/*')]", [("read", "d", True), ("list", "d", True)]),
        ("import glob; [open(n) for n in glob.glob('d/*/../../x')]", [("read", HOLE, False), ("list", HOLE, True)]),
        ("import sys; open(sys.argv[1])", [("read", "given", False)]),
        ("import sys; open(sys.argv[0])", [("read", "-c", False)]),
        ("import sys; open(sys.argv[2])", [("read", HOLE, False)]),
        ("import sys; open(sys.argv[-1])", [("read", HOLE, False)]),
        ("x = 'a'\nx = 'b'\nopen(x)", [("read", HOLE, False)]),
        ("x = ['a']\nx.append(y)\nfor n in x: open(n)", [("read", HOLE, False)]),
        ("x = ['a', 'b']\nfor n in x: open(n)", [("read", "a", False), ("read", "b", False)]),
        ("x = ['a']\ny = x\ny.append('b')\nfor n in x: open(n)", [("read", HOLE, False)]),
        ("import os; os.environ['A']", [("environment", "A")]),
        ("import os; os.environ['A'] = 'b'", [("set", "A")]),
        ("import subprocess; subprocess.run(['a', x], cwd='d')", [("run", ("a", HOLE), "d")]),
        ("import subprocess; subprocess.run('a b')", [("run", ("a b",), None)]),
        ("import subprocess; subprocess.run('a b', shell=True)", [("shell", "a b", None)]),
    ],
)
def test_what_a_program_does_is_told_with_what_is_known_of_it(text: str, found: list[object]) -> None:
    assert deeds(text) == found


@pytest.mark.parametrize(
    "call",
    [
        "run(['a'], capture_output=True, text=True, check=True, universal_newlines=True, encoding='x', errors='x')",
        "run(['a'], stdout=None, stderr=None, stdin=None, timeout=1, input='x', bufsize=1, close_fds=True)",
        "run(['a'], start_new_session=True)",
        "getoutput('a', encoding='x', errors='x')",
    ],
)
def test_arguments_that_say_how_something_is_started_and_its_output_read_are_understood(call: str) -> None:
    tree = parsed(f"import subprocess; subprocess.{call}")
    assert tree is not None
    assert Program(tree, ("-c",), "").doubts == []


@pytest.mark.parametrize(
    ("method", "doubts"),
    [("__init__", []), ("up", []), ("__reduce__", ["calls the inner method __reduce__"])],
)
def test_what_a_class_stands_on_is_called_by_no_inner_method_but_its_beginning(method: str, doubts: list[str]) -> None:
    tree = parsed(f"class A:\n def up(self): super().{method}()\nA().up()")
    assert tree is not None
    assert Program(tree, ("-c",), "").doubts == doubts


@pytest.mark.parametrize(
    "text", ["(", "x = '" + "a" * 20_000 + "'", "-" * 5_000 + "1", "a\0b", "lambda:" * 3_000 + "1"]
)
def test_a_program_that_cannot_be_read_is_none(text: str) -> None:
    assert parsed(text) is None


@pytest.mark.parametrize("text", ["[" * 70 + "]" * 70, ";".join("a.b" for _ in range(2_000))])
def test_a_program_that_is_too_large_to_look_through_says_so(text: str) -> None:
    tree = parsed(text)
    assert tree is not None
    assert Program(tree, ("-c",), "").doubts[:1] == ["is too large to be looked through"]


def facts(names: dict[str, str] | None, inside: tuple[str, ...] | None = ()) -> Facts:
    """A folder that holds these names, each a file or folder, and `inside` its folder `types`."""
    if names is None:
        return Facts(globs={f"{FOLDER}/*": None})
    paths = {f"{FOLDER}/{name}": PathFact(f"{FOLDER}/{name}", kind) for name, kind in names.items()}
    return Facts(paths=paths, globs={f"{FOLDER}/*": tuple(paths), f"{FOLDER}/types/__init__.*": inside})


@pytest.mark.parametrize(
    ("names", "inside", "why"),
    [
        ({"README.md": "file", "main.py": "file", "src": "dir", "test": "dir", "venv": "dir"}, (), ""),
        ({"json.txt": "file", "types": "dir"}, (), ""),
        ({"json.py": "file"}, (), "json.py may be loaded as the module json"),
        ({"enum.pyc": "file"}, (), "enum.pyc may be loaded as the module enum"),
        ({"re.cpython-311.so": "file"}, (), "re.cpython-311.so may be loaded as the module re"),
        ({"collections": "dir"}, (), "collections may be loaded as the module collections"),
        ({"types": "dir"}, (f"{FOLDER}/types/__init__.py",), "types may be loaded as the module types"),
        ({"types": "dir"}, None, "types may be loaded as the module types"),
        ({"yaml.py": "file"}, (), "yaml.py may be loaded as the module yaml"),
        (None, (), "the folder may hold a module of the same name"),
    ],
)
def test_a_folder_that_holds_a_module_of_the_same_name_says_so(
    names: dict[str, str] | None, inside: tuple[str, ...] | None, why: str
) -> None:
    assert shadowed(FOLDER, "yaml", facts(names, inside), []) == why


DATA = ("types", "json", "html", "xml", "email", "http", "logging", "csv", "resource", "platform", "code")


@pytest.mark.parametrize("name", DATA)
def test_a_folder_of_data_counts_as_a_module_only_with_a_file_that_makes_it_a_package(name: str) -> None:
    path = f"{FOLDER}/{name}"
    whys = []
    for inside in ((), (f"{path}/__init__.py",), None):
        globs = {f"{FOLDER}/*": (path,), f"{path}/__init__.*": inside}
        whys.append(shadowed(FOLDER, "", Facts(paths={path: PathFact(path, "dir")}, globs=globs), []))
    said = f"{name} may be loaded as the module {name}"
    assert whys == ["", said, said]


@pytest.mark.parametrize(
    ("effect", "may"),
    [
        (Touch("write", f"{FOLDER}/out.txt"), False),
        (Touch("read", f"{FOLDER}/json.py"), False),
        (Touch("write", f"{FOLDER}/json.py"), True),
        (Touch("write", f"{FOLDER}/json/x.py"), True),
        (Touch("write", FOLDER, True), True),
        (Touch("write", "/home/dev", True), True),
        (Touch("write", f"{FOLDER}/src", True), False),
        (Touch("write", f"{FOLDER}/{HOLE}"), True),
        (Touch("write", HOLE), True),
        (Touch("write", "/tmp/json.py"), False),
    ],
)
def test_a_module_that_the_same_line_may_write_counts(effect: Touch, may: bool) -> None:
    assert (shadowed(FOLDER, "", facts({}), [Item(effect)]) != "") is may
