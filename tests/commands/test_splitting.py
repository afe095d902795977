"""Texts that `env -S` splits: GNU's own env is the judge."""

from __future__ import annotations

import os
import random
import re
import shutil
import subprocess

import pytest

from gateway.commands.splitting import split
from gateway.model.command import Word
from gateway.model.effect import HOLE

ENV, PRINTF = shutil.which("env") or "", shutil.which("printf") or ""
VARIABLES = {"FULL": "a b", "EMPTY": "", "LC_ALL": "C"}
TEXTS = int(os.environ.get("GATEWAY_FUZZ_EXAMPLES", "300"))
PIECES = ("a", "A=b", "-u", " ", "  ", "\t", "'", '"', "\\", "\\_", "\\c", "\\t", "\\n", "\\'", '\\"', "\\#", "\\$",
          "\\x", "#", " #", "${FULL}", "${EMPTY}", "${NONE}", "$FULL", "${", "}", "$", "é", "\v", "''",
          '"x y"')  # fmt: skip


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("A=b  cat 'x y'", ("A=b", "cat", "x y")),
        ('"A=touch X;:" git diff', ("A=touch X;:", "git", "diff")),
        ("a\\_b \"c\\_d\" '\\_'", ("a", "b", "c d", "\\_")),
        ("a #b c", ("a",)),
        ("a#b ''#c \\#d", ("a#b", "#c", "#d")),
        ("a b\\c c", ("a", "b")),
        ("a\\tb '\\'' '\\\\' '\\n'", ("a\tb", "'", "\\", "\\n")),
        ("", ()),
        ("'' \"\"", ("", "")),
    ],
)
def test_a_text_is_split_as_env_says(text: str, words: tuple[str, ...]) -> None:
    found, doubt = split(Word(text, 3, 9))
    assert (tuple(word.text for word in found), doubt) == (words, "")
    assert {(word.start, word.end, word.splits) for word in found} <= {(3, 9, False)}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("${A}", (HOLE,)),
        ("cat x${A}y", ("cat", f"x{HOLE}y")),
        (f"cat {HOLE}", ("cat", HOLE)),
        ("'a b", ("a b",)),
        ("a \\x", ("a", "x")),
        ("a \\", ("a", "")),
        ("$A", ("$A",)),
    ],
)
def test_what_is_not_certain_is_a_doubt_beside_the_likely_words(text: str, words: tuple[str, ...]) -> None:
    found, doubt = split(Word(text, 0, 1))
    assert (tuple(word.text for word in found), doubt != "") == (words, True)
    assert all(word.splits for word in found if HOLE in word.text)


def _is_gnu() -> bool:
    if not ENV or not PRINTF:
        return False
    said = subprocess.run([ENV, "--version"], capture_output=True, text=True, check=False).stdout
    return (
        "GNU coreutils" in said
        and "split-string" in subprocess.run([ENV, "--help"], capture_output=True, text=True, check=False).stdout
    )


@pytest.mark.skipif(not _is_gnu(), reason="GNU's env is not installed")
def test_gnus_env_finds_the_same_words() -> None:
    choose = random.Random(1)
    certain = 0
    for _ in range(TEXTS):
        text = "".join(choose.choice(PIECES) for _ in range(choose.randrange(8)))
        ran = subprocess.run(
            [ENV, "-S", f"{PRINTF} [%s]\\\\0 first {text}"], env=VARIABLES, capture_output=True, check=False
        )
        found, doubt = split(Word(f"first {text}", 0, 1))
        if ran.returncode:
            assert doubt, text
            continue
        real = [piece[1:-1] for piece in ran.stdout.decode().split("\0")[:-1]]
        if doubt:
            assert _may_be(found, real), text
        else:
            certain += 1
            assert [word.text for word in found] == real, text
    assert certain > TEXTS // 4


def _may_be(words: tuple[Word, ...], real: list[str]) -> bool:
    pattern = "".join(f"(?:{re.escape(w.text).replace(re.escape(HOLE), '.*')}\0){'?' * w.splits}" for w in words)
    return re.fullmatch(pattern, "".join(f"{each}\0" for each in real), re.DOTALL) is not None
