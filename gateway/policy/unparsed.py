"""Deny and ask rules on a text that could not be parsed: its fallback tokens are still tried, as commands and as
paths. A bound that is hit, or a form of the shell that is not understood, never weakens a deny."""

from __future__ import annotations

from posixpath import normpath

from gateway.model.decision import Decision
from gateway.model.effect import HOLE, Touch
from gateway.model.verdict import Reason
from gateway.policy import commandpattern
from gateway.policy.commandtests import compiled_command, word_answer
from gateway.policy.predicates import PREDICATES
from gateway.policy.subject import NO
from gateway.policy.table import EXPIRES, LANE, LEVEL

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from gateway.model.context import Context
    from gateway.policy.subject import Subject
    from gateway.policy.table import Policy

MAX_TRIED = 200_000  # pairs of a word and a rule; beyond that every rule holds


def token_reasons(policy: Policy, tokens: tuple[str, ...], subject: Subject, place: int) -> list[tuple[bool, Reason]]:
    """What the words of a text speak for, at the effect of that number; with whether the rule is in force (of others
    it is only noted what they would say)."""
    rules = policy.rules
    found = []
    for rule in token_hits(policy, tokens, subject):
        decision = Decision.DENY if rules[rule][LANE] == "deny" else Decision.ASK
        found.append((rule, decision, True, "found among words that cannot be parsed"))
    for rule in token_doubts(policy, tokens, subject):
        note = "may hold: one of the words that cannot be parsed is a path that it protects"
        found.append((rule, Decision.ASK, False, note))
    return [
        (not rules[rule][LEVEL], Reason(policy.rule(rule), decision, place, certain=certain, note=note))
        for rule, decision, certain, note in found
    ]


def token_hits(policy: Policy, tokens: tuple[str, ...], subject: Subject) -> list[int]:
    """The deny and ask rules that the words hit, in the order of the table, each once. A word that is a path may be
    read: rules on that hold."""
    words = frozenset(tokens)
    subject.allow, subject.part = False, None
    hits = _path_hits(policy, tokens, subject, ("read",))
    subject.effect = None
    for clause in _command_clauses(policy, words):
        rule, tests, of_part = policy.clauses[clause]
        if all(_holds(name, argument, tokens, subject) for name, argument in (*of_part, *tests)):
            hits.add(rule)
    return sorted(rule for rule in hits if _forbids(policy.rules[rule], subject.context.now))


def token_doubts(policy: Policy, tokens: tuple[str, ...], subject: Subject) -> list[int]:
    """The deny and ask rules that hold if the text changes a path that a word of it names. Whether it does cannot be
    told, and every program named by its path would be refused: they can only ask."""
    subject.allow, subject.part = False, None
    hits = _path_hits(policy, tokens, subject, ("write", "delete"))
    return sorted(rule for rule in hits if _forbids(policy.rules[rule], subject.context.now))


def _path_hits(policy: Policy, tokens: tuple[str, ...], subject: Subject, kinds: tuple[str, ...]) -> set[int]:
    """The rules on paths that hold if one of these kinds of effect befalls what a word names."""
    named = dict.fromkeys([path for token in frozenset(tokens) if (path := _path(token, subject.context))])
    pairs = [(clause, path) for path in named for clause in policy.on_path(path)]
    wide = {clause for kind in kinds for clause in policy.kinds.get(kind, ()) if _is_on_paths(policy.clauses[clause])}
    hits: set[int] = set()
    if len(named) * len(wide) <= MAX_TRIED:
        pairs += [(clause, path) for path in named for clause in wide]
    else:
        hits.update([policy.clauses[clause][0] for clause in wide])
    for clause, path in pairs:
        rule, tests, of_part = policy.clauses[clause]
        spoken_of = next((argument for name, argument in tests if name == "effect"), kinds)
        for kind in kinds if rule not in hits else ():
            if kind in spoken_of:
                subject.effect = Touch(kind, path)
                if all(_holds(name, each, tokens, subject) for name, each in (*of_part, *tests)):
                    hits.add(rule)
    return hits


def _is_on_paths(clause: list[Any]) -> bool:
    """Whether a clause that is found by the kind of effect speaks of paths."""
    return any(name == "path" for name, _argument in clause[1])


def _forbids(row: list[Any], now: float) -> bool:
    return row[LANE] in ("deny", "ask") and not 0 < row[EXPIRES] <= now


def _command_clauses(policy: Policy, words: frozenset[str]) -> dict[int, None]:
    found: dict[int, None] = {}
    names = {word[word.rfind("/") + 1 :] for word in words}
    for name in names | {name.lower() for name in names} | {""}:
        for second, clauses in policy.commands.get(name, {}).items():
            if not second or second in words:
                found.update(dict.fromkeys(clauses))
    return found


def _holds(name: str, argument: Any, tokens: tuple[str, ...], subject: Subject) -> bool:
    """Whether a predicate holds for fallback tokens; what they cannot tell counts as holding."""
    if name == "command":
        return any(commandpattern.matches_tokens(compiled_command(pattern), tokens) for pattern in argument)
    if name == "exec":
        return all(any(word_answer(choice, token) is not NO for token in tokens) for choice in argument)
    if name == "option":
        return any(option in tokens for option in argument)
    predicate = PREDICATES[name]
    return name == "effect" or predicate.scope == "part" or predicate.test(argument, subject) is not NO


def _path(token: str, context: Context) -> str:
    """The absolute path that a word may mean, "" if it looks like none."""
    if not token or token.startswith("-") or HOLE in token or len(token) > 4096:
        return ""
    if token == "~" or token.startswith("~/"):
        token = context.home + token[1:]
    return normpath(token if token.startswith("/") else f"{context.cwd}/{token}")
