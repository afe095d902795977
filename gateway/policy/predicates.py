"""What a rule may test: one function and one entry of `PREDICATES` for each.

The entry names the form of the argument, which says how the argument is read, written in the JSON Schema, prepared and
compared by the linter; what people are told of the predicate stands in `gateway.spec.reference.predicates`.

A form's `prepare` runs once when policies are compiled and turns what the file says into JSON-able data, so that the
result can live in the compile cache. `test` runs for each candidate and answers `NO`, `MAYBE` (it holds only if a part
of the call that is not known yet takes the right value) or `YES`. For deny and ask `MAYBE` counts, for allow not.
"""

from __future__ import annotations

from gateway.core.value import Value
from gateway.model.decision import MODES
from gateway.model.effect import HOLE, KINDS, PATH_KINDS
from gateway.policy import arguments, commandtests, globs, hosts, paths
from gateway.policy.modes import runs_unknown
from gateway.policy.subject import MAYBE, NO, YES, negate

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from gateway.policy.anchors import Anchors
    from gateway.policy.subject import Subject


class Form(Value):
    """What an argument may be, by name: `gateway.spec.predicates` reads each form, `gateway.spec.schema` describes it,
    `gateway.policy.algebra.dimensions` compares two. `prepare` raises ValueError for what cannot be compiled."""

    name: str
    prepare: Callable[[Any, Anchors], Any]


class Predicate(Value):
    """One predicate.

    `scope`: what it looks at: "call" (the same for every effect), "part" (a command) or "effect". `kinds`: the kinds of
    effect that have the field it tests, () where it tests none. `choices`: the words it may hold, () for any.
    `negated`: it holds for what matches none of its argument. `circumstance`: it says when or for whom a rule holds and
    not what it speaks of; no allow rule consists of such alone. `untold`: it tests what the text of a call does not
    say, so that a rule's examples are taken to fulfil it.
    """

    scope: str
    form: Form
    test: Callable[[Any, Subject], int]
    kinds: tuple[str, ...] = ()
    choices: tuple[Any, ...] = ()
    negated: bool = False
    circumstance: bool = False
    untold: bool = False

    def prepare(self, argument: Any, anchors: Anchors) -> Any:
        """The argument as `test` takes it."""
        return self.form.prepare(argument, anchors)


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
    found = tuple([(each, 0) for written in argument for each in anchors.patterns(written)])
    return paths.build_once(found, fold=anchors.fold)


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


def _named(_wanted: Any, subject: Subject) -> int:
    """Every path that is asked about here was named. Of what is touched unseen, below a folder or by code, `protected`
    and `path_protection` leave out whatever says `true`; `false` says no more than nothing."""
    return YES if subject.effect is not None and subject.effect.kind in PATH_KINDS else NO


def _sends(index: Any, subject: Subject) -> int:
    """A file whose content may leave with the connection. Allow: all of them, and each known."""
    sent: tuple[str, ...] = getattr(subject.effect, "sends", ())
    found = [_sent(index, each, subject.allow) for each in sent]
    if not found:
        return NO
    return min(found) if subject.allow else max(found)


def _sent(index: Any, sent: str, allow: bool) -> int:
    tree = sent.endswith("/**")
    path = sent[:-3] or "/" if tree else sent
    if HOLE in path:
        certain, possible = paths.lookup_possible(index, path)
        return YES if certain and not allow else MAYBE if possible else NO
    if tree and not allow:  # of a tree, some may leave; what a rule forbids below it is not handed over
        return YES if paths.lookup(index, path) or paths.lookup_tree(index, path, itself=False) else NO
    return YES if (paths.lookup_tree if tree else paths.lookup)(index, path) else NO


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
        hit = bool(paths.lookup(index, path) or (real != path and paths.lookup(index, real)))
        if not hit and effect.tree:  # type: ignore[attr-defined]
            hit = bool(paths.lookup_below(index, path) or paths.lookup_below(index, real))
    else:
        hit = bool(paths.lookup(index, path)) and (real == path or bool(paths.lookup(index, real)))
    return NO if hit else YES


def _holds(places: Any, subject: Subject) -> int:
    """The path is this folder or one that it lies in: the workspace, the home folder. Allow: both ends of a link."""
    effect = subject.effect
    if effect is None or effect.kind not in PATH_KINDS or effect.only:  # type: ignore[attr-defined]
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


_CWDS: dict[int, tuple[Any, str, int]] = {}
_CWDS_KEPT = 256


def _cwd(index: Any, subject: Subject) -> int:
    """The folder the command runs in, the session's where there is no command. Of several, allow wants all."""
    part = subject.part
    if part is not None and part.cwds is not None:
        if len(part.cwds) == 1:  # asked for nearly every command of a session, about the same folder
            known = _CWDS.get(id(index))
            if known is None or known[1] != part.cwds[0]:  # it keeps the index, so that no other one has its number
                known = (index, part.cwds[0], YES if paths.lookup(index, part.cwds[0]) else NO)
                if len(_CWDS) >= _CWDS_KEPT:
                    _CWDS.clear()
                _CWDS[id(index)] = known
            return known[2]
        found = [bool(paths.lookup(index, folder)) for folder in part.cwds]
        if not found:
            return MAYBE
        return YES if (all(found) if subject.allow else any(found)) else NO
    return YES if paths.lookup(index, subject.context.cwd) else NO


def _confined(wanted: Any, subject: Subject) -> int:
    return YES if subject.context.confined == wanted else NO


def _alone(wanted: Any, subject: Subject) -> int:
    """Whether nothing of the call runs code that is not known, or changes what programs are given."""
    if subject.items is None:
        return NO if subject.allow else YES
    return YES if runs_unknown(subject.items) is not wanted else NO


def _contained(wanted: Any, subject: Subject) -> int:
    """Whether this is judged as a contained call. What an allow covers of one is for the resolver to say."""
    return YES if subject.context.contained == wanted else NO


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


_TOOLS = Form("tools", _globs)
_GLOBS = Form("globs", _globs)
_TEXTS = Form("texts", _same)
_CHOICES = Form("choices", _same)
_BOOLEAN = Form("boolean", _same)
_PATHS = Form("paths", _prepare_paths)
_HOSTS = Form("hosts", _prepare_hosts)
_CONNECT = ("connect",)
_PUSH = ("push",)

# In this order they are tested: cheap ones first.
PREDICATES: dict[str, Predicate] = {
    "tool": Predicate("call", _TOOLS, _tool),
    "args": Predicate("call", Form("args", _prepare_args), _args, circumstance=True),
    "server": Predicate("call", _GLOBS, _server, untold=True),
    "annotations": Predicate("call", Form("annotations", _same), _annotations, untold=True),
    "agent": Predicate("call", _GLOBS, _agent, circumstance=True, untold=True),
    "depth": Predicate("call", Form("depth", _same), _depth, circumstance=True, untold=True),
    "mode": Predicate("call", _CHOICES, _mode, choices=MODES, circumstance=True, untold=True),
    "branch": Predicate("call", _GLOBS, _branch, circumstance=True),
    "cwd": Predicate("call", _PATHS, _cwd, circumstance=True),
    "confined": Predicate("call", _BOOLEAN, _confined, circumstance=True, untold=True),
    "contained": Predicate("call", _BOOLEAN, _contained, circumstance=True, untold=True),
    "alone": Predicate("call", _BOOLEAN, _alone, circumstance=True),
    "time": Predicate("call", Form("time", _prepare_time), _time, choices=_DAYS, circumstance=True, untold=True),
    "command": Predicate("part", Form("commands", commandtests.prepare_command), commandtests.command),
    "exec": Predicate("part", Form("exec", commandtests.prepare_exec), commandtests.executes),
    "option": Predicate("part", Form("options", _same), commandtests.option),
    "option_not": Predicate("part", Form("options", _same), commandtests.option_not, negated=True, circumstance=True),
    "effect": Predicate("effect", _CHOICES, _effect, choices=KINDS),
    "path": Predicate("effect", _PATHS, _path, PATH_KINDS),
    "path_not": Predicate("effect", _PATHS, _path_not, PATH_KINDS, negated=True, circumstance=True),
    "holds": Predicate("effect", _CHOICES, test=_holds, kinds=PATH_KINDS, choices=("workspace", "home")),
    "named": Predicate("effect", _BOOLEAN, _named, PATH_KINDS),
    "host": Predicate("effect", _HOSTS, _host, _CONNECT),
    "host_not": Predicate("effect", _HOSTS, _host_not, _CONNECT, negated=True, circumstance=True),
    "port": Predicate("effect", Form("ports", _same), _port, _CONNECT),
    "direction": Predicate("effect", _CHOICES, _field("direction"), _CONNECT, choices=("fetch", "send", "listen")),
    "known_by": Predicate("effect", _CHOICES, _field("known_by"), _CONNECT, choices=("person", "provider")),
    "sends": Predicate("effect", _PATHS, _sends, _CONNECT),
    "remote": Predicate("effect", _GLOBS, _field_glob("remote"), _PUSH),
    "ref": Predicate("effect", _GLOBS, _field_glob("ref"), _PUSH),
    "force": Predicate("effect", _BOOLEAN, _force, _PUSH),
    "name": Predicate("effect", _GLOBS, _field_glob("name"), ("env",)),
    "access": Predicate("effect", _CHOICES, test=_field("access"), kinds=("env",), choices=("read", "set")),
    "action": Predicate("effect", _TEXTS, _field("action"), ("process", "system")),
    "what": Predicate("effect", _GLOBS, _field_glob("what"), ("system", "session")),
    "program": Predicate("effect", _GLOBS, _program, ("exec", "code", "credential")),
}

TESTS: dict[str, Callable[[Any, Subject], int]] = {name: predicate.test for name, predicate in PREDICATES.items()}


def kinds_of(when: dict[str, Any]) -> tuple[str, ...]:
    """The kinds of effect that have all the fields which these predicates test; () if there are none."""
    kinds = set(when.get("effect", KINDS))
    for name in when:
        if name in PREDICATES and PREDICATES[name].kinds:
            kinds &= set(PREDICATES[name].kinds)
    return tuple(kind for kind in KINDS if kind in kinds)
