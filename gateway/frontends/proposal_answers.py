"""What a person answers to a proposal, at a terminal or on the console's page: what is saved is what was shown.

Whoever asks the person shows it first (`looked`), and hands `bound` back with the yes. The call is judged once more
then: where anything of it would be shown otherwise by now, nothing is saved.
"""

from __future__ import annotations

import time

from gateway.approval.proposals import Proposals
from gateway.approval.saved_rules import SavedRules, entry_of, rule_id
from gateway.config.load import tool_names
from gateway.config.shipped import load_tools
from gateway.core.cache import digest
from gateway.core.errors import ConfigError, GatewayError, Problem
from gateway.core.places import places
from gateway.core.value import Value
from gateway.frontends.proposal_trial import anew
from gateway.policy.wording import visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from gateway.approval.proposals import Kept
    from gateway.frontends.proposal_trial import Anew
    from gateway.replay.compare import Progress
    from gateway.replay.opening import Opening


class Looked(Value):
    """A proposal as it is shown to a person. `opens`: what it would open; None where it is none any more."""

    kept: Kept
    anew: Anew
    opens: Opening | None = None

    @property
    def can_be_accepted(self) -> bool:
        """Whether it is one, and nothing speaks so much against it that it is not to be saved by a yes."""
        return self.opens is not None and not self.opens.objections

    @property
    def bound(self) -> str:
        """What was shown, as a digest."""
        return bound_of(self.kept, self.anew)

    @property
    def as_json(self) -> dict[str, Any]:
        """As programs, and the console's page, are told."""
        found, opens = self.anew, self.opens
        data = self.kept.as_dict() | {"input": dict(self.kept.input), "call": found.shown, "problem": found.problem}
        data |= {"propose": None if found.proposal is None else found.proposal.as_json, "opening": None}
        if opens is not None:
            data["opening"] = opens.as_dict() | {"otherwise": [each.as_dict() for each in opens.otherwise]}
        return data


def bound_of(kept: Kept, found: Anew) -> str:
    """What a proposal is, and what it is made of: the rule, the policy beside which it would stand, what it opens."""
    proposal = found.proposal
    opens = () if proposal is None else (proposal.rule, *proposal.opens, *proposal.calls)
    return digest([kept.id, kept.rule, found.revision, found.shown, *opens])


def one(root: str, name: str) -> Kept:
    """The proposal of an id. Raises ConfigError if there is none."""
    found = Proposals(places().state, root).get(name)
    if found is None:
        raise ConfigError(unknown(name))
    return found


def unknown(name: str) -> Problem:
    """What is wrong with an id of no proposal."""
    return Problem(f"id must be one of a proposal (got `{visible(name)}`)", remedy="see `gateway proposals list`")


def looked(
    root: str, name: str, record: str, since: str, judging: Progress = lambda _done, _of: None, *, workers: int = 0
) -> Looked:
    """A proposal made anew from its call, and what it opens by the record in a folder since a moment. Raises
    GatewayError."""
    from gateway.replay.opening import opening

    kept = one(root, name)
    found = anew(kept, root)
    if found.proposal is None:
        return Looked(kept, found)
    try:
        opens = opening(record, root, found.proposal.rule, found.who, since, workers=workers, judging=judging)
    except OSError as error:
        raise GatewayError(f"the record in {record} cannot be read: {error.strerror or error}") from error
    return Looked(kept, found, opens)


def accepted(root: str, name: str, bound: str, by: str) -> tuple[str, str]:
    """Saves the rule of a proposal, as the answer "always" saves one, and drops the proposal; the rule's id and file.
    `bound`: what `Looked.bound` was when the person agreed. Raises ConfigError; then nothing is saved."""
    kept = one(root, name)
    found = anew(kept, root)
    if found.proposal is None or bound_of(kept, found) != bound:
        remedy = "look at it again"
        raise ConfigError(Problem("policy and proposal must not change while they are looked at", remedy=remedy))
    here = places()
    saved = SavedRules(here, root, tool_names(load_tools(here)))
    rule = found.proposal.rule
    saved.save(rule_id(rule), entry_of(rule, shown=found.shown, by=by, now=time.time()))
    Proposals(here.state, root).drop(name)
    return rule_id(rule), saved.path


def rejected(root: str, name: str) -> None:
    """Takes a proposal away: its rule is not proposed again. Raises ConfigError if there is none of that id."""
    if Proposals(places().state, root).reject(name) is None:
        raise ConfigError(unknown(name))
