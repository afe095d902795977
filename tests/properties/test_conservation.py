"""Nothing that stands in a command is lost: each operand, value, redirection, descriptor and assignment of a described
program is an effect, a doubt, a question to the machine, or is left out for a reason that stands in data."""

from __future__ import annotations

import functools
import random
import shlex
from typing import TYPE_CHECKING, Any

import pytest
from fuzzing import LONG, SEARCH, THOROUGH, share
from hypothesis import given
from hypothesis import strategies as st
from shipped import by_name, descriptions

from gateway.commands.analyse import Start, analyse
from gateway.commands.places import remote, stream
from gateway.commands.variables import assigned
from gateway.model.effect import Touch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from gateway.model.analysis import Analysis

START = Start("/home/dev/project", "/home/dev")
WORDS = (
    "zq/one", "../zq", "/etc/zq", "/home/dev/zq", "$x", "*.zq", '"$x"/zq', "http://h.example/zq", "h.example:/zq",
    "A=zq", "1", "/dev/null", "/dev/sda", "/dev/fd/3", "-",
)  # fmt: skip
ROUNDS = 40 if LONG else 4 if THOROUGH else 1


def ways(name: str, spec: Any) -> Iterator[tuple[str, Any]]:
    """A program or subcommand as it is called, and all below it."""
    yield name, spec
    for spelling, index in spec.get("subcommands", {}).items():
        if "*" not in spelling:
            yield from ways(f"{name} {shlex.quote(spelling)}", spec["nested"][index])


@functools.cache
def every_way() -> tuple[tuple[str, Any], ...]:
    return tuple(way for description in descriptions() for way in ways(description["names"][0], description))


def slots(spec: Any, count: int) -> list[Any]:
    """What each of so many operands stands for, as the description says."""
    lead, rest, tail = list(spec["lead"]), spec["rest"], list(spec["tail"])
    for at, slot in enumerate(lead):
        if slot["kind"] in ("command", "shell"):
            lead, rest, tail = lead[:at], slot, []
            break
    last = tail if tail and count - len(lead) >= len(tail) + (rest is not None and "optional" not in rest) else []
    middle = [rest] * max(count - len(lead) - len(last), 0)
    return [*lead[:count], *middle, *last][:count]


def left_out(slot: Any, word: str, spec: Any) -> str:
    """Why a description lets a word go, "" where it does not."""
    if stream(word):
        return "a device that is only opened"
    if slot is None:
        return "nothing is said of it" if "harmless" in spec else ""
    if slot["kind"] == "text" and not slot["does"]:
        return "text"
    if slot["kind"] == "remote" and not slot["does"] and remote(word) is None:
        return "a name of something of this machine's"
    if slot["kind"].endswith("secret"):
        return "what no record keeps, and nothing else"
    if "cwd" in slot:
        return "the folder in which the program starts"
    if any(key in each for each in (slot, *slot["does"]) for key in ("when", "unless")):
        return "with some options alone"
    if word == "-" and "dash" not in slot:
        return "the program's own input or output"
    if word in spec.get("ignored", ()):
        return "a word of the program's own"
    if slot["kind"] in ("command", "shell"):
        return "another command, with effects of its own"
    if slot["kind"] in ("assignment", "@path", "file-url", "revision"):
        return "means something in another form alone"
    return ""


def accounted(found: Analysis, start: int, end: int) -> bool:
    """Whether something is said of a word, or in doubt of the whole."""
    if any(item.effect.kind in ("code", "opaque") for item in found.items):
        return True
    whole = found.parts[0].start, found.parts[0].end
    return any(
        item.start <= start and item.end >= end and item.effect.kind != "exec" and (item.start, item.end) != whole
        for item in found.items
    ) or any(each.start <= start and each.end >= end for each in found.pending)


def lost(name: str, spec: Any, words: list[str], before: str = "") -> list[str]:
    """The words behind a program's name of which nothing is said, and for no reason."""
    text = f"{name} {before}"
    places = []
    for word in words:
        places.append((len(text), len(text) + len(word)))
        text += word + " "
    found = analyse(text, START, by_name().get)
    taken = slots(spec, len(words))
    return [
        f"{text} lost {word}"
        for word, slot, place in zip(words, [*taken, *[None] * len(words)], places, strict=False)
        if not left_out(slot, word, spec) and not accounted(found, *place)
    ]


@pytest.mark.parametrize("part", range(8))
def test_no_operand_of_a_description_is_lost(part: int) -> None:
    """Of each sixth program or subcommand; of all in a thorough run."""
    chance = random.Random(part)
    found = []
    for name, spec in share(every_way()[part::8], 6, part):
        if spec.get("subcommands") or "dashless" in spec or spec["dialect"] in ("keys", "none"):
            continue
        for _ in range(ROUNDS):
            found += lost(name, spec, [chance.choice(WORDS) for _ in range(chance.randint(1, 4))])
    assert found == []


def some_options(spec: Any, chance: random.Random) -> str:
    """Up to three options that a description lists, each in one of its spellings, with a value where it takes one."""
    plain = [option for option in spec["table"] if option.get("arity", 0) == 0 and "until" not in option]
    valued = [option for option in spec["table"] if option.get("arity") == 1 and "until" not in option]
    text = ""
    for option in chance.sample(plain, min(len(plain), chance.randint(0, 2))):
        text += f"{chance.choice(option['names'])} "
    for option in chance.sample(valued, min(len(valued), chance.randint(0, 1))):
        spelling = chance.choice(option["names"])
        between = "" if spelling.endswith("=") else chance.choice("= ") if spelling.startswith("--") else " "
        text += f"{spelling}{between}1 "
    return text


def test_no_operand_is_lost_behind_options() -> None:
    chance = random.Random(9)
    found = []
    for name, spec in share(every_way(), 12):
        if spec.get("subcommands") or "dashless" in spec or spec["dialect"] in ("keys", "none"):
            continue
        for _ in range(ROUNDS):
            words = [chance.choice(WORDS) for _ in range(chance.randint(1, 3))]
            found += lost(name, spec, words, some_options(spec, chance))
    assert found == []


def test_no_value_of_an_option_is_lost() -> None:
    """Of each program and subcommand each twelfth option, another one for the next; all in a thorough run."""
    found = []
    for number, (name, spec) in enumerate(every_way()):
        for option in share(spec["table"], 12, number):
            if option.get("arity") != 1 or "until" in option:
                continue
            if left_out({"does": [], **option, "kind": option["kinds"][0]}, "zq", spec):
                continue
            spelling = option["names"][0]
            text = f"{name} {spelling}{'' if spelling.endswith('=') else ' '}/etc/zq"
            if not accounted(analyse(text, START, by_name().get), len(text) - 7, len(text)):
                found.append(text)
    assert found == []


REDIRECTS: dict[str, set[str]] = {
    "> zq": {"write"}, ">> zq": {"write"}, ">| zq": {"write"}, "&> zq": {"write"}, "&>> zq": {"write"},
    "2> zq": {"write"}, ">& zq": {"write"}, "{fd}> zq": {"write"}, "7> zq": {"write"}, "< zq": {"read"},
    "7< zq": {"read"}, "<> zq": {"read", "write"}, "1<> zq": {"read", "write"}, "{fd}< zq": {"read"},
}  # fmt: skip
AROUND: dict[str, str] = {
    "a command": "cat {}", "before a command": "{} cat", "between words": "cat {} -n", "none": "{}",
    "a group": "{{ cat; }} {}",
    "a subshell": "( cat ) {}", "a loop": "while read l; do :; done {}", "a for": "for i in a; do :; done {}",
    "a condition": "if true; then :; fi {}", "a case": "case a in a) : ;; esac {}", "a test": "[[ a ]] {}",
    "arithmetic": "(( 1 )) {}", "a function": "f() {{ cat; }} {}; f", "exec": "exec {}", "a pipe": "ls | cat {}",
    "a substitution": "echo $(cat {})", "in the background": "cat {} &", "a negation": "! cat {}",
    "time": "time cat {}",
    "a coprocess": "coproc cat {}", "a here-document besides": "cat <<E {}\nE\n", "eval": "eval 'cat {}'",
    "another shell": "sh -c 'cat {}'", "an assignment alone": "A=1 {}", "a select": "select i in a; do :; done {}",
}  # fmt: skip


@pytest.mark.parametrize("redirect", REDIRECTS)
def test_no_redirection_is_lost(redirect: str) -> None:
    lost = []
    for name, around in AROUND.items():
        found = analyse(around.format(redirect), START, by_name().get)
        kinds = {
            item.effect.kind
            for item in found.items
            if isinstance(item.effect, Touch) and item.effect.path == "/home/dev/project/zq"
        }
        doubted = any(item.effect.kind == "opaque" for item in found.items)
        if not doubted and not kinds >= REDIRECTS[redirect]:
            lost.append(name)
    assert lost == []


SETTING: tuple[Callable[[str], str], ...] = (
    lambda pair: f"{pair} cat f",
    lambda pair: f"export {pair}; cat f",
    lambda pair: f"{pair}; export {pair.partition('=')[0]}; cat f",
    lambda pair: f"declare -x {pair}; cat f",
    lambda pair: f"typeset -gx {pair}; cat f",
    lambda pair: f"env {pair} cat f",
    lambda pair: f"env -S '{pair} cat f'",
    lambda pair: f"env -i {pair} cat f",
    lambda pair: f"set -a; {pair}; cat f",
    lambda pair: f"f() {{ local -x {pair}; cat f; }}; f",
    lambda pair: f"timeout 5 env {pair} cat f",
    lambda pair: f"readonly {pair}; export {pair.partition('=')[0]}; cat f",
    lambda pair: f"eval {pair} cat f",
    lambda pair: f"xargs env {pair} cat < f",
)
NAMES = st.from_regex(r"\A[A-Z_][A-Z0-9_]{0,9}\Z") | st.sampled_from(
    ("PATH", "LD_PRELOAD", "BASH_ENV", "GIT_DIR", "HOME", "IFS", "LANG", "NODE_OPTIONS", "PAGER", "TZ", "PORT")
)


@SEARCH
@given(name=NAMES, way=st.sampled_from(SETTING), value=st.sampled_from(("v", "./v", "/etc/v", "")))
def test_no_variable_that_a_program_sees_is_lost(name: str, way: Callable[[str], str], value: str) -> None:
    found = analyse(way(f"{name}={value}"), START, by_name().get)
    told = {item.effect.target for item in found.items if item.effect.kind == "env"}
    doubted = any(item.effect.kind == "opaque" for item in found.items)
    assert doubted or name in told or not assigned(name, True)
