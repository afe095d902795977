"""No text crashes the reading, takes long, or hides behind a bound."""

from __future__ import annotations

import gc
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.shell.reading import read as read_text

HUGE = {
    "nested parentheses": "(" * 10_000 + ")" * 10_000,
    "nested parentheses apart": "( " * 10_000 + "rm" + " )" * 10_000,
    "opened parentheses": "(" * 10_000,
    "nested substitutions": "$(" * 10_000 + "rm" + ")" * 10_000,
    "nested substitutions in quotes": '"$(' * 5_000 + "rm" + ')"' * 5_000,
    "nested expansions": "${x:-" * 9_000 + "}" * 9_000,
    "nested arithmetic": "$((" * 9_000,
    "nested groups": "{ " * 10_000 + "rm; " + "}; " * 10_000,
    "nested ifs": "if a; then " * 5_000 + "rm" + "; fi" * 5_000,
    "nested arrays": "a=(" * 9_000,
    "a megabyte of words": "rm " * 333_333,
    "a megabyte of one word": "r" * 1_000_000,
    "a megabyte of substitutions": "$(rm) " * 166_666,
    "a megabyte of commands": "rm;" * 333_333,
    "NUL bytes": "rm\0" * 1_000,
    "many pipes": "rm|" * 30_000 + "rm",
    "many redirects": ">" * 30_000,
    "many commands": "rm\n" * 20_000,
    "many continuations": "rm \\\n" * 20_000,
    "many here-documents": "rm <<E\nE\n" * 10_000,
    "many marks": "rm " + "<<E " * 9_000 + "\n" + "E\n" * 9_000,
    "many negations": "! " * 40_000 + "rm",
    "many times": "time " * 15_000 + "rm",
    "many tests": "[[ rm " * 12_000,
    "many cases": "case a in esac " * 6_000,
    "many braces": "{a," * 20_000,
    "many brace words": "{a,b}" * 15_000,
    "many brackets": "a[" * 40_000,
    "many quotes": "\"'" * 40_000,
    "many backticks": "`rm` " * 15_000,
    "many dollars": "$" * 90_000,
    "nested loops that move": "while a; do " * 20 + "cd x" + "; done" * 20,
    "nested loops over words": "for i in a b c d e f g h; do " * 20 + "rm $i" + "; done" * 20,
    "many functions": "f() { rm; };" * 5_000,
}


@pytest.mark.parametrize("text", HUGE.values(), ids=HUGE.keys())
def test_a_hostile_text_is_answered_in_bounded_time(text):
    gc.disable()  # what other tests have left behind is not this text's doing
    try:
        begin = time.process_time()
        script = read_text(text, cwds=("/p",), home="/h", variables={})
        took = time.process_time() - begin
    finally:
        gc.enable()
    assert took < 1
    assert script.unknowns or all(c.words[0].literal for c in script.commands)


@pytest.mark.parametrize(
    "name",
    [
        "nested parentheses", "nested parentheses apart", "nested substitutions", "nested ifs", "a megabyte of words",
        "a megabyte of commands", "NUL bytes", "many commands", "many continuations", "many negations",
        "many functions",
    ],
)  # fmt: skip
def test_a_bound_that_is_hit_is_unknown_and_keeps_the_words(name):
    text = HUGE[name]
    script = read_text(text, cwds=("/p",), home="/h", variables={})
    assert script.unknowns
    assert "rm" not in text or any("rm" in token for token in script.tokens)


def test_commands_found_before_a_bound_are_kept(read):
    script = read("rm x\n" * 5_500)
    assert (len(script.commands), script.unknowns[0].why) == (5_000, "more than 5,000 commands")


def test_a_long_text_of_one_plain_command_is_bounded_too(read):
    assert read("rm " + "x" * 100_001).unknowns[0].why == "longer than 100,000 characters"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("a\0b", "control character U+0000"),
        ("a\r\nb", "control character U+000D"),
        ("a '\x1b[31m'", "control character U+001B"),
        ("a\x7f", "control character U+007F"),
        ("a \u202eb", "invisible character U+202E"),
        ("a '\u2066b'", "invisible character U+2066"),
        ("a\u00a0b", "a letter that does not look like one, U+00A0"),
        ("a\u200bb", "a letter that does not look like one, U+200B"),
        ("a \ufeffb", "a letter that does not look like one, U+FEFF"),
        ("a \ud800", "control character U+D800"),
    ],
)
def test_characters_that_deceive_are_refused(read, text, why):
    assert [each.why for each in read(text).unknowns] == [why]


@pytest.mark.parametrize(
    "text", ["a 'b\u00a0c'", 'a "d\u200de"', "a # \u3000", "a <<'E'\n\u00a0\nE", "é ü", "a '日本'", "a\tb"]
)
def test_the_same_characters_in_quoted_text_are_only_text(read, text):
    assert read(text).unknowns == ()


SHELLISH = st.text(alphabet="ab1 \n\t;&|()<>$`'\"\\{}[]*?!#=~-+%@^,:/.éE", max_size=60)
PIECES = st.lists(
    st.sampled_from(
        ["if ", "then ", "fi", "for ", "in ", "do ", "done", "case ", "esac", "while ", "function ", "time ",
         "coproc ",
         "[[ ", " ]]", "((", "))", "$((", "$(", "`", "${", "}", "<<E", "\nE\n", "<<-'E'", "<(", "&&", "||", "|&",
         ";;", "&>",
         ">|", "{a,b}", "$'", "'", '"', "\\", "\\\n", "\n", " ", "a", "x=", "x=(", ")", "[1]=", "export ", "cd ",
         "eval ",
         "read ", "!", "# ", "é", "\0", "\r", "\u200b", "$x", '"$@"', "~", "{fd}>", "2>&1", "test -v "]
    ),
    max_size=25,
).map("".join)  # fmt: skip


@given(st.one_of(st.text(max_size=60), SHELLISH, PIECES))
def test_no_text_crashes_the_reading_and_every_span_lies_in_it(text):
    script = read_text(text, cwds=("/p",), home="/h", variables={"X": "1"})
    values = [*script.commands, *script.redirects, *script.assignments, *script.unknowns, *script.functions]
    values += [word for command in script.commands for word in command.words]
    assert all(0 <= each.start <= each.end <= len(text) for each in values)
    assert all(0 <= start <= end <= len(text) for _, start, end in script.reads_env)
    assert all(-1 <= each.part < len(script.commands) for each in (*script.redirects, *script.assignments))
    assert bool(script.tokens) <= bool(script.unknowns)
    assert [c.start for c in script.commands] == sorted(c.start for c in script.commands)


@given(st.one_of(SHELLISH, PIECES))
def test_reading_twice_gives_the_same(text):
    options = {"cwds": ("/p",), "home": "/h", "variables": {}}
    assert read_text(text, **options) == read_text(text, **options)
