"""Globs run as automata, for what chunks cannot say: stars that stay within a word, words that may be missing,
and texts with unknown parts.

An automaton is `[characters, spans, stays]`, plain data. Being in state i means that i characters of the pattern are
matched; a state is one bit, so all readings are followed at once, in time linear in the text. Bit i of `spans` says
that any text may stand at that place, of `stays` that text without a separator may.
"""

from __future__ import annotations

from gateway.model.effect import HOLE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    Automaton = list[Any]


def build(atoms: list[Any]) -> Automaton:
    """From characters, None for a star that spans words, and False for one that stays within a word."""
    characters = ""
    spans = stays = 0
    for atom in atoms:
        if atom is None:
            spans |= 1 << len(characters)
        elif atom is False:
            stays |= 1 << len(characters)
        else:
            characters += atom
    return [characters, spans, stays]


def from_glob(glob: list[Any]) -> Automaton:
    """From a compiled glob without `?` and classes."""
    spans = size = 0
    for chunk in glob[:-1]:
        size += len(chunk)
        spans |= 1 << size
    return ["".join(glob), spans, 0]


def accepts(automaton: Automaton, pieces: Iterable[tuple[str, bool]], separator: str, *, unknown: bool = False) -> bool:
    """Whether the whole pattern matches the pieces of a text, each with or without those marked as optional.

    `unknown`: a `HOLE` stands for any text at all, separators included; else for itself.
    """
    characters, spans, stays = automaton
    masks: dict[str, int] = {}
    bit = 1
    for char in characters:
        masks[char] = masks.get(char, 0) | bit
        bit <<= 1
    within = spans | stays
    states = 1
    for text, optional in pieces:
        before = states
        for char in text:
            if char == HOLE and unknown:
                states = (bit << 1) - (states & -states) if states else 0
            else:
                states = (states & masks.get(char, 0)) << 1 | states & (spans if char == separator else within)
        if optional:
            states |= before
        if not states:
            return False
    return bool(states & bit)
