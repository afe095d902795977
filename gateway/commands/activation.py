"""The scripts that Python's environments bring to be sourced, known by what they say. Pure.

`python -m venv`, virtualenv and uv each write one, and other ones with each version. So none is compared with a copy:
the text is read as every shell text is, and what it does has to be what such a script may do and nothing else. It sets
some variables, defines `deactivate` and `pydoc`, and asks programs that only print. A line more makes it a text like
any other, of which nobody knows what it leaves behind in the shell.
"""

from __future__ import annotations

from gateway.model.effect import HOLE, Touch
from gateway.shell import reading

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gateway.model.analysis import Analysis
    from gateway.model.command import Simple
    from gateway.model.facts import Facts

MAX_LINES = 400
_SET = frozenset(
    ("PATH", "VIRTUAL_ENV", "VIRTUAL_ENV_PROMPT", "PS1", "PYTHONHOME", "PKG_CONFIG_PATH", "TCL_LIBRARY", "TK_LIBRARY")
)
_OWN = frozenset(
    ("_OLD_VIRTUAL_PATH", "_OLD_VIRTUAL_PS1", "_OLD_VIRTUAL_PYTHONHOME", "_OLD_VIRTUAL_TCL_LIBRARY", "SCRIPT_PATH",
     "_OLD_VIRTUAL_TK_LIBRARY", "_OLD_PKG_CONFIG_PATH", "_OLD_SCRIPT_PATH", "CURRENT_PATH", "CURRENT_DIR")
)  # fmt: skip
_FUNCTIONS = frozenset(("deactivate", "pydoc"))
# They print, test, or end the shell.
_PLAIN = frozenset(("[", "basename", "cygpath", "dirname", "echo", "exit", "export", "realpath", "true", "uname",
                    "wslpath"))  # fmt: skip
# What bash cannot expand, for other shells and never reached in this one; and a command that is always nothing.
_NOT_BASH = frozenset(("${(%):-%x}", "${.sh.file}", "$(command -v cygpath &> /dev/null)"))
_SILENT = frozenset(("/dev/null",))


def sets(text: str) -> tuple[str, ...]:
    """The variables that sourcing this text sets, besides its own: () if it is no such script, or does anything else.

    What the variables are set to is not told, nor which of them: any may get any value, as if the text that sources it
    had assigned to them.
    """
    if not text or text.count("\n") > MAX_LINES or "\0" in text or "\r" in text:
        return ()
    script = reading.read(text, cwds=(), home="", variables={})
    names = {each.name for each in script.assignments}
    if (
        "PATH" not in names
        or "deactivate" not in script.shadowed
        or not names <= _SET | _OWN
        or not script.shadowed <= _FUNCTIONS
        or script.bombs
        or any(text[each.start : each.end] not in _NOT_BASH for each in script.unknowns)
        or any(each.kind != "dup" and each.word.text not in _SILENT for each in script.redirects)
    ):
        return ()
    pydoc = [(each.start, each.end) for each in script.functions if each.name == "pydoc"]
    if not all(_is_usual(command, text, pydoc) for command in script.commands):
        return ()
    return tuple(sorted(names & _SET))


def _is_usual(command: Simple, text: str, pydoc: list[tuple[int, int]]) -> bool:
    name, words = command.words[0].text, tuple([word.text for word in command.words])
    if name in _PLAIN:
        return command.words[0].literal
    if name == HOLE:
        return text[command.start : command.end] in _NOT_BASH
    if name == "python":
        return words[:3] == ("python", "-m", "pydoc") and any(a < command.start < b for a, b in pydoc)
    if name == "unset":
        return all(word in _SET or word in _OWN or word in _FUNCTIONS or word == "-f" for word in words[1:])
    if name in ("alias", "unalias"):
        return words[1:] == ("pydoc",)
    if name == "command":
        return words[1:] == ("-v", "cygpath")
    if name == "hash":
        return words[1:] == ("-r",)
    return name == "deactivate" and words[1:] == ("nondestructive",)


def holds(analysis: Analysis, facts: Facts) -> bool:
    """Whether what was found in the scripts that a text sources is what it will source: nothing that may run before
    writes them, and no code that nobody sees runs before."""
    for before, path in analysis.sourced:
        fact = facts.paths.get(path)
        places = (path, fact.real if fact is not None else HOLE)
        for item in analysis.items:
            effect = item.effect
            if item.part >= before:
                continue
            if effect.kind in ("code", "opaque"):
                return False
            if isinstance(effect, Touch) and effect.kind in ("write", "delete"):
                written = (effect.path, effect.real) if effect.real else (effect.path,)
                if any(_reaches(each, place) for each in written for place in places):
                    return False
    return True


def _reaches(written: str, place: str) -> bool:
    # A folder above that is taken away or replaced brings another file by the same name.
    return HOLE in written or HOLE in place or f"{place}/".startswith(f"{written.rstrip('/')}/")
