"""What starts processes without end, told from a text's structure."""

from __future__ import annotations

import pytest

from gateway.shell.reading import read

FOUND = {
    ":(){ :|:& };:": ["multiply"],
    "bomb() { bomb | bomb & }; bomb": ["multiply"],
    "function f { f & f; }; f": ["multiply"],
    "f() { (f &) ; f; }": ["multiply"],
    "f() { g; f | cat; f & }": ["multiply"],
    "while true; do ./x & done": ["endless"],
    "while :; do sleep 1 & done": ["endless"],
    "until false; do x & y & done": ["endless"],
    "for ((;;)); do yes & done": ["endless"],
    "for ((i=0;;i++)); do { x & }; done": ["endless"],
    "if a; then while true; do x & done; fi": ["endless"],
    "echo $(while true; do x & done)": ["endless"],
    "x=ab; " + "x=$x$x$x$x$x$x$x$x$x$x; " * 9: ["endless"],
    "x=ab; " + "x=${x}${x}\n" * 30: ["endless"],
    "x=a\n" + "x+=$x\n" * 30: ["endless"],
    "x=a\n" + "x=$x$y$z$u$v$w\n" * 30: [],
    "while true; do (x &); done": ["endless"],
    "while true; do { (x & y &) }; done": ["endless"],
    "while true; do if true; then x & fi; done": ["endless"],
    "while true; do echo again; x & done": ["endless"],
    "while true; do i=1 x & i=2; done": ["endless"],
    "while sleep 0; do x & done": ["endless"],
    "until [ -f x ]; do y & done": ["endless"],
    "while [[ ! -f x ]]; do y & done": ["endless"],
    "while kill -0 $p; do y & done": ["endless"],
    "while ((i<1000000)); do x & ((i++)); done": ["endless"],
    "yes | while read x; do y & done": ["endless"],
    "for i in {1..100000}; do x & done": ["endless"],
    "for i in $(seq 100000); do x & done": ["endless"],
    "for ((i=0;i<100000;i++)); do x & done": ["endless"],
    "for i in {1..100000}; do echo $i; x & done": ["endless"],
    "for i in {1..100000}; do x; done": [],
    "for i in {1..20}; do x & done": [],
    "for i in 100000; do x & done": [],
    "until [ -f x ]; do sleep 1; done": [],
    "until [ -f x ]; do y & sleep 1; done": [],
    "while sleep 5; do x & done": [],
    "while true; do if a; then x & fi; done": [],
    "while true; do (x); done": [],
    "yes | head -3 | while read x; do y; done": [],
    "ls | while read x; do y & done": [],
    "f() { f; }": [],
    "f() { f & }": [],
    "f() { ls | sort; }": [],
    "f() { f 1; f 2; }": [],
    "while true; do x & sleep 5; done": [],
    "while true; do x & wait; done": [],
    "while true; do x; done": [],
    "while read -r x; do y & done": [],
    "for i in 1 2 3; do x & done": [],
    "for ((i=0;i<3;i++)); do x & done": [],
    "x & y & wait": [],
}


@pytest.mark.parametrize("text", FOUND)
def test_texts_without_end_are_told_from_those_that_end(text: str) -> None:
    script = read(text, cwds=("/w",), home="/h", variables={})
    assert [bomb.why for bomb in script.bombs] == FOUND[text]


def test_the_place_is_that_in_the_text() -> None:
    text = "ls; echo $(while true; do x & done); pwd"
    [bomb] = read(text, cwds=("/w",), home="/h", variables={}).bombs
    assert text[bomb.start : bomb.end] == "while true; do x & done"


BRACES = {
    "echo {1..1000000000}": True,
    "echo {1..2000}{1..2000}": True,
    "echo {a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}": True,
    "touch f{1..99999999..1}": True,
    "echo {1..1000}": False,
    "for i in {1..100000}; do :; done": False,
    "echo {1..1000000000..100000}": False,
    "echo '{1..1000000000}'": False,
}


@pytest.mark.parametrize("text", BRACES)
def test_lists_that_no_memory_holds_are_told(text: str) -> None:
    script = read(text, cwds=("/w",), home="/h", variables={})
    assert any("braces" in unknown.why for unknown in script.unknowns) == BRACES[text]
