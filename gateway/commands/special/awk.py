"""awk's programs: which files they read and write, and whether they run commands."""

from __future__ import annotations

from gateway.commands.handing import shell_text
from gateway.commands.variables import secret
from gateway.model.command import Word
from gateway.model.effect import HOLE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from gateway.commands.findings import Findings
    from gateway.commands.invocation import Invocation

_NAME = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789")
_OPERATOR_WORDS = frozenset(("print", "printf", "return", "in", "case", "else", "do", "delete", "exit"))
_ENDS = frozenset((";", "}", "{", "\n"))
# Behind these a statement goes on in the next line.
_OPEN = frozenset((",", "&&", "||", "do", "else", "?", ":"))
_DIGITS = frozenset("0123456789")


class AwkError(Exception):
    """The program is not understood."""


def tokens(program: str) -> list[str]:
    """Words, signs, and strings (with their opening quote) of a program; regular expressions are left out."""
    found: list[str] = []
    at = 0
    size = len(program)
    while at < size:
        sign = program[at]
        if sign in " \t\r":
            at += 1
        elif sign == "#":
            end = program.find("\n", at)
            at = size if end < 0 else end
        elif sign == "\\" and program[at + 1 : at + 2] == "\n":
            at += 2
        elif sign == '"':
            end = _closing(program, at + 1, '"')
            found.append(program[at:end])
            at = end + 1
        elif sign == "/" and _regex_may_start(found):
            at = _closing(program, at + 1, "/") + 1
            found.append("/re/")
        elif sign == "/" and found[-1] == ")" and _may_be_read_otherwise(program, at):
            raise AwkError
        elif sign in _DIGITS or (sign == "." and program[at + 1 : at + 2] in _DIGITS and at + 1 < size):
            end = at
            while end < size and (program[end] in _NAME or program[end] == "."):
                end += 1
            found.append("0")
            at = end
        elif sign in _NAME:
            end = at
            while end < size and program[end] in _NAME:
                end += 1
            found.append(program[at:end])
            at = end
        elif program[at : at + 2] in ("||", "&&", ">=", "<=", "==", "!=", ">>", "|&", "++", "--"):
            found.append(program[at : at + 2])
            at += 2
        elif sign.isprintable() or sign == "\n":
            found.append(sign)
            at += 1
        else:
            raise AwkError
    return found


def _may_be_read_otherwise(program: str, at: int) -> bool:
    """Behind a bracket a slash divides, or starts the expression of a statement without a block: where the other
    reading would hide or show something, nobody should choose."""
    line = program[at + 1 :].partition("\n")[0]
    between, slash, _ = line.partition("/")
    return bool(slash) and any(sign in between for sign in '"#{};')


def _closing(program: str, at: int, quote: str) -> int:
    while at < len(program):
        sign = program[at]
        if sign == "\\":
            at += 2
            continue
        if quote == "/" and sign == "[":
            at = _bracket(program, at + 1)
            continue
        if sign == quote:
            return at
        if sign == "\n":
            raise AwkError
        at += 1
    raise AwkError


def _bracket(program: str, at: int) -> int:
    """Behind the set that starts here. A slash in it ends the expression for some versions and not for others."""
    at += program[at : at + 1] == "^"
    at += program[at : at + 1] == "]"
    while at < len(program):
        sign = program[at]
        if sign == "[" and program[at + 1 : at + 2] in (":", ".", "="):
            end = program.find(program[at + 1] + "]", at + 2)
            if end < 0 or "/" in program[at:end]:
                raise AwkError
            at = end + 2
        elif sign == "\\" and program[at + 1 : at + 2] != "\n":
            at += 2
        elif sign in "/\n\\":
            raise AwkError
        elif sign == "]":
            return at + 1
        else:
            at += 1
    raise AwkError


def _regex_may_start(found: list[str]) -> bool:
    if not found:
        return True
    last = found[-1]
    if last in _OPERATOR_WORDS:
        return True
    if last in ("$", "getline"):
        raise AwkError
    return not (last[0] in _NAME or last[0] == '"' or last in (")", "]", "$", "++", "--", "/re/"))


def scan(program: str) -> list[tuple[str, str | None]]:
    """What a program does beside its output: ("read" | "write" | "run" | "environment" | "load", argument or None
    if it is computed). AwkError if not understood."""
    found: list[tuple[str, str | None]] = []
    words = tokens(program)
    printing = False
    depth = 0
    for at, word in enumerate(words):
        following = words[at + 1] if at + 1 < len(words) else ""
        single = following[:1] == '"' and (at + 2 >= len(words) or words[at + 2] in _ENDS or words[at + 2] == ")")
        literal = following[1:] if single and "\\" not in following else None
        if word in ("print", "printf"):
            printing, depth = True, 0
        elif word in _ENDS:
            printing = printing and word == "\n" and words[at - 1] in _OPEN
        elif word in ("(", "["):
            depth += 1
        elif word in (")", "]"):
            depth -= 1
        elif word == ">>" or (word == ">" and printing and depth <= 0):
            found.append(("write", literal))
        elif word == "|&":
            before = words[at - 1] if at else ""
            host = next((one[1:] for one in (following, before) if one[:6] == '"/inet'), None)
            found.append(("run", None) if host is None else ("connect", host))
        elif word == "|":
            if following == "getline":
                before = words[at - 1] if at else ""
                alone = at < 2 or words[at - 2] in (*_ENDS, "(", "while", "if")
                text = before[1:] if before[:1] == '"' and alone and "\\" not in before else None
                found.append(("run", text))
            else:
                found.append(("run", literal))
        elif word == "system":
            text = None
            if following == "(" and at + 3 < len(words) and words[at + 3] == ")" and words[at + 2][:1] == '"':
                text = words[at + 2][1:]
                if "\\" in text:
                    text = None
            found.append(("run", text))
        elif word == "getline" and (at == 0 or words[at - 1] != "|"):
            for later in range(at + 1, len(words)):
                if words[later] in _ENDS:
                    break
                if words[later] == "<":
                    name = words[later + 1] if later + 1 < len(words) else ""
                    after = words[later + 2] if later + 2 < len(words) else ";"
                    known = name[:1] == '"' and "\\" not in name and after in (*_ENDS, ")", "&&", "||", ">")
                    found.append(("read", name[1:] if known else None))
                    break
        elif word == "ENVIRON":
            name = words[at + 2] if at + 3 < len(words) and following == "[" and words[at + 3] == "]" else ""
            known = name[:1] == '"' and "\\" not in name
            found.append(("environment", name[1:] if known else None))
        elif word in ("@", "ARGV", "ARGC", "SYMTAB", "FUNCTAB"):
            found.append(("load", None))
    return found


def _awk(findings: Findings, run: Invocation) -> None:
    programs = [values[0] for option, values in run.values if "-e" in option["names"]]
    operands = run.operands
    if not programs and "-f" not in run.options:
        if not operands:
            return
        programs, operands = operands[:1], operands[1:]
    edits = any(values[0].text == "inplace" for option, values in run.values if "-i" in option["names"])
    for word in operands:
        if edits:
            findings.touch("write", word, run.cwds, run.part)
        name, equals, _ = word.text.partition("=")
        if not (equals and name.isidentifier() and name.isascii()) and word.text != "-":
            findings.touch("read", word, run.cwds, run.part)
    for word in programs:
        if not word.literal:
            run.doubts.append("awk's program is not known before the run")
            continue
        try:
            found = scan(word.text)
        except AwkError:
            run.doubts.append("awk's program is not understood")
            continue
        for what, argument in found:
            _effect(findings, run, word, what, argument)


def _effect(findings: Findings, run: Invocation, word: Word, what: str, argument: str | None) -> None:
    if what == "run":
        if argument is None:
            findings.opaque("awk runs text that it makes itself", word.start, word.end, run.part)
        else:
            shell_text(findings, run, [Word(argument, word.start, word.end)], "awk")
    elif what == "environment":
        if argument is None or secret(argument):
            findings.env(argument or "*", "read", word.start, word.end, run.part)
    elif what == "connect":
        pieces = (argument or "").split("/")
        host = pieces[4] if len(pieces) > 5 and "\\" not in pieces[4] else HOLE
        port = int(pieces[5]) if host != HOLE and pieces[5].isascii() and pieces[5].isdigit() else 0
        findings.connect("0.0.0.0" if host == "0" else host.lower(), port, "send", word, run.part)
    elif what == "load":
        run.doubts.append("awk's program changes what it reads")
    elif argument is not None and argument.startswith("/inet"):
        findings.opaque("awk opens a connection", word.start, word.end, run.part)
    elif argument not in ("/dev/stdout", "/dev/stderr", "-"):
        text = HOLE if argument is None else argument
        findings.touch(what, Word(text, word.start, word.end), run.cwds, run.part)


HOOKS: dict[str, Callable[[Findings, Invocation], None]] = {"awk": _awk}
