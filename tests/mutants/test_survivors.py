"""The list of mutants that may live is true to the sources, and gives reasons."""

from __future__ import annotations

import pytest

from mutants.areas import AREAS, CORPUS, TOP, area_of, files_of
from mutants.changes import mutants
from mutants.survivors import known, survivors


def test_an_entry_is_a_change_and_its_reason() -> None:
    text = (
        "# said of all\n\na/b.py: A.f\n- x == y\n+ x != y\nBoth are\nthe same.\n\na/b.py:\n- X = 0\n+ X = 1\nno use\n"
    )
    assert survivors(text) == {
        ("a/b.py", "A.f", "x == y", "x != y"): "Both are the same.",
        ("a/b.py", "", "X = 0", "X = 1"): "no use",
    }


def test_an_entry_without_a_reason_is_none() -> None:
    with pytest.raises(ValueError, match="not an entry"):
        survivors("a/b.py: f\n- x == y\n+ x != y\n")


def test_each_survivor_is_a_change_that_its_file_has() -> None:
    listed = set(known())
    files = {path for path, *_ in listed}
    assert [path for path in files if not area_of(path)] == []
    assert listed - {each.name for path in files for each in mutants(path, (TOP / path).read_bytes())} == set()


def test_the_tests_of_a_file_begin_with_those_that_are_named_after_it() -> None:
    found = AREAS["policy"].tests_for("gateway/policy/modes.py")
    files = {
        str(path.relative_to(TOP))
        for folder in ("policy", "judge")
        for path in (TOP / "tests" / folder).rglob("test_*.py")
    }
    assert (found[:2], set(found[2:]) - {*AREAS["policy"].tests}) == (
        ["tests/policy/test_modes.py", CORPUS],
        files - {found[0]},
    )


def test_a_file_of_two_areas_belongs_to_the_narrower() -> None:
    paths = ["commands/steering/keys.py", "commands/settle.py", "host/machine.py", "policy/modes.py", "core/value.py"]
    assert [area_of(f"gateway/{path}") for path in paths] == ["steering", "commands", "steering", "policy", ""]
    assert "gateway/commands/steering/keys.py" not in files_of("commands")


def test_each_area_has_sources_and_tests() -> None:
    assert [
        (name, not area.files(), not all((TOP / test).exists() for test in area.tests)) for name, area in AREAS.items()
    ] == [(name, False, False) for name in AREAS]
