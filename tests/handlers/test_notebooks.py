"""NotebookEdit: one cell changed, the rest of the file as it was, and a valid notebook in the end."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import nbformat
import pytest

from gateway.calls.output import Failure, Image, Text
from gateway.core.errors import CallError
from gateway.handlers.notebooks import check


def code(name: str, source: str, **more: Any) -> dict[str, Any]:
    return {
        "cell_type": "code",
        "execution_count": 3,
        "id": name,
        "metadata": {"tags": [name]},
        "outputs": [{"name": "stdout", "output_type": "stream", "text": ["out\n"]}],
        "source": source.splitlines(keepends=True),
        **more,
    }


def prose(name: str, source: str) -> dict[str, Any]:
    return {"cell_type": "markdown", "id": name, "metadata": {}, "source": source.splitlines(keepends=True)}


def notebook(*cells: dict[str, Any], minor: int = 5) -> dict[str, Any]:
    return {
        "cells": [{key: value for key, value in cell.items() if key != "id" or minor >= 5} for cell in cells],
        "metadata": {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}},
        "nbformat": 4,
        "nbformat_minor": minor,
    }


CELLS = (prose("a", "# Title\n"), code("b", "x = 1\nx"), code("c", "y = 2"))


def stored(bench: Any, content: dict[str, Any] | None = None, *, indent: int | None = 1) -> str:
    path = bench.write("n.ipynb", json.dumps(content or notebook(*CELLS), indent=indent, ensure_ascii=False) + "\n")
    bench("Read", file_path="n.ipynb")
    return path


def cells_of(path: str) -> list[dict[str, Any]]:
    found = json.loads(Path(path).read_text(encoding="utf-8"))
    nbformat.validate(nbformat.from_dict(found))
    return found["cells"]


def test_a_replaced_cell_keeps_its_name_and_loses_its_outputs_and_nothing_else_changes(bench: Any) -> None:
    path = stored(bench)
    before = Path(path).read_text(encoding="utf-8")
    output = bench("NotebookEdit", notebook_path="n.ipynb", cell_id="b", new_source="x = 2\nx + 1")
    assert cells_of(path) == [
        CELLS[0],
        {**CELLS[1], "source": ["x = 2\n", "x + 1"], "outputs": [], "execution_count": None},
        CELLS[2],
    ]
    assert output.blocks == (Text(f"Replaced cell `b` in {path}."),)
    assert output.changed == (path,)
    untouched = [line for line in before.splitlines() if line not in Path(path).read_text("utf-8").splitlines()]
    assert untouched == ['    "x = 1\\n",', '    "x"']


@pytest.mark.parametrize(
    ("given", "order"),
    [
        ({"cell_id": "c", "edit_mode": "move", "after_cell_id": "a"}, "acb"),
        ({"cell_id": "c", "edit_mode": "move"}, "cab"),
        ({"cell_id": "a", "edit_mode": "move", "after_cell_id": "c"}, "bca"),
        ({"cell_id": "b", "edit_mode": "delete"}, "ac"),
    ],
)
def test_cells_are_moved_and_deleted_with_all_they_have(bench: Any, given: dict[str, Any], order: str) -> None:
    path = stored(bench)
    bench("NotebookEdit", notebook_path="n.ipynb", **given)
    known = {cell["id"]: cell for cell in CELLS}
    assert cells_of(path) == [known[name] for name in order]


@pytest.mark.parametrize(("after", "at"), [("a", 1), ("c", 3), ("", 0)])
@pytest.mark.parametrize("kind", ["code", "markdown"])
def test_a_cell_is_inserted_behind_another_or_at_the_beginning(bench: Any, after: str, at: int, kind: str) -> None:
    path = stored(bench)
    bench(
        "NotebookEdit",
        notebook_path="n.ipynb",
        new_source="new\ncell\n",
        cell_type=kind,
        edit_mode="insert",
        **({"cell_id": after} if after else {}),
    )
    cells = cells_of(path)
    made = cells.pop(at)
    assert cells == list(CELLS)
    name = made.pop("id")
    assert name not in "abc"
    ran = {"execution_count": None, "outputs": []} if kind == "code" else {}
    assert made == {"cell_type": kind, "metadata": {}, "source": ["new\n", "cell\n"], **ran}


def test_a_cell_that_becomes_another_kind_has_what_that_kind_has(bench: Any) -> None:
    path = stored(bench)
    bench("NotebookEdit", notebook_path="n.ipynb", cell_id="b", new_source="# text", cell_type="markdown")
    bench("NotebookEdit", notebook_path="n.ipynb", cell_id="a", new_source="1", cell_type="code")
    assert cells_of(path)[:2] == [
        {"cell_type": "code", "id": "a", "metadata": {}, "source": ["1"], "outputs": [], "execution_count": None},
        {"cell_type": "markdown", "id": "b", "metadata": {"tags": ["b"]}, "source": ["# text"]},
    ]


def test_cells_without_names_are_known_by_their_place(bench: Any) -> None:
    path = stored(bench, notebook(*CELLS, minor=4))
    bench("NotebookEdit", notebook_path="n.ipynb", cell_id="cell-1", new_source="z")
    bench("NotebookEdit", notebook_path="n.ipynb", new_source="t", cell_type="markdown", edit_mode="insert")
    cells = cells_of(path)
    assert [cell["source"] for cell in cells] == [["t"], ["# Title\n"], ["z"], ["y = 2"]]
    assert not any("id" in cell for cell in cells)


@pytest.mark.parametrize("indent", [None, 1, 2, 4])
def test_the_file_is_written_as_it_was_written(bench: Any, indent: int | None) -> None:
    path = stored(bench, notebook(prose("a", "é"), code("b", "1")), indent=indent)
    bench("NotebookEdit", notebook_path="n.ipynb", cell_id="b", new_source="2")
    expected = notebook(prose("a", "é"), code("b", "2", outputs=[], execution_count=None))
    assert Path(path).read_text(encoding="utf-8") == json.dumps(expected, indent=indent, ensure_ascii=False) + "\n"


def test_windows_line_endings_and_escapes_stay(bench: Any) -> None:
    text = json.dumps(notebook(prose("a", "é"), code("b", "1")), indent=1).replace("\n", "\r\n")
    path = bench.write("n.ipynb", text)
    bench("Read", file_path="n.ipynb")
    bench("NotebookEdit", notebook_path="n.ipynb", cell_id="b", new_source="2")
    expected = notebook(prose("a", "é"), code("b", "2", outputs=[], execution_count=None))
    assert Path(path).read_bytes() == json.dumps(expected, indent=1).replace("\n", "\r\n").encode()


@pytest.mark.parametrize(
    ("given", "complaints"),
    [
        ({"cell_id": "a"}, ["$.new_source"]),
        ({"new_source": "x"}, ["$.cell_id"]),
        ({"edit_mode": "insert"}, ["$.new_source", "$.cell_type"]),
        ({"edit_mode": "delete"}, ["$.cell_id"]),
        ({"edit_mode": "delete", "cell_id": "a", "after_cell_id": "b"}, ["$.after_cell_id"]),
    ],
)
def test_what_a_mode_needs_is_said_before_anybody_is_asked(
    bench: Any, given: dict[str, Any], complaints: list[str]
) -> None:
    call = bench.check("NotebookEdit", notebook_path="n.ipynb", **given).call
    with pytest.raises(CallError) as error:
        check(call)
    assert [problem.path for problem in error.value.problems] == complaints
    check(bench.check("NotebookEdit", notebook_path="n.ipynb", cell_id="a", new_source="").call)


def test_a_cell_cannot_be_moved_behind_itself_or_behind_none(bench: Any) -> None:
    path = stored(bench)
    before = Path(path).read_bytes()
    for after, message in (("b", "behind itself"), ("z", "has no cell `z`. It has `a`, `b`, `c`.")):
        with pytest.raises(Failure, match=message):
            bench("NotebookEdit", notebook_path="n.ipynb", cell_id="b", edit_mode="move", after_cell_id=after)
    assert Path(path).read_bytes() == before


def test_a_notebook_is_shown_with_its_pictures(bench: Any) -> None:
    import base64

    from PIL import Image as Pictures

    out = __import__("io").BytesIO()
    Pictures.new("RGB", (4, 4)).save(out, "PNG")
    shown = {
        "output_type": "display_data",
        "metadata": {},
        "data": {"image/png": base64.b64encode(out.getvalue()).decode(), "text/plain": ["<Figure>"]},
    }
    bench.write("n.ipynb", json.dumps(notebook(code("b", "plot()", outputs=[shown]), prose("c", "done"))))
    assert bench("Read", file_path="n.ipynb").blocks == (
        Text('<cell id="b" type="code" execution_count="3">\nplot()\n</cell>'),
        Image("image/png", out.getvalue()),
        Text('<cell id="c" type="markdown">\ndone\n</cell>'),
    )


def test_a_long_notebook_is_read_in_parts(bench: Any) -> None:
    bench.write("n.ipynb", json.dumps(notebook(*[prose(f"c{number}", "x" * 20_000) for number in range(9)])))
    with pytest.raises(Failure, match="about 4 cells fit"):
        bench("Read", file_path="n.ipynb")
    text = bench("Read", file_path="n.ipynb", offset=3, limit=2).blocks[0].text
    assert text.endswith("\n</cell>\n(These are cells 3 to 4 of 9; read on with `offset: 5`.)")
