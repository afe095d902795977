"""awk's programs tell which files they touch and what they run."""

from __future__ import annotations

import pytest

from gateway.commands.special.awk import AwkError, scan, tokens


@pytest.mark.parametrize(
    "program",
    [
        "{print $1}", "$3 > 5", "$3 > 5 {print $1, $2}", "/a|b/", "BEGIN {FS=\":\"} {print $1 \"|\" $2}",
        "{n += $1 / 2} END {print n / NR}", "{print ($1 > $2)}", "$1 ~ /x>y/ || $2 != 3", "{print \"system(1)\"}",
        "# system(\"x\")\n{print}", "{gsub(/\\//, \"-\"); print}", "{ if (a > b) print c; else d = 1 }",
    ],
)  # fmt: skip
def test_a_program_that_only_prints_does_nothing_else(program: str) -> None:
    assert scan(program) == []


def test_a_program_is_taken_apart_without_its_expressions_and_remarks() -> None:
    program = '/a"/ && x1 /2.5 { print "b c" >> "d" } # e\n/f\\// {}'
    assert tokens(program) == [
        *("/re/", "&&", "x1", "/", "0", "{", "print", '"b c', ">>", '"d', "}", "\n", "/re/", "{", "}"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("program", "found"),
    [
        ('{print > "out"}', [("write", "out")]),
        ('{print $1 >> "out"; x = 1}', [("write", "out")]),
        ("{print > $1}", [("write", None)]),
        ('{print > "a" $1}', [("write", None)]),
        ('{printf "%s", $1 > "/tmp/x"}', [("write", "/tmp/x")]),
        ('{print | "sort"}', [("run", "sort")]),
        ('{print | "sh " $1}', [("run", None)]),
        ('BEGIN {system("rm x")}', [("run", "rm x")]),
        ('BEGIN {system ("rm " x)}', [("run", None)]),
        ('BEGIN {"date" | getline d}', [("run", "date")]),
        ("{$1 | getline d}", [("run", None)]),
        ('BEGIN {while ((getline line < "f") > 0) n++}', [("read", "f")]),
        ('BEGIN {print ENVIRON["X"]}', [("environment", "X")]),
        ("BEGIN {for (k in ENVIRON) print k}", [("environment", None)]),
        ('{print $1,\n$2 > "out"}', [("write", "out")]),
        ('{print $1 &&\n$2 > "out"}', [("write", "out")]),
        ('{print $1 \\\n> "out"}', [("write", "out")]),
        ('BEGIN {x = 1}\n/"/ {print > "out"}', [("write", "out")]),
        ('BEGIN {x = 1./system("rm x")/1}', [("run", "rm x")]),
        ('BEGIN {x = .5/system("rm x")/1}', [("run", "rm x")]),
        ('BEGIN {print "x" |& "/inet/tcp/0/h/80"}', [("connect", "/inet/tcp/0/h/80")]),
        ("BEGIN {print FUNCTAB[1]}", [("load", None)]),
        ('{print |& "x"}', [("run", None)]),
        ('@load "x"', [("load", None)]),
    ],
)
def test_a_program_that_does_more_says_so(program: str, found: list[tuple[str, str | None]]) -> None:
    assert scan(program) == found


@pytest.mark.parametrize("program", ['{print "x', "/a", "/[/]/", "{print \x01}"])
def test_a_program_that_is_not_understood_is_refused(program: str) -> None:
    with pytest.raises(AwkError):
        scan(program)
