"""Commands that run on another machine or in a container: rules that name a command see them, paths of this machine
are not meant by them."""

from __future__ import annotations

from gateway.model.effect import HOLE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from gateway.commands.findings import Findings
    from gateway.commands.invocation import Invocation
    from gateway.model.command import Word

# What such a command does there can't be told apart from the outside; these matter wherever it runs.
_ANYWHERE = frozenset(("exec", "push", "connect", "system"))


def hand_elsewhere(
    findings: Findings, run: Invocation, words: tuple[Word, ...], via: str, joined: bool = False
) -> None:
    """Hands words on as a command that runs elsewhere; `joined`: a shell there reads them as one text.

    Only makes a verdict stricter: the caller says `Code` or `Opaque` for all that this leaves out.
    """
    if not words:
        return
    lists: tuple[list[Any], ...] = (findings.paths, findings.globs, findings.programs, findings.git, findings.pending)
    marks = [len(one) for one in lists]
    first = len(findings.items)
    outer = (*run.via, via)
    if joined:
        text = " ".join([word.text for word in words]).replace(HOLE, "${unknown}")
        findings.script(findings, text, (), outer, (words[0].start, words[-1].end), run)
    else:
        findings.command(findings, words, (), outer, "", "", run)
    findings.items[first:] = [item for item in findings.items[first:] if item.effect.kind in _ANYWHERE]
    for one, mark in zip(lists, marks, strict=True):
        del one[mark:]
