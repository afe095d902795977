"""A notebook as Read shows it: cell by cell, each with the name that NotebookEdit takes, and what it put out."""

from __future__ import annotations

import json
import re

from gateway.calls.output import Failure, Image, Output, Text
from gateway.core.quantities import counted
from gateway.files.kinds import IMAGES
from gateway.files.text import decoded, encoding_of, showable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

MOST_CHARACTERS = 100_000
MOST_OUTPUT = 10_000
MOST_PICTURES = 10
_CURRENT = 4


def shown_notebook(data: bytes, shown: str, first: int, limit: int | None) -> Output | None:
    """The cells from number `first` on, None if the file is no notebook but some other text. Raises Failure."""
    notebook = notebook_of(data)
    if notebook is None:
        return None
    cells = notebook["cells"]
    if not cells:
        return Output((Text("(The notebook has no cells.)"),), data={"kind": "notebook", "cells": 0})
    if first > len(cells):
        raise Failure(f"{shown} has only {counted(len(cells), 'cell')}.", "Use a smaller `offset`.")
    chosen = cells[first - 1 : None if limit is None else first - 1 + limit]
    language = str(notebook.get("metadata", {}).get("language_info", {}).get("name", ""))
    blocks: list[Text | Image] = []
    text, size, left = "", 0, MOST_PICTURES
    for number, cell in enumerate(chosen, first):
        text += _cell(cell, cell_name(cell, number - 1), language)
        for output in cell.get("outputs") or () if cell.get("cell_type") == "code" else ():
            said, picture = _output(output, shown, left)
            text += said
            if picture is not None:
                left -= 1
                size += len(text)
                blocks += [Text(showable(text.rstrip("\n"))), picture]
                text = ""
        if size + len(text) > MOST_CHARACTERS:
            fit = max(number - first, 1)
            raise Failure(
                f"{shown}: these cells are too much for one answer (more than {MOST_CHARACTERS:,} characters).",
                f"Read it in parts: `offset` and `limit` count cells here, and about {counted(fit, 'cell')} fit.",
            )
    last = first + len(chosen) - 1
    if last < len(cells):
        text += f"(These are cells {first} to {last} of {len(cells):,}; read on with `offset: {last + 1}`.)\n"
    if text:
        blocks.append(Text(showable(text.rstrip("\n"))))
    return Output(tuple(blocks), data={"kind": "notebook", "first": first, "last": last, "cells": len(cells)})


def notebook_of(data: bytes) -> dict[str, Any] | None:
    """A notebook from the bytes of its file, older forms brought to the present one; None if it is none."""
    encoding = encoding_of(data)
    try:
        found = json.loads(decoded(data, encoding)) if encoding else None
    except (ValueError, RecursionError):
        return None
    if not isinstance(found, dict) or not isinstance(found.get("nbformat"), int):
        return None
    if found["nbformat"] < _CURRENT:
        from nbformat import convert, from_dict

        try:
            found = convert(from_dict(found), _CURRENT)  # type: ignore[no-untyped-call]
        except Exception:  # an old form that nobody can make sense of is shown as the text that it is
            return None
        for cell in found.get("cells", ()):  # names made up on the way would be others the next time
            cell.pop("id", None)
    return found if is_notebook(found) else None


def is_notebook(found: dict[str, Any]) -> bool:
    """Whether what is needed to show it is there."""
    cells, metadata = found.get("cells"), found.get("metadata", {})
    return (
        isinstance(cells, list)
        and all(isinstance(cell, dict) for cell in cells)
        and isinstance(metadata, dict)
        and isinstance(metadata.get("language_info", {}), dict)
    )


def cell_name(cell: dict[str, Any], place: int) -> str:
    """The name of a cell: its id, or `cell-N` counted from 0 in notebooks without ids."""
    found = cell.get("id")
    return found if isinstance(found, str) and found else f"cell-{place}"


def text_of(value: Any) -> str:
    """Text that a notebook stores whole or in lines."""
    if isinstance(value, list):
        return "".join([each for each in value if isinstance(each, str)])
    return value if isinstance(value, str) else ""


def _cell(cell: dict[str, Any], name: str, language: str) -> str:
    kind = cell.get("cell_type")
    what = f' language="{language}"' if kind == "code" and language not in ("", "python") else ""
    count = cell.get("execution_count")
    ran = f' execution_count="{count}"' if isinstance(count, int) else ""
    return f'<cell id="{name}" type="{kind}"{what}{ran}>\n{text_of(cell.get("source"))}\n</cell>\n'


def _output(output: Any, shown: str, left: int) -> tuple[str, Image | None]:
    """One output of a cell: its text, and a picture if it is one and some may still be shown."""
    if not isinstance(output, dict):
        return "", None
    kind = output.get("output_type")
    if kind == "stream":
        return _framed(text_of(output.get("text"))), None
    if kind == "error":
        trace = output.get("traceback")
        lines = "\n".join([each for each in trace if isinstance(each, str)]) if isinstance(trace, list) else ""
        return _framed(lines or f"{output.get('ename')}: {output.get('evalue')}"), None
    data = output.get("data")
    if not isinstance(data, dict):
        return "", None
    for media in IMAGES:
        if media in data:
            return _picture(text_of(data[media]), media, shown, left)
    if "text/plain" in data:
        return _framed(text_of(data["text/plain"])), None
    return _framed(f"({', '.join(map(str, data))})") if data else "", None


def _framed(text: str) -> str:
    plain = re.sub(r"\x1b\[[0-9;]*[A-Za-z]", "", text)
    if len(plain) > MOST_OUTPUT:
        plain = f"{plain[:MOST_OUTPUT]}\n… [cut: {len(plain) - MOST_OUTPUT:,} more characters]"
    return f"<output>\n{plain.rstrip()}\n</output>\n"


def _picture(coded: str, media: str, shown: str, left: int) -> tuple[str, Image | None]:
    if left <= 0:
        return _framed(f"({media}: too many pictures for one answer)"), None
    from base64 import b64decode

    from gateway.handlers.images import scaled

    try:
        return "", scaled(b64decode(coded, validate=False), media, f"a picture in {shown}")[0]
    except (ValueError, Failure) as failure:
        return _framed(f"({media}: {failure})"), None
