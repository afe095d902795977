"""How the analysis read a text where that differs from how it is written: for explanations."""

from __future__ import annotations

from gateway.model.command import UNPARSED
from gateway.model.effect import HOLE
from gateway.policy.wording import quote

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from gateway.model.analysis import Analysis
    from gateway.model.command import Part

MAX_READINGS = 20


def normalised(text: str, analysis: Analysis, limit: int = 160) -> list[str]:
    """The readings that were applied, as sentences: "`/bin/rm` is read as `rm`". At most `MAX_READINGS`."""
    found: dict[str, None] = {}
    for part in analysis.parts:
        _program(part, text, found)
        _options(part, found)
        if len(found) >= MAX_READINGS:
            break
    for item in analysis.items:
        effect: Any = item.effect
        real = getattr(effect, "real", "")
        if real and real != effect.path:
            found[f"{quote(effect.path, limit)} leads to {quote(real, limit)}"] = None
    return list(found)[:MAX_READINGS]


def _program(part: Part, text: str, found: dict[str, None]) -> None:
    argv = part.argv
    name = argv[0] if argv else ""
    if not name or HOLE in name:
        return
    if part.via:
        if part.via[-1] == UNPARSED:
            return
        via = " ".join(part.via)
        found[f"{quote(' '.join(argv))} is run by {quote(via)}"] = None
    elif part.direct and not text.startswith(name, part.start):
        written = text[part.start : part.end].split(None, 1)
        if written:
            found[f"{quote(written[0])} is read as {quote(name)}"] = None
    if part.described and part.program and part.program != name:
        found[f"{quote(name)} is read as {quote(part.program)}"] = None
    subcommands = part.subcommands
    if subcommands and len(argv) > 1 and argv[1] != subcommands[0]:
        plain = (part.program, *subcommands)
        if subcommands[0] in argv:
            before = argv[: argv.index(subcommands[0]) + 1]
        else:  # another word for it: `npm test` for `npm run test`
            before = argv[:2]
            plain += part.operands[:1] if part.operands[:1] == argv[1:2] else ()
        found[f"{quote(' '.join(before))} is read as {quote(' '.join(plain))}"] = None


def _options(part: Part, found: dict[str, None]) -> None:
    """Clusters and abbreviations: words that are no option themselves, but stand for some."""
    options = part.options
    for word in part.argv[1:]:
        if word[:1] != "-" or len(word) < 3 or word in options:
            if word == "--":
                return
            continue
        if word[1] == "-":
            name = word.partition("=")[0]
            if name in options:
                continue
            full = [option for option in options if option.startswith(name)]
            if len(full) == 1:
                found[f"{quote(name)} is read as {quote(full[0])}"] = None
        else:
            letters = [f"-{letter}" for letter in word[1:]]
            if all(letter in options for letter in letters):
                found[f"{quote(word)} is read as {quote(' '.join(letters))}"] = None
