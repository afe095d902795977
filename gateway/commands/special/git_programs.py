"""Programs that git starts by its own name and theirs: `git undo` is `git-undo` of the search path, or an alias."""

from __future__ import annotations

import re

from gateway.commands.git_questions import OTHER
from gateway.commands.special.git import ask_what_is_there, contact
from gateway.model.effect import HOLE, Push, Touch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from gateway.commands.findings import Findings
    from gateway.commands.invocation import Invocation


def _program(findings: Findings, run: Invocation) -> None:
    """What the description says holds for the program of that name alone, wherever in the work tree it starts: these
    programs go to its top."""
    start, end = run.words[0].start, run.words[-1].end
    name = f"git-{run.subcommands[0]}"
    findings.programs.append(name)
    findings.ask("client", run.part, "git", name, start, end)
    for at in range(run.first, len(findings.items)):
        item = findings.items[at]
        effect = item.effect
        if not isinstance(effect, Touch) or (item.start, item.end) != (start, end) or HOLE in effect.path:
            continue
        for cwd in run.cwds:
            if effect.path == cwd or effect.path.startswith(f"{cwd}/"):
                if "/.git/" not in f"{effect.path}/":
                    kind = f"{effect.kind}/tree" if effect.tree else effect.kind
                    findings.ask("top", run.part, cwd, f"{kind} {effect.path[len(cwd) + 1 :]}", start, end)
                break


# What no shell takes apart, reads as a pattern or runs, however a script forgets to quote it.
_PLAIN = re.compile(r"[A-Za-z0-9_./:@^~{}+,=%-]*")
# What is no code between the quotes in which a script hands it to a shell once more.
_QUOTED = re.compile(r"[A-Za-z0-9_./:@^~{}+,=% -]*")


def _script(findings: Findings, run: Invocation) -> None:
    """A script that takes its words apart again: with others than plain ones it does something else. The values of
    options that are kept, and have no effect, are quoted."""
    _all_plain(findings, run, _PLAIN)


def _evaluates(findings: Findings, run: Invocation) -> None:
    """A script that hands its words on as a text for a shell."""
    _all_plain(findings, run, _QUOTED)


def _effort(findings: Findings, run: Invocation) -> None:
    """The same, of the names of all files where none is named."""
    _evaluates(findings, run)
    if not run.operands:
        findings.code(run, "evaluates what files are called")


def _all_plain(findings: Findings, run: Invocation, plain: re.Pattern[str]) -> None:
    quoted = [words[0] for option, words in run.values if words and ("keep" in option or "cwd" in option)]
    for word in run.words[1:]:
        if not any(word is each for each in quoted) and (not plain.fullmatch(word.text) or not word.literal):
            findings.code(run, f"the script would take {word.text.replace(HOLE, '?')} apart")
            return


def _offers(findings: Findings, run: Invocation) -> None:
    """It pushes branches, to wherever settings say; where some of its options are marked `publish`, only with one."""
    _pushes(findings, run, force="force" in run.flags)


def _overwrites(findings: Findings, run: Invocation) -> None:
    """The same of what deletes or moves branches there."""
    _pushes(findings, run, force=True)


def _pushes(findings: Findings, run: Invocation, *, force: bool) -> None:
    chosen = any("publish" in option.get("sets", ()) for option in run.spec["table"])
    if chosen and "publish" not in run.flags:
        return
    start, end = run.words[0].start, run.words[-1].end
    findings.add(Push(HOLE, HOLE, force), start, end, run.part)
    findings.connect(HOLE, 0, "send", run.words[0], run.part)


# Flags of a substitution of `sed` with which it only replaces.
_REPLACES = re.compile(r"[gpIiMm0-9]*")


def _sed(findings: Findings, run: Invocation) -> None:
    """`git sed A B FLAGS` is `sed -i s/A/B/FLAGS`, of which some flags run or write what they replace."""
    flags = [words[0] for option, words in run.values if words and "-f" in option["names"]] + run.operands[2:3]
    for word in flags:
        if not _REPLACES.fullmatch(word.text):
            findings.code(run, f"the flags {word.text.replace(HOLE, '?')} of sed may run a program")
    if any("\n" in word.text or HOLE in word.text for word in run.operands):
        findings.code(run, "sed may read commands of its own there")


def _merge_index(findings: Findings, run: Invocation) -> None:
    """`git merge-index PROGRAM` runs it for what the index holds. Of all programs one is known to do what git does."""
    word = run.operands[0] if run.operands else None
    if word is not None and word.text != "git-merge-one-file":
        findings.code(run, f"{word.text.replace(HOLE, '?')} is run")


def _prefix(findings: Findings, run: Invocation) -> None:
    """`git checkout-index --prefix=NAME`: what stands before the names of all files, which may be no folder."""
    for option, values in run.values:
        if "--prefix" in option["names"] and values and values[0].text[-1:] != "/":
            findings.code(run, "writes where a prefix says")


def _request(findings: Findings, run: Invocation) -> None:
    """`git request-pull START REMOTE` looks whether the remote has what it is to offer."""
    if len(run.operands) > 1:
        contact(findings, run, run.operands[1], "fetch")


def _force_clone(findings: Findings, run: Invocation) -> None:
    """`git force-clone URL FOLDER` works on in a repository that is there."""
    if len(run.operands) != 2 or not run.cwds or HOLE in run.operands[1].text:
        findings.code(run, OTHER)
        return
    contact(findings, run, run.operands[0], "fetch")
    ask_what_is_there(findings, run, run.operands[1])


def _bulk(findings: Findings, run: Invocation) -> None:
    """`git bulk --addworkspace NAME FOLDER --from SOURCE` clones what it names, or what the lines of a file name."""
    for option, values in run.values:
        if "--from" in option["names"] and values:
            contact(findings, run, values[0], "fetch")


HOOKS: dict[str, Callable[[Findings, Invocation], None]] = {
    "git_prefix": _prefix,
    "git_program": _program,
    "git_request": _request,
    "git_bulk": _bulk,
    "git_effort": _effort,
    "git_merge_index": _merge_index,
    "git_script": _script,
    "git_evaluates": _evaluates,
    "git_force_clone": _force_clone,
    "git_offers": _offers,
    "git_overwrites": _overwrites,
    "git_sed": _sed,
}
