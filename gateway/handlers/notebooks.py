"""NotebookEdit: one cell of a notebook replaced, inserted, deleted or moved.

Everything else in the file stays as it is, the ids of cells and the way the file is written included. What is written
was held against the schema of notebooks first.
"""

from __future__ import annotations

import json
import os

from gateway.calls.output import Failure, Output, Text
from gateway.calls.reads import digest_of
from gateway.core.errors import CallError, Problem
from gateway.core.plainjson import unique
from gateway.files.diff import unified
from gateway.files.opening import failure, place_of, way_to
from gateway.files.text import decoded, encoding_of, ending_of
from gateway.handlers.files_write import beside, bytes_of, present_version
from gateway.handlers.notebooks_shown import cell_name, is_notebook, text_of
from gateway.handlers.replacing import put, told

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from gateway.calls.work import Work
    from gateway.files.opening import Place, Way
    from gateway.model.call import Call

MOST_SIZE = 32 << 20
_FORMAT = 4
_WITH_IDS = 5  # the minor version from which every cell has an id


def check(call: Call) -> None:
    """What the mode of a call needs, and what it has no use for. Raises CallError."""
    given, problems = call.input, []
    mode = given["edit_mode"]
    if mode in ("replace", "insert") and given.get("new_source") is None:
        problems.append(Problem(f"must be given for `{mode}`", path="$.new_source"))
    if mode != "insert" and not given.get("cell_id"):
        problems.append(Problem(f"must be given for `{mode}`", path="$.cell_id"))
    if mode == "insert" and given.get("cell_type") is None:
        problems.append(Problem("must be given for `insert`", path="$.cell_type"))
    if mode != "move" and given.get("after_cell_id") is not None:
        problems.append(Problem("is for `move` only", path="$.after_cell_id", remedy="leave it out"))
    if problems:
        raise CallError(problems)


def edit(call: Call, work: Work) -> Output:
    """Changes the cell of a NotebookEdit call."""
    check(call)
    place = place_of(call, work, "notebook_path")
    if not place.real.endswith(".ipynb"):
        raise Failure(f"{place.shown} is no notebook by its name (`.ipynb`).", "Use Edit for other files.")
    try:
        with way_to(place) as way:
            try:
                return _edited(way, call, work)
            except FileNotFoundError:
                raise
            except OSError as error:
                raise told(error, way) from error
    except OSError as error:
        raise failure(error, place, "changed") from error


def _edited(way: Way, call: Call, work: Work) -> Output:
    place = way.place
    found = os.stat(way.name, dir_fd=way.folder, follow_symlinks=False)
    way.refuse_special(found.st_mode)
    if found.st_size > MOST_SIZE:
        raise Failure(f"{place.shown} is too large to be edited.")
    data, stamp = present_version(way, work, "changed")
    encoding = encoding_of(data or b"")
    try:
        before = decoded(data or b"", encoding) if encoding else ""
        notebook = json.loads(before, object_pairs_hook=unique)
    except (ValueError, RecursionError) as error:
        why = "it nests too deep" if isinstance(error, RecursionError) else error
        raise Failure(f"{place.shown} is no notebook: {why}.", "Repair it with Edit.") from None
    assert encoding is not None  # an empty text is no JSON
    _check_form(notebook, place)
    done = _change(notebook, call, place)
    complaint = _complaint(notebook)
    if complaint:
        raise Failure(f"{place.shown} would not be a valid notebook any more: {complaint}.")
    after = _written(notebook, before)
    content = bytes_of(after, encoding, place)
    placed = put(way, content, stamp, work.cancel)
    work.session.reads.note(place.real, placed.stamp, digest_of(content))
    said = f"{done} in {place.shown}." + beside(placed)
    return Output((Text(said),), changed=(place.real,), diff=unified(before, after, place.shown))


def _check_form(notebook: Any, place: Place) -> None:
    """Raises Failure for what cannot be changed without changing more than was asked for."""
    version = notebook.get("nbformat") if isinstance(notebook, dict) else None
    if isinstance(version, int) and version < _FORMAT:
        raise Failure(
            f"{place.shown} has the old form {version} of notebooks.",
            "Bring it up to date first: `jupyter nbconvert --to notebook --inplace FILE`.",
        )
    if version != _FORMAT or not is_notebook(notebook):
        raise Failure(f"{place.shown} is no notebook that can be edited.", "Repair it with Edit.")
    names = [cell["id"] for cell in notebook["cells"] if "id" in cell]
    doubled = sorted({str(name) for name in names if names.count(name) > 1})
    complaint = f"two cells have the id `{doubled[0]}`" if doubled else _complaint(notebook)
    if complaint:
        raise Failure(f"{place.shown} is not a valid notebook: {complaint}.", "Repair it with Edit.")


def _complaint(notebook: dict[str, Any]) -> str:
    """The first thing that the schema of notebooks objects to, "" for none."""
    from nbformat.validator import iter_validate

    minor = notebook.get("nbformat_minor")
    if not isinstance(minor, int):
        return "it says no minor version"
    errors = iter_validate(notebook, version=_FORMAT, version_minor=minor, relax_add_props=True)  # type: ignore[no-untyped-call]
    error = next(iter(errors), None)
    if error is None:
        return ""
    where = "".join([f"[{each}]" if isinstance(each, int) else f".{each}" for each in error.path])
    return f"{where.lstrip('.')}: {str(error.message).splitlines()[0][:200]}" if where else str(error.message)[:200]


def _change(notebook: dict[str, Any], call: Call, place: Place) -> str:
    """Makes the change, and says what was done. Raises Failure."""
    cells: list[dict[str, Any]] = notebook["cells"]
    given = call.input
    mode, name = given["edit_mode"], given.get("cell_id") or ""
    if mode == "insert":
        at = _find(cells, name, place) + 1 if name else 0
        cell = _fresh(given["cell_type"], given["new_source"], notebook)
        cells.insert(at, cell)
        return f"Inserted {given['cell_type']} cell `{cell_name(cell, at)}`"
    at = _find(cells, name, place)
    if mode == "delete":
        del cells[at]
        return f"Deleted cell `{name}`"
    if mode == "move":
        after = given.get("after_cell_id") or ""
        if after and _find(cells, after, place) == at:
            raise Failure(f"Cell `{name}` cannot be moved behind itself.")
        behind = cells[_find(cells, after, place)] if after else None
        cell = cells.pop(at)
        to = 0 if behind is None else next(i for i, each in enumerate(cells) if each is behind) + 1
        cells.insert(to, cell)
        return f"Moved cell `{name}` " + (f"behind `{after}`" if after else "to the beginning")
    _replace(cells[at], given["new_source"], given.get("cell_type"))
    return f"Replaced cell `{name}`"


def _find(cells: list[dict[str, Any]], name: str, place: Place) -> int:
    for at, cell in enumerate(cells):
        if cell_name(cell, at) == name:
            return at
    known = ", ".join([f"`{cell_name(cell, at)}`" for at, cell in enumerate(cells[:20])])
    more = ", …" if len(cells) > 20 else ""
    raise Failure(f"{place.shown} has no cell `{name}`.", f"It has {known}{more}." if known else "It has no cells.")


def _replace(cell: dict[str, Any], source: str, kind: str | None) -> None:
    """Gives a cell another source, and kind if one is said. Outputs are those of the code that was there."""
    was = cell["cell_type"]
    kind = kind or was
    is_same = kind == was and text_of(cell.get("source")) == source
    cell["source"] = _as_stored(source, cell.get("source"))
    cell["cell_type"] = kind
    if kind == "code":
        if not is_same:
            cell["outputs"] = []
            cell["execution_count"] = None
        cell.pop("attachments", None)
    else:
        cell.pop("outputs", None)
        cell.pop("execution_count", None)


def _fresh(kind: str, source: str, notebook: dict[str, Any]) -> dict[str, Any]:
    cells = notebook["cells"]
    cell: dict[str, Any] = {"cell_type": kind}
    if kind == "code":
        cell["execution_count"] = None
    if notebook["nbformat_minor"] >= _WITH_IDS:
        taken = {each.get("id") for each in cells}
        cell["id"] = next(name for name in iter(lambda: os.urandom(4).hex(), "") if name not in taken)
    cell["metadata"] = {}
    if kind == "code":
        cell["outputs"] = []
    cell["source"] = _as_stored(source, cells[0].get("source") if cells else None)
    return cell


def _as_stored(source: str, like: Any) -> Any:
    """A source in lines, as notebooks store it, or whole where the file does so."""
    if isinstance(like, str):
        return source
    parts = source.split("\n")
    lines = [part + "\n" for part in parts[:-1]]
    return [*lines, parts[-1]] if parts[-1] else lines


def _written(notebook: dict[str, Any], before: str) -> str:
    """The notebook as text, written as the file was: its indent, its escapes, its line endings."""
    second = before.split("\n", 2)[1] if "\n" in before.rstrip() else ""
    indent = len(second) - len(second.lstrip(" ")) if second.startswith(" ") else None
    spread: int | str | None = "\t" if second.startswith("\t") else indent
    escaped = before.isascii() and "\\u" in before
    tight = (",", ":") if spread is None and '": ' not in before else None
    text = json.dumps(notebook, ensure_ascii=escaped, indent=spread, separators=tight)
    if any("\ud800" <= sign <= "\udfff" for sign in text):  # half a character, which only an escape can hold
        text = json.dumps(notebook, ensure_ascii=True, indent=spread, separators=tight)
    text += "\n" if before.endswith("\n") else ""
    return text.replace("\n", "\r\n") if ending_of(before) == "\r\n" else text
