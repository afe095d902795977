"""No input crashes, hangs, or costs more than in proportion to its length."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any

import pytest
from fuzzing import LONG, SEARCH, THOROUGH
from hypothesis import given
from hypothesis import strategies as st

from gateway.core.errors import CallError
from gateway.model.call import RawCall
from gateway.model.decision import Decision

if TYPE_CHECKING:
    from collections.abc import Callable

SECONDS_PER_10_KB = 0.05
ALLOWANCE = 0.05  # of a text that is shorter, and of a machine that does something else as well


@pytest.fixture(scope="module")
def check(guard: Any) -> Any:
    gateway = guard({"user": {"extends": ["daily"]}})

    def checked(text: str) -> Decision:
        try:
            found: Decision = gateway.check(RawCall("Bash", {"command": text})).decision
        except CallError:
            return Decision.DENY
        return found

    checked("ls")
    return checked


PIECES = (
    "rm", "-rf", "~", "$(", "`", "${", "((", "))", "[[", "]]", "{", "}", "(", ")", "<<E", "\nE\n", "<<<", "<(", ">(",
    "|", "||",
    "&&", "&", ";", ";;", "\n", "if", "then", "else", "fi", "for", "in", "do", "done", "while", "case", "esac",
    "function", "f()",
    "'", '"', "\\", "$'", "$x", "${x:-", "${x//a/b}", "*", "?", "[a", "{a,b}", "{1..9}", "x=", "x=(", "#", "!",
    "time", "coproc",
    "eval", "bash -c", "xargs", "find . -exec", "env", "sudo", "git", "python3 -c", "perl -e", "awk", "sed", "jq",
    "sqlite3 f",
    "node -e", "tar", "\t", "é", "\u200b", "\u202e", "\x00", "\x1b", "\r", "\ud800", "\U0001f600", "2>&1", ">", "<>",
    "{fd}>",
    "cd", "export", "read", "set --", "trap", "alias", "declare -n", "$((", "1+1", "a[$x]", "@(a|b)", "~+", "%s",
    "-I{}", "{}",
)  # fmt: skip
TEXTS = st.one_of(
    st.text(max_size=200),
    st.binary(max_size=200).map(lambda data: data.decode("utf-8", "surrogateescape")),
    st.lists(st.sampled_from(PIECES), max_size=40).map(" ".join),
    st.lists(st.sampled_from(PIECES), max_size=40).map("".join),
    st.tuples(st.sampled_from(PIECES), st.integers(1, 400), st.sampled_from(PIECES)).map(
        lambda p: p[0] * p[1] + p[2] * p[1]
    ),
)


def cost(check: Callable[[str], Decision], text: str) -> float:
    """Processor seconds of an answer: the least of three, because other work on the machine only ever adds."""
    spent = []
    for _ in range(3):
        begin = time.process_time()
        check(text)
        spent.append(time.process_time() - begin)
    return min(spent)


@SEARCH
@given(text=TEXTS)
def test_every_text_is_answered(check: Callable[[str], Decision], text: str) -> None:
    assert check(text) in Decision
    if LONG:
        spent = cost(check, text)  # what the first one loads is no part of it
        assert spent < SECONDS_PER_10_KB * max(1, len(text) / 10_000) + ALLOWANCE, (spent, text)


# Texts of growing size. What one costs is counted in calls of functions, which is the same on every machine.
GROWING: dict[str, Callable[[int], str]] = {
    "words": lambda n: "ls " + "x " * n,
    "commands": lambda n: "ls x; " * n,
    "known commands": lambda n: "cat a b; git status; rm x\n" * n,
    "pipes": lambda n: "cat x" + " | grep y" * n,
    "redirects": lambda n: "ls" + " > x" * n,
    "substitutions": lambda n: "ls " + "$(cat x) " * n,
    "nested substitutions": lambda n: "ls " + "$(cat " * n + ")" * n,
    "nested quotes and substitutions": lambda n: 'ls "$(' * n + 'x' + ')"' * n,
    "nested groups": lambda n: "{ " * n + "ls; " + "}; " * n,
    "nested subshells": lambda n: "( " * n + "ls " + ") " * n,
    "nested ifs": lambda n: "if ls; then " * n + "ls" + "; fi" * n,
    "nested loops": lambda n: "for i in a b; do " * n + "ls $i" + "; done" * n,
    "loops one after the other": lambda n: "for i in a b; do ls $i; done; " * n,
    "assignments": lambda n: "".join(f"x{i}=a; " for i in range(n)) + "ls $x1",
    "variables that name each other": lambda n: "x0=a; " + "".join(f"x{i + 1}=$x{i}; " for i in range(n)) + f"ls $x{n}",
    "a variable that grows": lambda n: "x=ab; " + "x=$x$x; " * n + "ls $x",
    "functions": lambda n: "".join(f"f{i}() {{ ls; }}; f{i}; " for i in range(n)),
    "functions that call each other": lambda n: "f0() { ls; }; "
    + "".join(f"f{i + 1}() {{ f{i}; f{i}; }}; " for i in range(n))
    + f"f{n}",
    "here-documents": lambda n: "cat <<E\n$x text\nE\n" * n,
    "cases": lambda n: "case x in a) ls;; *) cat x;; esac; " * n,
    "folders": lambda n: "cd src; ls; " * n,
    "folders that may be": lambda n: "ls && cd src || cd docs; " * n + "cat x",
    "braces": lambda n: "ls " + "{a,b} " * n,
    "braces that multiply": lambda n: "ls " + "{a,b}" * n,
    "options": lambda n: "rm " + "-f " * n + "x",
    "an option of which nobody knows what it does": lambda n: "ssh " + "-o A=b " * n + "h ls",
    "a folder in a folder in a folder": lambda n: "git " + "-C a " * n + "status",
    "a folder that receives files": lambda n: "cp " + " ".join(f"f{i}" for i in range(n)) + " out",
    "files of a deep folder": lambda n: "cd " + "a/" * n + "; cat " + " ".join(f"f{i}" for i in range(n)),
    "labels of a host": lambda n: "curl http://" + "a." * n + "com/",
    "wrappers": lambda n: "env nice timeout 5 " * n + "ls",
    "wrappers whose command may start anywhere": lambda n: "swift build " * n,
    "such wrappers, over hosts": lambda n: "bunx timeout 5 ssh h " * n,
    "coprocesses of evals": lambda n: "coproc eval " * n + "ls",
    "shells in shells": lambda n: "sh -c " * n + "ls",
    "evals": lambda n: "eval " * n + "ls",
    "xargs": lambda n: "ls" + " | xargs cat" * n,
    "quotes": lambda n: "ls " + "'a'\"b\"\\c" * n,
    "globs": lambda n: "ls " + "*.py " * n,
    "python": lambda n: "python3 -c '" + "print(1); " * n + "'",
    "python with values": lambda n: "python3 -c '" + "x = open(\"a\").read(); " * n + "'",
    "python that nests": lambda n: "python3 -c 'print(" + "(" * n + "1" + ")" * n + ")'",
    "awk": lambda n: "awk '" + "{ print $1; x = x y } " * n + "' f",
    "sed": lambda n: "sed '" + "s/a/b/; " * n + "' f",
    "jq": lambda n: "jq '" + ".a | " * n + ".b' f",
    "perl": lambda n: "perl -ne '" + "print if /a/; " * n + "' f",
    "sql": lambda n: "sqlite3 f '" + "select a from b; " * n + "'",
    "words that cannot be parsed": lambda n: "rm x " * n + "'",
    "comments": lambda n: "# rm x\n" * n + "ls",
    "arithmetic": lambda n: "echo $((" + "1+" * n + "1))",
    "tests": lambda n: "[[ " + "-n a && " * n + "-n b ]] && ls",
    "arrays": lambda n: "a=(" + "x " * n + "); ls ${a[0]}",
    "tildes and paths": lambda n: "cat " + "~/a/../b/./c " * n,
}  # fmt: skip


def work(check: Callable[[str], Decision], text: str) -> int:
    """How many functions are called to answer."""
    count = 0

    def counted(_frame: Any, event: str, _argument: Any) -> None:
        nonlocal count
        if event in ("call", "c_call"):
            count += 1

    before = sys.getprofile()
    sys.setprofile(counted)
    try:
        check(text)
    finally:
        sys.setprofile(before)
    return count


SIZES = (2_000, 4_000, 8_000) if THOROUGH else (125, 250, 500)


def of_size(text: Callable[[int], str], size: int) -> str:
    """A text of about that many characters."""
    n = 1
    while len(text(n)) < size and n < size:
        n *= 2
    return text(n)


@pytest.mark.parametrize("text", GROWING.values(), ids=GROWING.keys())
def test_twice_the_text_is_at_most_about_twice_the_work(
    check: Callable[[str], Decision], text: Callable[[int], str]
) -> None:
    texts = [of_size(text, size) for size in SIZES]
    if len(texts[-1]) > 100_000:
        texts = [text(8), text(9), text(10)]  # a text that says more than its length
    costs = [work(check, each) / len(each) for each in texts]
    # A step is allowed, where a bound is hit or another way of reading begins; growing all the way is not.
    assert min(costs[1] / costs[0], costs[2] / costs[1]) < 1.3, costs


@pytest.mark.parametrize("text", GROWING.values(), ids=GROWING.keys())
def test_a_short_text_is_not_much_work(check: Callable[[str], Decision], text: Callable[[int], str]) -> None:
    """Where one thing leads to two of its kind, thirty of them would already take for ever."""
    assert work(check, text(12)[:2_000]) < 300_000
    assert work(check, text(30)[:2_000]) < 300_000


@pytest.mark.skipif(not LONG, reason="times are only measured in a long run (scripts/fuzz)")
@pytest.mark.parametrize("text", GROWING.values(), ids=GROWING.keys())
@pytest.mark.parametrize("size", [2_000, 10_000, 40_000, 90_000] if LONG else [2_000])
def test_ten_kilobytes_take_no_more_than_fifty_milliseconds(
    check: Callable[[str], Decision], text: Callable[[int], str], size: int
) -> None:
    long = of_size(text, size)
    spent = cost(check, long)
    assert spent < SECONDS_PER_10_KB * max(1, len(long) / 10_000), (spent, len(long))
