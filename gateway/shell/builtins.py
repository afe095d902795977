"""What the shell's own commands do to the state of the reading: folders, variables, functions.

They also are ordinary simple commands of the result; their effects on the world are their descriptions' business.
"""

from __future__ import annotations

from gateway.model.effect import HOLE
from gateway.shell import functions, variables
from gateway.shell.state import ASSIGNED, INTEGERS, Elements, State, is_number, join, lexical
from gateway.shell.words import plain_word

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from gateway.model.command import Word
    from gateway.shell.state import Ways
    from gateway.shell.walk_state import WalkState

DECLARATIONS = frozenset(("export", "declare", "typeset", "local", "readonly"))
_HARMLESS_SHOPT = frozenset(
    ("checkwinsize", "cmdhist", "failglob", "histappend", "inherit_errexit", "lithist", "sourcepath", "xpg_echo")
)


def run(walk: WalkState, words: Sequence[Word], raws: Sequence[tuple[int, int]]) -> Ways:
    """The state after a simple command whose name may be a shell built-in. All of `words[0]` must be literal."""
    name = words[0].text
    act = _ACTIONS.get(name)
    if name in ("command", "builtin"):
        rest = 1
        while rest < len(words) and words[rest].text in ("-p", "--"):
            rest += 1
        if rest < len(words) and words[rest].text[:2] not in ("-v", "-V", "-p"):
            if not words[rest].literal:
                return walk.forget()
            if words[rest].text not in walk.bodies:  # a function is not what it runs
                return run(walk, words[rest:], raws[rest:])
        return walk.state, walk.state
    if name in walk.functions:
        return functions.call(walk, words)
    if act is not None:
        return act(walk, words, raws)
    return walk.state, walk.state


# Folders.


def _cd(walk: WalkState, words: Sequence[Word], _raws: object) -> Ways:
    state = walk.state
    operands, physical = _folder_operands(words)
    if operands is None or walk.trapped:
        return _moved(walk, state, ())
    if not operands:
        home = state.values.get("HOME")
        return _moved(walk, state, (home,) if isinstance(home, str) and home[:1] == "/" and HOLE not in home else ())
    target = operands[0]
    if target == "-":
        return _moved(walk, state, state.old)
    return _moved(walk, state, _seen_from(walk, target, physical))


def _folder_operands(words: Sequence[Word]) -> tuple[list[str] | None, bool]:
    """The operands of cd, pushd; None when they are not known."""
    physical = False
    found: list[str] = []
    options = True
    for word in words[1:]:
        if not word.literal:
            return None, physical
        text = word.text
        if options and text == "--":
            options = False
        elif options and len(text) > 1 and text[0] == "-" and text.strip("-LPen@") == "":
            physical = physical or "P" in text
        else:
            found.append(text)
    return (found if len(found) <= 1 else None), physical


def _seen_from(walk: WalkState, target: str, physical: bool) -> tuple[str, ...]:
    parts = target.split("/")
    if (physical or walk.physical) and ".." in parts:
        return ()
    if target[:1] == "/":
        return (lexical("/", target),)
    if not target:
        return walk.state.cwds
    if parts[0] not in (".", "..") and ("CDPATH" in walk.state.values or "CDPATH" in walk.assigned_here):
        return ()
    return tuple(dict.fromkeys(lexical(cwd, target) for cwd in walk.state.cwds))


def _moved(walk: WalkState, state: State, cwds: tuple[str, ...]) -> Ways:
    if walk.assigned_here:  # `HOME=/x cd`
        cwds = ()
    walk.moved = walk.leaves_folder = True
    return state.move(cwds), state


def _pushd(walk: WalkState, words: Sequence[Word], _raws: object) -> Ways:
    state = walk.state
    operands, _ = _folder_operands(words)
    if operands and operands[0][:1] not in ("+", "-") and not walk.trapped and state.stack is not None:
        moved, _ = _moved(walk, state, _seen_from(walk, operands[0], False))
        assert moved is not None
        return State(moved.cwds, moved.values, moved.old, (state.cwds, *state.stack)), state
    walk.moved = walk.leaves_folder = True
    return State((), state.values, state.cwds, None), state


def _popd(walk: WalkState, words: Sequence[Word], _raws: object) -> Ways:
    state = walk.state
    walk.moved = walk.leaves_folder = True
    if len(words) == 1 and state.stack is not None and not walk.trapped:
        if not state.stack:
            return None, state
        return State(state.stack[0], state.values, state.cwds, state.stack[1:]), state
    return State((), state.values, state.cwds, None), state


# Ends.


def _exit(walk: WalkState, words: Sequence[Word], raws: Sequence[tuple[int, int]]) -> Ways:
    ends = len(words) == 1 or (len(words) == 2 and (is_number(words[1].text) or walk.numeric_source(*raws[1])))
    return (None, None) if ends else (walk.state, walk.state)


def _jump(walk: WalkState, _words: object, _raws: object) -> Ways:
    walk.jump = join(walk.jump, walk.state)
    return walk.state, walk.state


def _return(walk: WalkState, words: Sequence[Word], raws: Sequence[tuple[int, int]]) -> Ways:
    return _exit(walk, words, raws) if walk.in_function else (walk.state, walk.state)


# Code, options, names.


def _foreign(walk: WalkState, words: Sequence[Word], _raws: object) -> Ways:
    if len(words) == 1:
        return walk.state, walk.state
    if walk.activates and words[0].text != "eval" and (found := _activated(walk, words)):
        for name in found:
            walk.assign(name, plain_word(HOLE, words[0].start, words[-1].end), ASSIGNED, True)
        walk.activations += 1
        return walk.state, walk.state
    return walk.forget()


def _activated(walk: WalkState, words: Sequence[Word]) -> tuple[str, ...]:
    """The variables that a script sets which does nothing else, () where it is another one, or where this shell may
    give its commands another meaning than a new one."""
    path = words[1].text
    if len(words) != 2 or not words[1].literal or "/" not in path or len(walk.state.cwds) != 1 or walk.assigned_here:
        return ()
    otherwise = walk.wild or walk.trapped or walk.shadowed or walk.functions or walk.frozen or walk.attributed
    if otherwise or not walk.plain_fields or walk.integers != INTEGERS or walk.associative:
        return ()
    return walk.activates.get(lexical(walk.state.cwds[0], path), ())


def _trap(walk: WalkState, words: Sequence[Word], _raws: object) -> Ways:
    walk.runs_later = walk.unordered = True
    signals = [word.text for word in words[2:]]
    if len(words) < 3 or words[1].text in ("-", "-p", "-l") or all(signal in ("EXIT", "0") for signal in signals):
        return walk.state, walk.state
    walk.trapped = True
    return walk.forget()


def _alias(walk: WalkState, words: Sequence[Word], _raws: object) -> Ways:
    for word in words[1:]:
        name, equals, _ = word.text.partition("=")
        if HOLE in name or word.splits:
            walk.unknown("an alias whose name is not known", word.start, word.end)
        elif equals:
            walk.shadow(name, (True, True))
            walk.runs_later = True
    return walk.state, walk.state


def _shopt(walk: WalkState, words: Sequence[Word], _raws: object) -> Ways:
    if any(word.text == "failglob" for word in words[1:]):
        walk.globs_may_fail = walk.calls_may_fail = True
    changes = any(word.text[:1] == "-" and ("s" in word.text or "u" in word.text) for word in words[1:])
    if any(not word.literal for word in words[1:]) or (
        changes and any(word.text[:1] != "-" and word.text not in _HARMLESS_SHOPT for word in words[1:])
    ):
        walk.unknown(_OPTION_OF_READING, *variables.span_of(words))
    return walk.state, walk.state


_OPTION_OF_READING = "an option that changes how the shell reads text"
_READING = frozenset(("keyword", "posix", "history", "histexpand", "braceexpand", "noglob"))
_OPTIONS = _READING | frozenset(
    ("allexport", "emacs", "errexit", "errtrace", "functrace", "hashall", "ignoreeof", "interactive-comments",
     "monitor", "noclobber", "noexec", "nolog", "notify", "nounset", "onecmd", "physical", "pipefail", "privileged",
     "verbose", "vi", "xtrace")
)  # fmt: skip
_CHANGES_READING = frozenset("kHBf")
_LETTERS = _CHANGES_READING | frozenset("abehmnoptuvxCEPT")


def _set(walk: WalkState, words: Sequence[Word], _raws: object) -> Ways:
    named = 0  # so many of the next words are names of options: each `o` takes one that has no sign
    for at, word in enumerate(words[1:], 1):
        text = word.text
        signed = text[:1] in ("-", "+")
        if (named or signed or HOLE in text[:1]) and not word.literal:
            walk.unknown(_OPTION_OF_READING, *variables.span_of(words))
            walk.state = walk.state.without({"@"})
            break
        if named and text and not signed:
            named -= 1
            understood, reads = text in _OPTIONS, text in _READING
            walk.physical = walk.physical or text == "physical"
            walk.all_exported = walk.all_exported or text == "allexport"
        elif text in ("--", "-"):
            if text == "--" or at + 1 < len(words):
                _positional(walk, words[at + 1 :])
            break
        elif signed:
            named = text.count("o")
            understood, reads = _LETTERS.issuperset(text[1:]), not _CHANGES_READING.isdisjoint(text)
            walk.physical = walk.physical or "P" in text
            walk.all_exported = walk.all_exported or "a" in text
        else:
            _positional(walk, words[at:])
            break
        if reads:
            walk.unknown(_OPTION_OF_READING, *variables.span_of(words))
        if not understood:  # what is there stays, whatever follows
            walk.state = walk.state.without({"@"})
            break
    return walk.state, walk.state


def _positional(walk: WalkState, words: Sequence[Word]) -> None:
    given = functions.arguments_of(words)
    walk.state = walk.state.without({"@"}) if given is None else walk.state.assign("@", given)


def _shift(walk: WalkState, words: Sequence[Word], _raws: object) -> Ways:
    own = walk.state.values.get("@")
    by = 1 if len(words) == 1 else int(words[1].text) if words[1].text.isdecimal() and words[1].literal else -1
    if isinstance(own, Elements) and 0 <= by <= len(own.texts) and len(words) < 3:
        walk.state = walk.state.assign("@", Elements(own.texts[by:]))
        return walk.state, walk.state
    walk.state = walk.state.without({"@"})
    return walk.state, walk.state


_ACTIONS: dict[str, Callable[[WalkState, Sequence[Word], Sequence[tuple[int, int]]], Ways]] = {
    **dict.fromkeys(DECLARATIONS, variables.declare),
    **dict.fromkeys(("mapfile", "readarray"), variables.mapfile),
    **dict.fromkeys(("[", "[[", "test"), variables.test),
    **dict.fromkeys(("eval", "source", "."), _foreign),
    **dict.fromkeys(("break", "continue"), _jump),
    "alias": _alias,
    "cd": _cd,
    "exit": _exit,
    "getopts": variables.getopts,
    "let": variables.let,
    "popd": _popd,
    "printf": variables.printf,
    "pushd": _pushd,
    "read": variables.read,
    "return": _return,
    "set": _set,
    "shift": _shift,
    "shopt": _shopt,
    "trap": _trap,
    "unset": variables.unset,
    "wait": variables.wait,
}
