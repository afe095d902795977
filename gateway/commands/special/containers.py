"""Containers: which folders of this machine they are given; which files say how a cluster is shown."""

from __future__ import annotations

from gateway.commands.places import absolute
from gateway.model.command import Word
from gateway.model.effect import HOLE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from gateway.commands.findings import Findings
    from gateway.commands.invocation import Invocation

_SOURCES = frozenset(("source", "src"))
_READ_ONLY = frozenset(("readonly", "ro", "readonly=true", "ro=true", "readonly=1", "ro=1"))


def _mounts(findings: Findings, run: Invocation) -> None:
    """`-v SOURCE:PLACE[:OPTIONS]` and `--mount type=bind,source=…`: a source with a slash is a folder here, any other
    the name of a volume."""
    for option, values in run.values:
        if not values:
            continue
        word = values[0]
        if "--volume" in option["names"]:
            source, colon, rest = word.text.partition(":")
            if not colon:
                continue
            only_read = "ro" in rest.rpartition(":")[2].split(",")
        elif "--mount" in option["names"]:
            fields = word.text.split(",")
            found = [value for name, _, value in (field.partition("=") for field in fields) if name in _SOURCES]
            source = found[0] if found else ""
            only_read = not _READ_ONLY.isdisjoint(fields)
        else:
            continue
        if not word.literal or HOLE in source:
            source = HOLE
        elif "/" not in source and source[:1] != ".":
            continue
        path = Word(source, word.start, word.end)
        findings.touch("read", path, run.cwds, run.part, True)
        if not only_read:
            findings.touch("write", path, run.cwds, run.part, True)
            findings.touch("delete", path, run.cwds, run.part, True)


def kube_output(findings: Findings, run: Invocation) -> None:
    """`-o go-template-file=F` shows what the file says, and so does `--template=F` beside a form without a name."""
    templates: list[Word] = []
    from_file = False
    for option, values in run.values:
        if not values:
            continue
        word = values[0]
        if "-o" not in option["names"] or word.text.isalpha():
            from_file = from_file or word.text == "templatefile"
            templates += [word] if "--template" in option["names"] else []
            continue
        form, _, name = word.text.partition("=")
        if form.endswith(("-file", "templatefile")) or HOLE in form:
            from_file = True
            if name or HOLE in form:
                findings.touch("read", Word(name or HOLE, word.start, word.end), run.cwds, run.part)
    if from_file:
        for word in templates:
            findings.touch("read", word, run.cwds, run.part)


def _compose(findings: Findings, run: Invocation) -> None:
    """Whatever it is asked, Compose reads the project's files first, which may take in others from anywhere."""
    start, end = run.words[0].start, run.words[-1].end
    named = [(option["names"], values[0]) for option, values in run.values if values]
    files = [word for names, word in named if "--file" in names]
    if any(word.text == "-" for word in files):
        findings.code(run, "what Compose is told comes from its input")
    for cwd in run.cwds or ("",):
        if not files:
            findings.ask("settings", run.part, cwd, "compose", start, end)
        for names, word in named:
            path = absolute(word.text, cwd) if cwd and word.literal else ""
            folder, _, name = path.rpartition("/")
            if "--project-directory" in names:
                findings.ask("settings", run.part, path, "compose", start, end)
            elif "--file" in names or "--env-file" in names:
                form = "compose" if "--file" in names else "compose variables"
                findings.ask("settings", run.part, folder or cwd, f"{form}\0{name or HOLE}", start, end)


HOOKS: dict[str, Callable[[Findings, Invocation], None]] = {
    "compose": _compose,
    "mounts": _mounts,
}
