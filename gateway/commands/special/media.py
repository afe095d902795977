"""Pictures, sound and films: programs to which a name may be more than a file, and ffmpeg's chains of filters."""

from __future__ import annotations

import re

from gateway.commands.special.wordlists import words
from gateway.model.command import Word
from gateway.model.effect import HOLE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from gateway.commands.findings import Findings
    from gateway.commands.invocation import Invocation

# What ImageMagick draws by itself and finds nothing but a picture in.
_PICTURES = words("avif bmp gif heic ico jpeg jpg jxl pbm pgm png pnm ppm tif tiff webp")
# Files that name others, wherever these lie: lists that are played, and what is written in pieces beside a list.
_LISTS = words("concat ffconcat ism ism/manifest m3u m3u8 mpd sdp txt")
# Filters of ffmpeg none of whose options names a file, but for those that have `file` in their names.
_FILTERS = words(
    "acompressor aconcat adelay aecho aevalsrc afade aformat amerge amix anull apad aresample areverse aselect "
    "asetnsamples asetpts asetrate asplit atempo atrim bass bbox blackdetect boxblur bwdif chromakey color "
    "colorbalance colorchannelmixer colorkey concat crop cropdetect dblur dynaudnorm ebur128 eq equalizer "
    "extractplanes fade field format fps framerate framestep gblur gradients hflip highpass hqdn3d hstack hue idet "
    "lagfun limiter loop loudnorm lowpass mandelbrot maskedmerge minterpolate negate nlmeans noise null nullsrc "
    "overlay pad palettegen paletteuse pan pixelize pullup realtime reverse rotate scale select setdar setpts setsar "
    "sharpen showinfo showspectrumpic showwaves showwavespic silencedetect silenceremove sine smptebars split "
    "stereotools testsrc testsrc2 thumbnail tile tmix tpad transpose treble trim unsharp vflip vignette volume "
    "volumedetect vstack xfade xstack yadif zoompan"
)
# Labels in brackets stand before and behind a filter; quotes and backslashes are ffmpeg's own, and `/` in front of an
# option's name, or of a value, takes the value from a file.
_CHAIN = re.compile(r"[\w\[\]:=,;.+*()<>|%#/ -]*")
_LABELS = re.compile(r"\[[^\[\]]*\]")
_FROM_FILES = re.compile(r"(?:^|[=:,;|\]]) *[/@]|file")


def _is_more(word: Word) -> bool:
    """Whether a name may have a protocol, or a coder, before it."""
    return ":" in word.text.partition("/")[0] or HOLE in word.text[:1] or word.text[:1] == "@"


def _media(findings: Findings, run: Invocation) -> None:
    """ffprobe and ImageMagick take `protocol:rest` and `coder:file`, which reach further than a file."""
    del findings
    for word in [*run.operands, *[values[0] for _, values in run.values if values]]:
        if _is_more(word):
            run.doubts.append(f"{word.text.replace(HOLE, '?')} may be more than a file")
    for option, values in run.values:
        # 7-Zip leaves out what a list names, in `-xr@names` as in `-x@names`.
        if "-x" in option["names"] and "@" in values[0].text.partition("!")[0]:
            run.doubts.append(f"-x{values[0].text.replace(HOLE, '?')} reads a list of names")
    if run.name == "identify":
        for word in run.operands:
            if word.text.rpartition(".")[2].lower() not in _PICTURES:
                run.doubts.append(f"{word.text.replace(HOLE, '?')} may be a program for ImageMagick")


def _ffmpeg(findings: Findings, run: Invocation) -> None:
    """Inputs and outputs are files, each `%` in their names stands for many, and filters are those of the list."""
    named = [("write", word) for word in run.operands]
    for option, values in run.values:
        if "-i" in option["names"]:
            named.append(("read", values[0]))
        elif "-filter" in option["names"] and not _is_plain(values[0].text):
            run.doubts.append(f"{values[0].text[:40].replace(HOLE, '?')} may name files")
    for kind, word in named:
        shown = word.text.replace(HOLE, "?")
        if word.text == "-":
            continue
        if _is_more(word) or HOLE in word.text or "|" in word.text:
            run.doubts.append(f"{shown} may be more than a file")
        elif word.text.rpartition(".")[2].lower() in _LISTS:
            run.doubts.append(f"{shown} may name other files")
        elif "%" in word.text:
            folder = word.text.rpartition("/")[0]
            around = Word(folder or ("/" if word.text[:1] == "/" else "."), word.start, word.end)
            findings.touch(kind, around, run.cwds, run.part, True)


def _is_plain(chain: str) -> bool:
    if HOLE in chain or _CHAIN.fullmatch(chain) is None or _FROM_FILES.search(chain):
        return False
    filters = re.split("[,;]", _LABELS.sub("", chain))
    return all(each.partition("=")[0].strip() in _FILTERS for each in filters)


HOOKS: dict[str, Callable[[Findings, Invocation], None]] = {"ffmpeg": _ffmpeg, "media": _media}
