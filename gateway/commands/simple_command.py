"""One simple command: its part of the analysis, and all that its program's description says it does."""

from __future__ import annotations

from gateway.commands import special
from gateway.commands.apply import apply
from gateway.commands.grammar import read
from gateway.commands.invocation import Invocation
from gateway.commands.parts import leave_out, parted, undescribed
from gateway.commands.places import absolute
from gateway.commands.steering_files import STEERED, ask_of_settings
from gateway.model.command import Part
from gateway.model.effect import HOLE, Code, Exec, Item, Opaque

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from gateway.commands.description import Description
    from gateway.commands.findings import Findings
    from gateway.commands.invocation import Printed
    from gateway.model.command import Word

# Programs that are told in their words, or by their input, what to do in a language of their own.
_LANGUAGES = frozenset(
    ("perl", "ruby", "php", "node", "lua", "awk", "python", "deno", "bun", "tclsh", "expect", "osascript", "emacs",
     "elixir", "irb", "erl", "zsh", "vim", "ed", "ex", "nvim", "vi", "gdb", "lldb", "java", "r")
)  # fmt: skip
_RUNS_CODE = frozenset(("code", "package"))


def simple(
    findings: Findings,
    words: tuple[Word, ...],
    cwds: tuple[str, ...],
    via: tuple[str, ...],
    stdin: str,
    stdin_text: str,
    direct: bool,
    given: Printed | None = None,
) -> None:
    """Adds the part and the items of one simple command, and those of all commands that it starts.

    `words`: what the shell makes of it, the program first; `cwds`: the folders it may run in, () when unknown; `via`:
    what it is handed on by, outermost first; `stdin`: where its input comes from, with the text if it is known;
    `direct`: whether it is written as such in the text; `given`: what is known of what is piped in.
    """
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
        from gateway.commands.destruction import note_deletions  # lazy: most programs are known and described

        findings.parts.append(undescribed(argv, start, end, "", literal, direct, via, cwds))
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
        program = description["name"] if description is not None and "several" not in description else base
        redefined = base in findings.shadowed
        known = trusted and not redefined
        findings.parts.append(undescribed(argv, start, end, program, literal, direct, via, cwds, trusted=known))
        if trusted:
            findings.programs.append(base)
        why = f"{base} is redefined in this text" if redefined else f"{name} is not described"
        findings.items.append(Item(Code(program, argv, why), start, end, part))
        _unknown(findings, words, cwds, via, part)
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
    _described(findings, run, start, end)
    doubts = run.doubts
    if folded:
        doubts.append(f"{folded} is {base} only where file names ignore case")
    if doubts:
        for why in dict.fromkeys(doubts):
            findings.items.append(Item(Code(program, argv, why), start, end, part))
    if run.option_globs:
        _globs(findings, run, cwds)
    operands = tuple([word.text for word in run.operands])
    if run.after:
        operands += tuple([word.text for word in run.after])
    findings.parts[part] = Part.make(
        (argv, start, end, program, tuple(run.subcommands), operands, frozenset(run.options), not doubts, literal,
         direct, trusted, via, tuple(run.spec.get("classes", ())), tuple(run.inert), (),
         cwds if run.cwds == cwds else _folders(cwds, run.cwds))
    )  # fmt: skip
    if also:
        from gateway.commands.additions import join

        join(findings, also, program, words, cwds, via, stdin, stdin_text, part)


def _described(findings: Findings, run: Invocation, start: int, end: int) -> None:
    """All that the description tells, with what its program needs besides."""
    apply(findings, run)
    spec, program = run.spec, run.name
    if "special" in spec:
        for hook in spec["special"]:
            special.HOOKS[hook](findings, run)
    if "skips" in spec:
        leave_out(findings, run, *spec["skips"])
    if program in STEERED:
        ask_of_settings(findings, run, program, start, end)
    if program in _LANGUAGES and (len(run.words) > 1 or run.stdin_text) and _is_code(findings, run):
        from gateway.commands.code_strings import note_gravest  # lazy: few programs are not understood

        note_gravest(findings, run)
    if "classes" in spec and not _RUNS_CODE.isdisjoint(spec["classes"]):
        import gateway.commands.reaching as reaching  # lazy: most programs run no code

        reaching.reach(findings, run)


def _unknown(
    findings: Findings, words: tuple[Word, ...], cwds: tuple[str, ...], via: tuple[str, ...], part: int
) -> None:
    """What is known of a command all the same of whose program nothing is known."""
    from gateway.commands.destruction import note_deletions

    note_deletions(findings, words, cwds, part)
    name = words[0].text
    if name in findings.aliases:
        _aliased(findings, words, cwds, via, part)
    if "/" in name and findings.pipes is not None:
        from gateway.commands.crossing import run_written

        run_written(findings, words[0], cwds, via, part)


def _aliased(
    findings: Findings, words: tuple[Word, ...], cwds: tuple[str, ...], via: tuple[str, ...], part: int
) -> None:
    """What an alias of the same text stands for. Whether the shell heeds it nobody knows."""
    from shlex import quote  # lazy: hardly any text makes an alias

    name = words[0].text
    value = findings.aliases.pop(name)
    rest = [
        "${unknown}" if HOLE in word.text else quote(word.text) if word.literal else word.text for word in words[1:]
    ]
    text = " ".join([value, *rest])
    findings.script(findings, text, cwds, (*via, "alias"), (words[0].start, words[-1].end), part)
    findings.aliases[name] = value


def _globs(findings: Findings, run: Invocation, cwds: tuple[str, ...]) -> None:
    """Asks of each glob that could become an option whether it does."""
    for word in run.option_globs:
        if word.names is not None and word.pattern is None:
            for question, target in word.names.asks:
                if question == "dash":
                    findings.ask(question, run.part, target, "", word.start, word.end)
            continue
        for cwd in cwds:
            findings.ask("glob", run.part, absolute(word.pattern or "", cwd), "", word.start, word.end)


def _is_code(findings: Findings, run: Invocation) -> bool:
    return bool(run.doubts) or any(
        item.part == run.part and item.effect.kind in ("code", "opaque") for item in findings.items[run.first :]
    )


def _folders(outer: tuple[str, ...], inner: tuple[str, ...]) -> tuple[str, ...]:
    """Where a command runs that an option sends elsewhere (`make -C`): rules may mean either folder."""
    return tuple(dict.fromkeys(outer + inner)) if inner else ()
