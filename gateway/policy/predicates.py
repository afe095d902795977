"""What a rule may test: one function and one line in `PREDICATES` for each.

A predicate has two halves. `prepare` runs once when policies are compiled and turns what the file says into
JSON-able data, so that the result can live in the compile cache. `test` runs for each candidate and answers
`NO`, `MAYBE` (it holds only if a part of the call that is not known yet takes the right value) or `YES`.
For deny and ask `MAYBE` counts, for allow it does not.
"""

from __future__ import annotations

from gateway.model.effect import HOLE, PATH_KINDS
from gateway.model.value import Value
from gateway.policy import arguments, commandpattern, globs, hosts, paths
from gateway.policy.answers import MAYBE, NO, YES, negate

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from gateway.model.call import Call
    from gateway.model.command import Part
    from gateway.model.context import Context
    from gateway.model.effect import Effect


class Anchors(Value):
    """The folders that a rule's path patterns are based on.

    `base`: project root of the rule's file; `anywhere`: base of patterns that hold at any depth (`.env`, `**/x`,
    and `x/**` where it forbids); `layer`: root of the rule's layer, for `/x`; `home`: for `~/x`. `fold`: the file
    system takes names in either case for the same.
    """

    base: str
    anywhere: str
    layer: str
    home: str
    forbids: bool
    fold: bool = False

    def pattern(self, written: str) -> str:
        """The pattern as `paths` understands it, absolute. ValueError if it is none."""
        body = written[:-3] if self.forbids and written.endswith("/**") else written.rstrip("/")
        floating = written.startswith("**/") or ("/" not in body and not written.startswith((".", "~")))
        if written.startswith(".") and "/" not in body and body not in (".", ".."):
            floating = True
        base = self.anywhere if floating else self.base
        return paths.normalise(written, base=base, layer_root=self.layer, home=self.home, any_depth=self.forbids)


class Subject:
    """What is being judged: one effect of one call, seen from one lane. Reused from effect to effect."""

    __slots__ = ("allow", "call", "context", "effect", "part")

    call: Call
    context: Context
    effect: Effect | None
    part: Part | None
    allow: bool

    def __init__(self, call: Call, context: Context) -> None:
        self.call = call
        self.context = context
        self.effect = self.part = None
        self.allow = False


class Predicate(Value):
    """`scope`: what it looks at: "call" (the same for every effect), "part" (a command) or "effect"."""

    scope: str
    prepare: Callable[[Any, Anchors], Any]
    test: Callable[[Any, Subject], int]


def _same(argument: Any, _anchors: Anchors) -> Any:
    return argument


def _globs(argument: Any, _anchors: Anchors) -> Any:
    return [globs.compile_glob(pattern) for pattern in argument]


def _text(compiled: Any, value: str) -> int:
    """Whether any glob matches a text that may hold unknown parts."""
    if HOLE in value:
        return MAYBE
    return YES if any(globs.matches(pattern, value) for pattern in compiled) else NO


def _plain(compiled: Any, value: str | None) -> int:
    return YES if value is not None and value in compiled else NO


def _tool(compiled: Any, subject: Subject) -> int:
    return _text(compiled, subject.call.tool)


def _effect(kinds: Any, subject: Subject) -> int:
    return YES if subject.effect is not None and subject.effect.kind in kinds else NO


def _prepare_paths(argument: Any, anchors: Anchors) -> Any:
    return paths.build([(anchors.pattern(written), 0) for written in argument], fold=anchors.fold)


def _path(index: Any, subject: Subject) -> int:
    """Allow: link and target, and the whole of a tree. Deny and ask: either end, or what it may be."""
    effect = subject.effect
    if effect is None or effect.kind not in PATH_KINDS:
        return NO
    path: str = effect.path  # type: ignore[attr-defined]
    real: str = effect.real or path  # type: ignore[attr-defined]
    if subject.allow:
        if HOLE in path:
            return NO
        look = paths.lookup_tree if effect.tree else paths.lookup  # type: ignore[attr-defined]
        return YES if look(index, path) and (real == path or look(index, real)) else NO
    if HOLE in path:
        certain, possible = paths.lookup_possible(index, path)
        return YES if certain else MAYBE if possible else NO
    return YES if paths.lookup(index, path) or (real != path and paths.lookup(index, real)) else NO


def _path_not(index: Any, subject: Subject) -> int:
    """True of paths that none of the patterns match; an unknown path may be one. Allow: of nothing in a tree either."""
    effect = subject.effect
    if effect is None or effect.kind not in PATH_KINDS:
        return NO
    path: str = effect.path  # type: ignore[attr-defined]
    real: str = effect.real or path  # type: ignore[attr-defined]
    if HOLE in path or HOLE in real:
        return MAYBE
    if subject.allow:
        hit = bool(paths.lookup(index, path) or paths.lookup(index, real))
        if not hit and effect.tree:  # type: ignore[attr-defined]
            hit = bool(paths.lookup_below(index, path) or paths.lookup_below(index, real))
    else:
        hit = bool(paths.lookup(index, path)) and (real == path or bool(paths.lookup(index, real)))
    return NO if hit else YES


def _holds(places: Any, subject: Subject) -> int:
    """The path is this folder or one that it lies in: the workspace, the home folder. Allow: both ends of a link."""
    effect = subject.effect
    if effect is None or effect.kind not in PATH_KINDS:
        return NO
    context = subject.context
    targets = [*context.workspace] if "workspace" in places else []
    if "home" in places:
        targets.append(context.home)
    answers = [_is_above(path, targets) for path in {effect.path, effect.real or effect.path}]  # type: ignore[attr-defined]
    return min(answers) if subject.allow else max(answers)


def _is_above(path: str, targets: list[str]) -> int:
    if HOLE in path:
        return MAYBE
    above = path if path == "/" else path + "/"
    return YES if any((target + "/").startswith(above) for target in targets) else NO


def _prepare_hosts(argument: Any, _anchors: Anchors) -> Any:
    return hosts.build([(pattern, 0) for pattern in argument])


def _host(index: Any, subject: Subject) -> int:
    host = getattr(subject.effect, "host", None)
    if host is None:
        return NO
    certain, possible = hosts.lookup_possible(index, host)
    return YES if certain else MAYBE if possible else NO


def _host_not(index: Any, subject: Subject) -> int:
    return negate(_host(index, subject)) if getattr(subject.effect, "host", None) is not None else NO


def _field(name: str) -> Callable[[Any, Subject], int]:
    """A predicate on a field of the effect that lists values."""

    def test(values: Any, subject: Subject) -> int:
        return _plain(values, getattr(subject.effect, name, None))

    return test


def _field_glob(name: str) -> Callable[[Any, Subject], int]:
    def test(compiled: Any, subject: Subject) -> int:
        value = getattr(subject.effect, name, None)
        return NO if value is None else _text(compiled, value)

    return test


def _port(ports: Any, subject: Subject) -> int:
    port = getattr(subject.effect, "port", None)
    return NO if port is None else MAYBE if port == 0 else _plain(ports, port)


def _force(wanted: Any, subject: Subject) -> int:
    force = getattr(subject.effect, "force", None)
    return NO if force is None else YES if force == wanted else NO


def _prepare_command(argument: Any, _anchors: Anchors) -> Any:
    for pattern in argument:
        commandpattern.compile_pattern(pattern)  # raises for what is none; the text itself is what is kept
    return argument


def compiled_command(text: str) -> Any:
    """The compiled form of a command pattern, kept for good: a call looks at few of thousands."""
    found = _commands.get(text)
    if found is None:
        found = _commands[text] = commandpattern.compile_pattern(text)
    return found


_commands: dict[str, Any] = {}


def _command(patterns: Any, subject: Subject) -> int:
    """The short form. Allow: the words as written, of a command written directly, whose name nobody shadows."""
    part = subject.part
    if part is None:
        return NO
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


def _exec(prefix: Any, subject: Subject) -> int:
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


def _prepare_exec(argument: Any, _anchors: Anchors) -> Any:
    return [_prepare_words(alternatives) for alternatives in argument]


def _prepare_words(alternatives: Any) -> Any:
    compiled = [globs.compile_glob(word) for word in alternatives]
    literals = [literal for glob in compiled if (literal := globs.literal(glob)) is not None]
    return [literals, [glob for glob in compiled if globs.literal(glob) is None]]


def _option(names: Any, subject: Subject) -> int:
    """Any of these options is there. Allow: in a command written directly, spelled in full."""
    part = subject.part
    if part is None or (subject.allow and not (part.direct and part.trusted)):
        return NO
    if any(name in part.options for name in names) or (not subject.allow and _is_abbreviated(names, part)):
        return YES
    return NO if part.literal else MAYBE


def _option_not(names: Any, subject: Subject) -> int:
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


def _program(compiled: Any, subject: Subject) -> int:
    """The program behind an effect. Allow: of a command written directly, whose name nobody shadows."""
    program = getattr(subject.effect, "program", None)
    part = subject.part
    if program is None or (subject.allow and not (part is not None and part.direct and part.trusted)):
        return NO
    return _text(compiled, program)


def _agent(compiled: Any, subject: Subject) -> int:
    return _text(compiled, subject.context.agent)


def _depth(test: Any, subject: Subject) -> int:
    return YES if arguments.compare(test, subject.context.depth) else NO


def _mode(modes: Any, subject: Subject) -> int:
    return _plain(modes, subject.context.mode)


def _branch(compiled: Any, subject: Subject) -> int:
    """An unknown branch may be any."""
    branch = subject.context.branch
    return _text(compiled, branch) if branch else MAYBE


def _cwd(index: Any, subject: Subject) -> int:
    """The folder the command runs in, the session's where there is no command. Of several, allow wants all."""
    part = subject.part
    if part is not None and part.cwds is not None:
        found = [bool(paths.lookup(index, folder)) for folder in part.cwds]
        if not found:
            return MAYBE
        return YES if (all(found) if subject.allow else any(found)) else NO
    return YES if paths.lookup(index, subject.context.cwd) else NO


def _confined(wanted: Any, subject: Subject) -> int:
    return YES if subject.context.confined == wanted else NO


_DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")


def _time(window: Any, subject: Subject) -> int:
    """Days and hours in UTC. A window whose end lies before its start runs over midnight; whether what comes after
    belongs to the day it began on or to the next is read either way, in favour of the stricter answer."""
    minutes = int(subject.context.now // 60)
    day = minutes // 1440 + 3  # the epoch was a Thursday
    clock, start, end = minutes % 1440, window.get("from", 0), window.get("to", 1440)
    if not (start <= clock < end if start <= end else clock >= start or clock < end):
        return NO
    days = [_DAYS[each % 7] in window.get("days", _DAYS) for each in ((day,) if clock >= start else (day, day - 1))]
    return YES if (all(days) if subject.allow else any(days)) else NO


def _prepare_time(argument: Any, _anchors: Anchors) -> Any:
    window = dict(argument)
    for edge in ("from", "to"):
        if edge in window:
            hours, minutes = str(window[edge]).split(":")
            window[edge] = int(hours) * 60 + int(minutes)
    return window


# What the protocol says of a tool whose server does not say it: the worst.
_UNSAID = {"readOnlyHint": False, "destructiveHint": True, "idempotentHint": False, "openWorldHint": True}


def _annotations(wanted: Any, subject: Subject) -> int:
    """What the server says of its tool. Allow: in so many words; else what it left out is taken for the worst."""
    call = subject.call
    unsaid = _UNSAID if call.tool.startswith("mcp__") and not subject.allow else {}
    for name, value in wanted.items():
        given = call.annotations.get(name, unsaid.get(name))
        if given != value or (subject.allow and type(given) is not type(value)):
            return NO
    return YES


def _server(compiled: Any, subject: Subject) -> int:
    """Who serves the tool. Where nobody told, the tool's name says it, which is enough to forbid and not to allow."""
    call = subject.call
    if call.server or subject.allow:
        return _text(compiled, call.server) if call.server else NO
    named = call.tool.split("__", 2)
    return _text(compiled, named[1]) if named[0] == "mcp" and len(named) == 3 else NO


def _prepare_args(argument: Any, _anchors: Anchors) -> Any:
    return arguments.prepare(argument)


def _args(tests: Any, subject: Subject) -> int:
    return arguments.answer(tests, subject.call.input)


PREDICATES: dict[str, Predicate] = {
    "tool": Predicate("call", _globs, _tool),
    "args": Predicate("call", _prepare_args, _args),
    "server": Predicate("call", _globs, _server),
    "annotations": Predicate("call", _same, _annotations),
    "agent": Predicate("call", _globs, _agent),
    "depth": Predicate("call", _same, _depth),
    "mode": Predicate("call", _same, _mode),
    "branch": Predicate("call", _globs, _branch),
    "cwd": Predicate("call", _prepare_paths, _cwd),
    "confined": Predicate("call", _same, _confined),
    "time": Predicate("call", _prepare_time, _time),
    "command": Predicate("part", _prepare_command, _command),
    "exec": Predicate("part", _prepare_exec, _exec),
    "option": Predicate("part", _same, _option),
    "option_not": Predicate("part", _same, _option_not),
    "effect": Predicate("effect", _same, _effect),
    "path": Predicate("effect", _prepare_paths, _path),
    "path_not": Predicate("effect", _prepare_paths, _path_not),
    "holds": Predicate("effect", _same, _holds),
    "host": Predicate("effect", _prepare_hosts, _host),
    "host_not": Predicate("effect", _prepare_hosts, _host_not),
    "port": Predicate("effect", _same, _port),
    "direction": Predicate("effect", _same, _field("direction")),
    "remote": Predicate("effect", _globs, _field_glob("remote")),
    "ref": Predicate("effect", _globs, _field_glob("ref")),
    "force": Predicate("effect", _same, _force),
    "name": Predicate("effect", _globs, _field_glob("name")),
    "access": Predicate("effect", _same, _field("access")),
    "action": Predicate("effect", _same, _field("action")),
    "what": Predicate("effect", _globs, _field_glob("what")),
    "program": Predicate("effect", _globs, _program),
}

TESTS: dict[str, Callable[[Any, Subject], int]] = {name: predicate.test for name, predicate in PREDICATES.items()}
