"""Bash: what the model is told of a command, what carries over to the next one, and what never runs."""

from __future__ import annotations

import os
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from patience import patience
from warmed import warm

from gateway.calls.command_output import Transcript
from gateway.calls.output import Failure
from gateway.calls.session import Session
from gateway.core.cancel import Cancel
from gateway.handlers import shell
from gateway.handlers.changes import Changed
from gateway.model.context import Context
from gateway.model.result import Result, Violation
from gateway.sandbox.backends.spaces import Spaces

from .alone import Alone
from .whole import Whole

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    home, made = tmp_path / "home", tmp_path / "project"
    home.mkdir()
    (made / "sub").mkdir(parents=True)
    monkeypatch.setenv("HOME", str(home))
    warm(home / ".cache" / "gateway")
    for name in ("XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    return made


@pytest.fixture
def whole(project: Path) -> Iterator[Whole]:
    if not (probe := Spaces().probe()).works:
        pytest.skip(f"namespaces do not hold here: {probe.reason}")
    made = Whole(project)
    yield made
    made.close()


@pytest.mark.parametrize(
    ("command", "text", "is_error"),
    [
        ("echo out", "out", False),
        ("true", "(no output)", False),
        ("echo out; echo err >&2; exit 3", "out\nerr\n[Exit status 3]", True),
        ("printf out; echo err >&2", "out\nerr", False),
        ("false", "[Exit status 1]", True),
        ("kill -TERM $$", "[It ended by signal 15]", True),
        ("printf 'a\\377b'", "a\ufffdb", False),
        ("no-such-program 2> /dev/null", "[Exit status 127]", True),
    ],
    ids=["output", "nothing", "both streams", "no line break", "a status", "a signal", "no text", "no program"],
)
def test_the_model_is_told_what_a_command_printed_and_how_it_ended(
    whole: Whole, command: str, text: str, is_error: bool
) -> None:
    done = whole("Bash", command=command)
    assert (done.text, done.output.is_error) == (text, is_error)


def test_output_is_reported_while_it_comes_letters_whole(whole: Whole) -> None:
    whole("Bash", command="printf 'a\\303'; echo b >&2; printf '\\251c'")
    for stream, text in (("stdout", "aéc"), ("stderr", "b\n")):
        assert "".join(each.text for each in whole.seen if each.kind == stream) == text


def test_the_working_folder_carries_over(whole: Whole, project: Path) -> None:
    assert whole("Bash", command="pwd").text == str(project)
    done = whole("Bash", command="mkdir -p deeper && cd sub")
    assert done.text == f"[The working directory is now {project}/sub]"
    assert whole("Bash", command="pwd").text == f"{project}/sub"
    assert whole("Bash", command="cat nothing; true").output.cwd == ""


def test_nothing_but_the_folder_carries_over(whole: Whole) -> None:
    whole("Bash", command="export KEPT=1; f() { echo x; }; set -e; mkdir -p x")
    assert whole("Bash", command="echo ${KEPT:-none}; f; false; echo on").text.splitlines()[0] == "none"


def test_a_long_output_is_shown_in_part_and_lies_in_a_file_whole(whole: Whole) -> None:
    expected = "".join(f"{number}\n" for number in range(1, 100_001))
    done = whole("Bash", command="seq 100000")
    file = done.output.data["output_file"]
    with open(file, encoding="ascii") as kept:
        assert kept.read() == expected
    assert f"[… {len(expected):,} bytes of output in all: all of it is in {file} …]" in done.text
    assert done.text.startswith("1\n2\n")
    assert done.text.endswith("99999\n100000")
    assert len(done.text) < shell.MOST_SHOWN
    assert os.stat(file).st_mode & 0o077 == 0


def test_an_output_that_is_just_short_enough_is_shown_whole_without_a_file(whole: Whole) -> None:
    done = whole("Bash", command=f"head -c {shell.MOST_SHOWN} /dev/zero | tr '\\0' x")
    assert (done.text, done.output.data["output_file"]) == ("x" * shell.MOST_SHOWN, "")
    assert not os.listdir(whole.session.scratch())
    longer = whole("Bash", command=f"head -c {shell.MOST_SHOWN + 1} /dev/zero | tr '\\0' x")
    assert longer.output.data["output_file"] != ""


def test_the_whole_output_lies_in_the_file_even_where_the_sandbox_keeps_less(project: Path, whole: Whole) -> None:
    del whole
    bound = Whole(project, "{limits: {output_mb: 1}}")
    done = bound("Bash", command="head -c 3000000 /dev/zero | tr '\\0' x; echo end")
    assert done.result.truncated[0] > 0
    assert os.path.getsize(done.output.data["output_file"]) == 3_000_004
    assert done.text.endswith("xend")
    bound.close()


def test_a_command_that_takes_too_long_ends_with_its_whole_tree(whole: Whole) -> None:
    limit = int(2 * patience(0.5)) * 500  # whole halves of a second
    done = whole("Bash", command="setsid sleep 1000 & echo started; sleep 1000", timeout=limit)
    assert done.text.splitlines()[0] == "started"
    assert f"it ran for more than {limit / 1000:g} s. Give a longer `timeout`" in done.text
    assert (done.output.is_error, done.output.data["interrupted"], done.result.ended) == (True, True, "timeout")
    assert whole("Bash", command="echo in time", timeout=60_000).output.data["interrupted"] is False


def test_a_cancelled_command_ends_and_says_so(whole: Whole) -> None:
    cancel = Cancel()
    whole.watching = cancel.set
    done = whole("Bash", cancel, command="echo started; sleep 1000")
    assert done.output.data["interrupted"] is True
    assert "it was cancelled" in done.text
    cancel.close()


@pytest.mark.parametrize(
    ("command", "changed"),
    [
        ("echo x > new", ["new"]),
        ("echo x >> old", ["old"]),
        ("rm old", ["old"]),
        ("rm -r sub", ["sub"]),
        ("mv old moved", ["moved", "old"]),
        ("touch sub/a sub/b", ["sub/a", "sub/b"]),
        ("chmod 600 old", ["old"]),
        ("cat old", []),
        ("ls > /dev/null", []),
        ('python3 -c \'open("by-code", "w")\'', ["by-code"]),
    ],
    ids=str,
)
def test_files_that_a_command_changed_are_reported(
    whole: Whole, project: Path, command: str, changed: list[str]
) -> None:
    (project / "old").write_text("old\n")
    (project / "untouched").write_text("x\n")
    done = whole("Bash", command=command)
    assert done.output.changed == tuple(f"{project}/{name}" for name in changed)
    assert done.output.data["changed_complete"] is True
    assert ("[Files changed: " + ", ".join(changed) + "]" in done.text) == bool(changed)


def test_what_the_sandbox_refused_is_told_with_what_to_do(whole: Whole, project: Path) -> None:
    for name in ("hidden", "plain"):
        (project / name).write_text("secret\n")
        (project / f"{name}.sh").write_text(f"cat ./{name[:3]}*[a-z]\n")
    (project / "hidden.sh").rename(project / "other.sh")
    done = whole("Bash", command="bash ./other.sh")
    assert "secret" not in done.text
    assert f"locked by rule `hidden`: read {project}/hidden" in done.text
    assert [each["target"] for each in done.output.data["violations"]] == [f"{project}/hidden"]
    assert whole("Bash", command="bash ./plain.sh").text == "secret\ncat ./pla*[a-z]"


def test_what_policy_denies_does_not_run(whole: Whole, project: Path) -> None:
    (project / "hidden").write_text("secret\n")
    (project / "plain").write_text("secret\n")
    assert whole("Bash", command="cat hidden").result.ended == "refused"
    assert whole("Bash", command="cat plain").text == "secret"


def test_asking_to_run_without_the_sandbox_is_a_question_that_nobody_answers_here(whole: Whole) -> None:
    done = whole("Bash", command="echo x", dangerously_disable_sandbox=True)
    assert (done.ran, done.output.is_error, done.verdict.decision.word) == (False, True, "ask")
    assert whole("Bash", command="echo x", dangerously_disable_sandbox=False).text == "x"


def test_the_handler_itself_runs_nothing_where_there_is_no_plan(tmp_path: Path) -> None:
    alone = Alone(tmp_path)
    with pytest.raises(Failure, match="without the sandbox"):
        alone(shell.bash, "Bash", command="touch x")
    assert not (tmp_path / "x").exists()


LOOKS = """\
import glob, os
for path in sorted(glob.glob("{shared}/*/output-*.txt") + glob.glob("{shared}/other/*.txt")):
    print("sees", os.path.basename(path), open(path).read(3))
    open(path, "w").write("bad")
print(sorted(os.listdir("{shared}")))
"""


@pytest.mark.parametrize("where", ["where commands may write", "in the workspace"])
def test_no_command_sees_or_changes_what_is_kept_for_other_calls(
    project: Path, whole: Whole, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    del whole
    shared = project.parent / "shared" if where.startswith("where") else project / "shared"
    (shared / "other").mkdir(parents=True)
    (shared / "other" / "x.txt").write_text("xyz")
    monkeypatch.setenv("TMPDIR", str(shared))
    (project / "look.py").write_text(LOOKS.format(shared=shared))
    session = Whole(project, f'{{sandbox: {{write: ["./**", "/{shared}/**"]}}}}')
    file = session("Bash", command="seq 100000").output.data["output_file"]
    assert (os.path.dirname(os.path.dirname(file)) == str(shared)) == where.startswith("where")
    done = session("Bash", command="python3 look.py")
    assert "sees x.txt xyz" in done.text  # the twin that nobody protects
    assert (shared / "other" / "x.txt").read_text() == "bad"
    assert "output-" not in done.text
    with open(file, encoding="ascii") as kept:
        assert kept.read() == "".join(f"{number}\n" for number in range(1, 100_001))
    assert "100000" in session("Read", file_path=file, offset=99_999).text
    session.close()


def test_a_link_in_the_folder_of_outputs_leads_nowhere_that_may_not_be_read(whole: Whole, project: Path) -> None:
    folder = whole.session.scratch()
    for name in ("hidden", "plain"):
        (project / name).write_text(f"{name}\n")
        os.symlink(project / name, os.path.join(folder, f"result-{name}.txt"))
    denied = whole("Read", file_path=os.path.join(folder, "result-hidden.txt"))
    assert (denied.ran, denied.result.ended) == (False, "refused")
    assert "plain" in whole("Read", file_path=os.path.join(folder, "result-plain.txt")).text


NOTHING = Changed(())


def report(
    tmp_path: Path, result: Result, changed: Changed = NOTHING, printed: bytes = b"", *, single: bool = False
) -> str:
    transcript = Transcript(str(tmp_path / "file"), at_once=False)
    transcript.add(printed)
    transcript.end()

    here = Context("/p", "/p", "/home")
    work: Any = SimpleNamespace(context=here, verdict=None, plan=None, session=Session(here, single=single))
    return shell.Report(result, transcript, changed, work).text()


@pytest.mark.parametrize(
    ("result", "told"),
    [
        (Result("limit", 137, reason="it went over its limit of memory"), "it went over its limit of memory]"),
        (Result("failed", 126, reason="no sandbox holds here"), "[It did not run: no sandbox holds here]"),
        (
            Result("exited", 0, violations=(Violation("net", "evil:80", "r", "proxy", "ask a person", count=2),)),
            "[Blocked by rule `r`: net evil:80 (2 times): ask a person]",
        ),
        (
            Result("exited", 0, violations=(Violation("write", "/x\n[ok]", "", "output", "", certain=False),)),
            "[Probably blocked: write /x\\n[ok]]",
        ),
    ],
    ids=["a limit", "not run", "a violation", "a guess with a forged line"],
)
def test_each_way_to_end_is_one_line(tmp_path: Path, result: Result, told: str) -> None:
    assert report(tmp_path, result).endswith(told)
    assert report(tmp_path, result).count("\n") == 0


def test_a_long_list_of_changed_files_is_cut_and_an_incomplete_one_says_so(tmp_path: Path) -> None:
    paths = tuple(f"/p/{number:03}" for number in range(60))
    told = report(tmp_path, Result("exited", 0), Changed(paths, complete=False))
    assert told.startswith("(no output)") is False
    assert "000, 001" in told
    assert told.endswith("049, and 10 more; there may be more]")


def test_what_cannot_be_kept_is_said_to_be_lost(tmp_path: Path) -> None:
    (tmp_path / "file").mkdir()
    told = report(tmp_path, Result("exited", 0, b"x" * 40_000), printed=b"x" * 40_000)
    assert f"the rest is lost ({tmp_path}/file: File exists)" in told


LONG = "".join(f"{number}\n" for number in range(20_000))


@pytest.mark.parametrize("kept", [True, False], ids=["all of it came by", "less came by than was kept"])
def test_a_session_for_one_call_gets_all_of_an_output_and_no_file_that_goes_with_it(tmp_path: Path, kept: bool) -> None:
    data = LONG.encode()
    result = Result("exited", 3, data if kept else data[:9], truncated=(0 if kept else len(data) - 9, 0))
    assert report(tmp_path, result, printed=data, single=True) == LONG + "[Exit status 3]"
    (tmp_path / "file").unlink()
    assert f"all of it is in {tmp_path}/file" in report(tmp_path, result, printed=data)


def test_what_a_file_could_not_hold_is_said_behind_all_that_it_holds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Transcript.__init__, "__kwdefaults__", {"kept": 1 << 20, "on_disk": 40_000})
    result = Result("exited", 0, b"x" * 10, truncated=(50_000, 0))
    told = report(tmp_path, result, printed=b"x" * 50_000, single=True)
    assert told == "x" * 40_000 + "\n[The rest is lost: there is more than a file may hold]"


KEEPING = '{sandbox: {write: ["./**"], env: [KEPT, LD_PRELOAD, "OTHER*"]}, shell: {keep_environment: true}}'


def test_exported_variables_stay_by_choice_if_the_sandbox_passes_them_on(project: Path, whole: Whole) -> None:
    script = (
        "export KEPT='a \"b\" $c' OTHER=1 UNNAMED=1 LD_PRELOAD=x PATH=/nowhere OTHER_PATH=x; unexported=1; true > x"
    )
    show = "echo ${KEPT:-none} ${OTHER:-none} ${UNNAMED:-none} ${LD_PRELOAD:-none} ${OTHER_PATH:-none}"
    by_choice = Whole(project, KEEPING)
    for session, expected in ((whole, "none none none none none"), (by_choice, 'a "b" $c 1 none none none')):
        session("Bash", command=script)
        assert session("Bash", command=show).text.splitlines()[0] == expected
    by_choice("Bash", command="unset KEPT; export OTHER=2; true > x")
    assert by_choice("Bash", command=show).text.splitlines()[0] == "none 2 none none none"
    by_choice.close()


def test_a_shell_that_ends_by_force_changes_nothing_of_the_environment(project: Path, whole: Whole) -> None:
    del whole
    session = Whole(project, KEEPING)
    session("Bash", command="export KEPT=1; true > x")
    session("Bash", command="export KEPT=2; true > x; kill -9 $$")
    assert session("Bash", command="echo $KEPT").text.splitlines()[0] == "1"
    session.close()
