"""Short-form command patterns, `Bash(npm run *)`: how they are written and when they match.

A pattern is a line of shell words: blanks separate words, quotes and backslashes join them, and `*` is any text,
blanks included. Without `*` it is exactly that command. A last word ` *`, or `:*` at the very end, also matches
the command without any further word, and never a longer word. A quoted `*` stays within its word; `\\*` is a star.

The lanes read differently. Allow (`matches_allow`): the words as written, one reading, nothing unknown. Deny and
ask (`matches_deny`): any plausible reading, see `gateway.policy.commandreading`.
"""

from __future__ import annotations

from gateway.model.effect import HOLE
from gateway.policy import automaton, globs
from gateway.policy.commandreading import SEPARATOR, fallback_words, judge, option_test, read, wrap_atoms, wrapped
from gateway.policy.subject import NO

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from gateway.model.command import Part

    Pattern = dict[str, Any]
    Atoms = list[Any]

_VALUES = 3


def compile_pattern(text: str) -> Pattern:
    """The compiled form, plain data. Raises ValueError, without the place, for what is no pattern."""
    if HOLE in text or SEPARATOR in text:
        raise ValueError("a command pattern must not hold control characters")
    words, rest = words_of(text)
    if not words:
        raise ValueError(f"a command pattern must name a command, or be `*` (got `{text}`)")
    flat: Atoms = []
    for i, word in enumerate(words):
        flat += [HOLE, *word] if i else word
    spanning = [None if atom is False else atom for atom in flat]
    allow = [globs.assemble(spanning)]
    if rest:
        allow.append(globs.assemble([*spanning, HOLE, None]))
    within = None
    if False in flat:
        within = [automaton.build(flat)] + ([automaton.build([*flat, HOLE, None])] if rest else [])
    return {
        "allow": allow,
        "within": within,
        "program": _program(words[0]),
        "second": _second(words),
        "longest": _longest(words),
        **_readings(words, rest),
    }


_MOST_KEPT = 8_000  # several times what all that ships holds: where one policy held more, nothing would be kept
_kept: dict[str, Pattern] = {}


def compile_once(text: str) -> Pattern:
    """As `compile_pattern`, for reading only. What was asked for lately is not compiled again: a rule asks twice, and a
    policy that changed holds nearly all the patterns that it held."""
    found = _kept.get(text)
    if found is None:
        if len(_kept) >= _MOST_KEPT:
            _kept.clear()
        found = _kept[text] = compile_pattern(text)
    return found


def first_words(pattern: Pattern) -> tuple[str | None, str | None]:
    """What an index may file the pattern under: the program's base name in lower case, and the next word if it is
    literal and no option; None where there may be several.

    A command that matches has this program (or an unknown one) and, somewhere after it, this word (or an unknown
    one): as written, or among its canonical subcommands and operands.
    """
    return pattern["program"], pattern["second"]


def longest_word(pattern: Pattern) -> str | None:
    """The longest literal word after the program, which every command that an allow of this pattern matches must hold
    as written; None if there is none."""
    longest: str | None = pattern["longest"]
    return longest


def matches_allow(pattern: Pattern, argv: Sequence[str]) -> bool:
    """Whether the words as written, and no others, are what the pattern says. Never true of unknown words."""
    text = HOLE.join(argv)
    if not argv or text.count(HOLE) != len(argv) - 1:
        return False
    for place, glob in enumerate(pattern["allow"]):
        if globs.matches(glob, text):
            if pattern["within"] is None:
                return True
            each = pattern["within"][place]
            if automaton.accepts(each, [(text, False)], HOLE):
                return True
    return False


def matches_deny(pattern: Pattern, part: Part) -> int:
    """2 if the command matches in any plausible reading, 1 if it could only by the value of an unknown part, else 0."""
    reading = read(part)
    program = pattern["program"]
    if program is not None and program not in reading.names and not reading.unknown:
        return NO
    return judge(pattern, reading)


def matches_plain(pattern: Pattern, words: Sequence[str]) -> bool:
    """As `matches_deny` of a command without options, of which nothing is known but its words: whether it matches."""
    return not pattern["options"] and globs.matches(pattern["written"], wrapped((words[0].lower(), *words[1:])))


def matches_tokens(pattern: Pattern, tokens: Sequence[str]) -> bool:
    """Whether the fallback tokens of a text may hold the command: its words in this order at any place, with anything
    between them, and its options anywhere after the program."""
    words = fallback_words(tuple(tokens))
    first, *others = pattern["loose"]
    # After the first place where the program stands comes everything that comes after a later one.
    start = next((i for i, word in enumerate(words) if _is_program(first, word)), len(words))
    at = start
    for glob in others:
        at += 1
        while at < len(words) and not (globs.matches(glob, words[at]) or HOLE in words[at]):
            at += 1
    if at >= len(words):
        return False
    if not pattern["options"]:
        return True
    after = words[start + 1 :]
    spelled = frozenset(after) | {"-" + c for word in after if word[:1] == "-" and word[1:2] != "-" for c in word[1:]}
    return any(HOLE in word for word in after) or all(
        option_test(each, spelled, after, described=False) for each in pattern["options"]
    )


def _is_program(glob: Any, word: str) -> bool:
    name = word.lower()
    return globs.matches(glob, name) or globs.matches(glob, name[name.rfind("/") + 1 :]) or HOLE in word


def words_of(text: str) -> tuple[list[Atoms], bool]:
    """The words as atoms (None: a star, False: a quoted one), and whether any words may follow."""
    rest = text.rstrip().endswith(":*")
    line = text.rstrip()[:-2] if rest else text
    words: list[Atoms] = []
    word: Atoms | None = None
    i = 0
    while i < len(line):
        char = line[i]
        i += 1
        if char.isspace():
            if word is not None:
                words.append(word)
            word = None
            continue
        word = [] if word is None else word
        if char == "\\":
            if i == len(line):
                raise ValueError(f"a backslash must stand before the character it makes literal (got `{text}`)")
            word.append(line[i])
            i += 1
        elif char in "'\"" and (end := _closing(line, i, char)):
            word += _quoted(line[i:end], char)
            i = end + 1
        else:
            word.append(None if char == "*" else char)
    if word is not None:
        words.append(word)
    if not rest and len(words) > 1 and words[-1] == [None]:
        words.pop()
        rest = True
    if rest and not words:
        return [[None]], False
    return words, rest


def _closing(text: str, at: int, quote: str) -> int:
    """Where a quote that opened before `at` closes, 0 if it does not (then it is an ordinary character)."""
    while at < len(text) and text[at] != quote:
        at += 2 if text[at] == "\\" and quote == '"' else 1
    return at if at < len(text) else 0


def _quoted(text: str, quote: str) -> Atoms:
    atoms: Atoms = []
    i = 0
    while i < len(text):
        char = text[i]
        i += 1
        if char == "\\" and i < len(text) and text[i] in ("*" if quote == "'" else '*\\"$`'):
            atoms.append(text[i])
            i += 1
        else:
            atoms.append(False if char == "*" else char)
    return atoms


def _literal(word: Atoms) -> str | None:
    return None if None in word or False in word else "".join(word)


def _base(word: Atoms) -> Atoms:
    """A program's name as it is compared: in lower case, without folders unless a star stands in the name itself."""
    word = [atom.lower() if atom else atom for atom in word]
    if "/" in word:
        slash = len(word) - word[::-1].index("/")
        if slash < len(word) and None not in word[slash:] and False not in word[slash:]:
            return word[slash:]
    return word[2:] if word[:2] == [".", "/"] else word


def _program(word: Atoms) -> str | None:
    return _literal(_base(word))


def _second(words: list[Atoms]) -> str | None:
    if len(words) < 2 or _literal(words[0]) is None:
        return None
    second = _literal(words[1])
    return second if second and not second.startswith("-") else None


def _longest(words: list[Atoms]) -> str | None:
    literals = [literal for word in words[1:] if (literal := _literal(word))]
    return max(literals, key=len, default=None)


def _readings(words: list[Atoms], rest: bool) -> dict[str, Any]:
    """What the deny lane compares: the words as written; the options, and without them the other words, each word
    after an option being perhaps its value."""
    program = [None if atom is False else atom for atom in _base(words[0])]
    spanned = [[None if atom is False else atom for atom in word] for word in words[1:]]
    options: list[Any] = []
    kept: list[tuple[Atoms, bool]] = []
    after_option = ended = False
    for word in spanned:
        literal = _literal(word)
        if not ended and word[:1] == ["-"] and len(word) > 1:
            options.append(_option(word))
            ended = literal == "--"
            after_option = literal is not None and not ended and "=" not in literal
            if literal is None:
                kept.append(([], False))
            continue
        kept.append((word, after_option and word != [None]))
        after_option = False
    gaps = bool(options)
    values = [i for i, (_word, value) in enumerate(kept) if value][:_VALUES]
    bare = []
    for chosen in range(1 << len(values)):
        dropped = {i for bit, i in enumerate(values) if chosen >> bit & 1}
        atoms = wrap_atoms(program)
        for i, (word, _value) in enumerate(kept):
            if i not in dropped:
                atoms += [None] if not word or (gaps and word == [None]) else wrap_atoms(word)
        if rest:
            atoms.append(None)
        bare.append([globs.assemble(atoms), [globs.assemble(kept[i][0]) for i in sorted(dropped)]])
    written = wrap_atoms(program) + [atom for word in spanned for atom in wrap_atoms(word)] + ([None] if rest else [])
    loose = [program, *(word for word, value in kept if word not in ([], [None]) and not value)]
    return {
        "written": globs.assemble(written),
        "bare": bare,
        "options": options,
        "loose": [globs.assemble(word) for word in loose],
    }


def _option(word: Atoms) -> list[Any]:
    """`[spelling, name, value, letters, glob]` of an option in a pattern, as `commandreading.option_test` reads it."""
    literal = _literal(word)
    star = word.index(None) if literal is None else len(word)
    head = "".join(word[:star])
    glob = None if literal is not None else globs.assemble(word)
    name, equals, _value = head.partition("=")
    if equals:
        value: Any = globs.assemble(word[len(name) + 1 :])
        return [literal, name, value, [], glob]
    if head[1:2] == "-" or head == "-":
        return [literal, name, None, [], glob]
    letters = ["-" + letter for letter in head[1:]] if star >= len(word) - 1 else []
    value = globs.assemble(list(head[2:])) if literal is not None and len(head) > 2 else None
    return [literal, head[:2], value, letters, glob]
