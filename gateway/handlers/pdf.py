"""Pages of a PDF as text; of a page that has none, such as a scanned one, its pictures."""

from __future__ import annotations

from gateway.calls.output import Failure, Image, Output, Text
from gateway.core.quantities import counted
from gateway.files.kinds import IMAGES, kind_of
from gateway.files.text import showable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from gateway.core.cancel import Cancel

MOST_AT_ONCE = 20
MOST_UNASKED = 10
MOST_CHARACTERS = 100_000
MOST_PICTURES = 10
SECONDS = 90.0
_LOOK = 0.1


def shown_pages(data: bytes, pages: str, shown: str, cancel: Cancel | None, seconds: float = 0.0) -> Output:
    """The pages that are asked for, all of a short file if none are. `seconds`: how long it may take, 0 for as long as
    a file of one's own may. Raises Failure."""
    first, last = _range(pages, shown)
    answer = _asked(data, first, last, shown, cancel, seconds or SECONDS)
    if "error" in answer:
        raise Failure(f"{shown} {answer['error']}.")
    total: int = answer["total"]
    if not pages and total > MOST_UNASKED:
        raise Failure(
            f"{shown} has {total:,} pages.",
            f'Say which with `pages`, such as "1-{MOST_UNASKED}" (at most {MOST_AT_ONCE}).',
        )
    if first > total:
        raise Failure(f"{shown} has only {counted(total, 'page')}.", "Ask for one of those.")
    blocks = _blocks(answer["pages"], shown)
    if sum(len(block.text) for block in blocks if isinstance(block, Text)) > MOST_CHARACTERS:
        raise Failure(f"{shown}: these pages are too much for one answer.", "Ask for fewer with `pages`.")
    numbers = [page["number"] for page in answer["pages"]]
    head = f"{shown}: {_numbers(numbers)} of {total:,}." if numbers else f"{shown} has no pages."
    return Output((Text(head), *blocks), data={"kind": "pdf", "pages": tuple(numbers), "total": total})


def _numbers(numbers: list[int]) -> str:
    return f"page {numbers[0]}" if len(numbers) == 1 else f"pages {numbers[0]} to {numbers[-1]}"


def _range(pages: str, shown: str) -> tuple[int, int]:
    if not pages:
        return 0, 0
    start, _, stop = pages.partition("-")
    first, last = int(start), int(stop or start)
    if first < 1 or last < first:
        raise Failure(f"{shown}: `pages` must be a number from 1 or a range such as 1-5 (got `{pages}`).")
    if last - first >= MOST_AT_ONCE:
        raise Failure(f"{shown}: at most {MOST_AT_ONCE} pages at once.", "Ask for them in parts.")
    return first, last


def _asked(data: bytes, first: int, last: int, shown: str, cancel: Cancel | None, seconds: float) -> dict[str, Any]:
    """What the process says that reads the file."""
    import json
    import os
    import subprocess
    import time

    from gateway.core.products import need
    from gateway.core.programs import start

    need("pypdf")
    program = os.path.join(os.path.dirname(__file__), "pdf_pages.py")
    arguments = ["-I", program, str(first), str(last), str(MOST_UNASKED)]
    until = time.monotonic() + seconds
    with start(
        "python", arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as process:
        given: bytes | None = data
        while True:
            try:
                out, _ = process.communicate(given, timeout=_LOOK)
                break
            except subprocess.TimeoutExpired:
                given = None
                if time.monotonic() > until or (cancel is not None and cancel.is_set):
                    process.kill()
                    process.communicate()
                    why = "was cancelled" if cancel is not None and cancel.is_set else "takes too long"
                    raise Failure(f"Reading {shown} {why}.") from None
    try:
        answer: dict[str, Any] = json.loads(out)
    except ValueError:
        return {"error": "cannot be read: reading it takes too much time or memory"}
    return answer


def _blocks(pages: list[dict[str, Any]], shown: str) -> list[Text | Image]:
    from base64 import b64decode

    blocks: list[Text | Image] = []
    left = MOST_PICTURES
    for page in pages:
        head, text = f"--- page {page['number']}\n", showable(page["text"].strip())
        pictures = []
        for coded in page.get("pictures", ())[:left]:
            data = b64decode(coded)
            if (kind := kind_of(data)) in IMAGES:
                from gateway.handlers.images import scaled

                try:
                    pictures.append(scaled(data, kind, f"a picture of page {page['number']} of {shown}")[0])
                except Failure as failure:
                    text += f"({failure.message})"
        left -= len(pictures)
        blocks.append(Text(head + (text or ("(No text; its pictures:)" if pictures else "(No text.)"))))
        blocks += pictures
    return blocks
