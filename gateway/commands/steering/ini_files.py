"""Settings as Python's `configparser` reads them: names of options in lower case, and what stands under `DEFAULT` in
each section."""

from __future__ import annotations

from gateway.commands.steering.entries import NotRead

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gateway.commands.steering.entries import Entry


def entries(text: str, *, strict: bool = True) -> list[Entry]:
    """The values are as they are written, before one is put into another. Raises NotRead for what Python refuses."""
    from configparser import Error, RawConfigParser  # lazy: few calls start a program that has such settings

    parser = RawConfigParser(strict=strict)
    try:
        parser.read_string(text.removeprefix("\ufeff"))
        return [((section, key), value) for section in parser.sections() for key, value in parser.items(section)]
    except (Error, ValueError, AttributeError):
        raise NotRead("no sections of options") from None


def editor_entries(text: str) -> list[Entry]:
    """The same for the files named `.editorconfig`, which begin without a section."""
    lines = text.removeprefix("\ufeff").splitlines(keepends=True)
    first = next((at for at, line in enumerate(lines) if line.lstrip()[:1] == "["), len(lines))
    return entries("".join(lines[first:]), strict=False)
