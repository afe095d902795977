"""From shell text to everything it is predicted to do.

`analyse` walks the simple commands of a text, applies each program's description, follows what wrappers,
`xargs`, `find -exec`, `sh -c` and `eval` hand on, and adds what the shell itself does: redirects, variables.
What is not understood stands among the items as `Code` or `Opaque` with its reason.
"""

from __future__ import annotations

from gateway.commands import special
from gateway.commands.apply import apply, reach
from gateway.commands.destruction import note_deletions
from gateway.commands.findings import Findings
from gateway.commands.grammar import read
from gateway.commands.invocation import Invocation
from gateway.commands.parts import crude_words, function_call, leave_out, mark_expanded, parted
from gateway.commands.places import absolute
from gateway.commands.steering_files import STEERED, ask_of_settings
from gateway.commands.variables import GUARDED, assigned, secret, zone_file
from gateway.core.value import Value
from gateway.model.analysis import Analysis
from gateway.model.command import UNPARSED, Part, Word
from gateway.model.effect import HOLE, Code, Connect, Exec, Item, Opaque, Process, System
from gateway.model.facts import Wanted
from gateway.shell import reading

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from gateway.commands.description import Description
    from gateway.commands.invocation import Printed
    from gateway.model.analysis import Pending
    from gateway.shell.script import Script, Unknown

    Lookup = Callable[[str], Description | None]

MAX_DEPTH = 16
MAX_HANDED_ON = 64_000  # characters of all texts that commands hand on, once in each shell that reads them
MAX_CRUDE_COMMANDS = 64  # half as many in a text that a command of this one hands on, and so forth
MIN_CRUDE_COMMANDS = 4
MAX_CRUDE_WORDS = 64
MAX_HELD = 32  # commands that variables hold
NOTHING: frozenset[int] = frozenset()
# What these read from a pipe changes nothing of what they do.
_FILTERS = frozenset(
    ("head", "tail", "grep", "egrep", "fgrep", "rg", "sort", "uniq", "wc", "cat", "less", "more", "sed", "awk", "cut",
     "tr", "jq", "tee", "nl", "column", "tac", "rev", "fold", "paste", "base64", "gzip", "md5sum", "sha256sum")
)  # fmt: skip


class Start(Value):
    """Where a text starts to run. `variables`: what is known of the shell's variables; `depth`: how many shells
    already stand around the text; `second_opinion`: another parser has to find the same commands."""

    cwd: str
    home: str
    variables: Mapping[str, str] = {}
    depth: int = 0
    second_opinion: bool = False


class _Analyst(Findings):
    """Findings that know where the text starts."""

    __slots__ = ("shadowed", "start")

    def __init__(self, start: Start, lookup: Lookup) -> None:
        super().__init__(start.home, lookup, _command, _script)
        self.start = start
        self.shadowed: frozenset[str] = frozenset()


def analyse(text: str, start: Start, lookup: Lookup) -> Analysis:
    """Everything that running `text` in bash is predicted to do, before anybody looked at the host."""
    script = reading.read(text, cwds=(start.cwd,) if start.cwd else (), home=start.home, variables=start.variables)
    if start.second_opinion:
        script = _doubted(text, script)
    return analyse_script(script, start, lookup)


def _doubted(text: str, script: Script) -> Script:
    from gateway.shell.secondopinion import with_second_opinion  # only policies that ask for it pay for it

    return with_second_opinion(text, script)


def analyse_script(script: Script, start: Start, lookup: Lookup) -> Analysis:
    """The same for a text that is parsed already."""
    findings = _Analyst(start, lookup)
    _run_script(findings, script, ())
    return _analysis(findings)


def _analysis(findings: _Analyst) -> Analysis:
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
    wanted = Wanted.make((
        _once(paths) if paths else (), _once(globs) if globs else (), tuple(programs) if len(programs) < 2
        else _once(programs), _once(git) if git else (), (), names, settings,
        nests,
    ))  # fmt: skip
    return Analysis.make((
        tuple(findings.parts), tuple(findings.items), findings.tokens, wanted, pending, tuple(findings.secrets),
    ))  # fmt: skip


def _settings(pending: tuple[Pending, ...]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    asked = [each for each in pending if each.kind == "settings"]
    if not asked:
        return ()
    from gateway.steering.programs import files_of  # lazy: few calls start a program that obeys files of a project

    return tuple(dict.fromkeys([(each.target, files_of(each.extra)[1]) for each in asked]))


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
    script = reading.read(text, cwds=cwds, home=findings.home, variables={})
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
        if command.calls:
            function_call(findings, command, via)
        else:
            _simple(
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
            _crude_commands(findings, script.tokens, script.unknowns[0], via)


def _sends_something(items: list[Item], first: int) -> bool:
    for at in range(first, len(items)):
        effect = items[at].effect
        if isinstance(effect, Connect) and effect.direction == "send":
            return True
    return False


def _crude_commands(findings: _Analyst, tokens: tuple[str, ...], unknown: Unknown, via: tuple[str, ...]) -> None:
    """What the words of a refused text would do if a command started at each program among them.

    This can only make the verdict stricter: the refused text stands beside it as `Opaque`, and what is found here
    is handed on, so that no allow rule for a command covers it.
    """
    outer = findings.span
    findings.span = outer or (unknown.start, unknown.end)
    outermost = findings.begin_guessing()
    most = max(MAX_CRUDE_COMMANDS >> len(via), MIN_CRUDE_COMMANDS)
    tried = 0
    for at, token in enumerate(tokens):
        if tried >= most or (findings.has_guessed_enough and not outermost):
            break
        base = token[token.rfind("/") + 1 :]
        if base and findings.lookup(base) is not None:
            tried += 1
            texts = [text for text in tokens[at : at + MAX_CRUDE_WORDS] if text]
            if not findings.tries(*texts) and not outermost:
                continue
            texts = [findings.home + text[1:] if text == "~" or text.startswith("~/") else text for text in texts]
            words = tuple([Word(text, unknown.start, unknown.end) for text in texts])
            _simple(findings, words, (findings.start.cwd,), (*via, UNPARSED), "", "", False)
    findings.span = outer
    if outermost:
        findings.end_guessing(unknown.start, unknown.end, -1)


# Programs that are told in their words, or by their input, what to do in a language of their own.
_LANGUAGES = frozenset(
    ("perl", "ruby", "php", "node", "lua", "awk", "python", "deno", "bun", "tclsh", "expect", "osascript", "emacs",
     "elixir", "irb", "erl", "zsh", "vim", "ed", "ex", "nvim", "vi", "gdb", "lldb", "java", "r")
)  # fmt: skip
_RUNS_CODE = frozenset(("code", "package"))


def _aliased(
    findings: _Analyst, words: tuple[Word, ...], cwds: tuple[str, ...], via: tuple[str, ...], part: int
) -> None:
    """What an alias of the same text stands for. Whether the shell heeds it nobody knows."""
    from shlex import quote  # lazy: hardly any text makes an alias

    name = words[0].text
    value = findings.aliases.pop(name)
    rest = [
        "${unknown}" if HOLE in word.text else quote(word.text) if word.literal else word.text for word in words[1:]
    ]
    _script(findings, " ".join([value, *rest]), cwds, (*via, "alias"), (words[0].start, words[-1].end), part)
    findings.aliases[name] = value


def _is_code(findings: Findings, run: Invocation) -> bool:
    return bool(run.doubts) or any(
        item.part == run.part and item.effect.kind in ("code", "opaque") for item in findings.items[run.first :]
    )


def _folders(outer: tuple[str, ...], inner: tuple[str, ...]) -> tuple[str, ...]:
    """Where a command runs that an option sends elsewhere (`make -C`): rules may mean either folder."""
    return tuple(dict.fromkeys(outer + inner)) if inner else ()


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
    _simple(findings, words, cwds, via, stdin, stdin_text, False, run.given)


def _simple(
    findings: _Analyst,
    words: tuple[Word, ...],
    cwds: tuple[str, ...],
    via: tuple[str, ...],
    stdin: str,
    stdin_text: str,
    direct: bool,
    given: Printed | None = None,
) -> None:
    """One simple command: its part and its items."""
    first = words[0]
    name: str = first.text
    start, end = first.start, words[-1].end
    span = findings.span
    if span is not None:
        start, end = span
    argv = tuple([word.text for word in words])
    literal = True
    for word in words:
        if word.splits or word.pattern is not None or HOLE in word.text:
            literal = False
            break
    part = len(findings.parts)
    if not name or first.splits or first.pattern is not None or HOLE in name:
        options, operands = crude_words(argv)
        findings.parts.append(
            Part(argv, start, end, "", (), operands, options, False, literal, direct, False, via, (), (), (), cwds)
        )
        findings.items.append(Item(Opaque("the program's name is not known before the run"), start, end, part))
        note_deletions(findings, words, cwds, part)
        return
    base = name
    trusted = True
    if "/" in name:
        base = name.rpartition("/")[2]
        trusted = False
        findings.programs.append(name)
    description = findings.lookup(base) if base else None
    folded = ""
    also: Sequence[Description] = ()
    if description is None or "also" in description:
        description, also = parted(description)
        if description is None and base != base.lower():
            description, more = parted(findings.lookup(base.lower()))
            also = (*also, *more)
            if description is not None:
                folded = base
                base = base.lower()
    if description is None or (base in findings.shadowed and trusted):
        options, operands = crude_words(argv)
        redefined = base in findings.shadowed
        why = f"{base} is redefined in this text" if redefined else f"{name} is not described"
        program = description["name"] if description is not None and "several" not in description else base
        findings.parts.append(
            Part(
                argv,
                start,
                end,
                program,
                (),
                operands,
                options,
                False,
                literal,
                direct,
                trusted and not redefined,
                via,
                (),
                (),
                (),
                cwds,
            )
        )
        if trusted:
            findings.programs.append(base)
        findings.items.append(Item(Code(program, argv, why), start, end, part))
        note_deletions(findings, words, cwds, part)
        if name in findings.aliases:
            _aliased(findings, words, cwds, via, part)
        if "/" in name and findings.pipes is not None:
            from gateway.commands.crossing import run_written

            run_written(findings, first, cwds, via, part)
        if also:
            from gateway.commands.additions import join  # only where a layer adds to a program

            join(findings, also, program, words, cwds, via, stdin, stdin_text, part)
        return
    program = base if "several" in description else description["name"]
    if given is not None and given.text is not None and stdin == "pipe":
        stdin, stdin_text = "text", given.text
    run = Invocation(program, words, cwds, via, stdin, stdin_text, description)
    run.given = given
    run.argv = argv
    run.part = part
    run.first = len(findings.items)
    read(run)
    if trusted and "builtin" not in description:
        findings.programs.append(base)
    findings.parts.append(None)  # type: ignore[arg-type]  # its place in the order; replaced below
    findings.items.append(Item.make((Exec.make((program, argv)), start, end, part)))
    apply(findings, run)
    spec = run.spec
    if "special" in spec:
        for hook in spec["special"]:
            special.HOOKS[hook](findings, run)
    if "skips" in spec:
        leave_out(findings, run, *spec["skips"])
    if program in STEERED:
        ask_of_settings(findings, run, program, start, end)
    if program in _LANGUAGES and (len(words) > 1 or stdin_text) and _is_code(findings, run):
        from gateway.commands.code_strings import note_gravest  # lazy: few programs are not understood

        note_gravest(findings, run)
    if "classes" in spec and not _RUNS_CODE.isdisjoint(spec["classes"]):
        reach(findings, run)
    doubts = run.doubts
    if folded:
        doubts.append(f"{folded} is {base} only where file names ignore case")
    if doubts:
        for why in dict.fromkeys(doubts):
            findings.items.append(Item(Code(program, argv, why), start, end, part))
    for word in run.option_globs:
        if word.names is not None and word.pattern is None:
            for question, target in word.names.asks:
                if question == "dash":
                    findings.ask(question, part, target, "", word.start, word.end)
            continue
        for cwd in cwds:
            findings.ask("glob", part, absolute(word.pattern or "", cwd), "", word.start, word.end)
    operands = tuple([word.text for word in run.operands])
    if run.after:
        operands += tuple([word.text for word in run.after])
    findings.parts[part] = Part.make(
        (argv, start, end, program, tuple(run.subcommands), operands, frozenset(run.options), not doubts, literal,
         direct, trusted, via, tuple(spec.get("classes", ())), tuple(run.inert), (),
         cwds if run.cwds == cwds else _folders(cwds, run.cwds))
    )  # fmt: skip
    if also:
        from gateway.commands.additions import join

        join(findings, also, program, words, cwds, via, stdin, stdin_text, part)
