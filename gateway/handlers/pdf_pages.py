"""A program of its own: takes a PDF from standard input and writes the text of some pages as JSON.

    python -I pdf_pages.py FIRST LAST MOST     (0 0: all pages if there are at most MOST)

It is a process so that a file that makes the reader run on, or eat memory, can be ended. It opens no file and knows
nothing of the rest.
"""

from __future__ import annotations

import base64
import io
import json
import resource
import sys

SECONDS = 60
MOST_MEMORY = 2 << 30
LEAST_TEXT = 8
MOST_PICTURES = 3
MOST_PICTURE = 8 << 20


def main(first: int, last: int, most: int) -> dict[str, object]:
    """The pages, or under `error` why there are none."""
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if sys.platform == "linux":
        resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
    import logging

    logging.disable(logging.CRITICAL)
    try:
        from pypdf import PasswordType, PdfReader
        from pypdf.errors import DependencyError
    except ImportError as error:
        return {"error": f"cannot be read: {error}"}
    try:
        reader = PdfReader(io.BytesIO(sys.stdin.buffer.read()))
        if reader.is_encrypted and reader.decrypt("") == PasswordType.NOT_DECRYPTED:
            return {"error": "is protected by a password"}
        total = len(reader.pages)
        if first == 0:
            first, last = (1, total) if total <= most else (1, 0)
        pages = [_page(reader.pages[number - 1], number) for number in range(first, min(last, total) + 1)]
    except DependencyError:
        return {"error": "is encrypted in a way that cannot be read"}
    except MemoryError:
        return {"error": "takes too much memory to be read"}
    except Exception:  # a damaged file fails in any way
        return {"error": "is damaged and cannot be read"}
    return {"total": total, "pages": pages}


def _page(page: object, number: int) -> dict[str, object]:
    text = page.extract_text() or ""  # type: ignore[attr-defined]
    found: dict[str, object] = {"number": number, "text": text}
    if len(text.strip()) < LEAST_TEXT:
        found["pictures"] = _pictures(page)
    return found


def _pictures(page: object) -> list[str]:
    """The pictures of a page without text, such as a scanned one; those that cannot be decoded are left out."""
    found = []
    for name in list(page.images.keys())[:MOST_PICTURES]:  # type: ignore[attr-defined]
        try:
            data = page.images[name].data  # type: ignore[attr-defined]
        except Exception:  # as above
            continue
        if len(data) <= MOST_PICTURE:
            found.append(base64.b64encode(data).decode("ascii"))
    return found


if __name__ == "__main__":
    answer = main(*map(int, sys.argv[1:]))
    sys.stdout.write(json.dumps(answer))
