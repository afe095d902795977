"""Control flow, folders and variables along the way."""

from __future__ import annotations

import pytest

from gateway.model.command import Simple, Word
from gateway.shell.script import Assignment, Function, Redirect, Script


def test_a_whole_script_is_one_value(read):
    text = 'A=1 make -j2 > "o"'
    words = (Word("make", 4, 8), Word("-j2", 9, 12))
    assert read(text) == Script(
        commands=(Simple(words, 0, 18, ("/p",), (), "", "", ("A",)),),
        redirects=(Redirect("write", Word("o", 15, 18), 13, 18, ("/p",), 0),),
        assignments=(Assignment("A", Word("1", 2, 3), 0, 3, 0, True),),
        final_cwds=("/p",),
    )


@pytest.mark.parametrize(
    ("text", "commands"),
    [
        ("a; b\nc & d", ["a", "b", "c", "d"]),
        ("a && b || c | d |& e", ["a", "b", "c", "d", "e"]),
        ("(a; b) && { c; d; }", ["a", "b", "c", "d"]),
        ("! a | b", ["a", "b"]),
        ("if a; then b; elif c; then d; else e; fi", ["a", "b", "c", "d", "e"]),
        ("while a; do b; done; until c; do d; done", ["a", "b", "c", "d"]),
        ("for i in $(a) `b`; do c; done", ["a", "b", "c"]),
        ("for ((i=0; i<3; i++)); do a; done", ["a"]),
        ("select x in a b; do c; done", ["c"]),
        ("case $(a) in $(b)|x) c;; (y) d;& *) e;; esac", ["a", "b", "c", "d", "e"]),
        ("f() { a; }; function g { b; }; h() ( c )", ["a", "b", "c"]),
        ("[[ -f $(a) ]] && b", ["[[", "a", "b"]),
        ('[[ x =~ "$(a)\\\\" ]] && b "$(c)"', ["[[", "a", "b", "c"]),
        ('[ -f "$(a)" ] || b', ["[", "a", "b"]),
        ("export A=$(a) B; unset C", ["export", "a", "unset"]),
        ("A=$(a) B=`b` C=(x $(c)) D[1]=$(d)", ["a", "b", "c", "d"]),
        ('a "$(b "$(c)")" <(d) >(e)', ["a", "b", "c", "d", "e"]),
        ("a # b\nc # it's $(d)\ne", ["a", "c", "e"]),
        ("time a; time -p b | c", ["a", "b", "c"]),
        ("a <<E && b\n$(c) `d`\nE\ne", ["a", "b", "c", "d", "e"]),
        ("", []),
        ("# nothing", []),
        ("\n\n", []),
    ],
)
def test_every_simple_command_is_found_in_the_order_of_the_text(read, text, commands):
    script = read(text)
    assert ([c.words[0].text for c in script.commands], script.unknowns) == (commands, ())


@pytest.mark.parametrize("step", ["x++", "++x", "x--", "x += 1", "x = 2", "y = x++"])
def test_what_arithmetic_steps_is_no_longer_what_it_was(argvs, step: str) -> None:
    assert argvs(f"x=1; (({step})); a $x")[-1] in (["a", "?"], ["a", "2"])


@pytest.mark.parametrize("inside", ["${x:-1}", "${x/1/2}", "${!x}", "`b`", "$(b)"])
def test_arithmetic_over_what_nobody_knows_is_not_known_itself(read, inside: str) -> None:
    assert read(f"x=1; a $(({inside} + 1))").unknowns != ()
    assert read("x=1; a $((x + ${#x} + $x))").unknowns == ()
    assert (
        read("a $((RANDOM + SRANDOM + SECONDS + LINENO + UID + EUID + PPID + BASHPID + EPOCHSECONDS))").unknowns == ()
    )


@pytest.mark.parametrize(
    ("text", "cwds"),
    [
        ("x", [("/p",)]),
        ("cd a && x", [("/p",), ("/p/a",)]),
        ("cd a; x", [("/p",), ("/p/a", "/p")]),
        ("cd a || exit; x", [("/p",), ("/p",), ("/p/a",)]),
        ("cd a || exit 1\nx", [("/p",), ("/p",), ("/p/a",)]),
        ("cd a || return; x", [("/p",), ("/p",), ("/p/a", "/p")]),
        ("cd /etc/../tmp/./x && x", [("/p",), ("/tmp/x",)]),
        ("cd && x", [("/p",), ("/home/dev",)]),
        ("cd ~/y && x", [("/p",), ("/home/dev/y",)]),
        ("cd a && cd - && x", [("/p",), ("/p/a",), ("/p",)]),
        ("cd -- a && x", [("/p",), ("/p/a",)]),
        ("cd -L a && x", [("/p",), ("/p/a",)]),
        ("cd $x && x", [("/p",), ()]),
        ("cd $x; cd /a && x", [("/p",), (), ("/a",)]),
        ("cd a*; x", [("/p",), ()]),
        ("cd -P a/.. && x", [("/p",), ()]),
        ("set -P; cd a/.. && x", [("/p",), ("/p",), ()]),
        ("set -o physical; cd a/.. && x", [("/p",), ("/p",), ()]),
        ("set -o errexit; cd a/.. && x", [("/p",), ("/p",), ("/p",)]),
        ("CDPATH=/q; cd a && x", [("/p",), ()]),
        ("HOME=/q cd && x", [("/p",), ()]),
        ("HOME=/q; cd && x", [("/p",), ("/q",)]),
        ("(cd a && x); x", [("/p",), ("/p/a",), ("/p",)]),
        ("$(cd a && x); x", [("/p",), ("/p",), ("/p/a",), ()]),
        ("cd a | x; x", [("/p",), ("/p",), ("/p",)]),
        ("cd a & x", [("/p",), ("/p",)]),
        ("{ cd a && x; }; x", [("/p",), ("/p/a",), ("/p/a", "/p")]),
        ("if cd a; then x; else y; fi", [("/p",), ("/p/a",), ("/p",)]),
        ("if ! cd a; then x; else y; fi", [("/p",), ("/p",), ("/p/a",)]),
        ("! cd a && x", [("/p",), ("/p",)]),
        ("! { cd a; } && x", [("/p",), ("/p/a", "/p")]),
        ("pushd a && x && popd && y", [("/p",), ("/p/a",), ("/p/a",), ("/p",)]),
        ("while a; do cd b && x; done", [(), (), ()]),
        ("while a; do cd /b && x; done", [("/p", "/b"), ("/p", "/b"), ("/b",)]),
        ("for d in a b; do (cd $d && x); done", [("/p",), ("/p",), ("/p/a",), ("/p/b",)]),
        ("f() { cd a; }; f; x", [("/p",), ("/p",), ("/p", "/p/a")]),
        ("f() { cd a; return; }; f; x", [("/p",), ("/p", "/p/a"), ("/p",), ()]),
        ("f() { y; return; }; f; x", [("/p",), ("/p",), ("/p",), ("/p",)]),
        ("f() { x; }; cd a && f", [("/p/a",), ("/p",), ("/p/a",)]),
        ("f() { x; }; c\\d a && f", [("/p/a",), ("/p",), ("/p/a",)]),
        ("f() { x; }; f", [("/p",), ("/p",)]),
        ("eval y; x", [("/p",), ()]),
        (". y; x", [("/p",), ()]),
        ("$y; x", [("/p",), ()]),
        ("command cd a && x", [("/p",), ("/p/a",)]),
        ("builtin cd a && x", [("/p",), ("/p/a",)]),
        ("trap 'x' EXIT; cd a", [(), ("/p",)]),
        ("trap y DEBUG; x", [(), ()]),
        (
            "while a; do cd /b && continue; cd /c; done",
            [("/p", "/b", "/c"), ("/p", "/b", "/c"), ("/b",), ("/p", "/b", "/c")],
        ),
        ("true && exit; x", [("/p",), ("/p",), ("/p",)]),
        ("case a in a) cd b;; *) cd c;; esac; x", [("/p",), ("/p",), ("/p", "/p/b", "/p/c")]),
    ],
)
def test_the_folder_is_followed(read, text, cwds):
    script = read(text)
    found = [tuple(sorted(c.cwds)) for c in script.commands]
    assert found == [tuple(sorted(each)) for each in cwds]


@pytest.mark.parametrize(
    ("text", "final"),
    [("cd a && b", ("/p/a", "/p")), ("cd /a || exit", ("/a",)), ("eval x", ()), ("(cd a)", ("/p",)), ("x", ("/p",))],
)
def test_the_folders_at_the_end_are_told(read, text, final):
    assert sorted(read(text).final_cwds) == sorted(final)


@pytest.mark.parametrize(
    ("text", "argument"),
    [
        ("A=1; p $A", "1"),
        ("A=a B=$A/b; p $B", "a/b"),
        ("P1=~/.ssh; P2=id_rsa; p $P1/$P2", "/home/dev/.ssh/id_rsa"),
        ("A=a; A+=b; p $A", "ab"),
        ("A=x:~/y; p $A", "x:/home/dev/y"),
        ('A="$HOME/$x"; p "$A"', "/home/dev/?"),
        ("export A=1; p $A", "1"),
        ("A=1 true; p $A", "?*"),
        ("A=1; A=2 p $A", "1"),
        ("A=1; read A; p $A", "?*"),
        ("A=1; unset A; p $A.", "."),
        ("A=1; printf -v A x; p $A", "?*"),
        ("A=a; declare A+=b; p $A", "?*"),
        ("A=1; (A=2); p $A", "1"),
        ("A=1; A=2 | b; p $A", "1"),
        ("A=1; if b; then A=x; fi; p $A", "?*"),
        ("A=1; if b; then A=1; fi; p $A", "1"),
        ("A=1; b && A=x; p $A", "?*"),
        ("A=1; b && A=2; p $A", "?"),
        ("A=1; while b; do p $A; A=x; done", "?*"),
        ("A=1; while b; do p $A; done", "1"),
        ("A=1; f() { A=2; }; p $A", "?*"),
        ("f() { A=2; }; A=1; p $A", "?*"),
        ("A=1; f() { p $A; }", "?*"),
        ("A=1; eval x; p $A", "?*"),
        ("A=1; x=${A:=2}; p $A", "?*"),
        ("A=1; alias x='A=2'\nx; p $A", "?*"),
        ("A=1; for A in x; do b; done; p $A", "?*"),
        ("for A in x; do p $A; done", "x"),
        ("A=(1 2); p $A", "1"),
        ("A=1; A[1]=2; p $A", "?*"),
        ("A=(x y); i=1; p ${A[i]}", "?*"),
        ("A=('x y' z); p ${A[@]}", "?*"),
        ("A=(x z); p ${A[@]}", "x"),
        ("A=1; b $((1 / 0)); A=x\np $A", "?*"),
        ("A=1; b $((1 + 0)); A=x\np $A", "x"),
        ("A=1; mapfile A; p $A", "?*"),
        ("A=1; trap x DEBUG; A=2; p $A", "?*"),
        ('A=1; let A=2; p "$A"', "?"),
        ("set + a b; p $2", "b"),
        ("set -- a; set +; p $1", "a"),
        ("set -- a; set -; p $1", "a"),
        ("set -- a; set -Z b; p $1", "?*"),
        ("set -- a; set -o b c; p $1", "?*"),
        ("set -- a; set -e$x b; p $1", "?*"),
        ("set -- a; set -o $x b; p $1", "?*"),
        ("set -oe pipefail a; p $1", "a"),
        ("set -o -e a; p $1", "a"),
        ("set -o '' a; p $2", "a"),
        ("p $HOME", "/home/dev"),
        ("cd a && p $PWD $OLDPWD", "/p/a"),
        ("cd a; p $PWD", "?*"),
    ],
)
def test_constants_are_folded_only_where_they_are_sure(argvs, text, argument):
    assert next(words for words in argvs(text) if words[0] == "p")[1] == argument


@pytest.mark.parametrize(
    ("text", "assignments"),
    [
        ("A=1", [("A", "1", -1, False)]),
        ("A=1 B=2 c", [("A", "1", 0, True), ("B", "2", 0, True)]),
        ("export A=1 B", [("A", "1", -1, True), ("B", "?", -1, True)]),
        ("A=1; export A", [("A", "1", -1, False), ("A", "1", -1, True)]),
        (
            "declare -x A=1; typeset B=2; readonly C=3",
            [("A", "1", -1, True), ("B", "2", -1, False), ("C", "3", -1, False)],
        ),
        ('export "PATH=/x"', [("PATH", "/x", -1, True)]),
        ("export $x=1", [("?", "?", -1, True)]),
        ("read PATH", [("PATH", "?", -1, False)]),
        ("read -r -p 'x' A B", [("A", "?", -1, False), ("B", "?", -1, False)]),
        ("read -ra A", [("A", "?", -1, False)]),
        ("read", [("REPLY", "?", -1, False)]),
        ("printf -v PATH x", [("PATH", "?", -1, False)]),
        ("printf -v A; printf -v; printf --; printf", [("A", "?", -1, False)]),
        ("for PATH in .; do :; done", [("PATH", ".", -1, False)]),
        ("(( PATH = 1 ))", [("PATH", "?", -1, False)]),
        ("a ${PATH:=x}", [("PATH", "?", -1, False)]),
        ("a {fd}> f", [("fd", "?", -1, False)]),
        ("command read A", [("A", "?", -1, False)]),
        ("set -a; A=1", [("A", "1", -1, True)]),
        ("A+=x", [("A", "x", -1, False)]),
        ("A[0]=x", [("A", "x", -1, False)]),
        ("A=(x y)", [("A", "?", -1, False)]),
        ("A=1 $(B=2 c) d", [("A", "1", 0, True), ("B", "2", 1, True)]),
    ],
)
def test_every_writer_of_a_variable_is_told(read, text, assignments):
    found = [(a.name, a.value.text, a.part, a.exported) for a in read(text).assignments]
    assert [tuple(x.replace("\0", "?") if isinstance(x, str) else x for x in each) for each in found] == assignments


def test_variables_read_from_outside_are_told(read):
    text = 'A=1; p $A $B "${C:-x}" ${#D} $HOME $1; for E in x; do p $E $E; done'
    assert [name for name, _, _ in read(text).reads_env] == ["B", "C", "D", "HOME"]


def test_functions_and_aliases_shadow_programs(read):
    script = read("ls() { rm x; }; alias cat='rm y' a=b; ls")
    assert script.shadowed == frozenset({"ls", "cat", "a"})
    assert script.functions == (Function("ls", 0, 14),)


def test_a_timed_command_says_so(read):
    assert [c.via for c in read("time -p a b | c; d").commands] == [("time",), (), ()]


def test_a_program_named_time_is_a_program(argvs):
    assert argvs("a | time -o f b; A=1 time c; \\time d") == [
        ["a"],
        ["time", "-o", "f", "b"],
        ["time", "c"],
        ["time", "d"],
    ]


def test_a_loop_over_known_words_is_read_once_for_each(argvs):
    assert argvs("for f in a b; do p $f; done") == [["p", "a"], ["p", "b"]]
