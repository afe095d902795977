"""How `env -S` splits a text: quotes, escapes, variables and comments by rules of its own, which are no shell's."""

from __future__ import annotations

from gateway.model.command import Word
from gateway.model.effect import HOLE

_BLANKS = " \t\n\v\f\r"
_ESCAPES = {"f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", **{sign: sign for sign in "\"#$'\\"}}


def split(value: Word) -> tuple[tuple[Word, ...], str]:
    """The words of a text as GNU's env reads them, and why they may be others; "" if they are these beyond doubt.

    A variable's value is one word with what stands around it, and nothing where it is empty. What is unknown before the
    run may hold any of the signs that count here, so that it may be any number of words.
    """
    text = value.text
    words: list[Word] = []
    doubt = "env splits a text that is not known before the run" if HOLE in text or value.splits else ""
    word = quote = ""
    started = False
    at, end = 0, len(text)

    def close() -> None:
        words.append(Word(word, value.start, value.end, HOLE in word))

    while at < end:
        sign = text[at]
        at += 1
        if sign in "'\"" and quote in ("", sign):
            quote = "" if quote else sign
            started = True
            continue
        if not quote and sign in _BLANKS:
            if started:
                close()
            word, started = "", False
            continue
        if not quote and sign == "#" and not started:
            break
        if sign == "\\" and (quote != "'" or text[at : at + 1] in ("\\", "'")):
            sign = text[at : at + 1]
            at += 1
            if sign == "c" and quote != '"':
                quote = ""
                break
            if sign == "_" and quote != '"':
                if started:
                    close()
                word, started = "", False
                continue
            if sign != "_" and sign not in _ESCAPES:
                doubt = doubt or "env -S knows no such escape"
            sign = " " if sign == "_" else _ESCAPES.get(sign, sign)
        elif sign == "$" and quote != "'":
            close_at = text.find("}", at)
            name = text[at + 1 : close_at] if text[at : at + 1] == "{" and close_at > 0 else ""
            if name.isidentifier() and name.isascii():
                doubt = doubt or "env puts a variable into a text that it splits"
                at = close_at + 1
                word, started = word + HOLE, True
                continue
            doubt = doubt or "env -S knows no such expansion"
        word += sign
        started = True
    if quote:
        doubt = doubt or "a quote of env -S has no end"
    if started:
        close()
    return tuple(words), doubt
