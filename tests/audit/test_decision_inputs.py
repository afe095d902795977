"""What decisions were made with, as texts beside the record: nothing is lost on the way, and nobody waits for it."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.audit.decision_inputs import MOST_BYTES, Beside, seen_of
from gateway.audit.redact import Redactor
from gateway.audit.shared_texts import Beside as Texts
from gateway.audit.shared_texts import read_texts
from gateway.model.context import Context
from gateway.model.effect import HOLE
from gateway.model.facts import Facts, GitFact, Origin, PathFact, Seen, TreeFact

if TYPE_CHECKING:
    from pathlib import Path

KEY = b"k" * 32
WORD = st.text("ab/ .-" + HOLE, max_size=8)
WORDS = st.lists(WORD, max_size=3).map(tuple)
PATHS = st.builds(PathFact, WORD, st.sampled_from(("file", "dir", "missing")))
GIT = st.builds(
    GitFact, WORD, st.booleans(), WORD, st.lists(st.tuples(WORD, WORD), max_size=2).map(tuple), WORD,
    st.tuples(WORD, WORD), WORD,
)  # fmt: skip
SETTINGS = st.dictionaries(
    st.tuples(WORD, WORDS), st.none() | st.lists(st.tuples(WORD, WORD), max_size=2).map(tuple), max_size=3
)
FACTS = st.builds(
    Facts, st.dictionaries(WORD, PATHS, max_size=3), st.dictionaries(WORD, st.none() | WORDS, max_size=2),
    programs=st.dictionaries(WORD, WORD, max_size=2), git=st.dictionaries(WORD, GIT, max_size=2),
    trees=st.dictionaries(st.tuples(WORD, WORD), st.builds(TreeFact, WORDS, st.booleans()), max_size=2),
    untrusted_programs=st.frozensets(WORD, max_size=2), names=st.dictionaries(WORD, st.booleans(), max_size=2),
    settings=SETTINGS, nests=st.dictionaries(WORD, st.none() | st.booleans(), max_size=2),
    chosen=st.frozensets(WORD, max_size=2), searched=WORDS, wanders=st.booleans(),
)  # fmt: skip
CONTEXTS = st.builds(
    Context, WORD, WORD, WORD, WORDS, WORDS, mode=st.sampled_from(("default", "plan")), confined=st.booleans(),
    agent=WORD, depth=st.integers(0, 3), branch=WORD, now=st.floats(0, 4e9), rules=WORDS, room=WORD,
    shared=st.lists(st.tuples(WORD, WORD), max_size=2).map(tuple),
)  # fmt: skip
SEEN = st.builds(
    Seen, CONTEXTS, FACTS,
    origin=st.builds(Origin, WORD, trust=WORDS, binding=st.booleans(), revision=WORD,
                     servers=st.lists(st.tuples(WORD, WORD, WORD), max_size=2).map(tuple)),
    branch_known=st.booleans(), shell=st.sampled_from(("bash", "zsh")), server=WORD,
    annotations=st.dictionaries(WORD, st.booleans(), max_size=1), own=st.none() | st.booleans(), others=WORDS,
    cannot=st.lists(st.tuples(WORDS, WORD), max_size=2).map(tuple),
)  # fmt: skip


@given(SEEN)
def test_what_is_kept_is_read_back_whole(seen: Seen) -> None:
    field, ((facts, told), (circumstances, text)) = Beside(Redactor()).of(seen, KEY)
    assert field == f'["{facts}","{circumstances}",{seen.context.now!r}]'
    assert seen_of(told.encode("ascii"), text.encode("ascii"), seen.context.now) == seen


def test_a_field_that_nobody_knows_is_no_fact() -> None:
    with pytest.raises(ValueError, match="as this version"):
        seen_of(b'{"weather":"fine"}', b'{"origin":{"root":"/p"}}', 1.0)


@pytest.mark.parametrize(
    ("facts", "why"),
    [
        (Facts(paths={"/p/" + "x" * MOST_BYTES: PathFact("/p", "file")}), "large"),
        (Facts(settings={("/p", (".npmrc",)): (("/p/.npmrc", "//r/:_authToken=npm_" + "aB3" * 12),)}), "secret"),
    ],
)
def test_what_is_too_large_or_holds_a_secret_is_left_out_and_said(facts: Facts, why: str) -> None:
    seen = Seen(Context("/p", "/p", "/h"), facts, Origin("/p"))
    field, ((digest, text), _circumstances) = Beside(Redactor()).of(seen, KEY)
    assert (digest, text, field.startswith(f'["{why}",')) == (why, "", True)


def names(folder: Path) -> dict[str, int]:
    return {path.name: stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()}


def test_a_text_is_written_once_by_whoever_comes_first(tmp_path: Path) -> None:
    one, two = Texts(1 << 20), Texts(1 << 20)
    stem = str(tmp_path / "000001")
    texts = [(f"{number:032x}", f'{{"n":{number}}}') for number in range(50)]
    for writer in (one, two, one):
        writer.keep(stem, texts)
    assert read_texts(stem) == {digest: text.encode() for digest, text in texts}
    assert (tmp_path / "000001.facts").read_bytes().count(b"\n") == 50
    assert names(tmp_path) == {"000001.facts": 0o600, "000001.known": 0o600}
    one.close(), two.close()


def test_a_text_that_was_torn_costs_no_other(tmp_path: Path) -> None:
    stem = str(tmp_path / "000001")
    (tmp_path / "000001.facts").write_bytes(b"0" * 32 + b' {"half')
    os.chmod(tmp_path / "000001.facts", 0o600)
    writer = Texts(1 << 20)
    writer.keep(stem, [("1" * 32, "{}")])
    writer.close()
    assert read_texts(stem)["1" * 32] == b"{}"


def test_texts_are_bounded(tmp_path: Path) -> None:
    writer = Texts(1_000)
    writer.keep(str(tmp_path / "000001"), [(f"{number:032x}", "x" * 60) for number in range(100)])
    writer.close()
    assert (tmp_path / "000001.facts").stat().st_size <= 1_000
