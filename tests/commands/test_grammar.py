"""Words are read as getopt and its kin read them."""

from __future__ import annotations

import pytest

from gateway.commands.grammar import read
from gateway.commands.invocation import Invocation
from gateway.model.command import Names, Word
from gateway.model.effect import HOLE
from gateway.spec.commands import compile_description

GNU = """
names: [prog]
numeric: true
inert: -P|--plain
flags: -a|--all -b|--both --[no-]color --allow
values: -n|--number
optionals: --when -W|--wide
options:
  -o|--output: {value: path, does: write}
  -X: {value: text, harmless: [GET], sets: send}
  -f: {value: path, does: read}
  -T|--two: {value: [text, path], does: read}
operands: [{kind: path, does: read, rest: true}]
"""


def run(text: str, *words: str | Word) -> Invocation:
    description = compile_description(text, "prog.yaml")
    found = [Word(word, 0, 0) if isinstance(word, str) else word for word in ("prog", *words)]
    invocation = Invocation("prog", tuple(found), ("/w",), (), "", "", description)
    read(invocation)
    return invocation


def shape(invocation: Invocation) -> tuple[set[str], list[str], list[str], list[str]]:
    values = [f"{option['names'][0]}={words[0].text}" for option, words in invocation.values if words]
    return invocation.options, values, [word.text for word in invocation.operands], invocation.doubts


@pytest.mark.parametrize(
    ("words", "options", "values", "operands"),
    [
        (["x", "-a", "y"], {"-a", "--all"}, [], ["x", "y"]),
        (["-ab"], {"-a", "--all", "-b", "--both"}, [], []),
        (["-aoF"], {"-a", "--all", "-o", "--output"}, ["-o=F"], []),
        (["-ao", "F"], {"-a", "--all", "-o", "--output"}, ["-o=F"], []),
        (["--output=F", "x"], {"-o", "--output"}, ["-o=F"], ["x"]),
        (["--output", "F", "x"], {"-o", "--output"}, ["-o=F"], ["x"]),
        (["--", "-a"], set(), [], ["-a"]),
        (["-", "x"], set(), [], ["-", "x"]),
        (["-n5", "x"], {"-n", "--number"}, [], ["x"]),
        (["-20", "x"], {"-NUM"}, [], ["x"]),
        (["--when", "x"], {"--when"}, [], ["x"]),
        (["--when=now", "x"], {"--when"}, [], ["x"]),
        (["-T", "a", "b", "x"], {"-T", "--two"}, ["-T=a"], ["x"]),
        (["-Ta", "b", "x"], {"-T", "--two"}, ["-T=a"], ["x"]),
        (["--two=a", "b", "x"], {"-T", "--two"}, ["-T=a"], ["x"]),
        (["-Wx", "-W", "y"], {"-W", "--wide"}, [], ["y"]),
        (["--color"], {"--color"}, [], []),
        (["--no-color"], {"--no-color"}, [], []),
    ],
)
def test_options_and_operands_are_told_apart(
    words: list[str], options: set[str], values: list[str], operands: list[str]
) -> None:
    assert shape(run(GNU, *words)) == (options, values, operands, [])


@pytest.mark.parametrize(("value", "doubts"), [("-a", ["-a may be an option of its own"]), ("-5", []), ("-", [])])
def test_a_value_that_looks_like_an_option_is_doubted(value: str, doubts: list[str]) -> None:
    assert shape(run(GNU, "-n", value, "x")) == ({"-n", "--number"}, [], ["x"], doubts)


@pytest.mark.parametrize(
    ("words", "doubts"),
    [
        (["--frob"], ["option --frob is not described"]),
        (["-az"], ["option -z is not described"]),
        (["--outp=F"], ["option --outp is an abbreviation"]),
        (["--al"], ["option --al is not described"]),
        (["--all=x"], ["option --all takes no value"]),
        (["-o"], ["option -o has no value"]),
        ([f"--{HOLE}"], ["option --? is not described"]),
        ([f"-a{HOLE}"], ["option -a? is not described"]),
        ([HOLE], ["? may turn out to be an option"]),
        ([Word(f"x{HOLE}", 0, 0, True)], [f"x{'?'} may turn out to be an option"]),
        (["-n", Word(HOLE, 0, 0, True)], ["? may become several words"]),
    ],
)
def test_what_is_not_accounted_for_is_written_down(words: list[str | Word], doubts: list[str]) -> None:
    assert run(GNU, *words).doubts == doubts


@pytest.mark.parametrize("words", [["--", HOLE], [f"x{HOLE}"], [Word("*.py", 0, 0, False, "*.py")]])
def test_an_operand_that_can_only_be_an_operand_raises_no_doubt(words: list[str | Word]) -> None:
    assert run(GNU, *words).doubts == []


def test_a_glob_that_could_become_an_option_is_remembered() -> None:
    glob, safe = Word("*", 0, 0, False, "*"), Word("src/*", 0, 0, False, "src/*")
    assert run(GNU, glob, safe).option_globs == [glob]


def test_an_option_with_an_optional_value_counts_without_one_too() -> None:
    text = "names: [prog]\nflags: -a\noptions: {-O|--open: {optional: text, does: code runs a pager}}"
    for word in ("-O", "-aO", "--open", "-Ox", "--open=x", "--ope"):
        assert [option["names"] for option, _ in run(text, word).values] == [["-O", "--open"]]


def test_an_abbreviation_yields_the_effects_of_the_option_it_means() -> None:
    assert shape(run(GNU, "--outp=F"))[:2] == ({"-o", "--output"}, ["-o=F"])


def test_a_harmless_value_does_not_set_the_flag() -> None:
    assert run(GNU, "-X", "GET").flags == set()
    assert run(GNU, "-XPOST").flags == {"send"}


def test_inert_options_are_known_by_their_place() -> None:
    assert run(GNU, "-a", "--plain", "-P", "-Pa", "-PP").inert == [2, 3, 5]


def test_posix_programs_stop_at_the_first_operand() -> None:
    text = "names: [prog]\ndialect: posix\nflags: -a\noperands: [{kind: command, rest: true}]"
    assert shape(run(text, "-a", "x", "-a", "--frob")) == ({"-a"}, [], ["x", "-a", "--frob"], [])


def test_single_dash_words_are_whole_options_where_the_program_says_so() -> None:
    text = "names: [prog]\ndialect: dash\nflags: -name -n\nvalues: -mod\noperands: [{kind: path, rest: true}]"
    assert shape(run(text, "-name", "--n", "-mod=x", "y")) == ({"-name", "-n", "-mod"}, [], ["y"], [])
    assert run(text, "-nn").doubts == ["option -nn is not described"]


def test_a_flag_of_a_single_dash_may_be_said_to_be_true_and_nothing_else() -> None:
    text = "names: [prog]\ndialect: dash\nflags: -name"
    assert [run(text, f"-name={value}").doubts for value in ("true", "x")] == [[], ["option -name takes no value"]]
    assert run(GNU, "--all=true").doubts == ["option --all takes no value"]


def test_what_a_flag_does_is_done_by_each_of_its_spellings() -> None:
    text = "names: [prog]\nflags: -a\noptions: {-k|--kill: {does: code stops it}}"
    assert [
        [option["names"] for option, _ in run(text, word).values] for word in ("-k", "-ak", "--kill", "--kil", "-a")
    ] == [[["-k", "--kill"]]] * 4 + [[]]


def test_a_command_in_an_option_ends_at_its_mark_and_is_doubted_in_any_other_spelling() -> None:
    text = (
        "names: [prog]\ndialect: dash\nflags: -v\noptions: {-exec: {until: [;]}}\noperands: [{kind: path, rest: true}]"
    )
    for spelling in ("-exec", "--exec"):
        found = run(text, spelling, "ls", "-l", ";", "-v", "x")
        assert [[word.text for word in words] for _, words in found.values] == [["ls", "-l"]]
        assert (shape(found)[0], shape(found)[2:]) == ({"-exec", "-v"}, (["x"], []))
    assert run(text, "-exec", "ls").doubts == ["option -exec has no end"]
    assert "option -exec with a glued command is not described" in run(text, "-exec=ls", ";").doubts


def test_keys_and_values_are_options_where_the_program_says_so() -> None:
    text = "names: [prog]\ndialect: keys\nvalues: bs=\noptions: {if=: {value: path, does: read}}\noperands: []"
    assert shape(run(text, "if=a", "bs=1M")) == ({"if=", "bs="}, ["if==a"], [], [])
    assert run(text, "of=b").doubts == ["option of= is not described"]


def test_a_first_word_without_dash_is_a_cluster_whose_values_follow_in_order() -> None:
    text = """
names: [prog]
dashless: true
flags: -x
options: {-f: {value: path, does: read}, -C: {value: path, cwd: true}}
operands: [{kind: path, rest: true}]
"""
    assert shape(run(text, "xfC", "a", "d", "m")) == ({"-x", "-f", "-C"}, ["-f=a", "-C=d"], ["m"], [])


NESTED = """
names: [prog]
inherit: true
options: {-C: {value: path, cwd: true}}
subcommands:
  one|o: {flags: -a, operands: [{kind: text, rest: true}]}
  two:
    bare: list
    subcommands:
      list: {flags: -v}
      drop: {operands: [{kind: text}]}
"""


@pytest.mark.parametrize(
    ("words", "subcommands", "operands", "doubts"),
    [
        (["-C", "d", "one", "-a", "x"], ["one"], ["x"], []),
        (["o", "-C", "d", "x"], ["one"], ["x"], []),
        (["two"], ["two", "list"], [], []),
        (["two", "-v"], ["two", "list"], [], []),
        (["two", "drop", "x"], ["two", "drop"], ["x"], []),
        (["three", "x"], [], ["three", "x"], ["subcommand three is not described"]),
        (["two", "frob"], ["two"], ["frob"], ["subcommand frob is not described"]),
        ([HOLE], [], [HOLE], ["? may turn out to be an option", "subcommand ? is not described"]),
    ],
)
def test_subcommands_are_canonical(
    words: list[str], subcommands: list[str], operands: list[str], doubts: list[str]
) -> None:
    invocation = run(NESTED, *words)
    assert (invocation.subcommands, shape(invocation)[2], invocation.doubts) == (subcommands, operands, doubts)


OPEN = """
names: [prog]
alone: --version version
code: runs the project
subcommands:
  list-keys: {operands: []}
  list-*: {flags: -a, operands: [{kind: text, rest: true}]}
  "*":
    bare: "*"
    subcommands: {show: {operands: []}, "*": {code: changes something}}
"""


@pytest.mark.parametrize(
    ("words", "effects"),
    [
        (["--version"], []),
        (["version"], []),
        (["--version", "x"], ["code", "code"]),
        (["-v"], ["code"]),
        ([HOLE], ["code"]),
        ([], ["code"]),
    ],
)
def test_a_word_that_only_prints_something_does_so_as_the_only_argument(words: list[str], effects: list[str]) -> None:
    assert [effect["kind"] for effect in run(OPEN, *words).spec["effects"]] == effects


@pytest.mark.parametrize(
    ("words", "subcommands", "doubts"),
    [
        (["list-x", "-a", "y"], ["list-x"], []),
        (["list-keys", "y"], ["list-keys"], []),
        (["users", "show"], ["users", "show"], []),
        (["users", "drop"], ["users", "drop"], []),
        (["users"], ["users"], []),
        (["users", "--now"], ["users"], []),
        ([f"list-{HOLE}"], [], [f"subcommand list-{'?'} is not described"]),
    ],
)
def test_a_star_stands_for_the_subcommands_that_have_no_name_of_their_own(
    words: list[str], subcommands: list[str], doubts: list[str]
) -> None:
    invocation = run(OPEN.replace("code: runs the project\n", ""), *words)
    assert (invocation.subcommands, invocation.doubts) == (subcommands, doubts)


def test_what_stands_behind_an_open_subcommand_is_never_nothing() -> None:
    for words in (["users"], ["users", "drop"], ["users", "--now"]):
        assert [effect["kind"] for effect in run(OPEN, *words).spec["effects"]] == ["code", "code"]


HELP = """
names: [prog]
flags: -h|--help --version -v
effects: [system things change]
subcommands:
  build:
    {flags: -h|--help -v, values: -o, operands: [{kind: text, rest: true}], effects: [system things change]}
  run: {flags: -v, operands: [{kind: text, rest: true}], effects: [system things change]}
  load: {flags: --help, operands: [], code: loads the plugins that it finds}
"""


@pytest.mark.parametrize(
    ("words", "nothing"),
    [
        (["--help"], True),
        (["-h"], True),
        (["--version"], True),
        (["-v"], False),
        (["build", "--help"], True),
        (["build", "-h"], True),
        (["build", "-v", "--help"], False),
        (["build", "x", "--help"], False),
        (["build", "-o", "--help"], False),
        (["build", "--", "--help"], False),
        (["build", "--version"], False),
        (["--help", "build"], False),
        (["run", "-v", "--help"], False),
        (["load", "--help"], False),
        (["build", Word(HOLE, 0, 0), "--help"], False),
    ],
)
def test_a_listed_help_that_stands_alone_behind_subcommands_does_nothing_else(
    words: list[str | Word], nothing: bool
) -> None:
    invocation = run(HELP, *words)
    assert (not invocation.spec["effects"], nothing) == (nothing, nothing)


@pytest.mark.parametrize(
    ("words", "effects", "doubts"),
    [
        (["load", "--help"], ["code"], []),
        (["load", "-v", "--help"], ["system", "code"], ["option -v is not described"]),
        (["run", "--help"], [], ["option --help is not described"]),
        (["run", "--version"], ["system"], ["option --version is not described"]),
        (["run", "-v", "--help"], ["system"], ["option --help is not described"]),
        (["run", "x", "--help"], ["system"], ["option --help is not described"]),
        (["run", "--help", "x"], ["system"], ["option --help is not described"]),
        (["run", "--helpless"], ["system"], ["option --helpless is not described"]),
    ],
)
def test_help_that_may_load_something_or_is_not_listed_is_code_and_none_of_the_work(
    words: list[str | Word], effects: list[str], doubts: list[str]
) -> None:
    invocation = run(HELP.replace("code: loads", "effects: [system things change], code: loads"), *words)
    assert list(dict.fromkeys(each["kind"] for each in invocation.spec["effects"])) == effects
    assert invocation.doubts == doubts


HELPS = """
names: [prog]
helps: --help|-h help
subcommands:
  run: {code: runs the project, subcommands: {all: {special: wrapped, code: runs all}}}
  "*": {code: runs an extension}
"""


@pytest.mark.parametrize(
    ("words", "nothing"),
    [
        (["--help"], True),
        (["help"], True),
        (["run", "--help"], True),
        (["run", "all", "-h"], True),
        (["run", "all", "help"], True),
        (["ext", "--help"], False),
        (["*", "--help"], False),
        (["run", "./x", "--help"], False),
        (["run", "-v", "--help"], False),
        (["--help", "run"], False),
        (["run", Word(HOLE, 0, 0), "--help"], False),
        (["run", HOLE], False),
    ],
)
def test_a_word_that_shows_help_does_so_behind_subcommands_of_code_that_have_a_name(
    words: list[str | Word], nothing: bool
) -> None:
    invocation = run(HELPS, *words)
    assert (not invocation.spec["effects"], nothing) == (nothing, nothing)


ALL = """
names: [prog]
numeric: true
inert: -P|--plain
flags: -a|--all -1
values: -n|--number
options:
  -q|--quick: {sets: quick}
  -k|--kill: {does: code stops it}
  -X|--request: {value: text, harmless: [GET], sets: send}
  -o|--output: {value: path, does: write}
  -C: {value: command}
  -x|--run: {until: [;, +]}
  -S: {value: text, split: true}
  -e: {value: text, sets: pattern}
operands: [{kind: path, does: read, rest: true}]
"""
ONE = "names: [prog]\nflags: --all -b"
DASH = "names: [prog]\ndialect: dash\nvalues: -mod"
KEYS = "names: [prog]\ndialect: keys\nvalues: -s bs="
OLD = """
names: [prog]
dashless: true
options: {-x: {sets: out}, -k: {does: code stops it}, -f: {value: path, does: read}}
"""
HARMLESS = "names: [prog]\nunknown_options: harmless\nvalues: -n"
BARE = """
names: [prog]
bare: list
subcommands:
  list: {flags: -v, operands: [{kind: text, rest: true}]}
  drop: {operands: [{kind: text, rest: true}]}
  raw: {dialect: none, operands: [{kind: text, rest: true}]}
"""
RAW = "names: [prog]\ndialect: none\noperands: [{kind: text, rest: true}]"
DEFAULT = """
names: [prog]
default: run
subcommands: {run: {flags: -v, operands: [{kind: text, rest: true}]}, drop: {operands: []}}
"""
WORK = """
names: [prog]
after: {kind: text}
options: {--help: {sets: helped}}
effects: [system things change]
code: loads plugins
"""
SYSTEM = "names: [prog]\neffects: [system things change]"
OPAQUE = "names: [prog]\neffects: [opaque runs what it is told]"
UNLISTED = "names: [prog]\nafter: {kind: text}\neffects: [system things change]\ncode: loads plugins"
STAR, MARK, SET = (Word(text, 0, 0, False, text) for text in ("*", "?x", "[ab]x"))
NAMED = Word(HOLE, 0, 0, True, None, Names(("/w",), ()))


@pytest.mark.parametrize(
    ("text", "words", "found"),
    [
        (ALL, ["-aq"], {"options": {"-a", "--all", "-q", "--quick"}, "flags": {"quick"}}),
        (ALL, ["--quic"], {"flags": {"quick"}, "doubts": ["option --quic is an abbreviation"]}),
        (ALL, ["-aXGET"], {"flags": set()}),
        (ALL, ["-aXPOST"], {"flags": {"send"}}),
        (ALL, ["--request=GET"], {"flags": set()}),
        (ALL, ["--request=POST"], {"flags": {"send"}}),
        (ALL, ["-20"], {"options": {"-NUM"}, "inert": [], "doubts": []}),
        (ALL, ["-12"], {"options": {"-NUM"}}),
        (ALL, ["-P5a"], {"options": {"-P", "--plain", "-NUM", "-a", "--all"}, "inert": [], "doubts": []}),
        (ALL, ["-P5"], {"inert": []}),
        (ALL, ["--plai"], {"inert": [1]}),
        (ALL, ["--request=GET", "--plai"], {"inert": [2]}),
        (ONE, ["-20"], {"doubts": ["option -2 is not described"]}),
        (ONE, ["-b5"], {"doubts": ["option -5 is not described"]}),
        (ONE, ["--=x"], {"options": {"--"}, "doubts": ["option -- is not described"]}),
        (ALL, ["--frob"], {"options": {"--frob"}}),
        (ALL, [f"-az{HOLE}q"], {"options": {"-a", "--all", f"-az{HOLE}q", "-z", "-q"}}),
        (ALL, [Word(f"--output={HOLE}", 0, 0, True)], {"doubts": ["--output=? may become several words"]}),
        (ALL, [Word("--output=*?[", 0, 0)], {"values": ["-o *?["]}),
        (ALL, [Word("--output=*?[", 0, 0, False, "--output=*?[")], {"values": [f"-o {HOLE}{HOLE}{HOLE}"]}),
        (ALL, [STAR, MARK, SET, "x"], {"option_globs": [STAR, MARK, SET], "doubts": []}),
        (ALL, [NAMED], {"option_globs": [NAMED], "doubts": []}),
        (ALL, ["-n", STAR], {"doubts": ["* may become several words"]}),
        (ALL, ["-n", Word("[a]b", 0, 0, False, "[a]b")], {"doubts": []}),
        (ALL, ["-o", STAR], {"doubts": []}),
        (ALL, ["-C", STAR], {"doubts": []}),
        (ALL, ["-e", "-x"], {"doubts": []}),
        (ALL, ["-S", "a -a b", "c"], {"options": {"-S", "-a", "--all"}, "operands": ["a", "b", "c"], "doubts": []}),
        (ALL, ["-S", "-a", "c"], {"operands": ["c"], "doubts": []}),
        (ALL, ["-x", "ls", "+", "{}", "+", "y"], {"values": ["-x ls + {}"], "operands": ["y"], "doubts": []}),
        (ALL, ["-x", "ls", "{}", ";", "+"], {"values": ["-x ls {}"], "operands": ["+"], "doubts": []}),
        (ALL, ["-ax", "ls", ";", "y"], {"values": ["-x ls"], "operands": ["y"], "doubts": []}),
        (DASH, ["-mod", "-x"], {"doubts": []}),
        (KEYS, ["-s", "-x"], {"doubts": []}),
        (HARMLESS, ["-n", "-x"], {"doubts": []}),
        (OLD, [], {"options": set(), "doubts": []}),
        (OLD, ["-x"], {"options": {"-x"}, "doubts": []}),
        (ALL, ["-q"], {"flags": {"quick"}}),
        (ALL, ["-S"] * 19 + ["c"], {"operands": ["-S", "-S", "c"], "doubts": ["a text in a text in a text is split"]}),
        (BARE, [], {"subcommands": ["list"]}),
        (BARE, ["-v"], {"subcommands": ["list"], "options": {"-v"}, "doubts": []}),
        (BARE, ["drop", "x"], {"subcommands": ["drop"], "operands": ["x"]}),
        (BARE, ["raw", "-v", "--x", "y"], {"operands": ["-v", "--x", "y"], "options": set(), "doubts": []}),
        (BARE, ["--", "drop"], {"subcommands": ["list"], "operands": ["drop"]}),
        (DEFAULT, ["--", "x"], {"operands": ["x"], "doubts": ["a subcommand after -- is not described"]}),
        (DEFAULT, ["x", "-v", "y"], {"subcommands": ["run"], "operands": ["x", "y"], "options": {"-v"}}),
        (RAW, ["-v", "x"], {"operands": ["-v", "x"], "doubts": []}),
        (HELPS, ["--help"], {"options": {"--help"}, "effects": []}),
        (OPEN, ["users", "--version"], {"effects": ["code", "code"]}),
        (WORK, ["--help"], {"effects": ["code", "system"]}),
        (UNLISTED, ["--help"], {"effects": ["code"]}),
        (OPAQUE, ["--help"], {"effects": ["opaque"]}),
        (UNLISTED, ["--frob"], {"effects": ["code", "system"]}),
        (UNLISTED, ["--", "--help"], {"effects": ["code", "system"]}),
        (SYSTEM, [Word("--help", 0, 0, True)], {"effects": ["system"]}),
        (SYSTEM, ["--help"], {"effects": []}),
        (SYSTEM, ["-x"], {"effects": ["system"]}),
        (OLD, ["xqkf", "a"], {
            "options": {"-x", "-k", "-f", "q"}, "flags": {"out"}, "values": ["-k", "-f a"],
            "doubts": ["option q is not described"],
        }),
    ],
)  # fmt: skip
def test_words_are_taken_apart_as_described(text: str, words: list[str | Word], found: dict[str, object]) -> None:
    invocation = run(text, *words)
    told = {
        "options": invocation.options,
        "flags": invocation.flags,
        "subcommands": invocation.subcommands,
        "effects": [effect["kind"] for effect in invocation.spec["effects"]],
        "values": [
            " ".join([option["names"][0], *[word.text for word in taken]]) for option, taken in invocation.values
        ],
        "operands": [word.text for word in invocation.operands],
        "option_globs": invocation.option_globs,
        "inert": invocation.inert,
        "doubts": invocation.doubts,
    }
    assert {name: told[name] for name in found} == found
