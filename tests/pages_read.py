"""Pages as a parser of HTML reads them, and texts that would be more than text where somebody forgot to escape."""

from __future__ import annotations

from html.parser import HTMLParser

HOSTILE = (
    "<script>alert(1)</script>", "<img src=x onerror=alert(1)>", '"><svg onload=alert(1)>', "' onclick='alert(1)",
    "</pre></main></title><script src=//evil.example></script>", "&lt;b&gt;&#60;i&#62;", "javascript:alert(1)",
    "]]><!--", "</textarea><iframe srcdoc=x>",
)  # fmt: skip


class Reader(HTMLParser):
    """Elements, their attributes, and text."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.said = ""
        self.comments = 0
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.said += data

    def handle_comment(self, data: str) -> None:
        del data
        self.comments += 1

    def is_safe(self, frame: Reader) -> bool:
        """Whether nothing but the frame's own head can run or load anything."""

        def parts(
            of: Reader,
        ) -> tuple[list[tuple[str, dict[str, str | None]]], list[tuple[str, dict[str, str | None]]]]:
            at = [tag for tag, _ in of.elements].index("body")
            return of.elements[:at], of.elements[at:]

        (head, body), (wanted, _) = parts(self), parts(frame)
        forbidden = ("script", "iframe", "img", "object", "embed", "style", "link", "base", "meta")
        return (
            head == wanted
            and not self.comments
            and not any(tag in forbidden for tag, _ in body)
            and not any(
                name.startswith("on") or name in ("style", "src", "srcdoc") for _, each in body for name in each
            )
            and all((each.get("href") or "/").startswith(("/", "#")) for _, each in body)
        )
