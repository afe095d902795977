"""The messages about a verdict: for a model, for a person, and where its rule stands."""

from __future__ import annotations

from gateway.core.value import Value


class Said(Value):
    """`model`: what was decided and why, and what to do instead, in the words that every front end hands to a model;
    `person`: the same for people, with the file and line of the rule; `place`: that alone, "" where no file says it.
    Each is one line in which nothing is invisible."""

    model: str
    person: str
    place: str
