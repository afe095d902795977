"""`gateway new` and `gateway commands test` as people run them."""

from __future__ import annotations

import errno
import io
import json
import os
import shlex
from typing import TYPE_CHECKING

import pytest
from warmed import warm

from gateway.commands.examples import effects, failing
from gateway.core.errors import ConfigError
from gateway.frontends import new_rule, new_tool
from gateway.frontends.cli import new as cli_new
from gateway.frontends.main import run
from gateway.frontends.new_command import skeleton
from gateway.spec.commands import compile_description
from gateway.spec.helptext import HelpOptions, read_help
from gateway.spec.policy import parse_policy
from gateway.spec.tools import compile_tools

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
    warm(tmp_path / "cache" / "gateway")
    monkeypatch.chdir(found.project)
    return found


USER = ".config/gateway/commands/stamp.yaml"


def _written(path: Path) -> tuple[str, str]:
    """What the schema is of that the first line of a new file names, which is there, and all other lines."""
    first, _, rest = path.read_text(encoding="utf-8").partition("\n")
    mark, _, schema = first.partition("$schema=")
    if mark != "# yaml-language-server: ":
        return "", f"{first}\n{rest}"
    found = path.parent / schema
    assert json.loads(found.read_text(encoding="utf-8"))["$schema"].startswith("https://json-schema.org/")
    return found.stem, rest


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
    assert _written(path) == ("" if "--into" in words else "command", skeleton("stamp", None))
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


NAMES = [
    "7z", "[", "yes", "null", "1.5", "c++filt", "a:b", "é", "x#y", "'", '"', "{x}", "on", "a'b", "x;y", "$x", "*", "~",
    "#x", "!", "A=b", "if", "time", "{a,b}",
]  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("options", [None, HelpOptions(("-a",), (), ("--b|-c",), ("-d",)), HelpOptions((), (), (), ())])
def test_the_skeleton_holds_for_every_name(name: str, options: HelpOptions | None) -> None:
    description = compile_description(skeleton(name, options), "x.yaml", "project")
    assert description["names"] == [name]
    assert failing(description, {name: description}.get) == []


@pytest.mark.parametrize("name", ["a'b", "time", "A=b", "$x"])
def test_whatever_the_name_everything_is_still_decided_and_what_comes_next_can_be_pasted(
    place: Place, name: str
) -> None:
    _status, out, _err = place.run("new", "command", name)
    assert place.run("check", "Read(a)")[0] == 0
    lines = [shlex.split(line) for line in out.partition("next:\n")[2].splitlines()]
    path = place.home / ".config" / "gateway" / "commands" / f"{name}.yaml"
    assert lines == [["gateway", "explain", lines[0][2]], ["gateway", "commands", "test", str(path)]]
    assert shlex.split(lines[0][2]) == [name]
    assert place.run("commands", "test", str(path))[0] == 0


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
    assert (status, out, "x.yaml:2:1: description must have known keys only" in err) == (2, "", True)


def test_a_description_says_what_it_was_compared_with_or_that_it_was_not(place: Place) -> None:
    listed = json.loads(place.run("commands", "list", "--json")[1])
    never = place.run("commands", "list", "--unchecked")[1]
    assert [line.split()[0] for line in never.splitlines()] == [each["name"] for each in listed if not each["checked"]]
    assert place.run("commands", "show", "docker-compose")[1] != ""
    status, _, err = place.run("commands", "show", "tarr")
    assert (status, "did you mean `tar`" in err) == (2, True)


def test_a_program_is_shown_with_the_files_that_describe_it(place: Place) -> None:
    place.run("new", "command", "stamp")
    place.run("new", "command", "cat", "--layer", "project")
    files = [json.loads(place.run("commands", "show", name, "--json")[1])["files"] for name in ("stamp", "cat", "ls")]
    assert [[each.rpartition("/")[2] for each in those] for those in files] == [
        ["stamp.yaml"],
        ["cat.yaml", "shipped"],
        ["shipped"],
    ]
    assert place.run("commands", "show", "stamp")[1].splitlines()[-1].endswith("/commands/stamp.yaml")


def test_descriptions_are_formatted_in_place_or_named(place: Place) -> None:
    done, new = place.project / "done.yaml", place.project / "new.yaml"
    done.write_text("names: [x]\nflags: -a -b\n", encoding="utf-8")
    new.write_text("names: [z] # why\nflags: -b -a\n", encoding="utf-8")
    asked = ("commands", "format", "done.yaml", "new.yaml")
    assert place.run(*asked, "--check") == (1, f"unformatted {new}\n1 of 2 files to format\n", "")
    assert place.run(*asked) == (0, f"formatted {new}\n1 of 2 files changed\n", "")
    assert new.read_text("utf-8") == "names: [z]  # why\nflags: -a -b\n"
    assert place.run(*asked, "--check") == (0, "0 of 2 files to format\n", "")


def test_nothing_is_written_where_one_of_the_files_is_broken(place: Place) -> None:
    (place.project / "a.yaml").write_text("names:   [x]\n", encoding="utf-8")
    (place.project / "b.yaml").write_text("password: hunter2\n", encoding="utf-8")
    status, out, err = place.run("commands", "format", "a.yaml", "b.yaml")
    assert (status, out, "hunter2" in err) == (2, "", False)
    assert (place.project / "a.yaml").read_text("utf-8") == "names:   [x]\n"


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


@pytest.mark.parametrize(
    ("whole", "part", "states"),
    [
        ("names: [stamp]", "of: stamp\nsubcommands: {a: {}}\nexamples: {stamp a: []}", ["loaded", "loaded"]),
        ("names: [stamp]", "of: stamp\nflags: -a", ["broken", "loaded"]),
        ("flags: -a", "of: stamp\nsubcommands: {a: {}}", ["broken", "broken"]),
    ],
)
def test_a_layer_may_describe_a_program_in_several_files(
    place: Place, whole: str, part: str, states: list[str]
) -> None:
    path = place.home / USER
    path.parent.mkdir(parents=True)
    path.write_text(whole + "\n", encoding="utf-8")
    path.with_name("stamp.more.yaml").write_text(part + "\n", encoding="utf-8")
    data = json.loads(place.run("policy", "show", "--json")[1])
    assert [each["state"] for each in data["commands"]] == states
    holds = "broken" not in states
    assert place.run("check", "Bash(stamp a)")[0] == (0 if holds else 2)
    for named in ([], [str(path)], [str(path.with_name("stamp.more.yaml"))]):
        status, out, _err = place.run("commands", "test", *named)
        assert (status, out) == ((0, "1 passed, 0 failed; 2 files\n") if holds else (2, ""))


def test_policy_show_names_a_broken_description_and_shows_the_rest(place: Place) -> None:
    path = place.home / USER
    path.parent.mkdir(parents=True)
    path.write_text("names: [stamp]\nflag: x\n", encoding="utf-8")
    status, out, err = place.run("policy", "show")
    assert (status, "user       ~/.config/gateway/commands/stamp.yaml  broken" in out, f"{path}:2:1: " in err) == (
        2, True, True,
    )  # fmt: skip
    assert place.run("check", "Bash(ls)")[0] == 2


# ------------------------------------------------------------------------------------------------------------ tools

NEXT = "  gateway tools show Count\n  gateway check 'Count(notes.txt)'\n  gateway run 'Count(notes.txt)'\n"
TOOLS = ".config/gateway/tools.yaml"
FIRST = """\
version: 1
tools:
    Mine:   # kept as it is
        summary: Mine.
        description: Mine.
        input: {}
        handler: {command: [pwd]}
        aliases: [Ours]
        examples: [{call: {}, effects: [shell pwd]}]\
"""


@pytest.mark.parametrize(
    ("words", "expected", "first"),
    [
        ((), TOOLS, ""),
        (("--layer", "user"), TOOLS, ""),
        (("--layer", "project"), "project/.gateway/tools.yaml", "  gateway policy trust\n"),
        (("--into", "."), "project/tools.yaml", ""),
    ],
)
def test_a_tool_goes_where_it_was_asked_for(place: Place, words: tuple[str, ...], expected: str, first: str) -> None:
    path = place.home / expected
    assert place.run("new", "tool", "Count", *words) == (
        0,
        f"wrote {path}\nnext:\n{first}{NEXT}",
        "",
    )
    assert _written(path) == ("" if "--into" in words else "tools", new_tool.whole("Count"))


def test_a_new_tool_works_at_once(place: Place) -> None:
    (place.project / "notes.txt").write_text("a\nb\n", encoding="utf-8")
    place.run("new", "tool", "Count")
    assert place.run("tools", "show", "Count")[1].startswith("Count  Count the lines of a file.\n")
    status, out, _err = place.run("check", "--json", "--full", "Count(notes.txt)")
    assert (status, [each["kind"] for each in json.loads(out)["effects"]]) == (0, ["use", "exec", "read"])
    assert place.run("check", "Count(.env)")[0] == 4


def test_a_projects_new_tool_waits_until_the_project_is_trusted(place: Place) -> None:
    place.run("new", "tool", "Count", "--layer", "project")
    status, _out, err = place.run("check", "Count(notes.txt)")
    assert (status, "a person has to trust this project first: `gateway policy trust`" in err) == (2, True)


@pytest.mark.parametrize("ending", ["", "\n", "\n\n# the end\n"], ids=["no last line end", "one", "a comment"])
@pytest.mark.parametrize("line_end", ["\n", "\r\n"], ids=["LF", "CRLF"])
def test_tools_that_are_there_stay_byte_for_byte_and_what_is_added_is_shown_first(
    place: Place, ending: str, line_end: str
) -> None:
    path = place.home / TOOLS
    path.parent.mkdir(parents=True)
    before = (FIRST + ending).replace("\n", line_end).encode()
    path.write_bytes(before)
    path.chmod(0o640)
    status, out, err = place.run("new", "tool", "Count")
    after = path.read_bytes()
    assert (status, err, after.startswith(before), path.stat().st_mode & 0o777) == (0, "", True, 0o640)
    added = after[len(before) :].decode()
    assert out.startswith(f"adds to {path}:\n{added.replace(line_end, chr(10))}")
    assert line_end == "\r\n" or "\r" not in added
    assert added.strip().splitlines() == [line.rstrip() for line in new_tool.entry("Count", 4).strip().splitlines()]
    assert list(compile_tools(after, "x.yaml", "user")["tools"]) == ["Mine", "Count"]


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("Mine", "edit it in {path}:3"),
        ("Ours", "(got `Ours`, an alias of `Mine`)\n  help: edit it in {path}:3"),
        ("Read", "it is shipped with the gateway"),
        ("MultiEdit", "(got `MultiEdit`, an alias of `Edit`)"),
    ],
)
def test_a_name_that_a_tool_has_is_refused(place: Place, name: str, said: str) -> None:
    path = place.home / TOOLS
    path.parent.mkdir(parents=True)
    path.write_text(FIRST, encoding="utf-8")
    status, out, err = place.run("new", "tool", name, "--layer", "project")
    assert (status, out, said.format(path=path) in err) == (2, "", True)
    assert (path.read_text(encoding="utf-8"), (place.project / ".gateway").exists()) == (FIRST, False)


def test_a_name_that_stands_in_the_chosen_folder_is_refused_wherever_that_is(place: Place) -> None:
    (place.project / "tools.yaml").write_text(FIRST, encoding="utf-8")
    status, _out, err = place.run("new", "tool", "Ours", "--into", ".")
    assert (status, "NAME must be the name of no tool yet (got `Ours`)" in err) == (2, True)
    assert (place.project / "tools.yaml").read_text(encoding="utf-8") == FIRST


@pytest.mark.parametrize(
    "content",
    [
        "version: 1\ntools: {}\n",
        FIRST.removeprefix("version: 1\n") + "\nversion: 1\n",
        "{version: 1, tools: {}}\n",
        "version: 1\ntools: {}\n...\n",
    ],
    ids=["an empty mapping", "the tools are not last", "in braces", "a document that has ended"],
)
def test_a_file_that_cannot_be_added_to_stays_and_says_so(place: Place, content: str) -> None:
    path = place.home / TOOLS
    path.parent.mkdir(parents=True)
    path.write_text(content, encoding="utf-8")
    status, out, err = place.run("new", "tool", "Count")
    assert (status, out, path.read_text(encoding="utf-8")) == (2, "", content)
    assert err.startswith(f"gateway: {path}: must end with the tools, one below the other\n  help: put it in by hand")


def test_a_broken_file_of_tools_is_told_with_its_place(place: Place) -> None:
    path = place.home / TOOLS
    path.parent.mkdir(parents=True)
    path.write_text("version: 1\ntolls: {}\n", encoding="utf-8")
    status, _out, err = place.run("new", "tool", "Count")
    assert (status, f"{path}:2:1: " in err, path.read_text(encoding="utf-8")) == (2, True, "version: 1\ntolls: {}\n")


def test_in_a_checkout_of_gateway_a_tool_goes_to_the_shipped_ones(place: Place) -> None:
    commands = place.project / "gateway" / "commands"
    commands.mkdir(parents=True)
    (commands / "analyse.py").write_text("", encoding="utf-8")
    (place.project / "tools.yaml").write_text(FIRST, encoding="utf-8")
    assert place.run("new", "tool", "Count")[0] == 0
    assert (place.project / "tools.yaml").read_text(encoding="utf-8").startswith(FIRST)
    assert not (place.home / TOOLS).exists()


@pytest.mark.parametrize("name", ["", "-x", "a/b", "a b", "a\nb", "9x", "x" * 65, "mcp__a__b", "x\n"])
def test_what_is_no_name_of_a_tool_is_refused(place: Place, name: str) -> None:
    status, out, err = place.run("new", "tool", "--into", ".", "--", name)
    assert (status, out, "NAME must start with a letter" in err) == (2, "", True)
    assert os.listdir(place.project) == [".git"]


@pytest.mark.parametrize("name", ["yes", "Null", "true", "on", "A-b_9", "x" * 64])
def test_a_new_tool_holds_for_every_name(name: str) -> None:
    assert list(compile_tools(new_tool.whole(name), "tools.yaml", "project")["tools"]) == [name]
    added = new_tool.behind(name, FIRST.encode(), "tools.yaml", "user")
    assert list(compile_tools(FIRST.encode() + added, "tools.yaml", "user")["tools"]) == ["Mine", name]


def test_the_examples_of_a_new_tool_are_tried_when_it_is_loaded() -> None:
    with pytest.raises(ConfigError, match="example"):
        compile_tools(new_tool.whole("Count").replace("[wc, -l,", "[wc, -c,"), "tools.yaml", "user")


# ------------------------------------------------------------------------------------------------------------ rules


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ((), ".config/gateway/policy.d/mine.yaml"),
        (("--layer", "project"), "project/.gateway/policy.d/mine.yaml"),
        (("--into", "."), "project/mine.yaml"),
    ],
)
def test_a_rule_goes_where_it_was_asked_for_and_its_examples_hold(
    place: Place, words: tuple[str, ...], expected: str
) -> None:
    (place.home / ".config" / "gateway").mkdir(parents=True)
    (place.home / ".config" / "gateway" / "policy.yaml").write_text("version: 1\nrules: []\n", encoding="utf-8")
    path = place.home / expected
    assert place.run("new", "rule", "mine", *words) == (
        0, f"wrote {path}\nnext:\n  gateway policy test {path}\n  gateway policy lint {path}\n", "",
    )  # fmt: skip
    assert _written(path) == ("" if "--into" in words else "policy", new_rule.skeleton("mine", with_daily=False))
    assert place.run("policy", "test", str(path)) == (0, "4 passed, 0 failed; 1 rule, 100 % exercised\n", "")
    assert place.run("policy", "lint", str(path)) == (0, "nothing to say\n", "")


def test_a_new_rule_changes_nothing_but_what_it_says(place: Place) -> None:
    calls = ("Bash(npm test)", "Bash(rm -rf /)", "Bash(touch x)", "Read(a)")
    before = [place.run("check", call)[0] for call in calls]
    assert "note: it is your first policy file, so it extends `daily`" in place.run("new", "rule", "mine")[1]
    assert [place.run("check", call)[0] for call in calls] == before
    status, out, _err = place.run("check", "--json", "Bash(some-program some-subcommand)")
    assert (status, json.loads(out)["rule"]["id"]) == (3, "mine")
    assert "note" not in place.run("new", "rule", "another")[1]


@pytest.mark.parametrize("into", ["policy.d", ".", "link"])
def test_what_holds_without_a_policy_stays_wherever_the_first_one_is_said_to_go(place: Place, into: str) -> None:
    own = place.home / ".config" / "gateway"
    (own / "policy.d").mkdir(parents=True)
    (own / "link").symlink_to("policy.d")
    name = "policy" if into == "." else "mine"
    call = ("check", "--unconfined", "Bash(rm -rf /srv/data)")
    assert place.run(*call)[0] == 4
    assert "note: it is your first policy file" in place.run("new", "rule", name, "--into", str(own / into))[1]
    assert place.run(*call)[0] == 4
    file = "policy.yaml" if into == "." else "policy.d/mine.yaml"
    assert f"rules  user  ~/.config/gateway/{file}\n" in place.run("policy", "show")[1]  # it holds


def test_without_its_line_for_daily_a_first_rule_would_take_daily_away(place: Place) -> None:
    assert place.run("check", "--unconfined", "Bash(rm -rf /srv/data)")[0] == 4
    path = place.home / ".config" / "gateway" / "policy.d" / "mine.yaml"
    path.parent.mkdir(parents=True)
    path.write_text(new_rule.skeleton("mine", with_daily=False), encoding="utf-8")
    assert place.run("check", "--unconfined", "Bash(rm -rf /srv/data)")[0] == 3


def test_an_id_that_a_rule_has_is_refused_in_every_layer(place: Place) -> None:
    place.run("new", "rule", "mine", "--layer", "project")
    path = place.project / ".gateway" / "policy.d" / "mine.yaml"
    assert place.run("new", "rule", "mine") == (
        2, "",
        ("gateway: ID must be the id of no rule yet (got `mine`, of the project layer)\n"
         f"  help: give it another id; this one stands at {path}:7\n"),
    )  # fmt: skip
    status, _out, err = place.run("new", "rule", "secret-files")
    assert (status, "of the builtin layer" in err, (place.home / ".config").exists()) == (2, True, False)


def test_a_rules_file_that_is_there_is_not_overwritten(place: Place) -> None:
    (place.project / "mine.yaml").write_text("version: 1\n", encoding="utf-8")
    path = place.project / "mine.yaml"
    assert place.run("new", "rule", "mine", "--into", ".") == (
        2, "", f"gateway: {path}: the file must not be there yet\n  help: edit it\n",
    )  # fmt: skip
    assert path.read_text(encoding="utf-8") == "version: 1\n"


@pytest.mark.parametrize(
    ("name", "remedy"),
    [("", ""), ("My Rule", "my-rule"), ("-x", "x"), ("a/b", "a-b"), ("x\n", "x"), ("x" * 101, "x" * 100)],
)
def test_what_is_no_id_is_refused(place: Place, name: str, remedy: str) -> None:
    status, out, err = place.run("new", "rule", "--into", ".", "--", name)
    assert (status, out, "ID must be lower-case letters" in err, f"help: write `{remedy}`" in err) == (
        2, "", True, bool(remedy),
    )  # fmt: skip
    assert os.listdir(place.project) == [".git"]


@pytest.mark.parametrize("name", ["null", "on", "7", "1e3", "0x1", "a-b", "x" * 100])
@pytest.mark.parametrize("with_daily", [True, False])
def test_a_new_rule_holds_for_every_id(name: str, with_daily: bool) -> None:
    found = parse_policy(
        new_rule.skeleton(name, with_daily=with_daily), "x.yaml", {"Bash": ("Bash", "shell", "command")}
    )
    assert ([rule["id"] for rule in found["rules"]], bool(found["extends"])) == ([name], with_daily)


@pytest.mark.parametrize("what", ["tool", "rule"])
def test_a_folder_that_cannot_be_written_is_one_error(place: Place, what: str) -> None:
    (place.home / ".config").write_text("", encoding="utf-8")  # holds for root, too, who may write where nobody may
    status, out, err = place.run("new", what, "mine")
    assert (status, out, err.count("gateway: "), "cannot be written: Not a directory" in err) == (2, "", 1, True)


@pytest.mark.parametrize("what", ["command", "tool", "rule"])
def test_where_the_disk_is_full_no_half_of_a_file_stays(
    place: Place, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Full(io.FileIO):
        def write(self, data: object) -> int:
            if self.tell():
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            return super().write(bytes(data)[:20])  # type: ignore[call-overload]

    def opened(path: str, mode: str, **_how: object) -> io.FileIO:
        return Full(path, mode.replace("b", ""))

    monkeypatch.setattr(cli_new, "open", opened, raising=False)
    status, out, err = place.run("new", what, "mine", "--into", ".")
    assert (status, out, "cannot be written: No space left on device" in err) == (2, "", True)
    assert os.listdir(place.project) == [".git"]


def test_a_file_that_changes_meanwhile_is_not_added_to(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    path = place.home / TOOLS
    path.parent.mkdir(parents=True)
    path.write_text(FIRST, encoding="utf-8")
    behind = new_tool.behind

    def slowly(*given: str) -> bytes:
        path.write_text(FIRST + "\n# somebody else", encoding="utf-8")
        return behind(*given)

    monkeypatch.setattr(new_tool, "behind", slowly)
    status, _out, err = place.run("new", "tool", "Count")
    assert (status, err) == (2, f"gateway: {path}: was changed meanwhile\n  help: try again\n")
    assert path.read_text(encoding="utf-8") == FIRST + "\n# somebody else"
