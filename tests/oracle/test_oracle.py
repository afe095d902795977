"""Commands of the corpora, run for real in a cage: all that they do was predicted. `scripts/oracle` runs them all."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from fuzzing import THOROUGH, share

from oracle.__main__ import run
from oracle.cage import Cage, missing
from oracle.compare import compare
from oracle.judge import Judge, workers
from oracle.place import ROOT
from oracle.texts import corpus, sample
from oracle.tracer import events
from oracle.variations import varied

pytestmark = pytest.mark.skipif(bool(missing()), reason=f"no cage can be built: {missing()}")

EVERY, EVERY_VARIED = (130, 260) if THOROUGH else (1_000, 1_500)


@pytest.fixture(scope="module")
def cage():
    with Cage() as cage:
        yield cage


@pytest.fixture(scope="module")
def judge():
    with Judge() as judge:
        yield judge


def test_nothing_of_a_sample_does_what_was_not_predicted(judge: Judge) -> None:
    texts = corpus()
    some = [*sample(texts, EVERY), *varied(texts[::EVERY_VARIED], 1)]
    # A judge takes longer to start than a small sample takes.
    outcomes = run(some, workers()) if THOROUGH else [(text, judge(text.text, text.cwd)) for text in some]
    surprised = {text.text: outcome.compared.surprises for text, outcome in outcomes if outcome.compared.surprises}
    started = sum(outcome.programs > 0 for _, outcome in outcomes)
    assert (surprised, started > len(outcomes) / 2) == ({}, True)


@pytest.mark.parametrize(
    ("text", "surprise"),
    [
        ("cat README.md", f"read {ROOT}/README.md [by cat README.md]"),
        ("echo x > new", f"write {ROOT}/new [by bash --norc --noprofile -c echo x > new]"),
        ("rm f", f"delete {ROOT}/f [by rm f]"),
        ("mkdir a", f"mkdir {ROOT}/a [by mkdir a]"),
        ("ls src", f"list {ROOT}/src [by ls src]"),
        ("cat secrets-link", "read /home/dev/.ssh/id_rsa [by cat secrets-link]"),
        ("exec 3<>/dev/tcp/192.0.2.1/80",
        "connect 192.0.2.1 80 [by bash --norc --noprofile -c exec 3<>/dev/tcp/192.0.2.1/80]"),
    ],
)  # fmt: skip
def test_an_analysis_that_forgets_an_effect_is_found_out(judge: Judge, cage: Cage, text: str, surprise: str) -> None:
    cage.spoil()
    done = events(cage.run(text).trace, ROOT)
    cage.spoil()
    known = judge.predict(text, ROOT, done)
    assert compare(done, known).surprises == ()
    forgetful = {**known, "effects": [each for each in known["effects"] if each["kind"] in ("use", "exec")]}
    assert surprise in compare(done, forgetful).surprises


def test_a_command_cannot_leave_the_cage(cage: Cage, tmp_path: Path) -> None:
    os.chmod(tmp_path, 0o777)
    outside = tmp_path / "outside"
    outside.write_text("kept")
    os.chmod(outside, 0o666)
    cage.spoil()
    cage.run(f"echo gone > {outside}; rm -rf / {tmp_path}; echo x > /usr/new; echo x > /etc/new; kill -9 -1")
    cage.spoil()
    kept = (outside.read_text(), os.path.exists("/usr/new"), os.path.exists("/etc/new"))
    assert kept == ("kept", False, False)
    outside.write_text("gone")  # nothing but the cage was in the way
    assert outside.read_text() == "gone"


def test_a_command_is_no_root_and_has_no_network(cage: Cage) -> None:
    cage.spoil()
    trace = cage.run('test "$(id -u)" != 0 && echo > ordinary; grep -c . /proc/net/route > routes').trace
    world = Path(cage.folder, "world/home/project")
    assert "execve" in trace
    assert ((world / "ordinary").exists(), (world / "routes").read_text()) == (True, "1\n")
    cage.spoil()


def test_a_command_that_does_not_end_is_ended(cage: Cage) -> None:
    assert (cage.run("sleep 60", seconds=0.5).late, cage.run("true", seconds=5).late) == (True, False)


def test_every_command_finds_the_world_as_it_was_planted(judge: Judge) -> None:
    judge("rm -rf * .git; echo x > f")
    assert judge("git log --oneline; cat f").compared.surprises == ()


def test_described_programs_are_given_a_file_in_places_of_which_nothing_is_said() -> None:
    from oracle.described import NEW, THERE, described, installed

    programs = installed()
    some = {*share(programs, 8), "seq", "cat", "cp"}
    texts = described({name: each for name, each in programs.items() if name in some})
    assert len({each.id for each in texts}) == len(texts)
    assert (
        len({each.text for each in texts if each.text.split()[0] == "seq"} & {f"seq {THERE}", f"seq {THERE} {NEW}"})
        == 2
    )
    assert not any(each.text.startswith(("cat ", "cp ")) and each.text.count(" ") == 1 for each in texts)
