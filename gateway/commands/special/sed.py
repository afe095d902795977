"""sed's scripts: which files they read and write, and whether they run commands."""

from __future__ import annotations

from gateway.commands.handing import shell_text
from gateway.model.command import Word
from gateway.model.effect import HOLE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from gateway.commands.findings import Findings
    from gateway.commands.invocation import Invocation

_PLAIN = frozenset("=dDgGhHnNpPxFz")
_FLAGS = frozenset("gpiImM0123456789")


class SedError(Exception):
    """The script is not understood."""


def scan(script: str) -> list[tuple[str, str]]:
    """What a script does beside editing: ("read" | "write" | "run", argument). SedError if not understood."""
    found: list[tuple[str, str]] = []
    at = 0
    size = len(script)
    while at < size:
        at = _address(script, at)
        if at >= size:
            break
        sign = script[at]
        at += 1
        if sign in "{}":
            continue
        if sign == "#":
            at = _line_end(script, at)
        elif sign in _PLAIN:
            at = _ended(script, at)
        elif sign in "lLqQ":
            at = _skip(script, at, " 0123456789")
            at = _ended(script, at)
        elif sign in "aic":
            at = _text_end(script, at)
        elif sign in ":btT":
            # What stands behind a blank belongs to the name for some versions, and is a command for others.
            at = _skip(script, at, " \t")
            while at < size and script[at] not in ";\n} \t":
                at += 1
            at = _ended(script, at)
        elif sign == "v":
            at = _ended(script, _skip(script, at, " .0123456789"))
        elif sign in "rRwW":
            end = _line_end(script, at)
            found.append(("read" if sign in "rR" else "write", script[at:end].strip()))
            at = end
        elif sign == "e":
            end = _line_end(script, at)
            found.append(("run", script[at:end].strip()))
            at = end
        elif sign == "s":
            at = _substitution(script, at, found)
        elif sign == "y":
            if at >= size:
                raise SedError
            delimiter = script[at]
            at = _part(script, _part(script, at + 1, delimiter, False), delimiter, False)
            at = _ended(script, at)
        else:
            raise SedError
    return found


def _skip(script: str, at: int, signs: str) -> int:
    while at < len(script) and script[at] in signs:
        at += 1
    return at


def _line_end(script: str, at: int) -> int:
    end = script.find("\n", at)
    return len(script) if end < 0 else end


def _text_end(script: str, at: int) -> int:
    """Text of `a`, `i`, `c` ends at a line end without a backslash before it."""
    while True:
        end = _line_end(script, at)
        back = end
        while back > at and script[back - 1] == "\\":
            back -= 1
        if end >= len(script) or (end - back) % 2 == 0:
            return end
        at = end + 1


def _ended(script: str, at: int) -> int:
    at = _skip(script, at, " \t")
    if at < len(script) and script[at] not in ";\n}#":
        raise SedError
    return at


def _part(script: str, at: int, delimiter: str, pattern: bool) -> int:
    """Behind the next delimiter. One inside brackets is read in two ways, so it is read in none."""
    inside = False
    while at < len(script):
        sign = script[at]
        if sign == "\\":
            at += 2
            continue
        if pattern and sign == "[" and not inside:
            inside = True
            # A bracket directly behind the opening one is itself meant.
            at += 2 if script[at + 1 : at + 2] == "^" else 1
            at += script[at : at + 1] == "]"
            continue
        if inside and sign == "[" and script[at + 1 : at + 2] in (":", ".", "="):
            end = script.find(script[at + 1] + "]", at + 2)
            if end < 0 or delimiter in script[at:end]:
                raise SedError
            at = end + 2
            continue
        if sign == "]":
            inside = False
        elif sign == delimiter:
            if inside:
                raise SedError
            return at + 1
        elif sign == "\n" and pattern:
            raise SedError
        at += 1
    raise SedError


def _address(script: str, at: int) -> int:
    at = _skip(script, at, " \t\n;")
    while at < len(script):
        sign = script[at]
        if sign in "0123456789$,~+! \t":
            at += 1
        elif sign == "/":
            at = _skip(script, _part(script, at + 1, "/", True), "IM")
        elif sign == "\\" and at + 1 < len(script):
            at = _skip(script, _part(script, at + 2, script[at + 1], True), "IM")
        else:
            break
    return at


def _substitution(script: str, at: int, found: list[tuple[str, str]]) -> int:
    if at >= len(script) or script[at] in "\n\\":
        raise SedError
    delimiter = script[at]
    at = _part(script, _part(script, at + 1, delimiter, True), delimiter, False)
    while at < len(script):
        sign = script[at]
        if sign in _FLAGS:
            at += 1
        elif sign == "e":
            found.append(("run", ""))
            at += 1
        elif sign == "w":
            end = _line_end(script, at)
            found.append(("write", script[at + 1 : end].strip()))
            return end
        else:
            break
    return _ended(script, at)


def _sed(findings: Findings, run: Invocation) -> None:
    _backups(findings, run)
    scripts = [
        values[0] for option, values in run.values if "-e" in option["names"] or "--expression" in option["names"]
    ]
    if not scripts and "-f" not in run.options:
        if not run.operands:
            return
        scripts = run.operands[:1]
    for word in scripts:
        if not word.literal:
            run.doubts.append("sed's script is not known before the run")
            continue
        try:
            found = scan(word.text)
        except SedError:
            run.doubts.append("sed's script is not understood")
            continue
        if found and "--sandbox" in run.options:
            continue
        for what, argument in found:
            if what == "run":
                if argument and HOLE not in argument:
                    shell_text(findings, run, [Word(argument, word.start, word.end)], "sed e")
                else:
                    findings.opaque("sed runs the text it edits", word.start, word.end, run.part)
            elif argument not in ("/dev/stdout", "/dev/stderr", "/dev/stdin"):
                findings.touch(what, Word(argument, word.start, word.end), run.cwds, run.part)


def _backups(findings: Findings, run: Invocation) -> None:
    """`-iSUFFIX` keeps the old text under another name, with a `*` in another folder too."""
    suffixes = [values[0].text for option, values in run.values if "-i" in option["names"] and values]
    if not suffixes:
        return
    suffix = suffixes[-1]
    for word in run.operands if {"-e", "-f"} & run.options else run.operands[1:]:
        folder, slash, name = word.text.rpartition("/")
        if not word.literal or HOLE in suffix:
            backup = HOLE
        elif "*" in suffix:
            backup = suffix.replace("*", name)
            backup = backup if "/" in backup else folder + slash + backup
        else:
            backup = word.text + suffix
        findings.touch("write", Word(backup, word.start, word.end), run.cwds, run.part)


HOOKS: dict[str, Callable[[Findings, Invocation], None]] = {"sed": _sed}
