"""What two policies decide differently by their rules alone, with a call for each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gateway.replay.judging import Side
from gateway.replay.symbolic import NARROWER, WIDER, Half, Unlogged, compared

if TYPE_CHECKING:
    from pathlib import Path

OLD = """
version: 1
rules:
  - {id: push, ask: Bash(frob push *)}
  - {id: gen, deny: 'Edit(./src/gen/**)'}
  - {id: kept, deny: 'Edit(./kept/**)'}
  - {id: docs, deny: {effect: read, path: './docs/*'}}
  - {id: hosts, allow: 'WebFetch(domain:*.example.com)'}
"""
NEW = """
version: 1
rules:
  - {id: kept, deny: 'Edit(./kept/**)'}
  - {id: push, deny: Bash(frob push *)}
  - {id: gen, deny: 'Edit(./src/gen/x*)'}
  - {id: near, allow: 'Read(./docs/**)'}
  - {id: below, deny: 'Edit(./kept/x/**)'}
  - {id: low, deny: {effect: read, path: './docs/[a-m]*'}}
  - {id: high, deny: {effect: read, path: './docs/[!a-m]*'}}
  - {id: hosts, allow: 'WebFetch(domain:*.example.com)'}
  - {id: private, ask: {effect: connect, host: '*.example.com'}, except: [{host: '*.docs.example.com'}]}
"""


def found(tmp_path: Path, old: str, new: str) -> Unlogged:
    sides = []
    for name, text in (("old", old), ("new", new)):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "user.yaml").write_text(text)
        sides.append(Side(name, policies=str(folder)))
    return compared(*[Half(each, str(tmp_path)) for each in sides])


def test_each_rule_that_makes_a_difference_is_shown_by_a_call_and_others_are_not(tmp_path: Path) -> None:
    told = found(tmp_path, OLD, NEW)
    assert [
        (each.kind, each.before, each.after, each.call, each.was[0], each.rule[0]) for each in told.differences
    ] == [
        (WIDER, "deny", "ask", "Write(./src/gen/y)", "gen", "mode:default"),
        (NARROWER, "allow", "ask", "WebFetch(https://x.example.com/)", "hosts", "private"),
        (NARROWER, "ask", "deny", "Bash(frob push)", "push", "push"),
    ]
    assert (told.refuted, told.undecided, told.settings) == (0, 0, ())


def test_what_another_mode_lets_through_is_shown_for_each_class_of_effects(tmp_path: Path) -> None:
    told = found(tmp_path, "version: 1\n", "version: 1\nsettings: {mode: bypass}\n")
    assert {each.kind for each in told.differences} == {WIDER}
    assert (told.differences[0].after, told.settings) == ("allow", ("mode",))


def test_the_same_rules_in_another_order_differ_in_nothing(tmp_path: Path) -> None:
    head, *rules = OLD.strip().split("\n  - ")
    turned = "\n  - ".join([head, *reversed(rules)])
    assert found(tmp_path, OLD, turned) == Unlogged()
