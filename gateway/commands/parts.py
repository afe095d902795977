"""Parts of commands that no description speaks of, and what is noted on parts and items afterwards."""

from __future__ import annotations

from gateway.model.command import Part, Word
from gateway.model.effect import Code, Exec, Item, Opaque, Touch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from gateway.commands.description import Description
    from gateway.commands.findings import Findings
    from gateway.commands.invocation import Invocation
    from gateway.model.analysis import Pending
    from gateway.model.command import Simple


def parted(description: Description | None) -> tuple[Description | None, Sequence[Description]]:
    """The description by itself, None if nobody gave one, and those that add to it."""
    if description is None or "also" not in description:
        return description, ()
    return None if "undescribed" in description else description, description["also"]


def undescribed(
    argv: tuple[str, ...],
    start: int,
    end: int,
    program: str,
    literal: bool,
    direct: bool,
    via: tuple[str, ...],
    cwds: tuple[str, ...],
    *,
    described: bool = False,
    trusted: bool = False,
) -> Part:
    """The part of a command whose words nobody reads by a description; "" is a program of which not even the name is
    known."""
    options, operands = guessed_words(argv)
    return Part(
        argv, start, end, program, subcommands=(), operands=operands, options=options, described=described,
        literal=literal, direct=direct, trusted=trusted, via=via, cwds=cwds,
    )  # fmt: skip


def function_call(findings: Findings, command: Simple, via: tuple[str, ...]) -> None:
    """A call of a function whose body stands among the commands: it does nothing by itself."""
    argv = tuple([word.text for word in command.words])
    part = len(findings.parts)
    start, end = findings.span or (command.start, command.end)
    literal = all(word.literal for word in command.words)
    via += command.via
    findings.parts.append(undescribed(argv, start, end, argv[0], literal, not via, via, command.cwds, described=True))
    findings.items.append(Item(Exec(argv[0], argv), start, end, part))
    for word in command.words:
        if word.pattern is not None and word.names is None:
            findings.touch("list", word, command.cwds, part)


def mark_expanded(
    findings: Findings,
    place: int,
    words: tuple[Word, ...],
    expansions: tuple[tuple[int, int], ...],
    resolved: frozenset[int],
) -> None:
    """Notes which words hold the value of a variable: their text is known, but it is not what is written."""
    if not (expansions or resolved):
        return
    expanded = tuple([at for at, word in enumerate(words) if at in resolved or _holds(word, expansions)])
    if expanded:
        findings.parts[place] = findings.parts[place].replace(expanded=expanded)


def _holds(word: Word, expansions: tuple[tuple[int, int], ...]) -> bool:
    """Whether an expansion stands inside a word."""
    import bisect  # lazy: most commands hold none

    for at in range(bisect.bisect_left(expansions, (word.start, 0)), len(expansions)):
        start, end = expansions[at]
        if start >= word.end:
            return False
        if end <= word.end:
            return True
    return False


def leave_out(findings: Findings, run: Invocation, what: str, unless: list[str]) -> None:
    """The program leaves something out of the trees it reads, unless an option says otherwise."""
    if run.has(unless) or run.doubts:
        return
    for at in range(run.first, len(findings.items)):
        item = findings.items[at]
        effect = item.effect
        if isinstance(effect, Touch) and effect.tree and effect.kind in ("list", "read"):
            findings.items[at] = item.replace(effect=effect.replace(skips=what))


def guessed_words(argv: tuple[str, ...]) -> tuple[frozenset[str], tuple[str, ...]]:
    """Options and operands of a program that nobody described: every spelling that could be meant."""
    options: set[str] = set()
    operands: list[str] = []
    for at, text in enumerate(argv):
        if not at:
            continue
        if text[:1] == "-" and len(text) > 1:
            options.add(text)
            if text[:2] == "--":
                options.add(text.partition("=")[0])
            else:
                options.update(["-" + letter for letter in text[1:]])
        else:
            operands.append(text)
    return frozenset(options), tuple(operands)


def add_code(items: list[Item], parts: tuple[Part, ...], question: Pending, why: str) -> None:
    """A question is answered by: nobody knows what this part does, and why."""
    if question.part < 0:
        items.append(Item(Opaque(why), question.start, question.end))
        return
    part = parts[question.part]
    items.append(Item(Code(part.program, part.argv, why), question.start, question.end, question.part))
