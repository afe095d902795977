"""The same command in other words: quoting, order and spelling of options, wrappers, white space, control flow.

Every variation does what the plain command does, or less; none may be judged milder.
"""

from __future__ import annotations

import base64
import random
import re
from typing import TYPE_CHECKING

from oracle.texts import Text

if TYPE_CHECKING:
    from collections.abc import Callable

# Commands that can be taken apart at their blanks, and put together again.
_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9_.+-]*( [A-Za-z0-9_./:,@+=~-]+)*")
# What means something only in the shell that it is said to, or ends it.
_OF_THE_SHELL = frozenset((
    "cd", "pushd", "popd", "dirs", "exit", "return", "exec", "export", "unset", "set", "shift", "source", "eval",
    "alias", "unalias", "declare", "typeset", "local", "readonly", "read", "mapfile", "readarray", "trap", "wait",
    "jobs", "fg", "bg", "disown", "history", "fc", "bind", "complete", "compgen", "compopt", "enable", "builtin",
    "command", "umask", "ulimit", "hash", "let", "getopts", "shopt", "test", "time", "coproc", "if", "for", "while",
    "until", "case", "select", "function", "type", "times", "suspend", "logout", "break", "continue", "caller",
    "help", "then", "else", "elif", "fi", "do", "done", "esac", "in",
))  # fmt: skip
# Flags without a value and their long forms, of programs that let options stand anywhere.
FLAGS: dict[str, dict[str, str]] = {
    "rm": {"r": "recursive", "f": "force", "v": "verbose", "d": "dir"},
    "cp": {"r": "recursive", "f": "force", "v": "verbose", "p": "", "a": "archive", "L": "dereference",
    "n": "no-clobber"},
    "mv": {"f": "force", "v": "verbose", "n": "no-clobber"},
    "ls": {"a": "all", "l": "", "h": "human-readable", "R": "recursive", "r": "reverse", "t": "", "1": ""},
    "grep": {"r": "recursive", "i": "ignore-case", "n": "line-number", "v": "invert-match", "l": "files-with-matches",
             "c": "count", "w": "word-regexp", "F": "fixed-strings", "E": "extended-regexp"},
    "mkdir": {"p": "parents", "v": "verbose"},
    "chmod": {"R": "recursive", "v": "verbose", "f": "silent"},
    "wc": {"l": "lines", "w": "words", "c": "bytes"},
    "sort": {"r": "reverse", "n": "numeric-sort", "u": "unique"},
    "cat": {"n": "number", "A": "show-all", "b": "number-nonblank", "s": "squeeze-blank"},
    "du": {"s": "summarize", "h": "human-readable", "a": "all"},
    "ln": {"s": "symbolic", "f": "force", "v": "verbose"},
    "touch": {"a": "", "m": "", "c": "no-create"},
}  # fmt: skip


def words_of(text: str) -> list[str] | None:
    """The words of a plain command, None for any other text."""
    if not _PLAIN.fullmatch(text):
        return None
    words = text.split(" ")
    return None if words[0] in _OF_THE_SHELL or "=" in words[0] else words


def varied(texts: list[Text], seed: int, each: int = 1) -> list[Text]:
    """So many variations of every plain command among the texts; the same for the same seed."""
    found = []
    for text in texts:
        words = words_of(text.text)
        if words is None:
            continue
        choose = random.Random(f"{seed} {text.text}")
        found += [Text(f"{text.id}~{number}", variation(words, choose), text.cwd) for number in range(each)]
    return found


def variation(words: list[str], choose: random.Random) -> str:
    """One other way to say a command: up to three changes of words, then wrappers, then what stands around them."""
    words = list(words)
    if choose.random() < 0.5:
        words = options(words, choose)
    inner = False
    text = joined([quoted(word, choose) if choose.random() < 0.6 else word for word in words], choose)
    for _ in range(choose.choice((0, 0, 1, 1, 2, 3))):
        text = choose.choice(WRAPPERS)(text, choose)
        inner = True
    for _ in range(choose.choice((0, 1, 1, 2) if inner else (1, 1, 2))):
        text = choose.choice(AROUND)(text)
    return text


# Words.


def quoted(word: str, choose: random.Random) -> str:
    """A word in other quotes. One that the shell reads as more than text stays as it is."""
    if word.startswith("~") or "=~" in word or ":~" in word:
        return word
    cut = choose.randrange(len(word) + 1)
    pieces = [piece for piece in (word[:cut], word[cut:]) if piece]
    return "".join(choose.choice(QUOTES)(piece) for piece in pieces) + choose.choice(("", "", '""', "''"))


QUOTES: tuple[Callable[[str], str], ...] = (
    lambda text: text,
    lambda text: f"'{text}'",
    lambda text: f'"{text}"',
    lambda text: "".join("\\" + letter for letter in text),
    lambda text: "$'" + "".join(f"\\x{ord(letter):02x}" for letter in text) + "'",
    lambda text: f"$'{text}'",
    lambda text: f"{text[:1]}\\\n{text[1:]}",
)


def options(words: list[str], choose: random.Random) -> list[str]:
    """Flags in another order, in clusters, apart, in full, shortened, behind the operands."""
    known = FLAGS.get(words[0])
    if known is None or "--" in words:
        return words
    flags, rest = [], []
    for word in words[1:]:
        letters = word[1:]
        if word.startswith("-") and letters and all(letter in known for letter in letters):
            flags += list(letters)
        elif word.startswith("-"):
            return words
        else:
            rest.append(word)
    choose.shuffle(flags)
    written = []
    while flags:
        long = known[flags[0]]
        if long and choose.random() < 0.4:
            written.append("--" + (long if choose.random() < 0.5 else long[: max(4, len(long) - 2)]))
            flags = flags[1:]
            continue
        many = choose.randrange(1, len(flags) + 1)
        written.append("-" + "".join(flags[:many]))
        flags = flags[many:]
    for flag in written:
        rest.insert(choose.randrange(len(rest) + 1), flag)
    return [words[0], *rest]


def joined(words: list[str], choose: random.Random) -> str:
    """Words with white space between them."""
    text = words[0]
    for word in words[1:]:
        text += choose.choice((" ", " ", " ", "  ", "\t", " \\\n", " \\\n  ")) + word
    return text


# Wrappers: each hands a simple command on.


def _single(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


WRAPPERS: tuple[Callable[[str, random.Random], str], ...] = (
    lambda text, _: f"env {text}",
    lambda text, _: f"env A=1 {text}",
    lambda text, choose: f"timeout {choose.choice(('5', '-k 1 5', '--signal=KILL 5s'))} {text}",
    lambda text, choose: f"nice {choose.choice(('', '-n 3 ', '--adjustment=1 '))}{text}",
    lambda text, _: f"command {text}",
    lambda text, _: f"command -p {text}",
    lambda text, _: f"nohup {text}",
    lambda text, _: f"stdbuf -o0 {text}",
    lambda text, _: f"setsid -w {text}",
    lambda text, choose: f"{choose.choice(('bash', 'sh', '/bin/sh', 'bash -e', 'bash --norc'))} -c {_single(text)}",
    lambda text, _: f"eval {_single(text)}",
    lambda text, _: (
        f"eval {text}" if "\\" not in text and "'" not in text and '"' not in text else f"eval {_single(text)}"
    ),
    lambda text, _: f"find . -maxdepth 0 -exec {text} \\;",
    lambda text, _: f"find . -maxdepth 0 -exec sh -c {_single(text)} \\;",
)
# Wrappers that add words nobody knows, or hand on a text that another program wrote: what is denied may be asked about.
HIDING: tuple[Callable[[str, random.Random], str], ...] = (
    lambda text, _: f"xargs {text} < /dev/null",
    lambda text, _: f"echo | xargs {text}",
    lambda text, _: f"printf '%s\\0' {_single(text)} | xargs -0 -n 1 bash -c",
    lambda text, _: f"printf '%s\\0' {_single(text)} | xargs -0 -I[] sh -c []",
    lambda text, _: f"echo {_single(text)} | sh",
    lambda text, _: f'x={_single(text)}; eval "$x"',
    lambda text, _: f"base64 -d <<< {base64.b64encode(text.encode()).decode()} | bash",
)


# What stands around a whole text.

AROUND: tuple[Callable[[str], str], ...] = (
    lambda text: f"( {text} )",
    lambda text: f"{{ {text}; }}",
    lambda text: f"{{\n{text}\n}}",
    lambda text: f"if true; then {text}; fi",
    lambda text: f"if {text}; then :; fi",
    lambda text: f"for i in 1 2; do {text}; done",
    lambda text: f"while {text}; do break; done",
    lambda text: f"until {text}; do break; done",
    lambda text: f"f() {{ {text}; }}; f",
    lambda text: f"case x in x) {text} ;; esac",
    lambda text: f"true && {text}",
    lambda text: f"false || {text}",
    lambda text: f"! {text}",
    lambda text: f'echo "$({text})"',
    lambda text: f"x=$({text}); echo done",
    lambda text: f"cat <({text})",
    lambda text: f"{text} | cat",
    lambda text: f"true | {text}",
    lambda text: f"{text} &\nwait",
    lambda text: f"{text} # and no more",
    lambda text: f"\n# first\n  {text}\n\n",
    lambda text: f"[[ -n x ]] && {text}",
    lambda text: f"time {text}",
    lambda text: f"{text} 2>/dev/null",
    lambda text: f"bash <<'E'\n{text}\nE",
    lambda text: f"bash <<< {_single(text)}",
)
