"""Built-ins that name variables: what they set, and which of them may evaluate more than they show."""

from __future__ import annotations

import re

from gateway.model.effect import HOLE
from gateway.shell.script import Assignment
from gateway.shell.state import ASSIGNED, NUMBER, Output, is_number, numeric
from gateway.shell.words import plain_word

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from gateway.model.command import Word
    from gateway.shell.state import Content, Ways
    from gateway.shell.walk_state import WalkState

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_ELEMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?:\[(?:[0-9]+|@|\*)\])?\Z")
_SURE_FLAGS = frozenset("aAirtx")
_CASE_FLAGS = frozenset("luc")
_READ_VALUES = frozenset("adinNptu")
# Arrays of bash's own: what a declaration gives them is a list as well.
_LISTS = frozenset(
    ("BASH_ALIASES", "BASH_ARGC", "BASH_ARGV", "BASH_CMDS", "BASH_LINENO", "BASH_REMATCH", "BASH_SOURCE", "COMP_WORDS",
     "COMPREPLY", "COPROC", "DIRSTACK", "FUNCNAME", "GROUPS", "MAPFILE", "PIPESTATUS")
)  # fmt: skip
_COUNTS = re.compile(r"%[^%A-Za-z\\]*[hjlLtzI]*n")  # in a format of printf: stores how much it has printed
_MAY_NAME = re.compile(rf"-?v?{HOLE}(?:[A-Za-z0-9_{HOLE}]*|.*[\]{HOLE}])", re.DOTALL)  # `-vNAME`, with a part unknown
_EXPANDS = ("$", "`", "<(", ">(")
_MADE_LIST = re.compile(r"(?<![A-Za-z0-9_])([A-Za-z_][A-Za-z0-9_]*)(?:\+?=\(|\[)")
_LIST_MAKERS = re.compile(r"(?:\b(?:mapfile|readarray|coproc)\b|(?<=[ \t])-\w*[aA])[^\n;&|]*")


def span_of(words: Sequence[Word]) -> tuple[int, int]:
    """Where a command's words stand."""
    return words[0].start, words[-1].end


def declare(walk: WalkState, words: Sequence[Word], raws: Sequence[tuple[int, int]]) -> Ways:
    """`declare`, `typeset`, `local`, `export` and `readonly`: attributes and values of the variables they name. What of
    them is not followed counts as unknown, a name reference as code."""
    name = words[0].text
    flags = ""
    for word, raw in zip(words[1:], raws[1:], strict=False):
        text = word.text
        if text[:1] in ("-", "+") and len(text) > 1 and word.literal:
            flags += text[1:] if text[0] == "-" else text.replace("x", "")
            continue
        _declare_one(walk, word, raw, flags, name)
    if "n" in flags and name != "export":
        walk.unknown("a name reference", *span_of(words))
        return walk.forget()
    return walk.state, walk.state


def _declare_one(walk: WalkState, word: Word, raw: tuple[int, int], flags: str, builtin: str) -> None:
    text = word.text
    found = _NAME.match(text)
    if not found and word.literal:
        return
    exported = builtin == "export" or "x" in flags
    if "f" in flags:
        walk.runs_later = True  # other shells are given the function
    if _may_be_list(walk, word, raw, flags, builtin):
        walk.unknown("what may be a list in parentheses is expanded once more", word.start, word.end)
    sure = _SURE_FLAGS.issuperset(flags) or (builtin == "export" and flags == "n")
    if found and (not sure or (builtin == "local" and not walk.in_function)):
        # Whether this sets anything, which variable of that name, and to which letters, is not followed.
        if "i" in flags:
            walk.integers.add(found[0])
        if not _CASE_FLAGS.isdisjoint(flags):
            walk.volatile.add(found[0])
            walk.attributed.add(found[0])
        if text[found.end() :] or not _CASE_FLAGS.isdisjoint(flags):
            unknown = plain_word(HOLE, word.start, word.end)
            walk.assign(found[0], unknown, ASSIGNED, exported or walk.all_exported)
        elif exported:
            walk.declared(found[0], word, True)
        return
    if not found or (not word.literal and "=" not in text.partition(HOLE)[0]):
        walk.unknown("a variable whose name is not known is set", word.start, word.end)
        walk.assignments.append(
            Assignment(HOLE, plain_word(HOLE, word.start, word.end), word.start, word.end, -1, exported)
        )
        walk.forget()
        return
    name = found[0]
    if "A" in flags:
        walk.associative.add(name)
    rest = text[found.end() :]
    if not rest:
        walk.declared(name, word, exported or walk.all_exported)
        if builtin == "local" or name in walk.assigned_here:  # hides what it held; `A=b export A` keeps b
            walk.remember(name, ASSIGNED)
        if "i" in flags:
            walk.integers.add(name)
        if builtin == "readonly" or "r" in flags:
            walk.freeze(name)
        return
    if rest[0] == "[" and not _ELEMENT.match(text.partition("=")[0]) and name not in walk.associative:
        walk.unknown("a subscript that bash evaluates", word.start, word.end)
    value = text.partition("=")[2]
    at = word.text.find("=")
    raw_at = walk.text.find("=", *raw)
    known: Content = value
    if rest[0] != "=" or value == HOLE:
        known = NUMBER if rest[0] == "=" and raw_at >= 0 and walk.numeric_source(raw_at + 1, raw[1]) else ASSIGNED
    if "i" in flags:
        walk.integers.add(name)
    walk.assign(name, plain_word(text[at + 1 :], word.start, word.end), known, exported or walk.all_exported)
    if builtin == "readonly" or "r" in flags:
        walk.freeze(name)


def _may_be_list(walk: WalkState, word: Word, raw: tuple[int, int], flags: str, builtin: str) -> bool:
    """Whether a declaration may read a value, once its quotes are gone, as the elements of an array: it expands them
    as if they were written there."""
    before, equals, value = word.text.partition("=")
    list_ = not {"a", "A"}.isdisjoint(flags)
    if not equals:
        return HOLE in before and list_
    at = walk.text.find("=", *raw)
    region = walk.regions.get(at + 1) if at >= 0 else None
    if region is not None and region.kind == "array":
        return False
    if value[:1] == "(" and value[-1] in (")", HOLE):
        if any(sign in value for sign in _EXPANDS):
            return True
    elif value[:1] != HOLE:
        return False
    found = _NAME.match(before)
    return list_ or (builtin != "export" and (not found or found[0] in _LISTS or found[0] in _arrays(walk)))


def _arrays(walk: WalkState) -> frozenset[str]:
    """The variables that the text may make arrays, wherever it does."""
    if walk.arrays is None:
        names = {found[1] for found in _MADE_LIST.finditer(walk.text)}
        for found in _LIST_MAKERS.finditer(walk.text):
            names.update(_NAME.findall(found[0]))
        walk.arrays = frozenset(names)
    return walk.arrays


def unset(walk: WalkState, words: Sequence[Word], _raws: object) -> Ways:
    """`unset`: variables, and functions, which are not followed behind it."""
    walk.runs_later = True  # it may take a function away
    for word in words[1:]:
        if not _plain_target(walk, word):
            return walk.forget()
        if word.text[:1] != "-":
            walk.drop(word.text.partition("[")[0])
            plain = len(words) == 2 and word.literal and word.text.isidentifier() and not walk.in_function
            kept = walk.assigned_here.union(
                walk.frozen, ("HOME", "IFS", "OLDPWD", "PWD")
            )  # `A=b unset A` takes b alone
            if plain and word.text not in kept:
                walk.remember(word.text, "")
    return walk.state, walk.state


def read(walk: WalkState, words: Sequence[Word], _raws: object) -> Ways:
    """`read`: the variables that it names, or `REPLY`, are set to what it reads."""
    named = False
    takes = ""  # the option whose value the next word is
    line = _line(walk, words)
    if line is not None:
        walk.set_variable(words[-1].text, line, words[-1].start, words[-1].end)
        return walk.state, walk.state
    for word in words[1:]:
        text = word.text
        if takes and takes != "a":
            takes = ""
        elif not takes and not named and word.literal and len(text) > 1 and text[0] == "-":
            at = next((at for at, letter in enumerate(text) if at and letter in _READ_VALUES), len(text))
            takes = text[at] if at == len(text) - 1 else ""
            if text[at : at + 1] == "a" and not takes:
                named = True
                walk.set_variable(text[at + 1 :], ASSIGNED, word.start, word.end)
        else:
            named = True
            takes = ""
            if not _sets(walk, word):
                return walk.forget()
    if not named:
        walk.set_variable("REPLY", ASSIGNED, *span_of(words))
    return walk.state, walk.state


def _line(walk: WalkState, words: Sequence[Word]) -> Output | None:
    """What `read -r NAME` gets where only other `read`s share the pipe: a line of what is piped in."""
    source = walk.current_feed[2]
    if source is None or len(words) != 3 or words[1].text != "-r" or not words[2].literal:
        return None
    return Output(*source, "line") if _NAME.fullmatch(words[2].text) else None


def mapfile(walk: WalkState, words: Sequence[Word], _raws: object) -> Ways:
    """`mapfile` and `readarray`: an array is set to lines; with `-C` code runs for them."""
    skip = False
    for word in words[1:]:
        if skip:
            skip = False
        elif word.literal and len(word.text) > 1 and word.text[0] == "-":
            if "C" in word.text:
                return walk.forget()
            skip = word.text[-1] in "dnOsuc"
        elif not _sets(walk, word):
            return walk.forget()
    walk.set_variable("MAPFILE", ASSIGNED, *span_of(words))
    return walk.state, walk.state


def printf(walk: WalkState, words: Sequence[Word], _raws: object) -> Ways:
    """`-v NAME` sets a variable, and so does `%n`, which takes the name from among what is to be printed."""
    at = 1
    while at < len(words) and words[at].text[:2] == "-v" and HOLE not in words[at].text:
        glued = words[at].text[2:]
        at += 1 if glued else 2
        if at > len(words):
            return walk.state, walk.state
        target = words[at - 1]
        if not _sets(walk, target.replace(text=glued) if glued else target):
            return walk.forget()
    if at < len(words) and words[at].literal and words[at].text == "--":
        at += 1
    if at >= len(words):
        return walk.state, walk.state
    format_, given = words[at], words[at + 1 :]
    if format_.splits or (given and _MAY_NAME.fullmatch(format_.text)):
        walk.unknown("a format that may name a variable to be set", *span_of(words))
        return walk.forget()
    if HOLE not in format_.text and not _COUNTS.search(format_.text.replace("%%", "")):
        return walk.state, walk.state
    for word in given:
        if not word.literal:
            _sets_unknown(walk, word)
            walk.unknown("a format that may name a variable to be set", *span_of(words))
            return walk.forget()
        if _NAME.fullmatch(word.text):
            walk.set_variable(word.text, ASSIGNED, word.start, word.end)
    return walk.state, walk.state


def getopts(walk: WalkState, words: Sequence[Word], _raws: object) -> Ways:
    """`getopts`: sets the variable that it names, `OPTARG` and `OPTIND`."""
    walk.set_variable("OPTARG", ASSIGNED, *span_of(words))
    walk.set_variable("OPTIND", NUMBER, *span_of(words))
    if len(words) > 2 and not _sets(walk, words[2]):
        return walk.forget()
    return walk.state, walk.state


def wait(walk: WalkState, words: Sequence[Word], _raws: object) -> Ways:
    """`wait`: with `-p` sets the variable that it names."""
    at = 1
    while at < len(words) and words[at].text[:1] == "-" and words[at].text != "--":
        letters, names, glued = words[at].text.partition("p")
        at += 1
        if not names or letters.strip("-fn"):
            continue
        target = words[at - 1].replace(text=glued) if glued else words[at] if at < len(words) else None
        at += not glued
        if target is None or not _sets(walk, target):
            return walk.forget()
    return walk.state, walk.state


def let(walk: WalkState, words: Sequence[Word], _raws: object) -> Ways:
    """`let`: each word is evaluated as arithmetic, which may set variables."""
    for word in words[1:]:
        problem = "arithmetic on text that is not known"
        if HOLE not in word.text and not word.splits:
            problem = walk.evaluate_text(word.text, word.start, word.end)
        if problem:
            walk.unknown(problem, word.start, word.end)
    return walk.state, walk.state


def _sets(walk: WalkState, word: Word) -> bool:
    """A word names a variable that a built-in sets. False if nobody can tell which."""
    if not _plain_target(walk, word):
        _sets_unknown(walk, word)
        return False
    walk.set_variable(word.text.partition("[")[0], ASSIGNED, word.start, word.end)
    return True


def _sets_unknown(walk: WalkState, word: Word) -> None:
    walk.assignments.append(Assignment(HOLE, plain_word(HOLE, word.start, word.end), word.start, word.end))


def _plain_target(walk: WalkState, word: Word) -> bool:
    if word.literal and (_ELEMENT.match(word.text) or word.text[:1] == "-" or "[" not in word.text):
        return True
    if word.pattern is not None and _ELEMENT.match(word.text):  # `a[0]`: a glob if such a file exists
        return True
    walk.unknown("a variable's name that is not known, or whose subscript is evaluated", word.start, word.end)
    return False


def test(walk: WalkState, words: Sequence[Word], raws: Sequence[tuple[int, int]]) -> Ways:
    """`test`, `[`, and `[[` where it is read as words: where a word may be an operator that evaluates a subscript
    (`-v`) or arithmetic, nothing of that is known."""
    for at, word in enumerate(words[1:], 1):
        raw = walk.text[raws[at][0] : raws[at][1]]
        if word.text in ("-v", "-R"):
            target = words[at + 1] if at + 1 < len(words) else None
            if target is not None and not _ELEMENT.match(target.text):
                walk.unknown(
                    "a variable's name that is not known, or whose subscript is evaluated", word.start, word.end
                )
        elif words[0].text == "[[":
            if raw in _COMPARISONS:
                for side in (at - 1, at + 1):
                    if 0 < side < len(words) and not _compares_number(walk, words[side], raws[side]):
                        walk.unknown("a comparison that evaluates text not known to be a number", word.start, word.end)
        elif HOLE in word.text and (word.splits or _may_be_operator(words, at)):  # it may turn out to be `-v`
            walk.unknown("an expansion in a test that may be read as an operator", word.start, word.end)
    return walk.state, walk.state


def _may_be_operator(words: Sequence[Word], at: int) -> bool:
    follower = words[at + 1].text if at + 1 < len(words) else "]"
    return words[at].text[:1] in (HOLE, "-") and follower != "]" and (HOLE in follower or "[" in follower)


_COMPARISONS = frozenset(("-eq", "-ne", "-lt", "-le", "-gt", "-ge"))


def _compares_number(walk: WalkState, word: Word, raw: tuple[int, int]) -> bool:
    return is_number(word.text) or numeric(walk.state, word.text) or walk.numeric_source(*raw)
