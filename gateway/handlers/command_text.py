"""What commands print, and what they were refused, as text for models and for people who watch."""

from __future__ import annotations

from codecs import getincrementaldecoder

from gateway.calls.output import Progress
from gateway.policy.wording import visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from gateway.calls.command_output import Transcript
    from gateway.model.result import Violation

_STREAMS = {1: "stdout", 2: "stderr"}


class Listener:
    """Hands output on as text while it comes, letters whole, and keeps it."""

    def __init__(self, progress: Callable[[Progress], None], transcript: Transcript | None = None) -> None:
        self._progress = progress
        self._transcript = transcript
        self._decoders = {stream: getincrementaldecoder("utf-8")("replace") for stream in _STREAMS}

    def __call__(self, stream: int, data: bytes) -> None:
        if self._transcript is not None:
            self._transcript.add(data)
        text = self._decoders[stream].decode(data)
        if text:
            self._progress(Progress(_STREAMS[stream], text))


def decoded(data: bytes) -> str:
    """Output as text; bytes that are none stay visible as such."""
    return data.decode("utf-8", "replace")


def violations_told(violations: tuple[Violation, ...]) -> list[str]:
    """What the sandbox refused or undid, a line each."""
    told = []
    for each in violations:
        what = f"{each.kind} {each.target}" + (f" ({each.count} times)" if each.count > 1 else "")
        rule = f" by rule `{each.rule}`" if each.rule else ""
        hint = f": {each.hint}" if each.hint else ""
        told.append(visible(f"[{'Blocked' if each.certain else 'Probably blocked'}{rule}: {what}{hint}]"))
    return told
