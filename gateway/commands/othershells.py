"""What another shell than bash reads otherwise: a text that holds such a thing has two readings.

The texts of agents are read as bash reads them. An agent that has another shell is told apart here, by signs that err
on the side of doubt; what they find is an effect that nobody knows.
"""

from __future__ import annotations

import re

from gateway.commands.dialects import MISSING, signs

_BLANKS = "an assignment whose value other shells do not take apart"
_ZSH_WORDS = frozenset(
    ("noglob", "nocorrect", "repeat", "foreach", "zmodload", "autoload", "whence", "print", "vared", "zcompile", "zle",
     "sched", "setopt", "unsetopt", "emulate", "zparseopts", "zstyle", "shopt", "mapfile", "readarray", "enable",
     "declare", "typeset", "functions", "chpwd", "precmd", "preexec", "zf_rm", "zf_mv", "zf_ln", "zf_mkdir", "zf_chmod",
     "zf_chown", "ztcp", "zpty", "zsocket", "sysopen", "syswrite", "sysread", "builtin")
)  # fmt: skip
# Outside of all quotes.
_ZSH_SIGNS = re.compile(
    r"""
    (?:^|[\s;&|(]) = [\w/=]                # the path of a program
    | (?<=[^\s;&|(){}$<>"'=]) \(           # a qualifier of a glob, which may run code
    | \*\*                                 # crosses folders there
    | >>?\|? ! | &[!|] | =\( | <-> | <\d+-
    | \[\^ | ~\w*\[ | ~[+-]
    | \balias\s+-[gs] | \bTRAP[A-Z]
    """,
    re.VERBOSE,
).search
# Within double quotes too.
_ZSH_EXPANSIONS = re.compile(
    r"""
    \$ [=~^+] | \$\{ [(=~^+:]              # flags of expansions
    | \$\w+ [\[:] | \$\{\w+:[a-zA-Z]       # subscripts and modifiers
    """,
    re.VERBOSE,
).search
_SET_WITH_BLANKS = re.compile(r"""\b\w+\+?=(?:"[^"]*[\s*?\[][^"]*"|'[^']*[\s*?\[][^']*'|\$'|\()""").search
_PLAIN_SH = re.compile(r"""[\w\s./:@%+,='"|&;>-]*""").fullmatch
_APART = {ord(each): " " for each in ";&|(){}\n\t`$\"'"}


def reads_otherwise(text: str, shell: str) -> str:
    """Why the shell may understand a text otherwise than bash does, "" if it does not."""
    if shell == "bash":
        return ""
    if shell == "zsh":
        found = _zsh(text)
    elif shell == "sh":
        plain = _PLAIN_SH(text) and signs(text) is None and not _holds(text, _ZSH_WORDS | MISSING)
        found = "" if plain else "a text that is not plain"
    else:
        found = "every text"
    return f"`{shell}` runs it, which reads {found} in its own way" if found else ""


def _zsh(text: str) -> str:
    bare, expanded = _unquoted(text)
    if bare is None or expanded is None:
        return "its quotes"
    sign = _ZSH_SIGNS(bare) or _ZSH_EXPANSIONS(expanded)
    if sign is not None:
        return f"`{sign.group().strip()}`"
    if _holds(bare, _ZSH_WORDS):
        return "one of its words"
    if "$" in expanded and _SET_WITH_BLANKS(text):
        return _BLANKS
    return "what `echo` prints" if "echo" in text and "\\" in text and "|" in text else ""


def _holds(text: str, words: frozenset[str]) -> bool:
    return not words.isdisjoint(text.translate(_APART).split())


def _unquoted(text: str) -> tuple[str | None, str | None]:
    """The text without what stands in quotes, and without what stands in single ones; None where quotes do not end."""
    bare: list[str] = []
    expanded: list[str] = []
    quote, at = "", 0
    while at < len(text):
        character = text[at]
        if character == "\\" and quote != "'":
            at += 2
            bare.append("" if quote else "_")
            expanded.append("_")
            continue
        if not quote and character in "'\"":
            quote = character
            bare.append("_")
            expanded.append("_")
        elif character == quote:
            quote = ""
        else:
            if not quote:
                bare.append(character)
            if quote != "'":
                expanded.append(character)
        at += 1
    return (None, None) if quote else ("".join(bare), "".join(expanded))
