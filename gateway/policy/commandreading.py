"""The plausible readings of a command, and whether a command pattern matches one: the deny and ask lanes.

Readings of `git -C x push -f origin`: the words as written; the canonical words without options (`git push
origin`) together with the set of options in all their spellings; and, where no description says which options take
a value, each word after an option as its value or not. The program goes by its base name, its canonical name and,
where it is written as a path, that; in either case of letters. An unknown part could be anything.
"""

from __future__ import annotations

from gateway.core.value import Value
from gateway.model.effect import HOLE
from gateway.policy import automaton, globs
from gateway.policy.subject import MAYBE, NO, YES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from gateway.model.command import Part

SEPARATOR = "\x01"  # stands on both sides of each word of a text that is compared
_BETWEEN = SEPARATOR + SEPARATOR
_CHOICES = 2  # up to so many words that may be values, every reading is spelled out
_QUOTES = str.maketrans("", "", "'\"\\")
_BREAKS = str.maketrans(dict.fromkeys(";&|()<>`{}$\n\t\r", " "))


class Reading(Value):
    """A command as patterns are compared with it.

    `names`: what the program goes by; `unknown`: its name is not known. `written` and `bare`: the wrapped words in
    each reading, with and without options. `perhaps`: where the readings are too many, the wrapped words after the
    program without options, each with whether it may be an option's value; else (). `options`: all spellings;
    `after`: the words after the program. `holes`: some part is unknown; `free`: one that may hold options or
    operands, and not only an option's value. `described`: as of the part.
    """

    names: frozenset[str]
    unknown: bool
    written: tuple[str, ...]
    bare: tuple[str, ...]
    perhaps: tuple[tuple[str, bool], ...]
    options: frozenset[str]
    after: tuple[str, ...]
    holes: bool
    free: bool
    described: bool


# Many patterns are tried on one command in a row: the last one's readings are remembered.
_latest: list[tuple[Part, Reading] | None] = [None]
_latest_fallback: list[tuple[tuple[str, ...], list[str]] | None] = [None]


def read(part: Part) -> Reading:
    """The readings of a command."""
    latest = _latest[0]
    if latest is not None and latest[0] is part:
        return latest[1]
    reading = _read(part)
    _latest[0] = (part, reading)
    return reading


def judge(pattern: dict[str, Any], reading: Reading) -> int:
    """YES, NO, or MAYBE if only the right value of an unknown part makes the pattern match."""
    for text in reading.written:
        if globs.matches(pattern["written"], text):
            return YES
    described, after, options = reading.described, reading.after, pattern["options"]
    if not options or all(option_test(each, reading.options, after, described=described) for each in options):
        for glob, values in pattern["bare"]:
            if values and not all(_value_present(value, after) for value in values):
                continue
            for text in reading.bare:
                if globs.matches(glob, text):
                    return YES
            if reading.perhaps:
                machine = automaton.from_glob(glob)
                for name in reading.names:
                    if automaton.accepts(machine, [(wrapped((name,)), False), *reading.perhaps], SEPARATOR):
                        return YES
    return MAYBE if reading.unknown or (reading.holes and _possible(pattern, reading)) else NO


def option_test(option: list[Any], options: frozenset[str], after: Sequence[str], *, described: bool) -> bool:
    """Whether an option of a pattern is among those of a command, in any spelling.

    `option` is `[spelling, name, value, letters, glob]`: `-rf` may be the options `-r` and `-f`, or `-r` with the
    value `f`; `--depth=1` is found as two words too. Of a program without description an abbreviation counts.
    """
    spelling, name, value, letters, glob = option
    if spelling is not None and (spelling in options or spelling in after):
        return True
    if letters and all(letter in options for letter in letters):
        return True
    if glob is not None and any(globs.matches(glob, each) for each in (*options, *after)):
        return True
    if value is not None and name in options and _value_present(value, after):
        return True
    if not described and value is None and name.startswith("--"):
        return any(len(each) > 3 and name.startswith(each.partition("=")[0]) for each in after if each.startswith("--"))
    return False


def fallback_words(tokens: tuple[str, ...]) -> list[str]:
    """The words in the tokens of a text that could not be parsed, without quotes, split at everything that may end a
    word of the shell."""
    latest = _latest_fallback[0]
    if latest is not None and latest[0] is tokens:
        return latest[1]
    words = " ".join(tokens).translate(_QUOTES).translate(_BREAKS).split()
    _latest_fallback[0] = (tokens, words)
    return words


def wrap_atoms(word: list[Any]) -> list[Any]:
    """The atoms of a word as it stands in a wrapped text."""
    return [SEPARATOR, *word, SEPARATOR]


def wrapped(words: Sequence[str]) -> str:
    """The words as one text in which the ends of each word can be told; "" for none."""
    if not words:
        return ""
    text = _BETWEEN.join(words)
    if text.count(SEPARATOR) != 2 * len(words) - 2:
        text = _BETWEEN.join([word.replace(SEPARATOR, "\ufffd") for word in words])
    return SEPARATOR + text + SEPARATOR


def _read(part: Part) -> Reading:
    argv = part.argv
    full = argv[0].lower() if argv else ""
    base = full[full.rfind("/") + 1 :]
    program = part.program.lower()
    after = argv[1:]
    tail = wrapped(after)
    written: tuple[str, ...] = (wrapped((base,)) + tail,)
    names = {base, program} if program else {base}
    if "/" in full:
        path = full.removeprefix("./")
        names.add(path)
        written = (*written, wrapped((path,)) + tail)
    holes = HOLE in tail or HOLE in full
    options = part.options
    free = False
    perhaps: tuple[tuple[str, bool], ...] = ()
    if part.described:
        without = wrapped(part.subcommands + part.operands)
        tails = [without]
        free = holes and HOLE in without
    else:
        options, perhaps = _undescribed(after, options)
        free = holes and any(HOLE in word and word[0] != "-" for word in after)
        tails = []
        if sum([optional for _word, optional in perhaps]) <= _CHOICES:
            choices: list[list[str]] = [[]]
            for word, optional in perhaps:
                without_it = [[*each] for each in choices] if optional else []
                for each in choices:
                    each.append(word)
                choices += without_it
            tails = ["".join(each) for each in choices]
            perhaps = ()
    bare = tuple([wrapped((name,)) + each for name in names for each in tails])
    unknown = not base or HOLE in base
    return Reading(
        frozenset(names),
        unknown,
        written=written,
        bare=bare,
        perhaps=perhaps,
        options=options,
        after=after,
        holes=holes,
        free=free,
        described=part.described,
    )


def _undescribed(
    after: tuple[str, ...], options: frozenset[str]
) -> tuple[frozenset[str], tuple[tuple[str, bool], ...]]:
    """Every option that the words may be; the other words, wrapped, each with whether it may be an option's value."""
    spelled = set(options)
    words: list[tuple[str, bool]] = []
    value = ended = False
    for word in after:
        if ended or len(word) < 2 or word[0] != "-":
            words.append((word, value))
            value = False
        elif word == "--":
            ended = True
            value = False
        else:
            name, equals, _rest = word.partition("=")
            spelled.update((word, name))
            if word[1] != "-":
                spelled.update(["-" + letter for letter in name[1:]])
            value = not equals
    return frozenset(spelled), tuple([(wrapped((word,)), optional) for word, optional in words])


def _value_present(value: Any, after: Sequence[str]) -> bool:
    for word in after:
        if globs.matches(value, word):
            return True
        if word[:1] == "-" and (globs.matches(value, word[2:]) or globs.matches(value, word.partition("=")[2])):
            return True
    return False


def _possible(pattern: dict[str, Any], reading: Reading) -> bool:
    """Whether some value of the unknown parts makes the pattern match: they may hold options, and be no word at all."""
    machine = automaton.from_glob(pattern["written"])
    for text in reading.written:
        if automaton.accepts(machine, [(text, False)], SEPARATOR, unknown=True):
            return True
    if not all(_option_possible(each, reading) for each in pattern["options"]):
        return False
    if reading.perhaps:
        sequences = [_loosened([(wrapped((name,)), False), *reading.perhaps]) for name in reading.names]
    else:
        sequences = [_loosened([(word, False) for word in _pieces(text)]) for text in reading.bare]
    for glob, _values in pattern["bare"]:
        machine = automaton.from_glob(glob)
        for pieces in sequences:
            if automaton.accepts(machine, pieces, SEPARATOR, unknown=True):
                return True
    return False


def _pieces(text: str) -> list[str]:
    """The words of a wrapped text, each still wrapped."""
    return [SEPARATOR + word + SEPARATOR for word in text[1:-1].split(_BETWEEN)]


def _loosened(pieces: list[tuple[str, bool]]) -> list[tuple[str, bool]]:
    """An unknown word may be no word, or an option that takes the next one as its value."""
    after_hole = False
    loosened = []
    for text, optional in pieces:
        hole = HOLE in text
        loosened.append((text, optional or hole or after_hole))
        after_hole = hole
    return loosened


def _option_possible(option: list[Any], reading: Reading) -> bool:
    if reading.free or option_test(option, reading.options, reading.after, described=reading.described):
        return True
    spelling, name, value, _letters, _glob = option
    for word in reading.after:
        if HOLE in word:
            known = word[: word.index(HOLE)]
            if word[0] == "-" and ((spelling or name).startswith(known) or known.startswith(name)):
                return True
            if value is not None and name in reading.options:
                return True
    return False
