"""What `scripts/checked` compares descriptions with: what is installed, or packages that are only unpacked."""

from __future__ import annotations

from typing import TYPE_CHECKING

import checkedhelp
import pytest
from checkedhelp import Packages, Place, compare, main, plain, said, synopsis

from gateway.spec.commandparts import Source

if TYPE_CHECKING:
    from pathlib import Path

STAMP = """\
#!/bin/sh
[ "$1" = --help ] && cat <<END
Usage: stamp [options] FILE...
  -q, --quiet           say less
  -f, --format FORMAT   text or json
  -o, --output FILE     write here
END
"""
DESCRIBED = b"""\
names: [stamp]
flags: -q|--quiet -f|--format
options: {-o|--output: {value: path, does: write}, --publish: {does: "connect ? send"}}
operands: [{kind: path, does: read, rest: true}]
"""


@pytest.fixture
def below(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with one package, in which is one program."""
    monkeypatch.setattr(checkedhelp, "as_nobody", dict)  # who may not enter folders of tests
    program = tmp_path / "below" / "stamps_2%3a1.4+dfsg-3_amd64" / "usr/bin/stamp"
    program.parent.mkdir(parents=True)
    program.write_text(STAMP, "utf-8")
    program.chmod(0o755)
    (tmp_path / "below" / "notes").mkdir()
    return tmp_path / "below"


def test_a_description_is_compared_with_a_package_that_is_only_unpacked(below: Path, tmp_path: Path) -> None:
    source = Source("stamp.yaml", DESCRIBED)
    assert compare(source, Place(str(tmp_path), Packages(below))) == (
        [
            "stamp.yaml: stamp: stamps stamp 1.4",
            "  stamp: form: -f is value, described as none, --format is value, described as none",
            "  stamp: unheard: --publish",
        ],
        ["stamps stamp 1.4"],
        False,
    )


def test_one_dash_or_two_are_the_same_where_a_program_takes_both(below: Path, tmp_path: Path) -> None:
    source = Source("stamp.yaml", b"names: [stamp]\ndialect: dash\nflags: -quiet -f|-format\nvalues: --output\n")
    assert compare(source, Place(str(tmp_path), Packages(below)))[0][1:] == [
        "  stamp: form: -f is value, described as none, -format is value, described as none",
        "  stamp: unknown: -q, -o",
    ]


def test_programs_that_are_used_alike_are_each_compared(below: Path, tmp_path: Path) -> None:
    folder = below / "stamps_2%3a1.4+dfsg-3_amd64" / "usr/bin"
    (folder / "seal").write_text(STAMP.replace("-q, --quiet      ", "-q, --quiet LEVEL"), "utf-8")
    (folder / "seal").chmod(0o755)
    source = Source(
        "stamp.yaml", b"programs: [stamp, seal, sign]\nflags: -q|--quiet\nvalues: -f|--format -o|--output\n"
    )
    assert compare(source, Place(str(tmp_path), Packages(below))) == (
        [
            "stamp.yaml: stamp: stamps stamp 1.4",
            "stamp.yaml: seal: stamps seal 1.4",
            "  seal: form: -q is value, described as none, --quiet is value, described as none",
        ],
        ["stamps 1.4"],
        False,
    )


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            "usage: x [-lq] [-o FILE] [--all]\n\n[-z] is old",
            {"-l": "none", "-q": "none", "-o": "value", "--all": "none"},
        ),
        (
            "x: no such\nUsage: x [-e | --every=<n>]\n   [ -n NUM ] [-d<dir>]",
            {"-e": "none", "-n": "value", "-d": "value"},
        ),
        ("SYNOPSIS\n   x [-m] [-m MODE]\n", {"-m": "?"}),
        ("SYNOPSIS\n   x [-m]\n\n   [-n NUM]\n\nOPTIONS\n   [-o]\n", {"-m": "none", "-n": "value"}),
        ("see [-x] and [-y FILE]", {}),
    ],
)
def test_a_synopsis_tells_the_form_of_options(text: str, told: dict[str, str]) -> None:
    assert synopsis(text) == told


def test_letters_behind_one_dash_are_one_option_where_the_program_reads_them_so() -> None:
    assert synopsis("usage: x [-all] [-of=N]", "dash") == {"-all": "none", "-of": "value"}


@pytest.mark.parametrize(
    ("page", "told"),
    [
        ("  -\x08-p\x08pl\x08la\x08ai\x08in\x08n If one\n", "  -plain  If one\n"),
        ("  -\x08-m\x08m _\x08f_\x08i the\n", "  -m FI the\n"),
    ],
)
def test_a_sentence_in_the_place_of_a_value_is_none(page: str, told: str) -> None:
    assert plain(page) == told


def test_what_a_package_says_of_all_its_programs_counts_for_each(tmp_path: Path) -> None:
    for package in ("netpbm_11.01.00-2_amd64", "rcs_5.10.1-1_amd64"):
        (tmp_path / package / "bin").mkdir(parents=True)
    (tmp_path / "netpbm_11.01.00-2_amd64" / "bin/pamcut").touch()
    (tmp_path / "rcs_5.10.1-1_amd64" / "bin/ci").touch()
    place = Place("", Packages(tmp_path))
    assert [place.pages(program) for program in ("pamcut", "ci")] == [["pamcut", "netpbm"], ["ci"]]


def test_a_synopsis_counts_only_for_what_stands_nowhere_else() -> None:
    assert said("usage: x [-lo] [-v LEVEL]\n\n  -o FILE  write here\n  -v LEVEL  tell more\n").forms == {
        "-l": "none", "-o": "value", "-v": "value", "-lo": "?",
    }  # fmt: skip


def test_what_a_page_underlines_is_a_value_unless_it_begins_with_a_dash() -> None:
    def underlined(text: str) -> str:
        return "".join(f"_\b{each}" for each in text)

    page = f"  {underlined('-a')} {underlined('--spoof')} {underlined('host')}\n  {underlined('-q')}\n"
    assert plain(page) == "  -a --spoof HOST\n  -q\n"
    assert said(page).forms == {"-a": "value", "--spoof": "value", "-q": "none"}


def test_a_type_behind_the_text_on_an_option_tells_that_it_takes_a_value() -> None:
    assert said(
        "  -m, --model   the model  [string] [default: x]\n  -d, --debug   tell more  [boolean]\n  -q   see [here]\n"
    ).forms == {"-m": "value", "--model": "value", "-d": "none", "--debug": "none", "-q": "none"}


def test_spellings_may_stand_in_columns() -> None:
    assert said("  -o FILE,  --output=FILE   write here\n  -q  --quiet  say less\n").forms == {
        "-o": "value", "--output": "value", "-q": "none", "--quiet": "none",
    }  # fmt: skip


def test_spellings_may_be_joined_by_or() -> None:
    assert said("  -o FILE or --output FILE\n  -q or --quiet   or not\n").forms == {
        "-o": "value", "--output": "value", "-q": "none", "--quiet": "none",
    }  # fmt: skip


def test_what_is_installed_does_not_stand_for_what_no_package_has(below: Path, tmp_path: Path) -> None:
    source = Source("cat.yaml", b"names: [cat]\n")
    assert compare(source, Place(str(tmp_path), Packages(below))) == ([], [], True)
    assert compare(source, Place(str(tmp_path)))[0] != []


@pytest.mark.parametrize(
    ("package", "told"),
    [
        ("sd_0.80.really.0.7.6-1+deb12u1_amd64", "sd 0.7.6"),
        ("shed_1%3a2.0~git20230118.446d7bf-1_all", "shed sd 2.0~git20230118.446d7bf"),
        ("shed_7.15+repack-1_amd64", "shed sd 7.15"),
        ("sd_3.6.2_npm", "sd 3.6.2"),
    ],
)
def test_the_version_is_that_of_what_was_packaged(package: str, told: str, tmp_path: Path) -> None:
    (tmp_path / package / "bin").mkdir(parents=True)
    (tmp_path / package / "bin/sd").touch()
    assert Packages(tmp_path).version_of("sd") == told


def test_a_folder_without_packages_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match=r"no packages below .*: unpack each into a folder named as sed_4.9-1_amd64"):
        main(["--below", str(tmp_path), "cat"])


def test_what_bash_has_built_in_is_compared_with_its_help(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkedhelp, "as_nobody", dict)
    lines, versions, right = compare(
        Source("umask.yaml", b"names: [umask]\nbuiltin: true\nflags: -S\nvalues: -p\n"), Place(str(tmp_path))
    )
    assert (lines[1:], right) == (["  umask: form: -p is none, described as value"], False)
    assert versions[0].startswith("bash umask 5.")
