"""Commands that look like the deletion of something that nobody would delete, whatever program they start.

`$RM -rf /` has no program that anybody knows before the run, `./x -rf /` one that nobody described. Rules that deny
deletions would never see them; here such words are taken for what they look like. It only makes verdicts stricter:
the unknown program stands beside it as `Opaque` or `Code`. A target that is not critical needs nothing: the question
that the unknown program raises is enough. Reading (`$LS /`) looks like no deletion.
"""

from __future__ import annotations

from gateway.commands.parts import guessed_words
from gateway.commands.places import absolute, escaped, literal_folder
from gateway.model.effect import HOLE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from gateway.commands.findings import Findings
    from gateway.model.command import Word

_TREES = frozenset(("-r", "-R", "--recursive"))
_FORCED = frozenset(("-f", "--force"))
_NEVER_HARMLESS = frozenset(("--no-preserve-root", "-delete"))
# What belongs to the system, at any depth.
_SYSTEM = frozenset(("bin", "boot", "dev", "lib", "lib32", "lib64", "proc", "sbin", "sys", "System"))
_SYSTEM_BELOW_USR = frozenset(("bin", "include", "lib", "lib32", "lib64", "libexec", "sbin", "share"))


def critical(path: str, home: str, cwd: str) -> bool:
    """Whether a path, absolute and without holes, is a folder that whole machines, accounts or projects hang on: a top
    folder, the system's, home or what it lies in, the folder one stands in or above it, the history of a repository."""
    segments = path.strip("/").split("/")
    if len(segments) < 2 or segments[-1] == ".git" or segments[0] in _SYSTEM:
        return True
    if segments[0] == "usr" and segments[1] in _SYSTEM_BELOW_USR:
        return True
    return any(f"{place}/".startswith(f"{path}/") for place in (home, cwd) if place)


def note_deletions(findings: Findings, words: tuple[Word, ...], cwds: tuple[str, ...], part: int) -> None:
    """Adds the deletions that the words of an unknown program read like, of critical places alone."""
    options, operands = guessed_words(tuple([word.text for word in words]))
    deletes = not options.isdisjoint(_NEVER_HARMLESS) or (
        not options.isdisjoint(_TREES) and not options.isdisjoint(_FORCED)
    )
    # Rights of a whole tree, as chmod and chown take them.
    deletes = deletes or ("-R" in options and bool(operands) and _is_right(operands[0]))
    for word in words[1:]:
        text = word.text
        if deletes and text[-2:] == f"/{HOLE}" and critical(text[:-2] or "/", findings.home, ""):
            # What a search finds below such a place.
            findings.touch("delete", word.replace(text=text[:-1], splits=False, names=None), cwds, part, True)
        elif deletes and text[:1] != "-" and any(True for _ in _critical_places(word, findings.home, cwds)):
            findings.touch("delete", word, cwds, part, True)
        elif text[:8] == "of=/dev/" and HOLE not in text:
            findings.touch("write", word.replace(text=text[3:], pattern=None), cwds, part)


def _is_right(text: str) -> bool:
    """Whether a word is a mode or an owner, as chmod and chown take them."""
    return text.isdecimal() or ":" in text or (not text.isalnum() and set(text) <= set("ugoarwxXst+-=,"))


def _critical_places(word: Word, home: str, cwds: tuple[str, ...]) -> Iterator[str]:
    for cwd in cwds or ("",):
        places = word.names.below if word.names is not None else ()
        if not places:
            text = word.pattern if word.pattern is not None else word.text
            places = (absolute(text, escaped(cwd) if word.pattern is not None else cwd),)
            if word.pattern is not None:
                places = (literal_folder(places[0]),)
        yield from (place for place in places if HOLE not in place and critical(place, home, cwd))
