"""Reading a shell text: the plain ones at a glance, the others by a walk through their parts."""

from __future__ import annotations

from gateway.shell.plain import plain_script
from gateway.shell.script import NO_SCRIPTS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from gateway.shell.script import Script


def read(
    text: str,
    *,
    cwds: tuple[str, ...],
    home: str,
    variables: Mapping[str, str],
    activates: Mapping[str, tuple[str, ...]] = NO_SCRIPTS,
) -> Script:
    """Read a shell text that starts in one of `cwds` with some variables known. Never raises on any text. `activates`:
    scripts of which it is known that sourcing them only sets these variables."""
    script = plain_script(text, cwds, variables.get("HOME", home))
    if script is None:
        import gateway.shell.walk as walk  # most texts need none, and loading it takes longer than they do

        script = walk.read(text, cwds=cwds, home=home, variables=variables, activates=activates)
    return script
