"""The page says of each generated description what it was made from, and how much of it there is."""

from __future__ import annotations

from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

from shipped import by_name

_spec = spec_from_file_location("command_sources", Path(__file__).with_name("command_sources.py"))
assert _spec is not None
assert _spec.loader is not None
sources = module_from_spec(_spec)
_spec.loader.exec_module(sources)


def test_the_table_of_sources_is_the_one_that_the_parts_give() -> None:
    again = "run: python tests/spec/command_sources.py"
    assert sources.PAGE.read_text(encoding="utf-8") == sources.page(by_name()), again


def test_every_program_of_which_parts_are_generated_is_in_the_table() -> None:
    assert set(sources.made_from()) == set(sources.PROGRAMS)
