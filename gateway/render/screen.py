"""A person's view of calls: colours, width and marks on a terminal, plain lines everywhere else."""

from __future__ import annotations

from functools import cached_property
from time import monotonic

from gateway.core.value import Value
from gateway.render.printed import Printed
from gateway.render.texts import call_text, progress_text, result_text, shown
from gateway.render.themes import DEFAULT, theme

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TextIO

    from rich.console import Console
    from rich.text import Text

    from gateway.calls.output import Done, Progress
    from gateway.model.call import RawCall
    from gateway.tools.tool import Tool

# Of a condensed diff, so many lines are shown.
MOST_DIFF = 40
_STREAMS = ("stdout", "stderr", "event")
_LISTINGS = ("Glob",)


class Look(Value):
    """How to show. `full`: everything, else what fits a glance. `width`: columns, 0 for the terminal's."""

    full: bool = False
    theme: str = DEFAULT
    width: int = 0


class Screen:
    """Shows calls on one stream. On a terminal in colour; where it is piped as plain text, without a change of it."""

    def __init__(
        self,
        stream: TextIO,
        look: Look = Look(),  # noqa: B008 - frozen
        *,
        terminal: bool | None = None,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        """`terminal`: whether a person looks at the stream; found out by default. What the stream's encoding does not
        have is shown as escapes."""
        from rich.console import Console

        self.look = look
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
        self._stream = stream
        self._console: Console = Console(
            file=stream, theme=theme(look.theme), width=look.width or None, force_terminal=terminal,
            highlight=False, markup=False, emoji=False, soft_wrap=not look.width,
        )  # fmt: skip
        self._mark, self._cross = _marks(getattr(stream, "encoding", None) or "utf-8")
        self._printed = Printed(self._raw, self.is_terminal and not look.full, self._console.width, clock)

    @property
    def is_terminal(self) -> bool:
        """Whether a person looks at it."""
        return self._console.is_terminal

    def call(self, tool: Tool, raw: RawCall) -> None:
        """The call that is about to be led through its life."""
        text = call_text(tool.entry, raw.input, tool.match, full=self.look.full)
        first, _, rest = text.partition("\n")
        line = self._text("", "")
        line.append(f"{self._mark} ", "g.mark").append(first, "g.call")
        self._print(line)
        if rest:
            self._print(self._text(rest, "faint"))

    def progress(self, tool: Tool, progress: Progress) -> None:
        """Something that happens meanwhile: what a command prints as it comes, and one line for anything else."""
        if progress.kind in _STREAMS:
            text = progress.text + "\n" * (progress.kind == "event")
            self._printed.add(
                progress.kind,
                text,
                lambda part: progress_text(tool.entry, progress.replace(text=part), full=self.look.full),
            )
        else:
            self._raw(progress_text(tool.entry, progress, full=self.look.full) + "\n")

    def _raw(self, text: str) -> None:
        """Writes what happens meanwhile. There may be very much of it: it goes past the layout."""
        before, after = self._paint
        self._stream.write(f"{before}{text}{after}" if text.strip("\r\n") else text)
        self._stream.flush()

    @cached_property
    def _paint(self) -> tuple[str, str]:
        """What switches the colour of progress on and off."""
        from rich.console import COLOR_SYSTEMS

        name = self._console.color_system
        style = self._console.get_style("g.progress")
        if name is None or self._console.no_color:
            return "", ""
        before, _, after = style.render("\0", color_system=COLOR_SYSTEMS[name]).partition("\0")
        return before, after

    def done(self, tool: Tool | None, raw: RawCall, done: Done) -> None:
        """What became of the call."""
        entry: dict[str, Any] = tool.entry if tool is not None else {}
        self._printed.end()
        fields = done.verdict.call.input or raw.input
        text = result_text(entry, fields, done, full=self.look.full, seen=self._printed.lines())
        if not done.ran:
            self._refusal(done, text)
        elif done.output.diff:
            self._print(diff(done.output.diff, full=self.look.full))
        elif entry.get("name") in _LISTINGS and not done.output.is_error:
            self._print(listing(text))
        elif text:
            self._print(self._text(text, "error" if done.output.is_error else ""))
        for block in done.output.blocks:
            if not hasattr(block, "text"):
                self._print(self._text(f"[picture: {block.media_type}, {len(block.data):,} bytes]", "faint"))
        for note in done.output.notes:
            self._print(self._text(f"note: {shown(note)}", "note"))
        for report in done.reports:
            self._print(self._text(f"gateway: {shown(report)}", "report"))

    def _refusal(self, done: Done, text: str) -> None:
        rule = done.verdict.reason.rule
        line = self._text("", "")
        line.append(f"{self._cross} {text}", "g.refused")
        self._print(line)
        if rule.source.file:
            self._print(self._text(f"  rule {rule.id}, {shown(str(rule.source))}, layer {rule.source.layer}", "faint"))

    @staticmethod
    def _text(text: str, style: str) -> Text:
        from rich.text import Text

        return Text(text, f"g.{style}" if style else "")

    def _print(self, text: Text) -> None:
        self._console.print(text)


def _marks(encoding: str) -> tuple[str, str]:
    """What stands before a call and before a refusal, as the stream can have it."""
    try:
        "●✗".encode(encoding)
    except (UnicodeEncodeError, LookupError):
        return "*", "x"
    return "●", "✗"


def diff(text: str, *, full: bool) -> Text:
    """A unified diff in colours."""
    from rich.text import Text

    lines = text.rstrip("\n").split("\n")
    left_out = 0
    if not full and len(lines) > MOST_DIFF:
        left_out = len(lines) - MOST_DIFF
        lines = lines[:MOST_DIFF]
    found = Text()
    for number, line in enumerate(lines):
        found.append(("\n" if number else "") + shown(line), _style_of(line))
    if left_out:
        found.append(f"\n… {left_out} more lines", "g.faint")
    return found


def _style_of(line: str) -> str:
    if line.startswith(("+++", "---")):
        return "g.head"
    if line.startswith("@@"):
        return "g.place"
    return {"+": "g.added", "-": "g.removed"}.get(line[:1], "")


def listing(text: str) -> Text:
    """Paths, one on each line, with the folder set back behind the name."""
    from rich.text import Text

    found = Text()
    for number, line in enumerate(text.split("\n")):
        folder, slash, name = line.rpartition("/")
        found.append(("\n" if number else "") + folder + slash, "g.folder")
        found.append(name, "g.name")
    return found
