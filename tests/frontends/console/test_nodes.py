"""Pages are trees: what is text stays text in both of their forms."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pages_read import HOSTILE, Reader

from gateway.frontends.console import nodes
from gateway.frontends.console.nodes import Node, data, h, html, text

SCRIPT = Path(nodes.__file__).parent / "static" / "elements.js"


@given(st.text() | st.sampled_from(HOSTILE), st.text() | st.sampled_from(HOSTILE))
def test_a_text_is_text_whatever_it_holds(said: str, value: str):
    shown = "".join(each for each in said if each not in "\r\0")
    titled = "".join(each for each in value if each not in "\r\0")
    found = Reader(html(h("p", {"title": titled}, shown)))
    assert (found.elements, found.said) == ([("p", {"title": titled or None})], shown)


def test_the_twin_without_escaping_is_read_as_markup():
    assert [tag for tag, _ in Reader(f"<p>{HOSTILE[0]}</p>").elements] == ["p", "script"]


def test_the_form_for_scripts_says_the_same():
    node = h(
        "ul", [h("li", {"class": "a"}, "x", 1), None, h("li", {"hidden": False, "open": True}, ["y", h("b", "z")])]
    )
    assert json.loads(json.dumps(data(node))) == [
        "ul", {}, [["li", {"class": "a"}, ["x", "1"]], ["li", {"open": ""}, ["y", ["b", {}, ["z"]]]]],
    ]  # fmt: skip
    assert text(node) == "x1yz"


@pytest.mark.parametrize(
    ("tag", "attributes"),
    [
        ("script", {}), ("iframe", {}), ("style", {}), ("object", {}), ("img", {}), ("link", {}), ("base", {}),
        ("p", {"onclick": "x"}), ("p", {"style": "x"}), ("p", {"srcdoc": "x"}), ("form", {"action": "/x"}),
        ("a", {"href": "javascript:alert(1)"}), ("a", {"href": "//evil.example"}), ("a", {"href": "https://x"}),
    ],
)  # fmt: skip
def test_nothing_that_runs_or_leads_elsewhere_can_be_made(tag: str, attributes: dict[str, str]):
    with pytest.raises(ValueError, match="pages"):
        h(tag, attributes)


def test_a_first_line_that_is_empty_stays():
    assert html(h("pre", "\nx")) == "<pre>\n\nx</pre>"


def test_the_script_has_the_same_lists():
    source = SCRIPT.read_text(encoding="utf-8")

    def words(name: str) -> set[str]:
        found = re.search(rf"const {name} = new Set\(\(?(.*?)\)?\.split", source, re.DOTALL)
        assert found is not None
        return set("".join(re.findall(r'"([^"]*)"', found[1])).split())

    assert (words("TAGS"), words("DRAWING"), words("ATTRIBUTES")) == (nodes.TAGS, nodes.DRAWING, nodes.ATTRIBUTES)


def test_the_script_reads_nothing_as_markup():
    source = SCRIPT.read_text(encoding="utf-8")
    forbidden = (
        r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|new Function|DOMParser|srcdoc|import\("
    )
    assert re.findall(forbidden, source) == []


def test_a_node_is_frozen():
    node = h("p", "x")
    assert isinstance(node, Node)
    with pytest.raises(AttributeError):
        node.tag = "script"  # type: ignore[misc]
