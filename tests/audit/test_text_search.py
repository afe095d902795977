"""A look at the bytes finds every line that reading each of them as JSON would find."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from gateway.audit.index import Index, Query
from gateway.audit.store import Store
from gateway.audit.text_search import needles
from gateway.core.plainjson import dumps

if TYPE_CHECKING:
    from pathlib import Path

TEXT = st.text(st.sampled_from('abkiKI\u017f\u0130\u212a\u00e4\u00c4 ,:"\\\n\x7f[]{}\U0001f600-/0'), max_size=8)


@given(said=TEXT, text=TEXT)
def test_a_line_that_holds_a_text_holds_one_of_its_needles(said: str, text: str) -> None:
    record = {"kind": "decision", "input": {"command": said}, "n": 3}
    line = dumps(record).lower().encode("ascii")
    if text.lower() in json.dumps(record, ensure_ascii=False).lower():
        assert not needles(text) or any(needle in line for needle in needles(text))


def test_a_text_is_found_in_decisions_and_outcomes_of_all_files_in_any_case(tmp_path: Path) -> None:
    store = Store(str(tmp_path / "audit"), most_bytes=2_000, keep=0)
    for number in range(100):
        command = f"echo Needle-{number} \u00c4rger" if number % 10 == 3 else f"echo {number}"
        store.append(dumps({"kind": "decision", "id": f"i{number}", "input": {"command": command}}))
        store.append(dumps({"kind": "outcome", "id": f"i{number}", "ended": "exited", "reason": f"end {number}"}))
    store.close()
    with Index(str(tmp_path / "audit")) as index:
        ids = [(each.decision or {})["id"] for each in index.find(Query("nEEDLE-"))]
        assert ids == [f"i{number}" for number in range(3, 100, 10)]
        assert [(each.decision or {})["id"] for each in index.find(Query("needle-"), 2)] == ["i83", "i93"]
        assert len(index.find(Query("\u00e4RGER"))) == 10
        assert [(each.decision or {})["id"] for each in index.find(Query("END 99"))] == ["i99"]
        assert index.find(Query("needle-44")) == []
        assert len(index.find(Query('"'))) == 100
