"""What makes a text unreadable before any grammar is asked, and the bounds. A bound that is hit never hides a word:
the caller falls back to the tokens of the whole text."""

from __future__ import annotations

MAX_TEXT = 100_000
MAX_DEPTH = 64
MAX_COMMANDS = 5_000
MAX_OPERATORS = 6_000  # the grammar's worst cases are quadratic in these
MAX_PARENTHESES = 300  # a run of them that makes no sense takes it longest
MAX_PARSED = 2_000_000  # characters given to the grammar for one text, substitutions counted again
MAX_CONTINUATIONS = 2_000
MAX_KEYWORDS = 400  # of `time`, `coproc`, `!`
MAX_TESTS = 200  # of `[[`
MAX_REPEATS = 48  # how often loop bodies are read again until their state is stable
MAX_CALLS = 64  # how many calls of functions are followed
MAX_NESTED_CALLS = 8
MAX_TURNS = 16  # a loop over so many known words is read once for each

RESERVED = frozenset(
    ("!", "[[", "]]", "{", "}", "case", "coproc", "do", "done", "elif", "else", "esac", "fi", "for", "function", "if",
     "in", "select", "then", "time", "until", "while")
)  # fmt: skip

# The built-ins that change what the reading knows: folders, variables, functions, where the text goes on.
ACTING = frozenset(
    (".", "[", "[[", "alias", "break", "builtin", "cd", "command", "continue", "declare", "eval", "exit", "export",
     "getopts", "let", "local", "mapfile", "popd", "printf", "pushd", "read", "readarray", "readonly", "return", "set",
     "shift", "shopt", "source", "test", "trap", "typeset", "unset", "wait")
)  # fmt: skip

CARE = ACTING | RESERVED | {"exec"}
"""Names that change the state of the reading, or are no command's."""

PLAIN_NAME = r"A-Za-z0-9_./:,@%+\-"
PLAIN_LETTERS = "=" + PLAIN_NAME
"""Letters that mean nothing to bash, wherever they stand in a word; in a name that nothing is assigned to."""


class Refused(Exception):
    """A text, or the rest of it, can't be read; `why` says so in words."""

    def __init__(self, why: str, start: int = 0, end: int = 0) -> None:
        super().__init__(why)
        self.why = why
        self.start = start
        self.end = end


def may_have_regions(text: str) -> bool:
    """False when a text surely has neither regions nor line continuations."""
    if "`" in text or "((" in text or "=(" in text or "\\\n" in text:
        return True
    if "$" in text and ("$(" in text or "${" in text or "$[" in text):
        return True
    return "<<" in text or "<(" in text or ">(" in text
