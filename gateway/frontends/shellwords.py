"""The words that programs start a shell with, as the one text that is judged and that runs.

`bash -eo pipefail -c TEXT name arg` is `set -e`, `set -o pipefail`, `set -- arg` and the text, each on a line. A script
is read once, and what was read is what runs. Whatever cannot be said so is judged as what it is: the words of a bash.
"""

from __future__ import annotations

from gateway.core.errors import ConfigError, Problem
from gateway.core.value import Value
from gateway.sandbox.shell import quoted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

# Options of `set` that change neither how a text is read nor what its words mean.
_SET = frozenset("aefhuvxCETP")
_NAMED = frozenset((
    "allexport", "errexit", "errtrace", "functrace", "hashall", "noclobber", "noglob", "nounset", "physical",
    "pipefail", "verbose", "xtrace",
))  # fmt: skip
# Start-up files are not read in any case, and nobody types.
_IGNORED = frozenset("li")
_IGNORED_LONG = frozenset(("--login", "--noprofile", "--norc", "--noediting"))
# Where a text asks how it was started, it has to be started so.
_OF_ITSELF = ("$0", "${0", "BASH_SOURCE", "BASH_ARGV", "BASH_EXECUTION_STRING")
BASH = "bash"


class Started(Value):
    """How a shell was started. `text`: what is judged and runs; None where standard input is the script, `before` it
    the lines that its options are."""

    text: str | None
    before: str = ""


def started(words: Sequence[str], read: Callable[[str], str | None]) -> Started:
    """What a shell that was started with these words runs. `read` gives the text of a script, None where it cannot be
    read as text. Raises ConfigError where there is nothing to run."""
    lines: list[str] = []
    is_command = is_input = False
    rest = list(words)
    while rest and rest[0][:1] in ("-", "+") and len(rest[0]) > 1:
        word = rest.pop(0)
        if word == "--":
            break
        if word in _IGNORED_LONG:
            continue
        if word.startswith("--"):
            return _as_it_is(words)
        sign = word[0]
        for letter in word[1:]:
            if letter == "c" and sign == "-":
                is_command = True
            elif letter == "s" and sign == "-":
                is_input = True
            elif letter == "o":
                if not rest or rest[0] not in _NAMED:
                    return _as_it_is(words)
                lines.append(f"set {sign}o {rest.pop(0)}")
            elif letter in _SET:
                lines.append(f"set {sign}{letter}")
            elif letter not in _IGNORED:
                return _as_it_is(words)
    if rest and rest[0] == "-":
        del rest[0]
    if is_command:
        if not rest:
            raise ConfigError(Problem("-c must be followed by a text"))
        text: str | None = rest[0]
        arguments = rest[2:]
    elif is_input or not rest:
        return Started(None, _before(lines, rest))
    else:
        text = read(rest[0])
        arguments = rest[1:]
    if text is None or any(each in text for each in _OF_ITSELF):
        return _as_it_is(words)
    return Started(_before(lines, arguments) + text)


def _before(lines: Sequence[str], arguments: Sequence[str]) -> str:
    found = [*lines, "set -- " + " ".join(map(_word, arguments))] if arguments else lines
    return "".join(line + "\n" for line in found)


def _word(text: str) -> str:
    return quoted((text,))


def _as_it_is(words: Sequence[str]) -> Started:
    return Started(quoted((BASH, *words)))
