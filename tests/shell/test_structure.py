"""The grammar, the short way around it, and what it is shown."""

from __future__ import annotations

import subprocess
import sys
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.shell.coverage import uncovered
from gateway.shell.flat import flat
from gateway.shell.guards import Refused
from gateway.shell.keywords import Blanked, blank
from gateway.shell.nodes import Node
from gateway.shell.parse import parse
from gateway.shell.regions import survey
from gateway.shell.skeleton import for_grammar, skeleton


def outline(node):
    return f"{node.kind}({' '.join(map(outline, node.children))})" if node.children else node.kind


def shape_of(text):
    found = survey(text)
    return skeleton(found.text, 0, len(found.text), found.regions)


ITEM = "item(span sequence(simple))"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a b", "sequence(simple)"),
        ("a; b & c", "sequence(simple background(simple) simple)"),
        ("a && b || c", "sequence(chain(simple && simple || simple))"),
        ("a && b &\nc", "sequence(background(chain(simple && simple)) simple)"),
        ("a | b |& c", "sequence(pipeline(simple simple simple))"),
        ("a 2>f | b 2>g | c", "sequence(pipeline(simple simple simple))"),
        ("! a | b", "sequence(pipeline(not(simple) simple))"),
        ("(a; b) > f", "sequence(redirected(subshell(sequence(simple simple))))"),
        ("{ a; }", "sequence(group(sequence(simple)))"),
        ("if a; then b; fi", "sequence(if(sequence(simple) sequence(simple)))"),
        (
            "if a; then b; elif c; then d; else e; fi",
            "sequence(if(sequence(simple) sequence(simple) sequence(simple) sequence(simple) sequence(simple)))",
        ),
        ("while a; do b; done < f", "sequence(redirected(while(sequence(simple) sequence(simple))))"),
        ("until a; do b; done", "sequence(while(sequence(simple) sequence(simple)))"),
        ("for i in a b; do c; done", "sequence(for(span span sequence(simple)))"),
        ("for i; do c; done", "sequence(for(span span sequence(simple)))"),
        ("select i in a; do c; done", "sequence(for(span span sequence(simple)))"),
        ("for ((i=0;;)); do c; done", "sequence(for arithmetic(sequence(simple)))"),
        (
            "case a in b|c) d;; (e) f;& *) g; esac",
            f"sequence(case(span {ITEM} item falls through(span sequence(simple)) {ITEM}))",
        ),
        ("f() { a; } > g", "sequence(function(span redirected(group(sequence(simple)))))"),
        ("function f { a; }", "sequence(function(span group(sequence(simple))))"),
        ("[[ a && b ]] && c", "sequence(chain(test && simple))"),
        ("(( 1 ))", "sequence(arithmetic)"),
        ("export A=b C; declare -x D; unset E", "sequence(simple simple simple)"),
        ("A=1", "sequence(simple)"),
        ("> f", "sequence(simple)"),
        ("a <<E | b\nx\nE", "sequence(pipeline(simple simple))"),
    ],
)  # fmt: skip
def test_the_shapes_of_the_pinned_grammar(text, expected):
    shape = shape_of(text)
    root, accepted = parse(for_grammar(shape))
    assert (outline(root), accepted, uncovered(root, shape)) == (expected, True, None)


FLAT = st.lists(
    st.sampled_from(["a", "b c", "-x", "1", "d.e", ">f", "2>&1", "&>g", ">|h", "<i", " ", " | ", "|", "&&", " || ",
    ";",
                     "; ", " |& ", "'q'", '"r s"', "\\;", "x=1", "#", "if", "!", "done"]),
    max_size=12,
).map("".join)  # fmt: skip


@given(FLAT)
def test_the_short_way_gives_what_the_grammar_gives(text):
    shape = skeleton(text, 0, len(text), ())
    short = flat(shape)
    if short is not None and short.children:
        root, accepted = parse(for_grammar(shape))
        if accepted:
            assert leaves(short) == leaves(root)


def leaves(node: Node) -> list[tuple[str, str]]:
    """Kinds and starts; the grammar ends a command before blanks and redirects of its own, which nobody relies on."""
    return [(node.kind, node.start)] + [each for child in node.children for each in leaves(child)]


@pytest.mark.parametrize(
    "shape", ["a & b", "a (b)", "{ a; }", "a\nb", "if a", "! a", "a ;; b", "| a", "a &&", "a | ; b", "; a"]
)
def test_what_is_not_flat_is_left_to_the_grammar(shape):
    assert flat(shape) is None


def test_whatever_joins_commands_needs_no_grammar():
    found = flat("a; b | c |& d && e || f")
    assert found is not None
    assert outline(found) == "sequence(simple chain(pipeline(simple simple simple) && simple || simple))"


@pytest.mark.parametrize(
    ("text", "shape"),
    [
        ("a 'b c' \"d;e\" f", "a ..... ..... f"),
        ("a # b; c\nd", "a       \nd"),
        ("a#b \\#c", "a#b ..c"),
        ("a \\ #b", "a ...b"),
        ("a \\\\ # b", "a ..    "),
        ("a $(b; c) `d`", "a ....... ..."),
        ("a <<E\nb; c\nE\nd", "a <..\n       d"),
        ("a=(b c) d", "a=..... d"),
        ("((a; b))", "((1111))"),
        ("for ((a; b; c)); do", "for ((;;     )); do"),
        ("[[ a && b ]]", "[[ ...... ]]"),
        ("[ a ]", ". a ."),
        ("{ a; } {b} {c,d}", "{ a; } .b. .c,d."),
        ("a {fd}>f", "a     >f"),
        ("a <> f <<< g", "a >  f <   g"),
        ("a $'b\\'c; d'", "a .........."),
    ],
)
def test_the_skeleton_keeps_structure_and_length(text, shape):
    found = shape_of(text)
    assert (found, len(found)) == (shape, len(text))


@given(st.text(alphabet="ab \n;&|()<>$`'\"\\{}[]#=!E", max_size=40))
def test_a_skeleton_is_as_long_as_its_text(text):
    try:
        found = survey(text)
    except Refused:
        return
    assert len(skeleton(found.text, 0, len(found.text), found.regions)) == len(found.text)


def test_keywords_are_blanked_where_commands_begin():
    assert blank("time -p a | time b; ! { c; }; coproc X { d; }") == Blanked(
        "        a | time b;   { c; };          { d; }", frozenset({8}), (30,), True
    )


def test_a_word_that_no_node_holds_is_noticed():
    assert uncovered(Node("sequence", 0, 6, (Node("simple", 0, 1),)), "a; b c") == (3, 4)


def test_an_error_keeps_the_statements_that_were_found():
    root, accepted = parse("if a; then rm x; ")
    assert (outline(root), accepted) == ("sequence(if(sequence(simple) sequence(simple)))", False)
    root, accepted = parse("rm x; !(( ) ")
    assert (outline(root), accepted) == ("sequence(error(simple))", False)
    root, accepted = parse("f() time { a; }")
    assert (outline(root), accepted) == ("sequence(unknown)", False)


def test_the_parser_may_be_used_by_many_threads():
    found = []
    threads = [
        threading.Thread(target=lambda: found.extend(outline(parse("a; (b)")[0]) for _ in range(50))) for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == ["sequence(simple subshell(sequence(simple)))"] * 400


@pytest.mark.parametrize("first", ["", "import tree_sitter, tree_sitter_bash"])
def test_the_grammar_is_loaded_only_when_needed_and_without_its_packages(first):
    program = f"""{first}
import sys
before = set(sys.modules)
from gateway.shell.reading import read
options = dict(cwds=(), home="", variables={{}})
read("a b | c && d 'e' > f; g", **options)
early = "tree_sitter._binding" in set(sys.modules) - before
assert read("(a; b)", **options).unknowns == ()
print(early, sorted({{"typing", "importlib.resources", "threading", "dataclasses"}} & (set(sys.modules) - before)))
import tree_sitter
print(tree_sitter.Parser.__name__)
"""
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (ran.stdout.split("\n")[:2], ran.stderr) == (["False []", "Parser"], "")
