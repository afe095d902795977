"""From shell text to everything it is predicted to do.

`analyse` walks the simple commands of a text, applies each program's description, follows what wrappers,
`xargs`, `find -exec`, `sh -c` and `eval` hand on, and adds what the shell itself does: redirects, variables.
What is not understood stands among the items as `Code` or `Opaque` with its reason.
"""

from __future__ import annotations

from gateway.commands import special
from gateway.commands.apply import apply
from gateway.commands.findings import Findings
from gateway.commands.grammar import Invocation, read
from gateway.commands.places import absolute
from gateway.commands.variables import assigned, secret
from gateway.model.analysis import Analysis
from gateway.model.command import UNPARSED, Part, Word
from gateway.model.effect import HOLE, Code, Connect, Exec, Item, Opaque, Touch
from gateway.model.facts import Wanted
from gateway.model.value import Value
from gateway.shell import walk

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from gateway.shell.script import Script, Unknown

    Description = dict[str, Any]
    Lookup = Callable[[str], Description | None]

MAX_DEPTH = 16
MAX_CRUDE_COMMANDS = 64
MAX_CRUDE_WORDS = 64


class Start(Value):
    """Where a text starts to run. `variables`: what is known of the shell's variables; `depth`: how many shells
    already stand around the text."""

    cwd: str
    home: str
    variables: Mapping[str, str] = {}
    depth: int = 0


class _Analyst(Findings):
    """Findings that know where the text starts."""

    __slots__ = ("shadowed", "start")

    def __init__(self, start: Start, lookup: Lookup) -> None:
        super().__init__(start.home, lookup, _command, _script)
        self.start = start
        self.shadowed: frozenset[str] = frozenset()


def analyse(text: str, start: Start, lookup: Lookup) -> Analysis:
    """Everything that running `text` in bash is predicted to do, before anybody looked at the host."""
    script = walk.read(text, cwds=(start.cwd,) if start.cwd else (), home=start.home, variables=start.variables)
    return analyse_script(script, start, lookup)


def analyse_script(script: Script, start: Start, lookup: Lookup) -> Analysis:
    """The same for a text that is parsed already."""
    findings = _Analyst(start, lookup)
    _run_script(findings, script, ())
    return _analysis(findings)


def analyse_words(words: tuple[str, ...], start: Start, lookup: Lookup) -> Analysis:
    """The same for a command given as its words, which no shell reads (`gateway exec -- CMD …`)."""
    findings = _Analyst(start, lookup)
    found: list[Word] = []
    at = 0
    for text in words:
        found.append(Word(text, at, at + len(text)))
        at += len(text) + 1
    if found:
        _simple(findings, tuple(found), (start.cwd,) if start.cwd else (), (), "", "", True)
    return _analysis(findings)


def _analysis(findings: _Analyst) -> Analysis:
    wanted = Wanted(
        _once(findings.paths),
        _once(findings.globs),
        _once(findings.programs),
        _once(findings.git),
    )
    return Analysis(tuple(findings.parts), tuple(findings.items), findings.tokens, wanted, tuple(findings.pending))


def _once(texts: list[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(texts)) if len(texts) > 1 else tuple(texts)


def _script(
    findings: _Analyst, text: str, cwds: tuple[str, ...], via: tuple[str, ...], span: tuple[int, int], run: Invocation
) -> None:
    """A text that a command hands to a shell. Its places are those of the words that hold it."""
    if findings.start.depth + len(via) > MAX_DEPTH:
        findings.opaque("shells are nested too deep", span[0], span[1], run.part)
        findings.tokens += tuple(text.split())
        return
    script = walk.read(text, cwds=cwds, home=findings.home, variables={})
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
    for command in script.commands:
        outer = command.via
        place = len(findings.parts)
        _simple(
            findings,
            command.words,
            command.cwds,
            via + outer if outer else via,
            command.stdin,
            command.stdin_text,
            not via and not outer,
        )
        if script.expansions and not via:
            _mark_expanded(findings, place, command.words, script.expansions)
    for redirect in script.redirects:
        _redirect(findings, redirect.kind, redirect.word, redirect.cwds)
    for assignment in script.assignments:
        if assigned(assignment.name, assignment.exported or assignment.part >= 0):
            findings.env(assignment.name, "set", assignment.start, assignment.end, -1)
    for name, start, end in script.reads_env:
        if secret(name):
            findings.env(name, "read", start, end, -1)
    for unknown in script.unknowns:
        findings.opaque(unknown.why, unknown.start, unknown.end)
    if script.tokens:
        findings.tokens += tuple(script.tokens)
        if script.unknowns:
            _crude_commands(findings, script.tokens, script.unknowns[0], via)


def _mark_expanded(
    findings: _Analyst, place: int, words: tuple[Word, ...], expansions: tuple[tuple[int, int], ...]
) -> None:
    """Notes which words hold the value of a variable: their text is known, but it is not what is written."""
    expanded = tuple(
        [
            at
            for at, word in enumerate(words)
            if any(word.start <= start and end <= word.end for start, end in expansions)
        ]
    )
    if expanded:
        findings.parts[place] = findings.parts[place].replace(expanded=expanded)


def _crude_commands(findings: _Analyst, tokens: tuple[str, ...], unknown: Unknown, via: tuple[str, ...]) -> None:
    """What the words of a refused text would do if a command started at each program among them.

    This can only make the verdict stricter: the refused text stands beside it as `Opaque`, and what is found here
    is handed on, so that no allow rule for a command covers it.
    """
    outer = findings.span
    findings.span = outer or (unknown.start, unknown.end)
    tried = 0
    for at, token in enumerate(tokens):
        base = token[token.rfind("/") + 1 :]
        if base and tried < MAX_CRUDE_COMMANDS and findings.lookup(base) is not None:
            tried += 1
            texts = [text for text in tokens[at : at + MAX_CRUDE_WORDS] if text]
            texts = [findings.home + text[1:] if text == "~" or text.startswith("~/") else text for text in texts]
            words = tuple([Word(text, unknown.start, unknown.end) for text in texts])
            _simple(findings, words, (findings.start.cwd,), (*via, UNPARSED), "", "", False)
    findings.span = outer


def _redirect(findings: _Analyst, kind: str, word: Word, cwds: tuple[str, ...]) -> None:
    if kind == "write" or kind == "read":
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
    _simple(findings, words, cwds, via, stdin, stdin_text, False)


def _simple(
    findings: _Analyst,
    words: tuple[Word, ...],
    cwds: tuple[str, ...],
    via: tuple[str, ...],
    stdin: str,
    stdin_text: str,
    direct: bool,
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
        options, operands = _crude(argv)
        findings.parts.append(
            Part(argv, start, end, "", (), operands, options, False, literal, direct, False, via, (), (), (), cwds)
        )
        findings.items.append(Item(Opaque("the program's name is not known before the run"), start, end, part))
        return
    base = name
    trusted = True
    if "/" in name:
        base = name.rpartition("/")[2]
        trusted = False
        findings.programs.append(name)
    description = findings.lookup(base) if base else None
    folded = ""
    if description is None and base != base.lower() and (description := findings.lookup(base.lower())) is not None:
        folded = base
        base = base.lower()
    if description is None or (base in findings.shadowed and trusted):
        options, operands = _crude(argv)
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
        return
    program = base if "several" in description else description["name"]
    run = Invocation(program, words, cwds, via, stdin, stdin_text, description)
    run.part = part
    run.first = len(findings.items)
    read(run)
    if trusted and "builtin" not in description:
        findings.programs.append(base)
    findings.parts.append(None)  # type: ignore[arg-type]  # its place in the order; replaced below
    findings.items.append(Item(Exec(program, argv), start, end, part))
    apply(findings, run)
    spec = run.spec
    if "special" in spec:
        for hook in spec["special"]:
            special.HOOKS[hook](findings, run)
    if "skips" in spec:
        _leave_out(findings, run, *spec["skips"])
    doubts = run.doubts
    if folded:
        doubts.append(f"{folded} is {base} only where file names ignore case")
    if doubts:
        for why in dict.fromkeys(doubts):
            findings.items.append(Item(Code(program, argv, why), start, end, part))
    for word in run.option_globs:
        for cwd in cwds:
            findings.ask("glob", part, absolute(word.pattern or "", cwd), "", word.start, word.end)
    operands = tuple([word.text for word in run.operands])
    if run.after:
        operands += tuple([word.text for word in run.after])
    findings.parts[part] = Part(
        argv,
        start,
        end,
        program,
        tuple(run.subcommands),
        operands,
        frozenset(run.options),
        not doubts,
        literal,
        direct,
        trusted,
        via,
        tuple(spec.get("classes", ())),
        tuple(run.inert),
        (),
        cwds,
    )


def _leave_out(findings: _Analyst, run: Invocation, what: str, unless: list[str]) -> None:
    """The program leaves something out of the trees it reads, unless an option says otherwise."""
    if run.has(unless) or run.doubts:
        return
    for at in range(run.first, len(findings.items)):
        item = findings.items[at]
        effect = item.effect
        if isinstance(effect, Touch) and effect.tree and effect.kind in ("list", "read"):
            findings.items[at] = item.replace(effect=effect.replace(skips=what))


def _crude(argv: tuple[str, ...]) -> tuple[frozenset[str], tuple[str, ...]]:
    """Options and operands of a program that nobody described: every spelling that could be meant."""
    options: set[str] = set()
    operands: list[str] = []
    for at, text in enumerate(argv):
        if not at:
            continue
        if text[:1] == "-" and len(text) > 1:
            options.add(text)
            if text[:2] == "--":
                options.add(text.partition("=")[0])
            else:
                options.update(["-" + letter for letter in text[1:]])
        else:
            operands.append(text)
    return frozenset(options), tuple(operands)
