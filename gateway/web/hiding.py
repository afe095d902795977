"""Whether style declarations hide what they stand at, by what they mean and not by how they are spelled: too small, too
clear, too much like what is behind it, cut away, moved away, turned away.

Imports nothing of the rest but its neighbour.
"""

from __future__ import annotations

import re

from gateway.web.css_values import colour, contrast, length, lengths, share

_COMMENT = re.compile(r"/\*.*?(?:\*/|$)", re.DOTALL)
_ESCAPE = re.compile(r"\\([0-9a-f]{1,6})\s?")
_CALL = re.compile(r"([a-z0-9-]{1,20})\(([^()]{0,200})\)")
_VARIABLE = re.compile(r"var\(\s*(--[\w-]+)\s*(?:,([^()]*))?\)")
_CLEAR_MASK = re.compile(
    r"(?:transparent|#0{4}|#0{8}|rgba?\(0[ ,]+0[ ,]+0[ ,/]+0\)|[\s,()/]|linear-gradient|radial-gradient)+"
)
_EDGE_ON = ("90deg", "270deg", "-90deg", "0.25turn", ".25turn", "100grad")
WHITE = (255.0, 255.0, 255.0, 1.0)
# What nobody reads: a font of fewer pixels, of less opacity, of less contrast; a box of fewer pixels; what lies further
# away than a page is large.
LEAST_FONT, LEAST_OPACITY, LEAST_CONTRAST, LEAST_BOX, LEAST_SCALE, AWAY = 4.0, 0.1, 1.2, 2.0, 0.1, 400.0


def declared(declarations: str) -> dict[str, str]:
    """The declarations by name, the last of each, in small letters, without comments and escapes."""
    found: dict[str, str] = {}
    for each in plain(declarations).split(";"):
        name, colon, value = each.partition(":")
        if colon:
            found[name.strip()] = value.replace("!important", "").replace("! important", "").strip()
    return found


def _resolved(found: dict[str, str]) -> dict[str, str]:
    """Declarations with the variables that they set themselves put in."""
    own = {name: value for name, value in found.items() if name.startswith("--")}
    if not own:
        return found
    return {
        name: _VARIABLE.sub(lambda each: own.get(each[1], each[2] or ""), value) if "var(" in value else value
        for name, value in found.items()
    }


def plain(declarations: str) -> str:
    """Declarations in small letters, without comments, every escaped character as itself."""
    text = declarations.lower()
    if "/*" in text:
        text = _COMMENT.sub(" ", text)
    return _ESCAPE.sub(lambda each: chr(min(int(each[1], 16), 0x10FFFF)).lower(), text) if "\\" in text else text


def is_hiding(
    declarations: str, *, strict: bool = True, behind: tuple[float, float, float, float] | None = None
) -> bool | None:
    """Whether style declarations hide an element; None if they say nothing of it. Not `strict`: what scripts often undo
    as soon as a page is there does not count. `behind`: the colour that is behind the element, where that is known."""
    found = _resolved(declared(declarations))
    if not found:
        return None
    display, visibility = found.get("display"), found.get("visibility")
    if display == "none" or visibility in ("hidden", "collapse") or found.get("content-visibility") == "hidden":
        return True
    if _has_no_font(found) or _is_away(found) or _is_cut(found) or _is_turned(found):
        return True
    if (strict and _is_clear(found)) or _is_as_behind(found, behind):
        return True
    return False if display is not None or visibility is not None else None


def background(declarations: str) -> tuple[float, float, float, float] | None:
    """The colour that declarations put behind an element, None for none that covers."""
    found = declared(declarations)
    made = colour(found.get("background-color") or found.get("background") or "")
    return made if made is not None and made[3] > 1 - LEAST_OPACITY else None


def text_colour(declarations: str) -> tuple[float, float, float, float] | None:
    """The colour of an element's text, None where they say none."""
    found = declared(declarations)
    return colour(found.get("-webkit-text-fill-color") or found.get("color") or "")


def _below(value: str, least: float) -> bool:
    found = length(value) if value else None
    return found is not None and found < least


def _has_no_font(found: dict[str, str]) -> bool:
    if _below(found.get("font-size", ""), LEAST_FONT):
        return True
    sizes = [each for word in found.get("font", "").split("/")[0].split() if (each := length(word)) is not None]
    # The weight is a number as well, and stands before the size.
    return bool(sizes) and sizes[-1] < LEAST_FONT


def _is_away(found: dict[str, str]) -> bool:
    if abs(length(found.get("text-indent", "")) or 0.0) > AWAY:
        return True
    if any((length(found.get(name, "")) or 0.0) < -AWAY for name in ("margin-left", "margin-top", "letter-spacing")):
        return True
    if any(each < -AWAY for each in lengths(found.get("margin", ""))):
        return True
    sides = ("left", "top", "right", "bottom", "inset-inline-start", "inset-block-start")
    placed = found.get("position") in ("absolute", "fixed", "relative")
    if placed and any((length(found.get(side, "")) or 0.0) < -AWAY for side in sides):
        return True
    if placed and any((length(found.get(side, "")) or 0.0) > 10 * AWAY for side in sides):
        return True
    whole = (share(found[side]) for side in sides if found.get(side, "").endswith("%"))
    if placed and any(each is not None and abs(each) > 1.5 for each in whole):
        return True
    if found.get("text-indent") == "100%" and "nowrap" in found.get("white-space", "") and found.get("overflow"):
        return True
    if placed and any(abs(each) > AWAY for each in lengths(found.get("inset", ""))):
        return True
    index = share(found.get("z-index", ""))
    return placed and index is not None and index < 0


def _is_cut(found: dict[str, str]) -> bool:
    overflow = " ".join(found.get(name, "") for name in ("overflow", "overflow-x", "overflow-y", "contain"))
    if any(word in overflow for word in ("hidden", "clip", "paint", "strict", "scroll", "auto")) and any(
        _below(found.get(size, ""), LEAST_BOX)
        for size in ("width", "height", "max-width", "max-height", "block-size", "inline-size", "max-block-size")
    ):
        return True
    clip = found.get("clip", "")
    if clip.startswith("rect"):
        edges = lengths(clip[4:])
        if len(edges) == 4 and (edges[2] - edges[0] < LEAST_BOX or edges[1] - edges[3] < LEAST_BOX):
            return True
    for name, inner in _CALL.findall(found.get("clip-path", "")):
        percents = [share(word) for word in inner.split() if word.endswith("%")]
        known = [each for each in percents if each is not None]
        if name == "inset" and known and (max(known) >= 0.99 or (len(known) in (1, 2) and max(known) >= 0.49)):
            return True
        if name in ("circle", "ellipse") and _below(
            inner.split("at")[0].split()[0] if inner.split() else "", LEAST_BOX
        ):
            return True
        edges = lengths(inner) if name == "rect" else []
        if len(edges) == 4 and (edges[2] - edges[0] < LEAST_BOX or edges[1] - edges[3] < LEAST_BOX):
            return True
        if name == "polygon" and len(set(inner.replace(",", " ").split())) <= 1:
            return True
    mask = found.get("mask-image") or found.get("mask") or found.get("-webkit-mask-image") or found.get("-webkit-mask")
    return bool(mask) and "gradient" in str(mask) and _CLEAR_MASK.fullmatch(str(mask)) is not None


def _is_turned(found: dict[str, str]) -> bool:
    if any(
        (factor := share(word)) is not None and abs(factor) < LEAST_SCALE for word in found.get("scale", "").split()
    ):
        return True
    zoom = share(found.get("zoom", ""))
    if zoom is not None and zoom < LEAST_SCALE:
        return True
    if any(each < -AWAY or each > 10 * AWAY for each in lengths(found.get("translate", ""))):
        return True
    for name, inner in _CALL.findall(found.get("transform", "")):
        values = [share(word) for word in re.split(r"[\s,]+", inner.strip())]
        if name.startswith("scale") and any(each is not None and abs(each) < LEAST_SCALE for each in values):
            return True
        if name.startswith("matrix") and values and values[0] is not None and abs(values[0]) < LEAST_SCALE:
            return True
        if name.startswith("translate") and any(each < -AWAY or each > 10 * AWAY for each in lengths(inner)):
            return True
        if name in ("rotatex", "rotatey", "skew", "skewx", "skewy") and inner.strip() in _EDGE_ON:
            return True
        if name in ("rotatex", "rotatey") and found.get("backface-visibility") == "hidden" and "180" in inner:
            return True
    rotated = found.get("rotate", "").split()
    if len(rotated) == 2 and rotated[0] in "xy" and rotated[1] in _EDGE_ON:
        return True
    return any(
        name == "opacity" and (shown := share(inner)) is not None and shown < LEAST_OPACITY
        for name, inner in _CALL.findall(found.get("filter", ""))
    )


def _is_clear(found: dict[str, str]) -> bool:
    opacity = share(found.get("opacity", ""))
    return opacity is not None and opacity < LEAST_OPACITY


def _is_as_behind(found: dict[str, str], behind: tuple[float, float, float, float] | None) -> bool:
    shown = colour(found.get("-webkit-text-fill-color") or found.get("color") or "")
    if shown is None:
        return False
    if shown[3] < LEAST_OPACITY:
        return True
    own = colour(found.get("background-color") or found.get("background") or "")
    on = own if own is not None and own[3] > 1 - LEAST_OPACITY else behind
    return on is not None and contrast(shown, on) < LEAST_CONTRAST
