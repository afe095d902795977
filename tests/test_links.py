"""Links of the README, `docs/` and the examples: each relative one leads to a file and a heading that are there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), *sorted((ROOT / "examples").glob("*/README.md"))]
_FENCED = re.compile(r"^ *(```|~~~).*?^ *\1 *$", re.MULTILINE | re.DOTALL)
_SPAN = re.compile(r"(`+)(?!`).*?(?<!`)\1(?!`)", re.DOTALL)
_LINK = re.compile(r"\[[^\]]*\]\(([^()\s]+)\)")
_HEADING = re.compile(r"^#{1,6} +(.*?) *#*$", re.MULTILINE)


def anchors(page: str) -> set[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    found: set[str] = set()
    for heading in _HEADING.findall(_FENCED.sub("", page)):
        text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
        plain = re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-")
        number = 0
        name = plain
        while name in found:
            number += 1
            name = f"{plain}-{number}"
        found.add(name)
    return found


def links(page: str) -> list[str]:
    """What the page links to, outside of code, and not on the web."""
    prose = _SPAN.sub("``", _FENCED.sub("", page))
    return [each for each in _LINK.findall(prose) if not re.match(r"[a-z]+:", each)]


def lead_nowhere(path: Path) -> list[str]:
    wrong = []
    for link in links(path.read_text(encoding="utf-8")):
        file, _, anchor = link.partition("#")
        target = path.parent / file if file else path
        if not target.exists() or (anchor and anchor not in anchors(target.read_text(encoding="utf-8"))):
            wrong.append(link)
    return wrong


@pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_link_leads_to_a_file_and_a_heading_that_are_there(page: Path) -> None:
    assert lead_nowhere(page) == []


def test_every_page_of_the_documentation_is_reached_from_the_readme() -> None:
    reached: set[Path] = set()
    waiting = [ROOT / "README.md"]
    while waiting:
        page = waiting.pop()
        if page not in reached:
            reached.add(page)
            files = {each.partition("#")[0] for each in links(page.read_text(encoding="utf-8"))}
            waiting += [(page.parent / each).resolve() for each in files if each.endswith(".md")]
    assert set(PAGES) & {path for path in PAGES if path.parent.name == "docs"} - reached == set()


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("# What is `answered`?\n", {"what-is-answered"}),
        ("## 1. It writes: a file\n\n### It\n\n### It\n", {"1-it-writes-a-file", "it", "it-1"}),
        ("```sh\n# a comment\n```\n## [Rules](rules.md) of a team ##\n", {"rules-of-a-team"}),
    ],
)
def test_headings_have_the_anchors_that_github_gives_them(text: str, found: set[str]) -> None:
    assert anchors(text) == found


def test_links_in_code_are_no_links(tmp_path: Path) -> None:
    page = tmp_path / "a.md"
    page.write_text(
        "[a](b.md) `[a](c.md)` [x](https://example.com/y.md) [here](#there)\n```md\n[a](d.md)\n```\n", encoding="utf-8"
    )
    assert links(page.read_text(encoding="utf-8")) == ["b.md", "#there"]
    assert lead_nowhere(page) == ["b.md", "#there"]
