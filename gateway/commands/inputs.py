"""xargs, `find -exec` and the like: the words that input or a search adds to a command, known ones, names of files, or
anything."""

from __future__ import annotations

from gateway.commands.name_tests import only_names
from gateway.commands.places import absolute
from gateway.model.command import Names, Word
from gateway.model.effect import HOLE, Touch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gateway.commands.description import Taken
    from gateway.commands.findings import Findings
    from gateway.commands.invocation import Invocation

MAX_RUNS = 16
MAX_WORDS = 64
_SPECIAL = frozenset("'\"\\" + HOLE)
_NEWLINES = ("\n", "\\n", "$'\\n'")
_IN_ITS_FOLDER = frozenset(("-execdir", "-okdir"))
_NEVER_EMPTY = frozenset(("-r", "--no-run-if-empty"))
_FOUND = ("{}", "{.}", "{//}", "{/}", "{/.}")


def with_input(run: Invocation, words: tuple[Word, ...]) -> list[tuple[Word, ...]]:
    """The commands that xargs starts. The input's words stand at the end, or where the replacement mark stands. Without
    any input the command is started once all the same, unless an option forbids it."""
    start, end = words[-1].start, words[-1].end
    if run.name != "xargs":  # entr: what it adds, it finds out by itself
        return [(*words, Word(HOLE, start, end, True))]
    mark, delimiter, size = _settings(run)
    known = _known(run, mark, delimiter, size)
    if known is not None:
        if mark:
            return [tuple([w.replace(text=w.text.replace(mark, "".join(line))) for w in words]) for line in known]
        return [(*words, *[Word(text, start, end) for text in line]) for line in known]
    given = run.given
    names: Names | None = None
    plain = "-a" not in run.options and delimiter in ("", *_NEWLINES)
    if given is not None and given.below and plain and given.cwds == run.cwds:
        names = Names(given.below, given.asks, given.skips)
    if mark:
        replaced = []
        for word in words:
            if word.text == mark:
                word = Word(HOLE, word.start, word.end, False, None, names)
            elif mark in word.text:
                word = word.replace(text=word.text.replace(mark, HOLE))
            replaced.append(word)
        words = tuple(replaced)
        if run.options.isdisjoint(("-n", "-L", "-l")):
            return [words]
    some = (Word(HOLE, start, end, False, None, names),) if not _NEVER_EMPTY.isdisjoint(run.options) else ()
    return [(*words, *some, Word(HOLE, start, end, True, None, names))]


def _settings(run: Invocation) -> tuple[str, str, str]:
    mark = delimiter = size = ""
    for option, values in run.values:
        spellings = option["names"]
        if "-I" in spellings or "-i" in spellings:
            mark = values[0].text if values else "{}"
            if HOLE in mark or not mark:
                run.doubts.append("what xargs replaces is not known before the run")
                mark = ""
        elif "-d" in spellings and values:
            delimiter = values[0].text or HOLE
        elif "-n" in spellings and values:
            size = values[0].text or HOLE
    return mark, delimiter, size


def _known(run: Invocation, mark: str, delimiter: str, size: str) -> list[list[str]] | None:
    """The words of each command where the whole input is known; None where it is not."""
    if run.stdin != "text" or not _SPECIAL.isdisjoint(run.stdin_text) or (delimiter and delimiter not in _NEWLINES):
        return None
    if not run.options.isdisjoint(("-0", "-a", "-L", "-l", "-s", "-E", "-e")) or (size and not size.isdecimal()):
        return None
    text = run.stdin_text
    found = (
        [line.lstrip() if mark else line for line in text.split("\n") if line] if mark or delimiter else text.split()
    )
    number = 1 if mark else int(size) if size else max(len(found), 1)
    if len(found) > MAX_WORDS or number < 1 or len(found) > number * MAX_RUNS or (mark and size):
        return None
    return [found[at : at + number] for at in range(0, len(found), number)] or [[]]


def with_found(findings: Findings, run: Invocation, words: tuple[Word, ...], via: str, slot: Taken) -> None:
    """Hands on what `find -exec` and `fd -x` start: `{}` is something below the one folder that is searched, if it is
    one, whether an operand names it or an option. A command that starts in the folder of what was found has other paths
    relative to nobody knows where."""
    inside = not _IN_ITS_FOLDER.isdisjoint(slot.get("names", ()))
    ignored = run.spec.get("ignored", ())
    roots = [word for option, values in run.values if option.get("tree") for word in values]
    roots += [word for word in run.operands[len(run.spec["lead"]) :] if word.text not in ignored]
    if not roots:
        roots = [Word(".", words[0].start, words[0].end)]
    base = roots[0].text.rstrip("/") if len(roots) == 1 and roots[0].literal else HOLE
    outer = run.cwds
    if inside:
        base = absolute(base or "/", outer[0]) if base != HOLE and len(outer) == 1 else HOLE
        run.cwds = ()
    name = f"{base}/{HOLE}" if base != HOLE else HOLE
    if "appends" in slot and not any("{" in word.text for word in words):
        words = (*words, Word("{}", words[-1].start, words[-1].end))
    first = len(findings.items)
    filled = tuple([_filled(word, name) for word in words])
    findings.command(findings, filled, run.cwds, (*run.via, via), run.stdin, run.stdin_text, run)
    run.cwds = outer
    if base == HOLE:
        return
    for cwd in run.cwds or ("",):
        folder = absolute(base or "/", cwd)
        if HOLE in folder:
            continue
        below = f"{folder.rstrip('/')}/{HOLE}"
        for at in range(first, len(findings.items)):
            effect = findings.items[at].effect
            # What is found lies below the folder: unlike other holes, this one can't lead out of it.
            if isinstance(effect, Touch) and effect.path == below:
                skips = only_names(run) if effect.kind in ("list", "read") else ""
                findings.items[at] = findings.items[at].replace(
                    effect=Touch(effect.kind, folder, True, False, "", skips)
                )
                findings.paths.append(folder)


def _filled(word: Word, name: str) -> Word:
    """The word with the marks for what was found filled in: the path itself alone, or something unknown."""
    text = word.text
    if text == "{}":
        return word.replace(text=name)
    for mark in _FOUND:
        text = text.replace(mark, HOLE)
    return word.replace(text=text) if text != word.text else word
