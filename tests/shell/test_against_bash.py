"""The real bash as the judge: of words, here-documents, and of which commands run."""

from __future__ import annotations

import random
import shutil
import subprocess

import pytest
from fuzzing import share
from hypothesis import given
from hypothesis import strategies as st

from gateway.model.effect import HOLE
from gateway.shell.reading import read as read_text

BASH = shutil.which("bash") or ""
HOME = "/home/dev"
SETTING = "V=val; W='two words'; E=; G='x*'; T=' t '; "
ENV = {"HOME": HOME, "PATH": "/nonexistent", "LC_ALL": "C.UTF-8"}

pytestmark = pytest.mark.skipif(not BASH, reason="bash is not installed")

WORDS = [
    # Quotes.
    "a", "a b c", "'a b'", '"a b"', "a' 'b", "a\\ b", "''", '""', "''a", "a''", "'a'\"b\"c", "\\a", "\\\\", "\\'",
    '\\"',
    "'\\'", '"\\\\"', '"\\""', "'\"'", "\"'\"", '"a\\b"', '"a\\$b"', '"\\`"', "a\\\nb", '"a\\\nb"', "'a\\\nb'",
    "a \\\n b",
    "'a\nb'", '"a\nb"', "\\#a", "a#b", "'#'", "a #b", "a \\ #b", "\\ ", "'a'\\''b'", "é", "'é'", "\\é", '"日本"',
    "a\tb",
    # ANSI-C quotes.
    "$'a'", "$'a b'", "$'\\n'", "$'\\t\\v\\f\\a\\b\\r'", "$'\\\\'", "$'\\''", "$'\\\"'", "$'\\x41'", "$'\\x4'",
    "$'\\x4g'",
    "$'\\101'", "$'\\1011'", "$'\\u41'", "$'\\U41'", "$'\\e'", "$'\\E'", "$'\\?'", "$'\\q'", "$'\\xz'", "$'\\u'",
    "$'a\nb'",
    "$'\\303\\251'", "a$'b'c", "$'r''m'", "$'\\cA'", "$'\\x{41}'", "$'\\0'", "$'a\\0b'", "$'\\u00e9'", "$'\\377'",
    "$'\\8'", "$''", '$"a b"', '$"a $V"', "\"$'a'\"", "'$'a", "\\$'a'", "$'é'", "$'\\é'",
    # Braces.
    "{a,b}", "x{a,b}y", "{a,b}{c,d}", "{a,{b,c}}", "{a}", "{}", "{,}", "{a,}", "{,a}", "x{,}", "{a,b", "a,b}",
    "{{a,b}",
    "{a,b}}", "{a{b,c}}", "{a}{b,c}", "a{}b{c,d}", "{},{a,b}", "{a,}b}", "\\{a,b}", "{a\\,b}", "{a,b\\}", "'{a,b}'",
    '"{a,b}"', '{"a,b",c}', "{'a b',c}", "{1..3}", "{3..1}", "{1..9..3}", "{9..1..3}", "{01..3}", "{-1..1}", "{a..e}",
    "{e..a..2}", "{1..a}", "{1..}",
    "{1..", "{1..}b}", "{..1}", "{1..2..3..4}", "{1..2..0}", "x{1..2}{a,b}", "{1..3}.{a,b}", "{~,~/x}",
    "{$V,b}", "${V}{a,b}", "{a,b}$V", "a{b,c}'{d,e}'", "{a,b}/{c,d}.py", "{\\a,b}", "{a,b}=c", "a={b,c}", "$'{'a,b}",
    "{{1..2},{a,b}}", "{a,b}{", "}{a,b}", "{a..c}{1..2}", "--x={a,b}", "{+1..3}", "{1..3",
    "{9223372036854775806..9223372036854775808}", "{1..9223372036854775808..9223372036854775807}",
    # Tildes.
    "~", "~/", "~/x", "~/'x y'", "'~'", "\\~", '"~"', "a~", "~'/x'", "~\\/x", "x=~", "x=~/y", "x=a:~", "--x=~/y",
    "a:~",
    "~/{a,b}", "x=~/{a,b}", "~$V", "~/$V", "~+", "a=b=~", "x='~'", "x=\\~/y", "\"x\"=~/y", "1x=~/y", "x+=~/y", "~a:b",
    # Known variables.
    "$V", "${V}", '"$V"', '"${V}"', "a$V", "a${V}b", "$V$V", "$W", '"$W"', "a$W", "${W}b", "a$W'b c'", "$E", '"$E"',
    "a$E",
    "$T", "$T'b'", "a$T'b'", "a$T", "$T$T", '"$T"b', "$V$T$V", "$E$T$E",
    "$E$V", "$E''", "'$V'", "\\$V", '"\\$V"', "$Vx", "${V}x", '"$V x"', "$W$W", "$E $V", "$", "a$", '"$"', "$ a",
    "$V$", "$W$", "$W'$'", '$W"$"',
    "${V:-x}", "${V-x}", "${E:-x}", "$%", "$.", '"$ "',
    # Globs that match nothing stay as they are.
    "*", "a*", "?", "[ab]", "[", "]", "[a", "a]", "'*'", "\\*", '"*"*', "[!a]", "[^a]", "[a-c]x", "a[b]'*'", "$G",
    '"$G"',
    # Several at once.
    "--a='b c' -d\"$V\"e {f,g}h ~/i", "a'b'\"c\"\\d$'e'$V{f,g}", "'a' \\b \"c\" $'d' e", "x=\"$W\" y='z'", "-n\"$E\"",
]  # fmt: skip

SCRIPT = r"""
probe() { printf '%s\0' "$#" "$@"; }
for text in "$@"; do
  case ${text//'${'[VWET]'}'} in
    *'${'*) ( eval "$text" 2>/dev/null ) ;; # which may end the shell, as a bad substitution does
    *) eval "$text" 2>/dev/null ;;
  esac
  printf 'end\0'
done
"""


def in_bash(texts: list[str], folder: object) -> list[list[str] | None]:
    """What bash gives to `probe` in each text; None where it gives up."""
    ran = subprocess.run(
        [BASH, "--norc", "--noprofile", "-c", SCRIPT, "bash", *texts],
        cwd=str(folder),
        env=ENV,
        capture_output=True,
        check=True,
    )
    parts = iter(ran.stdout.decode("utf-8", "surrogateescape").split("\0"))
    answers: list[list[str] | None] = []
    for _ in texts:
        head = next(parts)
        answers.append(None if head == "end" else [next(parts) for _ in range(int(head))])
        assert head == "end" or next(parts) == "end"
    return answers


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return str(tmp_path_factory.mktemp("empty"))


@pytest.fixture(scope="module")
def words_of_bash(folder):
    return dict(zip(WORDS, in_bash([SETTING + "probe " + text for text in WORDS], folder), strict=True))


def test_the_table_is_as_large_as_it_should_be():
    assert len(set(WORDS)) == len(WORDS) >= 200


@pytest.mark.parametrize("text", WORDS)
def test_no_word_is_claimed_that_bash_does_not_make(text, words_of_bash, folder):
    check(read_text(SETTING + "probe " + text, cwds=(folder,), home=HOME, variables={}), words_of_bash[text])


def check(script, expected):
    if script.unknowns:
        return
    words = next(c for c in script.commands if c.words[0].text == "probe").words[1:]
    assert expected is not None, "bash does not accept it"
    if any(word.splits for word in words):
        return
    assert len(words) == len(expected)
    claimed = [(word.text, real) for word, real in zip(words, expected, strict=True) if HOLE not in word.text]
    assert [mine for mine, _ in claimed] == [real for _, real in claimed]


LETTERS = ["a", "-", "/", "=", ":", "~", "{", "}", ",", "{a,b}", "{1..3}", "..", "'x y'", "\\ ", "\\\\", "\\'", '\\"',
           "$'\\x41'", "$'a\\'b'", '$"q"', '"a b"', '"\\$x"', "''", '""', "*", "?", "[", "]", "[ab]", "#", " #c",
           "!", "$V",
           "$W", "$E", "${V}", '"$V"', '"${W}"', "$", "%", "@", "+", "^", "é", " ", "~/", "x=~/y", ":~", "a=~", '"*"',
           "$'\\303\\251'", "${V:-z}", "{~,b}", "\\{a,b}", "{a,b\\}", "\\\n", "$'\\0'", "PATH=", "_", "."]  # fmt: skip


def test_random_words_agree_with_bash(folder):
    choose = random.Random(20_260)
    texts = list({"".join(choose.choices(LETTERS, k=choose.randrange(1, 9))) for _ in range(1_500)})
    texts = [text for text in texts if not text.startswith("/") and " /" not in text]  # no glob below the root
    full = [SETTING + "probe " + text for text in texts]
    for text, expected in zip(full, in_bash(full, folder), strict=True):
        check(read_text(text, cwds=(folder,), home=HOME, variables={}), expected)


# Quoting.

ARGUMENT = st.text(
    st.characters(exclude_characters="\0", exclude_categories=("Cs", "Cc", "Cf", "Zl", "Zp")), max_size=12
)


def single(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


def double(text: str) -> str:
    for letter in '\\"$`':
        text = text.replace(letter, "\\" + letter)
    return f'"{text}"'


def escaped(text: str) -> str:
    return "".join(letter if letter == "\n" else "\\" + letter for letter in text) or "''"


def ansi(text: str) -> str:
    return "$'" + "".join(f"\\x{byte:02x}" for byte in text.encode()) + "'"


QUOTERS = st.sampled_from([single, double, escaped, ansi])


@given(st.lists(st.tuples(ARGUMENT, QUOTERS, QUOTERS, st.integers(0, 12)), min_size=1, max_size=4))
def test_quoting_round_trips(arguments):
    written = [first(text[:cut]) + second(text[cut:]) for text, first, second, cut in arguments]
    script = read_text("probe " + " ".join(written), cwds=("/p",), home=HOME, variables={})
    shown = any("\\" + letter in word for word in written for letter in "\u00a0\u3000\u115f\u1160\u3164\uffa0\u2800")
    if not script.unknowns:
        assert [word.text for word in script.commands[0].words[1:]] == [text for text, *_ in arguments]
        assert all(word.literal for word in script.commands[0].words)
    else:
        assert shown or any(not letter.isascii() for word in written for letter in word)


# Here-documents.

BODIES = [
    "plain\n", "$V ${V} $W\n", "\\$V \\\\ \\a \\` \\\"\n", "'$V' \"$V\"\n", "a\\\nb\n", "a\\\\\nb\n", "\tx\n",
    " E\n", "E x\n",
    "\n\n", "", "#c\n", "a\nb\nc\n", "{a,b} ~ *\n", "$E.\n", "é $'x'\n", "$ a $.\n", "a;b|c\n", "\\\nx\n", "$\n",
]  # fmt: skip
MARKS = ["<<E", "<< E", "<<-E", "<<'E'", '<<"E"', "<<\\E", "<<-'E'"]


@pytest.mark.parametrize("mark", MARKS)
@pytest.mark.parametrize("body", BODIES)
def test_the_text_of_a_here_document_is_what_bash_gives(mark, body, tmp_path):
    text = f"{SETTING}probe {mark}\n{body}E\n"
    script = read_text(text, cwds=("/p",), home=HOME, variables={})
    reading = 'probe() { local IFS=; while read -r line; do printf "%s\\n" "$line"; done; }; '
    ran = subprocess.run(
        [BASH, "-c", reading + text], cwd=tmp_path, env=ENV, capture_output=True, text=True, check=True
    )
    assert (script.unknowns, script.commands[-1].stdin_text) == ((), ran.stdout)


# Which commands run.


class Writer:
    """Writes shell texts that bash accepts, most of the time, in which every program has a name of its own."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.count = 0
        self.marks: list[str] = []

    def pick(self, *choices: str) -> str:
        return self.random.choice(choices)

    def name(self) -> str:
        self.count += 1
        return f"c{self.count}"

    def word(self, depth: int) -> str:
        kind = self.random.randrange(12 if depth > 0 else 5)
        if kind < 3:
            return self.pick(
                "a", "-x", "1", "in", "do", "a#b", "}", "!", "]", "time", "case", "esac", "~", "{a,b}", "[[", "x=1"
            )
        if kind < 4:
            return "'" + self.pick("", "a b", "$(no)", "`", '"', "#", "<<E", "\\") + "'"
        if kind < 5:
            return self.pick("$'a\\'b'", '$"x"', "\\ ", "\\'", '\\"', "a\\\nb", "\\#", "$x", "$#", '"$@"', "$", "\\$")
        if kind < 8:
            return self.substitution(depth - 1)
        if kind < 9:
            return f'"{self.pick("", "it", "#")}{self.substitution(depth - 1)}"'
        if kind < 10:
            return (
                "${" + self.pick("x", "u") + self.pick(":-", "-", "+", "#", "//a/") + self.substitution(depth - 1) + "}"
            )
        if kind < 11:
            return self.pick("<(", ">(") + self.list(depth - 1) + ")"
        return "$((1+2))"

    def substitution(self, depth: int) -> str:
        if self.random.random() < 0.3:
            return f"`{self.name()} a`"
        return "$(" + self.pick("", " ", "\n") + self.list(depth) + self.pick("", " ", "\n") + ")"

    def simple(self, depth: int) -> str:
        name = self.name()
        parts = [self.pick("", "", "", "", "A=1 ", "C+=x ", ">f ", "2>&1 ")]
        parts.append(
            self.pick(name, name, name, f"'{name}'", f"{name[0]}''{name[1:]}", f"\\{name}", f"{name[0]}\\\n{name[1:]}")
        )
        parts += [self.pick(" ", "  ", " \\\n ") + self.word(depth) for _ in range(self.random.randrange(3))]
        parts.append(self.pick("", "", "", " >f", " 2>/dev/null", " &>h", " <<< x", " {fd}>q", " >|f"))
        if self.random.random() < 0.1:
            self.marks.append(self.pick("E", "'E'", "\\E", "-E"))
            parts.append(" <<" + self.marks[-1])
        return "".join(parts)

    def line_end(self) -> str:
        text = "\n"
        for mark in self.marks:
            quoted = mark[0] in "'\\"
            text += self.pick(
                "", "text\n", "it's\n", "E x\n", '"\n', "a\\\nE\n" if not quoted else "", f"$({self.name()})\n"
            )
            text += "E\n"
        self.marks = []
        return text

    def separator(self) -> str:
        return self.line_end() if self.marks or self.random.random() < 0.3 else self.pick("; ", ";", " ; ")

    def statement(self, depth: int) -> str:
        kind = self.random.randrange(20)
        inner, end = self.list, self.separator
        if depth <= 0 or kind < 8:
            return self.simple(depth)
        depth -= 1
        if kind == 8:
            return f"( {inner(depth)} )"
        if kind == 9:
            return "{ " + inner(depth) + end() + "}" + self.pick("", " >f")
        if kind == 10:
            return "if " + inner(depth) + end() + "then " + inner(depth) + end() + "else " + inner(depth) + end() + "fi"
        if kind == 11:
            return "for i in " + self.word(depth) + " w" + end() + "do " + inner(depth) + end() + "done"
        if kind == 12:
            return (
                "case w in (a|b) "
                + inner(depth)
                + " ;; *) "
                + inner(depth)
                + self.pick(" ;;", " ;& z) " + self.name())
                + end()
                + "esac"
            )
        if kind == 13:
            return "! " + self.statement(depth)
        if kind == 14:
            return self.pick("time ", "time -p ") + self.statement(depth)
        if kind == 15:
            return self.pick("f() ", "function f ") + "{ " + inner(depth) + end() + "}; f"
        if kind == 16:
            return "while " + inner(depth) + end() + "do " + inner(depth) + end() + "break; done"
        if kind == 17:
            return "[[ -n " + self.word(depth) + self.pick("", " && a == b", " && a =~ ^a(b|c)") + " ]]"
        if kind == 18:
            return "export Z=" + self.word(depth)
        return "a=(" + self.word(depth) + " " + self.word(depth) + ")"

    def list(self, depth: int) -> str:
        text = self.statement(depth)
        while self.random.random() < 0.4:
            joint = self.pick(" | ", "|", " && ", "||", " |& ", self.separator(), self.separator())
            text += joint + self.statement(depth)
        if self.marks:
            text += self.line_end() + self.simple(0)
        return text


RUNNING = r"""
command_not_found_handle() { printf '%s\0' "$1" >&9; return 1; }
number=0
for text in "$@"; do
  ( exec 9>> "../ran.$number" >/dev/null 2>&1 </dev/null; eval "$text"; wait )
  ((number++))
done
"""


def test_every_command_that_bash_runs_was_found(tmp_path):
    texts = [Writer(seed).list(seed % 4) for seed in share(range(400), 3)]
    (tmp_path / "in").mkdir()
    command = [BASH, "--norc", "--noprofile", "-c", RUNNING, "bash", *texts]
    subprocess.run(command, cwd=tmp_path / "in", env=ENV, check=False)
    answers = [(tmp_path / f"ran.{number}").read_text(errors="replace") for number in range(len(texts))]
    understood = 0
    for text, answer in zip(texts, answers, strict=True):
        script = read_text(text, cwds=("/p",), home=HOME, variables={})
        names = {command.words[0].text for command in script.commands}
        run = {name for name in answer.split("\0") if name.startswith("c")}
        missed = run - names
        if script.unknowns:
            missed = {name for name in missed if not any(name in token for token in script.tokens)}
        assert missed == set(), text
        understood += not script.unknowns
    assert understood > len(texts) * 0.8
