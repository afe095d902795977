"""What the reference says of one word."""

from __future__ import annotations

from gateway.core.value import Value
from gateway.spec import read
from gateway.spec.yamltext import Complaints, load

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Example(Value):
    """A rule that a reader may copy, and calls that show what it speaks of.

    `rule`: the rule as YAML, without `matches` and `not_matches`. `holds`: a call that it speaks of; `not_for`: one
    that it does not speak of, "" where there is none to show.
    """

    rule: str
    holds: str
    not_for: str = ""


class Entry(Value):
    """One word. `about`: what it means, in one sentence without its stop. `examples`: rules. `files`: pieces of policy
    files, where the word does not belong to a rule. `more`: what else is to be known, as Markdown."""

    about: str
    examples: tuple[Example, ...] = ()
    files: tuple[str, ...] = ()
    more: str = ""

    def arguments(self, name: str) -> tuple[Any, ...]:
        """What stands behind this key in each example."""
        found = []
        for example in self.examples:
            rule = plain(example.rule)
            when = next(rule[lane] for lane in ("deny", "ask", "allow") if lane in rule)
            found.append(when[name])
        return tuple(found)


def plain(text: str) -> Any:
    """A piece of YAML as plain data."""
    return read.data(load(text, "example"), "example", Complaints("example"))


def entry(about: str, *examples: tuple[str, ...], files: tuple[str, ...] = (), more: str = "") -> Entry:
    """An entry, its examples as (rule, a call that it speaks of, one that it does not speak of)."""
    return Entry(about, tuple(Example(*each) for each in examples), files, more)
