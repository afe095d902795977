"""From shell text to everything it is predicted to do.

`analyse` walks the simple commands of a text, of which `simple_command` says what each does, follows what wrappers,
`xargs`, `find -exec`, `sh -c` and `eval` hand on, and adds what the shell itself does: redirects, variables.
What is not understood stands among the items as `Code` or `Opaque` with its reason.
"""

from __future__ import annotations

from gateway.commands.findings import Findings
from gateway.commands.parts import function_call, mark_expanded
from gateway.commands.simple_command import simple
from gateway.commands.variables import GUARDED, assigned, secret, zone_file
from gateway.core.value import Value
from gateway.model.analysis import Analysis
from gateway.model.command import UNPARSED, Word
from gateway.model.effect import HOLE, Connect, Item, Process, System
from gateway.model.facts import Wanted
from gateway.shell import reading

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from gateway.commands.description import Description
    from gateway.commands.invocation import Invocation
    from gateway.model.analysis import Pending
    from gateway.shell.script import Script, Unknown

    Lookup = Callable[[str], Description | None]

MAX_DEPTH = 16
MAX_HANDED_ON = 64_000  # characters of all texts that commands hand on, once in each shell that reads them
MAX_FALLBACK_COMMANDS = 64  # half as many in a text that a command of this one hands on, and so forth
MIN_FALLBACK_COMMANDS = 4
MAX_FALLBACK_WORDS = 64
MAX_HELD = 32  # commands that variables hold
NOTHING: frozenset[int] = frozenset()
# What a shell that sources an environment's script may be handed on by: they change nothing that it would find.
AROUND = frozenset(
    ("bash", "sh", "dash", "bash -c", "sh -c", "dash -c", "timeout", "nice", "nohup", "time", "ionice", "stdbuf")
)
# What these read from a pipe changes nothing of what they do.
_FILTERS = frozenset(
    ("head", "tail", "grep", "egrep", "fgrep", "rg", "sort", "uniq", "wc", "cat", "less", "more", "sed", "awk", "cut",
     "tr", "jq", "tee", "nl", "column", "tac", "rev", "fold", "paste", "base64", "gzip", "md5sum", "sha256sum")
)  # fmt: skip


class Start(Value):
    """Where a text starts to run. `variables`: what is known of the shell's variables; `depth`: how many shells
    already stand around the text; `second_opinion`: another parser has to find the same commands; `activates`: as in
    `Facts`."""

    cwd: str
    home: str
    variables: Mapping[str, str] = {}
    depth: int = 0
    second_opinion: bool = False
    activates: Mapping[str, tuple[str, ...]] = {}


class _Analyst(Findings):
    """Findings that know where the text starts."""

    __slots__ = ("start",)

    def __init__(self, start: Start, lookup: Lookup) -> None:
        super().__init__(start.home, lookup, _command, _script)
        self.start = start


def analyse(text: str, start: Start, lookup: Lookup, besides: tuple[Item, ...] = ()) -> Analysis:
    """Everything that running `text` in bash is predicted to do, before anybody looked at the host, behind what the
    call does besides."""
    cwds = (start.cwd,) if start.cwd else ()
    script = reading.read(text, cwds=cwds, home=start.home, variables=start.variables, activates=start.activates)
    if start.second_opinion:
        script = _doubted(text, script)
    return analyse_script(script, start, lookup, besides)


def _doubted(text: str, script: Script) -> Script:
    from gateway.shell.secondopinion import with_second_opinion  # only policies that ask for it pay for it

    return with_second_opinion(text, script)


def analyse_script(script: Script, start: Start, lookup: Lookup, besides: tuple[Item, ...] = ()) -> Analysis:
    """The same for a text that is parsed already."""
    findings = _Analyst(start, lookup)
    _run_script(findings, script, ())
    return _analysis(findings, besides)


def _analysis(findings: _Analyst, besides: tuple[Item, ...]) -> Analysis:
    if findings.held:
        from gateway.commands.code_strings import note_command  # lazy: hardly any text sets such a variable

        for name, value, part in findings.held[:MAX_HELD]:
            note_command(findings, value.text, value, (findings.start.cwd,), (name,), part)
    if findings.moves is not None and any(part.program in GUARDED for part in findings.parts):
        # It would look for what holds it where nobody put it.
        findings.add(System("agent", "unguarded"), *findings.moves, -1)
    pending = tuple(dict.fromkeys(findings.pending)) if len(findings.pending) > 1 else tuple(findings.pending)
    names = _once([each.target for each in pending if each.kind == "names"]) if pending else ()
    settings = _settings(pending) if pending else ()
    paths, globs, programs, git = findings.paths, findings.globs, findings.programs, findings.git
    nests: tuple[str, ...] = ()
    if len(git) > 1:
        from gateway.commands.nested import links  # lazy: few texts are about several repositories

        nests = _once(git) if links(findings.parts) else ()
    clients = _once([each.target for each in pending if each.kind == "client"]) if pending else ()
    hooks: tuple[tuple[str, bool], ...] = ()
    if any(each.kind == "hooks" for each in pending):
        from gateway.commands.git_hooks import wanted_of  # lazy: few commands have hooks

        hooks = wanted_of(pending, findings.parts)
    wanted = Wanted.make((
        _once(paths) if paths else (), _once(globs) if globs else (), tuple(programs) if len(programs) < 2
        else _once(programs), _once(git) if git else (), (), names, settings,
        nests, _once([path for _, path in findings.sourced]) if findings.sourced else (), clients, hooks,
    ))  # fmt: skip
    sourced: tuple[tuple[int, str], ...] = ()
    if findings.sourced:
        every = len(findings.parts)
        sourced = tuple([(every if findings.unordered else part, path) for part, path in findings.sourced])
    return Analysis.make((
        tuple(findings.parts), (*besides, *findings.items), findings.tokens, wanted, pending, tuple(findings.secrets),
        sourced,
    ))  # fmt: skip


def _settings(pending: tuple[Pending, ...]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    asked = [each for each in pending if each.kind == "settings"]
    if not asked:
        return ()
    import gateway.commands.steering.programs as steering  # lazy: few calls start a program that obeys files

    return tuple(dict.fromkeys([(each.target, steering.files_of(each.extra)[1]) for each in asked]))


def _once(texts: list[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(texts)) if len(texts) > 1 else tuple(texts)


def _script(
    findings: _Analyst,
    text: str,
    cwds: tuple[str, ...],
    via: tuple[str, ...],
    span: tuple[int, int],
    run: Invocation | int,
) -> None:
    """A text that a command (or its part) hands to a shell. Its places are those of the words that hold it."""
    too_deep = findings.start.depth + len(via) > MAX_DEPTH
    if too_deep or findings.handed_on > MAX_HANDED_ON:
        part = run if isinstance(run, int) else run.part
        why = "shells are nested too deep" if too_deep else "more text is handed to shells than is read"
        findings.opaque(why, span[0], span[1], part)
        findings.tokens += tuple(text.split())
        return
    if not findings.tries("", text):
        return
    findings.handed_on += len(text)
    activates = findings.start.activates
    if activates and (findings.shadowed or not AROUND.issuperset(via)):
        activates = {}
    script = reading.read(text, cwds=cwds, home=findings.home, variables={}, activates=activates)
    if findings.start.second_opinion:
        script = _doubted(text, script)
    from gateway.commands.dialects import read_otherwise  # for texts inside of texts alone

    if read_otherwise(text, script.commands, via, not isinstance(run, int)):
        part = run if isinstance(run, int) else run.part
        findings.opaque("another shell than bash may read this text otherwise", span[0], span[1], part)
    outer = findings.span
    if outer is None:
        findings.span = span
    try:
        _run_script(findings, script, via)
    finally:
        findings.span = outer


def _run_script(findings: _Analyst, script: Script, via: tuple[str, ...]) -> None:
    if script.shadowed:
        findings.shadowed |= script.shadowed
    outer_pipes = findings.pipes
    commands, flows, expansions = script.commands, script.flows, script.expansions
    if script.unordered:
        findings.unordered = True
    pipes = None
    if flows or len(commands) > 1 or script.redirects or outer_pipes is not None:
        import gateway.commands.crossing as crossing  # most texts are one command and never need it

        pipes = findings.pipes = crossing.pipes_of(script, findings, findings.shadowed, outer_pipes)
    first = len(findings.items)
    places: list[int] = []
    for command in commands:
        outer = command.via
        place = len(findings.parts)
        places.append(place)
        words = command.words
        resolved: frozenset[int] = NOTHING
        given = None
        if pipes is not None:
            if flows:
                words, resolved = pipes.resolved(command)
                if not words:
                    words, resolved = command.words, NOTHING
            if (command.feeder is not None or command.stdin == "file") and words[0].text not in _FILTERS:
                given = pipes.given(command)
        findings.activating = command.activates
        if command.activates and via:  # of other shells it is not asked what runs beside them
            findings.unordered = True
        if command.calls:
            function_call(findings, command, via)
        else:
            simple(
                findings,
                words,
                command.cwds,
                via + outer if outer else via,
                command.stdin,
                command.stdin_text,
                not via and not outer,
                given,
            )
        if (expansions or resolved) and not via:
            mark_expanded(findings, place, words, expansions, resolved)
    for redirect in script.redirects:
        _redirect(findings, redirect.kind, redirect.word, redirect.cwds)
    if pipes is None and _sends_something(findings.items, first):
        import gateway.commands.crossing as crossing

        pipes = crossing.pipes_of(script, findings, findings.shadowed)
    if pipes is not None:
        places.append(len(findings.parts))
        crossing.cross(findings, pipes, places, first)
    findings.pipes = outer_pipes
    for assignment in script.assignments:
        if (
            assignment.name == "IFS"
            and assignment.part >= 0
            and script.commands[assignment.part].words[0].text == "read"
        ):
            continue  # how `read` divides its line; what it sets is unknown anyway
        if assigned(assignment.name, assignment.exported or assignment.part >= 0):
            findings.env(assignment.name, "set", assignment.start, assignment.end, -1)
            findings.command_in(assignment.name, assignment.value, -1)
        if file := zone_file(assignment.name, assignment.value.text):
            findings.touch("read", Word(file, assignment.start, assignment.end), (), -1)
    for name, start, end in script.reads_env:
        if secret(name):
            findings.env(name, "read", start, end, -1)
    for bomb in script.bombs:
        findings.add(Process(bomb.why, "without end"), bomb.start, bomb.end)
    for unknown in script.unknowns:
        findings.opaque(unknown.why, unknown.start, unknown.end)
    if script.tokens:
        findings.tokens += tuple(script.tokens)
        if script.unknowns:
            _fallback_commands(findings, script.tokens, script.unknowns[0], via)


def _sends_something(items: list[Item], first: int) -> bool:
    for at in range(first, len(items)):
        effect: Any = items[at].effect
        if effect.kind == "connect" and effect.direction == "send":
            return True
    return False


def _fallback_commands(findings: _Analyst, tokens: tuple[str, ...], unknown: Unknown, via: tuple[str, ...]) -> None:
    """What the words of a refused text would do if a command started at each program among them.

    This can only make the verdict stricter: the refused text stands beside it as `Opaque`, and what is found here
    is handed on, so that no allow rule for a command covers it.
    """
    outer = findings.span
    findings.span = outer or (unknown.start, unknown.end)
    outermost = findings.begin_guessing()
    most = max(MAX_FALLBACK_COMMANDS >> len(via), MIN_FALLBACK_COMMANDS)
    tried = 0
    for at, token in enumerate(tokens):
        if tried >= most or (findings.has_guessed_enough and not outermost):
            break
        base = token[token.rfind("/") + 1 :]
        if base and findings.lookup(base) is not None:
            tried += 1
            texts = [text for text in tokens[at : at + MAX_FALLBACK_WORDS] if text]
            if not findings.tries(*texts) and not outermost:
                continue
            texts = [findings.home + text[1:] if text == "~" or text.startswith("~/") else text for text in texts]
            words = tuple([Word(text, unknown.start, unknown.end) for text in texts])
            simple(findings, words, (findings.start.cwd,), (*via, UNPARSED), "", "", False)
    findings.span = outer
    if outermost:
        findings.end_guessing(unknown.start, unknown.end, -1)


def _redirect(findings: _Analyst, kind: str, word: Word, cwds: tuple[str, ...]) -> None:
    if kind == "write" or kind == "read" or kind == "list":
        findings.touch(kind, word, cwds, -1)
    elif kind == "net":
        pieces = word.text.split("/")
        host = pieces[3] if len(pieces) > 3 and pieces[3] else HOLE
        port = int(pieces[4]) if len(pieces) > 4 and pieces[4].isdigit() else 0
        findings.add(Connect(HOLE if HOLE in host else host.lower(), port, "send"), word.start, word.end)


def _command(
    findings: _Analyst,
    words: tuple[Word, ...],
    cwds: tuple[str, ...],
    via: tuple[str, ...],
    stdin: str,
    stdin_text: str,
    run: Invocation,
) -> None:
    """Words that a command hands on as a command of their own."""
    if findings.start.depth + len(via) > MAX_DEPTH:
        findings.opaque("commands are nested too deep", words[0].start, words[-1].end, run.part)
        findings.tokens += tuple([word.text for word in words])
        return
    simple(findings, words, cwds, via, stdin, stdin_text, False, run.given)
