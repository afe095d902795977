"""The predicates on a command: its words as written, its program with subcommands and operands, its options."""

from __future__ import annotations

from gateway.model.effect import HOLE
from gateway.policy import globs
from gateway.policy.subject import MAYBE, NO, YES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from gateway.model.command import Part
    from gateway.policy.anchors import Anchors
    from gateway.policy.subject import Subject


def prepare_command(argument: Any, _anchors: Anchors) -> Any:
    """Command patterns as a policy keeps them: as they are written. Raises ValueError for what is none."""
    from gateway.policy.commandpattern import compile_once  # lazy, as below: most calls meet no pattern

    for pattern in argument:
        compile_once(pattern)
    return argument


def compiled_command(text: str) -> Any:
    """The compiled form of a command pattern, kept for good: a call looks at few of thousands."""
    found = _commands.get(text)
    if found is None:
        from gateway.policy.commandpattern import compile_pattern

        found = _commands[text] = compile_pattern(text)
    return found


_commands: dict[str, Any] = {}


def command(patterns: Any, subject: Subject) -> int:
    """The short form. Allow: the words as written, of a command written directly, whose name nobody shadows."""
    part = subject.part
    if part is None:
        return NO
    import gateway.policy.commandpattern as commandpattern

    if not subject.allow:
        return max([commandpattern.matches_deny(compiled_command(pattern), part) for pattern in patterns])
    if not part.direct or not part.argv:
        return NO
    home = subject.context.home
    for words in _as_written(part):
        for pattern in patterns:
            compiled = compiled_command(pattern)
            if commandpattern.matches_allow(compiled, words):
                return YES
            if "~" in pattern and commandpattern.matches_allow(compiled, _with_tilde(words, home)):
                return YES
    return NO


def _with_tilde(words: tuple[str, ...], home: str) -> tuple[str, ...]:
    """The words with the home folder spelled as people write it, for patterns that do so too."""
    below = home + "/"
    return tuple(["~" + word[len(home) :] if word == home or word.startswith(below) else word for word in words])


def _as_written(part: Part) -> Iterator[tuple[str, ...]]:
    """The words that an allow may match: inert options left out, what came from a variable unknown. A path as the
    name stands for itself, and for the bare name where PATH gives that very file."""
    words = part.argv
    if part.inert or part.expanded:
        known = [HOLE if place in part.expanded else word for place, word in enumerate(words)]
        words = tuple([word for place, word in enumerate(known) if place not in part.inert])
    if "/" in words[0]:
        yield words
        if part.trusted:
            yield (words[0][words[0].rfind("/") + 1 :], *words[1:])
    elif part.trusted:
        yield words


def executes(prefix: Any, subject: Subject) -> int:
    """The canonical program, subcommands and operands start with these words."""
    part = subject.part
    if part is None:
        return NO
    if subject.allow and not (part.direct and part.trusted):
        return NO
    found = _named(prefix[0], part, subject.allow)
    words = (*part.subcommands, *part.operands)
    if found is NO or len(words) < len(prefix) - 1:
        return NO
    for place, alternatives in enumerate(prefix[1:]):
        answer = word_answer(alternatives, words[place])
        if answer is NO:
            return NO
        found = min(found, answer)
    return found


def word_answer(alternatives: Any, word: str) -> int:
    """Whether a word is one of these: literal ones by look-up, then globs."""
    literals, patterns = alternatives
    if word in literals:
        return YES
    if HOLE in word:
        return MAYBE
    return YES if patterns and any(globs.matches(pattern, word) for pattern in patterns) else NO


def _named(alternatives: Any, part: Part, allow: bool) -> int:
    """Whether this is the name of the program. Programs that one description serves share its name, and each is found
    by its own as well; an allow speaks only of the name as written."""
    if not part.argv:
        return word_answer(alternatives, part.program)
    name = part.argv[0]
    own = word_answer(alternatives, name[name.rfind("/") + 1 :])
    return own if allow or own is YES else max(own, word_answer(alternatives, part.program))


def prepare_exec(argument: Any, _anchors: Anchors) -> Any:
    """For each word of a prefix its alternatives: the literal ones, and the compiled globs. Raises ValueError for what
    is no glob."""
    return [_prepare_words(alternatives) for alternatives in argument]


def _prepare_words(alternatives: Any) -> Any:
    compiled = [globs.compile_glob(word) for word in alternatives]
    literals = [literal for glob in compiled if (literal := globs.literal(glob)) is not None]
    return [literals, [glob for glob in compiled if globs.literal(glob) is None]]


def option(names: Any, subject: Subject) -> int:
    """Any of these options is there. Allow: in a command written directly, spelled in full."""
    part = subject.part
    if part is None or (subject.allow and not (part.direct and part.trusted)):
        return NO
    if any(name in part.options for name in names) or (not subject.allow and _is_abbreviated(names, part)):
        return YES
    return NO if part.literal else MAYBE


def option_not(names: Any, subject: Subject) -> int:
    """None of these options is there, which allow takes for granted only where none may be abbreviated."""
    part = subject.part
    if part is None or any(name in part.options for name in names):
        return NO
    if subject.allow and (not (part.direct and part.trusted) or _is_abbreviated(names, part)):
        return NO
    return YES if part.literal else MAYBE


def _is_abbreviated(names: Any, part: Part) -> bool:
    """Whether a program without description may read one of its options as an abbreviation of these."""
    if part.described:
        return False
    given = [word.partition("=")[0] for word in part.options if len(word) > 2 and word.startswith("--")]
    return any(name.startswith(word) for name in names for word in given)
