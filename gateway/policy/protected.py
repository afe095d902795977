"""Whether rules that forbid speak of a path, asked of what lies below a tree before anybody decides."""

from __future__ import annotations

from gateway.model.call import Call
from gateway.model.effect import Touch
from gateway.policy import paths
from gateway.policy.predicates import TESTS
from gateway.policy.subject import NO, YES, Subject
from gateway.policy.table import EXCEPT, LANE, LEVEL

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from gateway.model.command import Part
    from gateway.model.context import Context
    from gateway.policy.table import Policy

_NO_CALL = Call("", {}, "")


def protecting(
    policy: Policy,
    kinds: frozenset[str],
    context: Context,
    call: Call = _NO_CALL,
    parts: tuple[Part, ...] = (),
) -> Callable[[str], bool]:
    """Whether an enforced deny or ask speaks of one of these effects on a path: what must be known of a tree that
    nobody confines. `call` and `parts`: whose tree it is; a rule on another tool, or on other commands, says nothing
    of it."""
    wide = [(kind, [each for each in wide_clauses(policy, kind) if forbids_kind(policy, each, kind)]) for kind in kinds]

    def is_protected(path: str) -> bool:
        here = policy.on_path(path)
        for kind, everywhere in wide:
            for clause in (*[each for each in here if forbids_kind(policy, each, kind)], *everywhere):
                if not _speaks_of(policy, clause, kind, path, context):
                    continue
                if call is not _NO_CALL and not _is_of_call(policy, clause, context, call, parts):
                    continue
                excepted = policy.rules[policy.clauses[clause][0]][EXCEPT]
                if not (excepted and _is_path_excepted(excepted, kind, path, context)):
                    return True
        return False

    return is_protected


def rules_below(policy: Policy, kind: str, path: str) -> list[int]:
    """The rules that may forbid effects of this kind somewhere below a folder."""
    clauses = (*paths.lookup_below(policy.paths, path), *wide_clauses(policy, kind))
    return [policy.clauses[clause][0] for clause in clauses if forbids_kind(policy, clause, kind)]


def wide_clauses(policy: Policy, kind: str) -> list[int]:
    """Clauses on paths that are found by the kind of effect."""
    clauses = policy.clauses
    return [clause for clause in policy.kinds.get(kind, ()) if any(name == "path" for name, _ in clauses[clause][1])]


def _speaks_of(policy: Policy, clause: int, kind: str, path: str, context: Context) -> bool:
    """Whether a clause's own tests on the path hold, as far as they can be told without the call."""
    subject = Subject(_NO_CALL, context)
    subject.effect = Touch(kind, path)
    return all(
        TESTS[name](argument, subject) is not NO
        for name, argument in policy.clauses[clause][1]
        if name in ("path", "path_not", "holds")
    )


def _is_of_call(policy: Policy, clause: int, context: Context, call: Call, parts: tuple[Part, ...]) -> bool:
    """Whether a clause may speak of this tool and of one of these commands."""
    _rule, tests, of_part = policy.clauses[clause]
    subject = Subject(call, context)
    if any(name in ("tool", "confined") and TESTS[name](argument, subject) is NO for name, argument in tests):
        return False
    if not of_part:
        return True
    for part in parts or (None,):
        subject.part = part
        if all(TESTS[name](argument, subject) is not NO for name, argument in of_part):
            return True
    return False


def _is_path_excepted(alternatives: list[list[list[Any]]], kind: str, path: str, context: Context) -> bool:
    """Whether an exception that speaks of nothing but paths holds; any other cannot be told without the call."""
    subject = Subject(_NO_CALL, context)
    subject.effect, subject.allow = Touch(kind, path), True
    return any(
        all(
            name in ("effect", "path", "path_not") and TESTS[name](argument, subject) is YES for name, argument in tests
        )
        for tests in alternatives
    )


def forbids_kind(policy: Policy, clause: int, kind: str) -> bool:
    """Whether a clause on paths belongs to an enforced deny or ask on this kind of effect, also where no call names the
    path."""
    rule, tests, _of_part = policy.clauses[clause]
    row = policy.rules[rule]
    if row[LANE] not in ("deny", "ask") or row[LEVEL]:
        return False
    return all(
        not (name == "named" and argument) and (name != "effect" or kind in argument) for name, argument in tests
    )
