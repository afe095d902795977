"""Programs that start a command somewhere among their words: which words may be one."""

from __future__ import annotations

import pytest

from gateway.model.call import RawCall


@pytest.mark.parametrize(
    ("text", "deletes"),
    [
        ("fossa rm x", True),
        ("fossa --reason=a rm x", True),
        ("fossa --message 'a b' rm x", True),
        ("fossa -e 'rm x'", True),
        ("fossa --message -c 'rm x'", True),
        ("fossa --messages='a; rm x'", True),
        ("fossa --description='stop the service; rm x'", False),
        ("fossa create --title 'crontab -e; rm x' --body='rm x'", False),
    ],
)
def test_a_sentence_for_people_starts_nothing(guard, text: str, deletes: bool) -> None:
    verdict = guard().check(RawCall("Bash", {"command": text}))
    assert any(item.effect.kind == "delete" for item in verdict.analysis.items) == deletes
    assert any(item.effect.kind == "code" for item in verdict.analysis.items)
