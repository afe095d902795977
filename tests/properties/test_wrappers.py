"""A command behind a wrapper is never judged milder than the command itself.

The wrappers are those of the descriptions: every example in which a wrapper is given `rm x` is one, with another
command in its place, as words or as a text.
"""

from __future__ import annotations

import functools
import re
import shlex
from typing import Any

import pytest
from fuzzing import SEARCH
from hypothesis import given
from hypothesis import strategies as st
from shipped import descriptions
from test_corpus import CASES

from gateway.core.errors import CallError
from gateway.model.call import RawCall
from gateway.model.decision import Decision

_GIVEN = re.compile(r"(?P<text>'rm x'|\"rm x\")|(?<!\S)rm x(?!\S)")
# What runs on another machine or in a container has other files than the command itself.
ELSEWHERE = {"ssh", "docker", "docker-compose", "kubectl", "crictl", "buildah", "minikube"}

# What these start is a program of the project's, a callback, or judged by itself once more; or any word may be a
# command to them, so that all of it is code.
WITHOUT = {
    "read", "dotnet", "deno", "swift", "gateway", "compseq", "exiv2", "po4a-gettextize", "rabin2",
    "birdc", "pw-cli",
}  # fmt: skip


def _is_plain(example: str) -> bool:
    """Whether another command can stand in the place of `rm x`: a text in a text would need quotes of its own."""
    moves = "-execdir" in example or example.startswith("env -C")  # another folder makes it another command
    return bool(_GIVEN.search(example)) and not moves and "|" not in example and not {"'", '"'} <= set(example)


def _handed_on(spec: dict[str, Any]) -> bool:
    """Whether a description says that some words are a command, or a text for a shell."""
    slots = [*(spec.get("lead") or ()), spec.get("rest") or {}, spec.get("after") or {}, *(spec.get("tail") or ())]
    kinds = {slot.get("kind") for slot in slots}.union(*(option.get("kinds", ()) for option in spec.get("table", ())))
    special = {
        "wrapped",
        "shell",
        "eval",
        "env",
        "sudo",
        "su",
        "watch",
        "flock",
        "script",
        "command",
        "each_shell",
        "npx",
    }
    return (
        not {"command", "shell"}.isdisjoint(kinds)
        or any("until" in option for option in spec.get("table", ()))
        or not special.isdisjoint(spec.get("special", ()))
        or any(_handed_on(child) for child in spec.get("nested", ()))
    )


@functools.cache
def wrapping() -> tuple[dict[str, Any], ...]:
    return tuple(each for each in descriptions() if _handed_on(each) and each["names"][0] not in ELSEWHERE)


BESIDES = {
    "find . -exec rm x \\;", "find . -ok rm x \\;", "fd a -x rm x", "su -c 'rm x'",
    "xargs -0 -n1 rm x", "busybox rm x", "exec -c rm x", "builtin command rm x", "coproc rm x", "time rm x",
    "env - rm x", "env -i rm x", "env -u A rm x", "env -S 'rm x'", "env -vS 'rm x'",
    "env --split-string='rm x'", "setpriv --no-new-privs rm x", "doas rm x", "sudo rm x", "nohup rm x", "uvx rm x",
    "npx rm x", "trap 'rm x' EXIT", "parallel ::: 'rm x'", "script -c 'rm x' /dev/null", "sh -c 'rm x'",
    "conda run rm x", "chroot / rm x", "bunx rm x", "screen rm x", "yarn exec rm x", "pdm run rm x", "bun x rm x",
    "pnpm exec rm x", "npm exec rm x", "pipx run rm x", "jobs -x rm x", "ip netns exec n rm x",
    }  # fmt: skip


@functools.cache
def templates() -> list[str]:
    return sorted(
        BESIDES
        | {example for each in wrapping() for example in each["examples"] if _is_plain(example)}
        | {text.replace("cat f", "rm x") for each in wrapping() for text in each["examples"] if text.endswith("cat f")}
    )


_SIMPLE = re.compile(r"[a-z][\w+-]*( [\w./:,@+=~-]+)*")
_OF_THE_SHELL = frozenset(
    ("cd", "pushd", "popd", "exit", "export", "unset", "set", "source", "eval", "alias", "declare", "typeset", "local",
     "readonly", "read", "mapfile", "readarray", "trap", "wait", "let", "getopts", "shopt", "time", "coproc", "exec",
     "return", "printf", "builtin", "command", "hash", "history", "complete", "enable", "test", "if", "for", "while")
)  # fmt: skip
HARMFUL = sorted(
    {
        text
        for case in CASES
        if (text := case.get("call", "")[5:-1]) and case.get("call", "").startswith("Bash(")
        and case["expect"] in ("deny", "ask") and _SIMPLE.fullmatch(text) and len(text) < 60
        and text.partition(" ")[0] not in _OF_THE_SHELL and "/" not in text.partition(" ")[0]
    }
)  # fmt: skip
PLAIN = ("ls", "cat src/a.py", "rm x", "git log", "git diff", "node --version", "python3 x.py", "sh -c ls", "touch x")
ASSIGNED = ("PATH=.", "GIT_EXTERNAL_DIFF=x", "BASH_ENV=./x", "NODE_OPTIONS=--require=./x", "PERL5OPT=-Mx", "GIT_DIR=b",
            "GIT_TRACE=/tmp/x", "LD_PRELOAD=./x.so", "FOO=1", "LC_ALL=C", "TZ=/etc/shadow")  # fmt: skip


@st.composite
def commands(draw: Any) -> tuple[list[str], list[str]]:
    """Assignments, and the words of a command behind them."""
    assigned = draw(st.lists(st.sampled_from(ASSIGNED), max_size=2))
    return assigned, draw(st.sampled_from(PLAIN) | st.sampled_from(HARMFUL)).split(" ")


def within(template: str, assigned: list[str], words: list[str]) -> str:
    """The wrapper around another command. Assignments stand in front where a shell reads them, else behind env."""

    def given(found: re.Match[str]) -> str:
        if found["text"]:
            return shlex.quote(" ".join((*assigned, *words)))
        return " ".join((*(("env", *assigned) if assigned else ()), *words))

    return _GIVEN.sub(given, template)


@pytest.fixture(scope="module", params=["default", "accept_edits", "read_only"])
def decide(guard: Any, request: Any) -> Any:
    gateway = guard({"user": {"extends": ["daily"]}}, mode=request.param, confined=False)

    def decision(text: str) -> Decision:
        try:
            found: Decision = gateway.check(RawCall("Bash", {"command": text})).decision
        except CallError:
            return Decision.DENY
        return found

    return decision


def test_every_description_that_hands_on_has_a_wrapper_here() -> None:
    programs = {template.split()[0] for template in templates()}
    without = {each["names"][0] for each in wrapping() if programs.isdisjoint(each["names"])}
    assert without == WITHOUT


def test_there_is_something_to_hand_on() -> None:
    assert (len(templates()) > 60, len(HARMFUL) > 300) == (True, True)


@SEARCH
@given(template=st.deferred(lambda: st.sampled_from(templates())), command=commands())
def test_a_wrapper_never_makes_a_command_milder(
    decide: Any, template: str, command: tuple[list[str], list[str]]
) -> None:
    plain = " ".join((*command[0], *command[1]))
    wrapped = within(template, *command)
    assert decide(wrapped) >= decide(plain), (plain, wrapped)


QUOTINGS = (
    str,
    lambda word: f"'{word}'",
    lambda word: f'"{word}"',
    lambda word: word[:1] + '""' + word[1:],
    lambda word: word[:2] + "''" + word[2:],
)
BLANKS = (" ", "  ", "\\_", "\t", "\\_ ")
OPTIONS = ("", "", "-i", "-v", "-u FOO", "-C .", "-", "--")


@SEARCH
@given(command=commands(), option=st.sampled_from(OPTIONS), outside=st.integers(0, 3), data=st.data())
def test_a_text_for_env_is_never_milder_than_its_words(
    decide: Any, command: tuple[list[str], list[str]], option: str, outside: int, data: Any
) -> None:
    words = [
        word.replace("~", "/home/dev") for word in (*option.split(), *command[0], *command[1])
    ]  # no shell expands it
    cut = max(len(words) - outside, 0)
    text = "".join(
        data.draw(st.sampled_from(QUOTINGS))(word) + data.draw(st.sampled_from(BLANKS)) for word in words[:cut]
    )
    form = data.draw(st.sampled_from(("-S {}", "-S{}", "--split-string={}", "--split-string {}", "-vS {}", "--spl={}")))
    written = " ".join(("env", form.format(shlex.quote(text)), *words[cut:]))
    assert decide(written) >= decide(" ".join(("env", *words))), written
