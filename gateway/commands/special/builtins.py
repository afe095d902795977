"""Built-ins of the shell whose operands are names, not files."""

from __future__ import annotations

from gateway.commands.handing import hand
from gateway.commands.variables import assigned
from gateway.model.effect import HOLE, Process, System

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from gateway.commands.findings import Findings
    from gateway.commands.invocation import Invocation
    from gateway.model.command import Word


def _plain_name(text: str) -> bool:
    return text.isidentifier() and text.isascii()


_LISTING = frozenset(("export", "declare", "typeset", "readonly"))


def _set(findings: Findings, run: Invocation) -> None:
    if len(run.words) == 1:
        findings.env("*", "read", run.words[0].start, run.words[0].end, run.part)


def _kill(findings: Findings, run: Invocation) -> None:
    """Only a first word with a dash is a signal; behind it, a dash means a group of processes."""
    words = list(run.words[1:])
    signal = "TERM"
    while words and words[0].text[:1] == "-" and len(words[0].text) > 1:
        text = words.pop(0).text
        run.options.add(text)
        if text in ("-l", "-L", "--list", "--table"):
            return
        if text == "--":
            break
        if text in ("-q", "--queue"):
            del words[:1]
            continue
        if text in ("-s", "-n", "--signal"):
            signal = words.pop(0).text if words else ""
            break
        signal = text.lstrip("-")
        break
    if words and words[0].text == "--":
        words.pop(0)
    for word in words:
        if signal != "0":
            findings.add(Process("signal", word.text), word.start, word.end, run.part)
            if word.text == "-1":  # every process of the user
                findings.add(System("agents", "end"), word.start, word.end, run.part)


def _names(findings: Findings, run: Invocation) -> None:
    """Built-ins that set variables by name: a subscript is evaluated as arithmetic, which can run commands. What they
    set is the shell's part of the analysis; `unset` is not, it takes a variable away."""
    words: list[Word] = list(run.operands)
    for option, values in run.values:
        if "-v" in option["names"] or "-a" in option["names"] or "-n" in option["names"]:
            words.extend(values)
    start, end = run.words[0].start, run.words[-1].end
    if run.name in _LISTING and run.options.isdisjoint(("-f", "-F")):
        if not words:
            findings.env("*", "read", start, end, run.part)
        elif "-p" in run.options:
            for word in words:
                findings.env(word.text, "read", word.start, word.end, run.part)
    for word in words:
        name = word.text.partition("=")[0].rstrip("+")
        if not _plain_name(name):
            findings.opaque("a variable's name is evaluated by the shell", word.start, word.end, run.part)
        elif run.name == "unset" and assigned(name, False):
            findings.env(name, "set", word.start, word.end, run.part)


def _printf(findings: Findings, run: Invocation) -> None:
    for option, values in run.values:
        if "-v" in option["names"]:
            word = values[0]
            if not _plain_name(word.text):
                findings.opaque("a variable's name is evaluated by the shell", word.start, word.end, run.part)


_NUMBER_TESTS = frozenset(("-eq", "-ne", "-lt", "-le", "-gt", "-ge"))


def _test(findings: Findings, run: Invocation) -> None:
    """`test` and `[[`: names behind `-v` and, in `[[`, numbers are evaluated as arithmetic."""
    words = run.operands
    for at, word in enumerate(words):
        text = word.text
        if text in ("-v", "-R") and at + 1 < len(words):
            suspects = [words[at + 1]]
        elif text in _NUMBER_TESTS and run.words[0].text == "[[":
            suspects = words[max(at - 1, 0) : at] + words[at + 1 : at + 2]
        else:
            continue
        for suspect in suspects:
            if "[" in suspect.text or (HOLE in suspect.text and run.words[0].text == "[["):
                findings.opaque("a text is evaluated as arithmetic", suspect.start, suspect.end, run.part)


def _alias(findings: Findings, run: Invocation) -> None:
    for word in run.operands:
        if "=" in word.text or HOLE in word.text:
            findings.opaque("an alias changes what a later word runs", word.start, word.end, run.part)
            name, equals, value = word.text.partition("=")
            if equals and run.name == "alias":
                findings.aliases[name] = value


def _command(findings: Findings, run: Invocation) -> None:
    if run.operands and run.options.isdisjoint(("-v", "-V")):
        hand(findings, run, tuple(run.operands), run.name)


def _let(findings: Findings, run: Invocation) -> None:
    for word in run.operands:
        if HOLE in word.text or "[" in word.text or "$" in word.text or "`" in word.text:
            findings.opaque("a text is evaluated as arithmetic", word.start, word.end, run.part)


HOOKS: dict[str, Callable[[Findings, Invocation], None]] = {
    "kill": _kill,
    "names": _names,
    "set": _set,
    "printf": _printf,
    "test": _test,
    "alias": _alias,
    "command": _command,
    "let": _let,
}
