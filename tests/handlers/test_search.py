"""Glob and Grep: what they find, in which order and how much of it, and what they never show."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from descriptors import open_descriptors
from fuzzing import share

from gateway.calls.output import Failure
from gateway.handlers import ripgrep, search
from gateway.handlers.search_folder import MOST_DEEP

from .alone import Alone, text
from .whole import Whole

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

FILES = {
    "a.py": "import os\nneedle = 1\nprint(needle, needle)\n",
    "src/b.py": "one\ntwo\nneedle\nfour\nfive\nneedle\n",
    "src/deep/c.txt": "needle\r\nother\r\n",
    "secret/key.txt": "the needle is here\n",
    ".hidden/d.txt": "needle\n",
    "ignored.log": "needle\n",
    "build/e.txt": "needle\n",
    ".git/HEAD": "needle\n",
    ".gitignore": "*.log\nbuild/\n",
}
AGES = list(FILES)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    for age, (name, content) in enumerate(FILES.items()):
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode())
        os.utime(path, (1_000_000 - age, 1_000_000 - age))
    return root


@pytest.fixture
def alone(project: Path) -> Alone:
    return Alone(project)


FOUND = ["a.py", "src/b.py", "src/deep/c.txt", "secret/key.txt", ".hidden/d.txt"]


def grep(alone: Alone, pattern: str = "needle", before: Callable[[], Any] = lambda: None, **fields: Any) -> list[str]:
    output = alone(search.grep, "Grep", before, pattern=pattern, **fields)
    return [] if text(output) == "No matches found." else text(output).splitlines()


def glob(alone: Alone, pattern: str, before: Callable[[], Any] = lambda: None, **fields: Any) -> list[str]:
    output = alone(search.glob, "Glob", before, pattern=pattern, **fields)
    return [] if text(output) == "No files found." else text(output).splitlines()


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("**", [*FOUND, ".gitignore"]),
        ("*.py", ["a.py"]),
        ("**/*.{py,txt}", FOUND),
        ("src/**/*.txt", ["src/deep/c.txt"]),
        ("**/*.log", []),
        ("**/e.txt", []),
        ("**/HEAD", []),
        ("{a,src/b}.py", ["a.py", "src/b.py"]),
    ],
    ids=str,
)
def test_glob_lists_what_is_not_ignored_newest_first(alone: Alone, pattern: str, expected: list[str]) -> None:
    assert glob(alone, pattern) == expected


def test_a_folder_that_is_named_is_looked_into_though_it_is_ignored(alone: Alone) -> None:
    assert glob(alone, "build/*") == ["build/e.txt"]
    assert grep(alone, path="build") == ["build/e.txt"]


def test_glob_finds_ignored_files_where_nothing_ignores_them(alone: Alone, project: Path) -> None:
    (project / ".gitignore").unlink()
    assert sorted(glob(alone, "{**/*.log,build/*}")) == ["build/e.txt", "ignored.log"]


def test_the_newest_file_comes_first(alone: Alone, project: Path) -> None:
    os.utime(project / "src/deep/c.txt")
    assert glob(alone, "**/*.{py,txt}") == ["src/deep/c.txt", "a.py", "src/b.py", "secret/key.txt", ".hidden/d.txt"]
    assert grep(alone) == ["src/deep/c.txt", "a.py", "src/b.py", "secret/key.txt", ".hidden/d.txt"]


def test_paths_are_told_as_they_can_be_used_from_the_working_folder(project: Path, tmp_path: Path) -> None:
    inside, beside = Alone(project), Alone(tmp_path / "project" / "src")
    assert glob(inside, "*.py", path="src") == ["src/b.py"]
    assert glob(beside, "*.py") == ["b.py"]
    assert glob(beside, "../*.py") == [f"{project}/a.py"]
    assert grep(beside, path="../a.py", output_mode="count") == [f"{project}/a.py:3"]
    assert grep(inside, path="a.py", output_mode="count") == ["a.py:3"]


def test_glob_is_bounded_and_says_when_it_cut(alone: Alone, project: Path) -> None:
    (project / "many").mkdir()
    for number in range(search.USUAL_ENTRIES + 1):
        (project / f"many/{number}").touch()
    output = alone(search.glob, "Glob", pattern="many/*")
    assert output.data["truncated"] is True
    assert len(output.data["files"]) == search.USUAL_ENTRIES
    assert "Cut after 250 files" in text(output)
    (project / "many/0").unlink()
    output = alone(search.glob, "Glob", pattern="many/*")
    assert (output.data["truncated"], len(output.data["files"])) == (False, search.USUAL_ENTRIES)


# ------------------------------------------------------------------------------------------------------------- Grep


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, FOUND),
        ({"glob": "*.py"}, ["a.py", "src/b.py"]),
        ({"glob": "src/**"}, ["src/b.py", "src/deep/c.txt"]),
        ({"glob": "!*.py"}, FOUND[2:]),
        ({"glob": "HEAD"}, []),
        ({"type": "py"}, ["a.py", "src/b.py"]),
        ({"path": "src"}, ["src/b.py", "src/deep/c.txt"]),
        ({"pattern": "NEEDLE"}, []),
        ({"pattern": "NEEDLE", "-i": True}, FOUND),
        ({"pattern": "nothing at all"}, []),
        ({"output_mode": "count"}, [".hidden/d.txt:1", "a.py:3", "secret/key.txt:1", "src/b.py:2", "src/deep/c.txt:1"]),
        (
            {"output_mode": "content"},
            [
                ".hidden/d.txt:1:needle", "a.py:2:needle = 1", "a.py:3:print(needle, needle)",
                "secret/key.txt:1:the needle is here", "src/b.py:3:needle", "src/b.py:6:needle",
                "src/deep/c.txt:1:needle",
            ],
        ),
        ({"output_mode": "content", "path": "src/b.py", "-n": False}, ["src/b.py:needle", "src/b.py:needle"]),
        (
            {"output_mode": "content", "path": "src/b.py", "-A": 1},
            ["src/b.py:3:needle", "src/b.py-4-four", "--", "src/b.py:6:needle"],
        ),
        (
            {"output_mode": "content", "path": "src/b.py", "-C": 1},
            ["src/b.py-2-two", "src/b.py:3:needle", "src/b.py-4-four", "src/b.py-5-five", "src/b.py:6:needle"],
        ),
        (
            {"output_mode": "content", "pattern": "two|four", "path": "src", "-B": 1},
            ["src/b.py-1-one", "src/b.py:2:two", "src/b.py-3-needle", "src/b.py:4:four"],
        ),
        ({"output_mode": "content", "pattern": "two.needle", "path": "src"}, []),
        (
            {"output_mode": "content", "pattern": "two.needle", "path": "src", "multiline": True},
            ["src/b.py:2:two", "src/b.py:3:needle"],
        ),
    ],
    ids=str,
)  # fmt: skip
def test_grep_finds_what_ripgrep_finds(alone: Alone, fields: dict[str, Any], expected: list[str]) -> None:
    assert grep(alone, **fields) == expected


@pytest.mark.parametrize("mode", ["files_with_matches", "content", "count"])
def test_pages_together_are_the_whole(alone: Alone, mode: str) -> None:
    whole = grep(alone, output_mode=mode, head_limit=0)
    assert whole == grep(alone, output_mode=mode)
    pages = [grep(alone, output_mode=mode, head_limit=2, offset=offset) for offset in range(0, len(whole), 2)]
    assert [line for page in pages for line in page if not line.startswith("(Cut")] == whole
    assert pages[0][-1] == "(Cut after 2 entries. `offset: 2` shows the next ones.)"
    assert not pages[-1][-1].startswith("(Cut")
    assert grep(alone, output_mode=mode, offset=len(whole)) == ["No more matches."]


def test_a_long_result_is_cut_where_nobody_says_how_long_it_may_be(alone: Alone, project: Path) -> None:
    (project / "long").write_text("needle\n" * 1_000)
    lines = grep(alone, path="long", output_mode="content")
    assert (len(lines), lines[-1]) == (251, "(Cut after 250 entries. `offset: 250` shows the next ones.)")
    assert len(grep(alone, path="long", output_mode="content", head_limit=0)) == 1_000


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"\xff\xfen\0e\0e\0d\0l\0e\0\n\0", ["f:1:needle"]),
        (b"caf\xe9 needle\n", ["f:1:caf\ufffd needle"]),
        (b"needle\0\n", None),
        (b"needle " + b"x" * 5_000, None),
        (b"", []),
        (b"needle", ["f:1:needle"]),
    ],
    ids=["UTF-16", "another encoding", "binary", "a long line", "empty", "no line break at the end"],
)
def test_odd_contents_do_not_break_the_result(
    alone: Alone, project: Path, content: bytes, expected: list[str] | None
) -> None:
    (project / "f").write_bytes(content)
    found = grep(alone, glob="f", output_mode="content")
    if expected is not None:
        assert found == expected
    assert all(line.startswith("f:1:needle") and len(line) < 2_200 for line in found if expected is None)


@pytest.mark.parametrize("name", ["new\nline", b"\xff\xfe", "--", "-e", "a:1:b", "\u202egnp.exe"], ids=repr)
def test_odd_names_are_found_and_stay_on_one_line(alone: Alone, project: Path, name: str | bytes) -> None:
    (project / os.fsdecode(name)).write_text("odd one\n")
    for found in (grep(alone, "odd one"), grep(alone, "odd one", output_mode="count"), glob(alone, "**")[:1]):
        assert len(found) == 1
        assert found[0].isprintable()


@pytest.mark.parametrize(
    "pattern", ["--files", "-f/etc/hostname", "--pre=/bin/false", "-e", "--", "-", "--hostname-bin=/bin/false"]
)
def test_a_pattern_that_looks_like_an_option_is_a_pattern(alone: Alone, project: Path, pattern: str) -> None:
    (project / "f").write_text(f"x {pattern} y\n")
    assert grep(alone, pattern, path="f", output_mode="content") == [f"f:1:x {pattern} y"]
    assert grep(alone, pattern, glob=pattern) == []


# ------------------------------------------------------------------------------------------ what is never shown


MODES = [{"output_mode": mode} for mode in ("files_with_matches", "content", "count")]


@pytest.mark.parametrize("fields", [*MODES, {"output_mode": "content", "-C": 3}], ids=str)
def test_nothing_of_what_may_not_be_read_is_shown(project: Path, fields: dict[str, Any]) -> None:
    free, bound = Alone(project), Alone(project, lambda path: path.endswith("/key.txt"))
    assert any("key.txt" in line for line in grep(free, **fields))
    rest = [line for line in grep(free, **fields) if "key.txt" not in line and line != "--"]
    assert [line for line in grep(bound, **fields) if line != "--"] == rest
    assert not any("key.txt" in line for line in glob(bound, "**"))
    assert any("key.txt" in line for line in glob(free, "**"))


def test_a_file_that_may_not_be_read_is_not_searched_when_it_is_named(project: Path) -> None:
    bound = Alone(project, lambda path: path.endswith("/key.txt"))
    assert grep(bound, path="secret/key.txt", output_mode="content") == []
    assert grep(Alone(project), path="secret/key.txt") == ["secret/key.txt"]


def test_policy_is_asked_once_for_a_file_and_only_about_files_that_matched(project: Path) -> None:
    alone = Alone(project)
    grep(alone, "two|four", output_mode="content")
    assert alone.asked == [f"{project}/src/b.py"]


def test_policy_is_asked_only_about_as_many_as_are_shown(project: Path) -> None:
    alone = Alone(project)
    grep(alone, head_limit=1, output_mode="files_with_matches")
    assert len(alone.asked) <= 5


def test_no_link_is_followed_while_searching(alone: Alone, project: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "f.txt").write_text("needle\n")
    (project / "linked").symlink_to(outside)
    (project / "linked.txt").symlink_to(outside / "f.txt")
    assert grep(alone) == FOUND
    assert [path for path in glob(alone, "**") if "linked" in path] == []


def test_a_link_that_is_named_is_judged_by_where_it_leads(project: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "f.txt").write_text("needle\n")
    (project / "linked").symlink_to(outside)
    assert grep(Alone(project), path="linked") == ["linked/f.txt"]
    assert grep(Alone(project, lambda path: path.startswith(str(outside))), path="linked") == []


@pytest.mark.parametrize("name", ["src", "."])
def test_a_folder_that_becomes_a_link_after_it_was_judged_is_refused(project: Path, tmp_path: Path, name: str) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "f.txt").write_text("needle\n")
    folder = (project / name).resolve()

    def swap() -> None:
        folder.rename(tmp_path / "away")
        folder.symlink_to(outside)

    assert grep(Alone(project), path=name) != []
    with pytest.raises(Failure, match="changed while it was being judged"):
        grep(Alone(project), before=swap, path=name)


@pytest.mark.parametrize("fields", MODES, ids=str)
@pytest.mark.parametrize("what", ["the file", "its folder"])
def test_a_link_that_appears_while_ripgrep_runs_shows_nothing(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fields: dict[str, Any], what: str
) -> None:
    """The worst case: ripgrep has followed the link, and policy would let the name be read."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "b.py").write_text("a needle nobody may see\n")
    run = ripgrep.run

    def racing(arguments: Any, **how: Any) -> ripgrep.Ran:
        if how.get("folder") is None:
            return run(arguments, **how)
        kept = tmp_path / "kept"
        target = project / ("src/b.py" if what == "the file" else "src")
        target.rename(kept)
        target.symlink_to(outside / "b.py" if what == "the file" else outside)
        ran = run((*arguments[:1], "--follow", *arguments[1:]), **how)
        assert b"b.py" in ran.output
        return ran

    assert any("b.py" in line for line in grep(Alone(project), path="src", **fields))
    monkeypatch.setattr(ripgrep, "run", racing)
    assert grep(Alone(project), path=".", glob="b.py", **fields) == []


def test_a_folder_that_is_put_back_shows_only_what_was_always_there(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "b.py").write_text("password: 1234\n")
    run = ripgrep.run

    def racing(arguments: Any, **how: Any) -> ripgrep.Ran:
        if how.get("folder") is None:
            return run(arguments, **how)
        (project / "src").rename(project / "kept")
        (project / "src").symlink_to(outside)
        ran = run((*arguments[:1], "--follow", *arguments[1:]), **how)
        (project / "src").unlink()
        (project / "kept").rename(project / "src")
        assert b"src/b.py" in ran.output
        return ran

    monkeypatch.setattr(ripgrep, "run", racing)
    for fields in MODES:
        assert grep(Alone(project), "password: 1...", **fields) == []
        assert grep(Alone(project), "needle|password: 1...", glob="b.py", **fields) != []


@pytest.mark.parametrize("tool", ["Glob", "Grep"])
def test_what_is_no_file_is_neither_listed_nor_waited_for(alone: Alone, project: Path, tool: str) -> None:
    os.mkfifo(project / "fifo")
    found = glob(alone, "**") if tool == "Glob" else grep(alone, ".")
    assert "fifo" not in found
    assert "a.py" in found
    with pytest.raises(Failure, match="neither a file nor a folder"):
        grep(alone, path="fifo")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_what_the_system_does_not_let_us_read_is_left_out(alone: Alone, project: Path) -> None:
    (project / "a.py").chmod(0)
    (project / "src").chmod(0)
    try:
        assert grep(alone) == [*FOUND[3:], "(The system did not let everything be read.)"]
    finally:
        (project / "src").chmod(0o755)


@pytest.mark.parametrize(
    ("tool", "fields", "complaint"),
    [
        ("Grep", {"pattern": "x", "path": "nowhere"}, "does not exist"),
        ("Glob", {"pattern": "x", "path": "nowhere"}, "does not exist"),
        ("Glob", {"pattern": "x", "path": "a.py"}, "is a file"),
        ("Glob", {"pattern": "[x"}, "`pattern`: a character class must be closed"),
        ("Grep", {"pattern": "("}, "unclosed group"),
        ("Grep", {"pattern": "x", "type": "nonsense"}, "unrecognized file type"),
    ],
    ids=str,
)
def test_what_cannot_be_searched_is_a_clear_failure(
    alone: Alone, tool: str, fields: dict[str, Any], complaint: str
) -> None:
    with pytest.raises(Failure, match=complaint):
        alone(search.grep if tool == "Grep" else search.glob, tool, **fields)


def test_a_cancelled_search_says_that_it_is_not_whole(alone: Alone) -> None:
    alone.cancel.set()
    for output in (alone(search.glob, "Glob", pattern="**"), alone(search.grep, "Grep", pattern="needle")):
        assert output.data["truncated"] is True
        assert "it was cancelled" in text(output)


def test_more_lines_than_anybody_reads_are_cut_and_it_is_said(alone: Alone, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "MOST_LINES", 20)
    found = grep(alone, output_mode="content", head_limit=0)
    assert "there is too much of it" in found[-1]
    monkeypatch.undo()
    assert "(" not in grep(alone, output_mode="content", head_limit=0)[-1]


def test_policy_hides_what_read_may_not_see(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(project.parent / "home"))
    for name in ("XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name in ("hidden", "plain"):
        (project / name).write_text("treasure\n")
    (project / "to-hidden").symlink_to("hidden")
    (project / "to-plain").symlink_to("plain")
    whole = Whole(project)
    for fields, shown in (
        ({}, "plain"),
        ({"output_mode": "content"}, "plain:1:treasure"),
        ({"output_mode": "count"}, "plain:1"),
    ):
        assert whole("Grep", pattern="treasure", **fields).text == shown
    assert sorted(whole("Glob", pattern="*[a-z]").text.split()) == [".gitignore", "a.py", "plain"]
    assert whole("Grep", pattern="treasure", path="to-plain").text == "to-plain"
    assert whole("Grep", pattern="treasure", path="to-hidden").output.is_error
    whole.close()


def test_no_descriptor_is_left_open(alone: Alone) -> None:
    grep(alone, output_mode="content")
    before = len(open_descriptors())
    for fields in MODES:
        grep(alone, **fields)
    glob(alone, "**")
    with pytest.raises(Failure):
        grep(alone, "(")
    assert len(open_descriptors()) == before


def test_ignore_files_above_the_folder_count_too(alone: Alone, project: Path) -> None:
    if not shutil.which("git"):
        pytest.skip("git is not installed")
    shutil.rmtree(project / ".git")
    subprocess.run(["git", "init", "-q"], cwd=project, check=True)
    (project / "src/x.log").write_text("needle\n")
    assert glob(alone, "*", path="src") == ["src/b.py"]
    (project / ".gitignore").unlink()
    assert sorted(glob(alone, "*", path="src")) == ["src/b.py", "src/x.log"]


@pytest.fixture
def deepen() -> Iterator[Callable[[Path, int], None]]:
    """Makes folders in folders, with a file in the deepest, and takes them away: deeper than who cleans up can go."""
    made: list[tuple[Path, int]] = []

    def make(folder: Path, depth: int) -> None:
        made.append((folder, depth))
        here = os.open(folder, os.O_RDONLY)
        for _ in range(depth):
            os.mkdir("d", dir_fd=here)
            here = gone(here, "d")
        os.close(here)
        Path(str(folder) + "/d" * depth, "deepest").write_text("needle\n", encoding="utf-8")

    yield make
    for folder, depth in made:
        here = os.open(str(folder) + "/d" * depth, os.O_RDONLY)
        os.unlink("deepest", dir_fd=here)
        for _ in range(depth):
            here = gone(here, "..")
            os.rmdir("d", dir_fd=here)
        os.close(here)


def gone(here: int, name: str) -> int:
    """The folder of a name in one that is left: to look the whole path up each time would take longest of all."""
    try:
        return os.open(name, os.O_RDONLY, dir_fd=here)
    finally:
        os.close(here)


DEEPER = "(What lies more than 128 folders deep is left out. Name a folder nearer to it.)"


@pytest.mark.parametrize(
    ("depth", "is_shown", "fields"),
    [
        (depth, is_shown, fields)
        for number, (depth, is_shown) in enumerate([(MOST_DEEP, True), (MOST_DEEP + 1, False), (1_500, False)])
        for fields in share([{}, {"output_mode": "content"}, {"output_mode": "count"}], 3, number)
    ],
)
def test_a_tree_of_any_depth_takes_nothing_from_the_rest(
    tmp_path: Path, deepen: Callable[[Path, int], None], fields: dict[str, str], depth: int, is_shown: bool
) -> None:
    (tmp_path / "a").write_text("needle\n")
    deepen(tmp_path, depth)
    alone = Alone(tmp_path)
    found = grep(alone, **fields)
    assert [line for line in found if line.startswith("a")] == [{"content": "a:1:needle", "count": "a:1"}.get(
        fields.get("output_mode", ""), "a"
    )]  # fmt: skip
    assert any("deepest" in line for line in found) == is_shown
    assert (DEEPER in found) != is_shown
    names = glob(alone, "**")
    assert ("a" in names, DEEPER in names, any("deepest" in each for each in names)) == (True, not is_shown, is_shown)


def test_of_what_lies_too_deep_and_may_not_be_read_nothing_is_said(
    tmp_path: Path, deepen: Callable[[Path, int], None]
) -> None:
    (tmp_path / "a").write_text("needle\n")
    deepen(tmp_path, MOST_DEEP + 1)
    hiding = Alone(tmp_path, lambda path: "/d/" in path)
    assert grep(hiding) == grep(hiding, output_mode="files_with_matches") == glob(hiding, "**") == ["a"]
    assert DEEPER in grep(Alone(tmp_path))


def test_more_folders_than_are_held_open_are_looked_into(tmp_path: Path, deepen: Callable[[Path, int], None]) -> None:
    for number in range(30):
        (tmp_path / str(number)).mkdir()
        deepen(tmp_path / str(number), 40)
    alone = Alone(tmp_path)
    before = len(open_descriptors())
    assert len(grep(alone, output_mode="count")) == 30
    assert len(open_descriptors()) == before


def test_names_that_are_no_utf8_are_found_and_read_like_others(tmp_path: Path) -> None:
    project = tmp_path / os.fsdecode(b"pro\xffject")
    try:
        (project / "src").mkdir(parents=True)
    except OSError:
        pytest.skip("this system has no such names")
    (project / "src" / os.fsdecode(b"\xfe.py")).write_text("needle\n", encoding="utf-8")
    (project / "src" / os.fsdecode(b"hidden\xfe.py")).write_text("needle\n", encoding="utf-8")
    whole = Whole(project)
    try:
        found = [
            whole("Glob", pattern="**/*.py").text,
            whole("Glob", pattern="*.py", path="src").text,
            whole("Grep", pattern="needle").text,
            whole("Grep", pattern="needle", path="src", output_mode="content").text,
            whole("Read", file_path="src/\udcfe.py").text,
        ]
    finally:
        whole.close()
    name = r"src/\udcfe.py"
    assert found == [name, name, name, f"{name}:1:needle", "     1\tneedle"]
