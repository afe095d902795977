"""What looks like a secret in a text, by its form or by the name that stands before it. In time linear in the text: no
expression here can go back over what it took.

What has neither a known form nor a name is found only where it looks random: long, with letters of both cases and
digits in no order. Hexadecimal digits are not taken for secrets: most are digests.
"""

# ruff: noqa: E501  one form a line

from __future__ import annotations

from itertools import pairwise

from gateway.audit import program_secrets
from gateway.policy.variables import is_secret

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re
    from collections.abc import Callable, Iterable

# What stands before a value, and the value. Values are as shells, JSON and headers write them: quoted (perhaps without
# an end), or up to where a word ends.
_PLAIN = r"[^\s\"'&;|<>,}\\]++|\\[^\"'\s]"
_QUOTED = r"""\$?'[^']*+'?|"[^"\\]*+(?:\\.[^"\\]*+)*"?|\\["'][^"'\\]*+(?:\\["'])?"""
# Loops over groups are greedy and not possessive, because early versions of Python 3.11 do those wrong. Nothing that
# can fail follows them, so nothing goes back over them either.
_VALUE = rf"""(?:{_QUOTED}|{_PLAIN})(?:{_PLAIN}|'[^'\s]*+'|"[^"\s]*+")*"""
_NAME = r"(?<![\w.-])(-{0,2}+[A-Za-z_][\w.-]{0,100}+)"
_ASSIGNED = rf"""{_NAME}(\\?["']?(?:\s{{0,3}}+:{{1,2}}+=?\s{{0,3}}+|\s{{1,3}}+={{1,2}}+\s{{1,3}}+|={{1,2}}+))"""
_GIVEN = r"(?<![\w-])(--?[A-Za-z][\w-]{1,60}+)(\s{1,3}+)"
_HEADER = r"(?i:(?<![\w-])((?:proxy-)?authorization|(?:set-)?cookie2?)(\s{0,3}+[:=]\s{0,3}+))"
_HEADER_VALUE = r"[^\"'\r\n]{1,8192}+"
_BEARER = r"(?i:(?<![\w-])(bearer|token)(\s{1,3}+))"
_BEARER_VALUE = r"[A-Za-z0-9+/=_.~-]{16,8192}+"
_AUTHORITY = r"(://|:pserver:|:sserver:)([^\s/?#@:\"']{0,255}+:)"
_AUTHORITY_VALUE = r"[^\s/?#@\"']{1,1024}+(?=@)"
_ALONE = r"(://)()"
_ALONE_VALUE = r"[^\s/?#@:\"']{16,1024}+(?=@)"
_USER = r"(?<![\w-])(-[uU]|--user|--proxy-user)(\s{0,3}+=?\s{0,3}+[\"']?[^\s:\"']{1,200}+:)"
_PASS = r"(?<![\w-])(pass:)()"
# Cookies as options, several in quotes; and passwords in SQL.
_COOKIES = r"(?<![\w-])(-b|--cookie)([ =][\"'](?=[\w.-]{1,100}+=))"
_COOKIE = r"(?<![\w-])(--cookie)([ =][\w.-]{1,100}+=)"
_SQL = r"(?i:(?<![\w-])(password|identified\s{1,3}+by|secret|password\s{1,3}+for\s{1,3}+\S{1,100}+)(\s{1,3}+(?:=\s{0,3}+)?))(?=')"
_SQL_VALUE = r"'[^']*+'"
_WORD = r"[^\s\"']{1,1024}+"
# What is written in front of a program that is told a secret by its input; and what `set NAME VALUE` sets.
_PIPED = r"(?<![\w-])(echo|printf|yes)((?:\s{1,3}-[neE]{1,3}+|\s{1,3}['\"]?(?:[\w@.+-]{1,64}+:)?%s(?:\\n)?['\"]?){0,3}\s{1,3})"
_HERE = r"(<<<)(\s{0,3})"
_SET = r"(?<![\w-])(?:set|add|put|config)(?:\s{1,3}+-{1,2}[\w-]{1,40}+){0,3}\s{1,3}+(?!(?:set|add|put|config)\s)[\"']?([\w./:@-]{1,200}+)[\"']?(\s{1,3}+)"
_EXPANDS = r"\"?(?:\$(?!')|\{\{|<|%\()"  # what a shell or a template puts there
_RANDOM = r"[A-Za-z0-9+/_=-]{32,8192}+"
_PRIVATE = ("-----BEGIN ", "PRIVATE KEY", "-----END ")
# One of these stands in the lower-case form of every text that any expression above finds something in, or a long word
# with a digit does.
_TRACES = (
    "token", "secret", "pass", "credential", "private", "cookie", "key", "_pat", "-pat", ".pat", "pwd", "auth", "dsn",
    "connection", "-u", "-b '", "-b \"", "-b \\\"", "-b=", "identified", ":pserver:", ":sserver:", "bearer", "sig=", "sig:", "sig\"", "signature", "hooks", *program_secrets.PIPE_TRACES,
)  # fmt: skip
_WORDS = bytes(each if (chr(each).isalnum() and each < 128) or each in b"_.+-" else 32 for each in range(256))
# What programs with places of their own begin with; in JSON, a letter of an escape before it may be glued to it.
_PROGRAMS = frozenset(program_secrets.names())
_GLUED = frozenset(b"ntrbf")
_DIGITS = frozenset(b"0123456789")
_HARMLESS = ("", "true", "false", "none", "null", "yes", "no", "on", "off")
_ALSO_SECRET = ("pass", "auth", "authkey", "sig", "signature", "x_amz_signature")
_NOT_SECRET = ("_stdin", "_file", "_fd", "_env", "_path", "_dir", "_prompt", "_keyring")
_NO_PASSWORDS = ("bypass", "compass", "surpass", "trespass", "overpass", "underpass", "firstpass", "onepass")
_LONG = 16
_SHORTEST = 4  # a shorter one would be found everywhere
MARK = "[redacted:"


def may_hold(text: str, *, commands: bool = True) -> bool:
    """Whether it is worth looking: quick, and never False for a text, or for JSON in ASCII with that text in it, in
    which `redact` finds something. `commands`: it may hold commands; else it is names, and no program takes options."""
    low = text.lower()
    for trace in _TRACES:
        if trace in low:
            return True
    if "://" in low and "@" in low:
        return True
    words = text.encode("utf-8", "replace").translate(_WORDS).split()
    if commands and _names_program(text, words):
        return True
    if not words or max(map(len, words)) < _LONG:
        return False
    long = [word for word in words if len(word) >= _LONG]
    return not _DIGITS.isdisjoint(b"".join(long)) or _finder().any_form.search(b" ".join(long).decode()) is not None


def _names_program(text: str, words: list[bytes]) -> bool:
    if not _PROGRAMS.isdisjoint(words):
        return True
    if "\\" not in text:
        return False
    return not _PROGRAMS.isdisjoint([word[1:] for word in words if word[0] in _GLUED]) or (
        "\\u" in text and any(name.decode() in text for name in _PROGRAMS)
    )


def holds(text: str) -> bool:
    """Whether a text holds a secret."""
    return may_hold(text) and bool(redact(text)[1])


def redact(text: str) -> tuple[str, list[str]]:
    """The text with every secret replaced by a mark, and what was replaced."""
    work = _Work(text)
    work.private_keys()
    finder = _finder()
    if finder.any_form.search(work.text):
        for name, form in finder.forms:
            work.all(form, name)
    work.text = work.values(*finder.cookies, _any, work.text)
    if finder.any_program.search(work.text):  # before what is told by names alone, which knows no program's options
        for program, option in finder.programs:
            if program.search(work.text):
                work.options(program, option, finder.value)
    for head, value, is_value_secret in finder.steps:
        work.text = work.values(head, value, is_value_secret, work.text)
    if finder.by_pipe.search(work.text):
        work.inputs()
    work.random(finder.random)
    return work.text, work.found


def redact_forms(text: str) -> tuple[str, list[str]]:
    """The text without what has the very form that issuers give their tokens, and without private keys: what is a
    secret wherever it stands."""
    work = _Work(text)
    work.private_keys()
    finder = _finder()
    if finder.any_form.search(work.text):
        for name, form in finder.forms:
            work.all(form, name)
    return work.text, work.found


class _Finder:
    """The expressions, compiled when the first text is looked at."""

    def __init__(self) -> None:
        import re  # few texts are looked at with it, and it takes longer to load than a call to judge

        from gateway.audit.issuers import FORMS  # lazy: likewise

        self.forms = [(name, re.compile(rf"(?<![A-Za-z0-9])(?:{form})")) for name, form in FORMS]
        self.any_form = re.compile("(?<![A-Za-z0-9])(?:" + "|".join(form for _name, form in FORMS) + ")")
        self.steps = [
            (re.compile(head), re.compile(value), test)
            for head, value, test in (
                (_AUTHORITY, _AUTHORITY_VALUE, _any),
                (_ALONE, _ALONE_VALUE, _any),
                (_HEADER, _HEADER_VALUE, _in_header),
                (_ASSIGNED, _VALUE, _named),
                (_GIVEN, _VALUE, _given),
                (_BEARER, _BEARER_VALUE, _with_digit),
                (_COOKIE, _WORD, _any),
                (_SQL, _SQL_VALUE, _any),
                (_SET, _VALUE, _set),
                (_USER, _WORD, _no_number),
                (_PASS, _WORD, _any),
            )
        ]
        self.cookies = re.compile(_COOKIES), re.compile(_HEADER_VALUE)
        self.value = re.compile(_VALUE)
        rows = list(program_secrets.rows())
        self.any_program = re.compile("|".join(dict.fromkeys(f"(?:{program})" for program, _place in rows)))
        self.programs = [(re.compile(program), re.compile(place)) for program, place in rows]
        self.by_pipe = re.compile(program_secrets.BY_PIPE)
        self.piped, self.here = re.compile(_PIPED), re.compile(_HERE)
        self.random = re.compile(_RANDOM)
        self.expands = re.compile(_EXPANDS)
        self.ends = re.compile(r"([|;&\n])")
        self.quotes = re.compile(r"[\"'\\\n]")


_known: list[_Finder] = []


def _finder() -> _Finder:
    if not _known:
        _known.append(_Finder())
    return _known[0]


class _Work:
    """A text on its way through the steps."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.found: list[str] = []

    def private_keys(self) -> None:
        """Blocks from `-----BEGIN … PRIVATE KEY-----` to their end, or to that of the text."""
        begin, private, end = _PRIVATE
        text, kept, at = self.text, [], 0
        while (start := text.find(begin, at)) >= 0:
            rest = text.find(private, start, start + 80)
            if rest < 0:
                kept.append(text[at : start + len(begin)])
                at = start + len(begin)
                continue
            stop = text.find(end, rest)
            close = -1 if stop < 0 else text.find("-----", stop + len(end))
            kept.append(f"{text[at:start]}{MARK}private-key]")
            at = len(text) if close < 0 else close + 5
            self.found.append(text[start:at])
        self.text = "".join(kept) + text[at:] if kept else text

    def all(self, expression: re.Pattern[str], name: str) -> None:
        """Replaces whatever the expression finds."""

        def replaced(match: re.Match[str]) -> str:
            self.found.append(match.group())
            return f"{MARK}{name}]"

        self.text = expression.sub(replaced, self.text)

    def values(self, head: re.Pattern[str], value: re.Pattern[str], test: Callable[[str, str], bool], text: str) -> str:
        """The text with the values behind heads replaced where the test says so of the head's first group and the
        value. What is not replaced is looked at again for heads."""
        kept, done, at = [], 0, 0
        while (before := head.search(text, at)) is not None:
            at = before.end()
            # A value is read only where it can be a secret, so that none is read again and again.
            if not test(before.group(1), "") or _finder().expands.match(text, at):
                continue
            found = value.match(text, at)
            if found is None or not test(before.group(1), found.group()):
                continue
            if MARK in found.group():
                at = found.end()
                continue
            kept += [text[done : found.start()], f"{MARK}value]"]
            done = at = found.end()
            self.found.append(found.group())
        return "".join(kept) + text[done:]

    def options(self, program: re.Pattern[str], option: re.Pattern[str], word: re.Pattern[str]) -> None:
        """Replaces values of a program's option, from the program to the end of its command."""
        parts = _finder().ends.split(self.text)
        for place, part in enumerate(parts):
            match = program.search(part)
            if match is not None:
                parts[place] = part[: match.end()] + self.values(option, word, _any, part[match.end() :])
        self.text = "".join(parts)

    def inputs(self) -> None:
        """Replaces what is piped, or stands in a here-string, into a program that takes a secret so."""
        finder = _finder()
        parts = finder.ends.split(self.text)
        for place, part in enumerate(parts):
            if finder.by_pipe.search(part) is None:
                continue
            parts[place] = self.values(finder.here, finder.value, _any, part)
            if place >= 2 and parts[place - 1] == "|":
                parts[place - 2] = self.values(finder.piped, finder.value, _any, parts[place - 2])
        self.text = "".join(parts)

    def random(self, expression: re.Pattern[str]) -> None:
        """Replaces what looks random."""

        def replaced(match: re.Match[str]) -> str:
            if not looks_random(match.group()):
                return match.group()
            self.found.append(match.group())
            return f"{MARK}random]"

        self.text = expression.sub(replaced, self.text)


def pieces(found: Iterable[str]) -> list[str]:
    """What of the texts that were replaced may stand elsewhere once quotes were taken off, the longest first."""
    parts = {part for text in found for part in (text, *_finder().quotes.split(text)) if len(part) >= _SHORTEST}
    return sorted(parts, key=len, reverse=True)


def looks_random(text: str) -> bool:
    """Whether letters of both cases and digits follow each other as they do in no name, path or sentence."""
    kinds = [0 if each.isdigit() else 1 if each.islower() else 2 if each.isupper() else 3 for each in text]
    counted = [kinds.count(kind) for kind in (0, 1, 2)]
    changes = sum(one != other for one, other in pairwise(kinds))
    return min(counted) >= 2 and changes * 5 >= len(text) * 2


# Tests of a head's name and of the value behind it. An empty value asks for the name alone.


def _any(_name: str, _value: str) -> bool:
    return True


def _in_header(_name: str, value: str) -> bool:
    """A header's value, unless the part behind its scheme is the shell's to fill in."""
    return not value or (bool(value.strip()) and not value.split()[-1].startswith("$"))


def _named(name: str, value: str) -> bool:
    """A value behind a name that secrets have."""
    return has_secret_name(name) and (not value or (is_value(value) and not _is_count(name, value)))


def _given(name: str, value: str) -> bool:
    """The word behind such an option."""
    return not value.startswith("-") and _named(name, value)


def _set(name: str, value: str) -> bool:
    """What a command such as `config set NAME VALUE` sets."""
    last = name.rpartition(":")[2].rpartition("/")[2]
    return not value.startswith("-") and _named(last, value)


def _with_digit(_name: str, value: str) -> bool:
    return not value or not _DIGITS.isdisjoint(value.encode())


def _no_number(_name: str, value: str) -> bool:
    """A password behind a user's name; numbers are a user and a group."""
    return not value.isdecimal()


def has_secret_name(name: str) -> bool:
    """Whether a name of a variable, option, header or field is one that secrets have."""
    plain = name.lstrip("-").replace("-", "_").replace(".", "_").lower()
    if plain.endswith(_NOT_SECRET) or plain.startswith(("no_", "with_")):
        return False
    last = plain.rpartition("_")[2]
    if last.endswith("pass") and not last.endswith(_NO_PASSWORDS):
        return True
    return plain in _ALSO_SECRET or last == "apikey" or is_secret(plain)


def is_value(value: str) -> bool:
    """Not a word that says yes or no, and not what is put there later."""
    return value.strip("\\\"'").lower() not in _HARMLESS and _finder().expands.match(value) is None


def _is_count(name: str, value: str) -> bool:
    return name.lower().endswith("tokens") and value.strip("\"'").isdecimal()
