"""Values of style declarations by what they mean: lengths in pixels, colours as red, green, blue and opacity.

Imports nothing of the rest.
"""

from __future__ import annotations

import re

# Pixels of one of each. Of what depends on the window or on the text around, as much as it usually is.
_UNITS = {
    "": 1.0, "px": 1.0, "em": 16.0, "rem": 16.0, "ex": 8.0, "ch": 8.0, "cap": 11.0, "ic": 16.0, "lh": 20.0, "rlh": 20.0,
    "pt": 4 / 3, "pc": 16.0, "in": 96.0, "cm": 37.8, "mm": 3.78, "q": 0.945, "%": 0.16, "vw": 12.8, "vh": 7.2,
    "vi": 12.8, "vb": 7.2, "vmin": 7.2, "vmax": 12.8, "dvh": 7.2, "svh": 7.2, "lvh": 7.2, "dvw": 12.8,
}  # fmt: skip
_SIZES = {
    "xx-small": 9.0,
    "x-small": 10.0,
    "small": 13.0,
    "medium": 16.0,
    "large": 18.0,
    "smaller": 13.0,
    "larger": 19.0,
}
_NUMBER = re.compile(r"([+-]?(?:\d{1,12}\.?\d{0,12}|\.\d{1,12})(?:e[+-]?\d{1,3})?)\s?(%|[a-z]{0,4})")
_CALC = re.compile(r"(calc|min|max|clamp)\((.{0,200})\)")
_COLOURS = {
    "black": 0x000000, "white": 0xFFFFFF, "red": 0xFF0000, "green": 0x008000, "blue": 0x0000FF, "gray": 0x808080,
    "grey": 0x808080, "silver": 0xC0C0C0, "lightgray": 0xD3D3D3, "lightgrey": 0xD3D3D3, "gainsboro": 0xDCDCDC,
    "whitesmoke": 0xF5F5F5, "snow": 0xFFFAFA, "ivory": 0xFFFFF0, "ghostwhite": 0xF8F8FF, "floralwhite": 0xFFFAF0,
    "mintcream": 0xF5FFFA, "azure": 0xF0FFFF, "aliceblue": 0xF0F8FF, "seashell": 0xFFF5EE, "honeydew": 0xF0FFF0,
    "linen": 0xFAF0E6, "beige": 0xF5F5DC, "lavender": 0xE6E6FA, "yellow": 0xFFFF00, "lime": 0x00FF00, "aqua": 0x00FFFF,
    "cyan": 0x00FFFF, "magenta": 0xFF00FF, "fuchsia": 0xFF00FF, "maroon": 0x800000, "olive": 0x808000, "navy": 0x000080,
    "purple": 0x800080, "teal": 0x008080, "orange": 0xFFA500, "pink": 0xFFC0CB, "darkgray": 0xA9A9A9,
    "darkgrey": 0xA9A9A9, "dimgray": 0x696969, "dimgrey": 0x696969, "canvas": 0xFFFFFF, "canvastext": 0x000000,
}  # fmt: skip
_FUNCTION = re.compile(r"(rgba?|hsla?|hwb|oklch|oklab|lch|lab)\(([^()]{0,80})\)")
_HEX = re.compile(r"#([0-9a-f]{3,4}|[0-9a-f]{6}|[0-9a-f]{8})\b")

Colour = tuple[float, float, float, float]


def length(value: str) -> float | None:
    """A length in pixels, None for what is none."""
    value = value.strip()
    if value in _SIZES:
        return _SIZES[value]
    inner = _CALC.fullmatch(value)
    if inner is not None:
        return _calculated(inner[1], inner[2])
    return _plain_length(value)


def _plain_length(value: str) -> float | None:
    found = _NUMBER.fullmatch(value)
    if found is None or found[2] not in _UNITS:
        return None
    return float(found[1]) * _UNITS[found[2]]


def _calculated(function: str, inner: str) -> float | None:
    """What a function makes of lengths, None where that is not known."""
    found = [_sum(part) for part in inner.replace("calc(", "").replace("(", "").replace(")", "").split(",")]
    known = [each for each in found if each is not None]
    if len(known) < len(found) or (function == "clamp" and len(known) != 3):
        return None
    if function == "clamp":
        return max(known[0], min(known[1:]))
    return max(known) if function == "max" else min(known)


def _sum(text: str) -> float | None:
    total = 0.0
    words = ["+", *re.split(r"\s+([+-])\s+", text.strip())]
    for sign, term in zip(words[::2], words[1::2], strict=False):
        product = 1.0
        factors = ["*", *re.split(r"\s*([*/])\s*", term)]
        for mark, factor in zip(factors[::2], factors[1::2], strict=False):
            value = _plain_length(factor)
            if value is None or (mark == "/" and not value):
                return None
            product = product / value if mark == "/" else product * value
        total += -product if sign == "-" else product
    return total


def lengths(value: str) -> list[float]:
    """All lengths in a value."""
    return [each for each in (length(word) for word in re.split(r"[\s,()/]+", value)) if each is not None]


def share(value: str) -> float | None:
    """A number, or a percentage as its hundredth; None for what is neither."""
    inner = _CALC.fullmatch(value.strip())
    found = _NUMBER.fullmatch((inner[2] if inner else value).strip())
    if found is None or found[2] not in ("", "%"):
        return None
    return float(found[1]) / (100 if found[2] else 1)


def colour(value: str) -> Colour | None:
    """The first colour in a value, None where there is none that is known."""
    value = value.strip()
    found = _HEX.search(value)
    if found is not None:
        digits = found[1] if len(found[1]) > 4 else "".join(each * 2 for each in found[1])
        red, green, blue, *clear = (int(digits[at : at + 2], 16) for at in range(0, len(digits), 2))
        return red, green, blue, clear[0] / 255 if clear else 1.0
    made = _FUNCTION.search(value)
    if made is not None:
        return _made(made[1], re.split(r"[\s,/]+", made[2].strip()))
    for word in re.split(r"[\s,()]+", value):
        if word == "transparent":
            return 0, 0, 0, 0.0
        if word in _COLOURS:
            code = _COLOURS[word]
            return code >> 16, code >> 8 & 255, code & 255, 1.0
    return None


def _made(function: str, words: list[str]) -> Colour | None:
    if len(words) not in (3, 4):
        return None
    clear = share(words[3]) if len(words) == 4 else 1.0
    if function.startswith("rgb"):
        parts = [
            None if (part := share(word)) is None else part * (255 if word.endswith("%") else 1) for word in words[:3]
        ]
        if None in parts or clear is None:
            return None
        red, green, blue = (min(max(part or 0.0, 0.0), 255.0) for part in parts)
        return red, green, blue, clear
    if "l" in function and function[-1] in "bh" and function not in ("hsl", "hwb"):
        return _by_lightness(function, words, clear)
    turn = share(words[0].removesuffix("deg"))
    second, third = share(words[1]), share(words[2])
    if turn is None or second is None or third is None or clear is None:
        return None
    import colorsys

    hue = turn / 360 % 1
    if function == "hwb":
        grey = second + third
        second, third = (second / grey, third / grey) if grey > 1 else (second, third)
        plain = colorsys.hsv_to_rgb(hue, 1.0, 1.0)
        red, green, blue = (part * (1 - second - third) + second for part in plain)
    else:
        red, green, blue = colorsys.hls_to_rgb(hue, min(max(third, 0.0), 1.0), min(max(second, 0.0), 1.0))
    return red * 255, green * 255, blue * 255, clear


def _by_lightness(function: str, words: list[str], clear: float | None) -> Colour | None:
    """A colour of the kinds that begin with a lightness, as the grey of it: near white and black they are that."""
    light = share(words[0])
    if light is None or clear is None:
        return None
    if not words[0].endswith("%") and not function.startswith("ok"):
        light /= 100
    grey = min(max(light, 0.0), 1.0) * 255
    return grey, grey, grey, clear


def contrast(one: Colour, other: Colour) -> float:
    """How well a colour stands out from the one behind it, as the guidelines for readable pages count: 1 to 21."""
    clear = one[3]
    mixed = [front * clear + back * (1 - clear) for front, back in zip(one[:3], other[:3], strict=True)]
    light, dark = sorted((_luminance(mixed), _luminance(list(other[:3]))), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def _luminance(parts: list[float]) -> float:
    red, green, blue = (part / 255 / 12.92 if part <= 10.3 else ((part / 255 + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
