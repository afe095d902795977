"""What programs print that take a text back from another form: Base64."""

from __future__ import annotations

from gateway.commands.invocation import Printed
from gateway.model.effect import HOLE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from gateway.commands.invocation import Invocation

    Given = Callable[[], Printed | None]

_DECODES = frozenset(("-d", "--decode", "-D"))


def _known(run: Invocation, given: Given) -> str | None:
    """The whole input, where it is known and the program takes it from there."""
    if run.operands or run.doubts:
        return None
    found = given()
    if found is None or found.text is None or HOLE in found.text or not found.text.isascii():
        return None
    return found.text


def base64(run: Invocation, given: Given) -> Printed | None:
    """`base64 -d` of a known text, if that is a text, too."""
    text = _known(run, given) if run.options and run.options <= _DECODES and run.name == "base64" else None
    if text is None:
        return None
    from binascii import Error, a2b_base64  # lazy: few texts hold another

    try:
        found = a2b_base64(text.replace("\n", ""), strict_mode=True).decode("ascii")
    except (Error, ValueError):
        return None
    return Printed(found) if HOLE not in found and "\r" not in found else None
