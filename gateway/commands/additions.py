"""Adds what supplementary descriptions say of a command to what is known of it."""

from __future__ import annotations

from gateway.commands.apply import apply
from gateway.commands.grammar import read
from gateway.commands.invocation import Invocation
from gateway.commands.places import absolute
from gateway.model.effect import Code

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from gateway.commands.description import Description
    from gateway.commands.findings import Findings
    from gateway.model.command import Word

# So deep additions are read. Each may hand commands on, and so may what it adds to: the number of readings would double
# with every command that stands around another.
MAX_HANDED_ON = 4


def join(
    findings: Findings,
    additions: Sequence[Description],
    program: str,
    words: tuple[Word, ...],
    cwds: tuple[str, ...],
    via: tuple[str, ...],
    stdin: str,
    stdin_text: str,
    part: int,
) -> None:
    """Adds the items of each description, and `Code` for what it does not account for. Nothing that was found before
    is changed, the command's part included."""
    known = findings.items
    start, end = words[0].start, words[-1].end
    if len(via) > MAX_HANDED_ON:
        findings.opaque(f"{program} is handed on too often to be read by all that was said of it", start, end, part)
        return
    for description in additions:
        findings.items = []
        run = Invocation(program, words, cwds, via, stdin, stdin_text, description)
        run.part = part
        read(run)
        apply(findings, run)
        argv = tuple([word.text for word in words])
        for why in dict.fromkeys(run.doubts):
            findings.add(Code(program, argv, why), start, end, part)
        for word in run.option_globs:
            for cwd in cwds if word.pattern is not None else ():
                findings.ask("glob", part, absolute(word.pattern or "", cwd), "", word.start, word.end)
            for question, target in word.names.asks if word.pattern is None and word.names is not None else ():
                if question == "dash":
                    findings.ask(question, part, target, "", word.start, word.end)
        known += findings.items
    findings.items = known
