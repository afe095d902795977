"""What files of memory say: what they bring in, how they are cut, and that none can end its own block."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.agent.memory_text import MOST_IMPORTS, as_block, cut, imports

BRINGS_IN = {
    "a path behind words": ("See @docs/style.md for more.", ["docs/style.md"]),
    "one at the end of a sentence": ("All is in @README.", ["README"]),
    "several, each once": ("@a.md and @b.md and @a.md", ["a.md", "b.md"]),
    "in brackets and quotes": ("(@a.md) \"@b.md\" '@c.md' [@d.md]", ["a.md", "b.md", "c.md", "d.md"]),
    "of the home, from the top, upwards": ("@~/x.md @/etc/x @../y.md @./z", ["~/x.md", "/etc/x", "../y.md", "./z"]),
    "an address brings in nothing": ("ask me@example.com", []),
    "nor does a name in code": ("`@a.md` and ``x ` @b.md`` but @c.md", ["c.md"]),
    "nor one in code over two lines": ("`x\n@a.md` @b.md", ["b.md"]),
    "nor a block of code": ("```sh\n@a.md\n```\n@b.md", ["b.md"]),
    "a shorter fence does not end a block": ("~~~~\n@a\n~~~\n@b\n~~~~\n@c", ["c"]),
    "another fence does not end a block": ("```\n@a\n~~~\n@b\n```\n@c", ["c"]),
    "a block without an end goes on": ("@a\n```\n@b\n", ["a"]),
    "nothing": ("", []),
}


@pytest.mark.parametrize(("text", "found"), BRINGS_IN.values(), ids=BRINGS_IN)
def test_a_text_brings_in_what_it_names(text: str, found: list[str]) -> None:
    assert list(imports(text)) == found


def test_a_text_brings_in_so_many_files_and_no_more() -> None:
    assert len(imports(" ".join(f"@f{n}" for n in range(500)))) == MOST_IMPORTS


def test_what_is_cut_off_is_said() -> None:
    assert cut("one\ntwo\n", 100) == "one\ntwo\n"
    assert cut("one\ntwo\nthree\n", 9) == "one\ntwo\n[7 more characters are left out: read the file for them]"


@given(st.text(alphabet='<>/memory \n"&=afile', max_size=60), st.text(alphabet='<>"& ab\n', max_size=20))
def test_no_text_and_no_name_ends_its_own_block(text: str, name: str) -> None:
    block = as_block(name, "project", text)
    assert block.count("</memory") == 1
    assert block.endswith("\n</memory>")
    head = block.partition(">")[0]
    assert head.endswith(' layer="project"')
