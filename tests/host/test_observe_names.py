"""Whether the names below a folder stay what they are when they are read as words again."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from gateway.host.machine import Machine
from gateway.host.observe import observe
from gateway.model.context import Context
from gateway.model.facts import Wanted

if TYPE_CHECKING:
    from pathlib import Path


def names(folder: Path, *, confined: bool = False) -> dict[str, bool]:
    context = Context(str(folder), str(folder), "/home/dev", confined=confined)
    return dict(observe(Wanted(names=(str(folder),)), Machine(), context).names)


@pytest.mark.parametrize(
    ("name", "plain"),
    [("a.py", True), ("sub/b-c.py", True), ("a b", False), ("sub/it's", False), ("x*", False), ("back\\slash", False)],
)
def test_a_name_with_a_blank_a_quote_or_a_glob_is_not_plain(tmp_path: Path, name: str, plain: bool) -> None:
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text("")
    assert names(tmp_path) == {str(tmp_path): plain}


@pytest.mark.parametrize(("target", "plain"), [("a.py", True), ("/etc/hosts", False), ("..", False)])
def test_a_link_that_leads_out_of_the_folder_is_not_plain(tmp_path: Path, target: str, plain: bool) -> None:
    (tmp_path / "a.py").write_text("")
    (tmp_path / "link").symlink_to(target)
    assert names(tmp_path) == {str(tmp_path): plain}


def test_a_folder_that_nobody_can_look_into_is_not_plain(tmp_path: Path) -> None:
    assert names(tmp_path / "missing") == {str(tmp_path / "missing"): False}


def test_nobody_looks_where_the_sandbox_holds_the_call(tmp_path: Path) -> None:
    assert names(tmp_path, confined=True) == {}
