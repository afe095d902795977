"""A tokenizer for JavaScript, as far as a text has only one reading."""

from __future__ import annotations

from gateway.core.value import Value

_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_$")
_DIGITS = frozenset("0123456789")
_SIGNS = ("...", "===", "!==", "**=", "||=", "&&=", "??=", "=>", "==", "!=", "<=", ">=", "&&", "||", "??", "?.", "++",
          "--", "+=", "-=", "*=", "/=", "%=", "**", "<<", ">>")  # fmt: skip
_BEFORE_OPERAND = frozenset(
    ("return", "typeof", "case", "in", "of", "void", "delete", "else", "throw", "do", "instanceof", "break", "continue")
)
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "v": "\v", "0": "\0"}
_OPENING = {"(": ")", "[": "]", "{": "}"}
_CLOSING = {")": "(", "]": "[", "}": "{"}


class JavaScriptError(Exception):
    """The program is not understood."""


class Token(Value):
    """`kind`: word, number, string (its text), template (what stands around its holes), expression or sign."""

    kind: str
    text: str


def tokens(text: str) -> list[Token]:
    """The words of a program. A template's holes stand in brackets behind it."""
    found: list[Token] = []
    open_templates: list[int] = []
    depth = 0
    at = 0
    size = len(text)
    while at < size:
        sign = text[at]
        if sign.isspace():
            at += 1
        elif text[at : at + 2] == "//":
            end = text.find("\n", at)
            at = size if end < 0 else end
        elif text[at : at + 2] == "/*":
            end = text.find("*/", at + 2)
            if end < 0:
                raise JavaScriptError
            at = end + 2
        elif sign in "'\"":
            at = _string(text, at, found)
        elif sign == "`" or (sign == "}" and open_templates and open_templates[-1] == depth):
            if sign == "`":
                if (
                    found
                    and (found[-1].kind in ("word", "string", "template") or found[-1].text in (")", "]"))
                    and not _before_operand(found)
                ):
                    raise JavaScriptError
            else:
                open_templates.pop()
                found.append(Token("sign", ")"))
            at, hole = _template(text, at + 1)
            if sign == "`":
                found.append(Token("template", ""))
            if hole:
                found += [Token("sign", "+"), Token("sign", "(")]
                open_templates.append(depth)
        elif sign in _LETTERS:
            end = at
            while end < size and (text[end] in _LETTERS or text[end] in _DIGITS):
                end += 1
            found.append(Token("word", text[at:end]))
            at = end
        elif sign in _DIGITS or (sign == "." and text[at + 1 : at + 2] in _DIGITS and at + 1 < size):
            end = at
            while end < size and (
                text[end] in _LETTERS
                or text[end] in _DIGITS
                or (text[end] == "." and text[end + 1 : end + 2] in _DIGITS)
            ):
                end += 1
            found.append(Token("number", text[at:end]))
            at = end
        elif sign == "/" and _operand(found):
            at = _expression(text, at + 1)
            found.append(Token("expression", ""))
        else:
            operator = next((one for one in _SIGNS if text.startswith(one, at)), sign)
            depth += (operator == "{") - (operator == "}")
            found.append(Token("sign", operator))
            at += len(operator)
    if open_templates:
        raise JavaScriptError
    return found


def _operand(found: list[Token]) -> bool:
    """Whether an operand may start here; raises where that depends on more than the last token."""
    if not found:
        return True
    last = found[-1]
    if last.kind == "sign":
        if last.text in (")", "}", "++", "--"):
            raise JavaScriptError
        return last.text != "]"
    return _before_operand(found)


def _before_operand(found: list[Token]) -> bool:
    """Whether the last token is a word with a meaning of its own, which it has not as the name of a property."""
    if found[-1].kind != "word" or found[-1].text not in _BEFORE_OPERAND:
        return False
    return len(found) < 2 or found[-2].kind != "sign" or found[-2].text not in (".", "?.")


def _string(text: str, at: int, found: list[Token]) -> int:
    quote = text[at]
    value: list[str] = []
    at += 1
    while at < len(text) and text[at] != quote:
        if text[at] == "\n":
            raise JavaScriptError
        if text[at] == "\\":
            escape = text[at + 1 : at + 2]
            # Letters by number could spell any name.
            if escape not in "nrtbfv0'\"\\/`.-+*?()[]{}|^$dDsSwW ,:;!#&<>=@~%" or not escape:
                raise JavaScriptError
            value.append(_ESCAPES.get(escape, escape))
            at += 2
            continue
        value.append(text[at])
        at += 1
    if at >= len(text):
        raise JavaScriptError
    found.append(Token("string", "".join(value)))
    return at + 1


def _template(text: str, at: int) -> tuple[int, bool]:
    """Behind the text of a template, and whether a hole starts there."""
    while at < len(text):
        if text[at] == "\\":
            at += 2
        elif text[at] == "`":
            return at + 1, False
        elif text[at : at + 2] == "${":
            return at + 2, True
        else:
            at += 1
    raise JavaScriptError


def _expression(text: str, at: int) -> int:
    inside = False
    while at < len(text):
        sign = text[at]
        if sign == "\n":
            break
        if sign == "\\":
            at += 2
            continue
        if sign == "[":
            inside = True
        elif sign == "]":
            inside = False
        elif sign == "/" and not inside:
            at += 1
            while at < len(text) and text[at] in _LETTERS:
                at += 1
            return at
        at += 1
    raise JavaScriptError


def closing(found: list[Token], at: int, *, backwards: bool = False) -> int:
    """The place of the bracket that belongs to the one at `at`."""
    pairs = _CLOSING if backwards else _OPENING
    if found[at].kind != "sign" or found[at].text not in pairs:
        raise JavaScriptError
    open_brackets: list[str] = []
    while 0 <= at < len(found):
        token = found[at]
        if token.kind == "sign" and token.text in pairs:
            open_brackets.append(pairs[token.text])
        elif token.kind == "sign" and token.text in pairs.values():
            if open_brackets.pop() != token.text:
                raise JavaScriptError
            if not open_brackets:
                return at
        at += -1 if backwards else 1
    raise JavaScriptError
