"""What `sh` reads otherwise than bash, where it is another shell: a text that holds such a thing has two readings."""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from gateway.model.command import Simple

# Built-ins whose text is read by the shell that they stand in.
_INSIDE = frozenset(("eval", "trap", "source", "."))
_SHELLS = frozenset(("sh", "dash"))
# Built-ins that other shells lack, or that do more there: what they set, or where they go, they do not there.
MISSING = frozenset(
    ("declare", "typeset", "let", "pushd", "popd", "builtin", "mapfile", "readarray", "shopt", "function", "select",
     "coproc", "source", "enable", "alias")
)  # fmt: skip
_SETTING = frozenset(("export", "readonly", "local"))
# Options that they do not know, so that nothing is done.
_OPTIONS = {"cd": "LP", "read": "rp", "export": "p", "readonly": "p", "unset": "fv", "printf": "", "local": ""}
signs = re.compile(
    r"""
    \$'                    # quotes end elsewhere
    | \[\^                 # a set that holds, or leaves out, the letters
    | &>                   # ends the command there, which then runs beside the others
    | (?<!\$)\(\( | \w\+=  # sets nothing there
    | \$\{?(?:S?RANDOM|SECONDS|UID|EUID|EPOCH\w*|BASH\w*|SHLVL|LINENO)\b
    """,
    re.VERBOSE,
).search
_UNQUOTED = re.compile(r"=[^\"'\s]*[$`]").search


def read_otherwise(text: str, commands: Sequence[Simple], via: tuple[str, ...], surely_runs: bool) -> bool:
    """Whether the shell that runs this text may be another than bash and understand it in another way. `surely_runs`:
    the text is what runs, not the content of a file that may be."""
    shell = next((name for name in reversed(via) if name not in _INSIDE), "bash").partition(" ")[0]
    if shell == "bash" or not (surely_runs or shell in _SHELLS):
        return False
    return signs(text) is not None or any(_differs(text, command) for command in commands)


def _differs(text: str, command: Simple) -> bool:
    name = command.words[0].text
    if name in MISSING:
        return True
    known = _OPTIONS.get(name)
    if known is None:
        return False
    if name in _SETTING and _UNQUOTED(text[command.start : command.end]):
        return True  # what is set is split into several there
    first = command.words[1].text if len(command.words) > 1 else ""
    return first[:1] == "-" and len(first) > 1 and first != "--" and bool(first[1:].strip(known))
