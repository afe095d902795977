"""Read, by the kinds of file it shows: text in pages, pictures, PDFs, and what it says of age and change."""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from PIL import Image as Pictures

from gateway.calls.output import Failure, Image, Output, Text
from gateway.handlers.images import MOST_BYTES, MOST_EDGE, PIXELS_PER_TOKEN, scaled, size_of
from gateway.handlers.images import MOST_TOKENS as IMAGE_TOKENS

ROOT = Path(__file__).parents[2]


def picture(width: int, height: int, form: str = "PNG", mode: str = "RGB", **options: Any) -> bytes:
    out = io.BytesIO()
    Pictures.new(mode, (width, height), 100 if mode in ("L", "I;16") else None).save(out, form, **options)
    return out.getvalue()


# ------------------------------------------------------------------------------------------------------------- text


def test_a_file_is_shown_with_numbered_lines_up_to_two_thousand(bench: Any) -> None:
    bench.write("a", "".join(f"line {number}\n" for number in range(1, 3_001)))
    shown = "\n".join(f"{number:6}\tline {number}" for number in range(1, 2_001))
    assert bench("Read", file_path="a") == Output(
        (Text(shown), Text("(These are lines 1 to 2000 of 3,000; read on with `offset: 2001`.)")),
        data={"kind": "text", "first": 1, "last": 2_000, "total": 3_000},
    )
    rest = "\n".join(f"{number:6}\tline {number}" for number in range(2_001, 3_001))
    assert bench("Read", file_path="a", offset=2_001) == Output(
        (Text(rest),), data={"kind": "text", "first": 2_001, "last": 3_000, "total": 3_000}
    )


def test_a_large_file_is_read_by_offset_without_reading_it_whole(bench: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    path = bench.write("big", b"".join(b"%07d\n" % number for number in range(1, 330_001)))
    assert os.stat(path).st_size > 2_500_000
    monkeypatch.setattr("gateway.handlers.files.time_ns", lambda: time.time_ns() + 10 * 10**9)
    monkeypatch.setattr("gateway.calls.reads.time_ns", lambda: time.time_ns() + 10 * 10**9)
    looked: list[int] = []
    real = os.pread

    def counted(descriptor: int, size: int, at: int) -> bytes:
        found = real(descriptor, size, at)
        looked.append(len(found))
        return found

    monkeypatch.setattr(os, "pread", counted)
    first = bench("Read", file_path="big", offset=300_000, limit=2)
    assert first.blocks[0] == Text("300000\t0300000\n300001\t0300001")
    looked.clear()
    for page in range(10):
        at = 300_002 + 2 * page
        assert bench("Read", file_path="big", offset=at, limit=2).blocks[0].text.startswith(f"{at}\t{at:07}\n")
    assert sum(looked) <= 10 * 5 * 65_536
    looked.clear()
    bench("Read", file_path="big", offset=300_002, limit=2)
    assert sum(looked) <= 2 * 65_536
    # What was known by its stamp can be edited, and is not once it has changed.
    bench("Edit", file_path="big", old_string="0330000", new_string="the end")
    with open(path, "ab") as file:
        file.write(b"more\n")
    with pytest.raises(Failure, match="has changed since it was read"):
        bench("Edit", file_path="big", old_string="the end", new_string="x")


def test_the_same_part_of_the_same_version_is_sent_once_and_another_version_again(bench: Any) -> None:
    bench.write("a", "one\n")
    first = bench("Read", file_path="a")
    unchanged = bench("Read", file_path="a")
    assert unchanged == Output(
        (Text(f"{bench.path('a')} is unchanged since this part of it was read; what you got then still holds."),),
        data={"kind": "unchanged"},
    )
    bench("Edit", file_path="a", old_string="one", new_string="two")
    assert bench("Read", file_path="a").blocks == (Text("     1\ttwo"),)
    bench("Edit", file_path="a", old_string="two", new_string="one")
    assert bench("Read", file_path="a") == first


def test_a_file_that_grows_while_it_is_read_is_shown_and_not_taken_for_read(
    bench: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = bench.write("a", "one\n")
    real = os.pread

    def growing(descriptor: int, size: int, at: int) -> bytes:
        found = real(descriptor, size, at)
        with open(path, "ab") as file:
            file.write(b"more\n")
        return found

    monkeypatch.setattr(os, "pread", growing)
    assert bench("Read", file_path="a").blocks[0].text.startswith("     1\tone")
    monkeypatch.undo()
    with pytest.raises(Failure, match="has not been read"):
        bench("Edit", file_path="a", old_string="one", new_string="x")
    bench("Read", file_path="a")
    bench("Edit", file_path="a", old_string="one", new_string="x")


def test_a_cancelled_read_ends(bench: Any) -> None:
    bench.write("big", b"x\n" * 2_000_000)

    class Set:
        is_set = True

    bench.cancel = Set()
    with pytest.raises(Failure, match="was cancelled"):
        bench("Read", file_path="big", offset=1_900_000)


def test_a_plain_read_and_an_edit_load_no_library_for_other_kinds_of_file(tmp_path: Path) -> None:
    program = (
        "import sys, json, os\n"
        "from importlib.util import module_from_spec, spec_from_file_location\n"
        f"spec = spec_from_file_location('bench', {str(Path(__file__).parent / 'conftest.py')!r})\n"
        "module = module_from_spec(spec)\n"
        "spec.loader.exec_module(module)\n"
        f"bench = module.Bench({str(tmp_path)!r})\n"
        "bench.write('a', 'hello')\n"
        "bench('Read', file_path='a')\n"
        "bench('Edit', file_path='a', old_string='hello', new_string='new')\n"
        "print(json.dumps(sorted({'PIL', 'pypdf', 'nbformat', 'jsonschema'} & set(sys.modules))))\n"
    )
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": os.pathsep.join((str(ROOT), str(ROOT / "tests")))}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, env=environment, check=True, timeout=60)
    assert json.loads(done.stdout) == []


# --------------------------------------------------------------------------------------------------------- pictures


def test_a_small_picture_is_sent_as_it_is(bench: Any) -> None:
    for form, media in (("PNG", "image/png"), ("JPEG", "image/jpeg"), ("GIF", "image/gif"), ("WEBP", "image/webp")):
        data = picture(40, 30, form)
        bench.write(f"a.{form}", data)
        assert bench("Read", file_path=f"a.{form}") == Output(
            (Image(media, data),), data={"kind": "image", "media_type": media}
        )


@pytest.mark.parametrize(
    ("width", "height", "form", "mode", "media"),
    [
        (2000, 1500, "PNG", "RGB", "image/png"),
        (2000, 1500, "JPEG", "RGB", "image/jpeg"),
        (1500, 2000, "WEBP", "RGB", "image/jpeg"),
        (1800, 1200, "WEBP", "RGBA", "image/png"),
        (1800, 1200, "GIF", "P", "image/png"),
        (1800, 1200, "JPEG", "CMYK", "image/jpeg"),
        (1800, 1200, "PNG", "I;16", "image/png"),
        (9000, 20, "PNG", "1", "image/png"),
    ],
)
def test_a_large_picture_is_scaled_to_what_it_may_cost(
    width: int, height: int, form: str, mode: str, media: str
) -> None:
    data = picture(width, height, form, mode)
    found, said = scaled(data, f"image/{form.lower()}", "a")
    shown = Pictures.open(io.BytesIO(found.data))
    assert found.media_type == media
    assert max(shown.size) <= MOST_EDGE
    assert shown.size[0] * shown.size[1] <= IMAGE_TOKENS * PIXELS_PER_TOKEN
    assert abs(shown.size[0] / width - shown.size[1] / height) < 0.05
    assert len(found.data) <= MOST_BYTES
    assert said.startswith(f"(a has {width:,} by {height:,} pixels")


def test_a_photograph_that_lies_on_its_side_is_turned() -> None:
    exif = Pictures.Exif()
    exif[0x0112] = 6
    data = picture(2000, 1000, "JPEG", exif=exif)
    found, _ = scaled(data, "image/jpeg", "a")
    shown = Pictures.open(io.BytesIO(found.data))
    assert shown.size[1] > shown.size[0]


def test_a_picture_of_few_pixels_and_many_bytes_is_packed_anew() -> None:
    noise = Pictures.frombytes("RGB", (1090, 1090), os.urandom(1090 * 1090 * 3))
    out = io.BytesIO()
    noise.save(out, "PNG", compress_level=0)
    assert out.tell() > MOST_BYTES - 200_000
    padded = picture(10, 10) + b"\0" * MOST_BYTES
    found, said = scaled(padded, "image/png", "a")
    assert (len(found.data) < 1_000, said != "") == (True, True)


@pytest.mark.parametrize("form", ["PNG", "JPEG", "GIF", "WEBP"])
def test_the_size_in_the_header_is_the_size(form: str) -> None:
    for width, height in ((1, 1), (300, 7), (1234, 567)):
        assert size_of(picture(width, height, form), f"image/{form.lower()}") == (width, height)
    assert size_of(picture(33, 44, "WEBP", lossless=True), "image/webp") == (33, 44)


@pytest.mark.parametrize("form", ["PNG", "JPEG", "GIF", "WEBP"])
def test_a_picture_that_is_cut_off_anywhere_is_an_error_and_no_crash(form: str) -> None:
    noise = io.BytesIO()
    Pictures.frombytes("RGB", (64, 64), bytes(range(256)) * 48).save(noise, form)
    data = noise.getvalue()
    for size in range(0, len(data) // 2, max(1, len(data) // 60)):
        try:
            found, _ = scaled(data[:size], f"image/{form.lower()}", "a")
            said = "shown" if found.data == data[:size] else ""
        except Failure as failure:
            said = str(failure)
        names = {"WEBP": "WebP"}
        allowed = {f"a is a damaged {names.get(form, form)} image and cannot be shown."}
        assert said in allowed | ({"shown"} if form == "GIF" else set())  # a GIF may end early


# -------------------------------------------------------------------------------------------------------------- PDF


def pdf(pages: list[str], *, password: str = "") -> bytes:
    from pypdf import PdfWriter
    from pypdf.generic import DecodedStreamObject, DictionaryObject, NameObject

    writer = PdfWriter()
    font = DictionaryObject(
        {
            NameObject("/Type"): NameObject("/Font"),
            NameObject("/Subtype"): NameObject("/Type1"),
            NameObject("/BaseFont"): NameObject("/Helvetica"),
        }
    )
    for text in pages:
        page = writer.add_blank_page(200, 200)
        stream = DecodedStreamObject()
        stream.set_data(f"BT /F1 12 Tf 20 100 Td ({text}) Tj ET".encode() if text else b"")
        page[NameObject("/Resources")] = DictionaryObject(
            {NameObject("/Font"): DictionaryObject({NameObject("/F1"): font})}
        )
        page[NameObject("/Contents")] = writer._add_object(stream)
    if password:
        writer.encrypt(password, algorithm="RC4-128")
    out = io.BytesIO()
    writer.write(out)
    return out.getvalue()


def scan(width: int = 120, height: int = 80) -> bytes:
    out = io.BytesIO()
    Pictures.new("RGB", (width, height), "red").save(out, "PDF")
    return out.getvalue()


def test_pages_of_a_pdf_are_shown_as_text(bench: Any) -> None:
    path = bench.write("a.pdf", pdf(["first page", "second page", "third page"]))
    assert bench("Read", file_path="a.pdf", pages="2-3") == Output(
        (
            Text(f"{path}: pages 2 to 3 of 3."),
            Text("--- page 2\nsecond page"),
            Text("--- page 3\nthird page"),
        ),
        data={"kind": "pdf", "pages": (2, 3), "total": 3},
    )
    assert [block.text for block in bench("Read", file_path="a.pdf").blocks][1:] == [
        "--- page 1\nfirst page",
        "--- page 2\nsecond page",
        "--- page 3\nthird page",
    ]


def test_a_page_without_text_is_shown_by_its_pictures(bench: Any) -> None:
    bench.write("a.pdf", scan())
    blocks = bench("Read", file_path="a.pdf").blocks
    assert blocks[1] == Text("--- page 1\n(No text; its pictures:)")
    assert isinstance(blocks[2], Image)


NO_PAGES = {
    "0": "must be a number from 1 or a range such as 1-5 (got `0`)",
    "3-1": "must be a number from 1 or a range such as 1-5 (got `3-1`)",
    "1-21": "at most 20 pages at once",
    "13": "has only 12 pages. Ask for one of those.",
    "": 'has 12 pages. Say which with `pages`, such as "1-10" (at most 20).',
}


def test_pages_that_cannot_be_shown_are_refused_with_those_that_can(bench: Any) -> None:
    bench.write("a.pdf", pdf([f"page {number}" for number in range(12)]))
    for pages, message in NO_PAGES.items():
        with pytest.raises(Failure, match=re.escape(message)):
            bench("Read", file_path="a.pdf", **({"pages": pages} if pages else {}))
    assert bench("Read", file_path="a.pdf", pages="12").blocks[1] == Text("--- page 12\npage 11")


def test_a_pdf_with_a_password_is_refused_and_one_without_is_not(bench: Any) -> None:
    bench.write("a.pdf", pdf(["secret"], password="word"))
    with pytest.raises(Failure, match="is protected by a password"):
        bench("Read", file_path="a.pdf")


def test_a_pdf_that_takes_too_long_is_given_up_and_its_process_ended(
    bench: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.write("a.pdf", pdf(["text"]))
    monkeypatch.setattr("gateway.handlers.pdf.SECONDS", 0.0)
    monkeypatch.setattr("gateway.handlers.pdf._LOOK", 0.0)
    with pytest.raises(Failure, match="takes too long"):
        bench("Read", file_path="a.pdf")
    monkeypatch.undo()
    assert bench("Read", file_path="a.pdf").blocks[1] == Text("--- page 1\ntext")
