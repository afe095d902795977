"""Random trees of commands, printed as shell text, come back as the same commands."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from fuzzing import SEARCH, THOROUGH
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.model.effect import HOLE
from gateway.shell.reading import read as read_text

if TYPE_CHECKING:
    from gateway.shell.script import Script


class Command(NamedTuple):
    """A simple command as it is expected back: words behind its name (`HOLE` for what a substitution gives), files it
    opens, and whether it reads from a pipe."""

    words: tuple[str, ...] = ()
    opens: tuple[tuple[str, str], ...] = ()
    piped: bool = False


class Printed(NamedTuple):
    """A piece of shell text and the commands in it by name."""

    text: str
    commands: dict[str, Command]


LETTERS = st.characters(min_codepoint=32, max_codepoint=126) | st.sampled_from("éßñ\n\t")
TEXTS = st.text(LETTERS, max_size=8)


def single(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


def double(text: str) -> str:
    for letter in '\\"$`':
        text = text.replace(letter, "\\" + letter)
    return f'"{text}"'


def escaped(text: str) -> str:
    return "".join("\\" + letter if letter != "\n" else "'\n'" for letter in text) or "''"


def ansi(text: str) -> str:
    return "$'" + "".join(f"\\x{byte:02x}" for byte in text.encode()) + "'"


QUOTERS = st.sampled_from((single, double, escaped, ansi))
BLANKS = st.sampled_from((" ", " ", "  ", "\t", " \\\n "))
ENDS = st.sampled_from((";", " ;", "\n", "\n\n", " # end\n"))


class Printer:
    """Draws a tree and prints it as it goes; every command gets a name of its own."""

    def __init__(self, draw: Any) -> None:
        self.draw = draw
        self.count = 0

    def list(self, depth: int) -> Printed:
        """Statements one after the other, never ending with an operator."""
        found = self.statement(depth)
        for _ in range(self.draw(st.integers(0, 2))):
            joint = self.draw(st.sampled_from((" && ", "||", " || ", "&&")) | ENDS | st.just(" & "))
            found = together(found, joint, self.statement(depth))
        return found

    def statement(self, depth: int) -> Printed:
        if depth <= 0:
            return self.simple(depth)
        kind = self.draw(st.integers(0, 13))
        if kind <= 3:
            return self.simple(depth)
        if kind <= 5:
            return self.pipe(depth)
        inside, end = self.list(depth - 1), self.draw(ENDS)
        if kind == 6:
            return inside._replace(text=f"( {inside.text}\n)")
        if kind == 7:
            return inside._replace(text=f"{{ {inside.text}{end} }}")
        if kind == 8:
            then, other = self.list(depth - 1), self.list(depth - 1)
            return together(inside, f"{end} then ", then, "\nelse ", other, before="if ", after="\nfi")
        if kind == 9:
            word = self.draw(st.sampled_from(("while ", "until ")))
            return together(inside, f"{end} do ", self.list(depth - 1), before=word, after="\ndone")
        if kind == 10:
            return inside._replace(
                text=f"for i in a 'b c'{self.draw(st.sampled_from(('; ', chr(10))))}do {inside.text}\ndone"
            )
        if kind == 11:
            other = self.list(depth - 1)
            return together(inside, "\n;; (b|'c d') ", other, before="case a in (a) ", after="\n;; esac")
        if kind == 12:
            return inside._replace(text=f"! {{ {inside.text}\n}}")
        return inside._replace(text=f"{{ {inside.text}\n}} 2>&1")

    def pipe(self, depth: int) -> Printed:
        found = self.simple(depth)
        for _ in range(self.draw(st.integers(1, 2))):
            following = self.simple(depth)
            name = next(reversed(following.commands))
            following.commands[name] = following.commands[name]._replace(piped=True)
            found = together(found, self.draw(st.sampled_from(("|", " | ", " |\n"))), following)
        return found

    def simple(self, depth: int) -> Printed:
        self.count += 1
        name = f"c{self.count}"
        commands: dict[str, Command] = {}
        quote = self.draw(QUOTERS)
        text = self.draw(st.sampled_from((name, name, quote(name), "A=1 " + name, f"\\{name}")))
        words: list[str] = []
        opens: list[tuple[str, str]] = []
        for _ in range(self.draw(st.integers(0, 3))):
            text += self.draw(BLANKS)
            kind = self.draw(st.integers(0, 9))
            if kind == 0 and depth > 0:
                inside = self.list(depth - 1)
                commands |= inside.commands
                text += f'"a$({inside.text}\n)b"'
                words.append(f"a{HOLE}b")
            elif kind == 1:
                target, (operator, how) = (
                    self.word(),
                    self.draw(
                        st.sampled_from(
                            ((">", "write"), (">>", "write"), (">|", "write"), ("<", "read"), ("2>", "write"))
                        )
                    ),
                )
                if target and not target.startswith("&"):
                    text += operator + self.draw(st.sampled_from(("", " "))) + self.draw(QUOTERS)(target)
                    opens.append((how, target))
            else:
                value = self.word()
                cut = self.draw(st.integers(0, len(value)))
                text += self.draw(QUOTERS)(value[:cut]) + self.draw(QUOTERS)(value[cut:])
                words.append(value)
        commands[name] = Command(tuple(words), tuple(opens))
        return Printed(text, commands)

    def word(self) -> str:
        found: str = self.draw(TEXTS)
        return found


def together(first: Printed, *rest: Any, before: str = "", after: str = "") -> Printed:
    """Pieces of text and what is printed already, in turns."""
    text, commands = before + first.text, dict(first.commands)
    for joint, piece in zip(rest[::2], rest[1::2], strict=True):
        text += joint + piece.text
        commands |= piece.commands
    return Printed(text + after, commands)


@st.composite
def printed(draw: Any) -> Printed:
    return Printer(draw).list(draw(st.integers(0, 3)))


def found_in(script: Script) -> dict[str, Command]:
    """What the reading finds, in the same form."""
    commands = {
        command.words[0].text: Command(
            tuple(word.text for word in command.words[1:]),
            tuple(
                (redirect.kind, redirect.word.text)
                for redirect in script.redirects
                if redirect.part == index and redirect.kind in ("read", "write")
            ),
        )
        for index, command in enumerate(script.commands)
    }
    piped = {command.words[0].text for command in script.commands if command.stdin == "pipe"}
    return {name: command._replace(piped=name in piped) for name, command in commands.items()}


@SEARCH
@given(printed())
def test_a_tree_comes_back_as_the_same_commands(tree: Printed) -> None:
    script = read_text(tree.text, cwds=("/p",), home="/h", variables={})
    if script.unknowns:  # refused: then its words have to be there
        assert all(name in script.tokens for name in tree.commands)
        return
    commands = found_in(script)
    assert commands == {name: _as_found(command, commands.get(name)) for name, command in tree.commands.items()}


def _as_found(command: Command, found: Command | None) -> Command:
    """A command behind a pipe reads from it unless a file is in the way; what substitutions read is left open."""
    if command.piped and not any(how == "read" for how, _ in command.opens):
        return command
    return command._replace(piped=found is not None and found.piped)


UNDERSTOOD = 0.9


def test_most_trees_are_understood() -> None:
    """Else the property above would say nothing."""
    answers: list[bool] = []

    @settings(max_examples=200 if THOROUGH else 40, derandomize=True, database=None)
    @given(printed())
    def count(tree: Printed) -> None:
        answers.append(not read_text(tree.text, cwds=("/p",), home="/h", variables={}).unknowns)

    count()
    assert sum(answers) > UNDERSTOOD * len(answers)


def test_what_is_compared_tells_commands_apart() -> None:
    script = read_text("c1 'a b' > f | c2", cwds=("/p",), home="/h", variables={})
    assert found_in(script) == {"c1": Command(("a b",), (("write", "f"),)), "c2": Command(piped=True)}
