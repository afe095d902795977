"""What was fetched, as text that a model can read: HTML as Markdown, pages of a PDF, other text as it is."""

from __future__ import annotations

import os

from gateway.calls.outgoing import RequestError
from gateway.core.value import Value
from gateway.web import body
from gateway.web.body import HTML, OTHER, PDF, decoded, shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from gateway.web.fetch import Fetched, Step

MOST_HTML = 2_000_000  # characters that are read as HTML; more is left out
MOST_TEXT = 2_000_000
SECONDS = 20.0
_LOOK = 0.05


class Page(Value):
    """A page as it was fetched and read. `asked` to `final`: the URLs; `steps`: the requests on the way. `elsewhere`:
    where it redirects to, which was not followed; then there is no text. `hidden`: passages that a reader of the page
    would not see, left out; `cut`: it is longer than was read; `notes`: what else to know of the text. `fetched`: when,
    in seconds since the epoch; `cached`: it was kept since then. `passing`: it must not be kept."""

    asked: str
    final: str
    status: int
    media_type: str
    title: str
    text: str
    size: int
    steps: tuple[Step, ...]
    fetched: float
    elsewhere: str = ""
    hidden: int = 0
    cut: bool = False
    notes: tuple[str, ...] = ()
    cached: bool = False
    passing: bool = False


def page_of(
    asked: str,
    fetched: Fetched,
    now: float,
    cancelled: Callable[[], bool],
    pdf: Callable[[bytes], tuple[str, tuple[str, ...]]],
) -> Page:
    """The page of what came back. `pdf`: the text of a PDF's pages, and notes on it. Raises RequestError for what
    cannot be shown."""
    final = fetched.steps[-1].url
    media_type = shown(body.media_type(fetched.content_type))[:100]
    page = Page(
        asked,
        final,
        status=fetched.status,
        media_type=media_type,
        title="",
        text="",
        size=fetched.packed,
        steps=fetched.steps,
        fetched=now,
        elsewhere=fetched.elsewhere,
        passing=fetched.passing,
    )
    if fetched.elsewhere or not fetched.body:
        return page
    try:
        return _read(page, fetched, cancelled, pdf)
    except RequestError:
        if fetched.status < 400 or cancelled():
            raise
        return page  # what a server says beside its no is not worth another error


def _read(
    page: Page,
    fetched: Fetched,
    cancelled: Callable[[], bool],
    pdf: Callable[[bytes], tuple[str, tuple[str, ...]]],
) -> Page:
    """The page with its text. Raises RequestError."""
    media_type = page.media_type
    kind = body.kind_of(fetched.content_type, fetched.body)
    if kind == OTHER:
        what = media_type or "an unknown kind"
        if not media_type.startswith(("image/", "audio/", "video/", "font/", "application/")):
            what += ", though it is no text" if media_type else ""
        raise RequestError(f"it is {what} ({fetched.packed:,} bytes), which is not shown")
    if kind == PDF:
        if fetched.cut:
            raise RequestError(f"it is a PDF of more than {fetched.packed:,} bytes, which is not read")
        text, notes = pdf(fetched.body)
        return page.replace(text=text, notes=notes)
    found = decoded(fetched.body, fetched.content_type, html=kind == HTML, cut=fetched.cut)
    notes = ("some of its characters are not in the encoding that it says it has",) if found.doubtful else ()
    cut = fetched.cut
    if kind == HTML:
        given = found.text[:MOST_HTML]
        answer = _as_markdown(given, page.final, cancelled)
        title, text = shown(answer["title"]), shown(answer["text"])
        cut = cut or answer["cut"] or len(given) < len(found.text)
        page = page.replace(title=" ".join(title.split()), hidden=answer["hidden"])
    else:
        text = shown(found.text)
    return page.replace(text=text[:MOST_TEXT], cut=cut or len(text) > MOST_TEXT, notes=notes)


def _as_markdown(html: str, base: str, cancelled: Callable[[], bool]) -> dict[str, Any]:
    """What the process says that reads the page. Raises RequestError."""
    import json
    import subprocess
    from time import monotonic

    from gateway.core.products import need
    from gateway.core.programs import start

    need("bs4", "markdownify")
    arguments = ["-I", os.path.join(os.path.dirname(__file__), "html_markdown.py"), base]
    until = monotonic() + SECONDS
    with start(
        "python", arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as process:
        given: bytes | None = html.encode("utf-8", "replace")
        while True:
            try:
                out, _ = process.communicate(given, timeout=_LOOK)
                break
            except subprocess.TimeoutExpired:
                given = None
                if monotonic() > until or cancelled():
                    process.kill()
                    process.communicate()
                    raise RequestError(
                        "it was cancelled" if cancelled() else "reading its HTML takes too long"
                    ) from None
    try:
        answer: dict[str, Any] = json.loads(out)
    except ValueError:
        answer = {"error": "cannot be read: reading it takes too much time or memory"}
    if "error" in answer:
        raise RequestError(f"its HTML {answer['error']}")
    return answer
