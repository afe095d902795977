"""Commands that a command starts: words that are one of their own, and text that a shell reads."""

from __future__ import annotations

from gateway.model.effect import HOLE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gateway.commands.description import Taken
    from gateway.commands.findings import Findings
    from gateway.commands.invocation import Invocation
    from gateway.model.command import Word


def shell_text(findings: Findings, run: Invocation, words: list[Word], via: str) -> None:
    """Text that a shell will read, joined from words."""
    text = " ".join([word.text for word in words])
    start, end = words[0].start, words[-1].end
    if HOLE in text or any(word.splits or word.pattern is not None for word in words):
        findings.opaque(f"{run.name} runs text that is not known before the run", start, end, run.part)
        # What is known of it still counts for rules that deny.
        text = text.replace(HOLE, "${unknown}")
    findings.script(findings, text, run.cwds, (*run.via, via), (start, end), run)


def hand(findings: Findings, run: Invocation, words: tuple[Word, ...], via: str) -> None:
    """Words that are a command of their own."""
    if words:
        findings.command(findings, words, run.cwds, (*run.via, via), run.stdin, run.stdin_text, run)


def hand_on(findings: Findings, run: Invocation, words: tuple[Word, ...], slot: Taken) -> None:
    """Words that a place of a description takes as a command: it says how they are called, and what is added."""
    if not words:
        return
    via = slot.get("via") or run.name
    if "elsewhere" in slot:
        from gateway.commands.remote import hand_elsewhere  # lazy: few commands run elsewhere

        hand_elsewhere(findings, run, words, via)
        return
    if "adds" in slot:
        from gateway.commands.inputs import with_input  # few commands add words to others

        for each in with_input(run, words):
            hand(findings, run, each, via)
        return
    if "braces" in slot:
        from gateway.commands.inputs import with_found

        with_found(findings, run, words, via, slot)
    else:
        hand(findings, run, words, via)
