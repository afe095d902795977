"""Which tools a policy leaves nothing of: those that a rule denies whatever they are given. Pure."""

from __future__ import annotations

from gateway.model.call import Call
from gateway.model.effect import Item, Use
from gateway.policy.candidates import Finder
from gateway.policy.subject import YES
from gateway.policy.table import DELEGATE, EXCEPT, EXPIRES, LANE, LEVEL, REST

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gateway.model.context import Context
    from gateway.policy.table import Policy

# Predicates that say the same of every call of a tool in one session.
OF_THE_SESSION = frozenset(("tool", "agent", "depth", "mode", "branch", "cwd"))


# And these of a tool whose server is known with what is said of it.
OF_A_SERVER = OF_THE_SESSION | {"server", "annotations"}


def denied_for_every_input(policy: Policy, tool: str, context: Context, served: Call | None = None) -> bool:
    """Whether a rule denies the tool as such in these circumstances: one without exceptions, that nothing below it may
    silence, and that looks at nothing of what the tool is given. `served`: a call of it without input, that says which
    server has the tool."""
    finder = Finder(policy, served or Call(tool, {}, ""), context, (), ())
    constant = OF_THE_SESSION if served is None else OF_A_SERVER
    item = Item(Use(tool))
    finder.effect = item.effect
    finder.part = None  # the call of the tool as such, in the folder of the session
    for clause, forbids, _covers in finder.candidates(item):
        number, tests, of_part = policy.clauses[clause]
        row = policy.rules[number]
        if row[LANE] != "deny" or row[LEVEL] or row[EXCEPT] or of_part or 0 < row[EXPIRES] <= context.now:
            continue
        if row[REST] and row[REST][DELEGATE]:
            continue
        if all(name in constant for name, _ in tests) and min(forbids, finder.answer(tests, False)) is YES:
            return True
    return False
