"""Running ripgrep: found, unaware of its surroundings, bounded and ended."""

from __future__ import annotations

import os
import stat
import sys
from typing import TYPE_CHECKING

import pytest

from gateway.calls.output import Failure
from gateway.core import programs
from gateway.core.cancel import Cancel
from gateway.handlers import ripgrep

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[int]:
    for number in range(20):
        (tmp_path / f"f{number}").write_text("needle\n" * 1_000)
    descriptor = os.open(tmp_path, os.O_RDONLY | os.O_DIRECTORY)
    yield descriptor
    os.close(descriptor)


def count(folder: int, **how: object) -> ripgrep.Ran:
    how = {"seconds": 60, "most": 1 << 20, **how}
    return ripgrep.run(("--count", "needle", "./"), folder=folder, **how)  # type: ignore[arg-type]


def test_it_runs_in_the_folder_that_is_held_whatever_lies_at_its_place(folder: int, tmp_path: Path) -> None:
    tmp_path.rename(tmp_path.with_name("moved"))
    tmp_path.mkdir()
    ran = count(folder)
    assert len(ran.output.splitlines()) == 20
    assert (ran.cut, ran.incomplete) == ("", False)


@pytest.mark.parametrize(
    ("how", "why"),
    [({"most": 10}, "there is too much of it"), ({"seconds": 0}, "it took longer than 0 s")],
    ids=["output", "time"],
)
def test_it_is_bounded_and_says_so(folder: int, how: dict[str, object], why: str) -> None:
    ran = count(folder, **how)
    assert (ran.cut, len(ran.output) <= 10) == (why, True)


def test_a_cancelled_search_ends(folder: int) -> None:
    cancel = Cancel()
    assert count(folder, cancel=cancel).cut == ""
    cancel.set()
    assert count(folder, cancel=cancel).cut == "it was cancelled"
    cancel.close()


def test_a_search_that_would_wait_for_ever_ends_when_it_is_cancelled(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    cancel = Cancel()
    held = os.open(tmp_path / "fifo", os.O_RDWR)  # somebody writes, but never says anything
    try:
        import threading

        timer = threading.Timer(0.1, cancel.set)
        timer.start()
        ran = ripgrep.run(("x", "--", str(tmp_path / "fifo")), seconds=60, most=10, cancel=cancel)
        timer.join()
    finally:
        os.close(held)
    assert ran == ripgrep.Ran(b"", "it was cancelled")
    cancel.close()


def test_no_configuration_of_the_surroundings_counts(
    folder: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = sorted(count(folder).output.splitlines())
    (tmp_path / "config").write_text("--invert-match\n")
    monkeypatch.setenv("RIPGREP_CONFIG_PATH", str(tmp_path / "config"))
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / ".config").mkdir()
    (tmp_path / ".config" / "git").mkdir()
    (tmp_path / ".config" / "git" / "ignore").write_text("f*\n")
    assert sorted(count(folder).output.splitlines()) == plain


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("--regexp=(", "./"), "unclosed group"),
        (("--regexp=a(?=b)", "./"), "look-around"),
        (("--regexp=a\nb", "./"), "multiline"),
        (("--type=nonsense", "--regexp=x", "./"), "unrecognized file type: nonsense"),
        (("--glob={a", "--regexp=x", "./"), "unclosed alternate group"),
    ],
    ids=["a group", "look-around", "a line break", "a type", "a glob"],
)
def test_what_it_cannot_search_for_is_a_clear_failure(folder: int, arguments: tuple[str, ...], complaint: str) -> None:
    with pytest.raises(Failure, match=complaint) as told:
        ripgrep.run(arguments, folder=folder, seconds=60, most=1 << 20)
    assert "--" not in str(told.value)


@pytest.mark.parametrize("pattern", ["needle", "n.edle", "(?i)NEEDLE"])
def test_lines_are_kept_that_match(pattern: str) -> None:
    assert ripgrep.lines_with(pattern, b"a\nneedle \xff\0 b\n\xef\xbb\xbfneedle\nc") == (
        b"needle \xff\0 b\n\xef\xbb\xbfneedle\n"
    )


def test_no_line_may_match() -> None:
    assert ripgrep.lines_with("x", b"a\nb\n") == b""
    assert ripgrep.lines_with("x", b"") == b""


def test_more_lines_than_a_pipe_holds_go_through() -> None:
    lines = b"".join(b"%d\n" % number for number in range(200_000))
    assert ripgrep.lines_with("", lines) == lines
    assert ripgrep.lines_with("^199999$", lines) == b"199999\n"


def test_an_expression_that_others_never_finish_is_linear() -> None:
    assert ripgrep.lines_with("(a*)*(a*)*b", b"a" * 100_000 + b"\n") == b""


@pytest.mark.parametrize("pattern", ["(", "a{99999999}", "(?<name"])
def test_a_bad_expression_is_told_before_anything_runs(pattern: str) -> None:
    with pytest.raises(Failure, match="ripgrep cannot search for that"):
        ripgrep.check(pattern)
    ripgrep.check("a{3}")


def test_advice_for_its_command_line_is_left_out_whole() -> None:
    with pytest.raises(Failure) as caught:
        ripgrep.check("(?<=--a)b")
    assert str(caught.value).splitlines()[-1] == (
        "error: look-around, including look-ahead and look-behind, is not supported."
    )
    assert "(?<=--a)b" in str(caught.value)


def test_the_program_of_the_package_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    planted = tmp_path / "rg"
    planted.write_text("")
    planted.chmod(stat.S_IRWXU)
    monkeypatch.setenv("PATH", str(tmp_path))
    ripgrep.find.cache_clear()
    assert os.path.dirname(ripgrep.find()) == os.path.dirname(os.path.abspath(sys.executable))


def test_without_ripgrep_nothing_is_searched_and_the_remedy_is_told(
    folder: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(programs, "_candidates", lambda _name, _program: ())
    ripgrep.find.cache_clear()
    try:
        with pytest.raises(Failure, match=r"agent-gateway\[agent\]"):
            count(folder)
    finally:
        ripgrep.find.cache_clear()
