"""A second parser confirms what was read, or the text counts as not understood."""

from __future__ import annotations

import builtins
import importlib.util
import subprocess
import sys

import pytest

from gateway.model.call import RawCall
from gateway.shell.reading import read as read_text
from gateway.shell.script import Script, Unknown
from gateway.shell.secondopinion import MAX_TEXT, disagreement, with_second_opinion

installed = pytest.mark.skipif(
    importlib.util.find_spec("bashlex") is None, reason="the extra `bashlex` is not installed"
)


def script_of(text: str) -> Script:
    return read_text(text, cwds=("/p",), home="/home/dev", variables={"HOME": "/home/dev"})


CONFIRMED = [
    "ls -l 'a b' | grep x", "rm $X", "x=rm; $x y", "a && b || c; d & e", "( a ); { b; }", "if a; then b; else c; fi",
    "for i in a b; do c $i; done", "while a; do b; done", "f() { rm x; }; f", "echo $(a `b c`)", "a <(b) >(c)",
    "a > f 2>&1 < g", "cat <<E\nhi\nE\n", "cat <<< x", "A=1 env B=2 c", "! a", "a {b,c} ~ *.py", "a\nb\n# c\n", "# a",
    "", "export A=1", "exec 3<>f", "$'rm' x", "a \\\n b",
]  # fmt: skip


@installed
@pytest.mark.parametrize("text", CONFIRMED)
def test_what_both_find_is_left_as_it_is(text):
    script = script_of(text)
    assert with_second_opinion(text, script) == script


# What the first parser could have missed or made up, and what the second says to it.
WRONG = {
    "a command is missing": ("ls; rm x", "ls", "only the second parser finds `rm x`"),
    "a command is made up": ("ls", "ls; rm x", "the second parser does not find `rm x`"),
    "a word is missing": ("rm x y", "rm x", "the second parser does not find `rm x`"),
    "a word is another": ("rm x", "rm y", "the second parser does not find `rm y`"),
    "a redirection is missing": ("ls > f", "ls", "only the second parser opens `f`"),
    "a redirection is made up": ("ls", "ls > f", "the second parser does not open `f`"),
    "a file is read and not written": ("ls > f", "ls < f", "the second parser does not open `f`"),
}


@installed
@pytest.mark.parametrize(("text", "wrong", "why"), WRONG.values(), ids=WRONG.keys())
def test_where_the_first_parser_is_wrong_the_text_is_not_understood(text, wrong, why):
    found = with_second_opinion(text, script_of(wrong))
    assert (found.unknowns, found.commands) == ((Unknown(why, 0, len(text)),), script_of(wrong).commands)
    assert found.tokens
    assert with_second_opinion(text, script_of(text)).unknowns == ()


@installed
@pytest.mark.parametrize("text", ["case a in b) c;; esac", "[[ -n a ]]", "echo $((1 + 2))", "a=(1 2)", "time a"])
def test_what_the_second_parser_cannot_read_is_not_confirmed(text):
    assert disagreement(text, script_of(text)).startswith("the second parser cannot read it: ")


@installed
def test_a_long_text_is_not_given_to_the_second_parser():
    text = "a " * MAX_TEXT
    assert disagreement(text, script_of(text)) == "too long for the second parser"


def test_without_the_second_parser_nothing_is_confirmed(monkeypatch):
    real = builtins.__import__

    def missing(name, *rest, **more):
        if name == "bashlex":
            raise ImportError(name)
        return real(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", missing)
    assert "is not installed" in disagreement("ls", script_of("ls"))


def decision(guard, text, **settings):
    layers = {"user": {"settings": settings, "rules": [{"id": "no-rm", "deny": "Bash(rm *)"}]}}
    return guard(layers).check(RawCall("Bash", {"command": text})).decision.word


@pytest.mark.parametrize(
    ("text", "off", "on"),
    [
        ("ls", "allow", "allow"),
        ("[[ -n a ]] && ls", "allow", "ask"),
        ("bash -c '[[ -n a ]] && ls'", "allow", "ask"),
        ("[[ -n a ]] && rm x", "deny", "deny"),
    ],
)
@installed
def test_a_policy_asks_for_it(guard, text, off, on):
    assert (decision(guard, text), decision(guard, text, second_opinion=True)) == (off, on)


def test_nobody_pays_who_does_not_ask(tmp_path):
    program = (
        "import sys; from gateway.commands.analyse import Start, analyse; "
        "analyse('ls | wc', Start('/p', '/h'), {}.get); "
        "print('bashlex' in sys.modules or 'gateway.shell.secondopinion' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert done.stdout == "False\n"
