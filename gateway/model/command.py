"""Shell words and simple commands, as the analysis hands them on."""

from __future__ import annotations

from gateway.core.value import Value
from gateway.model.effect import HOLE

# What a command found among the words of a refused text is handed over by (`Part.via`).
UNPARSED = "words that cannot be parsed"


class Names(Value):
    """What is known of a word that names files which only the run will tell.

    `below`: folders (absolute) that hold each of them, () when the word is a glob, whose pattern tells. `asks`: what
    the host must answer before that holds, as kinds and targets of `Pending`: names that could be read as an option
    ("dash"), or that blanks would take apart ("blanks", "names"). `skips`: what of the folders they certainly do not
    name (`Touch.skips`). `revisions`: they name no files, but commits of a repository by their hashes, if anything.
    """

    below: tuple[str, ...] = ()
    asks: tuple[tuple[str, str], ...] = ()
    skips: str = ""
    revisions: bool = False


class Word(Value):
    """A word of the shell after quote removal.

    `text` holds `HOLE` for each part that is not known before the run. `splits`: it may become any number of
    words (unquoted expansion). `pattern`: the word is an active glob, given as an `fnmatch` pattern in which
    quoted special characters are bracketed; None otherwise. `names`: the unknown word is known to name files of
    some folders. Spans are in code points of the analysed text.
    """

    text: str
    start: int
    end: int
    splits: bool = False
    pattern: str | None = None
    names: Names | None = None

    @property
    def literal(self) -> bool:
        """True if exactly this one word, and nothing else, will stand there."""
        return not self.splits and self.pattern is None and HOLE not in self.text


class Simple(Value):
    """A simple command as the shell text spells it, at any depth.

    `words`: name first. `cwds`: the folders it may run in (absolute, lexically normal), () when unknown.
    `via`: what hands it over ("xargs", "bash -c", "timeout"), outermost first, () when it is written directly.
    `stdin`: "" inherited, "pipe", "file", or "text" (here-document or here-string, then `stdin_text` holds
    it, with `HOLE` for unknown parts). `assigned`: names set for this command only (`FOO=1 cmd`). `feeder`: the span of
    what is piped into it; `shares`: others read from the same pipe. `calls`: it calls a function of the text, whose
    body stands among the commands with the arguments of this call. `activates`: it sources a script that is known to
    set nothing but some variables.
    """

    words: tuple[Word, ...]
    start: int
    end: int
    cwds: tuple[str, ...] = ()
    via: tuple[str, ...] = ()
    stdin: str = ""
    stdin_text: str = ""
    assigned: tuple[str, ...] = ()
    feeder: tuple[int, int] | None = None
    shares: bool = False
    calls: bool = False
    activates: bool = False


class Part(Value):
    """A simple command after its program's description was applied; what command rules match.

    `argv`: words as written after quote removal (`HOLE` for unknown parts). `program`: canonical name, the
    description's name or the base name of `argv[0]`; "" when unknown. `subcommands` and `operands`: canonical,
    with options taken out and global options' values removed. `options`: every spelling of every option
    present, so that `-f` and `--force` are found alike (clusters split, abbreviations completed).
    `described`: the description accounts for every word. `literal`: every word is literal. `direct`: written
    as such in the text, not handed to a wrapper, `xargs`, `find -exec` or a shell's `-c`. `trusted`: the name
    means the described program (a bare name that nothing shadows, or a path that PATH gives). `inert`: the
    indexes in `argv` of options that change nothing a rule could mean (`git --no-pager`), and `expanded`: those of
    words that hold the value of a variable or substitution, which are not what is written; both for the allow lane.
    `cwds`: the folders it may run in, () when unknown, None when it is the session's.
    """

    argv: tuple[str, ...]
    start: int
    end: int
    program: str
    subcommands: tuple[str, ...]
    operands: tuple[str, ...]
    options: frozenset[str]
    described: bool
    literal: bool
    direct: bool
    trusted: bool
    via: tuple[str, ...] = ()
    classes: tuple[str, ...] = ()
    inert: tuple[int, ...] = ()
    expanded: tuple[int, ...] = ()
    cwds: tuple[str, ...] | None = None
