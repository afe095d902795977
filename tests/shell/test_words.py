"""Words: what quoting, expansions and globs make of a text."""

from __future__ import annotations

from fnmatch import fnmatchcase

import pytest

from gateway.model.command import Word
from gateway.model.effect import HOLE


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a b  c", ["a", "b", "c"]),
        ("r''m r\"\"m r\\m 'rm' \"rm\"", ["rm", "rm", "rm", "rm", "rm"]),
        ("a\\ b 'c d' \"e f\"g", ["a b", "c d", "e fg"]),
        ("$'\\x72\\155' $'a\\tb' $'\\'' $\"x\"", ["rm", "a\tb", "'", "x"]),
        ('"\\$x \\a \\" \\\\"', ['$x \\a " \\']),
        ("~ ~/x x=~/y a~ '~' \\~", [HOME := "/home/dev", f"{HOME}/x", f"x={HOME}/y", "a~", "~", "~"]),
        ("~+/x ~root/x", ["/p/x", f"{HOLE}/x"]),
        ("{a,b}c {1..3} {a} {,x} {a,{b,c}}", ["ac", "bc", "1", "2", "3", "{a}", "x", "a", "b", "c"]),
        ('$HOME/x ${HOME}/y "$PWD"', [f"{HOME}/x", f"{HOME}/y", "/p"]),
        ("a#b \\#c", ["a#b", "#c"]),
        ("-x --long=v 'a=b' {} \\;", ["-x", "--long=v", "a=b", "{}", ";"]),
        ('$x "$x" a$x.b $1 "$*"', [HOLE, HOLE, f"a{HOLE}.b", HOLE, HOLE]),
        ("<(a) >(b)", [f"/dev/fd/{HOLE}", f"/dev/fd/{HOLE}"]),
        ("é 'ü' \\ß", ["é", "ü", "ß"]),
    ],
)
def test_words_lose_their_quotes_and_nothing_else(read, text, words):
    command = next(c for c in read("probe " + text).commands if c.words[0].text == "probe")
    assert [word.text for word in command.words[1:]] == words


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("$x", Word(HOLE, 2, 4, True)),
        ('"$x"', Word(HOLE, 2, 6)),
        ('"$@"', Word(HOLE, 2, 6, True)),
        ('"${x[@]}"', Word(HOLE, 2, 11, True)),
        ("$(y)", Word(HOLE, 2, 6, True)),
        ('"$(y)"', Word(HOLE, 2, 8)),
        ("$#", Word(HOLE, 2, 4)),
        ("$((1+2))", Word(HOLE, 2, 10)),
        ("*.py", Word("*.py", 2, 6, False, "*.py")),
        ('"*"?', Word("*?", 2, 6, False, "[*]?")),
        ("a[!b]c", Word("a[!b]c", 2, 8, False, "a[!b]c")),
        ("a[^b]c", Word("a[^b]c", 2, 8, False, "a[!b]c")),
        ("[ab", Word("[ab", 2, 5)),
        ("[[:alpha:]]", Word(HOLE, 2, 13, True)),
        ("\\*", Word("*", 2, 4)),
        ("{1..100000}", Word(HOLE, 2, 13, True)),
        ("~:x", Word(HOLE, 2, 5, True)),
    ],
)
def test_a_word_says_what_is_not_known_of_it(read, text, word):
    assert read("p " + text).commands[0].words[1] == word


def test_known_variables_are_split_and_vanish_as_bash_has_it(argvs):
    assert argvs("A='x y' E= G='*.c'; p $A \"$A\" $E \"$E\" z$E a$A")[0] == ["p", "x", "y", "x y", "", "z", "ax", "y"]


def test_a_known_value_with_a_glob_is_a_pattern(read):
    assert read("G='*.c'; p $G").commands[0].words[1].pattern == "*.c"


@pytest.mark.parametrize("text", ["IFS=,; c=rm,x; p $c", "c=rm,x; p $c; IFS=,", "c=rm,x; export I''FS=,; p $c"])
def test_a_changed_ifs_makes_unquoted_values_unknown(read, text):
    command = next(c for c in read(text).commands if c.words[0].text == "p")
    assert command.words[1] == Word(HOLE, command.words[1].start, command.words[1].end, True)


def test_ifs_for_one_command_changes_nothing_else(argvs):
    assert ["p", "a", "b"] in argvs("A='a b'; IFS= read -r l; p $A")


def test_spans_count_code_points_of_the_original_text(read):
    text = 'é \\\n"ü ß" `x \\`y\\`` $(z "ö")'
    script = read(text)
    assert [text[c.start : c.end] for c in script.commands] == [text, "x \\`y\\``"[:-1], "y", 'z "ö"']
    assert [text[w.start : w.end] for w in script.commands[0].words] == ["é", '"ü ß"', "`x \\`y\\``", '$(z "ö")']


@pytest.mark.parametrize("pattern", ["*", "a*", "[ab]?", "[!a]*", '"*"*', "\\[a]", "?[0-9]", "'?'*", "a\\*b*"])
def test_a_pattern_matches_what_fnmatch_says(read, pattern):
    names = ["a", "b", "ab", "*x", "?x", "a*b", "[a]", "b1", "a1"]
    word = read("p " + pattern).commands[0].words[1]
    matched = [n for n in names if fnmatchcase(n, word.pattern)] if word.pattern else [word.text]
    expected = {
        "*": names,
        "a*": ["a", "ab", "a*b", "a1"],
        "[ab]?": ["ab", "b1", "a1"],
        "[!a]*": ["b", "*x", "?x", "[a]", "b1"],
        '"*"*': ["*x"],
        "\\[a]": ["[a]"],
        "?[0-9]": ["b1", "a1"],
        "'?'*": ["?x"],
        "a\\*b*": ["a*b"],
    }
    assert matched == expected[pattern]
