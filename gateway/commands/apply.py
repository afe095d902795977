"""What an invocation does: options' values, operands and fixed effects, as its description says."""

from __future__ import annotations

from gateway.commands.handing import hand_on, shell_text
from gateway.commands.places import SENDING, absolute, escaped, host_of, names_one, remote
from gateway.model.command import Word
from gateway.model.effect import HOLE, Credential, Process, System

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gateway.commands.description import Conditional, Effect, Operand, Option, Spec, Taken
    from gateway.commands.findings import Findings
    from gateway.commands.invocation import Invocation

# Kinds of words that are login material: behind what.
SECRETS = {"secret": "", "user:secret": ":", "user%secret": "%", "pass:secret": "pass:", "name=secret": "="}
PATH_KINDS = frozenset(("list", "read", "write", "delete"))


def apply(findings: Findings, run: Invocation) -> None:
    """Adds the items of everything the description tells; doubts become `Code` in the caller."""
    spec = run.spec
    if run.values:
        late = [words[0] for option, words in run.values if option.get("cwd") == "operands"]
        folders = [words[0] for option, words in run.values if option.get("cwd") is True]
        outer = run.cwds
        for word in folders:
            _change_folder(run, word)
        if len(folders) > 1 and run.cwds:
            # Some programs go from one to the next, others take the last alone.
            composed, run.cwds = run.cwds, outer
            _change_folder(run, folders[-1])
            run.cwds = tuple(dict.fromkeys((*composed, *run.cwds)))
        for option, words in run.values:
            _option(findings, run, option, words)
        for word in late:
            _change_folder(run, word)
    if run.operands or spec["operands"]:
        _operands(findings, run, spec)
    if run.after is not None:
        slot = spec["after"]
        if slot["kind"] == "command":
            if run.after:
                hand_on(findings, run, tuple(run.after), slot)
        else:
            for word in run.after:
                _slot(findings, run, slot, word)
    for effect in spec["effects"]:
        if _present(run, effect):
            _fixed(findings, run, effect)


def _change_folder(run: Invocation, word: Word) -> None:
    """An option such as `git -C`: what follows happens in that folder."""
    if HOLE in word.text or not word.literal or not word.text:
        run.cwds = () if word.text else run.cwds
    else:
        run.cwds = tuple([absolute(word.text, cwd) for cwd in run.cwds])
    if any(HOLE in cwd for cwd in run.cwds):
        run.cwds = ()


def _option(findings: Findings, run: Invocation, option: Option, words: tuple[Word, ...]) -> None:
    if "until" in option:
        hand_on(findings, run, words, option)
        return
    if "when" in option and not run.has(option["when"]):
        return
    kinds = option.get("kinds", ())
    for at, word in enumerate(words):
        kind = kinds[at] if at < len(kinds) else "text"
        if kind != "text" or len(kinds) == 1:
            _value(findings, run, kind, option, word)
    if not words:
        for effect in option["does"]:
            if _present(run, effect):
                _fixed(findings, run, effect)


def _operands(findings: Findings, run: Invocation, spec: Spec) -> None:
    """The operands by their places: assignments, those at the start, those at the end, and all between them."""
    operands = run.operands
    lead: list[Operand] = spec["lead"]
    tail: list[Operand] = spec["tail"]
    rest: Operand | None = spec["rest"]
    if "conditional" in spec:
        lead = [slot for slot in lead if _present(run, slot)]
        tail = [slot for slot in tail if _present(run, slot)]
        if rest is not None and not _present(run, rest):
            rest = None
    start = 0
    total = len(operands)
    if "assign" in spec:
        ignored = spec.get("ignored", ())
        while start < total and (operands[start].text in ignored or _assignment(findings, run, operands[start])):
            start += 1
    for slot in lead:
        if start >= total:
            if "default" in slot:
                _slot(findings, run, slot, _default(run, slot))
            break
        word = operands[start]
        if slot["kind"] in ("command", "shell"):
            rest = slot
            break
        if (word.splits or word.pattern is not None) and (rest is not None or tail or slot is not lead[-1]):
            _several(run, spec, word)
        _slot(findings, run, slot, word)
        if word.splits and word.text == HOLE and "default" in slot:
            _slot(findings, run, slot, _default(run, slot))
        start += 1
    end = total
    if tail and total - start >= len(tail) + (1 if rest is not None and "optional" not in rest else 0):
        end = total - len(tail)
        for slot, word in zip(tail, operands[end:], strict=True):
            if word.splits:
                _several(run, spec, word)
            if "into" in slot:
                _into(findings, run, slot, word, operands[start:end])
            else:
                _slot(findings, run, slot, word)
    between = operands[start:end] if start or end < total else operands
    if rest is not None:
        _rest(findings, run, rest, between)
    # A subcommand that is not described has been doubted already.
    elif between and "harmless" not in spec and (spec["operands"] or "subcommands" not in spec):
        run.doubts.append(f"operand {between[0].text.replace(HOLE, '?')} is not described")


def _rest(findings: Findings, run: Invocation, slot: Operand, words: list[Word]) -> None:
    """The operands of the one place that takes any number of them."""
    kind = slot["kind"]
    if kind == "command":
        if words:
            hand_on(findings, run, tuple(words), slot)
        elif "default" in slot:
            _slot(findings, run, {**slot, "kind": "text"}, _default(run, slot))
        return
    if kind == "shell":
        if words:
            shell_text(findings, run, words, slot.get("via") or run.name)
        return
    if not words or ("default" in slot and words[0].splits and _may_vanish(words)):
        if "default" in slot and not ("default_when" in slot and not run.has(slot["default_when"])):
            _slot(findings, run, slot, _default(run, slot))
        if not words:
            return
    if kind == "path":
        _paths(findings, run, slot, words)
    elif kind == "text" and not slot["does"]:
        for word in words:
            if word.pattern is not None:
                _listed(findings, run, word)
    else:
        for word in words:
            _slot(findings, run, slot, word)


def _paths(findings: Findings, run: Invocation, slot: Operand, words: list[Word]) -> None:
    """Any number of paths: the commonest operands, without the detour through `_value`."""
    tree = slot.get("tree", False)
    if isinstance(tree, list):
        tree = run.has(tree)
    ignored = run.spec.get("ignored", ())
    for word in words:
        if word.text in ignored:
            continue
        for effect in _given(slot, word):
            if not _present(run, effect):
                continue
            if effect["kind"] in PATH_KINDS and "target" not in effect:
                findings.touch(effect["kind"], word, run.cwds, run.part, tree)
            else:
                _effect(findings, run, effect, word)


def _several(run: Invocation, spec: Spec, word: Word) -> None:
    if "harmless" not in spec and (word.splits or word.pattern is None or not names_one(word.pattern)):
        run.doubts.append(f"{word.text.replace(HOLE, '?')} may become several words")


def _may_vanish(words: list[Word]) -> bool:
    """Whether nothing at all may stand there: an unquoted value that is empty, a search that xargs finds nothing of."""
    return all(word.splits and word.text == HOLE for word in words)


def _present(run: Invocation, slot: Conditional) -> bool:
    """Whether the conditions of a slot or effect hold."""
    return not (("when" in slot and not run.has(slot["when"])) or ("unless" in slot and run.has(slot["unless"])))


def _given(slot: Taken, word: Word) -> list[Effect]:
    """The effects of a path: `-` is no file, but what is done with its content is done with what is piped in."""
    does = slot["does"]
    if word.text == "-" and "dash" not in slot:
        return [effect for effect in does if effect["kind"] not in PATH_KINDS]
    return does


def _default(run: Invocation, slot: Taken) -> Word:
    return Word(slot["default"], run.words[0].start, run.words[-1].end)


def _slot(findings: Findings, run: Invocation, slot: Operand, word: Word) -> None:
    _value(findings, run, slot["kind"], slot, word)


def _value(findings: Findings, run: Invocation, kind: str, slot: Taken, word: Word) -> None:
    """The effects of one value or operand."""
    does = slot["does"]
    if kind == "path":
        tree = slot.get("tree", False)
        if isinstance(tree, list):
            tree = run.has(tree)
        is_named = word.start > run.words[0].start  # a default stands for the whole command
        for effect in _given(slot, word):
            if not _present(run, effect):
                continue
            if effect["kind"] in PATH_KINDS and not effect.get("target") and (is_named or "there" not in effect):
                findings.touch(effect["kind"], word, run.cwds, run.part, tree or effect.get("tree", False))
            else:
                _effect(findings, run, effect, word)
    elif kind == "text" or kind in SECRETS:
        if kind in SECRETS:
            findings.secret(word, SECRETS[kind])
        if word.pattern is not None:
            _listed(findings, run, word)
        for effect in does:
            if not _present(run, effect):
                continue
            _effect(findings, run, effect, word)
    elif kind in ("url", "host"):
        _contact(findings, run, slot, word, host_of(word.text, slot.get("scheme", "")))
    elif kind == "remote":
        place = remote(word.text)
        for effect in does:
            if not _present(run, effect):
                continue
            if effect["kind"] not in PATH_KINDS:
                _effect(findings, run, effect, word)
            elif place is None:
                findings.touch(effect["kind"], word, run.cwds, run.part, bool(slot.get("tree", False)))
        if place is not None and place[0] == "helper":
            findings.code(run, f"{word.text.replace(HOLE, '?')} runs a helper program")
        elif place is not None:
            _contact(findings, run, slot, word, place)
    elif kind == "@path":
        # `curl -d @file`: a value that names a file only behind a sign.
        if word.text[:1] == "@" and (word.text != "@-" or "dash" in slot):
            findings.touch("read", Word(word.text[1:], word.start, word.end), run.cwds, run.part)
        elif word.text[:1] == HOLE:
            findings.touch("read", word, run.cwds, run.part)
        for effect in does:
            if _present(run, effect):
                _effect(findings, run, effect, word)
    elif kind == "file-url":
        # `aws … --filters file://x`: a text, or the name of a file that holds it.
        head, mark, rest = word.text.partition("://")
        if mark and head in ("file", "fileb"):
            findings.touch("read", Word(rest, word.start, word.end), run.cwds, run.part)
        elif word.text[:1] == HOLE:
            findings.touch("read", word, run.cwds, run.part)
    elif kind == "assignment":
        _assignment(findings, run, word)
    elif kind == "revision":
        from gateway.commands.special.pathspecs import revision  # lazy: git's alone

        revision(findings, run, word, does)
    elif kind == "shell":
        shell_text(findings, run, [word], slot.get("via") or run.name)
    elif kind == "command":
        hand_on(findings, run, (word,), slot)


def _contact(findings: Findings, run: Invocation, slot: Taken, word: Word, place: tuple[str, str, int]) -> None:
    scheme, host, port = place
    if scheme == "file":
        path = "/" + word.text.split("://", 1)[1].lstrip("/") if HOLE not in word.text else HOLE
        findings.touch("read", Word(path, word.start, word.end), run.cwds, run.part)
        return
    direction = slot.get("direction") or ("send" if "send" in run.flags or scheme in SENDING else "fetch")
    findings.connect(host, port or slot.get("port", 0), direction, word, run.part)
    if scheme == "ssh":
        folder = findings.home + "/.ssh" if findings.home else HOLE
        findings.add(Credential(run.name, folder), word.start, word.end, run.part)


def _listed(findings: Findings, run: Invocation, word: Word) -> None:
    """A glob where any text will do: the names of files become the text."""
    findings.touch("list", word, run.cwds, run.part)


def _into(findings: Findings, run: Invocation, slot: Operand, word: Word, sources: list[Word]) -> None:
    """A destination that is a file, or a folder in which the sources' names appear."""
    _slot(findings, run, slot, word)
    if not word.literal:
        return
    start, end = word.start, word.end
    for source in sources:
        name = source.text.rstrip("/").rpartition("/")[2]
        if not name or name in (".", ".."):
            continue
        if not source.literal:
            name = HOLE
        for cwd in run.cwds or ("",):
            folder = absolute(word.text, cwd)
            if HOLE not in folder:
                findings.ask("into", run.part, folder, name, start, end)
                if name != HOLE:
                    findings.paths.append(absolute(name, folder))


def _assignment(findings: Findings, run: Invocation, word: Word) -> bool:
    """`NAME=VALUE`: the variable is set for a program."""
    name, equals, _ = word.text.partition("=")
    if not equals:
        return False
    if name:
        findings.env_set(name, word, run.part)
    return True


def _fixed(findings: Findings, run: Invocation, effect: Effect) -> None:
    """An effect that needs no value: its target is written in the description."""
    words = run.words
    word = Word.make((effect.get("target", ""), words[0].start, words[-1].end, False, None, None))
    _effect(findings, run, effect, word)


def _effect(findings: Findings, run: Invocation, effect: Effect, word: Word) -> None:
    """One effect, on the target the description names or else on the word."""
    kind = effect["kind"]
    target = effect.get("target", "")
    start, end = word.start, word.end
    if "there" in effect:
        if kind == "code":
            findings.code(run, target)
            findings.ask("hooks", run.part, "\0".join(run.cwds), target, run.words[0].start, run.words[-1].end)
        else:
            _if_there(findings, run, effect, word)
    elif kind in PATH_KINDS:
        if target:
            if target == "?":
                target = HOLE
            elif target[:2] == "~/":
                target = f"{findings.home or HOLE}/{target[2:]}"
            word = Word(target, start, end)
        findings.touch(kind, word, run.cwds, run.part, effect.get("tree", False))
    elif kind == "code":
        findings.code(run, target or f"{word.text.replace(HOLE, '?')} is run")
        if " " in word.text:
            import gateway.commands.code_strings as code_strings  # lazy: few values hold a whole command

            code_strings.note_command(findings, word.text, word, run.cwds, (*run.via, run.name), run.part)
    elif kind == "opaque":
        findings.opaque(target, start, end, run.part)
    elif kind == "connect":
        direction = effect.get("extra") or ("send" if "send" in run.flags else "fetch")
        _, host, port = host_of(target or word.text)
        if target == "?":
            host = HOLE
        findings.connect(host, port, direction, word, run.part)
    elif kind == "credential":
        if target[:2] == "~/":
            target = f"{findings.home or HOLE}/{target[2:]}"
        for cwd in run.cwds or ("",):  # without a target of its own it is what the word names
            path = target or (absolute(word.text, cwd) if word.text else "")
            findings.add(Credential(run.name, path, bool(effect.get("extra"))), start, end, run.part)
            if not word.text or target:
                break
    elif kind == "env":
        findings.env(target or word.text, effect["extra"], start, end, run.part)
    elif kind == "process":
        findings.add(Process(target, effect.get("extra") or word.text), start, end, run.part)
    elif kind == "system":
        findings.add(System(target, effect.get("extra") or word.text), start, end, run.part)


def _if_there(findings: Findings, run: Invocation, effect: Effect, word: Word) -> None:
    """One effect on what the program's code loads by itself: `settle` adds it for each path of this name, or pattern,
    that is there."""
    target = effect.get("target") or word.text
    is_pattern = "*" in effect.get("target", "")
    if target[:2] == "~/":
        target = f"{findings.home or HOLE}/{target[2:]}"
    for cwd in run.cwds or ("",):
        path = absolute(target, escaped(cwd) if is_pattern else cwd)
        if HOLE not in path:
            (findings.globs if is_pattern else findings.paths).append(path)
        kind = "there each" if is_pattern else "there"
        what = effect.get("extra") or effect["kind"]
        findings.ask(kind, run.part, path, f"{what} {run.name}", word.start, word.end)
