"""git: configuration that runs programs, remotes, and what a push sends."""

from __future__ import annotations

import re

from gateway.commands.git_questions import OTHER, sources
from gateway.commands.handing import shell_text
from gateway.commands.places import absolute, remote
from gateway.commands.special.pathspecs import lines, whole, widen
from gateway.model.command import Word
from gateway.model.effect import HOLE, Credential, Push

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from gateway.commands.findings import Findings
    from gateway.commands.invocation import Invocation

# Settings that only change how git shows or names things, whole, or all of a section. Any other may name a program to
# run: a driver's name may begin like a key.
_SECTIONS = ("color.", "column.", "advice.", "status.", "versionsort.")
_HARMLESS_SETTINGS = frozenset((
    "user.name", "user.email", "core.quotepath", "core.abbrev", "core.autocrlf",
    "core.eol", "core.ignorecase", "core.precomposeunicode", "core.longpaths", "core.safecrlf", "log.date",
    "log.decorate", "log.showsignature", "log.abbrevcommit", "init.defaultbranch", "diff.renames", "diff.renamelimit",
    "diff.algorithm", "diff.context", "diff.noprefix", "diff.mnemonicprefix", "diff.wserrorhighlight",
    "grep.linenumber", "grep.patterntype", "merge.conflictstyle", "merge.renamelimit", "pull.rebase", "pull.ff",
    "push.autosetupremote", "gc.auto", "gc.autodetach", "maintenance.auto", "branch.sort",
    "tag.sort", "commit.gpgsign=false", "tag.gpgsign=false", "fetch.prune", "rerere.enabled", "core.pager=cat",
    "core.pager=",
))  # fmt: skip


def harmless_setting(text: str) -> bool:
    """Whether `git -c TEXT` can't make git run, fetch or reveal anything."""
    name, equals, value = text.lower().partition("=")
    if name.startswith("pager."):
        return value in ("false", "0", "no", "off", "cat")
    return name in _HARMLESS_SETTINGS or f"{name}{equals}{value}" in _HARMLESS_SETTINGS or name.startswith(_SECTIONS)


def _git(findings: Findings, run: Invocation) -> None:
    """Every git command reads the configuration of the repository it starts in."""
    for option, values in run.values:
        if "-c" not in option["names"] or "git_setting" not in option or harmless_setting(values[0].text):
            continue
        if not _logs_in(findings, run, values[0]):
            findings.code(run, f"the setting {values[0].text.replace(HOLE, '?')} may run a program")
            _setting_that_runs(findings, run, values[0])
    if not run.subcommands or run.subcommands[0] in ("version", "init", "clone"):
        return
    words = run.words
    asks = len(words) == 3 and words[2].text == "--help" and run.spec["special"] == ["git"]
    if asks or run.subcommands[0] == "help":
        if asks:  # `git NAME --help` is `git help NAME`, whatever NAME is: nothing holds of what was said of it
            run.doubts.clear()
            del findings.items[run.first + 1 :]
            findings.pending[:] = [each for each in findings.pending if each.part != run.part]
        start, end = run.words[0].start, run.words[-1].end
        for cwd in run.cwds:  # settings may name what shows a manual
            findings.git.append(cwd)
            findings.ask("git", run.part, cwd, "there", start, end)
        return
    widen(findings, run)
    lines(findings, run)
    whole(findings, run)
    start, end = run.words[0].start, run.words[-1].end
    if not run.cwds:
        findings.code(run, "git starts in a folder that is not known before the run")
    for cwd in run.cwds:
        findings.git.append(cwd)
        findings.ask("git", run.part, cwd, "", start, end)


def _logs_in(findings: Findings, run: Invocation, word: Word) -> bool:
    """Whether a setting only says with which key ssh logs in, as a person's own settings may, too; notes the key."""
    name, _, value = word.text.partition("=")
    if name.lower() != "core.sshcommand" or HOLE in value or "identityfile" in value.lower():
        return False
    from gateway.commands.steering.git_keys import is_usual  # lazy: hardly any call says how git connects

    if not is_usual(("core", "", "sshcommand", value), "", "", lambda _path: False):
        return False
    given = value.split()
    for key in [given[at + 1] for at, each in enumerate(given[:-1]) if each == "-i"]:
        for cwd in run.cwds or ("",):
            findings.add(Credential(run.name, absolute(key, cwd)), word.start, word.end, run.part)
    return True


def _setting_that_runs(findings: Findings, run: Invocation, word: Word) -> None:
    """An alias is what its name stands for in this very command; other values may be commands that git starts."""
    name, _, value = word.text.partition("=")
    alias = name[6:] if name[:6].lower() == "alias." else ""
    texts = [each.text for each in run.words]
    if alias and alias in texts:
        from shlex import quote as quoted  # lazy, as below: few commands of git bring settings that run something

        rest = texts[texts.index(alias) + 1 :]
        if value[:1] != "!":
            value = f"git {value}"
        value = " ".join([value.lstrip("!"), *["${unknown}" if HOLE in text else quoted(text) for text in rest]])
        shell_text(findings, run, [word.replace(text=value)], "git alias")
    elif " " in value:
        from gateway.commands.code_strings import note_command

        note_command(findings, value, word, run.cwds, (*run.via, "git"), run.part)


# Options by which a program that is not git asks git what changed.
_ASKING_GIT = frozenset(("--changed", "--staged", "--only-staged", "--since"))


def _starts_git(findings: Findings, run: Invocation) -> None:
    """Programs that start git in the folder they are in: what its settings say is done where there is a repository."""
    compares = run.name == "delta" and run.operands[1:]
    if compares or not _ASKING_GIT.isdisjoint(run.options):
        for cwd in run.cwds:
            findings.git.append(cwd)
            findings.ask("git", run.part, cwd, "there", run.words[0].start, run.words[-1].end)


def _serve(findings: Findings, run: Invocation, word: Word, direction: str) -> None:
    """A repository on this machine: git starts there, too, and obeys what that one says: its settings to fetch what it
    lacks, its hooks when it gets something."""
    findings.touch("read" if direction == "fetch" else "write", word, run.cwds, run.part, True)
    if direction != "fetch" or not word.literal or not run.cwds:
        findings.code(run, OTHER)
        return
    ask_what_is_there(findings, run, word)


def ask_what_is_there(findings: Findings, run: Invocation, word: Word) -> None:
    """Whether git would start in another repository, in the one that a path names."""
    for cwd in run.cwds:
        source = absolute(word.text, cwd)
        findings.git.append(source)
        findings.paths += sources(source)
        findings.ask("source", run.part, source, "", run.words[0].start, run.words[-1].end)


def contact(findings: Findings, run: Invocation, word: Word | None, direction: str) -> str:
    """The connection to a remote given by its name, URL or path. Returns its name for a push."""
    start, end = (word.start, word.end) if word is not None else (run.words[0].start, run.words[-1].end)
    text = word.text if word is not None else ""
    place = remote(text) if text else None
    if place is not None and HOLE not in text[:1]:
        if place[0] == "helper":
            findings.code(run, f"{text.replace(HOLE, '?')} runs a helper program")
        elif place[0] == "file":
            _serve(findings, run, Word("/" + text.split("://", 1)[1].lstrip("/"), start, end), direction)
        else:
            findings.connect(place[1], place[2], direction, word or run.words[0], run.part)
            own = findings.home + "/.ssh" if place[0] == "ssh" and findings.home else ""
            findings.add(Credential("git", own), start, end, run.part)
        return text
    if word is not None and text == "." and direction == "fetch":
        return text  # the repository itself, of which is asked anyway
    if word is not None and ("/" in text or text[:1] == ".") and HOLE not in text:
        _serve(findings, run, word, direction)
        return text
    findings.connect(HOLE, 0, direction, word or run.words[0], run.part)
    if HOLE in text or not run.cwds:  # nothing will be asked about it; whichever it is, git looks for a login for it
        findings.add(Credential("git", ""), start, end, run.part)
        return text or HOLE
    for cwd in run.cwds:
        findings.ask("remote", run.part, text, f"{direction} {cwd}", start, end)
    return text or HOLE


def _fetch(findings: Findings, run: Invocation) -> None:
    if not run.options.isdisjoint(("--all", "--multiple")) or run.subcommands[-1] == "update":
        findings.connect(HOLE, 0, "fetch", run.words[0], run.part)
        if not run.cwds:
            findings.add(Credential("git", ""), run.words[0].start, run.words[-1].end, run.part)
        for cwd in run.cwds:
            findings.ask("remote", run.part, "*", f"fetch {cwd}", run.words[0].start, run.words[-1].end)
        return
    contact(findings, run, run.operands[0] if run.operands else None, "fetch")
    if run.subcommands[0] == "fetch":
        # A branch of this repository may become what the remote has.
        over = [word for word in run.operands[1:] if ":" in word.text or HOLE in word.text or not word.literal]
        if over or run.has(["--refmap", "--stdin"]):
            heads = Word(".git/refs/heads", run.words[0].start, run.words[-1].end)
            findings.touch("write", heads, run.cwds, run.part, True)


def _push(findings: Findings, run: Invocation) -> None:
    if "-n" in run.options:
        contact(findings, run, run.operands[0] if run.operands else None, "fetch")
        return
    operands = run.operands
    word = operands[0] if operands else None
    for option, values in run.values:
        if "--repo" in option["names"] and word is None:
            word = values[0]
    name = contact(findings, run, word, "send")
    options = run.options
    force = not options.isdisjoint(("-f", "--force-with-lease", "--mirror", "-d", "--prune"))
    start, end = run.words[0].start, run.words[-1].end
    refs = operands[1:]
    if not options.isdisjoint(("--all", "--mirror")):
        findings.add(Push(name, HOLE, force), start, end, run.part)
        return
    if "--tags" in options:
        findings.add(Push(name, "refs/tags/" + HOLE, force), start, end, run.part)
        if not refs:
            return
    tag = False
    for ref in refs:
        text = ref.text
        if text == "tag":
            tag = True
            continue
        forced = force or text[:1] == "+" or text[:1] == ":" or text[:2] == "+:"
        text = text.lstrip("+")
        source, colon, target = text.partition(":")
        if colon and not source:
            forced = True
        shown = (target if colon else source) or HOLE
        if ref.splits or ref.pattern is not None:
            shown = HOLE
        if shown.startswith("refs/heads/"):
            shown = shown[11:]
        elif tag:
            shown = "refs/tags/" + shown
        tag = False
        if shown in ("HEAD", "@"):
            _current(findings, run, name, forced, ref)
        else:
            findings.add(Push(name, shown, forced), ref.start, ref.end, run.part)
    if not refs:
        _current(findings, run, name, force, None)


def _current(findings: Findings, run: Invocation, name: str, force: bool, word: Word | None) -> None:
    """The branch that HEAD is on, which only the facts tell."""
    start, end = (word.start, word.end) if word is not None else (run.words[0].start, run.words[-1].end)
    findings.add(Push(name, HOLE, force), start, end, run.part)
    for cwd in run.cwds:
        findings.ask("branch", run.part, name, cwd, start, end)


def _clone(findings: Findings, run: Invocation) -> None:
    if not run.operands:
        return
    source = run.operands[0]
    place = remote(source.text)
    if place is None and HOLE not in source.text:
        _serve(findings, run, source, "fetch")
    else:
        contact(findings, run, source, "fetch")
    if len(run.operands) > 1:
        findings.touch("write", run.operands[1], run.cwds, run.part, True)
        return
    name = source.text.rstrip("/").removesuffix("/.git").removesuffix(".git").replace(":", "/").rpartition("/")[2]
    folder = source.replace(text=name or HOLE, splits=False, pattern=None)
    findings.touch("write", folder, run.cwds, run.part, True)


_SHOWN = ("--get", "--get-all", "--get-regexp", "--get-urlmatch", "-l", "--get-color", "--get-colorbool")


def _config(findings: Findings, run: Invocation) -> None:
    """`git config`: shows settings, or changes them in the repository's, the user's or the system's file."""
    operands = [word.text for word in run.operands]
    verb = operands[0] if operands else ""
    if "--includes" in run.options:
        findings.code(run, "git config shows every file that is included")
    shows = not run.options.isdisjoint(_SHOWN) or verb in ("list", "get") or (len(operands) == 1 and verb != "edit")
    if shows and run.options.isdisjoint(("--unset", "--unset-all", "--remove-section", "-e")):
        return
    if "-e" in run.options or verb == "edit":
        findings.code(run, "git config starts an editor")
    start, end = run.words[0].start, run.words[-1].end
    if "--file" in run.options:
        return
    if "--global" in run.options:
        target = f"{findings.home or HOLE}/.gitconfig"
    elif "--system" in run.options:
        target = "/etc/gitconfig"
    else:
        target = ".git/config"
    findings.touch("write", run.words[0].replace(text=target, start=start, end=end), run.cwds, run.part)


# A ref lies in a file of its name. Of these names git makes none outside of its folder for refs.
_REF = re.compile(r"HEAD|[A-Z_]+_HEAD|AUTO_MERGE|refs/(?!(?:[^/]*/)*\.)[^\\]+")


def _ref(findings: Findings, run: Invocation) -> None:
    """`git symbolic-ref` and `update-ref` write the file that is named like the ref, wherever that lies."""
    writes = len(run.operands) > 1 or not run.options.isdisjoint(("-d", "--delete"))
    name = run.operands[0].text if run.operands else ""
    if writes and (HOLE in name or not _REF.fullmatch(name)):
        findings.code(run, f"{name.replace(HOLE, '?')} is a file that git writes as a ref")


HOOKS: dict[str, Callable[[Findings, Invocation], None]] = {
    "git": _git,
    "starts_git": _starts_git,
    "git_fetch": _fetch,
    "git_push": _push,
    "git_clone": _clone,
    "git_config": _config,
    "git_ref": _ref,
}
