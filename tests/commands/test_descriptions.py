"""Every shipped description compiles, holds plain data, names known hooks, and its examples are right."""

from __future__ import annotations

import functools
import itertools
import json
import shlex
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType, UnionType
from typing import TYPE_CHECKING, Any, Required, Union, get_args, get_origin, get_type_hints, is_typeddict

import pytest
from fuzzing import share
from shipped import compiled, sources

import gateway.commands
from gateway.commands.examples import effects, failures
from gateway.commands.special import HOOKS, MODULES
from gateway.core.errors import ConfigError
from gateway.spec.commandkeys import EFFECTS, KINDS
from gateway.spec.commands import compile_description

if TYPE_CHECKING:
    from collections.abc import Iterator


SOURCES = sources()
FOLDER = Path(gateway.commands.__file__).parent


# The descriptions by the letter that the names of their files begin with.
CHAPTERS = {
    letter: list(found) for letter, found in itertools.groupby(SOURCES, lambda source: Path(source.path).stem[0])
}


def test_every_description_has_a_file_in_some_chapter() -> None:
    assert sorted(source.path for chapter in CHAPTERS.values() for source in chapter) == [each.path for each in SOURCES]


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_examples_of_descriptions_are_right(chapter: str, descriptions: dict[str, Any]) -> None:
    wrong = {}
    for source in CHAPTERS[chapter]:
        description = compiled(source)
        if not description["examples"]:
            wrong[source.path] = ["a description needs examples"]
        elif found := failures(description, descriptions.get):
            wrong[source.path] = found
    assert wrong == {}


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_compiled_descriptions_survive_json_and_name_known_hooks(chapter: str) -> None:
    def hooks(spec: dict[str, Any]) -> set[str]:
        own = set(spec.get("special", ()))
        return own.union(*(hooks(child) for child in spec.get("nested", ())))

    found = {source.path: compiled(source) for source in CHAPTERS[chapter]}
    some = share(found.values(), 6)  # of all it is told below that they hold what JSON can say, and nothing else
    assert json.loads(json.dumps(some)) == some
    unknown = {path: hooks(description) - set(HOOKS) for path, description in found.items()}
    assert {path: names for path, names in unknown.items() if names} == {}


# Of these an option that is not listed is no doubt: they can do no harm by any, or have none. The list only shrinks.
WITHOUT_DOUBT = frozenset((
    "basename", "cal", "cat", "cd", "cmp", "cut", "df", "dig", "echo", "getopt", "head", "host", "join", "kill", "ls",
    "printf", "pushd", "pwd", "realpath", "renice", "sar", "seq", "shift", "sleep", "stat", "tail", "test", "tr",
    "true",
))  # fmt: skip
# Of these some other word is one: an index that bash evaluates, a name that another program makes.
BY_WORDS = {"dig", "printf", "test"}
DOUBTS = {"code", "opaque"}


def ways(name: str, spec: Any) -> Iterator[tuple[str, Any]]:
    """A program or subcommand as it is called, and all below it."""
    yield name, spec
    for spelling, index in spec.get("subcommands", {}).items():
        if "*" not in spelling:
            yield from ways(f"{name} {shlex.quote(spelling)}", spec["nested"][index])


def some(found: Iterator[tuple[str, Any]], name: str) -> list[tuple[str, Any]]:
    """The program itself, and each sixth of what is below it; in a thorough run all."""
    return [next(found), *share(found, 6, name)]


def with_unknown(call: str, spec: Any) -> str:
    return f"{call} {'-' if spec['dialect'] == 'dash' else '--'}zq-never-heard-of"


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_an_option_that_is_not_listed_is_a_doubt(chapter: str, descriptions: dict[str, Any]) -> None:
    without: dict[str, list[str]] = {}
    for description in map(compiled, CHAPTERS[chapter]):
        found = {
            call: not DOUBTS.isdisjoint(effects(with_unknown(call, spec), descriptions.get))
            for name in description["names"]
            for call, spec in some(ways(shlex.quote(name), description), name)
            if call.partition(" ")[2] == "" or not spec.get("harmless")
        }
        without[description["name"]] = [call for call, doubted in found.items() if not doubted]
    assert {name: calls for name, calls in without.items() if bool(calls) != (name in WITHOUT_DOUBT)} == {}


# So many at least were compared with their programs (`scripts/checked --write NAME`); it only grows.
CHECKED = 1047


def options_in(spec: Any) -> int:
    """How many options are described, of a program and all below it."""
    return len(spec["options"]) + sum(map(options_in, spec.get("nested", ())))


def test_where_no_option_is_described_nothing_was_compared() -> None:
    assert [each["name"] for each in map(compiled, SOURCES) if each.get("checked") and not options_in(each)] == []


def test_what_was_compared_with_its_program_stays_so() -> None:
    assert len([each for each in SOURCES if compiled(each).get("checked")]) >= CHECKED


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_a_description_has_an_example_that_must_stay_code(chapter: str) -> None:
    def shows_code(description: Any) -> bool:
        return any(not DOUBTS.isdisjoint(found) for found in description["examples"].values())

    found = [compiled(source) for source in CHAPTERS[chapter]]
    without = {each["name"] for each in found if not shows_code(each)}
    assert without == {each["name"] for each in found} & (WITHOUT_DOUBT - BY_WORDS)


@pytest.fixture
def form(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The type of a description, which the package has for type checkers alone."""
    source = (FOLDER / "description.py").read_text("utf-8").replace("CHECKING = False", "CHECKING = True")
    module = ModuleType("declared_form")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    exec(source, module.__dict__)
    return module.Description


@functools.cache
def parts_of(form: Any) -> tuple[Any, tuple[Any, ...], bool, dict[str, Any], set[str]]:
    """A type's origin and arguments; whether it is one of dictionaries with known keys, their types, and which must be
    there."""
    hints = get_type_hints(form, include_extras=True) if is_typeddict(form) else {}
    required = {key for key, hint in hints.items() if get_origin(hint) is Required}
    return get_origin(form), get_args(form), is_typeddict(form), hints, required


MANY = 12


def departs(value: Any, form: Any, place: str = "") -> list[str]:
    """Where a value is not of a type; pairs are lists, as in JSON."""
    origin, inner, is_typed, hints, required = parts_of(form)
    if is_typed and isinstance(value, dict):
        found = [f"{place} lacks {key}" for key in required - value.keys()]
        found += [f"{place}.{key} is not declared" for key in value.keys() - hints.keys()]
        known = [key for key in value if key in hints]
        return found + [each for key in known for each in departs(value[key], hints[key], f"{place}.{key}")]
    if origin is Required:
        return departs(value, inner[0], place)
    if origin in (Union, UnionType):
        return [] if any(not departs(value, one) for one in inner) else [f"{place} is {value!r}"]
    if form is str:
        return [] if type(value) is str else [f"{place} is {value!r}"]
    kind = origin and (dict if origin is dict else list)
    if type(value) is not (kind or form):
        return [] if value is None and form is type(None) else [f"{place} is {value!r}"]
    if isinstance(value, list) and len(value) > MANY and origin is not tuple:
        value = share(value, len(value) // MANY)  # thousands of subcommands: all in a thorough run
    if origin is dict:
        pairs = [(each, one) for pair in value.items() for each, one in zip(pair, inner, strict=True)]
    else:
        pairs = list(zip(value, inner if origin is tuple else inner * len(value), strict=True)) if origin else []
    return [each for one, kind in pairs for each in departs(one, kind, place)]


def test_what_is_compiled_has_the_form_that_is_declared(form: Any, descriptions: dict[str, Any]) -> None:
    once = {found["name"]: found for found in descriptions.values()}
    assert [each for name, found in once.items() for each in departs(found, form, name)] == []


@pytest.mark.parametrize(
    "change",
    [{"unheard": True}, {"operands": "yes"}, {"effects": [{"target": "x"}]}, {"rest": []}, {"skips": ["hidden", [1]]}],
    ids=str,
)
def test_what_has_another_form_is_found(change: dict[str, Any], form: Any, descriptions: dict[str, Any]) -> None:
    assert departs({**descriptions["cat"], **change}, form) != []


@pytest.mark.parametrize("module", MODULES)
def test_a_module_of_hooks_has_those_that_are_looked_for_in_it(module: str) -> None:
    assert set(import_module(f"gateway.commands.special.{module}").HOOKS) == set(MODULES[module].split())


def test_a_false_example_is_reported_with_its_line() -> None:
    description = compile_description(
        'names: [cat]\noperands: [{kind: path, does: read, rest: true}]\nexamples:\n  "cat a": [read b]\n', "cat.yaml"
    )
    assert failures(description, {"cat": description}.get) == [
        "line 4: example must do what it says (`cat a` says [read b], does [read a])"
    ]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("flags: -a", "x.yaml:1:1: description must have the key `names`"),
        (
            "names: [x]\nflag: -a",
            "x.yaml:2:1: description must have known keys only\n  help: did you mean `flags`?",
        ),
        (
            "names: [x]\ndialect: bsd",
            "x.yaml:2:10: dialect must be one of gnu, posix, dash, keys, none (got `bsd`)",
        ),
        (
            "names: [x]\noperands: [{kind: file}]",
            f"x.yaml:2:19: kind must be one of {', '.join(KINDS)} (got `file`)",
        ),
        (
            "names: [x]\neffects: [explode now]",
            f"x.yaml:2:11: effect must be one of {', '.join(EFFECTS)} (got `explode`)",
        ),
        (
            "names: [x]\nuse: nothing",
            "x.yaml:2:6: group must be one of this file's groups (got `nothing`)",
        ),
        (
            "names: [x]\nsubcommands: {a: {}, b|a: {}}",
            "x.yaml:2:22: subcommand must be unique (got `a` again)",
        ),
        (
            "names: [x]\nflags: -a -b\nvalues: -n|--number -b",
            (
                "x.yaml:3:1: option must be listed once (got `-b` again)\n"
                "  help: take one of them away; the other stands under the key on line 2"
            ),
        ),
        (
            "names: [x]\ngroups: {g: {flags: '--[no-]c', options: {--no-c: {}}}}\nsubcommands: {a b: {use: g}}",
            (
                "x.yaml:2:43: option must be listed once (got `--no-c` again)\n"
                "  help: take one of them away; the other stands under the key on line 2"
            ),
        ),
        (
            "names: [x]\nchecked: the manual",
            "x.yaml:2:10: checked must name a program and its version (got `the manual`)\n  help: as in `GNU tar 1.35`",
        ),
        (
            "names: [x]\nbare: y\nsubcommands: {a: {}}",
            "x.yaml:2:7: bare must be one of the subcommands (got `y`)",
        ),
    ],
)
def test_a_mistake_in_a_description_is_an_error_with_its_place(text: str, problem: str) -> None:
    with pytest.raises(ConfigError) as raised:
        compile_description(text, "x.yaml")
    assert str(raised.value) == problem
