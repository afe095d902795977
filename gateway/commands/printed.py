"""What a command prints, as far as its own words tell: a known text, or names of files below known folders.

Only what is surely so is told. A program, option or operand that is not listed here prints something unknown.
"""

from __future__ import annotations

from gateway.commands.decoding import base64
from gateway.commands.grammar import read as read_words
from gateway.commands.invocation import Invocation, Printed
from gateway.commands.name_tests import is_hidden, looks_for_hidden, only_names
from gateway.commands.places import absolute, escaped
from gateway.model.effect import HOLE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from gateway.commands.description import Description
    from gateway.model.command import Simple, Word

    Given = Callable[[], Printed | None]

MAX_TEXT = 4096


def printed(command: Simple, words: tuple[Word, ...], description: Description, given: Given) -> Printed | None:
    """What a command with these words prints; `given` tells what it reads from its standard input. None: unknown."""
    name = words[0].text
    printer = _PRINTERS.get(name[name.rfind("/") + 1 :])
    if printer is None:
        return None
    run = Invocation(name[name.rfind("/") + 1 :], words, command.cwds, (), "", "", description)
    read_words(run)
    found = printer(run, given)
    if found is not None and found.text is not None and len(found.text) > MAX_TEXT:
        return None
    return found


# Texts.


def _echo(run: Invocation, _given: Given) -> Printed | None:
    words = list(run.words[1:])
    newline, escapes = "\n", False
    while words and words[0].literal and len(words[0].text) > 1 and not words[0].text.strip("neE")[1:]:
        text = words[0].text
        if text[0] != "-" or text[1:].strip("neE"):
            break
        newline = "" if "n" in text else newline
        escapes = escapes or "e" in text
        words.pop(0)
    text = " ".join([HOLE if word.pattern is not None else word.text for word in words]) + newline
    if "\\" in text or (words and HOLE in words[0].text[:1] and len(words[0].text) == 1 and words[0].splits):
        return None
    return Printed(text)


_ESCAPES = {"n": "\n", "t": "\t", "\\": "\\", '"': '"', "'": "'", "r": "\r"}


def _printf(run: Invocation, _given: Given) -> Printed | None:
    words = list(run.words[1:])
    if words and words[0].text == "--":
        words.pop(0)
    if not words or not words[0].literal or words[0].text[:1] == "-" or any(w.splits or w.pattern for w in words):
        return None
    pieces = _format(words[0].text)
    if pieces is None:
        return None
    values = [word.text for word in words[1:]]
    takes = sum(1 for sign, _ in pieces if sign)
    result = ""
    while True:
        for sign, text in pieces:
            if not sign:
                result += text
                continue
            value = values.pop(0) if values else "" if sign != "d" else "0"
            if (sign == "b" and "\\" in value) or (sign == "d" and not _is_plain_number(value)):
                return None
            result += value
        if not values or not takes:
            return Printed(result)


def _is_plain_number(text: str) -> bool:
    """A number that is printed as it is written: one that starts with a zero is another."""
    digits = text.removeprefix("-")
    return digits.isascii() and digits.isdecimal() and (digits == "0" or digits[0] != "0")


def _format(text: str) -> list[tuple[str, str]] | None:
    """The pieces of a format: ("", literal) and ("s", "")."""
    pieces: list[tuple[str, str]] = []
    at = 0
    while at < len(text):
        sign = text[at]
        follower = text[at + 1 : at + 2]
        if sign == "%":
            if follower == "%":
                pieces.append(("", "%"))
            elif follower and follower in "sbdi":
                pieces.append(("d" if follower in "di" else follower, ""))
            else:
                return None
            at += 2
        elif sign == "\\":
            digits = text[at + 1 : at + 4]
            octal = digits[: len(digits) - len(digits.lstrip("01234567"))]
            if octal:
                if not (letter := chr(int(octal, 8))).isascii() or not (letter in "\t\n" or letter.isprintable()):
                    return None  # a part of a letter, or a sign at which words are not divided
                pieces.append(("", letter))
                at += 1 + len(octal)
            elif follower in _ESCAPES:
                pieces.append(("", _ESCAPES[follower]))
                at += 2
            else:
                return None
        else:
            pieces.append(("", sign))
            at += 1
    return pieces


def _plain(words: tuple[Word, ...]) -> bool:
    """Known words, none of which could be an option."""
    return all(word.literal and word.text[:1] != "-" for word in words)


def _basename(run: Invocation, _given: Given) -> Printed | None:
    words = run.words[1:]
    if not 1 <= len(words) <= 2 or not _plain(words):
        return None
    path = words[0].text
    name = path.rstrip("/").rpartition("/")[2] if path.strip("/") else path[:1]
    end = words[1].text if len(words) == 2 else ""
    return Printed((name[: -len(end)] if end and name != end and name.endswith(end) else name) + "\n")


def _dirname(run: Invocation, _given: Given) -> Printed | None:
    words = run.words[1:]
    if len(words) != 1 or not _plain(words):
        return None
    path = words[0].text
    if "//" in path:
        return None
    folder, slash, _ = path.rstrip("/").rpartition("/")
    return Printed((folder or ("/" if slash or path[:1] == "/" else ".")) + "\n")


def _pwd(run: Invocation, _given: Given) -> Printed | None:
    return Printed(run.cwds[0] + "\n") if len(run.cwds) == 1 and len(run.words) == 1 else None


def _nothing(_run: Invocation, _given: Given) -> Printed | None:
    return Printed("")


# What passes its input on, whole lines of it.


def _passes(
    safe: frozenset[str], operands: int = 0, text: bool = False
) -> Callable[[Invocation, Given], Printed | None]:
    def printer(run: Invocation, given: Given) -> Printed | None:
        if run.doubts or not run.options <= safe or (operands >= 0 and len(run.operands) != operands):
            return None
        found = given()
        if found is None or text:
            return found
        return found.replace(text=None) if found.below else None

    return printer


def _sed(run: Invocation, given: Given) -> Printed | None:
    """Only `sed -n 1,5p` and `sed 5q`, which choose lines."""
    if run.doubts or not run.options <= frozenset(("-n", "--quiet", "--silent")) or len(run.operands) != 1:
        return None
    script = run.operands[0].text
    found = given() if script[-1:] in ("p", "q") and not script[:-1].strip("0123456789,$") else None
    return found.replace(text=None) if found is not None and found.below else None


# What names files.


def _names(run: Invocation, roots: list[Word], *, bare: bool) -> Printed | None:
    """Names that each begin with one of the roots as written, or, where there are none, lie below the folder. `bare`:
    without a root, the names stand alone and may look like options."""
    below: list[str] = []
    asks: list[tuple[str, str]] = []
    if not run.cwds or run.doubts:
        return None
    for cwd in run.cwds:
        for word in roots:
            text = word.text
            if word.pattern is not None and HOLE not in text:
                text = word.pattern.partition("*")[0].partition("?")[0].partition("[")[0].rpartition("/")[0] or "."
                text = "/" if text == "." and word.pattern[:1] == "/" else text
                if word.pattern[:1] in "*?[":
                    asks.append(("dash", absolute(word.pattern, escaped(cwd))))
            elif not word.literal or not text or text[0] == "-":
                return None
            if ".." in text.lstrip("./").split("/"):  # a link may stand before it
                return None
            below.append(absolute(text, cwd))
        if not roots:
            below.append(cwd)
            if bare:
                asks.append(("dash", absolute("-*", escaped(cwd))))
    below = list(dict.fromkeys(below))
    return Printed(None, tuple(below), (*dict.fromkeys(asks), *[("names", folder) for folder in below]), run.cwds)


def _find(run: Invocation, _given: Given) -> Printed | None:
    if not run.options.isdisjoint(_FIND_PRINTS) or looks_for_hidden(run):
        return None
    found = _names(run, [word for word in run.operands if word.text not in run.spec.get("ignored", ())], bare=False)
    return None if found is None else found.replace(skips=only_names(run))


_FIND_PRINTS = frozenset(
    ("-printf", "-ls", "-exec", "-execdir", "-ok", "-okdir", "-files0-from", "-f", "-D", "-help", "--help", "--version",
     "-version", "-L", "-follow")
)  # fmt: skip


def _fd(run: Invocation, _given: Given) -> Printed | None:
    return _names(run, run.operands[1:], bare=True) if run.options <= _FD else None


_FD = frozenset(
    ("-e", "--extension", "-t", "--type", "-H", "--hidden", "-I", "--no-ignore", "-u", "--unrestricted", "-g", "--glob",
     "-F", "--fixed-strings", "-i", "--ignore-case", "-s", "--case-sensitive", "-d", "--max-depth", "-E", "--exclude",
     "-0", "--print0", "-S", "--size", "--changed-within", "--newer", "--changed-before",
     "--older", "--min-depth", "-p", "--full-path")
)  # fmt: skip


def _rg(run: Invocation, given: Given) -> Printed | None:
    if not run.options <= _RG:
        return None
    if run.options.isdisjoint(("-l", "--files-with-matches", "--files-without-match", "--files")):
        found = given() if len(run.operands) == 1 and run.options <= _GREP_LINES else None
        return found.replace(text=None) if found is not None and found.below else None
    lead = 0 if not run.options.isdisjoint(("--files", "-e", "--regexp")) else 1
    return _names(run, run.operands[lead:], bare=True)


_GREP_LINES = frozenset(
    ("-v", "--invert-match", "-i", "--ignore-case", "-E", "--extended-regexp", "-F", "--fixed-strings", "-w", "-x",
     "--word-regexp", "--line-regexp", "-P", "--perl-regexp", "-G", "--basic-regexp", "-S", "--smart-case", "-m",
     "--max-count", "-z", "--null-data")
)  # fmt: skip
_RG = _GREP_LINES | frozenset(
    ("-l", "--files-with-matches", "--files-without-match", "--files", "-g", "--glob", "--iglob", "-t", "--type", "-T",
     "--type-not", "-s", "--case-sensitive", "-u", "--unrestricted", "--hidden", "-.", "--no-ignore", "-0", "--null",
     "-e", "--regexp", "-U", "--multiline", "--max-depth", "--maxdepth", "-d", "-j", "--threads", "--sort",
     "--sortr", "-n", "--line-number", "--no-ignore-vcs", "--no-messages", "-q", "--quiet", "--pcre2", "--encoding",
     "--search-zip")
)  # fmt: skip


def _grep(run: Invocation, given: Given) -> Printed | None:
    lists = not run.options.isdisjoint(("-l", "--files-with-matches", "-L", "--files-without-match"))
    if not lists:
        found = given() if len(run.operands) == 1 and run.options <= _GREP_LINES and not run.doubts else None
        return found.replace(text=None) if found is not None and found.below else None
    lead = 0 if not run.options.isdisjoint(("-e", "--regexp")) else 1
    recursive = not run.options.isdisjoint(("-r", "--recursive"))
    if not run.options <= _GREP or (len(run.operands) <= lead and not recursive):
        return None
    return _names(run, run.operands[lead:], bare=True)


_GREP = _GREP_LINES | frozenset(
    ("-l", "--files-with-matches", "-L", "--files-without-match", "-r", "--recursive", "-n", "--line-number",
     "--include", "--exclude", "--exclude-dir", "-s", "--no-messages", "-e", "--regexp", "-Z", "--null", "-I", "-a",
     "--text", "-H", "--with-filename", "-y")
)  # fmt: skip


def _git(run: Invocation, _given: Given) -> Printed | None:
    """Names that git prints are relative and lie below the folder, unless a pathspec leads upward."""
    subcommand = run.subcommands[0] if run.subcommands else ""
    if subcommand in _HASHES:
        return Printed(revisions=True) if _prints_hashes(run, subcommand) else None
    safe, wanted = _GIT.get(subcommand, (frozenset(), frozenset()))
    if (
        subcommand not in _GIT
        or not run.options - {"--no-pager"} <= safe
        or (wanted and run.options.isdisjoint(wanted))
    ):
        return None
    for word in (*run.operands, *(run.after or ())):
        text = word.text
        if ".." in text.split("/") or text[:1] in (":", "/", "~") or is_hidden(text) or HOLE in text or word.splits:
            return None
    found = _names(run, [], bare=True)
    kept = run.options.isdisjoint(("-o", "--others", "-i", "--ignored"))
    return found.replace(skips="untracked") if found is not None and kept else found


_CHOOSING = frozenset(
    ("-n", "--max-count", "-NUM", "--all", "--no-merges", "--merges", "--first-parent", "--reverse", "--since",
     "--after", "--until", "--before", "--author", "--grep", "--skip", "--no-pager")
)  # fmt: skip
_HASHES = {
    "merge-base": frozenset(("-a", "--all", "--fork-point", "--octopus", "--independent", "--no-pager")),
    "rev-parse": frozenset(("--verify", "--short", "-q", "--quiet", "--no-pager")),
    "rev-list": _CHOOSING,
    "log": _CHOOSING | {"--format", "--pretty"},
}


def _prints_hashes(run: Invocation, subcommand: str) -> bool:
    """Whether git prints nothing but hashes. What `rev-parse` does not know, it prints as it stands."""
    if run.doubts or not run.options <= _HASHES[subcommand]:
        return False
    if subcommand == "log":
        formats = [word.text for word in run.words if word.text.startswith(("--format", "--pretty", "--p", "--form"))]
        return len(formats) == 1 and formats[0].partition("=")[2] in ("%h", "%H", "format:%h", "format:%H")
    if subcommand == "rev-parse" and "--verify" not in run.options:
        return all(word.literal and word.text.rstrip("~^0123456789") in ("HEAD", "@") for word in run.operands)
    return True


_GIT = {
    "ls-files": (
        frozenset(("-c", "--cached", "-o", "--others", "-m", "--modified", "-d", "--deleted", "-z",
                   "--exclude-standard", "-i", "--ignored", "-x", "--exclude", "--deduplicate", "--full-name")),
        frozenset(),
    ),
    "diff": (
        frozenset(("--name-only", "--cached", "--staged", "--diff-filter", "-z", "--relative", "-M",
                   "--find-renames", "--no-renames", "--merge-base")),
        frozenset(("--name-only",)),
    ),
    "grep": (
        frozenset(("-l", "--files-with-matches", "--name-only", "-i", "--ignore-case", "-w", "--word-regexp", "-E",
                   "--extended-regexp", "-F", "--fixed-strings", "-e", "-z", "--null", "-I", "-P", "--perl-regexp")),
        frozenset(("-l", "--files-with-matches", "--name-only")),
    ),
    "ls-tree": (frozenset(("-r", "--name-only", "-z")), frozenset(("--name-only",))),
}  # fmt: skip


def _ls(run: Invocation, _given: Given) -> Printed | None:
    """Files of a glob as they are spelled; what a folder holds by bare names, as if it lay here."""
    if not run.options <= _LS:
        return None
    found = _names(run, run.operands, bare=True)
    if found is None or not run.operands or "-d" in run.options:
        return found
    asks = [("dash", f"{absolute(word.pattern or escaped(word.text), escaped(cwd))}/-*")
            for cwd in run.cwds for word in run.operands]  # fmt: skip
    below = tuple(dict.fromkeys((*found.below, *run.cwds)))
    return Printed(None, below, (*found.asks, *dict.fromkeys(asks), *[("names", cwd) for cwd in run.cwds]), run.cwds)


_LS = frozenset(("-1", "-d", "--directory", "-t", "-r", "--reverse", "-S", "-U", "-X", "-v", "-c", "-u"))

_QUIET: frozenset[str] = frozenset()
_PRINTERS: dict[str, Callable[[Invocation, Given], Printed | None]] = {
    "echo": _echo,
    "printf": _printf,
    "basename": _basename,
    "dirname": _dirname,
    "pwd": _pwd,
    "true": _nothing,
    ":": _nothing,
    "base64": base64,
    "cat": _passes(frozenset(("-u",)), text=True),
    "tee": _passes(frozenset(("-a", "--append", "-i", "--ignore-interrupts")), -1, text=True),
    "head": _passes(frozenset(("-n", "--lines", "-NUM", "-q", "--quiet", "--silent", "-z"))),
    "tail": _passes(frozenset(("-n", "--lines", "-NUM", "-q", "--quiet", "--silent", "-z"))),
    "sort": _passes(
        frozenset(("-u", "--unique", "-r", "--reverse", "-n", "--numeric-sort", "-V", "--version-sort", "-f",
                   "--ignore-case", "-h", "--human-numeric-sort", "-R", "--random-sort", "-z", "--zero-terminated"))
    ),
    "uniq": _passes(frozenset(("-u", "--unique", "-d", "--repeated", "-i", "--ignore-case", "-z"))),
    "shuf": _passes(frozenset(("-n", "--head-count", "-z", "--zero-terminated"))),
    "tac": _passes(_QUIET),
    "sed": _sed,
    "find": _find,
    "fd": _fd,
    "fdfind": _fd,
    "rg": _rg,
    "grep": _grep,
    "egrep": _grep,
    "fgrep": _grep,
    "git": _git,
    "ls": _ls,
}  # fmt: skip
