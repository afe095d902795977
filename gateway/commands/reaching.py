"""What the words of a program that runs code name, as far as anybody can tell without running it."""

from __future__ import annotations

from gateway.model.command import Word
from gateway.model.facts import TEMPORARY

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gateway.commands.findings import Findings
    from gateway.commands.invocation import Invocation

_PLAIN_PATH = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-+@~")
_LABELS = ("bazel", "bazelisk", "earthly", "buck2", "pants", "gn")  # for which `//x:y` is no path
_SCRATCH = tuple([f"{folder}/" for folder in TEMPORARY])


def reach(findings: Findings, run: Invocation) -> None:
    """A program that runs code says little of what its words do, but a path among them that leads out of the folder it
    starts in is at least read; in a folder for scratch, where all may be read, it may be written."""
    for before, word in zip(run.words, run.words[1:], strict=False):
        if word.text in ("-", "/dev/stdin") and before.text in ("-f", "--file", "--makefile"):
            findings.opaque(f"{run.name} is told by its input what to do", word.start, word.end, run.part)
        text = word.text
        if "/" not in text and ".." not in text:
            continue
        text = text[text.rfind("=") + 1 :]
        leads = (
            (text[:1] == "/" and (text[:2] != "//" or run.name not in _LABELS))
            or text[:2] == "~/"
            or text == ".."
            or text[:3] == "../"
            or "/../" in text
        )
        if not leads or not word.literal or not _PLAIN_PATH.issuperset(text):
            continue
        if not any(item.part == run.part and item.effect.kind == "code" for item in findings.items[run.first :]):
            return
        if (text + "/").startswith(_SCRATCH):
            findings.touch("write", Word(text, word.start, word.end), run.cwds, run.part)
        else:
            findings.touch("read", Word(text, word.start, word.end), run.cwds, run.part)
