"""A program of its own: takes HTML as UTF-8 from standard input and writes it as Markdown in JSON.

    python -I html_markdown.py ADDRESS-OF-THE-PAGE

It is a process so that a page that makes the reader run on, or eat memory, can be ended. It opens no file, asks nobody
and knows nothing of the rest. What a reader of the page would not see is left out and counted.
"""

from __future__ import annotations

import json
import os
import re
import resource
import sys
from html import escape
from html.parser import HTMLParser
from urllib.parse import urljoin

if __name__ == "__main__":  # isolated, it does not even know where it lies itself
    sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
from gateway.web.css_values import Colour, contrast
from gateway.web.hiding import LEAST_CONTRAST, WHITE, background, is_hiding, text_colour

SECONDS = 20
MOST_MEMORY = 2 << 30
MOST_ELEMENTS = 100_000
MOST_DEPTH = 120
MOST_RULES = 100  # for one class, id or tag; the last ones count
MOST_URL = 2_000
# Characters of the page as it is written anew, and of its Markdown: a page may name long addresses again and again.
MOST_WRITTEN = 4_000_000
MOST_SHORT = 300  # characters of a title, and of a picture's description


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


_VOID = _names("area base br col embed hr img input link meta param source track wbr")
# Nothing in these is text of the page.
_SKIPPED = _names(
    "applet audio canvas datalist embed frame iframe map math noembed noframes noscript object script style svg "
    "template textarea video"
)
_KEPT = _names(
    "a b blockquote br caption code dd del div dl dt em h1 h2 h3 h4 h5 h6 hr i img kbd li ol p pre q s samp "
    "strong sub sup table tbody td tfoot th thead tr ul"
)
# Blocks that are written as ordinary ones.
_BLOCKS = _names("address article aside details fieldset figcaption figure footer form header main nav section summary")
# Tags that end an open one of these, unless one of those stands between.
_ENDS = {
    "li": (frozenset(("li",)), frozenset(("ul", "ol"))),
    "dt": (frozenset(("dt", "dd")), frozenset(("dl",))),
    "dd": (frozenset(("dt", "dd")), frozenset(("dl",))),
    "tr": (frozenset(("tr", "td", "th")), frozenset(("table",))),
    "td": (frozenset(("td", "th")), frozenset(("tr", "table"))),
    "th": (frozenset(("td", "th")), frozenset(("tr", "table"))),
}
_ENDS_P = _names(
    "address article aside blockquote details div dl fieldset figure footer form h1 h2 h3 h4 h5 h6 header hr main "
    "nav ol p pre section table ul"
)
_TABLE = _names("table tbody td tfoot th thead tr caption")
_CELLS = frozenset(("td", "th", "caption", "table"))
_SCHEMES = ("http:", "https:", "mailto:")
_SIMPLE = re.compile(r"([a-z][a-z0-9]*)?((?:[.#][\w-]+){0,4})")
_COMMENT = re.compile(r"/\*.*?(?:\*/|$)", re.DOTALL)


# What stands before a block whose rules hold wherever a page is read; and selectors that stand for what they name.
_EVERYWHERE = re.compile(
    r"@(?:media\s+(?:only\s+)?(?:screen|all)|layer\s+[\w.-]+|supports\s*\([^{}()]{1,200}\))\s*\{", re.IGNORECASE
)
_ALSO = re.compile(r":(?:is|where)\(([^(),]{1,200})\)")


class Styles:
    """What style sheets of the page itself hide by a tag, a class or an id."""

    def __init__(self) -> None:
        self._rules: dict[str, list[tuple[str, frozenset[str], bool]]] = {}

    def add(self, sheet: str) -> None:
        """Takes the rules that hold on every screen: not those of other `@media` blocks."""
        for rule in _without_blocks(_EVERYWHERE.sub(" ", _COMMENT.sub(" ", sheet))).split("}"):
            selectors, _brace, declarations = rule.partition("{")
            hiding = is_hiding(declarations, strict=False)
            if hiding is None:
                continue
            for selector in selectors.rpartition(";")[2].lower().split(","):
                simple = _SIMPLE.fullmatch(_ALSO.sub(r"\1", selector.strip()))
                if simple is None or not selector.strip() or simple[1] in ("html", "body"):
                    continue
                marks = frozenset(re.findall(r"[.#][\w-]+", simple[2]))
                rules = self._rules.setdefault(min(marks, default=simple[1] or ""), [])
                del rules[: max(0, len(rules) - MOST_RULES)]
                rules.append((simple[1] or "", marks, hiding))

    def hide(self, tag: str, attributes: dict[str, str]) -> bool:
        """Whether the last rule that fits an element hides it."""
        if not self._rules:
            return False
        marks = {f".{name}" for name in attributes.get("class", "").lower().split()}
        if attributes.get("id"):
            marks.add(f"#{attributes['id'].lower()}")
        found = False
        for key in (tag, *sorted(marks)):
            for name, wanted, hiding in self._rules.get(key, ()):
                if name in ("", tag) and wanted <= marks:
                    found = hiding
        return found


def _without_blocks(sheet: str) -> str:
    """A style sheet without the blocks of its `@` rules, in one pass."""
    out, at = [], 0
    while (start := sheet.find("@", at)) >= 0:
        out.append(sheet[at:start])
        opening, end = sheet.find("{", start), sheet.find(";", start)
        if opening < 0 or 0 <= end < opening:
            at = len(sheet) if end < 0 else end + 1
            continue
        depth, at = 1, opening + 1
        for brace in re.finditer(r"[{}]", sheet[at:]):
            depth += 1 if brace[0] == "{" else -1
            if not depth:
                at += brace.end()
                break
        else:
            at = len(sheet)
    return "".join(out) + sheet[at:]


# Signs by which text would be taken for a link, a picture or code that the page does not have.
_MARKDOWN = re.compile(r"([\[\]`]|!(?=\[))")


def _colours(given: dict[str, str], ink: Colour | None, behind: Colour | None) -> tuple[Colour | None, Colour | None]:
    """The colours of text and of what is behind it in an element, where they are those of what it lies in but for what
    it says itself."""
    old = f"color:{given.get('color', '')};background-color:{given.get('bgcolor', '')}"
    style = given.get("style", "")
    ink = text_colour(style) or text_colour(old) or ink
    if "background" in style.lower():
        return ink, background(style) or (None if "url" in style.lower() or "gradient" in style.lower() else behind)
    return ink, background(old) or behind


class Cleaner(HTMLParser):
    """Writes the page anew: plain tags, well nested and not too deep, links absolute, nothing that is not shown."""

    def __init__(self, base: str, styles: Styles | None = None, behind: Colour | None = None) -> None:
        """`styles`: those of the whole page, which a first reading has found in `styles`; `behind`: the colour of the
        page, where nothing can have given it another."""
        super().__init__(convert_charrefs=True)
        self.base = base
        self.out: list[str] = []
        self.title = ""
        self.hidden = 0
        self.cut = False
        self.styles = Styles()
        self._styles = styles or self.styles
        self._behind = behind
        # Each open element: tag, whether it was written, whether nothing in it is shown.
        self._open: list[tuple[str, bool, bool]] = []
        # What is known of the colours of text, and of what is behind it, in each open element.
        self._colours: list[tuple[Colour | None, Colour | None]] = []
        self._open_by_tag: dict[str, int] = {}
        self._skipping = 0  # of the open elements those that hold no text
        self._count = 0
        self._size = 0
        self._is_told = False
        self._applies = True  # the style sheet that is being read

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Writes it where it is shown and plain."""
        self._count += 1
        if self._count > MOST_ELEMENTS:
            self.cut = True
            return
        given = {name: value or "" for name, value in reversed(attrs)}
        if tag == "base" and given.get("href"):
            self.base = _joined(self.base, given["href"]) or self.base
        self._end_implied(tag)
        if tag == "style":
            self._applies = given.get("media", "").strip().lower() in ("", "all", "screen")
        skipped, unseen = self._is_inside()
        ink, behind = self._colours[-1] if self._colours else (None, self._behind)
        if given.get("style") or given.get("bgcolor") or given.get("color"):
            ink, behind = _colours(given, ink, behind)
        if tag not in _SKIPPED and not skipped and not unseen and tag not in ("html", "body"):
            unseen = self._is_unseen(tag, given, ink, behind)
            self._is_told = False
        if tag in _VOID:
            if not skipped and not unseen:
                self._write_void(tag, given)
            return
        if tag in _BLOCKS:
            tag = "div"
        written = not (skipped or unseen) and tag in _KEPT and tag not in _SKIPPED and len(self._open) < MOST_DEPTH
        written = written and self._write(self._opening(tag, given))
        self._open.append((tag, written, unseen))
        self._colours.append((ink, behind))
        self._open_by_tag[tag] = self._open_by_tag.get(tag, 0) + 1
        self._skipping += tag in _SKIPPED

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """`<br/>`; of other tags a browser takes no notice of the slash."""
        self.handle_starttag(tag, attrs)

    def handle_endtag(self, tag: str) -> None:
        """Ends what is open of that tag, with everything in it."""
        if tag in _BLOCKS:
            tag = "div"
        if not self._open_by_tag.get(tag):
            if tag in ("br", "p"):
                self._write("<br>")
            return
        for at in range(len(self._open) - 1, -1, -1):
            name = self._open[at][0]
            if name == tag:
                self._close(at)
                return
            if name in _CELLS and tag not in _TABLE:
                return  # nothing in a cell ends what is around it

    def handle_data(self, data: str) -> None:
        """Writes text that is shown."""
        skipped, unseen = self._is_inside()
        inner = self._open[-1][0] if self._open else ""
        if inner == "style":
            if self._applies and not (self._open_by_tag.get("noscript") or self._open_by_tag.get("template")):
                self.styles.add(data)
        elif inner == "title" and not self.title:
            self.title = " ".join(data.split())[:MOST_SHORT]
        elif skipped or inner == "title":
            return
        elif unseen:
            if data.strip() and not self._is_told:
                self._is_told = True
                self.hidden += 1
        else:
            is_code = self._open_by_tag.get("pre") or self._open_by_tag.get("code")
            self._write(escape(data if is_code else _MARKDOWN.sub(r"\\\1", data), quote=False))

    def finish(self) -> str:
        """The page, whole."""
        self.close()
        self._close(0)
        return "".join(self.out)

    def _write(self, text: str) -> bool:
        """Whether there was room for it."""
        self._size += len(text)
        if self._size > MOST_WRITTEN:
            self.cut = True
        if not self.cut:
            self.out.append(text)
        return not self.cut

    def _is_inside(self) -> tuple[bool, bool]:
        """Whether this stands in what is no text, and in what is not shown."""
        return self._skipping > 0, bool(self._open) and self._open[-1][2]

    def _is_unseen(self, tag: str, given: dict[str, str], ink: Colour | None, behind: Colour | None) -> bool:
        if ink is not None and behind is not None and contrast(ink, behind) < LEAST_CONTRAST:
            return True
        if "hidden" in given or tag == "input" or (tag == "dialog" and "open" not in given):
            return True
        hiding = is_hiding(given.get("style", ""))
        return self._styles.hide(tag, given) if hiding is None else hiding

    def _end_implied(self, tag: str) -> None:
        ends, bound = _ENDS.get(tag, (frozenset(), frozenset()))
        outermost = -1
        for at in range(len(self._open) - 1, max(-1, len(self._open) - 12), -1):
            name = self._open[at][0]
            if name in bound or (name in _CELLS and name not in ends):
                break
            if name in ends:
                outermost = at
        if outermost >= 0:
            self._close(outermost)
        elif tag in _ENDS_P and self._open and self._open[-1][0] == "p":
            self._close(len(self._open) - 1)

    def _close(self, at: int) -> None:
        while len(self._open) > at:
            tag, written, _unseen = self._open.pop()
            self._colours.pop()
            self._open_by_tag[tag] -= 1
            self._skipping -= tag in _SKIPPED
            if written:
                self.out.append(f"</{tag}>")

    def _opening(self, tag: str, given: dict[str, str]) -> str:
        if tag == "a":
            address = self._address(given.get("href", ""))
            return f'<a href="{escape(address)}">' if address else "<a>"
        if tag in ("td", "th") and given.get("colspan", "").isdecimal():
            return f'<{tag} colspan="{min(int(given["colspan"][:3]), 50)}">'
        if tag == "ol" and given.get("start", "").isdecimal():
            return f'<ol start="{given["start"][:6]}">'
        if tag in ("pre", "code"):
            named = re.search(r"\b(?:language|lang|highlight-source|highlight)-(\w{1,20})", given.get("class", ""))
            return f'<{tag} class="language-{named[1]}">' if named else f"<{tag}>"
        return f"<{tag}>"

    def _write_void(self, tag: str, given: dict[str, str]) -> None:
        if tag in ("br", "hr"):
            self._write(f"<{tag}>")
        elif tag == "img" and (alt := " ".join(given.get("alt", "").split())[:MOST_SHORT]):
            address = self._address(given.get("src", ""))
            self._write(f'<img src="{escape(address)}" alt="{escape(alt)}">' if address else escape(f"({alt})"))

    def _address(self, written: str) -> str:
        """An absolute address, "" for what is none that leads anywhere."""
        written = written.strip()
        if not written or written.startswith("#"):
            return ""
        found = _joined(self.base, written)
        if len(found) > MOST_URL or not found.lower().startswith(_SCHEMES):
            return ""
        return re.sub(r"[\s<>()\[\]]", lambda each: f"%{ord(each[0]):02X}" if each[0] < "\x80" else "", found)


def _joined(base: str, written: str) -> str:
    try:
        return urljoin(base, written)
    except ValueError:
        return ""


def markdown(html: str, base: str) -> dict[str, object]:
    """The page: title, text as Markdown, how many passages are not shown, and whether there was more than is read."""
    from bs4 import BeautifulSoup
    from markdownify import ATX, MarkdownConverter

    if html.count("<!--") > html.count("-->") + 100:  # which the parser would read again and again
        html = re.sub(r"<!--.*?(?:-->|$)", "", html, flags=re.DOTALL)
    styles = None
    if "<style" in html.lower():  # a sheet holds for what stands before it as well
        first = Cleaner(base)
        first.feed(html)
        first.close()
        styles = first.styles
    is_plain = not any(word in html.lower() for word in ("<style", "stylesheet", "<script", "background"))
    cleaner = Cleaner(base, styles, WHITE if is_plain else None)
    cleaner.feed(html)
    clean = cleaner.finish()

    def language(element: object) -> str:
        found = [element, *element.find_all("code", limit=1)]  # type: ignore[attr-defined]
        names = [name for each in found for name in each.get("class") or ()]
        return next((name.removeprefix("language-") for name in names), "")

    converter = MarkdownConverter(
        heading_style=ATX,
        bullets="-",
        escape_asterisks=False,
        escape_underscores=False,
        code_language_callback=language,
    )
    text: str = converter.convert_soup(BeautifulSoup(clean, "html.parser"))
    lines = [line.rstrip() for line in text.split("\n")]
    text = re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()
    cut = cleaner.cut or len(text) > MOST_WRITTEN
    return {"title": cleaner.title, "text": text[:MOST_WRITTEN], "hidden": cleaner.hidden, "cut": cut}


def main(base: str) -> dict[str, object]:
    """What `markdown` gives, or under `error` why there is nothing."""
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if sys.platform == "linux":
        resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
    sys.setrecursionlimit(5_000)  # each of the allowed levels takes a few
    try:
        return markdown(sys.stdin.buffer.read().decode("utf-8", "replace"), base)
    except ImportError as error:
        return {"error": f"cannot be read: {error}"}
    except MemoryError:
        return {"error": "takes too much memory to be read"}
    except Exception as error:  # a page that a parser fails on is only a page
        return {"error": f"cannot be read as HTML ({type(error).__name__})"}


if __name__ == "__main__":
    answer = main(sys.argv[1])
    sys.stdout.write(json.dumps(answer))
