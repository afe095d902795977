"""Reads a command's words as the program itself would, by its compiled description.

A description is a plain dict (see `gateway.spec.commands`). `read` fills an `Invocation`: which subcommand,
which options under all their spellings, which values and operands. Whatever the description does not account
for is written down in `doubts`, in words for people; the caller makes `Code` of it. Nothing is ever skipped.
"""

from __future__ import annotations

from gateway.model.command import Word
from gateway.model.effect import HOLE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Spec = dict[str, Any]

GLOB_STARTS = ("*", "?", "[")
_DIGITS = frozenset("0123456789")


class Invocation:
    """One command while it is being read: its words, and what the description made of them so far.

    `options` holds every spelling of every option present, `flags` what `sets:` added, `values` the options
    that do something together with their value, `after` the words behind `--` where a description treats
    them apart, `option_globs` the globs that could become options, `inert` the places of inert options, `first`
    the index of the command's first item.
    """

    __slots__ = (
        "after",
        "cwds",
        "doubts",
        "first",
        "flags",
        "inert",
        "name",
        "operands",
        "option_globs",
        "options",
        "part",
        "root",
        "spec",
        "stdin",
        "stdin_text",
        "subcommands",
        "values",
        "via",
        "words",
    )

    def __init__(
        self,
        name: str,
        words: tuple[Word, ...],
        cwds: tuple[str, ...],
        via: tuple[str, ...],
        stdin: str,
        stdin_text: str,
        root: Spec,
    ) -> None:
        self.name = name
        self.words = words
        self.cwds = cwds
        self.via = via
        self.stdin = stdin
        self.stdin_text = stdin_text
        self.root = root
        self.spec: Spec = root
        self.part = -1
        self.first = 0
        self.options: set[str] = set()
        self.flags: set[str] = set()
        self.values: list[tuple[Spec, tuple[Word, ...]]] = []
        self.operands: list[Word] = []
        self.subcommands: list[str] = []
        self.after: list[Word] | None = None
        self.doubts: list[str] = []
        self.inert: list[int] = []
        self.option_globs: list[Word] = []

    def has(self, names: list[str]) -> bool:
        """Whether any of these options or flags is present."""
        return not self.options.isdisjoint(names) or not self.flags.isdisjoint(names)


def read(run: Invocation) -> None:
    """Take the words apart. Afterwards every word but the name is in exactly one of the invocation's fields."""
    spec = run.root
    words = run.words
    total = len(words)
    operands = run.operands
    at = 1
    options = spec["options"]
    dialect = spec["dialect"]
    children = spec.get("subcommands")
    if dialect == "none":
        operands.extend(words[1:])
        return
    if "dashless" in spec and total > 1 and words[1].text[:1] not in ("-", "", HOLE):
        at = _dashless(run, spec, words)
    if children and (bare := spec.get("bare")) and (total == 1 or words[1].text[:1] == "-"):
        spec = _descend(run, spec, bare)
        options, dialect, children = spec["options"], spec["dialect"], spec.get("subcommands")
    while at < total:
        word = words[at]
        text: str = word.text
        at += 1
        if text[:1] == "-" and text != "-":
            index = options.get(text)
            if index is not None:
                option = spec["table"][index]
                run.options.update(option["names"])
                if len(option) == 1:
                    continue
                if "inert" in option:
                    run.inert.extend(range(at - 1, min(at + option.get("arity", 0), total)))
                if "sets" in option and "harmless" not in option:
                    run.flags.update(option["sets"])
                if "until" in option:
                    at = _until(run, option, words, at)
                elif arity := option.get("arity", 0):
                    at = _take(run, option, words, at, arity, None)
                elif "does" in option:
                    run.values.append((option, ()))
                continue
            if text == "--" and dialect != "keys":
                rest = words[at:]
                if "after" in spec:
                    run.after = list(rest)
                elif children and rest:
                    run.doubts.append("a subcommand after -- is not described")
                    operands.extend(rest)
                else:
                    operands.extend(rest)
                break
            if dialect != "keys":
                at = _unlisted(run, spec, words, at, text)
                continue
        if dialect == "keys":
            at = _key(run, spec, words, at)
            continue
        if word.splits or word.pattern is not None or text[:1] == HOLE:
            _may_be_option(run, spec, word)
        if children is not None:
            child = children.get(text)
            if child is not None:
                canonical = spec.get("canonical")
                named: str | None = canonical.get(text) if canonical is not None else None
                spec = spec["nested"][child]
                run.subcommands.append(named or spec["name"])
                run.spec = spec
                options, dialect, children = spec["options"], spec["dialect"], spec.get("subcommands")
                if children and (bare := spec.get("bare")) and (at == total or words[at].text[:1] == "-"):
                    spec = _descend(run, spec, bare)
                    options, dialect, children = spec["options"], spec["dialect"], spec.get("subcommands")
                if dialect == "none":
                    operands.extend(words[at:])
                    return
                continue
            if "default" in spec:
                spec = _descend(run, spec, spec["default"])
                options, dialect, children = spec["options"], spec["dialect"], spec.get("subcommands")
                at -= 1
                continue
            if not spec["operands"]:
                run.doubts.append(f"subcommand {_shown(text)} is not described")
            children = None
        operands.append(word)
        if dialect == "posix":
            operands.extend(words[at:])
            break
    run.spec = spec


def _descend(run: Invocation, spec: Spec, name: str) -> Spec:
    child: Spec = spec["nested"][spec["subcommands"][name]]
    run.subcommands.append(spec.get("canonical", {}).get(name, child["name"]))
    run.spec = child
    return child


def _shown(text: str) -> str:
    return text.replace(HOLE, "?")


def _may_be_option(run: Invocation, spec: Spec, word: Word) -> None:
    """An operand that the run may turn into an option, or into several words."""
    if "harmless" in spec:
        return
    if not word.splits and word.text[:1] != HOLE:
        if word.pattern is None or not word.pattern.startswith(GLOB_STARTS):
            return
        if HOLE not in word.text:
            run.option_globs.append(word)
            return
    run.doubts.append(f"{_shown(word.text)} may turn out to be an option")


def _take(run: Invocation, option: Spec, words: tuple[Word, ...], at: int, arity: int, glued: Word | None) -> int:
    """The values of an option: the glued one first, then as many of the next words as it takes."""
    taken = [glued] if glued is not None else []
    while len(taken) < arity:
        if at >= len(words):
            run.doubts.append(f"option {option['names'][0]} has no value")
            return at
        word = words[at]
        if word.splits or (word.pattern is not None and option["kinds"][len(taken)] not in ("path", "command")):
            run.doubts.append(f"{_shown(word.text)} may become several words")
        if _looks_like_option(run, option, word.text):
            run.doubts.append(f"{_shown(word.text)} may be an option of its own")
        taken.append(word)
        at += 1
    _valued(run, option, tuple(taken))
    return at


def _looks_like_option(run: Invocation, option: Spec, text: str) -> bool:
    """Whether versions of a program could disagree with the description: an option instead of a value."""
    if text[:1] != "-" or len(text) == 1 or text[1] in _DIGITS or run.spec["dialect"] in ("dash", "keys"):
        return False
    return "harmless" not in run.spec and "pattern" not in option.get("sets", ())


def _next(run: Invocation, option: Spec, words: tuple[Word, ...], at: int, arity: int) -> int:
    """The values of an option that has none glued to it: the next words, or none if a value is optional."""
    if arity:
        return _take(run, option, words, at, arity, None)
    if "does" in option:
        run.values.append((option, ()))
    return at


def _valued(run: Invocation, option: Spec, taken: tuple[Word, ...]) -> None:
    if "harmless" in option:
        if taken and taken[0].text in option["harmless"]:
            return
        run.flags.update(option.get("sets", ()))
    if "does" in option or "special" in option:
        run.values.append((option, taken))


def _glued(word: Word, text: str) -> Word:
    """The value inside an option's own word. A glob there is matched against the whole word, so hardly ever."""
    if word.pattern is not None:
        for sign in GLOB_STARTS:
            text = text.replace(sign, HOLE)
    return Word(text, word.start, word.end, word.splits)


def _until(run: Invocation, option: Spec, words: tuple[Word, ...], at: int) -> int:
    """The words of a command that ends at a mark (`find -exec … ;`)."""
    start = at
    braces = "+" in option["until"]
    while at < len(words):
        text = words[at].text
        # find ends a command at `+` only directly behind `{}`.
        if text in option["until"] and not (braces and text == "+" and words[at - 1].text != "{}"):
            break
        at += 1
    if at == len(words) and ";" in option["until"] and "open" not in option:
        run.doubts.append(f"option {option['names'][0]} has no end")
    run.values.append((option, words[start:at]))
    return at + 1


def _unlisted(run: Invocation, spec: Spec, words: tuple[Word, ...], at: int, text: str) -> int:
    """A word that starts with a dash and is not listed as such: glued values, clusters, abbreviations."""
    word = words[at - 1]
    options = spec["options"]
    table = spec["table"]
    if word.splits:
        run.doubts.append(f"{_shown(text)} may become several words")
    if text[:2] == "--" or spec["dialect"] == "dash":
        name, equals, value = text.partition("=")
        index = options.get(name)
        if index is None and spec["dialect"] == "dash":
            index = options.get(name[1:] if name[:2] == "--" else "-" + name)
        if index is None and spec["dialect"] != "dash" and HOLE not in name and len(name) > 2:
            found = {i for spelling, i in options.items() if spelling.startswith(name)}
            if len(found) == 1:
                index = found.pop()
                run.doubts.append(f"option {_shown(name)} is an abbreviation")
        if index is None:
            _unknown_option(run, spec, name)
            return at
        option = table[index]
        run.options.update(option["names"])
        if "inert" in option:
            run.inert.append(at - 1)
        if "sets" in option and "harmless" not in option:
            run.flags.update(option["sets"])
        if "until" in option:
            if equals:
                run.doubts.append(f"option {name} with a glued command is not described")
            return _until(run, option, words, at)
        arity = option.get("arity", 0)
        if arity or "optional" in option:
            if equals:
                return _take(run, option, words, at, arity or 1, _glued(word, value))
            return _next(run, option, words, at, arity)
        if equals and spec["dialect"] != "dash":
            run.doubts.append(f"option {name} takes no value")
        if "does" in option:
            run.values.append((option, ()))
        return at
    return _cluster(run, spec, words, at, text)


def _cluster(run: Invocation, spec: Spec, words: tuple[Word, ...], at: int, text: str) -> int:
    """Short options in one word; the first that takes a value takes what is left of the word, or the next."""
    word = words[at - 1]
    options = spec["options"]
    inert = True
    if "numeric" in spec and _DIGITS.issuperset(text[1:]):
        run.options.add("-NUM")
        return at
    position = 1
    while position < len(text):
        index = options.get("-" + text[position])
        position += 1
        if index is None:
            if "numeric" in spec and text[position - 1] in _DIGITS:
                run.options.add("-NUM")
                continue
            # Which of the other letters are options nobody can tell: to a rule that denies, all are.
            run.options.add(text)
            run.options.update(["-" + letter for letter in text[position:] if letter != HOLE])
            _unknown_option(
                run, spec, text if len(text) == 2 or text[position - 1] == HOLE else "-" + text[position - 1]
            )
            return at
        option = spec["table"][index]
        run.options.update(option["names"])
        if "inert" not in option:
            inert = False
        if "sets" in option and "harmless" not in option:
            run.flags.update(option["sets"])
        if "until" in option:
            return _until(run, option, words, at)
        arity = option.get("arity", 0)
        if arity or "optional" in option:
            rest = text[position:]
            if rest:
                return _take(run, option, words, at, arity or 1, _glued(word, rest))
            return _next(run, option, words, at, arity)
        if "does" in option:
            run.values.append((option, ()))
    if inert:
        run.inert.append(at - 1)
    return at


def _unknown_option(run: Invocation, spec: Spec, name: str) -> None:
    run.options.add(name)
    if "harmless" not in spec:
        run.doubts.append(f"option {_shown(name)} is not described")


def _key(run: Invocation, spec: Spec, words: tuple[Word, ...], at: int) -> int:
    """An operand `key=value` (dd)."""
    word = words[at - 1]
    key, equals, value = word.text.partition("=")
    index = spec["options"].get(key + equals)
    if index is None:
        _unknown_option(run, spec, key + equals)
        return at
    option = spec["table"][index]
    run.options.update(option["names"])
    if "does" in option:
        run.values.append((option, (_glued(word, value),)))
    return at


def _dashless(run: Invocation, spec: Spec, words: tuple[Word, ...]) -> int:
    """The old form of tar and ps: a first word of option letters, whose values follow in their order."""
    at = 2
    for letter in words[1].text:
        index = spec["options"].get(letter)
        if index is None:
            index = spec["options"].get("-" + letter)
        if index is None:
            _unknown_option(run, spec, letter)
            continue
        option = spec["table"][index]
        run.options.update(option["names"])
        run.flags.update(option.get("sets", ()))
        if arity := option.get("arity", 0):
            at = _take(run, option, words, at, arity, None)
        elif "does" in option:
            run.values.append((option, ()))
    return at
