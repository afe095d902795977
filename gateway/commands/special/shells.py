"""Programs that read shell text: `bash -c`, `sh` on standard input, `eval`, `trap`, `source`."""

from __future__ import annotations

from gateway.commands.crossing import behind_text, known_of, run_written
from gateway.commands.handing import hand, shell_text
from gateway.commands.places import absolute
from gateway.commands.remote import hand_elsewhere
from gateway.commands.splitting import split
from gateway.commands.variables import assigned
from gateway.model.effect import HOLE, Code, Exec

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from gateway.commands.findings import Findings
    from gateway.commands.invocation import Invocation
    from gateway.model.command import Word
    from gateway.model.effect import Item

NAME = "/bin/activate"  # of what Python's environments bring to be sourced
READ_ALIKE = frozenset(("bash", "sh", "dash", "ash"))
# Settings with which a shell reads text as it is read here.
_SAME_READING = frozenset(
    (
        "errexit", "errtrace", "functrace", "hashall", "ignoreeof", "interactive-comments", "monitor", "nolog",
        "notify", "nounset", "pipefail", "privileged", "verbose", "noclobber", "noexec", "emacs", "vi", "xtrace",
        "checkwinsize", "cmdhist", "histappend", "inherit_errexit", "lithist",
    )
)  # fmt: skip
_OTHER_READING = frozenset(("-a", "-f", "-k", "-B", "-H", "-P", "-t", "--posix", "--debugger"))


def _shell(findings: Findings, run: Invocation) -> None:
    start, end = run.words[0].start, run.words[-1].end
    operands = run.operands
    if run.name not in READ_ALIKE and (operands or run.stdin):
        findings.opaque(f"{run.name} may read its text otherwise than bash", start, end, run.part)
    settings = [value.text for _, values in run.values for value in values]
    if operands and operands[0].text[:1] == "+":
        operands = _after_plus(run, settings)
    if not run.options.isdisjoint(_OTHER_READING) or not _SAME_READING.issuperset(settings):
        findings.opaque("an option that changes how the shell reads text", start, end, run.part)
    if "-c" in run.options:
        if operands:
            shell_text(findings, run, operands[:1], f"{run.name} -c")
        return
    if operands and "-s" not in run.options:
        word = operands[0]
        if word.text in ("/dev/stdin", "/proc/self/fd/0", "/dev/fd/0", "-"):
            _standard_input(findings, run, start, end)
            return
        if behind_text(findings, run, word):
            return
        findings.touch("read", word, run.cwds, run.part)
        if run.options == {"-n"} and len(run.words) == 3:  # it is only read for its grammar
            return
        findings.code(run, f"runs the script {word.text.replace(HOLE, '?')}")
        run_written(findings, word, run.cwds, (*run.via, run.name), run.part)
        return
    if run.options & {"--version", "--help"}:
        return
    _standard_input(findings, run, start, end)


def _after_plus(run: Invocation, settings: list[str]) -> list[Word]:
    """`+x` switches an option of the shell off; options with a dash may follow it. Adds to the settings it names."""
    words = run.operands
    at = 0
    while at < len(words) and words[at].text[:1] in ("+", "-") and words[at].text not in ("-", "--"):
        text = words[at].text
        run.options.add(text)
        if text[1:2] != "-":
            # With `+`, these also change how text is read: what is switched off may have been on.
            letters = text[1:] if text[0] == "-" else text[1:].strip("ceilnprsuvx")
            run.options.update(["-" + letter for letter in letters])
            if text[-1] in "oO" and at + 1 < len(words):
                settings.append(words[at + 1].text)
        elif text[0] == "-":
            run.doubts.append(f"option {text.replace(HOLE, '?')} behind one with a plus is not described")
        at += 2 if text[-1] in "oO" else 1
    if at < len(words) and words[at].text in ("-", "--"):
        at += 1
    return words[at:]


def _standard_input(findings: Findings, run: Invocation, start: int, end: int) -> None:
    if run.stdin == "text":
        text = run.stdin_text
        if HOLE in text:
            findings.opaque(f"{run.name} runs text that is not known before the run", start, end, run.part)
            text = known_of(text)
        findings.script(findings, text, run.cwds, (*run.via, run.name), (start, end), run)
    elif run.stdin == "file":
        findings.code(run, f"{run.name} runs the text of a file")
        if run.given is not None and run.given.text is not None:
            text = known_of(run.given.text)
            findings.script(findings, text, run.cwds, (*run.via, run.name), (start, end), run)
    elif run.stdin == "":
        findings.opaque(f"{run.name} runs what it is given later", start, end, run.part)
    else:
        findings.opaque(f"{run.name} runs text that is not known before the run", start, end, run.part)


def _later(findings: Findings, run: Invocation) -> None:
    """Commands that a shell runs at another time."""
    _standard_input(findings, run, run.words[0].start, run.words[-1].end)


def _eval(findings: Findings, run: Invocation) -> None:
    if run.operands:
        shell_text(findings, run, run.operands, "eval")


def _trap(findings: Findings, run: Invocation) -> None:
    operands = run.operands
    if len(operands) > 1 and operands[0].text not in ("-", ""):
        shell_text(findings, run, operands[:1], "trap")


def _source(findings: Findings, run: Invocation) -> None:
    if run.operands:
        word = run.operands[0]
        if behind_text(findings, run, word):
            return
        findings.touch("read", word, run.cwds, run.part)
        if word.literal and word.text.endswith(NAME) and len(run.cwds) == 1:
            findings.sourced.append((run.part, absolute(word.text, run.cwds[0])))
        if findings.activating:
            return
        findings.opaque(f"{run.name} runs the text of {word.text.replace(HOLE, '?')}", word.start, word.end, run.part)
        run_written(findings, word, run.cwds, (*run.via, run.name), run.part)


def _sudo(findings: Findings, run: Invocation) -> None:
    """sudo, doas, su: with `-s` or `-i` the words are joined for a shell."""
    at = 0
    operands = run.operands
    while at < len(operands) and "=" in operands[at].text and operands[at].text[0] != "/":
        at += 1
    if at < len(operands):
        if "-e" in run.options:
            for word in operands[at:]:
                findings.touch("write", word, run.cwds, run.part)
        else:
            hand(findings, run, tuple(operands[at:]), run.name)
            if not run.options.isdisjoint(("-s", "-i")) and any(" " in w.text for w in operands[at:]):
                shell_text(findings, run, operands[at:], f"{run.name} -s")
    elif not run.options.isdisjoint(("-s", "-i")):
        _standard_input(findings, run, run.words[0].start, run.words[-1].end)


def _su(findings: Findings, run: Invocation) -> None:
    start, end = run.words[0].start, run.words[-1].end
    for option, values in run.values:
        if "-c" in option["names"]:
            shell_text(findings, run, list(values), f"{run.name} -c")
            return
    if not run.options & {"--version", "--help"}:
        findings.opaque(f"{run.name} starts a shell", start, end, run.part)


def _watch(findings: Findings, run: Invocation) -> None:
    if not run.operands:
        return
    if "-x" in run.options:
        hand(findings, run, tuple(run.operands), "watch")
    else:
        shell_text(findings, run, run.operands, "watch")


def _each_shell(findings: Findings, run: Invocation) -> None:
    """Each operand is a text of its own for a shell."""
    for word in run.operands:
        shell_text(findings, run, [word], run.name)


def _env(findings: Findings, run: Invocation) -> None:
    """The words behind options and assignments are a command; without one, env prints all variables. A single dash in
    front is `-i`."""
    start, end = run.words[0].start, run.words[-1].end
    for option, values in run.values:
        if "split" in option and (doubt := split(values[0])[1]):
            findings.opaque(doubt, values[0].start, values[0].end, run.part)
        elif "-u" in option["names"] and assigned(values[0].text, False):
            findings.env(values[0].text, "set", values[0].start, values[0].end, run.part)
    operands = run.operands
    at = 1 if operands and operands[0].text == "-" else 0
    while at < len(operands) and "=" in operands[at].text:
        word = operands[at]
        if HOLE in word.text.partition("=")[0]:
            findings.opaque("a variable's name is not known before the run", word.start, word.end, run.part)
        at += 1
    if at < len(operands):
        hand(findings, run, tuple(operands[at:]), "env")
    else:
        findings.env("*", "read", start, end, run.part)


def _flock(findings: Findings, run: Invocation) -> None:
    """Behind the file stands a command, or `-c` and one text."""
    words = run.operands[1:]
    if len(words) > 1 and words[0].text in ("-c", "--command"):
        shell_text(findings, run, words[1:], "flock -c")
    elif words:
        hand(findings, run, tuple(words), "flock")


def _script(findings: Findings, run: Invocation) -> None:
    """Without `-c` it starts a shell; BSD's takes a command behind the file."""
    if "-c" in run.options or not run.options.isdisjoint(("--help", "--version")):
        return
    findings.opaque("script starts a shell", run.words[0].start, run.words[-1].end, run.part)
    if len(run.operands) > 1:
        hand(findings, run, tuple(run.operands[1:]), "script")


MAX_WRAPPED = 16
# Options whose values are sentences for people: their words start nothing, whatever they speak of.
_PROSE = frozenset(
    f"--{name}"
    for name in ("body", "comment", "description", "message", "note", "notes", "reason", "subject", "summary", "title")
)


def _wrapped(findings: Findings, run: Invocation) -> None:
    """The command starts somewhere among the words: each word that names a program may be where. The wrapper itself is
    code, which stands for all that is not known of it; this adds what rules that deny would look for.

    A wrapper that is handed on in this way tries the same words again, and so on: each is tried once.
    """
    outermost = findings.begin_guessing()
    words = run.words[1 : 1 + MAX_WRAPPED]
    first = len(findings.items)
    before = ""
    for word in words:
        name = _variable(before, word.text)
        before = word.text
        if name and assigned(name, False):
            findings.env(name, "set", word.start, word.end, run.part)
    named = True  # the first word that is no option is where it usually starts, whether anybody described it or not
    for at, word in enumerate(words, 1):
        text = word.text
        if HOLE in text or _is_prose(run.words[at - 1].text, text):
            continue
        is_first = named and text[:1] != "-" and text not in run.subcommands
        named = named and not is_first
        if " " in text or ";" in text:
            shell_text(findings, run, [word], run.name)
            continue
        name, version, _ = text[text.rfind("/") + 1 :].partition("@")  # `codex@latest` is codex
        if (findings.lookup(name) is None and not is_first) or text in run.subcommands:
            continue
        if findings.tries(name, *[each.text for each in run.words[at + 1 :]]) or outermost:
            hand(findings, run, (word.replace(text=name) if version else word, *run.words[at + 1 :]), run.name)
    findings.items[first:] = [_started(item) for item in findings.items[first:] if item.effect.kind != "opaque"]
    if outermost:
        findings.end_guessing(run.words[0].start, run.words[-1].end, run.part)


def _is_prose(before: str, text: str) -> bool:
    """Whether a word is the value of such an option, glued to it or behind it."""
    name, glued, _ = text.partition("=")
    return (name in _PROSE and bool(glued)) or (before in _PROSE and text[:1] != "-")


def _started(item: Item) -> Item:
    """What is code of a guessed program is left to the wrapper's own; that it may start is not."""
    effect = item.effect
    return item.replace(effect=Exec(effect.program, effect.argv)) if isinstance(effect, Code) else item


def _variable(before: str, text: str) -> str:
    """The variable that a word sets for what a wrapper starts, "" for none: `A=x`, `-EA=x`, `--setenv=A=x`, and behind
    `--setenv` just `A`."""
    if text[:2] == "--":
        text = text.partition("=")[2]
    elif text[:1] == "-":
        text = text[2:]
    name, equals, _ = text.partition("=")
    return name if name.isidentifier() and (equals or before == "--setenv") else ""


def _uv_run(findings: Findings, run: Invocation) -> None:
    """A program of the project's environment, like the builds that other tools start; packages are fetched for it where
    an option names some, or a program that is an address."""
    _wrapped(findings, run)
    for word in run.words[1:]:
        text = word.text
        if text[:1] != "-" and findings.lookup(text[text.rfind("/") + 1 :]) is not None and text not in run.subcommands:
            return
        if text.startswith(_FETCHES) or HOLE in text or "://" in text:
            for host in ("pypi.org", "files.pythonhosted.org"):
                findings.connect(host, 443, "fetch", word, run.part)
            return


_FETCHES = ("--with", "-w", "--refresh", "-U", "--upgrade", "-P", "--reinstall", "--index", "-i", "--extra-index-url",
            "--default-index", "--find-links", "-f", "--from", "-p", "--python", "--script", "-s")  # fmt: skip
_PARENTS = 6
# Options of npx without a value, which say nothing of where its program comes from.
_OF_NPX = frozenset(("-y", "--yes", "--no", "--no-install", "-q", "--quiet", "--offline", "--prefer-offline", "--"))


def _npx(findings: Findings, run: Invocation) -> None:
    """A package's program that is installed, here or in a folder above, is run as it is: nothing is fetched."""
    _wrapped(findings, run)
    name = next((word.text for word in run.words[1:] if word.text not in _OF_NPX), "")
    if not name or HOLE in name or not name.replace("-", "").replace("_", "").isalnum() or name[0] == "-":
        return
    if len(run.cwds) != 1 or HOLE in run.cwds[0]:
        return
    folder = run.cwds[0]
    places = []
    for _ in range(_PARENTS):
        places.append(f"{folder.rstrip('/')}/node_modules/.bin/{name}")
        if folder in ("/", ""):
            break
        folder = folder[: folder.rfind("/")] or "/"
    findings.paths.extend(places)
    findings.ask("installed", run.part, "registry.npmjs.org", "\0".join(places), run.words[0].start, run.words[-1].end)


def _ssh(findings: Findings, run: Invocation) -> None:
    operands = run.operands
    if len(operands) > 1:
        hand_elsewhere(findings, run, tuple(operands[1:]), "ssh", joined=True)
        findings.opaque("a command runs on another machine", operands[1].start, operands[-1].end, run.part)
    elif operands and not run.options & {"-N", "-W", "-O"}:
        findings.opaque("a shell starts on another machine", operands[0].start, operands[0].end, run.part)


HOOKS: dict[str, Callable[[Findings, Invocation], None]] = {
    "shell": _shell,
    "later": _later,
    "eval": _eval,
    "trap": _trap,
    "source": _source,
    "sudo": _sudo,
    "su": _su,
    "watch": _watch,
    "each_shell": _each_shell,
    "env": _env,
    "flock": _flock,
    "script": _script,
    "ssh": _ssh,
    "uv_run": _uv_run,
    "wrapped": _wrapped,
    "npx": _npx,
}
