"""A picture for the model: checked, and scaled to what a picture may cost.

The size is read from the header before anything is decoded: a small file that would unpack to more than memory holds is
refused. What fits is sent as it is; what does not is scaled, the first frame of it if it moves.
"""

from __future__ import annotations

from gateway.calls.output import Failure, Image
from gateway.core.quantities import size_said
from gateway.files.kinds import IMAGES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# What a model pays for a picture is about its area over this.
PIXELS_PER_TOKEN = 750
MOST_TOKENS = 1_600
MOST_EDGE = 1_568
MOST_BYTES = 3_750_000
MOST_PIXELS = 50_000_000
_QUALITIES = (85, 70, 50, 30)


def scaled(data: bytes, media_type: str, shown: str) -> tuple[Image, str]:
    """The picture, and what was done to it in words ("" for nothing). `shown`: its name for sentences. Raises Failure
    for one that is damaged or too large to be decoded."""
    kind = IMAGES[media_type]
    width, height = size_of(data, media_type)
    if width < 1 or height < 1:
        raise _damaged(shown, kind)
    if width * height > MOST_PIXELS:
        raise Failure(
            f"{shown} unpacks to {width:,} by {height:,} pixels, too many to decode (at most {MOST_PIXELS:,}).",
            "Make a smaller copy first.",
        )
    import io

    import PIL.Image

    scale = min(1.0, MOST_EDGE / max(width, height), (MOST_TOKENS * PIXELS_PER_TOKEN / (width * height)) ** 0.5)
    target = (max(1, int(width * scale)), max(1, int(height * scale)))
    try:
        with PIL.Image.open(io.BytesIO(data), formats=[kind.upper()]) as picture:
            if picture.size[0] * picture.size[1] > MOST_PIXELS:
                raise _damaged(shown, kind)
            if scale == 1 and len(data) <= MOST_BYTES:
                picture.load()  # what cannot be decoded here cannot be looked at there
                return Image(media_type, data), ""
            picture.draft("RGB", target)
            small, form = _small(picture, target)
            content, media = _packed(small, form, shown)
    except (Failure, MemoryError):
        raise
    except Exception as error:  # decoders fail in as many ways as files can be damaged
        raise _damaged(shown, kind) from error
    said = f"({shown} has {width:,} by {height:,} pixels, {size_said(len(data))}; shown at "
    return Image(media, content), said + f"{small.size[0]:,} by {small.size[1]:,}.)"


def _damaged(shown: str, kind: str) -> Failure:
    return Failure(f"{shown} is a damaged {kind} image and cannot be shown.")


def _small(picture: Any, target: tuple[int, int]) -> tuple[Any, str]:
    """The picture at its new size and the right way up, and the format that keeps it."""
    from PIL import ImageOps

    picture.load()
    clear = picture.mode in ("RGBA", "LA", "PA") or "transparency" in picture.info
    form = "JPEG" if picture.format in ("JPEG", "WEBP") and not clear else "PNG"
    turned = ImageOps.exif_transpose(picture)
    if (turned.size[0] > turned.size[1]) != (target[0] > target[1]):
        target = target[::-1]
    wanted = "RGBA" if clear else "RGB"
    if turned.mode.startswith(("I", "F")):  # more than eight bits: keep the range that is there
        extremes: Any = turned.getextrema()
        low, high = extremes
        span = (high - low) or 1
        turned = turned.point(lambda value: (value - low) * (255 / span)).convert("L")
    return turned.convert(wanted).resize(target, reducing_gap=2.0), form


def _packed(picture: Any, form: str, shown: str) -> tuple[bytes, str]:
    """The bytes of a picture, small enough, and their media type."""
    import io

    if form == "PNG":
        out = io.BytesIO()
        picture.save(out, "PNG", optimize=True)
        if out.tell() <= MOST_BYTES:
            return out.getvalue(), "image/png"
    for quality in _QUALITIES:
        out = io.BytesIO()
        picture.convert("RGB").save(out, "JPEG", quality=quality)
        if out.tell() <= MOST_BYTES:
            return out.getvalue(), "image/jpeg"
    raise Failure(f"{shown} cannot be made small enough to be shown.")


def size_of(data: bytes, media_type: str) -> tuple[int, int]:
    """Width and height as the header says, (0, 0) if it says nothing that can be read."""
    if media_type == "image/png":
        return _big(data[16:20]), _big(data[20:24])
    if media_type == "image/gif":
        return _little(data[6:8]), _little(data[8:10])
    if media_type == "image/webp":
        return _webp(data)
    return _jpeg(data)


def _webp(data: bytes) -> tuple[int, int]:
    form = data[12:16]
    if form == b"VP8X":
        return _little(data[24:27]) + 1, _little(data[27:30]) + 1
    if form == b"VP8L" and len(data) >= 25:
        bits = _little(data[21:25])
        return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    if form == b"VP8 ":
        return _little(data[26:28]) & 0x3FFF, _little(data[28:30]) & 0x3FFF
    return 0, 0


def _jpeg(data: bytes) -> tuple[int, int]:
    at = 2
    while at + 9 < len(data):
        if data[at] != 0xFF:
            return 0, 0
        marker = data[at + 1]
        if marker == 0xFF:  # padding
            at += 1
        elif marker == 0x01 or 0xD0 <= marker <= 0xD8:
            at += 2
        elif 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            return _big(data[at + 7 : at + 9]), _big(data[at + 5 : at + 7])
        elif marker in (0xD9, 0xDA):
            return 0, 0
        else:
            at += 2 + max(2, _big(data[at + 2 : at + 4]))
    return 0, 0


def _big(data: bytes) -> int:
    return int.from_bytes(data, "big")


def _little(data: bytes) -> int:
    return int.from_bytes(data, "little")
