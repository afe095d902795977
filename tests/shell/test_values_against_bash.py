"""The real bash as the judge of values: whatever it runs, with these very words, is among what was predicted."""

from __future__ import annotations

import random
import re
import shutil
import subprocess

import pytest
from fuzzing import THOROUGH

from gateway.model.effect import HOLE
from gateway.shell.folding import folded
from gateway.shell.reading import read

BASH = shutil.which("bash") or ""
pytestmark = pytest.mark.skipif(not BASH, reason="bash is not installed")
ENV = {"HOME": "/home/dev", "PATH": "/nonexistent", "LC_ALL": "C.UTF-8"}
TEXTS = 600 if THOROUGH else 150

RUNNING = r"""
command_not_found_handle() { printf '%s\0' "$@" $'\1' >&9; return $((${#1} % 2)); }
number=0
for text in "$@"; do
  ( set --; exec 9>> "../ran.$number" >/dev/null 2>&1 </dev/null; eval "$text" )
  ((number++))
done
"""


class Writer:
    """Writes texts with variables, arrays, parameters, functions and loops around programs of distinct names."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.count = 0
        self.functions: list[str] = []

    def pick(self, *choices: str) -> str:
        return self.random.choice(choices)

    def literal(self) -> str:
        return self.pick("a", "src/a.py", "-x", "'b c'", "x.tar.gz", '""', "A", "'*'", "d/", "1")

    def variable(self) -> str:
        return self.pick("u", "v", "w")

    def value(self) -> str:
        name = self.variable()
        form = self.pick("${}", '"${}"', "${{{}}}", '"${{{}}}"', '"${{{}%.*}}"', '"${{{}##*/}}"', '"${{{}:-d}}"',
                         "${{{}:1}}", '"${{{}/a/b}}"', '"${{{}^^}}"', '"${{{}+s}}"', "x${{{}}}y", '"x${}"')  # fmt: skip
        return form.format(name)

    def word(self) -> str:
        kind = self.random.randrange(10)
        if kind < 3:
            return self.literal()
        if kind < 7:
            return self.value()
        return self.pick(
            '"$1"', "$2", '"$@"', "$@", "$*", '"${a[@]}"', '"${a[1]}"', "${a[@]}", "$a", '"${a[0]}"', '"$*"'
        )

    def words(self, most: int = 3) -> str:
        return " ".join(self.word() for _ in range(self.random.randrange(most + 1)))

    def program(self) -> str:
        self.count += 1
        return f"{'c' * self.random.randrange(1, 3)}{self.count} {self.words()}"

    def assignment(self) -> str:
        name = self.variable()
        return self.pick(
            f"{name}={self.literal()}", f"{name}={self.word()}", f"{name}+={self.literal()}", f"unset {name}",
            f"a=({self.words()})", f"a=({self.literal()} {self.literal()})", "a[1]=z", f"a+=({self.literal()})",
            f"set -- {self.words()}", "shift", f"read -r {name} <<< {self.literal()}", f"{name}=$(true)",
            f"set {self.options()} {self.words()}",
            f"printf -v {name} %s {self.literal()}", f"local_{name}={self.word()}",
            f"declare {name}={self.literal()}",
        )  # fmt: skip

    def options(self) -> str:
        return self.pick("-", "+", "-h", "-Z", "-h -x --", "-o", "-o hashall", "-oh hashall", "+o nothing", "-o ''")

    def body(self, depth: int) -> str:
        return "; ".join(self.statement(depth) for _ in range(self.random.randrange(1, 3)))

    def statement(self, depth: int) -> str:
        kind = self.random.randrange(16)
        if depth <= 0 or kind < 4:
            return self.program()
        if kind < 8:
            return self.assignment()
        if kind == 8:
            return f"for {self.variable()} in {self.words() or 'a'}; do {self.body(depth - 1)}; done"
        if kind == 9:
            return f"for {self.variable()}; do {self.body(depth - 1)}; done"
        if kind == 10:
            return f"( {self.body(depth - 1)} )"
        if kind == 11:
            return f"{self.program()} {self.pick('&&', '||', '|')} {self.statement(depth - 1)}"
        if kind == 12:
            return f"if {self.program()}; then {self.body(depth - 1)}; else {self.body(depth - 1)}; fi"
        if kind == 13 and self.functions:
            return f"{self.random.choice(self.functions)} {self.words()}"
        if kind == 14:
            return "{ " + self.body(depth - 1) + "; }"
        return f"while read -r {self.variable()}; do {self.body(depth - 1)}; done <<< {self.literal()}"

    def text(self) -> str:
        lines = []
        for _ in range(self.random.randrange(2, 6)):
            if self.random.random() < 0.3 and len(self.functions) < 3:
                name = f"f{len(self.functions)}"
                local = self.pick("", f"local {self.variable()}={self.word()}; ", f"local {self.variable()}; ")
                lines.append(f"{name}() {{ {local}{self.body(1)}{self.pick('', '; return', '; return 1')}; }}")
                self.functions.append(name)
            else:
                lines.append(self.statement(2))
        return self.pick("; ", "\n").join(lines)


def matches(predicted, argv: list[str]) -> bool:
    """Whether these words are among what the predicted ones may become."""
    if not predicted:
        return not argv
    word, rest = predicted[0], predicted[1:]
    if word.splits or word.pattern is not None:
        return any(matches(rest, argv[taken:]) for taken in range(len(argv) + 1))
    if not argv:
        return False
    pattern = ".*".join(re.escape(piece) for piece in word.text.split(HOLE))
    return re.fullmatch(pattern, argv[0], re.DOTALL) is not None and matches(rest, argv[1:])


def test_every_command_runs_with_words_that_were_predicted(tmp_path):
    texts = [Writer(seed).text() for seed in range(TEXTS)]
    (tmp_path / "in").mkdir()
    subprocess.run(
        [BASH, "--norc", "--noprofile", "-c", RUNNING, "bash", *texts], cwd=tmp_path / "in", env=ENV, check=False
    )
    literal = total = 0
    for number, text in enumerate(texts):
        ran = (tmp_path / f"ran.{number}").read_text(errors="replace").split("\0\1\0")[:-1]
        script = read(text, cwds=("/p",), home="/home/dev", variables={})
        by_name: dict[str, list[tuple]] = {}
        for command in script.commands:
            by_name.setdefault(command.words[0].text, []).append(command.words)
        for answer in ran:
            argv = answer.split("\0")
            total += 1
            predicted = by_name.get(argv[0], [])
            if script.unknowns and not predicted:
                assert any(argv[0] in token for token in script.tokens), text
                continue
            assert any(matches(words[1:], argv[1:]) for words in predicted), (text, argv)
            literal += any([word.text for word in words] == argv for words in predicted)
    assert (total > TEXTS, literal > total * 0.3) == (True, True)


OPERATORS = ["%", "%%", "#", "##"]


def test_a_folded_value_is_what_bash_makes_of_it():
    choose = random.Random(7)
    values = ["src/a.py", "a.tar.gz", "ABCdef", "x", "a..b", "/usr/lib/x.so", "aXbXc", "-rf", "a=b"]
    rests = [
        choose.choice(OPERATORS) + "".join(choose.choices("a.bX/*?=", k=choose.randrange(1, 4))) for _ in range(400)
    ]
    rests += [":1", ":2:3", ":0:1", ":9", ":-d", ":+d", "-d", "+d", ":=d", ",,", "^^", ",", "^", "/a/b", "//a/b", "/X",
              "//X/", "/./_", "//b", "/=/:", "/a*/x", "@Q", ":?", "/#a/b"]  # fmt: skip
    cases = [(value, rest) for rest in rests for value in values]
    text = "".join(f"v={value}; printf '%s\\0' \"${{v{rest}}}\"\n" for value, rest in cases)
    ran = subprocess.run([BASH, "--norc"], input=text, env=ENV, capture_output=True, text=True, check=True)
    claimed = [
        (case, folded(case[1], case[0]), real) for case, real in zip(cases, ran.stdout.split("\0"), strict=False)
    ]
    known = [each for each in claimed if each[1] is not None]
    assert [each for each in known if each[1] != each[2]] == []
    assert len(known) > len(cases) * 0.9
