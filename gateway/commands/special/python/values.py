"""What is known of the values in a Python program before it runs: texts, paths, and what lies below a folder."""

from __future__ import annotations

from posixpath import isabs, join, splitext

from gateway.core.value import Value
from gateway.model.effect import HOLE

MAX_ALTERNATIVES = 32


class Text(Value):
    """One text or path. `below`: it is something below the folder `text`, nobody knows what. `leaf`: it is the name
    of something in a folder, without a slash, nobody knows which."""

    text: str = HOLE
    below: bool = False
    leaf: bool = False


class Held(Value):
    """A value: the texts that it may be, what comes out of it when it is gone through, and its full name if it is a
    module, or a function of one."""

    texts: tuple[Text, ...] = (Text(),)
    item: Held | None = None
    ref: str = ""


UNKNOWN = Held()
LEAF = Held((Text(HOLE, False, True),))


def known(text: str) -> Held:
    """A text that is known."""
    return Held((Text(text),))


def one_of(values: list[Held]) -> Held:
    """Any of several values."""
    texts = tuple(dict.fromkeys(text for value in values for text in value.texts))
    return Held(texts) if 0 < len(texts) <= MAX_ALTERNATIVES else UNKNOWN


def below(folder: Held) -> Held:
    """Something below a folder."""
    texts = tuple([text if text.below or text.text == HOLE else Text(text.text, True) for text in folder.texts])
    return Held(tuple([Text() if text.leaf else text for text in texts]))


def _pairs(left: Held, right: Held) -> list[tuple[Text, Text]]:
    if len(left.texts) * len(right.texts) > MAX_ALTERNATIVES:
        return [(Text(), Text())]
    return [(one, other) for one in left.texts for other in right.texts]


def _joined(left: Text, right: Text) -> Text:
    if right.leaf:
        return Text(left.text, True) if not left.leaf and HOLE not in left.text else Text()
    if right.below:
        return right if isabs(right.text) else Text(HOLE)
    if left.leaf:
        return Text()
    if isabs(right.text):
        return right
    if left.below:
        inside = HOLE not in right.text and ".." not in right.text.split("/")
        return left if inside else Text()
    return Text(join(left.text, right.text))


def joined(left: Held, right: Held) -> Held:
    """Two paths, joined as `os.path.join` and `/` do."""
    return Held(tuple([_joined(one, other) for one, other in _pairs(left, right)]))


def _added(left: Text, right: Text) -> Text:
    if right.leaf and left.text[-1:] == "/" and not left.below:
        return Text(left.text, True) if HOLE not in left.text else Text()
    if left.below and not right.below and not right.leaf and "/" not in right.text and HOLE not in right.text:
        return left
    if left.below and right.text[:1] == "/" and HOLE not in right.text and ".." not in right.text.split("/"):
        return left
    if left.leaf and not right.below and not right.leaf and "/" not in right.text and HOLE not in right.text:
        return left
    if left.leaf or left.below:
        return Text(HOLE)
    return Text(left.text + (HOLE if right.leaf or right.below else right.text))


def added(left: Held, right: Held) -> Held:
    """Two texts, one behind the other."""
    return Held(tuple([_added(one, other) for one, other in _pairs(left, right)]))


def with_home(value: Held, home: str) -> Held:
    """A path with `~` filled in."""

    def filled(text: Text) -> Text:
        if text.text == "~" or text.text[:2] == "~/":
            return text.replace(text=(home or HOLE) + text.text[1:])
        return Text() if text.text[:1] == "~" else text

    return Held(tuple([filled(text) for text in value.texts]))


def renamed(value: Held, suffix: Held) -> Held:
    """A path with another ending."""
    ending = suffix.texts[0].text if len(suffix.texts) == 1 else HOLE

    def changed(text: Text) -> Text:
        if "/" in ending or HOLE in ending:
            return Text()
        return text if text.below or text.leaf else text.replace(text=splitext(text.text)[0] + ending)

    return Held(tuple([changed(text) for text in value.texts]))


def searched(pattern: str) -> str:
    """The folder that everything a pattern finds lies below, the pattern itself if it names one place, `HOLE` if
    that cannot be told."""
    kept: list[str] = []
    segments = pattern.split("/")
    for at, segment in enumerate(segments):
        if HOLE in segment or "*" in segment or "?" in segment or "[" in segment:
            if any(".." in rest or HOLE in rest for rest in segments[at:]):
                return HOLE
            return "/".join(kept) or ("/" if pattern[:1] == "/" else ".")
        kept.append(segment)
    return pattern
