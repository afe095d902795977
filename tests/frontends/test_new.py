"""`gateway new command` and `gateway commands test` as people run them."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

import pytest

from gateway.commands.examples import effects, failing
from gateway.frontends.main import run
from gateway.frontends.new_command import skeleton
from gateway.spec.commands import compile_description
from gateway.spec.helptext import HelpOptions, read_help

if TYPE_CHECKING:
    from pathlib import Path

HELP = """\
Usage: stamp [options] FILE...
  -q, --quiet           say less
  -f, --format FORMAT   text or json
      --color[=WHEN]    never or always
      --weird  x  y
  -v some words that begin a sentence
"""


class Place:
    """A HOME with a project, and the command line run in it."""

    def __init__(self, base: Path, capture: pytest.CaptureFixture[str]) -> None:
        self.home = base / "home"
        self.project = self.home / "project"
        self.capture = capture
        (self.project / ".git").mkdir(parents=True)

    def run(self, *words: str) -> tuple[int, str, str]:
        self.capture.readouterr()
        status = run(list(words))
        out, err = self.capture.readouterr()
        return status, out, err


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Place:
    found = Place(tmp_path, capsys)
    for name in os.environ:
        if name.startswith(("XDG_", "GATEWAY_")) or name.endswith("_PROJECT_DIR"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(found.home))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.chdir(found.project)
    return found


USER = ".config/gateway/commands/stamp.yaml"


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ((), USER),
        (("--layer", "user"), USER),
        (("--layer", "project"), "project/.gateway/commands/stamp.yaml"),
        (("--into", "."), "project/stamp.yaml"),
    ],
)
def test_the_skeleton_goes_where_it_was_asked_for_and_what_comes_next_is_said(
    place: Place, words: tuple[str, ...], expected: str
) -> None:
    path = place.home / expected
    status, out, err = place.run("new", "command", "stamp", *words)
    assert (status, err, out) == (
        0,
        "",
        f"wrote {path}\nnext:\n  gateway explain 'stamp'\n  gateway commands test {path}\n",
    )
    assert path.read_text(encoding="utf-8") == skeleton("stamp", None)
    assert place.run("commands", "test", str(path)) == (0, "2 passed, 0 failed; 1 file\n", "")


def test_in_a_checkout_of_gateway_it_goes_to_the_shipped_ones_which_describe_a_program_once(place: Place) -> None:
    commands = place.project / "gateway" / "commands"
    commands.mkdir(parents=True)
    for path in (commands / "analyse.py", place.project / "tools.yaml"):
        path.write_text("", encoding="utf-8")
    assert (place.run("new", "command", "stamp")[0], (commands / "stamp.yaml").exists()) == (0, True)
    (commands / "others.yaml").write_text("names: [frob, frobnicate]\n", encoding="utf-8")
    for name, said in (("frobnicate", "others.yaml already"), ("git", "must be described once")):
        status, out, err = place.run("new", "command", name)
        assert (status, out, said in err) == (2, "", True)


def test_with_the_skeleton_alone_the_program_stays_code(place: Place) -> None:
    before = place.run("check", "stamp a")[0], place.run("check", "Bash(stamp a)")[0]
    assert place.run("new", "command", "stamp")[0] == 0
    assert (place.run("check", "Bash(stamp a)")[0], before[1]) == (3, 3)
    status, out, _err = place.run("explain", "--json", "stamp --version")
    assert (status, [effect["kind"] for effect in json.loads(out)["commands"][0]["effects"]]) == (0, ["code"])


def test_nothing_is_overwritten(place: Place) -> None:
    path = place.home / USER
    path.parent.mkdir(parents=True)
    path.write_text("names: [stamp]\n", encoding="utf-8")
    status, out, err = place.run("new", "command", "stamp")
    assert (status, out, err) == (2, "", f"gateway: {path}: the file must not be there yet\n  help: edit it\n")
    assert path.read_text(encoding="utf-8") == "names: [stamp]\n"


def test_that_a_program_is_described_already_is_said(place: Place) -> None:
    _status, out, _err = place.run("new", "command", "cat")
    assert "note: cat is described already; this can only add to it\n" in out


@pytest.mark.parametrize("name", ["", "-x", ".x", "a/b", "a b", "a\nb", "x" * 101])
def test_what_is_no_name_of_a_program_is_refused(place: Place, name: str) -> None:
    status, out, err = place.run("new", "command", "--into", ".", "--", name)
    assert (status, out, "NAME must be the name of a program" in err) == (2, "", True)
    assert os.listdir(place.project) == [".git"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--layer", "local"), "--layer must be one of user, project, enterprise (got `local`)"),
        (("--layer", "user", "--into", "."), "either --layer or --into must be given, not both"),
        (("--into", "nowhere"), "--into must be a folder that exists (got `nowhere`)"),
        (("--from-help", "nowhere"), "nowhere: cannot be read"),
    ],
)
def test_wrong_usage_writes_nothing(place: Place, words: tuple[str, ...], said: str) -> None:
    status, out, err = place.run("new", "command", "stamp", *words)
    assert (status, out, said in err, (place.home / ".config").exists()) == (2, "", True, False)


def test_the_options_of_a_help_text_stand_in_the_file_as_comments(place: Place) -> None:
    (place.project / "help.txt").write_text(HELP, encoding="utf-8")
    place.run("new", "command", "stamp", "--from-help", "help.txt", "--into", ".")
    text = (place.project / "stamp.yaml").read_text(encoding="utf-8")
    assert text == skeleton("stamp", read_help(HELP))
    assert (
        "#   without a value:\n#     -q|--quiet --weird\n#   with a value:\n#     -f|--format\n"
        "#   with a value only if it is glued:\n#     --color\n" in text
    )
    description = compile_description(text, "stamp.yaml", "project")
    lookup = {"stamp": description}.get
    assert (failing(description, lookup), effects("stamp -q", lookup), description["table"]) == ([], ["code"], [])


@pytest.mark.parametrize("name", ["7z", "[", "yes", "null", "1.5", "c++filt", "a:b", "é", "x#y", "'", '"', "{x}", "on"])
@pytest.mark.parametrize("options", [None, HelpOptions(("-a",), (), ("--b|-c",), ("-d",)), HelpOptions((), (), (), ())])
def test_the_skeleton_holds_for_every_name(name: str, options: HelpOptions | None) -> None:
    description = compile_description(skeleton(name, options), "x.yaml", "project")
    assert description["names"] == [name]
    if name.isalnum() or name == "c++filt":
        assert failing(description, {name: description}.get) == []


ONE_LINE = {
    "  -q, --quiet           say less": ("flags", "-q|--quiet"),
    "  -o, --output FILE     write": ("values", "-o|--output"),
    "  -o FILE, --output=FILE  write": ("values", "-o|--output"),
    "      --color[=WHEN]    when": ("optionals", "--color"),
    "  --[no-]progress   show it": ("flags", "--[no-]progress"),
    "  -n, --namespace string   scope": ("values", "-n|--namespace"),
    "  -v, --verbose": ("flags", "-v|--verbose"),
    "  -format string": ("values", "-format"),
    "\t-json\tprint JSON": ("flags", "-json"),
    "  --tb {auto,long}  style": ("values", "--tb"),
    "  --log <level>   how much": ("values", "--log"),
    "  -x | --extract     take out": ("flags", "-x|--extract"),
    "  --arch=x64|arm64": ("values", "--arch"),
    "  -f force it": ("unclear", "-f"),
    "  --mode a or b": ("unclear", "--mode"),
}


@pytest.mark.parametrize("line", ONE_LINE)
def test_an_option_is_read_out_of_a_line_of_help(line: str) -> None:
    group, spelling = ONE_LINE[line]
    nothing = HelpOptions((), (), (), ())
    assert read_help(f"Usage: x -a\n{line}\n{line}\ntext - and more\n") == nothing.replace(**{group: (spelling,)})


def test_a_help_text_of_any_size_and_bytes_is_read_in_no_time() -> None:
    found = read_help(
        "  -" + "a" * 200_000 + "\n" + "  --o" + " [=" * 50_000 + "\n" + "-\0\x1b[31m\n" + "  -x  y\n" * 50_000
    )
    assert "-x" in found.flags


def test_examples_that_do_not_hold_are_named_with_their_place(place: Place) -> None:
    path = place.project / "x.yaml"
    path.write_text("names: [x]\noperands: []\nexamples:\n  x: []\n  x a: [read a]\n", encoding="utf-8")
    status, out, err = place.run("commands", "test", "x.yaml")
    problem = "example must do what it says (`x a` says [read a], does [code])"
    assert (status, out, err) == (1, f"FAIL {path}:5:3: {problem}\n1 passed, 1 failed; 1 file\n", "")
    assert json.loads(place.run("commands", "test", "x.yaml", "--json")[1]) == {
        "files": 1, "passed": 1, "failed": 1,
        "failures": [{"file": str(path), "line": 5, "column": 3, "message": problem}],
    }  # fmt: skip


def test_without_a_file_the_descriptions_of_the_layers_are_tested(place: Place) -> None:
    assert place.run("commands", "test") == (0, "0 passed, 0 failed; 0 files\n", "")
    place.run("new", "command", "stamp")
    place.run("new", "command", "other", "--layer", "project")
    assert place.run("commands", "test") == (0, "4 passed, 0 failed; 2 files\n", "")


def test_a_broken_description_is_an_error_with_its_place(place: Place) -> None:
    (place.project / "x.yaml").write_text("names: [x]\nflag: -a\n", encoding="utf-8")
    status, out, err = place.run("commands", "test", "x.yaml")
    assert (status, out, "x.yaml:2:1: description must have known keys only (got `flag`)" in err) == (2, "", True)


def test_policy_show_and_trust_tell_what_is_described(place: Place) -> None:
    place.run("new", "command", "cat")
    place.run("new", "command", "stamp", "--layer", "project")
    _status, out, _err = place.run("policy", "show", "--sources")
    assert (
        "programs\n  user       ~/.config/gateway/commands/cat.yaml  adds to cat\n"
        "  project    .gateway/commands/stamp.yaml         adds to stamp; describes them once the project is trusted\n"
    ) in out
    data = json.loads(place.run("policy", "show", "--json")[1])
    assert [(each["layer"], each["describes"], each["adds"], each["waits"]) for each in data["commands"]] == [
        ("user", [], ["cat"], False), ("project", [], ["stamp"], True),
    ]  # fmt: skip
    digest = data["project"]["digest"]
    assert place.run("policy", "trust", "--yes", digest)[0] == 0
    _status, out, _err = place.run("policy", "show", "--sources")
    assert "  project    .gateway/commands/stamp.yaml         describes stamp\n" in out


def test_policy_show_names_a_broken_description_and_shows_the_rest(place: Place) -> None:
    path = place.home / USER
    path.parent.mkdir(parents=True)
    path.write_text("names: [stamp]\nflag: x\n", encoding="utf-8")
    status, out, err = place.run("policy", "show")
    assert (status, "user       ~/.config/gateway/commands/stamp.yaml  broken" in out, f"{path}:2:1: " in err) == (
        2, True, True,
    )  # fmt: skip
    assert place.run("check", "Bash(ls)")[0] == 2
