"""node's one-line programs: a part of JavaScript that computes, prints, and names the files it touches.

No value may ever hold `Function` or a module: modules and what they do are only named where they are called, the ways
to a constructor (`x.constructor`, `x[y]` with an unknown `y`) are not understood, and only functions that the program
itself writes may be called by a name of its own.
"""

from __future__ import annotations

from gateway.commands.handing import shell_text
from gateway.commands.places import absolute
from gateway.commands.special.javascript.names import (
    CALLED,
    CALLED_METHODS,
    COUNTING,
    FORBIDDEN,
    GLOBALS,
    HANDED,
    KEYWORDS,
    MADE,
    MODULES,
    PLAIN_PROPERTIES,
    SHOWING,
)
from gateway.commands.special.javascript.tokens import JavaScriptError, closing, tokens
from gateway.commands.variables import secret
from gateway.model.command import Word
from gateway.model.effect import HOLE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from gateway.commands.findings import Findings
    from gateway.commands.invocation import Invocation


class _Program:
    """One program being looked through. `deeds`: kind and argument of everything it does beside computing."""

    def __init__(self, text: str) -> None:
        self.tokens = tokens(text)
        self.deeds: list[tuple[str, str]] = []
        self.names: set[str] = set()
        self.functions: set[str] = set()
        self.modules: dict[str, str] = {}
        self.pieces: dict[str, str] = {}
        self.passed: set[int] = set()
        self._declare()
        for at in range(len(self.tokens)):
            if at not in self.passed:
                self._judge(at)

    def text(self, at: int) -> str:
        """A sign, word or number; "" for a string or where there is none."""
        if 0 <= at < len(self.tokens):
            token = self.tokens[at]
            return token.text if token.kind in ("sign", "word", "number") else ""
        return ""

    def string(self, at: int) -> str | None:
        if 0 <= at < len(self.tokens) and self.tokens[at].kind == "string":
            return self.tokens[at].text
        return None

    # Which names the program makes.

    def _declare(self) -> None:
        for at, token in enumerate(self.tokens):
            if token.kind == "sign":
                if token.text == "=>":
                    self._parameters(at - 1)
            elif token.kind == "word" and self.text(at - 1) not in (".", "?."):
                if token.text in ("const", "let", "var"):
                    self._declared(at + 1)
                elif token.text == "function":
                    named = self.text(at + 1) != "("
                    if named:
                        self._name(self.text(at + 1))
                        self.functions.add(self.text(at + 1))
                    opening = at + 1 + named
                    self._pattern(opening, closing(self.tokens, opening))
                elif token.text == "catch" and self.text(at + 1) == "(":
                    self._pattern(at + 1, closing(self.tokens, at + 1))
        for at in range(len(self.tokens) - 1):
            if (
                self.text(at) in self.functions
                and self.text(at + 1) == "="
                and self.text(at - 1) not in (".", "const", "let", "var")
            ):
                raise JavaScriptError

    def _name(self, name: str) -> None:
        taken = any(name in names for names in (KEYWORDS, GLOBALS, CALLED, MADE, FORBIDDEN, ("require",)))
        if taken or not name.isidentifier():
            raise JavaScriptError
        self.names.add(name)

    def _pattern(self, start: int, end: int) -> None:
        for at in range(start, end):
            if self.tokens[at].kind == "word" and self.text(at + 1) != ":" and self.text(at - 1) != "=":
                self._name(self.text(at))

    def _parameters(self, at: int) -> None:
        if self.text(at) == ")":
            opening = closing(self.tokens, at, backwards=True)
            self._pattern(opening, at)
        else:
            self._name(self.text(at))

    def _declared(self, at: int) -> None:
        if self.text(at) in ("{", "["):
            end = closing(self.tokens, at)
            module = self._required(end + 2) if self.text(end + 1) == "=" else ""
            if module:
                for place in range(at + 1, end, 2):
                    name = self.text(place)
                    if name not in MODULES[module] or self.text(place + 1) not in (",", "}"):
                        raise JavaScriptError
                    self.pieces[name] = f"{module}.{name}"
                self.passed.update(range(at, end + 6))
            else:
                self._pattern(at, end)
            return
        name = self.text(at)
        self._name(name)
        if self.text(at + 1) == "=":
            module = self._required(at + 2)
            behind = self.text(at + 6)
            if module and (
                behind in ("", ";", ",") or (behind.isidentifier() and behind not in ("in", "instanceof", "of"))
            ):
                self.modules[name] = module
                self.names.discard(name)
                self.passed.update(range(at, at + 6))
            elif self.text(at + 2) == "function" or self._arrow(at + 2):
                self.functions.add(name)

    def _arrow(self, at: int) -> bool:
        if self.text(at) == "(":
            return self.text(closing(self.tokens, at) + 1) == "=>"
        return self.text(at + 1) == "=>"

    def _required(self, at: int) -> str:
        """The module of `require("…")` that stands here, "" if none of those that are known."""
        if self.text(at) != "require" or self.text(at + 1) != "(" or self.text(at + 3) != ")":
            return ""
        name = (self.string(at + 2) or "").removeprefix("node:")
        return name if name in MODULES else ""

    # What each token does.

    def _judge(self, at: int) -> None:
        token = self.tokens[at]
        before = self.text(at - 1)
        if token.kind == "string":
            if token.text in FORBIDDEN:
                raise JavaScriptError
        elif token.kind == "word":
            if before in (".", "?."):
                if token.text in FORBIDDEN and not (token.text in CALLED_METHODS and self.text(at + 1) == "("):
                    raise JavaScriptError
            elif self.text(at + 1) == ":" and before in ("{", ","):
                if token.text in FORBIDDEN:
                    raise JavaScriptError
            else:
                self._word(at, token.text, before)
        elif token.kind == "sign":
            self._sign(at, token.text, before)

    def _word(self, at: int, word: str, before: str) -> None:
        following = self.text(at + 1)
        if word in KEYWORDS:
            return
        if before == "new":
            if word not in MADE or (word == "Intl" and following != "."):
                raise JavaScriptError
        elif word == "new":
            if self.tokens[at + 1 : at + 2] and self.tokens[at + 1].kind != "word":
                raise JavaScriptError
        elif word == "require":
            self._require(at)
        elif word in self.modules:
            self._member(self.modules[word], at + 1)
        elif word in self.pieces:
            self._does(self.pieces[word], at + 1)
        elif word in self.names:
            if following == "(" and word not in self.functions:
                raise JavaScriptError
        elif word == "process" and self.text(at + 2) in ("env", "stdout", "stdin", "stderr"):
            self._process(at)
        elif word in GLOBALS and following == ".":
            if self.text(at + 2) not in GLOBALS[word].split() or self.text(at + 3) in ("=", "+=", "||=", "??="):
                raise JavaScriptError
        elif word in CALLED and following == "(":
            pass
        elif not (word in HANDED and following in (")", ",")) or word == "Date":
            raise JavaScriptError

    def _process(self, at: int) -> None:
        what = self.text(at + 2)
        if self.text(at + 1) != ".":
            raise JavaScriptError
        if what != "env":
            if self.text(at + 3) != "." or self.text(at + 4) not in ("write", "isTTY", "columns", "rows", "fd"):
                raise JavaScriptError
            return
        name, end = "*", at + 3
        if self.text(at + 3) in (".", "?."):
            name, end = self.text(at + 4), at + 5
        elif self.text(at + 3) == "[" and self.string(at + 4) is not None and self.text(at + 5) == "]":
            name, end = self.string(at + 4) or "*", at + 6
            self.passed.update((at + 3, at + 4, at + 5))
        if self.text(end) in ("=", "+=", "||=", "??="):
            raise JavaScriptError
        self.deeds.append(("environment", name))

    def _require(self, at: int) -> None:
        module = self._required(at)
        path = self.string(at + 2)
        if self.text(at + 1) != "(" or self.text(at + 3) != ")" or path is None:
            raise JavaScriptError
        if module:
            self._member(module, at + 4)
        elif path.endswith(".json") and path.startswith(("./", "../", "/")):
            self.deeds.append(("data", path))
        else:
            raise JavaScriptError

    def _member(self, module: str, dot: int) -> None:
        name = self.text(dot + 1)
        if self.text(dot) != ".":
            raise JavaScriptError
        if f"{module}.{name}" in PLAIN_PROPERTIES:
            return
        if name not in MODULES[module]:
            raise JavaScriptError
        self._does(f"{module}.{name}", dot + 2)

    def _does(self, name: str, opening: int) -> None:
        """A function of a module is called here, nothing else may be done with it."""
        if self.text(opening) != "(":
            raise JavaScriptError
        module, _, function = name.partition(".")
        place = opening + 1
        for deed in MODULES[module][function].split():
            value = self.string(place)
            ends = self.text(place + 1) in (",", ")")
            if self.text(place) == "0" and ends and function == "readFileSync":
                return
            if deed == "shell" and (value is None or self.text(place + 1) != ")"):
                self.deeds.append(("doubt", "runs a command that is not understood"))
            self.deeds.append((deed, value if value is not None and ends else HOLE))
            if function == "readFileSync" and not self._only_encoding(place + 1):
                self.deeds.append(("doubt", "may open a file for more than reading"))
            depth = 0
            while place < len(self.tokens) and not (depth == 0 and self.text(place) in (",", ")")):
                depth += (self.text(place) in ("(", "[", "{")) - (self.text(place) in (")", "]", "}"))
                place += 1
            place += 1

    def _only_encoding(self, at: int) -> bool:
        """Whether behind a file's name stands nothing, or an encoding: other options could empty the file."""
        if self.text(at) != ",":
            return self.text(at) == ")" or self.string(at - 1) is None
        if self.text(at + 1) == "{" and self.text(at + 2) == "encoding" and self.text(at + 5) == "}":
            return self.string(at + 4) is not None and self.text(at + 6) == ")"
        return self.string(at + 1) is not None and self.text(at + 2) == ")"

    def _sign(self, at: int, sign: str, before: str) -> None:
        if sign == "(":
            if before in (")", "]", "}", "?.") or (at and self.tokens[at - 1].kind in ("string", "template")):
                raise JavaScriptError
        elif sign == "[" and at and self._ends_value(at - 1):
            self._computed(at)
        elif (sign == "[" and before in ("{", ",") and self._inside_braces(at)) or sign in ("#", "@", "\\"):
            raise JavaScriptError

    def _ends_value(self, at: int) -> bool:
        token = self.tokens[at]
        if token.kind == "sign":
            return token.text in (")", "]", "}", "?.")
        return not (token.kind == "word" and token.text in KEYWORDS and self.text(at - 1) != ".")

    def _inside_braces(self, at: int) -> bool:
        depth = 0
        for place in range(at - 1, -1, -1):
            sign = self.text(place)
            if sign in (")", "]", "}"):
                depth += 1
            elif sign in ("(", "[", "{"):
                if not depth:
                    return sign == "{"
                depth -= 1
        return False

    def _computed(self, at: int) -> None:
        """`x[…]`: a number or a harmless name may be anywhere; what is not known only where it is shown or counted."""
        end = closing(self.tokens, at)
        if end == at + 2 and self.tokens[at + 1].kind in ("number", "string"):
            if self.text(end + 1) == "(" or self.string(at + 1) in FORBIDDEN:
                raise JavaScriptError
            return
        following = self.text(end + 1)
        if following in ("(", "[", ".", "?.", "=>") or (
            self.tokens[end + 1 : end + 2] and self.tokens[end + 1].kind == "template"
        ):
            raise JavaScriptError
        # In a line of its own, a sign of counting belongs to what stands behind it.
        apart = following in ("++", "--") and self.text(end + 2) not in ("", ";", ",", ")", "]", "}")
        if apart or (following not in COUNTING and following != "="):
            self._shown(at)

    def _shown(self, at: int) -> None:
        """The value that starts here may be a constructor, so it may only be shown, counted with or tested."""
        depth = 0
        for place in range(at - 1, -1, -1):
            sign = self.text(place)
            if sign in (")", "]", "}"):
                depth += 1
            elif depth:
                depth -= sign in ("(", "[", "{")
            elif sign == "(":
                before = self.text(place - 1)
                if before in ("+", "-", "*", "/") or self.text(closing(self.tokens, place) + 1) in COUNTING:
                    return
                if not self._shows(place) and before not in ("", "=", ",", ";", "{", "("):
                    raise JavaScriptError
            elif sign in ("=>", "[", ":", "return", "throw", "=", "||=", "&&=", "??="):
                raise JavaScriptError
            elif sign in (";", "{", "+=", "-="):
                return

    def _shows(self, opening: int) -> bool:
        """Whether a function that only looks at its arguments is called here."""
        name = self.text(opening - 1)
        owner = self.text(opening - 3) if self.text(opening - 2) in (".", "?.") else ""
        if name not in SHOWING.get(owner, ""):
            return False
        if name != "stringify":
            return True
        # A function as the second argument would be handed the value.
        depth = 0
        for place in range(opening + 1, closing(self.tokens, opening)):
            sign = self.text(place)
            depth += (sign in ("(", "[", "{")) - (sign in (")", "]", "}"))
            if not depth and sign == ",":
                return self.text(place + 1) == "null"
        return True


def scan(text: str) -> list[tuple[str, str]]:
    """What a program does beside computing and printing. JavaScriptError if it is not understood."""
    if not text.isascii() or "\r" in text or "<!--" in text or "-->" in text:
        raise JavaScriptError
    return _Program(text).deeds


def _node(findings: Findings, run: Invocation) -> None:
    texts = [values[0] for option, values in run.values if "-e" in option["names"]]
    if not texts:
        return
    if run.options & {"-i", "--test", "--watch", "--env-file"} or len(texts) > 1:
        run.doubts.append("node's options are not understood")
    word = texts[0]
    if not word.literal:
        run.doubts.append("the JavaScript program is not known before the run")
        return
    try:
        deeds = scan(word.text)
    except (JavaScriptError, IndexError, RecursionError):
        run.doubts.append("the JavaScript program is not understood")
        return
    for kind, argument in deeds:
        _effect(findings, run, word, kind, argument)


def _effect(findings: Findings, run: Invocation, word: Word, kind: str, argument: str) -> None:
    if kind == "environment":
        if argument == "*" or secret(argument):
            findings.env(argument, "read", word.start, word.end, run.part)
    elif kind == "shell":
        shell_text(findings, run, [Word(argument, word.start, word.end)], "node")
    elif kind == "doubt":
        run.doubts.append(f"the JavaScript program {argument}")
    elif kind == "data":
        findings.touch("read", Word(argument, word.start, word.end), run.cwds, run.part)
        for cwd in run.cwds or ("",):
            findings.ask("file", run.part, absolute(argument, cwd), "", word.start, word.end)
    else:
        findings.touch(
            kind.rstrip("/"), Word(argument or HOLE, word.start, word.end), run.cwds, run.part, kind[-1] == "/"
        )


HOOKS: dict[str, Callable[[Findings, Invocation], None]] = {"node": _node}
