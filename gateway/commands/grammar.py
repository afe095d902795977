"""Reads a command's words as the program itself would, by its compiled description.

A description is a plain dict (see `gateway.spec.commands`). `read` fills an `Invocation`: which subcommand,
which options under all their spellings, which values and operands. Whatever the description does not account
for is written down in `doubts`, in words for people; the caller makes `Code` of it. Nothing is ever skipped.
"""

from __future__ import annotations

from gateway.commands.options import dashless, keyed, may_be_option, shown, take, unlisted, until
from gateway.model.effect import HOLE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gateway.commands.description import Spec
    from gateway.commands.invocation import Invocation
    from gateway.model.command import Word

# What a program does that only prints its version or help.
_CODE = ("code", "opaque")
_NOTHING: Spec = {
    "name": "", "dialect": "gnu", "options": {}, "table": [], "lead": [], "tail": [], "rest": None, "operands": False,
    "effects": [],
}  # fmt: skip


MAX_AGAIN = 16


def read(run: Invocation) -> None:
    """Take the words apart. Afterwards every word but the name is in exactly one of the invocation's fields."""
    _read(run, run.words)
    if run.again is not None:
        inert = run.inert  # places among the words as they stand there
        for _ in range(MAX_AGAIN):
            words, run.again = (run.words[0], *run.again), None
            run.inert = []
            _read(run, words)
            if run.again is None:
                break
        else:
            run.doubts.append("a text in a text in a text is split")
            run.operands.extend(run.again)
        run.inert = inert


def _read(run: Invocation, words: tuple[Word, ...]) -> None:
    spec = run.root
    total = len(words)
    operands = run.operands
    at = 1
    last: str = words[-1].text
    may_print = last in spec.get("helps", ()) or last in spec.get("alone", ())
    if may_print and words is run.words and total > 1 and _only_prints(spec, words):
        run.options.add(last)
        run.spec = _NOTHING
        return
    options = spec["options"]
    dialect = spec["dialect"]
    children = spec.get("subcommands")
    if dialect == "none":
        operands.extend(words[1:])
        return
    if "dashless" in spec and total > 1 and words[1].text[:1] not in ("-", "", HOLE):
        at = dashless(run, spec, words)
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
                    at = until(run, option, words, at)
                elif arity := option.get("arity", 0):
                    at = take(run, option, words, at, arity, None)
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
                at = unlisted(run, spec, words, at, text)
                continue
        if dialect == "keys":
            at = keyed(run, spec, words, at)
            continue
        if word.splits or word.pattern is not None or text[:1] == HOLE:
            may_be_option(run, spec, word)
        if children is not None:
            child = children.get(text)
            named: str | None = None
            if child is None and "prefixes" in spec and HOLE not in text:
                named = text
                child = next((place for prefix, place in spec["prefixes"] if text.startswith(prefix)), None)
            if child is not None:
                if (canonical := spec.get("canonical")) is not None:
                    named = canonical.get(text, named)
                spec = spec["nested"][child]
                run.subcommands.append(named or spec["name"])
                run.spec = spec
                options, dialect, children = spec["options"], spec["dialect"], spec.get("subcommands")
                while children and (bare := spec.get("bare")) and (at == total or words[at].text[:1] == "-"):
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
                run.doubts.append(f"subcommand {shown(text)} is not described")
            children = None
        operands.append(word)
        if dialect == "posix":
            operands.extend(words[at:])
            break
    run.spec = _helping(run, spec, last) if last[:1] == "-" and words is run.words else spec


def _only_prints(spec: Spec, words: tuple[Word, ...]) -> bool:
    """Whether the last word, of which the description says so, makes all of it print something: `alone` as the only
    argument, `helps` behind nothing but subcommands that have a name there."""
    last: str = words[-1].text
    if last in spec.get("alone", ()) and len(words) == 2:
        return True
    if last not in spec.get("helps", ()):
        return False
    for word in words[1:-1]:
        child = spec.get("subcommands", {}).get(word.text)
        if child is None or word.text == "*":
            return False
        spec = spec["nested"][child]
    return True


def _helping(run: Invocation, spec: Spec, last: str) -> Spec:
    """What is done where the last word may ask for help, or for the version.

    Where nothing but a listed `--help` stands behind the program and its subcommands, or `--version` behind the
    program, that is all. Where the description says that it runs code, settings and plugins may be loaded before help
    is shown; where it does not list the word, nobody knows what it means: then that is what is said, and nothing of the
    work that help stands in the place of. A function of `special` has words of its own."""
    if run.operands or run.values or run.after is not None or "special" in spec:
        return spec
    index = spec["options"].get(last)
    code = [effect for effect in spec["effects"] if effect["kind"] in _CODE]
    if index is None:
        shows = last == "--help" or (last == "--version" and not run.subcommands)
        if not shows or not run.options <= {last} or len(run.doubts) > 1 or not (run.doubts or code):
            return spec
    else:
        option = spec["table"][index]
        names = option["names"]
        shows = "--help" in names or ("--version" in names and not run.subcommands)
        if not shows or run.options != set(names) or run.doubts or len(option) > 1:
            return spec
    return {**_NOTHING, "effects": code} if code else _NOTHING


def _descend(run: Invocation, spec: Spec, name: str) -> Spec:
    child: Spec = spec["nested"][spec["subcommands"][name]]
    if name != "*":
        run.subcommands.append(spec.get("canonical", {}).get(name, child["name"]))
    run.spec = child
    return child
