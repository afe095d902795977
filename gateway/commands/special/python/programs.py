"""Python's words: which program runs (`-c`, `-m`, a script, standard input), and what that program does."""

from __future__ import annotations

from gateway.commands.handing import hand, shell_text
from gateway.commands.places import absolute, escaped, host_of
from gateway.commands.special.python.folder import FOLDERS
from gateway.model.command import Word
from gateway.model.effect import HOLE, Process

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from gateway.commands.findings import Findings
    from gateway.commands.invocation import Invocation

MAX_DOUBTS = 4
_FLAGS = frozenset("bBdEiIOPqRsSuvx")
_RUNTIME = frozenset(
    ("importtime", "dev", "utf8", "utf8=1", "utf8=0", "faulthandler", "no_debug_ranges", "tracemalloc")
)
_STANDARD_INPUT = frozenset(("-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"))
_CLIENTS = ("/gateway/frontends/service/client.py", "/gateway/service/client.py")  # the second: an earlier layout
# Modules that look at the files they are given, and those that only print.
_READERS = frozenset(("ast", "tokenize", "tabnanny", "dis", "json.tool", "base64", "mimetypes"))
_PRINTERS = frozenset(("this", "calendar", "platform", "site", "sysconfig"))
_MODULES = _READERS | _PRINTERS | frozenset(("pip", "http.server", "timeit", "zipfile", "tarfile", "venv"))
_PLAIN_OPTIONS = frozenset(
    (
        "--sort-keys", "--json-lines", "--no-indent", "--tab", "--compact", "--no-ensure-ascii", "-h", "--help",
        "-e", "-d", "-u", "-t", "-a", "--user-site", "--user-base",
    )
)  # fmt: skip


class _Words:
    """Python's own reading of its words: options up to the program, then what the program is given."""

    how = ""
    program: Word | None = None
    rest: tuple[Word, ...] = ()
    shown = False

    def __init__(self, words: tuple[Word, ...]) -> None:
        self.flags: set[str] = set()
        self.doubts: list[str] = []
        at = 1
        while at < len(words):
            word = words[at]
            text = word.text
            if not word.literal and (text[:1] in ("-", HOLE, "") or word.splits or word.pattern is not None):
                self.doubts.append(f"{text.replace(HOLE, '?')} may turn out to be an option")
            if text[:1] != "-" or text == "-":
                self.how, self.program, self.rest = "script", word, words[at + 1 :]
                return
            at += 1
            if text == "--":
                if at < len(words):
                    self.how, self.program, self.rest = "script", words[at], words[at + 1 :]
                return
            if text[:2] == "--":
                at = self._long(text, at)
                continue
            at = self._cluster(word, words, at)
            if self.how:
                return

    def _long(self, text: str, at: int) -> int:
        if text in ("--version", "--help", "--help-all", "--help-env", "--help-xoptions"):
            self.shown = True
        elif text == "--check-hash-based-pycs":
            at += 1
        else:
            self.doubts.append(f"option {text.replace(HOLE, '?')} is not described")
        return at

    def _cluster(self, word: Word, words: tuple[Word, ...], at: int) -> int:
        for position, letter in enumerate(word.text[1:], 2):
            if letter in "cmWX":
                value = Word(word.text[position:], word.start, word.end, word.splits, word.pattern)
                if not value.text:
                    if at >= len(words):
                        self.doubts.append(f"option -{letter} has no value")
                        return at
                    value = words[at]
                    at += 1
                if letter in "cm":
                    self.how, self.program, self.rest = letter, value, words[at:]
                elif not value.literal or (letter == "W" and "." in value.text):
                    self.doubts.append(f"-{letter} {value.text.replace(HOLE, '?')} may load a module")
                elif letter == "X" and value.text not in _RUNTIME:
                    self.doubts.append(f"-X {value.text} is not described")
                return at
            if letter in "Vh?":
                self.shown = True
            elif letter in _FLAGS:
                self.flags.add(letter)
            else:
                self.doubts.append(f"option -{letter.replace(HOLE, '?')} is not described")
        return at


def _python(findings: Findings, run: Invocation) -> None:
    words = _Words(run.words)
    # Behind the program stands what the program is given; the grammar could not know that.
    run.doubts[:] = words.doubts
    del run.option_globs[:]
    if words.shown:
        return
    if "i" in words.flags:
        run.doubts.append("Python asks for more of the program")
    if "python2" in run.words[0].text:
        if words.how == "script" and words.program is not None:
            findings.touch("read", words.program, run.cwds, run.part)
        run.doubts.append("runs a program for an old Python, whose names mean other things")
    elif words.how == "c" and words.program is not None:
        _text(findings, run, words, words.program, "-c")
    elif words.how == "m" and words.program is not None:
        _module(findings, run, words, words.program)
    elif words.how == "script" and words.program is not None and words.program.text not in _STANDARD_INPUT:
        findings.touch("read", words.program, run.cwds, run.part)
        findings.code(run, "runs a Python program")
        if _is_gateway(words.program, run.cwds):
            hand(findings, run, (words.program.replace(text="gateway"), *words.rest), "python")
    elif run.stdin == "text":
        _text(findings, run, words, Word(run.stdin_text, run.words[0].start, run.words[-1].end), "-")
    else:
        findings.code(run, "runs a Python program that is not known before the run")


def _is_gateway(word: Word, cwds: tuple[str, ...]) -> bool:
    """Whether a script is the gateway's own program, as agents' settings name it."""
    return word.text.endswith("client.py") and any(absolute(word.text, cwd).endswith(_CLIENTS) for cwd in cwds or ("",))


def _text(findings: Findings, run: Invocation, words: _Words, word: Word, how: str) -> None:
    if not word.literal:
        run.doubts.append("the Python program is not known before the run")
        return
    if how == "-" and ("x" in words.flags or any("coding" in line for line in word.text.split("\n")[:2])):
        run.doubts.append("the Python program may be read in another encoding")
    given = tuple([one.text if one.literal else HOLE for one in words.rest])
    if any(one.splits or one.pattern is not None for one in words.rest):
        given = ()
    program(findings, run, word, (how, *given), words.flags)


def program(findings: Findings, run: Invocation, word: Word, given: tuple[str, ...], flags: set[str]) -> None:
    """What the program in a word does."""
    from gateway.commands.special.python.code import Program, parsed

    tree = parsed(word.text)
    if tree is None:
        run.doubts.append("the Python program is not understood")
        return
    found = Program(tree, given, findings.home)
    for deed in found.deeds:
        _DEEDS[deed[0]](findings, run, word, deed)
    for why in list(dict.fromkeys(found.doubts))[:MAX_DOUBTS]:
        run.doubts.append(f"the Python program {why}")
    modules = [*found.modules, "os"] if "S" in flags else found.modules
    _found_modules(findings, run, word, modules, flags)


def _found_modules(findings: Findings, run: Invocation, word: Word, modules: list[str], flags: set[str]) -> None:
    """Modules are looked for in the folder first, unless an option says otherwise."""
    if "I" in flags or "P" in flags:
        return
    if not run.cwds:
        run.doubts.append("modules are looked for in a folder that is not known")
    for cwd in run.cwds:
        folder = escaped(cwd.rstrip("/"))
        findings.globs.append(f"{folder}/*")
        findings.globs += [f"{folder}/{name}/__init__.*" for name in FOLDERS]
        findings.ask("modules", run.part, cwd, " ".join(dict.fromkeys(modules)), word.start, word.end)


def _module(findings: Findings, run: Invocation, words: _Words, word: Word) -> None:
    """`-m`: a module of the standard library that is known, pip, or else code."""
    name = word.text
    given = words.rest
    run.flags.add("module")
    if word.literal and name.partition(".")[0] == "gateway":
        hand(
            findings, run, (word.replace(text="gateway"), *given), "python -m"
        )  # besides: a folder of the project may have the name
    if word.literal and name not in _MODULES:
        findings.code(run, "runs a Python program")  # whatever it loads from where
        return
    if name == "json.tool":
        given = _without_indent(given)
    texts = [one.text for one in given]
    operands = [one for one in given if one.text[:1] != "-" or one.text == "-"]
    plain = all(text[:1] != "-" or text in _PLAIN_OPTIONS for text in texts) and all(one.literal for one in given)
    if not word.literal:
        run.doubts.append("the module is not known before the run")
    elif name == "pip" and all(one.text[:1] != HOLE for one in given[:1]):
        hand(findings, run, (_beside(run.words[0], word), *given), "python -m")
    elif name == "http.server":
        _serve(findings, run, given)
    elif name == "timeit" and given and all(one.literal for one in given):
        statements = _statements(given)
        if statements is None:
            run.doubts.append("timeit's options are not described")
        else:
            program(findings, run, given[-1].replace(text="\n".join(statements)), ("-m",), words.flags)
    elif name in _PRINTERS and plain:
        pass
    elif name in ("zipfile", "tarfile") and texts[:1] in (["-l"], ["--list"]) and len(texts) == 2:
        findings.touch("read", given[1], run.cwds, run.part)
    elif name in _READERS and plain:
        for at, operand in enumerate(operands):
            if operand.text != "-":
                findings.touch("write" if name == "json.tool" and at else "read", operand, run.cwds, run.part)
    elif name == "venv" and operands:
        for operand in operands:
            findings.touch("write", operand, run.cwds, run.part, True)
        findings.code(run, "makes an environment with programs of its own")
    else:
        findings.code(run, "runs a Python program")  # whatever it loads from where
        return
    _found_modules(findings, run, word, [name.partition(".")[0]], words.flags)


def _beside(python: Word, word: Word) -> Word:
    """The program pip of the environment that a Python belongs to, which does the same."""
    folder = python.text.rpartition("/")[0] if python.literal else ""
    return word.replace(text=f"{folder}/pip" if folder.endswith("/bin") else "pip")


def _without_indent(given: tuple[Word, ...]) -> tuple[Word, ...]:
    """The one option of `json.tool` that takes a value, and its value, taken out."""
    for at, word in enumerate(given[:-1]):
        if word.text == "--indent" and given[at + 1].text.isascii() and given[at + 1].text.isdigit():
            return (*given[:at], *given[at + 2 :])
    return given


def _statements(given: tuple[Word, ...]) -> list[str] | None:
    """What timeit runs: its options end where the first statement stands."""
    found: list[str] = []
    at = 0
    while at < len(given) and given[at].text[:1] == "-":
        text = given[at].text
        if text in ("-s", "--setup", "-n", "-r", "-u") and at + 1 < len(given):
            found += [given[at + 1].text] if text[1] in "s-" else []
            at += 1
        elif text not in ("-v", "-p"):
            return None
        at += 1
    return [*found, *[word.text for word in given[at:]]]


def _serve(findings: Findings, run: Invocation, given: tuple[Word, ...]) -> None:
    port, host, folder = 8000, "0.0.0.0", Word(".", run.words[0].start, run.words[-1].end)
    at = 0
    while at < len(given):
        text = given[at].text
        value = given[at + 1] if at + 1 < len(given) else None
        if text in ("-b", "--bind") and value is not None:
            host = value.text
        elif text in ("-d", "--directory") and value is not None:
            folder = value
        elif text.isascii() and text.isdigit():
            port = int(text) if len(text) < 6 else 0
            at -= 1
        else:
            run.doubts.append(f"http.server's {text.replace(HOLE, '?')} is not described")
            at -= 1
        at += 2
    findings.connect(host, port, "listen", run.words[0], run.part)
    findings.touch("read", folder, run.cwds, run.part, True)


# What a program's deeds are as effects.


def _touched(findings: Findings, run: Invocation, word: Word, deed: tuple[Any, ...]) -> None:
    kind, path, tree = deed
    findings.touch(kind, Word(path or HOLE, word.start, word.end), run.cwds, run.part, tree)


def _copied(findings: Findings, run: Invocation, word: Word, deed: tuple[Any, ...]) -> None:
    """A copy into a folder appears under its old name."""
    for target in deed[2].texts:
        path = HOLE if target.leaf or target.below else target.text
        findings.touch("write", Word(path or HOLE, word.start, word.end), run.cwds, run.part)
        for source in deed[1].texts:
            name = source.text.rstrip("/").rpartition("/")[2]
            name = HOLE if source.leaf or source.below or not name or name == ".." or HOLE in name else name
            for cwd in run.cwds:
                folder = absolute(path or HOLE, cwd)
                if HOLE not in folder:
                    findings.ask("into", run.part, folder, name, word.start, word.end)
                    if name != HOLE:
                        findings.paths.append(absolute(name, folder))


def _shell(findings: Findings, run: Invocation, word: Word, deed: tuple[Any, ...]) -> None:
    outer, run.cwds = run.cwds, _where(run, deed[2])
    shell_text(findings, run, [Word(deed[1], word.start, word.end)], "python")
    run.cwds = outer


def _ran(findings: Findings, run: Invocation, word: Word, deed: tuple[Any, ...]) -> None:
    words = [Word(HOLE if t is None else t, word.start, word.end, t is None) for t in deed[1]]
    if words:
        findings.command(findings, tuple(words), _where(run, deed[2]), (*run.via, "python"), "", "", run)
    else:
        run.doubts.append("the Python program runs a command that is not known")


def _where(run: Invocation, folder: str | None) -> tuple[str, ...]:
    if folder is None:
        return run.cwds
    return () if HOLE in folder else tuple([absolute(folder or ".", cwd) for cwd in run.cwds])


def _connected(findings: Findings, run: Invocation, word: Word, deed: tuple[Any, ...]) -> None:
    _, place, port, direction = deed
    scheme, host, found = host_of(place)
    if scheme == "file":
        path = "/" + place.split("://", 1)[1].lstrip("/") if HOLE not in place and "%" not in place else HOLE
        findings.touch("read", Word(path, word.start, word.end), run.cwds, run.part)
    elif scheme == "data" or place[:5] == "data:":
        return
    else:
        findings.connect(host, port or found, direction, word, run.part)


def _read_variable(findings: Findings, run: Invocation, word: Word, deed: tuple[Any, ...]) -> None:
    from gateway.commands.variables import secret

    if deed[1] == "*" or secret(deed[1]):
        findings.env(deed[1], "read", word.start, word.end, run.part)


def _set_variable(findings: Findings, run: Invocation, word: Word, deed: tuple[Any, ...]) -> None:
    findings.env_set(deed[1], word, run.part)


def _signalled(findings: Findings, run: Invocation, word: Word, deed: tuple[Any, ...]) -> None:
    findings.add(Process("signal", deed[1]), word.start, word.end, run.part)


def _statement(findings: Findings, run: Invocation, word: Word, deed: tuple[Any, ...]) -> None:
    """A statement reaches the database that was opened, and with some words other files."""
    del findings, word
    for text in deed[1]:
        head, hole, _ = text.lstrip().lower().partition(HOLE)
        known = not hole or (not deed[2] and ";" not in text and head.partition(" ")[0] in _STARTS and " " in head)
        if not head or not known or any(w in head for w in ("attach", "vacuum", "load_extension")):
            run.doubts.append("the Python program's statement is not understood")


# With these a statement stays in the database, whatever stands behind them.
_STARTS = frozenset(("select", "insert", "update", "delete", "create", "drop", "alter"))


_DEEDS: dict[str, Callable[[Findings, Invocation, Word, tuple[Any, ...]], None]] = {
    "read": _touched,
    "write": _touched,
    "delete": _touched,
    "list": _touched,
    "into": _copied,
    "shell": _shell,
    "run": _ran,
    "connect": _connected,
    "environment": _read_variable,
    "set": _set_variable,
    "signal": _signalled,
    "sql": _statement,
}

HOOKS: dict[str, Callable[[Findings, Invocation], None]] = {"python": _python}
