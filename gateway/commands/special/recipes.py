"""make: the recipes of rules that the same text gives or wrote."""

from __future__ import annotations

from gateway.commands.crossing import known_of
from gateway.commands.places import absolute

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from gateway.commands.findings import Findings
    from gateway.commands.invocation import Invocation

_MAKEFILES = ("GNUmakefile", "makefile", "Makefile")


def _make(findings: Findings, run: Invocation) -> None:
    """`make` on rules that the text itself gives or wrote: what their recipes run stands beside the code."""
    if findings.pipes is None:
        return  # the text gives no rules
    named = [word.text for option, words in run.values if "-f" in option["names"] for word in words]
    texts: list[str] = []
    for name in named or _MAKEFILES:
        if name in ("-", "/dev/stdin") and run.stdin == "text":
            texts.append(run.stdin_text)
        for cwd in run.cwds:
            found = findings.pipes.content(absolute(name, cwd), run.words[0].start)
            texts += [found] if found is not None else []
    span = (run.words[0].start, run.words[-1].end)
    for text in texts:
        for line in text.split("\n"):
            recipe = line if line[:1] == "\t" else line.partition(";")[2]
            recipe = recipe.strip().lstrip("@-+").replace("$$", "$").replace("$(", "${")
            if recipe:
                findings.script(findings, known_of(recipe), run.cwds, (*run.via, "make"), span, run.part)


HOOKS: dict[str, Callable[[Findings, Invocation], None]] = {"make": _make}
