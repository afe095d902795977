"""The options of a command: which the description lists, in all the spellings that programs allow, and their values.

Each function takes the place behind an option's word and returns the one from which the next word is read.
"""

from __future__ import annotations

from gateway.commands.places import names_one
from gateway.model.command import Word
from gateway.model.effect import HOLE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gateway.commands.description import Option, Spec
    from gateway.commands.invocation import Invocation

GLOB_STARTS = ("*", "?", "[")
_DIGITS = frozenset("0123456789")


def shown(text: str) -> str:
    """A text as people are shown it."""
    return text.replace(HOLE, "?")


def may_be_option(run: Invocation, spec: Spec, word: Word) -> None:
    """An operand that the run may turn into an option, or into several words."""
    if "harmless" in spec:
        return
    if word.names is not None and word.pattern is None:
        run.option_globs.append(word)
        return
    if not word.splits and word.text[:1] != HOLE:
        if word.pattern is None or not word.pattern.startswith(GLOB_STARTS):
            return
        if HOLE not in word.text:
            run.option_globs.append(word)
            return
    run.doubts.append(f"{shown(word.text)} may turn out to be an option")


def take(run: Invocation, option: Option, words: tuple[Word, ...], at: int, arity: int, glued: Word | None) -> int:
    """The values of an option: the glued one first, then as many of the next words as it takes."""
    taken = [glued] if glued is not None else []
    while len(taken) < arity:
        if at >= len(words):
            run.doubts.append(f"option {option['names'][0]} has no value")
            return at
        word = words[at]
        is_text = option["kinds"][len(taken)] not in ("path", "command")
        if word.splits or (is_text and word.pattern is not None and not names_one(word.pattern)):
            run.doubts.append(f"{shown(word.text)} may become several words")
        if _looks_like_option(run, option, word.text):
            run.doubts.append(f"{shown(word.text)} may be an option of its own")
        taken.append(word)
        at += 1
    _valued(run, option, tuple(taken))
    if "split" in option:
        from gateway.commands.splitting import split  # for one option of one program

        run.again = (*split(taken[0])[0], *words[at:])
        return len(words)
    return at


def _looks_like_option(run: Invocation, option: Option, text: str) -> bool:
    """Whether versions of a program could disagree with the description: an option instead of a value."""
    if text[:1] != "-" or len(text) == 1 or text[1] in _DIGITS or run.spec["dialect"] in ("dash", "keys"):
        return False
    return "harmless" not in run.spec and "split" not in option and "pattern" not in option.get("sets", ())


def _next(run: Invocation, option: Option, words: tuple[Word, ...], at: int, arity: int) -> int:
    """The values of an option that has none glued to it: the next words, or none if a value is optional."""
    if arity:
        return take(run, option, words, at, arity, None)
    if "does" in option:
        run.values.append((option, ()))
    return at


def _valued(run: Invocation, option: Option, taken: tuple[Word, ...]) -> None:
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


def until(run: Invocation, option: Option, words: tuple[Word, ...], at: int) -> int:
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


def unlisted(run: Invocation, spec: Spec, words: tuple[Word, ...], at: int, text: str) -> int:
    """A word that starts with a dash and is not listed as such: glued values, clusters, abbreviations."""
    word = words[at - 1]
    options = spec["options"]
    table = spec["table"]
    if word.splits:
        run.doubts.append(f"{shown(text)} may become several words")
    if text[:2] == "--" or spec["dialect"] == "dash":
        name, equals, value = text.partition("=")
        index = options.get(name)
        if index is None and spec["dialect"] == "dash":
            index = options.get(name[1:] if name[:2] == "--" else "-" + name)
        if index is None and spec["dialect"] != "dash" and HOLE not in name and len(name) > 2:
            found = {i for spelling, i in options.items() if spelling.startswith(name)}
            if len(found) == 1:
                index = found.pop()
                run.doubts.append(f"option {shown(name)} is an abbreviation")
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
            return until(run, option, words, at)
        arity = option.get("arity", 0)
        if arity or "optional" in option:
            if equals:
                return take(run, option, words, at, arity, _glued(word, value))
            return _next(run, option, words, at, arity)
        if equals and (spec["dialect"] != "dash" or value != "true"):
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
                inert = False
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
            return until(run, option, words, at)
        arity = option.get("arity", 0)
        if arity or "optional" in option:
            rest = text[position:]
            if rest:
                return take(run, option, words, at, arity, _glued(word, rest))
            return _next(run, option, words, at, arity)
        if "does" in option:
            run.values.append((option, ()))
    if inert:
        run.inert.append(at - 1)
    return at


def _unknown_option(run: Invocation, spec: Spec, name: str) -> None:
    run.options.add(name)
    if "harmless" not in spec:
        run.doubts.append(f"option {shown(name)} is not described")


def keyed(run: Invocation, spec: Spec, words: tuple[Word, ...], at: int) -> int:
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


def dashless(run: Invocation, spec: Spec, words: tuple[Word, ...]) -> int:
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
            at = take(run, option, words, at, arity, None)
        elif "does" in option:
            run.values.append((option, ()))
    return at
