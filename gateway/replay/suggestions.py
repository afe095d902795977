"""What is suggested of answers, and how it stands in a policy file."""

from __future__ import annotations

from gateway.approval.saved_rules import entry_of, lines_of, rule_id
from gateway.core.quantities import counted
from gateway.core.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any


class Suggestion(Value):
    """A rule on one line, and what speaks for and against it. `questions`: answered ones that it helps to end;
    `sessions`, `days`: in which they came. `ends`: some of them; `asks`: recorded calls of the same kind that are asked
    about or refused all the same. `others`: recorded calls that nobody said yes to and that it takes part in allowing,
    with how many there are; `opens`: a call outside of the record that it allows. `matches`, `not_matches`: calls that
    say so as examples of the rule."""

    text: str
    questions: int
    sessions: int
    days: int
    ends: tuple[str, ...]
    asks: tuple[str, ...]
    others: tuple[str, ...]
    others_count: int
    opens: tuple[str, ...]
    matches: tuple[str, ...] = ()
    not_matches: tuple[str, ...] = ()

    @property
    def because(self) -> str:
        """Where the rule comes from."""
        span = f"{counted(self.sessions, 'session')}, " if self.sessions else ""
        return f"suggested from {counted(self.questions, 'answer')} ({span}{counted(self.days, 'day')})"


class Preset(Value):
    """A shipped preset that would have ended questions which no single rule should. `ends`: some of them."""

    name: str
    questions: int
    ends: tuple[str, ...]


class Suggested(Value):
    """`decisions`: of this project that were looked at; `asked`: how many of them policy asks about now, `agreed`: how
    many of these people said yes to, `ended`: of those, how many all rules together end, tried by the engine.
    `elsewhere`: questions whose answer the record does not have. `unjudged`: decisions that could not be judged again.
    `doubtful`: yes that count for nothing, because a sandbox had to stop something soon after. `presets`: for a person
    to turn on; what they end is not in `ended`. `vetoed`: clauses that were dropped, by why."""

    rules: tuple[Suggestion, ...]
    decisions: int = 0
    asked: int = 0
    agreed: int = 0
    ended: int = 0
    elsewhere: int = 0
    unjudged: int = 0
    doubtful: int = 0
    presets: tuple[Preset, ...] = ()
    vetoed: tuple[tuple[str, int], ...] = ()

    @property
    def as_json(self) -> dict[str, Any]:
        """As programs are told."""
        rules = [each.as_dict() | {"because": each.because} for each in self.rules]
        return self.as_dict() | {"rules": rules, "presets": [each.as_dict() for each in self.presets]}


def entry(found: Suggestion, by: str, now: float) -> tuple[str, str]:
    """Id and lines of a rule in the file of what was answered with "always"."""
    said = f"{found.because}, as to {found.ends[0]}"
    return rule_id(found.text), entry_of(
        found.text, shown=said, by=by, now=now, because=found.because, matches=found.matches,
        not_matches=found.not_matches,
    )  # fmt: skip


def as_policy(rules: Iterable[Suggestion]) -> str:
    """Rules as they would stand in a policy file."""
    return "".join(
        "\n".join(
            [
                f"  - id: {rule_id(each.text)}",
                f"    {each.text}",
                *lines_of(each.because, each.matches, each.not_matches),
            ]
        )
        + "\n"
        for each in rules
    )
