"""One command while it is read, and what is known of what commands print: values that the modules here hand around."""

from __future__ import annotations

from gateway.core.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gateway.commands.description import Option, Spec
    from gateway.model.command import Word


class Printed(Value):
    """`text`: all of the output, with `HOLE` for unknown parts, None when it is not known. `below`: folders that hold
    every file which the lines or words of it name, seen from `cwds`, and `asks` what must hold for that (`Names.asks`);
    `skips`: what below them is certainly not named (`Touch.skips`). `revisions`: it is hashes of git's, or nothing.
    """

    text: str | None = None
    below: tuple[str, ...] = ()
    asks: tuple[tuple[str, str], ...] = ()
    cwds: tuple[str, ...] = ()
    skips: str = ""
    revisions: bool = False


class Invocation:
    """One command while it is being read: its words, and what the description made of them so far.

    `options` holds every spelling of every option present, `flags` what `sets:` added, `values` the options
    that do something together with their value, `after` the words behind `--` where a description treats
    them apart, `option_globs` the globs that could become options, `inert` the places of inert options, `first`
    the index of the command's first item, `argv` the words' texts once they are at hand.
    """

    __slots__ = (
        "after",
        "again",
        "argv",
        "cwds",
        "doubts",
        "first",
        "flags",
        "given",
        "inert",
        "name",
        "operands",
        "option_globs",
        "options",
        "part",
        "root",
        "spec",
        "stdin",
        "stdin_text",
        "subcommands",
        "values",
        "via",
        "words",
    )

    def __init__(
        self,
        name: str,
        words: tuple[Word, ...],
        cwds: tuple[str, ...],
        via: tuple[str, ...],
        stdin: str,
        stdin_text: str,
        root: Spec,
    ) -> None:
        self.name = name
        self.words = words
        self.cwds = cwds
        self.via = via
        self.stdin = stdin
        self.stdin_text = stdin_text
        self.root = root
        self.spec: Spec = root
        self.part = -1
        self.first = 0
        self.argv: tuple[str, ...] = ()
        self.options: set[str] = set()
        self.flags: set[str] = set()
        self.values: list[tuple[Option, tuple[Word, ...]]] = []
        self.operands: list[Word] = []
        self.subcommands: list[str] = []
        self.after: list[Word] | None = None
        self.doubts: list[str] = []
        self.inert: list[int] = []
        self.option_globs: list[Word] = []
        self.given: Printed | None = None
        self.again: tuple[Word, ...] | None = None

    def has(self, names: list[str]) -> bool:
        """Whether any of these options or flags is present."""
        return not self.options.isdisjoint(names) or not self.flags.isdisjoint(names)
